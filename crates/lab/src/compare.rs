//! What changed between two runs, beyond chance and noise.
//!
//! Two runs were made at different times, so nothing pairs their blocks: a figure
//! has changed if the blocks of one run lie apart from those of the other by an
//! exact test, with all figures of the comparison taken into account, and if its
//! medians differ by more than identical entries did within either run.
//!
//! What the machine went through between the two is in neither noise floor, so a
//! change tells that something is different, not what.

use std::collections::BTreeMap;

use result::Run;
use result::comparison::{Comparison, Figure, Of, Ratio, RunName, SCHEMA, Word};
use result::finding::{Finding, Verdict};
use result::outcome::Estimate;
use result::plan::{Contender, Load};

use crate::statistics::{BLOCKS_MIN, difference_interval, discoveries, median, rank_sum_test};

/// The largest difference between the offered rates of two runs, as a share, at
/// which the CPU time of an answer is still that of the same load.
const OFFERED_RATES_APART: f64 = 0.02;

/// Compares the second run with the first.
pub fn compare(a: &Run, b: &Run) -> Comparison {
    let obstacles = obstacles(a, b);
    let (entries_a, entries_b) = (entries(a), entries(b));
    let mut figures: Vec<Figure> = Vec::new();
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
    Comparison { schema: SCHEMA, a: name(a), b: name(b), obstacles, figures, only_in_one }
}

fn name(run: &Run) -> RunName {
    RunName { id: run.id.clone(), started: run.started.clone(), command: run.command.clone() }
}

fn only(run: &Run, contender: &str) -> String {
    format!("{contender} has figures in {} that the other run lacks", run.id)
}

/// Why runs are of different things as a whole.
fn obstacles(a: &Run, b: &Run) -> Vec<String> {
    let (on, by) = (&a.machine, &b.machine);
    let memory = |run: &Run| run.machine.memory_bytes.map_or("unknown".into(), |it| it.to_string());
    let kept = |run: &Run| format!("{}: {}", run.study.name, run.study.contract);
    [
        ("the study and its contract", kept(a), kept(b)),
        ("the processor", on.cpu.clone(), by.cpu.clone()),
        ("the CPUs used", format!("{:?}", on.cpus), format!("{:?}", by.cpus)),
        ("the memory in bytes", memory(a), memory(b)),
        ("the kernel", on.kernel.clone(), by.kernel.clone()),
        ("the settings of the kernel", format!("{:?}", on.sysctl), format!("{:?}", by.sysctl)),
        ("the version of bakeoff, which makes the load", a.bakeoff.clone(), b.bakeoff.clone()),
        ("the seconds measured", a.plan.measure_s.to_string(), b.plan.measure_s.to_string()),
        ("the seconds of warm-up", a.plan.warmup_s.to_string(), b.plan.warmup_s.to_string()),
    ]
    .into_iter()
    .filter(|(_, a, b)| a != b)
    .map(|(what, a, b)| format!("{what}: {a} in the first run, {b} in the second"))
    .collect()
}

/// A figure that a run has.
struct Entry<'a> {
    estimate: &'a Estimate,
    noise_floor: Option<f64>,
    verdict: Verdict,
    findings: &'a [Finding],
    offered_rate: Option<f64>,
}

/// By contender, load, and whether it is a rate: what makes figures the same.
type Key<'a> = (&'a str, &'a Load, bool);

fn entries(run: &Run) -> BTreeMap<Key<'_>, Entry<'_>> {
    let mut entries = BTreeMap::new();
    for outcome in &run.outcomes {
        for row in &outcome.rows {
            let entry = Entry {
                estimate: &row.rate,
                noise_floor: outcome.noise_floor,
                verdict: row.verdict,
                findings: &row.findings,
                offered_rate: None,
            };
            entries.insert((&*row.contender, &outcome.load, true), entry);
        }
    }
    for outcome in &run.equal_rates {
        for row in &outcome.rows {
            let Some(estimate) = &row.server_cpu_us else { continue };
            let entry = Entry {
                estimate,
                noise_floor: outcome.noise_floor,
                verdict: row.verdict,
                findings: &row.findings,
                offered_rate: Some(outcome.offered_rate),
            };
            entries.insert((&*row.contender, &outcome.load, false), entry);
        }
    }
    entries
}

fn figure(
    (run_a, a): (&Run, &Entry),
    (run_b, b): (&Run, &Entry),
    (contender, load, is_rate): &Key,
    obstacles: &[String],
) -> Figure {
    let of = |run: &Run| run.contenders.iter().find(|it| it.name == *contender).cloned();
    let (then, now) = (of(run_a), of(run_b));
    let mut reasons = obstacles.to_vec();
    reasons.extend(against(a, "first"));
    reasons.extend(against(b, "second"));
    if let (Some(then), Some(now)) = (a.offered_rate, b.offered_rate)
        && (now / then - 1.0).abs() > OFFERED_RATES_APART
    {
        reasons.push(format!("offered {then:.0} requests a second, then {now:.0}"));
    }
    let seed = run_a.plan.seed ^ run_b.plan.seed;
    let word = match ratio(a.estimate, b.estimate, seed) {
        Some(ratio) if reasons.is_empty() => Word::Unchanged(ratio),
        Some(_) => Word::NotComparable(reasons),
        None => {
            reasons.push(format!("fewer than {BLOCKS_MIN} blocks with a figure"));
            Word::NotComparable(reasons)
        }
    };
    Figure {
        contender: contender.to_string(),
        title: now.as_ref().map_or_else(|| contender.to_string(), |it| it.title.clone()),
        load: (*load).clone(),
        of: if *is_rate { Of::Rate } else { Of::ServerCpuUs },
        a: a.estimate.clone(),
        b: b.estimate.clone(),
        noise_floors: (a.noise_floor, b.noise_floor),
        differences: then.zip(now).map(|(then, now)| differences(&then, &now)).unwrap_or_default(),
        word,
    }
}

