//! What happens in the warm-up is in none of the window's figures.

use std::io::Write;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::support::{After, Said, Seen, Server, backends, load};

/// What an answer takes while the server is cold.
const SLOW: Duration = Duration::from_millis(300);
/// For how long it is, which with the last slow answer is well within the warm-up.
const COLD: Duration = Duration::from_millis(400);
const WARMUP: &str = "1500ms";

/// A run against a server that is slow while it is cold, and the length of a request.
fn while_cold(arguments: &[&str]) -> (Said, u64) {
    let first = OnceLock::new();
    let length = std::sync::Arc::new(AtomicUsize::new(0));
    let server = Server::start({
        let length = length.clone();
        move |connection, seen: &Seen| {
            length.store(seen.head.len() + "\r\n\r\n".len(), Ordering::Relaxed);
            let is_cold = first.get_or_init(Instant::now).elapsed() < COLD;
            std::thread::sleep(if is_cold { SLOW } else { Duration::from_millis(1) });
            connection.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").map(|()| After::Keep)
        }
    });
    let url = server.url("/");
    let said = load(&[&[&*url, "-d", "1s", "--warmup", WARMUP], arguments].concat());
    (said, length.load(Ordering::Relaxed) as u64)
}

#[test]
fn what_a_cold_server_takes_is_in_no_figure() {
    for pace in [&["-c", "4"][..], &["-c", "12", "--rate", "20"]] {
        let (said, length) = while_cold(pace);
        let what = format!("{pace:?}: {}", said.json);
        said.assert_conserved(&what);
        assert!(said.json["warmup_requests"]["good"].as_u64().unwrap() >= 4, "{what}");
        assert!(said.count("good") > 0, "{what}");
        for times in ["service_us", "response_us"] {
            let times = &said.json[times];
            let samples = times["samples"].as_u64().unwrap();
            let known = samples - times["censored"].as_u64().unwrap();
            assert_eq!(known, said.count("good"), "{what}");
            let max = Duration::from_secs_f64(times["max"].as_f64().unwrap() / 1e6);
            assert!(max < SLOW, "an answer of the warm-up counts: {what}");
        }
        let late = said.json["lateness_us"]["samples"].as_u64().unwrap();
        let due = if pace.contains(&"--rate") { said.count("sent") } else { 0 };
        assert_eq!(late, due, "{what}");
        assert_eq!(said.json["bytes"]["sent"], said.count("sent") * length, "{what}");
    }
}

#[test]
fn connections_of_the_warm_ups_requests_are_in_no_figure() {
    let server = Server::says(b"HTTP/1.1 204 No Content\r\n\r\n");
    for backend in backends() {
        let base = ["-c", "4", "--close", "-d", "300ms", "--warmup", "300ms"];
        let said = load(&[&[&*server.url("/"), "--backend", backend][..], &base].concat());
        let connects = said.json["connect_us"]["samples"].as_u64().unwrap();
        let what = format!("{backend}: {}", said.json);
        assert!(said.json["warmup_requests"]["good"].as_u64().unwrap() > 10, "{what}");
        assert!((said.count("good")..=said.count("sent")).contains(&connects), "{what}");
    }
}

/// Two answers a connection, so that as many are cut as half of the answers.
#[test]
fn connections_that_are_cut_in_the_warm_up_are_in_no_figure() {
    let counted = AtomicU64::new(0);
    let server = Server::start(move |connection, _| {
        let is_last = counted.fetch_add(1, Ordering::Relaxed) % 2 == 1;
        let (header, after) =
            if is_last { ("Connection: close\r\n", After::Close) } else { ("", After::Keep) };
        write!(connection, "HTTP/1.1 204 No Content\r\n{header}\r\n")?;
        Ok(after)
    });
    for backend in backends() {
        let base = ["-c", "4", "-d", "500ms", "--warmup", "500ms", "--backend", backend];
        let said = load(&[&[&*server.url("/")][..], &base].concat());
        let half = said.count("good") / 2;
        let cut = said.json["connections"]["cut"].as_u64().unwrap();
        let what = format!("{backend}: {cut} cut: {}", said.json);
        assert!(said.json["warmup_requests"]["good"].as_u64().unwrap() > 40, "{what}");
        // At its begin and its end there are as many under way as connections.
        assert!(cut.abs_diff(half) <= 8, "{what}");
        assert!(said.json["connections"]["reconnects"].as_u64().unwrap() > cut + 10, "{what}");
    }
}

/// Against a server that answers at once for a second and slowly from then on.
fn while_quick(arguments: &[&str]) -> Said {
    let first = OnceLock::new();
    let server = Server::start(move |connection, _| {
        let is_quick = first.get_or_init(Instant::now).elapsed() < Duration::from_secs(1);
        if !is_quick {
            std::thread::sleep(Duration::from_millis(50));
        }
        connection.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").map(|()| After::Keep)
    });
    load(&[&[&*server.url("/"), "-c", "4", "-d", "1s"], arguments].concat())
}

#[test]
fn cpu_time_of_the_warm_up_is_in_no_figure() {
    let seconds = |warmup| {
        let said = while_quick(&["--warmup", warmup]);
        let cpu = &said.json["cpu"];
        let all = cpu["user_s"].as_f64().unwrap() + cpu["system_s"].as_f64().unwrap();
        let of_threads = said.json["threads"].as_array().unwrap().iter();
        let busy: f64 = of_threads.map(|thread| thread["busy_share"].as_f64().unwrap()).sum();
        (all, busy, said.json.to_string())
    };
    let (within, busy_within, _) = seconds("0s");
    let (before, busy_before, said) = seconds("1500ms");
    assert!(2.0 * before < within, "{before} s, and {within} s without: {said}");
    assert!(2.0 * busy_before < busy_within, "{busy_before}: {said}");
}
