//! Asks a contender for one thing after the other.

use std::cell::Cell;
use std::net::SocketAddr;
use std::time::{Duration, Instant, SystemTime};

use load::Stop;
use load::plan::template::{Request, filled};
use load::requests;
use result::evidence::DATE_STEP;

use super::right::{date, expect_one, expect_status, expected, right, shown, wrong};
use super::unfit::Unfit;
use crate::contract::http_client::{Answer, Connection, Wrong};
use crate::study::HttpContract;

/// Time for all that happens on one connection.
const WITHIN: Duration = Duration::from_secs(5);

/// Time for all steps together: a right answer a second is slow, and is in time.
pub(super) const WHOLE_WITHIN: Duration = Duration::from_secs(60);

/// Asks for the connection's end after the answer.
pub(super) const CLOSE: &str = "Connection: close\r\n";

/// What a client may say besides, in another case, without a value, or at length.
const MORE_HEADERS: &str = "User-Agent: bakeoff (asks whether a contract is kept)\r\n\
    ACCEPT: text/plain, text/html;q=0.9, */*;q=0.8\r\nX-Empty:\r\n\
    accept-language: en, de;q=0.7\r\nConnection: close\r\n";

/// Requests in two pieces that are under way at once: fewer than the shortest listen queues
/// that servers are used to ask for (50).
const CUT_AT_ONCE: usize = 32;

/// The most places at which a request is cut.
pub(super) const CUTS_MAX: usize = 256;

/// So much of a request is sent in single bytes: all of one without a long body.
const SINGLE_BYTES_MAX: usize = 16 << 10;

/// Between the two pieces: a server that isn't kept waiting for a processor has read the
/// first one by then.
const CUT_PAUSE: Duration = Duration::from_millis(10);

/// The fewest requests that a connection has to carry.
pub(super) const KEPT_MIN: usize = 3;

/// The first of a contract's requests that is a GET without a body: it may be asked often, and
/// what presupposes a GET is asked with it.
pub(super) fn first_get(contract: &HttpContract) -> Option<usize> {
    contract.requests.iter().position(|it| it.method == "GET" && it.body.is_empty())
}

/// How many requests a connection has to carry: each at least once.
pub(super) fn kept_requests(contract: &HttpContract) -> usize {
    contract.requests.len().max(KEPT_MIN)
}

/// Whoever asks, of a contender at this address.
pub(super) struct Asker<'a> {
    address: SocketAddr,
    contract: &'a HttpContract,
    stop: &'a Stop,
    /// When all has to be over.
    pub(super) deadline: Instant,
    /// Of the nonces.
    seed: u64,
    /// Requests so far.
    asked: Cell<u64>,
}

/// A request of the contract's own, as the load generator sends it.
pub(super) struct Own {
    /// Which of them, from 0.
    nth: usize,
    pub(super) bytes: Vec<u8>,
    /// What the answer's body has to hold.
    pub(super) text: String,
}

