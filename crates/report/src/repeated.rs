//! Comparisons that were set aside and made again, because others used the machine.

use result::plan::Setting;
use result::{Run, Trial};

use crate::list::entry;
use crate::units;
use crate::words::and;

/// A comparison that was set aside, to be made again, because others used the machine: a
/// block's trials under one load.
pub struct Repeated<'a> {
    /// The block, from 0.
    pub block: u32,
    /// The setting.
    pub setting: &'a Setting,
    /// The trials that were set aside, in the order of measuring.
    pub aside: Vec<&'a Trial>,
}

impl Repeated<'_> {
    /// Whether that came to pass: a run may be stopped before.
    pub fn is_made_again(&self, run: &Run) -> bool {
        let is_there = |aside: &&Trial| run.trials.iter().any(|it| it.slot == aside.slot);
        self.aside.iter().all(is_there)
    }

    /// What others took of the machine, at most, in words.
    pub fn reason(&self) -> String {
        let most = |of: fn(&Trial) -> Option<f64>| {
            self.aside.iter().filter_map(|trial| of(trial)).max_by(f64::total_cmp)
        };
        let others = most(|trial| trial.evidence.others_near_cores())
            .map(|cores| format!("others used up to {} cores", units::plain(cores)));
        let steal = most(|trial| trial.evidence.steal_share)
            .map(|share| format!("the host took up to {} of the time", units::percent(share)));
        and(&others.into_iter().chain(steal).collect::<Vec<_>>())
    }
}

/// The comparisons that were set aside, in block order.
pub fn repeated(run: &Run) -> Vec<Repeated<'_>> {
    let mut repeated: Vec<Repeated> = Vec::new();
    for trial in &run.disturbed {
        let (block, setting) = (trial.slot.block, &trial.slot.setting);
        let comparison = entry(
            &mut repeated,
            |it| (it.block, it.setting) == (block, setting),
            || Repeated { block, setting, aside: vec![] },
        );
        comparison.aside.push(trial);
    }
    repeated.sort_by_key(|it| (it.block, it.setting.clone()));
    repeated
}
