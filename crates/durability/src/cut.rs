//! One cut, in a process of its own: a store is started, written to, cut off, started again on
//! the same data, and read.
//!
//! Its standard input is a pipe whose other end only bakeoff holds, as a keeper's is: whatever
//! becomes of bakeoff, it closes, and this process ends the store, takes the disk away and ends.
//! Is it killed itself, the keepers of the store end that, and mounts and loop devices vanish
//! with the last process in its namespace.

use std::fs::{self, DirBuilder};
use std::io::{self, BufRead, Write};
use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use fastrand::Rng;
use keeper::Order;
use keeper::kept::Kept;
use lab::contract::Depth;
use lab::contract::store::{KEY, go_through};
use lab::contract::store_client::{StoreClient, StoreWrong};
use lab::place::{Host, ThisMachine};
use lab::plan::write_load::WriteLoad;
use lab::study::contender::Speaks;
use load::Stop;
use result::durability::{Cut, CutVerdict, Rung};
use result::plan::Machine;
use serde::{Deserialize, Serialize};

use crate::disk::Disk;
use crate::image::IMAGE_BYTES;
use crate::judgement::{counted, judge};
use crate::reading::{Found, Reader, Unread};
use crate::value::CutValues;
use crate::writer::{Log, Writing};

/// The hidden subcommand of bakeoff that makes a cut.
pub const SUBCOMMAND: &str = "cut";

/// Lines of a store's output that are kept where it failed.
const LINES: usize = 10;
/// Between two looks whether something has come about.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// The longest that a store may take for its first answer once it listens.
const ANSWER_WITHIN: Duration = Duration::from_secs(1);
/// Bytes of values after which it is cut off though its moment is still to come: a quarter of its
/// disk, since a log that is written anew is there twice.
const BYTES_MAX: u64 = IMAGE_BYTES / 4;
/// How long a store that came back is written to once more, but for the last answers.
const LATER: Duration = Duration::from_millis(100);
/// How long a snapshot goes on at most before the cut.
const INTO_SNAPSHOT: Duration = Duration::from_millis(20);

/// What is to be done: one line of JSON on standard input.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Job {
    /// A folder to make, and to remove at the end. The disk is in it.
    pub within: PathBuf,
    /// Another, where the store has its data: it looks as that of a trial.
    pub data: PathBuf,
    /// How the store is started each time. Its folder is that with its data.
    pub order: Order,
    /// Files to put into its folder before: name and content.
    pub files: Vec<(String, String)>,
    /// Where it answers.
    pub address: SocketAddr,
    /// What it is spoken with.
    pub speaks: Speaks,
    /// Seconds that it may take until its first right answer.
    pub ready_within_s: f64,
    /// How it is written to.
    pub load: WriteLoad,
    /// In which way it is cut off.
    pub rung: Rung,
    /// After so many seconds of writing.
    pub moment_s: f64,
    /// Whether it is cut off in the middle of a snapshot, if it makes one when it is asked.
    pub in_snapshot: bool,
    /// Whether a disk that forgets keeps a part of its cache.
    pub keeps_part: bool,
    /// What writes, and that part, are drawn from.
    pub seed: u64,
}

/// What came of it: one line of JSON on standard output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// It was cut off, and this was seen.
    Cut(Cut),
    /// It couldn't be, and why.
    NotMade(String),
    /// It was stopped on the way.
    Stopped,
}

/// The process's whole life.
pub fn main() -> ExitCode {
    // As a keeper: Ctrl-C is bakeoff's to handle, and who kills every "bakeoff" spares this.
    let _ = rustix::process::setsid();
    let _ = rustix::thread::set_name(c"cut");
    let mut line = String::new();
    let heard = io::stdin().lock().read_line(&mut line);
    let job: Job = match heard
        .map_err(|it| it.to_string())
        .and_then(|_| serde_json::from_str(&line).map_err(|it| it.to_string()))
    {
        Ok(job) => job,
        Err(why) => {
            tell(&Answer::NotMade(format!("the order to make it wasn't understood: {why}")));
            return ExitCode::FAILURE;
        }
    };
    let stop = Stop::default();
    let answer = match stops(&stop) {
        Err(error) => Answer::NotMade(format!("couldn't watch for signals: {error}")),
        Ok(()) => match make(&job, &stop) {
            _ if stop.asked() => Answer::Stopped,
            Ok(cut) => Answer::Cut(cut),
            Err(why) => Answer::NotMade(why),
        },
    };
    tell(&answer);
    ExitCode::SUCCESS
}

