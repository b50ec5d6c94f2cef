//! HTTP/1.1 as RFC 9112 has it.
//!
//! - [`head`]: status line and headers, and what they say of the body;
//! - [`body`]: where a body ends: by length, by chunks, by the connection's end;
//! - [`expected`]: the text that a body must hold or be;
//! - [`reading`]: an answer as a whole, from pieces;
//! - this file: requests, and what is good.

mod body;
pub(crate) mod expected;
#[cfg(test)]
mod generated;
pub(crate) mod head;
pub(crate) mod reading;
#[cfg(any(test, feature = "fuzzing"))]
pub mod splits;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use self::body::Body;
use self::expected::{Expected, Search};
use self::head::{Head, Heads};
use self::reading::{Progress, Reading};
use super::{Asked, Fault, Fed, Protocol, show, show_up_to};
use crate::outcome::ErrorKind;
use crate::plan::rotation::Rotation;
use crate::plan::template::{Placeholders, Request, Template};
use crate::plan::{Expect, Http, Plan, Statuses};

/// The encoder and decoder of one thread. A clone shares the encoded requests.
#[derive(Clone)]
pub(crate) struct Http1 {
    requests: Arc<[Encoded]>,
    /// Which of several is next.
    rotation: Rotation,
    /// What is known of the answers to each.
    answers: Vec<Answers>,
    seed: u64,
}

/// A request, as far as it can be made ahead.
pub(crate) struct Encoded {
    head: Template,
    /// Present if the body's length, and so a header, varies.
    body: Option<Template>,
    /// Whether asking twice does no more than asking once (RFC 9110, 9.2.2).
    is_idempotent: bool,
}

/// What is known of the answers to a request, and what is good.
#[derive(Clone)]
struct Answers {
    is_head_method: bool,
    heads: Heads,
    expected: Option<Expected>,
    /// How long a body must be.
    body_bytes: Option<u64>,
    /// Those that are good.
    statuses: Statuses,
}

impl Answers {
    /// Of a request, of whose answers this is expected.
    fn new(request: &Request, expect: &Expect, seed: u64) -> Answers {
        let Expect { body, whole_body, body_bytes, statuses } = expect;
        // Every body holds the empty text, also one that isn't there.
        let text = body.as_ref().filter(|text| *whole_body || !text.is_empty());
        // It stands for itself where that is so for all that could be meant by it.
        let filled = if request.placeholders == Placeholders::Left { 0 } else { usize::MAX };
        let expected = text.map(|text| {
            let text = Template::parse_up_to(filled, text.as_bytes());
            Expected::new(text, *whole_body, seed)
        });
        Answers {
            is_head_method: request.method == "HEAD",
            heads: Heads::default(),
            expected,
            body_bytes: *body_bytes,
            statuses: statuses.clone(),
        }
    }
}

impl Encoded {
    /// The whole request, if it never varies.
    fn fixed(&self) -> Option<&[u8]> {
        if self.body.is_none() { self.head.fixed() } else { None }
    }

    /// Appends the bytes of the request with this number.
    pub(crate) fn render(&self, number: u64, seed: u64, room: &mut Vec<u8>) {
        self.head.render(number, seed, room);
        if let Some(body) = &self.body {
            room.extend_from_slice(CONTENT_LENGTH);
            room.extend_from_slice(itoa::Buffer::new().format(body.length(number)).as_bytes());
            room.extend_from_slice(b"\r\n\r\n");
            body.render(number, seed, room);
        }
    }

    /// The most bytes that it has.
    fn bytes_max(&self) -> usize {
        let with_length = |body: &Template| {
            CONTENT_LENGTH.len() + "18446744073709551615\r\n\r\n".len() + body.length_max()
        };
        self.head.length_max() + self.body.as_ref().map_or(0, with_length)
    }
}

/// An answer that came in part.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Partial {
    reading: Reading,
    search: Search,
    /// Bytes of its body so far.
    body_bytes: u64,
}

