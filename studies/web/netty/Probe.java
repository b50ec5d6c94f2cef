import io.netty.util.Version;

/** Tells Netty's version, or why its transport can't be used on this machine. */
final class Probe {
    /** EX_UNAVAILABLE of sysexits.h, which makes the contender absent. */
    private static final int UNAVAILABLE = 69;

    private Probe() {}

    /** Takes the transport's name. */
    public static void main(String[] arguments) {
        String name = arguments[0];
        Throwable why = Transport.named(name).unavailable();
        if (why != null) {
            while (why.getCause() != null) {
                why = why.getCause();
            }
            System.err.println("Netty can't use " + name + " on this machine: " + why.getMessage());
            System.exit(UNAVAILABLE);
        }
        System.out.println("Netty " + Version.identify().get("netty-transport").artifactVersion() + ", " + name);
    }
}
