//! A run with robots as scripts read it; documented field by field in docs/load-json.md.

use load::outcome::deliveries::DeliveriesSeen;
use load::outcome::rooms::{RoomSeen, worst};
use load::outcome::slow::{SlowSeen, SlowWord};
use load::outcome::storm::StormSeen;
use load::outcome::{Account, ErrorCount, First, Outcome, Second, ThreadUse};
use serde::Serialize;

use super::super::json::{
    Bytes, ConditionDocument, Distribution, PlanDocument, VERSION, WarningDocument, conditions,
    distribution, exact, plan, warning,
};
use super::super::run::Run;
use super::words;

/// What is written of a run with robots.
#[derive(Serialize)]
pub struct RobotsDocument<'a> {
    version: u32,
    plan: PlanDocument,
    backend: &'a str,
    interrupted: bool,
    seconds: f64,
    rate: f64,
    robots: Robots<'a>,
    messages: Messages<'a>,
    deliveries: Deliveries<'a>,
    worst_rooms: Vec<WorstRoom>,
    slow: Option<SlowDocument>,
    storm: Option<StormDocument>,
    warmup_deliveries: AccountDocument,
    bytes: Bytes,
    delivery_us: Distribution,
    until_all_us: Distribution,
    first_to_last_us: Distribution,
    confirm_us: Distribution,
    lateness_us: Distribution,
    seen_late_us: Distribution,
    connect_us: Distribution,
    open_us: Distribution,
    errors: &'a [ErrorCount],
    per_second: &'a [Second],
    cpu: CpuOfRobots,
    threads: &'a [ThreadUse],
    warnings: Vec<WarningDocument>,
    conditions: Vec<ConditionDocument>,
}

#[derive(Serialize)]
struct Robots<'a> {
    asked: u32,
    joined: u32,
    cut: u32,
    first_cut: Option<&'a str>,
    failed: u64,
    first_failed: Option<&'a str>,
    syn_retransmits: u64,
    deliveries_min: u64,
    deliveries_max: u64,
    least_share: Option<LeastShare>,
}

#[derive(Serialize)]
struct LeastShare {
    robot: u32,
    had: u64,
    due: u64,
    share: f64,
}

#[derive(Serialize)]
struct WorstRoom {
    room: u32,
    missing: u64,
    delivered: u64,
    longest_us: f64,
}

#[derive(Serialize)]
struct Messages<'a> {
    sent: u64,
    received: u64,
    confirmed: u64,
    unconfirmed: u64,
    confirmed_missing: u64,
    first_confirmed_missing: Option<&'a str>,
}

#[derive(Serialize)]
struct AccountDocument {
    scheduled: u64,
    shed: u64,
    due: u64,
    delivered: u64,
    missing: u64,
    in_flight: u64,
}

#[derive(Serialize)]
struct Deliveries<'a> {
    #[serde(flatten)]
    account: AccountDocument,
    duplicates: u64,
    first_duplicate: Option<&'a str>,
    out_of_order: u64,
    first_out_of_order: Option<&'a str>,
    leaked: u64,
    first_leaked: Option<&'a str>,
    wrong: u64,
    first_wrong: Option<&'a str>,
    overdue: u64,
    stamped: u64,
    unstamped: u64,
}

#[derive(Serialize)]
struct SlowDocument {
    robots: u32,
    word: Option<&'static str>,
    cut: u32,
    owed: u64,
    came: u64,
    missing: u64,
    in_flight: u64,
    overdue: u64,
    others_before_us: Distribution,
    others_meanwhile_us: Distribution,
    others_shed: u64,
}

#[derive(Serialize)]
struct StormDocument {
    ended: u32,
    back: u64,
    half_back_s: Option<f64>,
    p99_back_s: Option<f64>,
    all_back_s: Option<f64>,
    refused: u64,
    failed: u64,
    syn_retransmits: u64,
    out_of_order: u64,
    duplicates: u64,
}

#[derive(Serialize)]
struct CpuOfRobots {
    user_s: f64,
    system_s: f64,
    us_per_delivery: Option<f64>,
}

