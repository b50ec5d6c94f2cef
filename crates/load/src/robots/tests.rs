use std::cell::RefCell;
use std::rc::Rc;
use std::sync::mpsc;

use proptest::prelude::*;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use super::relay::{DELAY_NS, GAP_NS, Lie, Relay, RelayWorld, Truth};
use super::sharing::SharedStorm;
use super::*;
use crate::outcome::slow::{SlowSeen, SlowWord};
use crate::outcome::storm::StormSeen;
use crate::plan::rooms::Wire;
use crate::plan::{Arrivals, Ending, Slow, Storm, Target, Until, Workload};
use crate::protocol::pushing::frames::FramesWire;
use crate::protocol::pushing::{QuietPing, Seat};
use crate::run::put_together_of;

const MS: Duration = Duration::from_millis(1);
const TIMEOUT: Duration = Duration::from_millis(50);

/// So many rooms of so many members, and so many deliveries a second for some time.
fn plan((rooms, members): (u32, u32), rate: f64, window: Duration) -> (Plan, Rooms) {
    let target =
        Target { address: "127.0.0.1:1".parse().unwrap(), authority: "x".into(), path: "/".into() };
    let asked = Rooms::plain(Wire::Frames, members, 40);
    let plan = Plan {
        work: Workload::Rooms(asked),
        connections: rooms * members,
        arrivals: Arrivals::Constant(rate),
        until: Until::Elapsed(window),
        timeout: TIMEOUT,
        threads: 1,
        ..Plan::new(target, Vec::new())
    };
    (plan, asked)
}

type RelayRobots<'a, W> = Robots<'a, Relay, W>;

/// What the threads' robots see of such a relay.
fn run(asked: &(Plan, Rooms), world: &Rc<RefCell<RelayWorld>>) -> Outcome {
    run_by(FramesWire, asked, world)
}

/// The same by another wire.
fn run_by(
    wire: impl Pushing + Copy,
    (plan, rooms): &(Plan, Rooms),
    world: &Rc<RefCell<RelayWorld>>,
) -> Outcome {
    run_and(wire, (plan, *rooms), world, &Stop::default(), |_| {})
}

/// The same, and does this after each step of all threads.
fn run_and<W: Pushing + Copy>(
    wire: W,
    (plan, rooms): (&Plan, Rooms),
    world: &Rc<RefCell<RelayWorld>>,
    stop: &Stop,
    mut step: impl FnMut(u64),
) -> Outcome {
    let (to, seconds) = mpsc::channel();
    let (count, threads) = (rooms.rooms(plan.connections), plan.threads as u32);
    let (shared, storm) = (SharedRooms::new(count), SharedStorm::of(threads));
    let clock = world.borrow().stamps.map_or_else(Clock::start, |(clock, _)| clock);
    let mut begin = 0;
    let of_thread = |(thread, others)| {
        let seats = Seats::new(rooms.members, count, thread, threads);
        let slots = begin..begin + seats.robots();
        begin = slots.end;
        let sources = Sources::new(plan.target.address, false, plan.connections, 0);
        let rooms_shared = seats.are_dealt().then_some(&shared);
        let sharing = Sharing { others, rooms: rooms_shared, storm: &storm };
        let record = Record::new(seats.thread() as usize, None, to.clone());
        let parts = (Relay::of(world, slots), wire, record);
        Robots::new((plan, rooms), stop, clock, (seats, threads), parts, (sources, sharing))
    };
    let are_dealt = rooms.threads_of_one(plan.connections, plan.threads) > 1;
    let lines = if are_dealt { Others::of(threads) } else { Vec::new() };
    let lines = lines.into_iter().chain(std::iter::repeat_with(Others::none));
    let mut all: Vec<RelayRobots<'_, W>> = (0..threads).zip(lines).map(of_thread).collect();
    go_on(&mut all, world, &mut |_| {});
    let window = plan.window(world.borrow().now() + 1_000_000);
    all.iter_mut().for_each(|robots| robots.start(window));
    go_on(&mut all, world, &mut |now| step(now.saturating_sub(window.begin)));
    drop(to);
    let parts = all.into_iter().map(Robots::finish).collect();
    put_together_of(plan, (parts, seconds.iter().collect()), window)
}