/// Has all end when bakeoff does, or asks for it, and when a signal does.
fn stops(stop: &Stop) -> io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        let stop = stop.clone();
        // SAFETY: it does no more than store a flag, which a signal handler may.
        unsafe { signal_hook::low_level::register(signal, move || stop.now()) }?;
    }
    let stop = stop.clone();
    std::thread::spawn(move || {
        // Nothing more is written to it: this ends when the other end is closed.
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        stop.now();
    });
    Ok(())
}

/// Tells bakeoff, if it is still there to listen.
fn tell(answer: &Answer) {
    let mut out = io::stdout().lock();
    let _ = serde_json::to_writer(&mut out, answer);
    let _ = out.write_all(b"\n");
    let _ = out.flush();
}

/// A folder that is gone when this is dropped.
struct OwnFolder<'a>(&'a Path);

impl OwnFolder<'_> {
    fn make(path: &Path) -> Result<OwnFolder<'_>, String> {
        let made = DirBuilder::new().mode(0o700).create(path);
        made.map(|()| OwnFolder(path)).map_err(|error| {
            let path = path.display();
            format!("couldn't make the folder {path}, whose place is $TMPDIR: {error}")
        })
    }
}

impl Drop for OwnFolder<'_> {
    fn drop(&mut self) {
        // The next run looks for it as well.
        let _ = fs::remove_dir_all(self.0);
    }
}

/// Makes the cut. What a stopped one gives means nothing.
fn make(job: &Job, stop: &Stop) -> Result<Cut, String> {
    // Dropped last, when nothing is mounted in them any more.
    let _within = OwnFolder::make(&job.within)?;
    let _data = OwnFolder::make(&job.data)?;
    let mut disk = Disk::make(job.rung, &job.within, &job.data)?;
    lay_out(job)?;
    disk.sync()?;
    let store = start(job, stop).map_err(|failed| format!("it doesn't start: {failed}"))?;
    // As a trial begins. What it is worth is asked there.
    go_through((job.address, job.speaks), Depth::Quick, stop, &mut |_| {});
    let (written, how) = write_and_cut(job, &mut disk, store, stop)?;
    let Written { logs, cut } = written;
    let told = Cut { how, ..counted(&logs, cut) };
    if told.acknowledged == 0 {
        let wrong = logs.iter().find_map(|log| log.first_wrong.clone());
        let wrong = wrong.unwrap_or_else(|| "it answered none of them".into());
        return Err(format!("it acknowledged no write: {wrong}"));
    }
    disk.come_back()?;
    let began = Instant::now();
    let mut store = match start(job, stop) {
        Ok(store) => store,
        Err(NotReady { why, last_words }) => {
            let example = Some(format!("started again on its own data, {why}"));
            return Ok(Cut { example, last_words, ..told });
        }
    };
    let restart_s = Some(began.elapsed().as_secs_f64());
    let keys: Vec<u32> = logs.iter().map(|log| log.keys).collect();
    let values = CutValues::new(job.seed, job.load.value_bytes);
    let reader = Reader {
        address: job.address,
        speaks: job.speaks,
        values: &values,
        refuses_within: Duration::from_secs_f64(job.ready_within_s),
        stop,
    };
    let read = reader.read_back(&keys);
    let seen =
        read.map(|found| Cut { restart_s, how: told.how.clone(), ..judge(&logs, &found, cut) });
    let is_kept = seen.as_ref().is_ok_and(|seen| seen.verdict() == CutVerdict::Kept);
    let later = (is_kept && job.rung > Rung::Process).then(|| Later::write(job, &logs));
    let last_words = store.last_lines(LINES);
    store.hurry();
    store.stop(0)?;
    if let Some(later) = later {
        lies_here(job, disk, &reader, (&keys, &later))?;
    }
    match seen {
        Ok(seen) => Ok(seen),
        Err(Unread::Refused(words)) => {
            Err(format!("started again on its own data, it refused to be read: {words}"))
        }
        Err(Unread::Ended(why)) => {
            let example = format!("started again on its own data, it couldn't be read: {why}");
            Ok(Cut { example: Some(example), last_words, ..told })
        }
    }
}

