//! Key-value stores: requests in a store's dialect, and answers that are held to what was written.
//!
//! - [`resp`] and [`memcached`]: the dialects: bytes of requests, and where an answer ends;
//! - [`replies`]: single answers, read by the same dialects;
//! - this file: what an answer is worth.

mod memcached;
pub mod replies;
mod resp;
#[cfg(any(test, feature = "fuzzing"))]
pub mod splits;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::Arc;

use super::{Asked, Fault, Fed, Opening, Protocol, show};
use crate::outcome::{ErrorKind, KeysSeen};
use crate::plan::Plan;
use crate::work::keys::choice::{Choice, PRELOADED};
use crate::work::keys::register::Register;
use crate::work::keys::value::Values;
use crate::work::keys::{self, Dialect, Keys, Operation};

/// `key:` and twelve digits, as redis-benchmark's keys.
const KEY_BYTES: usize = 16;
/// Bytes of an answer beside its values: a head a value, and the end.
const AROUND_VALUE_MAX: usize = 128;
/// The longest line that isn't a value's: what a server says of an error.
const LINE_BYTES_MAX: usize = 4096;

/// The encoder and decoder of one thread.
#[derive(Debug, Clone)]
pub(crate) struct Store {
    keys: Arc<Keys>,
    choice: Choice,
    values: Values,
    register: Register,
    /// The thread: the writer that its values name.
    writer: u32,
    /// What a connection says first, and how many answers that has.
    greeting: (Arc<[u8]>, u32),
    /// Where the values lie of an answer with several; `None` of one that isn't there.
    found: Vec<Option<Range<usize>>>,
    seen: KeysSeen,
}

/// One connection's part.
#[derive(Debug, Default)]
pub(crate) struct Connection {
    /// Answers to its greeting that are still to come.
    greetings: u32,
    /// An answer that came in part.
    kept: Vec<u8>,
    /// So many bytes it has at least.
    at_least: usize,
}

/// An answer, as far as a dialect tells it.
#[derive(Debug, PartialEq)]
enum Answer {
    /// Where a value lies, or that it isn't there.
    Value(Option<Range<usize>>),
    /// Several of these, which are in [`Store::found`].
    Values,
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
struct Expected {
    operation: Operation,
    /// The number of keys that were asked for.
    keys: u16,
    /// The most bytes of a value.
    value_bytes_max: usize,
    /// What a meta command's answer repeats.
    opaque: u32,
}

impl Store {
    pub(crate) fn new(plan: &Plan, keys: &Keys) -> Store {
        let values = Values::new(plan.seed, keys.value_bytes.clone());
        Store::of_values(values, plan.seed, keys)
    }

    fn of_values(values: Values, seed: u64, keys: &Keys) -> Store {
        let greeting = match &keys.dialect {
            Dialect::Resp(resp) => resp::greeting(resp),
            Dialect::MemcachedText | Dialect::MemcachedMeta => (Vec::new(), 0),
        };
        Store {
            choice: Choice::new(keys, seed),
            values,
            register: Register::new(if keys.reads_what_it_writes() { keys.count } else { 0 }),
            writer: 0,
            greeting: (greeting.0.into(), greeting.1),
            found: Vec::new(),
            keys: Arc::new(keys.clone()),
            seen: KeysSeen::default(),
        }
    }

    /// How many keys a request asks for.
    fn keys_of(&self, operation: Operation) -> u16 {
        match operation {
            Operation::Get => self.keys.together,
            Operation::Set | Operation::Delete => 1,
        }
    }

    fn expected(&self, asked: keys::choice::Asked) -> Expected {
        Expected {
            operation: asked.operation,
            keys: self.keys_of(asked.operation),
            value_bytes_max: self.keys.value_bytes_max(),
            opaque: asked.write as u32,
        }
    }

    fn parse(&mut self, bytes: &[u8], expected: Expected, first: u64) -> Result<Parsed, String> {
        self.found.clear();
        match self.keys.dialect {
            Dialect::Resp(_) => resp::parse(bytes, expected, &mut self.found),
            Dialect::MemcachedText => {
                let name = |place| key_name(self.choice.nth(first, place));
                memcached::parse_text(bytes, expected, name, &mut self.found)
            }
            Dialect::MemcachedMeta => memcached::parse_meta(bytes, expected),
        }
    }

