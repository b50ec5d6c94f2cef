//! A small, strict HTTP/1.1 client for single requests, used to see whether a
//! contender keeps its contract. It is made to complain, not to be fast.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

const HEAD_BYTES_MAX: usize = 64 * 1024;
/// Of the line before a chunk, and of a trailer.
const CHUNK_LINE_BYTES_MAX: usize = 16 * 1024;
/// Of a server's words in a complaint.
const SHOWN_CHARS_MAX: usize = 60;
const BODY_BYTES_MAX: usize = 1024 * 1024;

/// An answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// Its status.
    pub status: u16,
    /// Bytes of its status line and headers.
    pub head_bytes: usize,
    /// Its headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// Its body.
    pub body: Vec<u8>,
    /// All bytes of it, with what chunks add to the body.
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
    /// The connection ended before an answer began.
    Closed,
    /// The answer is no HTTP, not complete, or not the one that was due.
    Answer(String),
    /// The answer has another status than the one that was due.
    Status {
        /// Its status.
        seen: u16,
        /// The one that was due.
        due: u16,
    },
    /// Nothing came in time.
    TooLate(Duration),
}

impl std::fmt::Display for Wrong {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Wrong::NoConnection(why) => write!(f, "no connection: {why}"),
            Wrong::Closed => write!(f, "the connection was closed without an answer"),
            Wrong::Answer(why) => write!(f, "{why}"),
            Wrong::Status { seen, due } => write!(f, "status {seen} instead of {due}"),
            Wrong::TooLate(after) => write!(f, "no whole answer within {} s", after.as_secs_f64()),
        }
    }
}

/// One connection.
#[derive(Debug)]
pub struct Connection {
    answers: Answers<Stream>,
}

impl Connection {
    /// Connects. All that happens on the connection has to be over `within` that
    /// time.
    pub fn open(address: SocketAddr, within: Duration) -> Result<Connection, Wrong> {
        let no_connection = |error: std::io::Error| Wrong::NoConnection(error.to_string());
        let deadline = Instant::now() + within;
        let stream = TcpStream::connect_timeout(&address, within).map_err(no_connection)?;
        stream.set_nodelay(true).map_err(no_connection)?;
        let source = Stream { stream, within, deadline };
        Ok(Connection { answers: Answers::new(source) })
    }

    /// Sends bytes as they are.
    pub fn send(&mut self, mut bytes: &[u8]) -> Result<(), Wrong> {
        let to = &mut self.answers.source;
        while !bytes.is_empty() {
            // A server that reads a little at a time must not be sent to for ever.
            let _ = to.stream.set_write_timeout(Some(to.left()?));
            match to.stream.write(bytes) {
                Ok(count) => bytes = &bytes[count..],
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock | ErrorKind::TimedOut => {
                        return Err(Wrong::TooLate(to.within));
                    }
                    ErrorKind::Interrupted => {}
                    // A server may close while it is sent to; what counts is its answer.
                    _ => return Ok(()),
                },
            }
        }
        Ok(())
    }

    /// Receives the next answer. `to_head`: it is one to a HEAD request, which
    /// has no body whatever its headers say.
    pub fn receive(&mut self, to_head: bool) -> Result<Answer, Wrong> {
        self.answers.next(to_head)
    }

    /// Whether the server closes the connection now, without a further byte.
    pub fn is_closed(&mut self) -> Result<(), Wrong> {
        match self.left_over() == 0 && self.answers.more()? == 0 {
            true => Ok(()),
            false => {
                Err(Wrong::Answer(format!("{} more bytes came after the answer", self.left_over())))
            }
        }
    }

    /// How many bytes wait that belong to no answer.
    pub fn left_over(&self) -> usize {
        self.answers.received.len()
    }
}

