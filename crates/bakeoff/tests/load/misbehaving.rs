//! `bakeoff load` against a server that misbehaves: each error lands in its kind,
//! nothing is lost, and the counts are the server's own.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::support::{After, Said, Seen, Server, backends, bakeoff_load, load};

const GOOD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// Requests of a test.
const REQUESTS: u64 = 24;

/// Loads the server with each backend, and checks what holds of every run.
fn each(server: &Server, more: &[&str], check: impl Fn(&Said)) {
    for backend in backends() {
        let before = server.requests();
        let url = server.url("/");
        let requests = REQUESTS.to_string();
        let base = [&url, "-n", &requests, "-c", "4", "-t", "1", "--backend", backend];
        let said = load(&[&base, more].concat());
        said.assert_conserved(backend);
        assert_eq!(said.count("scheduled"), REQUESTS, "{backend}: {}", said.json);
        let resent = said.json["connections"]["resent"].as_u64().unwrap();
        let sent = said.count("sent") + resent;
        assert_eq!(
            sent,
            server.requests_once(before + sent) - before,
            "{backend}: the server counts otherwise: {}",
            said.json
        );
        check(&said);
    }
}

/// Every request must end in an error of this kind, whose example has this text.
fn all_fail(server: &Server, more: &[&str], kind: &str, example: &str) {
    each(server, more, |said| {
        assert_eq!(said.errors(kind), REQUESTS, "not all are {kind}: {}", said.json["errors"]);
        assert_eq!(said.code, 1, "not one answer was good: {}", said.stderr);
        let shown = said.json["errors"][0]["example"].as_str().unwrap();
        assert!(shown.contains(example), "{kind} has the example {shown:?}");
        assert_eq!(
            said.json["response_us"]["samples"], said.json["response_us"]["censored"],
            "an error got into the latency of good answers"
        );
    });
}

/// Every request must be answered well, on connections that stay or go.
fn all_good(server: &Server, more: &[&str]) {
    each(server, more, |said| {
        assert_eq!(said.count("good"), REQUESTS, "{}", said.json);
        assert_eq!(said.code, 0, "{}", said.stderr);
        assert_eq!(said.json["service_us"]["samples"], REQUESTS);
        assert_eq!(said.json["connections"]["syn_retransmits"], 0, "nothing was lost");
    });
}

/// A server that writes this and then does that.
fn writes(answer: &'static [u8], after: After) -> Server {
    Server::start(move |connection, _| connection.write_all(answer).map(|()| after))
}

/// A server that does this with every fourth request, and answers the others well.
fn each_fourth(
    behave: impl Fn(&mut TcpStream) -> std::io::Result<After> + Send + Sync + 'static,
) -> Server {
    let requests = AtomicU64::new(0);
    Server::start(move |connection, _| match requests.fetch_add(1, Ordering::Relaxed) % 4 {
        3 => behave(connection),
        _ => connection.write_all(GOOD).map(|()| After::Keep),
    })
}

/// A port that is taken, and nobody listens on it.
fn bound_only() -> TcpListener {
    use rustix::net::{AddressFamily, SocketType, bind, socket};
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&socket, &SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    socket.into()
}

#[test]
fn connections_are_cut_in_order() {
    const LAST: &[u8] = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello";
    let server = each_fourth(|connection| connection.write_all(LAST).map(|()| After::Close));
    each(&server, &[], |said| {
        assert_eq!(said.count("good"), REQUESTS, "{}", said.json);
        assert_eq!(said.json["connections"]["cut"], REQUESTS / 4, "{}", said.json);
    });
}

/// Who has no answer ends the connection itself.
#[test]
fn connections_that_the_client_gives_up_are_not_cut() {
    let server = each_fourth(|_| Ok(After::Keep));
    each(&server, &["--timeout", "300ms"], |said| {
        assert!(said.errors("timeout") >= REQUESTS / 4, "{}", said.json);
        assert_ne!(said.json["connections"]["reconnects"], 0, "{}", said.json);
        assert_eq!(said.json["connections"]["cut"], 0, "{}", said.json);
    });
}

#[test]
fn nobody_listens() {
    for backend in backends() {
        // Bound, so that no other test gets the port.
        let bound = bound_only();
        let url = format!("http://{}/", bound.local_addr().unwrap());
        let said = load(&[&url, "-n", "9", "-c", "3", "--backend", backend]);
        said.assert_conserved("nobody listens");
        assert_eq!(said.errors("refused"), said.count("sent"), "{}", said.json);
        assert_eq!((said.count("sent"), said.code), (9, 1), "{}", said.stderr);
    }
}

