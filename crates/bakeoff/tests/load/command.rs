//! `bakeoff load` as a command: what it sends, says, writes and exits with.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::skipped::skipped;
use crate::support::{After, Said, Seen, Server, backends, bakeoff_load, load};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use histogram::Histogram;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

const GOOD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// A server that shows the path in its body.
fn echo() -> Server {
    Server::start(|connection, seen: &Seen| {
        let path = seen.path();
        let length = path.len();
        write!(connection, "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{path}")?;
        Ok(After::Keep)
    })
}

/// A server that takes 4 ms for an answer: 250 a second on a connection at most.
fn of_4_ms() -> Server {
    Server::start(|connection, _| {
        std::thread::sleep(Duration::from_millis(4));
        connection.write_all(GOOD).map(|()| After::Keep)
    })
}

// What it sends.

#[test]
fn requests_are_as_the_arguments_have_them() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let server = Server::start({
        let seen = seen.clone();
        move |connection, request: &Seen| {
            seen.lock().unwrap().push((request.head.clone(), request.body.clone()));
            connection.write_all(GOOD).map(|()| After::Keep)
        }
    });
    let body = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(body.path(), "number {counter}").unwrap();
    let body = body.path().to_str().unwrap();
    let said = load(&[
        &server.url("/unused"),
        "-n",
        "4",
        "-c",
        "1",
        "-X",
        "PUT",
        "-H",
        "X-Number: {counter}",
        "--body-file",
        body,
        "--path",
        "/a?{counter}",
        "--path",
        "/b",
    ]);
    assert_eq!(said.count("good"), 4, "{}", said.json);
    let seen = seen.lock().unwrap();
    let lines: Vec<&str> = seen.iter().map(|(head, _)| head.lines().next().unwrap()).collect();
    assert_eq!(
        lines,
        ["PUT /a?0 HTTP/1.1", "PUT /b HTTP/1.1", "PUT /a?2 HTTP/1.1", "PUT /b HTTP/1.1"]
    );
    for (number, (head, body)) in seen.iter().enumerate() {
        assert!(head.contains(&format!("\r\nX-Number: {number}")), "{head}");
        assert!(head.contains(&format!("\r\nHost: {}", server.address)), "{head}");
        assert_eq!(body, format!("number {number}").as_bytes());
    }
}

#[test]
fn an_answer_with_the_requests_own_nonce_is_good() {
    let server = echo();
    for backend in backends() {
        let url = server.url("/?{nonce}");
        let said = load(&[
            &url,
            "-n",
            "200",
            "-c",
            "3",
            "--pipeline",
            "4",
            "--expect-body",
            "?{nonce}",
            "--backend",
            backend,
        ]);
        assert_eq!(said.count("good"), 200, "{}", said.json["errors"]);
    }
}

#[test]
fn localhost_is_the_address_where_somebody_listens() {
    let server = Server::says(GOOD);
    // Its first address is ::1 on most machines.
    let url = format!("http://localhost:{}/", server.address.port());
    let said = load(&[&url, "-n", "10", "-c", "2"]);
    assert_eq!(said.count("good"), 10, "{}", said.json["errors"]);
    assert_eq!(said.json["plan"]["address"], server.address.to_string());
    let shown = format!("{url} ({}) · ", server.address);
    assert!(said.stderr.starts_with(&shown), "{}", said.stderr);
}

#[test]
fn an_address_of_ipv6_is_loaded_as_any_other() {
    let started = Server::at("[::1]:0", |connection, seen: &Seen| {
        let host = format!("\r\nHost: {}", connection.local_addr()?);
        if !seen.head.contains(&host) {
            return Ok(After::Reset);
        }
        connection.write_all(GOOD).map(|()| After::Keep)
    });
    let server = match started {
        Ok(server) => server,
        Err(error) => return skipped("skipped", &format!("there is no ::1 here: {error}")),
    };
    let url = server.url("/");
    for backend in backends() {
        for more in [&[][..], &["--close"]] {
            let base = [&*url, "-n", "30", "-c", "3", "--backend", backend];
            let said = load(&[&base[..], more].concat());
            assert_eq!(said.count("good"), 30, "{backend} {more:?}: {}", said.json["errors"]);
        }
    }
}

