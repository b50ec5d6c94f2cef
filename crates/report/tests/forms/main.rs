//! A run in each of its forms, as people and spreadsheets read it.
//!
//! - [`terminal`], [`html`], [`markdown`], [`csv`]: the form of that name;
//! - [`export`]: what trackers of benchmarks get;
//! - [`headline`]: the sentence that all begin with;
//! - [`colours`]: those of the page;
//! - [`fixture`]: the runs.

mod claims;
mod colours;
mod csv;
mod export;
#[path = "../fixture/mod.rs"]
mod fixture;
mod headline;
mod html;
mod markdown;
#[path = "../fixture/skipped.rs"]
mod skipped;
mod survived;
mod terminal;