/// Else a server that is there looks as if it weren't: many listen on `localhost`, which is ::1.
#[test]
fn somebody_listens_in_the_other_address_family_alone() {
    let Ok(server) =
        Server::at("[::1]:0", |connection, _| connection.write_all(GOOD).map(|()| After::Keep))
    else {
        return crate::skipped::skipped("skipped", "there is no ::1 here");
    };
    let port = server.address.port();
    let stderr = |scheme: &str, work: &[&str]| {
        let url = format!("{scheme}://127.0.0.1:{port}");
        let output = bakeoff_load(&[&[&*url, "-c", "1"], work].concat()).output().unwrap();
        String::from_utf8(output.stderr).unwrap()
    };
    let told = format!("nobody listens at 127.0.0.1:{port}, and somebody does at [::1]:{port}");
    let search = ["--find-rate", "p99 < 10ms", "-d", "1s", "--warmup", "0s"];
    for (scheme, work) in [("http", &["-n", "2"][..]), ("redis", &["-n", "2"]), ("http", &search)] {
        let said = stderr(scheme, work);
        assert!(said.contains(&told), "{scheme} {work:?}: {said}");
    }
    drop(server);
    let said = stderr("http", &["-n", "2"]);
    assert!(!said.contains("somebody does"), "{said}");
}

/// A server that answers whoever connects, and then each request: every answer is that to the
/// request before.
fn answers_one_too_many() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut connection in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let _ = connection.set_nodelay(true);
                let mut head = [0; 4096];
                // One that isn't pipelined is short enough to come whole.
                while connection.write_all(GOOD).is_ok() {
                    if !connection.read(&mut head).is_ok_and(|length| length > 0) {
                        break;
                    }
                }
            });
        }
    });
    address
}

/// Else it looks as if it needed no time for an answer.
#[test]
fn answers_one_too_many_on_each_connection() {
    let url = format!("http://{}/", answers_one_too_many());
    let honest = Server::says(GOOD);
    for backend in backends() {
        for more in [&["-c", "1"][..], &["-c", "8"], &["-c", "2", "--close"]] {
            let told = |url: &str| {
                load(&[&[url, "-n", "60", "-t", "1", "--backend", backend], more].concat())
            };
            // On a busy machine the answer too many may come later than is listened for it. Where
            // both come before the first is read, the second is told as an error.
            let is_told = (0..10).any(|_| {
                let said = told(&url);
                said.assert_conserved(backend);
                warns_of(&said, "unasked") || said.errors("malformed") > 0
            });
            assert!(is_told, "{backend}, {more:?}: each request has another's answer");
            let honest = told(&honest.url("/"));
            assert_eq!(honest.json["connections"]["unasked"], 0, "{backend}, {more:?}");
            assert!(!warns_of(&honest, "unasked"), "{backend}, {more:?}: {}", honest.json);
        }
    }
}

/// A few fail a second, so that a million would take days.
#[test]
fn nobody_listens_for_a_million_requests() {
    for backend in backends() {
        let bound = bound_only();
        let url = format!("http://{}/", bound.local_addr().unwrap());
        for more in [&[][..], &["--close"], &["--rate", "1000"]] {
            let base = [&url, "-n", "1000000", "-c", "3", "--timeout", "300ms"];
            let said = load(&[&base[..], more, &["--backend", backend]].concat());
            said.assert_conserved("nobody listens");
            assert_eq!((said.count("good"), said.code), (0, 1), "{more:?}: {}", said.stderr);
            assert!(said.errors("refused") > 0, "{more:?}: {}", said.json["errors"]);
        }
    }
    let bound = bound_only();
    let url = format!("http://{}/", bound.local_addr().unwrap());
    let output = bakeoff_load(&[&url, "-n", "1000000", "--timeout", "300ms"]).output().unwrap();
    let summary = String::from_utf8(output.stdout).unwrap();
    assert!(summary.contains("given up: 1,000,000 requests were asked for"), "{summary}");
}

