//! A run as scripts read it; documented field by field in docs/load-json.md.

use std::collections::BTreeMap;
use std::io;

use histogram::Histogram;
use histogram::Latency;
use histogram::reading::{Reading, Statistic, read};
use hosts::seen::{Concern, HostSeen};
use load::outcome::{
    Account, ClassSeen, Connections, ErrorCount, ErrorKind, KeysSeen, Outcome, Second, StatusCount,
    ThreadUse,
};
use load::plan::keys::{Chosen, Dialect, Keys, Operation};
use load::plan::name::RequestName;
use load::plan::rooms::Wire;
use load::plan::template::Placeholders;
use load::plan::{Arrivals, BackendChoice, Http, Plan, Rooms, Until, Workload};
use load::verdict::condition::{Condition, Judgement, Measured, Verdict};
use load::verdict::limit::Warning;
use load::verdict::search::Edge;
use report::text::visible_json;
use serde::Serialize;

use super::pace::ArrivalsChoice;
use super::rooms::StormChoice;
use super::run::{Run, sentence};
use super::search::{self, Crowd, Searched, Sought, StepMade};
use super::summary::PERCENTILES;
use super::{by_host, words};

/// Goes up when a reader of the older form would misread the newer; new fields may come
/// at any time.
pub const VERSION: u32 = 1;

/// Writes a document, for people to look at as well: on a terminal what a server says
/// must not steer it.
///
/// # Errors
/// Those of `into`.
pub fn write(document: &impl Serialize, into: &mut dyn io::Write) -> io::Result<()> {
    let json = serde_json::to_string_pretty(document)?;
    writeln!(into, "{}", visible_json(&json))
}

/// What is written of a run.
#[derive(Serialize)]
pub struct RunDocument<'a> {
    version: u32,
    plan: PlanDocument,
    backend: &'a str,
    interrupted: bool,
    seconds: f64,
    rate: f64,
    requests: RequestCounts<'a>,
    warmup_requests: RequestCounts<'a>,
    bytes: Bytes,
    response_us: Distribution,
    service_us: Distribution,
    lateness_us: Distribution,
    connection_wait_us: Distribution,
    connect_us: Distribution,
    open_us: Distribution,
    seen_late_us: Distribution,
    keys: Option<KeysSeen>,
    operations: Vec<OperationDocument>,
    errors: &'a [ErrorCount],
    connections: ConnectionsDocument<'a>,
    per_second: &'a [Second],
    cpu: Cpu,
    threads: &'a [ThreadUse],
    warnings: Vec<WarningDocument>,
    conditions: Vec<ConditionDocument>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hosts: Vec<HostDocument<'a>>,
}

/// What a host saw of its part.
#[derive(Serialize)]
struct HostDocument<'a> {
    name: &'a str,
    kernel: &'a str,
    backend: &'a str,
    connections: u32,
    lost: Option<&'a str>,
    rate: Option<f64>,
    sent: Option<u64>,
    good: Option<u64>,
    errors: Option<u64>,
    in_flight: Option<u64>,
    busy_share: Option<f64>,
    service_us: Option<Distribution>,
    seen_late_us: Option<Distribution>,
    clock: ClockDocument,
}

/// What is known of a host's clock, in microseconds.
#[derive(Serialize)]
struct ClockDocument {
    offset_us: f64,
    within_us: f64,
    drift_us: Option<f64>,
    start_late_us: f64,
}

#[derive(Serialize)]
pub struct PlanDocument {
    url: String,
    address: String,
    #[serde(flatten)]
    http: Option<HttpDocument>,
    keys: Option<KeysDocument>,
    rooms: Option<RoomsDocument>,
    arrivals: &'static str,
    offered_rate: Option<f64>,
    connections: u32,
    keep_alive: bool,
    pipeline: u16,
    duration_s: Option<f64>,
    requests: Option<u64>,
    warmup_s: f64,
    timeout_s: f64,
    threads: Option<usize>,
    cpus: Option<Vec<usize>>,
    backend: &'static str,
    seed: u64,
}

