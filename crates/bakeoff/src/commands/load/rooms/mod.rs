//! Robots in rooms: the arguments of `bakeoff load` that are for them, and what is told of them.
//!
//! - `summary`: a run as people read it;
//! - `json`: a run as scripts read it;
//! - `words`: warnings in words of deliveries;
//! - this file: what they do, and when their account isn't clean.

pub mod json;
pub mod summary;
mod words;

use std::time::Duration;

use load::Outcome;
use load::outcome::ErrorKind;
use load::outcome::deliveries::DeliveriesSeen;
use load::plan::rooms::{MESSAGE_BYTES, Qos, Wire};
use load::plan::{Ending, Rooms, Slow, Storm};
use report::units;

pub use self::words::sentences;
use super::quantity::{self, Part};

/// Under this heading.
const ROOMS: &str = "Rooms (frames://, mqtt://, nats://, redis://…?rooms)";
/// The URLs of servers that have rooms, for people.
pub const URLS: &str = "frames://, mqtt://, nats:// or redis://…?rooms";

/// Robots of all rooms that one run may have.
pub const ROBOTS_MAX: u64 = 1_000_000;

/// What robots do.
#[derive(Debug, Clone, clap::Args)]
pub struct RoomsArguments {
    /// How many rooms there are, as 1k [default: 10]
    #[arg(long, value_name = "N", value_parser = quantity::count, help_heading = ROOMS)]
    pub rooms: Option<u64>,

    /// Robots of each room; a message goes to all of them [default: 10]
    #[arg(long, value_name = "N", value_parser = quantity::count, help_heading = ROOMS)]
    pub members: Option<u64>,

    /// Bytes of a message [default: 64]
    #[arg(long, value_name = "BYTES", help_heading = ROOMS,
        value_parser = clap::value_parser!(u32)
            .range(*MESSAGE_BYTES.start() as i64..=*MESSAGE_BYTES.end() as i64))]
    pub message_bytes: Option<u32>,

    /// MQTT's quality of service, 0 or 1; with 1 each message is confirmed [default: 0]
    #[arg(long, value_name = "QOS", value_parser = qos, help_heading = ROOMS)]
    pub qos: Option<Qos>,

    /// So many robots, as 5 or 1%, read nothing for 5 s in the middle of the run
    #[arg(long, value_name = "N", value_parser = quantity::part, help_heading = ROOMS)]
    pub slow: Option<Part>,

    /// All robots end at once in the middle of the run, and come back
    #[arg(long, value_enum, value_name = "HOW", conflicts_with = "slow", help_heading = ROOMS)]
    pub storm: Option<StormChoice>,
}

/// How robots end their connections in a storm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum StormChoice {
    /// By an orderly end
    Fin,
    /// By a reset
    Reset,
}

impl StormChoice {
    /// Its name in arguments and output.
    pub fn name(of: Ending) -> &'static str {
        match of {
            Ending::Fin => "fin",
            Ending::Reset => "reset",
        }
    }

    fn ending(self) -> Ending {
        match self {
            StormChoice::Fin => Ending::Fin,
            StormChoice::Reset => Ending::Reset,
        }
    }
}

/// Where nothing is said.
const COUNT: u64 = 10;
const BYTES: u32 = 64;
/// For how long slow robots read nothing, and how long a run has to be for that.
const SLOW_FOR: Duration = Duration::from_secs(5);
const WITH_SLOW_MIN: Duration = Duration::from_secs(10);

impl RoomsArguments {
    /// What they ask of robots that speak so and are measured for so long.
    ///
    /// # Errors
    /// What doesn't go with the URL, or doesn't fit together, in a sentence.
    pub fn of(&self, wire: Wire, measured: Duration) -> Result<Rooms, String> {
        let wire = match (wire, self.qos) {
            (Wire::Mqtt { qos }, given) => Wire::Mqtt { qos: given.unwrap_or(qos) },
            (_, Some(_)) => return Err("--qos is for mqtt://".into()),
            (wire, None) => wire,
        };
        let members = self.members.unwrap_or(COUNT).min(ROBOTS_MAX) as u32;
        let plain = Rooms::plain(wire, members, self.message_bytes.unwrap_or(BYTES));
        let storm = |how: StormChoice| Storm { at: measured / 2, ending: how.ending() };
        Ok(Rooms { slow: self.slow_of(measured)?, storm: self.storm.map(storm), ..plain })
    }

