//! The borders of a run, and the two parts that they make.

/// The borders of a run on the threads' common clock, in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    /// When the warm-up begins.
    pub start: u64,
    /// When the warm-up is over.
    pub begin: u64,
    /// When the last request may be due; the largest number if only a count
    /// of requests ends it.
    pub end: u64,
}

/// The two parts of a run that are accounted for apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Before the window.
    Warmup,
    /// The measured window.
    Window,
}
