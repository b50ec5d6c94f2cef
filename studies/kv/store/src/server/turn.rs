//! A turn of a thread's loop: all requests that came, over all of its connections.
//!
//! They are done in each connection's order. Writes gather in a batch that is committed at the
//! end, and reads of the turn see them before. No answer leaves before the commit, so that nobody
//! is told of a write, his own or another's, that could still fail.

use std::ops::Range;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::batch::Batch;
use crate::engine::Session;
use crate::error::{Error, Result};
use crate::protocol::{Request, Wire, Words};
use crate::value::{Head, now_ms};

/// A batch of more is committed before the turn's end.
const BATCH_BYTES_MAX: usize = 64 << 20;
/// The longest answer: one request for many large values is refused.
const ANSWER_BYTES_MAX: usize = 128 << 20;

/// What the threads of a store share, beside the engine.
#[derive(Debug)]
pub struct Shared {
    pub engine: String,
    pub threads: usize,
    /// Whoever says whether it removed a key commits alone: another thread's write of that key
    /// falls before or behind it, and never between.
    commits: RwLock<()>,
}

impl Shared {
    pub fn new(engine: &str, threads: usize) -> Shared {
        Shared { engine: engine.into(), threads, commits: RwLock::new(()) }
    }
}

/// The right to commit.
enum Right<'s> {
    /// Beside other threads,
    Common { _held: RwLockReadGuard<'s, ()> },
    /// or alone.
    Alone { _held: RwLockWriteGuard<'s, ()> },
}

pub struct Turn<'s> {
    shared: &'s Shared,
    session: Box<dyn Session + 's>,
    batch: Batch,
    /// What was answered to writes that aren't committed yet: connection and place in its
    /// answers. It is taken back if the commit fails.
    promises: Vec<(usize, Range<usize>)>,
    /// Held from the first removal on, to the commit.
    alone: Option<Right<'s>>,
    now_ms: u64,
}

/// A connection that something is done for.
pub struct Asker<'a> {
    pub connection: usize,
    pub wire: Wire,
    /// Where its answers go.
    pub answers: &'a mut Vec<u8>,
}

/// Promises that weren't kept: where they stand, the latest first, and why.
pub struct Broken {
    pub promises: Vec<(usize, Range<usize>)>,
    pub why: Error,
}

