//! `proof alarms`: what each check said over many runs of one profile.
//!
//! A check that speaks where nothing is wrong is worth as little as one that
//! never speaks. The tally says how often each did and on which figure; whether
//! the machine was at fault, a person has to say.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use clap::Parser;
use report::{setting_names, units};
use result::finding::{Finding, Verdict};
use result::plan::{Pace, Setting};
use result::{Run, State, Trial, shell};

use crate::page::markdown;

/// Tallies what the checks of several runs said, by check.
#[derive(Debug, Parser)]
pub struct AlarmsArguments {
    /// Folders of runs.
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,
}

/// What sampling may take of one core, and the lab's own of a run's time.
const SAMPLING_MAX: f64 = 0.01;
const OVERHEAD_MAX: f64 = 0.25;

/// Prints a table that docs/false-alarms.md can take. Tells whether the lab itself took no
/// more than it may: what the checks said, a person has to judge.
pub fn run(arguments: &AlarmsArguments) -> Result<bool, String> {
    let runs = arguments.runs.iter().map(|folder| read(folder));
    let runs = runs.collect::<Result<Vec<Run>, String>>()?;
    let trials: usize = runs.iter().map(|run| run.trials.len()).sum();
    let disturbed: usize = runs.iter().map(|run| run.disturbed.len()).sum();
    println!("{trials} trials; {disturbed} more were made again for the machine's sake.");
    println!("{}", neighbours(runs.iter().flat_map(|run| &run.trials)));
    let (costs, hold) = costs(&runs);
    println!("{costs}\n");
    println!("{}", tally(&runs.iter().map(figures).collect::<Vec<_>>()));
    Ok(hold)
}

/// What the lab itself took, and whether it was no more than it may.
fn costs(runs: &[Run]) -> (String, bool) {
    let sampling = runs.iter().flat_map(|run| &run.trials);
    let sampling = Shares::of(sampling.filter_map(|it| it.evidence.sampling.core_share()));
    let spent = runs.iter().map(|run| &run.spent).filter(|spent| spent.whole_s > 0.0);
    let own = Shares::of(spent.map(|spent| spent.overhead_s() / spent.whole_s));
    let words = format!(
        "Sampling took {} of one core, of which {} may be; the lab's own was {} of a run's time, \
         of which {} may be.",
        sampling.as_ref().map_or("an unknown share".into(), Shares::in_words),
        units::percent(SAMPLING_MAX),
        own.as_ref().map_or("an unknown share".into(), Shares::in_words),
        units::percent(OVERHEAD_MAX),
    );
    let is_within = |shares: Option<Shares>, most: f64| shares.is_some_and(|it| it.median <= most);
    (words, is_within(sampling, SAMPLING_MAX) & is_within(own, OVERHEAD_MAX))
}

/// Shares of something, in the middle and at most.
struct Shares {
    median: f64,
    most: f64,
}

impl Shares {
    fn of(shares: impl Iterator<Item = f64>) -> Option<Shares> {
        let mut shares: Vec<f64> = shares.collect();
        shares.sort_by(f64::total_cmp);
        Some(Shares { median: *shares.get(shares.len() / 2)?, most: *shares.last()? })
    }

    fn in_words(&self) -> String {
        let Shares { median, most } = self;
        format!("{} (median; at most {})", units::percent(*median), units::percent(*most))
    }
}

/// Reads a run, and refuses one that was stopped: what it didn't measure would count
/// as figures of which nothing was said.
fn read(folder: &Path) -> Result<Run, String> {
    let run = lab::run::folder::read(&folder.join("run.json")).map_err(|why| why.to_string())?;
    match run.state {
        State::Complete => Ok(judged_again(run)),
        State::Unfinished => {
            let (name, quoted) = (folder.display(), folder.to_string_lossy());
            let quoted = shell::word(&quoted);
            Err(format!(
                "{name} isn't complete; go on with it (bakeoff run --resume {quoted}), or leave \
                 it out"
            ))
        }
    }
}

/// What was seen then, judged by the checks of now: whether these speak for nothing is
/// what is asked, and a run takes five minutes.
fn judged_again(mut run: Run) -> Run {
    for trial in run.trials.iter_mut().chain(&mut run.disturbed) {
        trial.findings = judge::checks::judge(run.study.kind, &trial.slot, &trial.evidence);
    }
    judge::outcomes::conclude(&mut run);
    run
}

