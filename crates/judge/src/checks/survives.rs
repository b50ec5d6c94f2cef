//! Is it known what the store survives?

use result::durability::{Class, Classes};
use result::finding::{Finding, Verdict};

use super::check::{Check, RowSeen, Scope, Word};

pub(super) const SURVIVES: Check = Check {
    id: "survives",
    signal: "The class of a store that was cut off: what it survives at least, and at most. The file system that its data lay on while it was timed.",
    threshold: "both ends are the same; timed on a disk, where it survives more than its own crash",
    why: "A store that syncs every write and one that never does differ tenfold in throughput. Both survive their own crash. What tells them apart is a rung that couldn't be checked, so the one may be ranked before the other for what it leaves out. On a file system in memory (tmpfs, ramfs, an overlay on one) a sync returns at once. Many distributions have /tmp there. A store that syncs every write then has the rate of one that never does, beside a class that was tried on a disk.",
    fix: "Run it where all rungs can be checked (docs/durability.md: `machine` and `power` need root, loop devices, `mkfs.ext4` and FUSE). Which rung wasn't, and why, stands in the list of what stores survive.",
    scope: Scope::Row(|row| {
        let classes = row.classes?;
        Some(timed_in_memory(row, classes).unwrap_or_else(|| class(classes)))
    }),
};

/// A store that waits for its disk, timed where there is none.
fn timed_in_memory(row: &RowSeen, classes: Classes) -> Option<Word> {
    let stores = row.of(&row.contender.name).filter_map(|trial| trial.evidence.store.as_ref());
    let mut disks = stores.filter_map(|store| store.file_system.as_ref());
    let memory = disks.find(|it| it.in_memory && classes.least > Some(Class::Process))?;
    let says = "What it survives was tried on a disk. It was timed on a file system in memory, \
                where a sync costs nothing.";
    let word = Word::invalid(format!("{}, timed on {}", classes.survives(), memory.name), says);
    Some(word.against("timed on a disk, where it survives more than its own crash").advise(
        "Set `TMPDIR` to a folder on a disk. Where /var/tmp is on one, a run takes that by itself.",
    ))
}

fn class(classes: Classes) -> Word {
    match classes.known() {
        Some(class) => Word::valid(class.survives(), "What it survives was tried."),
        None => Word::suspect(
            classes.survives(),
            "A rung that tells was not checked, so it isn't known which stores survive the same.",
        )
        .against("both ends are the same"),
    }
}

/// Whether a finding says that it isn't known of which class a store is.
pub(crate) fn is_of_no_class(finding: &Finding) -> bool {
    finding.check == SURVIVES.id && finding.verdict >= Verdict::Suspect
}

#[cfg(test)]
mod tests {
    use result::evidence::{FileSystem, StoreSeen};

    use super::super::sound::field;
    use super::*;

    #[test]
    fn a_class_with_two_ends_casts_doubt_and_who_was_never_cut_off_has_none() {
        let word = |least, most| {
            let mut field = field();
            field.classes = Some(Classes { least, most });
            field.word(&SURVIVES, "a")
        };
        assert_eq!(word(Some(Class::Power), Class::Power).verdict, Verdict::Valid);
        let doubt = word(Some(Class::Process), Class::Power);
        assert_eq!(doubt.verdict, Verdict::Suspect);
        assert_eq!(doubt.value, "its own crash, and perhaps a power cut");
        assert!(is_of_no_class(&doubt));
        assert_eq!(word(None, Class::Power).verdict, Verdict::Suspect);
        assert!(field().word_if_any(&SURVIVES, "a").is_none());
    }

    /// Else a store survives a power cut and has the rate of memory.
    #[test]
    fn who_waits_for_a_disk_is_timed_on_one() {
        let word = |class, in_memory| {
            let mut field = field();
            field.classes = Some(Classes { least: Some(class), most: class });
            field.each("a", |evidence| {
                let file_system = Some(FileSystem { name: "tmpfs".into(), in_memory });
                evidence.store = Some(StoreSeen { file_system, ..StoreSeen::default() });
            });
            field.word(&SURVIVES, "a")
        };
        for class in [Class::Machine, Class::Power] {
            assert_eq!(word(class, true).verdict, Verdict::Invalid);
            assert_eq!(word(class, false).verdict, Verdict::Valid);
        }
        assert_eq!(word(Class::Power, true).value, "a power cut, timed on tmpfs");
        assert_eq!(word(Class::Process, true).verdict, Verdict::Valid, "it waits for none");
    }
}
