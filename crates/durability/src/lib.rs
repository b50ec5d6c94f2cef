//! Cuts a store off while it is written to, starts it again on the same data, and reads back
//! what it acknowledged.
//!
//! Three rungs of a ladder, each of which takes away what the one below it leaves: the store's
//! process dies; its machine stops; the power goes. [`docs/durability.md`] says what each can't
//! see. The parts, in the order of one cut:
//!
//! - [`ladder`]: which cuts are made of which contender, and what they say together;
//!   `of_run`: the same as a step of a run;
//! - [`cut`]: one cut, in a process of its own that takes everything with it when it ends;
//! - [`disk`]: what the data lies on, an [`image`] over [`loop_device`] and, on the highest rung, over
//!   [`forgetful`]; [`namespace`]: where it is mounted;
//! - [`writer`], [`value`]: what is written, and what was acknowledged;
//! - [`reading`], [`judgement`]: what is there afterwards, and what became of what was
//!   acknowledged.
//!
//! [`docs/durability.md`]: ../../../docs/durability.md

pub mod cut;
mod disk;
pub mod forgetful;
mod image;
mod judgement;
mod ladder;
mod loop_device;
mod namespace;
mod of_run;
mod reading;
mod value;
mod writer;

pub use ladder::{Asked, CUTS, Told, measure};
pub use of_run::OfRun;