    /// The robots that are slow, if such are asked for.
    fn slow_of(&self, measured: Duration) -> Result<Option<Slow>, String> {
        let Some(part) = self.slow else { return Ok(None) };
        let of = self.robots()?;
        let robots = part.of(of);
        if robots > of / 2 {
            return Err(format!(
                "--slow is {}, and half of the {} robots at most may be slow",
                units::whole(robots.into()),
                units::whole(of.into())
            ));
        }
        if measured < WITH_SLOW_MIN {
            return Err(
                "--slow takes -d 10s at least: robots read nothing for 5 s in the middle, \
                        and the others are looked at before and meanwhile"
                    .into(),
            );
        }
        let from = (measured - SLOW_FOR) / 2;
        Ok(Some(Slow { robots, from, until: from + SLOW_FOR }))
    }

    /// How many robots there are in all.
    ///
    /// # Errors
    /// Where those are too many, in a sentence.
    pub fn robots(&self) -> Result<u32, String> {
        let (rooms, members) = (self.rooms.unwrap_or(COUNT), self.members.unwrap_or(COUNT));
        let robots = rooms.saturating_mul(members);
        if robots > ROBOTS_MAX {
            return Err(format!(
                "--rooms times --members is {} robots, and a run has {} at most",
                units::whole(robots),
                units::whole(ROBOTS_MAX)
            ));
        }
        Ok(robots as u32)
    }

    /// The first of them that was given, by its name.
    pub fn first_given(&self) -> Option<&'static str> {
        let given = [
            ("--rooms", self.rooms.is_some()),
            ("--members", self.members.is_some()),
            ("--message-bytes", self.message_bytes.is_some()),
            ("--qos", self.qos.is_some()),
            ("--slow", self.slow.is_some()),
            ("--storm", self.storm.is_some()),
        ];
        given.into_iter().find_map(|(name, is_given)| is_given.then_some(name))
    }
}

/// A quality of service, as people write it.
///
/// # Errors
/// Those that there are, in a sentence.
fn qos(text: &str) -> Result<Qos, String> {
    match text {
        "0" => Ok(Qos::AtMostOnce),
        "1" => Ok(Qos::AtLeastOnce),
        "2" => Err("QoS 2 isn't there yet: 0, or 1 for messages that are confirmed".into()),
        _ => Err("it is 0, or 1 for messages that are confirmed".into()),
    }
}

