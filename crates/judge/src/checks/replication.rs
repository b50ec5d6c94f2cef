//! Are there trials enough, and is there a measure of their noise?

use result::Trial;
use result::figure::{CPU_US, RATE};
use result::finding::{Verdict, worst};

use super::{Check, Compared, Scope, Word};
use crate::figures;
use crate::statistics::{BLOCKS_MIN, log_ratios, median};

/// Identical entries that differ by more tell that others can't be told apart.
const TWINS_APART_MAX: f64 = 1.1;

pub(super) const REPLICATION: Check = Check {
    id: "replication",
    signal: "Blocks that have a figure of the contender, and by how much the two identical entries of the A/A pair differ, as the median over the blocks in which neither is invalid.",
    threshold: "6 blocks or more; an A/A pair in as many, within 10 %",
    why: "With five blocks no exact test can find a difference at the 5 % level, so there is neither an interval nor a rank. Identical entries that differ by more than 10 % show a machine on which differences of that size mean nothing. A trial that is invalid tells nothing of them.",
    fix: "Take a profile with 6 blocks or more; use a machine that nobody else uses.",
    scope: Scope::MachineOverRow(|compared| Some(look(compared))),
};

fn look(compared: &Compared) -> Word {
    let own = compared.of(&compared.contender.name).filter(|trial| !trial.slot.twin);
    let blocks = own.filter(|trial| trial.evidence.work.is_some()).count();
    if blocks < BLOCKS_MIN {
        return Word::not_checked(format!("{blocks} blocks, of {BLOCKS_MIN} that a rank needs."))
            .advise("Take a profile with 6 blocks or more.");
    }
    // At one rate, what is compared is what an answer costs.
    let figure = if compared.is_open_loop() { CPU_US } else { RATE };
    let figure = |trial: &Trial| Some(figures::value(trial, figure)?.value);
    let ratios = match twin_ratios(compared.trials, figure) {
        Ok(ratios) => ratios,
        Err(why) => return Word::not_checked(format!("The noise isn't known: {why}.")),
    };
    // Neither is the faster one: what counts is how far apart they are, not in which order.
    let apart: Vec<f64> = ratios.iter().map(|ratio| ratio.abs()).collect();
    let twins = median(&apart).unwrap_or(0.0).exp();
    let value = format!("{blocks} blocks, twins {:.1} % apart", (twins - 1.0) * 100.0);
    match twins <= TWINS_APART_MAX {
        true => Word::valid(value, "There are blocks enough, and their noise is known."),
        false => Word::suspect(value, "Even identical entries differ a lot on this machine."),
    }
}

/// Whether a trial of the A/A pair tells something of the noise: it saw load, and no
/// check calls it invalid.
pub fn stands(trial: &Trial) -> bool {
    trial.evidence.work.is_some() && worst(&trial.findings) != Verdict::Invalid
}

