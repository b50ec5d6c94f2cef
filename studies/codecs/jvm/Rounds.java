import java.util.List;
import java.util.stream.IntStream;

/** Changes all records before each round, so that no round has what was done in the last one. */
final class Rounds<T> {
    private static final char FIRST_LETTER = 'a';
    private static final int LETTERS = 16;

    private final List<T> things;
    private final byte[][] encoded;
    private final Kind<T> kind;
    /** Where bytes have the letter: there those of another letter differ. */
    private final int[][] places;
    private int payload;

    /** Of things of so many records. */
    Rounds(List<T> things, byte[][] encoded, Form<T> form, Kind<T> kind, int records, int seed)
            throws Exception {
        this.things = things;
        this.encoded = encoded;
        this.kind = kind;
        places = new int[encoded.length][];
        payload = seed;
        for (int at = 0; at < encoded.length; at++) {
            byte[] bytes = encoded[at];
            byte[] other = form.encode().of(kind.changed(things.get(at), (char) (FIRST_LETTER + 1)));
            int length = Math.min(bytes.length, other.length);
            places[at] = IntStream.range(0, length).filter(place -> bytes[place] != other[place]).toArray();
            if (bytes.length != other.length || places[at].length != records) {
                throw new IllegalStateException("another letter isn't one other byte: " + things.get(at));
            }
        }
    }

    private char nextLetter() {
        payload = (int) (payload * 48_271L % 2_147_483_647); // C++'s minstd_rand.
        return (char) (FIRST_LETTER + payload % LETTERS);
    }

    void changeThings() {
        char letter = nextLetter();
        things.replaceAll(thing -> kind.changed(thing, letter));
    }

    void changeBytes() {
        byte letter = (byte) nextLetter();
        for (int at = 0; at < encoded.length; at++) {
            for (int place : places[at]) {
                encoded[at][place] = letter;
            }
        }
    }
}
