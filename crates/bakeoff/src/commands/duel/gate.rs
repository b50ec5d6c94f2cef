//! Conditions that a duel fails by: `new.p99 > old.p99 * 1.1`.

use std::str::FromStr;

use judge::statistics::median_interval;
use result::Run;
use result::finding::Verdict;
use result::outcome::{Estimate, Row};

/// Figures by the short words for them.
const FIGURES: [(&str, &str); 5] = [
    ("rate", "rate"),
    ("p50", "p50_us"),
    ("p99", "p99_us"),
    ("cpu", "cpu_us"),
    ("client_cpu", "client_cpu_us"),
];

/// A condition on figures.
#[derive(Debug, Clone, PartialEq)]
pub struct Gate {
    /// As it was given.
    pub text: String,
    left: Of,
    is_more: bool,
    right: Right,
}

/// A figure of one who takes part.
#[derive(Debug, Clone, PartialEq)]
struct Of {
    name: String,
    /// The figure's id.
    figure: &'static str,
}

/// What a figure is held against.
#[derive(Debug, Clone, PartialEq)]
enum Right {
    /// A number in the figure's own unit.
    Number(f64),
    /// So many times another one's figure.
    Times(f64, Of),
}

/// What came of a condition.
#[derive(Debug, Clone, PartialEq)]
pub enum Word {
    /// It holds, beyond chance, and what was measured.
    Holds(String),
    /// Chance may decide, and what was measured.
    Open(String),
    /// It doesn't hold.
    DoesNot,
    /// It can't be told, and why.
    CannotBeTold(String),
}

impl FromStr for Gate {
    type Err = String;

    fn from_str(text: &str) -> Result<Gate, String> {
        let form = || {
            let figures: Vec<&str> = FIGURES.iter().map(|(word, _)| *word).collect();
            format!(
                "a condition is as `new.p99 > old.p99 * 1.1` or `new.rate < 10k`, with one of {}",
                figures.join(", ")
            )
        };
        let at = text.find(['<', '>']).ok_or_else(form)?;
        let (left, right) = (text[..at].trim(), text[at + 1..].trim());
        let left = Of::parse(left).ok_or_else(form)?;
        let right = Right::parse(right, left.figure).ok_or_else(form)?;
        Ok(Gate { text: text.into(), left, is_more: &text[at..=at] == ">", right })
    }
}

impl Of {
    /// A name may have points in it, a figure has none.
    fn parse(text: &str) -> Option<Of> {
        let (name, figure) = text.rsplit_once('.')?;
        let (_, figure) = FIGURES.iter().find(|(word, _)| *word == figure)?;
        (!name.is_empty() && !name.contains(char::is_whitespace))
            .then(|| Of { name: name.into(), figure })
    }
}

impl Right {
    fn parse(text: &str, figure: &str) -> Option<Right> {
        let Some((a, b)) = text.split_once('*') else {
            return match Of::parse(text) {
                Some(of) => Some(Right::Times(1.0, of)),
                None => number(text, figure).map(Right::Number),
            };
        };
        let (a, b) = (a.trim(), b.trim());
        let times = |of: &str, factor: &str| {
            let factor = factor.parse().ok().filter(|it: &f64| it.is_finite() && *it > 0.0)?;
            Some(Right::Times(factor, Of::parse(of)?))
        };
        times(a, b).or_else(|| times(b, a))
    }
}

/// A number with a unit: times are kept in µs.
fn number(text: &str, figure: &str) -> Option<f64> {
    let units: &[(&str, f64)] = match figure.ends_with("_us") {
        true => &[("us", 1.0), ("µs", 1.0), ("ms", 1e3), ("s", 1e6)],
        false => &[("k", 1e3), ("M", 1e6), ("", 1.0)],
    };
    let (digits, scale) =
        units.iter().find_map(|(unit, scale)| Some((text.strip_suffix(unit)?, scale)))?;
    let number: f64 = digits.trim().parse().ok()?;
    (number.is_finite() && number >= 0.0).then_some(number * scale)
}

impl Gate {
    /// The names that it speaks of.
    pub fn names(&self) -> Vec<&str> {
        let right = match &self.right {
            Right::Number(_) => None,
            Right::Times(_, of) => Some(of.name.as_str()),
        };
        [self.left.name.as_str()].into_iter().chain(right).collect()
    }

    /// What comes of it in a run of one setting.
    pub fn word(&self, run: &Run) -> Word {
        let left = match figure(run, &self.left) {
            Ok(left) => left,
            Err(why) => return Word::CannotBeTold(why),
        };
        let shares: Vec<f64> = match &self.right {
            Right::Number(number) => left.blocks.iter().map(|value| value / number).collect(),
            Right::Times(factor, of) => match figure(run, of) {
                Err(why) => return Word::CannotBeTold(why),
                Ok(right) if right.blocks.len() != left.blocks.len() => {
                    let why = "the two have figures of different blocks".to_string();
                    return Word::CannotBeTold(why);
                }
                Ok(right) => {
                    let pairs = left.blocks.iter().zip(&right.blocks);
                    pairs.map(|(left, right)| left / (factor * right)).collect()
                }
            },
        };
        let Some((low, high)) = median_interval(&shares) else {
            return Word::CannotBeTold("there are too few blocks for an interval".into());
        };
        let says = format!("the left side is {low:.3} to {high:.3} times the right one");
        let (holds, does_not) = match self.is_more {
            true => (low > 1.0, high <= 1.0),
            false => (high < 1.0, low >= 1.0),
        };
        match (holds, does_not) {
            (true, _) => Word::Holds(says),
            (_, true) => Word::DoesNot,
            _ => Word::Open(says),
        }
    }
}

