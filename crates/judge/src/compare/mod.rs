//! What changed between two runs, beyond chance and noise.
//!
//! Two runs were made at different times, so nothing pairs their blocks: a figure
//! has changed if the blocks of one run lie apart from those of the other by more than
//! chance alone parts any of the figures that are compared, and by more than identical
//! entries differed within either run.
//!
//! What the machine went through between the two is in neither noise floor. As far as
//! it shows in the speed of the contenders' cores, it is taken into account: what may
//! be the cores' alone is not called. Of all else a change tells that something is
//! different, not what.

mod differences;

use std::collections::BTreeMap;

use histogram::median;
use result::comparison::{Comparison, CoreSpeeds, Pair, Ratio, RunName, SCHEMA, Unfinished, Word};
use result::figure::{Better, Figure, Unit};
use result::finding::{Finding, Verdict};
use result::outcome::Estimate;
use result::plan::Setting;
use result::{Run, State};

use self::differences::{
    counts_interrupts, differences, obstacles, other_builds, other_contract, unknown_asks,
};
use crate::core_speed;
use crate::statistics::{BLOCKS_MIN, Difference, SIGNIFICANCE, chances_of_any, difference};

/// The largest difference between the offered rates of two runs, as a share, at
/// which the CPU time of an answer is still that of the same load.
const OFFERED_RATES_APART: f64 = 0.02;

/// How much more a server feels of what happens to its core than the yardstick's work,
/// by logarithms: it took 1.6 times the CPU time a request where that work was slower by
/// a fourth, so took 1.33 times as long (`yardstick.rs`).
const SERVERS_FEEL: f64 = 1.63;

/// Compares the second run with the first.
pub fn compare(a: &Run, b: &Run) -> Comparison {
    let obstacles = obstacles(a, b);
    let (entries_a, entries_b) = (entries(a), entries(b));
    let mut figures: Vec<Pair> = Vec::new();
    let mut only_in_one: Vec<String> = Vec::new();
    for (key, of_a) in &entries_a {
        match entries_b.get(key) {
            None => only_in_one.push(only(a, key.0)),
            Some(of_b) => figures.push(figure((a, of_a), (b, of_b), key, &obstacles)),
        }
    }
    let only_b = entries_b.keys().filter(|key| !entries_a.contains_key(*key));
    only_in_one.extend(only_b.map(|key| only(b, key.0)));
    only_in_one.sort();
    only_in_one.dedup();
    call(&mut figures);
    let differences = other_builds(a, b).into_iter().chain(unknown_asks(a, b)).collect();
    let dimensions = b.study.dimensions.clone();
    let (a, b) = (name(a), name(b));
    Comparison { schema: SCHEMA, a, b, dimensions, obstacles, differences, figures, only_in_one }
}

fn name(run: &Run) -> RunName {
    let unfinished = (run.state == State::Unfinished).then_some(Unfinished {
        trials_made: run.trials.len() as u64,
        trials_planned: run.plan.slots.len() as u64,
    });
    let (id, started, command) = (run.id.clone(), run.started.clone(), run.command.clone());
    RunName { id, started, command, unfinished }
}

fn only(run: &Run, contender: &str) -> String {
    format!("{contender} has figures in {} that the other run lacks", run.id)
}

/// How fast the cores of contenders were in both runs, under this load. The loads of a run
/// are minutes or hours apart, in which a shared machine's cores change.
fn core_speeds(a: &Run, b: &Run, setting: &Setting) -> Option<CoreSpeeds> {
    let of = |run: &Run| {
        core_speed::by_block(run.trials.iter().filter(|trial| trial.slot.setting == *setting))
    };
    let (a, b) = (of(a), of(b));
    let Difference { median: apart, interval: (low, high) } = difference(&logs(&a), &logs(&b))?;
    let (ratio, interval) = (apart.exp(), (low.exp(), high.exp()));
    Some(CoreSpeeds { a: median(&a)?, b: median(&b)?, ratio, interval })
}

/// A figure that a run has.
struct Entry<'a> {
    figure: &'a Figure,
    estimate: &'a Estimate,
    noise_floor: Option<f64>,
    verdict: Verdict,
    findings: &'a [Finding],
    offered_rate: Option<f64>,
}

impl Entry<'_> {
    /// The checks that gave it this verdict.
    fn checks(&self, verdict: Verdict) -> String {
        let of = self.findings.iter().filter(|finding| finding.verdict == verdict);
        of.map(|finding| &*finding.check).collect::<Vec<_>>().join(", ")
    }
}

/// By contender, setting and figure: what makes figures the same.
type Key<'a> = (&'a str, &'a Setting, &'a str);

