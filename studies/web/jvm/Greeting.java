import java.util.HexFormat;
import java.util.concurrent.ThreadLocalRandom;

/** What the contenders on the JVM answer, whatever carries it. */
final class Greeting {
    static final String WRONG_ID = "the id has to be 1 to 64 letters and digits\n";
    static final String WRONG_METHOD = "method not allowed\n";
    static final String WRONG_PATH = "not found\n";

    private static final int ID_LENGTH_MAX = 64;

    private Greeting() {}

    /** A greeting with 128 random bits, new each time. */
    static String to(String id) {
        // What the JDK's documentation recommends where threads are many and the
        // number is no secret.
        ThreadLocalRandom random = ThreadLocalRandom.current();
        HexFormat hex = HexFormat.of();
        String number = hex.toHexDigits(random.nextLong()) + hex.toHexDigits(random.nextLong());
        return "hello " + id + ", your random number is " + number + "\n";
    }

    /** Whether an id is safe to echo into any kind of text. */
    static boolean isId(String id) {
        return !id.isEmpty() && id.length() <= ID_LENGTH_MAX && id.chars().allMatch(Greeting::isAlphanumeric);
    }

    private static boolean isAlphanumeric(int c) {
        return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    }
}