/// The processors that the threads of load of a process may run on, a list a thread.
fn processors(process: u32) -> Vec<String> {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten();
    let mut lists: Vec<String> = threads
        .flatten()
        .filter_map(|thread| {
            let read = |file| std::fs::read_to_string(thread.path().join(file)).ok();
            let status = read("comm")?.starts_with("load-").then(|| read("status"))??;
            let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
            Some(list.trim().to_string())
        })
        .collect();
    lists.sort();
    lists
}

#[test]
fn a_thread_is_bound_to_each_processor_that_is_given_or_to_each_that_may_be_used() {
    let server = Server::says(GOOD);
    let allowed = ::load::allowed_cpus().unwrap();
    let mut all: Vec<String> = allowed.iter().map(usize::to_string).collect();
    all.sort();
    let last = allowed.last().unwrap().to_string();
    let connections = allowed.len().to_string();
    for (more, expected) in [(&["--cpus", &last][..], vec![last.clone()]), (&[], all)] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_bakeoff"))
            .args(["load", &server.url("/"), "-d", "10m", "-c", &connections])
            .args(more)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let patience = Instant::now() + Duration::from_secs(20);
        let mut seen = processors(child.id());
        while seen != expected && Instant::now() < patience {
            std::thread::sleep(Duration::from_millis(5));
            seen = processors(child.id());
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(seen, expected, "{more:?}");
    }
}

#[test]
fn close_uses_a_connection_a_request() {
    let server = Server::says(GOOD);
    let said = load(&[&server.url("/"), "-n", "60", "-c", "5", "--close"]);
    assert_eq!(said.count("good"), 60, "{}", said.json["errors"]);
    assert_eq!((server.requests(), server.connections()), (60, 60));
}

#[test]
fn an_open_loop_sends_what_is_due_and_the_warm_up_is_apart() {
    let server = Server::says(GOOD);
    let said = load(&[
        &server.url("/"),
        "-c",
        "8",
        "-d",
        "1s",
        "--warmup",
        "500ms",
        "--rate",
        "200",
        "--arrivals",
        "constant",
    ]);
    said.assert_conserved("open loop");
    assert_eq!(said.count("scheduled"), 200, "{}", said.json["requests"]);
    assert_eq!(said.json["warmup_requests"]["scheduled"], 100);
    let warmup = said.json["warmup_requests"]["sent"].as_u64().unwrap();
    let sent = said.count("sent") + warmup;
    assert_eq!(server.requests_once(sent), sent, "the server counts otherwise");
    assert!(said.json["lateness_us"]["samples"].as_u64().unwrap() > 0);
}

#[test]
fn a_queue_of_the_warm_up_is_not_the_windows() {
    let slow = |connection: &mut TcpStream, _: &Seen| {
        std::thread::sleep(Duration::from_millis(20));
        connection.write_all(GOOD).map(|()| After::Keep)
    };
    let server = Server::start(slow);
    // Half of what is asked can be answered at most: when the window begins, the first of its
    // requests would be sent after it.
    let options = ["-c", "1", "-d", "1s", "--warmup", "2s", "--rate", "100"];
    let said = load(&[&[&*server.url("/")][..], &options].concat());
    said.assert_conserved("a queue");
    assert!(said.count("good") > 0, "the warm-up's were sent instead: {}", said.json["requests"]);
    let warmup = &said.json["warmup_requests"];
    assert_eq!(warmup["scheduled"], 200);
    let shed = warmup["shed"].as_u64().unwrap();
    assert!(shed > 50, "{warmup}");
}

// What it says and writes.

#[test]
fn a_wait_for_a_connection_is_told_from_the_generators_own_delay() {
    let server = Server::start(|connection, _| {
        std::thread::sleep(Duration::from_millis(20));
        connection.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").map(|()| After::Keep)
    });
    let url = server.url("/");
    // One connection answers at most 50 a second; ten have time to spare.
    let waits = |connections: &str, more: &[&str]| {
        let base = [&url, "-d", "2s", "--rate", "100", "-c", connections];
        let said = load(&[&base, more].concat());
        said.assert_conserved("waits");
        let [wait, late] = ["connection_wait_us", "lateness_us"].map(|key| {
            let samples = said.json[key]["samples"].as_u64().unwrap();
            (samples, said.json[key]["max"].as_f64().unwrap_or_default())
        });
        assert!(wait.0 <= late.0 && wait.1 <= late.1 * 1.001, "{wait:?} {late:?}");
        (wait.0, late.0)
    };
    for more in [&[][..], &["--close"]] {
        let (waited, sent) = waits("1", more);
        assert!(waited * 10 >= sent * 9, "{more:?}: {waited} of {sent} waited");
    }
    let (waited, sent) = waits("30", &[]);
    assert!(waited * 2 < sent, "{waited} of {sent} waited although some were free");
}

