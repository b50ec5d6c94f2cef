//! What a run shows while it goes on, on stderr: first what it will do, then one
//! line that is rewritten on a terminal, or one line a build and a trial elsewhere.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use lab::place::{Host, ThisMachine, disk};
use lab::run::{Event, TimeLeft, ToMake};
use report::text::{visible, visible_lines};
use report::{setting_names, units};
use result::finding::{Finding, Verdict};
use result::plan::{ClientHost, Contender, Cores, Dimension, Pace, PaceKind, Plan, Setting, Study};
use result::{Run, Trial};

use super::super::printing::note;
use super::manners;

/// How often a clock is written anew.
const EACH_SECOND: Duration = Duration::from_secs(1);

/// Shows the events of a run.
pub struct Progress {
    line: ProgressBar,
    /// Contenders whose manners were told of, so that each is told of once.
    told: RefCell<BTreeSet<String>>,
    /// In what settings of the study differ.
    dimensions: RefCell<Vec<Dimension>>,
}

impl Progress {
    /// A run that is about to begin.
    pub fn new() -> Progress {
        let line = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        line.set_style(style("{wide_msg}"));
        Progress { line, told: RefCell::default(), dimensions: RefCell::default() }
    }

    /// Shows one event.
    pub fn tell(&self, event: &Event) {
        match event {
            Event::Intends { study, contenders, plan, to_make } => {
                self.dimensions.replace(study.dimensions.clone());
                self.say(&intention(study, contenders, plan, to_make));
            }
            Event::Preparing { contender, number, of } => {
                let says = format!("preparing {contender}, {number} of {of}");
                // A build may take minutes, also where its output goes to a file.
                if self.line.is_hidden() { self.say(&says) } else { self.show_with_clock(&says) }
            }
            Event::LeftOut { contender, why } => {
                let why: Vec<_> = why.lines().map(visible).collect();
                self.say(&format!("Left out: {contender}: {}", why.join("\n")));
            }
            Event::Planned { run, folder, to_make } => {
                self.say(&ready(run, folder, to_make));
                if run.study.kind.keeps_data() {
                    self.say_where_data_lie();
                }
            }
            Event::CutsOff { store, cuts } => self.show_with_clock(&format!(
                "{store} · cut off {} in each way, and read back",
                units::of(u64::from(*cuts), "time")
            )),
            Event::WasCutOff { store, made, left } => self.was_cut_off(store, *made, *left),
            Event::PlaysScripts { gateway, left } => self.plays_scripts(gateway, *left),
            Event::ClassesKnown(ToMake { trials, time, .. }) => self.say(&format!(
                "It is known what each store survives: {} to make, {}",
                units::of(*trials as u64, "trial"),
                expected(*time)
            )),
            Event::Begins { slot, trials, left } => {
                self.show(&format!(
                    "{} · {} · {}, {} left",
                    slot.contender,
                    self.name(&slot.setting),
                    units::of(*trials as u64, "trial"),
                    at_least(*left)
                ));
            }
            Event::SecondClient(slot) => self.show(&format!(
                "{} · {} · again with a second client: the first was near its limit",
                slot.contender,
                self.name(&slot.setting)
            )),
            Event::Ended { trial, left } => self.ended(trial, *left),
            Event::Disturbed { block, setting } => self.say(&format!(
                "block {}, {}: made again, because others used the machine",
                block + 1,
                self.name(setting)
            )),
            Event::AnotherPair(slot) => self.say(&format!(
                "block {}, {}: {} is measured twice too, because the A/A pair can't be used",
                slot.block + 1,
                self.name(&slot.setting),
                slot.contender
            )),
            Event::NoRate(left_out) => self.say(&format!(
                "Left out: {} with {}: {}",
                left_out.contender,
                self.name(&left_out.setting),
                visible(&left_out.reason)
            )),
            Event::GivenUp(contender) => {
                self.say(&format!("{contender} failed repeatedly: its other trials are left out"));
            }
            Event::ChangedMeanwhile(contender) => self.say(&format!(
                "The files of {contender} were changed: its other trials are left out"
            )),
        }
    }

    fn name(&self, setting: &Setting) -> String {
        setting_names(&self.dimensions.borrow(), &[setting])
    }

    fn ended(&self, trial: &Trial, left: TimeLeft) {
        let slot = &trial.slot;
        let what = format!("{} · {}", slot.contender, self.name(&slot.setting));
        let process = &trial.evidence.process;
        if let Some(told) = manners::sentence(&slot.contender, process)
            && self.told.borrow_mut().insert(slot.contender.clone())
        {
            self.say(&told);
        }
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
            && let Some(work) = &trial.evidence.work
        {
            // Elsewhere than on a terminal, these lines are the progress.
            self.say(&format!(
                "{what} · {}/s · {} · {} left",
                units::count(work.rate),
                verdict(&trial.findings),
                at_least(left)
            ));
        }
    }

