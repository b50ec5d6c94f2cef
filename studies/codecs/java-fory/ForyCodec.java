import java.util.List;
import org.apache.fory.Fory;

/** Apache Fory, which takes records as they are, by code that it makes of them at run time. */
final class ForyCodec {
    private static final Fory FORY = Fory.builder().withXlang(true).requireClassRegistration(true).build();

    private ForyCodec() {}

    /** What a search answers. */
    record Response(List<Row> records) {}

    private static Row decode(byte[] bytes) {
        return FORY.deserialize(bytes, Row.class);
    }

    private static byte[] encodeAll(List<Row> rows) {
        return FORY.serialize(new Response(rows));
    }

    private static List<Row> decodeAll(byte[] bytes) {
        return FORY.deserialize(bytes, Response.class).records();
    }

    public static void main(String[] arguments) throws Exception {
        FORY.register(Row.class, 1);
        FORY.register(Response.class, 2);
        Codecs.run(
                arguments,
                new Form<>(FORY::serialize, ForyCodec::decode),
                new Form<>(ForyCodec::encodeAll, ForyCodec::decodeAll));
    }
}
