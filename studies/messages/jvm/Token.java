/** What goes round a ring. */
record Token(int x, int sum, long done) {
    Token hop() {
        int next = Account.next(x);
        return new Token(next, sum + next, done + 1);
    }
}
