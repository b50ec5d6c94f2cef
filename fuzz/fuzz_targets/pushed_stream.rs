//! Feeds the wires of robots in rooms, frames, MQTT, NATS and RESP3, whatever a server may push.
//! However the bytes are split, the same must come of them, within the bounds that
//! `crates/load/src/protocol/pushing/splits.rs` asserts. What the bytes of an input mean is
//! said at [`load::fuzzing::pushed_stream`]; `make test` feeds it the seeds.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    load::fuzzing::pushed_stream(data);
});
