//! What an answer that isn't good says itself of why, for people.

use crate::outcome::ErrorKind;
use crate::outcome::fault::{Fault, show};
use crate::work::expected::SHOWN;

/// The most headers that are looked at.
const HEADERS_MAX: usize = 64;

/// The header that says what a status asks of the client, and the words before its value
/// (RFC 9110, 10.2 and 15; RFC 6585, 4).
fn header_of(status: u16) -> Option<(&'static str, &'static str)> {
    Some(match status {
        300..=399 => ("location", "which leads to"),
        401 => ("www-authenticate", "which asks for credentials (-H 'Authorization: …'):"),
        405 => ("allow", "which allows the methods"),
        407 => ("proxy-authenticate", "which asks for a proxy's credentials:"),
        413 | 429 | 503 => ("retry-after", "which is to be asked again after (Retry-After)"),
        415 => ("accept-post", "which takes bodies of the type"),
        101 | 426 => ("upgrade", "which goes on in another protocol:"),
        _ => return None,
    })
}

/// The same fault, with what an answer of this status, with this head and this start of its
/// body says of it.
#[cold]
pub(super) fn explained(
    mut fault: Box<Fault>,
    status: u16,
    head: &[u8],
    start: &[u8],
) -> Box<Fault> {
    let hint = match fault.kind {
        ErrorKind::WrongStatus => header_of(status)
            .and_then(|(name, words)| Some((words, value(head, name)?)))
            .map(|(words, value)| format!(", {words} \"{}\"", show(value)))
            .or_else(|| quoted(start)),
        ErrorKind::WrongBody => encoded(head),
        _ => None,
    };
    fault.example.extend(hint);
    fault
}

/// In which encodings a body came, if it isn't as it is: those of the content, and those for the
/// way beside the chunks.
pub(crate) fn encoded(head: &[u8]) -> Option<String> {
    let is_one = |coding: &[u8], plain: &str| {
        coding
            .split(|&byte| byte == b',')
            .any(|it| !it.is_empty() && !it.trim_ascii().eq_ignore_ascii_case(plain.as_bytes()))
    };
    let headers = [("Content-Encoding", "identity"), ("Transfer-Encoding", "chunked")];
    let of = |(name, plain): &(&str, &str)| {
        let coding = value(head, name).filter(|coding| is_one(coding, plain))?;
        Some(format!("{name}: {}", show(coding)))
    };
    let codings: Vec<String> = headers.iter().filter_map(of).collect();
    (!codings.is_empty()).then(|| format!("; the body is encoded ({})", codings.join(", ")))
}

/// The start of a body, which often has the reason in words.
fn quoted(body: &[u8]) -> Option<String> {
    // Cut first: in pieces no more of it is known.
    let start = body[..body.len().min(SHOWN)].trim_ascii();
    (!start.is_empty()).then(|| format!(": \"{}\"", show(start)))
}

/// The value of a header.
fn value<'a>(head: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut response = httparse::Response::new(&mut headers);
    response.parse(head).ok()?;
    let header = response.headers.iter().find(|it| it.name.eq_ignore_ascii_case(name))?;
    Some(header.value)
}
