//! Runs one program and lets nothing of it live on.
//!
//! - `keeper`: the keeper, a process between bakeoff and a program; [`kept`]: its handle in
//!   bakeoff;
//! - [`cgroup`]: the control groups of a trial;
//! - [`leftovers`]: what dead runs left, ended by the next;
//! - [`lines`]: what a program prints, line by line, with the time of arrival;
//! - [`output`]: the end of what a program wrote; [`text`]: foreign text made harmless;
//! - `perf_data`: the file that a killed JVM leaves;
//! - `open_files`: what a program writes outside of its folder;
//! - [`affinity`]: on which processors a thread runs; `until`: waiting with a deadline;
//! - [`process_tree`], [`proc_file`]: what is read of processes, with few system calls.

pub mod affinity;
pub mod cgroup;
mod keeper;
pub mod kept;
pub mod leftovers;
pub mod lines;
mod open_files;
pub mod output;
mod perf_data;
pub mod proc_file;
pub mod process_tree;
#[cfg(test)]
mod skipped;
pub mod text;
mod until;

pub use keeper::{Event, Order, SUBCOMMAND, Scratch, bind_to_this_process, in_words, main};
