//! Was the machine quiet?

use result::finding;

use super::{Check, Scope, Seen, Word, percent};

/// Cores that other processes may use.
const OTHERS_SUSPECT: f64 = 0.05;
/// From here on it is not one contender that is measured.
const OTHERS_INVALID: f64 = 0.25;
/// Cores that bakeoff itself may use, without the sampling, which has a bound of its own.
const HARNESS_SUSPECT: f64 = 0.05;
/// What others take from a contender costs it this many times as much at most: the time itself,
/// and as much again for what they push out of its caches.
const COSTS: f64 = 2.0;
/// Share of the time of the processors in use that the host may take.
const STEAL_SUSPECT: f64 = 0.01;
/// From here on it is the host that is measured.
const STEAL_INVALID: f64 = 0.05;

pub(super) const QUIET_MACHINE: Check = Check {
    id: finding::QUIET_MACHINE,
    signal: "CPU seconds of all other processes that can be seen, and the share of the time of the contender's and the client's processors that the host took (steal), both within the window; the CPU seconds of bakeoff itself and of the keeper under load.",
    threshold: "others below 5 % of one core, invalid from 25 %; steal below 1 %, invalid from 5 %; bakeoff itself below 5 % of one core",
    why: "What others use is missing to server or client, and more so to the one whose turn it was: a build in the background moves a figure more than most contenders differ. An idle system's own processes stay below 1 %.",
    fix: "Stop what else runs on the machine, or take one that nobody else uses, and measure again.",
    scope: Scope::Machine(|seen, _| Some(look(seen))),
};

fn look(seen: &Seen) -> Word {
    let (others, steal) = (seen.evidence.others_cores(), seen.evidence.steal_share);
    let harness = seen.evidence.sampling.harness_cores().filter(|&it| it >= HARNESS_SUSPECT);
    let unknown = || "unknown".to_string();
    let value = format!(
        "others {}, steal {}{}",
        others.map_or_else(unknown, |cores| format!("{cores:.2} cores")),
        steal.map_or_else(unknown, percent),
        harness.map_or(String::new(), |cores| format!(", bakeoff itself {cores:.2} cores"))
    );
    // Where one isn't known, the other may speak by itself.
    let (known_others, known_steal) = (others.unwrap_or(0.0), steal.unwrap_or(0.0));
    if is_disturbed(known_others, known_steal) {
        Word::invalid(value, "Others used so much of the machine that it shows in the figures.")
    } else if known_others >= OTHERS_SUSPECT || known_steal >= STEAL_SUSPECT {
        let word = Word::suspect(value, "Others used a part of the machine.");
        match (others, steal) {
            (Some(others), Some(steal)) => word.off_by(slowed(seen, others, steal)),
            _ => word,
        }
    } else if harness.is_some() {
        let says = "bakeoff itself used a part of the machine: its keeper waits for each process \
                    that a contender leaves behind.";
        Word::suspect(value, says).against("bakeoff itself below 5 % of one core").off_by(slowed(
            seen,
            harness.unwrap_or_default(),
            known_steal,
        ))
    } else {
        match (others, steal) {
            (Some(_), Some(_)) => Word::valid(value, "The machine was there for this alone."),
            (Some(_), None) => Word::not_checked("What the host took is not known."),
            (None, Some(_)) => Word::not_checked("What other processes used is not known."),
            (None, None) => Word::not_checked("What others used of the machine is not known."),
        }
    }
}

/// By which factor a rate may have been higher, or CPU time less, without these: where all that
/// others used was on the processors of the contender, or of the client, whichever has fewer.
fn slowed(seen: &Seen, others_cores: f64, steal_share: f64) -> f64 {
    let place = &seen.evidence.place;
    let of_either = [place.server_cpus.len(), place.client_cpus.len()];
    let cores = of_either.into_iter().filter(|&cores| cores > 0).min().unwrap_or(1);
    let taken = COSTS * (others_cores / cores as f64 + steal_share);
    1.0 / (1.0 - taken).max(0.0)
}

