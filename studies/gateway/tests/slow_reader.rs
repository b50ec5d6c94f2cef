//! A robot that doesn't read: its contender does with it what it promises, and the others of its
//! room go on. `make check-servers` holds all contenders to it.

use std::time::Duration;

use lab::study::contender::SlowReader;

use super::{Robot, contenders, is_light, start};

const FILES: u64 = 1024;
const ROOM: u32 = 7;
/// Together far more than the kernel and any contender with a bound keep for a robot.
const MESSAGES: usize = 2_000;
const MESSAGE_BYTES: usize = 16_000;
/// Between two, so that all of them take longer than a contender's patience.
const PAUSE: Duration = Duration::from_millis(2);

#[test]
fn a_robot_that_reads_nothing_is_treated_as_promised_and_the_others_go_on() {
    promises_are_kept(is_light);
}

#[test]
#[ignore = "`make check-servers` builds all"]
fn a_robot_that_reads_nothing_is_treated_as_promised_by_any_contender() {
    promises_are_kept(|_| true);
}

fn promises_are_kept(is_tried: impl Fn(&str) -> bool) {
    for contender in contenders(is_tried) {
        let name = &contender.name;
        let promises = contender.file.promises.as_ref();
        let promised = promises.and_then(|it| it.slow_reader).expect(name);
        let gateway = start(&contender, FILES);
        let mut slow = Robot::join(&gateway, ROOM).unwrap();
        let mut quick = Robot::join(&gateway, ROOM).unwrap();
        for number in 0..MESSAGES {
            let message = vec![number as u8; MESSAGE_BYTES];
            quick.say(&message).unwrap_or_else(|why| panic!("{name}: {number} said: {why}"));
            let heard = quick.hear().unwrap_or_else(|why| panic!("{name}: {number}: {why}"));
            assert_eq!(heard, message, "{name}");
            std::thread::sleep(PAUSE);
        }
        let all = MESSAGES * (2 + MESSAGE_BYTES);
        let read = slow.read_up_to(all);
        match promised {
            SlowReader::Cuts => assert!(read < all && slow.is_cut(), "{name} doesn't"),
            SlowReader::Buffers => assert_eq!(read, all, "{name} doesn't keep all for it"),
            other => panic!("{name}: no contender of today promises {other:?}"),
        }
        // Whoever was treated so is in nobody's way.
        drop(slow);
        quick.say(b"after it").unwrap();
        assert_eq!(quick.hear().unwrap(), b"after it", "{name}");
    }
}