/// The figures that rank, as far as they are known.
fn entries(run: &Run) -> BTreeMap<Key<'_>, Entry<'_>> {
    let mut entries = BTreeMap::new();
    for outcome in &run.outcomes {
        for ranking in &outcome.rankings {
            let Some(figure) = run.study.figure(&ranking.figure) else { continue };
            for row in &outcome.rows {
                let Some(estimate) = row.figure(&figure.id) else { continue };
                let entry = Entry {
                    figure,
                    estimate,
                    noise_floor: ranking.noise_floor,
                    verdict: row.verdict,
                    findings: &row.findings,
                    offered_rate: outcome.offered.as_ref().map(|it| it.rate),
                };
                entries.insert((&*row.contender, &outcome.setting, &*figure.id), entry);
            }
        }
    }
    entries
}

fn figure(
    (run_a, a): (&Run, &Entry),
    (run_b, b): (&Run, &Entry),
    (contender, setting, _): &Key,
    obstacles: &[String],
) -> Pair {
    let of = |run: &Run| run.contenders.iter().find(|it| it.name == *contender).cloned();
    let (then, now) = (of(run_a), of(run_b));
    let both = then.as_ref().zip(now.as_ref());
    let mut reasons = obstacles.to_vec();
    reasons.extend(both.and_then(|(then, now)| other_contract((run_a, then), (run_b, now))));
    reasons.extend(against(a, "first"));
    reasons.extend(against(b, "second"));
    if let (Some(then), Some(now)) = (a.offered_rate, b.offered_rate)
        && (now / then - 1.0).abs() > OFFERED_RATES_APART
    {
        reasons.push(format!("offered {then:.0} {}, then {now:.0}", run_b.study.rate_of()));
    }
    let is_cpu_time = b.figure.unit == Unit::CpuMicros;
    if is_cpu_time && counts_interrupts(run_a, setting) != counts_interrupts(run_b, setting) {
        reasons.push("CPU time has interrupts in it in one of the runs only".into());
    }
    let word = match ratio(a.estimate, b.estimate) {
        Some(ratio) if reasons.is_empty() => Word::Unchanged(ratio),
        Some(_) => Word::NotComparable(reasons),
        None => {
            reasons.push(format!("fewer than {BLOCKS_MIN} blocks with a figure"));
            Word::NotComparable(reasons)
        }
    };
    Pair {
        contender: contender.to_string(),
        title: now.as_ref().map_or_else(|| contender.to_string(), |it| it.title.clone()),
        setting: (*setting).clone(),
        of: b.figure.clone(),
        a: a.estimate.clone(),
        b: b.estimate.clone(),
        verdicts: (a.verdict, b.verdict),
        doubts: doubt(a, "first").into_iter().chain(doubt(b, "second")).collect(),
        noise_floors: (a.noise_floor, b.noise_floor),
        core_speeds: core_speeds(run_a, run_b, setting),
        differences: both.map(|(then, now)| differences(then, now)).unwrap_or_default(),
        word,
    }
}

/// What speaks against using a run's figure.
fn against(entry: &Entry, run: &str) -> Vec<String> {
    let mut reasons = Vec::new();
    if entry.verdict == Verdict::Invalid {
        reasons.push(format!("invalid in the {run} run ({})", entry.checks(Verdict::Invalid)));
    }
    if entry.estimate.at_least {
        reasons.push(format!("the client was the limit in the {run} run"));
    }
    if entry.noise_floor.is_none() {
        reasons.push(format!("no noise floor in the {run} run"));
    }
    reasons
}

/// What casts doubt on a run's figure.
fn doubt(entry: &Entry, run: &str) -> Option<String> {
    (entry.verdict == Verdict::Suspect)
        .then(|| format!("suspect in the {run} run ({})", entry.checks(Verdict::Suspect)))
}

/// How the second run's figure stands to the first one's; `None` with too few blocks, or
/// where one has no figure.
fn ratio(a: &Estimate, b: &Estimate) -> Option<Ratio> {
    let has_all = |it: &Estimate| {
        it.blocks.len() >= BLOCKS_MIN && it.blocks.iter().all(|figure| *figure > 0.0)
    };
    if !has_all(a) || !has_all(b) {
        return None;
    }
    let Difference { median, interval: (low, high) } =
        difference(&logs(&a.blocks), &logs(&b.blocks))?;
    // What chance can do is known once all figures are.
    Some(Ratio { median: median.exp(), interval: (low.exp(), high.exp()), p: 1.0 })
}

fn logs(values: &[f64]) -> Vec<f64> {
    values.iter().map(|value| value.ln()).collect()
}

