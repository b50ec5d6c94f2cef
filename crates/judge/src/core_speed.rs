//! How fast the cores were, block by block: over a run they may slow down or speed up.

use std::collections::BTreeMap;

use result::Trial;

use histogram::median;

/// Block by block, in the order of measuring, the speed of the cores that contenders ran
/// on, as far as nobody else had them; blocks in which it wasn't measured are left out. A
/// processor that wakes may be slow at first, so the speeds before a load and after it
/// count alike.
pub fn by_block<'a>(trials: impl Iterator<Item = &'a Trial>) -> Vec<f64> {
    let mut blocks: BTreeMap<u32, (&str, Vec<f64>)> = BTreeMap::new();
    for trial in trials {
        let speeds = trial.evidence.core_speeds.iter();
        let whole = speeds.flat_map(|it| [it.whole_before, it.whole_after]).flatten();
        let first = || (trial.started.as_str(), Vec::new());
        let (started, speeds) = blocks.entry(trial.slot.block).or_insert_with(first);
        *started = trial.started.as_str().min(started);
        speeds.extend(whole);
    }
    let mut blocks: Vec<_> = blocks.into_values().collect();
    blocks.sort_by_key(|(started, _)| *started);
    blocks.iter().filter_map(|(_, speeds)| median(speeds)).collect()
}
