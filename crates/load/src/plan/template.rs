//! Requests with placeholders.
//!
//! `{counter}` stands for the number of the request in this run, from 0;
//! `{nonce}` for 16 random digits of its own, so that an answer that shows them
//! was made for this request. A nonce is below 2^53, so that every language's
//! numbers hold it.

use std::ops::Range;
use std::sync::Arc;

use memchr::{memchr, memmem};
use serde::{Deserialize, Serialize};

use crate::plan::Expect;
use crate::plan::name::RequestName;

/// An HTTP request whose parts may have placeholders.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// What it is called, where its times are told apart from those of the others.
    #[serde(default)]
    pub name: Option<RequestName>,
    /// `GET`, `POST`, ….
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Headers beside `Host`, `Content-Length` and `Connection`, which are made. Their values
    /// may have `{env:NAME}`: see [`crate::plan::headers`].
    pub headers: Vec<(String, String)>,
    /// The body, which all requests with it share.
    #[serde(with = "body")]
    pub body: Arc<[u8]>,
    /// Where placeholders are filled in.
    #[serde(default)]
    pub placeholders: Placeholders,
    /// How often it is sent beside the others: of so many requests as all weights together,
    /// so many are this one.
    #[serde(default = "one")]
    pub weight: u32,
    /// What an answer to it must be to count as good, where that is its own affair and not
    /// the same for all.
    #[serde(default)]
    pub expect: Option<Expect>,
}

fn one() -> u32 {
    1
}

/// Where the placeholders of a request are filled in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Placeholders {
    /// In every part.
    #[default]
    Filled,
    /// In every part but the body.
    LeftInBody,
    /// Nowhere: `{counter}` and `{nonce}` stand for themselves.
    Left,
}

impl Placeholders {
    /// Where they are filled in of a request with this body. What is no text has no
    /// placeholders, but by chance.
    pub fn with_body(body: &[u8]) -> Placeholders {
        let is_text = !body.contains(&0) && std::str::from_utf8(body).is_ok();
        if is_text { Placeholders::Filled } else { Placeholders::LeftInBody }
    }
}

/// The methods whose names servers know (RFC 9110, 9.3, and RFC 5789).
const METHODS: [&str; 9] =
    ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"];

/// What a method that is written so is likely meant to be: methods are case-sensitive (RFC 9110,
/// 9.1), so `head` is another method than HEAD, which no server knows.
pub fn meant_by(method: &str) -> Option<&'static str> {
    METHODS.into_iter().find(|known| known.eq_ignore_ascii_case(method) && *known != method)
}

impl Request {
    /// A GET without further headers.
    pub fn get(path: impl Into<String>) -> Request {
        Request {
            name: None,
            method: "GET".into(),
            path: path.into(),
            headers: Vec::new(),
            body: Arc::default(),
            placeholders: Placeholders::Filled,
            weight: 1,
            expect: None,
        }
    }

    /// The same with what its headers take from the environment: `value_of` a variable.
    ///
    /// # Errors
    /// Which variable isn't set, or can't stand in a header.
    pub fn with_environment(
        &self,
        value_of: impl Fn(&str) -> Option<String>,
    ) -> Result<Request, String> {
        let headers = match self.placeholders {
            Placeholders::Left => Ok(self.headers.clone()),
            _ => {
                self.headers.iter().map(|it| crate::plan::headers::filled(it, &value_of)).collect()
            }
        };
        Ok(Request { headers: headers?, ..self.clone() })
    }

    /// Whether a nonce is filled in somewhere.
    pub fn has_nonce(&self) -> bool {
        self.has(NONCE)
    }

    /// Whether the request's number is filled in somewhere.
    pub(crate) fn has_counter(&self) -> bool {
        self.has(COUNTER)
    }

