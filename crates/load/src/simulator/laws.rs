//! What must hold of what a run tells, whatever happened.

use super::Seen;
use super::case::Case;
use super::world::Fate;
use crate::Outcome;
use crate::outcome::{Account, ErrorKind};
use crate::pace::schedule::due_times;
use crate::plan::{Arrivals, Plan, Until};
use crate::thread::SLEEP_NS_MAX;

/// A thread whose turn it is does what is due within this time: it is busy with others for less.
const WAKES_WITHIN_NS: u64 = 60_000;
/// What a histogram's value may differ from the true one.
const PRECISION: f64 = 0.002;

/// Holds what was told to what happened.
///
/// # Errors
/// The first law that is broken, for people.
pub(super) fn hold(case: &Case, seen: &Seen) -> Result<(), String> {
    [
        conserved,
        all_due,
        none_early,
        none_lost,
        none_twice,
        each_its_own,
        none_blamed,
        none_in_vain,
        none_waits_beside_a_free_connection,
        ends,
        littles_law,
        waits_count_from_when_requests_were_due,
        figures_are_the_windows,
        waits_without_an_answer_stay,
        classes_are_told_apart,
    ]
    .into_iter()
    .try_for_each(|law| law(case, seen))
}

/// A count over warm-up and window of all threads.
fn all(seen: &Seen, of: impl Fn(&Account) -> u64) -> u64 {
    seen.parts.iter().map(|part| of(&part.warmup) + of(&part.account)).sum()
}

/// Errors of a kind, likewise.
fn errors(seen: &Seen, kind: ErrorKind) -> u64 {
    all(seen, |it| it.errors.iter().filter(|it| it.kind == kind).map(|it| it.count).sum())
}

/// The books of each thread agree, and those of all with their seconds.
fn conserved(_: &Case, seen: &Seen) -> Result<(), String> {
    for part in &seen.parts {
        for account in [&part.warmup, &part.account] {
            if let Some(what) = account.contradiction() {
                return Err(what);
            }
        }
    }
    let good: u64 = seen.parts.iter().map(|part| part.account.good).sum();
    let timed: u64 = seen.seconds.iter().map(|second| second.service.len()).sum();
    equal("good answers, and their times", good, timed)?;
    let in_seconds = seen.seconds.iter().map(|second| second.good).sum();
    equal("good answers, and those of the seconds", all(seen, |it| it.good), in_seconds)
}

/// Every request that is due is sent, or told as one that never was.
fn all_due(case: &Case, seen: &Seen) -> Result<(), String> {
    let in_window: u64 = seen.parts.iter().map(|part| part.account.scheduled).sum();
    if let Until::Requests(asked) = case.plan.until {
        return if in_window > asked || in_window < asked && case.temper.answers_all() {
            Err(format!("{asked} requests were to be sent, and {in_window} were due"))
        } else {
            Ok(())
        };
    }
    if case.plan.arrivals == Arrivals::Closed {
        return Ok(());
    }
    let (length, plan) = (seen.window.end - seen.window.start, &case.plan);
    let due = due_times(plan.arrivals, plan.seed, plan.share).take_while(|due| *due < length);
    equal(
        "requests due, by the schedule and as told",
        due.count() as u64,
        all(seen, |it| it.scheduled),
    )
}

/// No request of an open loop goes out before it is due.
fn none_early(case: &Case, seen: &Seen) -> Result<(), String> {
    for (number, due) in dues(case, seen) {
        let early = seen.world.fates.get(&number).filter(|fate| fate.sent < due);
        if let Some(fate) = early {
            return Err(format!(
                "request {number} was sent {} ns before it was due",
                due - fate.sent
            ));
        }
    }
    Ok(())
}

/// When each request of an open loop was due, as far as the server had it.
fn dues(case: &Case, seen: &Seen) -> impl Iterator<Item = (u64, u64)> {
    let last = seen.world.fates.keys().last().map_or(0, |last| last + 1);
    let Plan { arrivals, seed, share, .. } = case.plan;
    let start = seen.window.start;
    let due = (0..).zip(due_times(arrivals, seed, share));
    let due = due.map(move |(here, due)| (share.number(here), start + due));
    due.take_while(move |(number, _)| *number < last)
}

/// What came is counted once: a good answer as such, each other answer as an error.
fn none_lost(case: &Case, seen: &Seen) -> Result<(), String> {
    let came: u64 = seen.world.fates.values().map(|fate| u64::from(fate.good)).sum();
    let told = all(seen, |it| it.good);
    // Who speaks unasked, or answers before the request is sent, spoils what came with it.
    let is_exact = case.temper.speaks == 0.0;
    if told > came || is_exact && told != came {
        return Err(format!("{came} good answers came, and {told} are told"));
    }
    let never_asked = seen.world.fates.iter().find(|(_, fate)| fate.asked == 0);
    never_asked.map_or(Ok(()), |(number, _)| Err(format!("{number} was answered and not asked")))
}

