//! Whether two ways to measure the same agree.

use comfy_table::Table;
use histogram::median;
use judge::statistics::{log_ratios, median_interval};

use crate::page::markdown;

/// How far both may be apart, as a share: a record takes about 100 ns, and the loop around it some
/// of them, which isn't the same in both. A wrong count or clock would be farther off.
pub const APART_MAX: f64 = 0.1;
/// How wide a ratio's interval may be, as its one end by the other. One that is wider would have
/// anything in it.
pub const WIDE_MAX: f64 = 1.2;

/// One work of one contender, as both measured it.
#[derive(Debug, Default)]
pub struct Beside {
    /// Nanoseconds a record of each round: the lab's, and JMH's.
    pub rounds: Vec<(f64, f64)>,
}

/// What is said of both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// They agree.
    Holds,
    /// They are farther apart than they may be.
    Missed,
    /// What they differ by from round to round is too much to tell.
    TooWide,
    /// There are too few rounds for an interval.
    TooFew,
}

impl Verdict {
    fn word(self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::Missed => "MISSED",
            Verdict::TooWide => "not shown: the interval is too wide",
            Verdict::TooFew => "not shown: too few rounds",
        }
    }
}

impl Beside {
    /// The lab's time by JMH's: the median over rounds, and its interval.
    fn ratio(&self) -> Option<(f64, (f64, f64))> {
        let ratios = log_ratios(&self.rounds);
        let (low, high) = median_interval(&ratios)?;
        Some((median(&ratios)?.exp(), (low.exp(), high.exp())))
    }

    /// They agree where the interval reaches into what they may be apart.
    pub fn verdict(&self) -> Verdict {
        match self.ratio() {
            None => Verdict::TooFew,
            Some((_, (low, high))) if high > low * WIDE_MAX => Verdict::TooWide,
            Some((_, (low, high))) if low <= 1.0 + APART_MAX && high >= 1.0 / (1.0 + APART_MAX) => {
                Verdict::Holds
            }
            Some(_) => Verdict::Missed,
        }
    }
}

/// A row for each, by contender and work.
pub fn table<'a>(all: impl IntoIterator<Item = (&'a str, &'a str, &'a Beside)>) -> Table {
    let mut table = markdown();
    table.set_header(["contender", "work", "the lab", "JMH", "the lab / JMH", "rounds", ""]);
    for (contender, work, beside) in all {
        let of = |values: Vec<f64>| {
            let between = median_interval(&values);
            let between = between.map(|(low, high)| format!(" ({low:.1} to {high:.1})"));
            median(&values).map(|it| format!("{it:.1} ns{}", between.unwrap_or_default()))
        };
        let (lab, jmh) = beside.rounds.iter().copied().unzip();
        let ratio =
            beside.ratio().map(|(it, (low, high))| format!("{it:.3} ({low:.3} to {high:.3})"));
        let cells = [of(lab), of(jmh), ratio].map(|cell| cell.unwrap_or_else(|| "–".into()));
        let [lab, jmh, ratio] = cells;
        let rounds = beside.rounds.len().to_string();
        let verdict = beside.verdict().word();
        table.add_row([contender, work, &lab, &jmh, &ratio, &rounds, verdict]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With these ratios, on a machine that changes from round to round.
    fn beside(ratios: &[f64]) -> Beside {
        let jmh = [200.0, 300.0, 210.0, 190.0, 250.0, 205.0];
        Beside { rounds: ratios.iter().zip(jmh).map(|(ratio, jmh)| (ratio * jmh, jmh)).collect() }
    }

    #[test]
    fn what_a_round_does_to_both_parts_nobody() {
        assert_eq!(beside(&[1.0, 0.99, 1.01, 1.0, 1.02, 0.98]).verdict(), Verdict::Holds);
        assert_eq!(beside(&[1.09, 1.08, 1.095, 1.09, 1.08, 1.09]).verdict(), Verdict::Holds);
        assert_eq!(beside(&[0.92, 0.91, 0.92, 0.93, 0.91, 0.92]).verdict(), Verdict::Holds);
    }

    #[test]
    fn a_lab_that_counts_a_fifth_too_much_or_too_little_is_missed() {
        assert_eq!(beside(&[1.2, 1.19, 1.21, 1.2, 1.22, 1.18]).verdict(), Verdict::Missed);
        assert_eq!(beside(&[0.83, 0.84, 0.82, 0.83, 0.81, 0.85]).verdict(), Verdict::Missed);
    }

    #[test]
    fn what_noise_hides_isnt_shown() {
        assert_eq!(beside(&[0.8, 1.2, 1.0, 0.9, 1.3, 1.0]).verdict(), Verdict::TooWide);
        assert_eq!(beside(&[1.0; 5]).verdict(), Verdict::TooFew);
        let table = table([("java", "encode", &beside(&[1.0; 5]))]).to_string();
        assert!(table.contains("| –") && table.contains("not shown: too few rounds"), "{table}");
    }

    #[test]
    fn a_row_has_both_times_and_their_ratio() {
        let beside = Beside { rounds: vec![(202.0, 200.0); 6] };
        let table = table([("java", "encode", &beside)]).to_string();
        for cell in ["202.0 ns (202.0 to 202.0)", "200.0 ns (", "1.010 (1.010 to 1.010)", "holds"] {
            assert!(table.contains(cell), "{cell}:\n{table}");
        }
    }
}