/// What the machine's other users did to the trials, as far as a fixed piece of work
/// before and after each tells.
fn neighbours<'a>(trials: impl Iterator<Item = &'a Trial>) -> String {
    let (mut speeds, mut trials_seen) = (Vec::new(), 0_usize);
    let (mut changed, mut faster, mut unsteady, mut both) = (0, 0, 0, 0);
    for trial in trials.filter(|trial| trial.evidence.work.is_some()) {
        let own = trial.evidence.core_speeds.iter();
        let whole = own.filter_map(|speed| speed.whole_before.zip(speed.whole_after));
        let whole: Vec<(f64, f64)> = whole.collect();
        speeds.extend(whole.iter().flat_map(|&(before, after)| [before, after]));
        let is_far = |&(before, after): &(f64, f64)| before.min(after) < 0.9 * before.max(after);
        let is_steady = |it: &Finding| it.check == "steady" && it.verdict >= Verdict::Suspect;
        let (speed, rate) = (whole.iter().any(is_far), trial.findings.iter().any(is_steady));
        trials_seen += 1;
        changed += usize::from(speed);
        faster += usize::from(whole.iter().any(|it| is_far(it) && it.0 < it.1));
        unsteady += usize::from(rate);
        both += usize::from(speed && rate);
    }
    speeds.sort_by(f64::total_cmp);
    let (Some(slowest), Some(fastest)) = (speeds.first(), speeds.last()) else {
        return "How fast the cores were isn't known.".into();
    };
    let usual = speeds[speeds.len() / 2];
    format!(
        "The cores did {slowest:.0} to {fastest:.0} steps a µs, usually {usual:.0}. Of \
         {trials_seen} trials, {changed} had them change by more than 10 % from before to after \
         ({faster} of them to faster), {unsteady} a rate that wasn't steady, {both} both."
    )
}

/// A figure's name, and what the checks said of it.
type JudgedFigure<'a> = (String, &'a [Finding]);

/// All figures of a run that carry a verdict.
fn figures(run: &Run) -> Vec<JudgedFigure<'_>> {
    let name = |contender: &str, setting: &Setting| {
        format!("{contender}, {}", setting_names(&run.study.dimensions, &[setting]))
    };
    let mut figures = Vec::new();
    for outcome in &run.outcomes {
        let rows = outcome.rows.iter();
        figures.extend(rows.map(|row| (name(&row.contender, &outcome.setting), &*row.findings)));
    }
    for curve in &run.curves {
        for line in &curve.lines {
            figures.extend(line.points.iter().map(|point| {
                let setting = curve.setting.with(Pace::Own { percent: point.percent });
                (name(&line.contender, &setting), &*point.findings)
            }));
        }
    }
    figures
}

/// What was said of the figures of some runs: a sentence, and a table of all that
/// was not *valid*, the worst first.
fn tally(runs: &[Vec<JudgedFigure>]) -> String {
    /// In how many runs it was said, and what was measured there first.
    struct Said<'a> {
        runs: usize,
        example: &'a str,
    }
    let mut said: BTreeMap<(Reverse<Verdict>, &str, &str), Said> = BTreeMap::new();
    let mut runs_with: BTreeMap<Verdict, BTreeSet<usize>> = BTreeMap::new();
    for (number, figures) in runs.iter().enumerate() {
        for (figure, findings) in figures {
            for finding in findings.iter().filter(|it| it.verdict != Verdict::Valid) {
                runs_with.entry(finding.verdict).or_default().insert(number);
                let key = (Reverse(finding.verdict), &*finding.check, &**figure);
                said.entry(key).or_insert(Said { runs: 0, example: &finding.value }).runs += 1;
            }
        }
    }
    let mut table = markdown();
    table.set_header(["check", "says", "of", "in runs", "measured, for example"]);
    for ((Reverse(verdict), check, figure), Said { runs: spoken, example }) in said {
        let often = format!("{spoken} of {}", runs.len());
        table.add_row([check, verdict.word(), figure, &often, example]);
    }
    let with = |verdict| runs_with.get(&verdict).map_or(0, BTreeSet::len);
    format!(
        "{} runs with {} figures. Runs with an invalid one: {}; with a suspect one: {}; with one \
         that wasn't checked in full: {}.\n\n{table}",
        runs.len(),
        runs.iter().map(Vec::len).sum::<usize>(),
        with(Verdict::Invalid),
        with(Verdict::Suspect),
        with(Verdict::NotChecked),
    )
}

#[cfg(test)]
mod tests {
    use result::evidence::{CoreSpeed, Evidence};
    use result::plan::{Cores, Slot};

    use super::*;

    fn finding(check: &str, verdict: Verdict, value: &str) -> Finding {
        Finding {
            check: check.into(),
            verdict,
            value: value.into(),
            threshold: String::new(),
            says: String::new(),
            fix: String::new(),
            off_by_max: None,
        }
    }

