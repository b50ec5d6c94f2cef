//! What stores kept where they were cut off: a line a store, alike in all forms of a report.

use result::Run;
use result::durability::{CutVerdict, Durability, Promise, Rung, RungSeen};

use crate::contenders;
use crate::durability::{lost, seconds, word};
use crate::text::visible;
use crate::units;

/// What the lines stand below.
pub const TITLE: &str = "What stores survive";
/// What they mean.
pub const MEANING: &str = "Each store was written to, cut off, started again on the same data, and \
    read back, before it was timed. Only stores that survive the same are compared. Where \
    a store lost writes, harder ways of cutting it off weren't tried.";
/// The heads of the columns.
pub const HEADS: [&str; 6] =
    ["store", "its process dies", "its machine stops", "the power goes", "its word", "it survives"];

/// A cell for each column, a line a store, those first that lost least; none where nobody
/// looked.
pub fn lines(run: &Run) -> Vec<[String; 6]> {
    let mut stores: Vec<&Durability> = run.durability.iter().collect();
    stores.sort_by(|a, b| {
        b.classes().cmp(&a.classes()).then(longest_loss_s(a).total_cmp(&longest_loss_s(b)))
    });
    stores.into_iter().map(|seen| line(run, seen)).collect()
}

/// The longest time over which a store lost writes, in seconds; 0 where it lost none.
fn longest_loss_s(seen: &Durability) -> f64 {
    seen.rungs.iter().filter_map(RungSeen::longest_loss_s).fold(0.0, f64::max)
}

fn line(run: &Run, seen: &Durability) -> [String; 6] {
    let [process, machine, power] = Rung::ALL.map(|rung| {
        let of_rung = seen.rungs.iter().find(|seen| seen.rung == rung);
        of_rung.map_or_else(|| units::NOTHING.into(), what)
    });
    let words: Vec<Promise> = seen.rungs.iter().map(RungSeen::promise).collect();
    let has = |word| words.contains(&word);
    let word = match (has(Promise::Broken), has(Promise::Kept), has(Promise::NotTried)) {
        (true, ..) => "broken",
        (_, true, false) => "kept",
        (_, true, true) => "kept as far as tried",
        (_, false, true) => "not tried: longer than the writing",
        (_, false, false) => "promises nothing",
    };
    let class = seen.classes().survives();
    let who = contenders::title(run, &seen.contender).into_owned();
    [who, process, machine, power, word.into(), class]
}

/// What one rung showed: `lost, 5 of 5 cuts: at most 31,036 of 125,381, over at most 422 ms`.
fn what(seen: &RungSeen) -> String {
    let cuts = units::of(seen.cuts.len() as u64, "cut");
    let verdict = word(&seen.verdict);
    match &seen.verdict {
        CutVerdict::NotChecked(why) => format!("{verdict}: {}", visible(why)),
        CutVerdict::Kept => format!("{verdict}, {cuts}"),
        _ => {
            let most = seen.most_lost().map(|cut| {
                let over = seen.longest_loss_s();
                let over = over.map(|span| format!(", over at most {}", seconds(span)));
                format!(": at most {}{}", lost(cut), over.unwrap_or_default())
            });
            let worst = seen.worst_cuts();
            format!("{verdict}, {worst} of {cuts}{}", most.unwrap_or_default())
        }
    }
}
