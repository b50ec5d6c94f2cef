//! Whether a contender does the job: the steps that it has to pass before a
//! figure of its speed means anything.

use std::net::SocketAddr;
use std::time::{Duration, SystemTime};

use load::outcome::SampledAnswer;
use result::evidence::{AnswerSize, ContractStep};

use crate::http::{Answer, Connection, Wrong, start, whole};
use crate::study::Contract;

/// Time for all that happens on one connection.
const WITHIN: Duration = Duration::from_secs(5);
/// How far a Date header may be off: a server may make it once a second.
const DATE_OFF_MAX: Duration = Duration::from_secs(3);
/// Two Dates this far apart must differ.
pub(crate) const DATE_STEP: Duration = Duration::from_millis(2_200);
/// What is asked where the Date is looked at once; what is seen is the Date.
pub(crate) const SAYS_DATE: &str = "says the right Date";

/// What is asked where two answers to the same must differ.
const IS_FRESH: &str = "makes a part of every answer anew";

/// Asks for the connection's end after the answer.
const CLOSE: &str = "Connection: close\r\n";

/// How much time the check may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Milliseconds: before each trial.
    Quick,
    /// Seconds: what needs waiting as well.
    Thorough,
}

/// Asks for the contract's own request once, and says what is wrong with the
/// answer.
pub fn ask_once(address: SocketAddr, contract: &Contract) -> Result<(), Wrong> {
    Asker { address, contract }.right_answer().map(|_| ())
}

/// The size of one right answer, to a request that keeps its connection or not;
/// `None` if there was none.
pub fn answer_size(
    address: SocketAddr,
    contract: &Contract,
    keep_alive: bool,
) -> Option<AnswerSize> {
    let headers = if keep_alive { "" } else { CLOSE };
    let answer = Asker { address, contract }.right_answer_to(headers).ok()?;
    Some(AnswerSize {
        head_bytes: answer.head_bytes as u64,
        body_bytes: answer.body.len() as u64,
        whole_bytes: Some(answer.whole_bytes as u64),
    })
}

/// Goes through all steps, telling of each. If the first fails, the others have
/// nothing to say, and are left out.
pub fn check(
    address: SocketAddr,
    contract: &Contract,
    depth: Depth,
    mut tell: impl FnMut(&ContractStep),
) -> Vec<ContractStep> {
    let asker = Asker { address, contract };
    let mut steps = Vec::new();
    let mut step = |asked: String, outcome: Result<String, Wrong>| {
        let step = step(asked, outcome);
        tell(&step);
        let right = step.wrong.is_none();
        steps.push(step);
        right
    };
    if !step(answers_right(contract), asker.right_answer().map(|answer| shown(&answer))) {
        return steps;
    }
    step("answers three requests on one connection".into(), asker.keep_alive());
    if contract.fresh {
        step(IS_FRESH.into(), asker.fresh());
    }
    step("takes a request that comes in single bytes".into(), asker.single_bytes());
    step("answers a pipelined pair, in order".into(), asker.pipelined_pair());
    step("closes the connection when asked to".into(), asker.close());
    step("answers HEAD without a body".into(), asker.head());
    for refusal in &contract.refuses {
        let asked = format!("refuses {} with status {}", refusal.what, refusal.status);
        step(asked, asker.refused(&refusal.method, &refusal.path, refusal.status));
    }
    step("refuses garbage with status 400, or closes".into(), asker.garbage());
    match depth {
        Depth::Quick => step(SAYS_DATE.into(), asker.date().map(|(text, _)| text)),
        Depth::Thorough => {
            step("says the right Date, and it advances".into(), asker.date_advances())
        }
    };
    steps
}

