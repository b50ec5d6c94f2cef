//! HTTP/1.1 as RFC 9112 has it.
//!
//! - [`head`]: status line and headers, and what they say of the body;
//! - [`body`]: where a body ends: by length, by chunks, by the connection's end;
//! - [`reading`]: an answer as a whole, from pieces;
//! - [`hints`]: what an answer that isn't good says itself of why;
//! - this file: requests, and answers that came in one piece. What one is worth says the work.

mod body;
#[cfg(test)]
mod generated;
pub(crate) mod head;
pub(crate) mod hints;
pub(crate) mod reading;
#[cfg(any(test, feature = "fuzzing"))]
pub mod splits;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use self::body::Body;
use self::head::{Head, Heads};
use self::reading::{ReadSoFar, Reading};
use super::{Fed, Protocol, foreign};
use crate::outcome::AnswerKind;
use crate::outcome::ErrorKind;
use crate::outcome::fault::Fault;
use crate::plan::rotation::Rotation;
use crate::plan::statuses::has_no_body;
use crate::plan::template::{Placeholders, Request, Template};
use crate::plan::{Http, Plan};
use crate::work::pages::{Looked, Page, PageBody};
use crate::work::{Asked, Work};

/// The encoder and decoder of one thread. A clone shares the encoded requests.
#[derive(Clone)]
pub(crate) struct Http1<W> {
    requests: Arc<[Encoded]>,
    /// Which of several is next.
    rotation: Rotation,
    /// What is known of the frames of the answers to each.
    frames: Vec<Frames>,
    seed: u64,
    work: W,
}

/// What is known of the frames of the answers to a request.
#[derive(Clone)]
struct Frames {
    /// What their heads were last.
    heads: Heads,
    /// Answers to HEAD have no body, whatever their heads say.
    to_head_method: bool,
}

impl Frames {
    fn of(request: &Request) -> Frames {
        Frames { heads: Heads::default(), to_head_method: request.method == "HEAD" }
    }
}

/// A request, as far as it can be made ahead.
pub(crate) struct Encoded {
    head: Template,
    /// Present if the body's length, and so a header, varies.
    body: Option<Template>,
    /// Whether asking twice does no more than asking once (RFC 9110, 9.2.2).
    is_idempotent: bool,
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
pub(crate) struct Partial<L> {
    reading: Reading,
    looked: L,
}

impl<W: for<'a> Work<Answer<'a> = Page<'a>, Looked = Looked>> Http1<W> {
    pub(crate) fn new(plan: &Plan, http: &Http, work: W) -> Http1<W> {
        let encoded = |it| encode(it, &plan.target.authority, plan.keep_alive);
        Http1 {
            requests: http.requests.iter().map(encoded).collect(),
            rotation: Rotation::new(&http.requests, plan.seed),
            frames: http.requests.iter().map(Frames::of).collect(),
            seed: plan.seed,
            work,
        }
    }

    #[inline]
    fn index(&self, number: u64) -> usize {
        match self.requests.len() {
            // Spares the divisions in the common case.
            1 => 0,
            _ => self.rotation.index(number),
        }
    }

    /// Takes an answer that came in one piece, with the last one's head again and with a
    /// length, as nearly all do; anything else is for [`Http1::take_part`].
    #[inline]
    fn take_whole(&mut self, bytes: &[u8], of: Asked) -> Option<Fed> {
        let index = self.index(of.number);
        let Frames { heads, to_head_method } = &mut self.frames[index];
        let (head, start) = heads.known(bytes)?;
        let Body::Length(length) = Body::of(&head, *to_head_method) else { return None };
        let end = start.checked_add(usize::try_from(length).ok()?)?;
        let body = bytes.get(start..end)?;
        let (status, reusable) = (head.status, head.keep_alive);
        let page = Page { which: index, status, body: PageBody::Whole(body) };
        let fault = self.work.worth(of, page);
        let fault = fault.map(|fault| hints::explained(fault, status, heads.last(), body));
        let class = self.work.class((index, of.number));
        let kind = AnswerKind { status, class };
        Some(Fed::Answer { used: end, kind, fault, reusable })
    }

