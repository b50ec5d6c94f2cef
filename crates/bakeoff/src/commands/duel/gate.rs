//! Conditions that a duel fails by, as people write them: `new.p99 > old.p99 * 1.1`.

use std::cmp::Ordering;
use std::str::FromStr;

use judge::conditions::{Count, Figure};
use load::verdict::comparison::{
    Comparison, Complaint, Operator, Unit, did_you_mean, percentile, value,
};

/// Nanoseconds, which conditions are read in, in a microsecond, which figures are kept in.
const NS_A_US: f64 = 1e3;
/// What somebody is shown who wrote something else.
const EXAMPLE: &str = "new.p99 > old.p99 * 1.1";
/// The words for figures; `p99` stands for all percentiles.
const FIGURES: [&str; 7] =
    ["rate", "p99", "cpu", "client_cpu", "errors", "error_share", "good_share"];

/// A condition on figures.
#[derive(Debug, Clone, PartialEq)]
pub struct Gate {
    /// As it was given.
    pub text: String,
    /// What it is about.
    pub test: Test,
    /// How the left side is compared with the right one.
    pub operator: Operator,
}

/// What is held against what.
#[derive(Debug, Clone, PartialEq)]
pub enum Test {
    /// A figure that each block has.
    Measured {
        /// Whose, and which.
        left: Of,
        /// What it is held against.
        right: Right,
    },
    /// What is counted over all blocks.
    Counted {
        /// Whose.
        name: String,
        /// What is counted.
        count: Count,
        /// The number that it is held against.
        number: f64,
    },
}

/// A figure of one who takes part.
#[derive(Debug, Clone, PartialEq)]
pub struct Of {
    /// The name.
    pub name: String,
    /// The figure.
    pub figure: Figure,
}

/// What a figure is held against.
#[derive(Debug, Clone, PartialEq)]
pub enum Right {
    /// A number in the figure's own unit.
    Number(f64),
    /// So many times another one's figure.
    Times(f64, Of),
}

/// A figure by the word for it.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Quantity {
    Measured(Figure),
    Counted(Count),
}

impl Quantity {
    fn unit(self) -> Unit {
        match self {
            Quantity::Measured(Figure::Rate) => Unit::PerSecond,
            Quantity::Measured(_) => Unit::Nanoseconds,
            Quantity::Counted(Count::Errors) => Unit::Count,
            Quantity::Counted(_) => Unit::Share,
        }
    }
}

impl FromStr for Gate {
    type Err = Complaint;

    fn from_str(text: &str) -> Result<Gate, Complaint> {
        let comparison = Comparison::split(text, EXAMPLE, "--fail-if may be given several times")?;
        let Comparison { text, left, operator, right } = comparison;
        let (name, word) = named(&comparison, left)?;
        let test = match word {
            Quantity::Measured(figure) => Test::Measured {
                left: Of { name: name.into(), figure },
                right: held_against(&comparison, right, word)?,
            },
            Quantity::Counted(_) if named(&comparison, right).is_ok() => {
                let what = "errors are counted, and held against a number; write for example: \
                            new.errors > 0";
                return Err(comparison.complain(right, what));
            }
            Quantity::Counted(count) => Test::Counted {
                name: name.into(),
                count,
                number: number(&comparison, right, word)?,
            },
        };
        Ok(Gate { text: text.into(), test, operator })
    }
}

/// A name and the word for its figure, of `NAME.FIGURE`. Names may have points in them, and so
/// have percentiles.
fn named<'a>(comparison: &Comparison, text: &'a str) -> Result<(&'a str, Quantity), Complaint> {
    let points = text.rmatch_indices('.').map(|(at, _)| at);
    let read = points.clone().find_map(|at| Some((&text[..at], word(&text[at + 1..])?)));
    match read {
        Some((name, _)) if name.is_empty() || name.contains(char::is_whitespace) => {
            let what = format!("a figure is NAME.FIGURE; write for example: {EXAMPLE}");
            Err(comparison.complain(text, what))
        }
        Some((name, word)) => Ok((name, word.map_err(|what| comparison.complain(text, what))?)),
        None if word(text).is_some() => {
            let what = format!("whose {text}? Write NAME.{text}, for example: {EXAMPLE}");
            Err(comparison.complain(text, what))
        }
        None => {
            let figure = points.clone().next().map_or(text, |at| &text[at + 1..]);
            let what = format!(
                "there is no such figure; there are rate, p50, p99, p99.9 (or any other), cpu, \
                 client_cpu, errors, error_share and good_share, each behind a name and a point{}",
                did_you_mean(figure, FIGURES)
            );
            Err(comparison.complain(figure, what))
        }
    }
}

