//! What came of a duel's conditions, in words and as an exit code.

use std::cmp::Ordering;

use judge::conditions::{self, Against, Compared, Count, Figure};
use judge::statistics::BLOCKS_MIN;
use report::units;
use result::Run;
use result::finding::Verdict;

use super::gate::{Gate, Of, Right, Test};

/// What came of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Word {
    /// It is so, beyond chance and noise.
    Holds,
    /// It is not so, beyond chance and noise.
    DoesNotHold,
    /// The figures are there, and don't decide it.
    CannotBeTold,
    /// A figure isn't there or doesn't stand. That never passes.
    Missing,
}

impl Word {
    /// Whether it fails a duel, in which what can't be told fails or doesn't.
    pub fn fails(self, if_unknown: bool) -> bool {
        match self {
            Word::Holds | Word::Missing => true,
            Word::DoesNotHold => false,
            Word::CannotBeTold => if_unknown,
        }
    }

    fn of(side: Option<Ordering>, towards: Ordering) -> Word {
        match side {
            None => Word::CannotBeTold,
            Some(side) if side == towards => Word::Holds,
            Some(_) => Word::DoesNotHold,
        }
    }

    fn says(self) -> &'static str {
        match self {
            Word::Holds => "holds",
            Word::DoesNotHold => "doesn't hold",
            Word::CannotBeTold | Word::Missing => "can't be told",
        }
    }
}

/// What comes of a condition in a run of one setting, and the sentences that say so.
pub fn told(gate: &Gate, run: &Run) -> (Word, String) {
    let (word, why) = match &gate.test {
        Test::Counted { name, count, number } => counted(gate, run, (name, *count, *number)),
        Test::Measured { left, right } => measured(gate, run, left, right),
    }
    .unwrap_or_else(|why| (Word::Missing, format!("{why}.")));
    let doubts = doubts(gate, run);
    let verdicts = gate.names().into_iter().filter_map(|name| conditions::verdict(run, name).ok());
    // Of what is invalid the word itself says so.
    let caveat = verdicts.filter(|it| *it != Verdict::Invalid).max().and_then(Verdict::caveat);
    let caveat = caveat.map_or(String::new(), |caveat| format!(" ({caveat})"));
    let sentences = [why].into_iter().chain(doubts).collect::<Vec<_>>().join(" ");
    (word, format!("The condition {} {}{caveat}: {sentences}", gate.text, word.says()))
}

fn measured(gate: &Gate, run: &Run, left: &Of, right: &Right) -> Result<(Word, String), String> {
    let against = match right {
        Right::Number(number) => Against::Number(*number),
        Right::Times(factor, of) => Against::Times(*factor, named(of)),
    };
    let compared = conditions::compare(run, named(left), against, gate.towards())?;
    let (value, times): (fn(f64, Figure) -> String, String) = match right {
        Right::Number(_) => (shown, String::new()),
        Right::Times(_, of) => (|ratio, _| format!("{ratio:.3}"), format!(" times {}", words(of))),
    };
    let value = |number| value(number, left.figure);
    let seen = format!(
        "{} is {}{times} ({})",
        words(left),
        value(compared.median),
        interval(&compared, value)
    );
    let word = Word::of(compared.side, gate.towards());
    let bound = if compared.is_bound { " A figure is only a lower bound." } else { "" };
    let zero =
        if compared.has_zero { " In a block a figure is 0, which gives no ratio." } else { "" };
    Ok((word, format!("{seen}.{bound}{zero} {}", smallest_change(&compared))))
}

fn named(of: &Of) -> conditions::Of<'_> {
    conditions::Of { contender: &of.name, figure: of.figure }
}

/// The interval, and the blocks that it rests on.
fn interval(compared: &Compared, value: impl Fn(f64) -> String) -> String {
    let blocks = units::of(compared.blocks as u64, "block");
    match compared.interval {
        Some((low, high)) => {
            format!("95 % interval {} to {}, {blocks}", value(low), value(high))
        }
        None => blocks,
    }
}

/// The smallest change that a duel could have seen, and what it rests on.
fn smallest_change(compared: &Compared) -> String {
    if compared.blocks < BLOCKS_MIN {
        return format!("This duel could have seen no change: that takes {BLOCKS_MIN} blocks.");
    }
    let pair = match compared.noise_floor {
        Ok(floor) => {
            format!("two identical entries differed by up to {}", units::percent(floor - 1.0))
        }
        Err(why) => return format!("This duel could have seen no change: {why}."),
    };
    match compared.smallest_change {
        Some(ratio) => {
            let change = units::percent((ratio - 1.0).abs());
            format!("This duel could have seen a change of {change}: {pair}.")
        }
        None => format!("This duel could have seen no change: {pair}."),
    }
}

fn counted(
    gate: &Gate,
    run: &Run,
    (name, count, number): (&str, Count, f64),
) -> Result<(Word, String), String> {
    let (least, most) = conditions::count(run, name, count)?;
    let [at_least, at_most] = [least, most].map(|value| gate.operator.holds(value, number));
    let word = match (at_least, at_most) {
        (true, true) => Word::Holds,
        (false, false) => Word::DoesNotHold,
        _ => Word::CannotBeTold,
    };
    let value = |value: f64| match count {
        Count::Errors => units::whole(value as u64),
        Count::ErrorShare | Count::GoodShare => units::percent(value),
    };
    let what = match count {
        Count::Errors => "the errors of all blocks are",
        Count::ErrorShare => "the share of errors in all blocks is",
        Count::GoodShare => "the share of good answers in all blocks is",
    };
    let seen = if least == most {
        format!("{name}: {what} {}.", value(least))
    } else {
        format!(
            "{name}: {what} {} to {}, since some requests had no answer yet.",
            value(least),
            value(most)
        )
    };
    let findings = conditions::doubts(run, name)?;
    match findings.iter().find(|it| it.verdict == Verdict::Invalid && word != Word::Holds) {
        Some(invalid) => Err(format!("the figures of {name} are invalid by `{}`", invalid.check)),
        None => Ok((word, seen)),
    }
}

