//! Status line and headers, and what they say of the body.

use memchr::memchr_iter;

use crate::outcome::fault::show;
use crate::protocol::foreign;

/// The most bytes that a head may have.
pub(crate) const HEAD_BYTES_MAX: usize = 64 * 1024;

/// What matters of a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    pub status: u16,
    pub framing: Framing,
    /// Whether the server keeps the connection open after this answer.
    pub keep_alive: bool,
}

impl Head {
    /// Whether the answer proper is still to come (1xx). 101 ends HTTP on this
    /// connection, so nothing comes after it.
    pub(crate) fn is_interim(&self) -> bool {
        (100..200).contains(&self.status) && self.status != 101
    }
}

/// How the head says that its body ends, RFC 9112, section 6.3.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    Length(u64),
    Chunked,
    UntilClose,
}

/// Reads heads; remembers the last one.
///
/// A server's heads are alike to the byte but when its clock moves on. To
/// compare them spares reading them anew.
#[derive(Debug, Default, Clone)]
pub(crate) struct Heads {
    last: Vec<u8>,
    parsed: Option<Head>,
}

impl Heads {
    /// The last head and its length, if `bytes` begin with it again.
    #[inline]
    pub(crate) fn known(&self, bytes: &[u8]) -> Option<(Head, usize)> {
        let parsed = self.parsed?;
        bytes.starts_with(&self.last).then_some((parsed, self.last.len()))
    }

    /// Whether the last head that was taken says this.
    pub(crate) fn is_last(&self, head: Head) -> bool {
        self.parsed == Some(head)
    }

    /// The bytes of the last head that was taken.
    pub(crate) fn last(&self) -> &[u8] {
        &self.last
    }

    /// Takes a head from the start of `bytes`, of which `before` came earlier.
    /// Gives the head and how many of `bytes` it took, or `None` if it is not
    /// whole yet, when all bytes were moved to `before`.
    ///
    /// # Errors
    /// What is wrong with it, for people.
    pub(crate) fn take(
        &mut self,
        before: &mut Vec<u8>,
        bytes: &[u8],
    ) -> Result<Option<(Head, usize)>, String> {
        if before.is_empty()
            && let Some(known) = self.known(bytes)
        {
            return Ok(Some(known));
        }
        let seam = before.len();
        if seam > 0 {
            before.extend_from_slice(bytes);
        }
        let all = if seam > 0 { before.as_slice() } else { bytes };
        // Said at once: who waits for the end of what is no head waits long.
        if !all.starts_with(&VERSION[..all.len().min(VERSION.len())]) {
            return Err(foreign::named(
                foreign::HTTP,
                all,
                format!("no status line: \"{}\"", show(all)),
            ));
        }
        // The end may lie across the seam: up to 2 bytes of it came before.
        let end = end_of_head(all, seam.saturating_sub(2));
        if end.unwrap_or(all.len()) > HEAD_BYTES_MAX {
            return Err(format!("a head of more than {HEAD_BYTES_MAX} bytes"));
        }
        let Some(end) = end else {
            if seam == 0 {
                before.extend_from_slice(bytes);
            }
            return Ok(None);
        };
        let head = match self.parsed {
            Some(parsed) if self.last == all[..end] => parsed,
            _ => {
                let parsed = parse(&all[..end])?;
                // An interim answer must not push out the one that it precedes.
                if !parsed.is_interim() {
                    self.last.clear();
                    self.last.extend_from_slice(&all[..end]);
                    self.parsed = Some(parsed);
                }
                parsed
            }
        };
        // Freed, not just emptied: thousands of connections may each have had one.
        *before = Vec::new();
        Ok(Some((head, end - seam)))
    }
}

/// What every answer begins with. An empty line before it is allowed before
/// requests only (RFC 9112, section 2.2): before an answer it shows that the
/// last one was longer than it said.
const VERSION: &[u8] = b"HTTP/1.";

/// Where the empty line ends that closes a head, looking from `from` on. A line
/// ends in CR LF, or in LF alone (RFC 9112, section 2.2).
fn end_of_head(bytes: &[u8], from: usize) -> Option<usize> {
    for feed in memchr_iter(b'\n', &bytes[from..]) {
        match &bytes[from + feed + 1..] {
            [b'\n', ..] => return Some(from + feed + 2),
            [b'\r', b'\n', ..] => return Some(from + feed + 3),
            _ => {}
        }
    }
    None
}

fn parse(bytes: &[u8]) -> Result<Head, String> {
    let mut few = [httparse::EMPTY_HEADER; 64];
    let mut response = httparse::Response::new(&mut few);
    match response.parse(bytes) {
        Err(httparse::Error::TooManyHeaders) => {
            // A header takes a line.
            let lines = memchr_iter(b'\n', bytes).count();
            let mut many = vec![httparse::EMPTY_HEADER; lines];
            let mut response = httparse::Response::new(&mut many);
            let status = response.parse(bytes);
            interpret(&response, status, bytes)
        }
        status => interpret(&response, status, bytes),
    }
}

