//! A small HTTP/1.1 client for single requests, used to see whether a contender keeps its
//! contract. It is made to complain, not to be fast. What is an answer, it leaves to the
//! load generator's decoder, so that both agree.

use std::net::SocketAddr;
use std::time::Duration;

use load::Stop;
use load::answers::{self, AnswerHead, Decoder};
use sha2::{Digest, Sha256};

use super::in_time::{InTime, Missed};

/// Of a server's words in a complaint.
const SHOWN_CHARS_MAX: usize = 60;
/// The start of a body that is kept: more than is looked at of any once it is whole.
const BODY_KEPT_BYTES_MAX: usize = 1024 * 1024;

/// An answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// Its status.
    pub status: u16,
    /// Whether the server keeps the connection open after it, by what it says.
    pub keep_alive: bool,
    /// Bytes of its status line and headers.
    pub head_bytes: usize,
    /// In which encodings its body came, as the end of a sentence; empty where it came as it is.
    pub encoded: String,
    /// Its headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// Its body, 1 MiB of it at most.
    pub body: Vec<u8>,
    /// Bytes of the whole body.
    pub body_bytes: u64,
    /// SHA-256 of the whole body.
    pub body_sha256: [u8; 32],
    /// All bytes of it, with what chunks add to the body, and interim answers before it.
    pub whole_bytes: usize,
}

impl Answer {
    /// The value of a header, if there is one.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(have, _)| have == name).map(|(_, value)| value.as_str())
    }
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Wrong {
    /// The connection couldn't be made.
    NoConnection(String),
    /// The connection ended before an answer began, in order or not.
    Closed,
    /// The connection broke within an answer or after it: it was reset, or worse. What was
    /// under way on it may be lost.
    Broke(String),
    /// The answer is no HTTP, not complete, or not the one that was due.
    Answer(String),
    /// The answer has another status than the one that was due.
    Status {
        /// Its status.
        seen: u16,
        /// The one that was due, or those that were.
        due: String,
    },
    /// No whole answer came in time.
    TooLate(Duration),
    /// The answer came, and the connection that was to end after it was still open then.
    StaysOpen(Duration),
    /// It was stopped before anything was wrong.
    Stopped,
    /// One of several like it was wrong.
    At {
        /// Which one.
        place: String,
        /// What was wrong with it.
        wrong: Box<Wrong>,
    },
}

impl Wrong {
    /// Whether it is that nothing came in time.
    pub fn is_too_late(&self) -> bool {
        match self {
            Wrong::TooLate(_) => true,
            Wrong::At { wrong, .. } => wrong.is_too_late(),
            _ => false,
        }
    }
}

impl std::fmt::Display for Wrong {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Wrong::NoConnection(why) => write!(f, "no connection: {why}"),
            Wrong::Closed => write!(f, "the connection was closed without an answer"),
            Wrong::Broke(why) => write!(f, "the connection broke: {why}"),
            Wrong::Answer(why) => write!(f, "{why}"),
            Wrong::Status { seen, due } => write!(f, "status {seen} instead of {due}"),
            Wrong::TooLate(after) => write!(f, "no whole answer within {} s", after.as_secs_f64()),
            Wrong::StaysOpen(after) => {
                write!(f, "the connection was still open after {} s", after.as_secs_f64())
            }
            Wrong::Stopped => write!(f, "it was stopped"),
            Wrong::At { place, wrong } => write!(f, "{place}: {wrong}"),
        }
    }
}

/// One connection.
#[derive(Debug)]
pub struct Connection {
    stream: InTime,
    decoder: Decoder,
    /// Bytes received that belong to no answer yet.
    received: Vec<u8>,
}

impl Connection {
    /// Connects. All that happens on the connection has to be over `within` that
    /// time.
    ///
    /// # Errors
    /// Why there is no connection.
    pub fn open(address: SocketAddr, within: Duration) -> Result<Connection, Wrong> {
        Connection::open_until(address, within, &Stop::default())
    }

    /// The same, where `stop` ends all waits on it at once.
    ///
    /// # Errors
    /// Why there is no connection.
    pub fn open_until(
        address: SocketAddr,
        within: Duration,
        stop: &Stop,
    ) -> Result<Connection, Wrong> {
        let stream = InTime::connect(address, within, stop)
            .map_err(|missed| wrong(missed, Wrong::NoConnection))?;
        Ok(Connection { stream, decoder: Decoder::default(), received: Vec::new() })
    }