/// What the two identical entries under one load differ by in a figure, as the
/// logarithm of their ratio in each block in which both trials stand; or why these
/// are too few to tell the noise. Each block may have another contender's pair.
pub fn twin_ratios(
    trials: &[&Trial],
    figure: impl Fn(&Trial) -> Option<f64>,
) -> Result<Vec<f64>, &'static str> {
    let twins: Vec<&Trial> = trials.iter().copied().filter(|trial| trial.slot.twin).collect();
    if twins.is_empty() {
        return Err("no A/A pair was measured");
    }
    let mut pairs: Vec<(&Trial, &Trial)> = twins
        .into_iter()
        .filter_map(|twin| {
            let other = trials.iter().find(|other| {
                !other.slot.twin
                    && other.slot.contender == twin.slot.contender
                    && other.slot.block == twin.slot.block
            })?;
            Some((twin, *other))
        })
        .collect();
    // A block that was made again after it had got another pair may have two that
    // stand. The first of them counts, or five blocks would do for six.
    pairs.sort_by_key(|(twin, _)| (twin.slot.block, twin.slot.number));
    let by_block = |pairs: &mut dyn Iterator<Item = &(&Trial, &Trial)>| -> Vec<(f64, f64)> {
        let figures = pairs
            .filter_map(|(twin, other)| Some((twin.slot.block, figure(twin).zip(figure(other))?)));
        let mut figures: Vec<(u32, (f64, f64))> = figures.collect();
        figures.dedup_by_key(|(block, _)| *block);
        figures.into_iter().map(|(_, figures)| figures).collect()
    };
    let mut sound = pairs.iter().filter(|(twin, other)| stands(twin) && stands(other));
    let ratios = log_ratios(&by_block(&mut sound));
    if ratios.len() >= BLOCKS_MIN {
        return Ok(ratios);
    }
    match by_block(&mut pairs.iter()).len() >= BLOCKS_MIN {
        true => Err("the A/A pair's figures are invalid"),
        false => Err("the A/A pair has figures in too few blocks"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Field, field};
    use super::*;

    fn with(factor: f64) -> Verdict {
        let mut field = field();
        for trial in field.trials.iter_mut().filter(|trial| trial.slot.twin) {
            trial.evidence.work.as_mut().unwrap().rate *= factor;
        }
        field.word(&REPLICATION, "a").verdict
    }

    #[test]
    fn twins_far_apart_cast_doubt_on_all() {
        assert_eq!(with(0.95), Verdict::Valid);
        assert_eq!(with(1.2), Verdict::Suspect);
        assert_eq!(with(0.8), Verdict::Suspect, "whichever is faster");
        let mut field = field();
        for trial in field.trials.iter_mut().filter(|trial| trial.slot.twin) {
            let factor = if trial.slot.block % 2 == 0 { 1.2 } else { 0.8 };
            trial.evidence.work.as_mut().unwrap().rate *= factor;
        }
        assert_eq!(field.word(&REPLICATION, "a").verdict, Verdict::Suspect, "now this, now that");
    }

    #[test]
    fn few_blocks_or_no_twin_are_not_checked() {
        let mut few = field();
        few.trials.retain(|trial| trial.slot.block < 5);
        assert_eq!(few.word(&REPLICATION, "a").verdict, Verdict::NotChecked);
        let mut no_twin = field();
        no_twin.trials.retain(|trial| !trial.slot.twin);
        let word = no_twin.word(&REPLICATION, "a");
        assert_eq!(word.verdict, Verdict::NotChecked);
        assert_eq!(word.says, "The noise isn't known: no A/A pair was measured.");
    }

    #[test]
    fn an_invalid_trial_of_the_pair_tells_nothing_of_the_noise() {
        for is_twin in [true, false] {
            let mut field = field();
            let is_it = |it: &&mut Trial| it.slot.contender == "b" && it.slot.twin == is_twin;
            let trial = field.trials.iter_mut().find(is_it).unwrap();
            trial.findings[0].verdict = Verdict::Invalid;
            let word = field.word(&REPLICATION, "a");
            assert_eq!(word.verdict, Verdict::NotChecked);
            assert_eq!(word.says, "The noise isn't known: the A/A pair's figures are invalid.");
        }
    }

    #[test]
    fn a_pair_without_figures_is_not_called_invalid() {
        let mut field = field();
        let mut twins = field.trials.iter_mut().filter(|trial| trial.slot.twin);
        twins.next().unwrap().evidence.work = None;
        let word = field.word(&REPLICATION, "a");
        assert_eq!(word.says, "The noise isn't known: the A/A pair has figures in too few blocks.");
    }

    /// Gives `c` a twin in this block.
    fn pair_another(field: &mut Field, block: u32) {
        let is_it = |it: &&Trial| it.slot.contender == "c" && it.slot.block == block;
        let mut twin = field.trials.iter().find(is_it).unwrap().clone();
        (twin.slot.number, twin.slot.twin) = (field.trials.len() as u32, true);
        field.trials.push(twin);
    }

    #[test]
    fn pairs_of_several_contenders_tell_the_noise_together() {
        let mut field = field();
        let twin = field.trials.iter_mut().find(|trial| trial.slot.twin).unwrap();
        twin.findings[0].verdict = Verdict::Invalid;
        let block = twin.slot.block;
        pair_another(&mut field, block);
        let word = field.word(&REPLICATION, "a");
        assert_eq!((word.verdict, &*word.value), (Verdict::Valid, "6 blocks, twins 0.0 % apart"));
    }

    #[test]
    fn two_pairs_of_one_block_dont_stand_for_another() {
        let mut field = field();
        pair_another(&mut field, 0);
        assert_eq!(field.word(&REPLICATION, "a").verdict, Verdict::Valid);
        field.trials.retain(|trial| !(trial.slot.twin && trial.slot.block == 3));
        let word = field.word(&REPLICATION, "a");
        assert_eq!(word.says, "The noise isn't known: the A/A pair has figures in too few blocks.");
    }
}