/// The most that a client can be the limit: at times it doesn't run at all.
#[test]
fn a_client_that_is_stopped_blames_itself_and_hides_no_wait() {
    const STOP: Duration = Duration::from_millis(50);
    let server = Server::says(GOOD);
    // So many connections that one is free for each request that comes due in a stop, and so
    // few that most of these have to wait for one as well.
    let cases = backends().into_iter().flat_map(|it| ["200", "20"].map(|many| (it, many)));
    for (backend, connections) in cases {
        // As many requests as a 99th percentile takes.
        let options = ["-c", connections, "-d", "2750ms", "--rate", "4k", "--backend", backend];
        let before = server.requests();
        let child = Command::new(env!("CARGO_BIN_EXE_bakeoff"))
            .args(["load", &server.url("/"), "-t", "1", "--json", "-"])
            .args(options)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        for stop in 1..=5 {
            let reached = before + stop * 1_500;
            assert!(server.requests_once(reached) >= reached, "{backend}: no load");
            kill_process(Pid::from_child(&child), Signal::STOP).unwrap();
            std::thread::sleep(STOP);
            kill_process(Pid::from_child(&child), Signal::CONT).unwrap();
        }
        let output = child.wait_with_output().unwrap();
        let json: Value = serde_json::from_slice(&output.stdout).unwrap();
        let warnings = json["warnings"].as_array().unwrap();
        let late = warnings.iter().find(|warning| warning["id"] == "late");
        let late = late.unwrap_or_else(|| panic!("{backend}: it is not told: {json}"));
        assert_eq!(late["client_limit"], true, "{backend}: {late}");
        let times = &json["response_us"];
        let percentiles = times["percentiles"].as_array().unwrap();
        let p99 = percentiles.iter().find(|it| it["percentile"] == 99.0).unwrap();
        let (p99, max) = (p99["value"].as_f64().unwrap(), times["max"].as_f64().unwrap());
        let stop = STOP.as_micros() as f64;
        // 500 of 11,000 requests came due in a stop, and most of 110 in its first half.
        assert!(max > stop * 0.8 && p99 > stop * 0.2, "{backend}: {times}");
    }
}

#[test]
fn a_client_that_is_stopped_in_a_closed_loop_doesnt_blame_the_server() {
    let server = Server::says(GOOD);
    for backend in backends() {
        let before = server.requests();
        let child = Command::new(env!("CARGO_BIN_EXE_bakeoff"))
            .args(["load", &server.url("/"), "-t", "1", "--json", "-", "-c", "2", "-d", "3s"])
            .args(["--backend", backend])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // The server is quick, so the load has hardly begun.
        assert!(server.requests_once(before + 100) >= before + 100, "{backend}: no load");
        kill_process(Pid::from_child(&child), Signal::STOP).unwrap();
        std::thread::sleep(Duration::from_millis(1_500));
        kill_process(Pid::from_child(&child), Signal::CONT).unwrap();
        let output = child.wait_with_output().unwrap();
        let json: Value = serde_json::from_slice(&output.stdout).unwrap();
        let warnings = json["warnings"].as_array().unwrap();
        let of_client = warnings.iter().find(|warning| warning["id"] == "client_away");
        let of_client = of_client.unwrap_or_else(|| panic!("{backend}: it is not told: {json}"));
        assert_eq!(of_client["client_limit"], true, "{backend}: {of_client}");
        let blamed = warnings.iter().any(|warning| warning["id"] == "closed_loop_stalled");
        assert!(!blamed, "{backend}: {warnings:?}");
    }
}

#[test]
fn the_summary_goes_to_stdout_and_nothing_else_where_no_terminal_is() {
    let server = Server::says(GOOD);
    let output = bakeoff_load(&[&server.url("/"), "-d", "1500ms", "-c", "2"]).output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert!(stdout.contains("good answers") && stdout.contains("scheduled ="), "{stdout}");
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "", "a live line without a terminal");
    let quiet = bakeoff_load(&[&server.url("/"), "-n", "10", "--quiet"]).output().unwrap();
    assert_eq!((quiet.stdout.len(), quiet.stderr.len()), (0, 0), "--quiet was not");
}

