//! What a store has of what it was given, read when the work is over.
//!
//! Keys are drawn then, from a seed: no store knows before which will be read. A few are written
//! then, and read at once: a store that puts writes off has all of them a moment later. Others are
//! written up to a crash, as the load did: a store that writes its values down once it has nothing
//! else to do finds no moment for it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use load::outcome::Outcome;
use load::plan::Plan;
use load::read_back::{Back, KeysDue, NextWrite};
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
/// Writes that go on over and over until the crash is over. They decide nothing.
const GOING_ON: usize = 256;
/// Connections on which a store is written to up to a crash, at most.
const CONNECTIONS_MAX: u32 = 64;

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

    /// Writes on, on as many connections as the load had, until this crash is over: what the store
    /// has to have from then on, and what the crash gave. Those that were read at once come before,
    /// so that none of them passes for one of these.
    ///
    /// Each connection has keys of its own, and one write under way at a time. So of each key it is
    /// known which write came last.
    pub fn write_on<T>(
        &self,
        connect: impl Fn() -> Result<StoreClient, StoreWrong>,
        crash: impl FnOnce() -> T,
    ) -> Option<(KeysDue, T)> {
        let mut due = self.others_due()?;
        let asked = 0..self.plan.connections.clamp(1, CONNECTIONS_MAX);
        let clients: Vec<StoreClient> = asked.map_while(|_| connect().ok()).collect();
        if clients.is_empty() {
            return None;
        }
        let all = due.next_writes(READ_AT_ONCE + LAST_WRITES + GOING_ON);
        let after = all.get(READ_AT_ONCE..).unwrap_or_default();
        let (last, going_on) = after.split_at(LAST_WRITES.min(after.len()));
        let connections = clients.len();
        let is_over = &AtomicBool::new(false);
        let crashed = std::thread::scope(|scope| {
            let (acknowledged_to, acknowledged) = mpsc::channel::<Vec<&NextWrite>>();
            for (nth, mut client) in clients.into_iter().enumerate() {
                let acknowledged_to = acknowledged_to.clone();
                scope.spawn(move || {
                    let is_own = |write: &&NextWrite| write.key() as usize % connections == nth;
                    let mut set =
                        |write: &NextWrite| client.set(&write.name, &write.value, 0).is_ok();
                    let began = Instant::now();
                    let in_time = |_: &&NextWrite| began.elapsed() < LAST_WRITES_WITHIN;
                    let own = last.iter().filter(is_own).take_while(in_time);
                    let _ = acknowledged_to.send(own.take_while(|write| set(write)).collect());
                    drop(acknowledged_to);
                    let mut on = going_on.iter().cycle().skip(nth);
                    on.all(|write| !is_over.load(Ordering::Relaxed) && set(write))
                });
            }
            drop(acknowledged_to);
            acknowledged.iter().flatten().for_each(|write| due.is_acknowledged(write));
            let crashed = crash();
            is_over.store(true, Ordering::Relaxed);
            crashed
        });
        Some((due, crashed))
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
        /// Writes of each connection.
        writes: Vec<usize>,
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
        store(by).0
    }

    fn store(by: usize) -> (SocketAddr, Arc<Mutex<Late>>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let store = Arc::new(Mutex::new(Late { by, ..Late::default() }));
        let all = store.clone();
        std::thread::spawn(move || {
            for (nth, stream) in listener.incoming().enumerate() {
                let store = all.clone();
                store.lock().unwrap().writes.push(0);
                std::thread::spawn(move || answer(&stream.unwrap(), nth, &store));
            }
        });
        (address, store)
    }

    fn answer(mut stream: &TcpStream, nth: usize, store: &Mutex<Late>) {
        let mut from = BufReader::new(stream);
        let mut line = String::new();
        while from.read_line(&mut line).is_ok_and(|bytes| bytes > 0) {
            let words: Vec<String> = line.split_whitespace().map(String::from).collect();
            let said = if words[0] == "set" {
                let mut value = vec![0; words[4].parse::<usize>().unwrap() + 2];
                from.read_exact(&mut value).unwrap();
                value.truncate(value.len() - 2);
                let mut store = store.lock().unwrap();
                store.writes[nth] += 1;
                store.set(words[1].clone(), value);
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
        let (due, ()) = written.write_on(|| connect(address), || ()).unwrap();
        let seen = due.judge(read.key(), Some(&read.value));
        assert!(matches!(seen, Back::Overwritten(_)), "{seen:?}");
    }

    /// Else a store that writes its values down once it has nothing else to do has all of them by
    /// then.
    #[test]
    fn a_crash_comes_while_all_connections_of_the_load_write() {
        let (address, store) = store(0);
        let mut written = written(address, 1_000);
        written.plan.connections = 4;
        let goes_on = || {
            let writes = || store.lock().unwrap().writes.clone();
            let before = writes();
            let has_more = || writes().iter().zip(&before).all(|(now, before)| now > before);
            let within = Instant::now() + Duration::from_secs(10);
            while Instant::now() < within && !has_more() {
                std::thread::sleep(Duration::from_millis(1));
            }
            (before.len(), has_more())
        };
        let (due, seen) = written.write_on(|| connect(address), goes_on).unwrap();
        assert_eq!(seen, (4, true), "connections, and whether each still writes");
        assert!(due.keys().count() >= LAST_WRITES, "each of them was acknowledged");
    }
}
