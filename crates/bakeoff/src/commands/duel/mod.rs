//! `bakeoff duel`: two or more servers or stores side by side, of which nothing is known but how
//! they are started, or where they run. A study is made of them, and run as any other.

mod entrant;
mod gate;
mod handed_on;
mod look;
mod requests;
mod stores;
mod told;
mod written;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use durability::OfRun;
use lab::place::ThisMachine;
use lab::place::machine;
use lab::plan::{Choice, Order};
use lab::run::{Asked, Ended};
use lab::study::Study;
use lab::study::contender::Contender;
use lab::trial::first::{Nothing, look};
use load::Stop;
use report::export::Format;
use result::plan::Cores;
use result::shell;

use self::entrant::{Entrant, What};
use self::gate::Gate;
use self::handed_on::{Variable, words_without_secrets};
use self::look::{
    AtOnce, Seen, at_once, contract, difference, other_lengths, variations, who_closes,
};
use self::requests::Requests;
use self::told::told;
use self::written::{Load, Written};
use super::exit_codes::{BAD_INPUT, INTERRUPTED, SYSTEM, worst};
use super::export::{self, formats};
use super::load::keys::{Mix, mix};
use super::load::{interrupt, quantity};
use super::printing::{complain, last_words as last_words_of, note};
use super::request::{PathAsked, RequestArguments};
use super::run::progress::Progress;
use super::run::{cores, exit_code, finish, seconds};
use super::studies;

/// Somebody who takes part can't be measured.
const FAILED: u8 = 1;
/// A condition fails the duel, or a figure that was asked for isn't there.
const NOT_SHOWN: u8 = 3;
/// The highest rate that a study may have.
const RATE_MAX: u32 = 100_000_000;
/// Connections at once, where nobody says how many.
const CONNECTIONS: u32 = 64;
/// The study's name where nobody keeps it.
const NAME: &str = "duel";

/// Puts servers side by side that nobody wrote a study for: two or more commands, or URLs of
/// servers that run already
#[derive(clap::Args)]
#[command(after_help = "A command finds its port in $PORT, its address in $HOST, the number of \
its cores in $CORES. One that listens elsewhere is found there. Two take about a minute.\n\n\
Exit codes: 0 all was measured; 1 one who takes part can't be measured; 2 wrong arguments; \
3 a condition of --fail-if holds, or a figure of it isn't there or doesn't stand, or no figure \
of the duel stands; 4 the machine failed; \
130 interrupted.")]
pub struct DuelArguments {
    /// A command that starts a server, as a shell reads it, or http://ADDRESS:PORT
    #[arg(value_name = "COMMAND|URL")]
    entrants: Vec<String>,
    /// One more, under this name
    #[arg(long, value_name = "NAME=COMMAND|URL")]
    name: Vec<String>,
    #[command(flatten)]
    request: RequestArguments,
    /// A variable of the environment for the commands, which have PATH alone of it: as it is set
    /// here, or with this value, which is kept nowhere
    #[arg(long, value_name = "NAME[=VALUE]")]
    env: Vec<Variable>,
    /// Cores that each is given; if not said, all where load and server have their own, else 1
    #[arg(long, value_name = "1|all", value_parser = cores)]
    cores: Option<Cores>,
    /// Connections at once; if not said, 64, or with a connection a request no more than the
    /// shortest listen queue holds
    #[arg(short, long, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    connections: Option<u32>,
    /// Compare stores, which are asked for these operations with their weights, as get=9,set=1;
    /// there is delete as well
    #[arg(long, value_name = "LIST", value_parser = mix, conflicts_with_all = [
        "method", "headers", "body", "paths", "weights", "expect_body", "expect_status", "rate"])]
    mix: Option<Mix>,
    /// How often each store is cut off in each way, to see what of its writes it survives with
    #[arg(long, value_name = "N", default_value_t = 5, requires = "mix",
        value_parser = clap::value_parser!(u32).range(0..=1000))]
    cuts: u32,
    /// Requests a second for all; if not said, as many as each answers
    #[arg(long, value_name = "N", value_parser = rate)]
    rate: Option<u32>,
    /// Times that each is measured: a rank takes 6
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..=20))]
    blocks: u32,
    /// Seconds measured each time
    #[arg(long, default_value_t = 2.0, value_parser = seconds)]
    seconds: f64,
    /// Seconds of load before that: more for a runtime that compiles what it runs often
    #[arg(long, default_value_t = 1.0, value_parser = seconds)]
    warmup: f64,
    /// A condition that fails the duel, for example 'new.p99 > old.p99 * 1.1'
    #[arg(long, value_name = "CONDITION")]
    fail_if: Vec<Gate>,
    /// A condition that can't be told fails the duel as well
    #[arg(long, requires = "fail_if")]
    fail_if_unknown: bool,
    /// Writes the study that the duel is to this folder, to go on from there
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// The folder that runs are kept in
    #[arg(long, value_name = "DIR", default_value = "runs")]
    runs: PathBuf,
    /// Also writes the figures to the run's folder as trackers of benchmarks read them
    #[arg(long, value_name = "FORMAT", value_parser = formats())]
    export: Vec<Format>,
    /// Decides the order of trials; by chance if not given
    #[arg(long)]
    seed: Option<u64>,
}

