//! Reads back what a store has for every key that was written to.

use std::net::SocketAddr;
use std::ops::Range;
use std::time::{Duration, Instant};

use lab::contract::store_client::{StoreClient, StoreWrong};
use lab::study::contender::Speaks;
use load::Stop;

use crate::value::{CutValues, Key};

/// The longest that one answer may take.
const WITHIN: Duration = Duration::from_secs(10);
/// The longest that all may take.
const ALL_WITHIN: Duration = Duration::from_secs(120);
/// Until a store that refused to answer is asked again.
const REFUSED_FOR: Duration = Duration::from_millis(20);
/// The last keys of each connection that are looked for where they shouldn't be.
const LAST_KEYS: u32 = 256;

/// What a store has for a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// Nothing.
    Nothing,
    /// The value of this write.
    Write(u64),
    /// What was never written to it, in words.
    Other(String),
}

/// Why a store's keys can't be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unread {
    /// The connection or the store ended, or it took too long: in words.
    Ended(String),
    /// The store didn't want to say: in words. What it has isn't known.
    Refused(String),
}

/// A store that is read back.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a> {
    /// Where it answers.
    pub address: SocketAddr,
    /// What it is spoken with.
    pub speaks: Speaks,
    /// The values of the cut.
    pub values: &'a CutValues,
    /// So long it may refuse, since it reads its data still.
    pub refuses_within: Duration,
    /// What ends it.
    pub stop: &'a Stop,
}

impl Reader<'_> {
    /// What the store has for the keys of each connection, of which there are so many.
    ///
    /// # Errors
    /// [`Unread`].
    pub fn read_back(&self, keys: &[u32]) -> Result<Vec<Vec<Found>>, Unread> {
        let began = Instant::now();
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..)
                .zip(keys)
                .map(|(connection, &keys)| {
                    scope.spawn(move || self.of_connection(connection, 0..keys, began))
                })
                .collect();
            let joined = threads.into_iter().map(|thread| {
                let ended = || Unread::Ended("the thread that read it ended".into());
                thread.join().unwrap_or_else(|_| Err(ended()))
            });
            joined.collect()
        })
    }

    /// A key among the last of each connection of which the store has what it shouldn't.
    ///
    /// # Errors
    /// [`Unread`].
    pub fn first_there(
        &self,
        keys: &[u32],
        should_not: impl Fn(&Found) -> bool,
    ) -> Result<Option<String>, Unread> {
        let began = Instant::now();
        for (connection, &keys) in (0..).zip(keys) {
            let first = keys.saturating_sub(LAST_KEYS);
            let found = self.of_connection(connection, first..keys, began)?;
            let there = found.iter().position(&should_not);
            if let Some(at) = there {
                let key = Key { connection, number: first + at as u32 };
                return Ok(Some(key.name()));
            }
        }
        Ok(None)
    }

    fn of_connection(
        &self,
        connection: u32,
        numbers: Range<u32>,
        began: Instant,
    ) -> Result<Vec<Found>, Unread> {
        let ended = |wrong: StoreWrong| Unread::Ended(wrong.to_string());
        let connect = || StoreClient::connect(self.address, self.speaks, WITHIN).map_err(ended);
        let mut client = connect()?;
        let mut all = Vec::with_capacity(numbers.len());
        for number in numbers {
            let key = Key { connection, number };
            all.push(loop {
                if self.stop.asked() {
                    return Err(Unread::Ended("it was stopped".into()));
                }
                if began.elapsed() > ALL_WITHIN {
                    let seconds = ALL_WITHIN.as_secs();
                    return Err(Unread::Ended(format!("not all was read within {seconds} s")));
                }
                match client.get(&key.name()) {
                    Ok(None) => break Found::Nothing,
                    Ok(Some(value)) => {
                        let write = self.values.write_of(key, &value);
                        break write.map_or_else(Found::Other, Found::Write);
                    }
                    // It may be reading its data still, or be busy.
                    Err(StoreWrong::Refused(words)) => {
                        if began.elapsed() > self.refuses_within {
                            return Err(Unread::Refused(words));
                        }
                        std::thread::sleep(REFUSED_FOR);
                    }
                    Err(StoreWrong::Answer(what)) => {
                        // What comes next on this connection may be the rest of it.
                        client = connect()?;
                        break Found::Other(format!("an answer that is none: {what}"));
                    }
                    Err(wrong) => return Err(ended(wrong)),
                }
            });
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use super::*;

    /// A store that gives these answers to what it is asked on a connection, the last of them for
    /// ever.
    fn store(answers: Vec<Vec<u8>>) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let (mut room, mut asked) = ([0; 1024], 0);
            while stream.read(&mut room).is_ok_and(|read| read > 0) {
                let answer = &answers[asked.min(answers.len() - 1)];
                asked += 1;
                if stream.write_all(answer).is_err() {
                    break;
                }
            }
        });
        address
    }

    fn read(answers: Vec<Vec<u8>>, refuses_within: Duration) -> Result<Vec<Vec<Found>>, Unread> {
        let (address, speaks) = (store(answers), Speaks::Redis);
        let (values, stop) = (&CutValues::new(7, 100), &Stop::default());
        Reader { address, speaks, values, refuses_within, stop }.read_back(&[1])
    }

    /// Else a store that reads a large log is told as one that garbles what it was given.
    #[test]
    fn a_store_that_refuses_is_waited_for_and_never_corrupt() {
        let value = CutValues::new(7, 100).value(Key { connection: 0, number: 0 }, 1);
        let value = [format!("${}\r\n", value.len()).as_bytes(), &value, b"\r\n"].concat();
        let loading = || b"-LOADING Redis is loading the dataset in memory\r\n".to_vec();
        let busy = b"-BUSY Redis is busy\r\n".to_vec();
        let at_last = read(vec![loading(), busy, value], Duration::from_secs(60));
        assert_eq!(at_last, Ok(vec![vec![Found::Write(1)]]));
        let never = read(vec![loading()], Duration::ZERO);
        assert!(
            matches!(&never, Err(Unread::Refused(words)) if words.contains("LOADING")),
            "{never:?}"
        );
    }

    #[test]
    fn a_key_that_should_not_be_there_is_named() {
        let (speaks, refuses_within) = (Speaks::Redis, Duration::ZERO);
        let (values, stop) = (&CutValues::new(7, 100), &Stop::default());
        let there = |answer: &[u8], should_not: fn(&Found) -> bool| {
            let address = store(vec![answer.to_vec()]);
            let reader = Reader { address, speaks, values, refuses_within, stop };
            reader.first_there(&[3], should_not)
        };
        let anything = |found: &Found| *found != Found::Nothing;
        let named = || Ok(Some("key:000000000000".into()));
        assert_eq!(there(b"$-1\r\n", anything), Ok(None));
        assert_eq!(there(b"$1\r\nx\r\n", anything), named());
        let value = values.value(Key { connection: 0, number: 0 }, 5);
        let value = [format!("${}\r\n", value.len()).as_bytes(), &value, b"\r\n"].concat();
        assert_eq!(there(&value, |found| *found == Found::Write(5)), named());
        assert_eq!(
            there(&value, |found| *found == Found::Write(6)),
            Ok(None),
            "an older write may"
        );
    }
}
