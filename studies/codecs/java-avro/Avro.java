import codecs.DnsRecord;
import codecs.DnsResponse;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.List;
import org.apache.avro.io.BinaryDecoder;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.DecoderFactory;
import org.apache.avro.io.EncoderFactory;
import org.apache.avro.specific.SpecificDatumReader;
import org.apache.avro.specific.SpecificDatumWriter;
import org.apache.avro.specific.SpecificRecord;

/** Avro's binary encoding, with the classes that its compiler makes of the schema. */
final class Avro {
    private Avro() {}

    /** What writes and reads messages of a class. All of it is kept for the next, as it is made for. */
    private static final class Messages<M extends SpecificRecord> {
        private final SpecificDatumWriter<M> writer;
        private final SpecificDatumReader<M> reader;
        private final ByteArrayOutputStream out = new ByteArrayOutputStream();
        private final BinaryEncoder encoder = EncoderFactory.get().binaryEncoder(out, null);
        private final BinaryDecoder decoder = DecoderFactory.get().binaryDecoder(new byte[0], null);

        Messages(Class<M> type) {
            writer = new SpecificDatumWriter<>(type);
            reader = new SpecificDatumReader<>(type);
        }

        byte[] bytes(M message) throws IOException {
            out.reset();
            writer.write(message, encoder);
            encoder.flush();
            return out.toByteArray();
        }

        M message(byte[] bytes) throws IOException {
            return reader.read(null, DecoderFactory.get().binaryDecoder(bytes, decoder));
        }
    }

    private static final Messages<DnsRecord> RECORDS = new Messages<>(DnsRecord.class);
    private static final Messages<DnsResponse> RESPONSES = new Messages<>(DnsResponse.class);

    private static DnsRecord message(Row row) {
        return new DnsRecord(row.key(), row.value(), row.type(), row.ttl(), row.first(), row.last());
    }

    private static Row row(DnsRecord message) {
        return new Row(
                message.getKey(),
                message.getValue(),
                message.getType(),
                message.getTtl(),
                message.getFirst(),
                message.getLast());
    }

    private static byte[] encode(Row row) throws IOException {
        return RECORDS.bytes(message(row));
    }

    private static Row decode(byte[] bytes) throws IOException {
        return row(RECORDS.message(bytes));
    }

    private static byte[] encodeAll(List<Row> rows) throws IOException {
        return RESPONSES.bytes(new DnsResponse(rows.stream().map(Avro::message).toList()));
    }

    private static List<Row> decodeAll(byte[] bytes) throws IOException {
        return RESPONSES.message(bytes).getRecords().stream().map(Avro::row).toList();
    }

    public static void main(String[] arguments) throws Exception {
        Codecs.run(
                arguments,
                new Form<>(Avro::encode, Avro::decode),
                new Form<>(Avro::encodeAll, Avro::decodeAll));
    }
}