    fn has(&self, placeholder: &[u8]) -> bool {
        let has_one = |text: &[u8]| memmem::find(text, placeholder).is_some();
        let headers = self.headers.iter().flat_map(|(name, value)| [name, value]);
        let in_head = headers.chain([&self.path]).any(|text| has_one(text.as_bytes()));
        match self.placeholders {
            Placeholders::Filled => in_head || has_one(&self.body),
            Placeholders::LeftInBody => in_head,
            Placeholders::Left => false,
        }
    }

    /// Whether there is a placeholder in the body, filled in or not.
    pub fn has_placeholder_in_body(&self) -> bool {
        [NONCE, COUNTER].iter().any(|name| memmem::find(&self.body, name).is_some())
    }

    /// Whether its header `Connection` has this option, as `close`: a list of such, in any
    /// case (RFC 9110, section 7.6.1).
    pub fn has_connection_option(&self, option: &str) -> bool {
        let headers = self.headers.iter();
        headers.filter(|(name, _)| name.eq_ignore_ascii_case("connection")).any(|(_, value)| {
            value.split(',').any(|given| given.trim().eq_ignore_ascii_case(option))
        })
    }
}

/// A body as text.
mod body {
    use std::sync::Arc;

    use base64::Engine;
    use base64::prelude::BASE64_STANDARD;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(body: &Arc<[u8]>, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&BASE64_STANDARD.encode(body))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Arc<[u8]>, D::Error> {
        let text = String::deserialize(from)?;
        BASE64_STANDARD.decode(text).map(Arc::from).map_err(D::Error::custom)
    }
}

/// This text as the request with this number has it, in a run with this seed.
pub fn filled(text: &str, number: u64, seed: u64) -> String {
    let mut bytes = Vec::new();
    Template::parse(text.as_bytes()).render(number, seed, &mut bytes);
    String::from_utf8(bytes).expect("text whose placeholders became digits is text still")
}

/// Bytes with placeholders, and where these are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Template {
    bytes: Arc<[u8]>,
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    /// These of the bytes.
    Bytes(Range<usize>),
    Counter,
    Nonce,
}

impl Template {
    /// Finds the placeholders in bytes. Any other brace stands for itself.
    pub(crate) fn parse(bytes: impl Into<Arc<[u8]>>) -> Template {
        Template::parse_up_to(usize::MAX, bytes)
    }

    /// These bytes, whatever is in them.
    pub(crate) fn literal(bytes: impl Into<Arc<[u8]>>) -> Template {
        Template::parse_up_to(0, bytes)
    }

    /// Finds the placeholders in the first so many of these bytes; the others stand for
    /// themselves.
    pub(crate) fn parse_up_to(end: usize, bytes: impl Into<Arc<[u8]>>) -> Template {
        const NAMES: [(&[u8], Piece); 2] = [(COUNTER, Piece::Counter), (NONCE, Piece::Nonce)];
        let bytes = bytes.into();
        let parsed = &bytes[..bytes.len().min(end)];
        let mut pieces = Vec::new();
        let (mut plain_from, mut at) = (0, 0);
        while let Some(brace) = memchr(b'{', &parsed[at..]) {
            at += brace;
            let Some((name, piece)) = NAMES.iter().find(|(name, _)| parsed[at..].starts_with(name))
            else {
                at += 1;
                continue;
            };
            if plain_from < at {
                pieces.push(Piece::Bytes(plain_from..at));
            }
            pieces.push(piece.clone());
            at += name.len();
            plain_from = at;
        }
        if plain_from < bytes.len() {
            pieces.push(Piece::Bytes(plain_from..bytes.len()));
        }
        Template { bytes, pieces }
    }

    /// The bytes, if there is no placeholder in them.
    pub(crate) fn fixed(&self) -> Option<&[u8]> {
        match self.pieces.as_slice() {
            [] => Some(b""),
            [Piece::Bytes(range)] => Some(&self.bytes[range.clone()]),
            _ => None,
        }
    }

