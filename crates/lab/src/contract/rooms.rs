//! Does a gateway do its job? What it passes on, to whom, and what it does not.

use std::cell::Cell;
use std::net::SocketAddr;
use std::thread::sleep;
use std::time::{Duration, Instant};

use load::Stop;
use load::member::Member;
use load::plan::rooms::Wire;
use result::evidence::ContractStep;

use super::room_member::{RoomMember, RoomWrong};
use super::{Contract, Depth};
use crate::place::Running;
use crate::study::contender::SlowReader;

/// Time for a message to come.
const WITHIN: Duration = Duration::from_secs(2);
/// Rooms of the contract's own begin here. No load has so many.
const FIRST_ROOM: u32 = 1 << 31;
/// What its rooms and members are called at a broker follows from this. No load has it.
const SEED: u64 = 0x726f_6f6d_7320;
/// Messages that come at once.
const AT_ONCE: usize = 100;
/// The shortest and the longest message of a load.
const SIZES: [usize; 2] = [32, 65_535];
/// For how long a member reads nothing.
const READS_NOTHING_FOR: Duration = Duration::from_secs(2);
/// What it says meanwhile, at most: more than any buffers of the kernel's hold.
const SAID_BYTES_MAX: usize = 64 << 20;
/// How long it may take after that until a member that is to be cut is cut, while it still reads
/// nothing. NATS waits longest, 10 s.
const CUT_UNREAD_WITHIN: Duration = Duration::from_secs(12);
/// The same once it reads again.
const CUT_WITHIN: Duration = Duration::from_secs(3);

/// The contract of all gateways.
#[derive(Debug, Clone, Copy)]
pub struct RoomsJob {
    /// What it is spoken with.
    pub wire: Wire,
    /// What its documentation says that it does with a member that doesn't read.
    pub slow_reader: Option<SlowReader>,
}

impl Contract for RoomsJob {
    fn check(
        &self,
        on: &Running,
        depth: Depth,
        stop: &Stop,
        tell: &mut dyn FnMut(&ContractStep),
    ) -> Vec<ContractStep> {
        go_through((on.address, *self), depth, stop, tell)
    }
}

/// Goes through the contract with the gateway at this address.
pub fn go_through(
    (address, job): (SocketAddr, RoomsJob),
    depth: Depth,
    stop: &Stop,
    tell: &mut dyn FnMut(&ContractStep),
) -> Vec<ContractStep> {
    let at = Gateway::new((address, job), depth, WITHIN, stop);
    let mut steps: Vec<ContractStep> = Vec::new();
    for due in DUE.iter().filter(|due| due.when.is_now(depth, job.wire)) {
        if stop.asked() {
            break;
        }
        let outcome = (due.ask)(&at);
        let is_first = steps.is_empty();
        let hung = is_first && matches!(outcome, Err(RoomWrong::TooLate(_)));
        let (saw, wrong) = match outcome {
            Ok(saw) => (saw, None),
            Err(wrong) => (String::new(), Some(wrong.to_string())),
        };
        let (id, asked) = (due.id.into(), due.asked.into());
        let step = ContractStep { id, asked, saw, wrong, hung };
        tell(&step);
        // Of who can't come into a room nothing else can be said.
        let is_last = is_first && step.wrong.is_some();
        steps.push(step);
        if is_last {
            break;
        }
    }
    steps
}

/// Whether a gateway lets somebody into a room: the contract's first step.
pub(crate) fn join_once(on: &Running, wire: Wire, stop: &Stop) -> Result<(), RoomWrong> {
    let member = Member::new(wire, SEED, 0, FIRST_ROOM - 1);
    RoomMember::connect(on.address, WITHIN, stop, member)?.join()
}

/// A gateway, as the steps see it.
struct Gateway<'a> {
    address: SocketAddr,
    job: RoomsJob,
    depth: Depth,
    /// Time for a message to come.
    within: Duration,
    stop: &'a Stop,
    next_room: Cell<u32>,
    next_member: Cell<u32>,
}