    /// Shows how far a store is. Where lines go to a file, one a store is enough.
    fn was_cut_off(&self, store: &str, made: u32, left: TimeLeft) {
        let times = units::of(u64::from(made), "time");
        let text = format!("{store} · cut off {times} so far · {} left", at_least(left));
        if !self.line.is_hidden() {
            self.line.set_message(visible(&text).into_owned());
        } else if made == 1 {
            self.say(&text);
        }
    }

    /// Shows with whom scripts are played. Where lines go to a file, one a gateway is enough.
    fn plays_scripts(&self, gateway: &str, left: TimeLeft) {
        let says = format!("{gateway} · scripts before it is timed · {} left", at_least(left));
        if self.line.is_hidden() { self.say(&says) } else { self.show_with_clock(&says) }
    }

    /// Says where stores have their data, if that isn't the folder that it would be.
    fn say_where_data_lie(&self) {
        let (asked, folder) = (std::env::temp_dir(), disk::folder_for_data());
        if folder != asked {
            self.say(&format!(
                "Stores have their data in {}: {} lies in memory, where a sync costs nothing.",
                folder.display(),
                asked.display()
            ));
        }
    }

    /// Prints text above the line.
    fn say(&self, text: &str) {
        if self.line.is_hidden() { note(text) } else { self.line.println(visible_lines(text)) }
    }

    /// Writes the line anew.
    fn show(&self, text: &str) {
        self.line.disable_steady_tick();
        self.line.set_style(style("{wide_msg}"));
        self.line.set_message(visible(text).into_owned());
    }

    /// The same with the time since then, for what nobody knows the end of.
    fn show_with_clock(&self, text: &str) {
        self.line.set_style(style("{msg} · {elapsed}"));
        self.line.reset_elapsed();
        self.line.enable_steady_tick(EACH_SECOND);
        self.line.set_message(visible(text).into_owned());
    }
}