/// The steps that a few answers under load can be held to, each with the first that isn't
/// right. Nothing without any.
pub fn under_load(contract: &Contract, sampled: &[SampledAnswer]) -> Vec<ContractStep> {
    if sampled.is_empty() {
        return Vec::new();
    }
    let count = sampled.len();
    let right = |sample: &SampledAnswer| {
        let answer = whole(&sample.bytes)?;
        expect_right(contract, &answer, &sample.expected)?;
        Ok(answer)
    };
    let answers: Vec<Answer> = match sampled.iter().map(right).collect() {
        Ok(answers) => answers,
        Err(wrong) => return vec![step(answers_right(contract), Err(wrong))],
    };
    let last = &answers[count - 1];
    let saw = format!("{count} right answers, the last one {}", shown(last));
    let mut steps = vec![step(answers_right(contract), Ok(saw))];
    if contract.fresh && count > 1 {
        // Each has a nonce of its own, so that it is the rest that has to differ. A small
        // random number may come twice, and the first answers were made before the load
        // was felt.
        let rest = |nth: usize| without(&answers[nth].body, sampled[nth].expected.as_bytes());
        let again = (1..count).filter(|&nth| rest(nth) == rest(nth - 1)).count();
        steps.push(step(
            IS_FRESH.into(),
            match again * 2 >= count - 1 {
                true => wrong(format!(
                    "{again} of {count} answers differ from the one before in nothing but what \
                     they were asked for; the last one {}",
                    shown(last)
                )),
                false => Ok(format!("{count} answers, the last one {}", shown(last))),
            },
        ));
    }
    let date = |nth: usize| date(&answers[nth], SystemTime::UNIX_EPOCH + sampled[nth].at);
    let dates: Result<Vec<_>, Wrong> = (0..count).map(date).collect();
    let seen = dates.map(|dates| dates.last().map_or(String::new(), |(text, _)| text.clone()));
    steps.push(step(SAYS_DATE.into(), seen));
    steps
}

/// These bytes without any that are the same as `part`.
fn without(bytes: &[u8], part: &[u8]) -> Vec<u8> {
    let mut rest = Vec::new();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        if !part.is_empty() && bytes[at..].starts_with(part) {
            at += part.len();
        } else {
            rest.push(*byte);
            at += 1;
        }
    }
    rest
}

/// What is asked first: the contract's own request.
fn answers_right(contract: &Contract) -> String {
    format!("answers {} with status {} and its body", contract.path, contract.status)
}

/// A step with what came of it.
fn step(asked: String, outcome: Result<String, Wrong>) -> ContractStep {
    let (saw, wrong) = match outcome {
        Ok(saw) => (saw, None),
        Err(wrong) => (String::new(), Some(wrong.to_string())),
    };
    ContractStep { asked, saw, wrong }
}

struct Asker<'a> {
    address: SocketAddr,
    contract: &'a Contract,
}