/// Lets each thread do what is to be done, and all sleep until the first wants to wake up, until
/// none has anything left to do.
fn go_on<W: Pushing>(
    all: &mut [RelayRobots<'_, W>],
    world: &Rc<RefCell<RelayWorld>>,
    step: &mut impl FnMut(u64),
) {
    let mut busy: Vec<&mut RelayRobots<'_, W>> = all.iter_mut().collect();
    while !busy.is_empty() {
        let mut until = u64::MAX;
        busy.retain_mut(|robots| {
            let sleeps_until = robots.sleeps_until();
            until = until.min(sleeps_until.unwrap_or(u64::MAX));
            sleeps_until.is_some()
        });
        world.borrow_mut().passes_until = until;
        busy.iter_mut().for_each(|robots| robots.turn_over(until).unwrap());
        let now = world.borrow().now();
        step(now);
    }
}

/// What the robots say happened, in the words of the truth.
fn told(outcome: &Outcome) -> Truth {
    let seen = outcome.deliveries.as_ref().unwrap();
    let missing = |account: &crate::outcome::Account| account.errors_total();
    Truth {
        messages: seen.messages_sent,
        missing: missing(&outcome.account) + missing(&outcome.warmup),
        duplicates: seen.duplicates,
        out_of_order: seen.out_of_order,
        leaked: seen.leaked,
        wrong: seen.wrong,
        overdue: seen.overdue,
        cut: seen.cut,
    }
}

/// Each message comes to this, by its number from 0, of two rooms of three.
fn lies(of: impl Fn(u64) -> Option<Lie> + 'static) -> (Outcome, Truth) {
    lies_to(1, of)
}

/// The same on so many threads. With three of them each has a part of both rooms.
fn lies_to(threads: usize, of: impl Fn(u64) -> Option<Lie> + 'static) -> (Outcome, Truth) {
    let mut number = 0;
    let world = RelayWorld::that(move |_| {
        number += 1;
        of(number - 1)
    });
    // 100 messages.
    let (plan, rooms) = plan((2, 3), 3_000.0, 100 * MS);
    let outcome = run(&(Plan { threads, ..plan }, rooms), &world);
    let truth = world.borrow().truth();
    (outcome, truth)
}

#[test]
fn a_relay_that_hands_on_all_has_nothing_in_its_account_but_deliveries() {
    for threads in [1, 2, 3] {
        let (outcome, truth) = lies_to(threads, |_| None);
        assert_eq!(truth, Truth { messages: 100, ..Truth::default() });
        assert_eq!(told(&outcome), truth);
        let account = &outcome.account;
        assert_eq!((account.scheduled, account.sent, account.good), (300, 300, 300));
        assert_eq!((account.shed, account.in_flight), (0, 0));
        let seen = outcome.deliveries.as_ref().unwrap();
        assert_eq!((seen.rooms, seen.joined, seen.messages_received), (2, 6, 300));
        assert_eq!((seen.stamped, seen.unstamped), (0, 300), "nothing has a stamp here");
        assert_eq!((outcome.bytes_sent, outcome.bytes_received), (100 * 42, 300 * 42));
        let said = SaidInSecond { messages: 100, bytes: 4_200, confirmed: 0 };
        assert_eq!(outcome.seconds[0].said, Some(said));
        assert_eq!((outcome.connections.answers_min, outcome.connections.answers_max), (50, 50));
        assert_eq!(outcome.contradiction(), None);
    }
}

/// Else the first and the last member's waits, and with them all percentiles, are others'.
#[test]
fn times_are_those_that_the_relay_takes() {
    for threads in [1, 3] {
        let (outcome, _) = lies_to(threads, |_| None);
        let near = |is: u64, should: u64| is.abs_diff(should) <= should / 500;
        let seen = outcome.deliveries.as_ref().unwrap();
        let times = &outcome.response.good;
        assert!(near(times.min(), DELAY_NS), "{} ns", times.min());
        assert!(near(times.max(), DELAY_NS + 2 * GAP_NS), "{} ns", times.max());
        let all = &seen.until_all.good;
        assert_eq!(all.len(), 100);
        assert!(near(all.min(), DELAY_NS + 2 * GAP_NS) && near(all.max(), DELAY_NS + 2 * GAP_NS));
        let spread = &seen.first_to_last;
        assert!(near(spread.min(), 2 * GAP_NS) && near(spread.max(), 2 * GAP_NS));
        assert_eq!(outcome.response, outcome.service, "a delivery has one time");
    }
}

/// Else who has thousands of robots measures how long the client needs to look at all of them.
#[test]
fn a_delivery_ends_at_the_kernels_stamp_and_not_when_it_was_seen() {
    let stamped = |off: i64| {
        let world = RelayWorld::that(|_| None);
        world.borrow_mut().stamps = Some((Clock::start(), off));
        run(&plan((2, 3), 3_000.0, 100 * MS), &world)
    };
    let counts = |outcome: &Outcome| {
        let seen = outcome.deliveries.as_ref().unwrap();
        (seen.stamped, seen.unstamped)
    };
    let sooner = stamped(-40_000);
    assert_eq!(counts(&sooner), (300, 0));
    let (took, late) = (&sooner.response.good, &sooner.seen_late);
    // Two clocks that are read one after the other are a little off.
    assert!(took.max() < 30_000, "{} ns: it was 50,000 until they were seen", took.max());
    assert!((30_000..60_000).contains(&late.value_at_quantile(0.5)), "{} ns", late.max());
    let ahead = stamped(1_000_000);
    assert_eq!(counts(&ahead), (0, 300), "it came before it was there");
    assert!(ahead.seen_late.is_empty());
}

#[test]
fn each_lie_is_counted_to_the_unit() {
    let each_tenth = |lie: Lie| move |number: u64| (number % 10 == 3).then_some(lie);
    let honest = Truth { messages: 100, ..Truth::default() };
    let late = TIMEOUT.as_nanos() as u64 * 3 / 2;
    for (lie, should) in [
        (Lie::Drop(1), Truth { missing: 10, ..honest }),
        (Lie::ToOneAlone, Truth { missing: 20, ..honest }),
        (Lie::Twice(2), Truth { duplicates: 10, ..honest }),
        (Lie::Swap, Truth { out_of_order: 30, ..honest }),
        (Lie::Leak, Truth { leaked: 30, ..honest }),
        (Lie::Bit(0, 17), Truth { wrong: 10, missing: 10, ..honest }),
        (Lie::Garbage(1), Truth { wrong: 10, ..honest }),
    ] {
        for threads in [1, 3] {
            let (outcome, truth) = lies_to(threads, each_tenth(lie));
            assert_eq!(truth, should, "{lie:?}: the test counts otherwise");
            assert_eq!(told(&outcome), truth, "{lie:?} to {threads}");
            assert_eq!(outcome.account.good, 300 - truth.missing, "{lie:?} to {threads}");
            assert_eq!(outcome.contradiction(), None, "{lie:?} to {threads}");
        }
    }
    for threads in [1, 3] {
        // Only of messages that come before the last one is settled.
        let late = move |number| (number < 3).then_some(Lie::Late(0, late));
        let (outcome, truth) = lies_to(threads, late);
        assert_eq!(truth, Truth { missing: 3, overdue: 3, ..honest });
        assert_eq!(told(&outcome), truth);
        let seen = outcome.deliveries.as_ref().unwrap();
        assert_eq!((seen.until_all.good.len(), seen.until_all.censored.len()), (97, 3));
        let waited = outcome.response.censored.min();
        assert!(waited >= TIMEOUT.as_nanos() as u64 * 99 / 100, "{waited} ns: given up too early");
    }
}

#[test]
fn what_was_like_that_first_is_told() {
    let (outcome, _) = lies(|number| match number {
        10 => Some(Lie::Leak),
        20 => Some(Lie::Twice(1)),
        30 => Some(Lie::Drop(2)),
        _ => None,
    });
    let firsts = &outcome.deliveries.as_ref().unwrap().firsts;
    let leaked = &firsts.leaked.as_ref().unwrap().what;
    assert_eq!(leaked, "message 1 of robot 2 in room 0 came to robot 3, which is in room 1");
    let duplicate = &firsts.duplicate.as_ref().unwrap().what;
    assert_eq!(duplicate, "message 3 of robot 1 in room 0 came again to robot 1");
    let missing = &outcome.account.errors[0].example;
    assert_eq!(missing, "message 5 of robot 0 in room 0 didn't come to robot 2 within 50ms");
}

/// Else a server that starves one room or one robot looks as one that is fair to all.
#[test]
fn the_worst_room_and_the_least_share_of_a_robot_are_told() {
    for threads in [1, 2, 3] {
        // The second and the fourth message are of the second room.
        let lie = |number| match number {
            1 => Some(Lie::Drop(0)),
            3 => Some(Lie::Drop(0)),
            4 => Some(Lie::Drop(1)),
            _ => None,
        };
        let (outcome, _) = lies_to(threads, lie);
        let seen = outcome.deliveries.unwrap();
        let rooms = worst(seen.rooms_seen);
        assert_eq!((rooms[0].room, rooms[0].missing, rooms[0].delivered), (1, 2, 148));
        assert_eq!((rooms[1].room, rooms[1].missing, rooms[1].delivered), (0, 1, 149));
        assert!(rooms[1].longest >= DELAY_NS, "{rooms:?}");
        let least = seen.least_share.unwrap();
        assert_eq!((least.robot, least.had, least.due), (3, 48, 50), "{threads} threads");
    }
}

#[test]
fn a_robot_that_the_server_cuts_misses_what_it_was_owed_and_says_nothing_more() {
    let (outcome, truth) = lies(|number| (number == 40).then_some(Lie::Cut(1)));
    let cut = Truth { cut: 1, ..told(&outcome) };
    assert_eq!(cut, truth, "what it misses is missing");
    let account = &outcome.account;
    assert!(account.shed > 0, "its turns go on: {account:?}");
    assert_eq!(account.scheduled, 300, "turns are lost with it");
    assert_eq!(account.scheduled, account.sent + account.shed);
    let what = &outcome.deliveries.unwrap().firsts.cut.unwrap().what;
    assert_eq!(what, "robot 1: the server ended the connection");
}

#[test]
fn what_a_server_doesnt_take_is_kept_up_to_a_bound_and_then_shed() {
    let world = RelayWorld::that(|_| None);
    // A single robot, of which nothing is taken for half a second.
    let plan = plan((1, 1), 10_000.0, 400 * MS);
    world.borrow_mut().stuck = Some((0, 1_050_000_000, 1_550_000_000));
    let plan = (Plan { timeout: 2_000 * MS, ..plan.0 }, plan.1);
    let outcome = run(&plan, &world);
    let account = &outcome.account;
    assert_eq!(account.scheduled, 4_000);
    assert_eq!(account.shed + account.good, 4_000, "{account:?}");
    let kept = (OUTBOX_BYTES / 42) as u64;
    let in_time = account.good - kept;
    // One was sent before each of the others came to wait.
    assert!((480..=510).contains(&in_time), "{in_time} were sent at their time");
    assert_eq!(told(&outcome), world.borrow().truth());
}

#[test]
fn what_isnt_taken_within_the_timeout_is_withdrawn() {
    let world = RelayWorld::that(|_| None);
    let plan = plan((1, 1), 1_000.0, 100 * MS);
    world.borrow_mut().stuck = Some((0, 1_010_000_000, u64::MAX));
    let outcome = run(&plan, &world);
    let account = &outcome.account;
    assert_eq!((account.scheduled, account.in_flight), (100, 0));
    assert!(account.shed >= 85, "{account:?}");
    assert_eq!(account.sent, world.borrow().truth().messages);
}

#[test]
fn who_comes_into_no_room_is_owed_nothing() {
    let world = RelayWorld::that(|_| None);
    world.borrow_mut().refuses = Some(2);
    let outcome = run(&plan((1, 4), 4_000.0, 100 * MS), &world);
    let seen = outcome.deliveries.as_ref().unwrap();
    assert_eq!((seen.joined, outcome.connections.failed), (3, 1));
    let account = &outcome.account;
    assert_eq!((account.scheduled, account.shed, account.good), (300, 75, 225));
    assert_eq!(told(&outcome), world.borrow().truth());
}

#[test]
fn a_run_that_is_stopped_leaves_what_was_under_way_in_flight() {
    for threads in [1, 3] {
        let (plan, rooms) = plan((1, 3), 3_000.0, 100 * MS);
        let (plan, stop) = (Plan { threads, ..plan }, Stop::default());
        let world = RelayWorld::that(|_| Some(Lie::Drop(0)));
        let outcome = run_and(FramesWire, (&plan, rooms), &world, &stop, |now| {
            if now > 20_000_000 {
                stop.now();
            }
        });
        let messages = world.borrow().truth().messages;
        let account = &outcome.account;
        assert_eq!(account.sent, messages * 3, "{threads} threads");
        let left = account.sent - account.good;
        assert_eq!(account.in_flight, left, "none is old enough to be missing");
        assert!(account.in_flight >= messages && messages < 30, "{account:?}");
        assert_eq!(outcome.contradiction(), None);
        let seen = outcome.deliveries.unwrap();
        assert_eq!(seen.until_all.samples(), messages, "{threads} threads");
    }
}

/// What becomes of a robot that hangs from 100 to 200 ms, where this is done to the relay as long as
/// it hangs, and then undone.
fn slow_robot(threads: usize, meanwhile: fn(&mut RelayWorld, bool)) -> (Outcome, Truth, SlowSeen) {
    let (plan, rooms) = plan((2, 3), 3_000.0, 400 * MS);
    let slow = Slow { robots: 1, from: 100 * MS, until: 200 * MS };
    let rooms = Rooms { slow: Some(slow), ..rooms };
    let plan = Plan { work: Workload::Rooms(rooms), threads, ..plan };
    let world = RelayWorld::that(|_| None);
    let outcome = run_and(FramesWire, (&plan, rooms), &world, &Stop::default(), |now| {
        meanwhile(&mut world.borrow_mut(), (110_000_000..190_000_000).contains(&now));
    });
    assert_eq!(outcome.contradiction(), None);
    let seen = outcome.deliveries.as_ref().unwrap();
    assert_eq!(seen.faults() + told(&outcome).missing, 0, "what it lacks is counted among all");
    let (slow, truth) = (SlowSeen::clone(seen.slow.as_ref().unwrap()), world.borrow().truth());
    (outcome, truth, slow)
}

/// The slow one: the last of the second room.
const SLOW: Slot = 5;

#[test]
fn what_a_slow_robot_is_owed_stands_apart_and_comes_once_it_reads_again() {
    for threads in [1, 3] {
        let (outcome, truth, slow) = slow_robot(threads, |_, _| {});
        let account = &outcome.account;
        assert_eq!((account.good, account.shed), (account.sent, 0), "{threads} threads");
        assert_eq!(account.sent + slow.owed, 3 * truth.messages, "{threads} threads");
        // Of fifty rounds of six turns it doesn't speak in its own, and hears two others.
        assert!((350..=351).contains(&truth.messages), "{truth:?}");
        assert!((98..=102).contains(&slow.owed), "{slow:?}");
        assert_eq!((slow.robots, slow.came, slow.missing), (1, slow.owed, 0));
        assert_eq!(slow.word(), Some(SlowWord::Buffers));
        let others = slow.before.samples() + slow.meanwhile.samples();
        assert!(others > 300, "{others} of the others");
        let longest = outcome.response.good.max();
        assert!(longest < 1_000_000, "{longest} ns: a wait of the slow one is among all");
    }
}

#[test]
fn what_a_server_does_with_a_slow_robot_has_a_word() {
    for threads in [1, 3] {
        let deaf = |world: &mut RelayWorld, is_on| world.deaf = Some(SLOW).filter(|_| is_on);
        let (_, _, slow) = slow_robot(threads, deaf);
        assert_eq!(slow.owed, slow.came + slow.missing);
        assert_eq!(slow.word(), Some(SlowWord::Drops), "{slow:?}");

        let cut =
            |world: &mut RelayWorld, is_on| (0..u32::from(is_on)).for_each(|_| world.cut(SLOW));
        let (outcome, _, slow) = slow_robot(threads, cut);
        assert_eq!((slow.cut, outcome.deliveries.unwrap().cut), (1, 0));
        assert_eq!(slow.word(), Some(SlowWord::Cuts), "{slow:?}");

        let slower = |world: &mut RelayWorld, is_on| world.slower = u64::from(is_on) * 5_000_000;
        let (_, _, slow) = slow_robot(threads, slower);
        assert_eq!(slow.word(), Some(SlowWord::Blocks), "{slow:?}");
    }
}

/// What becomes of a storm after 200 ms, where the relay refuses this robot from then on.
fn storm(threads: usize, refuses: Option<Slot>) -> (Outcome, Truth, StormSeen) {
    let (plan, rooms) = plan((2, 3), 3_000.0, 500 * MS);
    let storm = Storm { at: 200 * MS, ending: Ending::Fin };
    let rooms = Rooms { storm: Some(storm), ..rooms };
    let plan = Plan { work: Workload::Rooms(rooms), threads, ..plan };
    let world = RelayWorld::that(|_| None);
    let outcome = run_and(FramesWire, (&plan, rooms), &world, &Stop::default(), |now| {
        if now > 190_000_000 {
            world.borrow_mut().refuses = refuses;
        }
    });
    let truth = world.borrow().truth();
    assert_eq!(told(&outcome), truth, "{threads} threads");
    assert_eq!(outcome.contradiction(), None);
    let seen = StormSeen::clone(outcome.deliveries.as_ref().unwrap().storm.as_ref().unwrap());
    (outcome, truth, seen)
}

#[test]
fn after_a_storm_all_are_back_and_the_account_is_as_exact_as_before() {
    for threads in [1, 2, 3] {
        let (outcome, truth, seen) = storm(threads, None);
        assert_eq!((seen.ended, seen.back.len(), seen.refused), (6, 6, 0), "{threads} threads");
        assert!(seen.back_within(1.0) >= Some(2 * DELAY_NS), "{seen:?}");
        // For some milliseconds nobody speaks.
        assert!((470..500).contains(&truth.messages), "{truth:?}");
        let account = &outcome.account;
        assert_eq!((account.scheduled, account.good), (3 * truth.messages, 3 * truth.messages));
        assert_eq!(outcome.deliveries.unwrap().joined, 6, "who comes back counts twice");
    }
}

#[test]
fn who_doesnt_come_back_after_a_storm_is_owed_nothing_more() {
    for threads in [1, 2, 3] {
        let (outcome, truth, seen) = storm(threads, Some(0));
        assert_eq!((seen.ended, seen.back.len()), (6, 5), "{threads} threads");
        assert!(seen.refused > 0 && seen.back_within(0.5).is_some(), "{seen:?}");
        assert_eq!(seen.back_within(1.0), None);
        let account = &outcome.account;
        assert!(account.sent < 3 * truth.messages, "{account:?}");
        assert_eq!((account.good, account.in_flight), (account.sent, 0));
        assert!(account.shed > 0, "who stays away has turns that nobody takes");
    }
}

/// Frames whose relay confirms messages, and whose robots say that they are there.
#[derive(Clone, Copy)]
struct ConfirmedFrames;

impl Pushing for ConfirmedFrames {
    type Connection = <FramesWire as Pushing>::Connection;

    fn join(&self, seat: Seat, out: &mut Vec<u8>) {
        FramesWire.join(seat, out);
    }

    fn hear_joining(
        &self,
        on: &mut Self::Connection,
        seat: Seat,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> Opened {
        FramesWire.hear_joining(on, seat, bytes, out)
    }

    fn say<'a>(&self, room: u32, number: u16, bytes: usize, out: &'a mut Vec<u8>) -> &'a mut [u8] {
        FramesWire.say(room, number, bytes, out)
    }

    fn said_bytes(&self, bytes: usize) -> usize {
        FramesWire.said_bytes(bytes)
    }

    fn hear(
        &self,
        on: &mut Self::Connection,
        bytes: &[u8],
        out: &mut Vec<u8>,
        heard: &mut impl FnMut(Pushed<'_>),
    ) -> Result<(), Box<Fault>> {
        FramesWire.hear(on, bytes, out, &mut |pushed| match pushed {
            Pushed::Message(&[b'C', high, low]) => {
                heard(Pushed::Confirmed(Some(u16::from_be_bytes([high, low]))));
            }
            other => heard(other),
        })
    }

    fn confirms(&self) -> bool {
        true
    }

    fn ping(&self) -> Option<QuietPing> {
        Some(QuietPing { after: 10 * MS, words: &[0, 1, b'P'] })
    }
}

/// What robots of so many threads see of a relay that confirms each message so often, by its number
/// from 1; 100 messages in two rooms of three.
fn confirmed(
    threads: usize,
    times: fn(u64) -> usize,
    lie: impl Fn(u64) -> Option<Lie> + 'static,
) -> Outcome {
    let mut number = 0;
    let world = RelayWorld::that(move |_| {
        number += 1;
        lie(number)
    });
    world.borrow_mut().confirms = times;
    let (plan, rooms) = plan((2, 3), 3_000.0, 100 * MS);
    run_by(ConfirmedFrames, &(Plan { threads, ..plan }, rooms), &world)
}

#[test]
fn confirmations_are_counted_with_their_times() {
    for threads in [1, 3] {
        let outcome = confirmed(threads, |_| 1, |_| None);
        let seen = outcome.deliveries.as_ref().unwrap();
        let times = &seen.confirm;
        let counts = (times.good.len(), times.censored.len(), seen.confirmed_missing);
        assert_eq!(counts, (100, 0, 0), "{threads} threads");
        let near = |is: u64| is.abs_diff(DELAY_NS) <= DELAY_NS / 500;
        assert!(near(times.good.min()) && near(times.good.max()), "{} ns", times.good.max());
        assert_eq!(outcome.seconds[0].said.unwrap().confirmed, 100);
        assert_eq!((seen.wrong, outcome.account.good), (0, 300), "a confirmation is no message");
    }
}

/// It is the worst that can be said of a broker. With three threads one hears the confirmation, and
/// two find that somebody lacks the message.
#[test]
fn a_message_that_was_confirmed_and_that_somebody_never_had_is_told_apart() {
    let each_tenth = |lie: Lie| move |number: u64| (number % 10 == 4).then_some(lie);
    for threads in [1, 3] {
        for (lie, missing) in [(Lie::ToOneAlone, 20), (Lie::Drop(0), 10), (Lie::Drop(2), 10)] {
            let outcome = confirmed(threads, |_| 1, each_tenth(lie));
            let seen = outcome.deliveries.as_ref().unwrap();
            let counts = (seen.confirmed_missing, outcome.account.errors_total());
            assert_eq!(counts, (10, missing), "{lie:?} to {threads}");
            let what = &seen.firsts.confirmed_missing.as_ref().unwrap().what;
            let is_first = what.starts_with("message 0 of robot 4 in room 1 didn't come to robot ");
            assert!(is_first && what.ends_with(" within 50ms, though it was confirmed"), "{what}");
        }
        // Nobody confirmed those that were dropped.
        let of_others = |number: u64| usize::from(number % 10 != 4);
        let outcome = confirmed(threads, of_others, each_tenth(Lie::ToOneAlone));
        let seen = outcome.deliveries.as_ref().unwrap();
        assert_eq!((seen.confirmed_missing, outcome.account.errors_total()), (0, 20));
        assert_eq!((seen.confirm.good.len(), seen.confirm.censored.len()), (90, 10));
    }
}

#[test]
fn what_is_never_confirmed_waits_until_it_is_given_up_and_what_is_twice_is_wrong() {
    for threads in [1, 3] {
        let outcome = confirmed(threads, |number| if number > 90 { 0 } else { 1 }, |_| None);
        let seen = outcome.deliveries.as_ref().unwrap();
        assert_eq!((seen.confirm.good.len(), seen.confirm.censored.len()), (90, 10));
        let waited = seen.confirm.censored.min();
        assert!(waited >= TIMEOUT.as_nanos() as u64 * 99 / 100, "{waited} ns: given up too early");
        let outcome = confirmed(threads, |number| if number % 10 == 0 { 2 } else { 1 }, |_| None);
        let seen = outcome.deliveries.as_ref().unwrap();
        assert_eq!((seen.confirm.good.len(), seen.wrong), (100, 10));
        let what = &seen.firsts.wrong.as_ref().unwrap().what;
        assert!(what.contains("a message was confirmed a second time"), "{what}");
    }
}

/// Else a broker that confirms a little later looks as one that forgot to, where it was we who hung
/// or ended the connection.
#[test]
fn what_robots_said_is_confirmed_before_they_hang_or_end() {
    let slow = Slow { robots: 1, from: 100 * MS, until: 200 * MS };
    let storm = Storm { at: 200 * MS, ending: Ending::Fin };
    for threads in [1, 3] {
        for (slow, storm) in [(Some(slow), None), (None, Some(storm))] {
            let (plan, rooms) = plan((2, 3), 3_000.0, 400 * MS);
            let rooms = Rooms { slow, storm, ..rooms };
            let plan = Plan { work: Workload::Rooms(rooms), threads, ..plan };
            let world = RelayWorld::that(|_| None);
            world.borrow_mut().confirms = |_| 1;
            world.borrow_mut().confirms_after = 20_000_000;
            let mut pings = Vec::new();
            let stop = Stop::default();
            let outcome = run_and(ConfirmedFrames, (&plan, rooms), &world, &stop, |now| {
                if (130_000_000..190_000_000).contains(&now) {
                    pings.push(world.borrow().pings);
                }
            });
            let seen = outcome.deliveries.as_ref().unwrap();
            let counts = (seen.confirm.good.len(), seen.confirm.censored.len(), seen.wrong);
            assert_eq!(counts, (world.borrow().truth().messages, 0, 0), "{rooms:?}");
            assert_eq!(outcome.contradiction(), None);
            let said_meanwhile = pings.last().unwrap() - pings[0];
            assert_eq!(said_meanwhile, 0, "who hangs says that it is there");
        }
    }
}

#[test]
fn a_quiet_robot_says_that_it_is_there() {
    let pings = |wire: bool| {
        let world = RelayWorld::that(|_| None);
        // Each of both speaks every 40 ms, ten times.
        let asked = plan((1, 2), 100.0, 400 * MS);
        let outcome =
            if wire { run_by(ConfirmedFrames, &asked, &world) } else { run(&asked, &world) };
        assert_eq!(outcome.deliveries.unwrap().wrong, 0);
        world.borrow().pings
    };
    assert_eq!(pings(false), 0, "who needn't say it doesn't");
    assert!((30..=80).contains(&pings(true)), "{}: two or three between two messages", pings(true));
}

/// Draws what comes of each message. A message may only come behind the next one of its sender
/// where that comes soon enough.
fn drawn(seed: u64, is_next_soon: bool) -> impl FnMut(Slot) -> Option<Lie> {
    let mut random = SmallRng::seed_from_u64(seed);
    move |_| {
        let member = random.random_range(0..8);
        match random.random_range(0..40) {
            0 => Some(Lie::Drop(member)),
            1 => Some(Lie::ToOneAlone),
            2 => Some(Lie::Twice(member)),
            3 if is_next_soon => Some(Lie::Swap),
            4 => Some(Lie::Leak),
            5 => Some(Lie::Bit(member, random.random_range(0..64))),
            6 => Some(Lie::Late(member, TIMEOUT.as_nanos() as u64 * 3 / 2)),
            7 => Some(Lie::Garbage(member)),
            _ => None,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Else nobody could say of a gateway what it lost.
    #[test]
    fn whatever_a_relay_does_each_count_is_exact(
        (rooms, members, threads) in (1..5_u32, 1..7_u32, 1..5_usize),
        rate in 500.0..20_000.0_f64,
        (warmup, is_random) in (0..2_u32, any::<bool>()),
        seed: u64,
    ) {
        let (plan, asked) = plan((rooms, members), rate, 150 * MS);
        let threads = asked.threads(plan.connections, threads);
        let plan = Plan { warmup: 30 * MS * warmup, threads, seed, ..plan };
        let arrivals = if is_random { Arrivals::Poisson(rate) } else { plan.arrivals };
        let plan = Plan { arrivals, ..plan };
        let round_s = f64::from(rooms * members) / asked.messages(rate);
        let world = RelayWorld::that(drawn(seed, !is_random && round_s < TIMEOUT.as_secs_f64() / 2.0));
        let outcome = run(&(plan, asked), &world);
        let truth = world.borrow().truth();
        let accounts = [&outcome.account, &outcome.warmup];
        let sum = |of: fn(&crate::outcome::Account) -> u64| -> u64 {
            accounts.iter().map(|account| of(account)).sum()
        };
        prop_assert_eq!(sum(|it| it.sent), truth.messages * u64::from(members));
        prop_assert_eq!(sum(|it| it.good), sum(|it| it.sent) - truth.missing);
        prop_assert_eq!(sum(|it| it.shed + it.in_flight), 0);
        let of_warmup = outcome.warmup.sent / u64::from(members);
        let told = told(&outcome);
        prop_assert_eq!(Truth { messages: told.messages + of_warmup, ..told }, truth);
        prop_assert_eq!(outcome.contradiction(), None);
    }
}