impl Gateway<'_> {
    fn new(
        (address, job): (SocketAddr, RoomsJob),
        depth: Depth,
        within: Duration,
        stop: &Stop,
    ) -> Gateway<'_> {
        let (next_room, next_member) = (Cell::new(FIRST_ROOM), Cell::new(1));
        Gateway { address, job, depth, within, stop, next_room, next_member }
    }

    /// A room in which nobody was before.
    fn new_room(&self) -> u32 {
        self.next_room.replace(self.next_room.get() + 1)
    }

    /// Somebody who isn't even connected.
    fn stranger(&self, room: u32) -> Member {
        let number = self.next_member.replace(self.next_member.get() + 1);
        Member::new(self.job.wire, SEED, number, room)
    }

    /// Somebody who is connected, and not in the room.
    fn outsider(&self, room: u32) -> Result<RoomMember, RoomWrong> {
        RoomMember::connect(self.address, self.within, self.stop, self.stranger(room))
    }

    fn member(&self, room: u32) -> Result<RoomMember, RoomWrong> {
        let mut member = self.outsider(room)?;
        member.join()?;
        Ok(member)
    }

    /// So many members of a room in which nobody else is.
    fn members<const COUNT: usize>(&self) -> Result<[RoomMember; COUNT], RoomWrong> {
        let room = self.new_room();
        let members: Vec<RoomMember> =
            (0..COUNT).map(|_| self.member(room)).collect::<Result<_, _>>()?;
        Ok(members.try_into().expect("as many were made"))
    }

    /// How long it is listened for what may not come.
    fn quiet(&self) -> Duration {
        match self.depth {
            Depth::Quick => Duration::from_millis(50),
            Depth::Thorough => Duration::from_secs(1),
        }
    }

    /// How far the pieces of a message that was cut lie apart; in a thorough check longer than a
    /// read of the gateway's takes, wherever that waits.
    fn apart(&self) -> Duration {
        match self.depth {
            Depth::Quick => Duration::from_millis(5),
            Depth::Thorough => Duration::from_millis(40),
        }
    }
}

/// A step to go through.
struct StepDue {
    id: &'static str,
    /// What is asked of the gateway: *it* does so.
    asked: &'static str,
    when: When,
    /// What was seen, or what was wrong with it.
    ask: fn(&Gateway) -> Result<String, RoomWrong>,
}

/// When a step is gone through.
enum When {
    Always,
    /// Where there are more than tenths of a second.
    Thorough,
    /// On wires where who hasn't come in can say nothing. In NATS and RESP3 any connection may
    /// speak in any room.
    HasOutsiders,
}

impl When {
    fn is_now(&self, depth: Depth, wire: Wire) -> bool {
        match self {
            When::Always => true,
            When::Thorough => depth == Depth::Thorough,
            When::HasOutsiders => matches!(wire, Wire::Frames | Wire::Mqtt { .. }),
        }
    }
}

const DUE: [StepDue; 12] = [
    StepDue {
        id: "join",
        asked: "lets a member into a room, and tells it so",
        when: When::Always,
        ask: |at| at.member(at.new_room()).map(|_| "it did".into()),
    },
    StepDue {
        id: "echo",
        asked: "passes a message back to a member that is alone in its room",
        when: When::Always,
        ask: echo,
    },
    StepDue {
        id: "members",
        asked: "passes a message on to all three members of a room, once, and to nobody else",
        when: When::Always,
        ask: members,
    },
    StepDue {
        id: "order",
        asked: "passes 100 messages on in their order that come at once",
        when: When::Always,
        ask: order,
    },
    StepDue {
        id: "cut",
        asked: "takes a message that comes in two pieces, cut at every byte",
        when: When::Always,
        ask: cut,
    },
    StepDue {
        id: "bytes",
        asked: "takes a message that comes byte by byte",
        when: When::Always,
        ask: byte_by_byte,
    },
    StepDue {
        id: "two-and-a-half",
        asked: "passes two messages on that come with the half of a third",
        when: When::Always,
        ask: two_and_a_half,
    },
    StepDue {
        id: "binary",
        asked: "passes all bytes on as they were, those that look like lengths and joins too",
        when: When::Always,
        ask: binary,
    },
    StepDue {
        id: "sizes",
        asked: "passes messages of 32 and of 65,535 bytes on",
        when: When::Always,
        ask: sizes,
    },
    StepDue {
        id: "outside",
        asked: "passes nothing on of somebody who is in no room",
        when: When::HasOutsiders,
        ask: outside,
    },
    StepDue {
        id: "leaving",
        asked: "goes on for the others when a member closes, or breaks off within a message",
        when: When::Always,
        ask: leaving,
    },
    StepDue {
        id: "slow-reader",
        asked: "goes on for another room while a member reads nothing for 2 s",
        when: When::Thorough,
        ask: slow_reader,
    },
];

