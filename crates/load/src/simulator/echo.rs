//! A backend that answers each request at once, for next to no instructions of its own: what is
//! left is what a request costs the client's own code.

use std::collections::VecDeque;
use std::io;
use std::net::Ipv4Addr;
use std::sync::mpsc;
use std::time::Duration;

use crate::backend::{Backend, Event, Received, Slot};
use crate::jobs::record_of;
use crate::pace::clock::Clock;
use crate::pace::queue::Queue;
use crate::pace::turns::Turns;
use crate::plan::keys::{Chosen, Dialect, Keys, KeysPhase, Operation, Resp};
use crate::plan::template::Request;
use crate::plan::{Arrivals, Target, Until, Workload};
use crate::protocol::Protocol;
use crate::protocol::http1::Http1;
use crate::protocol::store::Store;
use crate::thread::Worker;
use crate::thread::address::Sources;
use crate::work::keys::choice::PRELOADED;
use crate::work::keys::value::Values;
use crate::work::pages::Pages;
use crate::{Plan, Stop};

const PAGE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\nHello, World!";
/// A store's word that a value is stored.
const STORED: &[u8] = b"+OK\r\n";
/// How long an answer takes.
const ANSWER_NS: u64 = 10_000;

/// A load whose requests are counted under a profiler of instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Load {
    /// A closed loop, a request at a time on a connection.
    Closed,
    /// A closed loop with sixteen requests at once on a connection.
    Pipelined,
    /// An open loop of evenly spaced requests.
    Open,
    /// Sixteen values at once are read on a connection to a store, each of 100 bytes.
    Gets,
    /// The same values are written.
    Sets,
}

/// Asks so many requests of one thread on sixteen connections; gives how many had a good answer.
pub fn ask(requests: u64, load: Load) -> u64 {
    let address = "127.0.0.1:1".parse().expect("an address");
    let target = Target { address, authority: "x".into(), path: "/".into() };
    let mut plan = Plan {
        connections: 16,
        threads: 1,
        pipeline: if matches!(load, Load::Closed | Load::Open) { 1 } else { 16 },
        arrivals: if load == Load::Open { Arrivals::Constant(1e6) } else { Arrivals::Closed },
        until: Until::Requests(requests),
        ..Plan::new(target, vec![Request::get("/")])
    };
    let operation = match load {
        Load::Closed | Load::Pipelined | Load::Open => {
            let http = plan.http().expect("a plan of HTTP");
            return good_answers(&plan, PAGE, Http1::new(&plan, http, Pages::new(&plan, http)));
        }
        Load::Gets => Operation::Get,
        Load::Sets => Operation::Set,
    };
    let keys = one_key(operation);
    let values = Values::new(plan.seed, keys.value_bytes.clone());
    let found = [&b"$100\r\n"[..], &values.value(PRELOADED, 0), b"\r\n"].concat();
    let answer = if operation == Operation::Get { &found } else { STORED };
    plan.work = Workload::Keys(keys.clone());
    good_answers(&plan, answer, Store::new(&plan, &keys))
}

/// A store of a single key, so that it answers alike each time.
fn one_key(operation: Operation) -> Keys {
    Keys {
        dialect: Dialect::Resp(Resp::default()),
        phase: KeysPhase::Mix,
        mix: vec![(operation, 1)],
        count: 1,
        chosen: Chosen::Uniform,
        value_bytes: 100..=100,
        together: 1,
        expires_s: 0,
        are_there: true,
        evicts: false,
    }
}

/// How many requests of a plan had a good answer of a server that always answers so.
fn good_answers<P: Protocol>(plan: &Plan, answer: &[u8], protocol: P) -> u64 {
    let (stop, (seconds, _told)) = (Stop::default(), mpsc::channel());
    let queue = Queue::new(plan, 1).expect("one thread needs nothing of the kernel");
    let backend = Echo::new(answer, &mut protocol.of_thread(0));
    let record = record_of(plan, &protocol, 0, plan.connections, seconds);
    let sources = Sources::new(plan.target.address, false, plan.connections, 0);
    let parts = (backend, protocol, record, Turns::new(&queue, 0, plan.share));
    let shares = (plan.connections, 1);
    let mut worker = Worker::new(plan, &stop, Clock::start(), shares, sources, parts);
    let turn_over = |worker: &mut Worker<Echo, P>| {
        while let Some(until) = worker.sleeps_until() {
            worker.turn_over(until).expect("nothing fails here");
        }
    };
    turn_over(&mut worker);
    worker.start(plan.window(1_000_000_000));
    turn_over(&mut worker);
    worker.finish().account.good
}

/// A network without latency before a server without work.
struct Echo {
    now: u64,
    coming: VecDeque<Event>,
    answer: Vec<u8>,
    /// Bytes of each request: all are as long, so their number follows from what is sent.
    request_bytes: usize,
    /// Answers that lie ready one behind the other.
    bytes: Vec<u8>,
}

impl Echo {
    /// Answers each request so that this protocol asks.
    fn new<P: Protocol>(answer: &[u8], protocol: &mut P) -> Echo {
        let mut request = protocol.fixed(0).map(<[u8]>::to_vec).unwrap_or_default();
        if request.is_empty() {
            protocol.ask(0, &mut request);
        }
        Echo {
            now: 0,
            coming: VecDeque::new(),
            answer: answer.to_vec(),
            request_bytes: request.len(),
            bytes: Vec::new(),
        }
    }
}

