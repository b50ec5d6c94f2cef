/** What was received, which is told every now and then. */
final class Account {
    private static final long INTERVAL_NS = 200_000_000;
    /** Units between two looks at the clock. */
    static final int CLOCK_EVERY = 1_000;

    private final long begun = System.nanoTime();
    private final long untilNs;
    private long toldNs;
    private long done;
    private int sum;

    /** Begins a work of so many seconds. */
    Account(double seconds) {
        untilNs = Math.round(seconds * 1e9);
    }

    long done() {
        return done;
    }

    /** Counts a unit. */
    void count(int payload) {
        done++;
        sum = Payloads.sum(sum, payload);
    }

    /** Counts a unit, and returns whether the work goes on. */
    boolean add(int payload) {
        count(payload);
        return done % CLOCK_EVERY == 0 ? tell() : goesOn();
    }

    /** Takes over what a token counted, and returns whether the work goes on. */
    boolean takeOver(Token token) {
        done = token.done();
        sum = token.sum();
        return tell();
    }

    /** Prints what was done, if that is due, and returns whether the work goes on. */
    boolean tell() {
        long now = System.nanoTime() - begun;
        if (now >= toldNs + INTERVAL_NS) {
            System.out.println(
                    "{\"t\": " + now / 1e9 + ", \"done\": " + done + ", \"sum\": " + Integer.toUnsignedString(sum) + "}");
            toldNs = now;
        }
        return goesOn();
    }

    /** Until it was told of at its end. */
    private boolean goesOn() {
        return toldNs < untilNs;
    }
}
