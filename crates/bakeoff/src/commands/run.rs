//! `bakeoff run`: a study from its question to its report.

mod manners;
pub mod progress;
mod time_spent;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use durability::OfRun;
use lab::place::client_hosts::NoHosts;
use lab::plan::{Choice, Length};
use lab::run::folder::FolderError;
use lab::run::{Early, Ended, Ladder, Options, RunError};
use load::Stop;
use report::export::Format;
use result::finding::Verdict;
use result::plan::Cores;
use result::{Run, State, shell};

use self::progress::Progress;
use super::exit_codes::{BAD_INPUT, INTERRUPTED, SYSTEM, worst};
use super::export::{self, formats};
use super::hosts;
use super::load::interrupt;
use super::printing::{complain, note};
use super::report::{print, tell_of_report, write};
use super::studies::Studies;

/// Something failed, so that figures are missing.
const INCOMPLETE: u8 = 1;
/// All was measured and nothing failed, but every figure is invalid.
const NO_FIGURE: u8 = 3;

/// Measures a study: every contender under every load, judged and reported
#[derive(clap::Args)]
#[command(after_help = "Exit codes: 0 all was measured; 1 trials or contenders failed, or nobody \
is left to measure; 2 wrong arguments or files; 3 all was measured, but no figure stands; \
4 the machine failed, such as by a full disk; 130 interrupted.")]
pub struct RunArguments {
    /// The study: a folder in `studies`, or the path of another, as ./mine
    #[arg(required_unless_present = "resume", conflicts_with = "resume")]
    study: Option<String>,
    /// How much is measured: a profile of study.toml; `quick` if none is given
    #[arg(long, value_name = "NAME", conflicts_with_all = ["quick", "full", "resume"])]
    profile: Option<String>,
    /// Short for `--profile quick`: of the web study, about five minutes
    #[arg(long, conflicts_with_all = ["full", "resume"])]
    quick: bool,
    /// Short for `--profile full`: of the web study, hours
    #[arg(long, conflicts_with = "resume")]
    full: bool,
    /// These contenders only, instead of the profile's
    #[arg(long, value_delimiter = ',', value_name = "NAME,…", conflicts_with = "resume")]
    only: Vec<String>,
    /// Only where the contender has one core, or all of them
    #[arg(long, value_delimiter = ',', value_name = "1|all", value_parser = cores,
        conflicts_with = "resume")]
    cores: Vec<Cores>,
    /// So many connections at once, instead of the profile's
    #[arg(long, value_delimiter = ',', value_name = "N,…",
        value_parser = clap::value_parser!(u32).range(1..=100_000), conflicts_with = "resume")]
    connections: Vec<u32>,
    /// Only where connections are kept alive, or closed after each request
    #[arg(long, value_delimiter = ',', value_name = "kept|closed", value_parser = mode,
        conflicts_with = "resume")]
    mode: Vec<KeepAlive>,
    /// So many blocks, instead of the profile's: how often each is measured; a rank takes 6
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=20),
        conflicts_with = "resume")]
    blocks: Option<u32>,
    /// So many seconds measured each time, instead of the profile's
    #[arg(long, value_name = "S", value_parser = seconds, conflicts_with = "resume")]
    seconds: Option<f64>,
    /// So many seconds of load before that, instead of the profile's
    #[arg(long, value_name = "S", value_parser = seconds, conflicts_with = "resume")]
    warmup: Option<f64>,
    /// Decides the order of trials and their nonces; by chance if not given
    #[arg(long, conflicts_with = "resume")]
    seed: Option<u64>,
    /// The load comes from these hosts, not from this machine: docs/hosts.md
    #[arg(long, value_name = "FILE")]
    hosts: Option<PathBuf>,
    /// Go on with an unfinished run, by its folder
    #[arg(long, value_name = "DIR")]
    resume: Option<PathBuf>,
    #[command(flatten)]
    studies: Studies,
    /// The folder that runs are kept in
    #[arg(long, value_name = "DIR", default_value = "runs", conflicts_with = "resume")]
    runs: PathBuf,
    /// Also writes the figures to the run's folder as trackers of benchmarks read them
    #[arg(long, value_name = "FORMAT", value_parser = formats())]
    export: Vec<Format>,
}

