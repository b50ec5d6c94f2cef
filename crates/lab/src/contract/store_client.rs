//! A client for single operations on a store, one after the other: what is asked of it is said
//! beside the load.
//!
//! All that a store says is hostile: lines and values have a longest length, and every operation
//! ends in time.

use std::fmt;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use keeper::text::harmless;

use crate::study::contender::Speaks;

/// The longest line that is read.
const LINE_BYTES_MAX: u64 = 4096;
/// The longest value, and the longest text that a store tells of itself.
const VALUE_BYTES_MAX: usize = 64 << 20;
/// Lines of memcached's answer to `stats`.
const STATS_MAX: usize = 1000;
/// What is shown of bytes that weren't expected.
const SHOWN_MAX: usize = 60;

/// Why an operation gave nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreWrong {
    /// There is no connection, or it ended.
    NoConnection(String),
    /// No whole answer came in this time.
    TooLate(Duration),
    /// The store refused, in these words.
    Refused(String),
    /// The answer isn't what it has to be.
    Answer(String),
}

impl fmt::Display for StoreWrong {
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        match self {
            StoreWrong::NoConnection(why) => write!(to, "no connection: {why}"),
            StoreWrong::TooLate(within) => {
                write!(to, "no whole answer within {} s", within.as_secs_f64())
            }
            StoreWrong::Refused(words) => write!(to, "it refused: {words}"),
            StoreWrong::Answer(what) => what.fmt(to),
        }
    }
}

/// A connection with a store.
#[derive(Debug)]
pub struct StoreClient {
    from: BufReader<InTime>,
    speaks: Speaks,
}

/// A connection of which each operation has to end in time.
#[derive(Debug)]
struct InTime {
    stream: TcpStream,
    within: Duration,
    until: Instant,
}

impl Read for InTime {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        self.stream.read(buffer)
    }
}

impl StoreClient {
    /// Connects. Each operation has to end within this time.
    ///
    /// # Errors
    /// [`StoreWrong::NoConnection`].
    pub fn connect(
        address: SocketAddr,
        speaks: Speaks,
        within: Duration,
    ) -> Result<StoreClient, StoreWrong> {
        let no = |error: io::Error| StoreWrong::NoConnection(error.to_string());
        let stream = TcpStream::connect_timeout(&address, within).map_err(no)?;
        stream.set_nodelay(true).map_err(no)?;
        stream.set_write_timeout(Some(within)).map_err(no)?;
        let from = BufReader::new(InTime { stream, within, until: Instant::now() });
        Ok(StoreClient { from, speaks })
    }

    /// Gives a key a value, which the store may forget after so many seconds; 0 for never.
    ///
    /// # Errors
    /// [`StoreWrong`], if that wasn't acknowledged.
    pub fn set(&mut self, key: &str, value: &[u8], expires_s: u32) -> Result<(), StoreWrong> {
        match self.speaks {
            Speaks::Redis => {
                let seconds = expires_s.to_string();
                let mut words: Vec<&[u8]> = vec![b"SET", key.as_bytes(), value];
                if expires_s > 0 {
                    words.extend([&b"EX"[..], seconds.as_bytes()]);
                }
                self.send(&resp(&words))?;
                let line = self.resp_line()?;
                (line == b"+OK").then_some(()).ok_or_else(|| unexpected("+OK", &line))
            }
            Speaks::Memcached => {
                let head = format!("set {key} 0 {expires_s} {}\r\n", value.len());
                self.send(&[head.as_bytes(), value, b"\r\n"].concat())?;
                let line = self.memcached_line()?;
                (line == b"STORED").then_some(()).ok_or_else(|| unexpected("STORED", &line))
            }
        }
    }

