//! Who is said to have been left waiting: connections that were asked, and no others.

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::Mutex;

use crate::support::{After, Said, Server, load};

const GOOD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// A run long enough for a median, and short enough for many of them.
const SHORT: [&str; 4] = ["-d", "400ms", "--timeout", "500ms"];

fn is_accused(said: &Said) -> bool {
    let warnings = said.json["warnings"].as_array().unwrap();
    warnings.iter().any(|warning| warning["id"] == "starved")
}

/// In an open loop the client asks the connection that it used last, so that most of many are
/// never asked.
#[test]
fn a_sound_server_is_not_accused_whatever_connections_and_rate() {
    let server = Server::says(GOOD);
    let url = server.url("/");
    let mut idle = 0;
    for connections in ["2", "50"] {
        for threads in ["1", "2"] {
            for pace in [&["--rate", "1k"][..], &["--rate", "4k"], &[]] {
                let of = ["-c", connections, "-t", threads];
                let said = load(&[&[&*url], &SHORT[..], &of, pace].concat());
                let seen = &said.json["connections"];
                assert!(!is_accused(&said), "{of:?} {pace:?}: a sound server is accused: {seen}");
                assert_eq!(seen["unanswered"], 0, "{of:?} {pace:?}: {seen}");
                idle += u32::from(seen["answers_min"] == 0);
            }
        }
    }
    assert!(idle > 0, "each connection was asked in every run, so nothing was tested");
}

/// Reads from each of the first connections that ask, and never answers them.
fn forgets_the_first(count: usize) -> Server {
    let forgotten = Mutex::new(BTreeSet::new());
    Server::start(move |connection, _| {
        let port = connection.peer_addr()?.port();
        let mut forgotten = forgotten.lock().unwrap();
        let is_forgotten =
            forgotten.contains(&port) || forgotten.len() < count && forgotten.insert(port);
        if !is_forgotten {
            connection.write_all(GOOD)?;
        }
        Ok(After::Keep)
    })
}

#[test]
fn a_server_that_leaves_connections_waiting_is_found_in_both_loops() {
    for pace in [&["--rate", "2k"][..], &[]] {
        for threads in ["1", "2"] {
            let server = forgets_the_first(3);
            let url = server.url("/");
            let said = load(&[&[&*url, "-c", "10", "-t", threads], &SHORT[..], pace].concat());
            let seen = &said.json["connections"];
            assert!(is_accused(&said), "{pace:?}: three connections were forgotten: {seen}");
            assert_eq!(seen["unanswered"], 3, "{pace:?}: {seen}");
        }
    }
}
