//! Runs that older versions wrote, brought to the form of this one: the only place that knows
//! how runs once looked. It works on JSON, since the types are today's.

use result::SCHEMA;
use result::figure::{CLIENT_CPU_US, CPU_US, P50_US, P99_US, RATE};
use result::kind::Kind;
use result::{Run, Trial};
use serde_json::{Map, Value, json};

/// The first version whose rates say by themselves whether they are lower bounds.
const RATES_ARE_BOUNDS: u64 = 3;
/// The first version whose times have the wait for the connection in them, where each
/// request has one of its own.
const CONNECTIONS_ARE_TIMED: u64 = 4;
/// The first version that has settings and figures where there were loads of HTTP and fields.
const FIGURES_ARE_DESCRIBED: u64 = 5;
/// The first version that has the times of a store's operations with those of the work.
const OPERATIONS_ARE_OF_WORK: u64 = 6;

/// What stood as a field of a row, and the figure that it is.
const FIGURES: [(&str, &str); 5] = [
    ("rate", RATE),
    ("server_cpu_us", CPU_US),
    ("client_cpu_us", CLIENT_CPU_US),
    ("p50_us", P50_US),
    ("p99_us", P99_US),
];

/// Reads a run of a schema that this version knows. `says_kind`: it says of which kind its study
/// is, as the newest do.
pub fn read(bytes: &[u8], schema: u64, says_kind: bool) -> serde_json::Result<Run> {
    if schema >= SCHEMA.into() && says_kind {
        return serde_json::from_slice(bytes);
    }
    let mut run: Value = serde_json::from_slice(bytes)?;
    if schema < RATES_ARE_BOUNDS {
        mark_rates(&mut run);
        mark_times(&mut run);
    }
    for list in TRIALS {
        each(&mut run, list).for_each(|trial| bring_trial(trial, schema));
    }
    if schema < CONNECTIONS_ARE_TIMED {
        each(&mut run, "outcomes").filter(|it| lacks_wait(&it["load"])).for_each(withhold_times);
    }
    if schema < FIGURES_ARE_DESCRIBED {
        describe(&mut run);
    }
    if !says_kind && let Some(study) = run.get_mut("study") {
        study["kind"] = json!(kind(&study["dimensions"]));
    }
    run["schema"] = SCHEMA.into();
    serde_json::from_value(run)
}

/// Reads a trial that was appended to a run of a schema that this version knows.
pub fn read_trial(bytes: &[u8], schema: u64) -> serde_json::Result<Trial> {
    if schema >= SCHEMA.into() {
        return serde_json::from_slice(bytes);
    }
    let mut trial: Value = serde_json::from_slice(bytes)?;
    bring_trial(&mut trial, schema);
    serde_json::from_value(trial)
}

/// The lists of trials that a run has.
const TRIALS: [&str; 3] = ["trials", "disturbed", "failed"];

/// Each of a list of this name; nothing, if it isn't there: then reading says so.
fn each<'a>(value: &'a mut Value, list: &str) -> impl Iterator<Item = &'a mut Value> {
    value.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten()
}

/// Takes a part out; nothing, if it isn't there.
fn take(value: &mut Value, name: &str) -> Value {
    value.get_mut(name).map(Value::take).unwrap_or_default()
}

fn bring_trial(trial: &mut Value, schema: u64) {
    if schema < CONNECTIONS_ARE_TIMED
        && lacks_wait(&trial["slot"]["load"])
        && let Some(load) = trial["evidence"]["load"].as_object_mut()
    {
        load.remove("response_us");
    }
    if schema < FIGURES_ARE_DESCRIBED {
        let slot = &mut trial["slot"];
        slot["setting"] = setting(&slot["load"]);
        let evidence = &mut trial["evidence"];
        part_load(evidence);
        name_drops(evidence);
        each(evidence, "samples").for_each(name_drops);
    }
    if schema < OPERATIONS_ARE_OF_WORK {
        move_operations(&mut trial["evidence"]);
    }
}

