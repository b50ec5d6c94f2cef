//! Runs that older versions wrote, brought to the form of this one.

use result::evidence::{Load, Percentile, Percentiles};
use result::plan::{self, Arrivals};
use result::{Run, SCHEMA, Trial};
use serde_json::Value;

/// The first version whose rates say by themselves whether they are lower bounds.
const RATES_ARE_BOUNDS: u64 = 3;
/// The first version whose times have the wait for the connection in them, where each
/// request has one of its own.
const CONNECTIONS_ARE_TIMED: u64 = 4;

/// Reads a run of a schema that this version knows.
pub fn read(bytes: &[u8], schema: u64) -> serde_json::Result<Run> {
    if schema >= CONNECTIONS_ARE_TIMED {
        return serde_json::from_slice(bytes);
    }
    let mut value: Value = serde_json::from_slice(bytes)?;
    if schema < RATES_ARE_BOUNDS {
        mark_rates(&mut value);
    }
    let mut run: Run = serde_json::from_value(value)?;
    if schema < RATES_ARE_BOUNDS {
        mark_times(&mut run);
    }
    withhold_times(&mut run);
    run.schema = SCHEMA;
    Ok(run)
}

/// Reads a trial that was appended to a run of a schema that this version knows.
pub fn read_trial(bytes: &[u8], schema: u64) -> serde_json::Result<Trial> {
    let mut trial = serde_json::from_slice(bytes)?;
    if schema < CONNECTIONS_ARE_TIMED {
        withhold_times_of(&mut trial);
    }
    Ok(trial)
}

/// The first runs had it beside a rate whether it is a lower bound.
fn mark_rates(value: &mut Value) {
    for outcome in list(value, "outcomes") {
        for row in list(outcome, "rows") {
            let is_bound = row.get("rate_at_least") == Some(&true.into());
            if let Some(rate) = row.get_mut("rate").and_then(Value::as_object_mut) {
                rate.insert("at_least".into(), is_bound.into());
            }
        }
    }
}

/// Whether times under a load leave the wait for the connection out. They are no times of
/// today's kind then, and aren't known as such.
fn lacks_wait(load: &plan::Load) -> bool {
    load.arrivals == Arrivals::Closed && !load.keep_alive
}

fn withhold_times(run: &mut Run) {
    for outcome in run.outcomes.iter_mut().filter(|outcome| lacks_wait(&outcome.load)) {
        for row in &mut outcome.rows {
            (row.p50_us, row.p99_us) = (None, None);
        }
    }
    run.trials.iter_mut().chain(&mut run.disturbed).for_each(withhold_times_of);
}

fn withhold_times_of(trial: &mut Trial) {
    if lacks_wait(&trial.slot.load) {
        trial.evidence.load.iter_mut().for_each(|it| it.response_us = Percentiles::default());
    }
}

/// What a list of this name holds; nothing, if it isn't there: then reading says so.
fn list<'a>(value: &'a mut Value, name: &str) -> impl Iterator<Item = &'a mut Value> {
    value.get_mut(name).and_then(Value::as_array_mut).into_iter().flatten()
}

/// The first runs had it of a time only in the trials whether it is a lower bound.
fn mark_times(run: &mut Run) {
    for outcome in &mut run.outcomes {
        for row in &mut outcome.rows {
            let loads = run.trials.iter().filter(|trial| {
                let slot = &trial.slot;
                slot.load == outcome.load && slot.contender == row.contender && !slot.twin
            });
            let loads: Vec<&Load> = loads.filter_map(|it| it.evidence.load.as_ref()).collect();
            for (time, percentile) in [(&mut row.p50_us, 50.0), (&mut row.p99_us, 99.0)] {
                let is_it = |at: &&Percentile| at.percentile == percentile && at.at_least;
                let is_bound = loads.iter().any(|it| it.service_us.at.iter().any(|at| is_it(&at)));
                time.iter_mut().for_each(|time| time.at_least |= is_bound);
            }
        }
    }
}