/// The figure of a word; `None` where it is no figure.
fn word(text: &str) -> Option<Result<Quantity, String>> {
    let word = match text {
        "rate" => Quantity::Measured(Figure::Rate),
        "cpu" => Quantity::Measured(Figure::CpuTime),
        "client_cpu" => Quantity::Measured(Figure::ClientCpuTime),
        "errors" => Quantity::Counted(Count::Errors),
        "error_share" => Quantity::Counted(Count::ErrorShare),
        "good_share" => Quantity::Counted(Count::GoodShare),
        _ => {
            let figure = |percentile| Quantity::Measured(Figure::Percentile(percentile));
            return Some(percentile(text)?.map(figure));
        }
    };
    Some(Ok(word))
}

/// The right side of a figure: a number, or a figure, perhaps times a number.
fn held_against(comparison: &Comparison, text: &str, of: Quantity) -> Result<Right, Complaint> {
    let times = |factor, of_text| {
        let (name, other) = named(comparison, of_text)?;
        match other {
            Quantity::Measured(figure) if other.unit() == of.unit() => {
                Ok(Right::Times(factor, Of { name: name.into(), figure }))
            }
            _ => Err(comparison.complain(of_text, "the two sides aren't of the same kind")),
        }
    };
    if let Some((a, b)) = text.split_once('*') {
        let (a, b) = (a.trim(), b.trim());
        let factor = |text: &str| text.parse().ok().filter(|it: &f64| it.is_finite() && *it > 0.0);
        return match (factor(a), factor(b)) {
            (Some(factor), _) => times(factor, b),
            (None, Some(factor)) => times(factor, a),
            (None, None) => {
                let what = "one side of * is a number above 0, the other one a figure";
                Err(comparison.complain(text, what))
            }
        };
    }
    let is_number = text.starts_with(|first: char| first.is_ascii_digit() || first == '.');
    if text.contains('.')
        && !(is_number && value(text, of.unit()).is_ok())
        && (!is_number || named(comparison, text).is_ok())
    {
        times(1.0, text)
    } else {
        number(comparison, text, of).map(Right::Number)
    }
}

/// A number with its unit, in the unit that the figure is kept in.
fn number(comparison: &Comparison, text: &str, of: Quantity) -> Result<f64, Complaint> {
    let unit = of.unit();
    let number = value(text, unit).map_err(|(part, what)| comparison.complain(part, what))?;
    match unit {
        // What nothing can be divided by.
        Unit::Nanoseconds | Unit::PerSecond if number <= 0.0 => {
            Err(comparison.complain(text, "this has to be above 0"))
        }
        Unit::Nanoseconds => Ok(number / NS_A_US),
        Unit::PerSecond | Unit::Count | Unit::Share => Ok(number),
    }
}

impl Gate {
    /// Which way the left side has to lie for it to hold.
    pub fn towards(&self) -> Ordering {
        if self.operator.is_upwards() { Ordering::Greater } else { Ordering::Less }
    }

    /// The names that it speaks of, in their order.
    pub fn names(&self) -> Vec<&str> {
        match &self.test {
            Test::Counted { name, .. } => vec![name],
            Test::Measured { left, right: Right::Number(_) } => vec![&left.name],
            Test::Measured { left, right: Right::Times(_, of) } => vec![&left.name, &of.name],
        }
    }