    /// The value of a key; `None` where it has none.
    ///
    /// # Errors
    /// [`StoreWrong`], if the answer was none.
    pub fn get(&mut self, key: &str) -> Result<Option<Vec<u8>>, StoreWrong> {
        match self.speaks {
            Speaks::Redis => {
                self.send(&resp(&[b"GET", key.as_bytes()]))?;
                self.resp_bulk()
            }
            Speaks::Memcached => {
                self.send(format!("get {key}\r\n").as_bytes())?;
                let line = self.memcached_line()?;
                if line == b"END" {
                    return Ok(None);
                }
                let length = of_value(&line, key).ok_or_else(|| unexpected("VALUE", &line))?;
                let value = self.bytes(length)?;
                let end = self.memcached_line()?;
                (end == b"END").then_some(Some(value)).ok_or_else(|| unexpected("END", &end))
            }
        }
    }

    /// Removes a key: whether there was one.
    ///
    /// # Errors
    /// [`StoreWrong`], if the answer was none.
    pub fn delete(&mut self, key: &str) -> Result<bool, StoreWrong> {
        let line = match self.speaks {
            Speaks::Redis => {
                self.send(&resp(&[b"DEL", key.as_bytes()]))?;
                self.resp_line()?
            }
            Speaks::Memcached => {
                self.send(format!("delete {key}\r\n").as_bytes())?;
                self.memcached_line()?
            }
        };
        match &line[..] {
            b":1" | b"DELETED" => Ok(true),
            b":0" | b"NOT_FOUND" => Ok(false),
            other => Err(unexpected("a word on the removal", other)),
        }
    }

    /// How many keys the store says that it has; `None` where it doesn't tell.
    ///
    /// # Errors
    /// [`StoreWrong`], if the answer was none.
    pub fn count(&mut self) -> Result<Option<u64>, StoreWrong> {
        match self.speaks {
            Speaks::Redis => {
                self.send(&resp(&[b"DBSIZE"]))?;
                let line = self.resp_line()?;
                Ok(line.strip_prefix(b":").and_then(number))
            }
            Speaks::Memcached => self.stat("curr_items"),
        }
    }

    /// How many values the store says that it threw away for want of memory; `None` where it
    /// doesn't tell.
    ///
    /// # Errors
    /// [`StoreWrong`], if the answer was none.
    pub fn evictions(&mut self) -> Result<Option<u64>, StoreWrong> {
        match self.speaks {
            Speaks::Redis => {
                self.send(&resp(&[b"INFO", b"stats"]))?;
                let text = self.resp_bulk()?.unwrap_or_default();
                let mut lines = text.split(|&byte| byte == b'\n');
                Ok(lines
                    .find_map(|line| number(line.strip_prefix(b"evicted_keys:")?.trim_ascii_end())))
            }
            Speaks::Memcached => self.stat("evictions"),
        }
    }