    /// All that happens on it from here on has the whole time again.
    pub fn begin_anew(&mut self) {
        self.stream.begin_anew();
    }

    /// Sends bytes as they are.
    ///
    /// # Errors
    /// [`Wrong::TooLate`] where the server doesn't take them in time.
    pub fn send(&mut self, bytes: &[u8]) -> Result<(), Wrong> {
        match self.stream.send(bytes) {
            // A server may close while it is sent to; what counts is its answer.
            Ok(()) | Err(Missed::Failed(_)) => Ok(()),
            Err(missed) => Err(wrong(missed, Wrong::Broke)),
        }
    }

    /// Receives the next answer. `to_head`: it is one to a HEAD request, which
    /// has no body whatever its headers say.
    ///
    /// # Errors
    /// Why there is none.
    pub fn receive(&mut self, to_head: bool) -> Result<Answer, Wrong> {
        self.receive_looking(to_head, |_| {})
    }

    /// The same, with a look at its body, piece by piece.
    ///
    /// # Errors
    /// Why there is no answer.
    pub fn receive_looking(
        &mut self,
        to_head: bool,
        mut look: impl FnMut(&[u8]),
    ) -> Result<Answer, Wrong> {
        let mut came = Came::default();
        loop {
            if self.received.is_empty() {
                match (self.more(), self.decoder.has_nothing()) {
                    (Ok(0) | Err(Wrong::Broke(_)), true) => return Err(Wrong::Closed),
                    (Ok(0), false) => {
                        let head = self.decoder.end();
                        return head.map(|head| came.answer(head)).map_err(Wrong::Answer);
                    }
                    (Ok(_), _) => {}
                    (Err(wrong @ Wrong::Broke(_)), false) => {
                        // Who refuses a request without reading all of it resets the
                        // connection, which is the end of a refusal without a length.
                        let refusal = self.decoder.end().ok().filter(|head| head.status >= 400);
                        return refusal.map(|head| came.answer(head)).ok_or(wrong);
                    }
                    (Err(wrong), _) => return Err(wrong),
                }
            }
            let (used, head) = came.take(&mut self.decoder, to_head, &self.received, &mut look)?;
            self.received.drain(..used);
            if let Some(head) = head {
                return Ok(came.answer(head));
            }
        }
    }

    /// Whether the server ends the connection in order now, without a further byte.
    ///
    /// # Errors
    /// What it does instead.
    pub fn is_closed(&mut self) -> Result<(), Wrong> {
        let ended = self.left_over() == 0
            && self.more().map_err(|wrong| match wrong {
                Wrong::TooLate(within) => Wrong::StaysOpen(within),
                other => other,
            })? == 0;
        if ended {
            Ok(())
        } else {
            Err(Wrong::Answer(format!("{} more bytes came after the answer", self.left_over())))
        }
    }

    /// How many bytes wait that belong to no answer.
    pub fn left_over(&self) -> usize {
        self.received.len()
    }

    /// Receives what there is; 0 at the end.
    fn more(&mut self) -> Result<usize, Wrong> {
        let mut piece = [0; 16 * 1024];
        let count =
            self.stream.receive(&mut piece).map_err(|missed| wrong(missed, Wrong::Broke))?;
        self.received.extend_from_slice(&piece[..count]);
        Ok(count)
    }
}

/// What is wrong where a wait on a connection came to nothing.
fn wrong(missed: Missed, failed: fn(String) -> Wrong) -> Wrong {
    match missed {
        Missed::Stopped => Wrong::Stopped,
        Missed::TooLate(within) => Wrong::TooLate(within),
        Missed::Failed(error) => failed(error.to_string()),
    }
}

/// What has come of an answer.
#[derive(Default)]
struct Came {
    body: Vec<u8>,
    body_bytes: u64,
    digest: Sha256,
    whole_bytes: usize,
}

