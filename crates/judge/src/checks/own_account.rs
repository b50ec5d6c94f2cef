//! Does a program's account fit all of its run?

use histogram::median;
use result::evidence::{Interval, ServerUse, Work};

use super::check::{Check, Scope, TrialSeen, Word};

/// Seconds between two lines at most.
const GAP_MAX_S: f64 = 0.5;
/// The window's rate may be so many times that of all since the program was ready, where it may
/// have compiled until then.
const AHEAD_MAX: f64 = 1.5;
/// The same where all of its code was there before.
const AHEAD_MAX_COMPILED: f64 = 1.2;
/// The rate of one interval may be so many times the usual.
const JUMP_MAX: f64 = 3.0;
/// With fewer intervals one of them isn't set against the others.
const INTERVALS_MIN: usize = 3;

pub(super) const OWN_ACCOUNT: Check = Check {
    id: "own-account",
    signal: "Of programs: the CPU time that one took before it said that it is ready, against that of all its work until the window's end, at as much a second as in the window. The time between two of its lines, from `ready` on. The rate of the window against that of all work until its end, and the rate of each interval of the window against the median.",
    threshold: "less CPU time before `ready` than for all work until the window's end, and not checked from a fifth of that on, or from half where the program has machine code of its own making; no two lines more than 0.5 s apart; the window's rate at most 1.2 times that of all work until its end, 1.5 times where the program has machine code of its own making; no interval with 3 times the usual",
    why: "A program that does its work ahead, and counts it in the window, has a rate of its own choosing, and its sums are right. It takes CPU time before `ready`, or shows no work in the warm-up, or counts at once what took longer. Setting up takes some CPU time too, so this is doubt and no more: work that is shorter than the start of a runtime can't be told from it. From a fifth on, it may have done as much of its work before, and nobody can tell whether it has. Lines come every 200 ms; where none comes for longer, nobody knows when the work was done. A program that counts nothing in the warm-up, and all of it in the window, has as much more as the warm-up is long. A runtime that compiles while it runs is slow in the warm-up; half as much again is what that makes of a sound one. Others had 1.08 times at most, in 72 trials of the study `messages`.",
    fix: "Measure for longer, so that setting up is a small part (`measure_s` and `warmup_s` of the profile). Let the program make after `ready` what a unit takes, count it when it is done, and print a line every 200 ms.",
    scope: Scope::Trial(|seen, work| (!seen.kind.is_asked()).then(|| look(seen, work))),
};

fn look(seen: &TrialSeen, work: &Work) -> Word {
    let all = || work.warmup.iter().chain(&work.intervals);
    if work.warmup.is_empty() || work.intervals.is_empty() {
        return Word::not_checked("What it told line by line is not known.");
    }
    let gap_s = all().map(|it| it.seconds).fold(0.0, f64::max);
    if gap_s > GAP_MAX_S {
        return Word::suspect(
            format!("{gap_s:.2} s without a line"),
            "For a while it told nothing: when that work was done is not known.",
        )
        .against("no two lines more than 0.5 s apart");
    }
    if let Some(times) = jump(&work.intervals) {
        return Word::suspect(
            format!("{times:.1} times the usual rate in one interval"),
            "It counted at once what took it longer, or was done before.",
        )
        .against("no interval with 3 times the usual");
    }
    let total = Interval {
        seconds: all().map(|it| it.seconds).sum(),
        done: all().fold(0, |sum, it| sum.saturating_add(it.done)),
    };
    let ahead = work.rate / total.rate();
    let (ahead_max, against) = if compiles(&seen.evidence.server) {
        (AHEAD_MAX, "1.5 times that of all work, where it has machine code of its own making")
    } else {
        (AHEAD_MAX_COMPILED, "the window's rate at most 1.2 times that of all work until its end")
    };
    if ahead > ahead_max {
        return Word::suspect(
            format!("{ahead:.2} times the rate of all its work"),
            "The window has a rate that the warm-up hadn't: work was done before it was counted, \
             or the program was not warm.",
        )
        .against(against);
    }
    let (Some(before_s), Some(within_s)) = (seen.evidence.ready_cpu_s, seen.evidence.server_cpu_s)
    else {
        return Word::not_checked("The CPU time that it took before it was ready is not known.");
    };
    let work_s = within_s / work.seconds * total.seconds;
    let value =
        format!("{before_s:.2} s of CPU time before it was ready, {work_s:.2} s for its work");
    if before_s > work_s {
        Word::suspect(
            value,
            "It took more CPU time before it was ready than for its work: what was done then is \
             not known.",
        )
        .against("less CPU time before `ready` than for all work until the window's end")
    } else if before_s > work_s * (ahead_max - 1.0) {
        Word::not_checked(format!(
            "It took {value}. How much of its work was done before is not known."
        ))
    } else {
        Word::valid(value, "Its account fits all of its run.")
    }
}

/// Whether a program may have compiled while it ran: what isn't known speaks for it.
fn compiles(server: &ServerUse) -> bool {
    server.runtime.is_some() || server.code_bytes != Some(0)
}