#[derive(Serialize)]
struct HttpDocument {
    method: String,
    paths: Vec<String>,
    names: Vec<Option<RequestName>>,
    weights: Vec<u32>,
    headers: Vec<(String, String)>,
    body_bytes: usize,
    placeholders: Placeholders,
    expect_body: Option<String>,
    expect_status: String,
}

/// What is asked of a store, without who asks.
#[derive(Serialize)]
struct KeysDocument {
    dialect: &'static str,
    mix: Vec<(Operation, u32)>,
    count: u64,
    chosen: Chosen,
    value_bytes_min: u32,
    value_bytes_max: u32,
    keys_a_get: u16,
    expires_s: u32,
    preloaded: bool,
    evicts: bool,
}

/// What robots do.
#[derive(Serialize)]
struct RoomsDocument {
    wire: &'static str,
    qos: Option<u8>,
    rooms: u32,
    members: u32,
    message_bytes: u32,
    slow: Option<SlowDocument>,
    storm: Option<StormDocument>,
}

#[derive(Serialize)]
struct StormDocument {
    at_s: f64,
    ending: &'static str,
}

#[derive(Serialize)]
struct SlowDocument {
    robots: u32,
    from_s: f64,
    until_s: f64,
}

#[derive(Serialize)]
struct OperationDocument {
    operation: String,
    response_us: Distribution,
    service_us: Distribution,
}

#[derive(Serialize)]
struct RequestCounts<'a> {
    scheduled: u64,
    shed: u64,
    sent: u64,
    good: u64,
    errors: u64,
    in_flight: u64,
    statuses: &'a [StatusCount],
}

#[derive(Serialize)]
pub struct Bytes {
    /// From the server.
    pub received: u64,
    /// To the server.
    pub sent: u64,
}

#[derive(Serialize)]
pub struct Distribution {
    samples: u64,
    censored: u64,
    mean: Option<f64>,
    max: Option<f64>,
    /// The percentiles by their names, for those who read one.
    #[serde(flatten)]
    by_name: BTreeMap<&'static str, Option<f64>>,
    /// Those names whose value is only a lower bound.
    lower_bounds: Vec<&'static str>,
    percentiles: Vec<PercentileDocument>,
}

#[derive(Serialize)]
struct PercentileDocument {
    percentile: f64,
    value: Option<f64>,
    at_least: bool,
    withheld: bool,
}

#[derive(Serialize)]
struct ConnectionsDocument<'a> {
    #[serde(flatten)]
    counts: Connections,
    first_unasked: Option<&'a str>,
    first_failure: Option<FailureDocument<'a>>,
}

#[derive(Serialize)]
struct FailureDocument<'a> {
    kind: ErrorKind,
    example: &'a str,
}

#[derive(Serialize)]
struct Cpu {
    user_s: f64,
    system_s: f64,
    us_per_request: Option<f64>,
}

#[derive(Serialize)]
pub struct WarningDocument {
    id: &'static str,
    client_limit: bool,
    text: String,
}

#[derive(Serialize)]
pub struct ConditionDocument {
    condition: String,
    verdict: &'static str,
    text: String,
}

/// What is written of a search.
#[derive(Serialize)]
pub struct SearchDocument {
    version: u32,
    plan: PlanDocument,
    #[serde(flatten)]
    search: SearchOf,
}

/// One of two searches, under its name.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum SearchOf {
    FindRate(FindRate),
    FindConnections(FindConnections),
}

#[derive(Serialize)]
struct FindRate {
    condition: String,
    arrivals: &'static str,
    interrupted: bool,
    unfinished: bool,
    unanimous: bool,
    holds: Option<RateEdge>,
    fails: Option<RateEdge>,
    steps: Vec<RateStep>,
}

#[derive(Serialize)]
struct FindConnections {
    condition: String,
    interrupted: bool,
    unfinished: bool,
    unanimous: bool,
    no_more: String,
    holds: Option<RobotsEdge>,
    fails: Option<RobotsEdge>,
    steps: Vec<RobotsStep>,
}