    /// What an answer that is whole counts as.
    fn judge(
        &mut self,
        bytes: &[u8],
        answer: Answer,
        asked: keys::choice::Asked,
        of: Asked,
    ) -> Option<Box<Fault>> {
        match answer {
            Answer::Refused(words) => {
                let words = &bytes[words];
                let advice = match self.keys.dialect {
                    Dialect::Resp(_) => resp::advice(words),
                    Dialect::MemcachedText | Dialect::MemcachedMeta => "",
                };
                let example = format!("the server says: \"{}\"{advice}", show(words));
                Some(fault(ErrorKind::ServerError, example))
            }
            Answer::Stored | Answer::Removed(_) => {
                self.register.is_done(asked.key, asked.write, of.at);
                None
            }
            Answer::Value(value) => self.judge_key(bytes, value, asked.key, of),
            Answer::Values => {
                let found = std::mem::take(&mut self.found);
                let faults = (0..).zip(&found).filter_map(|(place, value)| {
                    let key = self.choice.nth(asked.key, place);
                    self.judge_key(bytes, value.clone(), key, of)
                });
                // Of several, the first.
                let first = faults.fold(None, |first, fault| first.or(Some(fault)));
                self.found = found;
                first
            }
        }
    }

    /// What a key's value counts as, which lies there in an answer, or isn't there.
    fn judge_key(
        &mut self,
        bytes: &[u8],
        value: Option<Range<usize>>,
        key: u64,
        of: Asked,
    ) -> Option<Box<Fault>> {
        match value {
            Some(range) => self.judge_value(&bytes[range], key, of),
            None => self.judge_miss(key, of),
        }
    }

    fn judge_value(&mut self, value: &[u8], key: u64, of: Asked) -> Option<Box<Fault>> {
        let header = match self.values.check(value, key) {
            Ok(header) => header,
            Err(why) => {
                self.seen.wrong += 1;
                return Some(fault(ErrorKind::WrongValue, format!("{} has {why}", shown(key))));
            }
        };
        if !self.choice.is_write_of(header.write, key) {
            self.seen.wrong += 1;
            let example = format!("{} has a value that was never written", shown(key));
            return Some(fault(ErrorKind::WrongValue, example));
        }
        let is_own = header.writer == self.writer && header.write & PRELOADED == 0;
        if let Some(last) = self.register.overwritten_by(key, header.write, is_own, of.sent) {
            self.seen.stale += 1;
            let which = match header.write & PRELOADED {
                0 => format!("of request {}", header.write),
                _ => "of the preload".into(),
            };
            let example = format!(
                "{} has the value {which}, and that of request {last} was acknowledged before \
                 this was asked",
                shown(key)
            );
            return Some(fault(ErrorKind::Stale, example));
        }
        self.seen.hits += 1;
        None
    }

    fn judge_miss(&mut self, key: u64, of: Asked) -> Option<Box<Fault>> {
        let must_be_there = self.keys.are_there || self.register.was_written(key, of.sent);
        if self.keys.may_be_gone() || !must_be_there {
            self.seen.misses += 1;
            return None;
        }
        self.seen.missing += 1;
        Some(fault(ErrorKind::Missing, format!("{} isn't there, and was written", shown(key))))
    }
}

fn fault(kind: ErrorKind, example: String) -> Box<Fault> {
    Box::new(Fault { kind, example })
}

fn key_name(key: u64) -> [u8; KEY_BYTES] {
    let mut name = *b"key:000000000000";
    let mut buffer = itoa::Buffer::new();
    let digits = buffer.format(key).as_bytes();
    name[KEY_BYTES - digits.len()..].copy_from_slice(digits);
    name
}

/// A key's name, for people.
fn shown(key: u64) -> String {
    String::from_utf8_lossy(&key_name(key)).into_owned()
}

impl Protocol for Store {
    type Connection = Connection;

    const OPENS: bool = true;

    fn of_thread(&self, thread: usize) -> Store {
        Store { writer: thread as u32, ..self.clone() }
    }

    fn open(&mut self, on: &mut Connection, room: &mut Vec<u8>) {
        room.extend_from_slice(&self.greeting.0);
        on.greetings = self.greeting.1;
    }

    fn feed_opening(&mut self, on: &mut Connection, bytes: &[u8]) -> Opening {
        let before = on.kept.len();
        on.kept.extend_from_slice(bytes);
        let mut taken = 0;
        while on.greetings > 0 {
            match resp::skip(&on.kept[taken..]) {
                Ok(Some(end)) => taken += end,
                Ok(None) => {
                    on.kept.drain(..taken);
                    return Opening::More { missing: 1 };
                }
                Err((kind, why)) => {
                    on.kept.clear();
                    return Opening::Broken(fault(kind, why));
                }
            }
            on.greetings -= 1;
        }
        on.kept.clear();
        Opening::Done { used: taken - before }
    }