/// Whether others used so much that it is not one contender that is measured.
pub(super) fn is_disturbed(others_cores: f64, steal_share: f64) -> bool {
    others_cores >= OTHERS_INVALID || steal_share >= STEAL_INVALID
}

#[cfg(test)]
mod tests {
    use result::finding::Verdict;

    use super::super::tests::word_after;
    use super::*;

    fn with(others_cpu_s: f64, steal: f64) -> Verdict {
        word_after(&QUIET_MACHINE, |evidence| {
            evidence.others_cpu_s = Some(others_cpu_s);
            evidence.steal_share = Some(steal);
        })
        .verdict
    }

    #[test]
    fn other_processes_cast_doubt_and_a_build_makes_the_figures_invalid() {
        assert_eq!(with(0.19, 0.0), Verdict::Valid);
        assert_eq!(with(0.2, 0.0), Verdict::Suspect);
        assert_eq!(with(1.0, 0.0), Verdict::Invalid);
    }

    #[test]
    fn a_host_that_takes_time_is_seen() {
        assert_eq!(with(0.0, 0.01), Verdict::Suspect);
        assert_eq!(with(0.0, 0.05), Verdict::Invalid);
    }

    /// Of one core, others have 5 % and the host 1 %: twice that, 12 %, may be missing.
    #[test]
    fn doubt_is_bounded_by_twice_what_was_taken() {
        let off_by = |others_cpu_s, steal| {
            let word = word_after(&QUIET_MACHINE, |evidence| {
                evidence.others_cpu_s = others_cpu_s;
                evidence.steal_share = steal;
            });
            word.off_by_max.map(|it| (it * 1e3).round() / 1e3)
        };
        assert_eq!(off_by(Some(0.2), Some(0.01)), Some(1.136));
        assert_eq!(off_by(Some(0.2), None), None, "what the host took isn't known");
        assert_eq!(off_by(Some(1.0), Some(0.0)), None, "invalid is no doubt");
        assert_eq!(off_by(Some(0.0), Some(0.0)), None, "nor is valid");
    }

    #[test]
    fn what_bakeoff_itself_uses_is_not_hidden() {
        let with = |harness_cpu_s| {
            word_after(&QUIET_MACHINE, |evidence| {
                evidence.sampling.sampling_s = 5.0;
                evidence.sampling.harness_cpu_s = harness_cpu_s;
            })
        };
        let word = with(Some(0.5));
        assert_eq!(word.verdict, Verdict::Suspect);
        assert!(word.value.ends_with(", bakeoff itself 0.10 cores"), "{word:?}");
        assert_eq!(with(Some(0.2)).verdict, Verdict::Valid);
        assert_eq!(with(None).verdict, Verdict::Valid, "an older run doesn't tell");
    }

    #[test]
    fn a_missing_sensor_is_not_checked() {
        let word = word_after(&QUIET_MACHINE, |evidence| evidence.steal_share = None);
        assert_eq!(word.verdict, Verdict::NotChecked);
        let word = word_after(&QUIET_MACHINE, |evidence| evidence.others_cpu_s = None);
        assert_eq!(word.verdict, Verdict::NotChecked);
    }

    #[test]
    fn where_one_sensor_is_missing_the_other_speaks_by_itself() {
        let with = |others_cpu_s, steal| {
            let word = word_after(&QUIET_MACHINE, |evidence| {
                evidence.others_cpu_s = others_cpu_s;
                evidence.steal_share = steal;
            });
            (word.verdict, word.value)
        };
        let (verdict, value) = with(Some(4.0), None);
        assert_eq!((verdict, &*value), (Verdict::Invalid, "others 1.00 cores, steal unknown"));
        assert_eq!(with(Some(0.2), None).0, Verdict::Suspect);
        let (verdict, value) = with(None, Some(0.05));
        assert_eq!((verdict, &*value), (Verdict::Invalid, "others unknown, steal 5.0 %"));
        assert_eq!(with(None, Some(0.01)).0, Verdict::Suspect);
    }
}