#[derive(Serialize)]
struct RateEdge {
    rate: f64,
    connections_limit: Option<u32>,
    #[serde(flatten)]
    edge: EdgeDocument,
}

#[derive(Serialize)]
struct RobotsEdge {
    robots: u32,
    #[serde(flatten)]
    edge: EdgeDocument,
}

#[derive(Serialize)]
struct EdgeDocument {
    steps: usize,
    held: usize,
    client_limit: Option<String>,
    warnings: Vec<WarningCount>,
}

#[derive(Serialize)]
struct WarningCount {
    id: &'static str,
    steps: usize,
}

#[derive(Serialize)]
struct RateStep {
    counts: bool,
    connections: u32,
    #[serde(flatten)]
    step: StepDocument,
}

#[derive(Serialize)]
struct RobotsStep {
    robots: u32,
    #[serde(flatten)]
    step: StepDocument,
}

#[derive(Serialize)]
struct StepDocument {
    offered_rate: f64,
    rate: f64,
    good_share: f64,
    verdict: &'static str,
    measured: Option<f64>,
    at_least: bool,
    warnings: Vec<WarningDocument>,
}

/// The document of a run.
pub fn run(run: &Run) -> RunDocument<'_> {
    let Run { outcome, .. } = run;
    RunDocument {
        version: VERSION,
        plan: plan(&run.url, &run.plan),
        backend: &outcome.backend,
        interrupted: outcome.interrupted,
        seconds: outcome.window.as_secs_f64(),
        rate: outcome.rate(),
        requests: requests(&outcome.account),
        warmup_requests: requests(&outcome.warmup),
        bytes: Bytes { received: outcome.bytes_received, sent: outcome.bytes_sent },
        response_us: distribution(&outcome.response),
        service_us: distribution(&outcome.service),
        lateness_us: exact(&outcome.lateness),
        connection_wait_us: exact(&outcome.connection_wait),
        connect_us: exact(&outcome.connect),
        open_us: exact(&outcome.opening),
        seen_late_us: exact(&outcome.seen_late),
        keys: outcome.keys,
        operations: outcome.classes.iter().map(operation).collect(),
        errors: &outcome.account.errors,
        connections: ConnectionsDocument {
            counts: outcome.connections,
            first_unasked: outcome.firsts.unasked.as_ref().map(|first| first.what.as_str()),
            first_failure: outcome.firsts.failed.as_ref().map(|first| {
                let (kind, example) = &first.what;
                FailureDocument { kind: *kind, example }
            }),
        },
        per_second: &outcome.seconds,
        cpu: cpu(outcome),
        threads: &outcome.threads,
        warnings: run
            .concerns
            .iter()
            .map(concern)
            .chain(run.warnings.iter().map(|it| warning(it, words::sentences(it))))
            .collect(),
        hosts: run.hosts.iter().map(host).collect(),
        conditions: conditions(run),
    }
}

/// What came of each condition of a run.
pub fn conditions(run: &Run) -> Vec<ConditionDocument> {
    let document = |(condition, judgement): &(Condition, Judgement)| ConditionDocument {
        condition: condition.to_string(),
        verdict: match judgement.verdict {
            Verdict::Holds => "holds",
            Verdict::Fails => "fails",
            Verdict::Unknown => "unknown",
        },
        text: sentence(condition, *judgement),
    };
    run.conditions.iter().map(document).collect()
}

/// The document of a search.
pub fn search(url: &str, searched_plan: &Plan, searched: &Searched) -> SearchDocument {
    let search = match &searched.sought {
        Sought::Rate => SearchOf::FindRate(find_rate(searched)),
        Sought::Robots(crowd) => SearchOf::FindConnections(find_connections(crowd, searched)),
    };
    SearchDocument { version: VERSION, plan: plan(url, searched_plan), search }
}

