//! What a store has of what it was given, read when the work is over.
//!
//! Keys are drawn then, from a seed: no store knows before which will be read. A few are written
//! then, and read at once: a store that puts writes off has all of them a moment later.

use std::time::{Duration, Instant};

use load::outcome::Outcome;
use load::plan::Plan;
use load::read_back::{Back, KeysDue};
use result::evidence::ReadBack;

use crate::contract::store_client::{StoreClient, StoreWrong};

/// Keys that are read back at most, and the time for that.
const KEYS: u64 = 4096;
const WITHIN: Duration = Duration::from_secs(10);
/// Writes that are read at once at most, and the time for those.
const READ_AT_ONCE: usize = 64;
const READ_AT_ONCE_WITHIN: Duration = Duration::from_secs(1);
/// Writes right before a crash at most, and the time for those.
const LAST_WRITES: usize = 256;
const LAST_WRITES_WITHIN: Duration = Duration::from_secs(1);

/// What a work wrote to a store.
#[derive(Debug, Clone)]
pub struct Written {
    plan: Plan,
    /// Requests that were sent, from the warm-up on.
    sent: u64,
    /// Those that ended in an error: so many writes may be missing for that.
    errors: u64,
}

impl Written {
    /// What was written by the load of this plan.
    pub fn of(plan: &Plan, seen: &Outcome) -> Written {
        let accounts = [&seen.account, &seen.warmup];
        let sent = accounts.iter().map(|it| it.sent).sum();
        let errors = accounts.iter().flat_map(|it| &it.errors).map(|it| it.count).sum();
        Written { plan: plan.clone(), sent, errors }
    }

    /// Draws keys that the store has to have when the work is over; `None` where none can be read,
    /// which the check of what was compared says.
    pub fn due(&self) -> Option<KeysDue> {
        KeysDue::draw(&self.plan, self.sent, KEYS, !self.plan.seed)
    }

    /// Draws others, for a crash: what was read already may have been kept for that.
    fn others_due(&self) -> Option<KeysDue> {
        KeysDue::draw(&self.plan, self.sent, KEYS, !self.plan.seed.rotate_left(1))
    }

    /// Writes on: what the store has to have from then on. Those that were read at once come before,
    /// so that none of them passes for one of these.
    pub fn write_on(&self, client: &mut StoreClient) -> Option<KeysDue> {
        let mut due = self.others_due()?;
        let began = Instant::now();
        for write in due.next_writes(READ_AT_ONCE + LAST_WRITES).into_iter().skip(READ_AT_ONCE) {
            if began.elapsed() > LAST_WRITES_WITHIN
                || client.set(&write.name, &write.value, 0).is_err()
            {
                break;
            }
            due.is_acknowledged(&write);
        }
        Some(due)
    }

    /// Writes on, and adds what each write's key has, read on another connection as soon as the write
    /// was acknowledged. What the store doesn't take is another check's.
    pub fn read_at_once(
        &self,
        due: &mut KeysDue,
        connect: impl Fn() -> Result<StoreClient, StoreWrong>,
        back: &mut ReadBack,
    ) {
        let (Ok(mut writes), Ok(mut reads)) = (connect(), connect()) else { return };
        let began = Instant::now();
        for write in due.next_writes(READ_AT_ONCE) {
            if began.elapsed() > READ_AT_ONCE_WITHIN
                || writes.set(&write.name, &write.value, 0).is_err()
            {
                break;
            }
            due.is_acknowledged(&write);
            match reads.get(&write.name) {
                Ok(value) => note(back, due.judge(write.key(), value.as_deref())),
                Err(_) => break,
            }
        }
    }

    /// Reads what the store has to have, up to the first key that it doesn't give. It may end a
    /// connection after so many requests, so it is asked once more on another.
    pub fn read(
        &self,
        due: &KeysDue,
        connect: impl Fn() -> Result<StoreClient, StoreWrong>,
    ) -> ReadBack {
        let mut back = ReadBack { errors: self.errors, ..ReadBack::default() };
        let began = Instant::now();
        let mut client = connect();
        let mut get = |name: &str| {
            let value = client.as_mut().map_err(|why| why.clone())?.get(name);
            if matches!(value, Err(StoreWrong::NoConnection(_))) {
                client = connect();
                return client.as_mut().map_err(|why| why.clone())?.get(name);
            }
            value
        };
        for (key, name) in due.keys().take_while(|_| began.elapsed() < WITHIN) {
            let value = match get(&name) {
                Ok(value) => value,
                // Whoever kept nothing would rather not say.
                Err(why) => {
                    back.refused = Some(format!("{name}: {why}"));
                    break;
                }
            };
            note(&mut back, due.judge(key, value.as_deref()));
        }
        back
    }
}