    /// Has the store begin a snapshot, or to write its log anew where it keeps one: by which
    /// command, or `None` where it knows neither.
    ///
    /// # Errors
    /// [`StoreWrong`], if the answer was none.
    pub fn begin_snapshot(&mut self) -> Result<Option<&'static str>, StoreWrong> {
        if self.speaks != Speaks::Redis {
            return Ok(None);
        }
        self.send(&resp(&[b"INFO", b"persistence"]))?;
        let text = match self.resp_bulk() {
            Ok(text) => text.unwrap_or_default(),
            Err(StoreWrong::Refused(_)) => return Ok(None),
            Err(wrong) => return Err(wrong),
        };
        let keeps_log =
            text.split(|&byte| byte == b'\n').any(|it| it.trim_ascii_end() == b"aof_enabled:1");
        let command = if keeps_log { "BGREWRITEAOF" } else { "BGSAVE" };
        self.send(&resp(&[command.as_bytes()]))?;
        match self.resp_line() {
            Ok(line) => Ok(line.starts_with(b"+").then_some(command)),
            Err(StoreWrong::Refused(_)) => Ok(None),
            Err(wrong) => Err(wrong),
        }
    }

    /// One of the numbers that memcached tells of itself.
    fn stat(&mut self, name: &str) -> Result<Option<u64>, StoreWrong> {
        self.send(b"stats\r\n")?;
        let mut found = None;
        for _ in 0..STATS_MAX {
            let line = self.memcached_line()?;
            if line == b"END" {
                return Ok(found);
            }
            let mut words = line.split(|&byte| byte == b' ');
            if words.next() != Some(b"STAT") {
                return Err(unexpected("STAT", &line));
            }
            if words.next() == Some(name.as_bytes()) {
                found = words.next().and_then(number);
            }
        }
        Err(StoreWrong::Answer(format!("more than {STATS_MAX} lines of stats")))
    }

    /// Sends a request; its answer has to come in time.
    fn send(&mut self, bytes: &[u8]) -> Result<(), StoreWrong> {
        let within = self.from.get_ref().within;
        self.from.get_mut().until = Instant::now() + within;
        let sent = self.from.get_ref().stream.try_clone().and_then(|mut it| it.write_all(bytes));
        sent.map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &io::Error) -> StoreWrong {
        match error.kind() {
            ErrorKind::TimedOut | ErrorKind::WouldBlock => {
                StoreWrong::TooLate(self.from.get_ref().within)
            }
            _ => StoreWrong::NoConnection(error.to_string()),
        }
    }

    /// The next line, without its end.
    fn line(&mut self) -> Result<Vec<u8>, StoreWrong> {
        let mut line = Vec::new();
        let read = self.from.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line);
        read.map_err(|error| self.failed(&error))?;
        match line.strip_suffix(b"\r\n") {
            Some(whole) => Ok(whole.to_vec()),
            None if line.is_empty() => Err(StoreWrong::NoConnection("the store ended it".into())),
            None => Err(unexpected("a line", &line)),
        }
    }

    /// The next line of RESP, unless it is a refusal.
    fn resp_line(&mut self) -> Result<Vec<u8>, StoreWrong> {
        let line = self.line()?;
        match line.strip_prefix(b"-") {
            Some(words) => Err(StoreWrong::Refused(shown(words))),
            None => Ok(line),
        }
    }

    /// The next line of memcached's, unless it is a refusal.
    fn memcached_line(&mut self) -> Result<Vec<u8>, StoreWrong> {
        let line = self.line()?;
        let is_refusal = line == b"ERROR"
            || [&b"CLIENT_ERROR"[..], b"SERVER_ERROR", b"NOT_STORED"]
                .iter()
                .any(|word| line.starts_with(word));
        if is_refusal { Err(StoreWrong::Refused(shown(&line))) } else { Ok(line) }
    }

    /// A value of RESP; `None` of a null.
    fn resp_bulk(&mut self) -> Result<Option<Vec<u8>>, StoreWrong> {
        let line = self.resp_line()?;
        if line == b"$-1" || line == b"_" {
            return Ok(None);
        }
        let length = line.strip_prefix(b"$").and_then(number);
        let length = length.and_then(|it| usize::try_from(it).ok());
        match length.filter(|&length| length <= VALUE_BYTES_MAX) {
            Some(length) => self.bytes(length).map(Some),
            None => Err(unexpected("a value", &line)),
        }
    }

    /// So many bytes, and the end of a line.
    fn bytes(&mut self, length: usize) -> Result<Vec<u8>, StoreWrong> {
        let mut value = vec![0; length + 2];
        self.from.read_exact(&mut value).map_err(|error| self.failed(&error))?;
        if value.ends_with(b"\r\n") {
            value.truncate(length);
            Ok(value)
        } else {
            Err(StoreWrong::Answer("a value that is longer than its length".into()))
        }
    }
}

/// A command of RESP.
fn resp(words: &[&[u8]]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        bytes.extend(format!("${}\r\n", word.len()).bytes());
        bytes.extend_from_slice(word);
        bytes.extend(b"\r\n");
    }
    bytes
}

/// The length of a value of this key, by memcached's line before it.
fn of_value(line: &[u8], key: &str) -> Option<usize> {
    let words: Vec<&[u8]> = line.split(|&byte| byte == b' ').collect();
    let [b"VALUE", its, _flags, length, ..] = words[..] else { return None };
    let length = usize::try_from(number(length)?).ok()?;
    (its == key.as_bytes() && length <= VALUE_BYTES_MAX).then_some(length)
}

