//! `bakeoff load` against stores that lose, mix up or break off what they have: each lands in
//! its kind, and the counts are the store's own.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::support::{After, Said, Seen, Server, backends, bakeoff_load, load};

/// The values that each key was given, the first one first.
type Contents = HashMap<String, Vec<Vec<u8>>>;

/// A store that does something wrong, and counts how often.
struct Store {
    server: Server,
    wrong: Arc<AtomicU64>,
}

/// What is done instead of what is right.
struct Wrong {
    answer: Vec<u8>,
    after: After,
}

impl Wrong {
    fn answer(answer: impl Into<Vec<u8>>) -> Option<Wrong> {
        Some(Wrong { answer: answer.into(), after: After::Keep })
    }
}

impl Store {
    /// It does what is right where nothing else is given for a command, of whose kind it is the
    /// one with that number.
    fn start(
        misbehave: impl Fn(u64, &Seen, &mut Contents) -> Option<Wrong> + Send + Sync + 'static,
    ) -> Store {
        let wrong = Arc::new(AtomicU64::new(0));
        let state = Mutex::new((Contents::new(), HashMap::<String, u64>::new()));
        let server = Server::on_commands({
            let wrong = wrong.clone();
            move |connection, seen| {
                let (answer, after) = {
                    let (contents, counts) = &mut *state.lock().unwrap();
                    let count = counts.entry(operation(seen).into()).or_default();
                    *count += 1;
                    match misbehave(*count, seen, contents) {
                        Some(instead) => {
                            wrong.fetch_add(1, Ordering::Relaxed);
                            (instead.answer, instead.after)
                        }
                        None => (right(seen, contents), After::Keep),
                    }
                };
                connection.write_all(&answer)?;
                if after == After::Close {
                    end_in_order(connection)?;
                }
                Ok(after)
            }
        });
        Store { server, wrong }
    }

    fn url(&self) -> String {
        format!("redis://{}", self.server.address)
    }

    /// Asks for 40 keys, with each backend, and checks what holds of every run, beside how often
    /// the store did wrong in it.
    fn each(&self, more: &[&str], check: impl Fn(&Said, u64)) {
        for backend in backends() {
            let before = self.wrong.load(Ordering::Relaxed);
            let url = self.url();
            let base = [&url, "--keys", "40", "-t", "1", "--backend", backend];
            let said = load(&[&base, more].concat());
            said.assert_conserved(backend);
            check(&said, self.wrong.load(Ordering::Relaxed) - before);
        }
    }
}

/// Not before the client has ended as well: a reset could overtake the answer.
fn end_in_order(connection: &mut TcpStream) -> std::io::Result<()> {
    connection.shutdown(Shutdown::Write)?;
    while !matches!(connection.read(&mut [0; 4096]), Ok(0)) {}
    Ok(())
}

fn operation(seen: &Seen) -> &str {
    seen.head.split(' ').next().unwrap_or_default()
}

/// What a store answers that has nothing wrong with it.
fn right(seen: &Seen, contents: &mut Contents) -> Vec<u8> {
    let values = contents.entry(seen.path().into()).or_default();
    match operation(seen) {
        "SET" => {
            values.push(seen.body.clone());
            b"+OK\r\n".to_vec()
        }
        "GET" => values.last().map_or(b"$-1\r\n".to_vec(), |value| bulk(value)),
        other => format!("-ERR unknown command '{other}'\r\n").into_bytes(),
    }
}

fn bulk(value: &[u8]) -> Vec<u8> {
    [format!("${}\r\n", value.len()).as_bytes(), value, b"\r\n"].concat()
}

fn is_get(seen: &Seen) -> bool {
    operation(seen) == "GET"
}

/// An error's example.
fn example<'a>(said: &'a Said, kind: &str) -> &'a str {
    let errors = said.json["errors"].as_array().unwrap();
    let of_kind = errors.iter().find(|error| error["kind"] == kind);
    let error = of_kind.unwrap_or_else(|| panic!("none is {kind}: {}", said.json["errors"]));
    error["example"].as_str().unwrap()
}

/// Every tenth get is answered so.
fn each_tenth_get(answer: &'static [u8]) -> Store {
    Store::start(
        move |number, seen, _| {
            if is_get(seen) && number % 10 == 0 { Wrong::answer(answer) } else { None }
        },
    )
}

