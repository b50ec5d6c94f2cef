//! Answers made at random with a known truth, read in every split; and the same
//! answers damaged, which must be read alike in every split.

use proptest::collection::vec;
use proptest::prelude::*;

use super::splits::AskedPages;
use crate::outcome::ErrorKind;
use crate::protocol::splits::{StreamStep, random_cuts};

/// The text that the body of answer `number` must hold.
const EXPECTED: &str = "id={counter}.";

/// How an answer's body is framed.
#[derive(Debug, Clone)]
enum Frame {
    /// With this many spaces and leading zeros in its length.
    Length {
        spaces: usize,
        zeros: usize,
    },
    /// In chunks of these sizes, over and over, each with this extension.
    Chunked {
        sizes: Vec<usize>,
        extension: &'static str,
        trailers: Vec<&'static str>,
    },
    UntilClose,
}

/// What an answer is made from.
#[derive(Debug, Clone)]
struct Answer {
    to_head: bool,
    interim: Vec<&'static str>,
    minor: u8,
    status: u16,
    reason: &'static str,
    headers: Vec<&'static str>,
    connection: Option<&'static str>,
    line_end: &'static str,
    frame: Frame,
    before: String,
    has_text: bool,
    after: Vec<u8>,
}

fn frame() -> impl Strategy<Value = Frame> {
    prop_oneof![
        3 => (0..3usize, 0..3usize).prop_map(|(spaces, zeros)| Frame::Length { spaces, zeros }),
        3 => (
            vec(1..9usize, 1..4),
            prop::sample::select(vec!["", ";a", ";a=b;c=\"d;e\"", " ", " ; a"]),
            vec(prop::sample::select(vec!["A: b", "X-Sum:", "Content-Length: 3"]), 0..3),
        )
            .prop_map(|(sizes, extension, trailers)| Frame::Chunked { sizes, extension, trailers }),
        1 => Just(Frame::UntilClose),
    ]
}

fn answer() -> impl Strategy<Value = Answer> {
    let line = (
        prop_oneof![4 => Just(1u8), 1 => Just(0u8)],
        prop::sample::select(vec![200u16, 200, 200, 201, 204, 205, 299, 300, 304, 404, 500, 999]),
        prop::sample::select(vec![" OK", "", " ", " not at all\tok", " \u{e9}"]),
        prop::sample::select(vec!["\r\n", "\r\n", "\r\n", "\n"]),
    );
    let headers = (
        vec(
            prop::sample::select(vec![
                "Date: Sat, 21 Nov 2026 07:00:00 GMT",
                "X:",
                "Server:\t a ",
                "Content-Lengths: 7",
            ]),
            0..3,
        ),
        prop::option::weighted(
            0.3,
            prop::sample::select(vec![
                "close",
                "keep-alive",
                "Keep-Alive, x",
                "upgrade ,CLOSE",
                ",close, keep-alive",
            ]),
        ),
        vec(
            prop::sample::select(vec![
                "HTTP/1.1 100 Continue\r\n\r\n",
                "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nContent-Length: 9\r\n\r\n",
            ]),
            0..3,
        ),
    );
    let body = (
        frame(),
        "[id=.0-2]{0,6}",
        prop::bool::weighted(0.7),
        prop_oneof![2 => vec(prop::sample::select(b"id=.012\r\n".to_vec()), 0..6), 1 => vec(any::<u8>(), 0..20)],
    );
    (prop::bool::weighted(0.2), line, headers, body).prop_map(
        |(
            to_head,
            (minor, status, reason, line_end),
            (headers, connection, interim),
            (frame, before, has_text, after),
        )| Answer {
            to_head,
            interim,
            minor,
            status,
            reason,
            headers,
            connection,
            line_end,
            frame,
            before,
            has_text,
            after,
        },
    )
}

impl Answer {
    fn is_bodiless(&self) -> bool {
        self.to_head || self.status == 204 || self.status == 304
    }

    fn ends_with_connection(&self) -> bool {
        matches!(self.frame, Frame::UntilClose) && !self.is_bodiless()
    }

    /// HTTP/1.0 has no chunks.
    fn allowed(mut self) -> Answer {
        if self.minor == 0 && matches!(self.frame, Frame::Chunked { .. }) {
            self.frame = Frame::Length { spaces: 1, zeros: 0 };
        }
        self
    }

    fn is_reusable(&self) -> bool {
        let says = |option: &str| {
            let options = self.connection.unwrap_or_default().to_ascii_lowercase();
            options.split(',').any(|one| one.trim() == option)
        };
        !self.ends_with_connection() && !says("close") && (self.minor == 1 || says("keep-alive"))
    }

    fn body(&self, number: usize) -> Vec<u8> {
        let text = if self.has_text { format!("id={number}.") } else { String::new() };
        [self.before.as_bytes(), text.as_bytes(), &self.after].concat()
    }

    fn fault(&self, number: usize, whole: bool) -> Option<ErrorKind> {
        let text = format!("id={number}.").into_bytes();
        let body = if self.is_bodiless() { Vec::new() } else { self.body(number) };
        if !(200..300).contains(&self.status) {
            Some(ErrorKind::WrongStatus)
        } else if self.to_head {
            None
        } else if whole && body != text || !body.windows(text.len()).any(|part| part == text) {
            Some(ErrorKind::WrongBody)
        } else {
            None
        }
    }

