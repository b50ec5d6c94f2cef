//! The text that a body must hold, looked for while the body goes by.

use memchr::memmem::{self, Finder};

use super::show;
use crate::template::Template;

/// The expected text of a run; one instance serves a thread.
#[derive(Debug)]
pub(crate) struct Expected {
    text: Template,
    seed: u64,
    /// The text as this request has it.
    needle: Vec<u8>,
    /// Present for a text that all requests share: to make one costs nearly as
    /// much as to look through 4 KiB.
    finder: Option<Finder<'static>>,
    /// Where it stood when it was last found. Answers are much alike, and to
    /// look there first costs a tenth of a search.
    place: usize,
}

/// The search through one body.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Search {
    found: bool,
    /// The end of the body so far, in which the text may begin: shorter than it.
    pub(super) tail: Vec<u8>,
}

impl Expected {
    pub(crate) fn new(text: Template, seed: u64) -> Expected {
        let needle = text.fixed().unwrap_or_default().to_vec();
        let finder = text.fixed().map(|text| Finder::new(text).into_owned());
        Expected { text, seed, needle, finder, place: 0 }
    }

    /// Whether this piece of the body that answers request `number` holds the text by
    /// itself.
    pub(crate) fn is_in(&mut self, piece: &[u8], number: u64) -> bool {
        self.render(number);
        let rest = piece.get(self.place..);
        if rest.is_some_and(|rest| rest.starts_with(&self.needle)) {
            return true;
        }
        let found = self.find(piece);
        self.place = found.unwrap_or(self.place);
        found.is_some()
    }

    /// Looks through the next piece of the body that answers request `number`.
    pub(crate) fn look(&mut self, search: &mut Search, piece: &[u8], number: u64) {
        search.found =
            search.found || self.is_in(piece, number) || search.ends_in(piece, &self.needle);
    }

    /// Ends the search: whether the body held the text.
    pub(crate) fn conclude(&self, search: &mut Search) -> bool {
        search.tail.clear();
        std::mem::take(&mut search.found)
    }

    /// What was missing, for people.
    pub(crate) fn missing(&mut self, number: u64) -> String {
        self.render(number);
        format!("no \"{}\" in the body", show(&self.needle))
    }

    fn render(&mut self, number: u64) {
        if self.finder.is_none() {
            self.needle.clear();
            self.text.render(number, self.seed, &mut self.needle);
        }
    }

    fn find(&self, piece: &[u8]) -> Option<usize> {
        match &self.finder {
            Some(finder) => finder.find(piece),
            None => memmem::find(piece, &self.needle),
        }
    }
}

impl Search {
    /// Whether the text began in an earlier piece and ends in this one. If not,
    /// keeps what it may begin with.
    fn ends_in(&mut self, piece: &[u8], needle: &[u8]) -> bool {
        let keep = needle.len().saturating_sub(1);
        let begun = !self.tail.is_empty();
        self.tail.extend_from_slice(&piece[..piece.len().min(keep)]);
        if begun && memmem::find(&self.tail, needle).is_some() {
            return true;
        }
        if piece.len() >= keep {
            self.tail.clear();
            self.tail.extend_from_slice(&piece[piece.len() - keep..]);
        } else {
            let surplus = self.tail.len().saturating_sub(keep);
            self.tail.drain(..surplus);
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, pieces: &[&str]) -> bool {
        let mut expected = Expected::new(Template::parse(text.as_bytes()), 1);
        let mut search = Search::default();
        for piece in pieces {
            expected.look(&mut search, piece.as_bytes(), 3);
        }
        expected.conclude(&mut search)
    }

    #[test]
    fn a_text_is_found_across_any_number_of_pieces() {
        assert!(found("abcd", &["xxabcdxx"]));
        assert!(found("abcd", &["xab", "cdx"]));
        assert!(found("abcd", &["a", "b", "c", "d"]));
        assert!(found("abcd", &["xxa", "", "bc", "dxxxxxxx"]));
        assert!(found("aab", &["a", "a", "a", "b"]), "a false start hid the text");
        assert!(found("x", &["a", "x"]));
    }

    #[test]
    fn a_text_that_is_not_there_is_not_found() {
        assert!(!found("abcd", &["abc", "abc", "abc"]));
        assert!(!found("abcd", &["abc", "xd"]));
        assert!(!found("abcd", &[]));
        assert!(!found("{counter}", &["45"]), "another request's number was taken for this one's");
        assert!(found("{counter}", &["23"]));
    }

    #[test]
    fn the_place_of_the_last_find_is_no_condition() {
        let mut expected = Expected::new(Template::parse(b"ab"), 1);
        let mut search = Search::default();
        for body in ["xxxxab", "ab", "xab", "xxxxab"] {
            expected.look(&mut search, body.as_bytes(), 0);
            assert!(expected.conclude(&mut search), "not found in {body}");
        }
        expected.look(&mut search, b"xxxxaxab"[..6].as_ref(), 0);
        assert!(!expected.conclude(&mut search), "found what is not there");
    }

    #[test]
    fn the_kept_tail_is_shorter_than_the_text() {
        let mut expected = Expected::new(Template::parse(b"12345678"), 1);
        let mut search = Search::default();
        for _ in 0..1000 {
            for piece in ["1", "12345", "xxxxxxxxxxxxxxxxxxxx"] {
                expected.look(&mut search, piece.as_bytes(), 0);
                assert!(search.tail.len() < 8, "a body is kept");
            }
        }
    }
}
