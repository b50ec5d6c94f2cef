//! A client for single operations on a store, one after the other: what is asked of it is said
//! beside the load.
//!
//! All that a store says is hostile: [`replies`] has its bounds, and every operation ends in time.

use std::fmt;
use std::io::{self, BufReader, ErrorKind, Read};
use std::net::SocketAddr;
use std::time::Duration;

use keeper::text::harmless;
use load::Stop;
use load::replies::{self, StoreAsk, StoreReply};

use super::in_time::InTime;
use crate::study::contender::Speaks;

/// Lines of memcached's answer to `stats`.
const STATS_MAX: usize = 1000;
/// The largest count that is one: what JSON holds without loss (RFC 8259, 6).
const COUNT_MAX: u64 = 1 << 53;
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
    within: Duration,
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
        let stream = InTime::connect(address, within, &Stop::default())
            .map_err(|missed| StoreWrong::NoConnection(io::Error::from(missed).to_string()))?;
        Ok(StoreClient { from: BufReader::new(stream), speaks, within })
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
            }
            Speaks::Memcached => {
                let head = format!("set {key} 0 {expires_s} {}\r\n", value.len());
                self.send(&[head.as_bytes(), value, b"\r\n"].concat())?;
            }
        }
        self.reply(StoreAsk::Set).map(|_| ())
    }

    /// The value of a key; `None` where it has none.
    ///
    /// # Errors
    /// [`StoreWrong`], if the answer was none.
    pub fn get(&mut self, key: &str) -> Result<Option<Vec<u8>>, StoreWrong> {
        match self.speaks {
            Speaks::Redis => self.send(&resp(&[b"GET", key.as_bytes()]))?,
            Speaks::Memcached => self.send(format!("get {key}\r\n").as_bytes())?,
        }
        self.reply(StoreAsk::Get(key))
    }

    /// Removes a key: whether there was one.
    ///
    /// # Errors
    /// [`StoreWrong`], if the answer was none.
    pub fn delete(&mut self, key: &str) -> Result<bool, StoreWrong> {
        match self.speaks {
            Speaks::Redis => self.send(&resp(&[b"DEL", key.as_bytes()]))?,
            Speaks::Memcached => self.send(format!("delete {key}\r\n").as_bytes())?,
        }
        Ok(self.reply(StoreAsk::Delete)?.is_some())
    }

    /// How many keys the store says that it has; `None` where it doesn't tell.
    ///
    /// # Errors
    /// [`StoreWrong`], if the answer was none, or no count.
    pub fn count(&mut self) -> Result<Option<u64>, StoreWrong> {
        match self.speaks {
            Speaks::Redis => {
                self.send(&resp(&[b"DBSIZE"]))?;
                let line = self.line()?;
                count(line.strip_prefix(b":"), "DBSIZE", &line).map(Some)
            }
            Speaks::Memcached => self.stat("curr_items"),
        }
    }

    /// How many values the store says that it threw away for want of memory; `None` where it
    /// doesn't tell.
    ///
    /// # Errors
    /// [`StoreWrong`], if the answer was none, or no count.
    pub fn evictions(&mut self) -> Result<Option<u64>, StoreWrong> {
        match self.speaks {
            Speaks::Redis => {
                let text = self.info("stats")?;
                let mut lines = text.split(|&byte| byte == b'\n');
                let told = lines.find_map(|line| line.strip_prefix(b"evicted_keys:"));
                let told = told.map(<[u8]>::trim_ascii_end);
                told.map(|digits| count(Some(digits), "INFO (evicted_keys)", digits)).transpose()
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
        let text = match self.info("persistence") {
            Ok(text) => text,
            Err(StoreWrong::Refused(_)) => return Ok(None),
            Err(wrong) => return Err(wrong),
        };
        let keeps_log =
            text.split(|&byte| byte == b'\n').any(|it| it.trim_ascii_end() == b"aof_enabled:1");
        let command = if keeps_log { "BGREWRITEAOF" } else { "BGSAVE" };
        self.send(&resp(&[command.as_bytes()]))?;
        match self.line() {
            Ok(line) => Ok(line.starts_with(b"+").then_some(command)),
            Err(StoreWrong::Refused(_)) => Ok(None),
            Err(wrong) => Err(wrong),
        }
    }

    /// What a store that speaks RESP tells of itself.
    fn info(&mut self, of: &str) -> Result<Vec<u8>, StoreWrong> {
        self.send(&resp(&[b"INFO", of.as_bytes()]))?;
        Ok(self.reply(StoreAsk::Get(""))?.unwrap_or_default())
    }

    /// One of the numbers that memcached tells of itself.
    fn stat(&mut self, name: &str) -> Result<Option<u64>, StoreWrong> {
        self.send(b"stats\r\n")?;
        let mut found = None;
        for _ in 0..STATS_MAX {
            let line = self.line()?;
            if line == b"END" {
                return Ok(found);
            }
            let mut words = line.split(|&byte| byte == b' ');
            if words.next() != Some(b"STAT") {
                return Err(StoreWrong::Answer(format!("no answer to stats: {}", shown(&line))));
            }
            if words.next() == Some(name.as_bytes()) {
                found = Some(count(words.next(), &format!("stats ({name})"), &line)?);
            }
        }
        Err(StoreWrong::Answer(format!("more than {STATS_MAX} lines of stats")))
    }

    /// Sends a request; its answer has to come in time.
    fn send(&mut self, bytes: &[u8]) -> Result<(), StoreWrong> {
        let stream = self.from.get_mut();
        stream.begin_anew();
        stream.send(bytes).map_err(|missed| self.failed(&missed.into()))
    }

    fn failed(&self, error: &io::Error) -> StoreWrong {
        match error.kind() {
            ErrorKind::TimedOut => StoreWrong::TooLate(self.within),
            _ => StoreWrong::NoConnection(error.to_string()),
        }
    }

    fn line(&mut self) -> Result<Vec<u8>, StoreWrong> {
        Ok(self.reply(StoreAsk::Line)?.unwrap_or_default())
    }

    /// What the next reply gives; `None` where there is no such key. No byte behind it is read.
    fn reply(&mut self, asked: StoreAsk) -> Result<Option<Vec<u8>>, StoreWrong> {
        let dialect = self.speaks.dialect();
        let mut bytes = Vec::new();
        loop {
            match replies::read(&dialect, asked, &bytes).map_err(StoreWrong::Answer)? {
                replies::ReplyRead::Whole { reply, .. } => {
                    return match reply {
                        StoreReply::Done(what) => Ok(Some(what)),
                        StoreReply::Nothing => Ok(None),
                        StoreReply::Refused(words) => Err(StoreWrong::Refused(shown(&words))),
                    };
                }
                replies::ReplyRead::More(missing) => {
                    let due = bytes.len() + missing;
                    let read = self.from.by_ref().take(missing as u64).read_to_end(&mut bytes);
                    read.map_err(|error| self.failed(&error))?;
                    if bytes.len() < due {
                        return Err(StoreWrong::NoConnection("the store ended it".into()));
                    }
                }
            }
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

/// A count that a store tells, which these digits are to be, in its answer to what was asked.
///
/// # Errors
/// That it is none: that this was said in its place.
fn count(digits: Option<&[u8]>, asked: &str, said: &[u8]) -> Result<u64, StoreWrong> {
    let number = digits.and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
    number.filter(|&count| count <= COUNT_MAX).ok_or_else(|| {
        StoreWrong::Answer(format!("its answer to {asked} is no count: {}", shown(said)))
    })
}

fn shown(bytes: &[u8]) -> String {
    harmless(&String::from_utf8_lossy(&bytes[..bytes.len().min(SHOWN_MAX)]))
}

#[cfg(test)]
mod tests {
    use std::io::Write;
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

    /// Else a store that tells nothing of its keys, or anything, passes for one that kept them.
    #[test]
    fn what_is_no_count_is_told_in_its_place() {
        let count = |client: &mut StoreClient| client.count();
        let evictions = |client: &mut StoreClient| client.evictions();
        let no_count = |asked: &str, said: &str| {
            Err(StoreWrong::Answer(format!("its answer to {asked} is no count: {said}")))
        };
        let (redis, memcached) = (Speaks::Redis, Speaks::Memcached);
        for (says, shown) in [
            (&b"+many\r\n"[..], "+many"),
            (b":-1\r\n", ":-1"),
            (b":many\r\n", ":many"),
            (b":9007199254740993\r\n", ":9007199254740993"),
            (b":99999999999999999999\r\n", ":99999999999999999999"),
            (b"$2\r\n12\r\n", "$2"),
        ] {
            assert_eq!(of(redis, says, count), no_count("DBSIZE", shown));
        }
        let info = b"$15\r\nevicted_keys:-5\r\n";
        assert_eq!(of(redis, info, evictions), no_count("INFO (evicted_keys)", "-5"));
        let stats = b"STAT curr_items x\r\nEND\r\n";
        let said = no_count("stats (curr_items)", "STAT curr_items x");
        assert_eq!(of(memcached, stats, count), said);
        let unknown = of(redis, b"-ERR unknown command\r\n", count);
        assert!(matches!(unknown, Err(StoreWrong::Refused(_))), "it doesn't tell: {unknown:?}");
        assert_eq!(of(redis, b"$7\r\nother:1\r\n", evictions), Ok(None));
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

    /// Else a store that hangs would hold a check for ever.
    #[test]
    fn a_silent_store_is_not_waited_for_longer_than_allowed() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, within) = (listener.local_addr().unwrap(), Duration::from_millis(50));
        let mut client = StoreClient::connect(address, Speaks::Redis, within).unwrap();
        assert_eq!(client.get("a"), Err(StoreWrong::TooLate(within)));
    }
}