fn rate(text: &str) -> Result<u32, String> {
    let rate = quantity::count(text)
        .map_err(|_| "a rate is a whole number a second, as 500, 20k or 1M".to_string())?;
    let rate = u32::try_from(rate).ok().filter(|&rate| rate <= RATE_MAX);
    rate.ok_or_else(|| "a rate is at most 100M, more than any machine sends".into())
}

/// Why a duel didn't come to trials: with this exit code, and what is to be said.
struct Failed(u8, String);

/// Carries the command out.
pub fn run(arguments: DuelArguments) -> ExitCode {
    match duel(&arguments) {
        Ok(code) => code.into(),
        Err(Failed(code, sentence)) => {
            complain("duel", &sentence);
            code.into()
        }
    }
}

fn duel(arguments: &DuelArguments) -> Result<u8, Failed> {
    let bad_input = |sentence| Failed(BAD_INPUT, sentence);
    let system = |error: std::io::Error| Failed(SYSTEM, error.to_string());
    let entrants = Entrant::all(&arguments.entrants, &arguments.name).map_err(bad_input)?;
    let asked = asked_of(arguments, &entrants).map_err(bad_input)?;
    arguments.env.iter().try_for_each(Variable::hand_on).map_err(bad_input)?;
    check_gates(&arguments.fail_if, &entrants).map_err(bad_input)?;
    let stop = Stop::default();
    interrupt::stops(&stop).map_err(system)?;
    keeper::leftovers::remove();
    // Gone with the duel: by then the study is in the run's folder, or where it is to be kept.
    // Should this be killed, it is gone with the next one.
    let name = keeper::leftovers::name();
    let scratch = tempfile::Builder::new().prefix(&name).rand_bytes(0).tempdir().map_err(system)?;
    let folder = match &arguments.keep {
        Some(folder) => keep(folder).map_err(bad_input)?,
        None => scratch.path().join(NAME),
    };
    let handed_on = arguments.env.iter().map(|it| it.name.clone()).collect();
    let are_stores = matches!(asked, AskedOf::Stores(_));
    let written =
        Written::new(folder.clone(), &entrants, handed_on, are_stores).map_err(|error| {
            Failed(BAD_INPUT, format!("couldn't make {}: {error}", folder.display()))
        })?;
    let begun = match &asked {
        AskedOf::Servers(requests) => first_looks(arguments, &entrants, requests, &written, &stop),
        AskedOf::Stores(mix) => stores::first_looks(arguments, &entrants, mix, &written, &stop),
    };
    if begun.is_err() && arguments.keep.is_some() {
        // What isn't whole is of no use to anybody.
        let _ = std::fs::remove_dir_all(&folder);
    }
    begun?;
    let requests = match &asked {
        AskedOf::Servers(requests) => Some(requests),
        AskedOf::Stores(_) => None,
    };
    measure(arguments, requests, &folder, &stop)
}

/// What all who take part are asked.
enum AskedOf<'a> {
    /// Servers of HTTP, for these.
    Servers(Requests),
    /// Stores, for these operations.
    Stores(&'a Mix),
}