fn find_rate(searched: &Searched) -> FindRate {
    let edge_of = |it: &Edge| RateEdge {
        rate: it.rate,
        connections_limit: it.connections_limit,
        edge: edge(searched, it),
    };
    let step_of = |it: &StepMade| RateStep {
        counts: it.counts,
        connections: it.connections,
        step: step(searched, it),
    };
    FindRate {
        condition: searched.condition.to_string(),
        arrivals: match searched.arrivals {
            ArrivalsChoice::Constant => "constant",
            ArrivalsChoice::Poisson => "poisson",
        },
        interrupted: searched.interrupted,
        unfinished: searched.found.unfinished,
        unanimous: searched.found.is_unanimous(),
        holds: searched.found.holds.as_ref().map(edge_of),
        fails: searched.found.fails.as_ref().map(edge_of),
        steps: searched.steps.iter().map(step_of).collect(),
    }
}

fn find_connections(crowd: &Crowd, searched: &Searched) -> FindConnections {
    let edge_of =
        |it: &Edge| RobotsEdge { robots: crowd.robots(it.rate), edge: edge(searched, it) };
    let step_of = |it: &StepMade| RobotsStep { robots: it.connections, step: step(searched, it) };
    FindConnections {
        condition: searched.condition.to_string(),
        interrupted: searched.interrupted,
        unfinished: searched.found.unfinished,
        unanimous: searched.found.is_unanimous(),
        no_more: searched.no_more.clone(),
        holds: searched.found.holds.as_ref().map(edge_of),
        fails: searched.found.fails.as_ref().map(edge_of),
        steps: searched.steps.iter().map(step_of).collect(),
    }
}

fn edge(searched: &Searched, edge: &Edge) -> EdgeDocument {
    let count = |(id, steps)| WarningCount { id, steps };
    EdgeDocument {
        steps: edge.steps,
        held: edge.held,
        client_limit: edge.client_limit.as_ref().map(|why| searched.sought.warns(why)),
        warnings: search::warnings(&searched.steps, edge).into_iter().map(count).collect(),
    }
}

fn step(searched: &Searched, step: &StepMade) -> StepDocument {
    let (measured, at_least) = match step.measured {
        Measured::Value { value, at_least } => (Some(value), at_least),
        Measured::Between { least, .. } => (Some(least), true),
        Measured::TooFewSamples { .. } => (None, false),
    };
    let warnings = step.warnings.iter().map(|it| warning(it, searched.sought.warns(it)));
    StepDocument {
        offered_rate: step.offered_rate,
        rate: step.rate,
        good_share: step.good_share,
        verdict: step.verdict(),
        measured,
        at_least,
        warnings: warnings.collect(),
    }
}

/// A warning, in these words.
pub fn warning(warning: &Warning, text: String) -> WarningDocument {
    WarningDocument { id: warning.id(), client_limit: warning.is_client_limit(), text }
}

fn concern(concern: &Concern) -> WarningDocument {
    WarningDocument {
        id: concern.id(),
        client_limit: matches!(concern, Concern::OfHost { .. }),
        text: by_host::sentences(concern),
    }
}

fn host(seen: &HostSeen) -> HostDocument<'_> {
    let outcome = seen.outcome.as_ref();
    let account = outcome.map(|outcome| &outcome.account);
    let us_of = |ns: i64| ns as f64 / 1e3;
    HostDocument {
        name: &seen.name,
        kernel: &seen.facts.kernel,
        backend: outcome.map_or(&*seen.facts.backend, |outcome| &*outcome.backend),
        connections: seen.plan.connections,
        lost: seen.lost.as_deref(),
        rate: outcome.map(Outcome::rate),
        sent: account.map(|account| account.sent),
        good: account.map(|account| account.good),
        errors: account.map(Account::errors_total),
        in_flight: account.map(|account| account.in_flight),
        busy_share: outcome.map(by_host::busiest),
        service_us: outcome.map(|outcome| distribution(&outcome.service)),
        seen_late_us: outcome.map(|outcome| exact(&outcome.seen_late)),
        clock: ClockDocument {
            offset_us: us_of(seen.clock.ns),
            within_us: seen.clock.bound().as_secs_f64() * 1e6,
            drift_us: seen.drift_ns.map(us_of),
            start_late_us: seen.start_late.as_secs_f64() * 1e6,
        },
    }
}

