//! The text that a body must hold or be, looked for while the body goes by.

use memchr::memmem::{self, Finder};

use crate::outcome::fault::{show, show_up_to};
use crate::plan::template::Template;

/// The expected text of a run; one instance serves a thread.
#[derive(Debug, Clone)]
pub(crate) struct Expected {
    text: Template,
    /// Whether the body must be it, and not only hold it.
    whole: bool,
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
pub(crate) struct TextSearch {
    found: bool,
    /// Where a body must be the text: the bytes from its start on that are the text's.
    same: usize,
    /// What is kept of the body. Where it must hold the text: its end so far, in which the
    /// text may begin, shorter than it. Where it must be the text: what came in place of
    /// the text's rest, as far as it is shown.
    pub(super) kept: Vec<u8>,
}

/// The most bytes of an expected body, and of the one that came, that are shown.
pub(crate) const SHOWN: usize = 60;

/// A difference that lies behind more bytes than this is shown without them.
const SAME_SHOWN: usize = 40;

impl Expected {
    pub(crate) fn new(text: Template, whole: bool, seed: u64) -> Expected {
        let needle = text.fixed().unwrap_or_default().to_vec();
        let finder = text.fixed().map(|text| Finder::new(text).into_owned());
        Expected { text, whole, seed, needle, finder, place: 0 }
    }

    /// Whether this whole body that answers request `number` is as expected.
    #[inline]
    pub(crate) fn is_kept_by(&mut self, body: &[u8], number: u64) -> bool {
        if self.whole {
            self.render(number);
            return body == self.needle;
        }
        self.is_in(body, number)
    }

