/** The payloads in their order. Only the thread that makes them looks at it. */
final class Payloads {
    private int last;

    Payloads(int seed) {
        last = seed;
    }

    /** The payload after x: C++'s minstd_rand. */
    static int after(int x) {
        return (int) (x * 48_271L % 2_147_483_647);
    }

    /**
     * The sum after one more payload, whose overflow is the modulo. Each place weighs 31 times as much
     * as the next, so that payloads in another order have another sum.
     */
    static int sum(int before, int payload) {
        return before * 31 + payload;
    }

    int next() {
        last = after(last);
        return last;
    }

    /** The one that was made last; before the first the seed. */
    int last() {
        return last;
    }
}