/// How the line is made.
fn style(template: &'static str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("a constant template")
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

/// What a run will do, before it does and before it is known who can be had.
fn intention(study: &Study, contenders: &[String], plan: &Plan, to_make: &ToMake) -> String {
    let mut text = format!("{}: {}\n", study.title, study.question);
    text.push_str(&format!("  profile      {}\n", plan.profile));
    text.push_str(&format!("  contenders   {}", contenders.join(", ")));
    if plan.slots.iter().any(|slot| slot.twin) {
        let who = if plan.cuts > 0 { "one of them, or of each class," } else { "one of them" };
        text.push_str(&format!(
            "; {who} twice under each load that is ranked, for the noise floor"
        ));
    }
    for pace in PaceKind::ALL {
        if let Some((name, says)) = pace_line(study, plan, pace) {
            text.push_str(&format!("\n  {name:<11}  {says}"));
        }
    }
    let trials = units::of(to_make.trials as u64, "trial");
    let more = to_make.at_most.map_or(String::new(), |(trials, more)| {
        format!(" ({} for {trials}, if stores are of several classes)", time(more.seconds))
    });
    text.push_str(&format!(
        "\n  time         {} for {trials}{more}; builds come first, and aren't counted\n",
        expected(to_make.time),
    ));
    text
}

/// Who could be had, and what follows for the trials.
fn ready(run: &Run, folder: &Path, to_make: &ToMake) -> String {
    let ToMake { trials, time: needed, at_most } = *to_make;
    let present = run.contenders.iter().filter(|contender| contender.absent.is_none());
    let present: Vec<&str> = present.map(|contender| contender.name.as_str()).collect();
    let process = if run.contenders.iter().any(runs_already) {
        "not each a fresh process"
    } else {
        "each a fresh process"
    };
    let places: String = places(run).iter().map(|line| format!("  {line}\n")).collect();
    let more_trials = at_most.map_or(String::new(), |(most, _)| format!(" (at most {most})"));
    let more_time = at_most
        .map_or(String::new(), |(trials, more)| format!(" ({} for {trials})", time(more.seconds)));
    format!(
        "Ready: {}\n{places}  \
         trials       {trials}{more_trials} to make, {process}: {}, then {} s measured\n  \
         time         {}{more_time}, of which {} are measured\n  \
         kept in      {}\n",
        present.join(", "),
        warmup(run),
        units::plain(run.plan.measure_s),
        expected(needed),
        time(trials as f64 * run.plan.measure_s),
        super::shown(folder).display(),
    )
}

/// Whether somebody else started it.
fn runs_already(contender: &Contender) -> bool {
    contender.run.is_empty() && contender.address.is_some()
}

/// Which processors contenders and client are given, a line for each way that is planned, and the
/// hosts of the load, where there are some.
fn places(run: &Run) -> Vec<String> {
    let planned = |cores: &Cores| run.plan.slots.iter().any(|slot| slot.setting.cores == *cores);
    let machine = ThisMachine::new(&run.machine);
    let hosts: Vec<&ClientHost> = run.hosts.iter().collect();
    let line = |cores: Cores| {
        let mut place = match hosts[..] {
            [] => machine.split(cores),
            _ => machine.for_hosts(cores, &hosts).0,
        };
        if !run.study.kind.is_asked() {
            place.client_cpus.clear();
        }
        // Somebody else gave it its processors.
        if run.contenders.iter().all(runs_already) {
            place.server_cpus.clear();
        }
        let name = match cores {
            Cores::One => "one core",
            Cores::All => "all cores",
        };
        format!("{name:<11}  {}", place.in_words(&run.machine))
    };
    let names: Vec<Cow<str>> = hosts.iter().map(|host| visible(&host.name)).collect();
    let from = (!names.is_empty()).then(|| format!("{:<11}  {}", "load from", names.join(", ")));
    [Cores::One, Cores::All].into_iter().filter(planned).map(line).chain(from).collect()
}

/// The load before a window, and who needs more of it.
fn warmup(run: &Run) -> String {
    let plan = &run.plan;
    let more = run.contenders.iter().filter(|contender| {
        contender.absent.is_none() && plan.warmup_s_of(contender) > plan.warmup_s
    });
    let more: Vec<String> = more
        .map(|contender| format!("{} {} s", contender.name, units::plain(contender.warmup_s)))
        .collect();
    let what = if run.study.kind.is_asked() { "load" } else { "work" };
    let all = format!("{} s of {what}", units::plain(plan.warmup_s));
    if more.is_empty() { all } else { format!("{all} ({})", more.join(", ")) }
}

/// What a plan measures at a pace; `None` if it has no trial.
fn pace_line(study: &Study, plan: &Plan, pace: PaceKind) -> Option<(&'static str, String)> {
    let slots = || plan.slots.iter().filter(|slot| slot.setting.pace.kind() == pace);
    let blocks = slots().map(|slot| slot.block + 1).max()?;
    let mut settings: Vec<&Setting> = slots().map(|slot| &slot.setting).collect();
    settings.sort();
    settings.dedup();
    let base = setting_names(&study.dimensions, &[&settings[0].with(Pace::Free)]);
    let percents = settings.iter().filter_map(|setting| setting.pace.percent());
    let percents: Vec<String> = percents.map(|percent| percent.to_string()).collect();
    let percents = percents.join(", ");
    let blocks = units::of(blocks.into(), "shuffled block");
    Some(match pace {
        PaceKind::Free => {
            let all = setting_names(&study.dimensions, &settings);
            let loops = if study.kind.is_asked() { "closed loop" } else { "settings" };
            (loops, format!("{all}; {blocks}"))
        }
        PaceKind::Equal if percents.is_empty() => {
            ("equal rate", format!("{}; {blocks}", setting_names(&study.dimensions, &settings)))
        }
        PaceKind::Equal => {
            ("equal rate", format!("{percents} % of the lowest maximum, for all: {base}; {blocks}"))
        }
        PaceKind::Own => {
            ("curve", format!("{percents} % of each one's own maximum: {base}; {blocks}"))
        }
    })
}

/// How long something is expected to take.
fn expected(left: TimeLeft) -> String {
    if left.is_least { at_least(left) } else { format!("about {}", time(left.seconds)) }
}

/// The same where it is plain that nobody knows to the second.
fn at_least(left: TimeLeft) -> String {
    let time = time(left.seconds);
    if left.is_least { format!("at least {time}") } else { time }
}

/// A time in its two largest units: nobody counts seconds beside hours.
pub fn time(seconds: f64) -> String {
    let seconds = seconds.round().max(0.0) as u64;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => {
            let minutes = (seconds + 30) / 60;
            format!("{} h {} min", minutes / 60, minutes % 60)
        }
    }
}

#[cfg(test)]
mod tests {
    use result::kind::Kind;
    use result::plan::{Machine, Slot};
    use serde_json::json;

    use super::*;

