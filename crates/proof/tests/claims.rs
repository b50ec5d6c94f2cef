//! Short rounds of what `make` measures in full, with wide margins, for machines
//! that do other things as well. One after the other: they share two processors.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

#[test]
fn what_bakeoff_load_claims_of_itself_holds() {
    what_it_says_is_what_the_server_recorded();
    let backend = load::chosen_backend();
    if backend != "io_uring" {
        skipped_in_part(&format!("the bare loop takes io_uring, and here it is {backend}"));
    } else if Command::new("nginx").arg("-v").output().is_err() {
        skipped_in_part("nginx is not installed");
    } else {
        it_can_be_measured_beside_the_bare_loop();
        it_can_be_measured_beside_an_older_one();
    }
}

fn skipped_in_part(why: &str) {
    let says = format!("\nskipped in part: what_bakeoff_load_claims: {why}\n");
    // Not by a macro: the test runner would keep that to itself.
    let _ = std::io::stderr().write_all(says.as_bytes());
}

fn what_it_says_is_what_the_server_recorded() {
    // What misses by a neighbour's doing is made again there; of several rounds the middle counts.
    let (holds, table) = proof("truth --quick --rounds 1");
    for experiment in [
        "closed loop, constant",
        "closed loop, two-valued",
        "closed loop, stalled",
        "closed loop, pipelines of 16, one connection",
        "closed loop, pipelines of 16, many connections",
        "closed loop, 3 connections on two threads",
        "open loop, constant",
        "open loop, stalled",
        "open loop, pipelines of 16",
        "constant arrivals, one thread",
        "poisson arrivals, one thread",
        "constant arrivals, two threads",
        "poisson arrivals, two threads",
        "Beside queueing theory",
        "Robots in rooms",
    ] {
        assert!(table.contains(experiment), "{experiment} is missing:\n{table}");
    }
    assert!(table.contains(" counts are exact."), "{table}");
    for (connections, threads) in [(3, 2), (3, 4), (8, 2), (8, 4)] {
        let is_case = |line: &str| {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            cells.get(1) == Some(&&*connections.to_string())
                && cells.get(4) == Some(&&*threads.to_string())
        };
        let cases = table.lines().filter(|line| is_case(line)).count();
        assert_eq!(cases, 2, "{connections} connections, {threads} threads:\n{table}");
    }
    assert!(holds, "{table}");
}

fn it_can_be_measured_beside_the_bare_loop() {
    let (_, tables) = proof(
        "speed --rounds 1 --seconds 1 --connections 20 --tools bakeoff,bare \
         --modes keep-alive,close,pipeline",
    );
    let ratios = tables.matches("bakeoff / the bare loop").count();
    assert_eq!(ratios, 2, "one kept alive, one a connection a request:\n{tables}");
    let pipelines = tables.matches("bakeoff, depth 16 / depth 1").count();
    assert_eq!(pipelines, 2, "one answered together, one by nginx:\n{tables}");
    assert!(!tables.contains("To know beside it"), "counts differ or runs failed:\n{tables}");
}

/// The older one is itself, but for an option that it doesn't know.
fn it_can_be_measured_beside_an_older_one() {
    let folder = tempfile::tempdir().unwrap();
    let (older, json) = (folder.path().join("older"), folder.path().join("older.json"));
    let bakeoff = Path::new(env!("CARGO_BIN_EXE_proof")).with_file_name("bakeoff");
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in *--backend*) echo unknown: --backend >&2; exit 2; esac\n\
         exec {} \"$@\"\n",
        bakeoff.display()
    );
    fs::write(&older, script).unwrap();
    fs::set_permissions(&older, fs::Permissions::from_mode(0o755)).unwrap();
    let (_, tables) = proof(&format!(
        "speed --rounds 1 --seconds 1 --connections 20 --tools bakeoff,bakeoff-epoll \
         --modes keep-alive --older {} --json {}",
        older.display(),
        json.display()
    ));
    assert!(tables.contains("new by old"), "the column is missing:\n{tables}");
    let absent = "bakeoff, older, epoll, 20 connections, kept alive: absent, it ended with exit \
                  code 2 and said: unknown: --backend";
    assert!(tables.contains(absent), "why it is absent isn't told:\n{tables}");
    let json: serde_json::Value = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    let compared = json["compared"].as_array().unwrap();
    assert_eq!(compared.len(), 1, "the one on epoll has nothing to stand beside: {json:#}");
    let ratio = compared[0]["new_by_old"]["median"].as_f64().unwrap();
    assert!(ratio > 0.0, "{json:#}");
}

/// Whether all holds that `proof` shows, and what it prints.
fn proof(arguments: &str) -> (bool, String) {
    let proof = Path::new(env!("CARGO_BIN_EXE_proof"));
    assert!(
        proof.with_file_name("bakeoff").is_file(),
        "`bakeoff` isn't built beside `proof`: run `cargo build -p bakeoff`, or `make test`"
    );
    let ended =
        Command::new(proof).args(arguments.split_whitespace()).output().expect("proof runs");
    let printed = String::from_utf8_lossy(&ended.stdout).into_owned();
    let complaints = String::from_utf8_lossy(&ended.stderr);
    assert!(
        matches!(ended.status.code(), Some(0 | 1)),
        "proof {arguments} couldn't measure:\n{printed}\n{complaints}"
    );
    (ended.status.success(), printed)
}
