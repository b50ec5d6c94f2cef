//! The client as a process of its own: a plan comes in, seconds and an outcome go out.
//!
//! Whoever starts it holds the other ends of its standard streams. Its input has a line of
//! JSON for each [`Heard`], its output one for each [`Told`]. It hears a plan, makes the
//! connections that are kept, tells that it is ready, and begins at the moment that it hears
//! then. When the input closes, nobody waits for an outcome any more, and the process ends at
//! once: so is a run ended early, too, and no signal that asks for an end is heeded. Who once
//! said that he is there has to say so again and again: after [`SILENT_MAX`] without a word the
//! process ends as well. After the outcome it does nothing until its input closes, so that what
//! it used can still be read.

use std::io::{self, BufRead, ErrorKind, Read, Write};
use std::process::ExitCode;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::run::run_from;
use crate::{Error, Moment, News, Outcome, Plan, Progress, Stop};

/// The hidden subcommand of bakeoff that is the client.
pub const SUBCOMMAND: &str = "client";

/// How long a side that tells that it is there may be silent.
pub const SILENT_MAX: Duration = Duration::from_secs(5);

/// The longest line that is read: an outcome of a day has 9 MB of seconds.
const LINE_BYTES_MAX: u64 = 64 << 20;
/// The longest line with a plan: a body of 512 MiB is a third longer as text.
const PLAN_BYTES_MAX: u64 = 1 << 30;

/// What an agent hears: lines of JSON on its standard input.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Heard {
    /// What it is to do. It comes first.
    Plan(Box<Plan>),
    /// When the warm-up begins. It comes once the agent is ready.
    Start(Moment),
    /// The run is to end early; what it saw until then is told.
    Stop,
    /// Whoever started it is there.
    Alive,
}

/// What an agent tells: lines of JSON on its standard output.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Told {
    /// So many of the connections that are kept are open.
    Connecting(u32),
    /// The connections that are kept are made: it waits for the start.
    Ready,
    /// A second has ended.
    Second(Progress),
    /// The run has ended.
    Ended(Box<Outcome>),
    /// No load could be offered.
    Failed(Error),
}

/// The client's whole life.
pub fn main() -> ExitCode {
    // A name of its own, by which lists of processes tell it from bakeoff.
    let _ = rustix::thread::set_name(c"client");
    ignore_signals();
    let understood = match line_within(PLAN_BYTES_MAX, &mut io::stdin().lock()) {
        Ok(Some(line)) => match serde_json::from_str(&line) {
            Ok(Heard::Plan(plan)) => Ok(plan),
            Ok(_) => Err("it heard something else first".into()),
            Err(error) => Err(error.to_string()),
        },
        Ok(None) => return ExitCode::FAILURE,
        Err(error) => Err(error.to_string()),
    };
    let plan = match understood {
        Ok(plan) => plan,
        Err(why) => {
            let why = format!("the client didn't understand its plan: {why}");
            tell(&Told::Failed(Error::Plan(why)));
            return ExitCode::FAILURE;
        }
    };
    let (stop, (starts, start)) = (Stop::default(), mpsc::channel());
    let listener = std::thread::spawn({
        let stop = stop.clone();
        move || listen(&stop, &starts)
    });
    let at = || {
        tell(&Told::Ready);
        start.recv().ok()
    };
    let told = run_from(&plan, &stop, at, &mut |news| match news {
        News::Second(second) => tell(&Told::Second(*second)),
        News::Connecting(open) => tell(&Told::Connecting(*open)),
    });
    tell(&match told {
        Ok(outcome) => Told::Ended(Box::new(outcome)),
        Err(error) => Told::Failed(error),
    });
    let _ = listener.join();
    ExitCode::SUCCESS
}

