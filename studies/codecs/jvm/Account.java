/** What was done, which is told every now and then. */
final class Account<T> {
    private static final long INTERVAL_NS = 200_000_000;
    /** Records between two looks at the clock. */
    private static final int CLOCK_EVERY = 1_000;

    private final long begun = System.nanoTime();
    private final long untilNs;
    private final Kind<T> kind;
    private long toldNs;
    private long lookAt = CLOCK_EVERY;
    private long done;
    /** Its overflow is the modulo. */
    private int sum;

    /** Begins a work of so many seconds. */
    Account(double seconds, Kind<T> kind) {
        this.kind = kind;
        untilNs = Math.round(seconds * 1e9);
    }

    /** Counts so many records, and returns whether the work goes on. */
    boolean add(int records, T thing) {
        done += records;
        sum = kind.sum(sum, thing);
        if (done < lookAt) {
            return true;
        }
        lookAt += CLOCK_EVERY;
        return tell();
    }

    long done() {
        return done;
    }

    private boolean tell() {
        long now = System.nanoTime() - begun;
        if (now >= toldNs + INTERVAL_NS) {
            System.out.println(
                    "{\"t\": " + now / 1e9 + ", \"done\": " + done + ", \"sum\": " + Integer.toUnsignedString(sum) + "}");
            toldNs = now;
        }
        // Until it was told of at its end.
        return toldNs < untilNs;
    }
}
