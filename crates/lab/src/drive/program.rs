//! A contender that drives itself: it is started with its parameters, works, and prints a line
//! of JSON now and then.
//!
//! ```text
//! {"ready": true}
//! {"t": 0.25, "done": 51234, "sum": 2610423881}
//! {"result": {"bytes": 812}}
//! ```
//!
//! `t` are seconds by its own clock, `done` what it has done since its start, and `sum` the sum
//! of those units' payloads or records, modulo 2^32. After the result it ends with 0.
//!
//! Each number is bounded where its line is read: what a program may tell costs nobody else a
//! figure.
//!
//! The window begins at the first line after the warm-up and a while more that is drawn from the
//! trial's seed. Which line that is, the program can't know.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use keeper::kept::Kept;
use keeper::lines::{LINE_BYTES_MAX, LINES_MAX, Line};
use keeper::text::harmless;
use load::{Error, Moment, Stop};
use result::evidence::{Interval, Work};
use result::plan::Value;
use serde::Deserialize;

use super::{Drive, DriveEnd, Driven, Driving, Outside, Passage, Readiness, Sign, WorkDriver};
use crate::contract::program::{Told, drawn, payloads_seed};
use crate::place::Running;

/// Between two looks whether the run is to end.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// What a program may take beyond its seconds: to end a unit, and to sum up.
const BEYOND: Duration = Duration::from_secs(30);
/// The window begins so much later than the warm-up ends at most: an interval of its lines.
const BEGINS_WITHIN_S: f64 = 0.2;
/// What it is told to work beyond warm-up and window: for the window to begin, and until the line
/// after the one that ends the window, so that it lives while it is looked at for the last time.
pub const MORE_S: f64 = BEGINS_WITHIN_S + 0.2;
/// A line that comes so little before its time is in time: the next one would be far too late.
const EARLY: Duration = Duration::from_millis(20);
/// Intervals of a program: so many of its lines are told at most, and one of them is `ready`.
const INTERVALS_MAX: usize = LINES_MAX - 2;
/// Numbers of a result.
const RESULT_MAX: usize = 20;
/// How long its process may take to end after its last line.
const ENDS_WITHIN: Duration = Duration::from_secs(5);
/// How long lines of a process that has ended may still come: they were printed before.
const PRINTED_BEFORE: Duration = Duration::from_secs(1);
/// The largest number that it may tell: what a program that isn't Rust can count to without loss
/// (RFC 8259, 6).
const NUMBER_MAX: u64 = 1 << 53;
/// Sums are told modulo this.
const SUMS_END: u64 = 1 << 32;

/// Contenders that drive themselves.
#[derive(Debug, Default)]
pub struct ProgramDriver {
    /// When the one that runs said that it is ready, by CLOCK_MONOTONIC.
    ready_at: Cell<Duration>,
}

impl WorkDriver for ProgramDriver {
    fn sign(&self) -> Sign {
        Sign { given: "said that it is ready", missing: "didn't say that it is ready" }
    }

    fn arguments(&self, what: &Drive) -> Vec<String> {
        let seconds = what.warmup_s + what.plan.measure_s + MORE_S;
        [setting_and_seed(what), vec!["--seconds".into(), format!("{seconds:.3}")]].concat()
    }

