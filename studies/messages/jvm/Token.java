/** What goes round a ring. */
record Token(int x, int sum, long done) {
    Token hop() {
        int next = Payloads.after(x);
        return new Token(next, sum + next, done + 1);
    }
}
