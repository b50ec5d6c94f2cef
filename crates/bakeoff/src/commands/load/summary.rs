//! A run as people read it.

use std::fmt::Write;
use std::net::SocketAddr;
use std::time::Duration;

use histogram::Latency;
use histogram::reading::{Reading, SAMPLES_BEYOND_MIN, Statistic, read};
use load::outcome::{Account, Outcome, StatusCount};
use load::plan::keys::{Chosen, Keys, KeysPhase, Operation};
use load::plan::rooms::Wire;
use load::plan::template::{Placeholders, Request};
use load::plan::{Arrivals, Plan, Rooms, Statuses, Target, Until, Workload};
use load::verdict::limit::Warning;
use report::{text, units};

use super::rooms::StormChoice;
use super::run::{Run, rate, sentence};
use super::table::{aligned, table};
use super::{by_host, words};

/// The whole summary, which ends with an end of line.
pub fn text(run: &Run) -> String {
    let paragraphs = [
        heading(run),
        by_host::table(&run.hosts, &run.outcome),
        throughput(&run.outcome),
        account(&run.outcome, run.plan.http().map(|http| &http.expect.statuses)),
        keys(&run.outcome),
        latencies(run),
        classes(&run.outcome),
        errors(&run.outcome.account),
        connections(run),
        client(&run.outcome, "request"),
        conditions(run),
        warnings(run),
    ];
    let mut all = paragraphs.into_iter().flatten().collect::<Vec<_>>().join("\n\n");
    all.push('\n');
    all
}

/// What was asked for, on a line.
pub fn plan(url: &str, pace: &str, plan: &Plan) -> String {
    let connections = units::of(plan.connections.into(), "connection");
    let requests = plan.http().map(|http| &http.requests[..]);
    let kept = match (plan.keep_alive, plan.pipeline) {
        (false, _) if requests.is_some_and(say_close) => {
            ", each for one request, as its header says (Connection: close)".to_string()
        }
        (false, _) => ", each for one request".to_string(),
        (true, 1) => ", kept alive".to_string(),
        (true, depth) => format!(", kept alive, {depth} requests under way on each"),
    };
    let asked = match &plan.work {
        Workload::Http(http) if http.requests.len() == 1 => String::new(),
        Workload::Http(http) => paths(&http.requests),
        Workload::Keys(keys) => format!(" · {}", keys_asked(keys)),
        Workload::Rooms(asked) => format!(" · {}", rooms_asked(*asked, plan)),
    };
    let in_body = match requests.and_then(|requests| requests.first()) {
        Some(first) if first.has_placeholder_in_body() => match first.placeholders {
            Placeholders::Filled => ", placeholders in the body filled in",
            Placeholders::LeftInBody => ", the body no text and sent as it is",
            Placeholders::Left => "",
        },
        _ => "",
    };
    // Only where another would offer another load.
    let by_chance = matches!(plan.arrivals, Arrivals::Poisson(_))
        || requests.is_some_and(are_weighted)
        || requests.is_none_or(|requests| requests.iter().any(Request::has_nonce));
    let seed = if by_chance { format!(", seed {}", plan.seed) } else { String::new() };
    let address = resolved(plan).map_or_else(String::new, |address| format!(" ({address})"));
    format!("{}{address} · {pace} · {connections}{kept}{asked}{in_body}{seed}", text::visible(url))
}

fn are_weighted(requests: &[Request]) -> bool {
    requests.iter().any(|it| it.weight != requests[0].weight)
}

/// How several paths are asked for.
fn paths(requests: &[Request]) -> String {
    let count = requests.len();
    if !are_weighted(requests) {
        return format!(", {count} paths in turn");
    }
    let weights: Vec<String> = requests.iter().map(|it| it.weight.to_string()).collect();
    format!(", {count} paths with weights {}", weights.join(", "))
}

fn say_close(requests: &[Request]) -> bool {
    requests.iter().all(|it| it.has_connection_option("close"))
}