impl<'s> Turn<'s> {
    pub fn new(shared: &'s Shared, session: Box<dyn Session + 's>) -> Turn<'s> {
        Turn {
            shared,
            session,
            batch: Batch::default(),
            promises: Vec::new(),
            alone: None,
            now_ms: now_ms(),
        }
    }

    /// All that came so far is read: the turn begins.
    pub fn begin(&mut self) {
        self.now_ms = now_ms();
    }

    pub fn now_ms(&self) -> u64 {
        self.now_ms
    }

    /// Whether all writes before have to be committed before this is done.
    pub fn has_to_commit_before(&self, request: &Request) -> bool {
        let is_of_all = matches!(request, Request::Count | Request::Stats | Request::Clear { .. });
        !self.batch.is_empty() && (is_of_all || self.batch.bytes() > BATCH_BYTES_MAX)
    }

    /// Does what is asked for, and appends the answer.
    pub fn ask(&mut self, request: &Request, by: &mut Asker) {
        let begin = by.answers.len();
        let done = match request {
            Request::Get { keys, as_list, with_cas } => self.get(*keys, *as_list, *with_cas, by),
            Request::Set { key, value, head, is_silent } => {
                self.batch.put(key, head, value);
                if !is_silent {
                    by.wire.stored(by.answers);
                    self.promise(begin, by);
                }
                Ok(())
            }
            Request::Delete { keys, is_silent } => self.delete(*keys, *is_silent, by),
            Request::Exists { keys } => keys
                .iter()
                .try_fold(0, |found, key| Ok(found + u64::from(self.exists(key)?)))
                .map(|found| by.wire.count(found, by.answers)),
            Request::Count => self.session.count().map(|keys| by.wire.count(keys, by.answers)),
            Request::Stats => self.session.count().map(|keys| {
                by.wire.stats(&self.shared.engine, self.shared.threads, keys, by.answers);
            }),
            Request::Clear { is_silent } => self.clear().map(|()| {
                if !is_silent {
                    by.wire.cleared(by.answers);
                }
            }),
            Request::Answer(answer) => {
                by.answers.extend_from_slice(answer);
                Ok(())
            }
            Request::Quit => {
                if by.wire == Wire::Resp {
                    by.answers.extend_from_slice(b"+OK\r\n");
                }
                Ok(())
            }
        };
        if let Err(why) = done {
            by.answers.truncate(begin);
            by.wire.error(&why, by.answers);
        }
    }

    fn promise(&mut self, begin: usize, by: &Asker) {
        self.promises.push((by.connection, begin..by.answers.len()));
    }

    fn get(
        &mut self,
        keys: Words<'_>,
        as_list: bool,
        with_cas: bool,
        by: &mut Asker,
    ) -> Result<()> {
        let begin = by.answers.len();
        by.wire.begin_values(keys.len(), as_list, by.answers);
        for key in keys.iter() {
            let answers = &mut *by.answers;
            let wire = by.wire;
            let is_there = self.find(key, |head, value| {
                wire.value(key, head, value, with_cas, answers);
            })?;
            if !is_there {
                wire.no_value(by.answers);
            }
            if by.answers.len() - begin > ANSWER_BYTES_MAX {
                return Err(Error::new(format!(
                    "the values are longer than {ANSWER_BYTES_MAX} bytes together: ask for fewer"
                )));
            }
        }
        by.wire.end_values(by.answers);
        Ok(())
    }

    /// Hands over the value of a key, and tells whether there is one.
    fn find(&mut self, key: &[u8], mut found: impl FnMut(Head, &[u8])) -> Result<bool> {
        let (now_ms, mut is_there, mut is_broken) = (self.now_ms, false, false);
        let mut take = |kept: &[u8]| match Head::split(kept) {
            Some((head, value)) if !head.is_over(now_ms) => {
                is_there = true;
                found(head, value);
            }
            Some(_) => {}
            None => is_broken = true,
        };
        match self.batch.find(key) {
            Some(Some(kept)) => take(kept),
            Some(None) => {}
            None => self.session.get(key, &mut take)?,
        }
        match is_broken {
            true => Err(Error::new("what is kept for this key is too short to be a value")),
            false => Ok(is_there),
        }
    }

    fn exists(&mut self, key: &[u8]) -> Result<bool> {
        self.find(key, |_, _| {})
    }

    fn delete(&mut self, keys: Words<'_>, is_silent: bool, by: &mut Asker) -> Result<()> {
        self.be_alone();
        let begin = by.answers.len();
        let mut removed = 0;
        for key in keys.iter() {
            removed += u64::from(self.exists(key)?);
            self.batch.delete(key);
        }
        if !is_silent {
            by.wire.removed(removed, by.answers);
            self.promise(begin, by);
        }
        Ok(())
    }

    fn clear(&mut self) -> Result<()> {
        self.be_alone();
        let cleared = self.session.clear();
        self.alone = None;
        cleared
    }

    fn be_alone(&mut self) {
        if self.alone.is_none() {
            let held = self.shared.commits.write().unwrap_or_else(PoisonError::into_inner);
            self.alone = Some(Right::Alone { _held: held });
            // What was kept for reads may be older than others' last commit.
            self.session.end_turn();
        }
    }

    /// Commits the writes so far. What is read afterwards sees them.
    ///
    /// # Errors
    /// The promises that have to be taken back.
    pub fn commit(&mut self) -> std::result::Result<(), Broken> {
        let right = self.alone.take();
        if self.batch.is_empty() {
            self.session.end_turn();
            return Ok(());
        }
        let right = right.unwrap_or_else(|| {
            let held = self.shared.commits.read().unwrap_or_else(PoisonError::into_inner);
            Right::Common { _held: held }
        });
        let done = self.session.commit(&self.batch);
        drop(right);
        self.session.end_turn();
        self.batch.clear();
        let promises = self.promises.drain(..);
        match done {
            Ok(()) => Ok(()),
            Err(why) => Err(Broken { promises: promises.rev().collect(), why }),
        }
    }
}
