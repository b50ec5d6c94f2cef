//! What holds for every engine of the build.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::null::Null;
use super::*;
use crate::value::Head;

fn open_with(name: &str, dir: &Path, flags: &str) -> Box<dyn Engine> {
    let mut flags = Flags::read(flags.split_whitespace().map(String::from)).unwrap();
    let engine = open(name, dir, &mut flags).unwrap_or_else(|why| panic!("{name}: {why}"));
    flags.end(name).unwrap();
    engine
}

/// Engines that keep what they are given.
fn keeping() -> impl Iterator<Item = &'static str> {
    names().filter(|name| *name != "null")
}

/// Those that keep it in files.
fn lasting() -> impl Iterator<Item = &'static str> {
    keeping().filter(|name| *name != "map")
}

fn get(session: &mut dyn Session, key: &[u8]) -> Option<Vec<u8>> {
    let mut value = None;
    session
        .get(key, &mut |kept| value = Head::split(kept).map(|(_, value)| value.to_vec()))
        .unwrap();
    value
}

fn commit(session: &mut dyn Session, writes: &[(&[u8], Option<&[u8]>)]) {
    let mut batch = Batch::default();
    for (key, value) in writes {
        match value {
            Some(value) => batch.put(key, &Head::default(), value),
            None => batch.delete(key),
        }
    }
    session.commit(&batch).unwrap();
    session.end_turn();
}

#[test]
fn the_null_engine_acknowledges_and_keeps_nothing() {
    let mut session = Null;
    commit(&mut session, &[(b"a", Some(b"1"))]);
    assert_eq!(get(&mut session, b"a"), None);
    assert_eq!(session.count(), Ok(0));
}

#[test]
fn every_engine_keeps_overwrites_removes_counts_and_clears() {
    for name in keeping() {
        let dir = tempfile::tempdir().unwrap();
        let engine = open_with(name, dir.path(), "");
        let mut session = engine.session().unwrap();
        let it = &mut *session;
        let (longest, large) = ([b'k'; 250], vec![7; 1 << 20]);
        commit(it, &[(b"a", Some(b"1")), (&longest, Some(&large)), (b"\0\xff", Some(b""))]);
        assert_eq!(get(it, b"a").as_deref(), Some(&b"1"[..]), "{name}");
        assert_eq!(get(it, &longest).as_deref(), Some(&large[..]), "{name}");
        assert_eq!(get(it, b"\0\xff").as_deref(), Some(&b""[..]), "{name}: an empty value");
        assert_eq!(get(it, b"b"), None, "{name}");
        assert_eq!(it.count(), Ok(3), "{name}");
        it.end_turn();
        // The last write of a batch is the one that counts.
        commit(it, &[(b"a", Some(b"2")), (b"a", None), (b"a", Some(b"longer than before"))]);
        commit(it, &[(b"c", Some(b"3")), (b"c", None), (b"none", None)]);
        assert_eq!(get(it, b"a").as_deref(), Some(&b"longer than before"[..]), "{name}");
        assert_eq!(get(it, b"c"), None, "{name}");
        assert_eq!(it.count(), Ok(3), "{name}");
        it.end_turn();
        it.clear().unwrap();
        it.end_turn();
        assert_eq!((it.count(), get(it, b"a")), (Ok(0), None), "{name}: cleared");
        it.end_turn();
        commit(it, &[(b"a", Some(b"4"))]);
        assert_eq!((it.count(), get(it, b"a")), (Ok(1), Some(b"4".to_vec())), "{name}");
        drop(session);
        engine.close().unwrap();
    }
}

#[test]
fn what_was_committed_is_there_after_an_orderly_end() {
    for name in lasting() {
        let dir = tempfile::tempdir().unwrap();
        for round in 0..3_u32 {
            let engine = open_with(name, dir.path(), "");
            let mut session = engine.session().unwrap();
            assert_eq!(session.count(), Ok(100.min(round * 100).into()), "{name}");
            for key in 0..100_u32 {
                let before = round.checked_sub(1).map(|round| round.to_le_bytes().to_vec());
                assert_eq!(get(&mut *session, &key.to_le_bytes()), before, "{name}");
            }
            session.end_turn();
            for key in 0..100_u32 {
                commit(&mut *session, &[(&key.to_le_bytes(), Some(&round.to_le_bytes()))]);
            }
            drop(session);
            engine.close().unwrap();
        }
    }
}