impl Backend for Echo {
    fn now(&self) -> u64 {
        self.now
    }

    fn connect(&mut self, slot: Slot, _: Option<Ipv4Addr>) -> io::Result<Option<u64>> {
        self.coming.push_back(Event::Connected(slot));
        Ok(None)
    }

    fn receive_more(&mut self, _: Slot, _: u64) {}

    unsafe fn send(&mut self, slot: Slot, bytes: *const [u8]) -> Option<u64> {
        let length = bytes.len() / self.request_bytes * self.answer.len();
        while self.bytes.len() < length {
            self.bytes.extend_from_slice(&self.answer);
        }
        self.coming.push_back(Event::Received(slot, Received::whole(length)));
        None
    }

    fn is_sending(&self, _: Slot) -> bool {
        false
    }

    fn unsent_bytes(&self, _: Slot) -> u64 {
        0
    }

    fn close(&mut self, _: Slot) {}

    fn wait(&mut self, at_most: Duration) -> io::Result<u64> {
        let sleeps = at_most.as_nanos() as u64;
        self.now += if self.coming.is_empty() { sleeps } else { ANSWER_NS.min(sleeps) };
        Ok(self.now)
    }

    fn next(&mut self) -> Option<(u64, Event)> {
        Some((self.now, self.coming.pop_front()?))
    }

    fn bytes(&self, received: Received) -> &[u8] {
        &self.bytes[..received.length()]
    }

    fn kernel_stamp(&self) -> Option<Duration> {
        None
    }

    fn syn_retransmits(&self, _: Slot) -> u64 {
        0
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};
    use std::process::Command;

    use super::*;
    use crate::skipped::skipped;

    const LOADS: [(&str, Load); 5] = [
        ("closed", Load::Closed),
        ("pipelined", Load::Pipelined),
        ("open", Load::Open),
        ("gets", Load::Gets),
        ("sets", Load::Sets),
    ];
    /// Set, the counts are written down anew.
    const WRITE: &str = "WRITE_INSTRUCTIONS";
    const KEPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/simulator/instructions.txt");
    /// How much a count may differ from the one that is kept.
    const DIFFER_MAX: f64 = 0.02;

    #[test]
    fn every_request_is_answered_in_each_load() {
        for (name, load) in LOADS {
            assert_eq!(ask(1_000, load), 1_000, "{name}");
        }
    }

    /// A change that makes each request dearer shows here before anybody measures it.
    #[test]
    fn a_request_takes_no_more_instructions_than_it_did() {
        let Some(version) = said(Command::new("rustc").arg("--version")) else {
            return skipped("there is no rustc to ask for its version");
        };
        let program = released();
        let mut now = format!("instructions a request, by {version}");
        for (name, _) in LOADS {
            let (Some(few), Some(many)) =
                (counted(&program, name, 10_000), counted(&program, name, 30_000))
            else {
                return skipped("valgrind can't count here");
            };
            now += &format!("{name} {}\n", (many - few) / 20_000);
        }
        if std::env::var_os(WRITE).is_some() {
            std::fs::write(KEPT, &now).unwrap();
        }
        let kept = std::fs::read_to_string(KEPT).unwrap();
        let (mut kept_lines, mut now_lines) = (kept.lines(), now.lines());
        if kept_lines.next() != now_lines.next() {
            return skipped("the counts that are kept are of another compiler");
        }
        for (kept, now) in kept_lines.zip(now_lines) {
            let count = |line: &str| line.split(' ').nth(1).unwrap().parse::<f64>().unwrap();
            let differ = count(now) / count(kept) - 1.0;
            assert!(
                differ.abs() <= DIFFER_MAX,
                "{now} instructions a request, and it was {kept}; if that has to be so, write it \
                 down: {WRITE}=1 cargo test -p load instructions"
            );
        }
    }

    /// The program that asks, built as it is released: in the build that tests use, what is
    /// counted depends on what else is built.
    fn released() -> PathBuf {
        let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let build = ["build", "--locked", "--release", "-p", "load", "--features", "simulator"];
        let built = Command::new(env!("CARGO"))
            .current_dir(&root)
            .args(build)
            .args(["--bin", "instructions"])
            .output()
            .unwrap();
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        target.unwrap_or_else(|| root.join("target")).join("release/instructions")
    }

    /// Instructions of a process that asks so many requests.
    fn counted(program: &Path, load: &str, requests: u64) -> Option<u64> {
        let counted = Command::new("valgrind")
            .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
            .arg(program)
            .args([load, &requests.to_string()])
            .output()
            .ok()
            .filter(|output| output.status.success())?;
        let told = String::from_utf8_lossy(&counted.stderr).into_owned();
        told.lines().find_map(|line| line.split("Collected :").nth(1)?.trim().parse().ok())
    }

    /// What a program says, if it ends well.
    fn said(command: &mut Command) -> Option<String> {
        let output = command.output().ok().filter(|output| output.status.success())?;
        String::from_utf8(output.stdout).ok()
    }
}
