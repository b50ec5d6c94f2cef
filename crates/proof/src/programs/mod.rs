//! `proof programs`: what the lab measures of programs, beside JMH.
//!
//! JMH is the harness that OpenJDK's own developers measure by. It shares nothing with the lab:
//! it has its own loop, clock, warm-up and way to keep the compiler from removing the work. Both
//! measure the same classes, as they were built once, by the same JVM with the same options, on
//! the same processor and on records of the same kind.

mod agreement;
mod jmh;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use clap::Parser;
use lab::place::{Host, ThisMachine, machine};
use lab::ready::{Prepared, prepare};
use lab::run::STUDIES;
use lab::study::Study;
use load::Stop;
use result::finding::Verdict;
use result::plan::{Cores, Setting};
use tempfile::TempDir;

use crate::client::Running;
use crate::interrupt::Interrupt;
use crate::page::Page;
use crate::programs::agreement::{APART_MAX, Beside, WIDE_MAX};
use crate::programs::jmh::Jmh;
use crate::tool::Tool;

/// Compares what the lab measures of two contenders in Java with what JMH measures of the same
/// classes.
#[derive(Debug, Parser)]
pub struct ProgramsArguments {
    /// The study: a folder in `studies` that has a profile `beside-jmh` and JMH's benchmark in its
    /// folder `jmh`.
    study: String,
    /// Rounds, in each of which both measure: with fewer than six there is no interval. There are
    /// up to twice as many where trials of the lab are invalid.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(6..=20))]
    rounds: u32,
    /// Write it to this file as well. What stands there below a heading `## Before` stays.
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
}

/// The profile that has the contenders and their works.
const PROFILE: &str = "beside-jmh";
/// The folder of JMH's benchmark.
const JMH: &str = "jmh";
/// The parameter that tells of the work: JMH's methods have the names of its values.
const WORK: &str = "does";
const LAB_AT_MOST: Duration = Duration::from_secs(600);

/// Nanoseconds a record, by contender and work.
type TimesByWork = BTreeMap<(String, String), f64>;

/// Runs all rounds. Tells whether both agree on all works.
pub fn run(arguments: &ProgramsArguments, interrupt: &Interrupt) -> Result<bool, String> {
    let mut page = Page::new("What the lab measures of programs, beside JMH", "calibrate-programs");
    let bench = Bench::ready(&arguments.study, &mut page, interrupt)?;
    let mut all = BTreeMap::<_, Beside>::new();
    let mut left_out = BTreeMap::new();
    let lacks = |all: &BTreeMap<_, Beside>| {
        all.is_empty() || all.values().any(|it| it.rounds.len() < arguments.rounds as usize)
    };
    let mut round = 0;
    while lacks(&all) && round < 2 * arguments.rounds {
        round += 1;
        // A machine that becomes slower by and by shall be no worse for the one than for the
        // other.
        let (lab, jmh) = if round % 2 == 1 {
            let lab = bench.lab(round, &mut left_out)?;
            (lab, bench.jmh(round)?)
        } else {
            let jmh = bench.jmh(round)?;
            (bench.lab(round, &mut left_out)?, jmh)
        };
        for (of, jmh_ns) in jmh {
            let beside = all.entry(of.clone()).or_default();
            beside.rounds.extend(lab.get(&of).map(|lab_ns| (*lab_ns, jmh_ns)));
        }
        eprintln!("round {round} is done, of {} that all works have to have", arguments.rounds);
    }
    page.say(about(round));
    let rows = all.iter().map(|((contender, work), beside)| (&**contender, &**work, beside));
    page.say(agreement::table(rows));
    if !left_out.is_empty() {
        let checks: Vec<String> =
            left_out.iter().map(|(check, trials)| format!("{check} {trials}")).collect();
        page.say(format!("Invalid trials of the lab, by check: {}.", checks.join(", ")));
    }
    if let Some(file) = &arguments.write {
        page.write(file)?;
    }
    Ok(!all.is_empty() && all.values().all(|it| it.verdict() == agreement::Verdict::Holds))
}

fn about(rounds: u32) -> String {
    format!(
        "In each of {rounds} rounds the lab made a trial of each work, and JMH measured it in a \
         fresh JVM: the one first in one round, the other in the next. TimesByWork are of one record: \
         the median over rounds, with its 95 % interval. The lab's is what its rate comes to; a \
         trial that the lab itself calls invalid is left out with its round. A ratio is made \
         within rounds. It holds if its interval reaches into {:.2} to {:.2}, and the interval's \
         one end is no more than {WIDE_MAX} times the other.",
        1.0 / (1.0 + APART_MAX),
        1.0 + APART_MAX,
    )
}

/// Both ways to measure.
struct Bench<'a> {
    study: Study,
    setting: Setting,
    /// JMH's, by contender.
    jmh: BTreeMap<String, Jmh>,
    /// The processors that the lab gives to a contender with one core.
    cpus: Vec<usize>,
    folder: TempDir,
    interrupt: &'a Interrupt,
}