fn number(digits: &[u8]) -> Option<u64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

fn unexpected(expected: &str, line: &[u8]) -> StoreWrong {
    StoreWrong::Answer(format!("instead of {expected}: {}", shown(line)))
}

fn shown(bytes: &[u8]) -> String {
    harmless(&String::from_utf8_lossy(&bytes[..bytes.len().min(SHOWN_MAX)]))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// What comes of an operation, where a store says this whatever it hears.
    fn of<T>(
        speaks: Speaks,
        says: &'static [u8],
        operation: impl FnOnce(&mut StoreClient) -> Result<T, StoreWrong>,
    ) -> Result<T, StoreWrong> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let store = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut heard = [0; 1000];
            let _ = stream.read(&mut heard);
            let _ = stream.write_all(says);
        });
        let mut client = StoreClient::connect(address, speaks, Duration::from_secs(5)).unwrap();
        let came = operation(&mut client);
        drop(client);
        store.join().unwrap();
        came
    }

    #[test]
    fn both_dialects_are_understood() {
        let (redis, memcached) = (Speaks::Redis, Speaks::Memcached);
        let get = |client: &mut StoreClient| client.get("a");
        let value = Ok(Some(b"x\r\ny".to_vec()));
        assert_eq!(of(redis, b"$4\r\nx\r\ny\r\n", get), value);
        assert_eq!(of(memcached, b"VALUE a 0 4\r\nx\r\ny\r\nEND\r\n", get), value);
        assert_eq!(of(redis, b"$-1\r\n", get), Ok(None));
        assert_eq!(of(memcached, b"END\r\n", get), Ok(None));
        let count = |client: &mut StoreClient| client.count();
        assert_eq!(of(redis, b":12\r\n", count), Ok(Some(12)));
        let stats = b"STAT pid 1\r\nSTAT curr_items 12\r\nEND\r\n";
        assert_eq!(of(memcached, stats, count), Ok(Some(12)));
        let evictions = |client: &mut StoreClient| client.evictions();
        assert_eq!(of(redis, b"$18\r\nevicted_keys:345\r\n\r\n", evictions), Ok(Some(345)));
        let snapshot = |client: &mut StoreClient| client.begin_snapshot();
        let begun = b"$15\r\naof_enabled:1\r\n\r\n+Background\r\n";
        assert_eq!(of(redis, begun, snapshot), Ok(Some("BGREWRITEAOF")));
        assert_eq!(of(redis, b"$0\r\n\r\n+Background\r\n", snapshot), Ok(Some("BGSAVE")));
        assert_eq!(of(redis, b"$0\r\n\r\n-ERR unknown command\r\n", snapshot), Ok(None));
    }

    #[test]
    fn refusals_and_hostile_answers_are_told_in_bounded_words() {
        let get = |client: &mut StoreClient| client.get("a");
        let (redis, memcached) = (Speaks::Redis, Speaks::Memcached);
        let refused = |words: &str| Err(StoreWrong::Refused(words.into()));
        assert_eq!(of(redis, b"-LOADING the data\r\n", get), refused("LOADING the data"));
        let full = b"SERVER_ERROR out of memory\r\n";
        assert_eq!(of(memcached, full, get), refused("SERVER_ERROR out of memory"));
        for (speaks, says) in [
            (redis, &b"$99999999999\r\n"[..]),
            (redis, b"$1\r\nxyz"),
            (memcached, b"VALUE b 0 1\r\nx\r\nEND\r\n"),
            (memcached, b"VALUE a 0 99999999999\r\n"),
            (redis, &[b'x'; 5000]),
        ] {
            assert!(matches!(of(speaks, says, get), Err(StoreWrong::Answer(_))), "{says:?}");
        }
        assert!(matches!(of(redis, b"", get), Err(StoreWrong::NoConnection(_))));
    }
}
