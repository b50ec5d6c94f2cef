//! Where a body ends.

use super::head::{Framing, Head};
use super::show;

/// A body under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Body {
    /// So many bytes are still to come.
    Length(u64),
    /// All until the server closes.
    UntilClose,
    /// Chunks: RFC 9112, section 7.1.
    Chunked(Chunk),
}

/// Where in a chunked body the next byte lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Chunk {
    /// In the line with a chunk's size, of which digits came already.
    Size {
        value: u64,
        digits: u8,
    },
    /// In that line, after the size; so many bytes of extensions were skipped.
    Extension {
        value: u64,
        skipped: u16,
    },
    /// At the LF of that line.
    SizeEnd {
        value: u64,
    },
    /// In the data.
    Data {
        left: u64,
    },
    /// At the CR, or then the LF, after the data.
    DataCr,
    DataLf,
    /// In the trailers; how many bytes of the current line came, and of all.
    Trailer {
        line: u32,
        all: u32,
        after_cr: bool,
    },
}

/// How much of the bytes given a body took.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    /// Bytes of framing, before the piece.
    pub framed: usize,
    /// Bytes of the body itself.
    pub piece: usize,
    /// Whether the body is whole.
    pub whole: bool,
}

/// The most bytes of a chunk's extensions.
const EXTENSION_BYTES_MAX: u16 = 4096;
/// The most bytes of trailers.
const TRAILER_BYTES_MAX: u32 = 64 * 1024;

impl Body {
    /// The body that follows a head; some answers have none, whatever it says.
    pub(crate) fn of(head: &Head, to_head_method: bool) -> Body {
        if to_head_method || head.status == 204 || head.status == 304 || head.status == 101 {
            return Body::Length(0);
        }
        match head.framing {
            Framing::Length(length) => Body::Length(length),
            Framing::UntilClose => Body::UntilClose,
            Framing::Chunked => Body::Chunked(Chunk::Size { value: 0, digits: 0 }),
        }
    }

    /// What of it is still to come, for people.
    pub(crate) fn missing(&self) -> String {
        match self {
            Body::Length(left) => format!("{left} bytes missing"),
            Body::UntilClose => "nothing missing".into(),
            Body::Chunked(Chunk::Data { left }) => format!("{left} bytes of a chunk missing"),
            Body::Chunked(_) => "the last chunk missing".into(),
        }
    }

    /// Takes what belongs to the body: at most one piece of data.
    ///
    /// # Errors
    /// What is wrong with the framing, for people.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Result<Taken, String> {
        match self {
            Body::Length(left) => {
                let piece = (*left).min(bytes.len() as u64);
                *left -= piece;
                Ok(Taken { framed: 0, piece: piece as usize, whole: *left == 0 })
            }
            Body::UntilClose => Ok(Taken { framed: 0, piece: bytes.len(), whole: false }),
            Body::Chunked(chunk) => chunk.take(bytes),
        }
    }
}

impl Chunk {
    fn take(&mut self, bytes: &[u8]) -> Result<Taken, String> {
        for (index, &byte) in bytes.iter().enumerate() {
            if let Chunk::Data { left } = self {
                let piece = (*left).min((bytes.len() - index) as u64);
                *left -= piece;
                if *left == 0 {
                    *self = Chunk::DataCr;
                }
                return Ok(Taken { framed: index, piece: piece as usize, whole: false });
            }
            if self.step(byte)? {
                return Ok(Taken { framed: index + 1, piece: 0, whole: true });
            }
        }
        Ok(Taken { framed: bytes.len(), piece: 0, whole: false })
    }

    /// Takes one byte of framing; true if it was the last of the body.
    fn step(&mut self, byte: u8) -> Result<bool, String> {
        let wrong = |what: &str| Err(format!("{what} in a chunked body: \"{}\"", show(&[byte])));
        *self = match *self {
            Chunk::Size { value, digits } => match (byte as char).to_digit(16) {
                Some(_) if digits == 16 => return wrong("a chunk size of more than 16 digits"),
                Some(digit) => {
                    Chunk::Size { value: value << 4 | u64::from(digit), digits: digits + 1 }
                }
                None if digits == 0 => return wrong("no chunk size"),
                None => match byte {
                    b'\r' => Chunk::SizeEnd { value },
                    b';' | b' ' | b'\t' => Chunk::Extension { value, skipped: 0 },
                    _ => return wrong("no digit in a chunk size"),
                },
            },
            Chunk::Extension { value, skipped } => match byte {
                b'\r' => Chunk::SizeEnd { value },
                b'\n' => return wrong("a line without CR"),
                _ if skipped == EXTENSION_BYTES_MAX => return wrong("an extension without end"),
                _ => Chunk::Extension { value, skipped: skipped + 1 },
            },
            Chunk::SizeEnd { value } => match byte {
                b'\n' if value == 0 => Chunk::Trailer { line: 0, all: 0, after_cr: false },
                b'\n' => Chunk::Data { left: value },
                _ => return wrong("CR without LF"),
            },
            Chunk::Data { .. } => unreachable!("data is taken in pieces, not in bytes"),
            Chunk::DataCr if byte == b'\r' => Chunk::DataLf,
            Chunk::DataLf if byte == b'\n' => Chunk::Size { value: 0, digits: 0 },
            Chunk::DataCr | Chunk::DataLf => return wrong("no end of line after a chunk"),
            Chunk::Trailer { all, .. } if all == TRAILER_BYTES_MAX => {
                return wrong("trailers without end");
            }
            Chunk::Trailer { line, all, after_cr } => match (byte, after_cr) {
                (b'\n', true) if line == 0 => return Ok(true),
                (b'\n', true) => Chunk::Trailer { line: 0, all: all + 1, after_cr: false },
                (_, true) => return wrong("CR without LF"),
                (b'\n', false) => return wrong("a line without CR"),
                (b'\r', false) => Chunk::Trailer { line, all: all + 1, after_cr: true },
                (_, false) => Chunk::Trailer { line: line + 1, all: all + 1, after_cr: false },
            },
        };
        Ok(false)
    }
}
