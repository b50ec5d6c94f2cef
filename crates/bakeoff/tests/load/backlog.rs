//! Thousands of connections and a listen queue as servers commonly have it.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::skipped::skipped;
use crate::support::load;

const CONNECTIONS: u32 = 5_000;
/// nginx's.
const QUEUE: i32 = 511;
/// How often the server accepts all that wait.
const ACCEPTS_EVERY: Duration = Duration::from_millis(20);
/// A server that was kept from accepting for so long couldn't have served them: at ten a
/// millisecond the queue is full after 51 ms, and sooner where the client was kept as well.
const TOO_LONG: Duration = Duration::from_millis(30);

/// Accepts all connections, then answers each; gives the longest time without accepting.
fn serve(listener: &TcpListener) -> Duration {
    listener.set_nonblocking(true).unwrap();
    let mut connections: Vec<TcpStream> = Vec::new();
    let (mut longest, mut looked) = (Duration::ZERO, Instant::now());
    let patience = Instant::now() + Duration::from_secs(30);
    while connections.len() < CONNECTIONS as usize && Instant::now() < patience {
        std::thread::sleep(ACCEPTS_EVERY);
        while let Ok((connection, _)) = listener.accept() {
            connections.push(connection);
        }
        longest = longest.max(looked.elapsed());
        looked = Instant::now();
    }
    for mut connection in connections {
        connection.set_nonblocking(false).unwrap();
        connection.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        // One that failed is told by the client.
        let _ = connection.read(&mut [0; 4096]);
        let _ = connection.write_all(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n");
    }
    longest
}

#[test]
fn five_thousand_connections_overflow_no_listen_queue_that_is_served() {
    let limit = getrlimit(Resource::Nofile);
    let needed = u64::from(CONNECTIONS) + 1_000;
    let raised = Rlimit { current: Some(needed), maximum: limit.maximum };
    if limit.current.is_some_and(|current| current < needed)
        && setrlimit(Resource::Nofile, raised).is_err()
    {
        return skipped("skipped", &format!("{needed} open files are not permitted"));
    }
    let served = (0..5).any(|_| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        rustix::net::listen(&listener, QUEUE).unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let count = CONNECTIONS.to_string();
        let (said, longest) = std::thread::scope(|scope| {
            let server = scope.spawn(|| serve(&listener));
            let said = load(&[&url, "-n", &count, "-c", &count, "--timeout", "30s"]);
            (said, server.join().unwrap())
        });
        let connections = &said.json["connections"];
        if longest > TOO_LONG && connections["syn_retransmits"] != 0 {
            return false;
        }
        assert_eq!(connections["established"], CONNECTIONS, "{connections}");
        assert_eq!(connections["syn_retransmits"], 0, "{connections}");
        true
    });
    if !served {
        skipped("skipped in part", "this machine is too busy to serve a listen queue");
    }
}