    /// Appends the bytes for the request with this number.
    pub(crate) fn render(&self, number: u64, seed: u64, into: &mut Vec<u8>) {
        for piece in &self.pieces {
            match piece {
                Piece::Bytes(range) => into.extend_from_slice(&self.bytes[range.clone()]),
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
            Piece::Bytes(range) => range.len(),
            Piece::Counter => counter_digits,
            Piece::Nonce => NONCE_DIGITS,
        };
        self.pieces.iter().map(length).sum()
    }
}

/// What stands for the number of the request.
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
        filled(text, number, 7)
    }

    #[test]
    fn placeholders_are_filled_and_other_braces_kept() {
        assert_eq!(rendered("/a{counter}/{x}{", 12), "/a12/{x}{");
        assert_eq!(rendered("{counter}{counter}", 3), "33");
        assert_eq!(rendered("", 3), "");
    }

    #[test]
    fn bytes_are_shared_and_not_copied() {
        let body: Arc<[u8]> =
            [b"{".repeat(1_000), b"{nonce}".to_vec(), vec![0; 1_000]].concat().into();
        let templates = [Template::parse(body.clone()), Template::literal(body.clone())];
        assert_eq!(Arc::strong_count(&body), 3, "a large body would be in memory several times");
        let fixed = templates[1].fixed().map(<[u8]>::as_ptr);
        assert_eq!(fixed, Some(body.as_ptr()));
        let mut rendered = Vec::new();
        templates[0].render(5, 7, &mut rendered);
        assert_eq!(rendered.len(), 2_000 + NONCE_DIGITS);
        assert_eq!(rendered[..1_000], body[..1_000]);
    }

    #[test]
    fn what_is_left_literal_has_no_nonce() {
        let of = |placeholders| Request {
            body: b"{nonce}".as_slice().into(),
            placeholders,
            ..Request::get("/{counter}")
        };
        let has = [Placeholders::Filled, Placeholders::LeftInBody, Placeholders::Left]
            .map(|placeholders| of(placeholders).has_nonce());
        assert_eq!(has, [true, false, false]);
        assert_eq!(Template::literal(b"{nonce}".as_slice()).fixed(), Some(&b"{nonce}"[..]));
    }

    #[test]
    fn options_of_a_connection_are_found_in_any_case_and_list() {
        let of = |headers: &[(&str, &str)]| {
            let own = |&(name, value): &(&str, &str)| (String::from(name), String::from(value));
            let headers = headers.iter().map(own).collect();
            Request { headers, ..Request::get("/") }.has_connection_option("close")
        };
        assert!(of(&[("Connection", "close")]) && of(&[("CONNECTION", "Close")]));
        assert!(of(&[("connection", "keep-alive , CLOSE")]));
        assert!(of(&[("Connection", "TE"), ("Connection", "close")]));
        assert!(!of(&[("Connection", "closed")]) && !of(&[("Keep", "close")]) && !of(&[]));
    }

    #[test]
    fn a_body_is_text_of_a_third_more_in_a_plan() {
        let request = Request { body: vec![0xff; 3_000].into(), ..Request::get("/") };
        let text = serde_json::to_string(&request).unwrap();
        assert!(text.len() < 4_200, "{} characters for 3,000 bytes", text.len());
        assert_eq!(serde_json::from_str::<Request>(&text).unwrap(), request);
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
        let template = Template::parse(*b"a{counter}b{nonce}c");
        for number in [0, 1, 9, 10, 99, 100, 12_345, u64::MAX] {
            let mut bytes = Vec::new();
            template.render(number, 3, &mut bytes);
            assert_eq!(bytes.len(), template.length(number), "Content-Length would be wrong");
            assert!(bytes.len() <= template.length_max(), "the room would be too small");
        }
    }

    #[test]
    fn only_bytes_without_placeholders_are_fixed() {
        assert_eq!(Template::parse(*b"plain").fixed(), Some(&b"plain"[..]));
        assert_eq!(Template::parse(*b"{nonce}").fixed(), None);
    }
}