/// Calls what has changed, among all that can be compared.
fn call(figures: &mut [Pair]) {
    let mut compared: Vec<(&mut Pair, Ratio)> = figures
        .iter_mut()
        .filter_map(|figure| {
            let Word::Unchanged(ratio) = figure.word else { return None };
            Some((figure, ratio))
        })
        .collect();
    let blocks: Vec<(Vec<f64>, Vec<f64>)> =
        compared.iter().map(|(it, _)| (logs(&it.a.blocks), logs(&it.b.blocks))).collect();
    for ((figure, ratio), p) in compared.iter_mut().zip(chances_of_any(&blocks)) {
        let (Some(a), Some(b)) = figure.noise_floors else { continue };
        let of_cores = figure.core_speeds.filter(CoreSpeeds::are_apart);
        let of_cores = of_cores.map_or(0.0, |it| SERVERS_FEEL * it.ratio.ln());
        // Faster cores give more answers, and each takes less of their time.
        let of_cores = match figure.of.better {
            Better::More => of_cores,
            Better::Less => -of_cores,
        };
        figure.word = word(Ratio { p, ..*ratio }, a.max(b), of_cores);
    }
}

/// What can be said of a figure, where faster or slower cores make up to `of_cores` of
/// its ratio's logarithm.
///
/// Its own change lies anywhere between what was seen and that without all of the
/// cores' part: none of it is called a change, nor none, but what holds for both ends.
fn word(ratio: Ratio, noise_floor: f64, of_cores: f64) -> Word {
    let is_beyond_noise = |change: f64| change.abs() > noise_floor.ln();
    let seen = ratio.median.ln();
    let without_cores = seen - of_cores;
    let (low, high) = ratio.interval;
    let is_apart = ratio.p <= SIGNIFICANCE && (low > 1.0 || high < 1.0) && is_beyond_noise(seen);
    let is_its_own = is_beyond_noise(without_cores) && without_cores * seen > 0.0;
    let may_be_hidden = is_beyond_noise(of_cores) && is_beyond_noise(without_cores);
    match (is_apart, is_its_own, may_be_hidden) {
        (true, true, _) => Word::Changed(ratio),
        (true, false, _) | (false, _, true) => Word::NotToldApart(ratio),
        (false, _, false) => Word::Unchanged(ratio),
    }
}

#[cfg(test)]
mod tests {
    use result::evidence::CoreSpeed;
    use result::figure::{CPU_US, RATE};
    use result::outcome::{Offered, Outcome, Ranking, Row};
    use result::plan::{
        AskedRequest, Asks, ClientHost, Cores, LighterContract, Pace, RightStatus, Tier, Version,
    };

    use super::*;
    use crate::outcomes::conclude;
    use crate::samples::{contender, invalid, run_of, suspect, trial};
    use crate::statistics::noise_floor;

    const STEADY: [f64; 6] = [100.0, 101.0, 99.0, 100.5, 99.5, 100.2];

    fn load() -> Setting {
        Setting::closed(100, Cores::One, true)
    }

