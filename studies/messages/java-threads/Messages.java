/** The works on threads of the system. */
final class Messages {
    private Messages() {}

    public static void main(String[] arguments) throws Exception {
        Program.run(arguments, Messages::thread, 1_000);
    }

    private static Thread thread(Runnable task) {
        Thread thread = new Thread(task);
        // Who still waits for a message at the end needn't be waited for.
        thread.setDaemon(true);
        return thread;
    }
}