impl Asker<'_> {
    fn open(&self) -> Result<Connection, Wrong> {
        Connection::open(self.address, WITHIN)
    }

    fn request(&self, method: &str, path: &str, more: &str) -> Vec<u8> {
        format!("{method} {path} HTTP/1.1\r\nHost: {}\r\n{more}\r\n", self.address).into_bytes()
    }

    /// The contract's own request with a new nonce.
    fn ask(&self) -> (String, Vec<u8>) {
        let nonce = nonce();
        let request = self.request("GET", &with(&self.contract.path, &nonce), "");
        (nonce, request)
    }

    fn judge(&self, answer: &Answer, nonce: &str) -> Result<(), Wrong> {
        expect_right(self.contract, answer, &with(&self.contract.body, nonce))
    }

    fn right_answer(&self) -> Result<Answer, Wrong> {
        self.right_answer_to("")
    }

    /// The answer to the contract's own request with more headers.
    fn right_answer_to(&self, headers: &str) -> Result<Answer, Wrong> {
        let nonce = nonce();
        let request = self.request("GET", &with(&self.contract.path, &nonce), headers);
        let mut connection = self.open()?;
        connection.send(&request)?;
        let answer = connection.receive(false)?;
        self.judge(&answer, &nonce)?;
        Ok(answer)
    }

    fn keep_alive(&self) -> Result<String, Wrong> {
        let mut connection = self.open()?;
        for _ in 0..3 {
            let (nonce, request) = self.ask();
            connection.send(&request)?;
            self.judge(&connection.receive(false)?, &nonce)?;
        }
        match connection.left_over() {
            0 => Ok("three right answers, and no byte more".into()),
            count => wrong(format!("{count} bytes came that belong to no answer")),
        }
    }

    fn fresh(&self) -> Result<String, Wrong> {
        let (nonce, request) = self.ask();
        let mut answers = Vec::new();
        for _ in 0..2 {
            let mut connection = self.open()?;
            connection.send(&request)?;
            let answer = connection.receive(false)?;
            self.judge(&answer, &nonce)?;
            answers.push(answer);
        }
        match answers[0].body != answers[1].body {
            true => Ok(format!("the second time {}", shown(&answers[1]))),
            false => wrong(format!("two answers were the same: {}", shown(&answers[0]))),
        }
    }

    fn single_bytes(&self) -> Result<String, Wrong> {
        let (nonce, request) = self.ask();
        let mut connection = self.open()?;
        for byte in &request {
            connection.send(&[*byte])?;
            std::thread::sleep(Duration::from_micros(20));
        }
        let answer = connection.receive(false)?;
        self.judge(&answer, &nonce)?;
        Ok(shown(&answer))
    }

    fn pipelined_pair(&self) -> Result<String, Wrong> {
        let (first, mut requests) = self.ask();
        let (second, request) = self.ask();
        requests.extend(request);
        let mut connection = self.open()?;
        connection.send(&requests)?;
        self.judge(&connection.receive(false)?, &first)?;
        self.judge(&connection.receive(false)?, &second)?;
        Ok(match self.contract.body.contains("{nonce}") {
            true => "the first one's nonce, then the second one's".into(),
            false => "two right answers".into(),
        })
    }

    fn close(&self) -> Result<String, Wrong> {
        let nonce = nonce();
        let path = with(&self.contract.path, &nonce);
        let mut connection = self.open()?;
        connection.send(&self.request("GET", &path, CLOSE))?;
        self.judge(&connection.receive(false)?, &nonce)?;
        connection.is_closed()?;
        Ok("a right answer, then the end".into())
    }

    fn head(&self) -> Result<String, Wrong> {
        let path = with(&self.contract.path, &nonce());
        let mut connection = self.open()?;
        connection.send(&self.request("HEAD", &path, CLOSE))?;
        let answer = connection.receive(true)?;
        expect_status(&answer, self.contract.status)?;
        connection.is_closed()?;
        Ok(format!("status {}, then the end", answer.status))
    }

    fn refused(&self, method: &str, path: &str, status: u16) -> Result<String, Wrong> {
        let mut connection = self.open()?;
        let more = match method {
            "GET" | "HEAD" => CLOSE,
            _ => "Content-Length: 0\r\nConnection: close\r\n",
        };
        connection.send(&self.request(method, path, more))?;
        expect_status(&connection.receive(method == "HEAD")?, status)?;
        Ok(format!("status {status}"))
    }

    fn garbage(&self) -> Result<String, Wrong> {
        let mut connection = self.open()?;
        connection.send(b"\x16\x03\x01\x02 not a request\r\n\r\n")?;
        match connection.receive(false) {
            // A lenient parser may take it for a request of a page that isn't there.
            // What matters is that it serves nothing and reads no further.
            Ok(answer) if answer.status > 400 => {
                connection.is_closed()?;
                Ok(format!("status {}, then the end", answer.status))
            }
            Ok(answer) => expect_status(&answer, 400).map(|()| "status 400".into()),
            Err(Wrong::Closed) => Ok("the end of the connection".into()),
            Err(wrong) => Err(wrong),
        }
    }

    fn date(&self) -> Result<(String, SystemTime), Wrong> {
        date(&self.right_answer()?, SystemTime::now())
    }

    fn date_advances(&self) -> Result<String, Wrong> {
        let (first, before) = self.date()?;
        std::thread::sleep(DATE_STEP);
        let (second, after) = self.date()?;
        match after > before {
            true => Ok(format!("{first}, then {second}")),
            false => wrong(format!("the same Date after {} s", DATE_STEP.as_secs_f64())),
        }
    }
}

