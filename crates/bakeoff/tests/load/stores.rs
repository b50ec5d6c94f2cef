//! `bakeoff load` against real stores, Redis and memcached, where they are installed.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::free_address::free_address;
use crate::skipped::skipped;
use crate::support::{Said, backends, bakeoff_load, load};

/// A kind of store.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Redis,
    Memcached,
}

impl Kind {
    fn program(self) -> &'static str {
        match self {
            Kind::Redis => "redis-server",
            Kind::Memcached => "memcached",
        }
    }

    pub fn scheme(self) -> &'static str {
        match self {
            Kind::Redis => "redis",
            Kind::Memcached => "memcached",
        }
    }

    /// The options that choose each of the dialects that it speaks.
    fn dialects(self) -> [&'static [&'static str]; 2] {
        match self {
            Kind::Redis => [&[], &["--resp3"]],
            Kind::Memcached => [&[], &["--meta"]],
        }
    }

    fn is_installed(self) -> bool {
        match Command::new(self.program()).arg("--version").output() {
            Ok(_) => true,
            Err(error) if error.kind() == ErrorKind::NotFound => false,
            Err(error) => panic!("{}: {error}", self.program()),
        }
    }

    fn arguments(self, port: u16) -> Vec<String> {
        let port = port.to_string();
        let given: &[&str] = match self {
            // With --close the requests come from many addresses, which protected mode denies.
            Kind::Redis => &[
                &["--bind", "127.0.0.1", "--port", &port, "--save", ""][..],
                &["--protected-mode", "no"],
            ]
            .concat(),
            // Who isn't root needs no other user, and then it isn't looked at.
            Kind::Memcached => &["-l", "127.0.0.1", "-p", &port, "-U", "0", "-u", "nobody"],
        };
        given.iter().map(|word| word.to_string()).collect()
    }
}

/// A store in a process of its own, which ends when dropped.
pub struct Store {
    kind: Kind,
    process: Child,
    pub address: SocketAddr,
    _folder: TempDir,
}

impl Store {
    /// `None`, with the reason printed, where it isn't installed.
    pub fn start(kind: Kind, more: &[&str]) -> Option<Store> {
        if !kind.is_installed() {
            skipped("skipped", &format!("{} is not installed", kind.program()));
            return None;
        }
        let folder = TempDir::new().unwrap();
        // Somebody else may take the port meanwhile.
        let mut tries = (0..5).filter_map(|_| Store::listening(kind, more, &folder));
        let (process, address) = tries.next().expect("it ends in one of five tries");
        Some(Store { kind, process, address, _folder: folder })
    }

    /// A process that listens; `None` if it ended.
    fn listening(kind: Kind, more: &[&str], folder: &TempDir) -> Option<(Child, SocketAddr)> {
        let address = free_address();
        let mut process = Command::new(kind.program())
            .args(kind.arguments(address.port()))
            .args(more)
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let patience = Instant::now() + Duration::from_secs(60);
        while process.try_wait().unwrap().is_none() {
            if TcpStream::connect(address).is_ok() {
                return Some((process, address));
            }
            assert!(Instant::now() < patience, "it does not listen after a minute");
            std::thread::sleep(Duration::from_millis(10));
        }
        None
    }

    pub fn url(&self) -> String {
        format!("{}://{}", self.kind.scheme(), self.address)
    }

    /// What it says to these lines, all of it.
    fn tell(&self, lines: &str) -> String {
        let mut connection = TcpStream::connect(self.address).unwrap();
        connection.write_all(format!("{lines}\r\nquit\r\n").as_bytes()).unwrap();
        let mut said = String::new();
        connection.read_to_string(&mut said).unwrap();
        said
    }

    /// A count of its own.
    fn count(&self, redis: &str, memcached: &str) -> u64 {
        let (lines, name) = match self.kind {
            Kind::Redis => ("info stats", format!("{redis}:")),
            Kind::Memcached => ("stats", format!("STAT {memcached} ")),
        };
        let said = self.tell(lines);
        let count = said.lines().find_map(|line| line.strip_prefix(&name));
        count.unwrap_or_else(|| panic!("no {name} in {said}")).trim().parse().unwrap()
    }

