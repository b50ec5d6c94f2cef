//! Whether a contender does the job: the steps that it has to pass before a
//! figure of its speed means anything.
//!
//! This file has their order. [`asker`] goes through them, with [`unfit`] requests among them;
//! [`right`] says whether an answer is the one that was due, [`under_load`] of those that came
//! under load.

mod asker;
mod right;
mod step;
mod under_load;
mod unfit;

use std::net::SocketAddr;

use load::Stop;
use load::outcome::SampledAnswer;
use result::evidence::{AnswerSize, ContractStep, DATE};
use result::plan::Setting;

use self::asker::{Asker, CLOSE, KEPT_MIN, first_get, kept_requests};
use self::right::shown;
use self::step::{FRESH, IS_FRESH, RIGHT, SAYS_DATE, answers_right, of_request, step};
use self::under_load::under_load;
use self::unfit::{ODD, UNFIT};
use crate::contract::http_client::{Answer, Wrong};
use crate::contract::program::{GivenWork, Told};
use crate::contract::{Contract, Depth};
use crate::place::Running;
use crate::study::HttpContract;

/// A contract that is kept by answers of HTTP/1.1.
#[derive(Debug, Clone)]
pub struct HttpJob {
    /// What is asked.
    pub asks: HttpContract,
}

impl Contract for HttpJob {
    fn check(
        &self,
        on: &Running,
        depth: Depth,
        stop: &Stop,
        tell: &mut dyn FnMut(&ContractStep),
    ) -> Vec<ContractStep> {
        check(on.address, &self.asks, depth, stop, tell)
    }

    fn answer_size(&self, on: &Running, setting: &Setting, stop: &Stop) -> Option<AnswerSize> {
        answer_size(on.address, &self.asks, setting.kept(), stop)
    }

    fn under_work(
        &self,
        answers: &[SampledAnswer],
        _told: &[Told],
        _given: &GivenWork,
        _stop: &Stop,
    ) -> Vec<ContractStep> {
        under_load(&self.asks, answers)
    }
}

/// Asks for one of the contract's own requests once, a GET if there is one, and says what is
/// wrong with the answer.
pub fn ask_once(address: SocketAddr, contract: &HttpContract, stop: &Stop) -> Result<(), Wrong> {
    let nth = first_get(contract).unwrap_or(0);
    Asker::new(address, contract, stop).right_answer(nth, "").map(|_| ())
}

/// The size of a right answer, to requests that keep their connection or not: of several
/// requests the mean, each by its weight. `None` if one wasn't right.
fn answer_size(
    address: SocketAddr,
    contract: &HttpContract,
    keep_alive: bool,
    stop: &Stop,
) -> Option<AnswerSize> {
    let headers = if keep_alive { "" } else { CLOSE };
    let asker = Asker::new(address, contract, stop);
    let numbered = contract.requests.iter().enumerate();
    let answers =
        numbered.map(|(nth, it)| Some((it.weight, asker.right_answer(nth, headers).ok()?)));
    let answers: Vec<(u32, Answer)> = answers.collect::<Option<_>>()?;
    let all: f64 = answers.iter().map(|(weight, _)| f64::from(*weight)).sum();
    let mean = |bytes: fn(&Answer) -> u64| {
        let of = |(weight, answer): &(u32, Answer)| f64::from(*weight) * bytes(answer) as f64;
        (answers.iter().map(of).sum::<f64>() / all).round() as u64
    };
    Some(AnswerSize {
        head_bytes: mean(|it| it.head_bytes as u64),
        body_bytes: mean(|it| it.body_bytes),
        whole_bytes: Some(mean(|it| it.whole_bytes as u64)),
    })
}