/// The times of operations stood beside what became of a store's keys.
fn move_operations(evidence: &mut Value) {
    let store = evidence.get_mut("store").and_then(Value::as_object_mut);
    if let Some(operations) = store.and_then(|store| store.remove("operations"))
        && let Some(work) = evidence.get_mut("work").and_then(Value::as_object_mut)
    {
        work.insert("operations".into(), operations);
    }
}

/// The first runs had it beside a rate whether it is a lower bound.
fn mark_rates(run: &mut Value) {
    for outcome in each(run, "outcomes") {
        for row in each(outcome, "rows") {
            let is_bound = row.get("rate_at_least") == Some(&true.into());
            row["rate"]["at_least"] = is_bound.into();
        }
    }
}

/// The first runs had it of a time only in the trials whether it is a lower bound.
fn mark_times(run: &mut Value) {
    let Some(trials) = run.get("trials").cloned() else { return };
    for outcome in each(run, "outcomes") {
        let load = outcome["load"].clone();
        for row in each(outcome, "rows") {
            let contender = row["contender"].clone();
            let of_row = trials.as_array().into_iter().flatten().filter(|trial| {
                let slot = &trial["slot"];
                slot["load"] == load && slot["contender"] == contender && slot["twin"] == false
            });
            let times =
                of_row.filter_map(|it| it["evidence"]["load"]["service_us"]["at"].as_array());
            let times: Vec<&Value> = times.flatten().collect();
            for (name, percentile) in [("p50_us", 50.0), ("p99_us", 99.0)] {
                let is_bound = times.iter().any(|at| {
                    at["percentile"].as_f64() == Some(percentile) && at["at_least"] == true
                });
                if is_bound && row[name].is_object() {
                    row[name]["at_least"] = true.into();
                }
            }
        }
    }
}

/// Whether times under a load leave the wait for the connection out. They are no times of
/// today's kind then, and aren't known as such.
fn lacks_wait(load: &Value) -> bool {
    let is_closed_loop = load.get("arrivals").is_none_or(|arrivals| arrivals == "closed");
    is_closed_loop && load["keep_alive"] == false
}

fn withhold_times(outcome: &mut Value) {
    for row in each(outcome, "rows") {
        (row["p50_us"], row["p99_us"]) = (Value::Null, Value::Null);
    }
}

/// A setting of the load generator, from a load of HTTP.
fn setting(load: &Value) -> Value {
    let pace = match load.get("arrivals") {
        Some(arrivals) if arrivals != "closed" => arrivals.clone(),
        _ => "free".into(),
    };
    let values = json!([["connections", load["connections"]], ["kept", load["keep_alive"]]]);
    json!({ "cores": load["cores"], "values": values, "pace": pace })
}

/// What the load generator saw was one thing; half of it is what any driver tells.
fn part_load(evidence: &mut Value) {
    const WORK: [&str; 7] =
        ["seconds", "rate", "errors", "per_second", "response_us", "service_us", "interrupted"];
    let Value::Object(mut load) = take(evidence, "load") else { return };
    let mut work: Map<String, Value> =
        WORK.iter().filter_map(|&name| Some((name.to_string(), load.remove(name)?))).collect();
    work.insert("done".into(), load.remove("answers").unwrap_or_default());
    for name in ["cpu_s", "busy_share", "run_delay_share", "away_s"] {
        if let Some(value) = load.remove(&format!("client_{name}")) {
            load.insert(name.into(), value);
        }
    }
    evidence["work"] = work.into();
    evidence["clients"] = json!([load]);
}

/// What listeners dropped was called an overflow, whatever it was.
fn name_drops(of: &mut Value) {
    if let Some(drops) = of.as_object_mut().and_then(|it| it.remove("listen_overflows")) {
        of["listen_drops"] = drops;
    }
}