impl<'a> Asker<'a> {
    pub(super) fn new(
        address: SocketAddr,
        contract: &'a HttpContract,
        stop: &'a Stop,
    ) -> Asker<'a> {
        let (deadline, seed) = (Instant::now() + WHOLE_WITHIN, fastrand::u64(..));
        Asker { address, contract, stop, deadline, seed, asked: Cell::new(0) }
    }

    pub(super) fn open(&self) -> Result<Connection, Wrong> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Wrong::TooLate(WHOLE_WITHIN));
        }
        Connection::open_until(self.address, left.min(WITHIN), self.stop)
    }

    pub(super) fn request(&self, method: &str, path: &str, more: &str) -> Vec<u8> {
        format!("{method} {path} HTTP/1.1\r\nHost: {}\r\n{more}\r\n", self.address).into_bytes()
    }

    /// The number of the next request.
    pub(super) fn number(&self) -> u64 {
        self.asked.replace(self.asked.get() + 1)
    }

    /// The request that is asked where one is enough: a GET, if there is one.
    pub(super) fn get_or_first(&self) -> usize {
        first_get(self.contract).unwrap_or(0)
    }

    /// One of the contract's requests, with more headers.
    pub(super) fn own(&self, nth: usize, more: &str) -> Own {
        let request = &self.contract.requests[nth];
        let number = self.number();
        let mut bytes = requests::bytes(request, &self.address.to_string(), number, self.seed);
        let head_end = bytes.windows(4).position(|it| it == b"\r\n\r\n").expect("it has a head");
        bytes.splice(head_end + 2..head_end + 2, more.bytes());
        let text = expected(request).body.as_deref().unwrap_or_default();
        Own { nth, bytes, text: filled(text, number, self.seed) }
    }

    /// Receives the answer to a request of the contract's own.
    pub(super) fn receive(&self, connection: &mut Connection, own: &Own) -> Result<Answer, Wrong> {
        let request = &self.contract.requests[own.nth];
        right(request, &own.text, |looking| {
            connection.receive_looking(request.method == "HEAD", |piece| looking.look(piece))
        })
    }

    /// The answer to a request of the contract's own with more headers.
    pub(super) fn right_answer(&self, nth: usize, more: &str) -> Result<Answer, Wrong> {
        let own = self.own(nth, more);
        let mut connection = self.open()?;
        connection.send(&own.bytes)?;
        self.receive(&mut connection, &own)
    }

    pub(super) fn kept(&self) -> Result<String, Wrong> {
        let mut connection = self.open()?;
        let count = kept_requests(self.contract);
        for nth in 0..count {
            let own = self.own(nth % self.contract.requests.len(), "");
            connection.send(&own.bytes)?;
            self.receive(&mut connection, &own)?;
        }
        match connection.left_over() {
            0 if count == KEPT_MIN => Ok("three right answers, and no byte more".into()),
            0 => Ok(format!("{count} right answers, and no byte more")),
            count => wrong(format!("{count} bytes came that belong to no answer")),
        }
    }

    pub(super) fn fresh(&self, nth: usize) -> Result<String, Wrong> {
        let own = self.own(nth, "");
        let mut answers = Vec::new();
        for _ in 0..2 {
            let mut connection = self.open()?;
            connection.send(&own.bytes)?;
            answers.push(self.receive(&mut connection, &own)?);
        }
        if answers[0].body_sha256 != answers[1].body_sha256 {
            Ok(format!("the second time {}", shown(&answers[1])))
        } else {
            wrong(format!("two answers were the same: {}", shown(&answers[0])))
        }
    }

    pub(super) fn single_bytes(&self) -> Result<String, Wrong> {
        let own = self.own(self.get_or_first(), "");
        let (single, rest) = own.bytes.split_at(own.bytes.len().min(SINGLE_BYTES_MAX));
        let mut connection = self.open()?;
        for byte in single {
            connection.send(&[*byte])?;
            std::thread::sleep(Duration::from_micros(20));
        }
        connection.send(rest)?;
        Ok(shown(&self.receive(&mut connection, &own)?))
    }

    pub(super) fn two_pieces(&self, get: usize) -> Result<String, Wrong> {
        let mut count = 0;
        for more in [CLOSE, MORE_HEADERS] {
            let cuts = cuts(self.own(get, more).bytes.len());
            for cuts in cuts.chunks(CUT_AT_ONCE) {
                self.cut_at(get, cuts, more)?;
            }
            count += cuts.len();
        }
        Ok(format!("{count} right answers"))
    }

    /// Sends a request for each of these places, cut there, all of them at once.
    pub(super) fn cut_at(&self, get: usize, cuts: &[usize], more: &str) -> Result<(), Wrong> {
        let mut under_way = Vec::new();
        for &cut in cuts {
            let own = self.own(get, more);
            let at = |wrong| Wrong::At {
                place: format!("cut behind byte {cut} of {}", own.bytes.len()),
                wrong: Box::new(wrong),
            };
            let mut connection = self.open().map_err(at)?;
            connection.send(&own.bytes[..cut]).map_err(at)?;
            under_way.push((cut, own, connection));
        }
        std::thread::sleep(CUT_PAUSE);
        for (cut, own, connection) in &mut under_way {
            connection.send(&own.bytes[*cut..])?;
        }
        for (cut, own, mut connection) in under_way {
            self.receive(&mut connection, &own).map_err(|wrong| Wrong::At {
                place: format!("cut behind byte {cut} of {}", own.bytes.len()),
                wrong: Box::new(wrong),
            })?;
        }
        Ok(())
    }

    pub(super) fn pipelined_pair(&self, get: usize) -> Result<String, Wrong> {
        let (first, second) = (self.own(get, ""), self.own(get, ""));
        let mut connection = self.open()?;
        connection.send(&[&first.bytes[..], &second.bytes].concat())?;
        self.receive(&mut connection, &first)?;
        self.receive(&mut connection, &second)?;
        Ok(if first.text != second.text {
            "the first one's text, then the second one's".into()
        } else {
            "two right answers".into()
        })
    }

    pub(super) fn close(&self) -> Result<String, Wrong> {
        let own = self.own(self.get_or_first(), CLOSE);
        let mut connection = self.open()?;
        connection.send(&own.bytes)?;
        self.receive(&mut connection, &own)?;
        connection.is_closed()?;
        Ok("a right answer, then the end".into())
    }

    pub(super) fn head(&self, get: usize) -> Result<String, Wrong> {
        let mut connection = self.open()?;
        let mut bytes = self.own(get, CLOSE).bytes;
        bytes.splice(.."GET".len(), *b"HEAD");
        connection.send(&bytes)?;
        let answer = connection.receive(true)?;
        expect_status(&answer, &expected(&self.contract.requests[get]).statuses)?;
        connection.is_closed()?;
        Ok(format!("status {}, then the end", answer.status))
    }

    pub(super) fn refused(&self, method: &str, path: &str, status: u16) -> Result<String, Wrong> {
        let mut connection = self.open()?;
        let more = match method {
            "GET" | "HEAD" => CLOSE,
            _ => "Content-Length: 0\r\nConnection: close\r\n",
        };
        connection.send(&self.request(method, path, more))?;
        expect_one(&connection.receive(method == "HEAD")?, status)?;
        Ok(format!("status {status}"))
    }

    pub(super) fn garbage(&self) -> Result<String, Wrong> {
        let mut connection = self.open()?;
        connection.send(b"\x16\x03\x01\x02 not a request\r\n\r\n")?;
        match connection.receive(false) {
            // A lenient parser may take it for a request of a page that isn't there.
            // What matters is that it serves nothing and reads no further.
            Ok(answer) if answer.status > 400 => match connection.is_closed() {
                // That it didn't read all of what it refused resets the connection.
                Ok(()) | Err(Wrong::Broke(_)) => {
                    Ok(format!("status {}, then the end", answer.status))
                }
                Err(wrong) => Err(wrong),
            },
            Ok(answer) => expect_one(&answer, 400).map(|()| "status 400".into()),
            Err(Wrong::Closed | Wrong::Broke(_)) => Ok("the end of the connection".into()),
            Err(wrong) => Err(wrong),
        }
    }

    /// The answer to a request that is nearly the one of the contract, with its own headers but
    /// for Host; `None` where the connection ends.
    pub(super) fn nearly_right(&self, get: usize, unfit: &Unfit) -> Result<Option<Answer>, Wrong> {
        let address = self.address.to_string();
        let [version, headers] =
            [unfit.version, unfit.headers].map(|text| text.replace("HOST", &address));
        let Request { path, headers: own, .. } = &self.contract.requests[get];
        let own = own.iter().filter(|(name, _)| !name.eq_ignore_ascii_case("host"));
        let own: String = own.map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let [path, own] = [path, &own].map(|text| filled(text, self.number(), self.seed));
        let request = format!("GET {path} {version}\r\n{own}{headers}\r\n");
        let mut connection = self.open()?;
        connection.send(request.as_bytes())?;
        match connection.receive(false) {
            Ok(answer) => Ok(Some(answer)),
            Err(Wrong::Closed | Wrong::Broke(_)) => Ok(None),
            Err(wrong) => Err(wrong),
        }
    }

    pub(super) fn unfit(&self, get: usize, unfit: &Unfit) -> Result<String, Wrong> {
        match self.nearly_right(get, unfit)? {
            None => Ok("the end of the connection".into()),
            Some(answer) if answer.status >= 400 => Ok(format!("status {}", answer.status)),
            Some(answer) => wrong(format!("{}; {}", shown(&answer), unfit.rule)),
        }
    }

    pub(super) fn odd(&self, get: usize, odd: &Unfit) -> Result<String, Wrong> {
        match self.nearly_right(get, odd) {
            Ok(Some(answer)) if answer.status < 400 => {
                Ok(format!("it takes the request; {}", odd.rule))
            }
            Ok(Some(answer)) => Ok(format!("it refuses with status {}", answer.status)),
            Ok(None) => Ok("it ends the connection".into()),
            Err(Wrong::Stopped) => Err(Wrong::Stopped),
            Err(wrong) => Ok(wrong.to_string()),
        }
    }

    pub(super) fn date(&self) -> Result<(String, SystemTime), Wrong> {
        date(&self.right_answer(self.get_or_first(), "")?, SystemTime::now())
    }

    pub(super) fn date_advances(&self) -> Result<String, Wrong> {
        let (first, before) = self.date()?;
        let until = Instant::now() + DATE_STEP;
        loop {
            if self.stop.asked() {
                return Err(Wrong::Stopped);
            }
            std::thread::sleep(DATE_STEP / 40);
            let is_last = Instant::now() >= until;
            let (second, after) = self.date()?;
            if after > before {
                return Ok(format!("{first}, then {second}"));
            }
            if is_last {
                return wrong(format!("the same Date after {} s", DATE_STEP.as_secs_f64()));
            }
        }
    }
}

/// Where a request of so many bytes is cut in two: behind each byte but the last, or of a
/// long one at its start and its end.
pub(super) fn cuts(length: usize) -> Vec<usize> {
    let all = 1..length;
    let (start, end) = (1 + CUTS_MAX / 2, length.saturating_sub(CUTS_MAX / 2));
    all.filter(|&cut| cut < start || cut >= end).collect()
}