/// Leaves it to whoever started it when it is to end: a shutdown asks all processes at
/// once, and one that dies of that looks like one that failed.
fn ignore_signals() {
    for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGTERM] {
        // SAFETY: there is no handler that could do harm. It can't fail for these.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

/// Hears what follows the plan, and ends the process when its input closes.
fn listen(stop: &Stop, starts: &Sender<Moment>) {
    let mut input = io::stdin().lock();
    let mut watched = None;
    while let Ok(Some(line)) = line(&mut input) {
        match serde_json::from_str(&line) {
            Ok(Heard::Start(at)) => {
                let _ = starts.send(at);
            }
            Ok(Heard::Stop) => stop.now(),
            Ok(Heard::Alive) => {
                let _ = watched.get_or_insert_with(watch).send(());
            }
            // A second plan, or no word of this kind.
            Ok(Heard::Plan(_)) | Err(_) => {}
        }
    }
    std::process::exit(0);
}

/// Ends the process when it hears nothing for [`SILENT_MAX`].
fn watch() -> Sender<()> {
    let (to, from) = mpsc::channel();
    std::thread::spawn(move || {
        while from.recv_timeout(SILENT_MAX) != Err(RecvTimeoutError::Timeout) {}
        std::process::exit(1);
    });
    to
}

/// Tells bakeoff. If it is gone, the input closes as well.
fn tell(told: &Told) {
    let mut out = io::stdout().lock();
    let _ = serde_json::to_writer(&mut out, told);
    let _ = out.write_all(b"\n");
    let _ = out.flush();
}

/// The next line, without its end; `None` where there is no more.
///
/// # Errors
/// Those of `from`; [`ErrorKind::UnexpectedEof`] where a line is cut off, and
/// [`ErrorKind::InvalidData`] where it is endless or no text.
pub fn line(from: &mut impl BufRead) -> io::Result<Option<String>> {
    line_within(LINE_BYTES_MAX, from)
}

fn line_within(bytes_max: u64, from: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    let count = from.take(bytes_max).read_until(b'\n', &mut line)?;
    match line.pop() {
        None => Ok(None),
        Some(b'\n') => match String::from_utf8(line) {
            Ok(line) => Ok(Some(line)),
            Err(error) => Err(io::Error::new(ErrorKind::InvalidData, error)),
        },
        Some(_) if count as u64 == bytes_max => {
            Err(io::Error::new(ErrorKind::InvalidData, "a line without an end"))
        }
        Some(_) => Err(io::Error::new(ErrorKind::UnexpectedEof, "a line that is cut off")),
    }
}

/// An error of the kernel as its number, any other as its words.
pub(crate) mod kernel_error {
    use std::io;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    #[serde(untagged)]
    enum Form {
        Number(i32),
        Words(String),
    }

    pub(crate) fn serialize<S: Serializer>(error: &io::Error, to: S) -> Result<S::Ok, S::Error> {
        match error.raw_os_error() {
            Some(number) => Form::Number(number),
            None => Form::Words(error.to_string()),
        }
        .serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<io::Error, D::Error> {
        Ok(match Form::deserialize(from)? {
            Form::Number(number) => io::Error::from_raw_os_error(number),
            Form::Words(words) => io::Error::other(words),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, SocketAddr};
    use std::time::Duration;

    use proptest::prelude::*;
    use serde::de::DeserializeOwned;

    use super::*;
    use crate::Moment;
    use crate::outcome::{
        Account, ErrorCount, ErrorKind as Kind, First, Firsts, SampledAnswer, Second, StatusCount,
        ThreadUse,
    };
    use crate::plan::template::{Placeholders, Request};
    use crate::plan::{Arrivals, BackendChoice, Expect, Http, Share, Target, Until, Workload};
    use histogram::Latency;

    /// What comes out of the other end of a pipe.
    fn told_and_read<T: Serialize + DeserializeOwned>(value: &T) -> T {
        let text = serde_json::to_string(value).unwrap();
        assert!(!text.contains('\n'), "it takes more than its line");
        serde_json::from_str(&text).unwrap()
    }

    fn time() -> impl Strategy<Value = Duration> {
        (0..1_000_000_u64, 0..1_000_000_000_u32).prop_map(|(s, ns)| Duration::new(s, ns))
    }

    prop_compose! {
        fn plan()(
            (ip, port) in (any::<IpAddr>(), any::<u16>()),
            (authority, path) in (".*", ".*"),
            headers in prop::collection::vec((".*", ".*"), 0..3),
            (method, body) in ("[A-Z]+", prop::collection::vec(any::<u8>(), 0..100)),
            placeholders in prop::sample::select(vec![
                Placeholders::Filled, Placeholders::LeftInBody, Placeholders::Left,
            ]),
            (expected, whole_body, body_bytes) in
                (prop::option::of(".*"), any::<bool>(), prop::option::of(any::<u64>())),
            statuses in prop::sample::select(vec!["200-299", "200,304", "302,404-499"]),
            arrivals in prop_oneof![
                Just(Arrivals::Closed),
                (0.001..1e9).prop_map(Arrivals::Constant),
                (0.001..1e9).prop_map(Arrivals::Poisson),
            ],
            (connections, keep_alive, pipeline) in (any::<u32>(), any::<bool>(), any::<u16>()),
            until in prop_oneof![
                time().prop_map(Until::Elapsed),
                any::<u64>().prop_map(Until::Requests),
            ],
            (warmup, timeout) in (time(), time()),
            (cpus, threads) in (prop::collection::vec(0..256_usize, 0..4), 0..9_usize),
            backend in prop::sample::select(vec![
                BackendChoice::Auto, BackendChoice::Uring, BackendChoice::Epoll,
            ]),
            (seed, host) in (any::<u64>(), 0..9_u32),
        ) -> Plan {
            Plan {
                target: Target {
                    address: SocketAddr::new(ip, port),
                    authority,
                    path: path.clone(),
                },
                work: Workload::Http(Http {
                    requests: vec![Request {
                        name: None,
                        method, path, headers, body: body.into(), placeholders, weight: 1,
                        expect: None,
                    }],
                    expect: Expect {
                        body: expected, whole_body, body_bytes, statuses: statuses.parse().unwrap(),
                    },
                }),
                arrivals,
                connections,
                keep_alive,
                pipeline,
                until,
                warmup,
                timeout,
                cpus,
                threads,
                backend,
                seed,
                share: Share { host, hosts: 9, first_thread: host },
            }
        }
    }

    proptest! {
        #[test]
        fn a_client_is_asked_for_what_was_planned(plan in plan()) {
            prop_assert_eq!(told_and_read(&plan), plan);
        }

        #[test]
        fn what_a_client_saw_is_what_is_told(
            times in prop::collection::vec(1..60_000_000_000_u64, 0..50),
            (number, share) in (any::<u64>(), 0.0..1.0_f64),
            (window, text) in (time(), ".*"),
        ) {
            let mut seen = histogram::empty();
            times.iter().for_each(|&time| seen.record(time).unwrap());
            let latency = Latency { good: seen.clone(), ..Latency::default() };
            let account = Account {
                scheduled: number,
                errors: Kind::ALL.map(|kind| ErrorCount {
                    kind, count: number, first: window, example: text.clone(),
                }).to_vec(),
                statuses: vec![StatusCount { status: 200, count: number, good: number / 2 }],
                ..Account::default()
            };
            let outcome = Outcome {
                account: account.clone(),
                warmup: account,
                window,
                answers_in_window: number,
                bytes_received: number,
                bytes_sent: number,
                response: latency.clone(),
                service: latency,
                connection_wait: seen.clone(),
                connect: seen.clone(),
                opening: seen,
                firsts: Firsts {
                    failed: Some(First { at: window, what: (Kind::Refused, text.clone()) }),
                    ..Firsts::default()
                },
                sampled_answers: vec![SampledAnswer {
                    at: window,
                    request: 0,
                    expected: text.clone(),
                    bytes: (0..=255).collect(),
                }],
                seconds: vec![Second { p50: Some(number >> 13), ..Second::default() }],
                threads: vec![ThreadUse {
                    cpu: Some(3),
                    user_s: share,
                    run_delay_share: Some(share),
                    away_s: share,
                    ..ThreadUse::default()
                }],
                backend: text,
                interrupted: true,
                ..Outcome::nothing(Moment::now())
            };
            prop_assert_eq!(told_and_read(&outcome), outcome);
        }
    }

    #[test]
    fn an_error_says_the_same_on_the_other_side() {
        for source in [io::Error::from_raw_os_error(13), io::Error::other("in words")] {
            let error = Error::System { what: "binding".into(), source };
            assert_eq!(told_and_read(&error).to_string(), error.to_string());
        }
        let error = Error::Plan("nothing to send".into());
        assert!(matches!(told_and_read(&error), Error::Plan(why) if why == "nothing to send"));
    }

    #[test]
    fn a_line_that_is_cut_off_is_none_wherever_it_is_cut() {
        let whole = "ä".as_bytes();
        let mut input = &[b"first\n", &whole[..1]].concat()[..];
        assert_eq!(line(&mut input).unwrap().as_deref(), Some("first"));
        let error = line(&mut input).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnexpectedEof, "half a plan is no plan: {error}");
        assert_eq!(line(&mut input).unwrap(), None);
    }

    #[test]
    fn a_line_without_an_end_is_not_read_forever() {
        let mut endless = io::BufReader::new(io::repeat(b'x'));
        assert_eq!(line(&mut endless).unwrap_err().kind(), ErrorKind::InvalidData);
    }
}
