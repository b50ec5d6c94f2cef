//! HTTP/1.1 as RFC 9112 has it.
//!
//! - [`head`]: status line and headers, and what they say of the body;
//! - [`body`]: where a body ends: by length, by chunks, by the connection's end;
//! - this file: requests, and whole answers from pieces.

mod body;
mod head;

use memchr::memmem;

use self::body::{Body, Taken};
use self::head::{Head, Heads};
use super::{Fault, Fed, Protocol, show};
use crate::outcome::ErrorKind;
use crate::plan::Plan;
use crate::template::Template;

/// The encoder and decoder of one thread.
pub(crate) struct Http1 {
    requests: Vec<Encoded>,
    expected_body: Option<Template>,
    seed: u64,
    heads: Heads,
    /// Room to render the text that a body must hold.
    needle: Vec<u8>,
}

/// A request, as far as it can be made ahead.
struct Encoded {
    head: Template,
    /// Present if the body's length, and so a header, varies.
    body: Option<Template>,
    is_head_method: bool,
}

/// An answer that came in part.
#[derive(Debug, Default)]
pub(crate) struct Partial {
    /// The bytes of an unfinished head.
    head: Vec<u8>,
    /// The body under way, after its head.
    body: Option<(Head, Body)>,
    /// Whether the expected text was found in the body so far.
    found: bool,
    /// The end of the body so far, in which the expected text may begin.
    tail: Vec<u8>,
}

impl Http1 {
    pub(crate) fn new(plan: &Plan) -> Http1 {
        let requests = plan.requests.iter().map(|request| encode(request, plan)).collect();
        Http1 {
            requests,
            expected_body: plan.expect.body.as_ref().map(|body| Template::parse(body.as_bytes())),
            seed: plan.seed,
            heads: Heads::default(),
            needle: Vec::new(),
        }
    }

    fn encoded(&self, number: u64) -> &Encoded {
        match self.requests.as_slice() {
            // Spares a division in the common case.
            [only] => only,
            several => &several[(number % several.len() as u64) as usize],
        }
    }

    /// Looks for the expected text in a piece of a body.
    fn search(&mut self, partial: &mut Partial, piece: &[u8], number: u64) {
        let Some(expected) = &self.expected_body else { return };
        if partial.found {
            return;
        }
        self.needle.clear();
        expected.render(number, self.seed, &mut self.needle);
        // The text may begin in an earlier piece and end in this one.
        let keep = self.needle.len().saturating_sub(1);
        let across = !partial.tail.is_empty() && {
            let mut seam = partial.tail.clone();
            seam.extend_from_slice(&piece[..piece.len().min(keep)]);
            memmem::find(&seam, &self.needle).is_some()
        };
        partial.found = across || memmem::find(piece, &self.needle).is_some();
        if !partial.found {
            if piece.len() >= keep {
                partial.tail.clear();
            }
            partial.tail.extend_from_slice(&piece[piece.len() - piece.len().min(keep)..]);
            let surplus = partial.tail.len().saturating_sub(keep);
            partial.tail.drain(..surplus);
        }
    }

    /// Closes an answer: is it good, and can the connection go on?
    fn answer(&mut self, partial: &mut Partial, head: Head, used: usize) -> Fed {
        let found = std::mem::take(&mut partial.found);
        partial.tail.clear();
        partial.body = None;
        let fault = if !(200..300).contains(&head.status) {
            Some(Fault { kind: ErrorKind::WrongStatus, example: format!("status {}", head.status) })
        } else if self.expected_body.is_some() && !found {
            Some(Fault {
                kind: ErrorKind::WrongBody,
                example: format!("no {:?} in the body", show(&self.needle)),
            })
        } else {
            None
        };
        Fed::Answer { used, fault, reusable: head.keep_alive }
    }
}

impl Protocol for Http1 {
    type Connection = Partial;

    fn request(&self, number: u64, room: &mut Vec<u8>) -> Option<&[u8]> {
        let encoded = self.encoded(number);
        if let (Some(bytes), None) = (encoded.head.fixed(), &encoded.body) {
            return Some(bytes);
        }
        room.clear();
        encoded.head.render(number, self.seed, room);
        if let Some(body) = &encoded.body {
            let end_of_head = room.len();
            body.render(number, self.seed, room);
            // The length stands before the body, and is known only after it.
            let length = format!("Content-Length: {}\r\n\r\n", room.len() - end_of_head);
            room.splice(end_of_head..end_of_head, length.into_bytes());
        }
        None
    }