impl Http1 {
    pub(crate) fn new(plan: &Plan, http: &Http) -> Http1 {
        let encoded = |it| encode(it, &plan.target.authority, plan.keep_alive);
        let answers = |it| Answers::new(it, http.expect_of(it), plan.seed);
        Http1 {
            requests: http.requests.iter().map(encoded).collect(),
            rotation: Rotation::new(&http.requests, plan.seed),
            answers: http.requests.iter().map(answers).collect(),
            seed: plan.seed,
        }
    }

    fn index(&self, number: u64) -> usize {
        match self.requests.len() {
            // Spares the divisions in the common case.
            1 => 0,
            _ => self.rotation.index(number),
        }
    }

    /// Takes a good answer that came in one piece, with the last one's head again and
    /// with a length, as nearly all do; anything else is for [`Http1::take_part`].
    #[inline]
    fn take_whole(&mut self, bytes: &[u8], number: u64) -> Option<Fed> {
        let index = self.index(number);
        let answers = &mut self.answers[index];
        let (head, start) = answers.heads.known(bytes)?;
        let Body::Length(length) = Body::of(&head, answers.is_head_method) else { return None };
        let end = start.checked_add(usize::try_from(length).ok()?)?;
        let body = bytes.get(start..end)?;
        let is_good = answers.statuses.contains(head.status)
            && answers.body_bytes.is_none_or(|due| due == length)
            && answers.expected.as_mut().is_none_or(|text| text.is_kept_by(body, number));
        let (status, reusable) = (head.status, head.keep_alive);
        is_good.then_some(Fed::Answer { used: end, status, fault: None, reusable })
    }

    /// The same for any answer, of which earlier parts may be kept.
    #[inline(never)]
    fn take_part(&mut self, kept: &mut Option<Box<Partial>>, bytes: &[u8], number: u64) -> Fed {
        let mut fresh = Partial::default();
        let fed = self.decode(kept.as_deref_mut().unwrap_or(&mut fresh), bytes, number);
        match fed {
            Ok(more @ Fed::More { .. }) => {
                kept.get_or_insert_with(|| Box::new(fresh));
                more
            }
            Ok(answer) => {
                *kept = None;
                answer
            }
            Err(example) => {
                *kept = None;
                Fed::Broken(Box::new(Fault { kind: ErrorKind::Malformed, example }))
            }
        }
    }

    /// Takes bytes of the answer to request `number`.
    ///
    /// # Errors
    /// What is wrong with it, for people.
    fn decode(&mut self, partial: &mut Partial, bytes: &[u8], number: u64) -> Result<Fed, String> {
        let index = self.index(number);
        let Answers { heads, is_head_method, expected, .. } = &mut self.answers[index];
        let Partial { reading, search, body_bytes } = partial;
        let look = |piece: &[u8]| {
            *body_bytes += piece.len() as u64;
            if let Some(expected) = expected {
                expected.look(search, piece, number);
            }
        };
        Ok(match reading.take(heads, *is_head_method, bytes, look)? {
            Progress::More { missing } => Fed::More { missing },
            Progress::Whole { head, used } => {
                self.answer(partial, head, used, head.keep_alive, number)
            }
        })
    }

    /// Closes an answer: is it good?
    fn answer(
        &mut self,
        partial: &mut Partial,
        head: Head,
        used: usize,
        reusable: bool,
        number: u64,
    ) -> Fed {
        let search = std::mem::take(&mut partial.search);
        let body_bytes = std::mem::take(&mut partial.body_bytes);
        let fault = self.fault(head, (&search, body_bytes), number);
        Fed::Answer { used, status: head.status, fault, reusable }
    }

    /// What is wrong with an answer, if its status or its body is another than expected.
    fn fault(
        &mut self,
        head: Head,
        (search, body_bytes): (&Search, u64),
        number: u64,
    ) -> Option<Box<Fault>> {
        let index = self.index(number);
        let answers = &mut self.answers[index];
        if !answers.statuses.contains(head.status) {
            let example = format!("status {}", head.status);
            return Some(Box::new(Fault { kind: ErrorKind::WrongStatus, example }));
        }
        if answers.is_head_method {
            // An answer to HEAD has no body that could hold anything.
            return None;
        }
        let length = answers.body_bytes.filter(|&due| due != body_bytes);
        let length = length.map(|due| format!("expected a body of {due} bytes, got {body_bytes}"));
        let text = || answers.expected.as_mut()?.wrong(search, number);
        let example = length.or_else(text)?;
        Some(Box::new(Fault { kind: ErrorKind::WrongBody, example }))
    }
}