/// What `bakeoff load` shows on a terminal, and how it ends.
fn on_a_terminal(arguments: &[&str]) -> (String, Option<i32>) {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let name = ptsname(&terminal, Vec::new()).unwrap();
    let other_side = File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
    let size = rustix::termios::Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
    rustix::termios::tcsetwinsize(&other_side, size).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_bakeoff"))
        .arg("load")
        .args(arguments)
        .env("TERM", "xterm")
        .stdin(other_side.try_clone().unwrap())
        .stdout(Stdio::null())
        .stderr(other_side)
        .spawn()
        .unwrap();
    let mut shown = Vec::new();
    // Fails when the last end of the other side is closed: the child has ended.
    let _ = File::from(terminal).read_to_end(&mut shown);
    (String::from_utf8_lossy(&shown).into_owned(), child.wait().unwrap().code())
}

/// It would wait for somebody to type, and nobody would know.
#[test]
fn a_body_is_not_waited_for_from_a_terminal() {
    let server = Server::says(GOOD);
    let (shown, code) = on_a_terminal(&[&server.url("/"), "-n", "1", "--body-file", "-"]);
    assert_eq!((code, server.requests()), (Some(2), 0), "{shown}");
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("standard input, which is a terminal"), "{shown}");
}

#[test]
fn a_terminal_sees_the_live_line() {
    let server = Server::says(GOOD);
    let (shown, code) = on_a_terminal(&[&server.url("/"), "-d", "2500ms", "-c", "2"]);
    assert_eq!(code, Some(0), "{shown:?}");
    assert!(shown.contains("/s · p50 ") && shown.contains("s left"), "{shown:?}");
}

#[test]
fn a_terminal_sees_how_many_of_the_requests_are_done() {
    let server = Server::start(|connection, _| {
        std::thread::sleep(Duration::from_millis(20));
        connection.write_all(GOOD).map(|()| After::Keep)
    });
    let (shown, code) = on_a_terminal(&[&server.url("/"), "-n", "75", "-c", "1"]);
    assert_eq!(code, Some(0), "{shown:?}");
    assert!(shown.contains(" of 75 requests ("), "{shown:?}");
}

/// The kernel holds a queue of one connection, and ignores the SYNs of the others.
#[test]
fn a_terminal_sees_how_many_connections_are_made_while_there_is_no_load_yet() {
    for backend in backends() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        rustix::net::listen(&listener, 0).unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let wait = ["-d", "100ms", "-c", "6", "--timeout", "500ms", "--backend", backend];
        let (shown, _) = on_a_terminal(&[&[&*url][..], &wait].concat());
        assert!(shown.contains("connecting, ") && shown.contains(" of 6"), "{backend}: {shown:?}");
    }
}

/// How many samples an HdrHistogram log has of each tag.
fn samples_by_tag(log: &[u8]) -> BTreeMap<String, u64> {
    IntervalLogIterator::new(log)
        .filter_map(|entry| match entry.unwrap() {
            LogEntry::Interval(interval) => {
                let bytes = BASE64_STANDARD.decode(interval.encoded_histogram()).unwrap();
                let histogram: Histogram<u64> =
                    Deserializer::new().deserialize(&mut &bytes[..]).unwrap();
                Some((interval.tag().unwrap().to_string(), histogram.len()))
            }
            LogEntry::StartTime(_) | LogEntry::BaseTime(_) => None,
        })
        .collect()
}