fn operation(seen: &ClassSeen) -> OperationDocument {
    OperationDocument {
        operation: seen.name.clone(),
        response_us: distribution(&seen.response),
        service_us: distribution(&seen.service),
    }
}

fn http(http: &Http) -> HttpDocument {
    let first = http.requests.first();
    HttpDocument {
        method: first.map_or_else(String::new, |request| request.method.clone()),
        paths: http.requests.iter().map(|request| request.path.clone()).collect(),
        names: http.requests.iter().map(|request| request.name.clone()).collect(),
        weights: http.requests.iter().map(|request| request.weight).collect(),
        headers: first.map_or_else(Vec::new, |request| headers(&request.headers)),
        body_bytes: first.map_or(0, |request| request.body.len()),
        placeholders: first.map(|request| request.placeholders).unwrap_or_default(),
        expect_body: http.expect.body.clone(),
        expect_status: http.expect.statuses.to_string(),
    }
}

/// Headers without secrets.
fn headers(headers: &[(String, String)]) -> Vec<(String, String)> {
    let shown =
        |(name, value): &(String, String)| (name.clone(), load::plan::headers::shown(name, value));
    headers.iter().map(shown).collect()
}

fn keys(keys: &Keys) -> KeysDocument {
    KeysDocument {
        dialect: match &keys.dialect {
            Dialect::Resp(resp) if resp.is_third => "resp3",
            Dialect::Resp(_) => "resp2",
            Dialect::MemcachedText => "memcached_text",
            Dialect::MemcachedMeta => "memcached_meta",
        },
        mix: keys.mix.clone(),
        count: keys.count,
        chosen: keys.chosen,
        value_bytes_min: *keys.value_bytes.start(),
        value_bytes_max: *keys.value_bytes.end(),
        keys_a_get: keys.together,
        expires_s: keys.expires_s,
        preloaded: keys.are_there,
        evicts: keys.evicts,
    }
}

pub fn plan(url: &str, plan: &Plan) -> PlanDocument {
    let (arrivals, offered_rate) = match plan.arrivals {
        Arrivals::Closed => ("closed", None),
        Arrivals::Constant(rate) => ("constant", Some(rate)),
        Arrivals::Poisson(rate) => ("poisson", Some(rate)),
    };
    let (duration_s, requests) = match plan.until {
        Until::Elapsed(duration) => (Some(duration.as_secs_f64()), None),
        Until::Requests(requests) => (None, Some(requests)),
    };
    PlanDocument {
        url: url.into(),
        address: plan.target.address.to_string(),
        http: plan.http().map(http),
        keys: match &plan.work {
            Workload::Http(_) | Workload::Rooms(_) => None,
            Workload::Keys(asked) => Some(keys(asked)),
        },
        rooms: plan.rooms().map(|asked| rooms(asked, plan)),
        arrivals,
        offered_rate,
        connections: plan.connections,
        keep_alive: plan.keep_alive,
        pipeline: plan.pipeline,
        duration_s,
        requests,
        warmup_s: plan.warmup.as_secs_f64(),
        timeout_s: plan.timeout.as_secs_f64(),
        threads: (plan.threads > 0).then_some(plan.threads),
        cpus: (!plan.cpus.is_empty()).then(|| plan.cpus.clone()),
        backend: match plan.backend {
            BackendChoice::Auto => "auto",
            BackendChoice::Uring => "io_uring",
            BackendChoice::Epoll => "epoll",
        },
        seed: plan.seed,
    }
}

