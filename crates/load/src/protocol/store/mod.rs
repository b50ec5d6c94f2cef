//! Key-value stores: requests in a store's dialect, and answers that are held to what was written.
//!
//! - [`resp`] and [`memcached`]: the dialects: bytes of requests, and where an answer ends;
//! - [`replies`]: single answers, read by the same dialects;
//! - this file: requests and answers, whatever the dialect. What an answer is worth says the
//!   work.

mod memcached;
pub mod replies;
pub(super) mod resp;
#[cfg(any(test, feature = "fuzzing"))]
pub mod splits;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::Arc;

use super::{Fed, Opened, Protocol, foreign};
use crate::outcome::fault::{Fault, show};
use crate::outcome::{AnswerKind, ErrorKind, KeysSeen};
use crate::plan::Plan;
use crate::plan::keys::{Dialect, Keys, Operation};
use crate::work::keys::value::Values;
use crate::work::keys::{KEY_BYTES, KeysWork, Reply, Writers, choice};
use crate::work::{Asked, Work};

/// Bytes of an answer beside its values: a head a value, and the end.
const AROUND_VALUE_MAX: usize = 128;
/// The longest line that isn't a value's: what a server says of an error.
const LINE_BYTES_MAX: usize = 4096;

/// The encoder and decoder of one thread.
#[derive(Debug, Clone)]
pub(crate) struct Store {
    work: KeysWork,
    dialect: Dialect,
    /// What a connection says first, and how many answers that has.
    greeting: (Arc<[u8]>, u32),
    /// Messages that the server sent unasked, as RESP3 has it.
    pushes: u64,
    /// Where the values lie of an answer with several; `None` of one that isn't there.
    found: Vec<Option<Range<usize>>>,
}

/// One connection's part.
#[derive(Debug, Default)]
pub(crate) struct StoreConnection {
    /// Answers to its greeting that are still to come.
    greetings: u32,
    /// An answer that came in part.
    kept: Vec<u8>,
    /// So many bytes it has at least.
    at_least: usize,
}

impl StoreConnection {
    /// Keeps what came of an answer, of which so many bytes are missing at least.
    fn keep(&mut self, bytes: &[u8], missing: u64) {
        self.kept.extend_from_slice(bytes);
        self.at_least = bytes.len() + missing as usize;
    }
}

/// An answer, as far as a dialect tells it.
#[derive(Debug, PartialEq)]
enum Answer {
    /// Where a value lies, or that it isn't there.
    Value(Option<Range<usize>>),
    /// Several of these, which are in [`Store::found`], with so many messages among them that nobody
    /// asked for.
    Values { pushes: u64 },
    /// The value was stored.
    Stored,
    /// Whether the key was there to be removed.
    Removed(bool),
    /// The server refused, in these words.
    Refused(Range<usize>),
}

/// What came of looking for an answer's end.
#[derive(Debug, PartialEq)]
enum Parsed {
    /// It isn't whole: so many bytes are missing, at least.
    More(usize),
    /// It is whole, and ends there.
    Whole(usize, Answer),
}

/// What an answer is to be.
#[derive(Debug, Clone, Copy)]
struct ExpectedReply {
    operation: Operation,
    /// The number of keys that were asked for.
    keys: u16,
    /// The most bytes of a value.
    value_bytes_max: usize,
    /// What a meta command's answer repeats.
    opaque: u32,
    /// Whether it is one of RESP3, which may have more in it than was asked for.
    is_third: bool,
}

impl Store {
    pub(crate) fn new(plan: &Plan, keys: &Keys) -> Store {
        let values = Values::new(plan.seed, keys.value_bytes.clone());
        Store::of_values(values, plan.seed, keys, plan.writers())
    }

    fn of_values(values: Values, seed: u64, keys: &Keys, writers: Writers) -> Store {
        let greeting = match &keys.dialect {
            Dialect::Resp(resp) => resp::greeting(resp),
            Dialect::MemcachedText | Dialect::MemcachedMeta => (Vec::new(), 0),
        };
        Store {
            work: KeysWork::new(keys, values, seed, writers),
            dialect: keys.dialect.clone(),
            greeting: (greeting.0.into(), greeting.1),
            pushes: 0,
            found: Vec::new(),
        }
    }

