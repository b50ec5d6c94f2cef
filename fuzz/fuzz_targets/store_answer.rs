//! Feeds the decoders of stores, RESP and both of memcached's, whatever a server may send.
//! However the bytes are split, the same must come of them, within the bounds that
//! `crates/load/src/protocol/store/splits.rs` asserts. What the bytes of an input mean is
//! said at [`load::fuzzing::store_answer`]; `make test` feeds it the seeds.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    load::fuzzing::store_answer(data);
});
