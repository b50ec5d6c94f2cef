//! `--find-rate`: whose limit it finds, and what counts as held.

use std::io::Write;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::{self, After, Said, Server, bakeoff_load};

const GOOD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// A server that takes so long for each answer, and works on so many at once.
fn sleeps(time: Duration, at_once: usize) -> Server {
    let free = (Mutex::new(at_once), Condvar::new());
    Server::start(move |connection, _| {
        let (count, freed) = &free;
        *freed.wait_while(count.lock().unwrap(), |free| *free == 0).unwrap() -= 1;
        std::thread::sleep(time);
        *count.lock().unwrap() += 1;
        freed.notify_one();
        connection.write_all(GOOD).map(|()| After::Keep)
    })
}

fn search(server: &Server, condition: &str, more: &[&str]) -> Said {
    let url = server.url("/");
    support::search(&[&[&*url, "--find-rate", condition], more].concat())
}

/// What it said, without its line breaks.
fn told(said: &Said) -> String {
    said.stderr.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn steps(said: &Said) -> &Vec<Value> {
    said.json["find_rate"]["steps"].as_array().unwrap()
}

#[test]
fn the_clients_own_pool_is_not_the_servers_limit() {
    let server = sleeps(Duration::from_millis(100), 120);
    let said = search(&server, "p50 < 200ms", &["-d", "500ms"]);
    let found = &said.json["find_rate"];
    assert_eq!(said.code, 0, "{}", said.stderr);
    let holds = found["holds"]["rate"].as_f64().expect("a rate is found");
    // 50 connections have 500 answers a second, and half of a step's requests are in time up
    // to 700. The server can do 1,200.
    assert!(holds > 850.0, "the pool was taken for the server: {}", said.stderr);
    let most = steps(&said).iter().map(|step| step["connections"].as_u64().unwrap()).max();
    assert!(most.unwrap() <= 1_600, "it made {most:?} connections: {}", said.stderr);
    let connections = |step: &Value| step["connections"].as_u64().unwrap();
    assert_eq!(connections(&steps(&said)[0]), 50, "{found}");
    let again: Vec<_> = steps(&said).iter().filter(|step| step["counts"] == false).collect();
    assert!(!again.is_empty(), "{found}");
    for step in again {
        assert_eq!(step["verdict"], "connections_limit", "{step}");
    }
    assert!(told(&said).contains("with up to 12,800 connections"), "{}", said.stderr);
    assert!(told(&said).contains("all 50 connections were taken, so again"), "{}", said.stderr);
}

#[test]
fn connections_that_were_asked_for_are_named_as_the_limit() {
    let server = sleeps(Duration::from_millis(50), 1_000);
    // Twelve connections have 240 answers a second.
    let said = search(&server, "p50 < 100ms", &["-c", "12", "-d", "500ms"]);
    let found = &said.json["find_rate"];
    assert_eq!(found["fails"]["connections_limit"], 12, "{}", said.stderr);
    assert!(steps(&said).iter().all(|step| step["connections"] == 12), "{found}");
    let limits = steps(&said).iter().filter(|step| step["verdict"] == "connections_limit");
    assert!(limits.count() > 0, "{found}");
    assert!(told(&said).contains("all 12 connections were taken"), "{}", said.stderr);
    assert!(told(&said).contains("as many as -c says"), "{}", said.stderr);
    let warnings = found["fails"]["warnings"].as_array().unwrap();
    assert!(!warnings.is_empty(), "the warnings of the deciding steps are lost: {found}");
    for warning in warnings {
        let id = warning["id"].as_str().unwrap();
        assert!(told(&said).contains(&format!("{id} in ")), "{id}: {}", said.stderr);
    }
    for step in steps(&said) {
        for warning in step["warnings"].as_array().unwrap() {
            let id = warning["id"].as_str().unwrap();
            assert!(said.stderr.contains(id), "{id} is in no line: {}", said.stderr);
        }
    }
}

#[test]
fn a_share_of_good_answers_can_be_searched_for() {
    let server = sleeps(Duration::from_millis(4), 8);
    let said = search(&server, "good_share > 99%", &["-c", "8", "-d", "500ms"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    let first = &steps(&said)[0];
    assert_eq!(first["measured"], first["good_share"], "{first}");
    // However short its steps are, a sound server leaves nobody waiting.
    assert!(!said.json.to_string().contains("starved"), "{}", said.stderr);
}

#[test]
fn what_holds_above_a_rate_is_not_searched_for_and_nothing_is_sent() {
    let server = Server::says(GOOD);
    for condition in [
        "rate > 10k",
        "rate < 10k",
        "p99 > 1ms",
        "p99 >= 1ms",
        "max > 1s",
        "errors >= 1",
        "error_share > 1%",
        "good_share < 99%",
        "service_p50 > 1ms",
        "lateness_p99 < 1ms",
        "p99 = 1ms",
        "p99 == 1ms",
        "p99 != 1ms",
        "p99 < 1ms, errors < 1",
        "p99 < 1ms and p50 < 1ms",
    ] {
        let command = bakeoff_load(&[&server.url("/"), "--find-rate", condition]).output().unwrap();
        let stderr = String::from_utf8(command.stderr).unwrap();
        assert_eq!(command.status.code(), Some(2), "{condition}: {stderr}");
        assert!(stderr.contains("--find-rate"), "{condition}: {stderr}");
    }
    assert_eq!(server.requests(), 0);
}

#[test]
fn what_a_step_leaves_behind_is_not_the_next_ones() {
    let began = Instant::now();
    let times = Arc::new(std::sync::Mutex::new(Vec::new()));
    let server = Server::start({
        let times = times.clone();
        move |connection, _| {
            let came = began.elapsed();
            std::thread::sleep(Duration::from_millis(150));
            times.lock().unwrap().push((came, began.elapsed()));
            connection.write_all(GOOD).map(|()| After::Keep)
        }
    });
    // No step holds, as each answer takes longer.
    let said = search(&server, "p50 < 50ms", &["-c", "100", "-d", "500ms", "--warmup", "0s"]);
    assert_eq!(said.code, 3, "{}", said.stderr);
    assert!(steps(&said).len() >= 2);
    drop(server);
    let mut times = std::mem::take(&mut *times.lock().unwrap());
    times.sort();
    let mut busy_until = Duration::ZERO;
    let mut pauses = 0;
    for (came, ended) in times {
        // Requests of the same step come while others are under way.
        if came > busy_until + Duration::from_millis(100) {
            pauses += 1;
        }
        busy_until = busy_until.max(ended);
    }
    assert!(pauses + 1 >= steps(&said).len(), "{pauses} pauses of {} steps", steps(&said).len());
}