    fn write(&self, number: usize, stream: &mut Vec<u8>) {
        let body = self.body(number);
        let line_end = self.line_end;
        let mut head = self.interim.concat();
        head += &format!("HTTP/1.{} {}{}{line_end}", self.minor, self.status, self.reason);
        for header in &self.headers {
            head += &format!("{header}{line_end}");
        }
        if let Some(options) = self.connection {
            head += &format!("cOnnection: {options}{line_end}");
        }
        match &self.frame {
            Frame::Length { spaces, zeros } => {
                let (spaces, zeros) = (" ".repeat(*spaces), "0".repeat(*zeros));
                head += &format!("content-length:{spaces}{zeros}{}{line_end}", body.len());
            }
            Frame::Chunked { .. } => {
                head += &format!("Transfer-Encoding: x, ,{line_end}");
                head += &format!("transfer-encoding:Chunked,{line_end}");
            }
            Frame::UntilClose => {}
        }
        head += line_end;
        stream.extend_from_slice(head.as_bytes());
        if self.is_bodiless() {
            return;
        }
        let Frame::Chunked { sizes, extension, trailers } = &self.frame else {
            stream.extend_from_slice(&body);
            return;
        };
        let mut rest = body.as_slice();
        for &size in sizes.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (chunk, more) = rest.split_at(size.min(rest.len()));
            rest = more;
            stream.extend_from_slice(format!("{:X}{extension}\r\n", chunk.len()).as_bytes());
            stream.extend_from_slice(chunk);
            stream.extend_from_slice(b"\r\n");
        }
        stream.extend_from_slice(format!("00{extension}\r\n").as_bytes());
        for trailer in trailers {
            stream.extend_from_slice(format!("{trailer}\r\n").as_bytes());
        }
        stream.extend_from_slice(b"\r\n");
    }
}

/// Requests, the stream of their answers, and what must come of it.
fn conversation() -> impl Strategy<Value = (AskedPages, Vec<u8>, Vec<StreamStep>)> {
    let answers = vec(answer().prop_map(Answer::allowed), 1..4);
    (answers, any::<bool>(), any::<bool>()).prop_map(|(answers, surplus, whole_body)| {
        let head = answers.iter().map(|answer| answer.to_head).collect();
        let expected = Some(EXPECTED.into());
        let asked = AskedPages { head, expected, whole_body, ..AskedPages::default() };
        let (mut stream, mut truth) = (Vec::new(), Vec::new());
        for (number, answer) in answers.iter().enumerate() {
            answer.write(number, &mut stream);
            truth.push(StreamStep::Answer {
                class: 0,
                end: stream.len(),
                status: answer.status,
                fault: answer.fault(number, whole_body),
                reusable: answer.is_reusable(),
            });
            if answer.ends_with_connection() {
                return (asked, stream, truth);
            }
            if !answer.is_reusable() {
                break;
            }
        }
        // Not the decoder's business: it must leave these bytes alone.
        if surplus {
            stream.extend_from_slice(b"\r\nHTTP/1.1 200 OK\r\n");
        }
        (asked, stream, truth)
    })
}

/// Damage: a byte is changed, put in or taken out, or the stream cut there.
fn damage() -> impl Strategy<Value = Vec<(u8, prop::sample::Index, u8)>> {
    let byte = prop_oneof![prop::sample::select(b"\r\n :;,0159afHT/\t\0-".to_vec()), any::<u8>(),];
    vec((0..4u8, any::<prop::sample::Index>(), byte), 1..4)
}

fn damaged(mut stream: Vec<u8>, damage: &[(u8, prop::sample::Index, u8)]) -> Vec<u8> {
    for &(how, at, byte) in damage {
        if stream.is_empty() {
            break;
        }
        let at = at.index(stream.len());
        match how {
            0 => stream[at] = byte,
            1 => stream.insert(at, byte),
            2 => drop(stream.remove(at)),
            _ => stream.truncate(at),
        }
    }
    stream
}

/// Whether every split gives the same as this reading.
fn every_split_gives(
    asked: &AskedPages,
    stream: &[u8],
    seed: u64,
    truth: &[StreamStep],
) -> Result<(), TestCaseError> {
    let mut reader = asked.reader();
    for cut in 0..=stream.len() {
        prop_assert_eq!(reader.read(stream, [cut]), truth, "cut at {}", cut);
    }
    prop_assert_eq!(reader.read(stream, 0..stream.len()), truth, "byte by byte");
    for longest in [2, 3, 7, 30, 100] {
        let cuts = random_cuts(stream.len(), longest, seed);
        prop_assert_eq!(reader.read(stream, cuts.iter().copied()), truth, "cuts {:?}", &cuts);
    }
    Ok(())
}

proptest! {
    #[test]
    fn answers_are_read_as_they_were_made_in_every_split(
        (asked, stream, truth) in conversation(),
        seed: u64,
    ) {
        every_split_gives(&asked, &stream, seed, &truth)?;
    }

    #[test]
    fn damaged_answers_are_read_alike_in_every_split(
        (asked, stream, _) in conversation(),
        damage in damage(),
        seed: u64,
    ) {
        let stream = damaged(stream, &damage);
        let whole = asked.reader().read(&stream, []);
        every_split_gives(&asked, &stream, seed, &whole)?;
    }
}
