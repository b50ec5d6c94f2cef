//! From a study to its trials. In the order of the data:
//!
//! - [`study`]: the files that people write, complaints with file and line, and what each kind of
//!   study makes of them;
//! - [`ready`]: tools, builds, versions, and which contenders are absent;
//! - [`plan`]: which trials in which order, from a seed;
//! - [`place`]: where contender and load run: a `Host`, its ports, its processors' speed;
//! - [`contract`]: whether a contender does its job: a `Contract` for each protocol;
//! - [`drive`]: what puts work on a contender: a `Driver` for each kind of study;
//! - [`sample`]: what is seen meanwhile;
//! - [`trial`]: one trial, the records that a study makes for it, a first look at a server that
//!   nobody wrote a contract for, and trials of nobody, for `bakeoff doctor`;
//! - [`run`]: the whole, phase by phase, with the time left; the run's folder, and folders of
//!   older versions.

pub mod contract;
pub mod drive;
pub mod environment;
pub mod place;
pub mod plan;
pub mod ready;
pub mod run;
pub mod sample;
#[cfg(test)]
mod skipped;
pub mod study;
pub mod trial;
