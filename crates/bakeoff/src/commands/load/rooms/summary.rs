//! A run with robots as people read it.

use std::fmt::Write;

use histogram::Latency;
use histogram::reading::{self, Statistic};
use load::outcome::deliveries::DeliveriesSeen;
use load::outcome::rooms::{RoomSeen, worst};
use load::outcome::slow::{SlowSeen, SlowWord};
use load::outcome::storm::StormSeen;
use load::outcome::{Account, ErrorKind, Outcome};
use report::{text, units};

use super::super::run::{Run, rate};
use super::super::summary;
use super::words;

/// The whole summary, which ends with an end of line.
pub fn text(run: &Run, seen: &DeliveriesSeen) -> String {
    let outcome = &run.outcome;
    let warned = run.warnings.iter().map(words::sentences);
    let paragraphs = [
        summary::heading(run),
        Some(robots(outcome, seen)),
        Some(account(outcome, seen)),
        firsts(outcome, seen),
        worst_rooms(seen),
        seen.slow.as_deref().map(slow),
        seen.storm.as_deref().map(storm),
        Some(times(outcome, seen)),
        summary::client(outcome, "delivery"),
        summary::conditions(run),
        summary::warned(warned),
    ];
    let mut all = paragraphs.into_iter().flatten().collect::<Vec<_>>().join("\n\n");
    all.push('\n');
    all
}

/// Who was there, and what went to and fro.
fn robots(outcome: &Outcome, seen: &DeliveriesSeen) -> String {
    let whole = units::whole;
    let connections = &outcome.connections;
    let window = outcome.window.as_secs_f64();
    let a_second = |number: u64| if window > 0.0 { number as f64 / window } else { 0.0 };
    let bytes = |bytes: u64| units::bytes(a_second(bytes) as u64);
    format!(
        "robots       {} asked for in {}, {} came in, {} were cut by the server\n             {} \
         connections failed, {} SYN sent again\nsent         {} messages, {}/s\nreceived     {} \
         messages, {}/s\nrate         {} deliveries",
        whole(connections.asked.into()),
        units::of(seen.rooms.into(), "room"),
        whole(seen.joined.into()),
        whole(seen.cut.into()),
        whole(connections.failed),
        whole(connections.syn_retransmits),
        rate(a_second(seen.messages_sent)),
        bytes(outcome.bytes_sent),
        rate(a_second(seen.messages_received)),
        bytes(outcome.bytes_received),
        rate(outcome.rate()),
    )
}

/// The conserved account, as the equations that it is, and what was wrong beside it.
fn account(outcome: &Outcome, seen: &DeliveriesSeen) -> String {
    let whole = units::whole;
    let Account { scheduled, shed, sent, .. } = outcome.account;
    let mut text = format!(
        "deliveries   {} scheduled = {} due + {} shed\n             {}",
        whole(scheduled),
        whole(sent),
        whole(shed),
        due(&outcome.account),
    );
    if outcome.warmup.sent > 0 {
        let _ = write!(text, "\n  warm-up    {}", due(&outcome.warmup));
    }
    let _ = write!(
        text,
        "\n             {} duplicate, {} out of order, {} of another room, {} wrong, {} \
         overdue\n             {} to {} to each robot",
        whole(seen.duplicates),
        whole(seen.out_of_order),
        whole(seen.leaked),
        whole(seen.wrong),
        whole(seen.overdue),
        whole(outcome.connections.answers_min),
        whole(outcome.connections.answers_max),
    );
    if let Some(least) = seen.least_share.filter(|it| it.had < it.due) {
        let _ = write!(
            text,
            "; the least share of its due had robot {}: {} of {}, {}",
            least.robot,
            whole(least.had),
            whole(least.due),
            units::percent(least.share()),
        );
    }
    if seen.confirm.samples() > 0 {
        let _ = write!(
            text,
            "\n  messages   {} confirmed, {} not; {} confirmed and missing",
            whole(seen.confirm.good.len()),
            whole(seen.confirm.censored.len()),
            whole(seen.confirmed_missing),
        );
    }
    if seen.unstamped > 0 {
        let _ = write!(
            text,
            "\n             {} end when they were seen, and not by the kernel's stamp",
            whole(seen.unstamped)
        );
    }
    text
}

fn due(account: &Account) -> String {
    let whole = units::whole;
    format!(
        "{} due = {} delivered + {} missing + {} in flight",
        whole(account.sent),
        whole(account.good),
        whole(account.errors_total()),
        whole(account.in_flight),
    )
}

/// What was wrong the first time; `None` where nothing was.
fn firsts(outcome: &Outcome, seen: &DeliveriesSeen) -> Option<String> {
    let missing = outcome.account.errors.iter().find(|error| error.kind == ErrorKind::Missing);
    let what = |first: &Option<load::outcome::First<String>>| {
        first.as_ref().map(|first| first.what.clone())
    };
    let all = [
        what(&seen.firsts.confirmed_missing),
        missing.map(|error| error.example.clone()),
        what(&seen.firsts.duplicate),
        what(&seen.firsts.out_of_order),
        what(&seen.firsts.leaked),
        what(&seen.firsts.wrong),
        what(&seen.firsts.cut),
        outcome.firsts.failed.as_ref().map(|first| format!("not connected: {}", first.what.1)),
    ];
    // A server chose a part of it.
    let lines: Vec<String> =
        all.into_iter().flatten().map(|what| text::visible(&what).into_owned()).collect();
    (!lines.is_empty()).then(|| format!("first        {}", lines.join("\n             ")))
}

