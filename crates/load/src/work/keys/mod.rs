//! Operations on keys of a store, whose values have to be those that were written.
//!
//! Operation, key and value follow from a request's number and the seed: nothing is stored, runs
//! repeat, and threads needn't talk, but for which keys they removed. The parts:
//!
//! - [`choice`]: which operation, of which key;
//! - [`value`]: bytes that tell which write they are of;
//! - [`register`]: which of its own writes a thread may no longer read;
//! - [`removals`]: which keys some thread has removed;
//! - [`read_back`]: which keys a store has to have when it is over;
//! - this file: what an answer is worth.

pub(crate) mod choice;
pub mod read_back;
pub(crate) mod register;
mod removals;
pub mod value;

use std::sync::Arc;

use self::choice::{Choice, PRELOADED};
use self::register::{FoundBefore, Register};
use self::removals::Removals;
use self::value::Values;
use crate::outcome::fault::{Fault, show};
use crate::outcome::{ErrorKind, KeysSeen};
use crate::plan::keys::{Keys, Operation};
use crate::work::{Asked, Work};

/// `key:` and twelve digits, as redis-benchmark's keys.
pub(crate) const KEY_BYTES: usize = 16;

/// A store may keep time in whole seconds, as memcached does: a value may expire so much sooner.
const EXPIRY_GRAIN_S: u64 = 1;

/// What a thread asks of a store, and what it remembers of that.
#[derive(Debug, Clone)]
pub(crate) struct KeysWork {
    keys: Arc<Keys>,
    choice: Choice,
    pub(crate) values: Values,
    register: Register,
    /// The thread: the writer that its values name.
    pub(crate) writer: u16,
    writers: Writers,
    /// What all threads removed; `None` where that isn't needed, or isn't all.
    removals: Option<Removals>,
    seen: KeysSeen,
}

/// Who writes to a store at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Writers {
    /// One thread, which knows all of it.
    OneThread,
    /// Threads of one process.
    Threads,
    /// Several hosts, which know nothing of each other.
    Hosts,
}

/// What a store answers, as its frames tell it.
pub(crate) enum Reply<'a> {
    /// A key's value, or that it isn't there.
    Value(Option<&'a [u8]>),
    /// The same of several keys.
    Values(&'a mut dyn Iterator<Item = Option<&'a [u8]>>),
    /// A key was stored.
    Stored,
    /// A key was removed, if it was there.
    Removed { was_there: bool },
    /// The store refused, in these words; with what a client may do about it.
    Refused { words: &'a [u8], advice: &'static str },
}

impl KeysWork {
    pub(crate) fn new(keys: &Keys, values: Values, seed: u64, writers: Writers) -> KeysWork {
        let is_alone = writers == Writers::OneThread;
        let remembers = keys.reads_what_it_writes() || is_alone && keys.deletes();
        let shares = writers == Writers::Threads && keys.deletes();
        KeysWork {
            choice: Choice::new(keys, seed),
            values,
            register: Register::new(if remembers { keys.count } else { 0 }, seed),
            writer: 0,
            writers,
            removals: shares.then(|| Removals::new(keys.count)),
            keys: Arc::new(keys.clone()),
            seen: KeysSeen::default(),
        }
    }

    /// The plan.
    pub(crate) fn keys(&self) -> &Keys {
        &self.keys
    }

    /// What the request with this number asks.
    pub(crate) fn asks(&self, number: u64) -> choice::KeyAsked {
        self.choice.of(number)
    }

    /// How many keys an operation asks for.
    pub(crate) fn keys_of(&self, operation: Operation) -> u16 {
        match operation {
            Operation::Get => self.keys.together,
            Operation::Set | Operation::Delete => 1,
        }
    }

    /// The names of the keys that a request asks for, the first of which is this.
    pub(crate) fn names(
        &self,
        first: u64,
        keys: u16,
    ) -> impl ExactSizeIterator<Item = [u8; KEY_BYTES]> {
        (0..keys).map(move |nth| self.name(first, nth))
    }

    /// The name of a request's key, by its place.
    pub(crate) fn name(&self, first: u64, place: u16) -> [u8; KEY_BYTES] {
        key_name(self.choice.nth(first, place))
    }

    /// A write is about to be sent.
    pub(crate) fn begins(&mut self, asked: choice::KeyAsked) {
        if asked.operation != Operation::Get {
            self.register.begins(asked.key, asked.write);
        }
        if let Some(removals) = &self.removals
            && asked.operation == Operation::Delete
        {
            removals.begins(asked.key);
        }
    }

    /// How many bytes the value of a write has.
    pub(crate) fn value_bytes(&self, asked: choice::KeyAsked) -> usize {
        self.values.length(asked.write) as usize
    }

    /// Appends the value of a write.
    pub(crate) fn append_value(&self, asked: choice::KeyAsked, room: &mut Vec<u8>) {
        self.values.append(asked.write, asked.key, self.writer, room);
    }