    /// The folder of a run that measured nothing.
    fn folder(state: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let run = serde_json::json!({
            "schema": result::SCHEMA, "bakeoff": "", "id": "", "started": "", "state": state,
            "command": "", "machine": result::plan::Machine::default(),
            "study": {
                "name": "", "title": "", "question": "", "contract": "", "published": [],
            },
            "contenders": [],
            "plan": {
                "profile": "quick", "seed": 1, "blocks": 6, "measure_s": 2.0,
                "warmup_s": 0.5, "slots": [],
            },
            "trials": [], "outcomes": [],
        });
        std::fs::write(folder.path().join("run.json"), run.to_string()).unwrap();
        folder
    }

    #[test]
    fn a_run_that_was_stopped_is_not_tallied() {
        let of = |state: &str| {
            let folder = folder(state);
            super::run(&AlarmsArguments { runs: vec![folder.path().into()] })
        };
        assert_eq!(of("complete"), Ok(false), "what the lab took isn't known");
        let refused = of("unfinished").unwrap_err();
        assert!(refused.contains(" isn't complete; go on with it "), "{refused}");
    }

    #[test]
    fn what_the_lab_itself_took_is_held_against_what_it_may() {
        let of = |sampling_s: f64, window_s: f64| {
            let folder = folder("complete");
            let mut run = read(folder.path()).unwrap();
            run.spent.whole_s = 100.0;
            run.spent.window_s = window_s;
            let mut trial = trial((900.0, 900.0), &[]);
            trial.evidence.sampling.sampling_s = 1.0;
            trial.evidence.sampling.sampling_cpu_s = Some(sampling_s);
            run.trials.push(trial);
            costs(&[run])
        };
        let (words, hold) = of(0.004, 80.0);
        assert_eq!(
            words,
            "Sampling took 0.4 % (median; at most 0.4 %) of one core, of which 1 % may be; \
             the lab's own was 20 % (median; at most 20 %) of a run's time, of which 25 % may be."
        );
        assert!(hold);
        assert!(!of(0.011, 80.0).1, "sampling took more than it may");
        assert!(!of(0.004, 70.0).1, "the lab took more than it may");
    }

    fn trial((before, after): (f64, f64), findings: &[Finding]) -> Trial {
        Trial {
            slot: Slot {
                number: 0,
                block: 0,
                contender: "go".into(),
                twin: false,
                setting: Setting::closed(100, Cores::One, true),
            },
            started: String::new(),
            evidence: Evidence {
                work: Some(result::evidence::Work::default()),
                core_speeds: vec![CoreSpeed {
                    whole_before: Some(before),
                    whole_after: Some(after),
                    ..CoreSpeed::default()
                }],
                ..Evidence::default()
            },
            findings: findings.to_vec(),
        }
    }

    #[test]
    fn what_neighbours_did_is_counted_by_trial() {
        let unsteady = finding("steady", Verdict::Suspect, "-12 %");
        let trials = [
            trial((900.0, 890.0), &[]),
            trial((900.0, 700.0), std::slice::from_ref(&unsteady)),
            trial((910.0, 905.0), &[unsteady]),
            trial((690.0, 880.0), &[]),
        ];
        assert_eq!(
            neighbours(trials.iter()),
            "The cores did 690 to 910 steps a µs, usually 900. Of 4 trials, 2 had them change by \
             more than 10 % from before to after (1 of them to faster), 2 a rate that wasn't \
             steady, 1 both."
        );
    }

    #[test]
    fn each_word_but_valid_is_counted_by_run() {
        let noisy =
            [finding("steady", Verdict::Suspect, "-12 %"), finding("errors", Verdict::Valid, "0")];
        let worse = [
            finding("steady", Verdict::Suspect, "-15 %"),
            finding("client-limit", Verdict::Invalid, "99 % busy"),
        ];
        let figure = |findings| vec![("go, 100 connections".to_string(), findings)];
        let said = tally(&[figure(&noisy[..]), figure(&worse[..]), figure(&[])]);
        assert!(said.starts_with(
            "3 runs with 3 figures. Runs with an invalid one: 1; with a suspect one: 2; with one \
             that wasn't checked in full: 0."
        ));
        let lines: Vec<&str> = said.lines().skip(4).collect();
        assert_eq!(lines.len(), 2, "a valid word is no alarm:\n{said}");
        for word in ["client-limit", "invalid", "1 of 3"] {
            assert!(lines[0].contains(word), "the worst comes first:\n{said}");
        }
        for word in ["steady", "suspect", "go, 100 connections", "2 of 3", "-12 %"] {
            assert!(lines[1].contains(word), "{said}");
        }
    }
}
