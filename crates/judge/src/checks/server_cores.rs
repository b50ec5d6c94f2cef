//! Did the contender use what it was given?

use result::Trial;
use result::evidence::{Evidence, ThreadUse};
use result::finding::{Finding, Verdict};

use super::{Check, Scope, TrialSeen, Word};

/// Share of the given cores below which something else may be the limit.
const USED_SUSPECT: f64 = 0.85;
/// Below this, it is.
const USED_INVALID: f64 = 0.6;
/// If others and the host took more cores than this, so much that is idle can't be told
/// from taken.
const TAKEN_MAX: f64 = 0.1;
/// Share of the window for which a thread ran, from which on it matters where it may.
const RAN_MIN: f64 = 0.01;
/// Clock ticks and the window's edges may make so much more than all.
const USED_MAX: f64 = 1.05;

pub(crate) const SERVER_CORES: Check = Check {
    id: "server-cores",
    signal: "CPU seconds of the contender's processes within the window, by the window's length and the cores given. Interrupts of its processors are included where the kernel counts them apart. Where client and server share cores, both count together. And on which processors its busiest threads may run.",
    threshold: "85 to 105 % of the cores given, invalid outside of 60 to 105 %; in an open loop, and in a study that lets cores be idle, invalid from 105 % on; no thread that ran for 1 % of the window or more allowed on any other processor",
    why: "Under a load that should saturate it, a server that leaves cores idle is limited by its configuration or by something else. Its figure is not one of that many cores: in 2009 Go first ran on one of eight. An open loop leaves cores idle that its rate doesn't need. So may work that waits by its nature, such as tasks that take turns (`[expects]` of the study). A server that used more than it was given left its cores. A thread that binds itself elsewhere leaves them too, though it uses no more: it may take its time from the client.",
    fix: "Let the contender size itself by `$CORES` (workers, threads, schedulers), and bind itself to nothing (nginx: no `worker_cpu_affinity`); look for a lock or a single acceptor; see whether the client was the limit.",
    scope: Scope::Trial(|seen, _| Some(look(seen))),
};

fn look(seen: &TrialSeen) -> Word {
    let threads = &seen.evidence.server.threads;
    let is_told = threads.iter().any(|thread| !thread.cpus.is_empty());
    if !is_told || seen.evidence.place.server_cpus.is_empty() {
        return Word::not_checked("On which processors the contender's threads ran is not known.");
    }
    if let Some((thread, cpus)) = elsewhere(seen.evidence) {
        return Word::invalid(
            format!("thread {} on processor {cpus}", thread.name),
            "The contender left the cores that it was given: one of its threads may run on others.",
        )
        .against(
            "no thread that ran for 1 % of the window or more allowed on any other processor",
        );
    }
    let Some(used) = used(seen.evidence) else {
        return Word::not_checked("The contender's CPU time is not known.");
    };
    let place = &seen.evidence.place;
    let given = place.server_cpus.len();
    let share = used / given as f64;
    let who = if place.shared() { "Server and client together" } else { "The contender" };
    let share_with_taken = (used + taken_cores(seen.evidence)) / given as f64;
    let value = format!("{used:.2} of {given} cores");
    if share > USED_MAX {
        Word::invalid(value, format!("{who} used more than the cores given."))
    } else if seen.is_open_loop() || seen.evidence.may_idle {
        Word::valid(value, "No more than the cores given were used.")
    } else if share < USED_SUSPECT && share_with_taken >= USED_SUSPECT {
        Word::not_checked(
            "Others used the machine, or its host did: cores that look idle may have been taken.",
        )
        .advise("Stop what else runs on the machine and its host, and measure again.")
    } else if share_with_taken < USED_INVALID {
        Word::invalid(value, format!("{who} left cores idle: something else was the limit."))
    } else if share_with_taken < USED_SUSPECT {
        let word = Word::suspect(value, format!("{who} left a part of the cores idle."));
        // Of cores that both share, who would have used the rest isn't known.
        if place.shared() { word } else { word.off_by(1.0 / share) }
    } else if place.shared() {
        let says = "Server and client together used the cores given. Whether the server alone could \
                    have used them isn't known.";
        Word::not_checked(says).advise(
            "Use a machine on which both have cores of their own, or one core (`--cores 1`).",
        )
    } else {
        Word::valid(value, format!("{who} used the cores given."))
    }
}

