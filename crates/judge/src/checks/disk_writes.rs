//! Does the contender write to disks or to its output while others don't?

use histogram::median;

use super::check::{Check, RowSeen, Scope, Word};

/// Bytes an answer: less than the shortest line of a log.
const WRITES: f64 = 10.0;

pub(super) const DISK_WRITES: Check = Check {
    id: "disk-writes",
    signal: "Bytes a good answer that the contender handed to disks within the window, or by which the files in the trial's own folder grew under load, whichever is more. Bytes a good answer that it wrote to its output under load. Both are compared with the others under the same load.",
    threshold: "less than 10 bytes an answer, or as much as every other contender's",
    why: "Of the warm-up only the bytes are counted. Its answers are assumed to have come as fast as those of the window. An access log that one server has on and the others have off is work that isn't compared. Its shortest line has more than 10 bytes. What a runtime writes now and then is far less an answer. If all contenders write, it is the study's own work. What a store writes to files is what it is asked to keep, so its output alone is looked at.",
    fix: "Switch the log off (nginx: `access_log off`), let all contenders write the same, or compare only those that do.",
    scope: Scope::Row(|compared| Some(look(compared))),
};

/// What a contender wrote, as far as it was counted.
struct Written {
    /// Bytes an answer: all, or the least that it can have been.
    bytes: f64,
    /// Whether it is all.
    is_whole: bool,
}

impl Written {
    /// `None` where nothing was counted.
    fn by(compared: &RowSeen, name: &str) -> Option<Written> {
        let mut is_whole = true;
        let each: Vec<f64> = compared
            .of(name)
            .filter_map(|trial| {
                let evidence = &trial.evidence;
                let work = evidence.work.as_ref()?;
                let to_disks = evidence.server_disk_write_bytes;
                let to_disks = to_disks.map(|bytes| bytes as f64 / work.done.max(1) as f64);
                let under_load = |bytes: Option<u64>| {
                    let (bytes, load_s) = bytes.zip(evidence.load_s)?;
                    Some(bytes as f64 / load_s / work.rate.max(1.0))
                };
                let to_output = under_load(evidence.server_output_bytes);
                if compared.kind.keeps_data() {
                    return to_output;
                }
                // A file system in memory hands nothing to a disk.
                let to_files = [to_disks, under_load(evidence.server_folder_bytes)];
                is_whole &= to_files.into_iter().chain([to_output]).all(|it| it.is_some());
                let to_files = to_files.into_iter().flatten().reduce(f64::max);
                (to_files.is_some() || to_output.is_some())
                    .then(|| to_files.unwrap_or(0.0) + to_output.unwrap_or(0.0))
            })
            .collect();
        median(&each).map(|bytes| Written { bytes, is_whole })
    }

    /// Whether it writes with each answer, if that is known.
    fn with_each(&self) -> Option<bool> {
        let does = self.bytes >= WRITES;
        (does || self.is_whole).then_some(does)
    }
}

fn look(compared: &RowSeen) -> Word {
    let unknown = || Word::not_checked("What the contender wrote couldn't be counted.");
    let Some(own) = Written::by(compared, &compared.contender.name) else { return unknown() };
    let value = format!("{:.1} bytes an answer", own.bytes);
    match own.with_each() {
        Some(true) => {}
        Some(false) if compared.kind.keeps_data() => {
            return Word::valid(value, "It wrote next to nothing to its output.");
        }
        Some(false) => return Word::valid(value, "It wrote next to nothing."),
        None => return unknown(),
    }
    let measured = |name: &str| compared.of(name).any(|trial| trial.evidence.work.is_some());
    let others: Vec<Option<bool>> = compared
        .others()
        .filter(|other| measured(&other.name))
        .map(|other| Written::by(compared, &other.name)?.with_each())
        .collect();
    if others.contains(&Some(false)) {
        Word::suspect(value, "It writes to disk with each answer, and others don't.")
    } else if others.is_empty() {
        Word::suspect(value, "It writes to disk with each answer.")
    } else if others.contains(&None) {
        Word::suspect(
            value,
            "It writes to disk with each answer. Whether all others do isn't known.",
        )
    } else {
        Word::valid(value, "All contenders write to disk.")
    }
}

#[cfg(test)]
mod tests {
    use result::evidence::Evidence;
    use result::finding::Verdict;

    use result::kind::Kind;

    use super::super::sound::{Field, field};
    use super::*;

    fn with(bytes: [u64; 3]) -> Verdict {
        let mut field = field();
        for (name, bytes) in ["a", "b", "c"].into_iter().zip(bytes) {
            field.each(name, |evidence| {
                evidence.server_disk_write_bytes =
                    Some(bytes * evidence.work.as_ref().unwrap().done);
            });
        }
        field.word(&DISK_WRITES, "a").verdict
    }