impl Came {
    /// Takes the next bytes: how many are the answer's, and its head if it is whole.
    fn take(
        &mut self,
        decoder: &mut Decoder,
        to_head: bool,
        bytes: &[u8],
        mut look: impl FnMut(&[u8]),
    ) -> Result<(usize, Option<AnswerHead>), Wrong> {
        let read = decoder.feed(to_head, bytes, |piece| {
            let room = BODY_KEPT_BYTES_MAX - self.body.len();
            self.body.extend_from_slice(&piece[..piece.len().min(room)]);
            self.body_bytes += piece.len() as u64;
            self.digest.update(piece);
            look(piece);
        });
        let (used, head) = match read {
            Ok(answers::Read::More) => (bytes.len(), None),
            Ok(answers::Read::Whole { head, used }) => (used, Some(head)),
            Err(why) => return Err(Wrong::Answer(format!("no HTTP answer: {why}"))),
        };
        self.whole_bytes += used;
        Ok((used, head))
    }

    fn answer(self, head: AnswerHead) -> Answer {
        let Came { body, body_bytes, digest, whole_bytes } = self;
        Answer {
            status: head.status,
            keep_alive: head.keep_alive,
            head_bytes: head.bytes.len(),
            encoded: head.encoded(),
            headers: head.headers(),
            body,
            body_bytes,
            body_sha256: digest.finalize().into(),
            whole_bytes,
        }
    }
}

/// The answer that these bytes are, to a HEAD or not, with a look at its body.
pub(crate) fn whole(to_head: bool, bytes: &[u8], look: impl FnMut(&[u8])) -> Result<Answer, Wrong> {
    let (mut came, mut decoder) = (Came::default(), Decoder::default());
    match came.take(&mut decoder, to_head, bytes, look)? {
        (used, Some(head)) if used == bytes.len() => Ok(came.answer(head)),
        (used, Some(_)) => {
            let count = bytes.len() - used;
            Err(Wrong::Answer(format!("{count} more bytes came after the answer")))
        }
        (_, None) => decoder.end().map(|head| came.answer(head)).map_err(Wrong::Answer),
    }
}

