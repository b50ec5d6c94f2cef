//! Distributions of times, in nanoseconds.
//!
//! - [`text`]: one as text, as it stands in files and goes from process to process;
//! - [`latency`]: one of answers, beside one of waits that ended without an answer;
//! - [`reading`]: percentiles, and when they are withheld;
//! - [`delayed_ack`]: whether times cluster where acknowledgements are late;
//! - [`neglect`]: which waits are longer than a server's usual time explains;
//! - [`median`](fn@median): of values that are too few for a distribution.

pub mod delayed_ack;
pub mod latency;
mod median;
pub mod neglect;
pub mod reading;
pub mod text;

pub use hdrhistogram::Histogram;
pub use latency::{Latency, Quantile};
pub use median::median;

/// The longest time that a histogram tells apart, in nanoseconds: two days, since a run of
/// a day that offers more than is served has waits of a day.
const LONGEST_NS: u64 = 2 * 86_400 * 1_000_000_000;

/// An empty histogram of nanoseconds, from 1 to two days, to three digits.
pub fn empty() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LONGEST_NS, 3).expect("these bounds are within the library's")
}