/// What speaks against using a run's figure.
fn against(entry: &Entry, run: &str) -> Vec<String> {
    let mut reasons = Vec::new();
    if entry.verdict == Verdict::Invalid {
        let of = entry.findings.iter().filter(|finding| finding.verdict == Verdict::Invalid);
        let checks: Vec<&str> = of.map(|finding| &*finding.check).collect();
        reasons.push(format!("invalid in the {run} run ({})", checks.join(", ")));
    }
    if entry.estimate.at_least {
        reasons.push(format!("the client was the limit in the {run} run"));
    }
    if entry.noise_floor.is_none() {
        reasons.push(format!("no noise floor in the {run} run"));
    }
    reasons
}

/// What is different about a contender itself: often what the comparison is about.
fn differences(a: &Contender, b: &Contender) -> Vec<String> {
    let versions = a.versions.iter().filter_map(|then| {
        let now = b.versions.iter().find(|now| now.of == then.of)?;
        (now.says != then.says).then(|| format!("{}: {}, then {}", then.of, then.says, now.says))
    });
    let command =
        (a.run != b.run).then(|| format!("command: {}, then {}", a.run.join(" "), b.run.join(" ")));
    let environment = (a.environment != b.environment).then(|| "another environment".into());
    let contract = (a.lighter_contract != b.lighter_contract).then(|| "another contract".into());
    versions.chain(command).chain(environment).chain(contract).collect()
}

/// The ratio of medians; `None` with too few blocks, or where one has no figure.
fn ratio(a: &Estimate, b: &Estimate, seed: u64) -> Option<Ratio> {
    let logs = |estimate: &Estimate| -> Option<Vec<f64>> {
        estimate.blocks.iter().map(|block| (*block > 0.0).then(|| block.ln())).collect()
    };
    let (a, b) = (logs(a)?, logs(b)?);
    let (low, high) = difference_interval(&a, &b, seed)?;
    let median = (median(&b)? - median(&a)?).exp();
    Some(Ratio { median, interval: (low.exp(), high.exp()), p: rank_sum_test(&a, &b) })
}

/// Calls what has changed, among all that can be compared.
fn call(figures: &mut [Figure]) {
    let mut compared: Vec<(&mut Word, Ratio, f64)> = figures
        .iter_mut()
        .filter_map(|figure| {
            let Word::Unchanged(ratio) = figure.word else { return None };
            let (a, b) = figure.noise_floors;
            Some((&mut figure.word, ratio, a?.max(b?)))
        })
        .collect();
    let p_values: Vec<f64> = compared.iter().map(|(_, ratio, _)| ratio.p).collect();
    for ((word, ratio, floor), is_discovery) in compared.iter_mut().zip(discoveries(&p_values)) {
        if is_discovery && ratio.median.ln().abs().exp() > *floor {
            **word = Word::Changed(*ratio);
        }
    }
}

#[cfg(test)]
mod tests {
    use result::plan::{Cores, Version};

    use super::*;
    use crate::outcomes::conclude;
    use crate::outcomes::tests::{contender, invalid, run_of, trial};

    const STEADY: [f64; 6] = [100.0, 101.0, 99.0, 100.5, 99.5, 100.2];

    fn load() -> Load {
        Load::closed(100, Cores::One, true)
    }

    /// Contenders `a`, with a twin, and `b`, at these rates.
    fn run(a: [f64; 6], b: [f64; 6]) -> Run {
        let of = |name: &'static str, rates: [f64; 6]| {
            (0..).zip(rates).map(move |(block, rate)| trial(name, block, &load(), rate))
        };
        let mut twins: Vec<_> = of("a", a).collect();
        for (twin, wobble) in twins.iter_mut().zip([1.01, 0.99, 1.01, 0.99, 1.01, 0.99]) {
            twin.slot.twin = true;
            twin.evidence.load.as_mut().unwrap().rate *= wobble;
        }
        let trials = of("a", a).chain(of("b", b)).chain(twins).collect();
        let mut run = run_of(&["a", "b"].map(contender), trials);
        conclude(&mut run);
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
        before.outcomes[0].noise_floor = Some(1.05);
        assert!(matches!(word_of(&compare(&before, &after), "a"), Word::Unchanged(_)));
    }

    #[test]
    fn another_machine_kernel_version_or_time_is_not_comparable_and_named() {
        let before = run(STEADY, STEADY);
        type Change = (&'static str, fn(&mut Run));
        let changes: [Change; 5] = [
            ("processor", |run| run.machine.cpu = "other".into()),
            ("kernel: ", |run| run.machine.kernel = "other".into()),
            ("version of bakeoff", |run| run.bakeoff = "other".into()),
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
    fn figures_that_may_not_be_ranked_may_not_be_compared() {
        let before = run(STEADY, STEADY);
        let mut after = before.clone();
        // A trial of `b`: one of `a` would cost the run its noise floor as well.
        after.trials[9].findings.push(invalid("errors"));
        conclude(&mut after);
        assert_eq!(reasons(&compare(&before, &after), "b"), "invalid in the second run (errors)");
        let mut after = before.clone();
        after.outcomes[0].rows[0].rate.at_least = true;
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
}
