//! The load generator as the driver of gateways: its robots come into their rooms, are there for a
//! while without a word, and then speak at the rate of the setting.

use std::net::SocketAddr;
use std::thread::sleep;
use std::time::{Duration, Instant};

use load::Stop;
use load::plan::rooms::Wire;
use load::plan::{Rooms, Target, Until, Workload};
use result::evidence::DeliveriesSeen;
use result::figure::{LINES_OF_CODE, ROBOT_BYTES, UNTIL_ALL_P99_US};
use result::setting::{MESSAGE_BYTES, ROOM};

use super::generator::{self, Loading, arrivals};
use super::memory::resident_bytes;
use super::{Drive, DriveEnd, Driving, Outside, Passage, Readiness, Sign, WorkDriver};
use crate::contract::room_member::RoomWrong;
use crate::contract::rooms::join_once;
use crate::place::Running;
use crate::study::contender::GatewayWire;

/// For how long robots are in their rooms before they say a word: by then a gateway has done what it
/// does for who comes in.
pub const IDLE: Duration = Duration::from_secs(2);
/// Between two looks whether the run is to end.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The load generator, for gateways.
#[derive(Debug, Clone, Copy)]
pub struct RoomsDriver {
    /// What they are spoken with.
    pub wire: GatewayWire,
    /// Whether their documentation promises no more than that a message comes once at most.
    pub may_lose: bool,
    /// Lines of code of the contender; `None` where it has none of its own, or they couldn't be
    /// read.
    pub lines_of_code: Option<u64>,
}

impl WorkDriver for RoomsDriver {
    fn location(&self, address: SocketAddr) -> String {
        self.wire.url(address)
    }

    fn sign(&self) -> Sign {
        Sign { given: "let somebody into a room", missing: "let nobody into a room" }
    }

    fn ready(&self, on: &Running, stop: &Stop) -> Readiness {
        match join_once(on, self.wire.wire(), stop) {
            Ok(()) => Readiness::Yes,
            Err(wrong @ RoomWrong::Message(_)) => Readiness::Wrong(wrong.to_string()),
            Err(
                wrong @ (RoomWrong::NoConnection(_) | RoomWrong::Ended(_) | RoomWrong::TooLate(_)),
            ) => Readiness::NotYet(wrong.to_string()),
        }
    }

    fn prepare<'a>(
        &'a self,
        on: &'a Running,
        what: &Drive,
    ) -> Result<Box<dyn Driving + 'a>, load::Error> {
        let loading = Loading::prepare(on, what, load_plan(what, on.address, self.wire.wire())?)?;
        Ok(Box::new(Speaking { loading, on, driver: *self }))
    }
}

/// The load of a slot.
///
/// # Errors
/// Where its setting isn't one of gateways.
pub(super) fn load_plan(
    what: &Drive,
    address: SocketAddr,
    wire: Wire,
) -> Result<load::Plan, load::Error> {
    let setting = &what.slot.setting;
    let number = |name: &str| {
        let number = setting.number(name).and_then(|it| u32::try_from(it).ok());
        let no = || load::Error::Plan(format!("the setting of robots has no `{name}`"));
        number.ok_or_else(no)
    };
    let rooms = Rooms::plain(wire, number(ROOM)?, number(MESSAGE_BYTES)?);
    let (authority, path) = (address.to_string(), String::new());
    Ok(load::Plan {
        work: Workload::Rooms(rooms),
        arrivals: arrivals(what.slot, what.rate),
        connections: setting.connections(),
        until: Until::Elapsed(what.window()),
        warmup: what.warmup(),
        cpus: what.cpus.to_vec(),
        seed: what.seed(),
        ..load::Plan::new(Target { address, authority, path }, Vec::new())
    })
}

/// A client that waits for its plan, and the gateway that its robots go to.
struct Speaking<'a> {
    loading: Loading,
    on: &'a Running,
    driver: RoomsDriver,
}