fn echo(at: &Gateway) -> Result<String, RoomWrong> {
    let mut alone = at.member(at.new_room())?;
    alone.say(b"Message to myself")?;
    alone.has_to_hear(b"Message to myself")?;
    Ok("17 bytes".into())
}

fn members(at: &Gateway) -> Result<String, RoomWrong> {
    let mut three: [RoomMember; 3] = at.members()?;
    let [mut other] = at.members()?;
    three[0].say(b"Message to three")?;
    for member in &mut three {
        member.has_to_hear(b"Message to three")?;
    }
    other.hears_nothing_for(at.quiet())?;
    for member in &mut three {
        // Whatever had come twice was on its way meanwhile.
        member.hears_nothing_for(Duration::from_millis(1))?;
    }
    Ok("three heard it, and a member of another room didn't".into())
}

fn order(at: &Gateway) -> Result<String, RoomWrong> {
    let mut two: [RoomMember; 2] = at.members()?;
    let messages: Vec<String> = (0..AT_ONCE).map(|nth| format!("Message {nth}")).collect();
    let frames: Vec<Vec<u8>> = messages.iter().map(|it| two[0].framed(it.as_bytes())).collect();
    two[0].send(&frames.concat())?;
    for member in &mut two {
        for message in &messages {
            member.has_to_hear(message.as_bytes())?;
        }
    }
    Ok(format!("both members heard all {AT_ONCE}"))
}

fn cut(at: &Gateway) -> Result<String, RoomWrong> {
    let message = b"Message in pieces";
    let whole = at.stranger(at.new_room()).framed(message).len();
    // Each on a connection of its own: what one leaves unread would be another's.
    let mut cuts = Vec::new();
    for cut in 1..whole {
        let mut member = at.member(at.new_room())?;
        let mut frame = member.framed(message);
        let rest = frame.split_off(cut);
        member.send_part(&frame)?;
        cuts.push((cut, member, rest));
    }
    sleep(at.apart());
    for (_, member, rest) in &mut cuts {
        member.send(rest)?;
    }
    for (cut, member, _) in &mut cuts {
        member.has_to_hear(message).map_err(|wrong| of_cut(*cut, wrong))?;
    }
    Ok(format!("{} cuts", cuts.len()))
}

fn of_cut(cut: usize, wrong: RoomWrong) -> RoomWrong {
    let bytes = if cut == 1 { "byte".into() } else { format!("{cut} bytes") };
    RoomWrong::Message(format!("with a pause after the first {bytes} of a frame: {wrong}"))
}

fn byte_by_byte(at: &Gateway) -> Result<String, RoomWrong> {
    let mut two: [RoomMember; 2] = at.members()?;
    let frame = two[0].framed(b"Message in bytes");
    let (last, before) = frame.split_last().expect("it has a message");
    for byte in before {
        two[0].send_part(&[*byte])?;
        sleep(Duration::from_millis(1));
    }
    two[0].send(&[*last])?;
    for member in &mut two {
        member.has_to_hear(b"Message in bytes")?;
    }
    Ok(format!("{} bytes", frame.len()))
}

