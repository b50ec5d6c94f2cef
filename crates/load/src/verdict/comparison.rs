//! A comparison as people write it, as `p99 < 10ms`: cut into its two sides and what stands
//! between them. What is wrong with one is told with a mark under the place.

use std::fmt;
use std::ops::Range;

/// How two sides are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

impl Operator {
    /// Whether it holds of a value and a threshold.
    pub fn holds(self, value: f64, threshold: f64) -> bool {
        match self {
            Operator::Less => value < threshold,
            Operator::LessOrEqual => value <= threshold,
            Operator::Greater => value > threshold,
            Operator::GreaterOrEqual => value >= threshold,
        }
    }

    /// Whether a larger value can make it hold.
    pub fn is_upwards(self) -> bool {
        matches!(self, Operator::Greater | Operator::GreaterOrEqual)
    }
}

/// The unit of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds.
    Nanoseconds,
    /// A second.
    PerSecond,
    /// Requests.
    Count,
    /// From 0 to 1.
    Share,
}

/// A comparison, cut into its parts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comparison<'a> {
    /// All of it.
    pub text: &'a str,
    /// What stands before the operator.
    pub left: &'a str,
    /// The operator.
    pub operator: Operator,
    /// What stands behind the operator.
    pub right: &'a str,
}

impl<'a> Comparison<'a> {
    /// Cuts a text at its operator. The example is what somebody is shown who wrote none;
    /// `several` says what to do to somebody who wrote several comparisons.
    ///
    /// # Errors
    /// Where there is no operator, another one than these, or a second one.
    pub fn split(text: &'a str, example: &str, several: &str) -> Result<Comparison<'a>, Complaint> {
        let text = text.trim();
        let Some(at) = text.find(['<', '>', '=', '!']) else {
            let what =
                format!("there is no operator, one of < <= > >=; write for example: {example}");
            return Err(Complaint::new(text, text.len()..text.len(), what));
        };
        let length = text[at..].chars().take_while(|char| "<>=!".contains(*char)).count();
        let operator = match &text[at..at + length] {
            "<" => Operator::Less,
            "<=" => Operator::LessOrEqual,
            ">" => Operator::Greater,
            ">=" => Operator::GreaterOrEqual,
            _ => {
                let what = "the operator is one of < <= > >=";
                return Err(Complaint::new(text, at..at + length, what));
            }
        };
        let right = text[at + length..].trim_start();
        if let Some(second) = right.find(['<', '>', '=', '!', '&', '|', ',']) {
            let place = text.len() - right.len() + second..text.len();
            let what = format!("a condition is one comparison; {several}");
            return Err(Complaint::new(text, place, what));
        }
        Ok(Comparison { text, left: text[..at].trim_end(), operator, right })
    }

    /// What is wrong with this part of it, which is a slice of its text.
    pub fn complain(&self, part: &str, what: impl Into<String>) -> Complaint {
        let start = part.as_ptr() as usize - self.text.as_ptr() as usize;
        Complaint::new(self.text, start..start + part.len(), what)
    }
}

/// Why a text is no condition, and where in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Complaint {
    text: String,
    place: Range<usize>,
    what: String,
}

impl Complaint {
    /// What is wrong with the bytes at this place of a text.
    pub fn new(text: &str, place: Range<usize>, what: impl Into<String>) -> Complaint {
        Complaint { text: text.into(), place, what: what.into() }
    }
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let before = self.text[..self.place.start].chars().count();
        let marked = self.text[self.place.clone()].chars().count().max(1);
        write!(f, "{}\n    {}\n", self.what, self.text)?;
        write!(f, "    {:before$}{:^<marked$}", "", "")
    }
}

impl std::error::Error for Complaint {}

/// A number with its unit, in that unit.
///
/// # Errors
/// The part that is wrong, and why.
pub fn value(text: &str, unit: Unit) -> Result<f64, (&str, String)> {
    let number_end =
        text.find(|char: char| !char.is_ascii_digit() && char != '.').unwrap_or(text.len());
    let number: f64 = text[..number_end]
        .parse()
        .map_err(|_| (&text[..number_end], "there is no number".to_string()))?;
    let suffix = text[number_end..].trim_start();
    let scales: &[(&str, f64)] = match unit {
        Unit::Nanoseconds => &[("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)],
        Unit::PerSecond => {
            &[("", 1.0), ("k", 1e3), ("M", 1e6), ("/s", 1.0), ("k/s", 1e3), ("M/s", 1e6)]
        }
        Unit::Count => &[("", 1.0), ("k", 1e3), ("M", 1e6)],
        Unit::Share => &[("%", 0.01)],
    };
    match scales.iter().find(|(name, _)| *name == suffix) {
        Some((_, scale)) => Ok(number * scale),
        None => {
            let needed = match unit {
                Unit::Nanoseconds => "a time has one of the units us, ms, s",
                Unit::PerSecond => {
                    "a rate is a number a second, with k for thousands or M for millions"
                }
                Unit::Count => "a count is a number, with k for thousands or M for millions",
                Unit::Share => "a share is in %",
            };
            let place = if suffix.is_empty() { &text[..number_end] } else { suffix };
            Err((place, needed.into()))
        }
    }
}

/// The percentile that a text names, as 99.9 of `p99.9`; `None` where it names none.
///
/// # Errors
/// Where there is no such percentile.
pub fn percentile(text: &str) -> Option<Result<f64, String>> {
    let digits = text.strip_prefix('p')?;
    let is_decimal = digits.starts_with(|first: char| first.is_ascii_digit())
        && digits.chars().all(|char| char.is_ascii_digit() || char == '.');
    let percentile: f64 = digits.parse().ok().filter(|_| is_decimal)?;
    Some(if percentile > 0.0 && percentile < 100.0 {
        Ok(percentile)
    } else {
        Err("a percentile lies between p0 and p100".into())
    })
}

/// The one of these words that somebody meant who wrote another, as advice to be put behind
/// what is wrong; empty where none is near.
pub fn did_you_mean<'a>(written: &str, words: impl IntoIterator<Item = &'a str>) -> String {
    let near = words.into_iter().map(|word| (strsim::osa_distance(written, word), word));
    let allowed = (written.chars().count() / 3).clamp(1, 3);
    let nearest = near.filter(|(steps, _)| (1..=allowed).contains(steps)).min();
    nearest.map_or_else(String::new, |(_, word)| format!("; did you mean {word}?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_word_is_told_from_another_one() {
        let mean = |written| did_you_mean(written, ["rate", "client_cpu", "errors", "p99"]);
        assert_eq!(mean("rat"), "; did you mean rate?");
        assert_eq!(mean("cleint_cpu"), "; did you mean client_cpu?");
        assert_eq!(mean("error"), "; did you mean errors?");
        assert_eq!(mean("p999"), "; did you mean p99?");
        assert_eq!(mean("throughput"), "", "nobody means any of these by that");
    }

    #[test]
    fn a_part_is_marked_where_it_stands() {
        let comparison = Comparison::split(" ä.rate  >= 5 ms ", "", "").unwrap();
        assert_eq!((comparison.left, comparison.right), ("ä.rate", "5 ms"));
        assert_eq!(comparison.operator, Operator::GreaterOrEqual);
        let complaint = comparison.complain(&comparison.right[2..], "wrong").to_string();
        assert_eq!(complaint, "wrong\n    ä.rate  >= 5 ms\n                 ^^");
    }
}
