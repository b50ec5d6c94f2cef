//! Whether what is doubted of two rows can change what was found of them.

use result::finding::Verdict;
use result::outcome::{Estimate, Row};

/// Whether the order of two ranked rows holds whatever is doubted of them. It does where the
/// near end of the interval of their ratio is farther from equal than all doubts together can
/// move it.
pub(super) fn cannot_change(first: &Row, row: &Row, ratio: &Estimate) -> bool {
    let interval_and_most = ratio.interval.zip(at_most(first, row));
    interval_and_most.is_some_and(|((low, high), most)| low.max(1.0 / high) > most)
}

/// By which factor all doubts of two rows together may move their ratio; `None` where one of them
/// is without bound. Each doubt counts by the most that its check says, and those of both rows
/// against what was found. What both rows have in common counts twice, which errs on the side of
/// doubt.
pub(super) fn at_most(first: &Row, second: &Row) -> Option<f64> {
    Some(doubts(first)? * doubts(second)?)
}

/// By which factor all doubts about a row may move its figure at most; `None` where one of
/// them is without bound.
fn doubts(row: &Row) -> Option<f64> {
    let suspect = row.findings.iter().filter(|it| it.verdict == Verdict::Suspect);
    suspect.map(|it| it.off_by_max).product()
}

#[cfg(test)]
mod tests {
    use result::finding::Finding;

    use super::*;
    use crate::samples::suspect;

    fn row(doubts: &[Option<f64>]) -> Row {
        let findings = doubts.iter().map(|&off_by_max| Finding { off_by_max, ..suspect("steady") });
        Row {
            contender: "a".into(),
            limit: None,
            figures: Default::default(),
            standings: Default::default(),
            verdict: Verdict::Suspect,
            findings: findings.collect(),
        }
    }

    fn holds(interval: Option<(f64, f64)>, first: &[Option<f64>], second: &[Option<f64>]) -> bool {
        let (at_least, at_most, blocks) = (false, false, Vec::new());
        let ratio = Estimate { median: 0.3, interval, at_least, at_most, blocks };
        cannot_change(&row(first), &row(second), &ratio)
    }

    #[test]
    fn an_order_holds_where_all_doubts_together_are_less_than_the_lead() {
        let third = Some((0.30, 0.33));
        assert!(holds(third, &[Some(1.2), Some(1.1)], &[Some(1.5)]));
        assert!(!holds(third, &[Some(1.2), Some(1.1)], &[Some(2.5)]), "all of them can");
        assert!(holds(Some((3.0, 3.3)), &[Some(1.5)], &[]), "the less, the better");
        assert!(!holds(Some((3.0, 3.3)), &[Some(3.1)], &[]), "the near end counts");
        assert!(!holds(Some((0.9, 1.1)), &[], &[]), "they may be equal");
    }

    #[test]
    fn doubt_without_a_bound_or_a_ratio_without_an_interval_can_change_any_order() {
        assert!(!holds(Some((0.01, 0.02)), &[None], &[]));
        assert!(!holds(None, &[], &[]));
    }
}
