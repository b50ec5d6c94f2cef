//! What a run shows while it goes on, on stderr: first what it will do, then one
//! line that is rewritten on a terminal, or one line a trial elsewhere.

use std::cell::Cell;
use std::path::Path;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use lab::run::Event;
use report::text::visible;
use report::units;
use result::finding::{Finding, Verdict};
use result::plan::{Cores, Load};
use result::{Run, Trial};

/// Shows the events of a run.
pub struct Progress {
    line: ProgressBar,
    /// What was said to be left when the trial under way began: trials, seconds.
    left: Cell<(usize, f64)>,
}

impl Progress {
    /// A run that is about to begin.
    pub fn new() -> Progress {
        let line = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        line.set_style(ProgressStyle::with_template("{wide_msg}").expect("a constant template"));
        Progress { line, left: Cell::default() }
    }

    /// Shows one event.
    pub fn tell(&self, event: &Event) {
        match event {
            Event::Preparing(contender) => self.line.set_message(format!("preparing {contender}")),
            Event::LeftOut { contender, why } => {
                let why: Vec<_> = why.lines().map(visible).collect();
                self.say(&format!("Left out: {contender}: {}", why.join("\n")));
            }
            Event::Planned { run, folder, trials, seconds } => {
                self.say(&intention(run, folder, *trials, *seconds));
            }
            Event::Begins { slot, trials, seconds } => {
                self.left.set((*trials, *seconds));
                self.line.set_message(format!(
                    "{} · {} · {}, {} left",
                    slot.contender,
                    load_name(&slot.load),
                    units::of(*trials as u64, "trial"),
                    time(*seconds)
                ));
            }
            Event::Ended(trial) => self.ended(trial),
            Event::Disturbed { block, load } => self.say(&format!(
                "block {}, {}: made again, because others used the machine",
                block + 1,
                load_name(load)
            )),
            Event::GivenUp(contender) => {
                self.say(&format!("{contender} failed repeatedly: its other trials are left out"));
            }
        }
    }

    fn ended(&self, trial: &Trial) {
        let slot = &trial.slot;
        let what = format!("{} · {}", slot.contender, load_name(&slot.load));
        let process = &trial.evidence.process;
        if let Some(failure) = &process.failure {
            let mut text = format!("Failed: {what}: {}", visible(failure));
            if !process.last_words.is_empty() {
                text.push_str("; its last lines:");
            }
            for line in &process.last_words {
                text.push_str(&format!("\n    {}", visible(line)));
            }
            self.say(&text);
        } else if self.line.is_hidden()
            && let Some(load) = &trial.evidence.load
        {
            // Elsewhere than on a terminal, these lines are the progress.
            let (trials, seconds) = self.left.get();
            self.say(&format!(
                "{what} · {}/s · {} · {} left",
                units::count(load.rate),
                verdict(&trial.findings),
                time(seconds * (trials - 1) as f64 / trials as f64)
            ));
        }
    }

    /// Prints text above the line.
    fn say(&self, text: &str) {
        match self.line.is_hidden() {
            true => eprintln!("{text}"),
            false => self.line.println(text),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.line.finish_and_clear();
    }
}

/// The worst verdict, which is the first, with the check that gave it.
fn verdict(findings: &[Finding]) -> String {
    match findings.first() {
        Some(worst) if worst.verdict != Verdict::Valid => {
            format!("{} ({})", worst.verdict.word(), worst.check)
        }
        _ => Verdict::Valid.word().into(),
    }
}

/// What a run will do, before it does.
fn intention(run: &Run, folder: &Path, trials: usize, seconds: f64) -> String {
    let plan = &run.plan;
    let present: Vec<&str> = run
        .contenders
        .iter()
        .filter(|contender| contender.absent.is_none())
        .map(|contender| contender.name.as_str())
        .collect();
    let mut loads: Vec<&Load> = plan.slots.iter().map(|slot| &slot.load).collect();
    loads.sort_by_key(|load| (load.cores, load.connections));
    loads.dedup();
    let loads: Vec<String> = loads.into_iter().map(load_name).collect();
    let twin = plan.slots.iter().find(|slot| slot.twin).map(|slot| slot.contender.as_str());
    let mut text = format!("{}: {}\n", run.study.title, run.study.question);
    text.push_str(&format!("  contenders  {}", present.join(", ")));
    if let Some(twin) = twin {
        text.push_str(&format!("; {twin} twice, for the noise floor"));
    }
    text.push_str(&format!(
        "\n  loads       {}\n  trials      {} to make, each a fresh process: {} s of load, then \
         {} s measured; {}\n  time        about {}\n  kept in     {}\n",
        loads.join("; "),
        trials,
        units::plain(plan.warmup_s),
        units::plain(plan.measure_s),
        units::of(plan.blocks.into(), "shuffled block"),
        time(seconds),
        super::shown(folder).display(),
    ));
    text
}

fn load_name(load: &Load) -> String {
    let cores = match load.cores {
        Cores::One => "one core",
        Cores::All => "all cores",
    };
    format!("{}, {cores}", units::of(load.connections.into(), "connection"))
}

/// A time of seconds or minutes.
fn time(seconds: f64) -> String {
    let seconds = seconds.round().max(0.0) as u64;
    match (seconds / 60, seconds % 60) {
        (0, seconds) => format!("{seconds} s"),
        (minutes, seconds) => format!("{minutes} min {seconds} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_in_minutes_and_seconds() {
        assert_eq!(time(59.4), "59 s");
        assert_eq!(time(150.0), "2 min 30 s");
    }
}
