//! From a study to findings: what is asked (study, contender, plan), how one
//! trial of it is made (trial and what it is made of), what that shows (judge,
//! outcomes), and the whole in its order (run).

mod bounds;
pub mod cgroup;
pub mod client;
pub mod compare;
pub mod connections;
pub mod contender;
pub mod contract;
mod digest;
pub mod doctor;
pub mod folder;
pub mod http;
pub mod judge;
pub mod keeper;
pub mod kept;
pub mod leftovers;
mod limits;
pub mod machine;
mod measure;
mod older;
pub mod outcomes;
pub mod output_tail;
mod pair;
mod perf_data;
pub mod place;
pub mod plan;
pub mod ports;
pub mod prepare;
mod proc_file;
pub mod process_tree;
pub mod programs;
pub mod rates;
mod repeat;
pub mod run;
pub mod sample;
#[cfg(test)]
mod skipped;
pub mod statistics;
pub mod study;
mod texts;
pub mod toml_file;
pub mod trial;
mod yardstick;