/// What is asked of a store, in words.
fn keys_asked(keys: &Keys) -> String {
    let weights: u32 = keys.mix.iter().map(|(_, weight)| weight).sum();
    let share = |(operation, weight): &(Operation, u32)| {
        let share = units::percent(f64::from(*weight) / f64::from(weights.max(1)));
        format!("{share} {}", operation.name())
    };
    let mix = match keys.phase {
        KeysPhase::Preload => "each written once".into(),
        KeysPhase::Mix => keys.mix.iter().map(share).collect::<Vec<_>>().join(", "),
    };
    let chosen = match keys.chosen {
        Chosen::Sequential => "one after the other".into(),
        Chosen::Uniform => "all alike".into(),
        Chosen::Zipf { skew } => format!("by Zipf with {skew}"),
        Chosen::Latest { skew } => format!("the latest most, by Zipf with {skew}"),
        Chosen::Hot { requests, keys } => format!("{requests} % of requests for {keys} % of keys"),
    };
    let bytes = match (*keys.value_bytes.start(), *keys.value_bytes.end()) {
        (least, most) if least == most => format!("{} bytes", units::whole(least.into())),
        (least, most) => {
            format!("{} to {} bytes", units::whole(least.into()), units::whole(most.into()))
        }
    };
    let together = match keys.together {
        1 => String::new(),
        together => format!(", {together} a get"),
    };
    format!("{mix}; {} keys, {chosen}{together}; values of {bytes}", units::whole(keys.count))
}

/// What robots do, in words.
fn rooms_asked(asked: Rooms, plan: &Plan) -> String {
    let rooms = units::of(asked.rooms(plan.connections).into(), "room");
    let bytes = units::whole(asked.message_bytes.into());
    let qos = match asked.wire {
        Wire::Mqtt { qos } => format!(" with QoS {}", qos as u8),
        Wire::Frames | Wire::Nats | Wire::Resp => String::new(),
    };
    let slow = asked.slow.map_or_else(String::new, |slow| {
        let robots = units::of(slow.robots.into(), "slow robot");
        format!(", {robots} from {} to {}", time(slow.from), time(slow.until))
    });
    let storm = asked.storm.map_or_else(String::new, |storm| {
        format!(", a storm ({}) at {}", StormChoice::name(storm.ending), time(storm.at))
    });
    let members = units::whole(asked.members.into());
    format!("{rooms} of {members}, messages of {bytes} bytes{qos}{slow}{storm}")
}

/// What was written before a run, on a line.
pub fn preload(plan: &Plan, outcome: &Outcome) -> String {
    let Workload::Keys(keys) = &plan.work else { return String::new() };
    format!(
        "preload      {} of {} keys acknowledged in {}, {}\n\n",
        units::whole(outcome.account.good),
        units::whole(keys.count),
        time(outcome.window),
        rate(outcome.rate()),
    )
}

/// What became of the keys that were asked for; `None` where none was.
fn keys(outcome: &Outcome) -> Option<String> {
    let seen = outcome.keys?;
    let whole = units::whole;
    let mut text = format!(
        "keys read    {} hits, {} misses, from the run's start on",
        whole(seen.hits),
        whole(seen.misses)
    );
    if seen.missing + seen.wrong + seen.stale > 0 {
        let _ = write!(
            text,
            "\n             {} missing, {} wrong values, {} stale ones",
            whole(seen.missing),
            whole(seen.wrong),
            whole(seen.stale)
        );
    }
    if seen.pushes > 0 {
        let pushes = whole(seen.pushes);
        let _ = write!(text, "\n             {pushes} messages that the store sent unasked");
    }
    Some(text)
}

/// Distributions beside each other that a terminal has room for.
const COLUMNS_MAX: usize = 6;

/// The response times of each class of requests, unless one is all that was asked.
fn classes(outcome: &Outcome) -> Option<String> {
    let seen = outcome.classes.iter().map(|it| (it.name.as_str(), &it.response));
    let asked: Vec<(&str, &Latency)> = seen.filter(|(_, it)| it.samples() > 0).collect();
    let are_parts = |it: &&(&str, &Latency)| it.1.samples() < outcome.response.samples();
    asked.iter().find(are_parts)?;
    let tables = asked.chunks(COLUMNS_MAX).map(|some| distributions("request", some));
    Some(tables.collect::<Vec<_>>().join("\n\n"))
}