impl Protocol for Http1 {
    /// Present within an answer only: one in one piece needs no room, and thousands of
    /// connections have this beside what each answer looks at.
    type Connection = Option<Box<Partial>>;

    fn of_thread(&self, _thread: usize) -> Http1 {
        self.clone()
    }

    #[inline]
    fn fixed_request(&self, number: u64) -> Option<&[u8]> {
        self.requests[self.index(number)].fixed()
    }

    fn render_request(&mut self, number: u64, room: &mut Vec<u8>) {
        self.requests[self.index(number)].render(number, self.seed, room);
    }

    fn is_repeatable(&self, number: u64) -> bool {
        self.requests[self.index(number)].is_idempotent
    }

    fn rendered_bytes_max(&self) -> usize {
        let rendered = self.requests.iter().filter(|encoded| encoded.fixed().is_none());
        rendered.map(Encoded::bytes_max).max().unwrap_or(0)
    }

    fn request_bytes_max(&self) -> usize {
        self.requests.iter().map(Encoded::bytes_max).max().unwrap_or(0)
    }

    #[inline]
    fn is_under_way(kept: &Self::Connection) -> bool {
        kept.is_some()
    }

    #[inline]
    fn feed(&mut self, kept: &mut Self::Connection, bytes: &[u8], of: Asked) -> Fed {
        let number = of.number;
        if kept.is_none()
            && let Some(answer) = self.take_whole(bytes, number)
        {
            return answer;
        }
        self.take_part(kept, bytes, number)
    }

    fn end(&mut self, kept: &mut Self::Connection, of: Asked) -> Fed {
        let number = of.number;
        let mut partial = kept.take().unwrap_or_default();
        match partial.reading.end() {
            Ok(head) => self.answer(&mut partial, head, 0, false, number),
            Err(example) => Fed::Broken(Box::new(Fault { kind: ErrorKind::ClosedEarly, example })),
        }
    }
}

/// The start of the header that is written anew for each body.
const CONTENT_LENGTH: &[u8] = b"Content-Length: ";

/// Writes a request's head, with all that does not change from one to the next.
pub(crate) fn encode(request: &Request, authority: &str, keep_alive: bool) -> Encoded {
    let given = |name: &str| request.headers.iter().any(|(key, _)| key.eq_ignore_ascii_case(name));
    let mut head = format!("{} {} HTTP/1.1\r\n", request.method, request.path);
    if !given("host") {
        head.push_str(&format!("Host: {authority}\r\n"));
    }
    for (name, value) in &request.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    if !keep_alive && !given("connection") {
        head.push_str("Connection: close\r\n");
    }
    let body = match request.placeholders {
        Placeholders::Filled => Template::parse(request.body.clone()),
        Placeholders::LeftInBody | Placeholders::Left => Template::literal(request.body.clone()),
    };
    // A GET without a body says nothing of a length; other methods say 0. Who
    // gives a length or a transfer coding frames the body himself.
    let framed = given("content-length")
        || given("transfer-encoding")
        || (request.body.is_empty() && matches!(request.method.as_str(), "GET" | "HEAD"));
    let varies = body.fixed().is_none() && !framed;
    if !varies {
        if !framed {
            head.push_str(&format!("Content-Length: {}\r\n", request.body.len()));
        }
        head.push_str("\r\n");
    }
    let filled = match request.placeholders {
        Placeholders::Filled => usize::MAX,
        Placeholders::LeftInBody => head.len(),
        Placeholders::Left => 0,
    };
    let head = head.into_bytes().into_iter();
    // In one piece, which is made once: a body may be large.
    let head: Arc<[u8]> =
        if varies { head.collect() } else { head.chain(request.body.iter().copied()).collect() };
    Encoded {
        head: Template::parse_up_to(filled, head),
        body: varies.then_some(body),
        is_idempotent: matches!(
            request.method.as_str(),
            "GET" | "HEAD" | "OPTIONS" | "TRACE" | "PUT" | "DELETE"
        ),
    }
}