/// The cores that a contender is given, as an argument.
pub fn cores(text: &str) -> Result<Cores, &'static str> {
    match text {
        "1" => Ok(Cores::One),
        "all" => Ok(Cores::All),
        _ => Err("this has to be `1` or `all`"),
    }
}

/// Seconds of a trial, as an argument.
pub fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.1..=3600.0).contains(&seconds) => Ok(seconds),
        _ => Err("this has to be a number of seconds from 0.1 to 3600".into()),
    }
}

/// Whether connections are kept alive.
#[derive(Debug, Clone, Copy)]
struct KeepAlive(bool);

fn mode(text: &str) -> Result<KeepAlive, &'static str> {
    match text {
        "kept" => Ok(KeepAlive(true)),
        "closed" => Ok(KeepAlive(false)),
        _ => Err("this has to be `kept` or `closed`"),
    }
}

/// Carries the command out.
pub fn run(arguments: RunArguments) -> ExitCode {
    let stop = Stop::default();
    if let Err(error) = interrupt::stops(&stop) {
        complain("run", &format!("waiting for Ctrl-C: {error}"));
        return SYSTEM.into();
    }
    let place = match &arguments.resume {
        Some(run) => arguments.studies.of_run(run).map(|studies| (studies, String::new())),
        None => arguments.studies.study(arguments.study.as_deref().unwrap_or_default()),
    };
    let (studies, study) = match place {
        Ok(place) => place,
        Err(sentence) => {
            complain("run", &sentence);
            return BAD_INPUT.into();
        }
    };
    let hosts = match arguments.hosts.as_deref().map(hosts::of_study).transpose() {
        Ok(hosts) => hosts,
        Err(sentence) => {
            complain("run", &sentence);
            return BAD_INPUT.into();
        }
    };
    let progress = Progress::new();
    let mut tell = |event: lab::run::Event| progress.tell(&event);
    keeper::leftovers::remove();
    let ended = match &arguments.resume {
        Some(folder) => {
            let helpers = (hosts.as_ref(), &OfRun as &dyn Ladder);
            lab::run::resume(&studies, folder, helpers, &stop, &mut tell)
        }
        None => {
            let hosts = arguments.hosts.clone().zip(hosts);
            let options = Options { hosts, ..options(&arguments, studies, study) };
            lab::run::new(&options, &OfRun, &stop, &mut tell)
        }
    };
    drop(progress);
    match ended {
        Ok(ended) => {
            let code = finish("run", &ended, arguments.hosts.as_deref());
            let exported = export::into(&ended.run, ended.folder.path(), &arguments.export);
            worst(&[code, exported]).into()
        }
        Err(error) => {
            complain("run", &error.to_string());
            exit_code(&error).into()
        }
    }
}

fn options(arguments: &RunArguments, studies: PathBuf, study: String) -> Options {
    let chosen = |empty: bool| (!empty).then_some(());
    Options {
        studies,
        runs: arguments.runs.clone(),
        study,
        profile: match &arguments.profile {
            Some(name) => name.clone(),
            None if arguments.full => "full".into(),
            None => "quick".into(),
        },
        only: arguments.only.clone(),
        choice: Choice {
            cores: chosen(arguments.cores.is_empty()).map(|()| arguments.cores.clone()),
            connections: chosen(arguments.connections.is_empty())
                .map(|()| arguments.connections.clone()),
            keep_alive: chosen(arguments.mode.is_empty())
                .map(|()| arguments.mode.iter().map(|mode| mode.0).collect()),
            length: Length {
                blocks: arguments.blocks,
                measure_s: arguments.seconds,
                warmup_s: arguments.warmup,
            },
        },
        seed: arguments.seed,
        hosts: None,
    }
}

