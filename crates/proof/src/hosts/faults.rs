//! All ways to fail: each is made to happen, and held to its sentence, its exit code and its
//! deadline, and to that nothing is left running.

use std::time::{Duration, Instant};

use comfy_table::Table;
use rustix::process::{Pid, Signal, kill_process};

use super::field::{Field, Second, Told};
use super::left::{self, Process};
use super::reach::By;
use super::stage;
use crate::client::Running;
use crate::page::markdown;

/// What an end may take beyond its deadline.
const BEYOND: Duration = Duration::from_secs(10);
/// After so much silence each side takes the other for gone.
const SILENT_S: u64 = 5;

/// A way to fail, and what is to come of it.
struct Fault {
    /// What happens, for people.
    what: &'static str,
    /// Over what; over all that it can happen to, if over none.
    by: Option<By>,
    /// What is asked for: a path, and further words of `bakeoff load`.
    asks: (&'static str, &'static str),
    deed: Deed,
    /// The exit code of the command; `None` of one that is killed.
    exits: Option<i32>,
    /// What it has to say.
    says: &'static str,
    /// Until when it is found out, in seconds.
    within_s: u64,
}

/// What is done.
#[derive(Clone, Copy)]
enum Deed {
    /// The second host is behind these words of a shell, in which `"$@"` leads there.
    Behind(&'static str),
    /// It has another program.
    OtherProgram,
    /// Its link is cut before.
    CutBefore,
    /// What it receives is limited.
    Narrow,
    /// Its agent is sent this while the load is under way.
    Signal(Signal),
    /// Its link is cut then.
    Cut,
    /// The hub is killed then.
    KillHub,
    /// The hub is stopped then, until all hosts have given it up.
    StopHub,
}

/// What follows each sentence about a host that was lost.
pub const BEHIND_LOST: &str = ". The load was not what was asked for, so no figure of it is valid. \
                               What the others saw is told";

/// A load that goes on for longer than anybody waits.
const LONG: (&str, &str) = ("/", "-d 60s -c 6 -t 1");
/// One that is soon over.
const SHORT: (&str, &str) = ("/", "-n 3000 -c 6 -t 1");

/// A way to fail over ssh, before the load or by what the second host tells.
const fn behind(
    what: &'static str,
    words: &'static str,
    says: &'static str,
    within_s: u64,
) -> Fault {
    let (by, deed) = (Some(By::Ssh), Deed::Behind(words));
    Fault { what, by, asks: SHORT, deed, exits: Some(4), says, within_s }
}

/// One that happens while the load is under way, over all that leads to hosts.
const fn meanwhile(what: &'static str, deed: Deed, says: &'static str, within_s: u64) -> Fault {
    Fault { what, by: None, asks: LONG, deed, exits: Some(4), says, within_s }
}

const FAULTS: [Fault; 18] = [
    meanwhile("`kill -9` of c2's agent", Deed::Signal(Signal::KILL), "host c2 was lost", 0),
    meanwhile(
        "`kill -STOP` of c2's agent",
        Deed::Signal(Signal::STOP),
        "host c2 was lost: nothing was heard of it for 5 s",
        SILENT_S,
    ),
    meanwhile(
        "`ip link set eth0 down` on c2",
        Deed::Cut,
        "host c2 was lost: nothing was heard of it for 5 s",
        SILENT_S,
    ),
    Fault { exits: None, ..meanwhile("`kill -9` of the hub", Deed::KillHub, "", SILENT_S) },
    meanwhile("`kill -STOP` of the hub", Deed::StopHub, "was lost", SILENT_S),
    behind("c2 refuses the connection", "shift; exec ssh -p 1 \"$@\"", "Connection refused", 0),
    Fault { deed: Deed::CutBefore, ..behind("c2's link is down", "", "host c2: ", 10) },
    behind("nothing speaks on c2", "exec sleep 60", "no agent greeted within 10 s", 10),
    behind(
        "another speaks on c2, without end",
        "exec yes",
        "host c2: what it said can't be understood: no agent speaks",
        0,
    ),
    Fault {
        deed: Deed::OtherProgram,
        ..behind("c2's program has a byte more", "", "figures of two programs don't add", 0)
    },
    behind(
        "c2 may load another network only",
        "exec \"$@\" --only 10.78.0.0/24",
        "this agent offers load to 10.78.0.0/24 only",
        0,
    ),
    behind(
        "c2 hears the word to start half a second late",
        "perl -ne '$|=1; select(undef,undef,undef,0.5) if /\"start\"/; print' | \"$@\"",
        "the word to start came",
        0,
    ),
    behind(
        "c2's outcome is torn",
        "\"$@\" | sed -u '/\"ended\"/s/^\\(.\\{99\\}\\).*/\\1/'",
        "host c2 was lost: what it said can't be understood",
        0,
    ),
    behind(
        "c2's outcome has no end",
        "\"$@\" | perl -ne '$|=1; if (/\"ended\"/) { print \"x\" x 65536 while 1 } print'",
        "a line without an end",
        0,
    ),
    behind(
        "c2 claims 10^12 good answers",
        "\"$@\" | sed -u 's/\"good\":[0-9]*,/\"good\":1000000000000,/'",
        "contradict each other",
        0,
    ),
    Fault {
        asks: ("/", "-d 1s -c 6 -t 1 --timeout 1s"),
        ..behind(
            "c2 never tells its outcome",
            "\"$@\" | sed -u '/\"ended\"/d'",
            "it told no outcome within",
            34,
        )
    },
    Fault { exits: Some(0), ..behind("c2's clock is a day ahead, as in all rows", "", "", 0) },
    Fault {
        asks: ("/20000", "-d 2s -c 6 -t 1"),
        deed: Deed::Narrow,
        exits: Some(0),
        ..behind("c2 receives 4 Mbit/s", "", "c2", 0)
    },
];

impl Fault {
    /// What happens, with the words that make it happen.
    fn in_words(&self) -> String {
        match self.deed {
            Deed::Behind(words) if !words.is_empty() => {
                format!("{}: `{}`", self.what, words.replace('|', "\\|"))
            }
            _ => self.what.into(),
        }
    }

