//! What no client of the study sends, and anybody else may: each server refuses it or ends
//! the connection, and the next client has its answer. `make check-servers` asks all.

use lab::contract::http_client::{Answer, Wrong};

use super::server::{ask, contenders, is_built, is_light, open, start};
use crate::started::Started;

/// More than a server has open here.
const FILES: u64 = 1024;
/// Far more than any server takes for one part of a request that is no body.
const LONG: usize = 100_000;
/// Sent at once.
const PIPELINED: usize = 300;

type Outcome = Result<Answer, Wrong>;

/// A request, and whether what came of it is right.
struct Case {
    what: String,
    request: Vec<u8>,
    is_right: fn(&Outcome) -> bool,
}

/// The greeting of somebody who has the id 42.
fn is_greeting(outcome: &Outcome) -> bool {
    matches!(outcome, Ok(answer) if answer.status == 200 && holds(answer, "42"))
}

fn is_wrong_id(outcome: &Outcome) -> bool {
    matches!(outcome, Ok(answer) if answer.status == 400)
}

/// An answer that isn't a server's own failure, or the end of the connection.
fn is_no_failure(outcome: &Outcome) -> bool {
    match outcome {
        // What a server doesn't implement, and a version that it doesn't know.
        Ok(answer) => answer.status < 500 || [501, 505].contains(&answer.status),
        Err(wrong) => *wrong == Wrong::Closed,
    }
}

fn is_refused(outcome: &Outcome) -> bool {
    let is_empty = matches!(outcome, Ok(answer) if answer.body.is_empty());
    let is_good = matches!(outcome, Ok(answer) if answer.status == 200);
    // OPTIONS for the server as a whole may have an answer that says nothing.
    is_no_failure(outcome) && (!is_good || is_empty)
}

/// As an answer in HTTP/0.9 has no status.
fn is_anything(_outcome: &Outcome) -> bool {
    true
}

fn holds(answer: &Answer, text: &str) -> bool {
    answer.body.windows(text.len()).any(|part| part == text.as_bytes())
}

fn request(method: &str, target: &str, headers: &str) -> Vec<u8> {
    format!("{method} {target} HTTP/1.1\r\nHost: h\r\n{headers}\r\n").into_bytes()
}

fn get(target: &str) -> Vec<u8> {
    request("GET", target, "")
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |what: &str, request: Vec<u8>, is_right: fn(&Outcome) -> bool| {
        cases.push(Case { what: what.into(), request, is_right });
    };
    for query in ["a=b&id=42", "id=42&a=b", "a&id=42&&"] {
        add(query, get(&format!("/hello?{query}")), is_greeting);
    }
    for query in [
        "id=a+b",
        "id=a%20b",
        "id=%",
        "id=%zz",
        "id=a%4",
        "id=%00",
        "id=%c3%a9",
        "id=%2541",
        "id=4=2",
        "id=&id=42",
        "xid=42",
        "idx=42",
        "&&&",
        "=",
        "id",
    ] {
        add(query, get(&format!("/hello?{query}")), is_wrong_id);
    }
    add("HEAD without an id", request("HEAD", "/hello", ""), is_wrong_id);
    add("HTTP/1.0", b"GET /hello?id=42 HTTP/1.0\r\n\r\n".into(), is_greeting);
    let no_text = b"GET /hello?id=\xff\xfe HTTP/1.1\r\nHost: h\r\n\r\n";
    add("bytes that are no text", no_text.into(), is_refused);

    let long = "a".repeat(LONG);
    add("a long id", get(&format!("/hello?id={long}")), is_refused);
    add("a long path", get(&format!("/{long}")), is_refused);
    add("a long method", request(&long, "/hello?id=42", ""), is_refused);
    add("a long header", request("GET", "/hello?id=42", &format!("X: {long}\r\n")), is_no_failure);
    add("a long name", request("GET", "/hello?id=42", &format!("{long}: x\r\n")), is_no_failure);
    add("many headers", request("GET", "/hello?id=42", &"X: y\r\n".repeat(5_000)), is_no_failure);

    for (method, target) in [
        ("OPTIONS", "*"),
        ("GET", "*"),
        ("GET", "*:99999"),
        ("GET", "*[/hello?id=42"),
        ("GET", "*@h/hello?id=42"),
        ("GET", "//"),
        ("GET", "//:99999/"),
        ("GET", "/\\"),
        ("GET", "/%00"),
        ("GET", "/%zz"),
        ("GET", "/hello%00?id=42"),
        ("GET", "/../../etc/passwd"),
        ("GET", "hello?id=42"),
        ("GET", "http://[/hello"),
        ("GET", "http://h:99999/hell?id=42"),
        ("CONNECT", "h:99999"),
        ("get", "/hello?id=42"),
        ("<b>", "/hello?id=42"),
    ] {
        add(&format!("{method} {target}"), request(method, target, ""), is_refused);
    }
    for headers in [
        "no colon\r\n",
        ": no name\r\n",
        "X: a\0b\r\n",
        "X: a\r\n folded\r\n",
        "Host: another\r\n",
        "Content-Length: -1\r\n",
        "Content-Length: 99999999999999999999\r\n",
        "Content-Length: 0\r\nContent-Length: 0\r\n",
        "Transfer-Encoding: nonsense\r\n",
        "Expect: nonsense\r\n",
        "Connection: upgrade\r\nUpgrade: nonsense\r\n",
    ] {
        add(&format!("{headers:?}"), request("GET", "/hello?id=42", headers), is_no_failure);
    }
    for (what, request) in [
        ("HTTP/9.9", "GET /hello?id=42 HTTP/9.9\r\nHost: h\r\n\r\n"),
        ("another protocol", "GET /hello?id=42 ABCD/1.1\r\nHost: h\r\n\r\n"),
    ] {
        add(what, request.into(), is_no_failure);
    }
    add("HTTP/0.9", b"GET /hello?id=42\r\n\r\n".into(), is_anything);
    cases
}

