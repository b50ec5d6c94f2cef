//! What is asked for: bodies, placeholders, headers and the statuses that are good.

use std::io::Write;
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;

use crate::support::{After, Said, Seen, Server, backends, load};

const GOOD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// Heads and bodies of requests.
type Asked = Arc<Mutex<Vec<(String, Vec<u8>)>>>;

/// A server that keeps what it is asked.
fn listens() -> (Server, Asked) {
    let seen = Asked::default();
    let server = Server::start({
        let seen = seen.clone();
        move |connection, request: &Seen| {
            seen.lock().unwrap().push((request.head.clone(), request.body.clone()));
            connection.write_all(GOOD).map(|()| After::Keep)
        }
    });
    (server, seen)
}

/// A run with this on its standard input.
fn with_input(arguments: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_bakeoff"))
        .arg("load")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // It may end before it has read all.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

#[test]
fn a_body_comes_from_an_argument_or_from_standard_input() {
    let (server, seen) = listens();
    let url = server.url("/");
    let said = load(&[&url, "-n", "2", "-c", "1", "--body", "number {counter}"]);
    assert_eq!(said.count("good"), 2, "{}", said.stderr);
    assert!(said.stderr.contains("placeholders in the body filled in"), "{}", said.stderr);
    let output = with_input(&[&url, "-n", "1", "-c", "1", "--body-file", "-"], b"from a pipe");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let seen = seen.lock().unwrap();
    let bodies: Vec<&[u8]> = seen.iter().map(|(_, body)| &body[..]).collect();
    assert_eq!(bodies, [&b"number 0"[..], b"number 1", b"from a pipe"]);
    assert!(seen.iter().all(|(head, _)| head.starts_with("POST / ")), "{seen:?}");
}

#[test]
fn standard_input_without_a_body_is_refused() {
    let (server, seen) = listens();
    let arguments = [&*server.url("/"), "-n", "1", "-c", "1", "--body-file", "-"];
    let empty = with_input(&arguments, b"");
    assert_eq!(empty.status.code(), Some(2), "{empty:?}");
    let told = String::from_utf8(empty.stderr).unwrap();
    assert!(told.contains("nothing came") && told.contains("--body ''"), "{told}");
    let endless = Command::new(env!("CARGO_BIN_EXE_bakeoff"))
        .arg("load")
        .args(arguments)
        .stdin(std::fs::File::open("/dev/zero").unwrap())
        .output()
        .unwrap();
    assert_eq!(endless.status.code(), Some(2), "{endless:?}");
    let told = String::from_utf8(endless.stderr).unwrap();
    assert!(told.contains("standard input has more than 512 MiB"), "{told}");
    assert!(seen.lock().unwrap().is_empty());
}

#[test]
fn a_body_that_is_no_text_arrives_as_it_is_and_so_does_all_without_placeholders() {
    let (server, seen) = listens();
    let file = tempfile::NamedTempFile::new().unwrap();
    let binary = b"\x89PNG\r\n{nonce}\0{counter}\xff";
    std::fs::write(file.path(), binary).unwrap();
    let url = server.url("/{counter}");
    let base = [&*url, "-n", "1", "-c", "1", "--body-file", file.path().to_str().unwrap()];
    let said = load(&base);
    assert_eq!(said.json["plan"]["placeholders"], "left_in_body");
    assert!(said.stderr.contains("no text and sent as it is"), "{}", said.stderr);
    let literal = ["-n", "1", "-c", "1", "--no-placeholders", "-H", "X: {nonce}"];
    let said = load(&[&[&*url, "--body", "{counter}"], &literal[..]].concat());
    assert_eq!(said.json["plan"]["placeholders"], "left");
    let seen = seen.lock().unwrap();
    let [(first, image), (second, text)] = &seen[..] else { panic!("{seen:?}") };
    assert!(first.starts_with("POST /0 ") && image == binary, "{first}");
    assert!(second.starts_with("POST /{counter} ") && text == b"{counter}", "{second}");
    assert!(second.contains("\r\nX: {nonce}"), "{second}");
}

#[test]
fn a_text_with_braces_is_expected_as_it_is_without_placeholders() {
    let server = Server::says(b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n{nonce}");
    let run = |more: &[&str]| {
        let url = server.url("/");
        load(&[&[&*url, "-n", "20", "-c", "2", "--expect-body", "{nonce}"], more].concat())
    };
    assert_eq!(run(&["--no-placeholders"]).count("good"), 20);
    assert_eq!(run(&[]).errors("wrong_body"), 20);
}

#[test]
fn requests_that_say_close_are_not_told_as_kept_alive() {
    let server = Server::start(|connection, seen: &Seen| {
        let closes = seen.head.to_ascii_lowercase().contains("close");
        connection.write_all(GOOD).map(|()| if closes { After::Close } else { After::Keep })
    });
    let url = server.url("/");
    for header in ["Connection: close", "connection: Keep-Alive, CLOSE"] {
        for backend in backends() {
            let before = server.connections();
            let said = load(&[&url, "-n", "40", "-c", "4", "-H", header, "--backend", backend]);
            assert_eq!(said.count("good"), 40, "{header}: {}", said.json["errors"]);
            assert_eq!(said.json["plan"]["keep_alive"], false, "{header}");
            assert_eq!(server.connections_once(before + 40), before + 40, "{header}");
            let told = "each for one request, as its header says (Connection: close)";
            assert!(said.stderr.contains(told), "{header}: {}", said.stderr);
            assert!(!said.stderr.contains("kept alive"), "{header}: {}", said.stderr);
        }
    }
}

/// What a server with this answer comes to where these statuses are expected.
fn expecting(answer: &'static [u8], statuses: &str) -> Said {
    let server = Server::says(answer);
    load(&[&server.url("/"), "-n", "30", "-c", "3", "--expect-status", statuses])
}

#[test]
fn the_statuses_that_are_expected_are_good() {
    let not_modified = b"HTTP/1.1 304 Not Modified\r\n\r\n";
    let not_found = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
    for (answer, statuses, good) in [
        (&not_modified[..], "200,304", 30),
        (not_modified, "200-299,304", 30),
        (not_modified, "200-299", 0),
        (not_found, "404", 30),
        (not_found, "400-403,405", 0),
        (GOOD, "404", 0),
    ] {
        let said = expecting(answer, statuses);
        said.assert_conserved(statuses);
        assert_eq!(said.count("good"), good, "{statuses}: {}", said.json["errors"]);
        assert_eq!(said.errors("wrong_status"), 30 - good, "{statuses}");
        assert_eq!(said.json["plan"]["expect_status"], statuses);
        assert_eq!(said.code, i32::from(good == 0), "{}", said.stderr);
    }
}

/// A server that stops to answer: 20 of a second's requests are answered, the others never.
#[test]
fn a_run_of_which_most_was_never_answered_passes_no_limit_of_errors() {
    let answered = std::sync::atomic::AtomicU64::new(0);
    let server = Server::start(move |connection, _| {
        if answered.fetch_add(1, std::sync::atomic::Ordering::Relaxed) >= 20 {
            return Ok(After::Keep);
        }
        connection.write_all(GOOD).map(|()| After::Keep)
    });
    let url = server.url("/");
    let base = [&url, "-d", "1s", "--rate", "100", "-c", "2", "--timeout", "20s"];
    let said = load(&[&base[..], &["--fail-if", "error_share > 1%"]].concat());
    said.assert_conserved("no answers");
    assert_eq!(said.count("good"), 20, "{}", said.json["requests"]);
    assert_eq!(said.count("errors"), 0, "{}", said.json["errors"]);
    assert_eq!(said.code, 3, "what was never answered passed for a success: {}", said.stderr);
    assert_eq!(said.json["conditions"][0]["verdict"], "unknown", "{}", said.json["conditions"]);
    assert!(said.stderr.contains("0 % to "), "{}", said.stderr);
}

/// Of three requests two have names, and one of these is answered late.
#[test]
fn a_condition_on_a_request_is_decided_by_its_own_times() {
    let late = Duration::from_millis(20);
    let server = Server::start(move |connection, request: &Seen| {
        if request.path() == "/slow" {
            std::thread::sleep(late);
        }
        connection.write_all(GOOD).map(|()| After::Keep)
    });
    let paths = ["--path", "fast=/fast", "--path", "/other", "--path", "slow=/slow"];
    let url = server.url("/");
    let base = [&[&*url, "-n", "40", "-c", "4", "--weights", "2,1,1"], &paths[..]].concat();
    for more in [&[][..], &["--close"], &["--pipeline", "2"], &["--rate", "400"]] {
        let asked = |condition| load(&[&base[..], more, &["--fail-if", condition]].concat());
        let said = asked("slow.mean >= 20ms");
        assert_eq!(said.code, 3, "its own answers came late, {more:?}: {}", said.stderr);
        assert_eq!(said.json["plan"]["names"], json!(["fast", null, "slow"]));
        let [fast, slow] = ["fast", "slow"].map(|name| {
            let operations = said.json["operations"].as_array().unwrap();
            let seen = operations.iter().find(|seen| seen["operation"] == name).unwrap();
            let of = |figure: &str| seen["response_us"][figure].as_f64().unwrap();
            (of("samples"), of("mean"))
        });
        assert_eq!((fast.0, slow.0), (20.0, 10.0), "{more:?}: {}", said.json["operations"]);
        let is_told =
            said.stderr.lines().any(|line| line.split_whitespace().eq(["request", "fast", "slow"]));
        assert!(is_told, "{more:?}: {}", said.stderr);
        // In a pipeline answers wait for those before them.
        if more.contains(&"--pipeline") {
            continue;
        }
        assert!(fast.1 < slow.1, "{more:?}: {} and {} µs", fast.1, slow.1);
        let said = asked("fast.mean >= 3600s");
        assert_eq!(said.code, 0, "{more:?}: {}", said.stderr);
    }
}
