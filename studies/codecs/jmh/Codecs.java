import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import jmh.Subject;
import org.openjdk.jmh.infra.Blackhole;

/**
 * Stands on the class path before the study's own works, so that a contender hands them to JMH:
 * its main program calls this, with what it measures.
 */
public final class Codecs implements Subject {
    private static Form<Row> handed;

    private final Form<Row> form;
    private final List<Row> rows;
    private final byte[][] encoded;
    private final Rounds<Row> rounds;

    static void run(String[] arguments, Form<Row> one, Form<List<Row>> many) {
        handed = one;
    }

    /** Of a contender's main class with its own arguments, and a file of records. */
    public Codecs(String contender, String records) throws Exception {
        String[] words = contender.split(" ");
        String[] arguments = Arrays.copyOfRange(words, 1, words.length);
        Class.forName(words[0]).getMethod("main", String[].class).invoke(null, (Object) arguments);
        form = handed;
        rows = new ArrayList<>(Row.read(Path.of(records)));
        encoded = new byte[rows.size()][];
        for (int place = 0; place < encoded.length; place++) {
            encoded[place] = form.encode().of(rows.get(place));
            if (!form.decode().of(encoded[place]).equals(rows.get(place))) {
                throw new IllegalStateException("it isn't the same after the round trip: " + rows.get(place));
            }
        }
        rounds = new Rounds<>(rows, encoded, form, Kind.ROW, 1, 1);
    }

    @Override
    public int records() {
        return encoded.length;
    }

    @Override
    public void encode(int place, Blackhole sink) throws Exception {
        if (place == 0) {
            rounds.changeThings();
        }
        sink.consume(form.encode().of(rows.get(place)));
        sink.consume(rows.get(place).number());
    }

    @Override
    public void decode(int place, Blackhole sink) throws Exception {
        if (place == 0) {
            rounds.changeBytes();
        }
        sink.consume(form.decode().of(encoded[place]).number());
    }
}