/// The times of the request with a name are those of its own answers.
fn classes_are_told_apart(case: &Case, seen: &Seen) -> Result<(), String> {
    if !case.has_named() || !case.plan.warmup.is_zero() || case.temper.speaks > 0.0 {
        return Ok(());
    }
    let named = seen.world.fates.iter().filter(|(number, _)| *number % 2 == 1);
    let came: u64 = named.map(|(_, fate)| u64::from(fate.good)).sum();
    let classes = seen.parts.iter().flat_map(|part| &part.classes);
    let timed = classes.map(|class| class.service.good.len()).sum();
    equal("good answers to the request with a name, and its times", came, timed)
}

/// A request is asked again once, on another connection, if it may be, and else never.
fn none_twice(case: &Case, seen: &Seen) -> Result<(), String> {
    let is_repeatable = case.plan.http().is_some_and(|http| http.requests[0].method == "GET");
    let most = if is_repeatable { 2 } else { 1 };
    for (number, fate) in &seen.world.fates {
        if fate.asked > most || fate.good > 1 {
            return Err(format!("request {number} was asked and answered so often: {fate:?}"));
        }
    }
    let (sent, asked) = (all(seen, |it| it.sent), seen.world.fates.len() as u64);
    if asked > sent { Err(format!("{asked} requests came, and {sent} were sent")) } else { Ok(()) }
}

/// An answer is taken for that of its own request, and for a wrong one only if its connection cut
/// it short.
fn each_its_own(_: &Case, seen: &Seen) -> Result<(), String> {
    let wrong = errors(seen, ErrorKind::WrongBody);
    equal("answers that lack a part, and those of another body", seen.world.cut_short, wrong)
}

/// A server that answers all, on connections that it keeps or ends, has no errors but of time.
fn none_blamed(case: &Case, seen: &Seen) -> Result<(), String> {
    let (timeouts, behind) = (errors(seen, ErrorKind::Timeout), errors(seen, ErrorKind::Behind));
    let of_time = timeouts + if timeouts > 0 { behind } else { 0 };
    let blamed = all(seen, Account::errors_total) - of_time;
    if case.temper.answers_all() {
        equal("errors where all is answered", 0, blamed)
    } else {
        Ok(())
    }
}

/// Nothing is sent on a connection of which the client was told that it is closed.
fn none_in_vain(_: &Case, seen: &Seen) -> Result<(), String> {
    equal("requests on connections that were to be closed", 0, seen.world.sent_in_vain)
}

/// A request of an open loop waits only while all connections are taken.
fn none_waits_beside_a_free_connection(case: &Case, seen: &Seen) -> Result<(), String> {
    let is_plain = case.temper.is_calm() && case.temper.narrow == 0.0 && case.temper.away == 0.0;
    let is_kept = case.plan.keep_alive && case.plan.pipeline == 1;
    if case.plan.arrivals == Arrivals::Closed || !is_plain || !is_kept {
        return Ok(());
    }
    let fates = &seen.world.fates;
    // Those that wait longer have the next ones, and one that came free isn't seen at once.
    let taken_at = |at: u64, number: u64| {
        let seen = |fate: &Fate| fate.good > 0 && fate.came + WAKES_WITHIN_NS <= at;
        let taken = |fate: &Fate| fate.sent <= at && !seen(fate);
        let before = fates.range(..number).filter(|(_, fate)| fate.sent > at).count();
        before + fates.values().filter(|fate| taken(fate)).count()
    };
    for (number, due) in dues(case, seen) {
        let Some(fate) = fates.get(&number) else { continue };
        let free_at = [due + WAKES_WITHIN_NS, fate.sent.saturating_sub(WAKES_WITHIN_NS)]
            .into_iter()
            .filter(|at| *at > due && *at < fate.sent)
            .find(|at| taken_at(*at, number) < case.plan.connections as usize);
        if let Some(at) = free_at {
            return Err(format!(
                "request {number}, due at {due}, was sent at {}, and at {at} a connection was free",
                fate.sent
            ));
        }
    }
    Ok(())
}

/// A run that has a time ends in it.
fn ends(case: &Case, seen: &Seen) -> Result<(), String> {
    let Until::Elapsed(_) = case.plan.until else { return Ok(()) };
    let away = if case.temper.away > 0.0 { 8 * 25_000_000 } else { 0 };
    let latest = seen.window.end
        + case.plan.patience().as_nanos() as u64
        + SLEEP_NS_MAX * (1 + seen.parts.len() as u64)
        + away;
    if seen.ended > latest {
        return Err(format!("it ended {} ns late", seen.ended - latest));
    }
    Ok(())
}

