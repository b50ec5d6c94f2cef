//! What becomes of the requests on a connection that a server ends: what real clients do.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tempfile::NamedTempFile;

use crate::support::{After, Server, backends, bakeoff_load, load};

const GOOD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// A server that answers as if it kept the connection, and ends it at once.
fn ends_silently(after: After) -> Server {
    Server::start(move |connection, _| connection.write_all(GOOD).map(|()| after))
}

#[test]
fn a_request_on_a_connection_that_had_ended_is_asked_again() {
    let server = ends_silently(After::Close);
    for backend in backends() {
        for more in [&[][..], &["--pipeline", "4"], &["--rate", "400"]] {
            let url = server.url("/");
            let base = [&url, "-n", "200", "-c", "4", "-t", "1", "--backend", backend];
            let said = load(&[&base[..], more].concat());
            let what = format!("{backend} {more:?}: {}", said.json);
            said.assert_conserved(&what);
            // Behind a request that is the last on its connection, one is asked again once.
            if !more.contains(&"--pipeline") {
                assert_eq!(said.count("good"), 200, "{what}");
            }
            let lost = said.errors("closed_early") + said.errors("reset");
            assert_eq!(lost, 0, "the client's own race is the server's error: {what}");
        }
    }
}

#[test]
fn a_request_that_may_not_be_repeated_is_an_error_of_its_own_kind() {
    let server = ends_silently(After::Close);
    for backend in backends() {
        let url = server.url("/");
        let base = [&url, "-n", "100", "-c", "4", "-t", "1", "--backend", backend];
        let said = load(&[&base[..], &["--method", "POST"]].concat());
        said.assert_conserved(backend);
        assert!(said.errors("unanswered") > 0, "{backend}: {}", said.json);
        assert_eq!(said.json["connections"]["resent"], 0, "a payment is made twice");
        let all = said.count("good") + said.errors("unanswered");
        assert_eq!(all, 100, "{backend}: {}", said.json);
        assert_eq!(said.json["response_us"]["samples"], 100, "a wait is lost: {}", said.json);
    }
}

#[test]
fn a_request_is_asked_again_once_and_no_more() {
    // The first of each four is answered, and the others are let down wherever they come.
    let requests = AtomicU64::new(0);
    let server = Server::start(move |connection, _| {
        if requests.fetch_add(1, Ordering::Relaxed) == 0 {
            return connection.write_all(GOOD).map(|()| After::Keep);
        }
        Ok(After::Close)
    });
    let said = load(&[&server.url("/"), "-n", "5", "-c", "1"]);
    said.assert_conserved("asked again and again");
    assert_eq!((said.count("good"), said.errors("unanswered")), (1, 1), "{}", said.json);
    assert_eq!(said.errors("closed_early"), 3, "on new connections: {}", said.json);
    assert_eq!(said.json["connections"]["resent"], 1, "{}", said.json);
    assert_eq!(server.requests_once(6), 6, "the server was asked otherwise: {}", said.json);
}

#[test]
fn a_timeout_in_a_pipeline_is_that_of_the_oldest_request_alone() {
    // Each request whose number ends with 7 is never answered, the first time.
    let silent = Arc::new(AtomicU64::new(0));
    let server = Server::start({
        let silent = silent.clone();
        move |connection, seen| {
            if seen.path().ends_with('7') {
                silent.fetch_add(1, Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(600));
                return Ok(After::Close);
            }
            connection.write_all(GOOD).map(|()| After::Keep)
        }
    });
    for backend in backends() {
        let before = silent.load(Ordering::Relaxed);
        let url = server.url("/{counter}");
        let base = [&url, "-n", "40", "-c", "2", "--pipeline", "8", "--timeout", "300ms"];
        let said = load(&[&base[..], &["-t", "1", "--backend", backend]].concat());
        said.assert_conserved(backend);
        let silent = silent.load(Ordering::Relaxed) - before;
        let oldest = said.errors("timeout");
        assert!(oldest > 0 && oldest <= silent, "{backend}: {silent} were: {}", said.json);
        assert_eq!(said.errors("timeout") + said.errors("behind") + said.count("good"), 40);
        assert!(said.count("good") >= 30, "{backend}: {}", said.json["errors"]);
    }
}

