//! What the headers of an answer that isn't good say of why, for people.

use crate::outcome::ErrorKind;
use crate::outcome::fault::{Fault, show};

/// The most headers that are looked at.
const HEADERS_MAX: usize = 64;

/// The same fault, with what this head says of it.
#[cold]
pub(super) fn explained(mut fault: Box<Fault>, head: &[u8]) -> Box<Fault> {
    let hint = match fault.kind {
        ErrorKind::WrongStatus => {
            value(head, "location").map(|place| format!(", which leads to \"{}\"", show(place)))
        }
        ErrorKind::WrongBody => value(head, "content-encoding")
            .filter(|coding| !coding.eq_ignore_ascii_case(b"identity"))
            .map(|coding| format!("; the body is encoded (Content-Encoding: {})", show(coding))),
        _ => None,
    };
    fault.example.extend(hint);
    fault
}

/// The value of a header.
fn value<'a>(head: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut response = httparse::Response::new(&mut headers);
    response.parse(head).ok()?;
    let header = response.headers.iter().find(|it| it.name.eq_ignore_ascii_case(name))?;
    Some(header.value)
}