#[test]
fn nobody_listens_to_a_search() {
    let bound = bound_only();
    let url = format!("http://{}/", bound.local_addr().unwrap());
    let said = load(&[&url, "-c", "2", "-d", "200ms", "--find-rate", "errors < 1"]);
    assert_eq!(said.code, 1, "{}", said.stderr);
    for part in ["there is nothing to search", "refused"] {
        assert!(said.stderr.contains(part), "{part}: {}", said.stderr);
    }
    assert_eq!(said.json["find_rate"]["steps"].as_array().unwrap().len(), 1, "{}", said.json);
}

/// Between requests that have a connection each there is none, for longer than one may take.
#[test]
fn who_asks_seldom_is_not_shut_out() {
    let server = writes(GOOD, After::Close);
    for backend in backends() {
        let base = [&server.url("/"), "-n", "4", "-c", "1", "--close", "--rate", "4"];
        let said = load(&[&base[..], &["--timeout", "100ms", "--backend", backend]].concat());
        assert_eq!(said.count("scheduled"), 4, "{backend}: {}", said.json);
        assert_eq!(said.count("good"), 4, "{backend}: {}", said.json["errors"]);
    }
}

/// Who is away for a shorter time is waited for, so that all requests are made.
#[test]
fn the_listener_is_away_for_a_while() {
    // An address of its own, so that no other test gets the port meanwhile.
    let listener = TcpListener::bind("127.77.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let serve = |listener: TcpListener, answers: usize| {
        let (mut connection, _) = listener.accept().unwrap();
        drop(listener);
        let mut head = [0; 4096];
        for _ in 0..answers {
            if connection.read(&mut head).unwrap() == 0 {
                break;
            }
            connection.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").unwrap();
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(move || {
            serve(listener, 2);
            std::thread::sleep(Duration::from_millis(300));
            serve(TcpListener::bind(address).unwrap(), usize::MAX);
        });
        let said = load(&[&format!("http://{address}/"), "-n", "40", "-c", "1", "--timeout", "3s"]);
        assert_eq!(said.count("sent"), 40, "{}", said.json["errors"]);
        assert!(said.errors("refused") > 0, "it was never away: {}", said.json);
        assert!(said.count("good") > 20, "{}", said.json["errors"]);
    });
}

#[test]
fn nobody_accepts() {
    // A queue of one connection: the kernel ignores the SYNs of the others.
    for backend in backends() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        rustix::net::listen(&listener, 0).unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let run = |more: &[&str]| {
            let base = [&url, "-c", "6", "--backend", backend];
            let said = load(&[&base, more].concat());
            said.assert_conserved("nobody accepts");
            assert_eq!(said.count("good"), 0);
            let connections = &said.json["connections"];
            let established = connections["established"].as_u64().unwrap();
            assert!(established < 6, "6 connections in a queue of one");
            // The kernel sends a SYN again after a second.
            let lost = connections["syn_retransmits"].as_u64().unwrap();
            assert!(lost > 0, "{backend} {more:?}: {connections}");
            said
        };
        let said = run(&["-d", "3s", "--timeout", "1500ms"]);
        assert!(said.errors("connect_timeout") > 0, "{}", said.json["errors"]);
        // None fails before the end: it waits 2 s for answers that are under way.
        let said = run(&["-d", "1s", "--timeout", "10s", "--close"]);
        assert_eq!(said.count("errors"), 0, "{}", said.json["errors"]);
    }
}

#[test]
fn resets() {
    all_fail(&Server::start(|_, _| Ok(After::Reset)), &[], "reset", "reset");
}

#[test]
fn closes_without_a_word() {
    all_fail(&writes(b"", After::Close), &[], "closed_early", "without an answer");
}

#[test]
fn closes_within_the_head() {
    let server = writes(b"HTTP/1.1 200 OK\r\nContent-Le", After::Close);
    all_fail(&server, &[], "closed_early", "within the head");
}

