//! Status line and headers, and what they say of the body.

use memchr::memchr_iter;

use super::show;

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
/// compare them costs a twentieth of reading them anew.
#[derive(Debug, Default)]
pub(crate) struct Heads {
    last: Vec<u8>,
    parsed: Option<Head>,
}

impl Heads {
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
            && let Some(parsed) = self.parsed
            && bytes.starts_with(&self.last)
        {
            return Ok(Some((parsed, self.last.len())));
        }
        // The end may lie across the seam: up to 3 bytes of it came before.
        let seam = before.len();
        let whole = if before.is_empty() {
            end_of_head(bytes, 0).map(|end| (end, parse(&bytes[..end])))
        } else {
            before.extend_from_slice(bytes);
            end_of_head(before, seam.saturating_sub(3)).map(|end| (end, parse(&before[..end])))
        };
        let Some((end, parsed)) = whole else {
            if before.is_empty() {
                before.extend_from_slice(bytes);
            }
            if before.len() > HEAD_BYTES_MAX {
                return Err(format!("a head of more than {HEAD_BYTES_MAX} bytes"));
            }
            return Ok(None);
        };
        if end > HEAD_BYTES_MAX {
            return Err(format!("a head of more than {HEAD_BYTES_MAX} bytes"));
        }
        let parsed = parsed?;
        if seam == 0 {
            self.last.clear();
            self.last.extend_from_slice(&bytes[..end]);
            self.parsed = Some(parsed);
        }
        // Freed, not just emptied: thousands of connections may each have had one.
        *before = Vec::new();
        Ok(Some((parsed, end - seam)))
    }
}

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
            // A header takes at least 4 bytes ("a:\r\n").
            let mut many = vec![httparse::EMPTY_HEADER; HEAD_BYTES_MAX / 4];
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
        Ok(httparse::Status::Complete(_)) => {}
        Ok(httparse::Status::Partial) => return Err(format!("no head: \"{}\"", show(bytes))),
        Err(error) => return Err(format!("{error}: \"{}\"", show(bytes))),
    }
    let (Some(status), Some(minor)) = (response.code, response.version) else {
        return Err(format!("no status line: \"{}\"", show(bytes)));
    };
    if status < 100 {
        return Err(format!("status {status}"));
    }
    let mut length = None;
    let mut transfer_coding: Option<&[u8]> = None;
    let mut keep_alive = minor == 1;
    for header in response.headers.iter() {
        if header.name.eq_ignore_ascii_case("content-length") {
            let value = content_length(header.value)?;
            if length.is_some_and(|other| other != value) {
                return Err("two values of Content-Length".into());
            }
            length = Some(value);
        } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
            // Of several lines the last coding counts.
            transfer_coding = Some(header.value);
        } else if header.name.eq_ignore_ascii_case("connection") {
            for option in header.value.split(|&byte| byte == b',') {
                let option = option.trim_ascii();
                if option.eq_ignore_ascii_case(b"close") {
                    keep_alive = false;
                } else if option.eq_ignore_ascii_case(b"keep-alive") && minor == 0 {
                    keep_alive = true;
                }
            }
        }
    }
    let framing = match (transfer_coding, length) {
        (Some(_), _) if minor == 0 => return Err("Transfer-Encoding in HTTP/1.0".into()),
        (Some(_), Some(_)) => return Err("both Content-Length and Transfer-Encoding".into()),
        (Some(codings), None) => {
            let last = codings.rsplit(|&byte| byte == b',').next().unwrap_or_default();
            if last.trim_ascii().eq_ignore_ascii_case(b"chunked") {
                Framing::Chunked
            } else {
                Framing::UntilClose
            }
        }
        (None, Some(length)) => Framing::Length(length),
        (None, None) => Framing::UntilClose,
    };
    if status == 101 {
        keep_alive = false;
    }
    Ok(Head { status, framing, keep_alive })
}

/// A length: digits only, no sign, within 64 bits. A list of equal values counts
/// as one, as RFC 9110, section 8.6, allows.
fn content_length(value: &[u8]) -> Result<u64, String> {
    let wrong = || format!("Content-Length: \"{}\"", show(value));
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
