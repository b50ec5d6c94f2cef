//! Scripts with a gateway's robots: one of them reads nothing for some time, or all end at once and
//! come back.
//!
//! A slow robot shows what a gateway does only if it is owed more than the kernels on the way and a
//! gateway with a bound keep for it. In a study's own load it seldom is. So this script has a load
//! of its own. A storm has the robots and the rate of the study.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use load::outcome::slow::SlowWord;
use load::outcome::{ErrorKind, Outcome};
use load::plan::rooms::Wire;
use load::plan::{Arrivals, Ending, Rooms, Slow, Storm, Until, Workload};
use load::{Error, Stop};
use result::plan::Script;
use result::scripts::{AfterStorm, SlowReader, SlowReaderSeen, StormEnding};

use super::Drive;
use super::generator::{Loading, errors, latency};
use super::memory::{Held, most_around, watched};
use super::rooms::load_plan;
use crate::place::Running;

/// Work before a script's window.
const WARMUP: Duration = Duration::from_millis(500);

/// The load of a slow robot. It is owed 400 messages a second, which are 16 MB in the 5 s: Linux
/// keeps 4 MB of them at most, and gateways with a bound some megabytes or a thousand messages.
const ROBOTS: u32 = 10;
const MEMBERS: u32 = 5;
const MESSAGE_BYTES: u32 = 8 << 10;
const DELIVERIES_PER_S: f64 = 4000.0;
/// One robot in so many is slow, and one at least.
const ONE_SLOW_IN: u32 = 100;
/// By then others had 10,000 deliveries, as a 99th percentile takes.
const SLOW_FROM: Duration = Duration::from_secs(3);
/// For how long it reads nothing.
const SLOW_FOR: Duration = Duration::from_secs(5);
/// How long all goes on when it reads again.
const SLOW_AFTER: Duration = Duration::from_secs(1);

/// How long what it was owed is awaited then, if it doesn't come.
const MISSING_AFTER: Duration = Duration::from_secs(5);

/// When a storm strikes.
const STORM_AT: Duration = Duration::from_secs(1);
/// How long robots have to come back.
const BACK_WITHIN: Duration = Duration::from_secs(5);

/// How long a script takes with most gateways, without starting and stopping, in seconds.
pub fn seconds(script: Script) -> f64 {
    let long = match script {
        Script::Slow => WARMUP + SLOW_FROM + SLOW_FOR + SLOW_AFTER + MISSING_AFTER,
        Script::Storm => (WARMUP + STORM_AT + BACK_WITHIN) * StormEnding::ALL.len() as u32,
    };
    long.as_secs_f64()
}

/// Has a robot read nothing for some time; `None` if it was stopped.
///
/// # Errors
/// Where no load could be offered.
pub fn slow_reader(
    on: &Running,
    what: &Drive,
    wire: Wire,
    stop: &Stop,
) -> Result<Option<SlowReaderSeen>, Error> {
    let plan = slow_plan(load_plan(what, on.address, wire)?)?;
    let played = play(on, what, plan, stop)?;
    Ok(played.and_then(|(seen, memory)| slow_reader_seen(&seen, &memory)))
}

/// Has all robots end at once and come back; `None` if it was stopped.
///
/// # Errors
/// Where no load could be offered.
pub fn storm(
    on: &Running,
    what: &Drive,
    (wire, ending): (Wire, StormEnding),
    stop: &Stop,
) -> Result<Option<AfterStorm>, Error> {
    let plan = storm_plan(load_plan(what, on.address, wire)?, ending)?;
    let played = play(on, what, plan, stop)?;
    Ok(played.and_then(|(seen, memory)| after_storm(&seen, &memory)))
}

/// The plan of a slow robot, from that of a trial.
fn slow_plan(plan: load::Plan) -> Result<load::Plan, Error> {
    let rooms = Rooms {
        members: MEMBERS,
        message_bytes: MESSAGE_BYTES,
        slow: Some(Slow {
            robots: (ROBOTS / ONE_SLOW_IN).max(1),
            from: SLOW_FROM,
            until: SLOW_FROM + SLOW_FOR,
        }),
        ..rooms_of(&plan)?
    };
    Ok(load::Plan {
        work: Workload::Rooms(rooms),
        arrivals: Arrivals::Constant(DELIVERIES_PER_S),
        connections: ROBOTS,
        until: Until::Elapsed(SLOW_FROM + SLOW_FOR + SLOW_AFTER),
        warmup: WARMUP,
        timeout: MISSING_AFTER,
        ..plan
    })
}