/// The start of a server's words.
pub(crate) fn start(text: &str) -> String {
    text.chars().take(SHOWN_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    use rustix::net::sockopt;

    use super::*;

    /// A server that says `words`, one piece at a time, and closes.
    fn answer_of(words: &'static [&'static str], to_head: bool) -> Result<Answer, Wrong> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            for word in words {
                stream.write_all(word.as_bytes()).unwrap();
            }
        });
        let mut connection = Connection::open(address, Duration::from_secs(10)).unwrap();
        let answer = connection.receive(to_head);
        server.join().unwrap();
        answer
    }

    fn complaint(words: &'static [&'static str]) -> String {
        answer_of(words, false).unwrap_err().to_string()
    }

    #[test]
    fn bodies_of_each_framing_are_read_whole() {
        for words in [
            &["HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe", "llo"][..],
            &["HTTP/1.1 200 OK\r\n\r\nhel", "lo"],
            &[
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n",
                "2;x=y\r\nlo\r\n0\r\nTrailer: 1\r\n\r\n",
            ],
        ] {
            let answer = answer_of(words, false).unwrap();
            assert_eq!(answer.body, b"hello", "{words:?}");
            assert_eq!(answer.whole_bytes, words.concat().len(), "{words:?}");
        }
    }

    #[test]
    fn an_answer_to_head_has_no_body() {
        let words = &["HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"];
        assert_eq!(answer_of(words, true).unwrap().body, b"");
    }

    #[test]
    fn each_way_to_go_wrong_has_its_sentence() {
        assert_eq!(complaint(&[]), "the connection was closed without an answer");
        assert_eq!(
            complaint(&["HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort"]),
            "closed within the body, 4 bytes missing"
        );
        assert_eq!(
            complaint(&["HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx"]),
            "no HTTP answer: two values of Content-Length"
        );
        assert!(complaint(&["SSH-2.0-OpenSSH_9\r\n"]).starts_with("no HTTP answer: "));
        assert_eq!(
            complaint(&["HTTP/1.1 200 OK\r\nX: "]),
            "closed within the head, after \"HTTP/1.1 200 OK\\r\\nX: \""
        );
    }

    /// A server that serves each connection so, until the tests end.
    fn server(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let serve = std::sync::Arc::new(serve);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let serve = serve.clone();
                std::thread::spawn(move || serve(stream));
            }
        });
        address
    }

    /// What a server says that ends no line of its chunks for as long as it is heard.
    fn complaint_of_endless(before: &'static str, again: &'static str) -> String {
        let address = server(move |mut stream| {
            let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
            stream.write_all([head, before].concat().as_bytes()).unwrap();
            while stream.write_all(again.as_bytes()).is_ok() {}
        });
        let mut connection = Connection::open(address, Duration::from_secs(60)).unwrap();
        let wrong = connection.receive(false).unwrap_err();
        assert!(connection.left_over() <= 16 * 1024, "{} bytes", connection.left_over());
        wrong.to_string()
    }

    #[test]
    fn chunks_that_go_on_for_ever_without_a_body_are_not_kept() {
        let without_end = |what: &str| format!("no HTTP answer: {what} without end in a chunked");
        let lines = complaint_of_endless("1;", "extension");
        assert!(lines.starts_with(&without_end("a line of a chunk size")), "{lines}");
        for trailers in ["trailer", "Trailer: 1\r\n"] {
            let told = complaint_of_endless("0\r\n", trailers);
            assert!(told.starts_with(&without_end("trailers")), "{told}");
        }
    }

    #[test]
    fn of_a_large_body_all_is_read_and_little_kept() {
        const PIECES: usize = 200;
        let address = server(|mut stream| {
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", PIECES << 14);
            stream.write_all(head.as_bytes()).unwrap();
            for nth in 0..PIECES {
                stream.write_all(&[nth as u8; 1 << 14]).unwrap();
            }
        });
        let mut connection = Connection::open(address, Duration::from_secs(60)).unwrap();
        let mut looked_at = 0;
        let answer = connection.receive_looking(false, |piece| looked_at += piece.len()).unwrap();
        assert_eq!((answer.body_bytes, looked_at), ((PIECES << 14) as u64, PIECES << 14));
        assert_eq!(answer.body.len(), BODY_KEPT_BYTES_MAX);
        let body: Vec<u8> = (0..PIECES).flat_map(|nth| [nth as u8; 1 << 14]).collect();
        assert_eq!(answer.body_sha256, <[u8; 32]>::from(Sha256::digest(body)));
    }

    /// Answers that readers of HTTP are known to take differently.
    const ODD: [&str; 22] = [
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.1 101 Switching\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.1 103 Early Hints\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nContent-Length: 5, 6\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nContent-Length: 05\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nContent-Length: 0x5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, Chunked\r\n\r\n5 ;x\r\nhello\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nhello",
        "HTTP/1.1 200 OK\nContent-Length: 5\n\nhello",
        "HTTP/1.1 200 OK\r\nA: b\r\n c\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.0 200 OK\r\n\r\nhello",
        "HTTP/1.2 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        "\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nA : b\r\n\r\n",
    ];

    /// What is right when it is asked for must be right under load, and the other way round.
    #[test]
    fn an_answer_is_right_to_who_asks_once_if_it_is_right_under_load() {
        let many_headers = "X: y\r\n".repeat(200);
        let many_headers =
            format!("HTTP/1.1 200 OK\r\n{many_headers}Content-Length: 5\r\n\r\nhello");
        let answers = ODD.map(String::from).into_iter().chain([many_headers]);
        for answer in answers {
            for cut in [0, 1, answer.len() / 2, answer.len() - 1] {
                let sent = answer.clone();
                let address = server(move |mut stream| {
                    let _ = stream.read(&mut [0; 4096]);
                    let (one, two) = sent.as_bytes().split_at(cut);
                    let _ = stream.write_all(one);
                    std::thread::sleep(Duration::from_millis(if cut > 0 { 2 } else { 0 }));
                    let _ = stream.write_all(two);
                    let _ = stream.shutdown(std::net::Shutdown::Write);
                    // It must not be reset before it was read.
                    while stream.read(&mut [0; 4096]).is_ok_and(|count| count > 0) {}
                });
                let mut connection = Connection::open(address, Duration::from_secs(60)).unwrap();
                connection.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
                let mut looking = answers::Looking::for_text("hello", false);
                let asked = connection.receive_looking(false, |piece| looking.look(piece));
                let is_right = asked.is_ok_and(|answer| {
                    (200..300).contains(&answer.status) && looking.wrong().is_none()
                });
                let target =
                    load::plan::Target { address, authority: "x".into(), path: "/".into() };
                let mut plan =
                    load::Plan::new(target, vec![load::plan::template::Request::get("/")]);
                plan.until = load::plan::Until::Requests(1);
                plan.keep_alive = false;
                plan.http_mut().unwrap().expect.body = Some("hello".into());
                let seen = load::run(&plan, &Stop::default(), &mut |_| {}).unwrap();
                assert_eq!(is_right, seen.account.good == 1, "cut at {cut}: {answer:?}");
            }
        }
    }

    #[test]
    fn a_connection_that_is_reset_has_not_ended_in_order() {
        let address = server(|mut stream| {
            let _ = stream.read(&mut [0; 4096]);
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").unwrap();
            sockopt::set_socket_linger(&stream, Some(Duration::ZERO)).unwrap();
        });
        let mut connection = Connection::open(address, Duration::from_secs(60)).unwrap();
        connection.send(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
        match connection.receive(false) {
            Ok(_) => assert!(matches!(connection.is_closed(), Err(Wrong::Broke(_)))),
            // It came before the answer was read.
            Err(wrong) => assert_eq!(wrong, Wrong::Closed),
        }
    }

    #[test]
    fn a_reset_ends_a_refusal_without_a_length_and_no_other_answer() {
        let of = |status: u16| {
            let address = server(move |mut stream| {
                let _ = stream.read(&mut [0; 1]);
                let _ = stream.write_all(format!("HTTP/1.1 {status} x\r\n\r\n").as_bytes());
                // What wasn't read makes a reset of the end, once the answer has gone out.
                std::thread::sleep(Duration::from_millis(50));
            });
            let mut connection = Connection::open(address, Duration::from_secs(60)).unwrap();
            connection.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
            connection.receive(false)
        };
        assert_eq!(of(431).unwrap().status, 431);
        assert!(matches!(of(200), Err(Wrong::Broke(_))), "{:?}", of(200));
    }

    #[test]
    fn a_connection_that_stays_open_is_told_from_an_answer_that_is_missing() {
        let address = server(|mut stream| {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
            let _ = stream.read(&mut [0; 4096]);
        });
        let within = Duration::from_millis(200);
        let mut connection = Connection::open(address, within).unwrap();
        connection.receive(false).unwrap();
        assert_eq!(connection.is_closed(), Err(Wrong::StaysOpen(within)));
    }

    /// Else Ctrl-C waits for a server that is silent.
    #[test]
    fn a_wait_ends_at_once_when_it_is_to() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (stop, within) = (Stop::default(), Duration::from_secs(600));
        let address = listener.local_addr().unwrap();
        let mut connection = Connection::open_until(address, within, &stop).unwrap();
        let stopper = stop.clone();
        let waiting = std::thread::spawn(move || connection.receive(false));
        stopper.now();
        assert_eq!(waiting.join().unwrap(), Err(Wrong::Stopped));
        assert!(matches!(
            Connection::open_until(address, within, &stop),
            Ok(_) | Err(Wrong::Stopped)
        ));
    }

    #[test]
    fn a_server_that_never_reads_is_not_sent_to_for_longer_than_allowed() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let within = Duration::from_millis(50);
        let mut connection = Connection::open(listener.local_addr().unwrap(), within).unwrap();
        let more_than_sockets_hold = vec![b'x'; 64 << 20];
        assert_eq!(connection.send(&more_than_sockets_hold), Err(Wrong::TooLate(within)));
    }

    #[test]
    fn a_servers_words_are_cut_in_a_complaint() {
        let length = "9".repeat(10_000);
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n").leak();
        let words: &'static [&'static str] = vec![&*head].leak();
        assert!(complaint(words).len() < 200, "{}", complaint(words));
    }

    #[test]
    fn a_silent_server_is_not_waited_for_longer_than_allowed() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let within = Duration::from_millis(50);
        let mut connection = Connection::open(listener.local_addr().unwrap(), within).unwrap();
        assert_eq!(connection.receive(false).unwrap_err(), Wrong::TooLate(within));
    }
}