    fn ready(&self, on: &Running, _stop: &Stop) -> Readiness {
        let line = match on.kept.next_line(Duration::ZERO) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => {
                return Readiness::NotYet("it printed nothing".into());
            }
            // How it ended says more.
            Err(RecvTimeoutError::Disconnected) => {
                return match on.kept.wait(ENDS_WITHIN) {
                    Some(_) => Readiness::NotYet("it ended".into()),
                    None => Readiness::Failed(
                        "it closed its standard output before it said that it is ready".into(),
                    ),
                };
            }
        };
        match Said::of(&line) {
            Ok(Said::Ready { ready: true }) => {
                self.ready_at.set(line.at);
                Readiness::Yes
            }
            Ok(Said::Ready { ready: false }) => Readiness::NotYet("it isn't ready".into()),
            Ok(_) => Readiness::Failed("it worked before it said that it is ready".into()),
            Err(why) => Readiness::Failed(why),
        }
    }

    fn prepare<'a>(
        &'a self,
        on: &'a Running,
        what: &Drive,
    ) -> Result<Box<dyn Driving + 'a>, Error> {
        let ready_at = self.ready_at.get();
        let working = Working {
            kept: &on.kept,
            ready_at,
            window_due: ready_at + what.warmup() + begins_after(what.seed()),
            at_most: what.warmup() + what.window() + BEYOND,
            window: what.window(),
        };
        Ok(Box::new(working))
    }
}

/// How much later than its warm-up ends the window of a trial is due to begin.
fn begins_after(seed: u64) -> Duration {
    let share = drawn("window", seed) as f64 / u64::MAX as f64;
    Duration::from_secs_f64(BEGINS_WITHIN_S * share)
}

/// What a program and what makes its records are started with alike.
pub fn setting_and_seed(what: &Drive) -> Vec<String> {
    let parameters = what.slot.setting.values.iter().map(|(name, value)| (&**name, value));
    let seed = Value::Number(payloads_seed(what.seed()));
    parameters
        .chain([("seed", &seed)])
        .flat_map(|(name, value)| [format!("--{name}"), value.to_string()])
        .collect()
}

/// A line of a program.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(untagged)]
enum Said {
    /// What it has done so far.
    Interval { t: f64, done: u64, sum: Option<u64> },
    /// It is done.
    Result { result: BTreeMap<String, f64> },
    /// It is about to begin.
    Ready { ready: bool },
}

impl Said {
    /// What a line says.
    ///
    /// # Errors
    /// That it says nothing that a program may say, in a sentence with the line.
    fn of(line: &Line) -> Result<Said, String> {
        let printed = || format!("it printed {:?}", harmless(&line.text));
        if line.text.len() >= LINE_BYTES_MAX {
            return Err(format!("{}; a line has fewer than {LINE_BYTES_MAX} bytes", printed()));
        }
        let said: Said = serde_json::from_str(&line.text).map_err(|_| {
            format!(
                "{}; a line is {{\"ready\": true}}, {{\"t\": SECONDS, \"done\": WHOLE NUMBER, \
                 \"sum\": WHOLE NUMBER}} or {{\"result\": {{}}}}, and all else belongs on its \
                 standard error",
                printed()
            )
        })?;
        match said.beyond() {
            Some(bounds) => Err(format!("{}; {bounds}", printed())),
            None => Ok(said),
        }
    }

    /// Which bounds a number of it is beyond, if one is.
    fn beyond(&self) -> Option<String> {
        match self {
            Said::Interval { t, done, sum } => {
                let bounds = "`t` and `done` are from 0 to 2^53, and `sum` is below 2^32";
                let is_told = is_a_figure(*t) && *done <= NUMBER_MAX;
                let is_a_sum = sum.is_none_or(|sum| sum < SUMS_END);
                (!is_told || !is_a_sum).then(|| bounds.into())
            }
            Said::Result { result } if result.len() > RESULT_MAX => {
                Some(format!("a result has {RESULT_MAX} numbers at most"))
            }
            Said::Result { result } => {
                let is_beyond = |number: &&f64| !is_a_figure(**number);
                result
                    .values()
                    .find(is_beyond)
                    .map(|_| "a result's numbers are from 0 to 2^53".into())
            }
            Said::Ready { .. } => None,
        }
    }
}

/// Whether a number may be told as a figure: none that is measured is negative.
pub fn is_a_figure(number: f64) -> bool {
    (0.0..=NUMBER_MAX as f64).contains(&number)
}