    #[test]
    fn a_log_that_others_dont_write_casts_doubt() {
        assert_eq!(with([90, 0, 0]), Verdict::Suspect);
        assert_eq!(with([90, 90, 0]), Verdict::Suspect, "one other doesn't");
        assert_eq!(with([90, 80, 200]), Verdict::Valid, "all do");
        assert_eq!(with([9, 0, 0]), Verdict::Valid);
    }

    /// Else those that store with another format than others are doubted for it.
    #[test]
    fn a_store_is_not_doubted_for_storing_and_is_for_a_log_on_its_output() {
        let with = |to_output: u64| {
            let mut field = Field { kind: Kind::Keys, ..field() };
            field.each("a", |evidence| {
                evidence.server_disk_write_bytes = Some(90_000_000);
                evidence.server_folder_bytes = Some(90_000_000);
                evidence.server_output_bytes = Some(to_output);
            });
            field.word(&DISK_WRITES, "a").verdict
        };
        assert_eq!(with(0), Verdict::Valid);
        assert_eq!(with(90_000_000), Verdict::Suspect);
    }

    #[test]
    fn who_writes_alone_in_a_run_is_told_so() {
        let mut field = field();
        field.trials.retain(|trial| trial.slot.contender == "a");
        field.each("a", |evidence| evidence.server_disk_write_bytes = Some(90_000_000));
        assert_eq!(field.word(&DISK_WRITES, "a").verdict, Verdict::Suspect);
    }

    #[test]
    fn a_log_on_the_output_casts_doubt_as_one_on_a_disk_does() {
        let with = |bytes_an_answer: f64| {
            let mut field = field();
            field.each("a", |evidence| {
                let answers = evidence.work.as_ref().unwrap().rate * evidence.load_s.unwrap();
                evidence.server_output_bytes = Some((bytes_an_answer * answers) as u64);
            });
            field.word(&DISK_WRITES, "a").verdict
        };
        assert_eq!(with(11.0), Verdict::Suspect);
        assert_eq!(with(9.0), Verdict::Valid);
    }

    #[test]
    fn a_log_on_a_file_system_in_memory_casts_doubt_and_none_is_counted_twice() {
        let with = |to_disks: f64, to_folder: f64| {
            let mut field = field();
            field.each("a", |evidence| {
                let work = evidence.work.as_ref().unwrap();
                let under_load = work.rate * evidence.load_s.unwrap();
                evidence.server_disk_write_bytes = Some((to_disks * work.done as f64) as u64);
                evidence.server_folder_bytes = Some((to_folder * under_load) as u64);
            });
            field.word(&DISK_WRITES, "a").verdict
        };
        assert_eq!(with(0.0, 11.0), Verdict::Suspect);
        assert_eq!(with(9.0, 9.0), Verdict::Valid);
    }

    #[test]
    fn writes_that_nobody_counted_are_not_checked() {
        let takes: [fn(&mut Evidence); 3] = [
            |evidence| evidence.server_disk_write_bytes = None,
            |evidence| evidence.server_output_bytes = None,
            |evidence| evidence.server_folder_bytes = None,
        ];
        for take in takes {
            let mut field = field();
            field.each("a", take);
            assert_eq!(field.word(&DISK_WRITES, "a").verdict, Verdict::NotChecked);
        }
    }

    #[test]
    fn what_was_counted_of_the_writes_is_enough_to_doubt() {
        let mut field = field();
        field.each("a", |evidence| {
            evidence.server_disk_write_bytes = Some(90 * evidence.work.as_ref().unwrap().done);
            evidence.server_output_bytes = None;
        });
        assert_eq!(field.word(&DISK_WRITES, "a").verdict, Verdict::Suspect);
    }

    #[test]
    fn others_whose_writes_are_unknown_are_not_taken_for_writers() {
        let mut field = field();
        for name in ["a", "b"] {
            field.each(name, |evidence| {
                let answers = evidence.work.as_ref().unwrap().done;
                evidence.server_disk_write_bytes = Some(90 * answers);
            });
        }
        field.each("c", |evidence| evidence.server_disk_write_bytes = None);
        let word = field.word(&DISK_WRITES, "a");
        assert_eq!(word.verdict, Verdict::Suspect);
        assert!(word.says.ends_with("isn't known."), "{}", word.says);
        // Who was never under load compares nothing.
        field.each("c", |evidence| evidence.work = None);
        assert_eq!(field.word(&DISK_WRITES, "a").verdict, Verdict::Valid);
    }
}
