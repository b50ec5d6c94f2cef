//! `bakeoff load` with robots in rooms, beside relays that count what they do.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::Value;

use crate::skipped::skipped;
use crate::support::{self, Said, backends, bakeoff_load, load};

/// A relay that does what its mode says each so many messages.
struct Relay {
    process: Child,
    says: BufReader<ChildStdout>,
    input: Option<ChildStdin>,
    url: String,
}

impl Relay {
    /// `None` on a machine without Python.
    fn start(mode: &str, each: u32) -> Option<Relay> {
        let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/load/relay.py");
        let mut command = Command::new("python3");
        command.args(["-B", program, mode, &each.to_string()]);
        let spawned = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let Ok(mut process) = spawned else {
            skipped("skipped", "python3 is not installed");
            return None;
        };
        let mut says = BufReader::new(process.stdout.take().unwrap());
        let mut port = String::new();
        says.read_line(&mut port).unwrap();
        let input = process.stdin.take();
        Some(Relay { process, says, input, url: format!("frames://127.0.0.1:{}", port.trim()) })
    }

    /// Ends it, and gives what it did.
    fn did(mut self) -> Value {
        self.input = None;
        let mut text = String::new();
        self.says.read_to_string(&mut text).unwrap();
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.input = None;
        let _ = self.process.kill();
        self.process.wait().unwrap();
    }
}

/// One of the counts of the account of deliveries.
fn count(said: &Said, name: &str) -> u64 {
    let deliveries = &said.json["deliveries"];
    deliveries[name].as_u64().unwrap_or_else(|| panic!("no {name}: {deliveries}"))
}

fn assert_conserved(said: &Said, what: &str) {
    let count = |name| count(said, name);
    let deliveries = &said.json["deliveries"];
    assert_eq!(count("scheduled"), count("due") + count("shed"), "{what}: {deliveries}");
    let settled = count("delivered") + count("missing") + count("in_flight");
    assert_eq!(count("due"), settled, "{what}: {deliveries}");
}

#[test]
fn robots_of_a_sound_relay_hear_all_of_each_other() {
    // On one thread lie all rooms. Each of four has a part of each room.
    for (backend, threads) in backends().into_iter().flat_map(|it| [(it, "1"), (it, "4")]) {
        let Some(relay) = Relay::start("sound", 1) else { return };
        let rooms = ["--rooms", "3", "--members", "5", "--rate", "600", "-d", "1s"];
        let line = [&[&*relay.url, "--backend", backend, "-t", threads], &rooms[..]].concat();
        let said = load(&line);
        assert_eq!(said.code, 0, "{backend}: {} {}", said.stderr, said.json["deliveries"]);
        assert_conserved(&said, backend);
        // A message each 8.3 ms, to five.
        assert_eq!(count(&said, "delivered"), 600, "{backend}: {}", said.json["deliveries"]);
        assert_eq!(said.json["messages"]["sent"], relay.did()["messages"], "{backend}");
        assert_eq!(said.json["messages"]["sent"], 120);
        assert_eq!(said.json["robots"]["joined"], 15);
        assert_eq!(said.json["bytes"]["sent"], 120 * 66);
        let robots = &said.json["robots"];
        assert_eq!(
            (&robots["deliveries_min"], &robots["deliveries_max"]),
            (&40.into(), &40.into())
        );
        let (stamped, unstamped) = (count(&said, "stamped"), count(&said, "unstamped"));
        assert_eq!(stamped + unstamped, 600);
        assert!(stamped > 0, "{backend}: no delivery has the kernel's stamp");
        let samples = |time: &str| said.json[time]["samples"].as_u64().unwrap();
        assert_eq!((samples("delivery_us"), samples("until_all_us")), (600, 120));
        assert_eq!(samples("first_to_last_us"), 120);
        assert_eq!(samples("seen_late_us"), stamped);
    }
}

