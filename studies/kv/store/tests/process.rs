//! The store as a process: what it acknowledged is there after it was killed in the middle of
//! writing, it ends when it is told to, and says why where it can't begin.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Below those that clients are given.
const PORT: u16 = 11211;

/// A store that is killed at the end of a test at the latest.
struct Store {
    process: Child,
    address: SocketAddr,
}

impl Drop for Store {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

impl Store {
    fn start(engine: &str, dir: &Path, flags: &[&str]) -> Store {
        // An address of its own: no client and no other test takes its port. A port that a test has
        // listened on to find it would be worse. A process that is started meanwhile has that
        // listener for a moment, and what connects to it then is cut.
        static NEXT: AtomicU32 = AtomicU32::new(1);
        let (test, process) = (NEXT.fetch_add(1, Ordering::Relaxed), std::process::id());
        let host = [127, 20 + (process % 200) as u8, (test / 200) as u8, 1 + (test % 200) as u8];
        let address = SocketAddr::from((host, PORT));
        let (host, port) = (address.ip().to_string(), address.port().to_string());
        let process = Command::new(env!("CARGO_BIN_EXE_store"))
            .args(["--engine", engine, "--host", &host, "--port", &port, "--dir"])
            .arg(dir)
            .args(flags)
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        Store { process, address }
    }

