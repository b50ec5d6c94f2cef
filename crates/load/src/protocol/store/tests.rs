//! A small store of our own answers in each dialect, so that whatever is wrong with an answer can
//! be put there.

use std::collections::HashMap;

use proptest::prelude::*;

use super::*;
use crate::plan::keys::tests::keys;
use crate::plan::keys::{Chosen, KeysPhase, Resp};
use crate::plan::{Share, Target, Workload};
use crate::work::keys::choice::PRELOADED;
use crate::work::keys::key_name;

fn plan(keys: &Keys) -> Plan {
    let address = "127.0.0.1:1".parse().unwrap();
    let target = Target { address, authority: String::new(), path: String::new() };
    Plan { work: Workload::Keys(keys.clone()), seed: 7, ..Plan::new(target, Vec::new()) }
}

fn store(keys: &Keys) -> Store {
    let plan = plan(keys);
    Store::new(&plan, keys)
}

fn dialects() -> [Dialect; 3] {
    [Dialect::Resp(Resp::default()), Dialect::MemcachedText, Dialect::MemcachedMeta]
}

/// Puts a value as a dialect has it among an answer to a get.
fn found(dialect: &Dialect, key: u64, opaque: u32, value: Option<&[u8]>) -> Vec<u8> {
    let name = String::from_utf8(key_name(key).to_vec()).unwrap();
    let (head, end) = match (dialect, value) {
        (Dialect::Resp(_), None) => ("$-1\r\n".into(), ""),
        (Dialect::Resp(_), Some(value)) => (format!("${}\r\n", value.len()), "\r\n"),
        (Dialect::MemcachedText, None) => ("END\r\n".into(), ""),
        (Dialect::MemcachedText, Some(value)) => {
            (format!("VALUE {name} 0 {}\r\n", value.len()), "\r\nEND\r\n")
        }
        (Dialect::MemcachedMeta, None) => ("EN\r\n".into(), ""),
        (Dialect::MemcachedMeta, Some(value)) => {
            (format!("VA {} O{opaque}\r\n", value.len()), "\r\n")
        }
    };
    [head.as_bytes(), value.unwrap_or_default(), end.as_bytes()].concat()
}

fn stored(dialect: &Dialect, opaque: u32) -> Vec<u8> {
    match dialect {
        Dialect::Resp(_) => b"+OK\r\n".to_vec(),
        Dialect::MemcachedText => b"STORED\r\n".to_vec(),
        Dialect::MemcachedMeta => format!("HD O{opaque}\r\n").into_bytes(),
    }
}

fn removed(dialect: &Dialect, opaque: u32, was_there: bool) -> Vec<u8> {
    let pick = |yes: &str, no: &str| if was_there { yes.to_string() } else { no.to_string() };
    let answer = match dialect {
        Dialect::Resp(_) => pick(":1", ":0"),
        Dialect::MemcachedText => pick("DELETED", "NOT_FOUND"),
        Dialect::MemcachedMeta => format!("{} O{opaque}", pick("HD", "NF")),
    };
    (answer + "\r\n").into_bytes()
}

/// What an honest store has after it: by key, the value.
type Contents = HashMap<u64, Vec<u8>>;

/// The answer of an honest store to a request of one key.
fn answer(store: &Store, contents: &mut Contents, number: u64) -> Vec<u8> {
    let asked = store.work.asks(number);
    let (dialect, opaque) = (&store.dialect, asked.write as u32);
    match asked.operation {
        Operation::Get => {
            found(dialect, asked.key, opaque, contents.get(&asked.key).map(|it| &**it))
        }
        Operation::Set => {
            let mut value = Vec::new();
            store.work.values.append(asked.write, asked.key, store.work.writer, &mut value);
            contents.insert(asked.key, value);
            stored(dialect, opaque)
        }
        Operation::Delete => {
            let was_there = contents.remove(&asked.key).is_some();
            removed(dialect, opaque, was_there)
        }
    }
}

fn preloaded(store: &Store) -> Contents {
    let all = (0..store.work.keys().count).map(|key| {
        let mut value = Vec::new();
        store.work.values.append(PRELOADED | key, key, 9, &mut value);
        (key, value)
    });
    all.collect()
}

/// Renders a request and feeds its answer in pieces; the kind of its fault.
fn ask(store: &mut Store, number: u64, answer: &[u8], pieces: usize) -> Option<ErrorKind> {
    let mut on = StoreConnection::default();
    store.ask(number, &mut Vec::new());
    let at = number * 10;
    let of = Asked { number, sent: at, at: at + 5 };
    let mut pieces = answer.chunks(pieces.max(1)).peekable();
    while let Some(piece) = pieces.next() {
        match store.feed(&mut on, piece, of) {
            Fed::More { missing } => {
                assert!(pieces.peek().is_some() && missing > 0, "it is whole: {missing}");
                // Of a message that nobody asked for nothing is kept.
                assert!(Store::is_under_way(&on) || store.is_third());
            }
            Fed::Answer { used, fault, reusable, .. } => {
                assert!(pieces.peek().is_none() && used == piece.len(), "it has {used} bytes");
                assert!(reusable && !Store::is_under_way(&on));
                return fault.map(|fault| fault.kind);
            }
            Fed::Broken(fault) => return Some(fault.kind),
        }
    }
    None
}

