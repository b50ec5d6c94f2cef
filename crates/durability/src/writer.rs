//! Writes to a store on several connections, and knows afterwards what was acknowledged when.
//!
//! A connection has one write under way at a time: the one that has no answer at the cut is the
//! only one of which nothing is known. Half of the writes are of keys that are there already, so
//! that an older value can come back; the others are of new ones.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use fastrand::Rng;
use lab::contract::store_client::{StoreClient, StoreWrong};
use lab::study::contender::Speaks;

use crate::value::Key;

/// A write without an answer for so long is given up, and its connection with it.
const WITHIN: Duration = Duration::from_secs(10);

/// A write as the client saw it.
#[derive(Debug, Clone, PartialEq)]
pub struct Write {
    /// The number of its key among those of the connection.
    pub number: u32,
    /// The version of the key that it wrote.
    pub version: u32,
    /// When it was sent, since the writing began.
    pub sent: Duration,
    /// When it was acknowledged; `None` if it was refused, or had no answer.
    pub acknowledged: Option<Duration>,
}

/// What one connection wrote, in order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Log {
    /// Its writes.
    pub writes: Vec<Write>,
    /// How many keys it wrote to: their numbers are those below.
    pub keys: u32,
    /// The first thing that went wrong, for people.
    pub first_wrong: Option<String>,
}

/// Writing that is under way. Whoever drops it lets it end by itself.
#[derive(Debug)]
pub struct Writing {
    began: Instant,
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Log>>,
}

impl Writing {
    /// Begins to write on so many connections.
    pub fn begin((address, connections): (SocketAddr, u32), speaks: Speaks, seed: u64) -> Writing {
        let (began, is_over) = (Instant::now(), Arc::new(AtomicBool::new(false)));
        let connection = |connection: u32| {
            let is_over = is_over.clone();
            std::thread::spawn(move || write(address, speaks, (seed, connection), began, &is_over))
        };
        let threads = (0..connections).map(connection).collect();
        Writing { began, is_over, threads }
    }

    /// How long it has gone on.
    pub fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// Ends it: what each connection wrote. Whatever comes from now on counts as well, so the
    /// cut has to be made before.
    pub fn end(self) -> Vec<Log> {
        self.is_over.store(true, Ordering::Relaxed);
        let joined = self.threads.into_iter().map(|thread| thread.join().unwrap_or_default());
        joined.collect()
    }
}

/// Writes on one connection, until it is over or the connection is.
fn write(
    address: SocketAddr,
    speaks: Speaks,
    (seed, connection): (u64, u32),
    began: Instant,
    is_over: &AtomicBool,
) -> Log {
    let mut log = Log::default();
    let mut client = match StoreClient::connect(address, speaks, WITHIN) {
        Ok(client) => client,
        Err(wrong) => return Log { first_wrong: Some(wrong.to_string()), ..log },
    };
    let mut random = Rng::with_seed(seed ^ u64::from(connection).rotate_left(40));
    let mut versions: Vec<u32> = Vec::new();
    while !is_over.load(Ordering::Relaxed) {
        let number = match versions.len() {
            0 => 0,
            there if random.bool() => there,
            there => random.usize(..there),
        };
        if number == versions.len() {
            versions.push(0);
        }
        versions[number] += 1;
        let (number, version) = (number as u32, versions[number]);
        let key = Key { seed, connection, number };
        let (name, value) = (key.name(), key.value(version));
        let sent = began.elapsed();
        let answer = client.set(&name, &value, 0);
        let acknowledged = answer.is_ok().then(|| began.elapsed());
        log.writes.push(Write { number, version, sent, acknowledged });
        match answer {
            Ok(()) => {}
            // It may go on all the same, but not at once.
            Err(wrong @ StoreWrong::Refused(_)) => {
                log.first_wrong.get_or_insert_with(|| wrong.to_string());
                std::thread::sleep(Duration::from_millis(1));
            }
            Err(wrong) => {
                log.first_wrong.get_or_insert_with(|| wrong.to_string());
                break;
            }
        }
    }
    log.keys = versions.len() as u32;
    log
}
