/** How something becomes bytes, and is made of them again. */
record Form<T>(Function<T, byte[]> encode, Function<byte[], T> decode) {
    interface Function<A, B> {
        B of(A from) throws Exception;
    }
}