/// A sentence for each whose figures are doubted: by which checks.
fn doubts(gate: &Gate, run: &Run) -> Vec<String> {
    let mut names = gate.names();
    names.dedup();
    let of_one = |name: &str| {
        let findings = conditions::doubts(run, name).ok()?;
        let doubted = findings.iter().filter(|it| it.verdict == Verdict::Suspect);
        let checks: Vec<String> =
            doubted.map(|it| format!("{} ({})", it.check, it.value)).collect();
        (!checks.is_empty())
            .then(|| format!("The figures of {name} are suspect by {}.", checks.join(", ")))
    };
    names.into_iter().filter_map(of_one).collect()
}

/// A value of a figure with its unit.
fn shown(value: f64, figure: Figure) -> String {
    match figure {
        Figure::Rate => format!("{}/s", units::count(value)),
        Figure::CpuTime | Figure::ClientCpuTime | Figure::Percentile(_) => units::time(value),
    }
}

/// As conditions have it.
fn words(of: &Of) -> String {
    let figure = match of.figure {
        Figure::Rate => "rate".to_string(),
        Figure::CpuTime => "cpu".to_string(),
        Figure::ClientCpuTime => "client_cpu".to_string(),
        Figure::Percentile(percentile) => format!("p{percentile}"),
    };
    format!("{}.{figure}", of.name)
}

#[cfg(test)]
mod tests {
    use judge::outcomes::conclude;
    use judge::samples::{contender, invalid, run_of, suspect, trial};
    use result::finding::Finding;
    use result::plan::{Cores, Setting};

    use super::*;

    /// A duel of six blocks, in which the new one's rate is so many times the old one's, two
    /// identical entries are 2 % apart, and a check may speak against the new one.
    fn duel(times: f64, blocks: usize, finding: Option<Finding>) -> Run {
        let setting = Setting::closed(64, Cores::One, true);
        let rates = [100.0, 101.0, 99.0, 100.0, 102.0, 98.0];
        let mut trials = Vec::new();
        for (name, is_twin, times) in
            [("old", false, 1.0), ("new", false, times), ("old", true, 1.02)]
        {
            for (block, rate) in (0..).zip(&rates[..blocks]) {
                let mut trial = trial(name, block, &setting, rate * times);
                trial.slot.twin = is_twin;
                trial.evidence.clients[0].scheduled = 100;
                trial.evidence.clients[0].good = 100;
                trials.push(trial);
            }
        }
        let of_new = trials.iter_mut().find(|it| it.slot.contender == "new").unwrap();
        of_new.findings.extend(finding);
        let mut run = run_of(&["old", "new"].map(contender), trials);
        conclude(&mut run);
        run
    }

    fn told_of(condition: &str, run: &Run) -> (Word, String) {
        let gate: Gate = condition.parse().unwrap_or_else(|complaint| panic!("{complaint}"));
        told(&gate, run)
    }

    #[test]
    fn each_word_says_what_it_rests_on_and_what_could_have_been_seen() {
        let half = duel(0.5, 6, None);
        let like = duel(0.94, 6, None);
        let doubted = duel(0.5, 6, Some(suspect("errors")));
        let refused = duel(0.5, 6, Some(invalid("errors")));
        let short = duel(0.5, 1, None);
        let all = [
            ("new.rate < 0.95 * old.rate", &half, Word::Holds),
            ("new.rate < 0.95 * old.rate", &like, Word::CannotBeTold),
            ("new.rate > 2 * old.rate", &half, Word::DoesNotHold),
            ("new.rate >= 60", &half, Word::DoesNotHold),
            ("new.rate < 60", &half, Word::Holds),
            ("new.p99 > old.p99 * 1.1", &half, Word::Holds),
            ("new.rate < 0.95 * old.rate", &doubted, Word::Holds),
            ("new.rate < 0.95 * old.rate", &refused, Word::Missing),
            ("new.rate < 0.95 * old.rate", &short, Word::CannotBeTold),
            ("new.p99.9 > 1s", &half, Word::Missing),
            ("new.errors > 0", &half, Word::DoesNotHold),
            ("new.error_share <= 1%", &half, Word::Holds),
            ("new.errors > 0", &refused, Word::Missing),
        ];
        let mut sentences = Vec::new();
        for (condition, run, expected) in all {
            let (word, says) = told_of(condition, run);
            assert_eq!(word, expected, "{says}");
            sentences.push(says);
        }
        insta::assert_snapshot!(sentences.join("\n\n"));
    }

    #[test]
    fn what_cant_be_told_fails_where_that_was_asked_for_and_what_is_missing_always() {
        use Word::{CannotBeTold, DoesNotHold, Holds, Missing};
        let failing = |if_unknown| {
            let all = [Holds, DoesNotHold, CannotBeTold, Missing];
            all.into_iter().filter(|word| word.fails(if_unknown)).collect::<Vec<_>>()
        };
        assert_eq!(failing(false), [Holds, Missing]);
        assert_eq!(failing(true), [Holds, CannotBeTold, Missing]);
    }
}
