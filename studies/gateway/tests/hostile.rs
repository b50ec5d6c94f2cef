//! What no robot of the study does, and anybody else may: it harms nobody else.
//! `make check-servers` has all contenders bear it.

use super::{Robot, contenders, is_light, start};
use crate::started::Started;

/// More than a contender has open here.
const FILES: u64 = 1024;
const ROOM: u32 = 7;
const OTHER: u32 = 8;

/// What somebody does while two are in a room. Gives what both have to hear of it.
type Deed = fn(&Started) -> Vec<&'static [u8]>;

const DEEDS: [(&str, Deed); 8] = [
    ("it sends a frame without a byte, which is none, and is cut", |gateway| {
        let mut robot = Robot::join(gateway, ROOM).unwrap();
        robot.send(&[0, 0]).unwrap();
        assert!(robot.is_cut(), "it stays");
        vec![]
    }),
    ("it closes within a frame", |gateway| {
        let mut robot = Robot::join(gateway, ROOM).unwrap();
        robot.send(b"\0\xffhalf a frame").unwrap();
        vec![]
    }),
    ("it resets within a length", |gateway| {
        let mut robot = Robot::join(gateway, ROOM).unwrap();
        robot.send(&[0]).unwrap();
        robot.reset();
        vec![]
    }),
    ("it goes before it has joined", |gateway| {
        Robot::connect(gateway).unwrap().reset();
        vec![]
    }),
    ("it speaks before it has joined, and then again", |gateway| {
        let mut robot = Robot::connect(gateway).unwrap();
        robot.say(b"to nobody").unwrap();
        robot.go_to(ROOM).unwrap();
        robot.say(b"to all").unwrap();
        assert_eq!(robot.hear().unwrap(), b"to all");
        vec![b"to all"]
    }),
    ("it joins twice, and hears once", |gateway| {
        let mut robot = Robot::join(gateway, ROOM).unwrap();
        robot.go_to(ROOM).unwrap();
        for said in [b"one", b"two"] {
            robot.say(said).unwrap();
            assert_eq!(robot.hear().unwrap(), said);
        }
        vec![b"one", b"two"]
    }),
    ("it goes to another room, and back", |gateway| {
        let mut robot = Robot::join(gateway, ROOM).unwrap();
        robot.go_to(OTHER).unwrap();
        robot.say(b"elsewhere").unwrap();
        assert_eq!(robot.hear().unwrap(), b"elsewhere");
        robot.go_to(ROOM).unwrap();
        robot.say(b"here").unwrap();
        assert_eq!(robot.hear().unwrap(), b"here");
        vec![b"here"]
    }),
    ("its words look like those that join, and are too long or too short", |gateway| {
        let mut robot = Robot::join(gateway, ROOM).unwrap();
        let all: [&[u8]; 3] = [b"J", b"J123", b"J12345"];
        for said in all {
            robot.say(said).unwrap();
            assert_eq!(robot.hear().unwrap(), said);
        }
        all.to_vec()
    }),
];

#[test]
fn what_no_robot_of_the_study_does_harms_nobody() {
    all_bear(is_light);
}

#[test]
#[ignore = "`make check-servers` builds all"]
fn what_no_robot_of_the_study_does_harms_nobody_at_any_contender() {
    all_bear(|_| true);
}

fn all_bear(is_tried: impl Fn(&str) -> bool) {
    for contender in contenders(is_tried) {
        let mut gateway = start(&contender, FILES);
        for (what, deed) in DEEDS {
            let name = format!("{}: {what}", contender.name);
            let mut members = [(); 2].map(|()| Robot::join(&gateway, ROOM).unwrap());
            let expected = [&deed(&gateway)[..], &[b"after it"]].concat();
            members[0].say(b"after it").unwrap();
            for member in &mut members {
                for said in &expected {
                    let heard = member.hear().unwrap_or_else(|why| panic!("{name}: {why}"));
                    assert_eq!(heard, *said, "{name}");
                }
            }
            assert!(!gateway.has_ended(), "{name}");
        }
    }
}