fn rooms(asked: Rooms, plan: &Plan) -> RoomsDocument {
    let (wire, qos) = match asked.wire {
        Wire::Frames => ("frames", None),
        Wire::Mqtt { qos } => ("mqtt", Some(qos as u8)),
        Wire::Nats => ("nats", None),
        Wire::Resp => ("resp3", None),
    };
    RoomsDocument {
        wire,
        qos,
        rooms: asked.rooms(plan.connections),
        members: asked.members,
        message_bytes: asked.message_bytes,
        slow: asked.slow.map(|slow| SlowDocument {
            robots: slow.robots,
            from_s: slow.from.as_secs_f64(),
            until_s: slow.until.as_secs_f64(),
        }),
        storm: asked.storm.map(|storm| StormDocument {
            at_s: storm.at.as_secs_f64(),
            ending: StormChoice::name(storm.ending),
        }),
    }
}

fn requests(account: &Account) -> RequestCounts<'_> {
    RequestCounts {
        scheduled: account.scheduled,
        shed: account.shed,
        sent: account.sent,
        good: account.good,
        errors: account.errors_total(),
        in_flight: account.in_flight,
        statuses: &account.statuses,
    }
}

pub fn distribution(latency: &Latency) -> Distribution {
    let value = |statistic| read(latency, statistic).value().map(|value| us(value.nanoseconds));
    let readings: Vec<(&'static str, PercentileDocument)> = PERCENTILES
        .into_iter()
        .map(|(name, percentile)| {
            let reading = read(latency, Statistic::Percentile(percentile));
            let document = PercentileDocument {
                percentile,
                value: reading.value().map(|value| us(value.nanoseconds)),
                at_least: reading.value().is_some_and(|value| value.at_least),
                withheld: matches!(reading, Reading::TooFewSamples { .. }),
            };
            (name, document)
        })
        .collect();
    let bounds = readings.iter().filter(|(_, document)| document.at_least);
    Distribution {
        samples: latency.samples(),
        censored: latency.censored.len(),
        mean: value(Statistic::Mean),
        max: value(Statistic::Max),
        by_name: readings.iter().map(|(name, document)| (*name, document.value)).collect(),
        lower_bounds: bounds.map(|(name, _)| *name).collect(),
        percentiles: readings.into_iter().map(|(_, document)| document).collect(),
    }
}

pub fn exact(histogram: &Histogram<u64>) -> Distribution {
    let censored = Histogram::new_from(histogram);
    distribution(&Latency { good: histogram.clone(), censored })
}

fn cpu(outcome: &Outcome) -> Cpu {
    let user_s: f64 = outcome.threads.iter().map(|thread| thread.user_s).sum();
    let system_s: f64 = outcome.threads.iter().map(|thread| thread.system_s).sum();
    let sent = outcome.account.sent;
    let us_per_request = (sent > 0).then(|| (user_s + system_s) * 1e6 / sent as f64);
    Cpu { user_s, system_s, us_per_request }
}

pub fn us(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e3
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::super::rooms;
    use super::super::run::tests::{bad, good, of_a_store, of_hosts};
    use super::super::search::tests as searches;
    use super::*;

    fn value(document: &impl Serialize) -> Value {
        let mut bytes = Vec::new();
        write(document, &mut bytes).unwrap();
        serde_json::from_slice(&bytes).unwrap()
    }

    /// The paths of all fields, with `[]` for the elements of a list.
    fn fields(value: &Value, path: &str, into: &mut BTreeSet<String>) {
        match value {
            Value::Object(object) => {
                for (name, value) in object {
                    let path =
                        if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                    into.insert(path.clone());
                    fields(value, &path, into);
                }
            }
            Value::Array(elements) => {
                elements.iter().for_each(|element| fields(element, &format!("{path}[]"), into));
            }
            _ => {}
        }
    }

    /// Every time has the same fields, which the page has once.
    fn of_a_distribution(path: &str) -> String {
        path.split_once("_us.").map_or(path.into(), |(_, field)| format!("TIME_us.{field}"))
    }

    #[test]
    fn the_page_names_every_field_and_no_other() {
        let mut written = BTreeSet::new();
        for run_ in [good(), bad(), of_a_store(), of_hosts()] {
            fields(&value(&run(&run_)), "", &mut written);
        }
        for robots in [rooms::tests::lied_to(), rooms::tests::stormed()] {
            let seen = robots.outcome.deliveries.as_ref().unwrap();
            fields(&value(&rooms::json::run(&robots, seen)), "", &mut written);
        }
        written = written.into_iter().map(|path| of_a_distribution(&path)).collect();
        for searched in [searches::searched(), searches::searched_robots()] {
            fields(&value(&search("http://a/", &good().plan, &searched)), "", &mut written);
        }
        let page = include_str!("../../../../../docs/load-json.md");
        let documented: BTreeSet<String> = page
            .lines()
            .filter_map(|line| line.strip_prefix("| `")?.split('`').next().map(String::from))
            .collect();
        let missing: Vec<_> = written.difference(&documented).collect();
        let unknown: Vec<_> = documented.difference(&written).collect();
        assert!(missing.is_empty(), "docs/load-json.md lacks {missing:?}");
        assert!(
            unknown.is_empty(),
            "docs/load-json.md has fields that are not written: {unknown:?}"
        );
    }

    #[test]
    fn the_page_has_the_version_that_is_written() {
        let page = include_str!("../../../../../docs/load-json.md");
        assert!(page.contains(&format!("`{VERSION}`")));
    }

    #[test]
    fn what_others_read_stays_where_it_is() {
        let document = value(&run(&good()));
        assert_eq!(document["version"], 1);
        assert_eq!(document["requests"]["good"], 312_000);
        assert_eq!(document["seconds"], 10.0);
        assert_eq!(document["rate"], 31_200.0);
        assert_eq!(document["connections"]["established"], 100);
    }

    #[test]
    fn the_account_is_conserved_in_what_is_written() {
        let document = value(&run(&bad()));
        let count = |name: &str| document["requests"][name].as_u64().unwrap();
        assert_eq!(count("scheduled"), count("sent") + count("shed"));
        assert_eq!(count("sent"), count("good") + count("errors") + count("in_flight"));
        let statuses = document["requests"]["statuses"].as_array().unwrap();
        let good: u64 = statuses.iter().map(|of_one| of_one["good"].as_u64().unwrap()).sum();
        assert_eq!(good, count("good"));
    }

    #[test]
    fn what_a_server_says_steers_no_terminal_and_parses_to_the_same() {
        let says = "\u{1b}[2J \u{9b}31m \u{202e}gnp.exe \u{200b}\u{e0041} Zürich\n";
        let mut run_ = bad();
        run_.outcome.account.errors[0].example = says.into();
        let mut bytes = Vec::new();
        write(&run(&run_), &mut bytes).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let hidden = ['\u{1b}', '\u{9b}', '\u{202e}', '\u{200b}', '\u{e0041}'];
        assert!(!text.contains(hidden), "what can't be seen is written as it is: {text}");
        let document: Value = serde_json::from_str(&text).expect("it is JSON still");
        assert_eq!(document["errors"][0]["example"], says);
    }

    #[test]
    fn a_withheld_percentile_has_no_value_and_a_lower_bound_says_so() {
        let document = value(&run(&bad()));
        let percentiles = document["response_us"]["percentiles"].as_array().unwrap();
        let at = |percentile: f64| {
            percentiles.iter().find(|entry| entry["percentile"] == percentile).unwrap()
        };
        assert_eq!(at(99.9)["withheld"], true);
        assert_eq!(at(99.9)["value"], Value::Null);
        assert_eq!(at(99.0)["at_least"], true);
        assert_eq!(at(50.0)["at_least"], false);
        let response = &document["response_us"];
        assert_eq!(response["p99.9"], Value::Null, "a percentile of too few samples has a value");
        assert_eq!(response["p99"], at(99.0)["value"], "jq .response_us.p99 finds nothing");
        let bounds = response["lower_bounds"].as_array().unwrap();
        assert!(bounds.contains(&"p99".into()) && !bounds.contains(&"p50".into()), "{bounds:?}");
    }
}