/// What was written to the store once it had come back.
struct Later {
    logs: Vec<Log>,
    /// The number of the first of these writes. All before have lower ones.
    first: u64,
}

impl Later {
    /// Goes on for a moment where what was written before the cut ended.
    fn write(job: &Job, before: &[Log]) -> Later {
        let numbers = before.iter().flat_map(|log| &log.writes).map(|write| write.write);
        let first = numbers.max().unwrap_or(0) + 1;
        let writing = Writing::begin(job.address, job.speaks, job.load, job.seed, first);
        std::thread::sleep(LATER);
        Later { logs: writing.end(), first }
    }
}

/// Whether what the store has lies on the disk that was cut off, which alone was. It is started
/// once more on that disk as it was when it came back. None of the later writes is on that. Then it
/// is started on an empty disk, where none of all is. A store that has one there all the same keeps
/// its data elsewhere.
fn lies_here(
    job: &Job,
    mut disk: Disk,
    reader: &Reader,
    (keys, later): (&[u32], &Later),
) -> Result<(), String> {
    if counted(&later.logs, Duration::MAX).acknowledged == 0 {
        return Err(unknown("it came back and acknowledged no write"));
    }
    disk.go_back()?;
    let later_keys: Vec<u32> = later.logs.iter().map(|log| log.keys).collect();
    let is_later = |found: &Found| matches!(found, Found::Write(write) if *write >= later.first);
    let there = has_on("its disk as it was before", job, reader, &later_keys, is_later)?;
    if let Some(key) = there {
        return Err(elsewhere("its disk as it was before", &key, "after that"));
    }
    disk.take_away()?;
    lay_out(job)?;
    let is_there = |found: &Found| *found != Found::Nothing;
    match has_on("an empty disk", job, reader, keys, is_there)? {
        None => Ok(()),
        Some(key) => Err(elsewhere("an empty disk", &key, "before the cut")),
    }
}

fn elsewhere(disk: &str, key: &str, when: &str) -> String {
    format!("its data lie elsewhere: started on {disk}, it has {key}, which was written {when}")
}

fn unknown(why: &str) -> String {
    format!("whether its data lie elsewhere isn't known: {why}")
}

/// Starts the store on this disk: the first key of which it has there what it shouldn't.
fn has_on(
    disk: &str,
    job: &Job,
    reader: &Reader,
    keys: &[u32],
    should_not: impl Fn(&Found) -> bool,
) -> Result<Option<String>, String> {
    let no = |why: &str| unknown(&format!("on {disk} {why}"));
    let mut store = start(job, reader.stop).map_err(|failed| no(&failed.to_string()))?;
    let there = reader.first_there(keys, should_not);
    store.hurry();
    store.stop(0)?;
    there.map_err(|(Unread::Refused(why) | Unread::Ended(why))| no(&why))
}

/// Puts the store's files into its folder, durably: they are no writes of its.
fn lay_out(job: &Job) -> Result<(), String> {
    let mut files = job.files.iter();
    let written = files.try_for_each(|(name, content)| fs::write(job.data.join(name), content));
    written.map_err(|error| format!("couldn't write its files to {}: {error}", job.data.display()))
}

/// Why a store gives no right answer.
struct NotReady {
    why: String,
    last_words: Vec<String>,
}

