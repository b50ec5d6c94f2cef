//! Did several contenders meet the same ceiling?

use super::{Check, RowSeen, Scope, Word};
use histogram::median;

/// Rates so near to each other, as a ratio, are the same.
const SAME_RATE: f64 = 1.02;
/// CPU times an answer so far apart, as a ratio, are not.
const OTHER_COST: f64 = 1.25;
/// So many at one rate are no chance.
const CONTENDERS_MIN: usize = 3;

pub(super) const ONE_CEILING: Check = Check {
    id: "one-ceiling",
    signal: "In a closed loop: contenders whose rates lie within 2 % of this one's, and how far apart their CPU times a request are.",
    threshold: "no three contenders within 2 % of each other whose CPU time a request differs by 25 % or more",
    why: "The rate of a saturated server is its cores by its CPU time a request. So servers that differ in one differ in the other. If three have one rate and different costs, the rate is that of something that they share. In 2009 it was the client, and Erlang and Java looked alike. Two may be equal by chance. 25 % is more than noise.",
    fix: "Look at what they share: the client, the network, a lock in the kernel; give the client more cores, and compare CPU time a request instead.",
    scope: Scope::Row(|compared| may_be_one(compared).then(|| look(compared))),
};

/// In an open loop one rate for all is what was asked for.
fn may_be_one(compared: &RowSeen) -> bool {
    !compared.is_open_loop() && compared.contenders.len() >= CONTENDERS_MIN
}

fn look(compared: &RowSeen) -> Word {
    let figures = |name: &str| {
        let figures = compared.of(name).filter_map(|trial| {
            let work = trial.evidence.work.as_ref().filter(|work| work.done > 0)?;
            // Less than the kernel counts is no cost to compare.
            let cpu_s = trial.evidence.contender_cpu_s().filter(|&it| it > 0.0)?;
            Some((work.rate, cpu_s / work.done as f64))
        });
        let (rates, costs): (Vec<f64>, Vec<f64>) = figures.unzip();
        median(&rates).zip(median(&costs))
    };
    let Some((rate, _)) = figures(&compared.contender.name) else {
        return Word::not_checked("The contender's CPU time is not known.");
    };
    let costs: Vec<f64> = compared
        .contenders
        .iter()
        .filter_map(|it| figures(&it.name))
        .filter(|(other, _)| other.max(rate) / other.min(rate) <= SAME_RATE)
        .map(|(_, cost)| cost)
        .collect();
    let largest = costs.iter().copied().fold(f64::MIN, f64::max);
    let smallest = costs.iter().copied().fold(f64::MAX, f64::min);
    let apart = largest / smallest;
    let others = costs.len() - 1;
    let value = format!("{others} others at its rate, CPU time up to {apart:.2} times apart");
    if costs.len() >= CONTENDERS_MIN && apart >= OTHER_COST {
        Word::suspect(
            value,
            "Contenders of different cost reached one rate: something that they share was the limit.",
        )
    } else {
        Word::valid(value, "No limit that several contenders share was seen.")
    }
}

#[cfg(test)]
mod tests {
    use result::finding::Verdict;
    use result::plan::Pace;

    use super::super::tests::field;
    use super::*;

    /// The word on `a` where these have the same rate at these CPU seconds.
    fn with(cpu_s: &[(&str, f64)]) -> Verdict {
        let mut field = field();
        for (name, cpu_s) in cpu_s {
            field.each(name, |evidence| {
                evidence.server_cpu_s = Some(*cpu_s);
                evidence.work.as_mut().unwrap().rate = 50_000.0;
            });
        }
        field.word(&ONE_CEILING, "a").verdict
    }

    #[test]
    fn three_of_different_cost_at_one_rate_cast_doubt() {
        assert_eq!(with(&[("a", 3.9), ("b", 3.0), ("c", 2.0)]), Verdict::Suspect);
        assert_eq!(with(&[("a", 3.9), ("b", 3.8), ("c", 3.9)]), Verdict::Valid, "equals");
        assert_eq!(with(&[("a", 3.9), ("b", 2.0)]), Verdict::Valid, "two may be chance");
    }

    #[test]
    fn two_contenders_or_one_rate_for_all_have_no_common_ceiling() {
        let mut field = field();
        for trial in &mut field.trials {
            trial.slot.setting.pace = Pace::Equal { percent: 80 };
        }
        assert_eq!(field.word_if_any(&ONE_CEILING, "a"), None);
        let mut field = super::super::tests::field();
        field.contenders.truncate(2);
        assert_eq!(field.word_if_any(&ONE_CEILING, "a"), None);
    }

    #[test]
    fn an_unknown_cpu_time_is_not_checked() {
        let mut field = field();
        field.each("a", |evidence| evidence.server_cpu_s = None);
        assert_eq!(field.word(&ONE_CEILING, "a").verdict, Verdict::NotChecked);
    }
}