/// Else a store that answers without a look, or removes nothing, has the rate of one that does.
#[test]
fn what_a_store_says_of_a_removal_is_held_to_whether_the_key_was_there() {
    for dialect in dialects() {
        let mix = vec![(Operation::Delete, 1)];
        let keys = Keys { dialect, mix, count: 10, chosen: Chosen::Sequential, ..keys() };
        let says = |was_there: bool, number: u64, connections: u32| {
            let mut store = Store::new(&Plan { connections, ..plan(&keys) }, &keys);
            let mut fault = None;
            // All that came before was answered as it has to be.
            for earlier in 0..=number {
                let is_there = if earlier == number { was_there } else { earlier < 10 };
                let opaque = store.work.asks(earlier).write as u32;
                let answer = removed(&keys.dialect, opaque, is_there);
                fault = ask(&mut store, earlier, &answer, 100);
            }
            fault
        };
        assert_eq!((says(true, 3, 1), says(false, 13, 1)), (None, None), "{:?}", keys.dialect);
        assert_eq!(says(false, 3, 1), Some(ErrorKind::Missing), "it was written before");
        assert_eq!(says(true, 13, 1), Some(ErrorKind::Stale), "it was removed before");
        assert_eq!(says(false, 3, 2), None, "another thread may have removed it");
        assert_eq!(says(true, 13, 2), None);
    }
}

