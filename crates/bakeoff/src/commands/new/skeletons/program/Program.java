import java.util.HashMap;
import java.util.Locale;
import java.util.Map;

public class Program {
    public static void main(String[] words) {
        // The study's own parameters stand beside seed and seconds: given.get("--NAME").
        Map<String, String> given = new HashMap<>();
        for (int at = 0; at + 1 < words.length; at += 2) {
            given.put(words[at], words[at + 1]);
        }
        double seconds = Double.parseDouble(given.get("--seconds"));
        long payload = Long.parseLong(given.get("--seed"));
        long done = 0;
        long sum = 0;

        // What makes a line is loaded now: else the first one would come late by that.
        line(0, 0, 0);
        System.out.println("{\"ready\": true}");
        long began = System.nanoTime();
        double told = 0;
        while (told < seconds) {
            // The clock is looked at once in many units, so that it isn't what is measured.
            for (int unit = 0; unit < 1000; unit++) {
                // Each unit has a number that follows from the one before.
                payload = payload * 48271 % 2147483647;
                // FILL IN: this only sums the numbers. The study asks: {contract}
                sum = (sum + payload) % 4294967296L;
                done++;
            }
            double now = (System.nanoTime() - began) / 1e9;
            if (now - told >= 0.2) {
                told = now;
                System.out.println(line(now, done, sum));
            }
        }
        System.out.println("{\"result\": {}}");
    }

    private static String line(double t, long done, long sum) {
        return String.format(Locale.ROOT, "{\"t\": %f, \"done\": %d, \"sum\": %d}", t, done, sum);
    }
}