/// Goes through all steps, telling of each, until `stop` asks for the end. If the first
/// fails, the others have nothing to say; after one that waits in vain they may wait
/// likewise. So they are left out then. A contender hangs that doesn't give the contract's
/// own answer any more either.
pub(crate) fn check(
    address: SocketAddr,
    contract: &HttpContract,
    depth: Depth,
    stop: &Stop,
    mut tell: impl FnMut(&ContractStep),
) -> Vec<ContractStep> {
    let asker = Asker::new(address, contract, stop);
    let mut steps: Vec<ContractStep> = Vec::new();
    for Due { id, asked, ask } in due(contract, depth) {
        let outcome = ask(&asker);
        if stop.asked() || outcome == Err(Wrong::Stopped) {
            break;
        }
        let mut step = step(&id, asked, outcome);
        let is_last = step.hung || (step.wrong.is_some() && steps.is_empty());
        // Who still gives the answer that is measured was silent in this step, and works on.
        step.hung = step.hung && asker.right_answer(asker.get_or_first(), "").is_err();
        tell(&step);
        steps.push(step);
        if is_last {
            break;
        }
    }
    steps
}

/// Asks for one thing: what was seen, or what was wrong with it.
type Ask<'a> = dyn Fn(&Asker<'a>) -> Result<String, Wrong> + 'a;

/// A step to go through.
struct Due<'a> {
    id: String,
    /// What is asked of the contender: *it* does so.
    asked: String,
    ask: Box<Ask<'a>>,
}

/// All steps, in their order. Those that a server may fail by silence, as it may wait for
/// more of what it takes for a request, come last.
fn due(contract: &HttpContract, depth: Depth) -> Vec<Due<'_>> {
    fn due<'a>(
        id: &str,
        asked: impl Into<String>,
        ask: impl Fn(&Asker<'a>) -> Result<String, Wrong> + 'a,
    ) -> Due<'a> {
        Due { id: id.into(), asked: asked.into(), ask: Box::new(ask) }
    }
    let numbered = || contract.requests.iter().enumerate();
    let right = numbered().map(|(nth, request)| {
        let ask = move |it: &Asker| it.right_answer(nth, "").map(|it| shown(&it));
        due(&of_request(RIGHT, nth), answers_right(request), ask)
    });
    let mut all: Vec<Due> = right.collect();
    if !contract.answers_only {
        let count = match kept_requests(contract) {
            KEPT_MIN => "three".to_string(),
            more => more.to_string(),
        };
        all.push(due("kept", format!("answers {count} requests on one connection"), Asker::kept));
    }
    if contract.fresh {
        let fresh = numbered().map(|(nth, _)| {
            due(&of_request(FRESH, nth), IS_FRESH, move |it: &Asker| it.fresh(nth))
        });
        all.extend(fresh);
    }
    if contract.answers_only {
        return all;
    }
    all.extend([
        due("single-bytes", "takes a request that comes in single bytes", Asker::single_bytes),
        due("closes", "closes the connection when asked to", Asker::close),
    ]);
    let get = first_get(contract);
    match get {
        None => all.push(due("left-out", "isn't asked what takes a GET", |_| Ok(LEFT_OUT.into()))),
        Some(get) => all.extend([
            due("two-pieces", "takes requests in two pieces, cut at every byte", move |it| {
                it.two_pieces(get)
            }),
            due("pipelined", "answers a pipelined pair, in order", move |it| {
                it.pipelined_pair(get)
            }),
            due("head", "answers HEAD without a body", move |it| it.head(get)),
        ]),
    }
    for (nth, refusal) in contract.refuses.iter().enumerate() {
        let asked = format!("refuses {} with status {}", refusal.what, refusal.status);
        all.push(due(&format!("refuses-{}", nth + 1), asked, move |it| {
            it.refused(&refusal.method, &refusal.path, refusal.status)
        }));
    }
    all.push(match depth {
        Depth::Quick => due(DATE, SAYS_DATE, |it| it.date().map(|(text, _)| text)),
        Depth::Thorough => due(DATE, "says the right Date, and it advances", Asker::date_advances),
    });
    all.push(due("garbage", "refuses garbage with status 400, or closes", Asker::garbage));
    let Some(get) = get else { return all };
    all.extend(UNFIT.iter().map(|it| due(it.id, it.asked, move |asker| asker.unfit(get, it))));
    if depth == Depth::Thorough {
        all.extend(ODD.iter().map(|it| due(it.id, it.asked, move |asker| asker.odd(get, it))));
    }
    all
}

