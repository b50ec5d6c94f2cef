import codecs.DnsRecord;
import codecs.DnsResponse;
import com.google.protobuf.InvalidProtocolBufferException;
import java.util.List;

/** Protocol Buffers, with the classes that its compiler makes of the schema. */
final class Protobuf {
    private Protobuf() {}

    private static DnsRecord message(Row row) {
        DnsRecord.Builder builder = DnsRecord.newBuilder()
                .setKey(row.key())
                .setValue(row.value())
                .setFirst(row.first())
                .setLast(row.last());
        if (!row.type().equals(Row.DEFAULT_TYPE)) {
            builder.setType(row.type());
        }
        if (row.ttl() != Row.DEFAULT_TTL) {
            builder.setTtl(row.ttl());
        }
        return builder.build();
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

    private static byte[] encode(Row row) {
        return message(row).toByteArray();
    }

    private static Row decode(byte[] bytes) throws InvalidProtocolBufferException {
        return row(DnsRecord.parseFrom(bytes));
    }

    private static byte[] encodeAll(List<Row> rows) {
        DnsResponse.Builder builder = DnsResponse.newBuilder();
        for (Row row : rows) {
            builder.addRecords(message(row));
        }
        return builder.build().toByteArray();
    }

    private static List<Row> decodeAll(byte[] bytes) throws InvalidProtocolBufferException {
        return DnsResponse.parseFrom(bytes).getRecordsList().stream().map(Protobuf::row).toList();
    }

    public static void main(String[] arguments) throws Exception {
        Codecs.run(
                arguments,
                new Form<>(Protobuf::encode, Protobuf::decode),
                new Form<>(Protobuf::encodeAll, Protobuf::decodeAll));
    }
}