    /// A run that is about to begin, with a slot for each of these loads.
    fn planned(loads: &[Setting]) -> Run {
        let slots: Vec<Slot> = (0..)
            .zip(loads)
            .map(|(number, load)| Slot {
                number,
                block: number % 2,
                contender: "go".into(),
                twin: number == 0,
                setting: load.clone(),
            })
            .collect();
        let contender = |name: &str, absent: Option<&str>| {
            json!({
                "name": name, "title": name, "language": "C", "tier": "tuned", "versions": [],
                "run": [], "environment": [], "absent": absent,
            })
        };
        serde_json::from_value(json!({
            "schema": result::SCHEMA, "bakeoff": "", "id": "", "started": "", "state": "unfinished",
            "command": "", "machine": Machine { cpus: (0..8).collect(), ..Machine::default() },
            "study": {
                "name": "web", "title": "Hello-world web servers", "question": "Which?",
                "contract": "", "published": [],
                "kind": "http", "dimensions": Kind::Http.dimensions(),
            },
            "contenders": [contender("go", None), contender("hyper", None),
                contender("zig", Some("there is no `zig`"))],
            "plan": {
                "profile": "quick", "seed": 1, "blocks": 2, "measure_s": 2.0, "warmup_s": 0.5,
                "slots": slots,
            },
            "trials": [], "outcomes": [],
        }))
        .unwrap()
    }

    fn made(trials: usize, seconds: f64) -> ToMake {
        ToMake { trials, time: TimeLeft { seconds, is_least: false }, at_most: None }
    }

    /// Else a run is longer than it said, once each class of stores has its pair.
    #[test]
    fn what_classes_of_stores_may_add_is_told_before_they_are_known() {
        let run = planned(&[Setting::closed(30, Cores::One, true)]);
        let least = |seconds| TimeLeft { seconds, is_least: true };
        let to_make = ToMake { trials: 12, time: least(40.0), at_most: Some((18, least(60.0))) };
        let says = intention(&run.study, &["go".into()], &run.plan, &to_make);
        let most =
            "at least 40 s for 12 trials (1 min 0 s for 18, if stores are of several classes)";
        assert!(says.contains(most), "{says}");
        let says = ready(&run, Path::new("runs/kv-1"), &to_make);
        assert!(says.contains("12 (at most 18) to make"), "{says}");
        assert!(says.contains("at least 40 s (1 min 0 s for 18), of which"), "{says}");
    }

    #[test]
    fn a_run_says_first_what_it_will_do_and_how_long_it_takes() {
        let kept = Setting::closed(100, Cores::One, true);
        let run = planned(&[
            kept.clone(),
            Setting::closed(5000, Cores::All, false),
            kept.with(Pace::Equal { percent: 80 }),
            kept.with(Pace::Own { percent: 110 }),
            kept.with(Pace::Own { percent: 25 }),
        ]);
        let names = ["go", "hyper", "zig"].map(String::from);
        let says = [
            intention(&run.study, &names, &run.plan, &made(153, 466.0)),
            ready(&run, Path::new("runs/web-1"), &made(102, 311.0)),
        ];
        insta::assert_snapshot!(says.join("\n"));
    }

    #[test]
    fn a_run_of_the_closed_loop_alone_tells_of_no_other() {
        let run = planned(&[Setting::closed(30, Cores::One, true)]);
        let says = intention(&run.study, &["go".into()], &run.plan, &made(6, 20.0));
        assert!(!says.contains("equal rate") && !says.contains("curve"), "{says}");
    }

    #[test]
    fn who_is_given_more_warm_up_is_named() {
        let mut run = planned(&[Setting::closed(30, Cores::One, true)]);
        run.contenders[0].warmup_s = 8.0;
        run.contenders[1].warmup_s = 0.2;
        let says = ready(&run, Path::new("runs/web-1"), &made(6, 20.0));
        assert!(says.contains("0.50 s of load (go 8.00 s), then 2.00 s measured"), "{says}");
    }

    #[test]
    fn of_servers_that_run_already_no_fresh_process_is_told() {
        let mut run = planned(&[Setting::closed(30, Cores::One, true)]);
        run.contenders[0].address = Some("127.0.0.1:3000".into());
        let says = ready(&run, Path::new("runs/duel-1"), &made(6, 20.0));
        assert!(says.contains("6 to make, not each a fresh process"), "{says}");
        run.contenders.iter_mut().for_each(|it| it.address = Some("127.0.0.1:3000".into()));
        let says = ready(&run, Path::new("runs/duel-1"), &made(6, 20.0));
        assert!(
            says.contains("one core     client on CPU 2-4, "),
            "no processors are given: {says}"
        );
    }

    #[test]
    fn times_are_told_in_their_two_largest_units() {
        assert_eq!(time(59.4), "59 s");
        assert_eq!(time(59.6), "1 min 0 s");
        assert_eq!(time(150.0), "2 min 30 s");
        assert_eq!(time(3_599.4), "59 min 59 s");
        assert_eq!(time(16_203.0), "4 h 30 min");
        assert_eq!(time(7_185.0), "2 h 0 min");
    }
}
