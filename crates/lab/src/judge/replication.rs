//! Are there trials enough, and is there a measure of their noise?

use super::{Check, Compared, Scope, Word};
use crate::statistics::{BLOCKS_MIN, log_ratios, median};

/// Identical entries that differ by more tell that others can't be told apart.
const TWINS_APART_MAX: f64 = 1.1;

pub(super) const REPLICATION: Check = Check {
    id: "replication",
    signal: "Blocks that have a figure of the contender, and by how much the two identical entries of the A/A pair differ, as the median over blocks.",
    threshold: "6 blocks or more; an A/A pair, within 10 %",
    why: "With five blocks no exact test can find a difference at the 5 % level, so there is neither an interval nor a rank. Identical entries that differ by more than 10 % show a machine on which differences of that size mean nothing.",
    fix: "Take a profile with 6 blocks or more; use a machine that nobody else uses.",
    scope: Scope::MachineOverRow(look),
};

fn look(compared: &Compared) -> Word {
    let own = compared.of(&compared.contender.name).filter(|trial| !trial.slot.twin);
    let blocks = own.filter(|trial| trial.evidence.load.is_some()).count();
    if blocks < BLOCKS_MIN {
        return Word::not_checked(format!("{blocks} blocks, of {BLOCKS_MIN} that a rank needs."))
            .advise("Take a profile with 6 blocks or more.");
    }
    let Some(twins) = twins_apart(compared) else {
        return Word::not_checked("There is no A/A pair to tell the noise by.");
    };
    let value = format!("{blocks} blocks, twins {:.1} % apart", (twins - 1.0) * 100.0);
    match twins <= TWINS_APART_MAX {
        true => Word::valid(value, "There are blocks enough, and their noise is known."),
        false => Word::suspect(value, "Even identical entries differ a lot on this machine."),
    }
}

fn twins_apart(compared: &Compared) -> Option<f64> {
    let figure = |trial: &result::Trial| {
        let load = trial.evidence.load.as_ref()?;
        match compared.is_open_loop() {
            // At one rate, what is compared is what an answer costs.
            true => Some(trial.evidence.server_cpu_s? / load.answers.max(1) as f64),
            false => Some(load.rate),
        }
    };
    let twins = compared.trials.iter().filter(|trial| trial.slot.twin);
    let pairs: Vec<(f64, f64)> = twins
        .filter_map(|twin| {
            let other = compared
                .of(&twin.slot.contender)
                .find(|other| !other.slot.twin && other.slot.block == twin.slot.block)?;
            figure(twin).zip(figure(other))
        })
        .collect();
    Some(median(&log_ratios(&pairs))?.abs().exp())
}

#[cfg(test)]
mod tests {
    use result::finding::Verdict;

    use super::super::tests::field;
    use super::*;

    fn with(factor: f64) -> Verdict {
        let mut field = field();
        for trial in field.trials.iter_mut().filter(|trial| trial.slot.twin) {
            trial.evidence.load.as_mut().unwrap().rate *= factor;
        }
        field.word(&REPLICATION, "a").verdict
    }

    #[test]
    fn twins_far_apart_cast_doubt_on_all() {
        assert_eq!(with(0.95), Verdict::Valid);
        assert_eq!(with(1.2), Verdict::Suspect);
        assert_eq!(with(0.8), Verdict::Suspect, "whichever is faster");
    }

    #[test]
    fn few_blocks_or_no_twin_are_not_checked() {
        let mut few = field();
        few.trials.retain(|trial| trial.slot.block < 5);
        assert_eq!(few.word(&REPLICATION, "a").verdict, Verdict::NotChecked);
        let mut no_twin = field();
        no_twin.trials.retain(|trial| !trial.slot.twin);
        assert_eq!(no_twin.word(&REPLICATION, "a").verdict, Verdict::NotChecked);
    }
}