/// What is left out where no request is a GET: to ask it of others would do their work many
/// times over, or be refused for the method alone.
const LEFT_OUT: &str = "left out, because no request of the contract is a GET without a body: \
                        requests in two pieces, a pipelined pair, HEAD, and requests that are \
                        nearly right";

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::sync::{Arc, Mutex};
    use std::time::{Duration, Instant, SystemTime};

    use load::plan::template::Request;
    use load::plan::{Expect, Statuses};
    use rustix::net::sockopt;

    use super::asker::{CUTS_MAX, Own, cuts};
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
        /// It takes a request that this step has refused.
        Tolerates(&'static str),
        /// It has forgotten a CR if the LF comes later.
        LosesCr,
        /// It resets a connection that is to be closed.
        Resets,
        /// It falls silent after so many answers.
        HangsAfter(u64),
        /// It never gets to the end of an answer.
        Dribbles,
    }

    impl Fault {
        /// Whether a server with it sees what is wrong with a request: a line of its own for
        /// each step.
        fn refuses(self, request: &str) -> bool {
            let headers = || request.lines().skip(1).filter_map(|line| line.split_once(':'));
            let named = |name: &str| {
                headers().filter(|(have, _)| have.trim().eq_ignore_ascii_case(name)).count()
            };
            let values: Vec<_> = headers()
                .filter(|(name, _)| name.trim() == "Content-Length")
                .map(|(_, value)| value.trim())
                .collect();
            let unfit = [
                ("no-host", named("host") == 0),
                ("two-lengths", values.windows(2).any(|pair| pair[0] != pair[1])),
                ("no-length", values.iter().any(|value| value.parse::<u64>().is_err())),
                ("space-before-colon", headers().any(|(name, _)| name.ends_with(' '))),
            ];
            unfit.iter().any(|(id, is_so)| *is_so && self != Fault::Tolerates(id))
        }
    }

    static ANSWERS: AtomicU64 = AtomicU64::new(0);
    /// Whom a server with [`Fault::AnswersNobodyTwice`] has answered.
    static ANSWERED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

    /// A server with this fault, which ends with the tests.
    fn server(fault: Fault) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let began = SystemTime::now();
        let answers = Arc::new(AtomicU64::new(0));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let answers = answers.clone();
                std::thread::spawn(move || serve(stream, fault, began, &answers));
            }
        });
        address
    }

    fn serve(mut stream: TcpStream, fault: Fault, began: SystemTime, given: &AtomicU64) {
        let mut received = String::new();
        let mut piece = [0; 4096];
        while let Ok(length @ 1..) = stream.read(&mut piece) {
            if fault == Fault::LosesCr && received.ends_with('\r') {
                received.pop();
            }
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
                if let Fault::HangsAfter(answers) = fault
                    && given.fetch_add(1, Ordering::Relaxed) >= answers
                {
                    std::thread::sleep(Duration::from_secs(600));
                }
                if fault == Fault::Dribbles && given.fetch_add(1, Ordering::Relaxed) > 0 {
                    for byte in b"HTTP/1.1 200 OK\r\n".iter().chain(&[b'x'; 1000]) {
                        let _ = stream.write_all(&[*byte]);
                        std::thread::sleep(Duration::from_millis(100));
                    }
                }
                answers.push(answer(&request, fault, began));
            }
            if fault == Fault::AnswersThePairTurned {
                answers.reverse();
            }
            let sent = stream.write_all(answers.concat().as_bytes());
            if sent.is_err() || closes {
                if fault == Fault::Resets {
                    let _ = sockopt::set_socket_linger(&stream, Some(Duration::ZERO));
                }
                return;
            }
        }
    }

    fn answer(request: &str, fault: Fault, began: SystemTime) -> String {
        let words: Vec<&str> = request.split(' ').collect();
        let id = words.get(1).and_then(|path| path.strip_prefix("/hello?id="));
        let is_unfit = fault.refuses(request);
        let right = id.is_some() && matches!(words[0], "GET" | "HEAD") && !is_unfit;
        let is_first = || ANSWERED.lock().unwrap().insert(request.to_string());
        let status = match right {
            true if fault == Fault::OtherStatus => 500,
            true if fault == Fault::AnswersNobodyTwice && !is_first() => 429,
            true => 200,
            false if is_unfit && words[0] == "GET" => 400,
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
        if words[0] == "HEAD" && fault != Fault::BodyToHead { head } else { head + &body }
    }

    /// A GET whose answer holds this text, or is it.
    fn asked(path: &str, text: &str, whole_body: bool) -> Request {
        let statuses = Statuses::one(200).unwrap();
        let expect = Expect { body: Some(text.into()), whole_body, body_bytes: None, statuses };
        Request { expect: Some(expect), ..Request::get(path) }
    }

    fn contract() -> HttpContract {
        HttpContract {
            requests: vec![asked("/hello?id={nonce}", "{nonce}", false)],
            fresh: true,
            answers_only: false,
            refuses: vec![Refusal {
                what: "an unknown path".into(),
                method: "GET".into(),
                path: "/no-such".into(),
                status: 404,
            }],
        }
    }

    /// Nobody wrote such a server for a study: what it does with odd requests is its own affair.
    #[test]
    fn where_answers_alone_are_asked_about_they_still_have_to_be_right_and_new() {
        let contract = HttpContract { answers_only: true, ..contract() };
        for depth in [Depth::Quick, Depth::Thorough] {
            let ids: Vec<String> = due(&contract, depth).into_iter().map(|due| due.id).collect();
            assert_eq!(ids, [RIGHT, FRESH]);
        }
    }

    /// Else what is no GET would pass for having refused, or do its work hundreds of times.
    #[test]
    fn where_no_request_is_a_get_it_is_said_what_is_left_out() {
        let post = Request { method: "POST".into(), ..asked("/orders", "x", false) };
        let ids = |requests: Vec<Request>| {
            let contract = HttpContract { requests, ..contract() };
            let due = due(&contract, Depth::Thorough).into_iter().map(|due| due.id);
            due.collect::<Vec<_>>()
        };
        let presuppose = ["two-pieces", "pipelined", "head", "no-host", "two-lengths", "version"];
        let has = |ids: &[String], id: &str| ids.iter().any(|it| it == id);
        let alone = ids(vec![post.clone()]);
        assert!(has(&alone, "left-out") && !presuppose.iter().any(|id| has(&alone, id)));
        assert!(has(&alone, "single-bytes") && has(&alone, "garbage"), "{alone:?}");
        let both = ids(vec![post, asked("/hello", "x", false)]);
        assert!(!has(&both, "left-out") && presuppose.iter().all(|id| has(&both, id)), "{both:?}");
        assert!(has(&both, "right-answer-2") && has(&both, "fresh-2"), "{both:?}");
    }

    #[test]
    fn each_request_is_held_to_its_own_answer() {
        let server = server(Fault::None);
        let steps = |second: Request| {
            let first = asked("/hello?id={nonce}", "{nonce}", false);
            let contract = HttpContract { requests: vec![first, second], ..contract() };
            check(server, &contract, Depth::Quick, &Stop::default(), |_| {})
        };
        let of = |steps: &[ContractStep], id: &str| {
            steps.iter().find(|step| step.id == id).expect(id).wrong.clone()
        };
        let right = steps(asked("/hello?id=7", "hello 7", false));
        assert_eq!(right.iter().find_map(|step| step.wrong.clone()), None);
        let other = steps(asked("/hello?id=7", "hello 8", false));
        assert_eq!(of(&other, "right-answer"), None);
        assert!(of(&other, "right-answer-2").unwrap().contains("doesn't hold \"hello 8\""));
        let mut post = asked("/hello?id=7", "bad", false);
        post.method = "POST".into();
        let refused = steps(post);
        assert_eq!(of(&refused, "right-answer-2").unwrap(), "status 400 instead of 200");
    }

    /// The steps that a server with this fault fails.
    fn broken(fault: Fault, depth: Depth) -> Vec<String> {
        check(server(fault), &contract(), depth, &Stop::default(), |_| {})
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
        let mut tries =
            (0..100).map(|_| check(address, &contract(), Depth::Quick, &Stop::default(), |_| {}));
        let broken = tries.find_map(|steps| {
            let broken: Vec<_> = steps.into_iter().filter(|it| it.wrong.is_some()).collect();
            (!broken.is_empty()).then_some(broken)
        });
        let ids: Vec<_> = broken.iter().flatten().map(|step| &*step.id).collect();
        let of_pieces = ["single-bytes", "two-pieces"];
        assert!(!ids.is_empty() && ids.iter().all(|id| of_pieces.contains(id)), "{ids:?}");
    }

    /// Single bytes come so fast that a server may see them all at once.
    #[test]
    fn a_server_that_fails_at_one_cut_alone_is_found_out() {
        let steps =
            check(server(Fault::LosesCr), &contract(), Depth::Quick, &Stop::default(), |_| {});
        let broken = steps.iter().find(|step| step.wrong.is_some()).expect("it passes");
        let wrong = broken.wrong.as_ref().unwrap();
        assert!(["single-bytes", "two-pieces"].contains(&&*broken.id), "{broken:?}");
        assert!(broken.id != "two-pieces" || wrong.starts_with("cut behind byte "), "{wrong}");
    }

    #[test]
    fn a_long_request_is_cut_at_its_start_and_its_end() {
        assert_eq!(cuts(5), [1, 2, 3, 4]);
        let cuts = cuts(10_000);
        assert_eq!(cuts.len(), CUTS_MAX);
        assert_eq!((cuts[0], cuts[CUTS_MAX - 1]), (1, 9_999));
    }

    /// Else each further step waits for as long: minutes a trial.
    #[test]
    fn after_a_step_that_hangs_no_further_one_is_tried() {
        // Each is waited for as long as a server may take, so that all at once take a third.
        std::thread::scope(|scope| {
            for answers in [1, 2, 5] {
                scope.spawn(move || {
                    let server = server(Fault::HangsAfter(answers));
                    let steps = check(server, &contract(), Depth::Quick, &Stop::default(), |_| {});
                    let hung: Vec<_> = steps.iter().filter(|step| step.hung).collect();
                    assert_eq!(hung.len(), 1, "{steps:?}");
                    assert_eq!(hung[0], steps.last().unwrap());
                    let wrong = hung[0].wrong.as_ref().unwrap();
                    assert!(wrong.contains("no further step was tried"), "{wrong}");
                });
            }
        });
    }

    #[test]
    fn an_answer_that_goes_on_for_ever_byte_by_byte_hangs_as_silence_does() {
        let steps =
            check(server(Fault::Dribbles), &contract(), Depth::Quick, &Stop::default(), |_| {});
        assert!(steps.len() == 2 && steps[1].hung, "{steps:?}");
    }

    #[test]
    fn steps_together_have_a_time_as_each_has() {
        let (contract, stop) = (contract(), Stop::default());
        let mut asker = Asker::new(server(Fault::None), &contract, &stop);
        asker.deadline = Instant::now();
        let step = step(RIGHT, String::new(), asker.right_answer(0, "").map(|_| String::new()));
        assert!(step.hung, "{step:?}");
    }

    #[test]
    fn the_check_of_a_silent_server_ends_at_once_when_it_is_to() {
        let stop = Stop::default();
        let stopper = stop.clone();
        let server = server(Fault::HangsAfter(1));
        // It is asked to end as soon as the first step is over, and the next one would hang.
        let steps = check(server, &contract(), Depth::Quick, &stop, |_| stopper.now());
        assert_eq!(steps.len(), 1, "{steps:?}");
        assert!(steps.iter().all(|step| !step.hung && step.wrong.is_none()), "{steps:?}");
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
        for unfit in &UNFIT {
            let fault = Fault::Tolerates(unfit.id);
            assert_eq!(broken(fault, Depth::Quick), [unfit.asked], "{fault:?}");
        }
    }

    #[test]
    fn an_end_that_is_a_reset_is_none() {
        let broken = broken(Fault::Resets, Depth::Quick);
        assert!(broken.contains(&"closes the connection when asked to".into()), "{broken:?}");
    }

    #[test]
    fn steps_have_ids_of_their_own_whatever_the_study_calls_them() {
        let refusal = Refusal { what: SAYS_DATE.into(), ..contract().refuses[0].clone() };
        let contract = HttpContract { refuses: vec![refusal.clone(), refusal], ..contract() };
        let ids: Vec<_> = due(&contract, Depth::Quick).into_iter().map(|due| due.id).collect();
        assert_eq!(BTreeSet::from_iter(&ids).len(), ids.len(), "{ids:?}");
        let thorough = due(&contract, Depth::Thorough).into_iter().map(|due| due.id);
        assert!(thorough.collect::<Vec<_>>().starts_with(&ids));
    }

    #[test]
    fn placeholders_are_filled_as_under_load() {
        let request = asked("/hello?id={nonce}{x}{counter}", "{counter}{x}{nonce}", false);
        let contract = HttpContract { requests: vec![request], ..contract() };
        let stop = Stop::default();
        let asker = Asker::new(([127, 0, 0, 1], 1).into(), &contract, &stop);
        for number in 0..1000 {
            let Own { bytes, text, .. } = asker.own(0, "");
            let bytes = String::from_utf8(bytes).unwrap();
            let path = bytes.split(' ').nth(1).unwrap();
            let end = format!("{{x}}{number}");
            let nonce = path.strip_prefix("/hello?id=").unwrap().strip_suffix(&end).unwrap();
            assert_eq!(text, format!("{number}{{x}}{nonce}"));
            assert_eq!(nonce.len(), 16, "{nonce}");
            assert!(
                (b'1'..=b'8').contains(&nonce.as_bytes()[0]),
                "{nonce} has another length as a number"
            );
        }
    }

    #[test]
    fn an_answers_size_is_that_of_its_head_and_its_body() {
        let size =
            answer_size(server(Fault::SameBody), &contract(), true, &Stop::default()).unwrap();
        assert_eq!(size.body_bytes, "hello 0123456789012345, number 0\n".len() as u64);
        let head =
            "HTTP/1.1 200 X\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Length: 33\r\n\r\n";
        assert_eq!(size.head_bytes, head.len() as u64);
        assert_eq!(size.whole_bytes, Some(size.head_bytes + size.body_bytes));
        assert_eq!(
            answer_size(server(Fault::OtherStatus), &contract(), false, &Stop::default()),
            None
        );
    }

    #[test]
    fn where_the_body_has_to_be_whole_no_byte_may_stand_around_it() {
        let request = asked("/hello?id={nonce}", "number 0\n", true);
        let contract = HttpContract { requests: vec![request], ..contract() };
        let steps =
            check(server(Fault::SameBody), &contract, Depth::Quick, &Stop::default(), |_| {});
        let wrong = steps[0].wrong.as_ref().expect("a longer body was taken for the whole");
        assert!(wrong.starts_with("expected the body \"number 0\\n\", got \"hello "), "{wrong}");
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
            SampledAnswer {
                at: Duration::from_secs(*at_s),
                request: 0,
                expected: (*id).into(),
                bytes,
            }
        });
        sampled.collect()
    }

    /// What is wrong with answers that were sampled under load.
    fn wrong_under_load(contract: &HttpContract, sampled: &[SampledAnswer]) -> Vec<String> {
        let steps = under_load(contract, sampled);
        steps.into_iter().filter_map(|step| step.wrong).collect()
    }

    #[test]
    fn answers_under_load_are_held_to_what_was_asked_before() {
        let right = sampled(&[("1", "7", 1000), ("2", "8", 1001), ("3", "7", 1002)]);
        let steps = under_load(&contract(), &right);
        let asked: Vec<&str> = steps.iter().map(|step| &*step.asked).collect();
        let before =
            check(server(Fault::None), &contract(), Depth::Quick, &Stop::default(), |_| {});
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
        let same_for_all = HttpContract { fresh: false, ..contract() };
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
        assert!(wrong_under_load(&contract(), &other)[0].contains("closed within the head"));
    }

    #[test]
    fn a_date_that_was_made_once_is_seen_by_waiting() {
        assert_eq!(
            broken(Fault::StandingDate, Depth::Thorough),
            ["says the right Date, and it advances"]
        );
    }
}