/// Times of which none is a bound.
pub fn exact(histogram: &histogram::Histogram<u64>) -> Latency {
    Latency { good: histogram.clone(), censored: histogram::Histogram::new_from(histogram) }
}

/// The address that the URL's name stands for; `None` where the URL has it itself.
fn resolved(plan: &Plan) -> Option<SocketAddr> {
    let Target { address, authority, .. } = &plan.target;
    let ip = address.ip();
    let written = [address.to_string(), ip.to_string(), format!("[{ip}]")];
    (!written.contains(authority)).then_some(*address)
}

/// What was asked for, and how it was measured.
pub fn heading(run: &Run) -> Option<String> {
    let outcome = &run.outcome;
    let pace = match run.plan.arrivals {
        Arrivals::Closed => "closed loop".to_string(),
        Arrivals::Constant(paced) => format!("open loop at a constant {}", rate(paced)),
        Arrivals::Poisson(mean) => format!("open loop at a random {}", rate(mean)),
    };
    let warmup = match run.plan.warmup {
        Duration::ZERO => String::new(),
        warmup => format!(" after {} of warm-up", time(warmup)),
    };
    let asked = match run.plan.until {
        Until::Elapsed(asked) => time(asked),
        Until::Requests(asked) => units::of(asked, "request"),
    };
    let cut_short = if outcome.interrupted {
        format!(", interrupted: {asked} were asked for")
    } else if run.is_given_up() {
        format!(", given up: {asked} were asked for, and nobody could be connected to any more")
    } else {
        String::new()
    };
    let measured = match outcome.window {
        Duration::ZERO => "measured nothing".to_string(),
        window => format!("measured for {}", time(window)),
    };
    Some(format!(
        "{}\n{measured}{warmup} by {} on {}{cut_short}{}",
        plan(&run.url, &pace, &run.plan),
        units::of(outcome.threads.len() as u64, "thread"),
        outcome.backend,
        not_kept(run).unwrap_or_default(),
    ))
}

/// That connections weren't kept, which the plan's line says that they were to be.
fn not_kept(run: &Run) -> Option<String> {
    run.warnings.iter().find_map(|warning| match warning {
        Warning::NotKept { cut, answers } => Some(format!(
            "\nnot kept alive: the server ended {} connections in {} answers",
            units::whole(*cut),
            units::whole(*answers)
        )),
        _ => None,
    })
}

fn throughput(outcome: &Outcome) -> Option<String> {
    if outcome.window.is_zero() {
        return None;
    }
    let a_second = |bytes: u64| units::bytes((bytes as f64 / outcome.window.as_secs_f64()) as u64);
    Some(format!(
        "rate         {} good answers\nbytes        {}/s received, {}/s sent",
        rate(outcome.rate()),
        a_second(outcome.bytes_received),
        a_second(outcome.bytes_sent),
    ))
}

/// The conserved account, as the equations that it is.
fn account(outcome: &Outcome, expected: Option<&Statuses>) -> Option<String> {
    let Account { scheduled, shed, sent, good, in_flight, .. } = outcome.account;
    let whole = units::whole;
    let mut text = format!(
        "requests     {} scheduled = {} sent + {} shed\n             {} sent = {} good + {} \
         errors + {} in flight",
        whole(scheduled),
        whole(sent),
        whole(shed),
        whole(sent),
        whole(good),
        whole(outcome.account.errors_total()),
        whole(in_flight),
    );
    if let Some(statuses) = expected.and_then(|it| statuses(&outcome.account.statuses, it)) {
        let _ = write!(text, "\n  statuses   {statuses}");
    }
    let warmup = &outcome.warmup;
    if warmup.sent > 0 {
        let _ = write!(
            text,
            "\n  warm-up    {} sent = {} good + {} errors + {} in flight",
            whole(warmup.sent),
            whole(warmup.good),
            whole(warmup.errors_total()),
            whole(warmup.in_flight),
        );
    }
    Some(text)
}