/// Status and body, which has to hold this text.
fn expect_right(contract: &Contract, answer: &Answer, wanted: &str) -> Result<(), Wrong> {
    expect_status(answer, contract.status)?;
    let holds = answer.body.windows(wanted.len().max(1)).any(|part| part == wanted.as_bytes());
    if !holds {
        return wrong(format!(
            "the body doesn't hold {wanted:?}, which was asked for: {}",
            shown(answer)
        ));
    }
    match answer.body.len() - wanted.len() {
        more @ 1.. if contract.whole_body => wrong(format!(
            "the body has {more} bytes beside {wanted:?}, which has to be all of it: {}",
            shown(answer)
        )),
        _ => Ok(()),
    }
}

/// The Date header as text and as time, of an answer that came at this time.
fn date(answer: &Answer, came: SystemTime) -> Result<(String, SystemTime), Wrong> {
    let Some(text) = answer.header("date") else {
        return wrong("there is no Date header".into());
    };
    let Ok(date) = httpdate::parse_http_date(text) else {
        return wrong(format!("the Date header is no date: {:?}", start(text)));
    };
    let off = came.duration_since(date).or_else(|_| date.duration_since(came));
    match off {
        Ok(off) if off <= DATE_OFF_MAX => Ok((text.into(), date)),
        _ => wrong(format!(
            "the Date header is off by more than {} s: {text}",
            DATE_OFF_MAX.as_secs()
        )),
    }
}

fn expect_status(answer: &Answer, status: u16) -> Result<(), Wrong> {
    match answer.status == status {
        true => Ok(()),
        false => Err(Wrong::Status { seen: answer.status, due: status }),
    }
}

fn wrong<T>(what: String) -> Result<T, Wrong> {
    Err(Wrong::Answer(what))
}

fn with(template: &str, nonce: &str) -> String {
    template.replace("{nonce}", nonce)
}

/// 16 digits, as the load generator makes them.
fn nonce() -> String {
    format!("{:016}", fastrand::u64(..1 << 53))
}

