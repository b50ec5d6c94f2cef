//! Single answers, for who asks beside the load: what is right there is right under load,
//! because both are read by the same decoder.

use crate::plan::template::Template;
use crate::protocol::http1::head::Heads;
use crate::protocol::http1::hints;
use crate::protocol::http1::reading::{ReadSoFar, Reading};
use crate::work::expected::{Expected, TextSearch};

/// Reads one answer after the other from the bytes of a connection.
#[derive(Debug, Default)]
pub struct Decoder {
    reading: Reading,
    heads: Heads,
}

/// What came of bytes.
#[derive(Debug, PartialEq, Eq)]
pub enum Read {
    /// The answer isn't whole yet; all bytes were used.
    More,
    /// The answer is whole.
    Whole {
        /// Its head.
        head: AnswerHead,
        /// Bytes used; those after them belong to no answer, or to the next.
        used: usize,
    },
}

/// Status line and headers of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerHead {
    /// The status.
    pub status: u16,
    /// Whether the server keeps the connection open.
    pub keep_alive: bool,
    /// All its bytes, from the status line to the empty line. Hostile.
    pub bytes: Vec<u8>,
}

impl Decoder {
    /// Takes bytes, and hands the body on in pieces. `to_head`: the answer is one to a HEAD
    /// request, which has no body whatever its headers say. Interim answers are passed
    /// over; their bytes count as used.
    ///
    /// # Errors
    /// Why this is no answer, for people: bounded and escaped. The connection is of no more
    /// use then.
    pub fn feed(
        &mut self,
        to_head: bool,
        bytes: &[u8],
        piece_of_body: impl FnMut(&[u8]),
    ) -> Result<Read, String> {
        Ok(match self.reading.take(&mut self.heads, to_head, bytes, piece_of_body)? {
            ReadSoFar::More { .. } => Read::More,
            ReadSoFar::Whole { head, used } => Read::Whole { head: self.told(head), used },
        })
    }

    /// The server ended its side: the head of the answer that ends so.
    ///
    /// # Errors
    /// What is missing, for people: bounded and escaped.
    pub fn end(&mut self) -> Result<AnswerHead, String> {
        let head = self.reading.end()?;
        Ok(self.told(head))
    }

    /// Whether nothing of the next answer has come.
    pub fn has_nothing(&self) -> bool {
        self.reading.has_nothing()
    }

    fn told(&self, head: crate::protocol::http1::head::Head) -> AnswerHead {
        let bytes = self.heads.last().to_vec();
        AnswerHead { status: head.status, keep_alive: head.keep_alive, bytes }
    }
}

impl AnswerHead {
    /// In which encodings its body came, as the end of a sentence: bounded and escaped. Empty where
    /// it came as it is.
    pub fn encoded(&self) -> String {
        hints::encoded(&self.bytes).unwrap_or_default()
    }

    /// Its headers, names in lower case.
    pub fn headers(&self) -> Vec<(String, String)> {
        let lines = self.bytes.split(|&byte| byte == b'\n').count();
        let mut headers = vec![httparse::EMPTY_HEADER; lines];
        let mut response = httparse::Response::new(&mut headers);
        response.parse(&self.bytes).expect("these bytes were read as a head before");
        let text = |header: &httparse::Header| {
            let value = String::from_utf8_lossy(header.value).trim().to_string();
            (header.name.to_ascii_lowercase(), value)
        };
        response.headers.iter().map(text).collect()
    }
}

/// Looks in one body for the text that it must hold or be.
#[derive(Debug)]
pub struct Looking {
    expected: Expected,
    search: TextSearch,
}

impl Looking {
    /// For this text as it stands, braces and all. `whole`: the body must be it.
    pub fn for_text(text: &str, whole: bool) -> Looking {
        let expected = Expected::new(Template::literal(text.as_bytes()), whole, 0);
        Looking { expected, search: TextSearch::default() }
    }

    /// Looks through the next piece of the body.
    pub fn look(&mut self, piece: &[u8]) {
        self.expected.look(&mut self.search, piece, 0);
    }

