//! Reads one stream of answers in any split, and says what came of it: what the
//! tests and the fuzz target hold the decoder to.

use std::net::{Ipv4Addr, SocketAddr};

use super::Http1;
use super::head::HEAD_BYTES_MAX;
use crate::plan::template::{Request, Template};
use crate::plan::{Expect, Http, Plan, Statuses, Target};
use crate::protocol::splits::{self, StreamStep, random_cuts};
use crate::work::expected::SHOWN;
use crate::work::pages::Pages;

/// Reads one input of the fuzz target whole and in several splits, which must all come
/// to the same; gives what came of it, or `None` where the input is too short to be one.
///
/// The first byte says what was asked: bits 0 to 3, whether each of four requests is a
/// HEAD; bit 4, whether a text is expected; bit 5, whether the whole body must be it; bit 7,
/// whether a body must have five bytes. (`@` is four GETs without a text, `P` with one, `p` with
/// one as the whole body.) The second byte decides the splits. The rest is the stream.
///
/// # Panics
/// Where a split leads to something else, or the decoder goes beyond a bound.
pub fn in_any_split(input: &[u8]) -> Option<Vec<StreamStep>> {
    let [asked, seed, stream @ ..] = input else { return None };
    let asked = AskedPages {
        head: (0..4).map(|bit| asked >> bit & 1 == 1).collect(),
        expected: (asked >> 4 & 1 == 1).then(|| "id={counter}.".into()),
        whole_body: asked >> 5 & 1 == 1,
        body_bytes: (asked >> 7 & 1 == 1).then_some(5),
        statuses: Statuses::default(),
    };
    let whole = asked.reader().read(stream, []);
    let mut reader = asked.reader();
    let cut = usize::from(*seed) * stream.len() / 256;
    assert_eq!(reader.read(stream, [cut]), whole, "cut at {cut}");
    assert_eq!(reader.read(stream, 0..stream.len()), whole, "byte by byte");
    for longest in [2, 7, 40] {
        let cuts = random_cuts(stream.len(), longest, u64::from(*seed));
        assert_eq!(reader.read(stream, cuts.iter().copied()), whole, "cuts {cuts:?}");
    }
    assert_eq!(reader.read(stream, []), whole, "whole again, with its heads remembered");
    Some(whole)
}

/// What was asked on a connection.
#[derive(Debug, Clone, Default)]
pub struct AskedPages {
    /// For each request, whether its method is HEAD (else GET).
    pub head: Vec<bool>,
    /// The text that each body must hold.
    pub expected: Option<String>,
    /// Whether the body must be the text.
    pub whole_body: bool,
    /// How many bytes each body must have.
    pub body_bytes: Option<u64>,
    /// The statuses that are good.
    pub statuses: Statuses,
}

/// Reads answers to the same requests again and again with one decoder, which
/// may remember what it read before, but must not be led astray by it.
pub struct Reader {
    decoder: Http1<Pages>,
    requests: usize,
    /// The most bytes of a body that are kept.
    kept_max: usize,
}

impl AskedPages {
    /// A reader of the answers to these requests.
    pub fn reader(&self) -> Reader {
        let text = self.expected.as_deref().unwrap_or_default().as_bytes();
        Reader {
            decoder: self.decoder(),
            requests: self.head.len(),
            kept_max: Template::parse(text).length_max().max(SHOWN + 1),
        }
    }

    /// What decodes them.
    pub(super) fn decoder(&self) -> Http1<Pages> {
        let target = Target {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 80)),
            authority: "localhost".into(),
            path: "/".into(),
        };
        let request = |&head: &bool| Request {
            method: if head { "HEAD" } else { "GET" }.into(),
            ..Request::get("/")
        };
        let http = Http {
            requests: self.head.iter().map(request).collect(),
            expect: Expect {
                body: self.expected.clone(),
                whole_body: self.whole_body,
                body_bytes: self.body_bytes,
                statuses: self.statuses.clone(),
            },
        };
        let plan = Plan::new(target, Vec::new());
        Http1::new(&plan, &http, Pages::new(&plan, &http))
    }
}

impl Reader {
    /// Reads a stream cut at these places (ascending), as one connection whose
    /// server closes at the end, until each request has its answer.
    ///
    /// # Panics
    /// Where the decoder goes beyond a bound: bytes used, kept or shown.
    pub fn read(
        &mut self,
        stream: &[u8],
        cuts: impl IntoIterator<Item = usize>,
    ) -> Vec<StreamStep> {
        let kept_max = self.kept_max;
        splits::read(&mut self.decoder, self.requests, stream, cuts, |kept| {
            kept.as_ref().is_none_or(|partial| {
                partial.reading.head.len() <= HEAD_BYTES_MAX
                    && partial.looked.kept_bytes() <= kept_max
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::splits::{in_lines, seeds};

    /// Else a change that breaks the decoder on them, or alters what it makes of them,
    /// would show only where somebody fuzzes.
    #[test]
    fn every_seed_of_the_fuzz_target_comes_to_what_it_did_before_in_any_split() {
        let came = seeds("http1_answer").into_iter().map(|(name, input)| {
            let steps = in_any_split(&input).expect("a seed is a whole input");
            format!("{name}{}", in_lines(&steps))
        });
        let came: Vec<String> = came.collect();
        insta::assert_snapshot!(came.join("\n"));
    }
}