#[test]
fn each_lie_of_a_relay_is_counted_to_the_unit() {
    let usual =
        ["--rooms", "3", "--members", "5", "--rate", "2k", "-d", "500ms", "--timeout", "3s"];
    // What comes too late has to come before the run is over.
    let longer = ["--rooms", "2", "--members", "5", "--rate", "100", "-d", "4s", "--timeout", "2s"];
    let cases = [
        ("drop", 10, &usual, 20 * 5),
        ("some", 10, &usual, 20),
        ("twice", 10, &usual, 20),
        ("swap", 10, &usual, 5 * 5),
        ("leak", 10, &usual, 20 * 5),
        ("bit", 10, &usual, 20),
        ("cut", 50, &usual, 1),
        ("late", 1, &longer, 3),
    ];
    // One after the other: a busy machine is late as well.
    for threads in ["1", "4"] {
        std::thread::scope(|scope| {
            for (mode, each, line, lies) in cases {
                scope.spawn(move || {
                    let Some(relay) = Relay::start(mode, each) else { return };
                    let said = load(&[&[&*relay.url, "-t", threads][..], line].concat());
                    let did = relay.did();
                    let told = &said.json["deliveries"];
                    let all =
                        ["missing", "duplicates", "out_of_order", "leaked", "wrong", "overdue"];
                    let sent = said.json["messages"]["sent"].as_u64().unwrap();
                    // A relay that cuts a connection may never read what lies in it by then. All
                    // five members miss that.
                    let unread = sent - did["messages"].as_u64().unwrap();
                    assert!(unread == 0 || mode == "cut", "{mode}: {unread} weren't read");
                    for name in all {
                        let unread = if name == "missing" { 5 * unread } else { 0 };
                        assert_eq!(
                            told[name],
                            did[name].as_u64().unwrap() + unread,
                            "{mode} to {threads}: {name}: {told} beside {did}"
                        );
                    }
                    assert_eq!(said.json["robots"]["cut"], did["cut"], "{mode}");
                    assert_conserved(&said, mode);
                    let happened = ["missing", "duplicates", "out_of_order", "leaked", "cut"]
                        .map(|name| did[name].as_u64().unwrap());
                    let most = happened.into_iter().max().unwrap();
                    // On a busy machine fewer messages come out before the run is over.
                    assert!(2 * most >= lies, "{mode}: the relay hardly lied: {did}");
                    assert_eq!(said.code, 3, "{mode}: {}", said.stderr);
                    assert!(said.stderr.contains("isn't clean"), "{mode}: {}", said.stderr);
                });
            }
        });
    }
}

/// Else the number of robots that a server holds would be one at which it doesn't.
#[test]
fn a_condition_that_never_holds_is_searched_for_down_to_few_robots() {
    let Some(relay) = Relay::start("sound", 1) else { return };
    let robots = ["--rooms", "10", "--members", "4", "--rate", "8k", "-d", "400ms"];
    let line = [&[&*relay.url, "--find-connections", "p50 < 1ns"], &robots[..]].concat();
    let said = support::search(&line);
    assert_eq!(said.code, 3, "{}", said.stderr);
    let found = &said.json["find_connections"];
    assert!(found["holds"].is_null(), "{found}");
    let steps = found["steps"].as_array().unwrap();
    assert_eq!((&steps[0]["robots"], &steps[0]["offered_rate"]), (&40.into(), &8_000.0.into()));
    // A step has 100 deliveries and more. Each robot has as many as any other, and rooms are whole.
    assert_eq!(found["fails"]["robots"], 4, "{found}");
    for step in steps {
        let robots = step["robots"].as_u64().unwrap();
        assert_eq!(robots % 4, 0, "{step}");
        assert_ne!(step["verdict"], "holds", "{step}");
        assert_eq!(step["offered_rate"].as_f64(), Some(200.0 * robots as f64), "{step}");
    }
}