fn two_and_a_half(at: &Gateway) -> Result<String, RoomWrong> {
    let mut two: [RoomMember; 2] = at.members()?;
    let all = [&b"Message one"[..], b"Message two", b"Message three"];
    let [first, second, third] = all.map(|message| two[0].framed(message));
    let (half, rest) = third.split_at(third.len() / 2);
    two[0].send_part(&[&first, &second, half].concat())?;
    for member in &mut two {
        member.has_to_hear(b"Message one")?;
        member.has_to_hear(b"Message two")?;
    }
    two[0].send(rest)?;
    for member in &mut two {
        member.has_to_hear(b"Message three")?;
    }
    Ok("two before the third was whole, and then the third".into())
}

fn binary(at: &Gateway) -> Result<String, RoomWrong> {
    let mut two: [RoomMember; 2] = at.members()?;
    let all: Vec<u8> = [b'M'].into_iter().chain(0..=255).collect();
    let mut other = at.stranger(at.new_room());
    let (joins, says) = (other.first_words(), other.framed(b"M"));
    let lengths = [&b"M"[..], &[0, 1, 0, 0, 0xff, 0xff], &joins, &says, &[0, 0]].concat();
    for message in [&all, &lengths] {
        two[0].say(message)?;
        for member in &mut two {
            member.has_to_hear(message)?;
        }
    }
    // Whoever took a message for a join has it in another room by now.
    two[1].say(b"Message after it")?;
    two[0].has_to_hear(b"Message after it")?;
    Ok(format!("{} and {} bytes", all.len(), lengths.len()))
}

fn sizes(at: &Gateway) -> Result<String, RoomWrong> {
    let mut two: [RoomMember; 2] = at.members()?;
    for bytes in SIZES {
        let message: Vec<u8> =
            [b'M'].into_iter().chain((1..bytes).map(|at| (at % 251) as u8)).collect();
        two[0].say(&message)?;
        for member in &mut two {
            member.has_to_hear(&message)?;
        }
    }
    Ok("both came whole".into())
}

fn outside(at: &Gateway) -> Result<String, RoomWrong> {
    let room = at.new_room();
    let (mut member, mut outsider) = (at.member(room)?, at.outsider(room)?);
    outsider.say(b"Message from outside")?;
    member.hears_nothing_for(at.quiet())?;
    outsider.hears_nothing_for(Duration::from_millis(1))?;
    member.say(b"Message from inside")?;
    member.has_to_hear(b"Message from inside")?;
    Ok("nobody heard it".into())
}

fn leaving(at: &Gateway) -> Result<String, RoomWrong> {
    let [mut stays, mut closes, mut breaks_off] = at.members()?;
    for leaves in [&mut closes, &mut breaks_off] {
        let frame = leaves.framed(b"Message that never ends");
        leaves.send_part(&frame[..frame.len() / 2])?;
    }
    drop(closes);
    breaks_off.reset()?;
    sleep(at.apart());
    stays.say(b"Message to who is left")?;
    stays.has_to_hear(b"Message to who is left")?;
    stays.hears_nothing_for(at.quiet())?;
    Ok("the one who is left heard its message, and no part of theirs".into())
}