/// The answers by status, those that weren't expected apart; `None` where all answers had
/// one and the same, and an expected one.
fn statuses(all: &[StatusCount], expected: &Statuses) -> Option<String> {
    let (right, wrong): (Vec<_>, Vec<_>) =
        all.iter().partition(|of_one| expected.contains(of_one.status));
    if right.len() < 2 && wrong.is_empty() {
        return None;
    }
    let right = (!right.is_empty()).then(|| by_status(right));
    let wrong = (!wrong.is_empty()).then(|| format!("not expected: {}", by_status(wrong)));
    Some(right.into_iter().chain(wrong).collect::<Vec<_>>().join("; "))
}

/// The most statuses of each sort that are shown: a server may make up hundreds.
const STATUSES_SHOWN: usize = 8;

/// The most frequent ones first.
fn by_status(mut all: Vec<&StatusCount>) -> String {
    all.sort_by_key(|of_one| std::cmp::Reverse(of_one.count));
    let (shown, others) = all.split_at(all.len().min(STATUSES_SHOWN));
    let mut parts: Vec<String> = shown
        .iter()
        .map(|of_one| format!("{} with {}", units::whole(of_one.count), of_one.status))
        .collect();
    if !others.is_empty() {
        let count: u64 = others.iter().map(|of_one| of_one.count).sum();
        parts.push(format!("{} with {} others", units::whole(count), others.len()));
    }
    parts.join(", ")
}

/// The percentiles that are told of a distribution, by their names.
pub const PERCENTILES: [(&str, f64); 7] = [
    ("p50", 50.0),
    ("p75", 75.0),
    ("p90", 90.0),
    ("p95", 95.0),
    ("p99", 99.0),
    ("p99.9", 99.9),
    ("p99.99", 99.99),
];

/// Shown for a percentile with too few samples.
const TOO_FEW: &str = "too few";

fn latencies(run: &Run) -> Option<String> {
    let outcome = &run.outcome;
    let is_closed_loop = run.plan.arrivals == Arrivals::Closed;
    let mut times = if is_closed_loop && run.plan.keep_alive {
        // One and the same: a request is due when it is sent.
        vec![("response\n= service", outcome.service.clone())]
    } else {
        vec![("response", outcome.response.clone()), ("service", outcome.service.clone())]
    };
    if !is_closed_loop {
        times.push(("lateness", exact(&outcome.lateness)));
    }
    if !outcome.connection_wait.is_empty() {
        times.push(("for a\nconnection", exact(&outcome.connection_wait)));
    }
    times.push(("connect", exact(&outcome.connect)));
    if !outcome.opening.is_empty() {
        times.push(("first\nwords", exact(&outcome.opening)));
    }
    if seen_late_matters(outcome) {
        times.push(("seen\nlate", exact(&outcome.seen_late)));
    }
    let columns: Vec<(&str, &Latency)> =
        times.iter().map(|(name, latency)| (*name, latency)).collect();
    Some(times_of(&columns, "requests without an answer"))
}

/// A table of times, with what its marks mean. Some of these waited in vain.
pub fn times_of(columns: &[(&str, &Latency)], waited: &str) -> String {
    let mut text = distributions("time", columns);
    let all = || statistics().flat_map(|(_, it)| columns.iter().map(move |of| read(of.1, it)));
    let withheld =
        |it: Reading| matches!(it, Reading::TooFewSamples { samples, .. } if samples > 0);
    if all().any(withheld) {
        let _ = write!(
            text,
            "\n{TOO_FEW}: fewer than {SAMPLES_BEYOND_MIN} samples lie beyond this percentile"
        );
    }
    if all().any(|it| it.value().is_some_and(|value| value.at_least)) {
        let _ = write!(text, "\n≥: {waited} waited this long, and longer had they gone on");
    }
    text
}

