//! Are there trials enough, and is there a measure of their noise?

use result::Trial;
use result::figure::{CPU_US, RATE};
use result::finding::{Verdict, worst};
use result::outcome::identical_entries;

use super::check::{Check, RowSeen, Scope, Word};
use crate::figures;
use crate::statistics::{self, BLOCKS_MIN, log_ratios};

/// The largest noise floor on a machine that tells small differences. Of normal noise, the
/// floor of six blocks is 1.9 times the median difference of two identical entries, as
/// logarithms (a test of `statistics` has it): this stands for a median of 10 %.
const NOISE_FLOOR_MAX: f64 = 1.2;

pub(super) const REPLICATION: Check = Check {
    id: "replication",
    signal: "Blocks that have a figure of the contender, and the noise floor: up to how much two identical entries (the A/A pair) are apart. It is the far end of the 95 % interval of their median ratio, over the blocks in which neither is invalid.",
    threshold: "6 blocks or more; an A/A pair in as many, at most 20 % apart",
    why: "With five blocks no exact test can find a difference at the 5 % level, so there is neither an interval nor a rank. A difference up to the noise floor is a tie, whatever this check says. If their noise is normal, identical entries with a noise floor of 20 % over six blocks are less than 10 % apart in half of them. Such a machine tells only large differences. A trial that is invalid tells nothing of the noise.",
    fix: "Take a profile with 6 blocks or more; use a machine that nobody else uses.",
    scope: Scope::MachineOverRow(|compared| Some(look(compared))),
};

fn look(compared: &RowSeen) -> Word {
    let own = compared.of(&compared.contender.name).filter(|trial| !trial.slot.twin);
    let blocks = own.filter(|trial| trial.evidence.work.is_some()).count();
    if blocks < BLOCKS_MIN {
        return Word::not_checked(format!(
            "{blocks} of the {BLOCKS_MIN} blocks that a rank needs."
        ))
        .advise("Take a profile with 6 blocks or more.");
    }
    // At one rate, what is compared is what an answer costs.
    let figure = if compared.is_open_loop() { CPU_US } else { RATE };
    let figure = |trial: &Trial| Some(figures::value(trial, figure)?.value);
    let is_compared = |name: &str| compared.contenders.iter().any(|it| it.name == name);
    let floor = match noise_floor(compared.trials, is_compared, figure) {
        Ok(floor) => floor,
        Err(why) => return Word::not_checked(format!("The noise isn't known: {why}.")),
    };
    let value = format!("{blocks} blocks, {}", identical_entries(floor));
    if floor <= NOISE_FLOOR_MAX {
        Word::valid(value, "There are blocks enough. A smaller difference is a tie.")
    } else {
        Word::suspect(
            value,
            "This machine tells only large differences. A smaller difference is a tie.",
        )
        .off_by(floor)
    }
}

/// The noise floor of a figure under one load: the ratio, above 1, up to which two identical
/// entries differ; or why that isn't known.
///
/// The pair is one of those that are compared with each other. Stores of another class do other
/// work, and so have other noise: a sync to a disk scatters more than memory does. Where none of
/// those that are compared is a pair, the others' shows the noise of the machine: a store that is
/// alone in its class has none, nor had all but one class of an older run.
///
/// Ranks rest on it, so it is the one figure that is told of the noise, by this check and by
/// every report. The median difference of the two entries would be smaller, but nothing is
/// decided by it: contenders that are farther apart than that can tie.
pub fn noise_floor(
    trials: &[&Trial],
    is_compared: impl Fn(&str) -> bool,
    figure: impl Fn(&Trial) -> Option<f64>,
) -> Result<f64, &'static str> {
    let is_of_them = |trial: &&Trial| is_compared(&trial.slot.contender);
    let of_them: Vec<&Trial> = trials.iter().copied().filter(is_of_them).collect();
    let has_pair = of_them.iter().any(|trial| trial.slot.twin);
    let ratios = log_ratios_of_pairs(if has_pair { &of_them } else { trials }, figure)?;
    Ok(statistics::noise_floor(&ratios).expect("they are as many as an interval needs"))
}

/// Whether a trial of the A/A pair tells something of the noise: it saw load, and no
/// check calls it invalid.
pub fn stands(trial: &Trial) -> bool {
    trial.evidence.work.is_some() && worst(&trial.findings) != Verdict::Invalid
}

/// What the two identical entries under one load differ by in a figure, as the
/// logarithm of their ratio in each block in which both trials stand; or why these
/// are too few to tell the noise. Each block may have another contender's pair.
fn log_ratios_of_pairs(
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
    if by_block(&mut pairs.iter()).len() >= BLOCKS_MIN {
        Err("the A/A pair's figures are invalid")
    } else {
        Err("the A/A pair has figures in too few blocks")
    }
}

#[cfg(test)]
mod tests {
    use super::super::sound::{Field, field};
    use super::*;

    fn with(factor: f64) -> Verdict {
        let mut field = field();
        for trial in field.trials.iter_mut().filter(|trial| trial.slot.twin) {
            trial.evidence.work.as_mut().unwrap().rate *= factor;
        }
        field.word(&REPLICATION, "a").verdict
    }

    #[test]
    fn identical_entries_far_apart_cast_doubt_on_all() {
        assert_eq!(with(0.9), Verdict::Valid);
        assert_eq!(with(1.3), Verdict::Suspect);
        assert_eq!(with(0.7), Verdict::Suspect, "whichever is faster");
        let mut field = field();
        for trial in field.trials.iter_mut().filter(|trial| trial.slot.twin) {
            let factor = if trial.slot.block % 2 == 0 { 1.3 } else { 0.7 };
            trial.evidence.work.as_mut().unwrap().rate *= factor;
        }
        assert_eq!(field.word(&REPLICATION, "a").verdict, Verdict::Suspect, "now this, now that");
    }

    /// One block in which the pair is 60 % apart moves the noise floor, by which ranks decide,
    /// and not the median difference.
    #[test]
    fn the_figure_is_the_noise_floor_and_not_the_median_difference() {
        let mut field = field();
        let twin = field.trials.iter_mut().find(|trial| trial.slot.twin).unwrap();
        twin.evidence.work.as_mut().unwrap().rate *= 1.6;
        let word = field.word(&REPLICATION, "a");
        let value = "6 blocks, two identical entries (A/A pair) up to 35 % apart";
        assert_eq!((word.verdict, &*word.value), (Verdict::Suspect, value));
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
        assert_eq!(
            (word.verdict, &*word.value),
            (Verdict::Valid, "6 blocks, two identical entries (A/A pair) up to 0 % apart")
        );
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
