//! Reads a stream of answers in any split, of whatever protocol: what holds a decoder to coming to the
//! same in each, within its bounds.

use super::{Asked, Fault, Fed, Opened, Protocol};
use crate::outcome::{AnswerKind, ErrorKind};
use crate::plan::template::mix;

/// What came of an answer, or of the connection.
#[derive(Debug, PartialEq)]
pub enum StreamStep {
    /// An answer ended at this byte of the stream.
    Answer {
        /// Where it ended.
        end: usize,
        /// Its status; 0 of a store.
        status: u16,
        /// The class of its request.
        class: u16,
        /// What was wrong with it.
        fault: Option<ErrorKind>,
        /// Whether the next request may follow.
        reusable: bool,
    },
    /// The stream was found to be no answer before its end.
    Broken(ErrorKind),
    /// The stream ended within an answer, or before one.
    Cut(ErrorKind),
}

/// The most bytes of what people are shown of an error.
const EXAMPLE_BYTES_MAX: usize = 1024;

/// A fault's kind, after a look at its example.
pub(crate) fn kind(fault: &Fault) -> ErrorKind {
    assert!(fault.example.len() <= EXAMPLE_BYTES_MAX, "a long example: {}", fault.example);
    assert!(
        fault.example.chars().all(|letter| !letter.is_control()),
        "an example with a control character: {:?}",
        fault.example
    );
    fault.kind
}

/// Reads a stream cut at these places (ascending), as one connection whose server closes at the
/// end, until its first words, if it has any, and so many requests have their answers.
/// `is_bounded` looks at what is kept of a connection after each piece.
///
/// # Panics
/// Where the decoder goes beyond a bound: bytes used, kept or shown.
pub(crate) fn read<P: Protocol>(
    decoder: &mut P,
    requests: usize,
    stream: &[u8],
    cuts: impl IntoIterator<Item = usize>,
    is_bounded: impl Fn(&P::Connection) -> bool,
) -> Vec<StreamStep> {
    let mut on = P::Connection::default();
    let opened = decoder.open(&mut on, &[], &mut Vec::new());
    let mut is_opening = opened != Opened::Ready { used: 0 };
    let mut steps = Vec::new();
    let mut start = 0;
    let mut ends_from = 0;
    for end in cuts.into_iter().chain([stream.len()]) {
        let mut at = start;
        while at < end {
            let piece = &stream[at..end];
            let fed = if is_opening {
                decoder.open(&mut on, piece, &mut Vec::new()).into()
            } else {
                decoder.feed(&mut on, piece, Asked::numbered(steps.len() as u64)).into()
            };
            match fed {
                Took::More { missing } => {
                    assert!(missing > 0, "nothing is missing, and it isn't whole");
                    at = end;
                    ends_from = end + missing.min(usize::MAX as u64 / 2) as usize;
                }
                Took::Whole { used, answer } => {
                    assert!(used > 0, "an answer without a byte");
                    assert!(used <= piece.len(), "more bytes used than given");
                    at += used;
                    // A backend that waits for what is missing would wait for ever.
                    assert!(at >= ends_from, "less was missing than was said");
                    assert!(!P::is_under_way(&on), "something of an answer is kept");
                    is_opening = false;
                    let Some(answer) = answer else { continue };
                    steps.push(answer.ended_at(at));
                    if !answer.reusable || steps.len() == requests {
                        return steps;
                    }
                }
                Took::Broken(kind) => {
                    assert!(!P::is_under_way(&on), "something of an error is kept");
                    steps.push(StreamStep::Broken(kind));
                    return steps;
                }
            }
            assert!(is_bounded(&on), "too much is kept");
        }
        start = end;
    }
    if is_opening {
        steps.push(StreamStep::Cut(ErrorKind::ClosedEarly));
        return steps;
    }
    match decoder.end(&mut on, Asked::numbered(steps.len() as u64)).into() {
        Took::More { .. } => panic!("something follows the end"),
        Took::Whole { used, answer } => {
            assert_eq!(used, 0, "bytes used of none");
            steps.extend(answer.map(|answer| answer.ended_at(stream.len())));
        }
        Took::Broken(kind) => steps.push(StreamStep::Cut(kind)),
    }
    assert!(!P::is_under_way(&on), "something outlives the connection");
    steps
}

/// What came of a piece, of whatever it is a part.
enum Took {
    More {
        missing: u64,
    },
    /// `None` of the answer to first words.
    Whole {
        used: usize,
        answer: Option<Answer>,
    },
    Broken(ErrorKind),
}

/// A whole answer.
struct Answer {
    status: u16,
    class: u16,
    fault: Option<ErrorKind>,
    reusable: bool,
}

impl Answer {
    fn ended_at(&self, end: usize) -> StreamStep {
        let &Answer { status, class, fault, reusable } = self;
        StreamStep::Answer { end, status, class, fault, reusable }
    }
}

impl From<Fed> for Took {
    fn from(fed: Fed) -> Took {
        match fed {
            Fed::More { missing } => Took::More { missing },
            Fed::Answer { used, kind: AnswerKind { status, class }, fault, reusable } => {
                let fault = fault.map(|fault| kind(&fault));
                Took::Whole { used, answer: Some(Answer { status, class, fault, reusable }) }
            }
            Fed::Broken(fault) => Took::Broken(kind(&fault)),
        }
    }
}

impl From<Opened> for Took {
    fn from(opened: Opened) -> Took {
        match opened {
            Opened::Awaits { missing } => Took::More { missing },
            Opened::Ready { used } => Took::Whole { used, answer: None },
            Opened::Broken(fault) => Took::Broken(kind(&fault)),
        }
    }
}

/// Cuts for a stream of so many bytes, by chance: pieces of 1 to `longest` bytes.
pub fn random_cuts(length: usize, longest: usize, seed: u64) -> Vec<usize> {
    let mut cuts = Vec::new();
    let mut at = 0;
    loop {
        let chance = mix(seed.wrapping_add(cuts.len() as u64));
        at += 1 + (chance % longest as u64) as usize;
        if at >= length {
            return cuts;
        }
        cuts.push(at);
    }
}

/// The seeds of a fuzz target, by name.
#[cfg(test)]
pub(crate) fn seeds(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = format!("{}/../../fuzz/seeds/{target}", env!("CARGO_MANIFEST_DIR"));
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let read = |entry: std::fs::DirEntry| {
        (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap())
    };
    let mut seeds: Vec<_> = entries.map(read).collect();
    seeds.sort();
    seeds
}

/// What came of a stream, for a snapshot.
#[cfg(test)]
pub(crate) fn in_lines(steps: &[StreamStep]) -> String {
    steps.iter().map(|step| format!("\n    {step:?}")).collect()
}