#[test]
fn of_a_key_that_may_be_gone_by_itself_no_removal_has_to_find_it() {
    for change in [|keys: &mut Keys| keys.evicts = true, |keys: &mut Keys| keys.expires_s = 1] {
        let mix = vec![(Operation::Delete, 1)];
        let mut keys = Keys { mix, count: 10, chosen: Chosen::Sequential, ..keys() };
        change(&mut keys);
        let mut store = Store::new(&Plan { connections: 1, ..plan(&keys) }, &keys);
        assert_eq!(ask(&mut store, 3, b":0\r\n", 100), None);
        assert_eq!(ask(&mut store, 13, b":1\r\n", 100), Some(ErrorKind::Stale));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Whatever is asked in whatever dialect, an honest store is found to be one, however its
    /// answers are cut up.
    #[test]
    fn an_honest_store_makes_no_mistake(seed: u64, pieces in 1_usize..200, deletes in 0_u32..20) {
        for dialect in dialects() {
            let mix = [(Operation::Get, 60), (Operation::Set, 30), (Operation::Delete, deletes)];
            let keys = Keys { dialect, mix: mix.into(), count: 20, value_bytes: 24..=300, ..keys() };
            // What one thread alone removes is looked at more closely.
            let mut store = Store::new(&Plan { seed, connections: 1, ..plan(&keys) }, &keys);
            let mut contents = preloaded(&store);
            for number in 0..200 {
                let answer = answer(&store, &mut contents, number);
                prop_assert_eq!(ask(&mut store, number, &answer, pieces), None);
            }
            prop_assert_eq!(store.keys_seen().unwrap().hits + store.keys_seen().unwrap().misses, gets(&store));
        }
    }

    /// What isn't an answer is refused, and never waited for without end.
    #[test]
    fn no_bytes_upset_it(bytes in prop::collection::vec(any::<u8>(), 0..300), number in 0_u64..50) {
        for dialect in dialects() {
            let mix = [(Operation::Get, 60), (Operation::Set, 30), (Operation::Delete, 10)];
            let mut store = store(&Keys { dialect, mix: mix.into(), ..keys() });
            let mut on = StoreConnection::default();
            let of = Asked::numbered(number);
            let whole = store.feed(&mut on, &bytes, of);
            // Byte by byte it comes to the same.
            let mut on = StoreConnection::default();
            let mut end = Fed::More { missing: 1 };
            for (at, byte) in bytes.iter().enumerate() {
                end = store.feed(&mut on, std::slice::from_ref(byte), of);
                if let Fed::Answer { used, .. } = &mut end {
                    *used += at;
                }
                if !matches!(end, Fed::More { .. }) {
                    break;
                }
            }
            match (&whole, &end) {
                (Fed::More { .. }, Fed::More { .. }) => {}
                (Fed::Broken(_), Fed::Broken(_)) => {}
                _ => prop_assert_eq!(whole, end),
            }
        }
    }
}

fn gets(store: &Store) -> u64 {
    (0..200).filter(|&it| store.work.asks(it).operation == Operation::Get).count() as u64
}

/// The first request of a kind, of a key that no request before it was of.
fn first(store: &Store, operation: Operation) -> u64 {
    (0..).find(|&number| store.work.asks(number).operation == operation).unwrap()
}

#[test]
fn a_miss_is_no_hit_and_no_fault_where_it_may_be() {
    for dialect in dialects() {
        let with = |change: fn(&mut Keys)| {
            let mut keys = Keys { dialect: dialect.clone(), ..keys() };
            change(&mut keys);
            let mut store = store(&keys);
            let number = first(&store, Operation::Get);
            let asked = store.work.asks(number);
            let miss = found(&keys.dialect, asked.key, asked.write as u32, None);
            let fault = ask(&mut store, number, &miss, usize::MAX);
            (fault, store.keys_seen().unwrap().hits, store.keys_seen().unwrap().misses)
        };
        assert_eq!(with(|_| {}), (Some(ErrorKind::Missing), 0, 0), "it was written before");
        assert_eq!(with(|keys| keys.are_there = false), (None, 0, 1));
        assert_eq!(with(|keys| keys.evicts = true), (None, 0, 1));
        assert_eq!(with(|keys| keys.expires_s = 1), (None, 0, 1));
    }
}

/// A write and a read of the same key that it is the latest own write of.
fn written_and_read(store: &Store) -> (u64, u64) {
    let is_set = |number: &u64| store.work.asks(*number).operation == Operation::Set;
    let pair = (0..).filter(is_set).find_map(|write| {
        let key = store.work.asks(write).key;
        let of_key = |number: &u64| store.work.asks(*number).key == key;
        let next = (write + 1..write + 200).find(of_key)?;
        (store.work.asks(next).operation == Operation::Get).then_some((write, next))
    });
    pair.unwrap()
}

#[test]
fn a_lost_write_is_found_by_the_older_value_that_comes_back() {
    for dialect in dialects() {
        let keys = Keys { dialect, count: 20, ..keys() };
        let mut store = store(&keys);
        let (write, read) = written_and_read(&store);
        let key = store.work.asks(write).key;
        let before = preloaded(&store).remove(&key).unwrap();
        let (dialect, opaque) = (keys.dialect.clone(), |number: u64| number as u32);
        assert_eq!(ask(&mut store, write, &stored(&dialect, opaque(write)), 9), None);
        let stale = found(&dialect, key, opaque(read), Some(&before));
        assert_eq!(ask(&mut store, read, &stale, 9), Some(ErrorKind::Stale));
        assert_eq!(store.keys_seen().unwrap().stale, 1);
    }
}

/// Else a store that keeps nothing has every read forgiven, or an honest one is blamed.
#[test]
fn beside_deletes_a_read_may_find_nothing_where_a_delete_came_last() {
    let mix = vec![(Operation::Get, 1), (Operation::Set, 1), (Operation::Delete, 1)];
    for dialect in dialects() {
        let keys = Keys { dialect, mix: mix.clone(), count: 20, ..keys() };
        // The fault of a read that finds nothing, behind this operation of the same key.
        let after = |operation: Operation, connections: u32| {
            let mut store = Store::new(&Plan { connections, ..plan(&keys) }, &keys);
            let is_first = |number: &u64| store.work.asks(*number).operation == operation;
            let (before, read) = (0..)
                .filter(is_first)
                .find_map(|number| {
                    let key = store.work.asks(number).key;
                    let next = (number + 1..).find(|it| store.work.asks(*it).key == key)?;
                    let is_get = store.work.asks(next).operation == Operation::Get;
                    is_get.then_some((number, next))
                })
                .unwrap();
            let opaque = before as u32;
            let answer = match operation {
                Operation::Set => stored(&keys.dialect, opaque),
                Operation::Delete => removed(&keys.dialect, opaque, true),
                Operation::Get => Vec::new(),
            };
            if operation != Operation::Get {
                assert_eq!(ask(&mut store, before, &answer, 99), None);
            }
            let key = store.work.asks(read).key;
            let miss = found(&keys.dialect, key, read as u32, None);
            ask(&mut store, read, &miss, 99)
        };
        let missing = Some(ErrorKind::Missing);
        assert_eq!(after(Operation::Delete, 1), None, "it was removed");
        assert_eq!(after(Operation::Set, 1), missing, "it was written");
        assert_eq!(after(Operation::Get, 1), missing, "the preload wrote it, and nobody else came");
        assert_eq!(after(Operation::Delete, 2), None, "it was removed");
        assert_eq!(after(Operation::Get, 2), missing, "no thread ever removed it");
    }
}

/// Else a client of several threads forgives a store that loses what it was given each miss.
#[test]
fn a_read_finds_nothing_where_another_thread_removed_the_key_and_nowhere_else() {
    let mix = vec![(Operation::Get, 1), (Operation::Delete, 1)];
    for dialect in dialects() {
        let keys = Keys { dialect, mix: mix.clone(), ..keys() };
        let miss = |are_there: bool, hosts: u32, is_removed: bool| {
            let keys = Keys { are_there, ..keys.clone() };
            let share = Share { hosts, ..Share::default() };
            let plan = Plan { connections: 2, threads: 2, share, ..plan(&keys) };
            let of_all = Store::new(&plan, &keys);
            let (mut one, mut other) = (of_all.of_thread(0), of_all.of_thread(1));
            let delete = first(&one, Operation::Delete);
            let of_key = |key: u64, operation: Operation| {
                let is_it =
                    |asked: choice::KeyAsked| (asked.key, asked.operation) == (key, operation);
                (0..).find(|&number| is_it(one.work.asks(number))).unwrap()
            };
            let key = one.work.asks(delete).key;
            let read =
                of_key(if is_removed { key } else { (key + 1) % keys.count }, Operation::Get);
            let answer = removed(&keys.dialect, delete as u32, true);
            assert_eq!(ask(&mut one, delete, &answer, 99), None);
            let asked = other.work.asks(read);
            let nothing = found(&keys.dialect, asked.key, read as u32, None);
            ask(&mut other, read, &nothing, 99)
        };
        assert_eq!(miss(true, 1, true), None, "the other thread removed it");
        assert_eq!(miss(true, 1, false), Some(ErrorKind::Missing), "nobody removed it");
        assert_eq!(miss(false, 1, false), None, "nobody wrote it");
        assert_eq!(miss(true, 2, false), None, "another host may have removed it");
    }
}

/// Else a store that keeps nothing has every read forgiven.
#[test]
fn a_value_that_may_expire_has_to_be_there_until_it_can_have() {
    for dialect in dialects() {
        // The requests of a test take nanoseconds.
        for (expires_s, missing) in [(2, Some(ErrorKind::Missing)), (1, None)] {
            let keys = Keys { dialect: dialect.clone(), count: 20, expires_s, ..keys() };
            let mut store = store(&keys);
            let (write, read) = written_and_read(&store);
            let key = store.work.asks(write).key;
            assert_eq!(ask(&mut store, write, &stored(&dialect, write as u32), 9), None);
            let miss = found(&dialect, key, read as u32, None);
            assert_eq!(ask(&mut store, read, &miss, 9), missing, "{expires_s} s");
        }
    }
}

#[test]
fn another_value_than_was_written_is_wrong() {
    for dialect in dialects() {
        let keys = Keys { dialect: dialect.clone(), ..keys() };
        let mut store = store(&keys);
        let number = first(&store, Operation::Get);
        let asked = store.work.asks(number);
        let contents = preloaded(&store);
        let mut wrong = |value: &[u8]| {
            let answer = found(&dialect, asked.key, asked.write as u32, Some(value));
            ask(&mut store, number, &answer, usize::MAX)
        };
        let right = &contents[&asked.key];
        assert_eq!(wrong(right), None);
        assert_eq!(
            wrong(&contents[&(asked.key + 1)]),
            Some(ErrorKind::WrongValue),
            "another key's"
        );
        assert_eq!(wrong(&right[..99]), Some(ErrorKind::WrongValue), "a byte is missing");
        assert_eq!(wrong(b""), Some(ErrorKind::WrongValue));
        let mut never_written = Vec::new();
        let read = first(&Store::new(&plan(&keys), &keys), Operation::Get);
        let values = Values::new(7, 100..=100);
        values.append(read, asked.key, 0, &mut never_written);
        assert_eq!(wrong(&never_written), Some(ErrorKind::WrongValue), "no request wrote it");
    }
}

#[test]
fn a_servers_refusal_is_told_in_its_words() {
    let refusals: [(Dialect, &[u8]); 5] = [
        (Dialect::Resp(Resp::default()), b"-OOM command not allowed\r\n"),
        (Dialect::MemcachedText, b"SERVER_ERROR out of memory storing object\r\n"),
        (Dialect::MemcachedText, b"ERROR Too many open connections\r\n"),
        (Dialect::MemcachedText, b"ERROR\r\n"),
        (Dialect::MemcachedMeta, b"SERVER_ERROR out of memory\r\n"),
    ];
    for (dialect, words) in refusals {
        let mut store = store(&Keys { dialect, ..keys() });
        let number = first(&store, Operation::Set);
        assert_eq!(ask(&mut store, number, words, 3), Some(ErrorKind::ServerError));
    }
}

/// Else a store that takes no more connections seems to send bytes that nobody asked for.
#[test]
fn what_a_store_says_before_it_is_asked_is_a_refusal_only_where_it_refuses() {
    let resp = || Dialect::Resp(Resp::default());
    for (dialect, bytes, words) in [
        (resp(), &b"-ERR max number of clients reached\r\n"[..], Some("ERR max number")),
        (resp(), b"+OK\r\n", None),
        (resp(), b"ERROR Too many open connections\r\n", None),
        (Dialect::MemcachedText, b"ERROR Too many open connections\r\n", Some("ERROR Too many")),
        (Dialect::MemcachedMeta, b"ERROR Too many open connections\r\n", Some("ERROR Too many")),
        (Dialect::MemcachedText, b"STORED\r\n", None),
        (Dialect::MemcachedText, b"ERROR without an end", None),
    ] {
        let told = store(&Keys { dialect, ..keys() }).refusal(bytes);
        assert_eq!(told.is_some(), words.is_some(), "{told:?}");
        assert!(words.is_none_or(|words| told.unwrap().contains(&format!("\"{words}"))));
    }
}

/// A server that says that four gigabytes follow is not waited for.
#[test]
fn a_length_that_no_value_has_ends_the_connection() {
    for (dialect, head) in [
        (Dialect::Resp(Resp::default()), "$4294967296\r\n"),
        (Dialect::Resp(Resp::default()), "$99999999999999999999\r\n"),
        (Dialect::MemcachedText, "VALUE key:000000000000 0 4294967296\r\n"),
        (Dialect::MemcachedMeta, "VA 4294967296 O0\r\n"),
    ] {
        let mut store = store(&Keys { dialect, ..keys() });
        let number = first(&store, Operation::Get);
        assert_eq!(
            ask(&mut store, number, head.as_bytes(), 99),
            Some(ErrorKind::Malformed),
            "{head}"
        );
    }
    let mut store = store(&keys());
    let endless = vec![b'x'; LINE_BYTES_MAX];
    assert_eq!(ask(&mut store, 0, &endless, 100), Some(ErrorKind::Malformed));
}

#[test]
fn a_meta_answer_to_another_request_is_found() {
    let mut store = store(&Keys { dialect: Dialect::MemcachedMeta, ..keys() });
    let number = first(&store, Operation::Set);
    let other = stored(&Dialect::MemcachedMeta, number as u32 + 1);
    assert_eq!(ask(&mut store, number, &other, 99), Some(ErrorKind::Malformed));
}

#[test]
fn of_several_keys_each_is_looked_at() {
    for dialect in [Dialect::Resp(Resp::default()), Dialect::MemcachedText] {
        let keys = Keys { dialect: dialect.clone(), together: 3, evicts: true, ..keys() };
        let mut store = store(&keys);
        let number = first(&store, Operation::Get);
        let key = store.work.asks(number).key;
        let contents = preloaded(&store);
        // The one in the middle isn't there.
        let answer = match dialect {
            Dialect::Resp(_) => {
                let each = [Some(key), None, Some(key + 2)]
                    .map(|key| found(&dialect, 0, 0, key.map(|key| &*contents[&key])));
                [&b"*3\r\n"[..], &each.concat()].concat()
            }
            _ => {
                let one = |key| {
                    let with_end = found(&dialect, key, 0, Some(&contents[&key]));
                    with_end.strip_suffix(b"END\r\n").unwrap().to_vec()
                };
                [one(key), one(key + 2), b"END\r\n".to_vec()].concat()
            }
        };
        assert_eq!(ask(&mut store, number, &answer, 11), None);
        assert_eq!((store.keys_seen().unwrap().hits, store.keys_seen().unwrap().misses), (2, 1));
    }
}

/// As a proxy answers that has asked several servers.
#[test]
fn values_may_come_in_another_order_than_their_keys_if_they_name_them() {
    let keys = Keys { dialect: Dialect::MemcachedText, together: 3, evicts: true, ..keys() };
    let mut store = store(&keys);
    let number = first(&store, Operation::Get);
    let key = store.work.asks(number).key;
    let contents = preloaded(&store);
    let one = |key| {
        let with_end = found(&keys.dialect, key, 0, Some(&contents[&key]));
        with_end.strip_suffix(b"END\r\n").unwrap().to_vec()
    };
    let reversed = [one(key + 2), one(key + 1), one(key), b"END\r\n".to_vec()].concat();
    assert_eq!(ask(&mut store, number, &reversed, 11), None);
    assert_eq!(store.keys_seen().unwrap().hits, 3);
    for wrong in [[one(key), one(key)], [one(key), one(key + 3)]] {
        let answer = [wrong.concat(), b"END\r\n".to_vec()].concat();
        assert_eq!(ask(&mut store, number, &answer, 999), Some(ErrorKind::Malformed));
    }
}

/// Else a proxy that had no answer for one key looks as if it didn't speak the protocol.
#[test]
fn of_several_keys_one_may_be_refused() {
    let keys = Keys { together: 2, ..keys() };
    for pieces in [1, 999] {
        let mut store = store(&keys);
        let number = first(&store, Operation::Get);
        let key = store.work.asks(number).key;
        let value = found(&keys.dialect, key, 0, Some(&preloaded(&store)[&key]));
        let answer = [&b"*2\r\n-ERR upstream is gone\r\n"[..], &value].concat();
        assert_eq!(ask(&mut store, number, &answer, pieces), Some(ErrorKind::ServerError));
    }
}

#[test]
fn an_integer_may_have_a_plus() {
    let mix = vec![(Operation::Delete, 1)];
    let keys = Keys { mix, ..keys() };
    let said = |answer: &[u8]| ask(&mut store(&keys), 3, answer, 99);
    assert_eq!((said(b":+1\r\n"), said(b":1\r\n")), (None, None));
    let missing = Some(ErrorKind::Missing);
    assert_eq!((said(b":+0\r\n"), said(b":0\r\n")), (missing, missing));
    for answer in [&b":-1\r\n"[..], b":2\r\n", b":01\r\n", b":++1\r\n", b":\r\n"] {
        assert_eq!(ask(&mut store(&keys), 3, answer, 99), Some(ErrorKind::Malformed));
    }
}

#[test]
fn messages_that_nobody_asked_for_are_passed_over_and_counted() {
    const PUSH: &[u8] = b">2\r\n+invalidate\r\n*1\r\n$1\r\nk\r\n";
    let third = Resp { is_third: true, ..Resp::default() };
    let mut store_ = store(&Keys { dialect: Dialect::Resp(third), ..keys() });
    let number = first(&store_, Operation::Set);
    for pieces in [1, 7, 999] {
        let answer = [PUSH, PUSH, b"+OK\r\n"].concat();
        assert_eq!(ask(&mut store_, number, &answer, pieces), None, "in pieces of {pieces}");
    }
    assert_eq!(store_.keys_seen().unwrap().pushes, 6);
    assert_eq!(store_.may_be_unasked(&[PUSH, b"+OK"].concat()), PUSH.len());
    let endless = [&b">1\r\n$4000\r\n"[..], &[b'x'; 70_000]].concat();
    assert_eq!(ask(&mut store_, number, &endless, 4096), Some(ErrorKind::Malformed));
    let mut second = store(&keys());
    let answer = [PUSH, b"+OK\r\n"].concat();
    let broken = Some(ErrorKind::Malformed);
    assert_eq!(ask(&mut second, number, &answer, 999), broken, "RESP2 has no such messages");
}

/// Else an answer of many large values would be copied with each of its parts.
#[test]
fn an_answer_of_large_values_takes_no_copies_as_it_comes() {
    let keys = Keys { together: 200, value_bytes: 10_000..=10_000, ..keys() };
    let mut store = store(&keys);
    let number = first(&store, Operation::Get);
    let of = Asked { number, sent: 0, at: 5 };
    let mut on = StoreConnection::default();
    let head = b"*200\r\n";
    assert!(matches!(store.feed(&mut on, head, of), Fed::More { .. }));
    let value = [&b"$10000\r\n"[..], &[b'x'; 10_000], b"\r\n"].concat();
    let mut moved = 0;
    for _ in 0..199 {
        let before = on.kept.as_ptr();
        assert!(matches!(store.feed(&mut on, &value, of), Fed::More { .. }));
        moved += u32::from(on.kept.as_ptr() != before);
    }
    assert!(moved < 30, "what came before was copied {moved} times in 199 parts");
}

#[test]
fn what_an_answer_lacks_is_told() {
    let mut store = store(&keys());
    let number = first(&store, Operation::Get);
    let of = Asked { number, sent: 0, at: 5 };
    let lacks = |store: &mut Store, bytes: &[u8]| {
        let mut on = StoreConnection::default();
        store.feed(&mut on, bytes, of);
        store.lacks(&on)
    };
    let told = lacks(&mut store, b"$10\r\nabc").unwrap();
    assert!(told.starts_with("8 bytes came, and 9 more at least are missing"), "{told}");
    let told = lacks(&mut store, b"\x15\x03\x03\x00\x02\x02\x50").unwrap();
    assert!(told.starts_with("the server speaks TLS"), "{told}");
    assert_eq!(lacks(&mut store, b""), None);
}

/// A store whose connections have two commands to say first, and what they say.
fn greeting() -> (Store, String) {
    let resp = Resp { is_third: true, password: Some("x".into()), database: 2, user: None };
    let mut store = store(&Keys { dialect: Dialect::Resp(resp), ..keys() });
    let mut words = Vec::new();
    store.open(&mut StoreConnection::default(), &[], &mut words);
    (store, String::from_utf8(words).unwrap())
}

/// A connection of that store that has said them.
fn opening(store: &mut Store) -> StoreConnection {
    let mut on = StoreConnection::default();
    store.open(&mut on, &[], &mut Vec::new());
    on
}

#[test]
fn a_connections_first_words_are_answered_before_it_is_ready() {
    let (mut store, words) = greeting();
    let hello = "*5\r\n$5\r\nHELLO\r\n$1\r\n3\r\n$4\r\nAUTH\r\n$7\r\ndefault\r\n$1\r\nx\r\n";
    assert_eq!(words, format!("{hello}*2\r\n$6\r\nSELECT\r\n$1\r\n2\r\n"));
    assert!(words.len() <= store.request_bytes_max(), "there is no room for them");
    let answers = b"%2\r\n$6\r\nserver\r\n$5\r\nredis\r\n$5\r\nproto\r\n:3\r\n+OK\r\n";
    opens_by(&mut store, answers);
}

/// Holds that a connection is ready after these answers, wherever they are cut, and not before.
fn opens_by(store: &mut Store, answers: &[u8]) {
    for cut in 0..answers.len() {
        let mut on = opening(store);
        let (first, second) = answers.split_at(cut);
        let more = Opened::Awaits { missing: 1 };
        assert_eq!(store.open(&mut on, first, &mut Vec::new()), more, "cut at {cut}");
        let done = Opened::Ready { used: second.len() };
        assert_eq!(store.open(&mut on, second, &mut Vec::new()), done, "cut at {cut}");
        assert!(!Store::is_under_way(&on), "cut at {cut}: something is kept");
    }
}

#[test]
fn first_words_are_refused_in_the_servers_words() {
    let (mut store, _) = greeting();
    let mut on = opening(&mut store);
    match store.open(&mut on, b"-ERR unknown command 'HELLO'\r\n", &mut Vec::new()) {
        Opened::Broken(fault) => {
            assert_eq!(fault.kind, ErrorKind::ServerError);
            let says = "the server refused the connection's first words: \"ERR unknown command";
            assert!(fault.example.starts_with(says), "{}", fault.example);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_long_refusal_of_first_words_is_read_to_its_end_and_what_isnt_there_is_passed_over() {
    let (mut store, _) = greeting();
    let refusal = b"!21\r\nNOPROTO no such thing\r\n";
    for piece in [1, refusal.len()] {
        let mut on = opening(&mut store);
        let refused = refusal.chunks(piece).find_map(|piece| {
            match store.open(&mut on, piece, &mut Vec::new()) {
                Opened::Awaits { .. } => None,
                other => Some(other),
            }
        });
        let Some(Opened::Broken(fault)) = refused else { panic!("{refused:?}") };
        assert_eq!(fault.kind, ErrorKind::ServerError);
        assert!(
            fault.example.contains("\"NOPROTO no such thing\": it speaks no RESP3"),
            "{fault:?}"
        );
    }
    assert_eq!(resp::skip(b"%2\r\n+role\r\n$-1\r\n+modules\r\n*-1\r\n"), Ok(Some(31)));
}

/// Whoever speaks of what it is for ever would have all of that kept.
#[test]
fn an_endless_answer_to_first_words_ends_the_connection() {
    let (mut store, _) = greeting();
    let endless = [&b"*1000\r\n"[..], &b"*1000\r\n:1\r\n".repeat(10_000)].concat();
    for piece in [endless.len(), 1_000] {
        let mut on = opening(&mut store);
        let mut pieces = endless.chunks(piece);
        let refused = pieces.find_map(|piece| match store.open(&mut on, piece, &mut Vec::new()) {
            Opened::Awaits { .. } => None,
            Opened::Broken(fault) => Some(fault.kind),
            done => panic!("{done:?}"),
        });
        assert_eq!(refused, Some(ErrorKind::Malformed));
    }
}

#[test]
fn a_preload_is_known_by_its_keys() {
    let preload = Keys { phase: KeysPhase::Preload, count: 20, ..keys() };
    let mut store = store(&preload);
    let mut room = Vec::new();
    store.ask(5, &mut room);
    let mut value = Vec::new();
    store.work.values.append(PRELOADED | 5, 5, 0, &mut value);
    assert!(room.ends_with(&[&value[..], b"\r\n"].concat()));
}

/// A client that doesn't know them takes a reply for rubbish, or for a value that it isn't.
#[test]
fn what_resp3_says_beside_and_around_a_value_is_read() {
    let third = Resp { is_third: true, ..Resp::default() };
    let mut store = store(&Keys { dialect: Dialect::Resp(third), ..keys() });
    let number = first(&store, Operation::Get);
    let contents = preloaded(&store);
    let value = &contents[&store.work.asks(number).key];
    let plain = [format!("${}\r\n", value.len()).as_bytes(), value, b"\r\n"].concat();
    let named = [format!("={}\r\ntxt:", value.len() + 4).as_bytes(), value, b"\r\n"].concat();
    let attribute = [&b"|1\r\n+ttl\r\n:3600\r\n"[..], &plain].concat();
    for (answer, right) in [
        (&named[..], None),
        (&attribute, None),
        (b"=3\r\ntxt\r\n", Some(ErrorKind::Malformed)),
        (b"!21\r\nSYNTAX invalid syntax\r\n", Some(ErrorKind::ServerError)),
        (b"!-1\r\n", Some(ErrorKind::Malformed)),
    ] {
        for pieces in [1, 9, 999] {
            let came = ask(&mut store, number, answer, pieces);
            assert_eq!(came, right, "{:?} in pieces of {pieces}", String::from_utf8_lossy(answer));
        }
    }
    assert_eq!(store.keys_seen().unwrap().pushes, 0, "attributes are counted as messages");
}

/// Else one attribute in a reply of several values costs the connection.
#[test]
fn what_resp3_says_among_several_values_is_read() {
    const ATTRIBUTE: &[u8] = b"|1\r\n+popularity\r\n%1\r\n|1\r\n+a\r\n*0\r\n$1\r\nk\r\n,0.19\r\n";
    const PUSH: &[u8] = b">2\r\n+invalidate\r\n*1\r\n$1\r\nk\r\n";
    let of = |resp: Resp| Keys { dialect: Dialect::Resp(resp), together: 3, ..keys() };
    let of_third = of(Resp { is_third: true, ..Resp::default() });
    let mut third = store(&of_third);
    let number = first(&third, Operation::Get);
    let (contents, key) = (preloaded(&third), third.work.asks(number).key);
    let value = |nth: u64| {
        let value = &contents[&((key + nth) % of_third.count)];
        [format!("${}\r\n", value.len()).as_bytes(), value, b"\r\n"].concat()
    };
    let three = |before: [&[u8]; 3]| {
        let values = (0..).zip(before).map(|(nth, before)| [before, &value(nth)].concat());
        [b"*3\r\n".to_vec(), values.collect::<Vec<_>>().concat()].concat()
    };
    let twice = [ATTRIBUTE, PUSH].concat();
    let befores: [[&[u8]; 3]; 3] =
        [[b"", ATTRIBUTE, ATTRIBUTE], [ATTRIBUTE, b"", b""], [PUSH, &twice, b""]];
    for pieces in [1, 9, 999] {
        for before in befores {
            let came = ask(&mut third, number, &three(before), pieces);
            assert_eq!(came, None, "in pieces of {pieces}");
        }
    }
    assert_eq!(third.keys_seen().unwrap().pushes, 6, "each once, however often it was looked at");
    let refused = [&b"*3\r\n$-1\r\n!5\r\nERR x\r\n"[..], &value(2)].concat();
    for pieces in [1, 9, 999] {
        let came = ask(&mut third, number, &refused, pieces);
        assert_eq!(came, Some(ErrorKind::ServerError), "in pieces of {pieces}");
    }
    let broken = Some(ErrorKind::Malformed);
    let map = [&b"*3\r\n%1\r\n+a\r\n+b\r\n"[..], &value(1), &value(2)].concat();
    assert_eq!(ask(&mut third, number, &map, 9), broken, "a map is no value");
    let endless = three([&ATTRIBUTE.repeat(2_000), b"", b""]);
    assert_eq!(ask(&mut third, number, &endless, 4096), broken, "nobody says so much");
    let mut second = store(&of(Resp::default()));
    let answer = three([ATTRIBUTE, b"", b""]);
    assert_eq!(ask(&mut second, number, &answer, 999), broken, "RESP2 has no attributes");
}

#[test]
fn what_stands_before_the_answer_to_a_connections_first_words_is_none_of_them() {
    let (mut store, _) = greeting();
    let answers = b"|1\r\n+a\r\n+b\r\n>1\r\n+x\r\n%0\r\n|1\r\n+a\r\n+b\r\n+OK\r\n";
    opens_by(&mut store, answers);
}

#[test]
fn a_refusal_says_what_can_be_done_about_it() {
    for (refusal, advice) in [
        ("MOVED 1 a:1", "cluster"),
        ("CLUSTERDOWN x", "cluster"),
        ("READONLY x", "ask the primary"),
        ("NOAUTH x", "redis://:PASSWORD@HOST"),
        ("NOPROTO x", "leave --resp3 out"),
        ("ERR unknown command 'HELLO', with args", "leave --resp3 out"),
        ("ERR max number of clients reached", "(-c)"),
    ] {
        let told = super::resp::advice(refusal.as_bytes());
        assert!(told.contains(advice), "{refusal} is told without a way out: {told:?}");
    }
    assert_eq!(super::resp::advice(b"ERR syntax error"), "", "advice that doesn't fit");
    assert!(super::memcached::advice_on_meta(b"ERROR").contains("leave --meta out"));
    assert_eq!(super::memcached::advice(b"ERROR"), "", "no meta command was asked");
    for advice in [super::memcached::advice, super::memcached::advice_on_meta] {
        let told = advice(b"ERROR Too many open connections");
        assert!(told.contains("(-c)"), "{told:?}");
    }
}