    fn can_happen_over(&self, by: By) -> bool {
        match self.by {
            Some(only) => only == by,
            None => by.shares_the_network() || !matches!(self.deed, Deed::Cut),
        }
    }
}

/// What came of one.
struct Row {
    by: By,
    what: String,
    /// Further words of the command.
    asked: &'static str,
    code: Option<i32>,
    /// From the fault to the command's end; `None` where that was the fault.
    ended: Option<Duration>,
    /// From the fault to when nothing was left.
    gone: Duration,
    left: Vec<String>,
    said: String,
    /// In what it isn't as it has to be.
    wrong: Vec<&'static str>,
}

/// What came of all.
#[derive(Default)]
pub struct Failures {
    rows: Vec<Row>,
}

impl Failures {
    /// Makes all happen that can, over what leads to hosts here.
    pub fn add(&mut self, field: &Field) -> Result<(), String> {
        for fault in FAULTS.iter().filter(|fault| fault.can_happen_over(field.reach.by)) {
            field.interrupt.check()?;
            eprintln!("{}: {}", field.reach.by.name(), fault.what);
            field.reach.settle()?;
            let row = happen(fault, field).map_err(|why| format!("{}: {why}", fault.what))?;
            self.rows.push(row);
        }
        Ok(())
    }

    /// Whether each came to the end that it has to.
    pub fn hold(&self) -> bool {
        self.rows.iter().all(|row| row.wrong.is_empty())
    }