/// The plan of a storm, from that of a trial.
fn storm_plan(plan: load::Plan, ending: StormEnding) -> Result<load::Plan, Error> {
    let ending = match ending {
        StormEnding::Fin => Ending::Fin,
        StormEnding::Reset => Ending::Reset,
    };
    let rooms = Rooms { storm: Some(Storm { at: STORM_AT, ending }), ..rooms_of(&plan)? };
    Ok(load::Plan {
        work: Workload::Rooms(rooms),
        until: Until::Elapsed(STORM_AT + BACK_WITHIN),
        warmup: WARMUP,
        ..plan
    })
}

fn rooms_of(plan: &load::Plan) -> Result<Rooms, Error> {
    plan.rooms().ok_or_else(|| Error::Plan("scripts are for robots in rooms".into()))
}

/// Carries a plan out, and reads meanwhile how much memory the contender holds; `None` if it was
/// stopped.
fn play(
    on: &Running,
    what: &Drive,
    plan: load::Plan,
    stop: &Stop,
) -> Result<Option<(Outcome, Vec<Held>)>, Error> {
    let mut loading = Loading::prepare(on, what, plan)?;
    let root = on.kept.root();
    thread::scope(|scope| {
        let (going_on, over) = mpsc::channel();
        let watch = scope.spawn(move || watched(root, &over));
        let offered = loading.offer(stop, &mut |_| {});
        drop(going_on);
        let memory = watch.join().unwrap_or_default();
        Ok(offered?.map(|seen| (seen, memory)))
    })
}

/// What became of slow robots, as evidence has it.
fn slow_reader_seen(seen: &Outcome, memory: &[Held]) -> Option<SlowReaderSeen> {
    let heard = seen.deliveries.as_ref()?;
    let slow = heard.slow.as_ref()?;
    let began = seen.window_began.after(SLOW_FROM);
    let (memory_before_bytes, memory_max_bytes) = most_around(memory, began);
    let all = SlowReaderSeen {
        robots: heard.joined,
        slow: slow.robots,
        slow_s: SLOW_FOR.as_secs_f64(),
        word: slow.word().map(|word| match word {
            SlowWord::Blocks => SlowReader::Blocks,
            SlowWord::Cuts => SlowReader::Cuts,
            SlowWord::Drops => SlowReader::Drops,
            SlowWord::Buffers => SlowReader::Buffers,
        }),
        cut: slow.cut,
        owed: slow.owed,
        owed_bytes: slow.owed * u64::from(MESSAGE_BYTES),
        came: slow.came,
        missing: slow.missing,
        others_before_us: latency(&slow.before),
        others_meanwhile_us: latency(&slow.meanwhile),
        others_shed: slow.shed,
        others_missing: seen.account.errors_total(),
        others_cut: heard.cut,
        memory_before_bytes,
        memory_max_bytes,
    };
    let is_elsewhere = all.word == Some(SlowReader::Buffers) && !all.was_kept_in_memory();
    Some(SlowReaderSeen { word: all.word.filter(|_| !is_elsewhere), ..all })
}

/// What became of a storm, as evidence has it.
fn after_storm(seen: &Outcome, memory: &[Held]) -> Option<AfterStorm> {
    let heard = seen.deliveries.as_ref()?;
    let storm = heard.storm.as_ref()?;
    let back_s = |share| storm.back_within(share).map(|ns| ns as f64 / 1e9);
    let missing = errors(&seen.account);
    let missing = missing.into_iter().find(|it| it.kind == ErrorKind::Missing.name());
    Some(AfterStorm {
        ended: storm.ended,
        back: storm.back.len() as u32,
        within_s: BACK_WITHIN.as_secs_f64(),
        half_back_s: back_s(0.5),
        p99_back_s: back_s(0.99),
        all_back_s: back_s(1.0),
        refused: storm.refused,
        failed: storm.failed,
        syn_retransmits: storm.syn_retransmits,
        out_of_order: storm.out_of_order,
        duplicates: storm.duplicates,
        missing: missing.as_ref().map_or(0, |missing| missing.count),
        first_missing: missing.map(|missing| missing.example),
        memory_before_bytes: memory.first().map(|(_, bytes)| *bytes),
        memory_max_bytes: memory.iter().map(|(_, bytes)| *bytes).max(),
    })
}

#[cfg(test)]
mod tests {
    use histogram::Latency;
    use load::Moment;
    use load::outcome::slow::SlowSeen;
    use load::outcome::storm::StormSeen;
    use load::plan::Target;
    use load::plan::rooms::{Qos, Wire};

    use super::*;

    /// A trial's plan: 6,000 robots of a broker in rooms of ten.
    fn of_trial() -> load::Plan {
        let address = "127.0.0.1:1".parse().unwrap();
        let target = Target { address, authority: String::new(), path: String::new() };
        let wire = Wire::Mqtt { qos: Qos::AtLeastOnce };
        load::Plan {
            work: Workload::Rooms(Rooms::plain(wire, 10, 64)),
            connections: 6_000,
            arrivals: Arrivals::Constant(30_000.0),
            ..load::Plan::new(target, Vec::new())
        }
    }