#[test]
fn an_honest_store_has_nothing_wrong() {
    let store = Store::start(|_, _, _| None);
    for more in [&["-c", "1"][..], &["-c", "4"], &["-c", "4", "--pipeline", "8"], &["--close"]] {
        store.each(&[&["-n", "500"], more].concat(), |said, _| {
            assert_eq!(said.count("good"), 500, "{more:?}: {}", said.json["errors"]);
        });
    }
}

#[test]
fn another_keys_value_is_wrong() {
    let store = Store::start(|number, seen, contents| {
        let other = contents.iter().find(|(key, _)| *key != seen.path())?.1.last()?;
        if is_get(seen) && number % 10 == 0 { Wrong::answer(bulk(other)) } else { None }
    });
    store.each(&["-n", "500", "-c", "4"], |said, wrong| {
        assert!(wrong > 0 && said.errors("wrong_value") == wrong, "{wrong}: {}", said.json);
        assert_eq!(said.count("errors"), wrong, "{}", said.json["errors"]);
        assert_eq!(said.json["keys"]["wrong"], wrong, "{}", said.json["keys"]);
        let example = example(said, "wrong_value");
        assert!(example.contains("has the value of key"), "{example}");
    });
}

#[test]
fn an_older_value_is_stale() {
    let store = Store::start(|number, seen, contents| {
        let values = contents.get(seen.path())?;
        // Of a run before this one it would be wrong.
        let preloaded = values.iter().rposition(|value| value[7] == 0x80)?;
        let is_older = preloaded + 1 < values.len();
        if is_get(seen) && number % 3 == 0 && is_older {
            return Wrong::answer(bulk(&values[preloaded]));
        }
        None
    });
    store.each(&["-n", "500", "-c", "1", "--mix", "get=1,set=1"], |said, wrong| {
        assert!(wrong > 0 && said.errors("stale") == wrong, "{wrong}: {}", said.json);
        assert_eq!(said.count("errors"), wrong, "{}", said.json["errors"]);
        assert_eq!(said.json["keys"]["stale"], wrong, "{}", said.json["keys"]);
        let example = example(said, "stale");
        assert!(example.contains("has the value of the preload"), "{example}");
    });
}

#[test]
fn writes_that_are_lost_are_found_by_the_reads_behind_them() {
    let store = Store::start(|number, seen, _| {
        // The preload's 40 are kept.
        let is_lost = operation(seen) == "SET" && seen.body[7] != 0x80 && number % 5 == 0;
        if is_lost { Wrong::answer(*b"+OK\r\n") } else { None }
    });
    store.each(&["-n", "600", "-c", "1", "--mix", "get=2,set=1"], |said, wrong| {
        assert!(wrong > 0 && said.errors("stale") > 0, "{wrong} lost: {}", said.json);
        assert_eq!(said.count("errors"), said.errors("stale"), "{}", said.json["errors"]);
    });
}

#[test]
fn values_that_vanish_are_missing() {
    each_tenth_get(b"$-1\r\n").each(&["-n", "500", "-c", "4"], |said, wrong| {
        assert!(wrong > 0 && said.errors("missing") == wrong, "{wrong}: {}", said.json);
        assert_eq!(said.json["keys"]["missing"], wrong, "{}", said.json["keys"]);
        assert_eq!(said.json["keys"]["misses"], 0, "{}", said.json["keys"]);
    });
}

#[test]
fn a_value_of_four_gigabytes_is_not_waited_for() {
    each_tenth_get(b"$4294967296\r\nxxxx").each(&["-n", "300", "-c", "2"], |said, wrong| {
        assert!(wrong > 0 && said.errors("malformed") == wrong, "{wrong}: {}", said.json);
        assert_eq!(said.count("good"), 300 - wrong, "{}", said.json["errors"]);
        let example = example(said, "malformed");
        assert!(example.contains("$4294967296"), "{example}");
    });
}

#[test]
fn an_answer_that_nobody_asked_for_is_told() {
    let store = Store::start(|number, seen, contents| {
        let answer = [right(seen, contents), b"+OK\r\n".to_vec()].concat();
        if is_get(seen) && number % 10 == 0 { Wrong::answer(answer) } else { None }
    });
    // Five more requests follow the last of them.
    store.each(&["-n", "295", "-c", "1", "--mix", "get=1"], |said, wrong| {
        let told = said.errors("malformed") + said.json["connections"]["unasked"].as_u64().unwrap();
        assert!(wrong > 0 && told == wrong, "{wrong} were: {}", said.json);
    });
}