/// What becomes of a request on a connection of its own.
fn outcome(server: &Started, case: &Case) -> Outcome {
    let mut connection = open(server)?;
    connection.send(&case.request)?;
    connection.receive(case.request.starts_with(b"HEAD "))
}

/// A body is no request, whatever it looks like: what is answered after the request that
/// has it is the next one, if anything is.
fn takes_no_body_for_a_request(server: &Started) -> Result<(), String> {
    let inner = String::from_utf8(get("/hello?id=inner")).unwrap();
    let length = format!("Content-Length: {}\r\n", inner.len());
    let chunked = format!("{:x}\r\n{inner}\r\n0\r\n\r\n", inner.len());
    for (method, headers, body) in [
        ("POST", &*length, &*inner),
        ("GET", &*length, &*inner),
        ("POST", "Transfer-Encoding: chunked\r\n", &*chunked),
        ("GET", "Transfer-Encoding: chunked\r\n", &*chunked),
    ] {
        let (outer, next) = (request(method, "/hello?id=outer", headers), get("/hello?id=next"));
        let mut connection = open(server).map_err(|why| why.to_string())?;
        let all = [&outer[..], body.as_bytes(), &next[..]].concat();
        connection.send(&all).map_err(|why| why.to_string())?;
        let first = connection.receive(false);
        let second = match &first {
            Ok(_) => connection.receive(false),
            Err(_) => Err(Wrong::Closed),
        };
        let is_next = match &second {
            Ok(answer) => answer.status == 200 && holds(answer, "next"),
            Err(wrong) => *wrong == Wrong::Closed,
        };
        if !is_no_failure(&first) || !is_next {
            return Err(format!("{method} with {headers:?}: {first:?}, then {second:?}"));
        }
    }
    Ok(())
}

/// Many requests at once are answered one by one.
fn answers_all_that_are_pipelined(server: &Started) -> Result<(), String> {
    let ids = (0..PIPELINED).map(|number| format!("id{number}x"));
    let requests: Vec<u8> = ids.clone().flat_map(|id| get(&format!("/hello?id={id}"))).collect();
    let mut connection = open(server).map_err(|why| why.to_string())?;
    connection.send(&requests).map_err(|why| why.to_string())?;
    for id in ids {
        match connection.receive(false) {
            Ok(answer) if answer.status == 200 && holds(&answer, &id) => {}
            other => return Err(format!("{id} of {PIPELINED} requests sent at once: {other:?}")),
        }
    }
    Ok(())
}

/// What is wrong with a server.
fn wrongs(server: &mut Started) -> Vec<String> {
    let mut wrongs = Vec::new();
    for case in cases() {
        let outcome = outcome(server, &case);
        if !(case.is_right)(&outcome) {
            let seen = format!("{outcome:?}");
            wrongs.push(format!("{}: {}", case.what, seen.chars().take(300).collect::<String>()));
        }
        // Some servers end by an error in what they do after the answer.
        let next = ask(server);
        if next != Ok(200) || server.has_ended() {
            wrongs.push(format!("after {} the next client has {next:?}", case.what));
            return wrongs;
        }
    }
    wrongs.extend(takes_no_body_for_a_request(server).err());
    wrongs.extend(answers_all_that_are_pipelined(server).err());
    wrongs
}

#[test]
fn what_is_hostile_is_refused_and_the_next_client_has_its_answer() {
    hostile_clients_are_refused(is_light);
}

#[test]
#[ignore = "`make check-servers` builds all"]
fn what_is_hostile_is_refused_by_all_and_the_next_client_has_its_answer() {
    hostile_clients_are_refused(|_| true);
}

fn hostile_clients_are_refused(is_tried: impl Fn(&str) -> bool) {
    let mut all = Vec::new();
    // Files are served by the same nginx as all else of nginx.
    for contender in contenders().iter().filter(|it| it.lighter_contract().is_none()) {
        if is_tried(&contender.name) && is_built(&contender.name) {
            let mut server = start(contender, FILES);
            let wrongs = wrongs(&mut server);
            all.extend(wrongs.iter().map(|wrong| format!("{}: {wrong}", contender.name)));
        }
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
}
