//! When a request is due, and which thread takes it.
//!
//! - [`clock`]: the threads' common time;
//! - [`schedule`]: when requests are due in an open loop;
//! - [`window`]: the borders of a run, and the two parts that they make;
//! - [`queue`]: which request is next, and which thread is awake for it;
//! - [`turns`]: a thread's hand in the queue.

pub(crate) mod clock;
pub(crate) mod queue;
pub(crate) mod schedule;
pub(crate) mod turns;
pub(crate) mod window;
