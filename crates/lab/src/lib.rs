//! From a study to its trials, in the order of the data: what is asked (study), what it needs
//! (ready), which trials in which order (plan), where they are made (place), whether a
//! contender does its job (contract), what puts work on it (drive), what is seen meanwhile
//! (sample), one trial (trial), and the whole (run).

pub mod contract;
pub mod drive;
pub mod place;
pub mod plan;
pub mod ready;
pub mod run;
pub mod sample;
#[cfg(test)]
mod skipped;
pub mod study;
pub mod trial;