#[test]
fn a_server_that_says_why_it_ends_a_connection_costs_no_request() {
    // It keeps a connection for 50 ms, and says so before it ends it, as some do.
    let server = Server::start(|connection, _| {
        connection.write_all(GOOD)?;
        std::thread::sleep(Duration::from_millis(50));
        let late = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n";
        connection.write_all(late).map(|()| After::Close)
    });
    for backend in backends() {
        let url = server.url("/");
        let base = [&url, "--rate", "5", "-d", "1s", "-c", "3", "-t", "1"];
        let said = load(&[&base[..], &["--backend", backend]].concat());
        said.assert_conserved(backend);
        assert_eq!(said.count("errors"), 0, "{backend}: {}", said.json["errors"]);
        assert!(said.count("good") >= 4, "{backend}: {}", said.json);
        let connections = &said.json["connections"];
        assert!(connections["last_words"].as_u64() > Some(0), "{backend}: {connections}");
        assert_eq!(connections["unasked"], 0, "{backend}: {connections}");
    }
}

#[test]
fn idle_connections_that_a_server_ends_are_made_again_only_when_they_are_needed() {
    let server = Server::start(|connection, _| {
        connection.write_all(GOOD)?;
        connection.set_read_timeout(Some(Duration::from_millis(100)))?;
        // What comes in time is another request, of which nothing may be lost.
        match connection.peek(&mut [0]) {
            Ok(_) => {
                connection.set_read_timeout(Some(Duration::from_millis(20)))?;
                Ok(After::Keep)
            }
            Err(_) => Ok(After::Close),
        }
    });
    for backend in backends() {
        let before = server.connections();
        let url = server.url("/");
        let base = [&url, "--rate", "50", "-d", "2s", "-c", "20", "-t", "1"];
        let said = load(&[&base[..], &["--backend", backend]].concat());
        assert_eq!(said.count("errors"), 0, "{backend}: {}", said.json["errors"]);
        // One after the other would each lie idle for 400 ms, and end.
        let made = server.connections() - before;
        assert!(made <= 40, "{backend}: {made} connections for 100 requests, one by one");
    }
}

#[test]
fn the_first_lines_say_that_connections_were_not_kept() {
    let says_close = Server::start(|connection, _| {
        let head = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
        write!(connection, "{head}").map(|()| After::Close)
    });
    for server in [ends_silently(After::Close), ends_silently(After::Reset), says_close] {
        for more in [&["-n", "100"][..], &["--rate", "50", "-d", "1s"]] {
            let url = server.url("/");
            let output = bakeoff_load(&[&[&*url, "-c", "4"], more].concat()).output().unwrap();
            let summary = String::from_utf8(output.stdout).unwrap();
            let first: Vec<&str> = summary.lines().take(3).collect();
            assert!(first.iter().any(|line| line.starts_with("not kept alive")), "{summary}");
            assert!(summary.contains("--close"), "{summary}");
        }
    }
}

#[test]
fn early_answers_to_uploads_are_told_and_bytes_are_those_that_left() {
    let file = NamedTempFile::new().unwrap();
    const LENGTH: u64 = 16 << 20;
    std::fs::write(file.path(), vec![b'x'; LENGTH as usize]).unwrap();
    // Answers have a length and end with the connection in turn.
    let requests = AtomicU64::new(0);
    let server = Server::on_heads(move |connection, _| {
        if requests.fetch_add(1, Ordering::Relaxed).is_multiple_of(2) {
            connection.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")?;
            return Ok(After::Close);
        }
        connection.write_all(b"HTTP/1.1 200 OK\r\n\r\nall of it")?;
        connection.shutdown(Shutdown::Write)?;
        // Closed with bytes unread, it would be reset. Read at once, a client that is quick enough
        // sends all before it looks for an answer. So it has to wait, and the answer is there.
        std::thread::sleep(Duration::from_millis(100));
        while connection.read(&mut [0; 1024]).is_ok_and(|read| read > 0) {}
        Ok(After::Close)
    });
    for backend in backends() {
        let (url, path) = (server.url("/"), file.path().to_str().unwrap());
        let base = [&url, "-n", "10", "-c", "2", "-t", "1", "--body-file", path];
        let said = load(&[&base[..], &["--backend", backend]].concat());
        let what = format!("{backend}: {}", said.json);
        said.assert_conserved(&what);
        assert_eq!(said.count("good"), 10, "{what}");
        assert_eq!(said.json["connections"]["early"], 10, "{what}");
        let warnings = said.json["warnings"].as_array().unwrap();
        assert!(warnings.iter().any(|it| it["id"] == "early_answers"), "{what}");
        let sent = said.json["bytes"]["sent"].as_u64().unwrap();
        assert!(sent < 10 * LENGTH, "it never read them, and all are said to be sent: {what}");
    }
}