    /// What a key's value counts as, or that it isn't there.
    fn judge_key(&mut self, value: Option<&[u8]>, key: u64, of: Asked) -> Option<Box<Fault>> {
        match value {
            Some(value) => self.judge_value(value, key, of),
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
        let must_be_there = if self.keys.evicts {
            false
        } else if self.keys.deletes() {
            self.cannot_have_been_removed(key, of)
        } else if self.keys.expires_s > 0 {
            self.cannot_have_expired(key, of)
        } else {
            self.keys.are_there || self.register.was_written(key, of.sent)
        };
        if !must_be_there {
            self.seen.misses += 1;
            return None;
        }
        self.seen.missing += 1;
        Some(fault(ErrorKind::Missing, format!("{} isn't there, and was written", shown(key))))
    }

    /// Holds what a store says of a key that it removed to what is known of it: whether it was there.
    /// What others may have written meanwhile, or the store may have thrown away, decides nothing.
    fn judge_removal(&mut self, asked: choice::KeyAsked, was_there: bool) -> Option<Box<Fault>> {
        let found = self.register.found_by(asked.key, asked.write).filter(|_| self.is_alone())?;
        let key = shown(asked.key);
        let before = match found {
            FoundBefore::Nobodys if self.keys.are_there => "the preload".to_string(),
            FoundBefore::Nobodys => return None,
            FoundBefore::Write(write) if self.asks(write).operation == Operation::Delete => {
                if !was_there {
                    return None;
                }
                self.seen.stale += 1;
                let example =
                    format!("{key} was removed once more, and request {write} had done so");
                return Some(fault(ErrorKind::Stale, example));
            }
            FoundBefore::Write(write) => format!("request {write}"),
        };
        if was_there || self.keys.evicts || self.keys.expires_s > 0 {
            return None;
        }
        self.seen.missing += 1;
        let example = format!("{key} wasn't there to be removed, and {before} had written it");
        Some(fault(ErrorKind::Missing, example))
    }

    /// Whether nobody else writes meanwhile.
    fn is_alone(&self) -> bool {
        self.writers == Writers::OneThread
    }

    /// Whether a key had a value when it was asked for, though keys are removed. Who writes alone
    /// knows that of each key. Several threads know it of keys that none of them ever removed.
    fn cannot_have_been_removed(&mut self, key: u64, of: Asked) -> bool {
        if self.keys.expires_s > 0 {
            return false;
        }
        if !self.is_alone() {
            let was_never_removed = self.removals.as_ref().is_some_and(|it| !it.may_have(key));
            return was_never_removed
                && (self.keys.are_there || self.register.was_written(key, of.sent));
        }
        match self.register.left_for(key, of.sent) {
            Some(FoundBefore::Nobodys) => self.keys.are_there,
            Some(FoundBefore::Write(write)) => self.asks(write).operation == Operation::Set,
            None => false,
        }
    }

    /// Whether a key's value was written so lately that it was there still when it was asked for.
    /// Of the preload nobody knows when it was.
    fn cannot_have_expired(&mut self, key: u64, of: Asked) -> bool {
        let lives = u64::from(self.keys.expires_s).saturating_sub(EXPIRY_GRAIN_S) * 1_000_000_000;
        let written = self.register.written_at(key, of.sent);
        written.is_some_and(|written| of.at < written.saturating_add(lives))
    }

    /// What is wrong with the answer to a request that is known to have asked this.
    pub(crate) fn worth_of(
        &mut self,
        asked: choice::KeyAsked,
        of: Asked,
        reply: Reply,
    ) -> Option<Box<Fault>> {
        match reply {
            Reply::Refused { words, advice } => {
                let example = format!("the server says: \"{}\"{advice}", show(words));
                Some(fault(ErrorKind::ServerError, example))
            }
            Reply::Stored => {
                self.register.is_done(asked.key, asked.write, (of.sent, of.at));
                None
            }
            Reply::Removed { was_there } => {
                let fault = self.judge_removal(asked, was_there);
                self.register.is_done(asked.key, asked.write, (of.sent, of.at));
                fault
            }
            Reply::Value(value) => self.judge_key(value, asked.key, of),
            Reply::Values(values) => {
                let faults = (0..).zip(values).filter_map(|(place, value)| {
                    let key = self.choice.nth(asked.key, place);
                    self.judge_key(value, key, of)
                });
                // Of several, the first; but each is looked at.
                faults.fold(None, |first, fault| first.or(Some(fault)))
            }
        }
    }
}

impl Work for KeysWork {
    type Looked = ();
    type Answer<'a> = Reply<'a>;

    fn of_thread(&self, thread: usize) -> KeysWork {
        KeysWork { writer: thread as u16, ..self.clone() }
    }

    fn classes(&self) -> Vec<String> {
        Operation::ALL.map(|operation| operation.name().into()).into()
    }

    fn class(&self, (_, number): (usize, u64)) -> u16 {
        self.asks(number).operation as u16
    }

    fn worth(&mut self, of: Asked, reply: Reply) -> Option<Box<Fault>> {
        self.worth_of(self.asks(of.number), of, reply)
    }

    fn keys_seen(&self) -> Option<KeysSeen> {
        Some(self.seen)
    }
}

fn fault(kind: ErrorKind, example: String) -> Box<Fault> {
    Box::new(Fault { kind, example })
}

pub(crate) fn key_name(key: u64) -> [u8; KEY_BYTES] {
    let mut name = *b"key:000000000000";
    let mut buffer = itoa::Buffer::new();
    let digits = buffer.format(key).as_bytes();
    name[KEY_BYTES - digits.len()..].copy_from_slice(digits);
    name
}

/// A key's name, as text.
fn shown(key: u64) -> String {
    String::from_utf8_lossy(&key_name(key)).into_owned()
}
