//! Reads back what a store has for every key that was written to.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use lab::contract::store_client::{StoreClient, StoreWrong};
use lab::study::contender::Speaks;
use load::Stop;

use crate::value::Key;

/// The longest that one answer may take.
const WITHIN: Duration = Duration::from_secs(10);
/// The longest that all may take.
const ALL_WITHIN: Duration = Duration::from_secs(120);

/// What a store has for a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// Nothing.
    Nothing,
    /// A value that was written to it, in this version.
    Version(u32),
    /// What was never written to it, in words.
    Other(String),
}

/// What the store has for the keys of each connection, of which there are so many.
///
/// # Errors
/// Why it can't be read, for people: the connection or the store ended.
pub fn read_back(
    address: SocketAddr,
    speaks: Speaks,
    seed: u64,
    keys: &[u32],
    stop: &Stop,
) -> Result<Vec<Vec<Found>>, String> {
    let began = Instant::now();
    let of_connection = |connection: u32, keys: u32| {
        let connect =
            || StoreClient::connect(address, speaks, WITHIN).map_err(|wrong| wrong.to_string());
        let mut client = connect()?;
        let mut all = Vec::with_capacity(keys as usize);
        for number in 0..keys {
            if stop.asked() {
                return Err("it was stopped".into());
            }
            if began.elapsed() > ALL_WITHIN {
                return Err(format!("not all was read within {} s", ALL_WITHIN.as_secs()));
            }
            let key = Key { seed, connection, number };
            all.push(match client.get(&key.name()) {
                Ok(None) => Found::Nothing,
                Ok(Some(value)) => match key.version_of(&value) {
                    Ok(version) => Found::Version(version),
                    Err(what) => Found::Other(what),
                },
                Err(StoreWrong::Refused(words)) => {
                    Found::Other(format!("no value that it gives out; it says {words}"))
                }
                Err(StoreWrong::Answer(what)) => {
                    // What comes next on this connection may be the rest of it.
                    client = connect()?;
                    Found::Other(format!("an answer that is none: {what}"))
                }
                Err(wrong) => return Err(wrong.to_string()),
            });
        }
        Ok(all)
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..)
            .zip(keys)
            .map(|(connection, &keys)| scope.spawn(move || of_connection(connection, keys)))
            .collect();
        let joined = threads.into_iter().map(|thread| {
            thread.join().unwrap_or_else(|_| Err("the thread that read it ended".into()))
        });
        joined.collect()
    })
}
