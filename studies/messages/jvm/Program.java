import java.util.List;
import java.util.concurrent.ThreadFactory;

/** What the lab starts: its arguments say which work is done. */
final class Program {
    private Program() {}

    /** Does that work on such threads; so many of them are a batch that is created. */
    static void run(String[] arguments, ThreadFactory threads, int batch) throws Exception {
        List<String> given = List.of(arguments);
        String does = given.get(given.indexOf("--does") + 1);
        Payloads payloads = new Payloads(Integer.parseInt(given.get(given.indexOf("--seed") + 1)));
        double seconds = Double.parseDouble(given.get(given.indexOf("--seconds") + 1));
        System.out.println("{\"ready\": true}");
        Works works = new Works(threads, batch, payloads, new Account(seconds));
        System.out.println("{\"result\": {" + works.start(() -> work(works, does)).get() + "}}");
    }

    private static String work(Works works, String does) throws Exception {
        return switch (does) {
            case "oneway-unbounded" -> works.oneWayUnbounded();
            case "oneway-1" -> works.oneWay(1);
            case "oneway-64" -> works.oneWay(64);
            case "oneway-1024" -> works.oneWay(1024);
            case "pingpong" -> works.pingPong();
            case "ring" -> works.ring();
            case "spawn" -> works.spawn();
            case "switch" -> works.hand();
            default -> throw new IllegalArgumentException("it can't do " + does);
        };
    }
}
