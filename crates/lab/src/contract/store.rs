//! Does a store do its job? What it has to keep, whatever it speaks.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use load::Stop;
use result::evidence::ContractStep;

use super::store_client::{StoreClient, StoreWrong};
use super::{Contract, Depth};
use crate::place::Running;
use crate::study::contender::Speaks;

/// Time for one operation.
const WITHIN: Duration = Duration::from_secs(5);
/// A key of the contract's own, which no load asks for: those begin otherwise.
pub const KEY: &str = "contract:key";
/// Seconds after which a value has to be forgotten.
const EXPIRES_S: u32 = 2;
/// By how many it may come early: memcached counts whole ones.
const GRAIN_S: f64 = 1.1;
/// How often a store may be asked until it forgets no earlier than that.
const EXPIRY_TRIES: usize = 3;
/// And how late it may come.
const GONE_WITHIN: Duration = Duration::from_secs(5);
/// Between two looks whether it is gone.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How large a value is that a store has to take: that of the larger test of 2009.
const LARGE_BYTES: usize = 20_000;

/// The contract of all stores.
#[derive(Debug, Clone, Copy)]
pub struct StoreJob {
    /// What it is spoken with.
    pub speaks: Speaks,
}

impl Contract for StoreJob {
    fn check(
        &self,
        on: &Running,
        depth: Depth,
        stop: &Stop,
        tell: &mut dyn FnMut(&ContractStep),
    ) -> Vec<ContractStep> {
        go_through((on.address, self.speaks), depth, stop, tell)
    }
}

/// Goes through the contract with the store at this address.
pub fn go_through(
    (address, speaks): (SocketAddr, Speaks),
    depth: Depth,
    stop: &Stop,
    tell: &mut dyn FnMut(&ContractStep),
) -> Vec<ContractStep> {
    let mut steps: Vec<ContractStep> = Vec::new();
    let client = || StoreClient::connect(address, speaks, WITHIN);
    for due in DUE.iter().filter(|due| !due.takes_seconds || depth == Depth::Thorough) {
        if stop.asked() {
            break;
        }
        let step = due.step(client().and_then(|mut client| (due.ask)(&mut client)));
        tell(&step);
        let is_last = step.hung || (step.wrong.is_some() && steps.is_empty());
        steps.push(step);
        // If the first fails, the others have nothing to say.
        if is_last {
            break;
        }
    }
    steps
}

/// Whether a store answers at all: the contract's first step.
pub(crate) fn ask_once(on: &Running, speaks: Speaks) -> Result<(), StoreWrong> {
    StoreClient::connect(on.address, speaks, WITHIN)?.get(KEY).map(|_| ())
}

/// A step to go through.
struct Due {
    id: &'static str,
    /// What is asked of the store: *it* does so.
    asked: &'static str,
    /// Whether it is left out where there are only tenths of a second.
    takes_seconds: bool,
    /// What was seen, or what was wrong with it. The key is gone afterwards.
    ask: fn(&mut StoreClient) -> Result<String, StoreWrong>,
}

const DUE: [Due; 6] = [
    Due {
        id: "set-get",
        asked: "gives back the value that it acknowledged",
        takes_seconds: false,
        ask: |it| gives_back(it, b"a value"),
    },
    Due {
        id: "missing",
        asked: "says that a key has no value, and that it removed one",
        takes_seconds: false,
        ask: missing,
    },
    Due {
        id: "overwrite",
        asked: "gives back the last of two values",
        takes_seconds: false,
        ask: |it| {
            it.set(KEY, b"the first, longer value", 0)?;
            gives_back(it, b"the last value")
        },
    },
    Due {
        id: "binary",
        asked: "gives back all bytes as they were, ends of lines among them",
        takes_seconds: false,
        ask: |it| {
            let all: Vec<u8> = (0..=255).chain(*b"\r\nEND\r\n$-1\r\n").collect();
            gives_back(it, &all)
        },
    },
    Due {
        id: "large",
        asked: "gives back a value of 20,000 bytes",
        takes_seconds: false,
        ask: |it| {
            let large: Vec<u8> = (0..LARGE_BYTES).map(|at| (at % 251) as u8).collect();
            gives_back(it, &large)
        },
    },
    Due {
        id: "expiry",
        asked: "forgets a value after its time, and not before",
        takes_seconds: true,
        ask: expiry,
    },
];

impl Due {
    fn step(&self, outcome: Result<String, StoreWrong>) -> ContractStep {
        let hung = matches!(outcome, Err(StoreWrong::TooLate(_)));
        let (saw, wrong) = match outcome {
            Ok(saw) => (saw, None),
            Err(wrong) => (String::new(), Some(wrong.to_string())),
        };
        ContractStep { id: self.id.into(), asked: self.asked.into(), saw, wrong, hung }
    }
}

fn gives_back(it: &mut StoreClient, value: &[u8]) -> Result<String, StoreWrong> {
    it.set(KEY, value, 0)?;
    let read = it.get(KEY)?;
    it.delete(KEY)?;
    match read {
        Some(read) if read == value => Ok(format!("{} bytes", value.len())),
        Some(read) => {
            let (is, due) = (read.len(), value.len());
            Err(StoreWrong::Answer(format!("{is} bytes that aren't the {due} that were written")))
        }
        None => Err(StoreWrong::Answer("no value for a key that was written just before".into())),
    }
}

fn missing(it: &mut StoreClient) -> Result<String, StoreWrong> {
    let no = |what: &str| Err(StoreWrong::Answer(what.into()));
    it.delete(KEY)?;
    if it.get(KEY)?.is_some() {
        return no("a value for a key that was removed");
    }
    it.set(KEY, b"a value", 0)?;
    if !it.delete(KEY)? {
        return no("that nothing was removed, of a key that was written just before");
    }
    match (it.get(KEY)?, it.delete(KEY)?) {
        (None, false) => Ok("neither before it was written nor after it was removed".into()),
        (Some(_), _) => no("a value for a key that was removed"),
        (None, true) => no("that a key was removed which had been removed before"),
    }
}

/// A store that forgets early is asked again: where the machine is busy, the tick of a clock of
/// whole seconds comes late, and the next two lie close together.
fn expiry(it: &mut StoreClient) -> Result<String, StoreWrong> {
    let mut seconds = 0.0;
    for _ in 0..EXPIRY_TRIES {
        seconds = forgotten_after(it)?;
        if seconds >= f64::from(EXPIRES_S) - GRAIN_S {
            return Ok(format!("it was gone after {seconds:.1} s"));
        }
    }
    Err(StoreWrong::Answer(format!("no value after {seconds:.1} of its {EXPIRES_S} s")))
}

/// For how many seconds a value was there that was written for [`EXPIRES_S`].
fn forgotten_after(it: &mut StoreClient) -> Result<f64, StoreWrong> {
    it.set(KEY, b"a value", EXPIRES_S)?;
    let began = Instant::now();
    while it.get(KEY)?.is_some() {
        if began.elapsed() > GONE_WITHIN {
            it.delete(KEY)?;
            return Err(StoreWrong::Answer(format!("a value whose time of {EXPIRES_S} s is over")));
        }
        std::thread::sleep(LOOK_EVERY);
    }
    Ok(began.elapsed().as_secs_f64())
}