/// Settings where there were loads, figures where there were fields of rows, and one list of
/// outcomes where there were two.
fn describe(run: &mut Value) {
    if let Some(study) = run.get_mut("study") {
        study["dimensions"] = json!(Kind::Http.dimensions());
        study["figures"] = json!(Kind::Http.figures(None));
        for published in each(study, "published") {
            let keep_alive = published["keep_alive"].clone();
            for figure in each(published, "figures") {
                let connections = &figure["connections"];
                figure["values"] = json!([["connections", connections], ["kept", keep_alive]]);
            }
        }
    }
    for slot in run.get_mut("plan").into_iter().flat_map(|plan| each(plan, "slots")) {
        slot["setting"] = setting(&slot["load"]);
    }
    for list in ["left_out", "curves"] {
        each(run, list).for_each(|it| it["setting"] = setting(&it["load"]));
    }
    for outcome in each(run, "outcomes") {
        rank(outcome, RATE, "rate_ratio");
    }
    for mut outcome in take(run, "equal_rates").as_array_mut().into_iter().flat_map(std::mem::take)
    {
        rank(&mut outcome, CPU_US, "cpu_ratio");
        outcome["offered"] = json!({ "rate": outcome["offered_rate"], "rule": outcome["rule"] });
        if let Some(outcomes) = run.get_mut("outcomes").and_then(Value::as_array_mut) {
            outcomes.push(outcome);
        }
    }
    for curve in each(run, "curves") {
        for line in each(curve, "lines") {
            each(line, "points").for_each(gather_figures);
        }
    }
}

/// The kind of a study that doesn't say it: that which has these dimensions. Studies of programs
/// have their own.
fn kind(dimensions: &Value) -> Kind {
    let ids = || dimensions.as_array().into_iter().flatten().map(|it| &it["id"]);
    let are_of = |kind: &Kind| ids().eq(kind.dimensions().iter().map(|it| &it.id));
    Kind::ALL.into_iter().find(are_of).unwrap_or(Kind::Program)
}

/// Brings an outcome that one figure ranked to today's form.
fn rank(outcome: &mut Value, figure: &str, ratio: &str) {
    outcome["setting"] = setting(&outcome["load"]);
    let (noise_floor, sentence) = (take(outcome, "noise_floor"), take(outcome, "sentence"));
    outcome["rankings"] =
        json!([{ "figure": figure, "noise_floor": noise_floor, "sentence": sentence }]);
    for row in each(outcome, "rows") {
        let [rank, unranked, ratio] = ["rank", "unranked", ratio].map(|name| take(row, name));
        let standing = json!({ "rank": rank, "unranked": unranked, "ratio": ratio });
        row["standings"] = json!({ figure: standing });
        gather_figures(row);
    }
}

/// Gathers the fields that are figures; one that isn't known was null.
fn gather_figures(of: &mut Value) {
    let known = FIGURES.iter().filter_map(|(field, figure)| {
        let estimate = of.get(field).filter(|it| !it.is_null())?;
        Some((figure.to_string(), estimate.clone()))
    });
    let known: Map<String, Value> = known.collect();
    of["figures"] = known.into();
}

#[cfg(test)]
mod tests {
    use result::evidence::Percentiles;
    use result::outcome::{Estimate, Outcome, Row};
    use result::plan::{Pace, PaceKind};

    use super::*;

    /// A run that version 4 wrote, cut to two contenders and a few trials.
    fn run_of_schema_4() -> Value {
        serde_json::from_str(include_str!("../../tests/data/run-of-schema-4.json")).unwrap()
    }

    fn read_as(run: &Value, schema: u64) -> Run {
        let mut run = run.clone();
        run["schema"] = schema.into();
        read(run.to_string().as_bytes(), schema, false).unwrap()
    }

    fn is_estimate(now: Option<&Estimate>, then: &Value) -> bool {
        now.map_or(Value::Null, |it| json!(it)) == *then
    }

