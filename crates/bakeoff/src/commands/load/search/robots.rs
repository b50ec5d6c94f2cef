//! Steps with more and more robots, of `--find-connections`.
//!
//! What a robot hears stays the same. `--rate` is that of the robots which `--rooms` and `--members`
//! make. Twice as many robots have twice as many deliveries a second. There are more rooms then, each
//! with as many members. If there is one room, it stays one, and has more members.

use load::outcome::Outcome;
use load::plan::{Plan, Rooms, Workload};
use load::verdict::condition::Condition;
use load::verdict::search::Step;
use report::units;

use super::super::pace;
use super::super::rooms::ROBOTS_MAX;
use super::{Sought, Steps, rate};

/// How robots become more.
#[derive(Debug, Clone)]
pub struct Crowd {
    /// Robots at the start.
    base: u32,
    /// Deliveries a second that a robot is due.
    each_per_s: f64,
    /// So many robots come together: a room, or one where there is one room of all.
    together: u32,
}

impl Crowd {
    /// That of a plan with robots; `None` where it has none.
    pub fn of(plan: &Plan) -> Option<Crowd> {
        let (rooms, base) = (plan.rooms()?, plan.connections);
        let together = if base > rooms.members { rooms.members } else { 1 };
        let each_per_s = plan.arrivals.rate()? / f64::from(base);
        Some(Crowd { base, each_per_s, together })
    }

    /// How many robots a step has for which the search says so many: whole rooms.
    pub fn robots(&self, sought: f64) -> u32 {
        let groups = (sought / f64::from(self.together)).round().max(1.0);
        (groups as u32).saturating_mul(self.together)
    }

    /// The plan with so many robots.
    fn plan(&self, plan: &Plan, robots: u32) -> Plan {
        let mut more = Plan { connections: robots, ..plan.clone() };
        if let (Workload::Rooms(Rooms { members, .. }), 1) = (&mut more.work, self.together) {
            *members = robots;
        }
        more.arrivals = plan.arrivals.at(self.each_per_s * f64::from(robots));
        more
    }
}

/// The steps of a search for robots.
pub struct RobotSteps<'a> {
    plan: &'a Plan,
    condition: &'a Condition,
    crowd: Crowd,
    /// The most robots that may be had here,
    most: u32,
    /// and why there are no more, as a sentence.
    no_more: String,
}

impl<'a> RobotSteps<'a> {
    /// Those of this plan.
    pub fn new(plan: &'a Plan, condition: &'a Condition, crowd: Crowd) -> RobotSteps<'a> {
        let mut most = crowd.base;
        let no_more = loop {
            if most >= ROBOTS_MAX as u32 {
                break format!("A run has {} robots at most.", units::whole(ROBOTS_MAX));
            }
            let more = crowd.robots(f64::from(most.saturating_mul(2).min(ROBOTS_MAX as u32)));
            if let Err(error) = rate::allow(&crowd.plan(plan, more)) {
                break format!("More can't be had here: {error}.");
            }
            most = more;
        };
        RobotSteps { plan, condition, crowd, most, no_more }
    }
}

impl Steps for RobotSteps<'_> {
    fn sought(&self) -> Sought {
        Sought::Robots(self.crowd.clone())
    }

    fn bounds(&self) -> (f64, f64, f64) {
        let lowest = pace::lowest_rate(self.condition, self.plan) / self.crowd.each_per_s;
        let lowest = lowest.max(f64::from(self.crowd.together));
        (self.crowd.base.into(), lowest, self.most.into())
    }

    fn headline(&self) -> String {
        format!(
            "searching the most robots with which {}, up to {}, each of which is due {} \
             deliveries a second, in steps of {}",
            self.condition,
            units::whole(self.most.into()),
            units::plain(self.crowd.each_per_s),
            rate::lengths(self.plan)
        )
    }

    fn plan(&self, sought: f64, step: usize) -> Plan {
        let seed = self.plan.seed.wrapping_add(step as u64);
        Plan { seed, ..self.crowd.plan(self.plan, self.crowd.robots(sought)) }
    }

    fn believed(&mut self, step: &Step, _: f64, _: &Outcome) -> Option<Step> {
        Some(step.clone())
    }

    fn no_more(&self) -> String {
        self.no_more.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::arguments::tests::parse;
    use super::*;

    fn plan(more: &[&str]) -> Plan {
        let line = ["frames://127.0.0.1:7000", "--rate", "1k", "--find-connections", "p95 < 250ms"];
        parse(&[&line, more].concat()).unwrap().plan().unwrap()
    }

    /// Else steps would differ in what a robot hears, and not only in how many there are.
    #[test]
    fn more_robots_are_more_rooms_and_each_robot_hears_as_much() {
        let plan = plan(&["--rooms", "4", "--members", "5"]);
        let crowd = Crowd::of(&plan).unwrap();
        assert_eq!([1.0, 20.0, 41.0, 43.0].map(|sought| crowd.robots(sought)), [5, 20, 40, 45]);
        let more = crowd.plan(&plan, 40);
        assert_eq!((more.connections, more.arrivals.rate()), (40, Some(2_000.0)));
        assert_eq!(more.rooms().unwrap().members, 5);
    }

    /// A broadcast to all, as other tools measure it.
    #[test]
    fn one_room_of_all_stays_one() {
        let plan = plan(&["--rooms", "1", "--members", "20"]);
        let crowd = Crowd::of(&plan).unwrap();
        assert_eq!(crowd.robots(41.0), 41);
        let more = crowd.plan(&plan, 41);
        assert_eq!((more.connections, more.arrivals.rate()), (41, Some(2_050.0)));
        assert_eq!(more.rooms().unwrap().members, 41);
    }

    #[test]
    fn no_step_has_too_few_samples_or_more_robots_than_there_may_be() {
        let plan = plan(&["-d", "1s"]);
        let condition = "p95 < 250ms".parse().unwrap();
        let steps = RobotSteps::new(&plan, &condition, Crowd::of(&plan).unwrap());
        let (start, lowest, highest) = steps.bounds();
        assert_eq!(start, 100.0);
        // Ten deliveries a second each.
        assert_eq!(lowest, pace::lowest_rate(&condition, &plan) / 10.0);
        assert!(highest >= start, "{highest}");
        assert!(!steps.no_more().is_empty());
    }
}