    /// Contenders `a`, with a twin, and `b`, at these rates.
    fn run(a: [f64; 6], b: [f64; 6]) -> Run {
        let of = |name: &'static str, rates: [f64; 6]| {
            (0..).zip(rates).map(move |(block, rate)| trial(name, block, &load(), rate))
        };
        let mut twins: Vec<_> = of("a", a).collect();
        for (twin, wobble) in twins.iter_mut().zip([1.01, 0.99, 1.01, 0.99, 1.01, 0.99]) {
            twin.slot.twin = true;
            twin.evidence.work.as_mut().unwrap().rate *= wobble;
        }
        let trials = of("a", a).chain(of("b", b)).chain(twins).collect();
        let mut contenders = ["a", "b"].map(contender);
        contenders.iter_mut().for_each(|it| it.source_sha256 = Some("4f0c".into()));
        let mut run = run_of(&contenders, trials);
        conclude(&mut run);
        run
    }

    /// The same with these speeds of cores, block by block.
    fn on_cores(mut run: Run, speeds: [f64; 6]) -> Run {
        for trial in &mut run.trials {
            let whole = Some(speeds[trial.slot.block as usize]);
            let speed =
                CoreSpeed { whole_before: whole, whole_after: whole, ..CoreSpeed::default() };
            trial.evidence.core_speeds = vec![speed];
        }
        run
    }

    /// What an answer costs `a` at one rate for all.
    fn with_cost(mut run: Run, cpu_us: [f64; 6]) -> Run {
        let rate = run.outcomes[0].rows[0].figures[RATE].clone();
        let cost = Estimate { blocks: cpu_us.into(), ..rate.clone() };
        let row = Row {
            contender: "a".into(),
            limit: None,
            figures: [(CPU_US.to_string(), cost), (RATE.to_string(), rate)].into(),
            standings: BTreeMap::new(),
            verdict: Verdict::Valid,
            findings: Vec::new(),
        };
        let at_one_rate = load().with(Pace::Equal { percent: 50 });
        let trials = run.trials.clone().into_iter().map(|mut trial| {
            trial.slot.setting = at_one_rate.clone();
            trial
        });
        run.trials.extend(trials);
        let (figure, noise_floor) = (CPU_US.to_string(), Some(1.01));
        run.outcomes.push(Outcome {
            class: None,
            class_at_most: None,
            setting: at_one_rate,
            offered: Some(Offered { rate: 50.0, rule: String::new() }),
            rankings: vec![Ranking { figure, noise_floor, sentence: String::new() }],
            rows: vec![row],
        });
        run
    }

    fn word_of<'a>(comparison: &'a Comparison, contender: &str) -> &'a Word {
        &comparison.figures.iter().find(|it| it.contender == contender).unwrap().word
    }

    fn reasons(comparison: &Comparison, contender: &str) -> String {
        match word_of(comparison, contender) {
            Word::NotComparable(reasons) => reasons.join("; "),
            other => panic!("it was compared: {other:?}"),
        }
    }

    #[test]
    fn what_changed_is_told_from_what_did_not() {
        let before = run(STEADY, [50.0, 51.0, 49.0, 50.5, 49.5, 50.2]);
        let after = run(STEADY, [60.0, 61.0, 59.0, 60.5, 59.5, 60.2]);
        let comparison = compare(&before, &after);
        let Word::Changed(ratio) = word_of(&comparison, "b") else {
            panic!("b is 1.2 times as fast")
        };
        assert!((ratio.median - 1.2).abs() < 0.01);
        assert!(ratio.interval.0 < ratio.median && ratio.median < ratio.interval.1);
        assert!(matches!(word_of(&comparison, "a"), Word::Unchanged(_)));
    }

    #[test]
    fn a_run_compared_with_itself_has_not_changed() {
        let run = run(STEADY, STEADY);
        let comparison = compare(&run, &run);
        assert_eq!(comparison.figures.len(), 2);
        assert!(comparison.figures.iter().all(|it| matches!(it.word, Word::Unchanged(_))));
    }

    #[test]
    fn a_clear_difference_within_the_noise_of_twins_is_no_change() {
        let after = run(STEADY.map(|rate| rate * 1.03), STEADY);
        let mut before = run(STEADY, STEADY);
        assert!(matches!(word_of(&compare(&before, &after), "a"), Word::Changed(_)));
        before.outcomes[0].rankings[0].noise_floor = Some(1.05);
        assert!(matches!(word_of(&compare(&before, &after), "a"), Word::Unchanged(_)));
    }

    #[test]
    fn another_machine_kernel_version_or_time_is_not_comparable_and_named() {
        let before = run(STEADY, STEADY);
        type Change = (&'static str, fn(&mut Run));
        let changes: [Change; 6] = [
            ("processor", |run| run.machine.cpu = "other".into()),
            ("kernel: ", |run| run.machine.kernel = "other".into()),
            ("version of bakeoff", |run| run.bakeoff = "other".into()),
            ("where the load came from", |run| run.hosts.push(ClientHost::default())),
            ("seconds measured", |run| run.plan.measure_s = 9.0),
            ("contract", |run| run.study.contract = "other".into()),
        ];
        for (what, change) in changes {
            let mut after = before.clone();
            change(&mut after);
            let reasons = reasons(&compare(&before, &after), "a");
            assert!(reasons.contains(what), "{what}: {reasons}");
        }
    }

    #[test]
    fn another_backend_of_the_client_is_not_comparable_whatever_kept_it_from_the_first() {
        const NOT_ALLOWED: &str = "epoll (io_uring: Operation not permitted (os error 1))";
        let by = |backend: &str| {
            let mut run = run(STEADY, STEADY);
            for trial in &mut run.trials {
                trial.evidence.clients[0].backend = backend.into();
            }
            run
        };
        let (uring, epoll) = (by("io_uring"), by("epoll"));
        assert_eq!(
            reasons(&compare(&uring, &epoll), "a"),
            "the client's way to the kernel: io_uring in the first run, epoll in the second"
        );
        let mut both = uring.clone();
        both.trials[0].evidence.clients[0].backend = NOT_ALLOWED.into();
        assert_eq!(
            compare(&both, &uring).obstacles,
            ["the client's way to the kernel: epoll and io_uring in the first run, io_uring in \
              the second"]
        );
        let same = compare(&epoll, &by(NOT_ALLOWED));
        assert!(matches!(word_of(&same, "a"), Word::Unchanged(_)));
    }

    #[test]
    fn figures_that_may_not_be_ranked_may_not_be_compared() {
        let before = run(STEADY, STEADY);
        let mut after = before.clone();
        // A trial of `b`: one of `a` would cost the run its noise floor as well.
        after.trials[9].findings.push(invalid("errors"));
        conclude(&mut after);
        assert_eq!(reasons(&compare(&before, &after), "b"), "invalid in the second run (errors)");
        let mut after = before.clone();
        after.outcomes[0].rows[0].figures.get_mut(RATE).unwrap().at_least = true;
        let contender = after.outcomes[0].rows[0].contender.clone();
        let reasons_of_limit = reasons(&compare(&after, &before), &contender);
        assert_eq!(reasons_of_limit, "the client was the limit in the first run");
        let mut after = before.clone();
        after.trials.retain(|trial| trial.slot.block < 5);
        conclude(&mut after);
        assert_eq!(
            reasons(&compare(&before, &after), "b"),
            "no noise floor in the second run; fewer than 6 blocks with a figure"
        );
    }

    #[test]
    fn another_version_of_a_contender_is_what_a_comparison_is_about() {
        let mut before = run(STEADY, STEADY);
        let says = |says: &str| vec![Version { of: "go".into(), says: says.into() }];
        let mut after = before.clone();
        before.contenders[0].versions = says("go1.22");
        after.contenders[0].versions = says("go1.23");
        let comparison = compare(&before, &after);
        assert!(matches!(word_of(&comparison, "a"), Word::Unchanged(_)));
        let figure = comparison.figures.iter().find(|it| it.contender == "a").unwrap();
        assert_eq!(figure.differences, ["go: go1.22, then go1.23"]);
    }

    #[test]
    fn all_that_differs_about_a_contender_is_said() {
        let mut before = run(STEADY, STEADY);
        before.contenders[0].build = Some(Vec::new());
        let mut after = before.clone();
        let edited = &mut after.contenders[0];
        edited.source_sha256 = Some("9d2e".into());
        edited.build = Some(vec!["make".into(), "fast".into()]);
        edited.run = vec!["./server".into(), "-O".into()];
        edited.environment = vec![("GOGC".into(), "off".into())];
        edited.tier = Some(Tier::Tuned);
        edited.warmup_s = 10.0;
        edited.versions = vec![Version { of: "go".into(), says: "go1.23".into() }];
        let differences = |a: &Run, b: &Run| compare(a, b).figures[0].differences.clone();
        assert_eq!(
            differences(&before, &after),
            [
                "go: nothing, then go1.23",
                "other files",
                "build: nothing, then make fast",
                "command: nothing, then ./server -O",
                "another environment",
                "tier: idiomatic, then tuned",
                "its own seconds of warm-up: 0, then 10",
            ]
        );
        assert!(differences(&before, &before).is_empty());
        assert!(matches!(word_of(&compare(&before, &after), "a"), Word::Unchanged(_)));
        before.contenders[0].source_sha256 = None;
        let unknown = differences(&before, &before);
        assert_eq!(unknown, ["whether its files are the same isn't known"]);
    }

    /// Joined by blanks, an argument with one would be two, and the difference none.
    #[test]
    fn commands_are_told_as_a_shell_reads_them() {
        let words = |words: &[&str]| words.iter().map(|word| word.to_string()).collect::<Vec<_>>();
        let mut before = run(STEADY, STEADY);
        before.contenders[0].build = Some(words(&["cc", "-DNAME=a b", "-o", "$BUILD/server"]));
        before.contenders[0].run = words(&["$BUILD/server", "a b"]);
        let mut after = before.clone();
        after.contenders[0].build = Some(words(&["cc", "-DNAME=a", "b", "-o", "$BUILD/server"]));
        after.contenders[0].run = words(&["$BUILD/server", "a", "b"]);
        assert_eq!(
            compare(&before, &after).figures[0].differences,
            [
                "build: cc '-DNAME=a b' -o $BUILD/server, then cc -DNAME=a b -o $BUILD/server",
                "command: $BUILD/server 'a b', then $BUILD/server a b",
            ]
        );
    }

    /// Else who reads a part of a run takes it for the whole.
    #[test]
    fn a_run_of_which_trials_are_missing_is_marked() {
        let whole = run(STEADY, STEADY);
        let mut killed = whole.clone();
        killed.state = State::Unfinished;
        killed.plan.slots = whole.trials.iter().map(|trial| trial.slot.clone()).collect();
        killed.trials.truncate(17);
        let comparison = compare(&whole, &killed);
        let of_b = Unfinished { trials_made: 17, trials_planned: 18 };
        assert_eq!((comparison.a.unfinished, comparison.b.unfinished), (None, Some(of_b)));
    }

    #[test]
    fn cpu_time_with_interrupts_is_not_that_without_and_rates_are_what_they_were() {
        let before = with_cost(run(STEADY, STEADY), STEADY);
        let mut after = before.clone();
        let trials = after.trials.iter_mut();
        trials.for_each(|trial| trial.evidence.server_interrupt_s = Some(0.4));
        let comparison = compare(&before, &after);
        let of = |of: &str| &comparison.figures.iter().find(|it| it.of.id == of).unwrap().word;
        assert!(matches!(of(RATE), Word::Unchanged(_)));
        let why = "CPU time has interrupts in it in one of the runs only";
        assert_eq!(*of(CPU_US), Word::NotComparable(vec![why.into()]));
    }

    #[test]
    fn another_contract_is_not_comparable() {
        let lighter = |says: &str| {
            let mut run = run(STEADY, STEADY);
            run.contenders[0].lighter_contract = Some("static".into());
            let says = says.into();
            run.study.lighter = vec![LighterContract { name: "static".into(), says, asks: None }];
            run
        };
        let full = run(STEADY, STEADY);
        assert_eq!(
            reasons(&compare(&full, &lighter("a file")), "a"),
            "its contract: the full one in the first run, `static` in the second"
        );
        assert_eq!(
            reasons(&compare(&lighter("a file"), &lighter("anything")), "a"),
            "its contract, `static`, says something else in the second run"
        );
        let same = compare(&lighter("a file"), &lighter("a file"));
        assert!(matches!(word_of(&same, "a"), Word::Unchanged(_)));
        assert!(matches!(word_of(&compare(&full, &lighter("")), "b"), Word::Unchanged(_)));
    }

    #[test]
    fn another_build_of_bakeoff_is_said_and_no_obstacle() {
        let built = |digest: Option<&str>| {
            let mut run = run(STEADY, STEADY);
            run.bakeoff_sha256 = digest.map(String::from);
            run
        };
        let says = |a, b| {
            let comparison = compare(&built(a), &built(b));
            assert!(matches!(word_of(&comparison, "a"), Word::Unchanged(_)));
            comparison.differences.join("; ")
        };
        assert_eq!(says(Some("1"), Some("1")), "");
        assert!(says(Some("1"), Some("2")).contains("built anew"));
        assert!(says(None, Some("1")).contains("isn't known"));
        assert!(says(None, None).contains("isn't known"));
    }

    #[test]
    fn a_suspect_figure_is_compared_and_marked() {
        let before = run(STEADY, STEADY);
        let mut after = run(STEADY.map(|rate| rate * 1.2), STEADY);
        let rows = &mut after.outcomes[0].rows;
        let row = rows.iter_mut().find(|row| row.contender == "a").unwrap();
        row.verdict = Verdict::Suspect;
        row.findings.insert(0, suspect("steady"));
        let comparison = compare(&before, &after);
        let figure = comparison.figures.iter().find(|it| it.contender == "a").unwrap();
        assert!(matches!(figure.word, Word::Changed(_)), "{:?}", figure.word);
        assert_eq!(figure.verdicts.1, Verdict::Suspect);
        assert_eq!(figure.doubts, ["suspect in the second run (steady)"]);
    }

    /// 200 rates of six blocks with this noise, as a share.
    fn of_200_figures(rng: &mut fastrand::Rng, noise: f64) -> Run {
        let mut run = run(STEADY, STEADY);
        let outcome = run.outcomes[0].clone();
        let under = |connections: u32| {
            let mut outcome = outcome.clone();
            outcome.setting = Setting::closed(connections, Cores::One, true);
            for rate in outcome
                .rows
                .iter_mut()
                .flat_map(|row| &mut row.figures.get_mut(RATE).unwrap().blocks)
            {
                *rate = 100.0 * (1.0 + noise * (2.0 * rng.f64() - 1.0));
            }
            outcome
        };
        run.outcomes = (1..=100).map(under).collect();
        run
    }

    /// What docs/compare.md says of chance, by simulation.
    #[test]
    fn one_figure_that_changed_among_200_is_called_and_another_in_5_of_100_cases_at_most() {
        const CASES: u64 = 200;
        let mut with_another = 0;
        for seed in 0..CASES {
            let mut rng = fastrand::Rng::with_seed(seed);
            let before = of_200_figures(&mut rng, 0.02);
            let mut after = of_200_figures(&mut rng, 0.02);
            let slower = &mut after.outcomes[99].rows[1];
            slower.figures.get_mut(RATE).unwrap().blocks.iter_mut().for_each(|rate| *rate /= 10.0);
            let slower = slower.contender.clone();
            let comparison = compare(&before, &after);
            assert_eq!(comparison.figures.len(), 200);
            let is_changed = |it: &&Pair| matches!(it.word, Word::Changed(_));
            let called: Vec<_> = comparison.figures.iter().filter(is_changed).collect();
            let is_it = |it: &&Pair| it.contender == slower && it.setting.connections() == 100;
            assert!(called.iter().any(is_it), "seed {seed}");
            with_another += u64::from(called.len() > 1);
        }
        // Three standard deviations of a share of 5 % in so many cases.
        let most = CASES as f64 * (0.05 + 3.0 * (0.05 * 0.95 / CASES as f64).sqrt());
        assert!((with_another as f64) < most, "another in {with_another} of {CASES}");
    }

    /// By chance alone their blocks lie apart more often than the test says, which holds for
    /// equal runs. The noise floors of the noisier one keep that out.
    #[test]
    fn runs_of_unequal_noise_call_anything_in_5_of_100_cases_at_most() {
        const CASES: u64 = 100;
        let run_of_noise = |rng: &mut fastrand::Rng, noise: f64| {
            let mut run = of_200_figures(rng, noise);
            for outcome in &mut run.outcomes {
                let mut rate = || (1.0 + noise * (2.0 * rng.f64() - 1.0)).ln();
                let twins: Vec<f64> = (0..6).map(|_| rate() - rate()).collect();
                outcome.rankings[0].noise_floor = noise_floor(&twins);
            }
            run
        };
        let calls_any = |seed: &u64| {
            let mut rng = fastrand::Rng::with_seed(*seed);
            let (before, after) = (run_of_noise(&mut rng, 0.01), run_of_noise(&mut rng, 0.03));
            let comparison = compare(&before, &after);
            comparison.figures.iter().any(|it| matches!(it.word, Word::Changed(_)))
        };
        let called = (0..CASES).filter(calls_any).count();
        // Three standard deviations of a share of 5 % in so many cases.
        let most = CASES as f64 * (0.05 + 3.0 * (0.05 * 0.95 / CASES as f64).sqrt());
        assert!((called as f64) < most, "{called} of {CASES}");
    }

    /// Of the first figure's load.
    fn speeds_of(comparison: &Comparison) -> Option<CoreSpeeds> {
        comparison.figures[0].core_speeds
    }

    #[test]
    fn what_other_cores_may_have_made_is_not_told_apart_from_it() {
        const SLOW: [f64; 6] = [800.0, 810.0, 790.0, 805.0, 795.0, 802.0];
        // Faster by a fourth, of which a server may make 1.44 times.
        let fast = SLOW.map(|speed| speed * 1.25);
        let before = || on_cores(with_cost(run(STEADY, STEADY), STEADY), SLOW);
        let after = |factor: f64| {
            let changed = STEADY.map(|figure| figure * factor);
            with_cost(run(changed, STEADY), changed)
        };
        let on_fast = |factor| compare(&before(), &on_cores(after(factor), fast));
        let said = |comparison: &Comparison, of: &str| {
            let is_it = |it: &&Pair| it.contender == "a" && it.of.id == of;
            match comparison.figures.iter().find(is_it).unwrap().word {
                Word::Changed(_) => "changed",
                Word::Unchanged(_) => "unchanged",
                Word::NotToldApart(_) => "not told apart",
                Word::NotComparable(_) => "not comparable",
            }
        };
        assert!(speeds_of(&on_fast(1.0)).unwrap().are_apart());
        let rates = [0.9, 1.0, 1.2, 1.43, 1.5].map(|factor| said(&on_fast(factor), RATE));
        let (changed, untold) = ("changed", "not told apart");
        assert_eq!(rates, [changed, untold, untold, untold, changed], "faster by more than that");
        let costs = [0.66, 0.7, 1.0, 1.1].map(|factor| said(&on_fast(factor), CPU_US));
        assert_eq!(costs, [changed, untold, untold, changed], "or slower at all");

        let on_alike = compare(&before(), &on_cores(after(1.2), SLOW.map(|speed| speed + 2.0)));
        assert!(!speeds_of(&on_alike).unwrap().are_apart());
        assert_eq!(said(&on_alike, RATE), changed);
        let unknown = compare(&before(), &after(1.2));
        assert_eq!((speeds_of(&unknown), said(&unknown, RATE)), (None, changed));
    }

    /// Else a load is corrected by what happened under another, hours later.
    #[test]
    fn cores_that_slowed_down_under_another_load_excuse_nothing() {
        let other = Setting::closed(1000, Cores::One, true);
        let with_other = |speed_of_other: f64| {
            let mut run = on_cores(run(STEADY, STEADY), [800.0; 6]);
            let of_other = run.trials.iter().cloned().map(|mut trial| {
                trial.slot.setting = other.clone();
                let speed = &mut trial.evidence.core_speeds[0];
                (speed.whole_before, speed.whole_after) =
                    (Some(speed_of_other), Some(speed_of_other));
                trial
            });
            let of_other: Vec<_> = of_other.collect();
            run.trials.extend(of_other);
            conclude(&mut run);
            run
        };
        let (before, mut after) = (with_other(800.0), with_other(400.0));
        for trial in after.trials.iter_mut().filter(|it| it.slot.contender == "a") {
            trial.evidence.work.as_mut().unwrap().rate *= 0.6;
        }
        conclude(&mut after);
        let comparison = compare(&before, &after);
        let word = |connections: u32| {
            let is_it = |it: &&Pair| it.contender == "a" && it.setting.connections() == connections;
            &comparison.figures.iter().find(is_it).unwrap().word
        };
        assert!(matches!(word(100), Word::Changed(_)), "{:?}", word(100));
        assert!(matches!(word(1000), Word::NotToldApart(_)), "{:?}", word(1000));
    }

    #[test]
    fn cores_that_differ_by_less_than_identical_entries_hide_nothing() {
        let ratio = |median: f64| Ratio { median, interval: (median, median), p: 0.01 };
        let of = |median: f64, of_cores: f64| word(ratio(median), 1.05, of_cores);
        assert!(matches!(of(0.97, 0.04), Word::Unchanged(_)));
        assert!(matches!(of(0.97, 0.06), Word::NotToldApart(_)));
        assert!(matches!(of(1.06, 0.04), Word::NotToldApart(_)));
        assert!(matches!(of(1.06, -0.04), Word::Changed(_)));
        assert!(matches!(of(1.06, 0.0), Word::Changed(_)));
    }

    #[test]
    fn what_one_run_lacks_is_said() {
        let before = run(STEADY, STEADY);
        let mut after = before.clone();
        after.id = "later".into();
        after.outcomes[0].rows.retain(|row| row.contender == "a");
        let comparison = compare(&after, &before);
        assert_eq!(comparison.figures.len(), 1);
        assert_eq!(
            comparison.only_in_one,
            [format!("b has figures in {} that the other run lacks", before.id)]
        );
    }

    /// The words for readers may stay as they are where the job becomes another.
    #[test]
    fn a_contract_that_asks_for_something_else_is_an_obstacle_whatever_it_says() {
        type Change = (fn(&mut Asks), &'static str);
        let before = run(STEADY, STEADY);
        fn asked() -> AskedRequest {
            AskedRequest {
                name: None,
                method: "POST".into(),
                path: "/orders".into(),
                headers: vec![("X".into(), "y".into())],
                body_bytes: 3,
                body_sha256: Some("ab".into()),
                weight: 9,
                status: RightStatus::List("200-201".into()),
                answer_body: "z".into(),
            }
        }
        let changes: [Change; 7] = [
            (
                |asks| asks.requests.push(asked()),
                "the contract's requests: one GET in the first run, 9 × POST /orders, X: y, 3 bytes with SHA-256 ab, answered with 200-201 \"z\" in",
            ),
            (|asks| asks.path = "/other".into(), "the contract's path: "),
            (
                |asks| asks.status = RightStatus::One(201),
                "the contract's status: 200 in the first run, 201 in",
            ),
            (|asks| asks.body = "b".into(), "the contract's body: \""),
            (|asks| asks.whole_body ^= true, "the contract's body, of which that is: "),
            (|asks| asks.fresh ^= true, "the contract's answers: "),
            (|asks| asks.refuses.clear(), "the contract's requests to refuse: GET /no (404) in"),
        ];
        for (change, says) in changes {
            let mut after = before.clone();
            change(after.study.asks.as_mut().unwrap());
            let comparison = compare(&before, &after);
            assert!(comparison.obstacles[0].starts_with(says), "{:?}", comparison.obstacles);
            assert!(reasons(&comparison, "a").contains(says));
        }
        assert!(compare(&before, &before).obstacles.is_empty());
    }

    #[test]
    fn what_an_older_run_asked_for_is_not_known_and_no_obstacle() {
        let before = run(STEADY, STEADY);
        let mut older = before.clone();
        older.study.asks = None;
        let comparison = compare(&older, &before);
        assert!(comparison.obstacles.is_empty(), "{:?}", comparison.obstacles);
        let unknown = "whether the contract asked for the same in both isn't known";
        assert!(comparison.differences.iter().any(|it| it == unknown));
        assert!(!compare(&before, &before).differences.iter().any(|it| it == unknown));
    }

    #[test]
    fn a_lighter_contract_that_asks_for_something_else_parts_who_keeps_it() {
        let with = |path: &str| {
            let mut run = run(STEADY, STEADY);
            let asks = run.study.asks.clone().map(|asks| Asks { path: path.into(), ..asks });
            let (name, says) = ("static".into(), "less".into());
            run.study.lighter = vec![LighterContract { name, says, asks }];
            run.contenders[0].lighter_contract = Some("static".into());
            run
        };
        let comparison = compare(&with("/one"), &with("/two"));
        assert!(
            reasons(&comparison, "a").contains("its contract, `static`: the contract's path: /one")
        );
        assert!(matches!(word_of(&comparison, "b"), Word::Unchanged(_)), "it keeps the full one");
    }
}
