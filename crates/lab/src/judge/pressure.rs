//! Did the contender wait for memory or disks?

use result::evidence::Evidence;

use super::{Check, Scope, Seen, Word, percent};

/// Share of the window.
const WAITED_SUSPECT: f64 = 0.01;
/// From here on the disk is measured.
const WAITED_INVALID: f64 = 0.1;

pub(super) const PRESSURE: Check = Check {
    id: "pressure",
    signal: "Pressure stall information: the share of the window in which some task of the contender's control group waited for memory or for a disk; without a group, in which some task of the machine did.",
    threshold: "less than 1 % of the window, invalid from 10 %; of the whole machine less than 1 %, else it can't be told who waited",
    why: "A server that answers from memory has nothing to wait for but its clients. From 1 % on, the slowest hundredth of its answers may be those that waited, so the 99th percentile is the disk's.",
    fix: "Find what it reads or writes (logs, temporary files, a cold cache), or what presses on memory beside it; warm up for longer.",
    scope: Scope::Trial(look),
};

fn look(seen: &Seen) -> Word {
    if seen.load().is_none() {
        return Word::no_load();
    }
    let value = |memory: f64, io: f64| format!("memory {}, disk {}", percent(memory), percent(io));
    if let Some((memory, io)) = of_contender(seen.evidence) {
        let value = value(memory, io);
        return if memory.max(io) >= WAITED_INVALID {
            Word::invalid(value, "The contender waited for memory or a disk for much of the time.")
        } else if memory.max(io) >= WAITED_SUSPECT {
            Word::suspect(value, "The contender waited for memory or a disk.")
        } else {
            Word::valid(value, "The contender waited for neither memory nor a disk.")
        };
    }
    let machine = &seen.evidence.machine;
    match machine.memory_pressure_share.zip(machine.io_pressure_share) {
        None => Word::not_checked("The kernel doesn't tell how long tasks waited."),
        Some((memory, io)) if memory.max(io) >= WAITED_SUSPECT => Word::not_checked(
            "Some task waited for memory or a disk; whether it was the contender's can't be told.",
        ),
        Some((memory, io)) => Word::valid(value(memory, io), "Nobody waited for memory or a disk."),
    }
}

fn of_contender(evidence: &Evidence) -> Option<(f64, f64)> {
    let group = evidence.server.cgroup.as_ref()?;
    group.memory_pressure_share.zip(group.io_pressure_share)
}

#[cfg(test)]
mod tests {
    use result::evidence::Cgroup;
    use result::finding::Verdict;

    use super::super::tests::word_after;
    use super::*;

    #[test]
    fn a_contender_that_waits_casts_doubt_and_for_long_is_invalid() {
        let with = |memory, io| {
            word_after(&PRESSURE, |evidence| {
                evidence.server.cgroup = Some(Cgroup {
                    memory_pressure_share: Some(memory),
                    io_pressure_share: Some(io),
                    ..Cgroup::default()
                });
            })
            .verdict
        };
        assert_eq!(with(0.0, 0.009), Verdict::Valid);
        assert_eq!(with(0.01, 0.0), Verdict::Suspect);
        assert_eq!(with(0.0, 0.1), Verdict::Invalid);
    }

    #[test]
    fn without_a_group_a_quiet_machine_is_enough_and_a_waiting_one_tells_nothing() {
        let with = |io| {
            word_after(&PRESSURE, |evidence| {
                evidence.server.cgroup = None;
                evidence.machine.memory_pressure_share = Some(0.0);
                evidence.machine.io_pressure_share = io;
            })
            .verdict
        };
        assert_eq!(with(Some(0.005)), Verdict::Valid);
        assert_eq!(with(Some(0.2)), Verdict::NotChecked);
        assert_eq!(with(None), Verdict::NotChecked);
    }
}