/// The answer that these bytes are.
pub(crate) fn whole(bytes: &[u8]) -> Result<Answer, Wrong> {
    let mut answers = Answers::new(NoMore);
    answers.received_ever = bytes.len();
    answers.received = bytes.to_vec();
    let answer = answers.next(false)?;
    match answers.received.len() {
        0 => Ok(answer),
        count => Err(Wrong::Answer(format!("{count} more bytes came after the answer"))),
    }
}

/// Where the bytes of answers come from.
trait Source {
    /// Appends what there is; 0 at the end.
    fn more(&mut self, to: &mut Vec<u8>) -> Result<usize, Wrong>;
}

/// A server's, in time.
#[derive(Debug)]
struct Stream {
    stream: TcpStream,
    within: Duration,
    deadline: Instant,
}

impl Stream {
    /// The time left for this connection.
    fn left(&self) -> Result<Duration, Wrong> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        match left.is_zero() {
            true => Err(Wrong::TooLate(self.within)),
            false => Ok(left),
        }
    }
}

impl Source for Stream {
    fn more(&mut self, to: &mut Vec<u8>) -> Result<usize, Wrong> {
        let _ = self.stream.set_read_timeout(Some(self.left()?));
        let mut piece = [0; 16 * 1024];
        match self.stream.read(&mut piece) {
            Ok(count) => {
                to.extend_from_slice(&piece[..count]);
                Ok(count)
            }
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::TimedOut => Err(Wrong::TooLate(self.within)),
                ErrorKind::Interrupted => self.more(to),
                _ => Ok(0),
            },
        }
    }
}

/// Nowhere: all bytes are there.
#[derive(Debug)]
struct NoMore;

impl Source for NoMore {
    fn more(&mut self, _: &mut Vec<u8>) -> Result<usize, Wrong> {
        Ok(0)
    }
}

/// One answer after the other.
#[derive(Debug)]
struct Answers<S> {
    source: S,
    /// Bytes received and not yet used.
    received: Vec<u8>,
    /// How many there were, used ones among them.
    received_ever: usize,
}

impl<S: Source> Answers<S> {
    fn new(source: S) -> Answers<S> {
        Answers { source, received: Vec::new(), received_ever: 0 }
    }

    fn used(&self) -> usize {
        self.received_ever - self.received.len()
    }

    fn next(&mut self, to_head: bool) -> Result<Answer, Wrong> {
        let before = self.used();
        let (head_length, mut answer) = loop {
            if let Some(parsed) = parse_head(&self.received)? {
                break parsed;
            }
            if self.received.len() > HEAD_BYTES_MAX {
                return Err(Wrong::Answer("headers of more than 64 KiB".into()));
            }
            if self.more()? == 0 {
                return Err(match self.received.is_empty() {
                    true => Wrong::Closed,
                    false => Wrong::Answer("the connection ended within the headers".into()),
                });
            }
        };
        self.received.drain(..head_length);
        let has_no_body = to_head || answer.status == 204 || answer.status == 304;
        if !has_no_body {
            answer.body = self.body(&answer)?;
        }
        answer.whole_bytes = self.used() - before;
        Ok(answer)
    }

    fn body(&mut self, answer: &Answer) -> Result<Vec<u8>, Wrong> {
        let chunked = answer
            .header("transfer-encoding")
            .is_some_and(|coding| coding.eq_ignore_ascii_case("chunked"));
        let lengths: Vec<&str> = answer
            .headers
            .iter()
            .filter(|(name, _)| name == "content-length")
            .map(|(_, value)| value.as_str())
            .collect();
        match (&lengths[..], chunked) {
            ([], false) => {
                while self.more()? > 0 {
                    self.check_body_length(self.received.len())?;
                }
                Ok(std::mem::take(&mut self.received))
            }
            ([length], false) => {
                let length = length
                    .parse()
                    .map_err(|_| Wrong::Answer(format!("Content-Length is {:?}", start(length))))?;
                self.check_body_length(length)?;
                self.take(length)
            }
            ([], true) => self.chunks(),
            (_, false) => Err(Wrong::Answer("more than one Content-Length".into())),
            (_, true) => {
                Err(Wrong::Answer("both Content-Length and Transfer-Encoding: chunked".into()))
            }
        }
    }