fn interpret(
    response: &httparse::Response<'_, '_>,
    status: httparse::Result<usize>,
    bytes: &[u8],
) -> Result<Head, String> {
    match status {
        Ok(httparse::Status::Complete(length)) if length == bytes.len() => {}
        Ok(_) => return Err(format!("no head: \"{}\"", show(bytes))),
        Err(_) if is_folded(bytes) => {
            let what =
                "a header goes on in a second line, which no server may send (RFC 9112, 5.2)";
            return Err(format!("{what}: \"{}\"", show(bytes)));
        }
        Err(error) => return Err(format!("{error}: \"{}\"", show(bytes))),
    }
    let (Some(status), Some(minor)) = (response.code, response.version) else {
        return Err(format!("no status line: \"{}\"", show(bytes)));
    };
    if status < 100 {
        return Err(format!("status {status}"));
    }
    let mut length = None;
    let mut coding = None;
    let (mut close, mut keep) = (false, false);
    for header in response.headers.iter() {
        if header.name.eq_ignore_ascii_case("content-length") {
            let value = content_length(header.value)?;
            if length.is_some_and(|other| other != value) {
                return Err("two values of Content-Length".into());
            }
            length = Some(value);
        } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
            coding = Some(last_coding(header.value, coding)?);
        } else if header.name.eq_ignore_ascii_case("connection") {
            for option in elements(header.value) {
                close |= option.eq_ignore_ascii_case(b"close");
                keep |= option.eq_ignore_ascii_case(b"keep-alive");
            }
        }
    }
    let framing = match (coding, length) {
        (Some(_), _) if minor == 0 => return Err("Transfer-Encoding in HTTP/1.0".into()),
        (Some(_), Some(_)) => return Err("both Content-Length and Transfer-Encoding".into()),
        (Some(Coding::Chunked), None) => Framing::Chunked,
        (Some(_), None) => Framing::UntilClose,
        (None, Some(length)) => Framing::Length(length),
        (None, None) => Framing::UntilClose,
    };
    // RFC 9112, section 9.3: to close goes before to keep.
    let keep_alive = !close && (minor == 1 || keep) && status != 101;
    Ok(Head { status, framing, keep_alive })
}

/// Whether a line of a head begins with white space, and so goes on with the header before it.
fn is_folded(head: &[u8]) -> bool {
    head.windows(2).any(|pair| matches!(pair, [b'\n', b' ' | b'\t']))
}

/// The elements of a list; empty ones don't count (RFC 9110, section 5.6.1).
fn elements(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    list.split(|&byte| byte == b',').map(<[u8]>::trim_ascii).filter(|element| !element.is_empty())
}

/// The last transfer coding so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Coding {
    Chunked,
    /// Another one, after chunked or without it. Such a body ends with the
    /// connection (RFC 9112, section 6.3, rule 4).
    Other {
        after_chunked: bool,
    },
}

/// The last coding of a `Transfer-Encoding` line, where `before` is that of the
/// lines before it.
fn last_coding(value: &[u8], before: Option<Coding>) -> Result<Coding, String> {
    let wrong = |what: &str| format!("{what} in Transfer-Encoding: \"{}\"", show(value));
    let mut last = before;
    for coding in elements(value) {
        let after_chunked =
            matches!(last, Some(Coding::Chunked | Coding::Other { after_chunked: true }));
        let name = coding.split(|&byte| byte == b';').next().unwrap_or_default();
        last = if !name.trim_ascii().eq_ignore_ascii_case(b"chunked") {
            Some(Coding::Other { after_chunked })
        } else if after_chunked {
            return Err(wrong("chunked twice"));
        } else if name.len() < coding.len() {
            return Err(wrong("a parameter of chunked"));
        } else {
            Some(Coding::Chunked)
        };
    }
    last.ok_or_else(|| wrong("no coding"))
}

/// A length: digits only, no sign, within 64 bits. A list of equal values counts
/// as one, as RFC 9110, section 8.6, allows.
fn content_length(value: &[u8]) -> Result<u64, String> {
    let wrong = || format!("no number, or none of 64 bits, in Content-Length: \"{}\"", show(value));
    let mut length = None;
    for part in value.split(|&byte| byte == b',') {
        let part = part.trim_ascii();
        if part.is_empty() || !part.iter().all(u8::is_ascii_digit) {
            return Err(wrong());
        }
        let digits = std::str::from_utf8(part).map_err(|_| wrong())?;
        let number = digits.parse().map_err(|_| wrong())?;
        if length.is_some_and(|other: u64| other != number) {
            return Err(wrong());
        }
        length = Some(number);
    }
    length.ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERIM: &[u8] = b"HTTP/1.1 103 x\r\n\r\n";
    const FINAL: &[u8] = b"HTTP/1.1 200 x\r\nContent-Length: 7\r\n\r\n";

    #[test]
    fn an_interim_head_does_not_push_out_the_remembered_one() {
        let mut heads = Heads::default();
        for head in [FINAL, INTERIM, FINAL] {
            let taken = heads.take(&mut Vec::new(), head).unwrap();
            assert_eq!(taken.map(|(_, length)| length), Some(head.len()));
            assert_eq!(heads.last, FINAL);
        }
    }

    #[test]
    fn a_head_in_parts_is_remembered_as_a_whole_one_is() {
        for cut in 1..FINAL.len() {
            let (mut heads, mut before) = (Heads::default(), Vec::new());
            assert_eq!(heads.take(&mut before, &FINAL[..cut]), Ok(None));
            let (head, length) = heads.take(&mut before, &FINAL[cut..]).unwrap().unwrap();
            assert_eq!((head.framing, length), (Framing::Length(7), FINAL.len() - cut));
            assert_eq!(heads.take(&mut before, FINAL), Ok(Some((head, FINAL.len()))));
            assert_eq!(heads.last, FINAL, "cut at {cut}");
        }
    }

    #[test]
    fn a_head_that_begins_like_the_remembered_one_is_another() {
        let mut heads = Heads::default();
        let longer = b"HTTP/1.1 200 x\r\nContent-Length: 71\r\n\r\n";
        let mut length = |head: &[u8]| heads.take(&mut Vec::new(), head).unwrap().unwrap().0;
        assert_eq!(length(FINAL).framing, Framing::Length(7));
        assert_eq!(length(longer).framing, Framing::Length(71));
        assert_eq!(length(FINAL).framing, Framing::Length(7));
    }
}