    /// Else any gateway buffers, since the kernel does.
    #[test]
    fn a_slow_robot_is_owed_more_than_kernels_and_bounds_keep() {
        let plan = slow_plan(of_trial()).unwrap();
        let rooms = plan.rooms().unwrap();
        assert_eq!(rooms.wire, of_trial().rooms().unwrap().wire);
        let Slow { robots, from, until } = rooms.slow.unwrap();
        assert_eq!((robots, until - from), (1, SLOW_FOR));
        let messages = DELIVERIES_PER_S / f64::from(plan.connections) * SLOW_FOR.as_secs_f64();
        assert!(messages >= 2_000.0 && messages * f64::from(rooms.message_bytes) >= 16e6);
        let others = f64::from(plan.connections - robots) / f64::from(plan.connections);
        assert!(DELIVERIES_PER_S * others * from.as_secs_f64() >= 10_000.0, "for a p99");
    }

    #[test]
    fn a_storm_has_the_robots_and_the_rate_of_the_study() {
        let plan = storm_plan(of_trial(), StormEnding::Reset).unwrap();
        assert_eq!((plan.connections, plan.arrivals), (6_000, Arrivals::Constant(30_000.0)));
        let rooms = plan.rooms().unwrap();
        assert_eq!((rooms.members, rooms.message_bytes), (10, 64));
        assert_eq!(rooms.storm, Some(Storm { at: STORM_AT, ending: Ending::Reset }));
        assert_eq!(seconds(Script::Storm), 13.0);
    }

    /// What a run of load saw.
    fn seen(change: impl FnOnce(&mut load::outcome::deliveries::DeliveriesSeen)) -> Outcome {
        let (_, mut seen) = load::simulator::outcome(None);
        let mut heard = load::outcome::deliveries::DeliveriesSeen::nothing(2);
        change(&mut heard);
        seen.account.errors.clear();
        seen.deliveries = Some(Box::new(heard));
        seen
    }

    /// A gateway that held so many bytes while a robot was slow that was owed 2,000 messages.
    fn buffered(bytes: u64) -> Option<SlowReader> {
        let slow = SlowSeen { robots: 1, owed: 2_000, came: 2_000, ..SlowSeen::default() };
        let seen = seen(|heard| heard.slow = Some(Box::new(slow)));
        let from = seen.window_began.after(SLOW_FROM);
        let memory = [(seen.window_began, 1 << 20), (from, bytes)];
        slow_reader_seen(&seen, &memory).unwrap().word
    }

    /// Else a gateway is said to hold in memory what lies somewhere else.
    #[test]
    fn what_all_came_was_buffered_if_memory_grew_by_half_of_it() {
        assert_eq!(buffered((1 << 20) + 1_000 * 8_192), Some(SlowReader::Buffers));
        assert_eq!(buffered(1 << 20), None);
    }

    #[test]
    fn what_became_of_slow_robots_is_told_apart_from_the_others() {
        let mut before = Latency::default();
        before.good.saturating_record_n(1_000_000, 10_000);
        let slow = SlowSeen {
            robots: 1,
            cut: 1,
            owed: 9,
            came: 4,
            missing: 5,
            before: before.clone(),
            meanwhile: before,
            ..SlowSeen::default()
        };
        let seen =
            seen(|heard| (heard.joined, heard.cut, heard.slow) = (10, 2, Some(Box::new(slow))));
        let told = slow_reader_seen(&seen, &[]).unwrap();
        assert_eq!((told.robots, told.slow, told.cut, told.others_cut), (10, 1, 1, 2));
        assert_eq!((told.owed, told.came, told.missing), (9, 4, 5));
        assert_eq!(told.word, Some(SlowReader::Cuts));
        assert_eq!(told.others_waited_us().map(|it| it.0), Some(99.0));
        assert_eq!(told.memory_max_bytes, None);
    }

    #[test]
    fn a_storm_tells_when_all_were_back_if_they_were() {
        let mut storm = StormSeen { ended: 200, refused: 3, ..StormSeen::default() };
        (1..=199).for_each(|ms| storm.back.saturating_record(ms * 1_000_000));
        let seen = seen(|heard| heard.storm = Some(Box::new(storm)));
        let memory = [30, 90, 40].map(|bytes| (Moment::now(), bytes));
        let told = after_storm(&seen, &memory).unwrap();
        assert_eq!((told.ended, told.back, told.refused, told.missing), (200, 199, 3, 0));
        assert!(told.half_back_s < told.p99_back_s && told.all_back_s.is_none(), "{told:?}");
        assert_eq!((told.memory_before_bytes, told.memory_max_bytes), (Some(30), Some(90)));
    }
}
