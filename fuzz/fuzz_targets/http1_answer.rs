//! Feeds the HTTP/1.1 decoder whatever a server may send. However the bytes are
//! split, the same must come of them, within the bounds that
//! [`load::splits::Reader::read`] asserts.
//!
//! The first byte says what was asked: bits 0 to 3, whether each of four
//! requests is a HEAD; bit 4, whether a text is expected. (`@` is four GETs
//! without a text, `P` with one.) The second byte decides the splits. The rest
//! is the stream.

#![no_main]

use libfuzzer_sys::fuzz_target;
use load::splits::{Asked, random_cuts};

fuzz_target!(|data: &[u8]| {
    let [asked, seed, stream @ ..] = data else { return };
    let asked = Asked {
        head: (0..4).map(|bit| asked >> bit & 1 == 1).collect(),
        expected: (asked >> 4 & 1 == 1).then(|| "id={counter}.".into()),
    };
    let whole = asked.reader().read(stream, []);
    let mut reader = asked.reader();
    let cut = usize::from(*seed) * stream.len() / 256;
    assert_eq!(reader.read(stream, [cut]), whole, "cut at {cut}");
    assert_eq!(reader.read(stream, 0..stream.len()), whole, "byte by byte");
    for longest in [2, 7, 40] {
        let cuts = random_cuts(stream.len(), longest, u64::from(*seed));
        assert_eq!(reader.read(stream, cuts.iter().copied()), whole, "cuts {cuts:?}");
    }
    assert_eq!(reader.read(stream, []), whole, "whole again, with its heads remembered");
});