#[test]
fn the_hdr_log_has_every_sample() {
    // One request in ten has no answer.
    let server = Server::start(|connection, seen: &Seen| {
        if seen.path().ends_with('7') {
            return Ok(After::Keep);
        }
        connection.write_all(GOOD).map(|()| After::Keep)
    });
    let url = server.url("/?{counter}");
    for load_options in [&["-n", "100"][..], &["-d", "1s", "--rate", "100"]] {
        let log = tempfile::NamedTempFile::new().unwrap();
        let path = log.path().to_str().unwrap();
        let base = [&*url, "-c", "4", "--timeout", "300ms", "--hdr", path];
        let said = load(&[&base, load_options].concat());
        let samples = samples_by_tag(&std::fs::read(log.path()).unwrap());
        let json = |series: &str, field: &str| said.json[series][field].as_u64().unwrap();
        let answered = |series| json(series, "samples") - json(series, "censored");
        let expected = [
            ("response", answered("response_us")),
            ("response_at_least", json("response_us", "censored")),
            ("service", answered("service_us")),
            ("service_at_least", json("service_us", "censored")),
            ("lateness", json("lateness_us", "samples")),
            ("connection_wait", json("connection_wait_us", "samples")),
            ("connect", json("connect_us", "samples")),
            ("open", json("open_us", "samples")),
        ];
        let expected = BTreeMap::from(expected.map(|(tag, count)| (tag.to_string(), count)));
        assert_eq!(samples, expected, "{load_options:?}: the log and the JSON differ");
        assert_eq!(samples["service"], said.count("good"), "{load_options:?}: an answer is lost");
        assert!(samples["service_at_least"] > 0, "{load_options:?}: a wait is lost");
        let is_open = load_options.contains(&"--rate");
        assert_eq!(samples["lateness"] > 0, is_open, "{load_options:?}: {samples:?}");
    }
}

#[test]
fn seconds_connections_and_threads_add_up_to_the_whole() {
    let server = of_4_ms();
    let url = server.url("/");
    for backend in backends() {
        // 1,200 requests of four connections take more than a second.
        for (threads, connections, more) in [("2", 4, &[][..]), ("1", 1_200, &["--close"])] {
            let before = server.connections();
            let base = [&*url, "-n", "1200", "-c", "4", "-t", threads, "--backend", backend];
            let said = load(&[&base, more].concat());
            let what = format!("{backend}, {threads} threads {more:?}");
            assert_eq!(said.count("good"), 1_200, "{what}: {}", said.json["errors"]);
            let per_second = said.json["per_second"].as_array().unwrap();
            let good = per_second.iter().map(|second| second["good"].as_u64().unwrap());
            assert!(per_second.len() > 1, "{what}: {} s", said.json["seconds"]);
            assert_eq!(good.sum::<u64>(), 1_200, "{what}: {per_second:?}");
            let made = said.json["connect_us"]["samples"].as_u64().unwrap();
            assert_eq!(made, connections, "{what}: connections that were made");
            let accepted = server.connections_once(before + made) - before;
            assert_eq!(accepted, made, "{what}: the server counts other connections");
            let of_threads = said.json["threads"].as_array().unwrap();
            assert_eq!(of_threads.len().to_string(), threads, "{what}: {of_threads:?}");
        }
    }
}

fn search(server: &Server, condition: &str) -> Said {
    let url = server.url("/");
    load(&[&url, "-c", "8", "-t", "1", "-d", "500ms", "--find-rate", condition])
}

#[test]
fn a_search_finds_the_rate_that_a_latency_ends_at_and_shows_its_steps() {
    let server = of_4_ms();
    // Beyond 2,000 a second a queue grows, and half of a step of 0.5 s waits for 50 ms
    // from 2,400 a second on.
    let said = search(&server, "p50 < 50ms");
    let found = &said.json["find_rate"];
    assert_eq!(said.code, 0, "{}", said.stderr);
    let holds = found["holds"]["rate"].as_f64().expect("a rate is found");
    // A quarter of what the server can do, for a busy machine.
    assert!((500.0..2_800.0).contains(&holds), "{found}");
    assert!(found["fails"]["rate"].as_f64().unwrap() > holds, "{found}");
    let steps = found["steps"].as_array().unwrap().len();
    assert!(steps >= 3, "{found}");
    assert_eq!(said.stderr.matches("  step ").count(), steps, "{}", said.stderr);
}

#[test]
fn a_search_that_finds_no_rate_says_so_and_exits_with_3() {
    let server = of_4_ms();
    let said = search(&server, "p50 < 1us");
    let found = &said.json["find_rate"];
    assert_eq!(said.code, 3, "{}", said.stderr);
    assert_eq!(found["holds"], Value::Null, "an answer takes 4 ms");
    assert!(said.stderr.contains("holds at no rate that was tried"), "{}", said.stderr);
}