/// A store that takes one connection, and refuses others in these words before it is asked, as
/// Redis and memcached do. That one has no key.
fn with_one_connection(refusal: &'static [u8], missing: &'static [u8]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let mut taken = false;
        for mut connection in listener.incoming().flatten() {
            if std::mem::replace(&mut taken, true) {
                let _ = connection.write_all(refusal).and_then(|()| end_in_order(&mut connection));
                continue;
            }
            std::thread::spawn(move || {
                let mut command = [0; 4096];
                while connection.read(&mut command).is_ok_and(|length| length > 0) {
                    if connection.write_all(missing).is_err() {
                        break;
                    }
                }
            });
        }
    });
    address
}

/// Else who asks for more connections than a store takes sees that some ended, and not why.
#[test]
fn a_store_that_takes_no_more_connections_is_told_in_its_words_with_what_to_do() {
    let stores: [(&str, &[u8], &[u8]); 2] = [
        ("redis", b"-ERR max number of clients reached\r\n", b"$-1\r\n"),
        ("memcached", b"ERROR Too many open connections\r\n", b"END\r\n"),
    ];
    for (scheme, refusal, missing) in stores {
        for backend in backends() {
            let url = format!("{scheme}://{}", with_one_connection(refusal, missing));
            let base = ["-n", "4", "--rate", "20", "-c", "3", "-t", "1", "--backend", backend];
            let said = load(&[&[&*url], &base[..], &["--no-preload", "--mix", "get=1"]].concat());
            let connections = &said.json["connections"];
            assert_eq!(connections["unasked"], 0, "{backend}: {connections}");
            let first = &connections["first_failure"];
            assert_eq!(first["kind"], "server_error", "{backend}: {connections}");
            let example = first["example"].as_str().unwrap();
            let words = std::str::from_utf8(refusal).unwrap().trim_start_matches('-').trim_end();
            assert!(example.contains(words), "{backend}: {example}");
            assert!(example.contains("ask for fewer (-c)"), "{backend}: {example}");
        }
    }
}

/// Else each write is acknowledged before the store has seen it.
#[test]
fn a_store_that_acknowledges_one_write_too_many_is_named() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("redis://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut connection in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let _ = connection.set_nodelay(true);
                let mut command = [0; 4096];
                // One that isn't pipelined is short enough to come whole.
                while connection.write_all(b"+OK\r\n").is_ok() {
                    if !connection.read(&mut command).is_ok_and(|length| length > 0) {
                        break;
                    }
                }
            });
        }
    });
    for backend in backends() {
        let base = [&*url, "-n", "60", "-c", "2", "-t", "1", "--backend", backend];
        // On a busy machine the word too many may come later than is listened for it.
        let is_named = (0..10).any(|_| {
            let said = load(&[&base[..], &["--mix", "set=1", "--no-preload"]].concat());
            let warnings = said.json["warnings"].as_array().unwrap();
            warnings.iter().any(|warning| warning["id"] == "unasked")
        });
        assert!(is_named, "{backend}: each write is acknowledged before it came");
    }
}

#[test]
fn a_store_that_ends_connections_half_way_through_a_pipeline_costs_the_answer_that_it_cut() {
    let store = Store::start(|number, seen, contents| {
        if !is_get(seen) || number % 25 != 0 {
            return None;
        }
        let mut answer = right(seen, contents);
        answer.truncate(answer.len() / 2);
        Some(Wrong { answer, after: After::Close })
    });
    let more = ["-n", "500", "-c", "1", "--pipeline", "8", "--mix", "get=1,set=1"];
    store.each(&more, |said, wrong| {
        assert!(wrong > 0 && said.errors("closed_early") == wrong, "{wrong}: {}", said.json);
        let resent = said.json["connections"]["resent"].as_u64().unwrap();
        assert!(resent > 0, "what was behind it was not asked again: {}", said.json);
        for kind in ["wrong_value", "stale", "missing", "malformed"] {
            assert_eq!(said.errors(kind), 0, "{kind}: {}", said.json["errors"]);
        }
    });
}

#[test]
fn a_store_that_dies_leaves_what_it_answered_in_the_account() {
    let store = Store::start(|number, seen, _| {
        let is_dead = is_get(seen) && number > 100;
        is_dead.then(|| Wrong { answer: Vec::new(), after: After::Reset })
    });
    let url = store.url();
    let said = load(&[&url, "--keys", "40", "-n", "300", "-c", "2", "-t", "1", "--mix", "get=1"]);
    said.assert_conserved("a store that dies");
    assert_eq!(said.count("good"), 100, "{}", said.json["errors"]);
    assert_eq!(said.json["keys"]["hits"], 100, "{}", said.json["keys"]);
    assert_eq!(said.count("errors"), 200, "{}", said.json["errors"]);
}

