//! Feeds the HTTP/1.1 decoder whatever a server may send. However the bytes are
//! split, the same must come of them, within the bounds that
//! `crates/load/src/protocol/http1/splits.rs` asserts. What the bytes of an input mean is
//! said at [`load::fuzzing::http1_answer`]; `make test` feeds it the seeds.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    load::fuzzing::http1_answer(data);
});