/// Else the search would go on for minutes, and say that its condition holds nowhere.
#[test]
fn a_search_ends_where_the_server_does_and_says_what_it_had_found() {
    // An address of its own, so that no other test gets the port meanwhile.
    let server = Server::at("127.79.0.1:0", |connection, _| {
        connection.write_all(GOOD).map(|()| After::Keep)
    })
    .unwrap();
    let url = server.url("/");
    let said = std::thread::scope(|scope| {
        // The first step has 500, and 100 before it.
        scope.spawn(move || {
            server.requests_once(800);
            drop(server);
        });
        load(&[&url, "-c", "8", "-t", "1", "-d", "500ms", "--find-rate", "errors < 1"])
    });
    let found = &said.json["find_rate"];
    assert_eq!(said.code, 1, "{}", said.stderr);
    let told = said.stderr.replace('\n', " ");
    assert!(told.contains("nobody could be connected to any more"), "{}", said.stderr);
    assert_eq!(found["unfinished"], true, "{found}");
    let steps = found["steps"].as_array().unwrap();
    assert!((2..=4).contains(&steps.len()), "{found}");
    assert!(steps[0]["rate"].as_f64().unwrap() > 0.0, "{found}");
    assert_eq!(steps.last().unwrap()["rate"], 0.0, "{found}");
}

// What it exits with.

#[test]
fn bad_input_is_one_sentence_and_code_2() {
    for (arguments, sentence) in [
        (&["https://127.0.0.1/"][..], "TLS"),
        (&["h2c://127.0.0.1/"], "HTTP/2"),
        (&["http://no-such-host.invalid/"], "no-such-host.invalid"),
        (&["http://127.0.0.1/", "--body-file", "/no/such/file"], "/no/such/file"),
        (&["http://127.0.0.1/", "--body-file", "/dev/zero"], "/dev/zero has more than 512 MiB"),
        (&["http://127.0.0.1/", "--json", "/no/such/folder/x"], "/no/such/folder/x"),
        (&["http://127.0.0.1/", "--fail-if", "p99 > ten"], "there is no number"),
        (&["http://127.0.0.1/", "-c", "100", "--cpus", "65000"], "65000"),
        (&["http://127.0.0.1/", "--rate", "1e-11"], "at least one request a day"),
        (&["http://127.0.0.1/", "--find-rate", "p99.9999 < 10ms"], "at least 12s"),
        (&["http://127.0.0.1/", "--find-rate", "p99.999 < 1s", "-d", "1s"], "at least 1s 200ms"),
        (&["http://127.0.0.1/", "--find-rate", "p99 < 10ms", "-d", "1ms"], "at least 1ms 200us"),
    ] {
        let output = bakeoff_load(arguments).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
        assert!(stderr.contains(sentence), "{arguments:?}: {stderr}");
        assert!(!stderr.contains("panicked"), "{stderr}");
    }
}

/// `bakeoff load` where it may have so many open files, and allow itself so many.
fn with_open_files(now: u32, at_most: u32, arguments: &[&str]) -> Output {
    let limited = format!("ulimit -S -n {now} && ulimit -H -n {at_most} && exec \"$@\"");
    // Root could raise the second as well, so that right is taken away.
    let words: &[&str] = if rustix::process::geteuid().is_root() {
        &["setpriv", "--bounding-set=-sys_resource", "sh", "-c", &limited, "sh"]
    } else {
        &["sh", "-c", &limited, "sh"]
    };
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).arg(env!("CARGO_BIN_EXE_bakeoff")).arg("load").args(arguments);
    command.output().unwrap()
}

#[test]
fn open_files_are_allowed_as_far_as_may_be_and_beyond_that_the_command_is_told() {
    let server = Server::says(GOOD);
    let url = server.url("/");
    let arguments = [&*url, "-c", "150", "-t", "1", "-d", "500ms", "--json", "-"];
    let output = with_open_files(100, 1_000, &arguments);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["connections"]["established"], 150, "{stderr}");

    let output = with_open_files(100, 200, &arguments);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    for part in ["150 connections need 217 open files", "may have 200", "`ulimit -n 217`"] {
        assert!(stderr.contains(part), "{part}: {stderr}");
    }
}

#[test]
fn a_condition_that_holds_or_is_unknown_is_code_3() {
    let server = Server::says(GOOD);
    let url = server.url("/");
    for (condition, code, says) in [
        ("errors > 0", 0, ""),
        ("p50 > 1h", 2, ""),
        ("mean > 0us", 3, "mean > 0us holds: mean is "),
        ("p99.9 > 1us", 3, "p99.9 takes 100,000 samples, and there are 300"),
    ] {
        let output = bakeoff_load(&[&url, "-n", "300", "--fail-if", condition]).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{condition}: {stderr}");
        assert!(stderr.contains(says), "{condition}: {stderr}");
    }
}