/// An answer for people, bounded.
fn shown(answer: &Answer) -> String {
    let text = String::from_utf8_lossy(&answer.body[..answer.body.len().min(200)]);
    let start: String = text.chars().take(80).collect();
    format!("status {}, {start:?}", answer.status)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::study::Refusal;

    /// One way to break the contract.
    #[derive(Debug, Clone, Copy, PartialEq)]
    enum Fault {
        None,
        OtherStatus,
        OtherBody,
        SameBody,
        AnswersNobodyTwice,
        OneAnswerAConnection,
        OneRequestAPiece,
        AnswersThePairTurned,
        NeverCloses,
        BodyToHead,
        RefusesNothing,
        AcceptsGarbage,
        MissesGarbage,
        MissesGarbageAndCloses,
        NoDate,
        OldDate,
        StandingDate,
    }

    static ANSWERS: AtomicU64 = AtomicU64::new(0);
    /// Whom a server with [`Fault::AnswersNobodyTwice`] has answered.
    static ANSWERED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

    /// A server with this fault, which ends with the tests.
    fn server(fault: Fault) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let began = SystemTime::now();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                std::thread::spawn(move || serve(stream, fault, began));
            }
        });
        address
    }

    fn serve(mut stream: TcpStream, fault: Fault, began: SystemTime) {
        let mut received = String::new();
        let mut piece = [0; 4096];
        while let Ok(length @ 1..) = stream.read(&mut piece) {
            received.push_str(&String::from_utf8_lossy(&piece[..length]));
            if fault == Fault::OneRequestAPiece && !received.ends_with("\r\n\r\n") {
                let _ = stream.write_all(b"HTTP/1.1 400 Bad\r\nContent-Length: 0\r\n\r\n");
                return;
            }
            let mut answers = Vec::new();
            let mut closes = false;
            while let Some(end) = received.find("\r\n\r\n") {
                let request: String = received.drain(..end + 4).collect();
                closes |= request.contains("Connection: close") && fault != Fault::NeverCloses;
                closes |= fault == Fault::OneAnswerAConnection;
                closes |= fault == Fault::MissesGarbageAndCloses && !request.starts_with("GET");
                answers.push(answer(&request, fault, began));
            }
            if fault == Fault::AnswersThePairTurned {
                answers.reverse();
            }
            let sent = stream.write_all(answers.concat().as_bytes());
            if sent.is_err() || closes {
                return;
            }
        }
    }

    fn answer(request: &str, fault: Fault, began: SystemTime) -> String {
        let words: Vec<&str> = request.split(' ').collect();
        let id = words.get(1).and_then(|path| path.strip_prefix("/hello?id="));
        let right = id.is_some() && matches!(words[0], "GET" | "HEAD");
        let is_first = || ANSWERED.lock().unwrap().insert(request.to_string());
        let status = match right {
            true if fault == Fault::OtherStatus => 500,
            true if fault == Fault::AnswersNobodyTwice && !is_first() => 429,
            true => 200,
            false if words[0] == "GET" && fault == Fault::RefusesNothing => 200,
            false if words[0] != "GET" && fault == Fault::AcceptsGarbage => 200,
            false if words[0] != "GET" && fault == Fault::MissesGarbage => 404,
            false if words[0] != "GET" && fault == Fault::MissesGarbageAndCloses => 404,
            false if words[0] == "GET" => 404,
            false => 400,
        };
        let number = match fault {
            Fault::SameBody => 0,
            _ => ANSWERS.fetch_add(1, Ordering::Relaxed),
        };
        let id = if fault == Fault::OtherBody { "1" } else { id.unwrap_or_default() };
        let body = format!("hello {id}, number {number}\n");
        let date = match fault {
            Fault::NoDate => String::new(),
            Fault::OldDate => "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n".into(),
            Fault::StandingDate => format!("Date: {}\r\n", httpdate::fmt_http_date(began)),
            _ => format!("Date: {}\r\n", httpdate::fmt_http_date(SystemTime::now())),
        };
        let head = format!("HTTP/1.1 {status} X\r\n{date}Content-Length: {}\r\n\r\n", body.len());
        match words[0] == "HEAD" && fault != Fault::BodyToHead {
            true => head,
            false => head + &body,
        }
    }

    fn contract() -> Contract {
        Contract {
            says: String::new(),
            path: "/hello?id={nonce}".into(),
            status: 200,
            body: "{nonce}".into(),
            whole_body: false,
            fresh: true,
            refuses: vec![Refusal {
                what: "an unknown path".into(),
                method: "GET".into(),
                path: "/no-such".into(),
                status: 404,
            }],
        }
    }

    /// The steps that a server with this fault fails.
    fn broken(fault: Fault, depth: Depth) -> Vec<String> {
        check(server(fault), &contract(), depth, |_| {})
            .into_iter()
            .filter(|step| step.wrong.is_some())
            .map(|step| step.asked)
            .collect()
    }

    #[test]
    fn a_server_that_keeps_the_contract_passes() {
        assert!(broken(Fault::None, Depth::Thorough).is_empty());
    }

    #[test]
    fn a_server_that_takes_garbage_for_no_page_passes_if_it_closes() {
        assert!(broken(Fault::MissesGarbageAndCloses, Depth::Quick).is_empty());
    }

    /// A busy machine may let the server sleep until the last byte is there.
    #[test]
    fn a_server_that_takes_only_whole_requests_is_found_out() {
        let address = server(Fault::OneRequestAPiece);
        let mut tries = (0..100).map(|_| check(address, &contract(), Depth::Quick, |_| {}));
        let broken = tries.find_map(|steps| {
            let broken: Vec<_> = steps.into_iter().filter(|it| it.wrong.is_some()).collect();
            (!broken.is_empty()).then_some(broken)
        });
        let asked: Vec<_> = broken.iter().flatten().map(|step| step.asked.as_str()).collect();
        assert_eq!(asked, ["takes a request that comes in single bytes"]);
    }

    #[test]
    fn each_fault_breaks_its_own_step_and_no_other() {
        let right = "answers /hello?id={nonce} with status 200 and its body";
        for (fault, step) in [
            (Fault::OtherStatus, right),
            (Fault::OtherBody, right),
            (Fault::OneAnswerAConnection, "answers three requests on one connection"),
            (Fault::SameBody, "makes a part of every answer anew"),
            (Fault::AnswersNobodyTwice, "makes a part of every answer anew"),
            (Fault::AnswersThePairTurned, "answers a pipelined pair, in order"),
            (Fault::RefusesNothing, "refuses an unknown path with status 404"),
            (Fault::AcceptsGarbage, "refuses garbage with status 400, or closes"),
            (Fault::MissesGarbage, "refuses garbage with status 400, or closes"),
            (Fault::BodyToHead, "answers HEAD without a body"),
            (Fault::NoDate, "says the right Date"),
            (Fault::OldDate, "says the right Date"),
        ] {
            assert_eq!(broken(fault, Depth::Quick), [step], "{fault:?}");
        }
    }

    #[test]
    fn an_answers_size_is_that_of_its_head_and_its_body() {
        let size = answer_size(server(Fault::SameBody), &contract(), true).unwrap();
        assert_eq!(size.body_bytes, "hello 0123456789012345, number 0\n".len() as u64);
        let head =
            "HTTP/1.1 200 X\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Length: 33\r\n\r\n";
        assert_eq!(size.head_bytes, head.len() as u64);
        assert_eq!(size.whole_bytes, Some(size.head_bytes + size.body_bytes));
        assert_eq!(answer_size(server(Fault::OtherStatus), &contract(), false), None);
    }

    #[test]
    fn where_the_body_has_to_be_whole_no_byte_may_stand_around_it() {
        let contract = Contract { body: "number 0\n".into(), whole_body: true, ..contract() };
        let steps = check(server(Fault::SameBody), &contract, Depth::Quick, |_| {});
        let wrong = steps[0].wrong.as_ref().expect("a longer body was taken for the whole");
        assert!(wrong.contains("bytes beside \"number 0\\n\""), "{wrong}");
    }

    #[test]
    fn a_connection_that_stays_open_against_the_clients_wish_is_seen() {
        assert_eq!(
            broken(Fault::NeverCloses, Depth::Quick),
            ["closes the connection when asked to", "answers HEAD without a body"]
        );
    }

    /// Answers with such ids, numbers and times, in s, as they were sampled under load. The
    /// Date is that of second 1000.
    fn sampled(answers: &[(&str, &str, u64)]) -> Vec<SampledAnswer> {
        let date = httpdate::fmt_http_date(SystemTime::UNIX_EPOCH + Duration::from_secs(1000));
        let sampled = answers.iter().map(|(id, number, at_s)| {
            let body = format!("hello {id}, number {number}\n");
            let head = format!("HTTP/1.1 200 X\r\nDate: {date}\r\nContent-Length: {}", body.len());
            let bytes = format!("{head}\r\n\r\n{body}").into_bytes();
            SampledAnswer { at: Duration::from_secs(*at_s), expected: (*id).into(), bytes }
        });
        sampled.collect()
    }

    /// What is wrong with answers that were sampled under load.
    fn wrong_under_load(contract: &Contract, sampled: &[SampledAnswer]) -> Vec<String> {
        let steps = under_load(contract, sampled);
        steps.into_iter().filter_map(|step| step.wrong).collect()
    }

    #[test]
    fn answers_under_load_are_held_to_what_was_asked_before() {
        let right = sampled(&[("1", "7", 1000), ("2", "8", 1001), ("3", "7", 1002)]);
        let steps = under_load(&contract(), &right);
        let asked: Vec<&str> = steps.iter().map(|step| &*step.asked).collect();
        let before = check(server(Fault::None), &contract(), Depth::Quick, |_| {});
        let is_asked_before = |asked: &&str| before.iter().any(|step| step.asked == **asked);
        assert!(asked.len() == 3 && asked.iter().all(is_asked_before), "{asked:?}");
        assert_eq!(steps.iter().find_map(|step| step.wrong.as_ref()), None);
        assert_eq!(under_load(&contract(), &[]), []);
    }

    #[test]
    fn a_number_that_stands_still_under_load_is_seen_whatever_the_ids_are() {
        let canned = sampled(&[("1", "7", 1000), ("2", "7", 1001), ("3", "7", 1002)]);
        let wrong = wrong_under_load(&contract(), &canned);
        assert_eq!(wrong.len(), 1, "{wrong:?}");
        assert!(
            wrong[0].starts_with("2 of 3 answers differ from the one before in nothing but"),
            "{wrong:?}"
        );
        let from_the_second_on = sampled(&[("1", "7", 1000), ("2", "8", 1001), ("3", "8", 1002)]);
        assert_eq!(wrong_under_load(&contract(), &from_the_second_on).len(), 1);
        let once_by_chance =
            sampled(&[("1", "7", 1000), ("2", "8", 1001), ("3", "8", 1002), ("4", "9", 1002)]);
        assert_eq!(wrong_under_load(&contract(), &once_by_chance), [""; 0]);
        // Of each second two are sampled.
        let renewed_each_second = sampled(&[
            ("1", "7", 1000),
            ("2", "7", 1000),
            ("3", "8", 1001),
            ("4", "8", 1001),
            ("5", "9", 1002),
            ("6", "9", 1002),
        ]);
        assert_eq!(wrong_under_load(&contract(), &renewed_each_second).len(), 1);
        let one = wrong_under_load(&contract(), &canned[..1]);
        assert_eq!(one, [""; 0], "one answer differs from none");
        let same_for_all = Contract { fresh: false, ..contract() };
        assert_eq!(wrong_under_load(&same_for_all, &canned), [""; 0]);
    }

    #[test]
    fn a_date_that_stands_still_under_load_is_seen() {
        let late = sampled(&[("1", "7", 1000), ("2", "8", 1004)]);
        let wrong = wrong_under_load(&contract(), &late);
        assert_eq!(wrong.len(), 1, "{wrong:?}");
        assert!(wrong[0].contains("the Date header is off by more than 3 s"), "{wrong:?}");
    }

    #[test]
    fn an_answer_under_load_that_is_none_is_seen() {
        let mut other = sampled(&[("1", "7", 1000), ("2", "8", 1001)]);
        other[1].expected = "4".into();
        assert!(wrong_under_load(&contract(), &other)[0].contains("doesn't hold \"4\""));
        other[0].bytes.truncate(10);
        assert!(wrong_under_load(&contract(), &other)[0].contains("within the headers"));
    }

    #[test]
    fn a_date_that_was_made_once_is_seen_by_waiting() {
        assert_eq!(
            broken(Fault::StandingDate, Depth::Thorough),
            ["says the right Date, and it advances"]
        );
    }
}
