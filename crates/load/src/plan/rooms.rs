//! Robots in rooms: to how many each message goes, and how long it is.

use std::ops::RangeInclusive;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::plan::{Arrivals, Plan, Until};

/// What robots do on a server that passes messages on. Each connection is a robot, and each robot
/// is in one room. A message goes to all members of its sender's room, the sender too.
///
/// The rate of such a plan is in deliveries a second: a message to a room of ten is ten.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rooms {
    /// What they speak.
    pub wire: Wire,
    /// Robots of a room.
    pub members: u32,
    /// Bytes of a message.
    pub message_bytes: u32,
    /// Robots that hang for some time.
    #[serde(default)]
    pub slow: Option<Slow>,
    /// All robots end their connections, and come back.
    #[serde(default)]
    pub storm: Option<Storm>,
}

/// All robots end their connections at once, and all want to come back at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Storm {
    /// When, counted from the beginning of the window. What was said by then is awaited before.
    pub at: Duration,
    /// How.
    pub ending: Ending,
}

/// How a connection is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// As an orderly close does.
    Fin,
    /// As a crash of the other machine's program may.
    Reset,
}

/// Robots that read nothing and say nothing for some time, as a program that hangs. They are spread
/// evenly over all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slow {
    /// How many.
    pub robots: u32,
    /// From when on, counted from the beginning of the window.
    pub from: Duration,
    /// Until when.
    pub until: Duration,
}

impl Slow {
    /// Whether the robot with this number is one of them, of so many.
    pub(crate) fn has(self, robot: u32, of: u32) -> bool {
        let before = |robot: u32| u64::from(robot) * u64::from(self.robots) / u64::from(of);
        before(robot + 1) > before(robot)
    }

    /// Whether this can be done within such a plan.
    ///
    /// # Errors
    /// Why not, for people.
    fn check(self, plan: &Plan) -> Result<(), String> {
        let Slow { robots, from, until } = self;
        if robots == 0 || robots > plan.connections / 2 {
            return Err("slow robots are one at least, and half of all at most".into());
        }
        if from.is_zero() || from >= until || until > window(plan) {
            return Err("robots are slow within the window, and not from its beginning on".into());
        }
        Ok(())
    }
}

fn window(plan: &Plan) -> Duration {
    match plan.until {
        Until::Elapsed(window) => window,
        Until::Requests(_) => Duration::ZERO,
    }
}

/// What robots speak with a server that passes messages on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wire {
    /// Frames: a length of two bytes, and as many bytes.
    Frames,
    /// MQTT 3.1.1.
    Mqtt {
        /// Whether the broker confirms messages.
        qos: Qos,
    },
    /// NATS.
    Nats,
    /// Publish and subscribe of RESP3.
    Resp,
}

/// MQTT's quality of service. QoS 2 isn't there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Qos {
    /// QoS 0: nobody confirms a message.
    AtMostOnce = 0,
    /// QoS 1: who gets a message confirms it, to the broker as the broker to its sender.
    AtLeastOnce = 1,
}

impl Wire {
    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Wire::Frames => "frames",
            Wire::Mqtt { .. } => "MQTT 3.1.1",
            Wire::Nats => "NATS",
            Wire::Resp => "RESP3",
        }
    }
}

/// How many bytes a message may have: room for what it says of itself, and what a frame's length
/// can tell.
pub const MESSAGE_BYTES: RangeInclusive<u32> = 32..=65_535;

impl Rooms {
    /// Rooms of so many members, with messages of so many bytes, in which nothing else happens.
    pub const fn plain(wire: Wire, members: u32, message_bytes: u32) -> Rooms {
        Rooms { wire, members, message_bytes, slow: None, storm: None }
    }

    /// Whether some turns of the window are left out.
    pub(crate) fn leaves_turns_out(self) -> bool {
        self.slow.is_some() || self.storm.is_some()
    }

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
        match (self.slow, self.storm) {
            (Some(_), Some(_)) => Err("slow robots and a storm are two runs".into()),
            (Some(slow), None) => slow.check(plan),
            (None, Some(storm)) if storm.at.is_zero() || storm.at >= window(plan) => {
                Err("a storm is within the window, and not at its beginning".into())
            }
            (None, _) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Share, Target, Workload};

    #[test]
    fn slow_robots_are_as_many_as_were_asked_for_and_lie_apart() {
        for (robots, of) in [(1, 7), (3, 6), (65, 6_500), (7, 100)] {
            let slow = Slow { robots, from: Duration::ZERO, until: Duration::ZERO };
            let all: Vec<u32> = (0..of).filter(|robot| slow.has(*robot, of)).collect();
            assert_eq!(all.len(), robots as usize);
            let apart = all.windows(2).map(|pair| pair[1] - pair[0]).min();
            assert!(apart.is_none_or(|apart| apart >= of / robots), "{all:?}");
        }
    }

    #[test]
    fn what_robots_cant_do_is_refused() {
        let target = Target {
            address: "127.0.0.1:1".parse().unwrap(),
            authority: String::new(),
            path: String::new(),
        };
        let rooms = Rooms::plain(Wire::Frames, 5, 64);
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
        let slow = |robots, from: u64, until: u64| {
            let [from, until] = [from, until].map(|tenths| Duration::from_millis(100 * tenths));
            Rooms { slow: Some(Slow { robots, from, until }), ..rooms }
        };
        let storm = |tenths: u64| {
            let at = Duration::from_millis(100 * tenths);
            Rooms { storm: Some(Storm { at, ending: Ending::Fin }), ..rooms }
        };
        assert_eq!(slow(10, 1, 10).check(&plan), Ok(()));
        assert_eq!(storm(5).check(&plan), Ok(()));
        assert_eq!((rooms.rooms(20), rooms.messages(100.0)), (4, 20.0));
        assert_eq!([4, 5, 6].map(|most| rooms.threads(20, most)), [4, 5, 5]);
        assert_eq!([4, 5].map(|threads| rooms.threads_of_one(20, threads)), [1, 5]);
        for rooms in [
            Rooms { members: 0, ..rooms },
            Rooms { members: 3, ..rooms },
            Rooms { message_bytes: 31, ..rooms },
            Rooms { message_bytes: 65_536, ..rooms },
            slow(0, 1, 2),
            slow(11, 1, 2),
            slow(2, 0, 2),
            slow(2, 2, 2),
            slow(2, 1, 11),
            storm(0),
            storm(10),
            Rooms { storm: storm(5).storm, ..slow(2, 1, 2) },
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