#[test]
fn closes_within_a_body_of_known_length() {
    let server = writes(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello", After::Close);
    all_fail(&server, &[], "closed_early", "45 bytes missing");
}

#[test]
fn closes_within_a_chunked_body() {
    let server = writes(
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        After::Close,
    );
    all_fail(&server, &[], "closed_early", "last chunk missing");
}

#[test]
fn never_answers() {
    let server = Server::start(|_, _| Ok(After::Keep));
    each(&server, &["--timeout", "200ms"], |said| {
        assert_eq!((said.errors("timeout"), said.code), (REQUESTS, 1), "{}", said.json["errors"]);
        let response = &said.json["response_us"];
        assert_eq!(response["censored"], REQUESTS, "a wait without end left the latency figures");
        assert_eq!(response["samples"], REQUESTS, "{response}");
        assert!(response["max"].as_f64().unwrap() >= 200_000.0, "{response}");
    });
}

#[test]
fn stops_within_an_answer() {
    let server = writes(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello", After::Keep);
    all_fail(&server, &["--timeout", "200ms"], "timeout", "");
}

#[test]
fn talks_no_http() {
    let server = writes(b"\x1b[2J220 welcome to a mail server\r\n\r\n", After::Keep);
    all_fail(&server, &[], "malformed", "\\x1b[2J220");
}

#[test]
fn folds_a_header() {
    let server = writes(b"HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 0\r\n\r\n", After::Keep);
    all_fail(&server, &[], "malformed", "goes on in a second line");
}

#[test]
fn sends_a_head_without_end() {
    let server = Server::start(|connection, _| {
        connection.write_all(b"HTTP/1.1 200 OK\r\n")?;
        for _ in 0..70 {
            connection.write_all(b"X: ")?;
            connection.write_all(&[b'a'; 1000])?;
            connection.write_all(b"\r\n")?;
        }
        connection.write_all(b"Content-Length: 0\r\n\r\n")?;
        Ok(After::Keep)
    });
    all_fail(&server, &[], "malformed", "65536");
}

#[test]
fn contradicts_itself_about_the_length() {
    for answer in [
        &b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello"[..],
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nhello",
    ] {
        all_fail(&writes(answer, After::Keep), &[], "malformed", "");
    }
}

#[test]
fn reports_a_failure() {
    let server = writes(b"HTTP/1.1 500 Oops\r\nContent-Length: 5\r\n\r\nhello", After::Keep);
    all_fail(&server, &[], "wrong_status", "status 500");
    let redirect = writes(b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n", After::Keep);
    all_fail(&redirect, &[], "wrong_status", "status 302");
}

#[test]
fn answers_with_each_status_in_turn() {
    let statuses = [200, 429, 500, 503];
    let server = Server::start(move |connection, seen: &Seen| {
        let number: usize = seen.path().trim_start_matches("/?").parse().unwrap();
        let head = format!("HTTP/1.1 {} x\r\nContent-Length: 0\r\n\r\n", statuses[number % 4]);
        connection.write_all(head.as_bytes()).map(|()| After::Keep)
    });
    for backend in backends() {
        let url = server.url("/?{counter}");
        let said = load(&[&url, "-n", "100", "-c", "3", "--backend", backend]);
        let told = &said.json["requests"]["statuses"];
        for (nth, status) in statuses.iter().enumerate() {
            let good = if *status == 200 { 25 } else { 0 };
            let expected = serde_json::json!({"status": status, "count": 25, "good": good});
            assert_eq!(told[nth], expected, "{backend}: {told}");
        }
        assert_eq!(said.errors("wrong_status"), 75, "{backend}: {}", said.json["errors"]);
        let line = "25 with 200; not expected: 25 with 429, 25 with 500, 25 with 503";
        assert!(said.stderr.contains(line), "{backend}: {}", said.stderr);
    }
}

#[test]
fn answers_another_request() {
    let server = writes(GOOD, After::Keep);
    all_fail(&server, &["--expect-body", "answer {nonce}"], "wrong_body", "answer ");
}

#[test]
fn answers_more_than_it_was_asked() {
    let server = writes(
        b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        After::Keep,
    );
    all_fail(&server, &[], "malformed", "after the answer");
}

#[test]
fn falls_silent_after_a_few_answers() {
    let server = Server::start(|connection, seen: &Seen| {
        let number: u64 = seen.path().trim_start_matches("/?").parse().unwrap();
        if number < 50 {
            connection.write_all(GOOD)?;
        }
        Ok(After::Keep)
    });
    let url = server.url("/?{counter}");
    for more in [&[][..], &["--close"]] {
        let base = [&url, "-d", "3s", "-c", "1", "-t", "1", "--timeout", "10s"];
        let said = load(&[&base, more].concat());
        assert_eq!(said.count("good"), 50, "{}", said.json["requests"]);
        let warnings = said.json["warnings"].as_array().unwrap();
        let warned = warnings.iter().any(|warning| warning["id"] == "closed_loop_stalled");
        assert!(warned, "{more:?}: a server that fell silent was trusted: {warnings:?}");
    }
}

/// As by a worker that lost an event: what it answered before the window doesn't count.
#[test]
fn forgets_a_connection_in_the_warm_up() {
    let first = Mutex::new(None);
    let server = Server::start(move |connection, _| {
        let port = connection.peer_addr()?.port();
        let mut first = first.lock().unwrap();
        let (forgotten, asked) = first.get_or_insert((port, 0));
        *asked += u32::from(port == *forgotten);
        if port == *forgotten && *asked > 10 {
            Ok(After::Keep)
        } else {
            connection.write_all(GOOD).map(|()| After::Keep)
        }
    });
    let url = server.url("/");
    let said = load(&[&url, "-d", "1s", "--warmup", "1s", "-c", "2", "-t", "1"]);
    assert_eq!(said.json["connections"]["answers_min"], 0, "{}", said.json["connections"]);
    let warnings = said.json["warnings"].as_array().unwrap();
    let warned = warnings.iter().any(|warning| warning["id"] == "starved");
    assert!(warned, "a connection without an answer was passed over: {warnings:?}");
}

#[test]
fn fails_now_and_then() {
    let server = Server::start(|connection, seen: &Seen| {
        let number: u64 = seen.path().trim_start_matches("/?").parse().unwrap();
        match number % 4 {
            0 => connection.write_all(GOOD).map(|()| After::Keep),
            1 => connection
                .write_all(b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n")
                .map(|()| After::Keep),
            // After a byte of an answer nobody asks again.
            2 => connection.write_all(b"H").map(|()| After::Reset),
            _ => connection.write_all(b"H").map(|()| After::Close),
        }
    });
    each(&server, &["--path", "/?{counter}"], |said| {
        let quarter = REQUESTS / 4;
        assert_eq!(said.count("good"), quarter, "{}", said.json);
        for kind in ["wrong_status", "reset", "closed_early"] {
            assert_eq!(said.errors(kind), quarter, "{kind}: {}", said.json["errors"]);
        }
        assert_eq!(said.code, 0, "some answers were good: {}", said.stderr);
    });
}

#[test]
fn each_kind_of_error_has_the_time_of_its_first() {
    let pause = Duration::from_millis(30);
    let server = Server::start(move |connection, seen: &Seen| {
        std::thread::sleep(pause);
        let number: u64 = seen.path().trim_start_matches("/?").parse().unwrap();
        let failure = &b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n"[..];
        connection.write_all(if number < 10 { GOOD } else { failure }).map(|()| After::Keep)
    });
    for backend in backends() {
        let url = server.url("/?{counter}");
        let said = load(&[&url, "-n", "14", "-c", "1", "--backend", backend]);
        assert_eq!(said.errors("wrong_status"), 4, "{backend}: {}", said.json["errors"]);
        let first = said.json["errors"][0]["first_s"].as_f64().unwrap();
        let (ten, three) = (10.0 * pause.as_secs_f64(), 3.0 * pause.as_secs_f64());
        let end = said.json["seconds"].as_f64().unwrap();
        assert!(first >= ten && first <= end - three, "{backend}: {first} s of {end} s");
    }
}

/// What is under way when the run is over, and has to be asked for again, is awaited as well.
#[test]
fn closes_pipelines_to_the_end() {
    let server = Server::start(|connection, _| {
        let head = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\n";
        write!(connection, "{head}hello")?;
        connection.shutdown(Shutdown::Write)?;
        // Until the client has closed as well, as nginx does: a reset could overtake the
        // answer.
        while !matches!(connection.read(&mut [0; 4096]), Ok(0)) {}
        Ok(After::Close)
    });
    for backend in backends() {
        let url = server.url("/");
        let base = [&url, "-d", "500ms", "-c", "2", "-t", "1", "--pipeline", "4"];
        let said = load(&[&base[..], &["--backend", backend]].concat());
        said.assert_conserved(backend);
        assert!(said.json["connections"]["resent"].as_u64().unwrap() > 0, "{}", said.json);
        assert_eq!(said.count("in_flight"), 0, "{backend}: {}", said.json["requests"]);
        assert_eq!(said.count("good"), said.count("sent"), "{backend}: {}", said.json["errors"]);
    }
}

// What looks like misbehaviour and is none.

#[test]
fn sends_chunks_and_trailers_byte_by_byte() {
    let answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n\
        5;a=b\r\nhello\r\n1\r\n!\r\n0\r\nX: y\r\n\r\n";
    let server = Server::start(move |connection, _| {
        for byte in answer {
            connection.write_all(&[*byte])?;
        }
        Ok(After::Keep)
    });
    all_good(&server, &[]);
}

#[test]
fn ends_the_body_with_the_connection() {
    all_good(&writes(b"HTTP/1.1 200 OK\r\n\r\nhello", After::Close), &[]);
}

#[test]
fn sends_interim_answers_first() {
    let server = writes(
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n\
          HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        After::Keep,
    );
    all_good(&server, &[]);
}

#[test]
fn sends_no_body_where_there_is_none() {
    // The head of an answer to HEAD has the length that GET would have.
    let head = writes(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", After::Keep);
    all_good(&head, &["--method", "HEAD"]);
    let connections = 4 * backends().len() as u64;
    assert_eq!(head.connections_once(connections), connections, "HEAD used up connections");
    all_good(&writes(b"HTTP/1.1 204 No Content\r\n\r\n", After::Keep), &[]);
    let not_modified =
        writes(b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", After::Keep);
    all_fail(&not_modified, &[], "wrong_status", "status 304");
    assert_eq!(not_modified.connections_once(connections), connections);
}

#[test]
fn closes_after_each_answer() {
    let server = writes(
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello",
        After::Close,
    );
    all_good(&server, &[]);
    // A connection for a request that no longer comes may be open at the end.
    let spare = server.connections() - server.requests();
    assert!(spare <= 4 * backends().len() as u64, "{spare} connections without a request");
    // An old server says nothing of it.
    all_good(&writes(b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello", After::Close), &[]);
}

#[test]
fn closes_an_idle_connection() {
    // It answers as if it kept the connection, and closes it a moment later.
    let server = Server::start(|connection: &mut TcpStream, _| {
        connection.write_all(GOOD)?;
        std::thread::sleep(Duration::from_millis(1));
        Ok(After::Close)
    });
    for backend in backends() {
        let url = server.url("/");
        let said = load(&[&url, "-n", "24", "-c", "4", "-t", "1", "--backend", backend]);
        said.assert_conserved(backend);
        assert_eq!(said.count("good"), 24, "{backend}: {}", said.json);
    }
}

fn warns_of(said: &Said, id: &str) -> bool {
    said.json["warnings"].as_array().unwrap().iter().any(|warning| warning["id"] == id)
}

/// Without TCP_NODELAY the kernel holds the body back until the head is acknowledged.
#[test]
fn writes_head_and_body_apart() {
    let (head, body) = GOOD.split_at(GOOD.len() - 5);
    let apart = Server::start(move |connection, _| {
        connection.set_nodelay(false)?;
        connection.write_all(head)?;
        connection.write_all(body).map(|()| After::Keep)
    });
    let at_once = Server::start(move |connection, _| {
        connection.set_nodelay(true)?;
        connection.write_all(head)?;
        connection.write_all(body).map(|()| After::Keep)
    });
    for backend in backends() {
        let load = |server: &Server| {
            load(&[&server.url("/"), "-n", "120", "-c", "4", "-t", "1", "--backend", backend])
        };
        // A machine that is late by as much as the kernel waits hides that it waits.
        let is_told = (0..3).any(|_| {
            let said = load(&apart);
            assert_eq!((said.count("good"), said.code), (120, 0), "{backend}: {}", said.stderr);
            warns_of(&said, "delayed_ack")
        });
        assert!(is_told, "{backend}");
        assert!(!warns_of(&load(&at_once), "delayed_ack"), "{backend}");
    }
}

/// Its times are its own.
#[test]
fn works_for_30_to_60_ms() {
    let turns = AtomicU64::new(0);
    let server = Server::start(move |connection, _| {
        let turn = turns.fetch_add(1, Ordering::Relaxed);
        std::thread::sleep(Duration::from_millis(30 + turn * 7 % 30));
        connection.write_all(GOOD).map(|()| After::Keep)
    });
    let said = load(&[&server.url("/"), "-n", "200", "-c", "8", "-t", "1"]);
    assert!(!warns_of(&said, "delayed_ack"), "{}", said.json["service_us"]);
}
