import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** A record, as the program itself has it. */
record Row(String key, String value, String type, int ttl, String first, String last) {
    static final String DEFAULT_TYPE = "A";
    static final int DEFAULT_TTL = 86_400;

    /** The rows of a file: a line each, with tabs between key, value, type, first, last and ttl. */
    static List<Row> read(Path file) throws IOException {
        return Files.readAllLines(file).stream().map(Row::of).toList();
    }

    private static Row of(String line) {
        String[] field = line.split("\t");
        return new Row(field[0], field[1], field[2], Integer.parseInt(field[5]), field[3], field[4]);
    }

    /** What shows that each field was read. */
    int number() {
        return ttl + begin(key) + begin(value) + begin(type) + begin(first) + begin(last);
    }

    private static int begin(String text) {
        return text.isEmpty() ? 0 : text.codePointAt(0);
    }
}
