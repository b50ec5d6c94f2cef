//! One contender of each experiment does its work, and what it counts was read.
//! `make check-programs` has all of them do all.

use crate::fixture;

use std::fs;
use std::process::Command;

use fixture::{Lab, skipped};

const OF_EACH: [&str; 9] = [
    "process-dictionary",
    "gen-server",
    "binary",
    "array",
    "clauses-split",
    "handles-1024",
    "one-node",
    "mesh",
    "mesh-star",
];
const WORKS: [&str; 7] =
    ["get-64", "configuration-8", "broadcast-64", "update-1000", "clauses", "handles", "mesh-2"];

#[test]
fn what_experiments_count_was_read() {
    fixture::try_works("erlang", &OF_EACH, &WORKS);
}

/// One that is frozen doesn't see its input end.
#[test]
fn no_node_of_a_cluster_outlives_bakeoff() {
    if Command::new("erl").arg("-version").output().is_err() {
        return skipped("skipped", "erl is not installed");
    }
    let lab = fixture::of_study("erlang", r#"does = ["mesh-2"]"#);
    let mut check = lab.start(&["check", "erlang/mesh"]);
    lab.wait_until("a node is frozen", || nodes(&lab).iter().any(|&node| is_stopped(node)));
    check.kill().unwrap();
    check.wait().unwrap();
    lab.wait_until("no node is left", || nodes(&lab).is_empty());
    lab.assert_nothing_is_left();
}

/// The nodes of clusters that were started in a lab.
fn nodes(lab: &Lab) -> Vec<i32> {
    let own = format!("TMPDIR={}/", lab.path("tmp").display());
    let all = fs::read_dir("/proc").unwrap().flatten();
    let all = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_ours = |pid: &i32| {
        let [environment, command] = ["environ", "cmdline"]
            .map(|file| fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default());
        environment.split(|&byte| byte == 0).any(|line| line.starts_with(own.as_bytes()))
            && command.split(|&byte| byte == 0).any(|word| word == b"mesh_names")
    };
    all.filter(is_ours).collect()
}

fn is_stopped(pid: i32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    status.lines().any(|line| line.starts_with("State:") && line.contains("stopped"))
}