    /// What is wrong with a name in it; `None` where each is one of these.
    pub fn unknown_name(&self, names: &[&str]) -> Option<Complaint> {
        let right = self.text.find(['<', '>']).unwrap_or(0);
        let mut sides = self.names().into_iter().zip([0, right]);
        let (name, from) = sides.find(|(name, _)| !names.contains(name))?;
        let start = from + self.text[from..].find(name).unwrap_or(0);
        let near = did_you_mean(name, names.iter().copied());
        let what = format!("nobody here is called {name}, but {}{near}", names.join(", "));
        Some(Complaint::new(&self.text, start..start + name.len(), what))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate(text: &str) -> Gate {
        text.parse().unwrap_or_else(|complaint| panic!("{complaint}"))
    }

    fn right(text: &str) -> Right {
        match gate(text).test {
            Test::Measured { right, .. } => right,
            counted => panic!("{text}: {counted:?}"),
        }
    }

    #[test]
    fn a_condition_names_a_figure_and_what_it_is_held_against() {
        let p99 = |name: &str| Of { name: name.into(), figure: Figure::Percentile(99.0) };
        let gate = gate("b.js.p99 >= old.p99 * 1.1");
        let test = Test::Measured { left: p99("b.js"), right: Right::Times(1.1, p99("old")) };
        assert_eq!((gate.operator, gate.test), (Operator::GreaterOrEqual, test));
        assert_eq!(right("a.p99>5ms"), Right::Number(5000.0));
        assert_eq!(right("a.cpu > 1.5us"), Right::Number(1.5));
        assert_eq!(right("a.rate < 10k"), Right::Number(10_000.0));
        assert_eq!(right("a.rate < 1.5k"), Right::Number(1_500.0));
        assert_eq!(right("a.rate < 0.9 * b.rate"), right("a.rate < b.rate * 0.9"));
        assert_eq!(right("a.cpu > b.cpu"), right("a.cpu > b.cpu * 1"));
        let tail = Figure::Percentile(99.9);
        let of_tail = Right::Times(2.0, Of { name: "1.x".into(), figure: tail });
        assert_eq!(right("a.p95 > 2 * 1.x.p99.9"), of_tail);
        assert_eq!(
            right("a.p95 > 1.x.p99.9"),
            Right::Times(1.0, Of { name: "1.x".into(), figure: tail })
        );
    }

    #[test]
    fn errors_are_counted() {
        let counted = |text: &str| match gate(text).test {
            Test::Counted { name, count, number } => (name, count, number),
            measured => panic!("{text}: {measured:?}"),
        };
        assert_eq!(counted("new.errors > 0"), ("new".into(), Count::Errors, 0.0));
        assert_eq!(counted("new.error_share >= 0.1%"), ("new".into(), Count::ErrorShare, 0.001));
        let (_, count, number) = counted("new.good_share < 99.9 %");
        assert!(count == Count::GoodShare && (number - 0.999).abs() < 1e-12, "{number}");
    }

    #[test]
    fn what_is_no_condition_is_told_with_its_place() {
        let complaints = [
            "",
            "a.p99",
            "a.p99 > ",
            "a.p99 == 5ms",
            "a.speed > 1",
            "a.rat < 1k",
            "a.p100 > 1s",
            "p99 > 1ms",
            "p99.9 > 1ms",
            ".p99 > 1ms",
            "a.p99 > 5",
            "a.p99 > 0ms",
            "a.p99 > x * y",
            "a.p99 > 0 * b.p99",
            "a.p99 > b.rate",
            "a.p99 > 2 * b.error",
            "a.rate < 5ms",
            "a.rate < b.rate < c.rate",
            "a.errors > b.errors",
            "a.error_share > 1",
        ]
        .map(|text| text.parse::<Gate>().unwrap_err().to_string());
        insta::assert_snapshot!(complaints.join("\n\n"));
    }

    #[test]
    fn somebody_who_takes_no_part_is_told_with_the_place() {
        let complain =
            |text: &str| gate(text).unknown_name(&["old", "new"]).map(|it| it.to_string());
        assert_eq!(complain("new.rate < 0.9 * old.rate"), None);
        let complaints = ["nwe.rate < 1k", "new.rate < 0.9 * odl.rate", "c.errors > 0"]
            .map(|text| complain(text).unwrap());
        insta::assert_snapshot!(complaints.join("\n\n"));
    }
}
