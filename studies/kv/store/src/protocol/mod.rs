//! Two protocols on one port, told apart by a connection's first byte: RESP 2 begins with `*`, or with
//! a capital where a command comes in a line, and anything else is memcached's text protocol.
//!
//! Both become one [`Request`], and each has its own words for answers. What comes is hostile:
//! every length has a bound before anything is kept for it, and whatever breaks the protocol gets
//! an error and ends the connection.

use std::ops::Range;

use crate::error::Error;
use crate::value::Head;

mod resp;
mod text;

/// The longest key: memcached's bound, for both protocols.
pub const KEY_BYTES_MAX: usize = 250;
/// The longest value.
pub const VALUE_BYTES_MAX: usize = 64 << 20;
/// Words of a request, the command and its keys among them.
pub const WORDS_MAX: usize = 1024;
/// Bytes of a line, without its end: so many keys have room.
const LINE_BYTES_MAX: usize = 300 << 10;
/// What is shown of bytes that weren't expected.
const SHOWN_MAX: usize = 60;

/// What a connection speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    Resp,
    Text,
}

/// What is asked for. Keys are 1 to 250 bytes long.
#[derive(Debug, PartialEq, Eq)]
pub enum Request<'a> {
    /// `as_list`: an answer of several values, also where one is asked for (`MGET`).
    Get {
        keys: Words<'a>,
        as_list: bool,
        with_cas: bool,
    },
    Set {
        key: &'a [u8],
        value: &'a [u8],
        head: Head,
        is_silent: bool,
    },
    Delete {
        keys: Words<'a>,
        is_silent: bool,
    },
    Exists {
        keys: Words<'a>,
    },
    Count,
    Clear {
        is_silent: bool,
    },
    /// RESP's `INFO`, memcached's `stats`: what the server tells of itself.
    Stats,
    /// An answer that is the same whatever is kept.
    Answer(Vec<u8>),
    /// The client goes.
    Quit,
}

/// Some words of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Words<'a> {
    bytes: &'a [u8],
    places: &'a [Range<usize>],
}

impl<'a> Words<'a> {
    pub fn len(&self) -> usize {
        self.places.len()
    }

    pub fn iter(self) -> impl Iterator<Item = &'a [u8]> {
        self.places.iter().map(move |place| &self.bytes[place.clone()])
    }

    fn get(&self, at: usize) -> Option<&'a [u8]> {
        self.places.get(at).map(|place| &self.bytes[place.clone()])
    }

    fn from(&self, at: usize) -> Words<'a> {
        Words { bytes: self.bytes, places: self.places.get(at..).unwrap_or_default() }
    }
}

/// What lies at the begin of the bytes that came.
#[derive(Debug, PartialEq, Eq)]
pub enum Parsed<'a> {
    /// A request, and where it ends.
    Whole(Request<'a>, usize),
    /// One that can't be done, with the answer that says so, and where it ends.
    Refused(Vec<u8>, usize),
    /// There is no whole one: so many more bytes it takes at least.
    More(usize),
    /// What can't be the protocol, with the answer that says so: nothing behind it makes sense.
    Broken(Vec<u8>),
}

impl Wire {
    /// What a connection that begins with this byte speaks.
    pub fn of(first: u8) -> Wire {
        match first {
            b'*' | b'A'..=b'Z' => Wire::Resp,
            _ => Wire::Text,
        }
    }

    /// Looks for a request. `words` is room that is used again and again.
    pub fn parse<'a>(
        self,
        bytes: &'a [u8],
        now_ms: u64,
        words: &'a mut Vec<Range<usize>>,
    ) -> Parsed<'a> {
        words.clear();
        match self {
            Wire::Resp => resp::parse(bytes, now_ms, words),
            Wire::Text => text::parse(bytes, now_ms, words),
        }
    }

    /// What comes before the values of a get.
    pub fn begin_values(self, keys: usize, as_list: bool, out: &mut Vec<u8>) {
        if self == Wire::Resp && as_list {
            resp::number(b'*', keys as u64, out);
        }
    }

    pub fn value(self, key: &[u8], head: Head, value: &[u8], with_cas: bool, out: &mut Vec<u8>) {
        match self {
            Wire::Resp => resp::bulk(value, out),
            Wire::Text => text::value(key, head, value, with_cas, out),
        }
    }

    /// A key without a value.
    pub fn no_value(self, out: &mut Vec<u8>) {
        if self == Wire::Resp {
            out.extend_from_slice(b"$-1\r\n");
        }
    }

    pub fn end_values(self, out: &mut Vec<u8>) {
        if self == Wire::Text {
            out.extend_from_slice(b"END\r\n");
        }
    }

    pub fn stored(self, out: &mut Vec<u8>) {
        out.extend_from_slice(match self {
            Wire::Resp => b"+OK\r\n",
            Wire::Text => b"STORED\r\n",
        });
    }

    /// So many keys were removed.
    pub fn removed(self, keys: u64, out: &mut Vec<u8>) {
        match self {
            Wire::Resp => resp::number(b':', keys, out),
            Wire::Text if keys > 0 => out.extend_from_slice(b"DELETED\r\n"),
            Wire::Text => out.extend_from_slice(b"NOT_FOUND\r\n"),
        }
    }

    pub fn cleared(self, out: &mut Vec<u8>) {
        out.extend_from_slice(match self {
            Wire::Resp => b"+OK\r\n",
            Wire::Text => b"OK\r\n",
        });
    }

    /// The answer to [`Request::Count`] and [`Request::Exists`], which only RESP has.
    pub fn count(self, keys: u64, out: &mut Vec<u8>) {
        resp::number(b':', keys, out);
    }

    pub fn stats(self, engine: &str, threads: usize, keys: u64, out: &mut Vec<u8>) {
        match self {
            Wire::Resp => resp::info(engine, threads, keys, out),
            Wire::Text => text::stats(engine, threads, keys, out),
        }
    }

    /// That something couldn't be done.
    pub fn error(self, why: &Error, out: &mut Vec<u8>) {
        // An end of a line would begin another answer.
        let why = why.to_string().replace(['\r', '\n'], " ");
        let word = match self {
            Wire::Resp => "-ERR",
            Wire::Text => "SERVER_ERROR",
        };
        out.extend_from_slice(format!("{word} {why}\r\n").as_bytes());
    }
}

/// The first line, without its end, and where it ends.
///
/// # Errors
/// If it has no end where every line has one.
fn line(bytes: &[u8], bytes_max: usize) -> Result<Option<(&[u8], usize)>, ()> {
    let within = &bytes[..bytes.len().min(bytes_max + 2)];
    match within.iter().position(|&byte| byte == b'\n') {
        Some(end) => {
            let line = &within[..end];
            Ok(Some((line.strip_suffix(b"\r").unwrap_or(line), end + 1)))
        }
        None if within.len() == bytes_max + 2 => Err(()),
        None => Ok(None),
    }
}

/// Finds the words of a line.
fn split_words(line: &[u8], words: &mut Vec<Range<usize>>) {
    let mut begin = 0;
    for (at, &byte) in line.iter().chain(b" ").enumerate() {
        if byte == b' ' {
            if at > begin {
                words.push(begin..at);
            }
            begin = at + 1;
        }
    }
}

/// A number in decimal digits, without a sign.
fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 20 {
        return None;
    }
    digits.iter().try_fold(0_u64, |number, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    })
}

/// The begin of bytes that weren't expected, as text in one line.
fn shown(bytes: &[u8]) -> String {
    bytes[..bytes.len().min(SHOWN_MAX)].escape_ascii().to_string()
}

#[cfg(test)]
mod tests;
