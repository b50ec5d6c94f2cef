//! Writes to a store on several connections, and knows afterwards what was acknowledged when.
//!
//! A connection has one write under way at a time: the one that has no answer at the cut is the
//! only one of which nothing is known. Half of the writes are of keys that are there already, so
//! that an older value can come back; the others are of new ones. Writes are numbered over all
//! connections, as requests of a load are.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use fastrand::Rng;
use lab::contract::store_client::{StoreClient, StoreWrong};
use lab::plan::write_load::WriteLoad;
use lab::study::contender::Speaks;

use crate::value::{CutValues, Key};

/// A write without an answer for so long is given up, and its connection with it.
const WITHIN: Duration = Duration::from_secs(10);

/// A write as the client saw it.
#[derive(Debug, Clone, PartialEq)]
pub struct Write {
    /// The number of its key among those of the connection.
    pub number: u32,
    /// Its own number: later writes of a key have higher ones.
    pub write: u64,
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
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<Log>>,
}

/// What the connections have in common.
#[derive(Debug)]
struct Shared {
    address: SocketAddr,
    speaks: Speaks,
    seed: u64,
    value_bytes: u32,
    /// The number of the first write.
    first: u64,
    began: Instant,
    is_over: AtomicBool,
    /// The number of the next write.
    next: AtomicU64,
}

impl Writing {
    /// Begins to write on so many connections, values of so many bytes. The writes are numbered
    /// from `first` on, which is 1 or more: 0 stands for none.
    pub fn begin(
        address: SocketAddr,
        speaks: Speaks,
        WriteLoad { connections, value_bytes }: WriteLoad,
        seed: u64,
        first: u64,
    ) -> Writing {
        let (is_over, next) = (AtomicBool::new(false), AtomicU64::new(first));
        let began = Instant::now();
        let shared = Shared { address, speaks, seed, value_bytes, first, began, is_over, next };
        let shared = Arc::new(shared);
        let connection = |connection: u32| {
            let shared = shared.clone();
            std::thread::spawn(move || shared.write(connection))
        };
        let threads = (0..connections).map(connection).collect();
        Writing { shared, threads }
    }

    /// How long it has gone on.
    pub fn elapsed(&self) -> Duration {
        self.shared.began.elapsed()
    }

    /// Bytes of all values that were sent.
    pub fn bytes(&self) -> u64 {
        let sent = self.shared.next.load(Ordering::Relaxed) - self.shared.first;
        sent * u64::from(self.shared.value_bytes)
    }

    /// Ends it: what each connection wrote. Whatever comes from now on counts as well, so the
    /// cut has to be made before.
    pub fn end(self) -> Vec<Log> {
        self.shared.is_over.store(true, Ordering::Relaxed);
        let joined = self.threads.into_iter().map(|thread| thread.join().unwrap_or_default());
        joined.collect()
    }
}

impl Shared {
    /// Writes on one connection, until it is over or the connection is.
    fn write(&self, connection: u32) -> Log {
        let mut log = Log::default();
        let mut client = match StoreClient::connect(self.address, self.speaks, WITHIN) {
            Ok(client) => client,
            Err(wrong) => return Log { first_wrong: Some(wrong.to_string()), ..log },
        };
        let values = CutValues::new(self.seed, self.value_bytes);
        let mut random = Rng::with_seed(self.seed ^ u64::from(connection).rotate_left(40));
        while !self.is_over.load(Ordering::Relaxed) {
            let is_new = log.keys == 0 || random.bool();
            let number = if is_new { log.keys } else { random.u32(..log.keys) };
            log.keys += u32::from(is_new);
            let write = self.next.fetch_add(1, Ordering::Relaxed);
            let key = Key { connection, number };
            let (name, value) = (key.name(), values.value(key, write));
            let sent = self.began.elapsed();
            let answer = client.set(&name, &value, 0);
            let acknowledged = answer.is_ok().then(|| self.began.elapsed());
            log.writes.push(Write { number, write, sent, acknowledged });
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
        log
    }
}