/// Cores that the contender used within the window and, where it shares them, the client.
fn used(evidence: &Evidence) -> Option<f64> {
    let work = evidence.work.as_ref().filter(|work| work.seconds > 0.0)?;
    let all = if evidence.place.shared() {
        let interrupts = evidence.server_interrupt_s.unwrap_or(0.0);
        evidence.server_cpu_s? + evidence.client_cpu_s()? + interrupts
    } else {
        evidence.contender_cpu_s()?
    };
    Some(all / work.seconds)
}

/// Whether cores were idle that a study lets be.
pub(crate) fn was_let_idle(evidence: &Evidence) -> bool {
    let given = evidence.place.server_cpus.len() as f64;
    evidence.may_idle && used(evidence).is_some_and(|used| used < USED_SUSPECT * given)
}

/// Cores that others and the host used within the window where contender and client ran, which
/// may have been taken from the contender, but no more than that; 0 where it is too little to matter.
pub(super) fn taken_cores(evidence: &Evidence) -> f64 {
    let taken = [evidence.others_near_cores(), evidence.stolen_cores()];
    let taken: f64 = taken.into_iter().flatten().sum();
    if taken > TAKEN_MAX { taken } else { 0.0 }
}

/// Whether what this check found wrong in these trials was idle cores, and not that the
/// contender got away from its own, or used more than it was given.
pub(crate) fn found_idle_cores(finding: &Finding, trials: &[&Trial]) -> bool {
    let got_away = |evidence: &Evidence| {
        let given = evidence.place.server_cpus.len() as f64;
        elsewhere(evidence).is_some() || used(evidence).is_some_and(|used| used > USED_MAX * given)
    };
    matches!(finding.verdict, Verdict::Suspect | Verdict::Invalid)
        && !trials.iter().any(|trial| got_away(&trial.evidence))
}