/// How often a server broke what rooms are for, by what it did, of the run and its warm-up.
fn breaches(outcome: &Outcome, seen: &DeliveriesSeen) -> [(&'static str, u64); 6] {
    [
        ("missing", missing(outcome)),
        ("confirmed and missing", seen.confirmed_missing),
        ("duplicate", seen.duplicates),
        ("out of order", seen.out_of_order),
        ("of another room", seen.leaked),
        ("wrong", seen.wrong),
    ]
}

/// Deliveries that never came, of the run and its warm-up.
fn missing(outcome: &Outcome) -> u64 {
    let errors = [&outcome.account, &outcome.warmup].map(|account| &account.errors);
    let missing = errors.into_iter().flatten().filter(|error| error.kind == ErrorKind::Missing);
    missing.map(|error| error.count).sum()
}

/// Why the account of a run with robots isn't clean, in a sentence; `None` if it is, or there were
/// no robots.
pub fn broken(outcome: &Outcome) -> Option<String> {
    let seen = outcome.deliveries.as_ref()?;
    if let Some(what) = outcome.contradiction() {
        return Some(format!("the account of deliveries contradicts itself: {what}"));
    }
    let all = breaches(outcome, seen).into_iter().filter(|(_, count)| *count > 0);
    let all: Vec<String> =
        all.map(|(what, count)| format!("{} {what}", units::whole(count))).collect();
    (!all.is_empty()).then(|| format!("the account of deliveries isn't clean: {}", all.join(", ")))
}

#[cfg(test)]
pub mod tests {
    use histogram::Latency;
    use load::outcome::deliveries::{DeliveryFirsts, SaidInSecond};
    use load::outcome::rooms::{RoomSeen, ShareOfDue};
    use load::outcome::slow::SlowSeen;
    use load::outcome::storm::StormSeen;
    use load::outcome::{Account, ErrorCount, First, Second};
    use load::verdict::limit;

    use super::super::arguments::tests::parse;
    use super::super::exit::Exit;
    use super::super::run::Run;
    use super::super::run::tests::{good, histogram};
    use super::*;

    /// A run of 100 robots that went well.
    pub fn sound() -> Run {
        of(&["frames://127.0.0.1:7000"])
    }

    /// The same by a broker that confirms what it gets.
    pub fn confirmed() -> Run {
        let mut run = of(&["mqtt://127.0.0.1", "--qos", "1"]);
        let seen = run.outcome.deliveries.as_mut().unwrap();
        seen.confirm.good = histogram([(110, 9_900), (400, 95)]);
        seen.confirm.censored = histogram([(5_000_000, 5)]);
        run
    }

    fn of(line: &[&str]) -> Run {
        let mut run = good();
        run.url = line[0].into();
        let line = [line, &["--rate", "10k", "--seed", "1"]].concat();
        run.plan = parse(&line).unwrap().plan().unwrap();
        let mut seen = DeliveriesSeen::nothing(10);
        (seen.joined, seen.messages_sent, seen.messages_received) = (100, 10_000, 100_000);
        (seen.stamped, seen.unstamped) = (99_000, 1_000);
        seen.least_share = Some(ShareOfDue { robot: 0, had: 1_000, due: 1_000 });
        let room = |room, longest| RoomSeen { room, delivered: 10_000, missing: 0, longest };
        seen.rooms_seen = (0..10).map(|nth| room(nth, 700_000 - u64::from(nth))).collect();
        seen.until_all.good = histogram([(180, 9_800), (900, 200)]);
        seen.first_to_last = histogram([(90, 10_000)]);
        let outcome = &mut run.outcome;
        outcome.account =
            Account { scheduled: 100_000, sent: 100_000, good: 100_000, ..Account::default() };
        outcome.warmup = Account::default();
        (outcome.answers_in_window, outcome.bytes_sent) = (100_000, 660_000);
        outcome.bytes_received = 6_600_000;
        let times = histogram([(120, 98_000), (700, 2_000)]);
        outcome.service = Latency { good: times, censored: histogram([]) };
        outcome.response = outcome.service.clone();
        outcome.lateness = histogram([(20, 10_000)]);
        outcome.opening = histogram([(150, 100)]);
        let said = Some(SaidInSecond { messages: 1_000, bytes: 66_000, confirmed: 0 });
        outcome.seconds = vec![Second { good: 10_000, said, ..Second::default() }; 10];
        (outcome.connections.answers_min, outcome.connections.answers_max) = (1_000, 1_000);
        outcome.deliveries = Some(Box::new(seen));
        run.warnings = limit::warnings(&run.plan, &run.outcome);
        run
    }

    /// Times of so many microseconds, each so often.
    fn times(values: [(u64, u64); 2]) -> Latency {
        Latency { good: histogram(values), censored: histogram([]) }
    }

    /// The same of a server that did everything wrong.
    pub fn lied_to() -> Run {
        let mut run = sound();
        let line = [&*run.url, "--rate", "10k", "--seed", "1", "--slow", "3%"];
        run.plan = parse(&line).unwrap().plan().unwrap();
        let outcome = &mut run.outcome;
        let example = "message 5 of robot 0 in room 0 didn't come to robot 2 within 5s".into();
        let (kind, first) = (ErrorKind::Missing, Duration::from_millis(5_120));
        outcome.account = Account {
            scheduled: 100_000,
            shed: 500,
            sent: 99_500,
            good: 98_500,
            errors: vec![ErrorCount { kind, count: 900, first, example }],
            in_flight: 100,
            statuses: vec![],
        };
        outcome.service.good = histogram([(120, 97_000), (700, 1_500)]);
        outcome.service.censored = histogram([(5_000_000, 1_000)]);
        outcome.response = outcome.service.clone();
        let seen = outcome.deliveries.as_mut().unwrap();
        (seen.duplicates, seen.out_of_order, seen.leaked) = (12, 3, 40);
        (seen.wrong, seen.overdue, seen.cut, seen.confirmed_missing) = (7, 5, 2, 1);
        seen.least_share = Some(ShareOfDue { robot: 2, had: 100, due: 1_000 });
        seen.rooms_seen.truncate(2);
        (seen.rooms_seen[1].delivered, seen.rooms_seen[1].missing) = (9_100, 900);
        seen.until_all.censored = histogram([(5_000_000, 100)]);
        seen.slow = Some(Box::new(SlowSeen {
            robots: 3,
            cut: 1,
            owed: 900,
            came: 700,
            missing: 150,
            in_flight: 50,
            overdue: 4,
            before: times([(120, 19_000), (700, 1_000)]),
            meanwhile: times([(120, 19_000), (9_000, 1_000)]),
            shed: 6,
        }));
        let what = |what: &str| Some(First { at: Duration::from_millis(7), what: what.into() });
        seen.firsts = DeliveryFirsts {
            duplicate: what("message 3 of robot 1 in room 0 came again to robot 1"),
            out_of_order: what("message 3 of robot 1 in room 0 came to robot 2 behind a later one"),
            leaked: what("message 1 of robot 2 in room 0 came to robot 30, which is in room 3"),
            wrong: what("to robot 7: another byte than was said at 63: \"M\\x01\u{1b}[2J\""),
            confirmed_missing: what(
                "message 5 of robot 0 in room 0 didn't come to robot 2 within 5s, though it was \
                 confirmed",
            ),
            cut: what("robot 1: the server ended the connection"),
        };
        run.warnings = limit::warnings(&run.plan, &run.outcome);
        run
    }

    /// A sound run in which all robots ended at once, and one didn't come back.
    pub fn stormed() -> Run {
        let mut run = sound();
        let line = [&*run.url, "--rate", "10k", "--seed", "1", "--storm", "reset"];
        run.plan = parse(&line).unwrap().plan().unwrap();
        run.outcome.deliveries.as_mut().unwrap().storm = Some(Box::new(StormSeen {
            ended: 100,
            back: histogram([(2_000, 60), (1_040_000, 39)]),
            refused: 7,
            failed: 1,
            syn_retransmits: 39,
            out_of_order: 2,
            duplicates: 1,
        }));
        run
    }

    #[test]
    fn a_server_that_breaks_what_rooms_are_for_fails_the_run() {
        assert_eq!((broken(&sound().outcome), sound().exit()), (None, Exit::Ok));
        assert_eq!(broken(&good().outcome), None, "who asks a server has no such account");
        let lied_to = lied_to();
        assert_eq!(lied_to.exit(), Exit::Condition);
        assert_eq!(
            broken(&lied_to.outcome).unwrap(),
            "the account of deliveries isn't clean: 900 missing, 1 confirmed and missing, 12 \
             duplicate, 3 out of order, 40 of another room, 7 wrong"
        );
        let mut lost = sound();
        lost.outcome.account.good -= 1;
        let what = broken(&lost.outcome).unwrap();
        assert!(what.starts_with("the account of deliveries contradicts itself"), "{what}");
        assert_eq!(lost.exit(), Exit::Condition);
    }

    #[test]
    fn each_argument_is_named_where_it_has_no_use() {
        for (name, value) in [
            ("--rooms", "100"),
            ("--members", "100"),
            ("--message-bytes", "100"),
            ("--qos", "1"),
            ("--slow", "100"),
            ("--storm", "fin"),
        ] {
            let given = parse(&["http://127.0.0.1", name, value]).unwrap();
            assert_eq!(given.rooms.first_given(), Some(name));
        }
    }
}
