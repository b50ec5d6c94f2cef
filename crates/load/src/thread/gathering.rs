//! How a closed loop's thread is woken for several answers at once.
//!
//! A thread that is woken for each answer goes into the kernel once for each, and sends each next
//! request by itself. With many requests under way it waits for a few answers instead. They come
//! one after the other, so that the first of them is seen later than it came, by a part of the
//! usual service time that is as small as the part of all answers under way that they are (Little's
//! law). With few requests under way that part would show in what is measured: nothing is gathered
//! there. Nor is it in an open loop: a request that is due is sent then, and no answer makes
//! another one wait. With a connection a request it wasn't measured, and isn't done.

use std::ops::RangeInclusive;
use std::time::Duration;

use crate::backend::Gathering;

/// Answers that are gathered are at most one in so many of those under way, and the time for that
/// at most the same part of the usual service time.
const PART: u32 = 25;
/// The most answers that are gathered, and the fewest that are worth a timer.
const ANSWERS: RangeInclusive<u32> = 8..=16;
/// The longest that is waited for more than one.
const WITHIN_NS_MAX: u64 = 50_000;
/// How often a thread looks what came in the time from one message to a robot to the next, and after
/// how long at the latest.
const LOOKS: u32 = 50;
const LOOK_NS_MAX: u64 = 500_000;
/// So many deliveries are looked at before that.
const DELIVERIES: u32 = 256;
/// The shortest time that the kernel can be told: with none it would wait for all of them.
const WITHIN_NS_MIN: u64 = 1_000;

/// What a thread with so many connections gathers where answers usually take so long; 0 says that
/// none has come yet.
pub(crate) fn gathering(connections: u32, usual_service_ns: u64) -> Option<Gathering> {
    let events = (connections / PART).min(*ANSWERS.end());
    let within = (usual_service_ns / u64::from(PART)).min(WITHIN_NS_MAX);
    let gathering = Gathering { events, within: Duration::from_nanos(within) };
    (ANSWERS.contains(&events) && within >= WITHIN_NS_MIN).then_some(gathering)
}

/// What a thread gathers of what comes to robots, so many of which hear so many messages a second
/// together. Each delivery has the kernel's stamp, so that a later look doesn't show in its time.
/// But of two messages to one robot that are read at once, the first has the stamp of the last. So
/// the thread looks often enough for that to be rare.
pub(crate) fn of_deliveries(robots: u32, per_s: f64) -> Option<Gathering> {
    let apart_ns = 1e9 * f64::from(robots) / per_s;
    let within = ((apart_ns / f64::from(LOOKS)) as u64).min(LOOK_NS_MAX);
    let gathering = Gathering { events: DELIVERIES, within: Duration::from_nanos(within) };
    (within >= WITHIN_NS_MIN).then_some(gathering)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deliveries_are_looked_for_many_times_between_two_to_a_robot() {
        let within = |robots, per_s| of_deliveries(robots, per_s).map(|it| it.within.as_micros());
        assert_eq!(within(6_500, 32_500.0), Some(500), "two to a robot are 200 ms apart");
        assert_eq!(within(100, 32_500.0), Some(61), "3 ms apart");
        assert_eq!(within(2, 100_000.0), None, "20 µs apart");
        assert_eq!(within(10, 0.0), Some(500));
    }

    #[test]
    fn an_answer_is_seen_later_by_a_small_part_of_what_it_takes() {
        for few in [1, 30, 199] {
            assert_eq!(gathering(few, 10_000_000), None, "of {few} too few may be gathered");
        }
        assert_eq!(gathering(1_000, 0), None, "nobody knows yet how long an answer takes");
        for (connections, service_us) in [(200, 100), (1_000, 9_000), (5_000, 1 << 30)] {
            let Gathering { events, within } = gathering(connections, service_us * 1_000).unwrap();
            assert!(events * PART <= connections && events <= 16, "{events} of {connections}");
            assert!(within <= Duration::from_micros(50), "{within:?}");
            assert!(within * PART <= Duration::from_micros(service_us), "{within:?}");
        }
    }
}