fn slow_reader(at: &Gateway) -> Result<String, RoomWrong> {
    let [mut slow] = at.members()?;
    let mut others: [RoomMember; 2] = at.members()?;
    let began = Instant::now();
    let taken = slow.say_until_it_stops(&[b'M'; 32 << 10], SAID_BYTES_MAX);
    let mut messages = 0;
    // It has the whole time again for each message: whoever waits for a slow one is too late.
    while began.elapsed() < READS_NOTHING_FOR && !at.stop.asked() {
        others[0].say(b"Message meanwhile")?;
        for member in &mut others {
            member.has_to_hear(b"Message meanwhile")?;
        }
        messages += 1;
        sleep(Duration::from_millis(20));
    }
    let has_to_be_cut = at.job.slow_reader == Some(SlowReader::Cuts);
    let is_cut =
        has_to_be_cut && slow.breaks_within(CUT_UNREAD_WITHIN) || slow.is_cut_within(CUT_WITHIN);
    let seen = if is_cut { "it was cut" } else { "it wasn't cut" };
    match at.job.slow_reader {
        Some(promised) if is_cut != (promised == SlowReader::Cuts) => {
            let what = format!("{seen}, and its contender.toml says `slow_reader` otherwise");
            Err(RoomWrong::Message(what))
        }
        _ => Ok(format!(
            "{messages} messages came there, {} KiB were taken of it, and {seen}",
            taken >> 10
        )),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::sync::{Arc, Mutex};

    use load::plan::rooms::Qos;

    use super::*;

    /// How a gateway of this test breaks its contract.
    #[derive(Debug, Clone, Copy, PartialEq)]
    enum Fault {
        None,
        Silent,
        AllRooms,
        Twice,
        OneMember,
        OneRead,
        Signed,
        Short,
        NoRoomIsOne,
        Halves,
    }

    type Rooms = Arc<Mutex<BTreeMap<u32, Vec<Arc<Mutex<TcpStream>>>>>>;

    /// A gateway with a thread a connection, which has this fault.
    fn gateway(fault: Fault) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let rooms = Rooms::default();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let rooms = rooms.clone();
                std::thread::spawn(move || serve(stream.unwrap(), &rooms, fault));
            }
        });
        address
    }

    fn serve(mut stream: TcpStream, rooms: &Rooms, fault: Fault) -> Option<()> {
        let own = Arc::new(Mutex::new(stream.try_clone().ok()?));
        own.lock().unwrap().set_nodelay(true).ok()?;
        let (mut bytes, mut piece, mut room) = (Vec::new(), vec![0; 1 << 17], None);
        loop {
            let count = stream.read(&mut piece).ok().filter(|count| *count > 0);
            let Some(count) = count else { break };
            bytes.extend_from_slice(&piece[..count]);
            while let Some(length) = bytes.first_chunk::<2>() {
                let whole = 2 + usize::from(match fault {
                    Fault::Signed if length[0] > 127 => 5,
                    _ => u16::from_be_bytes(*length),
                });
                if bytes.len() < whole {
                    break;
                }
                let frame: Vec<u8> = bytes.drain(..whole).collect();
                take(&frame, (&own, &mut room), rooms, fault);
            }
            if fault == Fault::OneRead {
                bytes.clear();
            }
        }
        if let Some(room) = room {
            let mut rooms = rooms.lock().unwrap();
            rooms.get_mut(&room)?.retain(|it| !Arc::ptr_eq(it, &own));
        }
        if fault == Fault::Halves && !bytes.is_empty() {
            send(&framed(&bytes), rooms, room?, fault);
        }
        Some(())
    }

    fn take(
        frame: &[u8],
        (own, room): (&Arc<Mutex<TcpStream>>, &mut Option<u32>),
        rooms: &Rooms,
        fault: Fault,
    ) {
        if let [_, _, b'J', number @ ..] = frame {
            let number = u32::from_be_bytes(number.try_into().unwrap());
            *room = Some(number);
            rooms.lock().unwrap().entry(number).or_default().push(own.clone());
            if fault != Fault::Silent {
                let _ = own.lock().unwrap().write_all(frame);
            }
            return;
        }
        match room {
            Some(room) => send(frame, rooms, *room, fault),
            None if fault == Fault::NoRoomIsOne => {
                let all: Vec<u32> = rooms.lock().unwrap().keys().copied().collect();
                all.into_iter().for_each(|room| send(frame, rooms, room, fault));
            }
            None => {}
        }
    }

    fn send(frame: &[u8], rooms: &Rooms, room: u32, fault: Fault) {
        let rooms = rooms.lock().unwrap();
        let of = |number: &u32| *number == room || fault == Fault::AllRooms;
        for (nth, member) in rooms.iter().filter(|it| of(it.0)).flat_map(|it| it.1).enumerate() {
            let times = match fault {
                Fault::Twice => 2,
                Fault::OneMember if nth > 0 => 0,
                _ => 1,
            };
            let frame = match fault {
                Fault::Short if frame.len() > 1_000 => framed(&frame[2..1_000]),
                _ => frame.to_vec(),
            };
            (0..times).for_each(|_| drop(member.lock().unwrap().write_all(&frame)));
        }
    }

    const JOB: RoomsJob = RoomsJob { wire: Wire::Frames, slow_reader: None };

    /// What goes over a connection of frames with this message.
    fn framed(message: &[u8]) -> Vec<u8> {
        Member::new(Wire::Frames, SEED, 0, 0).framed(message)
    }

    /// What comes of one step with a gateway that has this fault.
    fn outcome(fault: Fault, step: &str) -> Result<String, RoomWrong> {
        let (within, stop) = (Duration::from_millis(300), Stop::default());
        let at = Gateway::new((gateway(fault), JOB), Depth::Quick, within, &stop);
        (DUE.iter().find(|due| due.id == step).expect("there is such a step").ask)(&at)
    }

    #[test]
    fn a_gateway_that_does_its_job_passes_every_step() {
        let mut told = 0;
        let at = (gateway(Fault::None), JOB);
        let steps = go_through(at, Depth::Quick, &Stop::default(), &mut |_| told += 1);
        let is_wrong = |it: &&ContractStep| it.wrong.is_some();
        assert_eq!(steps.iter().find(is_wrong), None);
        assert_eq!((steps.len(), told), (DUE.len() - 1, DUE.len() - 1), "one takes seconds");
    }

    /// Else what leaves a part of the work out would be compared with what does all of it.
    #[test]
    fn each_fault_of_a_gateway_is_found_by_its_step() {
        std::thread::scope(|scope| {
            for (fault, step) in [
                (Fault::AllRooms, "members"),
                (Fault::Twice, "members"),
                (Fault::OneMember, "members"),
                (Fault::OneRead, "cut"),
                (Fault::Signed, "sizes"),
                (Fault::Short, "sizes"),
                (Fault::NoRoomIsOne, "outside"),
                (Fault::Halves, "leaving"),
            ] {
                scope.spawn(move || {
                    let outcome = outcome(fault, step);
                    assert!(outcome.is_err(), "{fault:?} passes: {outcome:?}");
                });
            }
        });
    }

    /// Who reads of it has to know what to change at the broker.
    #[test]
    fn a_broker_that_refuses_the_subscription_is_told_in_one_sentence() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            for answer in [&b"\x20\x02\x00\x00"[..], b"\x90\x03\x00\x01\x80"] {
                assert!(stream.read(&mut [0; 100]).unwrap() > 0);
                stream.write_all(answer).unwrap();
            }
        });
        let job = RoomsJob { wire: Wire::Mqtt { qos: Qos::AtMostOnce }, ..JOB };
        let steps = go_through((address, job), Depth::Quick, &Stop::default(), &mut |_| {});
        let wrong: Vec<&str> = steps.iter().filter_map(|it| it.wrong.as_deref()).collect();
        assert_eq!((wrong.len(), steps.len(), steps[0].hung), (1, 1, false), "{steps:?}");
        let sentence = "the broker refused the subscription to bakeoff/";
        assert!(wrong[0].starts_with(sentence) && !wrong[0].contains('\n'), "{wrong:?}");
    }

    #[test]
    fn a_step_about_outsiders_is_left_out_where_there_are_none() {
        let steps = |wire| DUE.iter().filter(|due| due.when.is_now(Depth::Thorough, wire)).count();
        let mqtt = Wire::Mqtt { qos: Qos::AtLeastOnce };
        assert_eq!([Wire::Frames, mqtt, Wire::Nats, Wire::Resp].map(steps), [12, 12, 11, 11]);
    }

    #[test]
    fn who_lets_nobody_in_hangs_in_the_first_step_and_is_asked_nothing_else() {
        let at = (gateway(Fault::Silent), JOB);
        let steps = go_through(at, Depth::Quick, &Stop::default(), &mut |_| {});
        assert_eq!((steps.len(), steps[0].hung), (1, true), "{steps:?}");
    }
}
