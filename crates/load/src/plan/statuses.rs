//! Which statuses of answers are good.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A set of statuses, of 200 to 999; by default those that report success, 200 to 299.
///
/// As text it is a list of statuses and ranges of them, as `200-299,304`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Statuses(
    /// Ascending, with a gap between each and the next; never empty.
    Vec<RangeInclusive<u16>>,
);

impl Statuses {
    /// One status; `None` where no answer proper has it.
    pub fn one(status: u16) -> Option<Statuses> {
        (LOWEST..=HIGHEST).contains(&status).then(|| Statuses(vec![status..=status]))
    }

    /// Whether it is one of them.
    #[inline]
    pub fn contains(&self, status: u16) -> bool {
        self.0.iter().any(|range| range.contains(&status))
    }

    /// Whether an answer with any of them may have a body.
    pub fn may_have_body(&self) -> bool {
        self.0.iter().cloned().flatten().any(|status| !has_no_body(status))
    }
}

/// The lowest status of an answer proper, and the highest of three digits.
const LOWEST: u16 = 200;
const HIGHEST: u16 = 999;

/// Whether an answer with this status ends with its head, whatever that says (RFC 9112,
/// section 6.3).
pub(crate) fn has_no_body(status: u16) -> bool {
    matches!(status, 101 | 204 | 304)
}

impl Default for Statuses {
    fn default() -> Statuses {
        Statuses(vec![200..=299])
    }
}

impl fmt::Display for Statuses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, range) in self.0.iter().enumerate() {
            let comma = if nth > 0 { "," } else { "" };
            let (first, last) = (range.start(), range.end());
            if first == last {
                write!(f, "{comma}{first}")?
            } else {
                write!(f, "{comma}{first}-{last}")?
            }
        }
        Ok(())
    }
}

impl FromStr for Statuses {
    type Err = String;

    fn from_str(text: &str) -> Result<Statuses, String> {
        let mut ranges = text.split(',').map(range).collect::<Result<Vec<_>, _>>()?;
        ranges.sort_by_key(|range| *range.start());
        let mut joined: Vec<RangeInclusive<u16>> = Vec::new();
        for range in ranges {
            match joined.last_mut() {
                Some(last) if *range.start() <= last.end() + 1 => {
                    *last = *last.start()..=*last.end().max(range.end());
                }
                _ => joined.push(range),
            }
        }
        Ok(Statuses(joined))
    }
}

impl TryFrom<String> for Statuses {
    type Error = String;

    fn try_from(text: String) -> Result<Statuses, String> {
        text.parse()
    }
}

impl From<Statuses> for String {
    fn from(statuses: Statuses) -> String {
        statuses.to_string()
    }
}

/// `304` or `200-299`.
fn range(text: &str) -> Result<RangeInclusive<u16>, String> {
    let text = text.trim();
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (status(first)?, status(last)?);
    if first > last {
        return Err(format!("\"{text}\" goes downwards: write {last}-{first}"));
    }
    Ok(first..=last)
}

fn status(text: &str) -> Result<u16, String> {
    let text = text.trim();
    let digits = text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(100..LOWEST) if digits => Err(format!(
            "{text} is the status of an interim answer, which the answer proper follows: that one's \
             counts, from {LOWEST} on"
        )),
        Ok(status @ LOWEST..=HIGHEST) if digits => Ok(status),
        _ => Err(format!(
            "\"{}\" is no status: give a list of statuses and ranges from {LOWEST} to {HIGHEST}, as \
             200-299,304",
            text.escape_debug()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> String {
        text.parse::<Statuses>().unwrap().to_string()
    }

    #[test]
    fn lists_and_ranges_are_read_and_written_alike() {
        for text in ["200", "304", "200-299", "200-299,304", "200,204,301-303,999"] {
            assert_eq!(read(text), text);
        }
        assert_eq!(read(" 304, 200 - 299 "), "200-299,304", "in order, whatever the order was");
        assert_eq!(read("200,201,202"), "200-202");
        assert_eq!(read("200-250,220-230,240-299,300"), "200-300");
        assert_eq!(Statuses::default().to_string(), "200-299");
        assert_eq!(Statuses::one(404).unwrap().to_string(), "404");
        assert_eq!(Statuses::one(103), None);
    }

    #[test]
    fn what_is_in_a_range_is_good_and_nothing_beside_it() {
        let statuses: Statuses = "200-202,304".parse().unwrap();
        let good: Vec<u16> = (0..=u16::MAX).filter(|&status| statuses.contains(status)).collect();
        assert_eq!(good, [200, 201, 202, 304]);
    }

    #[test]
    fn what_is_no_status_is_refused_with_the_reason() {
        let refused = |text: &str| text.parse::<Statuses>().unwrap_err();
        for text in ["100", "200,101", "199-200", "100-299"] {
            assert!(refused(text).contains("interim answer"), "{text}: {}", refused(text));
        }
        for text in ["", ",", "200,", "2xx", "20", "2000", "099", "0200", "+200", "200-", "-200"] {
            assert!(refused(text).contains("is no status"), "{text}: {}", refused(text));
        }
        assert_eq!(refused("299-200"), "\"299-200\" goes downwards: write 200-299");
    }

    #[test]
    fn only_answers_that_have_a_body_can_hold_a_text() {
        for (text, may) in [("204", false), ("204,304", false), ("200,304", true), ("404", true)] {
            assert_eq!(text.parse::<Statuses>().unwrap().may_have_body(), may, "{text}");
        }
    }
}