    /// Whether a row has all that it had.
    fn is_row(now: &Row, then: &Value, ranked_by: &str, ratio: &str) -> bool {
        let standing = &now.standings[ranked_by];
        FIGURES.iter().all(|(field, figure)| match then.get(field) {
            Some(then) => is_estimate(now.figure(figure), then),
            None => now.figure(figure).is_none(),
        }) && json!(standing.rank) == then["rank"]
            && json!(standing.unranked) == then["unranked"]
            && is_estimate(standing.ratio.as_ref(), &then[ratio])
            && json!(now.verdict) == then["verdict"]
            && json!(now.findings) == then["findings"]
    }

    fn is_outcome(now: &Outcome, then: &Value, ranked_by: &str, ratio: &str) -> bool {
        let ranking = now.ranking().unwrap();
        let rows = now.rows.iter().zip(then["rows"].as_array().unwrap());
        json!(ranking.noise_floor) == then["noise_floor"]
            && json!(ranking.sentence) == then["sentence"]
            && json!(now.setting.connections()) == then["load"]["connections"]
            && json!(now.setting.kept()) == then["load"]["keep_alive"]
            && rows.clone().count() == now.rows.len()
            && rows.into_iter().all(|(now, then)| is_row(now, then, ranked_by, ratio))
    }

    /// What somebody measured must not change because bakeoff did.
    #[test]
    fn a_run_of_version_4_says_what_it_said() {
        let then = run_of_schema_4();
        let now = read_as(&then, 4);
        for (pace, list, figure, ratio) in [
            (PaceKind::Free, "outcomes", RATE, "rate_ratio"),
            (PaceKind::Equal, "equal_rates", CPU_US, "cpu_ratio"),
        ] {
            let then = then[list].as_array().unwrap();
            assert_eq!(now.outcomes_at(pace).count(), then.len());
            for (now, then) in now.outcomes_at(pace).zip(then) {
                assert!(is_outcome(now, then, figure, ratio), "{now:#?}");
                let offered = now.offered.as_ref().map(|it| json!(it.rate));
                assert_eq!(
                    offered.unwrap_or_default(),
                    then.get("offered_rate").cloned().unwrap_or_default()
                );
            }
        }
        let (line, then_line) = (&now.curves[0].lines[0], &then["curves"][0]["lines"][0]);
        let (point, then_point) = (&line.points[0], &then_line["points"][0]);
        assert!(is_estimate(point.figure(P99_US), &then_point["p99_us"]));
        assert_eq!(json!(line.maximum_rate), then_line["maximum_rate"]);
        for (now, then) in now.trials.iter().zip(then["trials"].as_array().unwrap()) {
            let (work, client) = (now.evidence.work.as_ref().unwrap(), &now.evidence.clients[0]);
            let load = &then["evidence"]["load"];
            assert_eq!(json!(work.rate), load["rate"]);
            assert_eq!(json!(work.done), load["answers"]);
            assert_eq!(json!(work.response_us.at), load["response_us"]["at"]);
            assert_eq!(json!(client.sent), load["sent"]);
            assert_eq!(json!(client.cpu_s), load["client_cpu_s"]);
            assert_eq!(json!(client.busy_share), load["client_busy_share"]);
            assert_eq!(json!(now.evidence.server_cpu_s), then["evidence"]["server_cpu_s"]);
        }
        let paces = now.plan.slots.iter().map(|slot| slot.setting.pace);
        assert!(paces.into_iter().any(|pace| pace == Pace::Equal { percent: 50 }));
    }

    #[test]
    fn a_run_that_doesnt_say_its_kind_is_of_the_kind_that_has_its_dimensions() {
        let mut run = json!(read_as(&run_of_schema_4(), 4));
        assert_eq!(run["study"]["kind"], "http");
        let parameter = json!([{ "id": "connections" }]);
        for (kind, dimensions) in
            [(Kind::Keys, json!(Kind::Keys.dimensions())), (Kind::Program, parameter)]
        {
            let study = run["study"].as_object_mut().unwrap();
            study.remove("kind");
            study.insert("dimensions".into(), dimensions);
            assert_eq!(read_as(&run, SCHEMA.into()).study.kind, kind);
        }
    }

