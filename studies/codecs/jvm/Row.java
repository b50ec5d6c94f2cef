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

    /** What shows that each field was read. Each place weighs 31 times as much as the next. */
    int number() {
        return with(with(with(with(with(ttl, value), type), first), last), key);
    }

    /** The code points with which a text begins and ends: the last one is of ASCII. */
    private static int with(int number, String text) {
        int begin = text.isEmpty() ? 0 : text.codePointAt(0);
        int end = text.isEmpty() ? 0 : text.charAt(text.length() - 1);
        return (number * 31 + begin) * 31 + end;
    }

    /** The same in another round over all records: each changes the letter in which keys end. */
    Row changed(char letter) {
        return new Row(key.substring(0, key.length() - 1) + letter, value, type, ttl, first, last);
    }
}