    fn chunks(&mut self) -> Result<Vec<u8>, Wrong> {
        let mut body = Vec::new();
        loop {
            let (line_length, size) = loop {
                match httparse::parse_chunk_size(&self.received) {
                    Ok(httparse::Status::Complete(parsed)) => break parsed,
                    Ok(httparse::Status::Partial) => self.need_more_of_a_line()?,
                    Err(_) => return Err(Wrong::Answer("a chunk without a size".into())),
                }
            };
            self.received.drain(..line_length);
            if size == 0 {
                self.trailers()?;
                return Ok(body);
            }
            self.check_body_length(body.len().saturating_add(size as usize))?;
            body.extend(self.take(size as usize)?);
            if self.take(2)? != b"\r\n" {
                return Err(Wrong::Answer("a chunk that is longer than its size".into()));
            }
        }
    }

    /// Passes over all up to the empty line.
    fn trailers(&mut self) -> Result<(), Wrong> {
        let mut length = 0;
        loop {
            let end = loop {
                match self.received.windows(2).position(|pair| pair == b"\r\n") {
                    Some(end) => break end,
                    None => self.need_more_of_a_line()?,
                }
            };
            self.received.drain(..end + 2);
            length += end;
            if end == 0 {
                return Ok(());
            }
            if length > HEAD_BYTES_MAX {
                return Err(Wrong::Answer("trailers of more than 64 KiB".into()));
            }
        }
    }

    fn check_body_length(&self, length: usize) -> Result<(), Wrong> {
        match length <= BODY_BYTES_MAX {
            true => Ok(()),
            false => Err(Wrong::Answer("a body of more than 1 MiB".into())),
        }
    }

    fn take(&mut self, count: usize) -> Result<Vec<u8>, Wrong> {
        while self.received.len() < count {
            self.need_more()?;
        }
        Ok(self.received.drain(..count).collect())
    }

    /// More of a line that hasn't ended yet.
    fn need_more_of_a_line(&mut self) -> Result<(), Wrong> {
        match self.received.len() <= CHUNK_LINE_BYTES_MAX {
            true => self.need_more(),
            false => Err(Wrong::Answer("a line of more than 16 KiB among the chunks".into())),
        }
    }

    fn need_more(&mut self) -> Result<(), Wrong> {
        match self.more()? {
            0 => Err(Wrong::Answer("the connection ended within the body".into())),
            _ => Ok(()),
        }
    }

    /// Receives what there is; 0 at the end.
    fn more(&mut self) -> Result<usize, Wrong> {
        let count = self.source.more(&mut self.received)?;
        self.received_ever += count;
        Ok(count)
    }
}

/// The start of a server's words.
pub(crate) fn start(text: &str) -> String {
    text.chars().take(SHOWN_CHARS_MAX).collect()
}

