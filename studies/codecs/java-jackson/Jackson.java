import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.ObjectReader;
import com.fasterxml.jackson.databind.ObjectWriter;
import java.util.List;

/** JSON, which Jackson makes of records as they are. */
final class Jackson {
    private static final ObjectMapper MAPPER = new ObjectMapper();

    private Jackson() {}

    private static <T> Form<T> form(TypeReference<T> type) {
        ObjectWriter writer = MAPPER.writerFor(type);
        ObjectReader reader = MAPPER.readerFor(type);
        return new Form<>(writer::writeValueAsBytes, bytes -> reader.readValue(bytes));
    }

    public static void main(String[] arguments) throws Exception {
        Codecs.run(arguments, form(new TypeReference<Row>() {}), form(new TypeReference<List<Row>>() {}));
    }
}