fn asked_of<'a>(arguments: &'a DuelArguments, entrants: &[Entrant]) -> Result<AskedOf<'a>, String> {
    if let Some(mix) = &arguments.mix {
        return stores::check(entrants).map(|()| AskedOf::Stores(mix));
    }
    let path = path(&arguments.request.paths, entrants)?;
    Requests::new(&arguments.request, &path).map(AskedOf::Servers)
}

/// The folder that the study is kept in, whose name is the study's.
fn keep(folder: &Path) -> Result<PathBuf, String> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    if name.is_empty() || name.contains('.') {
        return Err(format!(
            "--keep {}: a study's name, which is its folder's, has no `.`",
            folder.display()
        ));
    }
    if folder.exists() {
        Err(format!("--keep {}: it is there already", folder.display()))
    } else {
        Ok(folder.into())
    }
}

/// What all are asked for where no path was given: that of the URLs.
fn path(given: &[PathAsked], entrants: &[Entrant]) -> Result<String, String> {
    let mut paths = entrants.iter().filter_map(|it| match &it.what {
        What::Running { path: Some(path), .. } => Some(path.as_str()),
        _ => None,
    });
    let given = given.first().map(|it| it.path.as_str());
    let Some(first) = paths.next() else { return Ok(given.unwrap_or("/").into()) };
    match paths.find(|&path| path != first).or(given.filter(|&given| given != first)) {
        Some(other) => Err(format!(
            "all are asked for the same: there is {first} and {other}; give one with --path"
        )),
        None => Ok(first.into()),
    }
}

/// Refuses conditions on somebody who takes no part.
fn check_gates(gates: &[Gate], entrants: &[Entrant]) -> Result<(), String> {
    let names: Vec<&str> = entrants.iter().map(|it| it.name.as_str()).collect();
    match gates.iter().find_map(|gate| gate.unknown_name(&names)) {
        Some(complaint) => Err(format!("--fail-if: {complaint}")),
        None => Ok(()),
    }
}

/// Starts each once and asks it, which gives the contract, and writes the study.
fn first_looks(
    arguments: &DuelArguments,
    entrants: &[Entrant],
    requests: &Requests,
    written: &Written,
    stop: &Stop,
) -> Result<(), Failed> {
    let described = machine::describe();
    let machine = ThisMachine::new(&described);
    let filled = requests.with_environment().map_err(|why| Failed(BAD_INPUT, why))?;
    let mut seen = Vec::new();
    for entrant in entrants {
        let name = &entrant.name;
        let contender = Contender::read(&written.folder.join(name), name)
            .map_err(|error| Failed(BAD_INPUT, error.to_string()))?;
        let takes = |status| requests.takes(status);
        let first = look(&machine, &contender, &filled, &takes, stop)
            .map_err(|why| not_seen(why, entrant, arguments))?;
        let one = Seen { name, first };
        one.lines(requests).iter().for_each(|line| note(line));
        seen.push(one);
    }
    let contract = contract(requests, &seen).map_err(|sentence| Failed(FAILED, sentence))?;
    let difference = difference(&seen);
    variations(requests, &seen).iter().for_each(|it| note(it));
    let AtOnce { connections, says: queue, cannot_say: short } =
        at_once(arguments.connections, &seen);
    [&difference, &who_closes(&seen), &queue].into_iter().flatten().for_each(|it| note(it));
    let load = Load {
        requests,
        cores: arguments.cores.unwrap_or_else(|| usual_cores(&described)),
        connections,
        rate: arguments.rate,
        blocks: arguments.blocks,
        measure_s: arguments.seconds,
        warmup_s: arguments.warmup,
    };
    let cannot_say = [&difference, &short].into_iter().flatten();
    let cannot_say: Vec<&str> = cannot_say.map(|it| &**it).collect();
    let contract = (&contract, &cannot_say[..]);
    written.conclude(entrants, &seen, contract, &load).map_err(|error| {
        Failed(SYSTEM, format!("couldn't write to {}: {error}", written.folder.display()))
    })
}

/// Why nothing was seen of one who takes part.
fn not_seen(why: Nothing, entrant: &Entrant, arguments: &DuelArguments) -> Failed {
    match why {
        Nothing::Stopped => Failed(INTERRUPTED, "interrupted before a trial began".into()),
        Nothing::Machine(why) => Failed(SYSTEM, why),
        Nothing::Silent(why, last_words) => {
            let (name, has) = (&entrant.name, what_it_has(entrant, arguments));
            Failed(FAILED, format!("{name}: {why}; {}{has}", last_words_of(&last_words)))
        }
    }
}

