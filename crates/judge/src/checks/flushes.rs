//! Did the store flush its disk while it was timed as it has to by its class?

use histogram::median;
use result::durability::Class;
use result::evidence::{Evidence, Work};
use result::figure::FLUSHES;

use super::check::{Check, RowSeen, Scope, Word};

/// Share of the flushes that there have to be: the window in which they are counted is longer than
/// that of the writes.
const SHARE_MIN: f64 = 0.8;
/// Operations that change what a store has.
const CHANGES: [&str; 2] = ["set", "delete"];

pub(super) const FLUSHES_CHECK: Check = Check {
    id: "flushes",
    signal: "Flushes of the disk a second under load, whoever asked for them, beside the acknowledged writes a second divided by the requests that may have been under way at once (connections × pipeline).",
    threshold: "of a store that survives a power cut, 80 % of so many; suspect where it survives a machine's stop, and it isn't known that it survives no more",
    why: "A write survives a power cut if the disk was flushed between the write and its acknowledgement. One flush covers no more writes than were under way. A store with fewer flushes didn't wait for them while it was timed, though it did when it was cut off. What survives a machine's stop alone may be written past the kernel's cache without a flush. Of other programs there may be more flushes, never fewer.",
    fix: "Look for what the store does else when it is timed: other settings, another folder, a disk that takes no flushes. Run `bakeoff durability` with the command of the trial.",
    scope: Scope::Row(look),
};

fn look(row: &RowSeen) -> Option<Word> {
    let classes = row.classes.filter(|it| it.least >= Some(Class::Machine))?;
    if classes.known() == Some(Class::Machine) {
        return None;
    }
    let stores = || row.of(&row.contender.name).map(|trial| &trial.evidence);
    if !stores().filter_map(|it| it.work.as_ref()).any(changes) {
        return None;
    }
    let seen: Option<Vec<(f64, f64)>> = stores().map(flushes_and_due).collect();
    let Some(seen) = seen.filter(|seen| !seen.is_empty()) else {
        return Some(Word::not_checked(
            "The flushes of the disk, or the writes under way, are not known.",
        ));
    };
    let (flushes, due): (Vec<f64>, Vec<f64>) = seen.into_iter().unzip();
    let (flushes, due) = (median(&flushes)?, median(&due)?);
    let value = format!("{flushes:.0} flushes a second, {due:.0} due at least");
    let says = "It acknowledged more writes than its flushes can cover.";
    Some(if flushes >= SHARE_MIN * due {
        Word::valid(value, "Its flushes can cover the writes that it acknowledged.")
    } else if classes.known() == Some(Class::Power) {
        Word::invalid(value, says)
    } else {
        Word::suspect(value, says)
    })
}

fn changes(work: &Work) -> bool {
    work.operations.iter().any(|it| CHANGES.contains(&&*it.operation))
}

/// Flushes a second, and the fewest that cover what was acknowledged.
fn flushes_and_due(evidence: &Evidence) -> Option<(f64, f64)> {
    let work = evidence.work.as_ref().filter(|work| work.seconds > 0.0)?;
    let store = evidence.store.as_ref()?;
    let changes = work.operations.iter().filter(|it| CHANGES.contains(&&*it.operation));
    let writes: u64 = changes.map(|it| it.service_us.count).sum();
    let under_way = store.under_way_max.filter(|&it| it > 0)?;
    let due = writes as f64 / work.seconds / under_way as f64;
    Some((*work.result.get(FLUSHES)?, due))
}

#[cfg(test)]
mod tests {
    use result::durability::Classes;
    use result::evidence::{OperationSeen, Percentiles, StoreSeen};
    use result::finding::{Finding, Verdict};

    use super::super::sound::field;
    use super::*;

    /// A store of this class with 50,000 writes a second on 50 connections, and so many flushes.
    fn word(least: Class, most: Class, flushes: Option<f64>) -> Option<Finding> {
        let mut field = field();
        field.classes = Some(Classes { least: Some(least), most });
        field.each("a", |evidence| {
            let service_us = Percentiles { count: 200_000, ..Percentiles::default() };
            let operation = "set".into();
            let seen = OperationSeen { operation, service_us, ..OperationSeen::default() };
            evidence.store = Some(StoreSeen { under_way_max: Some(50), ..StoreSeen::default() });
            let work = evidence.work.as_mut().unwrap();
            work.operations = vec![seen];
            work.result.extend(flushes.map(|flushes| (FLUSHES.to_string(), flushes)));
        });
        field.word_if_any(&FLUSHES_CHECK, "a")
    }

    /// Else a store that syncs only where it is cut off is ranked first among those that survive
    /// a power cut.
    #[test]
    fn writes_that_no_flush_covers_make_the_figures_invalid() {
        let of = |flushes| word(Class::Power, Class::Power, Some(flushes)).unwrap();
        assert_eq!(of(0.0).verdict, Verdict::Invalid);
        assert_eq!(of(799.0).verdict, Verdict::Invalid);
        assert_eq!(of(801.0).verdict, Verdict::Valid);
        assert_eq!(of(0.0).value, "0 flushes a second, 1000 due at least");
    }

    #[test]
    fn who_needs_no_flush_is_asked_for_none() {
        let open = word(Class::Machine, Class::Power, Some(0.0)).unwrap();
        assert_eq!(open.verdict, Verdict::Suspect, "it may write past the kernel's cache");
        assert_eq!(word(Class::Machine, Class::Machine, Some(0.0)), None);
        assert_eq!(word(Class::Process, Class::Power, Some(0.0)), None);
        let unknown = word(Class::Power, Class::Power, None).unwrap();
        assert_eq!(unknown.verdict, Verdict::NotChecked);
    }
}