/// The statistics that are shown of a distribution, by their names.
fn statistics() -> impl Iterator<Item = (&'static str, Statistic)> {
    let percentiles =
        PERCENTILES.map(|(name, percentile)| (name, Statistic::Percentile(percentile)));
    percentiles.into_iter().chain([("max", Statistic::Max), ("mean", Statistic::Mean)])
}

/// A table with a column for each distribution: more of them than statistics fit in a width of
/// 80.
fn distributions(of: &str, columns: &[(&str, &Latency)]) -> String {
    let mut table = table();
    table.set_header([of].into_iter().chain(columns.iter().map(|(name, _)| *name)));
    for (name, statistic) in statistics() {
        let values = columns.iter().map(|(_, latency)| shown(read(latency, statistic)));
        table.add_row([name.to_string()].into_iter().chain(values));
    }
    let samples = columns.iter().map(|(_, latency)| units::whole(latency.samples()));
    table.add_row(["samples".to_string()].into_iter().chain(samples));
    aligned(table, 1..columns.len() + 1)
}

/// How late answers may be seen, as a part of the response time, before that is told.
const SEEN_LATE_SHARE: f64 = 0.05;

/// Whether the time until an answer was seen is a part of the response time that matters.
fn seen_late_matters(outcome: &Outcome) -> bool {
    [0.5, 0.99].into_iter().any(|quantile| {
        let late = outcome.seen_late.value_at_quantile(quantile) as f64;
        let whole = outcome.response.quantile(quantile);
        whole.is_some_and(|whole| late >= SEEN_LATE_SHARE * whole.nanoseconds as f64)
    }) && !outcome.seen_late.is_empty()
}

fn shown(reading: Reading) -> String {
    match reading {
        Reading::TooFewSamples { samples: 0, .. } => units::NOTHING.into(),
        Reading::TooFewSamples { .. } => TOO_FEW.into(),
        Reading::Value(value) => {
            let bound = if value.at_least { "≥ " } else { "" };
            format!("{bound}{}", units::time(value.nanoseconds as f64 / 1e3))
        }
    }
}

/// Each kind of error, with an example; `None` without any.
pub fn errors(account: &Account) -> Option<String> {
    if account.errors.is_empty() {
        return None;
    }
    let mut table = table();
    table.set_header(["errors", "count", "first after", "example"]);
    for error in &account.errors {
        table.add_row([
            error.kind.name().to_string(),
            units::whole(error.count),
            time(error.first),
            // A server chose it.
            text::visible(&error.example).into_owned(),
        ]);
    }
    Some(aligned(table, 1..3))
}

fn connections(run: &Run) -> Option<String> {
    let connections = &run.outcome.connections;
    let whole = units::whole;
    let mut all = format!(
        "connections  {} asked for, {} established at once, {} opened again, {} failed, {} SYN \
         sent again\n             {} to {} good answers on each",
        whole(connections.asked.into()),
        whole(connections.established.into()),
        whole(connections.reconnects),
        whole(connections.failed),
        whole(connections.syn_retransmits),
        whole(connections.answers_min),
        whole(connections.answers_max),
    );
    if let Some(first) = &run.outcome.firsts.failed {
        // A server may have said it.
        let example = text::visible(&first.what.1);
        let _ = write!(all, "\n             the first that failed: {example}");
    }
    if connections.resent > 0 {
        let resent = whole(connections.resent);
        let _ = write!(all, "\n             {resent} requests asked again on a new connection");
    }
    if let Some(first) = &run.outcome.firsts.unasked {
        let unasked = whole(connections.unasked);
        // A server chose it.
        let example = text::visible(&first.what);
        let _ = write!(all, "\n             {unasked} times the server spoke unasked: {example}");
    }
    if connections.last_words > 0 {
        let words = whole(connections.last_words);
        let _ = write!(
            all,
            "\n             {words} times the server said why it ends a connection that nobody \
             asked on"
        );
    }
    Some(all)
}