/// What a command that gave no answer has of the environment, and how it gets more.
fn what_it_has(entrant: &Entrant, arguments: &DuelArguments) -> String {
    if matches!(entrant.what, What::Running { .. }) {
        return String::new();
    }
    let names: Vec<&str> =
        ["PATH"].into_iter().chain(arguments.env.iter().map(|it| &*it.name)).collect();
    format!(
        "\nOf your environment it has {} alone: --env NAME hands on another variable",
        names.join(", ")
    )
}

/// All cores, where server and load have some of their own then.
fn usual_cores(machine: &result::plan::Machine) -> Cores {
    use lab::place::Host;
    if ThisMachine::new(machine).split(Cores::All).shared() { Cores::One } else { Cores::All }
}

/// Runs the study that was made, and holds the conditions against it.
fn measure(
    arguments: &DuelArguments,
    requests: Option<&Requests>,
    folder: &Path,
    stop: &Stop,
) -> Result<u8, Failed> {
    let bad_input = |error: lab::study::Error| Failed(BAD_INPUT, error.to_string());
    let studies = studies::with(folder);
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let study = Study::read(studies, &name).map_err(bad_input)?;
    let seed = arguments.seed.unwrap_or_else(lab::run::a_seed);
    let profile = study.file.profile.get("quick").expect("it was written with this one").clone();
    let headers = requests.map_or(&[][..], Requests::headers);
    let asked = Asked {
        study: &study,
        profile: ("quick", &profile),
        choice: &Choice::default(),
        order: Order::Shuffled,
        seed,
        command: command(headers, seed),
        runs: &arguments.runs,
        keeps_study: arguments.keep.is_none(),
        hosts: None,
        ladder: &OfRun,
    };
    let progress = Progress::new();
    let ended = lab::run::of_study(asked, stop, &mut |event| progress.tell(&event));
    drop(progress);
    let ended = ended.map_err(|error| Failed(exit_code(&error), error.to_string()))?;
    let code = finish("duel", &ended, None);
    let other = requests.and_then(|requests| other_lengths(requests, &ended.run));
    other.iter().for_each(|it| note(it));
    if arguments.keep.is_some() {
        note(&format!(
            "The study: {}. To run it again: bakeoff run {}{}",
            folder.display(),
            shell::word(&name),
            shell::path_option("--studies", studies, lab::run::STUDIES)
        ));
        taken_from_environment(headers).iter().for_each(|it| note(it));
    }
    let exported = export::into(&ended.run, ended.folder.path(), &arguments.export);
    let gates = gates(arguments, &ended);
    Ok(worst(&[code, exported, gates]))
}

/// The command that repeats it, with the seed that it had and without secrets.
fn command(headers: &[(String, String)], seed: u64) -> String {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let given = words_without_secrets(&given, headers);
    let words = given.iter().map(|word| shell::word(word).into_owned());
    let mut words: Vec<String> = ["bakeoff".to_string()].into_iter().chain(words).collect();
    if !given.iter().any(|word| word == "--seed" || word.starts_with("--seed=")) {
        words.push(format!("--seed {seed}"));
    }
    words.join(" ")
}

/// Which variables a kept study takes in the place of secrets that were written out.
fn taken_from_environment(headers: &[(String, String)]) -> Option<String> {
    let values = headers.iter().map(|(_, value)| value);
    let names: Vec<&str> = values.flat_map(|value| load::plan::headers::variables(value)).collect();
    (!names.is_empty()).then(|| {
        format!("It takes {} from the environment: secrets stand in no file", names.join(", "))
    })
}

/// Says what came of the conditions, and the exit code that follows.
fn gates(arguments: &DuelArguments, ended: &Ended) -> u8 {
    let mut code = 0;
    for gate in &arguments.fail_if {
        let (word, sentences) = told(gate, &ended.run);
        note(&sentences);
        if word.fails(arguments.fail_if_unknown) {
            code = NOT_SHOWN;
        }
    }
    code
}