impl Driving for Speaking<'_> {
    fn outside(&self) -> Option<Outside> {
        self.loading.outside()
    }

    fn run(&mut self, stop: &Stop, tell: &mut dyn FnMut(Passage)) -> Result<DriveEnd, load::Error> {
        let root = self.on.kept.root();
        let memory_before_bytes = resident_bytes(root);
        let mut memory_idle_bytes = None;
        let seen = self.loading.offer(stop, &mut |passage| {
            if matches!(passage, Passage::Connected) {
                wait(IDLE, stop);
                memory_idle_bytes = resident_bytes(root);
            }
            tell(passage);
        })?;
        let Some(seen) = seen else { return Ok(DriveEnd::Stopped) };
        let deliveries = generator::deliveries(&seen).map(|seen| DeliveriesSeen {
            memory_before_bytes,
            memory_idle_bytes,
            may_lose: self.driver.may_lose,
            ..seen
        });
        let mut driven = self.loading.driven(seen);
        for (id, value) in self.counted(deliveries.as_ref()) {
            driven.work.counted.insert(id.into());
            driven.work.result.insert(id.into(), value);
        }
        driven.deliveries = deliveries;
        Ok(DriveEnd::Driven(Box::new(driven)))
    }
}

impl Speaking<'_> {
    /// The figures that are of gateways alone, as far as they are known.
    fn counted(&self, seen: Option<&DeliveriesSeen>) -> impl Iterator<Item = (&'static str, f64)> {
        let until_all = seen.and_then(|seen| {
            let p99 = seen.until_all_us.at.iter().find(|one| one.percentile == 99.0)?;
            Some(p99.value)
        });
        let counted = [
            (ROBOT_BYTES, seen.and_then(DeliveriesSeen::robot_bytes)),
            (UNTIL_ALL_P99_US, until_all),
            (LINES_OF_CODE, self.driver.lines_of_code.map(|lines| lines as f64)),
        ];
        counted.into_iter().filter_map(|(id, value)| Some((id, value?)))
    }
}

/// Waits for so long, or until somebody asks for the end.
fn wait(time: Duration, stop: &Stop) {
    let began = Instant::now();
    while began.elapsed() < time && !stop.asked() {
        sleep(LOOK_EVERY);
    }
}

#[cfg(test)]
mod tests {
    use result::plan::{Cores, Pace, Plan, Setting, Slot, Value};
    use result::setting::CONNECTIONS;

    use super::super::LoadFrom;
    use super::*;

    /// The plan of load that follows from such a setting, at 600 deliveries a second.
    fn planned(values: &[(&str, u64)]) -> Result<load::Plan, String> {
        let values = values.iter().map(|(id, number)| (id.to_string(), Value::Number(*number)));
        let (values, pace) = (values.collect(), Pace::Fixed { per_s: 600 });
        let setting = Setting { cores: Cores::All, values, pace };
        let slot = Slot { number: 2, block: 0, contender: "a".into(), twin: false, setting };
        let plan = Plan {
            profile: "quick".into(),
            seed: 5,
            blocks: 1,
            measure_s: 4.0,
            warmup_s: 1.0,
            may_idle: true,
            cuts: 0,
            scripts: Vec::new(),
            slots: vec![slot.clone()],
        };
        let what = Drive {
            plan: &plan,
            slot: &slot,
            warmup_s: 1.0,
            rate: Some(600.0),
            cpus: &[0],
            from: LoadFrom::Here,
        };
        let plan = load_plan(&what, "127.0.0.1:1".parse().unwrap(), Wire::Nats);
        plan.map_err(|error| error.to_string())
    }

    #[test]
    fn a_setting_says_who_is_in_a_room_and_how_long_messages_are() {
        let plan = planned(&[(ROOM, 10), (CONNECTIONS, 60), (MESSAGE_BYTES, 64)]).unwrap();
        assert_eq!(plan.rooms(), Some(Rooms::plain(Wire::Nats, 10, 64)));
        assert_eq!((plan.connections, plan.seed), (60, 7));
        assert_eq!(plan.arrivals, load::plan::Arrivals::Constant(600.0));
        let why = planned(&[(CONNECTIONS, 60), (MESSAGE_BYTES, 64)]).unwrap_err();
        assert_eq!(why, "the setting of robots has no `room`");
    }
}