    fn fixed_request(&self, _number: u64) -> Option<&[u8]> {
        None
    }

    fn render_request(&mut self, number: u64, room: &mut Vec<u8>) {
        let asked = self.choice.of(number);
        let keys =
            (0..self.keys_of(asked.operation)).map(|nth| key_name(self.choice.nth(asked.key, nth)));
        if asked.operation != Operation::Get {
            self.register.begins(asked.key, asked.write);
        }
        let (values, writer) = (&self.values, self.writer);
        let value = |room: &mut Vec<u8>| values.append(asked.write, asked.key, writer, room);
        // Of a get it isn't asked for.
        let length = || values.length(asked.write) as usize;
        match self.keys.dialect {
            Dialect::Resp(_) => match asked.operation {
                Operation::Get => resp::get(keys, room),
                Operation::Set => {
                    resp::set(key_name(asked.key), length(), self.keys.expires_s, value, room);
                }
                Operation::Delete => resp::delete(key_name(asked.key), room),
            },
            Dialect::MemcachedText => match asked.operation {
                Operation::Get => memcached::get(keys, room),
                Operation::Set => {
                    memcached::set(key_name(asked.key), length(), self.keys.expires_s, value, room);
                }
                Operation::Delete => memcached::delete(key_name(asked.key), room),
            },
            Dialect::MemcachedMeta => {
                let (key, opaque) = (key_name(asked.key), asked.write as u32);
                match asked.operation {
                    Operation::Get => memcached::meta_get(key, opaque, room),
                    Operation::Set => {
                        let expires = self.keys.expires_s;
                        memcached::meta_set(key, opaque, length(), expires, value, room);
                    }
                    Operation::Delete => memcached::meta_delete(key, opaque, room),
                }
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
        let keys = usize::from(self.keys.together) * (KEY_BYTES + 16);
        (AROUND_VALUE_MAX + keys + self.keys.value_bytes_max()).max(self.greeting.0.len())
    }

    fn is_under_way(on: &Connection) -> bool {
        !on.kept.is_empty()
    }

    fn feed(&mut self, on: &mut Connection, bytes: &[u8], of: Asked) -> Fed {
        if !on.kept.is_empty() {
            on.kept.extend_from_slice(bytes);
            if on.kept.len() < on.at_least {
                return Fed::More { missing: (on.at_least - on.kept.len()) as u64 };
            }
            let kept = std::mem::take(&mut on.kept);
            let before = kept.len() - bytes.len();
            return match self.feed(on, &kept, of) {
                // Of what came only now it is told how much was used.
                Fed::Answer { used, status, fault, reusable } => {
                    Fed::Answer { used: used - before, status, fault, reusable }
                }
                other => other,
            };
        }
        let fed = self.take(bytes, of);
        if let Fed::More { missing } = fed {
            on.kept.extend_from_slice(bytes);
            on.at_least = bytes.len() + missing as usize;
        }
        fed
    }

    fn end(&mut self, on: &mut Connection, _of: Asked) -> Fed {
        let kept = std::mem::take(&mut on.kept);
        let example = if kept.is_empty() {
            "the connection ended before an answer came".into()
        } else {
            format!("the connection ended within an answer: \"{}\"", show(&kept))
        };
        Fed::Broken(fault(ErrorKind::ClosedEarly, example))
    }

    fn operation(&self, number: u64) -> Option<Operation> {
        Some(self.choice.of(number).operation)
    }

    fn keys_seen(&self) -> Option<KeysSeen> {
        Some(self.seen)
    }
}

impl Store {
    /// Takes an answer from its first byte on.
    fn take(&mut self, bytes: &[u8], of: Asked) -> Fed {
        let asked = self.choice.of(of.number);
        match self.parse(bytes, self.expected(asked), asked.key) {
            Err(example) => Fed::Broken(fault(ErrorKind::Malformed, example)),
            Ok(Parsed::More(missing)) => Fed::More { missing: missing as u64 },
            Ok(Parsed::Whole(used, answer)) => {
                let fault = self.judge(&bytes[..used], answer, asked, of);
                Fed::Answer { used, status: asked.operation as u16, fault, reusable: true }
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
fn length(digits: &[u8], most: usize) -> Option<usize> {
    if digits.is_empty() || digits.len() > 10 {
        return None;
    }
    let length = digits.iter().try_fold(0_usize, |length, digit| {
        digit.is_ascii_digit().then(|| 10 * length + usize::from(digit - b'0'))
    })?;
    (length <= most).then_some(length)
}
