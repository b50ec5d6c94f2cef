//! A scout: one robot that comes into a room and leaves again, before all others. So it is told
//! before load begins where a server takes no robots.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::member::Member;
use crate::plan::rooms::Wire;
use crate::{Plan, Stop};

/// How often it looks whether it is to stop.
const LOOK: Duration = Duration::from_millis(100);

/// Whether robots come into their rooms at the server of this plan. A server that accepts no
/// connection is left to the run, which tells of it as of any other; so is a plan without robots.
///
/// # Errors
/// Why they don't, in a sentence with what to do.
pub fn scout(plan: &Plan, stop: &Stop) -> Result<(), String> {
    let Some(rooms) = plan.rooms() else { return Ok(()) };
    join(rooms.wire, plan, stop).map_err(|why| {
        let why = match why {
            Why::Told(sentence) => sentence,
            Why::Ended => {
                format!("the server ended its connection; does it speak {}?", rooms.wire.name())
            }
            Why::Silence => format!(
                "the server said nothing that ends its waiting within {:?}; does it speak {}?",
                plan.timeout,
                rooms.wire.name()
            ),
        };
        format!("no robot comes into a room at {}: {why}", plan.target.address)
    })
}

/// Why a robot is in no room.
enum Why {
    /// What came says it.
    Told(String),
    Ended,
    Silence,
}

/// Brings one robot into a room.
fn join(wire: Wire, plan: &Plan, stop: &Stop) -> Result<(), Why> {
    let until = Instant::now() + plan.timeout;
    let address = &plan.target.address;
    let Ok(mut connection) = TcpStream::connect_timeout(address, plan.timeout) else {
        return Ok(());
    };
    connection.set_read_timeout(Some(LOOK)).map_err(|_| Why::Ended)?;
    // None of the run's robots has its number.
    let mut member = Member::new(wire, plan.seed, plan.connections, 0);
    let (mut out, mut heard) = (member.first_words(), [0; 4096]);
    while !stop.asked() {
        connection.write_all(&out).map_err(|_| Why::Ended)?;
        out.clear();
        match connection.read(&mut heard) {
            Ok(0) => return Err(Why::Ended),
            Ok(bytes) => match member.hear_joining(&heard[..bytes], &mut out) {
                Ok(Some(_)) => return Ok(()),
                Ok(None) => {}
                Err(why) => return Err(Why::Told(why)),
            },
            Err(error) if is_nothing_yet(&error) => {}
            Err(_) => return Err(Why::Ended),
        }
        if Instant::now() >= until {
            return Err(Why::Silence);
        }
    }
    Ok(())
}

fn is_nothing_yet(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), Interrupted | TimedOut | WouldBlock)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;
    use crate::plan::rooms::Qos;
    use crate::plan::{Rooms, Target, Workload};

    /// What a scout says of a server that says this, and then ends the connection or doesn't.
    fn told(wire: Wire, says: &'static [u8], ends: bool) -> Result<(), String> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            let (mut connection, _) = listener.accept().unwrap();
            connection.write_all(says).unwrap();
            if !ends {
                let _ = io::copy(&mut connection, &mut io::sink());
            }
        });
        scout(&plan(wire, address), &Stop::default())
    }

    fn plan(wire: Wire, address: std::net::SocketAddr) -> Plan {
        let target = Target { address, authority: String::new(), path: String::new() };
        Plan {
            work: Workload::Rooms(Rooms::plain(wire, 1, 64)),
            timeout: Duration::from_millis(300),
            ..Plan::new(target, Vec::new())
        }
    }

    #[test]
    fn a_server_that_takes_robots_is_nothing_to_tell_of() {
        assert_eq!(told(Wire::Frames, b"\x00\x05J\x00\x00\x00\x00", false), Ok(()));
        assert_eq!(told(Wire::Nats, b"INFO {}\r\nPONG\r\n", false), Ok(()));
        let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        assert_eq!(scout(&plan(Wire::Nats, nobody), &Stop::default()), Ok(()), "the run tells it");
    }

    #[test]
    fn a_server_that_takes_none_is_told_of_in_one_sentence() {
        let mqtt = Wire::Mqtt { qos: Qos::AtMostOnce };
        for (wire, says, ends, sentence) in [
            (mqtt, &b"\x20\x02\x00\x05"[..], true, "the broker refused the connection with code 5"),
            (Wire::Resp, b"HTTP/1.1 400 Bad Request\r\n", true, "the server speaks HTTP"),
            (mqtt, b"", false, "nothing that ends its waiting within 300ms; does it speak MQTT"),
            (Wire::Nats, b"", true, "the server ended its connection; does it speak NATS?"),
        ] {
            let told = told(wire, says, ends).unwrap_err();
            assert!(told.starts_with("no robot comes into a room at 127.0.0.1:"), "{told}");
            assert!(told.contains(sentence) && !told.contains('\n'), "{told}");
        }
    }
}