    /// Whether the server may send messages that nobody asked for.
    fn is_third(&self) -> bool {
        matches!(&self.dialect, Dialect::Resp(resp) if resp.is_third)
    }

    fn expected(&self, asked: choice::KeyAsked) -> ExpectedReply {
        ExpectedReply {
            operation: asked.operation,
            keys: self.work.keys_of(asked.operation),
            value_bytes_max: self.work.keys().value_bytes_max(),
            opaque: asked.write as u32,
            is_third: self.is_third(),
        }
    }

    fn parse(
        &mut self,
        bytes: &[u8],
        expected: ExpectedReply,
        first: u64,
    ) -> Result<Parsed, String> {
        self.found.clear();
        match self.dialect {
            Dialect::Resp(_) => resp::parse(bytes, expected, &mut self.found),
            Dialect::MemcachedText => {
                let name = |place| self.work.name(first, place);
                memcached::parse_text(bytes, expected, name, &mut self.found)
            }
            Dialect::MemcachedMeta => memcached::parse_meta(bytes, expected),
        }
    }
}

fn fault(kind: ErrorKind, example: String) -> Box<Fault> {
    Box::new(Fault { kind, example })
}

impl Protocol for Store {
    type Connection = StoreConnection;

    const OPENS: bool = true;

    fn of_thread(&self, thread: usize) -> Store {
        Store { work: self.work.of_thread(thread), ..self.clone() }
    }

    fn open(&mut self, on: &mut StoreConnection, heard: &[u8], room: &mut Vec<u8>) -> Opened {
        if heard.is_empty() && on.greetings == 0 {
            room.extend_from_slice(&self.greeting.0);
            on.greetings = self.greeting.1;
        }
        let before = on.kept.len();
        on.kept.extend_from_slice(heard);
        let mut taken = 0;
        while on.greetings > 0 {
            match resp::skip(&on.kept[taken..]) {
                Ok(Some(end)) => taken += end,
                Ok(None) => {
                    on.kept.drain(..taken);
                    return Opened::Awaits { missing: 1 };
                }
                Err((kind, why)) => {
                    let why = foreign::named(self.spoken(), &on.kept, why);
                    on.kept.clear();
                    return Opened::Broken(fault(kind, why));
                }
            }
            on.greetings -= 1;
        }
        on.kept.clear();
        Opened::Ready { used: taken - before }
    }

    fn classes(&self) -> Vec<String> {
        self.work.classes()
    }

    fn class(&self, number: u64) -> u16 {
        self.work.class((0, number))
    }

    fn fixed(&self, _number: u64) -> Option<&[u8]> {
        None
    }

    fn ask(&mut self, number: u64, room: &mut Vec<u8>) {
        let asked = self.work.asks(number);
        self.work.begins(asked);
        let work = &self.work;
        let (key, expires) = (|| work.name(asked.key, 0), work.keys().expires_s);
        let keys = work.names(asked.key, work.keys_of(asked.operation));
        let value = |room: &mut Vec<u8>| work.append_value(asked, room);
        // Of a get it isn't asked for.
        let length = || work.value_bytes(asked);
        let opaque = asked.write as u32;
        match (&self.dialect, asked.operation) {
            (Dialect::Resp(_), Operation::Get) => resp::get(keys, room),
            (Dialect::Resp(_), Operation::Set) => resp::set(key(), length(), expires, value, room),
            (Dialect::Resp(_), Operation::Delete) => resp::delete(key(), room),
            (Dialect::MemcachedText, Operation::Get) => memcached::get(keys, room),
            (Dialect::MemcachedText, Operation::Set) => {
                memcached::set(key(), length(), expires, value, room);
            }
            (Dialect::MemcachedText, Operation::Delete) => memcached::delete(key(), room),
            (Dialect::MemcachedMeta, Operation::Get) => memcached::meta_get(key(), opaque, room),
            (Dialect::MemcachedMeta, Operation::Set) => {
                memcached::meta_set(key(), opaque, length(), expires, value, room);
            }
            (Dialect::MemcachedMeta, Operation::Delete) => {
                memcached::meta_delete(key(), opaque, room);
            }
        }
    }