    /// What is wrong with the body, for people: bounded and escaped; `None` if it is as it
    /// must be.
    pub fn wrong(&mut self) -> Option<String> {
        self.expected.wrong(&self.search, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::http1::splits::AskedPages;
    use crate::protocol::splits::StreamStep;

    fn whole(stream: &str) -> (AnswerHead, String) {
        let (mut decoder, mut body) = (Decoder::default(), Vec::new());
        let read = decoder.feed(false, stream.as_bytes(), |piece| body.extend_from_slice(piece));
        let Ok(Read::Whole { head, used }) = read else { panic!("{read:?}") };
        assert_eq!(used, stream.len());
        (head, String::from_utf8(body).unwrap())
    }

    #[test]
    fn of_an_answer_behind_interim_ones_the_head_is_its_own() {
        let hints = "HTTP/1.1 103 Early Hints\r\nDate: never\r\n\r\n";
        let answer = "HTTP/1.1 201 x\r\ndate:  now \r\nTransfer-Encoding: chunked\r\n\r\n";
        let (head, body) = whole(&format!("{hints}{answer}2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\n\r\n"));
        assert_eq!((head.status, head.keep_alive, &*body), (201, true, "hello"));
        assert_eq!(head.bytes, answer.as_bytes());
        let headers = [("date", "now"), ("transfer-encoding", "chunked")];
        assert_eq!(head.headers(), headers.map(|(name, value)| (name.into(), value.into())));
    }

    #[test]
    fn the_encodings_of_a_body_are_told() {
        let encoded = |headers: &str| {
            whole(&format!("HTTP/1.1 200 x\r\n{headers}Content-Length: 0\r\n\r\n")).0.encoded()
        };
        assert_eq!(
            encoded("content-encoding: br\r\n"),
            "; the body is encoded (Content-Encoding: br)"
        );
        assert_eq!(encoded("Content-Encoding: identity\r\n"), "");
        assert_eq!(encoded(""), "");
    }

    #[test]
    fn a_header_is_found_behind_many_others() {
        let many = (0..500).map(|nth| format!("X-{nth}: y\r\n")).collect::<String>();
        let (head, _) =
            whole(&format!("HTTP/1.1 200 x\r\n{many}Date: z\r\nContent-Length: 0\r\n\r\n"));
        assert_eq!(head.headers()[500], ("date".to_string(), "z".to_string()));
    }

    #[test]
    fn braces_of_a_text_that_was_filled_stand_for_themselves() {
        let mut looking = Looking::for_text("{counter}", true);
        looking.look(b"{counter}");
        assert_eq!(looking.wrong(), None);
    }

    /// Where each answer ends, and its status, read in two pieces; `None` for what is no
    /// answer.
    fn asked_once(head: &[bool], stream: &[u8], cut: usize) -> Vec<Option<(usize, u16)>> {
        let (mut decoder, mut answers, mut at) = (Decoder::default(), Vec::new(), 0);
        for end in [cut, stream.len()] {
            while at < end {
                let to_head = head[answers.len()];
                match decoder.feed(to_head, &stream[at..end], |_| {}) {
                    Ok(Read::More) => at = end,
                    Ok(Read::Whole { head: answer, used }) => {
                        at += used;
                        answers.push(Some((at, answer.status)));
                        if !answer.keep_alive || answers.len() == head.len() {
                            return answers;
                        }
                    }
                    Err(_) => {
                        answers.push(None);
                        return answers;
                    }
                }
            }
        }
        answers.push(decoder.end().ok().map(|answer| (stream.len(), answer.status)));
        answers
    }

    #[test]
    fn who_asks_once_reads_what_is_read_under_load_in_every_split() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds/http1_answer");
        for seed in std::fs::read_dir(folder).unwrap() {
            let input = std::fs::read(seed.unwrap().path()).unwrap();
            let [asked, _, stream @ ..] = &input[..] else { panic!("a seed is a whole input") };
            let head: Vec<bool> = (0..4).map(|bit| asked >> bit & 1 == 1).collect();
            let asked = AskedPages { head: head.clone(), ..AskedPages::default() };
            let under_load = asked.reader().read(stream, []).into_iter().map(|step| match step {
                StreamStep::Answer { end, status, .. } => Some((end, status)),
                StreamStep::Broken(_) | StreamStep::Cut(_) => None,
            });
            let under_load: Vec<_> = under_load.collect();
            for cut in 0..=stream.len() {
                let text = String::from_utf8_lossy(stream);
                assert_eq!(asked_once(&head, stream, cut), under_load, "cut at {cut}: {text}");
            }
        }
    }
}