/// What a preload of 100,000 keys says that isn't acknowledged whole: the sentence on standard
/// error. The line with the count must say the same.
fn unfinished_preload(url: &str, more: &[&str], acknowledged: u64) -> String {
    let base = [url, "--keys", "100k", "-n", "10", "-c", "2", "-t", "1"];
    let said = bakeoff_load(&[&base, more].concat()).output().unwrap();
    let stdout = String::from_utf8(said.stdout).unwrap();
    let stderr = String::from_utf8(said.stderr).unwrap();
    assert_eq!((said.status.code(), stderr.lines().count()), (Some(1), 1), "{stderr}");
    let sentence =
        format!("the store acknowledged {acknowledged} of 100,000 keys, up to the first");
    assert!(stderr.contains(&sentence), "{sentence}: {stderr}");
    let line = format!("{acknowledged} of 100,000 keys acknowledged");
    assert!(stdout.contains(&line), "{line}: {stdout}");
    stderr
}

#[test]
fn a_preload_ends_at_the_first_refusal() {
    for backend in backends() {
        let store = Store::start(|number, _, _| {
            if number > 900 { Wrong::answer(*b"-READONLY You can't write\r\n") } else { None }
        });
        let stderr = unfinished_preload(&store.url(), &["--backend", backend], 900);
        assert!(stderr.contains("server_error: the server says: \"READONLY"), "{stderr}");
        let tried = store.server.requests();
        assert!(tried < 3_000, "it went on trying: {tried} keys");
    }
}

/// Whoever has to wait for each key's own failure would wait for hours.
#[test]
fn a_preload_of_a_store_that_is_dead_or_dumb_ends_at_the_first_key() {
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let dumb = Server::on_commands(|_, _| Ok(After::Keep));
    let closing = Server::on_commands(|_, _| Ok(After::Close));
    for backend in backends() {
        for (address, patience, kind, greets) in [
            (nobody, "10m", "refused", false),
            (dumb.address, "200ms", "timeout", false),
            (dumb.address, "200ms", "timeout", true),
            (closing.address, "10m", "closed_early", false),
            (closing.address, "10m", "closed_early", true),
        ] {
            let url = format!("redis://{}{address}", if greets { ":password@" } else { "" });
            let more = ["--backend", backend, "--timeout", patience];
            let stderr = unfinished_preload(&url, &more, 0);
            assert!(stderr.contains(&format!("the first error, {kind}: ")), "{stderr}");
        }
    }
}

#[test]
fn a_part_of_a_cluster_is_told_from_a_store() {
    for refusal in ["MOVED 3999 127.0.0.1:6381", "ASK 3999 127.0.0.1:6381"] {
        let store = Store::start(move |_, _, _| Wrong::answer(format!("-{refusal}\r\n")));
        let said = bakeoff_load(&[&store.url(), "--keys", "40", "-n", "10"]).output().unwrap();
        let stderr = String::from_utf8(said.stderr).unwrap();
        assert_eq!(said.status.code(), Some(1), "{stderr}");
        for part in ["server_error", refusal, "does not speak with clusters yet"] {
            assert!(stderr.contains(part), "{part}: {stderr}");
        }
        let more = ["--no-preload", "-n", "100", "-c", "2"];
        store.each(&more, |said, _| {
            assert_eq!(said.errors("server_error"), 100, "{}", said.json["errors"]);
            assert!(example(said, "server_error").contains("clusters"), "{}", said.json["errors"]);
        });
    }
}

#[test]
fn a_store_that_knows_no_third_version_refuses_in_its_words() {
    let store = Store::start(|_, _, _| None);
    let arguments = [&*store.url(), "--keys", "40", "-n", "10", "--resp3"];
    let said = bakeoff_load(&arguments).output().unwrap();
    let stderr = String::from_utf8(said.stderr).unwrap();
    assert_eq!(said.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("ERR unknown command"), "{stderr}");
}

/// A store whose every answer to `HELLO` is this.
fn greets(answer: &'static [u8], after: After) -> Store {
    Store::start(move |_, seen, _| {
        (operation(seen) == "HELLO").then(|| Wrong { answer: answer.into(), after })
    })
}

const HELLO: &[u8] = b"%1\r\n+proto\r\n:3\r\n";