impl std::fmt::Display for NotReady {
    fn fmt(&self, to: &mut std::fmt::Formatter) -> std::fmt::Result {
        to.write_str(&self.why)?;
        if self.last_words.is_empty() {
            Ok(())
        } else {
            write!(to, "; its last lines: {}", self.last_words.join(" / "))
        }
    }
}

/// Starts the store, and waits until it answers.
fn start(job: &Job, stop: &Stop) -> Result<Kept, NotReady> {
    let failed = |why: String, last_words| NotReady { why, last_words };
    let mut store = Kept::start(&job.order).map_err(|why| failed(String::from(why), Vec::new()))?;
    let Err(why) = wait_until_ready(job, &store, stop) else { return Ok(store) };
    let last_words = store.last_lines(LINES);
    store.hurry();
    match store.stop(0) {
        Ok(_) => Err(failed(why, last_words)),
        Err(outlived) => Err(failed(format!("{why}; {outlived}"), last_words)),
    }
}

fn wait_until_ready(job: &Job, store: &Kept, stop: &Stop) -> Result<(), String> {
    let began = Instant::now();
    loop {
        let answer = StoreClient::connect(job.address, job.speaks, ANSWER_WITHIN)
            .and_then(|mut client| client.get(KEY));
        let seen = match answer {
            Ok(_) => break,
            // RESP's words for a store that reads its data still.
            Err(wrong) => wrong,
        };
        if let Some(exit) = store.exited() {
            return Err(format!("it ended with {} before it answered", exit.how));
        }
        if stop.asked() {
            return Err("it was stopped before it answered".into());
        }
        if began.elapsed().as_secs_f64() > job.ready_within_s {
            let within = job.ready_within_s;
            return Err(format!("it gave no right answer within {within} s: {seen}"));
        }
        std::thread::sleep(LOOK_EVERY);
    }
    let here = ThisMachine::new(&Machine::default());
    match here.foreign_listener(job.address, store.root()) {
        None => Ok(()),
        Some(who) => Err(format!("{who} listens on its port as well")),
    }
}

/// What was written until the cut.
struct Written {
    logs: Vec<Log>,
    /// When the cut was, since the writing began.
    cut: Duration,
}

/// Writes to the store, cuts it off and ends it: what was written, and what was so at the cut.
fn write_and_cut(
    job: &Job,
    disk: &mut Disk,
    mut store: Kept,
    stop: &Stop,
) -> Result<(Written, Option<String>), String> {
    let mut random = Rng::with_seed(job.seed);
    let writing = Writing::begin(job.address, job.speaks, job.load, job.seed, 1);
    while writing.elapsed().as_secs_f64() < job.moment_s
        && writing.bytes() < BYTES_MAX
        && !stop.asked()
        && store.exited().is_none()
    {
        std::thread::sleep(LOOK_EVERY);
    }
    let mut how = Vec::new();
    if let Some(exit) = store.exited() {
        how.push(format!("after it had ended by itself, with {}", exit.how));
    } else if job.in_snapshot
        && let Ok(Some(command)) = begin_snapshot(job)
    {
        std::thread::sleep(INTO_SNAPSHOT.mul_f64(random.f64()));
        how.push(format!("in the middle of {command}"));
    }
    if job.rung == Rung::Power && job.keeps_part {
        how.push("a part of the disk's cache was kept".into());
    }
    // An answer that comes from here on counts for nothing: the store may be cut off before it
    // is sent, and may not.
    let cut = writing.elapsed();
    let was_cut = disk.cut(job.keeps_part.then(|| random.u64(..)));
    store.hurry();
    let stopped = store.stop(0);
    let logs = writing.end();
    was_cut?;
    stopped?;
    Ok((Written { logs, cut }, (!how.is_empty()).then(|| how.join("; "))))
}

fn begin_snapshot(job: &Job) -> Result<Option<&'static str>, StoreWrong> {
    StoreClient::connect(job.address, job.speaks, ANSWER_WITHIN)?.begin_snapshot()
}
