//! Was the machine quiet?

use result::evidence::Place;
use result::finding;

use super::check::{Check, Scope, TrialSeen, Word, percent};

/// Cores that other processes may use of those of contender and client.
const OTHERS_SUSPECT: f64 = 0.05;
/// From here on it is not one contender that is measured.
const OTHERS_INVALID: f64 = 0.25;
/// Cores that other processes may use elsewhere: of a large machine's this share, and of a
/// smaller one's so many.
const ELSEWHERE_SUSPECT_SHARE: f64 = 1.0 / 16.0;
const ELSEWHERE_SUSPECT: f64 = 1.0;
/// From here on it is worth a word.
const ELSEWHERE_TOLD: f64 = 0.05;
/// Cores that bakeoff itself may use, without the sampling, which has a bound of its own.
const HARNESS_SUSPECT: f64 = 0.05;
/// What others take from a contender is taken to cost it this many times as much at most: the
/// time itself, and as much again for what they push out of its caches. The second is an
/// allowance that nobody measured.
const COSTS: f64 = 2.0;
/// Share of the time of the processors in use that the host may take.
const STEAL_SUSPECT: f64 = 0.01;
/// From here on it is the host that is measured.
const STEAL_INVALID: f64 = 0.05;

pub(super) const QUIET_MACHINE: Check = Check {
    id: finding::QUIET_MACHINE,
    signal: "CPU seconds of all other processes that can be seen, in two parts: those on the processors of the contender and the client, with their siblings on the same physical cores, and those elsewhere. The share of the time of the contender's and the client's processors that the host took (steal). The CPU seconds of bakeoff itself and of the keeper under load.",
    threshold: "others on these processors below 5 % of one core, invalid from 25 %; others elsewhere below one core, of more than 16 processors below a sixteenth; steal below 1 %, invalid from 5 %; bakeoff itself below 5 % of one core",
    why: "What others use of these processors is missing to server or client, and above all to the one whose turn it was. A build in the background moves a figure more than most contenders differ. An idle system's own processes stay below 1 %. Work elsewhere takes no processor away, but memory, caches and clock are shared. From a whole core on, that may decide between two contenders.",
    fix: "Stop what else runs on the machine, or bind it to processors that `bakeoff doctor` says are left to others (`taskset -acp 0 PID`), or take a machine that nobody else uses, and measure again.",
    scope: Scope::Machine(|seen, _| Some(seen.with_hosts(look(seen)))),
};

fn look(seen: &TrialSeen) -> Word {
    let evidence = seen.evidence;
    let (others, steal) = (evidence.others_near_cores(), evidence.steal_share);
    let elsewhere = evidence.others_elsewhere_cores();
    let harness = evidence.sampling.harness_cores().filter(|&it| it >= HARNESS_SUSPECT);
    let unknown = || "unknown".to_string();
    let value = format!(
        "others {}{}, steal {}{}",
        others.map_or_else(unknown, |cores| format!("{cores:.2} cores")),
        elsewhere.map_or(String::new(), |cores| format!(" and {cores:.2} elsewhere")),
        steal.map_or_else(unknown, percent),
        harness.map_or(String::new(), |cores| format!(", bakeoff itself {cores:.2} cores"))
    );
    // Where one isn't known, the other may speak by itself.
    let (known_others, known_steal) = (others.unwrap_or(0.0), steal.unwrap_or(0.0));
    let known_elsewhere = elsewhere.unwrap_or(0.0);
    if is_disturbed(known_others, known_steal) {
        Word::invalid(value, "Others used so much of the machine that it shows in the figures.")
    } else if known_others >= OTHERS_SUSPECT || known_steal >= STEAL_SUSPECT {
        let word = Word::suspect(value, "Others used a part of the machine.");
        match (others, steal) {
            (Some(others), Some(steal)) => word.off_by(slowed(seen, others, steal)),
            _ => word,
        }
    } else if known_elsewhere >= elsewhere_suspect(&evidence.place) {
        let says = "Others left the contender and the client their processors, and used so much \
                    of the rest that memory, caches and clock may have been short.";
        Word::suspect(value, says)
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
            (Some(_), Some(_)) if known_elsewhere >= ELSEWHERE_TOLD => Word::valid(
                value,
                "Others ran on processors that neither contender nor client had.",
            ),
            (Some(_), Some(_)) => Word::valid(value, "The machine was there for this alone."),
            (Some(_), None) => Word::not_checked("What the host took is not known."),
            (None, Some(_)) => Word::not_checked("What other processes used is not known."),
            (None, None) => Word::not_checked("What others used of the machine is not known."),
        }
    }
}

/// Cores from which on others elsewhere are too many.
fn elsewhere_suspect(place: &Place) -> f64 {
    let processors = place.cores.iter().flatten().count();
    (processors as f64 * ELSEWHERE_SUSPECT_SHARE).max(ELSEWHERE_SUSPECT)
}

/// By which factor a rate may have been higher, or CPU time less, without these: where all that
/// others used was on the processors of the contender, or of the client, whichever has fewer.
fn slowed(seen: &TrialSeen, others_cores: f64, steal_share: f64) -> f64 {
    let place = &seen.evidence.place;
    let of_either = [place.server_cpus.len(), place.client_cpus.len()];
    let cores = of_either.into_iter().filter(|&cores| cores > 0).min().unwrap_or(1);
    let taken = COSTS * (others_cores / cores as f64 + steal_share);
    1.0 / (1.0 - taken).max(0.0)
}