/// A program that works.
struct Working<'a> {
    kept: &'a Kept,
    ready_at: Duration,
    /// From when on a line begins the window.
    window_due: Duration,
    window: Duration,
    /// What all of it may take.
    at_most: Duration,
}

/// What was heard of it.
#[derive(Debug, Default)]
struct Heard {
    /// Its intervals, with the time of arrival.
    intervals: Vec<(Duration, Told)>,
    /// Which of them begins the window, and which ends it.
    begins: Option<usize>,
    ends: Option<usize>,
    /// What it told at its end.
    result: BTreeMap<String, f64>,
}

impl Driving for Working<'_> {
    fn outside(&self) -> Option<Outside> {
        None
    }

    fn run(&mut self, stop: &Stop, tell: &mut dyn FnMut(Passage)) -> Result<DriveEnd, Error> {
        let mut heard = Heard::default();
        let began = Instant::now();
        let mut gone = None;
        loop {
            if stop.asked() {
                return Ok(DriveEnd::Stopped);
            }
            if began.elapsed() > self.at_most {
                let seconds = self.at_most.as_secs_f64();
                let why = format!("it didn't come to a result within {seconds:.0} s");
                return Ok(DriveEnd::Failed(why));
            }
            let line = match self.next_line(&mut gone) {
                Ok(line) => line,
                Err(None) => continue,
                Err(Some(why)) => return Ok(DriveEnd::Failed(why)),
            };
            match Said::of(&line) {
                Err(why) => return Ok(DriveEnd::Failed(why)),
                Ok(Said::Ready { .. }) => {
                    let why = "it said again that it is ready: when it began isn't known";
                    return Ok(DriveEnd::Failed(why.into()));
                }
                Ok(Said::Result { result }) => {
                    heard.result = result;
                    let due = self.window_due + self.window;
                    heard.closes(due, self.window).into_iter().for_each(&mut *tell);
                    break;
                }
                Ok(Said::Interval { t, done, sum }) => {
                    let arrived_s = line.at.saturating_sub(self.ready_at).as_secs_f64();
                    heard.intervals.push((line.at, Told { own_s: t, arrived_s, done, sum }));
                    if heard.intervals.len() > INTERVALS_MAX {
                        let why = format!("it printed more than {INTERVALS_MAX} intervals");
                        return Ok(DriveEnd::Failed(why));
                    }
                    if let Some(why) = heard.fault() {
                        return Ok(DriveEnd::Failed(why));
                    }
                    let is_warm = line.at + EARLY >= self.window_due;
                    let passes = heard.passes(is_warm, self.window);
                    passes.into_iter().for_each(&mut *tell);
                }
            }
        }
        let exit = self.kept.wait(ENDS_WITHIN);
        // Which of two results is to count, nobody knows.
        if exit.is_some()
            && let Ok(line) = self.kept.next_line(PRINTED_BEFORE)
        {
            let why = format!("it printed {:?} after its result", harmless(&line.text));
            return Ok(DriveEnd::Failed(why));
        }
        match exit {
            Some(exit) if exit.code == Some(0) => Ok(match heard.driven() {
                Some(driven) => DriveEnd::Driven(Box::new(driven)),
                None => DriveEnd::Failed(
                    "it ended before its window did: it is to work for the seconds that it is \
                     given, and to print a line every 200 ms"
                        .into(),
                ),
            }),
            Some(exit) => {
                Ok(DriveEnd::Failed(format!("after its result it ended with {}", exit.how)))
            }
            None => Ok(DriveEnd::Failed("it didn't end after its result".into())),
        }
    }
}

