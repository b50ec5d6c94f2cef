//! Does it matter when a trial was made?

use std::collections::BTreeMap;

use result::Trial;
use result::plan::Contender;

use super::{Check, Scope, Word};
use crate::core_speed;
use crate::statistics::{BLOCKS_MIN, SIGNIFICANCE, sign_flip_test, slope, trend_test};
use histogram::median;

/// From first to last, as a ratio: what is allowed within a window as well.
const EFFECT_MAX: f64 = 1.1;

pub(super) const ORDER: Check = Check {
    id: "order",
    signal: "Rates under this load, each by its contender's median. How they change from the first trial of a block to its last, and from the run's first block to its last.",
    threshold: "both within 10 %, unless an exact test lets them pass as chance (by flipping signs of blocks, and by their order; more than 5 %)",
    why: "The order within a block is shuffled, and contenders are compared within blocks. So a machine that slows down hits all alike, and ratios stand. But a rate that depends on when it was measured is not the contender's alone. 10 % is what `steady` allows within a window.",
    fix: "Let the machine cool or come to rest between trials, look for what else runs at times, or take more blocks.",
    scope: Scope::MachineOverLoad(|contenders, trials| Some(look(contenders, trials))),
};

fn look(contenders: &[Contender], trials: &[&Trial]) -> Word {
    let blocks = blocks(contenders, trials);
    if blocks.len() < BLOCKS_MIN {
        return Word::not_checked(format!(
            "Fewer than {BLOCKS_MIN} blocks can't tell whether the order matters."
        ))
        .advise("Take a profile with 6 blocks or more.");
    }
    let first_to_last = |values: &[f64]| slope(values).map(|it| it * (values.len() - 1) as f64);
    let within: Vec<f64> = blocks.iter().filter_map(|block| first_to_last(block)).collect();
    let levels: Vec<f64> = blocks.iter().filter_map(|block| median(block)).collect();
    let within_by = median(&within).unwrap_or(0.0).exp();
    let over_run_by = first_to_last(&levels).unwrap_or(0.0).exp();
    let change = |ratio: f64| format!("{:+.1} %", (ratio - 1.0) * 100.0);
    let value =
        format!("{} within a block, {} over the run", change(within_by), change(over_run_by));
    let is_far = |ratio: f64| ratio.max(1.0 / ratio) > EFFECT_MAX;
    if is_far(within_by) && sign_flip_test(&within) <= SIGNIFICANCE {
        Word::suspect(value, "Rates depend on the place within a block.").off_by(within_by)
    } else if is_far(over_run_by) && trend_test(&levels) <= SIGNIFICANCE {
        let speeds = core_speed::by_block(trials.iter().copied());
        let speeds: Vec<f64> = speeds.iter().map(|it| it.ln()).collect();
        let own =
            first_to_last(&speeds).map(|it| format!(", its cores' own speed {}", change(it.exp())));
        let says = "The machine grew faster or slower during the run.";
        Word::suspect(value + &own.unwrap_or_default(), says).off_by(over_run_by)
    } else {
        Word::valid(value, "It doesn't matter when a trial was made.")
    }
}

/// When a trial began, whose text sorts as the time does, and its number.
type Place<'a> = (&'a str, u32);

/// Block by block the logarithms of rates by their contender's median, in the order of
/// measuring: a block that others disturbed is made again at the end, as what it was.
fn blocks(contenders: &[Contender], trials: &[&Trial]) -> Vec<Vec<f64>> {
    let rate = |trial: &Trial| Some(trial.evidence.work.as_ref()?.rate).filter(|&it| it > 0.0);
    let mut blocks: BTreeMap<u32, Vec<(Place, f64)>> = BTreeMap::new();
    for contender in contenders {
        let own = |trial: &&&Trial| trial.slot.contender == contender.name;
        let trials: Vec<_> = trials.iter().filter(own).collect();
        let rates: Vec<f64> = trials.iter().filter_map(|trial| rate(trial)).collect();
        let Some(usual) = median(&rates) else { continue };
        for trial in trials {
            if let Some(rate) = rate(trial) {
                let place = (trial.started.as_str(), trial.slot.number);
                blocks.entry(trial.slot.block).or_default().push((place, (rate / usual).ln()));
            }
        }
    }
    let mut blocks: Vec<_> = blocks.into_values().collect();
    blocks.iter_mut().for_each(|block| block.sort_by_key(|(place, _)| *place));
    blocks.sort_by_key(|block| block[0].0);
    let changes = |block: Vec<(_, f64)>| block.into_iter().map(|(_, change)| change).collect();
    blocks.into_iter().map(changes).collect()
}