    fn rendered_bytes_max(&self) -> usize {
        let needs_room =
            |encoded: &&Encoded| encoded.head.fixed().is_none() || encoded.body.is_some();
        let content_length_max = 64;
        self.requests
            .iter()
            .filter(needs_room)
            .map(|encoded| {
                let body = encoded.body.as_ref().map_or(0, |body| body.length_max());
                encoded.head.length_max() + body + content_length_max
            })
            .max()
            .unwrap_or(0)
    }

    fn feed(&mut self, partial: &mut Partial, bytes: &[u8], number: u64) -> Fed {
        let mut used = 0;
        loop {
            let rest = &bytes[used..];
            let (head, mut body) = match partial.body.take() {
                Some(under_way) => under_way,
                None => {
                    let (head, length) = match self.heads.take(&mut partial.head, rest) {
                        Ok(Some(taken)) => taken,
                        Ok(None) => return Fed::More,
                        Err(example) => {
                            return Fed::Broken(Fault { kind: ErrorKind::Malformed, example });
                        }
                    };
                    used += length;
                    if head.is_interim() {
                        continue;
                    }
                    (head, Body::of(&head, self.encoded(number).is_head_method))
                }
            };
            let rest = &bytes[used..];
            let mut position = 0;
            // A body is taken piece by piece, since chunks have frames between.
            loop {
                match body.take(&rest[position..]) {
                    Ok(Taken { framed, piece, whole }) => {
                        let start = position + framed;
                        position = start + piece;
                        if piece > 0 {
                            self.search(partial, &rest[start..position], number);
                        }
                        if whole {
                            return self.answer(partial, head, used + position);
                        }
                        if position == rest.len() {
                            partial.body = Some((head, body));
                            return Fed::More;
                        }
                    }
                    Err(example) => {
                        return Fed::Broken(Fault { kind: ErrorKind::Malformed, example });
                    }
                }
            }
        }
    }

    fn end(&mut self, partial: &mut Partial, _number: u64) -> Fed {
        let ended = std::mem::take(partial);
        match ended.body {
            Some((head, Body::UntilClose)) => {
                partial.found = ended.found;
                self.answer(partial, head, 0)
            }
            Some((_, body)) => Fed::Broken(Fault {
                kind: ErrorKind::ClosedEarly,
                example: format!("closed within the body, {}", body.missing()),
            }),
            None if ended.head.is_empty() => Fed::Broken(Fault {
                kind: ErrorKind::ClosedEarly,
                example: "closed without an answer".into(),
            }),
            None => Fed::Broken(Fault {
                kind: ErrorKind::ClosedEarly,
                example: format!("closed within the head, after \"{}\"", show(&ended.head)),
            }),
        }
    }
}

/// Writes a request's head, with all that does not change from one to the next.
fn encode(request: &crate::template::Request, plan: &Plan) -> Encoded {
    let given = |name: &str| request.headers.iter().any(|(key, _)| key.eq_ignore_ascii_case(name));
    let mut head = format!("{} {} HTTP/1.1\r\n", request.method, request.path);
    if !given("host") {
        head.push_str(&format!("Host: {}\r\n", plan.target.authority));
    }
    for (name, value) in &request.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    if !plan.keep_alive && !given("connection") {
        head.push_str("Connection: close\r\n");
    }
    let body = Template::parse(&request.body);
    let is_head_method = request.method == "HEAD";
    // A GET without a body says nothing of a length; other methods say 0.
    let bodiless = request.body.is_empty() && matches!(request.method.as_str(), "GET" | "HEAD");
    if let Some(fixed) = body.fixed() {
        if !bodiless && !given("content-length") {
            head.push_str(&format!("Content-Length: {}\r\n", fixed.len()));
        }
        head.push_str("\r\n");
        let mut bytes = head.into_bytes();
        bytes.extend_from_slice(fixed);
        return Encoded { head: Template::parse(&bytes), body: None, is_head_method };
    }
    Encoded { head: Template::parse(head.as_bytes()), body: Some(body), is_head_method }
}