impl Working<'_> {
    /// The next line that it printed.
    ///
    /// # Errors
    /// If there is none yet, `None`; if there will be none, why. One that it started may hold its
    /// output, or print on, when it has ended: `gone` is since when.
    fn next_line(&self, gone: &mut Option<Instant>) -> Result<Line, Option<String>> {
        let ended = self.kept.exited();
        let ago = ended.as_ref().map(|_| gone.get_or_insert_with(Instant::now).elapsed());
        let line = match ago {
            None => self.kept.next_line(LOOK_EVERY),
            Some(ago) if ago < PRINTED_BEFORE => self.kept.next_line(PRINTED_BEFORE - ago),
            Some(_) => Err(RecvTimeoutError::Timeout),
        };
        match (line, ended) {
            (Ok(line), _) => Ok(line),
            (Err(_), Some(exit)) => {
                Err(Some(format!("it ended with {} before its result", exit.how)))
            }
            (Err(RecvTimeoutError::Timeout), None) => Err(None),
            (Err(RecvTimeoutError::Disconnected), None) => {
                Err(Some(match self.kept.wait(ENDS_WITHIN) {
                    Some(exit) => format!("it ended with {} before its result", exit.how),
                    None => "it closed its standard output before its result".into(),
                }))
            }
        }
    }
}

impl Heard {
    /// That its account goes backwards.
    fn fault(&self) -> Option<String> {
        let [.., (_, before), (_, now)] = self.intervals.as_slice() else { return None };
        (now.done < before.done || now.own_s < before.own_s).then(|| {
            format!(
                "its account goes backwards: {} units at {} s, then {} at {} s",
                before.done, before.own_s, now.done, now.own_s
            )
        })
    }

    /// Takes the last interval for the one that begins the window or ends it, if it does.
    fn passes(&mut self, is_warm: bool, window: Duration) -> Option<Passage> {
        let last = self.intervals.len() - 1;
        match (self.begins, self.ends) {
            (None, _) if is_warm => {
                self.begins = Some(last);
                Some(Passage::Begins { until: Instant::now() + window })
            }
            (Some(begins), None) if self.since(begins) + EARLY >= window => {
                self.ends = Some(last);
                Some(Passage::Ends)
            }
            _ => None,
        }
    }

    /// Has the last interval of all end a window that no other did, if the program worked until
    /// warm-up and window were due to be over: the window began late then, where a line came
    /// late. It is shorter for that, and at least half as long.
    fn closes(&mut self, due: Duration, window: Duration) -> Option<Passage> {
        let is_half = self.since(self.begins?) >= window / 2;
        let worked = self.intervals.last()?.0 + EARLY >= due;
        (self.ends.is_none() && is_half && worked).then(|| {
            self.ends = Some(self.intervals.len() - 1);
            Passage::Ends
        })
    }

    /// From this interval to the last one.
    fn since(&self, interval: usize) -> Duration {
        let last = self.intervals.len() - 1;
        self.intervals[last].0 - self.intervals[interval].0
    }

    fn driven(self) -> Option<Driven> {
        let (begins, ends) = (self.begins?, self.ends?);
        let (began_at, window) =
            (self.intervals[begins].0, self.intervals[ends].0 - self.intervals[begins].0);
        let ready = Told { own_s: 0.0, arrived_s: 0.0, done: 0, sum: None };
        let told: Vec<Told> = self.intervals.into_iter().map(|(_, told)| told).collect();
        let (seconds, done) = (window.as_secs_f64(), told[ends].done - told[begins].done);
        let work = Work {
            seconds,
            done,
            rate: done as f64 / seconds,
            intervals: intervals(&told[begins..=ends]),
            warmup: intervals(&[&[ready], &told[..=begins]].concat()),
            result: self.result,
            own_seconds: Some(told[ends].own_s - told[begins].own_s),
            ..Work::default()
        };
        let window_began = Moment::at(began_at);
        Some(Driven {
            window_began,
            window,
            work,
            clients: vec![],
            answers: vec![],
            told,
            store: None,
            deliveries: None,
            written: None,
        })
    }
}