#[test]
fn first_words_have_a_time_of_their_own() {
    let store = Store::start(|_, seen, _| {
        let is_hello = operation(seen) == "HELLO";
        is_hello.then(|| {
            std::thread::sleep(Duration::from_millis(20));
            Wrong { answer: HELLO.into(), after: After::Keep }
        })
    });
    for (connections, more) in [
        (4, &["-n", "400", "-c", "4"][..]),
        (4, &["-n", "400", "-c", "4", "--pipeline", "8"]),
        // Large values, of which it is watched when they are sent.
        (4, &["-n", "400", "-c", "4", "--value-bytes", "20000"]),
        (4, &["-d", "500ms", "-c", "4", "--rate", "500"]),
        (30, &["-n", "30", "-c", "1", "--close"]),
    ] {
        store.each(&[&["--resp3"], more].concat(), |said, hellos| {
            assert_eq!(said.count("good"), said.count("sent"), "{more:?}: {}", said.json["errors"]);
            let opening = &said.json["open_us"];
            assert_eq!(opening["samples"], connections, "{more:?}: {opening}");
            let of_preload = said.json["plan"]["connections"].as_u64().unwrap();
            assert_eq!(hellos, connections + of_preload, "{more:?}");
            let least = opening["percentiles"][0]["value"].as_f64().unwrap_or(20_000.0);
            let service = said.json["service_us"]["mean"].as_f64().unwrap();
            assert!(service < least, "{more:?}: {service} µs, and first words took {least}");
        });
    }
}

#[test]
fn a_connection_whose_first_words_come_to_nothing_could_not_be_made() {
    for (answer, after, kind, example) in [
        (&b""[..], After::Keep, "timeout", "first words within"),
        (b"%1\r\n+pro", After::Keep, "timeout", "first words within"),
        (b"%1\r\n+pro", After::Close, "closed_early", "before its first words were answered"),
        (b"-NOPERM no\r\n", After::Keep, "server_error", "NOPERM no"),
        (b"?\r\n", After::Keep, "malformed", "first words"),
        (b"%1\r\n+proto\r\n:3\r\n+OK\r\n", After::Keep, "malformed", "after the answer"),
    ] {
        let store = greets(answer, after);
        for more in [&[][..], &["--pipeline", "8"], &["--close"]] {
            let base = ["--no-preload", "-n", "6", "-c", "2", "--resp3", "--timeout", "200ms"];
            store.each(&[&base, more].concat(), |said, hellos| {
                let what = format!("{kind} {more:?}: {}", said.json);
                assert_eq!((said.code, said.count("good")), (1, 0), "{what}");
                assert_eq!(said.count("errors"), said.errors(kind), "{what}");
                let failure = &said.json["connections"]["first_failure"];
                assert_eq!(failure["kind"], kind, "{what}");
                assert!(failure["example"].as_str().unwrap().contains(example), "{what}");
                assert!(hellos > 0 && said.json["open_us"]["samples"] == 0, "{what}");
            });
        }
    }
}

#[test]
fn a_server_of_another_protocol_is_told_in_a_sentence() {
    // An alert of TLS: a message was unexpected.
    const ALERT: &[u8] = b"\x15\x03\x03\x00\x02\x02\x0a";
    const BAD_REQUEST: &[u8] = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n";
    for (answer, parts) in [
        (BAD_REQUEST, ["the server speaks HTTP", "HTTP/1.1 400 Bad Request"]),
        (ALERT, ["the server speaks TLS", "\\x15\\x03"]),
    ] {
        let server = Server::on_bytes(move |connection, _| {
            connection.write_all(answer)?;
            end_in_order(connection)?;
            Ok(After::Close)
        });
        for (scheme, more) in [
            ("redis", &[][..]),
            ("redis", &["--resp3"]),
            ("redis", &["--pipeline", "4"]),
            ("memcached", &[]),
            ("memcached", &["--meta"]),
        ] {
            let url = format!("{scheme}://{}", server.address);
            let arguments = [&[&*url, "--keys", "40", "-n", "10"], more].concat();
            let said = bakeoff_load(&arguments).output().unwrap();
            let stderr = String::from_utf8(said.stderr).unwrap();
            assert_eq!((said.status.code(), stderr.lines().count()), (Some(1), 1), "{stderr}");
            for part in parts.into_iter().chain(["0 of 40 keys"]) {
                assert!(stderr.contains(part), "{scheme} {more:?}: {part}: {stderr}");
            }
        }
    }
}