    fn connect(&mut self) -> Client {
        let began = Instant::now();
        loop {
            if let Ok(stream) = TcpStream::connect(self.address) {
                stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
                stream.set_nodelay(true).unwrap();
                return Client(BufReader::new(stream));
            }
            assert!(self.process.try_wait().unwrap().is_none(), "the store ended");
            assert!(began.elapsed() < Duration::from_secs(60), "the store doesn't listen");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

struct Client(BufReader<TcpStream>);

impl Client {
    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let count = self.0.read_line(&mut line).ok()?;
        (count > 0).then(|| line.trim_end().to_string())
    }

    /// Whether the write was acknowledged, before the store was killed.
    fn set(&mut self, key: &str, value: &str) -> bool {
        let request = format!("set {key} 0 0 {}\r\n{value}\r\n", value.len());
        let sent = self.0.get_mut().write_all(request.as_bytes());
        sent.is_ok() && self.line().as_deref() == Some("STORED")
    }

    fn get(&mut self, key: &str) -> Option<String> {
        self.0.get_mut().write_all(format!("get {key}\r\n").as_bytes()).unwrap();
        if self.line().unwrap() == "END" {
            return None;
        }
        let value = self.line().unwrap();
        assert_eq!(self.line().as_deref(), Some("END"));
        Some(value)
    }
}

/// A value that tells its write, of a length that changes.
fn value(writer: usize, number: u32) -> String {
    format!("{writer} {number} {}", "x".repeat(number as usize * 37 % 3000))
}

const WRITERS: usize = 8;
/// Each writes these again and again.
const KEYS: u32 = 20;

/// Writes until the store is killed: the number of the last write that was acknowledged, by key.
fn write_until_killed(mut client: Client, writer: usize) -> BTreeMap<u32, u32> {
    let mut acknowledged = BTreeMap::new();
    for number in 0.. {
        let key = number % KEYS;
        if !client.set(&format!("{writer}-{key}"), &value(writer, number)) {
            break;
        }
        acknowledged.insert(key, number);
    }
    acknowledged
}

/// Kills a store three times while it is written to. Its acknowledged writes are there each time.
fn survives_kills(engine: &str, flags: &[&str]) {
    let dir = tempfile::tempdir().unwrap();
    for round in 0..3_u64 {
        let mut store = Store::start(engine, dir.path(), flags);
        let clients: Vec<Client> = (0..WRITERS).map(|_| store.connect()).collect();
        let acknowledged: Vec<BTreeMap<u32, u32>> = std::thread::scope(|scope| {
            let writers: Vec<_> = clients
                .into_iter()
                .enumerate()
                .map(|(writer, client)| scope.spawn(move || write_until_killed(client, writer)))
                .collect();
            std::thread::sleep(Duration::from_millis(150 + 60 * round));
            store.process.kill().unwrap();
            writers.into_iter().map(|writer| writer.join().unwrap()).collect()
        });
        store.process.wait().unwrap();
        let count: usize = acknowledged.iter().map(BTreeMap::len).sum();
        assert!(count > WRITERS, "{engine}: only {count} keys were written");
        let mut store = Store::start(engine, dir.path(), flags);
        let mut client = store.connect();
        for (writer, keys) in acknowledged.iter().enumerate() {
            for (key, number) in keys {
                let kept = client.get(&format!("{writer}-{key}"));
                // The next write of this key may have been under way.
                let may_be = [*number, number + KEYS].map(|number| value(writer, number));
                let is_right = kept.as_ref().is_some_and(|kept| may_be.contains(kept));
                assert!(
                    is_right,
                    "{engine} {flags:?}: write {number} of key {writer}-{key} was acknowledged, \
                     and there is {:?}",
                    kept.map(|kept| kept.chars().take(20).collect::<String>())
                );
            }
        }
    }
}

macro_rules! survives {
    ($test:ident, $engine:literal $(, $flag:literal)*) => {
        #[test]
        fn $test() {
            survives_kills($engine, &[$($flag),*]);
        }
    };
}

survives!(log_survives_kills, "log");
survives!(log_without_sync_survives_kills, "log", "--sync", "none");
#[cfg(feature = "lmdb")]
survives!(lmdb_survives_kills, "lmdb");
#[cfg(feature = "lmdb")]
survives!(lmdb_without_sync_survives_kills, "lmdb", "--sync", "none");
#[cfg(feature = "rocksdb")]
survives!(rocksdb_survives_kills, "rocksdb");
#[cfg(feature = "rocksdb")]
survives!(rocksdb_without_sync_survives_kills, "rocksdb", "--sync", "none");
#[cfg(feature = "bdb")]
survives!(bdb_survives_kills, "bdb");
#[cfg(feature = "sqlite")]
survives!(sqlite_survives_kills, "sqlite");
#[cfg(feature = "sqlite")]
survives!(sqlite_without_sync_survives_kills, "sqlite", "--sync", "none");
#[cfg(feature = "redb")]
survives!(redb_survives_kills, "redb");
#[cfg(feature = "fjall")]
survives!(fjall_survives_kills, "fjall");
#[cfg(feature = "fjall")]
survives!(fjall_without_sync_survives_kills, "fjall", "--sync", "none");
#[cfg(feature = "tkrzw")]
survives!(tkrzw_survives_kills, "tkrzw", "--sync", "commit");
#[cfg(feature = "postgres")]
survives!(postgres_survives_kills, "postgres");

#[test]
fn where_no_more_files_may_be_open_it_waits_and_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::start("map", dir.path(), &[]);
    assert!(store.connect().set("a", "1"));
    let pid = store.process.id();
    let limited = Command::new("prlimit").args(["--nofile=24", "--pid", &pid.to_string()]).status();
    assert!(limited.unwrap().success());
    let mut clients: Vec<Client> = (0..60).map(|_| store.connect()).collect();
    let cpu_ticks = || -> u64 {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
        fields[11..13].iter().map(|ticks| ticks.parse::<u64>().unwrap()).sum()
    };
    let before = cpu_ticks();
    std::thread::sleep(Duration::from_secs(1));
    assert!(cpu_ticks() - before < 50, "it spins: half of a second's processor time in a second");
    assert_eq!(clients[0].get("a").as_deref(), Some("1"));
    let mut last = clients.split_off(50);
    drop(clients);
    assert!(last.iter_mut().all(|client| client.get("a").as_deref() == Some("1")));
}

/// Else a test that never kills anything in time would pass.
#[test]
fn what_keeps_nothing_is_found_out() {
    for engine in ["null", "map"] {
        let dir = tempfile::tempdir().unwrap();
        let mut store = Store::start(engine, dir.path(), &[]);
        assert!(store.connect().set("a", "1"));
        drop(store);
        let mut store = Store::start(engine, dir.path(), &[]);
        assert_eq!(store.connect().get("a"), None, "{engine}");
    }
}

#[test]
fn a_store_ends_on_sigterm_without_complaint_and_keeps_its_folder_for_itself_until_then() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::start("log", dir.path(), &[]);
    let mut client = store.connect();
    assert!(client.set("a", "1"));
    let other = Command::new(env!("CARGO_BIN_EXE_store"))
        .args(["--engine", "log", "--port", "0", "--dir"])
        .arg(dir.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&other.stderr).into_owned();
    assert!(!other.status.success() && said.contains("another store has this folder"), "{said}");
    let pid = store.process.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    assert!(store.process.wait().unwrap().success());
    let mut store = Store::start("log", dir.path(), &[]);
    assert_eq!(store.connect().get("a").as_deref(), Some("1"));
}

#[test]
fn what_cannot_be_started_says_why_in_a_sentence() {
    let said = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_store")).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().to_str().unwrap();
    assert_eq!(said(&[]), "store: --engine NAME is missing\n");
    let unknown = said(&["--engine", "nosuch", "--dir", dir]);
    assert!(unknown.starts_with("store: there is no engine nosuch in this build"), "{unknown}");
    let flag = said(&["--engine", "map", "--bnum", "7", "--dir", dir]);
    assert_eq!(flag, "store: the engine map knows no --bnum\n");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let address = said(&["--engine", "map", "--port", &port, "--dir", dir]);
    assert!(address.starts_with("store: can't listen on 127.0.0.1:"), "{address}");
}
