//! Robots in rooms: to how many each message goes, and how long it is.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use crate::plan::{Arrivals, Plan, Until};

/// What robots do on a server that passes messages on. Each connection is a robot, and each robot
/// is in one room. A message goes to all members of its sender's room, the sender too.
///
/// The rate of such a plan is in deliveries a second: a message to a room of ten is ten.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rooms {
    /// Robots of a room.
    pub members: u32,
    /// Bytes of a message.
    pub message_bytes: u32,
}

/// How many bytes a message may have: room for what it says of itself, and what a frame's length
/// can tell.
pub const MESSAGE_BYTES: RangeInclusive<u32> = 32..=65_535;

impl Rooms {
    /// How many rooms so many robots make.
    pub fn rooms(self, robots: u32) -> u32 {
        robots / self.members.max(1)
    }

    /// How many threads, of so many at most, have robots of them: a room lies on one thread, or its
    /// members are dealt over all.
    pub(crate) fn threads(self, robots: u32, most: usize) -> usize {
        most.min(self.rooms(robots).max(self.members) as usize).max(1)
    }

    /// On how many of so many threads a room lies.
    pub(crate) fn threads_of_one(self, robots: u32, threads: usize) -> usize {
        if self.rooms(robots) as usize >= threads { 1 } else { threads }
    }

    /// How many messages make so many deliveries.
    pub fn messages(self, deliveries: f64) -> f64 {
        deliveries / f64::from(self.members)
    }

    /// Whether this plan can be carried out by robots.
    ///
    /// # Errors
    /// Why not, for people.
    pub(crate) fn check(self, plan: &Plan) -> Result<(), String> {
        if self.members == 0 || !plan.connections.is_multiple_of(self.members) {
            return Err("each room has as many members as every other, and at least one".into());
        }
        if !MESSAGE_BYTES.contains(&self.message_bytes) {
            let (least, most) = MESSAGE_BYTES.into_inner();
            return Err(format!("a message has {least} to {most} bytes"));
        }
        if plan.arrivals == Arrivals::Closed || !matches!(plan.until, Until::Elapsed(_)) {
            return Err("robots speak at a rate of their own, for some time".into());
        }
        if !plan.keep_alive || plan.pipeline != 1 || plan.share.hosts != 1 {
            return Err("robots keep their connections, and are all of one host".into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::plan::{Share, Target, Workload};

    #[test]
    fn what_robots_cant_do_is_refused() {
        let target = Target {
            address: "127.0.0.1:1".parse().unwrap(),
            authority: String::new(),
            path: String::new(),
        };
        let rooms = Rooms { members: 5, message_bytes: 64 };
        let plan = Plan {
            work: Workload::Rooms(rooms),
            connections: 20,
            arrivals: Arrivals::Constant(100.0),
            until: Until::Elapsed(Duration::from_secs(1)),
            ..Plan::new(target, Vec::new())
        };
        assert_eq!(rooms.check(&plan), Ok(()));
        let random = Plan { arrivals: Arrivals::Poisson(9.0), ..plan.clone() };
        assert_eq!(rooms.check(&random), Ok(()));
        assert_eq!((rooms.rooms(20), rooms.messages(100.0)), (4, 20.0));
        assert_eq!([4, 5, 6].map(|most| rooms.threads(20, most)), [4, 5, 5]);
        assert_eq!([4, 5].map(|threads| rooms.threads_of_one(20, threads)), [1, 5]);
        for rooms in [
            Rooms { members: 0, ..rooms },
            Rooms { members: 3, ..rooms },
            Rooms { message_bytes: 31, ..rooms },
            Rooms { message_bytes: 65_536, ..rooms },
        ] {
            assert!(rooms.check(&plan).is_err(), "{rooms:?}");
        }
        for plan in [
            Plan { arrivals: Arrivals::Closed, ..plan.clone() },
            Plan { until: Until::Requests(9), ..plan.clone() },
            Plan { keep_alive: false, ..plan.clone() },
            Plan { pipeline: 2, ..plan.clone() },
            Plan { share: Share { hosts: 2, ..Share::default() }, ..plan.clone() },
        ] {
            assert!(rooms.check(&plan).is_err(), "{plan:?}");
        }
    }
}
