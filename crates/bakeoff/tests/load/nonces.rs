//! No two runs ask for the same, unless they are told to.

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::{Arc, Mutex};

use crate::support::{After, Said, Seen, Server, load};

/// What a run asked for, and what it said.
fn asked(path: &str, arguments: &[&str]) -> (Vec<String>, Said) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let server = Server::start({
        let seen = seen.clone();
        move |connection, request: &Seen| {
            seen.lock().unwrap().push(request.path().to_string());
            connection.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").map(|()| After::Keep)
        }
    });
    let said = load(&[&[&*server.url(path), "-c", "2"], arguments].concat());
    drop(server);
    (std::mem::take(&mut *seen.lock().unwrap()), said)
}

fn set(nonces: Vec<String>) -> BTreeSet<String> {
    nonces.into_iter().collect()
}

/// Else an answer that somebody kept from an earlier run would pass for one to this.
#[test]
fn two_runs_share_no_nonce_unless_they_have_the_same_seed() {
    let run = |more: &[&str]| asked("/?{nonce}", &[&["-n", "100"], more].concat());
    let [(first, said), (second, _)] = [run(&[]), run(&[])];
    let (first, second) = (set(first), set(second));
    assert_eq!((first.len(), second.len()), (100, 100));
    assert!(first.is_disjoint(&second), "a cache of the first run answers the second");

    let seed = said.json["plan"]["seed"].to_string();
    assert!(said.stderr.contains(&format!(", seed {seed}\n")), "{}", said.stderr);
    assert_eq!(set(run(&["--seed", &seed]).0), first, "a run can't be repeated");
}

#[test]
fn steps_of_a_search_share_no_nonce() {
    let options = ["-d", "200ms", "--find-rate", "errors < 0"];
    let (nonces, said) = asked("/?{nonce}", &options);
    let steps = said.json["find_rate"]["steps"].as_array().unwrap().len();
    assert!(steps >= 2, "{}", said.json);
    let (all, apart) = (nonces.len(), set(nonces).len());
    assert_eq!(all, apart, "a cache of the first step answers the second");
}

#[test]
fn a_seed_that_decides_nothing_is_not_shown() {
    let (_, said) = asked("/", &["-n", "10"]);
    assert!(!said.stderr.contains("seed"), "{}", said.stderr);
    let random = ["-n", "10", "--rate", "1k", "--arrivals", "poisson"];
    let (_, said) = asked("/", &random);
    assert!(said.stderr.contains(", seed "), "{}", said.stderr);
}
