//! The museum of mistakes: known ways to fool a benchmark, made again on purpose.
//!
//! A mistake is a file (`mistakes/<name>.toml`): a set-up of a study's contenders,
//! and what is done to it. It is measured twice, with the mistake and without, by
//! the lab and judged by the lab; here is only looked at whether the check that it
//! names has caught it, and whether the set-up without the mistake comes out clean.
//!
//! - [`mistake`]: the file;
//! - [`stage`]: the set-up with the mistake and without it;
//! - [`condition`]: what is done to the machine for the length of a run;
//! - [`exhibit`]: both runs made, and what came of them;
//! - [`figure`]: what somebody who believes what he sees would have printed;
//! - `survived`: what was found out of stores that were cut off;
//! - [`verdict`]: whether it was caught;
//! - [`page`]: the stories, for readers.

pub mod condition;
pub mod exhibit;
pub mod figure;
pub mod mistake;
pub mod page;
pub mod stage;
mod survived;
pub mod verdict;