    /// Keys that were asked for and were there.
    fn hits(&self) -> u64 {
        self.count("keyspace_hits", "get_hits")
    }

    /// Keys that were asked for and weren't there.
    fn misses(&self) -> u64 {
        self.count("keyspace_misses", "get_misses")
    }

    /// Loads it in each of its dialects with each backend, and checks what holds of every run.
    fn each(&self, more: &[&str], check: impl Fn(&Said, &str)) {
        let backends = backends();
        for dialect in self.kind.dialects() {
            for backend in &backends {
                let what = format!("{} {dialect:?} {more:?} {backend}", self.kind.program());
                let url = self.url();
                let base = [&url, "--keys", "500", "--backend", backend];
                let said = load(&[&base, dialect, more].concat());
                said.assert_conserved(&what);
                let statuses = said.json["requests"]["statuses"].as_array();
                assert_eq!(statuses.map(Vec::len), Some(0), "{what}: a store has none");
                check(&said, &what);
            }
        }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Those of both that are installed.
fn both() -> Vec<Store> {
    let kinds = [Kind::Redis, Kind::Memcached];
    let missing: Vec<_> = kinds.iter().filter(|kind| !kind.is_installed()).collect();
    let how = if missing.len() == kinds.len() { "skipped" } else { "skipped in part" };
    for kind in &missing {
        skipped(how, &format!("{} is not installed", kind.program()));
    }
    let installed = kinds.into_iter().filter(|kind| kind.is_installed());
    installed.filter_map(|kind| Store::start(kind, &[])).collect()
}

impl Said {
    /// What became of the keys that were read.
    fn keys(&self, name: &str) -> u64 {
        self.json["keys"][name].as_u64().unwrap_or_else(|| panic!("no {name}: {}", self.json))
    }

    /// Good answers to an operation.
    fn answers(&self, operation: &str) -> u64 {
        let operations = self.json["operations"].as_array().unwrap();
        let seen = operations.iter().find(|seen| seen["operation"] == operation).unwrap();
        seen["service_us"]["samples"].as_u64().unwrap()
    }

    /// An error's example.
    fn example(&self, kind: &str) -> &str {
        let errors = self.json["errors"].as_array().unwrap();
        let of_kind = errors.iter().find(|error| error["kind"] == kind);
        let error = of_kind.unwrap_or_else(|| panic!("none is {kind}: {}", self.json["errors"]));
        error["example"].as_str().unwrap()
    }

    fn assert_all_good(&self, what: &str) {
        assert_eq!(self.count("errors"), 0, "{what}: {}", self.json["errors"]);
        assert_eq!(self.count("good"), self.count("sent"), "{what}: {}", self.json["requests"]);
        assert_eq!(self.code, 0, "{what}: {}", self.stderr);
    }
}

/// What it says on standard error where it comes to nothing.
fn refused(arguments: &[&str]) -> String {
    let output = bakeoff_load(arguments).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{arguments:?}: {stderr}");
    stderr
}

#[test]
fn every_read_of_what_was_written_hits_and_the_store_counts_the_same() {
    for store in both() {
        for more in [
            &["-n", "1k", "-c", "8"][..],
            &["-n", "300", "-c", "4", "--close", "--key-choice", "sequential"],
            &["-n", "2k", "-c", "4", "--pipeline", "16", "--key-choice", "zipf:0.99"],
            &["-d", "500ms", "-c", "8", "--rate", "1k", "--key-choice", "latest"],
            &["-n", "500", "-c", "8", "--value-bytes", "24-20000", "--key-choice", "hot:90:10"],
        ] {
            let before = std::cell::Cell::new((store.hits(), store.misses()));
            store.each(&[more, &["--mix", "get=3,set=1"]].concat(), |said, what| {
                said.assert_all_good(what);
                let (hits, misses) = (said.keys("hits"), said.keys("misses"));
                assert!(said.answers("set") > 0 && hits > 0, "{what}: {}", said.json);
                assert_eq!((hits, misses), (said.answers("get"), 0), "{what}");
                let (hits_before, misses_before) = before.replace((store.hits(), store.misses()));
                let counted = (store.hits() - hits_before, store.misses() - misses_before);
                assert_eq!(counted, (hits, 0), "{what}: the store counts otherwise");
            });
        }
    }
}

#[test]
fn a_get_of_several_keys_reads_each() {
    for store in both() {
        for backend in backends() {
            let url = store.url();
            let base = [&url, "-n", "500", "-c", "4", "--keys", "500", "--keys-a-get", "7"];
            let said = load(&[&base[..], &["--backend", backend]].concat());
            said.assert_all_good(backend);
            assert_eq!(said.keys("hits"), 7 * said.answers("get"), "{backend}: {}", said.json);
        }
    }
}

#[test]
fn deletes_make_misses_and_no_errors() {
    for store in both() {
        store.each(&["-n", "1k", "-c", "4", "--mix", "get=1,delete=1"], |said, what| {
            said.assert_all_good(what);
            let (hits, misses) = (said.keys("hits"), said.keys("misses"));
            assert!(hits > 0 && misses > 0, "{what}: {}", said.json["keys"]);
            assert_eq!(hits + misses, said.answers("get"), "{what}: {}", said.json["keys"]);
        });
    }
}

#[test]
fn who_writes_nothing_before_reads_misses() {
    for store in both() {
        store.each(&["-n", "200", "-c", "4", "--no-preload", "--mix", "get=1"], |said, what| {
            said.assert_all_good(what);
            assert_eq!((said.keys("hits"), said.keys("misses")), (0, 200), "{what}");
        });
        assert_eq!(store.hits(), 0);
    }
}

#[test]
fn runs_with_the_same_seed_know_each_others_values() {
    for store in both() {
        let url = store.url();
        let base = [&*url, "-n", "500", "-c", "4", "--keys", "300", "--mix", "get=100"];
        load(&[&base[..], &["--seed", "5"]].concat()).assert_all_good("the first run");
        let said = load(&[&base[..], &["--seed", "5", "--no-preload"]].concat());
        said.assert_all_good("the second run");
        assert_eq!((said.keys("hits"), said.keys("misses")), (500, 0), "{}", said.json["keys"]);
        let said = load(&[&base[..], &["--seed", "6", "--no-preload"]].concat());
        assert_eq!((said.code, said.errors("wrong_value")), (1, 500), "{}", said.json["errors"]);
    }
}

#[test]
fn values_are_given_the_time_to_live_that_was_asked_for() {
    let lives = |store: &Store, lines: &str, before: &str| {
        let said = store.tell(lines);
        let left = said.lines().find_map(|line| line.strip_prefix(before)).unwrap_or("none");
        left.trim().parse::<i64>().unwrap_or_else(|_| panic!("no time to live: {said}"))
    };
    for store in both() {
        store.each(&["-n", "200", "-c", "4", "--expire", "1000"], |said, what| {
            said.assert_all_good(what);
            let left = match store.kind {
                Kind::Redis => lives(&store, "ttl key:000000000499", ":"),
                Kind::Memcached => lives(&store, "mg key:000000000499 t", "HD t"),
            };
            assert!((1..=1000).contains(&left), "{what}: {left} s are left");
        });
    }
}

#[test]
fn redis_is_asked_in_the_database_and_with_the_password_that_the_url_has() {
    let Some(store) = Store::start(Kind::Redis, &["--requirepass", "secret"]) else { return };
    let address = store.address;
    for (database, who, dialect) in
        [(3, "", &[][..]), (4, "default", &[]), (5, "", &["--resp3"]), (6, "default", &["--resp3"])]
    {
        let url = format!("redis://{who}:secret@{address}/{database}");
        let base = [&*url, "-n", "300", "-c", "4", "--keys", "70"];
        let said = load(&[&base, dialect].concat());
        said.assert_all_good(&url);
        assert_eq!(said.keys("hits"), said.answers("get"), "{url}: {}", said.json);
        let keyspace = store.tell("auth secret\r\ninfo keyspace");
        let there = format!("db{database}:keys=70,");
        assert!(keyspace.contains(&there), "{url}: {keyspace}");
    }
}

#[test]
fn a_wrong_password_ends_the_run_with_the_words_of_redis() {
    let Some(store) = Store::start(Kind::Redis, &["--requirepass", "secret"]) else { return };
    let url = format!("redis://:wr0ng@{}", store.address);
    for more in [&[][..], &["--resp3"], &["--pipeline", "8"]] {
        let base = [&*url, "-n", "6", "-c", "2", "--keys", "100"];
        let stderr = refused(&[&base, more].concat());
        assert!(stderr.contains("server_error"), "{more:?}: {stderr}");
        assert!(stderr.contains("WRONGPASS"), "{more:?}: {stderr}");
        assert!(!stderr.contains("wr0ng"), "{more:?}: the password is shown: {stderr}");
        let said = load(&[&base, more, &["--no-preload"]].concat());
        assert_eq!((said.code, said.count("good")), (1, 0), "{more:?}: {}", said.json);
        assert!(said.example("server_error").contains("WRONGPASS"), "{}", said.json["errors"]);
    }
    let stderr = refused(&[&store.url(), "-n", "6", "-c", "2", "--keys", "100"]);
    assert!(stderr.contains("NOAUTH"), "{stderr}");
}

/// What Redis takes by itself leaves room for a part of 30,000 keys.
const LITTLE_MEMORY: [&str; 2] = ["--maxmemory", "4mb"];

#[test]
fn a_redis_without_memory_refuses_in_its_words() {
    let more = [&LITTLE_MEMORY[..], &["--maxmemory-policy", "noeviction"]].concat();
    let Some(store) = Store::start(Kind::Redis, &more) else { return };
    let url = store.url();
    let base = [&*url, "-n", "20k", "-c", "4", "--keys", "30k", "--pipeline", "16"];
    let stderr = refused(&base);
    for part in ["of 30,000 keys", "server_error", "OOM command not allowed", "more memory"] {
        assert!(stderr.contains(part), "{part}: {stderr}");
    }
    assert!(!stderr.contains("acknowledged 0 of"), "some were written: {stderr}");
    let said = load(&[&base[..], &["--no-preload", "--mix", "set=1"]].concat());
    said.assert_conserved("without memory");
    assert!(said.errors("server_error") > 0, "{}", said.json);
    assert!(said.example("server_error").contains("OOM"), "{}", said.json["errors"]);
}

#[test]
fn what_redis_evicts_is_missing_unless_it_may() {
    let more = [&LITTLE_MEMORY[..], &["--maxmemory-policy", "allkeys-lru"]].concat();
    let Some(store) = Store::start(Kind::Redis, &more) else { return };
    let url = store.url();
    let base = [&*url, "-n", "3k", "-c", "4", "--keys", "30k", "--pipeline", "16"];
    let said = load(&base);
    said.assert_conserved("it evicts");
    assert!(said.errors("missing") > 0 && said.keys("hits") > 0, "{}", said.json);
    assert_eq!(said.count("errors"), said.errors("missing"), "{}", said.json["errors"]);
    assert_eq!(said.keys("misses"), 0, "{}", said.json["keys"]);
    assert!(said.example("missing").contains("isn't there, and was written"));
    let said = load(&[&base[..], &["--evicts"]].concat());
    said.assert_all_good("it may evict");
    assert!(said.keys("misses") > 0 && said.keys("hits") > 0, "{}", said.json["keys"]);
}

#[test]
fn a_replica_that_only_reads_says_so() {
    // Nobody listens there.
    let Some(store) = Store::start(Kind::Redis, &["--replicaof", "127.0.0.1 1"]) else { return };
    let url = store.url();
    let stderr = refused(&[&url, "-n", "50", "-c", "2", "--keys", "100"]);
    assert!(stderr.contains("READONLY"), "{stderr}");
    let said = load(&[&url, "-n", "200", "-c", "2", "--keys", "100", "--no-preload"]);
    said.assert_conserved("a replica");
    assert!(said.errors("server_error") > 0, "{}", said.json);
    assert_eq!(said.count("good"), said.keys("misses"), "it reads: {}", said.json);
    assert!(said.example("server_error").contains("READONLY"), "{}", said.json["errors"]);
}

#[test]
fn what_memcached_finds_too_large_is_refused_in_its_words() {
    let small = ["-m", "64", "-I", "1024", "-o", "slab_chunk_max=512"];
    let Some(store) = Store::start(Kind::Memcached, &small) else { return };
    let url = store.url();
    for dialect in store.kind.dialects() {
        let base = [&*url, "-n", "200", "-c", "2", "--keys", "100", "--value-bytes", "5000"];
        let stderr = refused(&[&base, dialect].concat());
        assert!(stderr.contains("SERVER_ERROR object too large"), "{dialect:?}: {stderr}");
        let said = load(&[&base, dialect, &["--no-preload", "--mix", "get=1,set=1"]].concat());
        said.assert_conserved("too large");
        assert!(said.errors("server_error") > 0, "{dialect:?}: {}", said.json);
        assert_eq!(said.count("good"), said.keys("misses"), "{dialect:?}: {}", said.json);
    }
}

#[test]
fn a_store_of_another_protocol_is_told_in_a_sentence() {
    for store in both() {
        let other = match store.kind {
            Kind::Redis => "memcached",
            Kind::Memcached => "redis",
        };
        let url = format!("{other}://{}", store.address);
        let stderr = refused(&[&url, "-n", "10", "-c", "2", "--keys", "100"]);
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
        assert!(stderr.contains("the protocol that the URL says"), "{stderr}");
        let url = format!("http://{}/", store.address);
        let said = load(&[&url, "-n", "10", "-c", "2"]);
        said.assert_conserved("asked for a page");
        assert_eq!((said.code, said.count("good")), (1, 0), "{}", said.json);
    }
}

/// Loads a store, and does something to it when it has answered some; its own count says when.
fn meanwhile(store: &mut Store, does: impl FnOnce(&mut Store) + Send) -> Said {
    let url = store.url();
    let base = [&*url, "-d", "2s", "-c", "4", "-t", "1", "--rate", "500", "--mix", "get=1"];
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let patience = Instant::now() + Duration::from_secs(60);
            while store.hits() < 100 {
                assert!(Instant::now() < patience, "it is not asked");
                std::thread::sleep(Duration::from_millis(5));
            }
            does(store);
        });
        load(&[&base[..], &["--keys", "500"]].concat())
    })
}

#[test]
fn what_is_flushed_midway_is_missing() {
    let Some(mut store) = Store::start(Kind::Redis, &[]) else { return };
    let said = meanwhile(&mut store, |store| assert!(store.tell("flushall").starts_with("+OK")));
    said.assert_conserved("flushed");
    assert!(said.keys("hits") > 0 && said.errors("missing") > 0, "{}", said.json);
    assert_eq!(said.count("errors"), said.errors("missing"), "{}", said.json["errors"]);
}

#[test]
fn what_a_store_answered_before_it_was_killed_stays_in_the_account() {
    for mut store in both() {
        let said = meanwhile(&mut store, |store| store.process.kill().unwrap());
        said.assert_conserved("killed");
        assert!(said.count("good") > 0 && said.errors("refused") > 0, "{}", said.json);
        assert_eq!(said.keys("hits"), said.count("good"), "{}", said.json["keys"]);
        for kind in ["missing", "wrong_value", "stale", "malformed"] {
            assert_eq!(said.errors(kind), 0, "{kind}: {}", said.json["errors"]);
        }
    }
}
