//! The client of a trial as a process: a plan goes in, an outcome comes out.

use std::io::{BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use load::agent::{self, Heard, Told};
use load::plan::template::Request;
use load::plan::{Target, Until};
use load::{Error, Moment, Plan};
use rustix::process::{Pid, Signal, kill_process};

use crate::support::Server;

const GOOD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// A client whose input is held here.
struct Client {
    process: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Client {
    fn start() -> Client {
        let mut process = Command::new(env!("CARGO_BIN_EXE_bakeoff"))
            .arg(agent::SUBCOMMAND)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        Client { input: process.stdin.take(), process, output }
    }

    /// One that has its plan.
    fn with(plan: &Plan) -> Client {
        let mut client = Client::start();
        client.hears(&Heard::Plan(Box::new(plan.clone())));
        client
    }

    /// One that has its plan, was ready, and began.
    fn begun(plan: &Plan) -> Client {
        let mut client = Client::with(plan);
        assert!(matches!(client.told(), Some(Told::Ready)), "it isn't ready first");
        client.hears(&Heard::Start(Moment::now()));
        client
    }

    fn hears(&mut self, what: &Heard) {
        self.say(&serde_json::to_vec(what).unwrap());
        self.say(b"\n");
    }

    fn say(&mut self, what: &[u8]) {
        self.input.as_mut().unwrap().write_all(what).unwrap();
    }

    /// What it tells next; `None` at its end.
    fn told(&mut self) -> Option<Told> {
        let line = agent::line(&mut self.output).unwrap()?;
        Some(serde_json::from_str(&line).unwrap())
    }

    /// Its last word: what it tells when seconds are left out.
    fn last_word(&mut self) -> Option<Told> {
        loop {
            match self.told() {
                Some(Told::Second(_)) => {}
                told => return told,
            }
        }
    }

    /// Closes its input, and waits for its end.
    fn leave(&mut self) -> ExitStatus {
        self.input = None;
        self.process.wait().unwrap()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn plan(server: &Server, until: Until) -> Plan {
    let address = server.address;
    let target = Target { address, authority: address.to_string(), path: "/".into() };
    Plan { until, ..Plan::new(target, vec![Request::get("/")]) }
}

/// Longer than any test.
const FOREVER: Until = Until::Elapsed(Duration::from_secs(3600));

#[test]
fn a_plan_goes_in_and_its_outcome_comes_out() {
    let server = Server::says(GOOD);
    let mut client = Client::begun(&plan(&server, Until::Requests(100)));
    let Some(Told::Ended(outcome)) = client.last_word() else { panic!("it told no outcome") };
    assert_eq!((outcome.account.good, outcome.interrupted), (100, false));
    assert_eq!(outcome.service.good.len(), 100, "the histogram is on its way");
    assert!(outcome.window_began.elapsed() >= outcome.window, "it is another clock");
    server.requests_once(100);
    assert!(client.process.try_wait().unwrap().is_none(), "its counters can't be read any more");
    assert!(client.leave().success());
}

/// A shutdown sends them to all processes, and bakeoff has to hear of an outcome or of
/// a failure, not of its own end.
#[test]
fn signals_that_ask_for_an_end_are_left_to_whoever_started_it() {
    let server = Server::says(GOOD);
    let mut client = Client::begun(&plan(&server, Until::Elapsed(Duration::from_secs(2))));
    assert!(matches!(client.told(), Some(Told::Second(_))), "it runs");
    let pid = Pid::from_raw(client.process.id() as i32).unwrap();
    for signal in [Signal::HUP, Signal::INT, Signal::TERM] {
        kill_process(pid, signal).unwrap();
    }
    let Some(Told::Ended(outcome)) = client.last_word() else { panic!("it told no outcome") };
    assert!(!outcome.interrupted, "{:?}", outcome.account);
    assert!(client.leave().success());
}

#[test]
fn a_client_that_nobody_waits_for_ends_at_once() {
    let server = Server::says(GOOD);
    let mut client = Client::begun(&plan(&server, FOREVER));
    assert!(client.told().is_some(), "it runs");
    client.leave();
    assert!(client.last_word().is_none(), "nobody asked it for an outcome");
    let mut client = Client::start();
    client.leave();
    assert!(client.told().is_none(), "it had no plan");
}

/// Several clients begin together only if each waits for its start.
#[test]
fn a_client_asks_nothing_before_its_start_and_begins_when_it_was_told_to() {
    let server = Server::says(GOOD);
    let mut client = Client::with(&plan(&server, Until::Requests(10)));
    assert!(matches!(client.told(), Some(Told::Ready)), "it isn't ready");
    assert_eq!(server.requests(), 0, "it asked before its start");
    let ahead = Duration::from_millis(300);
    client.hears(&Heard::Start(Moment::now().after(ahead)));
    let began = Instant::now();
    let Some(Told::Ended(outcome)) = client.last_word() else { panic!("it told no outcome") };
    assert!(began.elapsed() >= ahead, "it began early");
    assert_eq!(outcome.account.good, 10);
    assert!(client.leave().success());
}

#[test]
fn a_client_that_is_to_stop_tells_what_it_saw() {
    let server = Server::says(GOOD);
    let mut client = Client::begun(&plan(&server, FOREVER));
    assert!(matches!(client.told(), Some(Told::Second(_))), "it runs");
    client.hears(&Heard::Stop);
    let Some(Told::Ended(outcome)) = client.last_word() else { panic!("it told no outcome") };
    assert!(outcome.interrupted && outcome.account.good > 0, "{:?}", outcome.account);
}

#[test]
fn what_is_no_plan_is_refused_and_so_is_a_plan_that_cant_be() {
    let mut client = Client::start();
    client.say(b"{\"target\": 1}\n");
    let told = client.told();
    let refused = |told: &Option<Told>, why: &str| matches!(told, Some(Told::Failed(Error::Plan(says))) if says.contains(why));
    assert!(refused(&told, "didn't understand its plan"), "{told:?}");
    assert!(!client.leave().success());

    let server = Server::says(GOOD);
    let none = Plan { connections: 0, ..plan(&server, FOREVER) };
    let told = Client::with(&none).told();
    assert!(refused(&told, "needs at least one connection"), "{told:?}");
}