/// A figure that stands and isn't only a bound.
fn figure<'a>(run: &'a Run, of: &Of) -> Result<&'a Estimate, String> {
    let mut rows = run.outcomes.iter().flat_map(|outcome| &outcome.rows);
    let row: &Row = rows
        .find(|row| row.contender == of.name)
        .ok_or_else(|| format!("{} has no figures", of.name))?;
    let word = FIGURES.iter().find(|(_, id)| *id == of.figure).map_or(of.figure, |(word, _)| word);
    match row.figure(of.figure) {
        _ if row.verdict == Verdict::Invalid => {
            let check = row.findings.first().map_or("a check", |it| it.check.as_str());
            Err(format!("the figures of {} are invalid by `{check}`", of.name))
        }
        None => Err(format!("{} has no {word} in every block", of.name)),
        Some(estimate) if estimate.at_least => {
            Err(format!("the {word} of {} is a lower bound", of.name))
        }
        Some(estimate) => Ok(estimate),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_names_a_figure_and_what_it_is_held_against() {
        let gate: Gate = "b.js.p99 > old.p99 * 1.1".parse().unwrap();
        assert_eq!(gate.names(), ["b.js", "old"]);
        assert_eq!(gate.right, Right::Times(1.1, Of { name: "old".into(), figure: "p99_us" }));
        let right = |text: &str| text.parse::<Gate>().unwrap().right;
        assert_eq!(right("a.p99>5ms"), Right::Number(5000.0));
        assert_eq!(right("a.rate < 10k"), Right::Number(10_000.0));
        assert_eq!(right("a.rate < 0.9 * b.rate"), right("a.rate < b.rate * 0.9"));
        assert_eq!(right("a.cpu > b.cpu"), right("a.cpu > b.cpu * 1"));
    }

    #[test]
    fn what_is_no_condition_is_refused_with_the_form_of_one() {
        for text in
            ["", "a.p99", "a.p99 > ", "a.speed > 1", "p99 > 1ms", "a.p99 > 5", "a.p99 > x * y"]
        {
            let why = text.parse::<Gate>().unwrap_err();
            assert!(why.contains("new.p99 > old.p99 * 1.1"), "{text}: {why}");
        }
    }

    /// A run of one setting in which each has this rate in each block.
    fn run(rates: &[(&str, [f64; 6])], verdict: Verdict) -> Run {
        use judge::samples::run_of;
        use result::outcome::Outcome;
        use result::plan::{Cores, Setting};
        let rows = rates.iter().map(|(name, blocks)| Row {
            contender: name.to_string(),
            limit: None,
            figures: [("rate".to_string(), estimate(blocks))].into(),
            standings: Default::default(),
            verdict,
            findings: Vec::new(),
        });
        let setting = Setting::closed(64, Cores::One, true);
        let rows = rows.collect();
        let outcome = Outcome { setting, class: None, offered: None, rankings: vec![], rows };
        Run { outcomes: vec![outcome], ..run_of(&[], vec![]) }
    }

    fn estimate(blocks: &[f64]) -> Estimate {
        let median = blocks[0];
        Estimate { median, interval: None, at_least: false, at_most: false, blocks: blocks.into() }
    }

    #[test]
    fn a_condition_holds_only_beyond_chance() {
        let old = [100.0, 101.0, 99.0, 100.0, 102.0, 98.0];
        let word = |new: [f64; 6], text: &str| {
            let run = run(&[("old", old), ("new", new)], Verdict::Valid);
            text.parse::<Gate>().unwrap().word(&run)
        };
        let slower = old.map(|rate| rate * 0.8);
        let text = "new.rate < old.rate * 0.9";
        assert!(matches!(word(slower, text), Word::Holds(_)));
        assert_eq!(word(old, text), Word::DoesNot);
        let noisy = [70.0, 110.0, 72.0, 111.0, 90.0, 89.0];
        assert!(matches!(word(noisy, text), Word::Open(_)), "{:?}", word(noisy, text));
        assert!(matches!(word(slower, "new.rate < 90"), Word::Holds(_)));
    }

    #[test]
    fn what_has_no_figure_that_stands_cant_be_told() {
        let word = |name: &str, figure: &str, verdict| {
            let run = run(&[("a", [1.0; 6])], verdict);
            format!("{name}.{figure} > 1k").parse::<Gate>().unwrap().word(&run)
        };
        for (name, figure, verdict) in
            [("b", "rate", Verdict::Valid), ("a", "rate", Verdict::Invalid)]
        {
            assert!(matches!(word(name, figure, verdict), Word::CannotBeTold(_)), "{name}");
        }
    }
}
