//! Is it known what the store survives?

use result::durability::{Class, Classes};
use result::evidence::AfterCrash;
use result::finding::{Finding, Verdict};

use super::check::{Check, RowSeen, Scope, Word};

/// What a store that is timed is held to as well.
const NONE_LOST: &str = "no acknowledged write lost at SIGKILL";

pub(super) const SURVIVES: Check = Check {
    id: "survives",
    signal: "The class of a store that was cut off: what it survives at least, and at most. The file system that its data lay on while it was timed. Up to 4,352 keys that it had acknowledged, read after SIGKILL at the end of each trial that wrote.",
    threshold: "both ends are the same; timed on a disk, where it survives more than its own crash; no acknowledged write lost at SIGKILL",
    why: "A store that syncs every write and one that never does differ tenfold in throughput. Both survive their own crash. What tells them apart is a rung that couldn't be checked, so the one may be ranked before the other for what it leaves out. On a file system in memory (tmpfs, ramfs, an overlay on one) a sync returns at once. Many distributions have /tmp there. A store that syncs every write then has the rate of one that never does, beside a class that was tried on a disk. A store may tell by many signs that it is being cut off, and write to its disk only then. So the process that was timed is killed as well, if its class says that it survives that, and started again on its own folder with the same command. It is written to up to that moment, on as many connections as the load had (64 at most).",
    fix: "Run it where all rungs can be checked (docs/durability.md: `machine` and `power` need root, loop devices, `mkfs.ext4` and FUSE). Which rung wasn't, and why, stands in the list of what stores survive. Where a timed store lost writes, look for what it does else when it is timed: other settings, another folder, an answer that comes before the write.",
    scope: Scope::Row(|row| {
        let classes = row.classes?;
        let found = lost_when_timed(row).or_else(|| timed_in_memory(row, classes));
        Some(found.unwrap_or_else(|| class(classes)))
    }),
};

/// A store that lost, at the end of a trial, what its class says that it keeps.
fn lost_when_timed(row: &RowSeen) -> Option<Word> {
    let stores = row.of(&row.contender.name).filter_map(|trial| trial.evidence.store.as_ref());
    let (mut lost, mut keys, mut example) = (0, 0, None);
    for after in stores.filter_map(|store| store.after_crash.as_ref()) {
        match after {
            AfterCrash::Unread(why) => {
                let says = format!(
                    "Killed at the end of a trial and started again, it couldn't be read: {why}."
                );
                return Some(Word::invalid("not read after SIGKILL", says).against(NONE_LOST));
            }
            AfterCrash::Read(back) => {
                lost += back.lost();
                keys += back.keys;
                example = example.or(back.example.as_ref());
            }
        }
    }
    let example = example.filter(|_| lost > 0)?;
    let says = format!(
        "Killed at the end of a trial and started again, it lacks what it had acknowledged: \
         {example}."
    );
    let value = format!("{lost} of {keys} keys lost at SIGKILL");
    Some(Word::invalid(value, says).against(NONE_LOST))
}

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
    use result::evidence::{FileSystem, ReadBack, StoreSeen};

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

    /// Else a store that keeps its word only where it is cut off is ranked among those that keep it.
    #[test]
    fn who_loses_writes_as_it_was_timed_has_no_figure() {
        let word = |after: AfterCrash| {
            let mut field = field();
            field.classes = Some(Classes { least: Some(Class::Power), most: Class::Power });
            field.each("a", |evidence| {
                let after_crash = Some(after.clone());
                evidence.store = Some(StoreSeen { after_crash, ..StoreSeen::default() });
            });
            field.word(&SURVIVES, "a")
        };
        let read = |missing: u64, errors: u64| {
            let example = Some("key:7 isn't there".into());
            word(AfterCrash::Read(ReadBack {
                keys: 100,
                missing,
                errors,
                example,
                ..ReadBack::default()
            }))
        };
        assert_eq!(read(0, 0).verdict, Verdict::Valid);
        assert_eq!(read(3, 3).verdict, Verdict::Valid, "three weren't acknowledged");
        let lost = read(3, 0);
        assert_eq!(lost.verdict, Verdict::Invalid);
        assert_eq!(lost.value, "18 of 600 keys lost at SIGKILL", "three in each of six trials");
        assert!(lost.says.contains("key:7 isn't there"), "{}", lost.says);
        assert!(is_of_no_class(&lost));
        let unread = word(AfterCrash::Unread("it ended with exit code 1".into()));
        assert_eq!(unread.verdict, Verdict::Invalid);
        assert!(unread.says.contains("it ended with exit code 1"), "{}", unread.says);
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