/// Whether others used so much, where contender and client ran, that it is not one contender
/// that is measured.
pub(super) fn is_disturbed(others_cores: f64, steal_share: f64) -> bool {
    others_cores >= OTHERS_INVALID || steal_share >= STEAL_INVALID
}

#[cfg(test)]
mod tests {
    use result::evidence::{ClientUse, Evidence};
    use result::finding::{Finding, Verdict};

    use super::super::sound::{on_hosts, word_after};
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

    /// The word on a machine of sixteen processors, two a core, of which contender and client
    /// have two cores each, where others used so many cores in all, and so many of those there.
    fn on_sixteen(others: f64, near: f64) -> Finding {
        word_after(&QUIET_MACHINE, |evidence| {
            let seconds = evidence.work.as_ref().unwrap().seconds;
            evidence.place = Place {
                server_cpus: vec![1, 9, 2, 10],
                client_cpus: vec![3, 11, 4, 12],
                cores: (0..8).map(|core| vec![core, core + 8]).collect(),
            };
            let client = ClientUse { cpu_s: Some(1.0), ..ClientUse::default() };
            evidence.client = Some(client);
            evidence.server_cpu_s = Some(2.0);
            evidence.sampling.sampling_s = seconds;
            evidence.sampling.sampling_cpu_s = Some(0.01 * seconds);
            evidence.sampling.harness_cpu_s = Some(0.02 * seconds);
            evidence.others_cpu_s = Some(others * seconds);
            evidence.near_cpu_s = Some(2.0 + 1.0 + (near + 0.03) * seconds);
        })
    }

    #[test]
    fn a_browser_on_cores_that_nobody_measures_on_is_told_and_does_no_harm() {
        let word = on_sixteen(0.6, 0.01);
        assert_eq!(word.verdict, Verdict::Valid, "{word:?}");
        assert_eq!(word.value, "others 0.01 cores and 0.59 elsewhere, steal 0.0 %");
        assert_eq!(word.says, "Others ran on processors that neither contender nor client had.");
        assert_eq!(on_sixteen(0.03, 0.0).says, "The machine was there for this alone.");
    }

    #[test]
    fn a_browser_on_the_contenders_processors_does_the_harm_that_it_does_on_two_cores() {
        assert_eq!(on_sixteen(0.6, 0.04).verdict, Verdict::Valid);
        assert_eq!(on_sixteen(0.6, 0.06).verdict, Verdict::Suspect);
        assert_eq!(on_sixteen(0.6, 0.26).verdict, Verdict::Invalid);
    }

    /// What the kernel itself did there is no other's.
    #[test]
    fn others_used_no_more_of_these_processors_than_of_all() {
        let word = on_sixteen(0.02, 0.3);
        assert_eq!(word.verdict, Verdict::Valid, "{word:?}");
        assert_eq!(word.value, "others 0.02 cores and 0.00 elsewhere, steal 0.0 %");
    }

    #[test]
    fn a_build_on_the_other_cores_is_felt_in_memory_and_clock() {
        let word = on_sixteen(1.1, 0.0);
        assert_eq!(word.verdict, Verdict::Suspect, "{word:?}");
        assert_eq!(on_sixteen(11.0, 0.0).verdict, Verdict::Suspect, "no processor was taken");
        let large = Place { cores: vec![(0..128).collect()], ..Place::default() };
        assert!((elsewhere_suspect(&large) - 8.0).abs() < 1e-9);
    }

    #[test]
    fn where_it_isnt_known_what_ran_where_all_others_count() {
        let without = |change: fn(&mut Evidence)| {
            word_after(&QUIET_MACHINE, |evidence| {
                evidence.near_cpu_s = Some(evidence.server_cpu_s.unwrap());
                evidence.others_cpu_s = Some(1.0);
                change(evidence);
            })
        };
        assert_eq!(without(|_| {}).verdict, Verdict::Valid);
        let unknown: [fn(&mut Evidence); 3] = [
            |evidence| evidence.near_cpu_s = None,
            |evidence| evidence.server_cpu_s = None,
            |evidence| evidence.client = Some(ClientUse::default()),
        ];
        for change in unknown {
            let word = without(change);
            assert_eq!(
                (word.verdict, &*word.value),
                (Verdict::Invalid, "others 0.25 cores, steal 0.0 %")
            );
        }
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

    /// Else a machine that nobody looked at would be called quiet.
    #[test]
    fn what_ran_on_the_hosts_of_a_load_is_not_checked() {
        let word = word_after(&QUIET_MACHINE, |evidence| on_hosts(evidence, 3));
        assert_eq!(word.verdict, Verdict::NotChecked);
        assert!(word.says.contains("(c1, c2, c3) it isn't known"), "{}", word.says);
        let disturbed = word_after(&QUIET_MACHINE, |evidence| {
            on_hosts(evidence, 3);
            evidence.others_cpu_s = Some(2.0);
        });
        assert_eq!(disturbed.verdict, Verdict::Invalid, "the contender's machine was looked at");
    }

    /// Else the clients themselves would be the others.
    #[test]
    fn hosts_that_are_this_machine_are_no_others() {
        let word = word_after(&QUIET_MACHINE, |evidence| {
            on_hosts(evidence, 2);
            evidence.clients[0].hosts.iter_mut().for_each(|host| host.is_here = true);
            evidence.others_cpu_s = Some(2.42);
        });
        assert_eq!(word.verdict, Verdict::Valid, "{word:?}");
    }
}