/// How many times the usual rate the highest is, if that is too many.
fn jump(intervals: &[Interval]) -> Option<f64> {
    let rates: Vec<f64> = intervals.iter().map(Interval::rate).collect();
    let usual = median(&rates).filter(|_| rates.len() >= INTERVALS_MIN)?;
    let times = rates.iter().copied().fold(0.0, f64::max) / usual;
    (times > JUMP_MAX).then_some(times)
}

#[cfg(test)]
mod tests {
    use result::finding::{Finding, Verdict};

    use super::super::sound::of_program;
    use super::*;

    fn word(change: impl FnOnce(&mut result::evidence::Evidence)) -> Finding {
        let (slot, mut evidence) = of_program();
        change(&mut evidence);
        let kind = result::kind::Kind::Program;
        OWN_ACCOUNT.on_trial(&TrialSeen { kind, slot: &slot, evidence: &evidence }).unwrap()
    }

    fn of_work(change: impl FnOnce(&mut Work)) -> Finding {
        word(|evidence| change(evidence.work.as_mut().unwrap()))
    }

    #[test]
    fn an_account_that_fits_is_valid() {
        assert_eq!(word(|_| {}).verdict, Verdict::Valid);
    }

    /// Sums that were made then are as right as those of the work.
    #[test]
    fn more_cpu_time_before_ready_than_for_the_work_casts_doubt() {
        let before = |cpu_s| word(|evidence| evidence.ready_cpu_s = cpu_s);
        assert_eq!(before(Some(0.9)).verdict, Verdict::Valid, "5 s of work at 0.99 of a core");
        assert_eq!(before(Some(5.1)).verdict, Verdict::Suspect);
        assert_eq!(before(None).verdict, Verdict::NotChecked);
    }

    /// Else whoever does half of its work before it is ready has half as much again for a rate.
    #[test]
    fn work_that_may_have_been_done_before_ready_is_not_known() {
        let before = |cpu_s, code_bytes| {
            let word = word(|evidence| {
                evidence.ready_cpu_s = Some(cpu_s);
                evidence.server.runtime = None;
                evidence.server.code_bytes = Some(code_bytes);
            });
            word.verdict
        };
        assert_eq!(before(1.1, 0), Verdict::NotChecked, "more than a fifth of 5 s");
        assert_eq!(before(1.1, 1 << 20), Verdict::Valid, "a runtime takes its time to start");
        assert_eq!(before(2.6, 1 << 20), Verdict::NotChecked, "more than half");
    }

    #[test]
    fn lines_that_all_come_at_the_end_or_leave_a_gap_cast_doubt() {
        let longest = |seconds| of_work(|work| work.intervals[3].seconds = seconds);
        assert_eq!(longest(0.45).verdict, Verdict::Valid);
        let word = longest(0.6);
        assert_eq!((word.verdict, &*word.value), (Verdict::Suspect, "0.60 s without a line"));
        let word = of_work(|work| work.warmup[0].seconds = 2.0);
        assert_eq!(word.verdict, Verdict::Suspect, "from `ready` on");
    }

    #[test]
    fn work_that_is_counted_later_than_it_was_done_casts_doubt() {
        let of_warm_up =
            |done| of_work(|work| work.warmup.iter_mut().for_each(|it| it.done = done));
        assert_eq!(of_warm_up(3_000).verdict, Verdict::Valid, "as a runtime that compiles");
        let word = of_work(|work| {
            work.warmup.iter_mut().for_each(|it| it.done = 0);
            work.intervals.truncate(5);
        });
        assert_eq!(
            (word.verdict, &*word.value),
            (Verdict::Suspect, "2.00 times the rate of all its work")
        );
    }

    /// Else whoever counts nothing in a short warm-up is a quarter faster than it is.
    #[test]
    fn a_program_that_compiles_nothing_is_as_fast_in_the_warm_up_as_in_the_window() {
        let with = |share: f64, code_bytes| {
            let word = word(|evidence| {
                evidence.server.runtime = None;
                evidence.server.code_bytes = code_bytes;
                let work = evidence.work.as_mut().unwrap();
                let usual = work.intervals[0].done as f64;
                work.warmup.iter_mut().for_each(|it| it.done = (usual * share) as u64);
            });
            word.verdict
        };
        assert_eq!(with(0.6, Some(0)), Verdict::Valid);
        assert_eq!(with(0.0, Some(0)), Verdict::Suspect);
        assert_eq!(with(0.0, Some(1 << 20)), Verdict::Valid, "it may have compiled until then");
        assert_eq!(with(0.0, None), Verdict::Valid, "not known");
    }

    #[test]
    fn a_count_that_jumps_casts_doubt() {
        let jumps = |times: u64| of_work(|work| work.intervals[10].done *= times);
        assert_eq!(jumps(2).verdict, Verdict::Valid, "a line that came late makes such a one");
        assert_eq!(jumps(4).verdict, Verdict::Suspect);
    }

    #[test]
    fn who_is_asked_has_no_account_of_its_own() {
        let (slot, evidence) = of_program();
        let kind = result::kind::Kind::Http;
        assert_eq!(
            OWN_ACCOUNT.on_trial(&TrialSeen { kind, slot: &slot, evidence: &evidence }),
            None
        );
    }
}