#[test]
fn a_full_disk_is_code_4() {
    let server = Server::says(GOOD);
    for option in ["--json", "--hdr"] {
        let output =
            bakeoff_load(&[&server.url("/"), "-n", "10", option, "/dev/full"]).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(4), "{stderr}");
        assert!(stderr.contains("writing /dev/full: No space left"), "{stderr}");
    }
}

/// What was measured may have taken hours.
#[test]
fn a_result_that_cant_be_written_costs_none_of_the_others() {
    let server = Server::says(GOOD);
    let folder = tempfile::TempDir::new().unwrap();
    let kept = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let full = || File::options().write(true).open("/dev/full").unwrap();
    let run = |arguments: &[&str]| {
        let url = server.url("/");
        let mut command = Command::new(env!("CARGO_BIN_EXE_bakeoff"));
        command.args(["load", &url, "-c", "2"]).args(arguments).stdout(full());
        let output = command.output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(4), "{stderr}");
        assert!(stderr.contains("printing the result: No space left"), "{stderr}");
        stderr
    };
    let json = |path: &str| -> Value {
        serde_json::from_slice(&std::fs::read(path).unwrap()).expect("the JSON is whole")
    };

    let (json_file, hdr_file) = (kept("json"), kept("hdr"));
    run(&["-n", "50", "--json", &json_file, "--hdr", &hdr_file]);
    assert_eq!(json(&json_file)["requests"]["good"], 50);
    assert_eq!(samples_by_tag(&std::fs::read(&hdr_file).unwrap())["service"], 50);

    let hdr_file = kept("other");
    let stderr = run(&["-n", "50", "--json", "/dev/full", "--hdr", &hdr_file]);
    assert!(stderr.contains("writing /dev/full: No space left"), "{stderr}");
    assert_eq!(samples_by_tag(&std::fs::read(&hdr_file).unwrap())["service"], 50);

    let json_file = kept("search");
    run(&["-d", "100ms", "--find-rate", "errors < 0", "--json", &json_file]);
    assert!(!json(&json_file)["find_rate"]["steps"].as_array().unwrap().is_empty());
}

#[test]
fn a_log_on_standard_output_is_alone_there() {
    let server = Server::says(GOOD);
    let output = bakeoff_load(&[&server.url("/"), "-n", "50", "--hdr", "-"]).output().unwrap();
    assert_eq!(samples_by_tag(&output.stdout)["service"], 50);
    let summary = String::from_utf8(output.stderr).unwrap();
    assert!(summary.contains("50 good"), "no summary: {summary}");
}