    fn is_repeatable(&self, _number: u64) -> bool {
        true
    }

    fn rendered_bytes_max(&self) -> usize {
        self.request_bytes_max()
    }

    fn request_bytes_max(&self) -> usize {
        let keys = usize::from(self.work.keys().together) * (KEY_BYTES + 16);
        (AROUND_VALUE_MAX + keys + self.work.keys().value_bytes_max()).max(self.greeting.0.len())
    }

    fn is_under_way(on: &StoreConnection) -> bool {
        !on.kept.is_empty()
    }

    fn feed(&mut self, on: &mut StoreConnection, bytes: &[u8], of: Asked) -> Fed {
        if on.kept.is_empty() {
            let pushed = self.may_be_unasked(bytes);
            let fed = self.take(&bytes[pushed..], of);
            return match fed {
                Fed::More { missing } => {
                    on.keep(&bytes[pushed..], missing);
                    fed
                }
                Fed::Answer { used, kind, fault, reusable } => {
                    Fed::Answer { used: pushed + used, kind, fault, reusable }
                }
                broken @ Fed::Broken(_) => broken,
            };
        }
        let before = on.kept.len();
        on.kept.extend_from_slice(bytes);
        if on.kept.len() < on.at_least {
            return Fed::More { missing: (on.at_least - on.kept.len()) as u64 };
        }
        // Not copied: an answer of many large values comes in many parts.
        let kept = std::mem::take(&mut on.kept);
        let pushed = self.may_be_unasked(&kept);
        match self.take(&kept[pushed..], of) {
            Fed::More { missing } => {
                on.kept = kept;
                on.kept.drain(..pushed);
                on.at_least = on.kept.len() + missing as usize;
                Fed::More { missing }
            }
            // Of what came only now it is told how much was used.
            Fed::Answer { used, kind, fault, reusable } => {
                Fed::Answer { used: pushed + used - before, kind, fault, reusable }
            }
            broken @ Fed::Broken(_) => broken,
        }
    }

    fn spoken(&self) -> &'static str {
        match self.dialect {
            Dialect::Resp(_) => foreign::RESP,
            Dialect::MemcachedText | Dialect::MemcachedMeta => foreign::MEMCACHED,
        }
    }

    fn lacks(&self, on: &StoreConnection) -> Option<String> {
        let (kept, missing) = (&on.kept, on.at_least.saturating_sub(on.kept.len()).max(1));
        let came = kept.len();
        (came > 0).then(|| {
            let part = format!(
                "{came} bytes came, and {missing} more at least are missing: \"{}\"",
                show(kept)
            );
            foreign::named(self.spoken(), kept, part)
        })
    }

    fn may_be_unasked(&mut self, bytes: &[u8]) -> usize {
        let mut used = 0;
        while self.is_third()
            && let Ok(Some(end)) = resp::aside(&bytes[used..])
        {
            self.pushes += u64::from(bytes[used] == resp::PUSH);
            used += end;
        }
        used
    }

    fn may_speak_first(&self) -> bool {
        self.is_third()
    }

    fn is_last_word(&self, bytes: &[u8]) -> bool {
        self.refusal(bytes).is_some()
    }

    fn refusal(&self, bytes: &[u8]) -> Option<String> {
        let (line, _) = line(bytes).ok()??;
        let words = match self.dialect {
            Dialect::Resp(_) => line.strip_prefix(b"-"),
            Dialect::MemcachedText | Dialect::MemcachedMeta => {
                Some(line).filter(|line| memcached::is_refusal(line))
            }
        }?;
        Some(format!("the server says: \"{}\"{}", show(words), self.advice(words)))
    }

    fn end(&mut self, on: &mut StoreConnection, _of: Asked) -> Fed {
        let kept = std::mem::take(&mut on.kept);
        let example = if kept.is_empty() {
            "the connection ended before an answer came".into()
        } else {
            let example = format!("the connection ended within an answer: \"{}\"", show(&kept));
            foreign::named(self.spoken(), &kept, example)
        };
        Fed::Broken(fault(ErrorKind::ClosedEarly, example))
    }

    fn keys_seen(&self) -> Option<KeysSeen> {
        Some(KeysSeen { pushes: self.pushes, ..self.work.keys_seen()? })
    }
}

