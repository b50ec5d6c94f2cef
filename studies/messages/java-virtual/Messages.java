import java.util.List;

/** The works on virtual threads. */
final class Messages {
    private Messages() {}

    public static void main(String[] arguments) throws Exception {
        if (List.of(arguments).contains("switch")) {
            // The two that hand over to each other are on one carrier, however many cores there are,
            // and also while one of them prints.
            System.setProperty("jdk.virtualThreadScheduler.parallelism", "1");
            System.setProperty("jdk.virtualThreadScheduler.maxPoolSize", "1");
        }
        Program.run(arguments, Thread.ofVirtual().factory(), 10_000);
    }
}
