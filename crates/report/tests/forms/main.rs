//! A run in each of its forms, as people and spreadsheets read it.
//!
//! - [`terminal`], [`html`], [`markdown`], [`csv`]: the form of that name;
//! - [`export`]: what trackers of benchmarks get;
//! - [`headline`]: the sentence that all begin with;
//! - [`colours`]: those of the page;
//! - [`rooms`]: gateways, of which nothing is told in words of requests; [`scripts`]: what they did
//!   with robots that aren't usual;
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
mod rooms;
mod scripts;
#[path = "../fixture/skipped.rs"]
mod skipped;
mod survived;
mod terminal;
