import java.util.List;

/** A row, or a list of rows. */
interface Kind<T> {
    Kind<Row> ROW = new Kind<>() {
        @Override
        public Row changed(Row row, char letter) {
            return row.changed(letter);
        }

        @Override
        public int sum(int before, Row row) {
            return before * 31 + row.number();
        }
    };

    Kind<List<Row>> LIST = new Kind<>() {
        @Override
        public List<Row> changed(List<Row> rows, char letter) {
            return rows.stream().map(row -> row.changed(letter)).toList();
        }

        @Override
        public int sum(int before, List<Row> rows) {
            int sum = before;
            for (Row row : rows) {
                sum = ROW.sum(sum, row);
            }
            return sum;
        }
    };

    T changed(T thing, char letter);

    /** The sum after one more, modulo 2^32. */
    int sum(int before, T thing);
}
