//! The ladder: which cuts are made of a contender, and what they say together.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use fastrand::Rng;
use lab::environment;
use lab::place::Host;
use lab::plan::write_load::WriteLoad;
use lab::study::contender::{Contender, Promises};
use lab::trial::order::order;
use load::Stop;
use result::durability::{Cut, CutVerdict, Durability, Rung, RungSeen};
use result::plan::Cores;

use crate::cut::{self, Answer, Job};
use crate::value::CONNECTIONS_MAX;

/// Cuts a rung, unless others are asked for.
pub const CUTS: u32 = 5;
/// Seconds of writing before a cut, drawn from here. A store that flushes every second has done
/// so at the end of it.
const MOMENTS_S: (f64, f64) = (1.0, 2.0);
/// How a store is written to of which no load is known.
const LOADS: [WriteLoad; 2] = [
    WriteLoad { connections: 16, value_bytes: 100 },
    WriteLoad { connections: 16, value_bytes: 20_000 },
];
/// How often an order to stop is looked for.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// For all of a cut but the store's four starts, and its refusals to be read.
const CUT_WITHIN: Duration = Duration::from_secs(300);
/// For what is under way to be ended, and the disk to be taken away.
const ENDS_WITHIN: Duration = Duration::from_secs(60);

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// Which rungs, in their order.
    pub rungs: Vec<Rung>,
    /// Cuts of each.
    pub cuts: u32,
    /// What all is drawn from.
    pub seed: u64,
    /// The loads under which stores are timed: each cut has one of them. None, if none is known.
    pub loads: Vec<WriteLoad>,
    /// Whether rungs above one that wasn't kept are tried as well.
    pub goes_on: bool,
}

/// What is told meanwhile.
#[derive(Debug)]
pub enum Told<'a> {
    /// A cut was made: of which rung, its number from 1, and what was seen.
    Cut(Rung, u32, &'a Cut),
    /// No more cuts of this rung are made, and why.
    NotMade(Rung, &'a str),
}

/// Goes up the ladder with a contender that is ready to be started, and that says what it is
/// spoken with; `None` if it was stopped on the way.
///
/// # Errors
/// One sentence, where nothing can be measured: a store that isn't one, a file that can't be
/// read, no free port.
pub fn measure(
    contender: &Contender,
    host: &dyn Host,
    asked: &Asked,
    stop: &Stop,
    tell: &mut dyn FnMut(Told),
) -> Result<Option<Durability>, String> {
    let mut random = Rng::with_seed(asked.seed);
    let promises = contender.file.promises.as_ref();
    let mut rungs = Vec::new();
    for &rung in &asked.rungs {
        let (mut cuts, mut why_not) = (Vec::new(), None);
        for number in 1..=asked.cuts {
            let job = job(contender, host, (rung, number), asked, &mut random)?;
            match make(&job, stop)? {
                Answer::Stopped => return Ok(None),
                Answer::Cut(mut cut) => {
                    let said = cut.example.iter_mut().chain(&mut cut.last_words);
                    said.for_each(|text| *text = environment::hidden(text));
                    tell(Told::Cut(rung, number, &cut));
                    cuts.push(cut);
                }
                Answer::NotMade(why) => {
                    let why = environment::hidden(&why);
                    tell(Told::NotMade(rung, &why));
                    why_not = Some(why);
                    break;
                }
            }
        }
        let promise_s = promises.and_then(|promises| promise_s(promises, rung));
        let seen = RungSeen::new(rung, cuts, promise_s, why_not);
        let is_kept = seen.verdict == CutVerdict::Kept;
        rungs.push(seen);
        if !is_kept && !asked.goes_on {
            break;
        }
    }
    let promised_in = promises.map(|promises| promises.source.clone());
    Ok(Some(Durability::new(contender.name.clone(), asked.seed, promised_in, rungs)))
}

fn promise_s(promises: &Promises, rung: Rung) -> Option<f64> {
    match rung {
        Rung::Process => promises.process_s,
        Rung::Machine => promises.machine_s,
        Rung::Power => promises.power_s,
    }
}

/// The order for one cut, in a fresh folder and on a fresh port. The last of several is made in
/// the middle of a snapshot; of the disk's cache every other one keeps a part.
fn job(
    contender: &Contender,
    host: &dyn Host,
    (rung, number): (Rung, u32),
    asked: &Asked,
    random: &mut Rng,
) -> Result<Job, String> {
    let speaks = contender.file.speaks.ok_or_else(|| {
        format!("{} is no store: its contender.toml has no `speaks`", contender.name)
    })?;
    let address = host.free_address()?;
    let (within, data) = (host.scratch_on_disk(), host.scratch_on_disk());
    // As in trials: else a store knows by its cores that it will be cut off.
    let cores = if random.bool() { Cores::All } else { Cores::One };
    let mut order = order(contender, host, &host.split(cores), address, data.clone())?;
    let files = order.scratch.take().map(|scratch| scratch.files).unwrap_or_default();
    order.folder = Some(data.clone());
    let (earliest, latest) = MOMENTS_S;
    let loads = if asked.loads.is_empty() { &LOADS[..] } else { &asked.loads };
    // In turn, from one that is drawn: a record of several pages is sooner cut within.
    let load = loads[(asked.seed as usize).wrapping_add(number as usize) % loads.len()];
    Ok(Job {
        within,
        data,
        order,
        files,
        address,
        speaks,
        ready_within_s: contender.file.ready_within_s,
        load: WriteLoad { connections: load.connections.min(CONNECTIONS_MAX), ..load },
        rung,
        moment_s: earliest + (latest - earliest) * random.f64(),
        in_snapshot: number == asked.cuts && asked.cuts > 1,
        keeps_part: rung == Rung::Power && number % 2 == 0,
        seed: random.u64(..),
    })
}

/// Has a process make the cut, which ends with this one.
fn make(job: &Job, stop: &Stop) -> Result<Answer, String> {
    let no = |what: &str, error: io::Error| format!("couldn't {what}: {error}");
    let mut process = Command::new("/proc/self/exe")
        .arg(cut::SUBCOMMAND)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| no("start a process that makes a cut", error))?;
    let mut line = serde_json::to_vec(job).map_err(|error| error.to_string())?;
    line.push(b'\n');
    let mut hold = process.stdin.take();
    // If it is gone already, it has no answer.
    let _ = hold.as_mut().map(|hold| hold.write_all(&line));
    let (to_answers, answers) = mpsc::channel();
    let from = process.stdout.take();
    std::thread::spawn(move || {
        let lines = from.map(BufReader::new).into_iter().flat_map(BufRead::lines);
        lines.map_while(Result::ok).try_for_each(|line| to_answers.send(line).map_err(drop))
    });
    let within = CUT_WITHIN + Duration::from_secs_f64(5.0 * job.ready_within_s);
    let began = Instant::now();
    let answer = loop {
        match answers.recv_timeout(LOOK_EVERY) {
            Ok(line) => break serde_json::from_str(&line).map_err(|error| error.to_string()),
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                break Err("the process that makes a cut ended without a word".into());
            }
            Err(mpsc::RecvTimeoutError::Timeout) if stop.asked() => break Ok(Answer::Stopped),
            Err(mpsc::RecvTimeoutError::Timeout) if began.elapsed() > within => {
                let seconds = within.as_secs();
                break Ok(Answer::NotMade(format!("a cut wasn't over within {seconds} s")));
            }
            Err(mpsc::RecvTimeoutError::Timeout) => {}
        }
    };
    // Its sign that there is nobody left to tell.
    drop(hold);
    end(&mut process)?;
    // Its own to remove, unless it was killed.
    for folder in [&job.within, &job.data] {
        let _ = std::fs::remove_dir_all(folder);
    }
    answer
}