impl Bench<'_> {
    /// Builds the contenders, and JMH's benchmark of each.
    fn ready<'a>(
        name: &str,
        page: &mut Page,
        interrupt: &'a Interrupt,
    ) -> Result<Bench<'a>, String> {
        let fail = |error: std::io::Error| error.to_string();
        let studies = Path::new(STUDIES).canonicalize();
        let studies = studies.map_err(|error| format!("the folder `{STUDIES}`: {error}"))?;
        let study = Study::read(&studies, name).map_err(|why| why.to_string())?;
        let profile = study.file.profile.get(PROFILE);
        let profile = profile.ok_or_else(|| format!("{name} has no profile `{PROFILE}`"))?;
        let setting = profile.free_settings().first().cloned().ok_or("it has no setting")?;
        let names: Vec<String> =
            profile.contenders.iter().map(|name| name.get_ref().clone()).collect();
        let study = study.only(&names).map_err(|why| why.to_string())?;
        let folder = tempfile::tempdir().map_err(fail)?;
        let mut jmh = BTreeMap::new();
        for contender in &study.contenders {
            let name = &contender.name;
            let record = match prepare(contender, false, &Stop::default()) {
                Prepared::Ready(record) => record,
                Prepared::Absent(why) => return Err(format!("{name} is absent: {why}")),
                Prepared::Failed(why) => return Err(format!("{name}: {why}")),
                Prepared::Interrupted => return Err("interrupted".into()),
            };
            interrupt.check()?;
            let versions: Vec<String> =
                record.versions.iter().map(|it| format!("{} {}", it.of, it.says)).collect();
            page.say(format!("{name}: {}.", versions.join("; ")));
            let build = folder.path().join(name);
            fs::create_dir(&build).map_err(fail)?;
            jmh.insert(
                name.clone(),
                Jmh::make(contender, &studies.join(&study.name).join(JMH), &build)?,
            );
        }
        let cpus = ThisMachine::new(&machine::describe()).split(Cores::One).server_cpus;
        Ok(Bench { study, setting, jmh, cpus, folder, interrupt })
    }

    /// A run of the lab with one trial of each work. Those that it calls invalid are left out,
    /// and counted by the checks that say so.
    fn lab(&self, round: u32, left_out: &mut BTreeMap<String, u32>) -> Result<TimesByWork, String> {
        let program = Tool::Bakeoff.program()?;
        let runs = self.folder.path().join(format!("runs-{round}"));
        let (program, runs_word) = (program.display(), runs.display());
        let seed = round.to_string();
        let words = [
            &*program.to_string(),
            "run",
            &self.study.name,
            "--profile",
            PROFILE,
            "--seed",
            &seed,
            "--runs",
            &*runs_word.to_string(),
        ];
        let cpus = load::allowed_cpus().map_err(|error| error.to_string())?;
        let running = Running::start(&words.map(String::from), &cpus, LAB_AT_MOST)?;
        let ended = running.wait(self.interrupt)?;
        // 3 says that all was measured, and that no figure stands: none is taken.
        if ended.status.code() != Some(3) {
            ended.success().map_err(|why| format!("the lab: {why}"))?;
        }
        let run = lab::run::folder::read(&runs.join("latest/run.json"));
        let run = run.map_err(|why| why.to_string())?;
        let mut times = TimesByWork::new();
        // A twin is another trial of the same, which tells the lab of its noise.
        for trial in run.trials.iter().filter(|trial| !trial.slot.twin) {
            let mut invalid =
                trial.findings.iter().filter(|it| it.verdict == Verdict::Invalid).peekable();
            if let (None, Some(work)) = (invalid.peek(), &trial.evidence.work) {
                let does = trial.slot.setting.value(WORK).map(ToString::to_string);
                let does = does.ok_or_else(|| format!("the study has no parameter `{WORK}`"))?;
                times.insert((trial.slot.contender.clone(), does), 1e9 / work.rate);
            }
            for finding in invalid {
                *left_out.entry(finding.check.clone()).or_default() += 1;
            }
        }
        Ok(times)
    }

    /// A fresh JVM of JMH's for each work.
    fn jmh(&self, round: u32) -> Result<TimesByWork, String> {
        let records = self.records(round)?;
        let mut times = TimesByWork::new();
        for (contender, jmh) in &self.jmh {
            let folder = self.folder.path();
            let measured = jmh.measure(&records, &self.cpus, folder, self.interrupt)?;
            times.extend(measured.into_iter().map(|(work, ns)| ((contender.clone(), work), ns)));
        }
        Ok(times)
    }

    /// Records as the lab has them made, without their numbers.
    fn records(&self, round: u32) -> Result<PathBuf, String> {
        let data = self.study.file.data.as_ref().ok_or("the study has no records")?;
        let (program, arguments) = data.made_by.split_first().ok_or("an empty command")?;
        let mut maker = Command::new(program);
        maker.args(arguments).args(["--seed", &round.to_string()]).current_dir(&data.folder);
        for (name, value) in &self.setting.values {
            maker.args([format!("--{name}"), value.to_string()]);
        }
        let output = maker.output().map_err(|error| format!("{program}: {error}"))?;
        if !output.status.success() {
            let why = String::from_utf8_lossy(&output.stderr).trim().to_string();
            return Err(format!("records couldn't be made: {why}"));
        }
        let printed = String::from_utf8(output.stdout).map_err(|error| error.to_string())?;
        let records = printed.lines().filter_map(|line| Some(line.split_once('\t')?.1));
        let file = self.folder.path().join("records");
        let text: String = records.flat_map(|record| [record, "\n"]).collect();
        fs::write(&file, text).map_err(|error| error.to_string())?;
        Ok(file)
    }
}