/// The rooms that fared worst; where nothing is missing, the slowest alone. `None` where there is
/// but one.
fn worst_rooms(seen: &DeliveriesSeen) -> Option<String> {
    let mut rooms = worst(seen.rooms_seen.clone());
    rooms.truncate(if rooms.iter().any(|it| it.missing > 0) { rooms.len() } else { 1 });
    let line = |it: &RoomSeen| {
        format!(
            "room {}: {} missing, {} delivered, the longest in {}",
            it.room,
            units::whole(it.missing),
            units::whole(it.delivered),
            units::time(it.longest as f64 / 1e3)
        )
    };
    let lines: Vec<String> = rooms.iter().map(line).collect();
    (seen.rooms > 1 && !lines.is_empty())
        .then(|| format!("worst rooms  {}", lines.join("\n             ")))
}

/// What became of slow robots, and of the others.
fn slow(seen: &SlowSeen) -> String {
    let whole = units::whole;
    let p99 = |times: &Latency| match reading::read(times, Statistic::Percentile(99.0)).value() {
        Some(it) if it.at_least => format!("≥ {}", units::time(it.nanoseconds as f64 / 1e3)),
        Some(it) => units::time(it.nanoseconds as f64 / 1e3),
        None => "too few".into(),
    };
    let told = match seen.word() {
        Some(SlowWord::Blocks) => "blocks: the others had to wait for them, or couldn't speak",
        Some(SlowWord::Cuts) => "cuts: their connections were ended",
        Some(SlowWord::Drops) => "drops: they never had all that they were owed",
        Some(SlowWord::Buffers) => "buffers: all came once they read again",
        None => "nothing is known of what the server does with them",
    };
    format!(
        "slow         {told}\n             {} of {} were cut; {} owed = {} came + {} missing + {} in \
         flight, {} overdue\n             p99 of the others {} before, {} meanwhile, {} shed",
        whole(seen.cut.into()),
        units::of(seen.robots.into(), "robot"),
        whole(seen.owed),
        whole(seen.came),
        whole(seen.missing),
        whole(seen.in_flight),
        whole(seen.overdue),
        p99(&seen.before),
        p99(&seen.meanwhile),
        whole(seen.shed),
    )
}

/// What became of a storm.
fn storm(seen: &StormSeen) -> String {
    let whole = units::whole;
    let within = |share| match seen.back_within(share) {
        Some(it) => units::time(it as f64 / 1e3),
        None => "never".into(),
    };
    format!(
        "storm        {} ended at once, {} came back: after {} half, {} 99 %, {} all\n             \
         {} refused, {} failed, {} SYN sent again; {} out of order and {} duplicate since",
        units::of(seen.ended.into(), "robot"),
        whole(seen.back.len()),
        within(0.5),
        within(0.99),
        within(1.0),
        whole(seen.refused),
        whole(seen.failed),
        whole(seen.syn_retransmits),
        whole(seen.out_of_order),
        whole(seen.duplicates),
    )
}

/// What the time is called until a message is confirmed.
const CONFIRM: &str = "confirm";

fn times(outcome: &Outcome, seen: &DeliveriesSeen) -> String {
    let exact = summary::exact;
    let times: [(&str, Latency); 8] = [
        ("delivery", outcome.response.clone()),
        ("until all\nhave it", seen.until_all.clone()),
        ("first\nto last", exact(&seen.first_to_last)),
        (CONFIRM, seen.confirm.clone()),
        ("lateness", exact(&outcome.lateness)),
        ("seen\nlate", exact(&outcome.seen_late)),
        ("connect", exact(&outcome.connect)),
        ("join", exact(&outcome.opening)),
    ];
    // Most servers confirm nothing.
    let shown = times.iter().filter(|(name, it)| *name != CONFIRM || it.samples() > 0);
    let columns: Vec<(&str, &Latency)> = shown.map(|(name, it)| (*name, it)).collect();
    let waited = match seen.confirm.censored.len() {
        0 => "deliveries that never came",
        _ => "deliveries and confirmations that never came",
    };
    summary::times_of(&columns, waited)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{confirmed, lied_to, sound, stormed};
    use super::*;

    fn told(run: &Run) -> String {
        text(run, run.outcome.deliveries.as_ref().unwrap())
    }

    #[test]
    fn robots_that_heard_all_of_each_other() {
        insta::assert_snapshot!(told(&sound()));
    }

    #[test]
    fn robots_that_ended_at_once() {
        insta::assert_snapshot!(told(&stormed()));
    }

    #[test]
    fn robots_whose_broker_confirms_messages() {
        insta::assert_snapshot!(told(&confirmed()));
    }

    #[test]
    fn robots_that_were_lied_to() {
        insta::assert_snapshot!(told(&lied_to()));
    }
}