    /// Else a store that was read from would be shown with a rate of writes.
    #[test]
    fn the_times_of_a_stores_operations_are_found_in_an_older_run() {
        let mut run = json!(read_as(&run_of_schema_4(), 4));
        for trial in each(&mut run, "trials") {
            let times = json!(Percentiles { count: 7, ..Percentiles::default() });
            let get = json!({ "operation": "get", "response_us": times, "service_us": times });
            trial["evidence"]["store"] = json!({ "hits": 3, "operations": [get] });
        }
        let appended = run["trials"][0].to_string();
        let appended = read_trial(appended.as_bytes(), 5).unwrap();
        let read = read(run.to_string().as_bytes(), 5, true).unwrap();
        for trial in read.trials.iter().chain([&appended]) {
            let operations = &trial.evidence.work.as_ref().unwrap().operations;
            assert_eq!(operations.len(), 1, "{operations:?}");
            assert_eq!((&*operations[0].operation, operations[0].response_us.count), ("get", 7));
            assert_eq!(trial.evidence.store.as_ref().unwrap().hits, 3);
        }
    }

    #[test]
    fn a_run_of_the_first_version_is_read_as_closed_loops() {
        let mut old = run_of_schema_4();
        for key in ["left_out", "equal_rates", "curves"] {
            old.as_object_mut().unwrap().remove(key);
        }
        for slot in each(&mut old["plan"], "slots") {
            slot["load"].as_object_mut().unwrap().remove("arrivals");
        }
        let slots = read_as(&old, 1).plan.slots;
        assert!(!slots.is_empty() && slots.iter().all(|slot| slot.setting.pace == Pace::Free));
    }

    #[test]
    fn what_was_a_lower_bound_in_an_older_run_still_is() {
        let mut old = run_of_schema_4();
        let load = old["outcomes"][0]["load"].clone();
        let go = each(&mut old["outcomes"][0], "rows").find(|row| row["contender"] == "go");
        let row = go.unwrap();
        row["rate_at_least"] = true.into();
        row["rate"].as_object_mut().unwrap().remove("at_least");
        row.as_object_mut().unwrap().remove("limit");
        row["p99_us"]["at_least"] = false.into();
        let trial = each(&mut old, "trials").find(|trial| trial["slot"]["load"] == load);
        for at in each(&mut trial.unwrap()["evidence"]["load"]["service_us"], "at") {
            at["at_least"] = true.into();
        }
        let run = read_as(&old, 1);
        let row = run.outcomes[0].rows.iter().find(|row| row.contender == "go").unwrap();
        assert!(row.figures[RATE].at_least, "the client was the limit");
        assert!(row.figures[P99_US].at_least, "requests without an answer are in it");
        assert_eq!(row.limit, None);
    }

    #[test]
    fn times_without_the_wait_for_the_connection_are_not_passed_off_as_todays() {
        let old = run_of_schema_4();
        let times = |schema: u64, kept: bool| {
            let run = read_as(&old, schema);
            let outcome = run.outcomes_at(PaceKind::Free).find(|it| it.setting.kept() == kept);
            let shown = outcome.unwrap().rows[0].figure(P99_US).is_some();
            let is_it = |trial: &&Trial| {
                trial.slot.setting.pace == Pace::Free && trial.slot.setting.kept() == kept
            };
            let trial = run.trials.iter().find(is_it).unwrap();
            (shown, !trial.evidence.work.as_ref().unwrap().response_us.at.is_empty())
        };
        assert_eq!(times(4, false), (true, true));
        assert_eq!(times(3, false), (false, false));
        assert_eq!(times(3, true), (true, true));
        let appended = old["trials"].as_array().unwrap().iter();
        let appended = appended.map(|trial| read_trial(trial.to_string().as_bytes(), 3).unwrap());
        let timed = appended
            .filter(|trial| !trial.evidence.work.as_ref().unwrap().response_us.at.is_empty());
        assert!(timed.into_iter().all(|trial| trial.slot.setting.kept()));
    }
}
