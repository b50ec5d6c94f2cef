import codecs.DnsRecord;
import codecs.DnsResponse;
import java.util.List;
import org.apache.thrift.TDeserializer;
import org.apache.thrift.TException;
import org.apache.thrift.TSerializer;
import org.apache.thrift.protocol.TBinaryProtocol;
import org.apache.thrift.protocol.TCompactProtocol;
import org.apache.thrift.protocol.TProtocolFactory;

/** Thrift, with the classes that its compiler makes of the schema, in a protocol of its. */
final class ThriftCodec {
    /** Both are kept for the next, as they are made for. */
    private final TSerializer serializer;
    private final TDeserializer deserializer;

    private ThriftCodec(TProtocolFactory protocol) throws TException {
        serializer = new TSerializer(protocol);
        deserializer = new TDeserializer(protocol);
    }

    private static DnsRecord message(Row row) {
        DnsRecord message = new DnsRecord(row.key(), row.value(), row.first(), row.last());
        if (!row.type().equals(Row.DEFAULT_TYPE)) {
            message.setType(row.type());
        }
        if (row.ttl() != Row.DEFAULT_TTL) {
            message.setTtl(row.ttl());
        }
        return message;
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

    private byte[] encode(Row row) throws TException {
        return serializer.serialize(message(row));
    }

    private Row decode(byte[] bytes) throws TException {
        DnsRecord message = new DnsRecord();
        deserializer.deserialize(message, bytes);
        return row(message);
    }

    private byte[] encodeAll(List<Row> rows) throws TException {
        return serializer.serialize(new DnsResponse(rows.stream().map(ThriftCodec::message).toList()));
    }

    private List<Row> decodeAll(byte[] bytes) throws TException {
        DnsResponse message = new DnsResponse();
        deserializer.deserialize(message, bytes);
        return message.getRecords().stream().map(ThriftCodec::row).toList();
    }

    public static void main(String[] arguments) throws Exception {
        ThriftCodec codec = new ThriftCodec(switch (arguments[0]) {
            case "binary" -> new TBinaryProtocol.Factory();
            case "compact" -> new TCompactProtocol.Factory();
            default -> throw new IllegalArgumentException("it has no protocol " + arguments[0]);
        });
        Codecs.run(
                arguments,
                new Form<>(codec::encode, codec::decode),
                new Form<>(codec::encodeAll, codec::decodeAll));
    }
}