    /// The same for any answer, of which earlier parts may be kept.
    #[inline(never)]
    fn take_part(
        &mut self,
        kept: &mut Option<Box<Partial<W::Looked>>>,
        bytes: &[u8],
        of: Asked,
    ) -> Fed {
        let mut fresh = Partial::default();
        let fed = self.decode(kept.as_deref_mut().unwrap_or(&mut fresh), bytes, of);
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

    /// Takes bytes of an answer.
    ///
    /// # Errors
    /// What is wrong with it, for people.
    fn decode(
        &mut self,
        partial: &mut Partial<W::Looked>,
        bytes: &[u8],
        of: Asked,
    ) -> Result<Fed, String> {
        let index = self.index(of.number);
        let (work, Frames { heads, to_head_method }) = (&mut self.work, &mut self.frames[index]);
        let Partial { reading, looked } = partial;
        let look = |piece: &[u8]| work.look(looked, (index, of.number), piece);
        Ok(match reading.take(heads, *to_head_method, bytes, look)? {
            ReadSoFar::More { missing } => Fed::More { missing },
            ReadSoFar::Whole { head, used } => {
                self.answer(partial, (index, head), (used, head.keep_alive), of)
            }
        })
    }

    /// Closes an answer to one of the requests, of which so many bytes were used now: is it good?
    fn answer(
        &mut self,
        partial: &mut Partial<W::Looked>,
        (which, head): (usize, Head),
        (used, reusable): (usize, bool),
        of: Asked,
    ) -> Fed {
        let looked = std::mem::take(&mut partial.looked);
        let (status, body) = (head.status, PageBody::Looked(&looked));
        let fault = self.work.worth(of, Page { which, status, body });
        // Meanwhile another connection may have had another head.
        let heads = Some(&self.frames[which].heads).filter(|it| it.is_last(head));
        let head = heads.map_or(&b""[..], |it| it.last());
        let fault = fault.map(|fault| hints::explained(fault, status, head, looked.start()));
        let kind = AnswerKind { status, class: self.work.class((which, of.number)) };
        Fed::Answer { used, kind, fault, reusable }
    }
}

impl<W: for<'a> Work<Answer<'a> = Page<'a>, Looked = Looked>> Protocol for Http1<W> {
    /// Present within an answer only: one in one piece needs no room, and thousands of
    /// connections have this beside what each answer looks at.
    type Connection = Option<Box<Partial<W::Looked>>>;

    fn of_thread(&self, thread: usize) -> Http1<W> {
        Http1 { work: self.work.of_thread(thread), ..self.clone() }
    }

    fn classes(&self) -> Vec<String> {
        self.work.classes()
    }

    fn class(&self, number: u64) -> u16 {
        self.work.class((self.index(number), number))
    }

    #[inline]
    fn fixed(&self, number: u64) -> Option<&[u8]> {
        self.requests[self.index(number)].fixed()
    }

    fn ask(&mut self, number: u64, room: &mut Vec<u8>) {
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
        if kept.is_none()
            && let Some(answer) = self.take_whole(bytes, of)
        {
            return answer;
        }
        self.take_part(kept, bytes, of)
    }

    fn lacks(&self, kept: &Self::Connection) -> Option<String> {
        let reading = &kept.as_ref()?.reading;
        let heads = self.frames.iter().map(|it| &it.heads);
        let mut of_body =
            heads.filter(|it| reading.head_under_way().is_some_and(|of| it.is_last(of)));
        let encoded = of_body.next().and_then(|heads| hints::encoded(heads.last()));
        Some(reading.lacks() + &encoded.unwrap_or_default())
    }

    fn spoken(&self) -> &'static str {
        foreign::HTTP
    }

    fn is_last_word(&self, bytes: &[u8]) -> bool {
        [b"HTTP/1.1 408", b"HTTP/1.0 408"].iter().any(|word| bytes.starts_with(*word))
    }

    fn is_farewell(kind: AnswerKind) -> bool {
        kind.status == REQUEST_TIMEOUT
    }

    fn ends_with_its_head(&self, number: u64, kind: AnswerKind) -> &'static str {
        if self.frames[self.index(number)].to_head_method {
            ": an answer to HEAD has no body"
        } else if has_no_body(kind.status) {
            ": an answer with this status has no body"
        } else {
            ""
        }
    }

    fn end(&mut self, kept: &mut Self::Connection, of: Asked) -> Fed {
        let mut partial = kept.take().unwrap_or_default();
        match partial.reading.end() {
            Ok(head) => {
                let which = self.index(of.number);
                self.answer(&mut partial, (which, head), (0, false), of)
            }
            Err(example) => Fed::Broken(Box::new(Fault { kind: ErrorKind::ClosedEarly, example })),
        }
    }
}

/// The status by which servers say that they waited for a request for too long (RFC 9110,
/// 15.5.9).
const REQUEST_TIMEOUT: u16 = 408;

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