/// Parses the head of an answer, if it is all there: its length and the answer
/// without body.
fn parse_head(bytes: &[u8]) -> Result<Option<(usize, Answer)>, Wrong> {
    let mut headers = [httparse::EMPTY_HEADER; 128];
    let mut response = httparse::Response::new(&mut headers);
    match response.parse(bytes) {
        Ok(httparse::Status::Partial) => Ok(None),
        Ok(httparse::Status::Complete(length)) => Ok(Some((
            length,
            Answer {
                status: response.code.unwrap_or_default(),
                head_bytes: length,
                headers: response
                    .headers
                    .iter()
                    .map(|header| {
                        let value = String::from_utf8_lossy(header.value);
                        (header.name.to_ascii_lowercase(), value.trim().to_string())
                    })
                    .collect(),
                body: Vec::new(),
                whole_bytes: length,
            },
        ))),
        Err(error) => {
            let start = start(&String::from_utf8_lossy(bytes));
            Err(Wrong::Answer(format!("no HTTP answer ({error}): {start:?}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::sync::atomic::{AtomicBool, Ordering};

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
            "the connection ended within the body"
        );
        assert_eq!(
            complaint(&["HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx"]),
            "more than one Content-Length"
        );
        assert_eq!(
            complaint(&[
                "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
            ]),
            "both Content-Length and Transfer-Encoding: chunked"
        );
        assert!(complaint(&["SSH-2.0-OpenSSH_9\r\n"]).starts_with("no HTTP answer"));
        assert_eq!(
            complaint(&["HTTP/1.1 200 OK\r\nContent-Length: 9999999999\r\n\r\n"]),
            "a body of more than 1 MiB"
        );
        assert_eq!(
            complaint(&["HTTP/1.1 200 OK\r\nX: "]),
            "the connection ended within the headers"
        );
    }

    /// What a server says that ends no line of its chunks for as long as it is heard.
    fn complaint_of_endless(before: &'static str, again: &'static str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
            stream.write_all([head, before].concat().as_bytes()).unwrap();
            while stream.write_all(again.as_bytes()).is_ok() {}
        });
        let mut connection = Connection::open(address, Duration::from_secs(60)).unwrap();
        let wrong = connection.receive(false).unwrap_err();
        let kept = connection.left_over();
        assert!(kept <= CHUNK_LINE_BYTES_MAX + 16 * 1024, "{kept} bytes were kept");
        drop(connection);
        server.join().unwrap();
        wrong.to_string()
    }

    #[test]
    fn chunks_that_go_on_for_ever_without_a_body_are_not_kept() {
        let line = "a line of more than 16 KiB among the chunks";
        assert_eq!(complaint_of_endless("1;", "extension"), line);
        assert_eq!(complaint_of_endless("0\r\n", "trailer"), line);
        let trailers = "trailers of more than 64 KiB";
        assert_eq!(complaint_of_endless("0\r\n", "Trailer: 1\r\n"), trailers);
    }

    #[test]
    fn a_server_that_never_reads_is_not_sent_to_for_longer_than_allowed() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let within = Duration::from_millis(50);
        let mut connection = Connection::open(listener.local_addr().unwrap(), within).unwrap();
        let more_than_sockets_hold = vec![b'x'; 64 << 20];
        assert_eq!(connection.send(&more_than_sockets_hold), Err(Wrong::TooLate(within)));
    }

    /// Every write gets on then, and the whole would take many times as long.
    #[test]
    fn a_server_that_reads_a_little_at_a_time_is_not_sent_to_for_longer_than_allowed() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        // Small ones fill at once, and have room again after a few reads.
        sockopt::set_socket_recv_buffer_size(&listener, 16 << 10).unwrap();
        let address = listener.local_addr().unwrap();
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let (mut stream, _) = listener.accept().unwrap();
                while !is_over.load(Ordering::Relaxed) && stream.read(&mut [0; 4096]).unwrap() > 0 {
                    std::thread::sleep(Duration::from_millis(1));
                }
            });
            let within = Duration::from_millis(200);
            let mut connection = Connection::open(address, within).unwrap();
            sockopt::set_socket_send_buffer_size(&connection.answers.source.stream, 16 << 10)
                .unwrap();
            let sent = connection.send(&vec![b'x'; 16 << 20]);
            is_over.store(true, Ordering::Relaxed);
            assert_eq!(sent, Err(Wrong::TooLate(within)));
        });
    }

    #[test]
    fn a_servers_words_are_cut_in_a_complaint() {
        let length = "9".repeat(10_000);
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n").leak();
        let words: &'static [&'static str] = vec![&*head].leak();
        assert!(complaint(words).len() < 100, "{}", complaint(words));
    }

    #[test]
    fn a_silent_server_is_not_waited_for_longer_than_allowed() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let within = Duration::from_millis(50);
        let mut connection = Connection::open(listener.local_addr().unwrap(), within).unwrap();
        assert_eq!(connection.receive(false).unwrap_err(), Wrong::TooLate(within));
    }
}
