//! Single requests, for who asks beside the load: what is sent there is sent under load, because
//! both are encoded alike.

use crate::plan::template::Request;
use crate::protocol::http1::encode;

/// The bytes of a request with this number, in a run with this seed, on a connection that is
/// kept. What its headers take from the environment is in them already.
pub fn bytes(request: &Request, authority: &str, number: u64, seed: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode(request, authority, true).render(number, seed, &mut bytes);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_whole_with_its_placeholders_and_its_length() {
        let request = Request {
            method: "POST".into(),
            headers: vec![("X".into(), "{counter}".into())],
            body: b"<{counter}>".as_slice().into(),
            ..Request::get("/{counter}")
        };
        let text = "POST /12 HTTP/1.1\r\nHost: a:1\r\nX: 12\r\nContent-Length: 4\r\n\r\n<12>";
        assert_eq!(bytes(&request, "a:1", 12, 1), text.as_bytes());
    }
}
