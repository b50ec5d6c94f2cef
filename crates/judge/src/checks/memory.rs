//! Was there memory enough?

use result::evidence::Work;

use super::{Check, Rule, Scope, TrialSeen, Word, percent};

/// Bytes moved to or from swap that are more than a stray page.
const SWAPPED_SUSPECT: u64 = 1 << 20;
/// Page faults of the contender that wait for a disk, a second.
const MAJOR_FAULTS_SUSPECT: f64 = 10.0;
/// Share of its limit that the contender's memory may reach.
const OF_LIMIT_SUSPECT: f64 = 0.95;

pub(super) const MEMORY: Check = Check {
    id: "memory",
    signal: "Processes that the kernel killed for want of memory; bytes moved to and from swap; the contender's page faults that waited for a disk; its largest memory against the limit of its control groups.",
    threshold: "nobody killed, invalid if it may have been one of the contender's; less than 1 MiB moved, invalid if a part of the contender lay in swap; fewer than 10 faults a second; less than 95 % of the limit",
    why: "Memory that lies in swap answers a thousand times more slowly. In 2009 Redis took all memory, and the figures were those of the disk. A fault that waits for a disk stops its thread for 0.1 to 10 ms, so ten a second may take a tenth of the thread's time. Near its limit, a contender spends its time on giving memory back.",
    fix: "Give the machine or the control group more memory, or the contender a smaller load; switch swap off while measuring.",
    scope: Scope::Trial(|seen, work| RULES.iter().find_map(|rule| rule(seen, work))),
};

/// The first that speaks is the word.
const RULES: [Rule; 6] =
    [killed, swapped, others_killed, waited_for_a_disk, near_its_limit, enough];

fn killed(seen: &TrialSeen, _: &Work) -> Option<Word> {
    let count = kills(seen).filter(|&count| count > 0)?;
    let word = Word::invalid(
        format!("{count} killed"),
        "Memory was used up, and the kernel killed for it.",
    );
    Some(word.against("nobody killed"))
}

fn swapped(seen: &TrialSeen, _: &Work) -> Option<Word> {
    let bytes = swapped_bytes(seen).filter(|&bytes| bytes >= SWAPPED_SUSPECT)?;
    let value = format!("{} MiB moved", bytes >> 20);
    let word = match seen.evidence.server.swap_max_bytes {
        Some(1..) => Word::invalid(value, "A part of the contender lay in swap."),
        _ => Word::suspect(value, "The machine moved memory to or from swap."),
    };
    Some(word.against("less than 1 MiB moved, invalid if a part of the contender lay in swap"))
}

/// Where the contender's own would have been told before.
fn others_killed(seen: &TrialSeen, _: &Work) -> Option<Word> {
    let count = seen.evidence.machine.oom_kills.filter(|&count| count > 0)?;
    let word = Word::suspect(
        format!("{count} of others killed"),
        "The machine's memory was used up, or that of another's control group.",
    );
    Some(word.against("nobody killed, invalid if it may have been one of the contender's"))
}

fn waited_for_a_disk(seen: &TrialSeen, work: &Work) -> Option<Word> {
    let faults = faults(seen, work).filter(|&faults| faults >= MAJOR_FAULTS_SUSPECT)?;
    let word = Word::suspect(
        format!("{faults:.0} faults a second"),
        "The contender waited for pages from a disk.",
    );
    Some(word.against("fewer than 10 faults a second"))
}

fn near_its_limit(seen: &TrialSeen, _: &Work) -> Option<Word> {
    let limit = seen.evidence.limits.memory_limit_bytes?;
    let group = seen.evidence.server.cgroup.as_ref();
    let Some(peak) = group.and_then(|group| group.memory_peak_bytes) else {
        return Some(Word::not_checked(
            "There is a limit to the contender's memory, and how near it came isn't known.",
        ));
    };
    let share = peak as f64 / limit.max(1) as f64;
    let word = || {
        let value = format!("{} of its limit", percent(share));
        Word::suspect(value, "The contender's memory reached its limit.")
            .against("less than 95 % of the limit")
    };
    (share >= OF_LIMIT_SUSPECT).then(word)
}

