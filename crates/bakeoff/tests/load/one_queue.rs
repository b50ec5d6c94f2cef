//! The same plan offers the same load with one thread and with several.

use std::collections::HashMap;
use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;

use crate::support::{After, Server, backends, load};

const GOOD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// A server that takes this long for each answer, on each connection.
fn takes(time: Duration) -> Server {
    Server::start(move |connection, _| {
        std::thread::sleep(time);
        connection.write_all(GOOD).map(|()| After::Keep)
    })
}

/// How often each path was asked.
fn counting(time_of_slow: Duration) -> (Server, Arc<Mutex<HashMap<String, u64>>>) {
    let asked = Arc::new(Mutex::new(HashMap::new()));
    let server = Server::start({
        let asked = asked.clone();
        move |connection, seen| {
            *asked.lock().unwrap().entry(seen.path().to_string()).or_default() += 1;
            if seen.path().starts_with("/slow") {
                std::thread::sleep(time_of_slow);
            }
            connection.write_all(GOOD).map(|()| After::Keep)
        }
    });
    (server, asked)
}

/// Three connections carry 30 requests a second of 100 ms each. With one for the one thread
/// and two for the other, 24 are too many for the first thread alone. So long a request takes that
/// to connect adds little to it, on a slow machine too.
#[test]
fn a_request_waits_only_if_no_connection_of_the_run_is_free() {
    let server = takes(Duration::from_millis(100));
    for more in [&[][..], &["--close"]] {
        let url = server.url("/");
        let base = [&url, "--rate", "24", "-c", "3", "-d", "3s", "-t", "2"];
        // A machine that stands still for a while makes a queue as well, but not each time.
        let is_shared = (0..6).any(|_| {
            let said = load(&[&base[..], more].concat());
            said.assert_conserved(&format!("{more:?}: {}", said.json));
            // A queue that grows without end comes to seconds.
            let longest = said.json["response_us"]["max"].as_f64().unwrap();
            said.count("shed") == 0 && longest < 500e3
        });
        assert!(is_shared, "{more:?}: a request waited though others were free");
    }
}

#[test]
fn all_paths_are_asked_as_often_whatever_the_threads_and_however_slow_one_is() {
    for threads in ["1", "2"] {
        let (server, asked) = counting(Duration::from_millis(20));
        let (fast, slow) = (server.url("/fast"), "/slow");
        load(&[&fast, "--path", slow, "--path", "/fast", "-c", "2", "-d", "1s", "-t", threads]);
        let asked = asked.lock().unwrap();
        let of = |path| asked.get(path).copied().unwrap_or_default();
        let apart = of("/fast").abs_diff(of("/slow"));
        assert!(apart <= 4, "{threads} threads: {asked:?}");
        assert!(of("/slow") > 10, "{asked:?}");
    }
}

#[test]
fn counted_requests_keep_all_connections_busy_to_the_end() {
    let server = takes(Duration::from_millis(30));
    let took = |threads| {
        let said = load(&[&server.url("/"), "-c", "3", "-n", "60", "-t", threads]);
        assert_eq!(said.count("good"), 60);
        said.json["seconds"].as_f64().unwrap()
    };
    // Split by threads, the one connection of the second would have half of all requests.
    let (one, two) = (took("1"), took("2"));
    assert!(two < 1.25 * one, "{one} s with one thread, {two} s with two");
}

#[test]
fn counters_of_all_threads_are_those_of_one_run() {
    for more in [&["-n", "300"][..], &["-d", "500ms"], &["--rate", "500", "-d", "500ms"]] {
        let (server, asked) = counting(Duration::ZERO);
        let url = server.url("/{counter}");
        let said = load(&[&[&url, "-c", "4", "-t", "3"], more].concat());
        let asked = asked.lock().unwrap();
        let sent = said.count("sent");
        assert_eq!(asked.len() as u64, sent, "{more:?}: some were asked twice, or none");
        let is_in_order = (0..sent).all(|number| asked.contains_key(&format!("/{number}")));
        assert!(is_in_order, "{more:?}: numbers are left out of {sent}");
    }
}

#[test]
fn how_late_answers_were_seen_is_always_known() {
    let server = Server::says(GOOD);
    for backend in backends() {
        for more in [&[][..], &["--close"], &["--pipeline", "8"], &["--rate", "2000"]] {
            let url = server.url("/");
            let base = [&url, "-c", "20", "-d", "500ms", "-t", "2", "--backend", backend];
            let said = load(&[&base[..], more].concat());
            let late: &Value = &said.json["seen_late_us"];
            let samples = late["samples"].as_u64().unwrap();
            assert!(samples > 0, "{backend} {more:?}: {late}");
            let longest = said.json["service_us"]["max"].as_f64().unwrap();
            let latest = late["max"].as_f64().unwrap();
            assert!(latest <= longest * 1.01 + 50.0, "{backend} {more:?}: of {longest}: {late}");
        }
    }
}