/// What the client's threads spent, also on each of these things.
pub fn client(outcome: &Outcome, thing: &str) -> Option<String> {
    let user: f64 = outcome.threads.iter().map(|thread| thread.user_s).sum();
    let system: f64 = outcome.threads.iter().map(|thread| thread.system_s).sum();
    let each = match outcome.account.sent {
        0 => units::NOTHING.to_string(),
        sent => units::time((user + system) * 1e6 / sent as f64),
    };
    let mut text = format!("client CPU   {each} a {thing}; {user:.2} s user, {system:.2} s system");
    for (number, thread) in outcome.threads.iter().enumerate() {
        let cpu = thread.cpu.map_or_else(String::new, |cpu| format!(" on processor {cpu}"));
        let busy = units::percent(thread.busy_share);
        let _ = write!(text, "\n             thread {number}{cpu}: {busy} busy");
        if let Some(waited) = thread.run_delay_share {
            let _ = write!(text, ", {} waiting for a processor", units::percent(waited));
        }
    }
    Some(text)
}

/// What came of the conditions; `None` without any.
pub fn conditions(run: &Run) -> Option<String> {
    let lines = run.conditions.iter().enumerate().map(|(number, (condition, judgement))| {
        let title = if number == 0 { "fail if" } else { "" };
        format!("{title:<13}{}", sentence(condition, *judgement))
    });
    (!run.conditions.is_empty()).then(|| lines.collect::<Vec<_>>().join("\n"))
}

fn warnings(run: &Run) -> Option<String> {
    let of_hosts = run.concerns.iter().map(by_host::sentences);
    warned(of_hosts.chain(run.warnings.iter().map(words::sentences)))
}

/// Warnings in lines; `None` without any.
pub fn warned(all: impl Iterator<Item = String>) -> Option<String> {
    let options = textwrap::Options::new(100).initial_indent("! ").subsequent_indent("  ");
    let wrapped: Vec<String> =
        all.map(|sentences| textwrap::fill(&text::visible(&sentences), &options)).collect();
    (!wrapped.is_empty()).then(|| wrapped.join("\n"))
}

fn time(time: Duration) -> String {
    units::time(time.as_secs_f64() * 1e6)
}

#[cfg(test)]
mod tests {
    use super::super::run::tests::{bad, good, of_a_store};
    use super::*;
    use load::outcome::ClassSeen;

    #[test]
    fn a_run_that_went_well() {
        insta::assert_snapshot!(text(&good()));
    }

    #[test]
    fn a_run_in_which_everything_went_wrong() {
        insta::assert_snapshot!(text(&bad()));
    }

    #[test]
    fn a_store_that_lost_some_keys() {
        insta::assert_snapshot!(text(&of_a_store()));
    }

    #[test]
    fn an_empty_run_has_dashes_and_no_infinity() {
        let mut run = good();
        let outcome = &mut run.outcome;
        outcome.account = Account::default();
        outcome.warmup = Account::default();
        outcome.answers_in_window = 0;
        outcome.window = Duration::ZERO;
        for histogram in
            [&mut outcome.response.good, &mut outcome.service.good, &mut outcome.connect]
        {
            histogram.clear();
        }
        insta::assert_snapshot!(text(&run));
    }

    #[test]
    fn statuses_are_told_where_there_are_several_or_unexpected_ones() {
        let told = |all: &[(u16, u64)], expected: &str| {
            let count = |&(status, count)| StatusCount { status, count, good: 0 };
            statuses(&all.iter().map(count).collect::<Vec<_>>(), &expected.parse().unwrap())
        };
        assert_eq!(told(&[], "200-299"), None);
        assert_eq!(told(&[(200, 5)], "200-299"), None);
        assert_eq!(told(&[(304, 5)], "304"), None);
        assert_eq!(told(&[(304, 5)], "200-299").unwrap(), "not expected: 5 with 304");
        assert_eq!(told(&[(200, 5), (201, 7)], "200-299").unwrap(), "7 with 201, 5 with 200");
        assert_eq!(
            told(&[(200, 250), (429, 2500), (500, 1250)], "200").unwrap(),
            "250 with 200; not expected: 2,500 with 429, 1,250 with 500"
        );
        let many: Vec<_> = (400..500).map(|status| (status, 1)).collect();
        let many = told(&many, "200").unwrap();
        assert!(many.ends_with("1 with 407, 92 with 92 others"), "{many}");
    }