fn enough(seen: &TrialSeen, work: &Work) -> Option<Word> {
    let all = kills(seen).and(swapped_bytes(seen)).zip(faults(seen, work));
    let Some((swapped, faults)) = all else {
        return Some(Word::not_checked("Swap, page faults or kills couldn't all be counted."));
    };
    let value = format!("{swapped} bytes swapped, {faults:.0} faults a second");
    Some(Word::valid(value, "Memory was enough."))
}

/// Kills that may have been the contender's: where its group doesn't tell, any of the
/// machine's may.
fn kills(seen: &TrialSeen) -> Option<u64> {
    let group = seen.evidence.server.cgroup.as_ref();
    group.and_then(|group| group.oom_kills).or(seen.evidence.machine.oom_kills)
}

/// Bytes moved to and from swap.
fn swapped_bytes(seen: &TrialSeen) -> Option<u64> {
    let machine = &seen.evidence.machine;
    Some(machine.swap_in_bytes? + machine.swap_out_bytes?)
}

/// Page faults a second of the contender that waited for a disk.
fn faults(seen: &TrialSeen, work: &Work) -> Option<f64> {
    Some(seen.evidence.server.major_faults? as f64 / work.seconds)
}

#[cfg(test)]
mod tests {
    use result::evidence::{Cgroup, Evidence};
    use result::finding::Verdict;

    use super::super::tests::word_after;
    use super::*;

    fn with(change: impl FnOnce(&mut Evidence)) -> (Verdict, String) {
        let word = word_after(&MEMORY, change);
        (word.verdict, word.value)
    }

    #[test]
    fn a_kill_makes_the_figures_invalid() {
        let machine = with(|evidence| evidence.machine.oom_kills = Some(1));
        assert_eq!(machine, (Verdict::Invalid, "1 killed".into()));
        let group = with(|evidence| {
            evidence.server.cgroup = Some(Cgroup { oom_kills: Some(2), ..Cgroup::default() });
        });
        assert_eq!(group, (Verdict::Invalid, "2 killed".into()));
        let others = with(|evidence| {
            evidence.machine.oom_kills = Some(1);
            evidence.server.cgroup = Some(Cgroup { oom_kills: Some(0), ..Cgroup::default() });
        });
        assert_eq!(others, (Verdict::Suspect, "1 of others killed".into()), "not the contender's");
    }

    #[test]
    fn swap_casts_doubt_and_a_swapped_contender_is_invalid() {
        let with = |swapped: u64, of_contender: u64| {
            with(|evidence| {
                evidence.machine.swap_in_bytes = Some(swapped);
                evidence.server.swap_max_bytes = Some(of_contender);
            })
            .0
        };
        assert_eq!(with(4096, 0), Verdict::Valid);
        assert_eq!(with(1 << 20, 0), Verdict::Suspect);
        assert_eq!(with(1 << 20, 4096), Verdict::Invalid);
    }

    #[test]
    fn faults_that_wait_for_a_disk_cast_doubt() {
        let with = |count| with(|evidence| evidence.server.major_faults = Some(count)).0;
        assert_eq!(with(39), Verdict::Valid, "in 4 s");
        assert_eq!(with(40), Verdict::Suspect);
    }

    #[test]
    fn a_contender_at_its_limit_casts_doubt() {
        let with = |peak| {
            with(|evidence| {
                evidence.limits.memory_limit_bytes = Some(1_000);
                evidence.server.cgroup =
                    Some(Cgroup { memory_peak_bytes: Some(peak), ..Cgroup::default() });
            })
        };
        assert_eq!(with(940).0, Verdict::Valid);
        assert_eq!(with(950), (Verdict::Suspect, "95.0 % of its limit".into()));
    }

    #[test]
    fn a_missing_sensor_is_not_checked() {
        for change in [
            |evidence: &mut Evidence| evidence.machine.oom_kills = None,
            |evidence: &mut Evidence| evidence.machine.swap_out_bytes = None,
            |evidence: &mut Evidence| evidence.server.major_faults = None,
            |evidence: &mut Evidence| evidence.limits.memory_limit_bytes = Some(1_000),
        ] {
            assert_eq!(with(change).0, Verdict::NotChecked);
        }
    }
}