#[cfg(test)]
mod tests {
    use result::finding::{Finding, Verdict};

    use super::super::tests::field;
    use super::*;

    /// The word on six blocks of four trials, where a rate depends on its
    /// number in the order of measuring.
    fn with(factor: impl Fn(u32) -> f64) -> Finding {
        let mut field = field();
        for trial in &mut field.trials {
            trial.evidence.work.as_mut().unwrap().rate *= factor(trial.slot.number);
        }
        field.word(&ORDER, "a")
    }

    #[test]
    fn a_machine_that_slows_down_casts_doubt() {
        let word = with(|number| 1.0 - 0.01 * f64::from(number));
        assert_eq!(word.verdict, Verdict::Suspect, "{word:?}");
        assert_eq!(word.says, "The machine grew faster or slower during the run.");
    }

    #[test]
    fn how_far_the_processors_themselves_slowed_down_is_said() {
        let mut field = field();
        for trial in &mut field.trials {
            let factor = 1.0 - 0.01 * f64::from(trial.slot.number);
            trial.evidence.work.as_mut().unwrap().rate *= factor;
            for speed in &mut trial.evidence.core_speeds {
                let whole = Some(900.0 * factor);
                (speed.whole_before, speed.whole_after) = (whole, whole);
            }
        }
        let value = field.word(&ORDER, "a").value;
        assert!(value.ends_with(" over the run, its cores' own speed -20.3 %"), "{value}");
        for trial in &mut field.trials {
            trial.evidence.core_speeds.clear();
        }
        assert!(field.word(&ORDER, "a").value.ends_with(" over the run"));
    }

    /// One that others disturbed is made again at the end.
    #[test]
    fn blocks_come_in_the_order_of_measuring() {
        let mut field = field();
        for trial in &mut field.trials {
            let made = if trial.slot.block == 0 { 6 } else { trial.slot.block };
            trial.started = format!("2026-11-23T0{made}:00:00Z");
            let factor = 1.0 - 0.04 * f64::from(made);
            trial.evidence.work.as_mut().unwrap().rate *= factor;
            for speed in &mut trial.evidence.core_speeds {
                (speed.whole_before, speed.whole_after) = (Some(900.0 * factor), None);
            }
        }
        let word = field.word(&ORDER, "a");
        assert_eq!(word.says, "The machine grew faster or slower during the run.");
        assert_eq!(
            word.value,
            "+0.0 % within a block, -20.8 % over the run, its cores' own speed -20.8 %"
        );
    }

    #[test]
    fn a_place_within_the_block_that_matters_casts_doubt() {
        let word = with(|number| if number.is_multiple_of(4) { 1.25 } else { 1.0 });
        assert_eq!(word.verdict, Verdict::Suspect, "{word:?}");
        assert_eq!(word.says, "Rates depend on the place within a block.");
    }

    #[test]
    fn small_effects_are_let_pass() {
        assert_eq!(with(|_| 1.0).verdict, Verdict::Valid);
        assert_eq!(with(|number| 1.0 - 0.003 * f64::from(number)).verdict, Verdict::Valid);
    }

    /// Two tests at 5 % each, of which only those with a large effect count.
    #[test]
    fn noise_is_let_pass_nine_times_of_ten() {
        let is_doubted = |seed| {
            let mut rng = fastrand::Rng::with_seed(seed);
            let noise: Vec<f64> = (0..24).map(|_| 0.8 + 0.4 * rng.f64()).collect();
            with(|number| noise[number as usize]).verdict == Verdict::Suspect
        };
        let doubted = (0..50).filter(|&seed| is_doubted(seed)).count();
        assert!(doubted <= 5, "{doubted} of 50 were doubted for noise alone");
    }

    #[test]
    fn few_blocks_are_not_checked() {
        let mut field = field();
        field.trials.retain(|trial| trial.slot.block < 5);
        assert_eq!(field.word(&ORDER, "a").verdict, Verdict::NotChecked);
    }
}