    #[test]
    fn the_handshake_of_a_connection_a_request_shows_in_its_response_time() {
        let mut run = good();
        run.plan.keep_alive = false;
        // A SYN that was lost, and sent again after a second, before one of a hundred.
        for _ in 0..4_000 {
            run.outcome.response.good.record(1_000_085_000).unwrap();
        }
        let text = text(&run);
        let p99 = text.lines().find(|line| line.starts_with("p99 ")).unwrap();
        let header = text.lines().find(|line| line.starts_with("time ")).unwrap();
        let columns: Vec<&str> = header.split_whitespace().collect();
        assert_eq!(columns[..3], ["time", "response", "service"]);
        let values: Vec<&str> =
            p99.split("  ").map(str::trim).filter(|it| !it.is_empty()).collect();
        assert_eq!(values[1], "1.00 s", "seconds of waiting are hidden:\n{text}");
        assert_ne!(values[2], "1.00 s", "{text}");
    }

    #[test]
    fn the_table_of_times_fits_a_terminal_of_80_columns_whatever_it_has() {
        let mut run = bad();
        let times = exact(&good().outcome.connect);
        let outcome = &mut run.outcome;
        outcome.connection_wait = times.good.clone();
        outcome.opening = times.good.clone();
        outcome.seen_late = outcome.response.good.clone();
        outcome.response.censored.record_n(9_000_000_000, 9_000_000).unwrap();
        let text = latencies(&run).unwrap();
        assert!(text.contains("connection") && text.contains("words") && text.contains("late"));
        let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= 80, "{widest} columns:\n{text}");
    }

    #[test]
    fn a_name_is_shown_with_its_address_and_an_address_once() {
        let line = |authority: &str, address: &str| {
            let mut plan = good().plan;
            plan.target.authority = authority.into();
            plan.target.address = address.parse().unwrap();
            super::plan("http://URL/", "closed loop", &plan)
        };
        let named = line("localhost:8080", "[::1]:8080");
        assert!(named.starts_with("http://URL/ ([::1]:8080) · closed loop"), "{named}");
        for (authority, address) in
            [("127.0.0.1:81", "127.0.0.1:81"), ("127.0.0.1", "127.0.0.1:80"), ("[::1]", "[::1]:80")]
        {
            let line = line(authority, address);
            assert!(line.starts_with("http://URL/ · closed loop"), "{line}");
        }
    }

    /// Else times would be told twice, or be hidden, or run out of the terminal.
    #[test]
    fn classes_are_told_where_they_are_parts_of_what_was_asked() {
        let Run { mut outcome, .. } = of_a_store();
        let of = |outcome: &Outcome| classes(outcome).map(|told| told.matches("request").count());
        assert_eq!(of(&outcome), Some(1));
        let all = ClassSeen { response: outcome.response.clone(), ..outcome.classes[0].clone() };
        outcome.classes.truncate(1);
        assert_eq!(of(&outcome), Some(1), "the others have no names");
        let part = outcome.classes[0].clone();
        outcome.classes = vec![part; 2 * COLUMNS_MAX];
        assert_eq!(of(&outcome), Some(2), "they are too many for one table");
        outcome.classes = vec![all];
        assert_eq!(of(&outcome), None, "it is all that was asked");
        outcome.classes.clear();
        assert_eq!(of(&outcome), None);
    }

    #[test]
    fn nothing_of_a_server_reaches_the_terminal_as_it_is() {
        let text = text(&bad());
        assert!(
            !text.contains(|char: char| char.is_control() && char != '\n'),
            "a server's answer can steer the terminal"
        );
    }
}