/// What was done between each line and the next.
fn intervals(told: &[Told]) -> Vec<Interval> {
    let pairs = told.windows(2).map(|pair| Interval {
        seconds: pair[1].arrived_s - pair[0].arrived_s,
        done: pair[1].done - pair[0].done,
    });
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use judge::samples::run_of;
    use result::plan::{Cores, Plan, Setting, Slot};

    use super::super::LoadFrom;
    use super::*;

    fn said(text: &str) -> Result<Said, String> {
        Said::of(&Line { at: Duration::ZERO, text: text.into() })
    }

    fn heard(intervals: &[(f64, u64)]) -> Heard {
        let intervals = intervals.iter().map(|&(at, done)| {
            let told = Told { own_s: at, arrived_s: at, done, sum: None };
            (Duration::from_secs_f64(at), told)
        });
        Heard { intervals: intervals.collect(), ..Heard::default() }
    }

    #[test]
    fn a_line_is_read_or_quoted() {
        let interval = Said::Interval { t: 0.5, done: 7, sum: Some(4_294_967_295) };
        assert_eq!(said(r#"{"t": 0.5, "done": 7, "sum": 4294967295}"#), Ok(interval));
        assert_eq!(said(r#"{"ready": true}"#), Ok(Said::Ready { ready: true }));
        assert!(matches!(said(r#"{"result": {"bytes": 3}}"#), Ok(Said::Result { .. })));
        for garbage in
            ["", "Loading…", r#"{"result": {"of": "x"}}"#, r#"{"t": 0.5, "done": -1}"#, "[1, 2]"]
        {
            let why = said(garbage).unwrap_err();
            assert!(why.starts_with(&format!("it printed {garbage:?}; a line is")), "{why}");
        }
    }

    /// One number beyond all bounds would be in the run, and make sums of all trials overflow.
    #[test]
    fn each_number_of_a_line_is_bounded_where_it_is_read() {
        let huge = "9".repeat(400);
        let extremes = ["9007199254740993", "1152921504606846976", "18446744073709551615", "-1"];
        let others = ["1e308", "-1e308", "1e999", "NaN", "Infinity", "null", "\"7\"", &huge];
        for number in extremes.into_iter().chain(others) {
            for line in [
                format!(r#"{{"t": {number}, "done": 7, "sum": 7}}"#),
                format!(r#"{{"t": 0.5, "done": {number}, "sum": 7}}"#),
                format!(r#"{{"result": {{"bytes": {number}}}}}"#),
            ] {
                // Of floats the next number after 2^53 is that itself.
                let is_rounded = number == extremes[0] && !line.contains("\"done\": 9");
                assert_eq!(said(&line).is_err(), !is_rounded, "{line}");
            }
        }
        for sum in ["4294967296", "18446744073709551615", "-1", "1e308", "0.5"] {
            let line = format!(r#"{{"t": 0.5, "done": 7, "sum": {sum}}}"#);
            assert!(said(&line).is_err(), "{line}");
        }
        let many: Vec<String> = (0..=RESULT_MAX).map(|at| format!("\"{at}\": 1")).collect();
        let why = said(&format!(r#"{{"result": {{{}}}}}"#, many.join(", "))).unwrap_err();
        assert!(why.ends_with("; a result has 20 numbers at most"), "{why}");
    }

    /// Else a program could be quick in it alone.
    #[test]
    fn the_window_begins_at_a_moment_that_is_drawn() {
        let begins: Vec<Duration> = (0..100).map(begins_after).collect();
        let within = Duration::from_secs_f64(BEGINS_WITHIN_S);
        assert!(begins.iter().all(|&it| it <= within), "{begins:?}");
        let early = begins.iter().filter(|&&it| it < within / 2).count();
        assert!((20..80).contains(&early), "{early} of 100 in the first half");
    }

    #[test]
    fn an_account_that_goes_backwards_is_told_with_both_lines() {
        assert_eq!(heard(&[(0.1, 5), (0.2, 5), (0.3, 9)]).fault(), None);
        let why = heard(&[(0.1, 5), (0.2, 4)]).fault().unwrap();
        assert_eq!(why, "its account goes backwards: 5 units at 0.1 s, then 4 at 0.2 s");
    }

    /// What the warm-up did is none of the window's.
    #[test]
    fn the_window_is_between_two_lines() {
        let mut all = heard(&[]);
        for (at, done) in [(0.2, 10), (0.4, 20), (0.6, 60), (1.6, 160), (2.6, 300), (2.8, 900)] {
            all.intervals.push(heard(&[(at, done)]).intervals.remove(0));
            let passes = all.passes(at >= 0.5, Duration::from_secs(2));
            assert_eq!(matches!(passes, Some(Passage::Begins { .. })), at == 0.6, "{at}");
            assert_eq!(matches!(passes, Some(Passage::Ends)), at == 2.6, "{at}");
        }
        let Driven { window, work, told, .. } = all.driven().unwrap();
        assert_eq!((window, work.done, told.len()), (Duration::from_secs(2), 240, 6));
        assert!((work.rate - 120.0).abs() < 1e-9, "{work:?}");
        let done = |of: &[Interval]| of.iter().map(|it| it.done).collect::<Vec<_>>();
        assert_eq!((done(&work.warmup), done(&work.intervals)), (vec![10, 10, 40], vec![100, 140]));
    }

    /// Else a line that is a moment early costs the length of an interval, which a program isn't
    /// told to work.
    #[test]
    fn a_line_that_is_a_moment_early_is_in_time() {
        let mut all = heard(&[(0.4, 10)]);
        assert!(all.passes(true, Duration::from_millis(600)).is_some());
        all.intervals.push(heard(&[(0.99, 20)]).intervals.remove(0));
        assert!(matches!(all.passes(true, Duration::from_millis(600)), Some(Passage::Ends)));
    }

    /// A program that works as long as it was told loses no trial to a late line. One that ends
    /// before that has no figure.
    #[test]
    fn the_last_line_ends_a_window_that_began_late() {
        let window = Duration::from_secs(2);
        let ends_at = |last: f64, due: f64| {
            let mut all = heard(&[(0.5, 10)]);
            assert!(all.passes(true, window).is_some());
            all.intervals.push(heard(&[(last, 20)]).intervals.remove(0));
            assert!(all.passes(true, window).is_none(), "{last}");
            let due = heard(&[(due, 0)]).intervals[0].0;
            let closes = matches!(all.closes(due, window), Some(Passage::Ends));
            (closes, all.driven().map(|driven| driven.window))
        };
        assert_eq!(ends_at(1.5, 1.5), (true, Some(Duration::from_secs(1))));
        assert_eq!(ends_at(1.5, 2.0), (false, None), "it ended early");
        assert_eq!(ends_at(1.25, 1.25), (false, None), "not even half of the window");
    }

    /// It would be waited for in each trial.
    #[test]
    fn a_program_is_told_to_work_hardly_longer_than_warm_up_and_window() {
        let setting = Setting::closed(1, Cores::One, true);
        let slot = Slot { number: 0, block: 0, contender: "p".into(), twin: false, setting };
        let plan = Plan { measure_s: 0.6, ..run_of(&[], vec![]).plan };
        let what = Drive {
            plan: &plan,
            slot: &slot,
            warmup_s: 0.4,
            rate: None,
            cpus: &[],
            from: LoadFrom::Here,
        };
        let arguments = ProgramDriver::default().arguments(&what);
        assert_eq!(arguments[arguments.len() - 2..], ["--seconds", "1.400"]);
    }

    #[test]
    fn who_ends_before_its_window_has_no_figure() {
        let mut all = heard(&[(0.2, 10), (0.4, 20)]);
        assert!(all.passes(true, Duration::from_secs(2)).is_some());
        assert!(all.closes(Duration::ZERO, Duration::from_secs(2)).is_none());
        assert!(all.driven().is_none());
    }
}