    /// A row each.
    pub fn table(&self) -> Table {
        let mut table = markdown();
        table.set_header([
            "what happens",
            "hosts by",
            "asked",
            "exit code",
            "the command ended after",
            "nothing left after",
            "it said",
            "",
        ]);
        for row in &self.rows {
            let seconds = |time: Duration| format!("{:.2} s", time.as_secs_f64());
            let gone = match &row.left[..] {
                [] => seconds(row.gone),
                left => format!("left: {}", left.join(", ")),
            };
            table.add_row([
                row.what.clone(),
                row.by.name().into(),
                format!("`{}`", row.asked),
                row.code.map_or("–".into(), |code| code.to_string()),
                row.ended.map_or("–".into(), seconds),
                gone,
                row.said.replace('|', "\\|"),
                match &row.wrong[..] {
                    [] => "holds".into(),
                    wrong => format!("MISSED: {}", wrong.join(", ")),
                },
            ]);
        }
        table
    }
}

fn happen(fault: &Fault, field: &Field) -> Result<Row, String> {
    let second = match fault.deed {
        Deed::Behind(behind) => Second { behind, ..Second::default() },
        Deed::OtherProgram => Second { binary: Some(OTHER), ..Second::default() },
        _ => Second::default(),
    };
    let file = field.file(second)?;
    let c2 = field.stage.host("c2");
    match fault.deed {
        Deed::OtherProgram => other_program()?,
        Deed::CutBefore => c2.run(CUT)?,
        Deed::Narrow => stage::run(NARROW)?,
        _ => {}
    }
    let mut since = Instant::now();
    let running = field.begin_load(&file, fault.asks.0, fault.asks.1)?;
    let mut stopped = None;
    if let Deed::Signal(_) | Deed::Cut | Deed::KillHub | Deed::StopHub = fault.deed {
        field.until_under_way()?;
        since = Instant::now();
        stopped = do_meanwhile(fault.deed, field, &running)?;
    }
    let told = Told::of(&running.wait(field.interrupt)?);
    let ended = since.elapsed();
    let at_most = Duration::from_secs(fault.within_s) + BEYOND;
    let left = left::after(at_most.saturating_sub(since.elapsed()).max(BEYOND));
    let gone = since.elapsed();
    match fault.deed {
        Deed::CutBefore | Deed::Cut => c2.run(JOIN)?,
        Deed::Narrow => stage::run(WIDEN)?,
        _ => {}
    }
    let mut names: Vec<String> = left.iter().map(Process::name).collect();
    // Who was stopped can't end before he goes on.
    let is_left = |it: &Process| left.contains(it);
    let stopped = stopped.filter(is_left).filter(|it| it.signal(Signal::CONT).is_ok());
    let remain = if left.is_empty() { left } else { left::after(BEYOND) };
    if stopped.is_some() && remain.is_empty() {
        names = vec!["the stopped agent alone, which ended once it went on".into()];
    }
    remain.iter().for_each(|it| drop(it.signal(Signal::KILL)));
    let mut wrong = Vec::new();
    let mut hold = |holds: bool, what| wrong.extend((!holds).then_some(what));
    hold(told.code == fault.exits, "another exit code");
    hold(told.said.contains(fault.says), "another sentence");
    // A load that nothing ends takes its time.
    hold(fault.exits == Some(0) || ended <= at_most, "too late");
    hold(remain.is_empty(), "something is left");
    let is_killed = fault.exits.is_none();
    Ok(Row {
        by: field.reach.by,
        what: fault.in_words(),
        asked: fault.asks.1,
        code: told.code,
        ended: (!is_killed).then_some(ended),
        gone,
        left: names,
        said: told.said.replace(BEHIND_LOST, ""),
        wrong,
    })
}

const CUT: &str = "ip link set eth0 down";
const JOIN: &str = "ip link set eth0 up";
const NARROW: &str = "tc qdisc add dev to-c2 root tbf rate 4mbit burst 16kb latency 400ms";
const WIDEN: &str = "tc qdisc del dev to-c2 root";
/// A program that differs from this one.
const OTHER: &str = "/run/bin/other";

fn other_program() -> Result<(), String> {
    let program = crate::tool::Tool::Bakeoff.program()?;
    let fail = |error: std::io::Error| format!("{OTHER}: {error}");
    let mut bytes = std::fs::read(program).map_err(fail)?;
    bytes.push(0);
    std::fs::write(OTHER, bytes).map_err(fail)?;
    stage::run(&format!("chmod 755 {OTHER}"))
}

/// Does it; gives the process that is stopped by it.
fn do_meanwhile(deed: Deed, field: &Field, running: &Running) -> Result<Option<Process>, String> {
    let c2 = field.stage.host("c2");
    match deed {
        Deed::Cut => c2.run(CUT).map(|()| None),
        Deed::KillHub => signal_hub(running, Signal::KILL).map(|()| None),
        Deed::StopHub => {
            signal_hub(running, Signal::STOP)?;
            left::after(Duration::from_secs(SILENT_S) + BEYOND);
            signal_hub(running, Signal::CONT).map(|()| None)
        }
        Deed::Signal(signal) => {
            let agent = left::agent_in(c2.network().as_deref()).ok_or("c2 has no agent")?;
            agent.signal(signal)?;
            Ok((signal == Signal::STOP).then_some(agent))
        }
        _ => Ok(None),
    }
}

fn signal_hub(running: &Running, signal: Signal) -> Result<(), String> {
    let hub = i32::try_from(running.pid()).ok().and_then(Pid::from_raw);
    let hub = hub.ok_or("the hub has no process id")?;
    kill_process(hub, signal).map_err(|error| format!("a signal to the hub: {error}"))
}