#[test]
fn a_reader_that_has_gone_is_no_error() {
    let server = Server::says(GOOD);
    let mut child = Command::new(env!("CARGO_BIN_EXE_bakeoff"))
        .args(["load", &server.url("/"), "-n", "10"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn an_interrupt_prints_what_there_is() {
    for signal in [Signal::INT, Signal::TERM] {
        let server = Server::says(GOOD);
        let child = Command::new(env!("CARGO_BIN_EXE_bakeoff"))
            .args(["load", &server.url("/"), "-d", "10m", "-c", "2", "--json", "-"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        assert!(server.requests_once(100) >= 100, "the load didn't begin");
        kill_process(Pid::from_child(&child), signal).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
        let json: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(json["interrupted"], true);
        let count = |name: &str| json["requests"][name].as_u64().unwrap();
        assert!(count("good") > 0, "nothing was kept of what was measured");
        assert_eq!(count("sent"), count("good") + count("errors") + count("in_flight"));
        // What was in flight at the end may have been lost on its way.
        let lost = count("sent") - server.requests_once(count("sent") - count("in_flight"));
        assert!(lost <= count("in_flight"), "the server counts otherwise: {}", json["requests"]);
        let summary = String::from_utf8(output.stderr).unwrap();
        assert!(summary.contains("interrupted: 600 s were asked for"), "{summary}");
    }
}

#[test]
fn an_interrupt_of_a_run_that_still_connects_prints_what_there_is() {
    // Its queue takes two, and nobody accepts.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    rustix::net::listen(&listener, 1).unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    for more in [&["-d", "90s"][..], &["-n", "50"], &["-d", "90s", "--rate", "100"]] {
        let child = Command::new(env!("CARGO_BIN_EXE_bakeoff"))
            .args(["load", &url, "-c", "50", "-t", "1", "--timeout", "90s", "--json", "-"])
            .args(more)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        while processors(child.id()).is_empty() {
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(Duration::from_millis(200));
        let told = Instant::now();
        kill_process(Pid::from_child(&child), Signal::INT).unwrap();
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(130), "{more:?}: {stderr}");
        assert!(told.elapsed() < Duration::from_secs(60), "{more:?}: it waited for its timeout");
        let json: Value = serde_json::from_slice(&output.stdout).expect("the JSON is whole");
        assert_eq!(json["interrupted"], true, "{more:?}: {json}");
        let established = json["connections"]["established"].as_u64().unwrap();
        assert!(established < 50, "{more:?}: all were made: {json}");
        assert_eq!(json["requests"]["good"], 0, "{more:?}: {json}");
    }
}

#[test]
fn an_interrupted_search_tells_the_steps_that_were_over() {
    let server = Server::says(GOOD);
    let child = Command::new(env!("CARGO_BIN_EXE_bakeoff"))
        .args(["load", &server.url("/"), "-c", "8", "-t", "1", "-d", "1s", "--json", "-"])
        .args(["--find-rate", "errors < 1"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The first step has 1,000, and 200 before it.
    assert!(server.requests_once(1_300) >= 1_300, "there was no second step");
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{stderr}");
    let json: Value = serde_json::from_slice(&output.stdout).expect("the JSON is whole");
    let found = &json["find_rate"];
    assert_eq!(found["interrupted"], true, "{found}");
    let steps = found["steps"].as_array().unwrap();
    assert!(!steps.is_empty(), "{found}");
    assert_eq!(stderr.matches("  step ").count(), steps.len(), "{stderr}");
    let told = stderr.replace('\n', " ");
    assert!(told.contains("The search was interrupted"), "{stderr}");
}

/// A busy client sees late that a connection is there, and that is its own time.
#[test]
fn with_a_connection_a_request_its_response_time_is_handshake_and_answer() {
    let server = Server::says(GOOD);
    for backend in backends() {
        let url = server.url("/");
        let base = [&*url, "-n", "2000", "-c", "50", "-t", "1", "--close"];
        let said = load(&[&base[..], &["--backend", backend]].concat());
        assert_eq!(said.count("good"), 2000, "{}", said.json);
        let mean = |times: &str| said.json[times]["mean"].as_f64().unwrap();
        let parts = mean("service_us") + mean("connect_us");
        let off = mean("response_us") / parts - 1.0;
        assert!(off.abs() < 0.005, "{backend}: {off} beyond {parts} us: {}", said.json);
    }
}

#[test]
fn a_second_interrupt_kills_at_once() {
    let server = Server::says(GOOD);
    // Full, so that what the first interrupt prints waits for a reader.
    let (reader, writer) = std::io::pipe().unwrap();
    rustix::io::ioctl_fionbio(&writer, true).unwrap();
    while (&writer).write(&[0; 4096]).is_ok() {}
    rustix::io::ioctl_fionbio(&writer, false).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_bakeoff"))
        .args(["load", &server.url("/"), "-d", "10m", "-c", "2"])
        .stdout(writer)
        .spawn()
        .unwrap();
    assert!(server.requests_once(100) >= 100, "the load didn't begin");
    let patience = Instant::now() + Duration::from_secs(20);
    // A second one of another kind is a second one, too.
    let mut signals = [Signal::INT, Signal::TERM].into_iter();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        assert!(Instant::now() < patience, "it waits for a reader whatever is asked of it");
        if let Some(signal) = signals.next() {
            kill_process(Pid::from_child(&child), signal).unwrap();
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    assert_eq!(status.signal(), Some(Signal::TERM.as_raw()), "{status}");
    drop(reader);
}

/// The first request is due at once, which the warm-up has, and the next one after the end.
#[test]
fn a_window_in_which_no_request_is_due_says_so() {
    let server = Server::says(b"HTTP/1.1 204 No Content\r\n\r\n");
    let url = server.url("/");
    let said = load(&[&url, "--rate", "0.5", "--warmup", "200ms", "-d", "200ms", "-c", "1"]);
    assert_eq!(said.code, 1, "{}", said.stderr);
    let says = "no request was due in the measured 200 ms: at 0.5/s one is due every 2.00 s";
    assert!(said.stderr.contains(says), "{}", said.stderr);
}
