//! One contender of each experiment does its work, and what it counts was read.
//! `make check-programs` has all of them do all.

#[path = "../../../crates/bakeoff/tests/fixture/mod.rs"]
mod fixture;

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