/// Counts what a key turned out to have.
fn note(back: &mut ReadBack, seen: Back) {
    back.keys += 1;
    let (count, what) = match seen {
        Back::Right => return,
        Back::Missing(what) => (&mut back.missing, what),
        Back::Wrong(what) => (&mut back.wrong, what),
        Back::Overwritten(what) => (&mut back.overwritten, what),
    };
    *count += 1;
    back.example.get_or_insert(what);
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::io::{BufRead, BufReader, Read, Write};
    use std::net::{SocketAddr, TcpListener, TcpStream};
    use std::sync::{Arc, Mutex};

    use load::plan::keys::{Chosen, Dialect, Keys, KeysPhase, Operation};
    use load::plan::{Target, Workload};

    use super::*;
    use crate::study::contender::Speaks;

    /// A store that has each write once so many others came after it.
    #[derive(Default)]
    struct Late {
        by: usize,
        waiting: Vec<(String, Vec<u8>)>,
        values: HashMap<String, Vec<u8>>,
    }

    impl Late {
        fn set(&mut self, key: String, value: Vec<u8>) {
            self.waiting.push((key, value));
            let over = self.waiting.len().saturating_sub(self.by);
            self.values.extend(self.waiting.drain(..over));
        }
    }

    /// Serves memcached's `set` and `get` on each connection that comes, until it ends.
    fn serve(by: usize) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let store = Arc::new(Mutex::new(Late { by, ..Late::default() }));
        std::thread::spawn(move || {
            for stream in listener.incoming().take(2) {
                let store = store.clone();
                std::thread::spawn(move || answer(&stream.unwrap(), &store));
            }
        });
        address
    }

    fn answer(mut stream: &TcpStream, store: &Mutex<Late>) {
        let mut from = BufReader::new(stream);
        let mut line = String::new();
        while from.read_line(&mut line).is_ok_and(|bytes| bytes > 0) {
            let words: Vec<String> = line.split_whitespace().map(String::from).collect();
            let said = if words[0] == "set" {
                let mut value = vec![0; words[4].parse::<usize>().unwrap() + 2];
                from.read_exact(&mut value).unwrap();
                value.truncate(value.len() - 2);
                store.lock().unwrap().set(words[1].clone(), value);
                b"STORED\r\n".to_vec()
            } else {
                let value = store.lock().unwrap().values.get(&words[1]).cloned();
                let head = |value: &Vec<u8>| format!("VALUE {} 0 {}\r\n", words[1], value.len());
                let whole = |value: Vec<u8>| [head(&value).as_bytes(), &value, b"\r\n"].concat();
                [value.map(whole).unwrap_or_default(), b"END\r\n".to_vec()].concat()
            };
            stream.write_all(&said).unwrap();
            line.clear();
        }
    }

    /// A work that wrote so many keys, at this address.
    fn written(address: SocketAddr, count: u64) -> Written {
        let keys = Keys {
            dialect: Dialect::MemcachedText,
            phase: KeysPhase::Mix,
            mix: vec![(Operation::Set, 1)],
            count,
            chosen: Chosen::Sequential,
            value_bytes: 100..=100,
            together: 1,
            expires_s: 0,
            are_there: true,
            evicts: false,
        };
        let target = Target { address, authority: String::new(), path: String::new() };
        let plan = Plan::new(target, Vec::new());
        let plan = Plan { work: Workload::Keys(keys), connections: 1, seed: 7, ..plan };
        Written { plan, sent: 20_000, errors: 0 }
    }

    fn connect(address: SocketAddr) -> Result<StoreClient, StoreWrong> {
        StoreClient::connect(address, Speaks::Memcached, Duration::from_secs(5))
    }

    /// What is seen of a store with each write so late, after a work that wrote.
    fn read_at_once(by: usize) -> ReadBack {
        let address = serve(by);
        let written = written(address, 1_000);
        let mut back = ReadBack::default();
        written.read_at_once(&mut written.due().unwrap(), || connect(address), &mut back);
        back
    }

    /// Else a store may acknowledge a write at once and have it later, where nothing reads meanwhile.
    #[test]
    fn a_write_that_was_acknowledged_is_read_at_once() {
        let at_once = read_at_once(0);
        assert_eq!((at_once.keys, at_once.lost()), (READ_AT_ONCE as u64, 0), "{at_once:?}");
        let later = read_at_once(1);
        assert_eq!(later.missing, READ_AT_ONCE as u64, "{later:?}");
    }

    /// Else a write that a crash took would pass, where an equal one had been kept before.
    #[test]
    fn no_write_before_a_crash_is_one_that_was_read_at_once() {
        let address = serve(0);
        // So few keys that the last writes come to the first one again.
        let written = written(address, (READ_AT_ONCE + LAST_WRITES - 1) as u64);
        let read = written.due().unwrap().next_writes(1).remove(0);
        let due = written.write_on(&mut connect(address).unwrap()).unwrap();
        let seen = due.judge(read.key(), Some(&read.value));
        assert!(matches!(seen, Back::Overwritten(_)), "{seen:?}");
    }
}
