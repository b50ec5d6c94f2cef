import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** What was encoded, in a file: each with its length before it, four bytes, the highest first. */
final class Stored {
    private Stored() {}

    static void write(Path file, byte[][] encoded) throws IOException {
        try (var out = new DataOutputStream(new BufferedOutputStream(Files.newOutputStream(file)))) {
            for (byte[] bytes : encoded) {
                out.writeInt(bytes.length);
                out.write(bytes);
            }
        }
    }

    static List<byte[]> read(Path file) throws IOException {
        List<byte[]> encoded = new ArrayList<>();
        try (var in = new DataInputStream(new BufferedInputStream(Files.newInputStream(file)))) {
            while (in.available() > 0) {
                encoded.add(in.readNBytes(in.readInt()));
            }
        }
        return encoded;
    }
}
