//! Requests with placeholders.
//!
//! `{counter}` stands for the number of the request in this run, from 0;
//! `{nonce}` for 16 random digits of its own, so that an answer that shows them
//! was made for this request. A nonce is below 2^53, so that every language's
//! numbers hold it.

use serde::{Deserialize, Serialize};

/// An HTTP request whose parts may have placeholders.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// `GET`, `POST`, ….
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Headers beside `Host`, `Content-Length` and `Connection`, which are made.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Request {
    /// A GET without further headers.
    pub fn get(path: impl Into<String>) -> Request {
        Request { method: "GET".into(), path: path.into(), headers: Vec::new(), body: Vec::new() }
    }

    /// Whether a part of it that has placeholders has that of a nonce.
    pub fn has_nonce(&self) -> bool {
        self.has(NONCE)
    }

    /// Whether a part of it that has placeholders has that of the request's number.
    pub(crate) fn has_counter(&self) -> bool {
        self.has(COUNTER)
    }

    fn has(&self, placeholder: &[u8]) -> bool {
        let headers = self.headers.iter().flat_map(|(name, value)| [name, value]);
        let texts = headers.chain([&self.path]).map(String::as_bytes);
        texts.chain([&*self.body]).any(|text| memchr::memmem::find(text, placeholder).is_some())
    }
}

/// Bytes with placeholders, cut into pieces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Template(Vec<Piece>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Bytes(Vec<u8>),
    Counter,
    Nonce,
}

impl Template {
    /// Cuts bytes at their placeholders. Any other brace stands for itself.
    pub(crate) fn parse(mut bytes: &[u8]) -> Template {
        const NAMES: [(&[u8], Piece); 2] = [(COUNTER, Piece::Counter), (NONCE, Piece::Nonce)];
        let mut pieces = Vec::new();
        let mut plain = Vec::new();
        while let Some(&first) = bytes.first() {
            if let Some((name, piece)) = NAMES.iter().find(|(name, _)| bytes.starts_with(name)) {
                if !plain.is_empty() {
                    pieces.push(Piece::Bytes(std::mem::take(&mut plain)));
                }
                pieces.push(piece.clone());
                bytes = &bytes[name.len()..];
            } else {
                plain.push(first);
                bytes = &bytes[1..];
            }
        }
        if !plain.is_empty() {
            pieces.push(Piece::Bytes(plain));
        }
        Template(pieces)
    }

    /// The bytes, if there is no placeholder in them.
    pub(crate) fn fixed(&self) -> Option<&[u8]> {
        match self.0.as_slice() {
            [] => Some(b""),
            [Piece::Bytes(bytes)] => Some(bytes),
            _ => None,
        }
    }

    /// Appends the bytes for the request with this number.
    pub(crate) fn render(&self, number: u64, seed: u64, into: &mut Vec<u8>) {
        for piece in &self.0 {
            match piece {
                Piece::Bytes(bytes) => into.extend_from_slice(bytes),
                Piece::Counter => {
                    into.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
                }
                Piece::Nonce => {
                    let nonce = nonce(number, seed);
                    into.extend_from_slice(itoa::Buffer::new().format(nonce).as_bytes());
                }
            }
        }
    }

    /// The bytes that it renders to for the request with this number.
    pub(crate) fn length(&self, number: u64) -> usize {
        let counter = number.checked_ilog10().unwrap_or(0) as usize + 1;
        self.length_with(counter)
    }

    /// The most bytes that it renders to.
    pub(crate) fn length_max(&self) -> usize {
        self.length_with(20)
    }

    fn length_with(&self, counter_digits: usize) -> usize {
        let length = |piece: &Piece| match piece {
            Piece::Bytes(bytes) => bytes.len(),
            Piece::Counter => counter_digits,
            Piece::Nonce => NONCE_DIGITS,
        };
        self.0.iter().map(length).sum()
    }
}

/// What stands for the request's number.
const COUNTER: &[u8] = b"{counter}";

/// What stands for a nonce.
const NONCE: &[u8] = b"{nonce}";

/// Digits of a nonce.
const NONCE_DIGITS: usize = 16;

/// The nonce of a request: 16 digits, the first of them 1 to 8.
fn nonce(number: u64, seed: u64) -> u64 {
    const LOWEST: u64 = 1_000_000_000_000_000;
    LOWEST + mix(seed ^ mix(number)) % (8 * LOWEST)
}

/// Spreads a number evenly over all 64 bits: the finalizer of SplitMix64
/// (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
pub(crate) fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(text: &str, number: u64) -> String {
        let mut bytes = Vec::new();
        Template::parse(text.as_bytes()).render(number, 7, &mut bytes);
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn placeholders_are_filled_and_other_braces_kept() {
        assert_eq!(rendered("/a{counter}/{x}{", 12), "/a12/{x}{");
        assert_eq!(rendered("{counter}{counter}", 3), "33");
        assert_eq!(rendered("", 3), "");
    }

    #[test]
    fn a_nonce_has_16_digits_that_every_language_can_hold() {
        for number in 0..10_000 {
            let nonce = nonce(number, 42);
            assert!(nonce < 1 << 53, "{nonce} is not exact in a double");
            assert_eq!(nonce.to_string().len(), NONCE_DIGITS);
        }
    }

    #[test]
    fn nonces_differ_between_requests_and_seeds() {
        let mut seen: Vec<u64> = (0..1000).flat_map(|n| [nonce(n, 1), nonce(n, 2)]).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 2000, "two requests share a nonce");
    }

    #[test]
    fn lengths_are_known_without_rendering() {
        let template = Template::parse(b"a{counter}b{nonce}c");
        for number in [0, 1, 9, 10, 99, 100, 12_345, u64::MAX] {
            let mut bytes = Vec::new();
            template.render(number, 3, &mut bytes);
            assert_eq!(bytes.len(), template.length(number), "Content-Length would be wrong");
            assert!(bytes.len() <= template.length_max(), "the room would be too small");
        }
    }

    #[test]
    fn only_bytes_without_placeholders_are_fixed() {
        assert_eq!(Template::parse(b"plain").fixed(), Some(&b"plain"[..]));
        assert_eq!(Template::parse(b"{nonce}").fixed(), None);
    }
}