/// A thread that ran and may do so where the contender has no processor, and the numbers of
/// those where it may.
fn elsewhere(evidence: &Evidence) -> Option<(&ThreadUse, String)> {
    let window_s = evidence.work.as_ref()?.seconds;
    let given = &evidence.place.server_cpus;
    let threads = evidence.server.threads.iter();
    threads.filter(|it| it.cpu_s >= RAN_MIN * window_s).find_map(|thread| {
        let others = thread.cpus.iter().filter(|cpu| !given.contains(cpu));
        let others: Vec<String> = others.map(ToString::to_string).collect();
        (!others.is_empty()).then(|| (thread, others.join(", ")))
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{at_half_of_its_maximum, word_after, word_on};
    use super::*;

    fn with(cpu_s: f64, cores: usize) -> Verdict {
        word_after(&SERVER_CORES, |evidence| {
            evidence.server_cpu_s = Some(cpu_s);
            evidence.place.server_cpus = (10..10 + cores).collect();
            evidence.server.threads[0].cpus = vec![10];
        })
        .verdict
    }

    #[test]
    fn one_busy_core_of_two_makes_the_figures_invalid() {
        assert_eq!(with(4.0, 2), Verdict::Invalid, "GOMAXPROCS=1 must not pass");
        assert_eq!(with(4.0, 1), Verdict::Valid);
    }

    #[test]
    fn interrupts_that_are_counted_apart_are_no_idle_time() {
        let with = |client_cpus: Vec<usize>| {
            word_after(&SERVER_CORES, |evidence| {
                evidence.server_cpu_s = Some(2.3);
                evidence.server_interrupt_s = Some(1.6);
                evidence.clients[0].cpu_s = 0.0;
                evidence.place.client_cpus = client_cpus;
            })
        };
        assert_eq!(with(vec![1]).verdict, Verdict::Valid);
        assert_eq!(with(vec![0]).verdict, Verdict::NotChecked, "full, and shared");
    }

    #[test]
    fn some_idle_time_casts_doubt() {
        assert_eq!(with(3.3, 1), Verdict::Suspect);
    }

    #[test]
    fn more_than_was_given_makes_the_figures_invalid() {
        assert_eq!(with(4.3, 1), Verdict::Invalid, "it got away from its core");
    }

    #[test]
    fn an_open_loop_may_leave_cores_idle_but_not_take_more() {
        let with = |cpu_s| {
            let (slot, mut evidence) = at_half_of_its_maximum();
            evidence.server_cpu_s = Some(cpu_s);
            word_on(&SERVER_CORES, &slot, &evidence).verdict
        };
        assert_eq!(with(0.4), Verdict::Valid);
        assert_eq!(with(4.3), Verdict::Invalid);
    }

    #[test]
    fn on_shared_cores_both_count() {
        let word = word_after(&SERVER_CORES, |evidence| {
            evidence.place.server_cpus = vec![0, 1];
            evidence.place.client_cpus = vec![0, 1];
            evidence.server_cpu_s = Some(5.0);
        });
        assert_eq!(word.verdict, Verdict::NotChecked, "one core of two may have been the server's");
        assert!(word.says.contains("isn't known"), "{}", word.says);
        let word = word_after(&SERVER_CORES, |evidence| {
            evidence.place.server_cpus = vec![0, 1];
            evidence.place.client_cpus = vec![0, 1];
            evidence.server_cpu_s = Some(2.0);
        });
        assert_eq!((word.verdict, &*word.value), (Verdict::Invalid, "1.10 of 2 cores"));
    }

    #[test]
    fn a_core_that_others_took_was_not_left_idle() {
        let word = word_after(&SERVER_CORES, |evidence| {
            evidence.server_cpu_s = Some(1.2);
            evidence.others_cpu_s = Some(2.7);
        });
        assert_eq!(word.verdict, Verdict::NotChecked);
    }

    #[test]
    fn what_others_took_excuses_no_more_than_that() {
        let with = |others_cpu_s| {
            word_after(&SERVER_CORES, |evidence| {
                evidence.server_cpu_s = Some(1.2);
                evidence.others_cpu_s = Some(others_cpu_s);
            })
            .verdict
        };
        assert_eq!(with(0.5), Verdict::Invalid, "half of the core was nobody's");
        assert_eq!(with(1.6), Verdict::Suspect);
        assert_eq!(with(2.3), Verdict::NotChecked);
    }

    #[test]
    fn what_the_host_took_was_not_left_idle() {
        let with = |steal_share| {
            word_after(&SERVER_CORES, |evidence| {
                evidence.server_cpu_s = Some(1.2);
                evidence.place.client_cpus = vec![1];
                evidence.steal_share = Some(steal_share);
            })
            .verdict
        };
        assert_eq!(with(0.04), Verdict::Invalid, "most of the core was nobody's");
        assert_eq!(with(0.2), Verdict::Suspect, "the contender was blamed for its host");
        assert_eq!(with(0.3), Verdict::NotChecked, "0.6 of two cores may all have been its own");
    }

    #[test]
    fn a_thread_that_may_run_on_other_processors_got_away() {
        let with = |cpu_s, cpus: &[usize]| -> Finding {
            let (slot, mut evidence) = at_half_of_its_maximum();
            let name = "worker".into();
            let thread = ThreadUse { name, cpu_s, cpus: cpus.to_vec(), ..ThreadUse::default() };
            evidence.server.threads = vec![thread];
            word_on(&SERVER_CORES, &slot, &evidence)
        };
        let word = with(2.0, &[0, 1, 2]);
        assert_eq!(
            (word.verdict, &*word.value),
            (Verdict::Invalid, "thread worker on processor 1, 2")
        );
        assert_eq!(with(2.0, &[0]).verdict, Verdict::Valid);
        assert_eq!(with(2.0, &[]).verdict, Verdict::NotChecked, "older runs don't tell");
        assert_eq!(with(0.01, &[1]).verdict, Verdict::Valid, "it hardly ran");
    }

    #[test]
    fn a_thread_of_an_older_run_is_read_without_its_processors() {
        let older = r#"{"pid": 7, "tid": 8, "name": "worker", "cpu_s": 1.9, "cpu_s_per_second": [1.0, 0.9]}"#;
        let read: ThreadUse = serde_json::from_str(older).expect("an older run is still read");
        assert!(read.cpus.is_empty());
    }

    #[test]
    fn an_unknown_cpu_time_is_not_checked() {
        let word = word_after(&SERVER_CORES, |evidence| evidence.server_cpu_s = None);
        assert_eq!(word.verdict, Verdict::NotChecked);
    }
}
