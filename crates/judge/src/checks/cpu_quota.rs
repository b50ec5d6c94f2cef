//! Did a quota take CPU time away?

use result::evidence::Work;

use super::check::{Check, Scope, TrialSeen, Word, percent};

/// Share of the window for which a quota may hold back before the figure is one
/// of the quota.
const HELD_BACK_INVALID: f64 = 0.05;

pub(crate) const CPU_QUOTA: Check = Check {
    id: "cpu-quota",
    signal: "Periods of the window in which the CPU quota of a control group was used up, above contender or client. How long tasks were kept from running by that, as a share of their processors' time.",
    threshold: "none; invalid from 5 % of the processors' time on",
    why: "When a quota is used up, all its threads stop until the period ends, for up to 0.1 s. That stop is then measured as latency, and the machine seems to have idle cores. One such period moves a percentile. From 5 % of the time on, the rate is that of the quota. The kernel adds up the time of each processor, and some of them may have had nothing to do. So the share is the least that it can be.",
    fix: "Run without a CPU quota (`cpu.max`, `--cpus` of a container), or with fewer cores (`--cores 1`).",
    scope: Scope::Trial(|seen, work| Some(seen.with_hosts(look(seen, work)))),
};

fn look(seen: &TrialSeen, work: &Work) -> Word {
    let limits = &seen.evidence.limits;
    let Some(periods) = limits.throttled_periods else {
        return Word::not_checked("Whether there is a CPU quota can't be seen.");
    };
    let quota = match limits.cpu_quota_cores {
        Some(cores) => format!("quota of {cores:.1} cores"),
        None => "no quota".into(),
    };
    if periods == 0 {
        return Word::valid(quota, "No CPU quota stopped the contender or the client.");
    }
    let used_up = format!("{quota}, used up {periods} times");
    let Some(held_back_s) = limits.throttled_s else {
        return Word::suspect(
            format!("{used_up}, for how long is unknown"),
            "A CPU quota kept contender or client from running, and may have been the limit.",
        );
    };
    let processors = seen.evidence.place.cpus().len().max(1);
    let share = held_back_s / work.seconds / processors as f64;
    let value = format!("{used_up} for {} of the processors' time", percent(share));
    if share >= HELD_BACK_INVALID {
        Word::invalid(value, "A CPU quota was the limit.")
    } else {
        Word::suspect(value, "A CPU quota kept contender or client from running.")
    }
}

#[cfg(test)]
mod tests {
    use result::finding::Verdict;

    use super::super::sound::word_after;
    use super::*;

    #[test]
    fn a_quota_that_was_used_up_casts_doubt_or_is_the_limit() {
        let with = |periods, seconds| {
            word_after(&CPU_QUOTA, |evidence| {
                evidence.limits.cpu_quota_cores = Some(1.5);
                evidence.limits.throttled_periods = Some(periods);
                evidence.limits.throttled_s = Some(seconds);
            })
        };
        assert_eq!(with(0, 0.0).verdict, Verdict::Valid, "a quota that wide holds nobody back");
        assert_eq!(with(1, 0.05).verdict, Verdict::Suspect);
        assert_eq!(with(9, 0.3).verdict, Verdict::Suspect, "of one processor more than 5 %");
        assert_eq!(with(9, 0.4).verdict, Verdict::Invalid);
        assert_eq!(
            with(9, 0.4).value,
            "quota of 1.5 cores, used up 9 times for 5.0 % of the processors' time"
        );
    }

    #[test]
    fn an_unknown_time_is_told_as_unknown_and_not_as_none() {
        let word = word_after(&CPU_QUOTA, |evidence| {
            evidence.limits.cpu_quota_cores = Some(1.5);
            evidence.limits.throttled_periods = Some(9);
            evidence.limits.throttled_s = None;
        });
        assert_eq!(word.verdict, Verdict::Suspect);
        assert_eq!(word.value, "quota of 1.5 cores, used up 9 times, for how long is unknown");
        assert!(word.says.ends_with("may have been the limit."), "{}", word.says);
    }

    #[test]
    fn a_quota_that_cant_be_seen_is_not_checked() {
        let word = word_after(&CPU_QUOTA, |evidence| evidence.limits.throttled_periods = None);
        assert_eq!(word.verdict, Verdict::NotChecked);
    }
}
