//! Where a body ends.

use super::head::{Framing, Head};
use crate::outcome::fault::show;
use crate::plan::statuses::has_no_body;

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
    /// In the line with a chunk's size; so many bytes of the line came.
    Size {
        value: u64,
        line: u16,
    },
    /// In that line, in white space after the size.
    Padding {
        value: u64,
        line: u16,
    },
    /// In that line, in extensions, which are skipped.
    Extension {
        value: u64,
        line: u16,
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
    /// In the trailers, of which so many bytes came.
    Trailers {
        at: Trailer,
        bytes: u32,
    },
}

/// Where in the trailers the next byte lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trailer {
    /// At the start of a line.
    Start,
    Name,
    Value,
    /// At the LF of a line.
    End,
    /// At the LF of the empty line that ends the body.
    LastEnd,
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

/// The most bytes of the line with a chunk's size, extensions included.
const SIZE_LINE_BYTES_MAX: u16 = 4096;
/// The most bytes of trailers.
const TRAILER_BYTES_MAX: u32 = 64 * 1024;

impl Body {
    /// The body that follows a head; some answers have none, whatever it says.
    pub(crate) fn of(head: &Head, to_head_method: bool) -> Body {
        if to_head_method || has_no_body(head.status) {
            return Body::Length(0);
        }
        match head.framing {
            Framing::Length(length) => Body::Length(length),
            Framing::UntilClose => Body::UntilClose,
            Framing::Chunked => Body::Chunked(Chunk::Size { value: 0, line: 0 }),
        }
    }

    /// What is missing of it, for people, if the server closes now.
    pub(crate) fn missing(&self) -> Option<String> {
        match self {
            Body::Length(left) => Some(format!("{left} bytes")),
            Body::UntilClose => None,
            Body::Chunked(Chunk::Data { left }) => Some(format!("{left} bytes of a chunk")),
            Body::Chunked(_) => Some("the last chunk".into()),
        }
    }

    /// What is missing of it, for people, if the connection stays open and nothing comes.
    /// `head` is what its answer said.
    pub(crate) fn lacks(&self, head: &Head) -> String {
        match (self, head.framing) {
            (Body::Length(left), Framing::Length(all)) => {
                format!("{left} of {all} bytes of the body are missing")
            }
            (Body::UntilClose, _) => "nothing tells where the body ends: the answer has neither \
                                      Content-Length nor chunks, and the connection stays open"
                .into(),
            _ => format!("{} missing", self.missing().unwrap_or_default()),
        }
    }

    /// Bytes that are still to come of it, at least; one where that isn't known.
    pub(crate) fn missing_bytes(&self) -> u64 {
        match *self {
            Body::Length(left) | Body::Chunked(Chunk::Data { left }) => left,
            Body::UntilClose | Body::Chunked(_) => 1,
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
        let wrong = |what: &str| format!("{what} in a chunked body: \"{}\"", show(&[byte]));
        *self = match *self {
            Chunk::Size { line, .. }
            | Chunk::Padding { line, .. }
            | Chunk::Extension { line, .. }
                if line == SIZE_LINE_BYTES_MAX =>
            {
                return Err(wrong("a line of a chunk size without end"));
            }
            Chunk::Size { value, line } => match (byte as char).to_digit(16) {
                Some(_) if value >> 60 != 0 => return Err(wrong("a chunk size beyond 64 bits")),
                Some(digit) => Chunk::Size { value: value << 4 | u64::from(digit), line: line + 1 },
                None if line == 0 => return Err(wrong("no chunk size")),
                None => Chunk::after_size(value, line, byte).map_err(wrong)?,
            },
            Chunk::Padding { value, line } => {
                Chunk::after_size(value, line, byte).map_err(wrong)?
            }
            Chunk::Extension { value, line } => match byte {
                b'\r' => Chunk::SizeEnd { value },
                byte if is_text(byte) => Chunk::Extension { value, line: line + 1 },
                _ => return Err(wrong("a control character in an extension")),
            },
            Chunk::SizeEnd { value } => match byte {
                b'\n' if value == 0 => Chunk::Trailers { at: Trailer::Start, bytes: 0 },
                b'\n' => Chunk::Data { left: value },
                _ => return Err(wrong("CR without LF")),
            },
            Chunk::Data { .. } => unreachable!("data is taken in pieces, not in bytes"),
            Chunk::DataCr if byte == b'\r' => Chunk::DataLf,
            Chunk::DataLf if byte == b'\n' => Chunk::Size { value: 0, line: 0 },
            Chunk::DataCr | Chunk::DataLf => return Err(wrong("no end of line after a chunk")),
            Chunk::Trailers { bytes, .. } if bytes == TRAILER_BYTES_MAX => {
                return Err(wrong("trailers without end"));
            }
            Chunk::Trailers { at: Trailer::LastEnd, .. } if byte == b'\n' => return Ok(true),
            Chunk::Trailers { at, bytes } => {
                Chunk::Trailers { at: at.after(byte).map_err(wrong)?, bytes: bytes + 1 }
            }
        };
        Ok(false)
    }

    /// What follows the digits of a size, or white space after them: not more
    /// digits, since readers would not agree on the size then.
    fn after_size(value: u64, line: u16, byte: u8) -> Result<Chunk, &'static str> {
        match byte {
            b'\r' => Ok(Chunk::SizeEnd { value }),
            b';' => Ok(Chunk::Extension { value, line: line + 1 }),
            b' ' | b'\t' => Ok(Chunk::Padding { value, line: line + 1 }),
            _ => Err("no digit in a chunk size"),
        }
    }
}

impl Trailer {
    /// The place after this byte: a trailer is built as a header is, and a line
    /// that begins with white space would fold the one before it.
    fn after(self, byte: u8) -> Result<Trailer, &'static str> {
        match (self, byte) {
            (Trailer::Start, b'\r') => Ok(Trailer::LastEnd),
            (Trailer::Start | Trailer::Name, byte) if is_token(byte) => Ok(Trailer::Name),
            (Trailer::Name, b':') => Ok(Trailer::Value),
            (Trailer::Start | Trailer::Name, _) => Err("no name of a trailer"),
            (Trailer::Value, b'\r') => Ok(Trailer::End),
            (Trailer::Value, byte) if is_text(byte) => Ok(Trailer::Value),
            (Trailer::Value, _) => Err("a control character in a trailer"),
            (Trailer::End, b'\n') => Ok(Trailer::Start),
            (Trailer::End | Trailer::LastEnd, _) => Err("CR without LF"),
        }
    }
}

/// Whether a byte may stand in a name (RFC 9110, section 5.6.2).
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Whether a byte may stand in a value: no control character but tab.
fn is_text(byte: u8) -> bool {
    byte == b'\t' || !byte.is_ascii_control()
}