/// Little's law: the times of all answers, added up, are the time for which requests were under
/// way, added up by whoever saw them come and go.
fn littles_law(case: &Case, seen: &Seen) -> Result<(), String> {
    let is_whole = case.plan.warmup.is_zero() && case.temper.answers_all();
    let is_plain = case.plan.pipeline == 1 && case.temper.narrow == 0.0;
    let told: u64 = all(seen, |it| it.good);
    if !is_whole || !is_plain || told != seen.world.answered {
        return Ok(());
    }
    let times = seen.seconds.iter().map(|it| it.service.mean() * it.service.len() as f64);
    let (told, truly): (f64, f64) = (times.sum(), seen.world.under_way_ns as f64);
    if (told - truly).abs() > PRECISION * truly + 2.0 * seen.world.answered as f64 {
        return Err(format!("requests were under way for {truly} ns, and {told} are told"));
    }
    Ok(())
}

/// The response times of an open loop count from when requests were due, whatever kept them from
/// being sent.
fn waits_count_from_when_requests_were_due(case: &Case, seen: &Seen) -> Result<(), String> {
    let is_exact = case.temper.answers_all() && case.temper.narrow == 0.0;
    if case.plan.arrivals == Arrivals::Closed || !is_exact {
        return Ok(());
    }
    let in_window = dues(case, seen).filter(|(_, due)| *due >= seen.window.begin);
    let fates = in_window.filter_map(|(number, due)| Some((due, seen.world.fates.get(&number)?)));
    let waits = fates.filter(|(_, fate)| fate.good > 0).map(|(due, fate)| fate.came - due);
    let (mut truly, mut answers) = (0.0, 0.0);
    waits.for_each(|wait| (truly, answers) = (truly + wait as f64, answers + 1.0));
    let good = seen.parts.iter().map(|part| &part.response.good);
    let told: f64 = good.map(|times| times.mean() * times.len() as f64).sum();
    if (told - truly).abs() > PRECISION * truly + 2.0 * answers {
        return Err(format!("users waited for {truly} ns in all, and {told} are told"));
    }
    Ok(())
}

/// What the warm-up's requests take is in no figure, however late their answers come.
fn figures_are_the_windows(case: &Case, seen: &Seen) -> Result<(), String> {
    let (plan, temper) = (&case.plan, &case.temper);
    let is_open = plan.arrivals != Arrivals::Closed;
    let is_exact = temper.answers_all() && temper.narrow == 0.0 && plan.pipeline == 1;
    // In a closed loop a request is due when its connection is begun, of which the server knows
    // no time.
    if !is_exact || !is_open && !plan.keep_alive {
        return Ok(());
    }
    let fates = &seen.world.fates;
    let due: Vec<u64> = if is_open {
        dues(case, seen).filter(|(number, _)| fates.contains_key(number)).map(|it| it.1).collect()
    } else {
        fates.values().map(|fate| fate.sent).collect()
    };
    let in_window = fates.values().zip(due).filter(|(_, due)| *due >= seen.window.begin);
    let (mut good, mut bytes, mut truly) = (0, 0, 0);
    for (fate, _) in in_window {
        bytes += fate.bytes;
        good += u64::from(fate.good);
        truly += if fate.good > 0 { fate.came - fate.sent } else { 0 };
    }
    let of = |count: fn(&Outcome) -> u64| seen.parts.iter().map(count).sum();
    equal("good answers of the window", good, of(|part| part.account.good))?;
    equal("bytes of its requests", bytes, of(|part| part.bytes_sent))?;
    let times = seen.seconds.iter().map(|it| it.service.mean() * it.service.len() as f64);
    let (told, truly): (f64, f64) = (times.sum(), truly as f64);
    if (told - truly).abs() > PRECISION * truly + 2.0 * good as f64 {
        return Err(format!("the window's requests took {truly} ns in all, and {told} are told"));
    }
    Ok(())
}

/// A wait of the window's that ended without an answer is in the figures, as a lower bound, and
/// none of the warm-up's is.
fn waits_without_an_answer_stay(case: &Case, seen: &Seen) -> Result<(), String> {
    let is_apart = case.plan.arrivals != Arrivals::Closed || !case.plan.keep_alive;
    // Who speaks unasked spoils an answer that came.
    if case.temper.speaks > 0.0 {
        return Ok(());
    }
    for part in &seen.parts {
        let account = &part.account;
        let answered = |kind| matches!(kind, ErrorKind::WrongStatus | ErrorKind::WrongBody);
        let bad = account.errors.iter().filter(|error| answered(error.kind));
        let bad: u64 = bad.map(|error| error.count).sum();
        let unanswered = account.errors_total() - bad + account.in_flight + account.shed;
        let times = if is_apart { &part.response } else { &part.service };
        equal("requests without an answer, and their waits", unanswered, times.censored.len())?;
    }
    Ok(())
}

fn equal(what: &str, one: u64, other: u64) -> Result<(), String> {
    if one == other { Ok(()) } else { Err(format!("{what}: {one} and {other}")) }
}