#[test]
fn a_turn_sees_what_another_thread_committed_before_it() {
    for name in keeping() {
        let dir = tempfile::tempdir().unwrap();
        let engine = open_with(name, dir.path(), "");
        let (mut one, mut other) = (engine.session().unwrap(), engine.session().unwrap());
        for number in 0..50_u32 {
            let value = number.to_le_bytes();
            commit(&mut *one, &[(b"a", Some(&value))]);
            assert_eq!(get(&mut *other, b"a"), Some(value.to_vec()), "{name}");
            other.end_turn();
        }
        drop((one, other));
        engine.close().unwrap();
    }
}

#[test]
fn two_threads_lose_no_write_of_each_other() {
    for name in keeping() {
        let dir = tempfile::tempdir().unwrap();
        let engine = open_with(name, dir.path(), "");
        std::thread::scope(|scope| {
            for thread in 0..2_u8 {
                let engine = &*engine;
                scope.spawn(move || {
                    let mut session = engine.session().unwrap();
                    for number in 0..40_u8 {
                        let keys: Vec<[u8; 3]> = (0..20).map(|at| [thread, number, at]).collect();
                        let writes: Vec<(&[u8], Option<&[u8]>)> =
                            keys.iter().map(|key| (&key[..], Some(&key[..]))).collect();
                        commit(&mut *session, &writes);
                    }
                });
            }
        });
        let mut session = engine.session().unwrap();
        assert_eq!(session.count(), Ok(2 * 40 * 20), "{name}");
        for (thread, number, at) in [(0, 0, 0), (1, 39, 19), (0, 20, 10)] {
            let key = [thread, number, at];
            assert_eq!(get(&mut *session, &key), Some(key.to_vec()), "{name}");
        }
        drop(session);
        engine.close().unwrap();
    }
}

/// What is done in a history.
#[derive(Debug, Clone)]
enum Step {
    Commit(Vec<(u8, Option<Vec<u8>>)>),
    Clear,
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    // Lengths on both sides of what engines keep in a page.
    let value = (any::<u8>(), prop_oneof![0..40_usize, 900..5000_usize])
        .prop_map(|(byte, bytes)| vec![byte; bytes]);
    let write = (0..12_u8, prop::option::weighted(0.75, value));
    prop_oneof![
        12 => prop::collection::vec(write, 1..8).prop_map(Step::Commit),
        1 => Just(Step::Clear),
        2 => Just(Step::Reopen),
    ]
}

#[test]
fn any_history_comes_to_what_a_map_has() {
    for name in keeping() {
        // Each history opens files a few times, and syncs.
        let mut runner = TestRunner::new(Config { cases: 12, ..Config::default() });
        let history = prop::collection::vec(step(), 1..20);
        let held = runner.run(&history, |history| {
            let dir = tempfile::tempdir().unwrap();
            let mut engine = open_with(name, dir.path(), "");
            let mut model = BTreeMap::new();
            for step in history {
                match step {
                    Step::Commit(writes) => {
                        let mut session = engine.session().unwrap();
                        let keys: Vec<_> = writes.iter().map(|(key, _)| [*key]).collect();
                        let both = keys.iter().zip(&writes);
                        let given: Vec<_> =
                            both.map(|(key, (_, value))| (&key[..], value.as_deref())).collect();
                        commit(&mut *session, &given);
                        for (key, value) in writes {
                            match value {
                                Some(value) => model.insert(key, value),
                                None => model.remove(&key),
                            };
                        }
                    }
                    Step::Clear => {
                        engine.session().unwrap().clear().unwrap();
                        model.clear();
                    }
                    Step::Reopen if name == "map" => {}
                    Step::Reopen => {
                        engine.close().unwrap();
                        engine = open_with(name, dir.path(), "");
                    }
                }
                let mut session = engine.session().unwrap();
                prop_assert_eq!(session.count().unwrap(), model.len() as u64);
                for key in 0..12 {
                    let kept = get(&mut *session, &[key]);
                    prop_assert_eq!(kept.as_ref(), model.get(&key));
                }
            }
            engine.close().unwrap();
            Ok(())
        });
        held.unwrap_or_else(|why| panic!("{name}: {why}"));
    }
}