/// Else nobody could say what a server does with a client that hangs.
#[test]
fn a_slow_robot_tells_whether_a_relay_blocks_or_buffers() {
    // Small messages fit into the kernel's buffers. But others wait on a busy machine as well. With
    // large ones the relay waits for who is slow.
    let small = ["--message-bytes", "64", "--rate", "400"];
    let large = ["--message-bytes", "30000", "--rate", "400", "--timeout", "9s"];
    std::thread::scope(|scope| {
        for backend in backends() {
            for (threads, message, words) in [
                ("1", &small[..], &["buffers", "blocks"][..]),
                ("2", &small[..], &["buffers", "blocks"][..]),
                ("1", &large[..], &["blocks"][..]),
            ] {
                scope.spawn(move || {
                    let Some(relay) = Relay::start("sound", 1) else { return };
                    let robots = ["--rooms", "1", "--members", "4", "--slow", "1", "-d", "10s"];
                    let on = [&*relay.url, "--backend", backend, "-t", threads];
                    let said = load(&[&on[..], &robots, message].concat());
                    let slow = &said.json["slow"];
                    let what = format!("{backend}, {threads} threads: {slow}");
                    assert!(words.contains(&slow["word"].as_str().unwrap()), "{what}");
                    assert_eq!((&slow["robots"], &slow["cut"]), (&1.into(), &0.into()), "{what}");
                    assert!(slow["owed"].as_u64() > Some(0), "{what}");
                    assert_eq!(slow["owed"], slow["came"], "{what}");
                    assert_conserved(&said, &what);
                    assert_eq!(count(&said, "missing"), 0, "{what}");
                    let owed = count(&said, "due") + slow["owed"].as_u64().unwrap();
                    let messages = said.json["messages"]["sent"].as_u64().unwrap();
                    assert_eq!(owed, 4 * messages, "{what}");
                    assert_eq!(said.code, 0, "{what}: {}", said.stderr);
                });
            }
        }
    });
}

#[test]
fn after_a_storm_all_robots_are_back_and_hear_all() {
    std::thread::scope(|scope| {
        for backend in backends() {
            for (threads, how) in [("1", "fin"), ("2", "reset")] {
                scope.spawn(move || {
                    let Some(relay) = Relay::start("sound", 1) else { return };
                    let robots = ["--rooms", "1", "--members", "40", "--rate", "4k", "-d", "4s"];
                    let on = [&*relay.url, "--backend", backend, "-t", threads, "--storm", how];
                    let said = load(&[&on[..], &robots].concat());
                    let storm = &said.json["storm"];
                    let what = format!("{backend}, {threads} threads, {how}: {storm}");
                    assert_eq!(
                        (&storm["ended"], &storm["back"]),
                        (&40.into(), &40.into()),
                        "{what}"
                    );
                    let within = |name: &str| storm[name].as_f64().unwrap();
                    assert!(within("half_back_s") > 0.0, "{what}");
                    assert!(within("half_back_s") <= within("all_back_s"), "{what}");
                    assert_eq!(
                        (&storm["out_of_order"], &storm["duplicates"]),
                        (&0.into(), &0.into())
                    );
                    assert_conserved(&said, &what);
                    assert_eq!(said.json["robots"]["cut"], 0, "{what}");
                    let messages = said.json["messages"]["sent"].as_u64().unwrap();
                    assert_eq!(count(&said, "delivered"), 40 * messages, "{what}");
                    assert!((200..400).contains(&messages), "{what}: {messages} messages");
                    assert_eq!(relay.did()["messages"], messages, "{what}");
                    assert_eq!(said.code, 0, "{what}: {}", said.stderr);
                });
            }
        }
    });
}

#[test]
fn who_is_no_relay_is_told_by_its_first_words() {
    let server = crate::support::Server::on_bytes(|connection, _| {
        use std::io::Write;
        connection.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")?;
        Ok(crate::support::After::Close)
    });
    let url = format!("frames://{}", server.address);
    let output = bakeoff_load(&[&url, "--rate", "100", "-d", "100ms"]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{said}");
    assert!(said.contains("no robot comes into a room") && said.contains("speaks HTTP"), "{said}");
}
