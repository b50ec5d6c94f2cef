//! Gateways, whose rooms the load generator's robots are in.

use result::plan::Setting;
use result::setting::{CONNECTIONS, ROOM};

use super::{Kind, has_of_programs, has_of_stores};
use crate::contract::{self, Contract};
use crate::drive::WorkDriver;
use crate::drive::rooms::{IDLE, RoomsDriver};
use crate::study::contender::{Contender, Promises};
use crate::study::{ContractFile, Profile, Study, StudyFile, lines_of_code};

/// How many robots come into their rooms in a second: the pace of kept connections
/// (`load`, `thread/connects.rs`).
const ROBOTS_A_SECOND: f64 = 10_000.0;

pub(super) struct RoomsKind;

impl Kind for RoomsKind {
    fn key(&self) -> &'static str {
        "protocol = \"rooms\""
    }

    fn complaint(&self, study: &StudyFile) -> Option<String> {
        has_of_programs(study).or_else(|| has_of_stores(study))
    }

    /// Robots speak at a rate, whatever they hear, and all rooms have as many of them.
    fn profile_complaint(&self, profile: &Profile) -> Option<String> {
        let settings = profile.fixed_settings();
        if !profile.settings.is_empty() || settings.is_empty() {
            let what = "robots speak at a rate, whatever they hear: it takes `settings = []` and a \
                        `fixed_rate`";
            return Some(what.into());
        }
        settings.iter().find_map(|setting| {
            let (robots, room) = (setting.number(CONNECTIONS)?, setting.number(ROOM)?);
            (room == 0 || !robots.is_multiple_of(room)).then(|| {
                format!(
                    "{robots} robots make no whole number of rooms with {room} each: \
                     `connections` has to be a multiple of each `room`"
                )
            })
        })
    }

    fn contract_complaint(&self, contract: &ContractFile, _: &StudyFile) -> Option<String> {
        let what = "all gateways have one contract: theirs has `says` alone";
        (contract.is_http() || contract.sum.is_some()).then(|| what.into())
    }

    fn driver(&self, _: &Study, contender: &Contender) -> Box<dyn WorkDriver> {
        let promises = contender.file.promises.as_ref();
        let may_lose = promises.is_some_and(Promises::may_lose);
        let (wire, lines_of_code) = (contender.file.wire, lines_of_code::of(contender));
        Box::new(RoomsDriver { wire, may_lose, lines_of_code })
    }

    fn contract(&self, _: &Study, contender: &Contender) -> Box<dyn Contract> {
        let promises = contender.file.promises.as_ref();
        let slow_reader = promises.and_then(|promises| promises.slow_reader);
        let wire = contender.file.wire.wire();
        Box::new(contract::rooms::RoomsJob { wire, slow_reader })
    }

    /// Robots come into their rooms, and are there for a while without a word.
    fn more_s(&self, _: &StudyFile, setting: &Setting) -> f64 {
        IDLE.as_secs_f64() + f64::from(setting.connections()) / ROBOTS_A_SECOND
    }
}

#[cfg(test)]
mod tests {
    use load::plan::rooms;
    use result::kind::Values;
    use result::setting::MESSAGE_BYTES;

    use super::*;

    /// Else a study could ask for messages that the load generator refuses, trial by trial.
    #[test]
    fn the_messages_that_a_study_may_ask_for_are_those_of_the_load_generator() {
        let declared = result::kind::Kind::Rooms.declared();
        let sizes = declared.iter().find(|it| it.id == MESSAGE_BYTES).unwrap();
        let Values::Numbers(sizes) = &sizes.values else { panic!("{sizes:?}") };
        let (least, most) = rooms::MESSAGE_BYTES.into_inner();
        assert_eq!(*sizes, least.into()..=most.into());
    }

    #[test]
    fn a_profile_of_robots_has_a_rate_and_rooms_that_are_whole() {
        let complaint = |text: &str| {
            let head = "blocks = 1\nmeasure_s = 1\nwarmup_s = 1\n";
            let mut profile: Profile = toml::from_str(&format!("{head}{text}")).unwrap();
            profile.declare(result::kind::Kind::Rooms, &[]);
            RoomsKind.profile_complaint(&profile)
        };
        let rate = |robots: u32, room: &str| {
            format!(
                "settings = []\nfixed_rate = {{ cores = 'all', connections = {robots}, room = \
                 {room}, bytes = [64], per_s = 100 }}"
            )
        };
        assert_eq!(complaint(&rate(60, "[1, 10, 60]")), None);
        assert_eq!(complaint(&rate(60, "10")), None, "one value is as good as a list of one");
        let why = complaint(&rate(60, "[1, 7]")).unwrap();
        assert!(why.starts_with("60 robots make no whole number of rooms with 7 each"), "{why}");
        let why = complaint("settings = []").unwrap();
        assert!(why.contains("it takes `settings = []` and a `fixed_rate`"), "{why}");
    }
}