/// The process that makes a cut, as far as its end goes.
trait Cutting {
    fn pid(&self) -> u32;
    fn has_ended(&mut self) -> bool;
    /// Sends SIGKILL.
    fn kill(&mut self) -> io::Result<()>;
    fn wait(&mut self, time: Duration);
}

impl Cutting for Child {
    fn pid(&self) -> u32 {
        self.id()
    }

    fn has_ended(&mut self) -> bool {
        !matches!(self.try_wait(), Ok(None))
    }

    fn kill(&mut self) -> io::Result<()> {
        Child::kill(self)
    }

    fn wait(&mut self, time: Duration) {
        std::thread::sleep(time);
    }
}

/// Waits for the end of a process that was told to end. One that takes too long is killed, once:
/// the kernel keeps one that waits for a disk, however often it is killed.
fn end(process: &mut impl Cutting) -> Result<(), String> {
    if ends(process) {
        return Ok(());
    }
    // What it holds vanishes with it.
    let killed = process.kill();
    killed.map_err(|error| format!("couldn't end the process that makes a cut: {error}"))?;
    if ends(process) {
        return Ok(());
    }
    Err(format!(
        "the process that makes a cut, {}, doesn't end though it was killed; the kernel may be \
         waiting for a disk",
        process.pid()
    ))
}

/// Whether a process ends in time.
fn ends(process: &mut impl Cutting) -> bool {
    let mut waited = Duration::ZERO;
    while !process.has_ended() {
        if waited >= ENDS_WITHIN {
            return false;
        }
        process.wait(LOOK_EVERY);
        waited += LOOK_EVERY;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A process that ends after so long, or once it is killed, or never.
    #[derive(Default)]
    struct Process {
        ends_after: Option<Duration>,
        ends_by_kill: bool,
        waited: Duration,
        kills: u32,
    }

    impl Cutting for Process {
        fn pid(&self) -> u32 {
            4321
        }

        fn has_ended(&mut self) -> bool {
            self.ends_by_kill && self.kills > 0
                || self.ends_after.is_some_and(|after| self.waited >= after)
        }

        fn kill(&mut self) -> io::Result<()> {
            self.kills += 1;
            Ok(())
        }

        fn wait(&mut self, time: Duration) {
            self.waited += time;
            assert!(self.waited < ENDS_WITHIN * 3, "it is waited for for ever");
        }
    }

    #[test]
    fn a_cutting_process_that_ends_by_itself_is_not_killed() {
        let mut process = Process { ends_after: Some(ENDS_WITHIN / 2), ..Process::default() };
        assert_eq!((end(&mut process), process.kills), (Ok(()), 0));
    }

    /// Else one that the kernel keeps gets signals for ever, and the run never ends.
    #[test]
    fn a_cutting_process_that_never_ends_is_killed_once_and_then_named() {
        let mut process = Process { ends_by_kill: true, ..Process::default() };
        assert_eq!((end(&mut process), process.kills), (Ok(()), 1));
        assert_eq!(process.waited, ENDS_WITHIN);
        let mut process = Process::default();
        let told = end(&mut process).unwrap_err();
        assert!(told.contains("4321") && told.contains("though it was killed"), "{told}");
        assert_eq!((process.kills, process.waited), (1, ENDS_WITHIN * 2));
    }
}
