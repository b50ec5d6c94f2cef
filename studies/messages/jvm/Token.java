/** What goes round a ring. */
record Token(int x, int sum, long done) {
    Token hop() {
        int next = Payloads.after(x);
        return new Token(next, Payloads.sum(sum, next), done + 1);
    }
}