impl Store {
    /// What a refusal means for who asked.
    fn advice(&self, refusal: &[u8]) -> &'static str {
        match self.dialect {
            Dialect::Resp(_) => resp::advice(refusal),
            Dialect::MemcachedText => memcached::advice(refusal),
            Dialect::MemcachedMeta => memcached::advice_on_meta(refusal),
        }
    }

    /// What an answer that is whole counts as.
    fn worth(
        &mut self,
        bytes: &[u8],
        answer: Answer,
        (asked, of): (choice::KeyAsked, Asked),
    ) -> Option<Box<Fault>> {
        let reply = match answer {
            Answer::Refused(words) => {
                let words = &bytes[words];
                Reply::Refused { words, advice: self.advice(words) }
            }
            Answer::Stored => Reply::Stored,
            Answer::Removed(was_there) => Reply::Removed { was_there },
            Answer::Value(value) => Reply::Value(value.map(|range| &bytes[range])),
            Answer::Values { pushes } => {
                self.pushes += pushes;
                let found = self.found.iter();
                let mut values = found.map(|value| value.clone().map(|range| &bytes[range]));
                return self.work.worth_of(asked, of, Reply::Values(&mut values));
            }
        };
        self.work.worth_of(asked, of, reply)
    }

    /// Takes an answer from its first byte on.
    fn take(&mut self, bytes: &[u8], of: Asked) -> Fed {
        let asked = self.work.asks(of.number);
        let parsed = if self.is_third() && resp::is_aside(bytes) {
            // What is whole was passed over.
            resp::aside(bytes).map(|_| Parsed::More(1))
        } else {
            self.parse(bytes, self.expected(asked), asked.key)
        };
        match parsed {
            Err(example) => Fed::Broken(fault(
                ErrorKind::Malformed,
                foreign::named(self.spoken(), bytes, example),
            )),
            Ok(Parsed::More(missing)) => Fed::More { missing: missing as u64 },
            Ok(Parsed::Whole(used, answer)) => {
                let fault = self.worth(&bytes[..used], answer, (asked, of));
                let kind = AnswerKind { status: 0, class: asked.operation as u16 };
                Fed::Answer { used, kind, fault, reusable: true }
            }
        }
    }
}

/// Appends a number in decimal.
fn number(number: usize, room: &mut Vec<u8>) {
    room.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// The first line, without its end, and where the next one begins; `None` if it isn't whole.
///
/// # Errors
/// That it is longer than any that a store sends.
fn line(bytes: &[u8]) -> Result<Option<(&[u8], usize)>, String> {
    let Some(end) = memchr::memchr(b'\n', &bytes[..bytes.len().min(LINE_BYTES_MAX)]) else {
        return if bytes.len() < LINE_BYTES_MAX {
            Ok(None)
        } else {
            Err(format!("a line without an end: \"{}\"", show(bytes)))
        };
    };
    match bytes[..end].strip_suffix(b"\r") {
        Some(line) => Ok(Some((line, end + 1))),
        None => {
            Err(format!("a line that ends without a carriage return: \"{}\"", show(&bytes[..end])))
        }
    }
}

/// A length in decimal, of digits alone and at most so long.
pub(super) fn length(digits: &[u8], most: usize) -> Option<usize> {
    if digits.is_empty() || digits.len() > 10 {
        return None;
    }
    let length = digits.iter().try_fold(0_usize, |length, digit| {
        digit.is_ascii_digit().then(|| 10 * length + usize::from(digit - b'0'))
    })?;
    (length <= most).then_some(length)
}
