//! Runs one program and lets nothing of it live on: the keeper, its control groups, what is
//! read of processes, and what dead runs left.

pub mod affinity;
pub mod cgroup;
mod keeper;
pub mod kept;
pub mod leftovers;
pub mod lines;
pub mod output;
mod perf_data;
pub mod proc_file;
pub mod process_tree;
#[cfg(test)]
mod skipped;
pub mod text;
mod until;

pub use keeper::{Event, Order, SUBCOMMAND, Scratch, bind_to_this_process, in_words, main};