    /// Whether this piece of the body that answers request `number` holds the text by
    /// itself.
    fn is_in(&mut self, piece: &[u8], number: u64) -> bool {
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
    pub(crate) fn look(&mut self, search: &mut TextSearch, piece: &[u8], number: u64) {
        if self.whole {
            self.render(number);
            return search.compare(piece, &self.needle);
        }
        search.found =
            search.found || self.is_in(piece, number) || search.ends_in(piece, &self.needle);
    }

    /// What is wrong with the body that was looked through, for people.
    #[inline]
    pub(crate) fn wrong(&mut self, search: &TextSearch, number: u64) -> Option<String> {
        self.render(number);
        let is_kept = if self.whole {
            search.kept.is_empty() && search.same == self.needle.len()
        } else {
            search.found
        };
        (!is_kept).then(|| self.told(search))
    }

    #[cold]
    fn told(&self, search: &TextSearch) -> String {
        if !self.whole {
            return format!("no \"{}\" in the body", show(&self.needle));
        }
        let start = if search.same > SAME_SHOWN { search.same } else { 0 };
        let before = match start {
            0 => "expected the body".into(),
            _ => format!("after {start} right bytes of the body expected"),
        };
        let due = show_up_to(SHOWN, &self.needle[start..]);
        let got = [&self.needle[start..search.same], &search.kept].concat();
        format!("{before} \"{due}\", got \"{}\"", show_up_to(SHOWN, &got))
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

impl TextSearch {
    /// Compares the next piece of a body with what must come there.
    fn compare(&mut self, piece: &[u8], needle: &[u8]) {
        let mut same = 0;
        if self.kept.is_empty() {
            let due = &needle[self.same..];
            same = if due.starts_with(piece) {
                piece.len()
            } else {
                due.iter().zip(piece).take_while(|(due, came)| due == came).count()
            };
            self.same += same;
        }
        // One more than is shown, so that it is seen to go on.
        let room = (SHOWN + 1).saturating_sub(self.kept.len());
        self.kept.extend(piece[same..].iter().take(room));
    }

    /// Whether the text began in an earlier piece and ends in this one. If not,
    /// keeps what it may begin with.
    fn ends_in(&mut self, piece: &[u8], needle: &[u8]) -> bool {
        let keep = needle.len().saturating_sub(1);
        let begun = !self.kept.is_empty();
        self.kept.extend_from_slice(&piece[..piece.len().min(keep)]);
        if begun && memmem::find(&self.kept, needle).is_some() {
            return true;
        }
        if piece.len() >= keep {
            self.kept.clear();
            self.kept.extend_from_slice(&piece[piece.len() - keep..]);
        } else {
            let surplus = self.kept.len().saturating_sub(keep);
            self.kept.drain(..surplus);
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, pieces: &[&str]) -> bool {
        wrong(text, false, pieces).is_none()
    }

    fn wrong(text: &str, whole: bool, pieces: &[&str]) -> Option<String> {
        let mut expected = Expected::new(Template::parse(text.as_bytes()), whole, 1);
        let mut search = TextSearch::default();
        for piece in pieces {
            expected.look(&mut search, piece.as_bytes(), 3);
        }
        let wrong = expected.wrong(&search, 3);
        let in_one = expected.is_kept_by(pieces.concat().as_bytes(), 3);
        assert_eq!(wrong.is_none(), in_one, "in pieces and in one: {wrong:?}");
        wrong
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
        let mut expected = Expected::new(Template::parse(*b"ab"), false, 1);
        for body in ["xxxxab", "ab", "xab", "xxxxab"] {
            assert!(expected.is_kept_by(body.as_bytes(), 0), "not found in {body}");
        }
        assert!(!expected.is_kept_by(b"xxxxax", 0), "found what is not there");
    }

    #[test]
    fn the_kept_tail_is_shorter_than_the_text() {
        let mut expected = Expected::new(Template::parse(*b"12345678"), false, 1);
        let mut search = TextSearch::default();
        for _ in 0..1000 {
            for piece in ["1", "12345", "xxxxxxxxxxxxxxxxxxxx"] {
                expected.look(&mut search, piece.as_bytes(), 0);
                assert!(search.kept.len() < 8, "a body is kept");
            }
        }
    }

    #[test]
    fn a_whole_body_is_the_text_and_not_one_byte_more_or_less() {
        for pieces in [&["n3"][..], &["n", "3"], &["", "n", "", "3", ""]] {
            assert_eq!(wrong("n{counter}", true, pieces), None, "{pieces:?}");
        }
        for body in ["", "n", "n4", "n33", "n3\n", " n3", "xn3", "3"] {
            let split: Vec<String> = body.chars().map(String::from).collect();
            let split: Vec<&str> = split.iter().map(String::as_str).collect();
            let told = wrong("n{counter}", true, &[body]).expect(body);
            assert_eq!(wrong("n{counter}", true, &split), Some(told), "{body:?} by bytes");
        }
        assert_eq!(wrong("", true, &[]), None);
        assert_eq!(wrong("", true, &["x"]).unwrap(), "expected the body \"\", got \"x\"");
    }

    #[test]
    fn another_body_is_shown_beside_the_expected_one_from_where_they_differ() {
        let told = |text: &str, body: &str| wrong(text, true, &[body]).unwrap();
        assert_eq!(told("hello", "help\x1b"), r#"expected the body "hello", got "help\x1b""#);
        assert_eq!(told("hello", ""), r#"expected the body "hello", got """#);
        assert_eq!(told("hello", "hello!"), r#"expected the body "hello", got "hello!""#);
        let long = "x".repeat(5000);
        assert_eq!(
            told(&format!("{long}yes"), &format!("{long}no")),
            r#"after 5000 right bytes of the body expected "yes", got "no""#
        );
        let endless = told("a", &long);
        assert!(endless.len() < 200 && endless.ends_with("x…\""), "{endless}");
    }

    #[test]
    fn of_a_body_that_differs_little_is_kept() {
        let mut expected = Expected::new(Template::parse(*b"12345678"), true, 1);
        let mut search = TextSearch::default();
        for _ in 0..1000 {
            expected.look(&mut search, &[b'x'; 1000], 0);
        }
        assert!(search.kept.len() <= SHOWN + 1, "{} bytes of a body are kept", search.kept.len());
    }
}
