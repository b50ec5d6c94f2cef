//! Pages: what their statuses and bodies have to be.

use crate::outcome::ErrorKind;
use crate::outcome::fault::Fault;
use crate::plan::template::{Placeholders, Request, Template};
use crate::plan::{Expect, Http, Plan, Statuses};
use crate::work::expected::{Expected, SHOWN, TextSearch};
use crate::work::{Asked, Work};

/// What each page has to be.
#[derive(Clone)]
pub(crate) struct Pages {
    /// What is expected of the answers to each.
    due: Vec<Due>,
    /// The names of those that have one.
    names: Vec<String>,
}

/// What an answer has to be.
#[derive(Clone)]
struct Due {
    /// Answers to HEAD have no body that could hold anything.
    is_head_method: bool,
    expected: Option<Expected>,
    /// How long a body must be.
    body_bytes: Option<u64>,
    /// Those that are good.
    statuses: Statuses,
    /// That of its request: see [`Work::class`].
    class: u16,
}

/// A page, as its frames tell it.
pub(crate) struct Page<'a> {
    /// Which request it answers.
    pub which: usize,
    pub status: u16,
    pub body: PageBody<'a>,
}

/// The body of a page.
pub(crate) enum PageBody<'a> {
    /// It came in one piece.
    Whole(&'a [u8]),
    /// Its pieces went by: see [`Work::look`].
    Looked(&'a Looked),
}

/// What is known of a body whose pieces go by.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Looked {
    search: TextSearch,
    /// Bytes of it so far.
    bytes: u64,
    /// The first of them, by which servers tell why they refuse.
    start: Start,
}

/// The first bytes of a body. In place: a kept answer allocates nothing for them.
#[derive(Debug, Default, PartialEq)]
struct Start {
    bytes: [[u8; SHOWN / 2]; 2],
    length: usize,
}

impl Start {
    fn take(&mut self, piece: &[u8]) {
        let room = &mut self.bytes.as_flattened_mut()[self.length..];
        let taken = room.len().min(piece.len());
        room[..taken].copy_from_slice(&piece[..taken]);
        self.length += taken;
    }
}

impl Looked {
    /// The first bytes of the body, as many as are shown.
    pub(crate) fn start(&self) -> &[u8] {
        &self.start.bytes.as_flattened()[..self.start.length]
    }

    /// Bytes that are kept of the body.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn kept_bytes(&self) -> usize {
        self.search.kept.len()
    }
}

impl Due {
    /// Of the answers to a request, of which this is expected, and of its class.
    fn new(request: &Request, expect: &Expect, class: u16, seed: u64) -> Due {
        let Expect { body, whole_body, body_bytes, statuses } = expect;
        // Every body holds the empty text, also one that isn't there.
        let text = body.as_ref().filter(|text| *whole_body || !text.is_empty());
        // It stands for itself where that is so for all that could be meant by it.
        let filled = if request.placeholders == Placeholders::Left { 0 } else { usize::MAX };
        let expected = text.map(|text| {
            let text = Template::parse_up_to(filled, text.as_bytes());
            Expected::new(text, *whole_body, seed)
        });
        Due {
            is_head_method: request.method == "HEAD",
            expected,
            body_bytes: *body_bytes,
            statuses: statuses.clone(),
            class,
        }
    }

    /// Whether a page that came in one piece is as it has to be.
    #[inline(always)]
    fn is_kept_by(&mut self, status: u16, body: &[u8], number: u64) -> bool {
        self.statuses.contains(status)
            && self.body_bytes.is_none_or(|due| due == body.len() as u64)
            && self.expected.as_mut().is_none_or(|text| text.is_kept_by(body, number))
    }

    /// What is wrong with a page whose pieces went by, if anything is.
    fn wrong(&mut self, status: u16, looked: &Looked, number: u64) -> Option<Box<Fault>> {
        if !self.statuses.contains(status) {
            let example = format!("status {status}");
            return Some(Box::new(Fault { kind: ErrorKind::WrongStatus, example }));
        }
        if self.is_head_method {
            return None;
        }
        let got = looked.bytes;
        let length = self.body_bytes.filter(|&due| due != got);
        let length = length.map(|due| format!("expected a body of {due} bytes, got {got}"));
        let text = || self.expected.as_mut()?.wrong(&looked.search, number);
        let example = length.or_else(text)?;
        Some(Box::new(Fault { kind: ErrorKind::WrongBody, example }))
    }

    /// What is wrong with a page that came in one piece, if anything is.
    #[cold]
    fn wrong_whole(&mut self, status: u16, body: &[u8], number: u64) -> Option<Box<Fault>> {
        let mut looked = Looked::default();
        self.look(&mut looked, number, body);
        self.wrong(status, &looked, number)
    }

    fn look(&mut self, looked: &mut Looked, number: u64, piece: &[u8]) {
        looked.bytes += piece.len() as u64;
        looked.start.take(piece);
        if let Some(expected) = &mut self.expected {
            expected.look(&mut looked.search, piece, number);
        }
    }
}

impl Pages {
    pub(crate) fn new(plan: &Plan, http: &Http) -> Pages {
        let named = http.requests.iter().filter_map(|it| it.name.as_ref());
        let names: Vec<String> = named.map(ToString::to_string).collect();
        let (mut places, none) = (0.., names.len() as u16);
        let due = |it: &Request| {
            let class = it.name.as_ref().and_then(|_| places.next()).unwrap_or(none);
            Due::new(it, http.expect_of(it), class, plan.seed)
        };
        Pages { due: http.requests.iter().map(due).collect(), names }
    }
}

impl Work for Pages {
    type Looked = Looked;
    type Answer<'a> = Page<'a>;

    fn of_thread(&self, _thread: usize) -> Pages {
        self.clone()
    }

    fn classes(&self) -> Vec<String> {
        self.names.clone()
    }

    #[inline(always)]
    fn class(&self, (which, _): (usize, u64)) -> u16 {
        self.due[which].class
    }

    fn look(&mut self, looked: &mut Looked, (which, number): (usize, u64), piece: &[u8]) {
        self.due[which].look(looked, number, piece);
    }

    #[inline(always)]
    fn worth(&mut self, of: Asked, page: Page) -> Option<Box<Fault>> {
        let Page { which, status, body } = page;
        let due = &mut self.due[which];
        match body {
            PageBody::Whole(body) if due.is_kept_by(status, body, of.number) => None,
            PageBody::Whole(body) => due.wrong_whole(status, body, of.number),
            PageBody::Looked(looked) => due.wrong(status, looked, of.number),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Target;

    /// Else times would be told of another request than the one that took them.
    #[test]
    fn a_named_request_is_a_class_and_the_others_are_none() {
        let named = |name: &str| Request { name: name.parse().ok(), ..Request::get("/") };
        let requests = ["", "home", "", "search"].map(named).to_vec();
        let address = "127.0.0.1:1".parse().unwrap();
        let target = Target { address, authority: String::new(), path: String::new() };
        let plan = Plan::new(target, requests);
        let pages = Pages::new(&plan, plan.http().unwrap());
        let classes = pages.classes();
        let class = |which| classes.get(usize::from(pages.class((which, 0)))).map(String::as_str);
        assert_eq!([0, 1, 2, 3].map(class), [None, Some("home"), None, Some("search")]);
    }
}