/// The document of a run with robots.
pub fn run<'a>(run: &'a Run, seen: &'a DeliveriesSeen) -> RobotsDocument<'a> {
    let outcome = &run.outcome;
    RobotsDocument {
        version: VERSION,
        plan: plan(&run.url, &run.plan),
        backend: &outcome.backend,
        interrupted: outcome.interrupted,
        seconds: outcome.window.as_secs_f64(),
        rate: outcome.rate(),
        robots: robots(outcome, seen),
        messages: messages(seen),
        deliveries: deliveries(&outcome.account, seen),
        worst_rooms: worst(seen.rooms_seen.clone()).into_iter().map(worst_room).collect(),
        slow: seen.slow.as_deref().map(slow),
        storm: seen.storm.as_deref().map(storm),
        warmup_deliveries: account(&outcome.warmup),
        bytes: Bytes { received: outcome.bytes_received, sent: outcome.bytes_sent },
        delivery_us: distribution(&outcome.response),
        until_all_us: distribution(&seen.until_all),
        first_to_last_us: exact(&seen.first_to_last),
        confirm_us: distribution(&seen.confirm),
        lateness_us: exact(&outcome.lateness),
        seen_late_us: exact(&outcome.seen_late),
        connect_us: exact(&outcome.connect),
        open_us: exact(&outcome.opening),
        errors: &outcome.account.errors,
        per_second: &outcome.seconds,
        cpu: cpu(outcome),
        threads: &outcome.threads,
        warnings: run.warnings.iter().map(|it| warning(it, words::sentences(it))).collect(),
        conditions: conditions(run),
    }
}

fn robots<'a>(outcome: &'a Outcome, seen: &'a DeliveriesSeen) -> Robots<'a> {
    let connections = &outcome.connections;
    Robots {
        asked: connections.asked,
        joined: seen.joined,
        cut: seen.cut,
        first_cut: what(&seen.firsts.cut),
        failed: connections.failed,
        first_failed: outcome.firsts.failed.as_ref().map(|first| first.what.1.as_str()),
        syn_retransmits: connections.syn_retransmits,
        deliveries_min: connections.answers_min,
        deliveries_max: connections.answers_max,
        least_share: seen.least_share.map(|it| LeastShare {
            robot: it.robot,
            had: it.had,
            due: it.due,
            share: it.share(),
        }),
    }
}

fn messages(seen: &DeliveriesSeen) -> Messages<'_> {
    Messages {
        sent: seen.messages_sent,
        received: seen.messages_received,
        confirmed: seen.confirm.good.len(),
        unconfirmed: seen.confirm.censored.len(),
        confirmed_missing: seen.confirmed_missing,
        first_confirmed_missing: what(&seen.firsts.confirmed_missing),
    }
}

fn account(account: &Account) -> AccountDocument {
    AccountDocument {
        scheduled: account.scheduled,
        shed: account.shed,
        due: account.sent,
        delivered: account.good,
        missing: account.errors_total(),
        in_flight: account.in_flight,
    }
}

fn deliveries<'a>(of: &Account, seen: &'a DeliveriesSeen) -> Deliveries<'a> {
    Deliveries {
        account: account(of),
        duplicates: seen.duplicates,
        first_duplicate: what(&seen.firsts.duplicate),
        out_of_order: seen.out_of_order,
        first_out_of_order: what(&seen.firsts.out_of_order),
        leaked: seen.leaked,
        first_leaked: what(&seen.firsts.leaked),
        wrong: seen.wrong,
        first_wrong: what(&seen.firsts.wrong),
        overdue: seen.overdue,
        stamped: seen.stamped,
        unstamped: seen.unstamped,
    }
}

fn worst_room(seen: RoomSeen) -> WorstRoom {
    WorstRoom {
        room: seen.room,
        missing: seen.missing,
        delivered: seen.delivered,
        longest_us: seen.longest as f64 / 1e3,
    }
}

fn slow(seen: &SlowSeen) -> SlowDocument {
    SlowDocument {
        robots: seen.robots,
        word: seen.word().map(SlowWord::name),
        cut: seen.cut,
        owed: seen.owed,
        came: seen.came,
        missing: seen.missing,
        in_flight: seen.in_flight,
        overdue: seen.overdue,
        others_before_us: distribution(&seen.before),
        others_meanwhile_us: distribution(&seen.meanwhile),
        others_shed: seen.shed,
    }
}

fn storm(seen: &StormSeen) -> StormDocument {
    let back_within = |share| seen.back_within(share).map(|it| it as f64 / 1e9);
    StormDocument {
        ended: seen.ended,
        back: seen.back.len(),
        half_back_s: back_within(0.5),
        p99_back_s: back_within(0.99),
        all_back_s: back_within(1.0),
        refused: seen.refused,
        failed: seen.failed,
        syn_retransmits: seen.syn_retransmits,
        out_of_order: seen.out_of_order,
        duplicates: seen.duplicates,
    }
}

fn what(first: &Option<First<String>>) -> Option<&str> {
    first.as_ref().map(|first| first.what.as_str())
}

fn cpu(outcome: &Outcome) -> CpuOfRobots {
    let user_s: f64 = outcome.threads.iter().map(|thread| thread.user_s).sum();
    let system_s: f64 = outcome.threads.iter().map(|thread| thread.system_s).sum();
    let delivered = outcome.account.good;
    let us_per_delivery = (delivered > 0).then(|| (user_s + system_s) * 1e6 / delivered as f64);
    CpuOfRobots { user_s, system_s, us_per_delivery }
}
