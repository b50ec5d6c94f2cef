import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/** The study's works, with any codec. */
final class Codecs {
    private Codecs() {}

    /** What is done to the thing at a place. It returns the one whose fields show that. */
    private interface Work<T> {
        T at(int place) throws Exception;
    }

    /** What was encoded last: else a compiler might leave it out. */
    static volatile byte[] last;

    /** Does what the arguments say, with the form of a row and that of a list of rows. */
    static void run(String[] arguments, Form<Row> one, Form<List<Row>> many) throws Exception {
        List<String> given = List.of(arguments);
        List<Row> rows = Row.read(Path.of(after("--records", given)));
        int atOnce = Integer.parseInt(after("--at-once", given));
        if (atOnce == 1) {
            start(given, rows, one, 1, Kind.ROW);
        } else {
            IntStream begins = IntStream.range(0, rows.size() / atOnce).map(list -> list * atOnce);
            List<List<Row>> lists = begins.mapToObj(begin -> rows.subList(begin, begin + atOnce)).toList();
            start(given, lists, many, atOnce, Kind.LIST);
        }
    }

    private static String after(String name, List<String> given) {
        return given.get(given.indexOf(name) + 1);
    }

    private static <T> void start(
            List<String> given, List<T> things, Form<T> form, int records, Kind<T> kind)
            throws Exception {
        if (given.contains("--decode-from")) {
            Path file = Path.of(after("--decode-from", given));
            List<T> decoded = new ArrayList<>();
            for (byte[] bytes : Stored.read(file)) {
                decoded.add(form.decode().of(bytes));
            }
            if (!decoded.equals(things)) {
                fail(file + " doesn't decode to the records");
            }
            return;
        }
        byte[][] encoded = checked(things, form);
        if (given.contains("--made")) {
            Stored.write(Path.of(after("--made", given)), encoded);
        }
        if (given.contains("--does")) {
            work(given, new ArrayList<>(things), encoded, form, records, kind);
        }
    }

    /** What things are encoded, once it is known that they are the same after the round trip. */
    private static <T> byte[][] checked(List<T> things, Form<T> form) throws Exception {
        byte[][] encoded = new byte[things.size()][];
        for (int place = 0; place < encoded.length; place++) {
            encoded[place] = form.encode().of(things.get(place));
            if (!form.decode().of(encoded[place]).equals(things.get(place))) {
                fail("it isn't the same after the round trip: " + things.get(place));
            }
        }
        return encoded;
    }

    private static void fail(String why) {
        System.err.println(why);
        System.exit(1);
    }

    private static <T> void work(
            List<String> given, List<T> things, byte[][] encoded, Form<T> form, int records, Kind<T> kind)
            throws Exception {
        String does = after("--does", given);
        Work<T> work = switch (does) {
            case "encode" -> place -> {
                last = form.encode().of(things.get(place));
                return things.get(place);
            };
            case "decode" -> place -> form.decode().of(encoded[place]);
            case "both" -> place -> form.decode().of(form.encode().of(things.get(place)));
            default -> throw new IllegalArgumentException("it can't do " + does);
        };
        int seed = Integer.parseInt(after("--seed", given));
        Rounds<T> rounds = new Rounds<>(things, encoded, form, kind, records, seed);
        Runnable beginRound = does.equals("decode") ? rounds::changeBytes : rounds::changeThings;
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        System.out.println("{\"ready\": true}");
        long allocatedBefore = threads.getCurrentThreadAllocatedBytes();
        Account<T> account = new Account<>(Double.parseDouble(after("--seconds", given)), kind);
        beginRound.run();
        int place = 0;
        while (account.add(records, work.at(place))) {
            place = (place + 1) % encoded.length;
            if (place == 0) {
                beginRound.run();
            }
        }
        long allocated = threads.getCurrentThreadAllocatedBytes() - allocatedBefore;
        double allocatedEach = (double) allocated / account.done();
        System.out.println("{\"result\": {\"allocated_each\": " + allocatedEach + "}}");
    }
}
