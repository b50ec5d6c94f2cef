//! Whether a trial's figures mean what they seem to.
//!
//! One file a check. A check ([`check`]) looks at the evidence of one trial, or at one row of a
//! comparison beside the others, and gives its word. [`judging`] adds what the check says of
//! itself, and the order. To add one: a file here, a line in [`CHECKS`], and a page of the check's
//! own words in `docs/checks/`. A test holds the page against them.

mod answers_alike;
mod arithmetic;
mod check;
mod client_limit;
mod contract;
mod cpu_quota;
mod delayed_ack;
mod deliveries;
mod disk_writes;
mod errors;
mod evictions;
mod fair_answers;
mod flushes;
mod frequency;
mod fresh_process;
mod hidden_tail;
mod hosts;
mod judging;
mod keep_alive;
mod lateness;
mod load_arrived;
mod memory;
mod misses;
mod network;
mod offered_rate;
mod one_ceiling;
mod optimised_build;
mod order;
mod own_account;
mod pressure;
mod quiet_machine;
mod replication;
mod runtime;
mod same_answers;
mod server_cores;
mod shared_cores;
mod slow_reader;
#[cfg(test)]
mod sound;
mod stall;
mod steady;
mod storm;
mod survives;

pub use check::Check;
pub(crate) use check::RowSeen;
pub use client_limit::{CLIENT_LIMIT, asks_for_second_client};
pub(crate) use cpu_quota::CPU_QUOTA;
pub use hidden_tail::p99_by_time_us;
pub(crate) use judging::judge_row;
pub use judging::{
    is_about_the_machine, is_disturbed, judge, judge_load, judge_place, over_blocks,
};
pub use pressure::DELEGATE;
pub(crate) use replication::noise_floor;
pub use replication::stands;
pub(crate) use server_cores::{SERVER_CORES, found_idle_cores, was_let_idle};
pub(crate) use survives::is_of_no_class;

/// All checks, in the order of what can go wrong: first whether the contender
/// does the job, last whether it does so steadily and is compared fairly.
pub const CHECKS: [&Check; 39] = [
    &contract::CONTRACT,
    &same_answers::SAME_ANSWERS,
    &answers_alike::ANSWERS_ALIKE,
    &optimised_build::OPTIMISED_BUILD,
    &load_arrived::LOAD_ARRIVED,
    &hosts::HOSTS,
    &errors::ERRORS,
    &deliveries::DELIVERIES,
    &misses::MISSES,
    &evictions::EVICTIONS,
    &slow_reader::SLOW_READER,
    &storm::STORM,
    &survives::SURVIVES,
    &flushes::FLUSHES_CHECK,
    &fair_answers::FAIR_ANSWERS,
    &keep_alive::KEEP_ALIVE,
    &offered_rate::OFFERED_RATE,
    &CLIENT_LIMIT,
    &lateness::LATENESS,
    &one_ceiling::ONE_CEILING,
    &SERVER_CORES,
    &shared_cores::SHARED_CORES,
    &CPU_QUOTA,
    &network::NETWORK,
    &disk_writes::DISK_WRITES,
    &quiet_machine::QUIET_MACHINE,
    &memory::MEMORY,
    &pressure::PRESSURE,
    &frequency::FREQUENCY,
    &arithmetic::ARITHMETIC,
    &own_account::OWN_ACCOUNT,
    &steady::STEADY,
    &stall::STALL,
    &hidden_tail::HIDDEN_TAIL,
    &delayed_ack::DELAYED_ACK,
    &runtime::RUNTIME,
    &fresh_process::FRESH_PROCESS,
    &order::ORDER,
    &replication::REPLICATION,
];

/// Those of them that speak of the place and its sensors whoever is measured.
const OF_THE_PLACE: [&Check; 10] = [
    &load_arrived::LOAD_ARRIVED,
    &CLIENT_LIMIT,
    &SERVER_CORES,
    &shared_cores::SHARED_CORES,
    &CPU_QUOTA,
    &network::NETWORK,
    &quiet_machine::QUIET_MACHINE,
    &memory::MEMORY,
    &pressure::PRESSURE,
    &frequency::FREQUENCY,
];

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::check::Scope;
    use super::*;

    #[test]
    fn every_check_has_a_page_with_its_own_words_and_every_page_a_check() {
        let pages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/checks");
        let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        for check in CHECKS {
            let path = pages.join(format!("{}.md", check.id));
            let page = std::fs::read_to_string(&path)
                .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let page = one_line(&page);
            for words in [check.signal, check.threshold, check.why, check.fix] {
                assert!(
                    page.contains(&one_line(words)),
                    "docs/checks/{}.md lacks: {words}",
                    check.id
                );
            }
        }
        // The list of all, with the marks of those that aren't about one trial by itself.
        let list = std::fs::read_to_string(pages.join("README.md")).unwrap();
        let rows: Vec<&str> = list.lines().filter(|line| line.starts_with("| [")).collect();
        assert_eq!(rows.len(), CHECKS.len(), "docs/checks/README.md lists one check a line");
        for (check, row) in CHECKS.iter().zip(rows) {
            let mark = match check.scope {
                Scope::Anyway(_) | Scope::Trial(_) => "",
                Scope::Row(_) | Scope::MachineOverRow(_) | Scope::MachineOverLoad(_) => " †",
                Scope::Moment(_) | Scope::Drift { .. } | Scope::Machine(_) => " ‡",
            };
            let expected = format!("| [{0}]({0}.md){mark} | ", check.id);
            assert!(row.starts_with(&expected), "docs/checks/README.md: {row}, not {expected}");
        }
        for page in std::fs::read_dir(pages).unwrap() {
            let name = page.unwrap().file_name().into_string().unwrap();
            let id = name.strip_suffix(".md").unwrap();
            let known = id == "README" || CHECKS.iter().any(|check| check.id == id);
            assert!(known, "docs/checks/{name} is no check's page");
        }
    }
}