/// The exit code of a run that came to no trial.
pub fn exit_code(error: &RunError) -> u8 {
    match error {
        RunError::Interrupted => INTERRUPTED,
        RunError::Nobody => INCOMPLETE,
        RunError::Folder(FolderError::Make { .. } | FolderError::Write { .. })
        | RunError::Load(load::Error::System { .. })
        | RunError::Hosts(NoHosts::Lost(_)) => SYSTEM,
        _ => BAD_INPUT,
    }
}

/// Shows what was measured, and says with which command to go on where trials are missing: with the
/// file of the load's hosts, where it came from some. Gives the exit code.
pub fn finish(command: &str, ended: &Ended, hosts: Option<&Path>) -> u8 {
    let run = &ended.run;
    let here = shown(ended.folder.path());
    let to_go_on = to_go_on(&here, hosts);
    let printed = if run.trials.is_empty() { Ok(()) } else { print(run) };
    let told = tell_of_report(command, printed, write(run, &here));
    if let Some(sentence) = time_spent::sentence(&run.spent) {
        note(&sentence);
    }
    let kept = match run.trials.len() {
        0 => "No trial was over".to_string(),
        count => format!("{} are kept", report::units::of(count as u64, "trial")),
    };
    match &ended.early {
        None => {}
        Some(Early::Interrupted) => {
            note(&format!("Interrupted. {kept}. To go on: {to_go_on}"));
        }
        Some(Early::GivenUp(names)) => {
            let names = names.join(", ");
            note(&format!(
                "Given up after repeated failures: {names}. Mend what failed, then: {to_go_on}\n\
                 (of one that has figures already, no file may be changed: then start a new run)"
            ));
        }
        Some(Early::Failed(error)) => {
            complain(command, &error.to_string());
            note(&format!("{kept}. To go on: {to_go_on}"));
        }
    }
    match &ended.early {
        Some(Early::Interrupted) => INTERRUPTED,
        Some(Early::Failed(error)) => exit_code(error),
        _ if !told => SYSTEM,
        _ if !ended.builds_failed.is_empty() || !is_whole(run) => INCOMPLETE,
        _ if !some_figure_stands(run) => NO_FIGURE,
        _ => 0,
    }
}

/// The command that goes on with a run, which knows where its study is, as a shell reads it.
fn to_go_on(folder: &Path, hosts: Option<&Path>) -> String {
    let word = |path: &Path| shell::word(&path.to_string_lossy()).into_owned();
    let hosts = hosts.map_or(String::new(), |file| format!(" --hosts {}", word(file)));
    format!("bakeoff run --resume {}{hosts}", word(folder))
}

/// Whether all planned trials were made, and no contender failed in one.
fn is_whole(run: &Run) -> bool {
    run.state == State::Complete
        && run.trials.iter().all(|trial| trial.evidence.process.failure.is_none())
}

fn some_figure_stands(run: &Run) -> bool {
    let rows = run.outcomes.iter().flat_map(|it| &it.rows).map(|it| it.verdict);
    let lines = run.curves.iter().flat_map(|it| &it.lines);
    let points = lines.flat_map(|it| &it.points).map(|it| it.verdict);
    rows.chain(points).any(|verdict| verdict != Verdict::Invalid)
}

/// A path as it is shown: from here, if it is below.
pub fn shown(path: &Path) -> PathBuf {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(&here).unwrap_or(path).to_path_buf()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_that_goes_on_can_be_pasted() {
        assert_eq!(to_go_on(Path::new("runs/web-1"), None), "bakeoff run --resume runs/web-1");
        assert_eq!(to_go_on(Path::new("/my runs/w"), None), "bakeoff run --resume '/my runs/w'");
        let with_hosts = to_go_on(Path::new("runs/w"), Some(Path::new("hosts.toml")));
        assert_eq!(with_hosts, "bakeoff run --resume runs/w --hosts hosts.toml");
    }
}
