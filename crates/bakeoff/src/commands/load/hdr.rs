//! `--hdr`: the histograms as an HdrHistogram interval log, for the tools that
//! read one.

use std::io;
use std::time::{Duration, SystemTime};

use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{
    IntervalLogWriterBuilder, IntervalLogWriterError, Tag,
};
use load::Outcome;

/// Writes one interval, the measured window, for each distribution.
///
/// # Errors
/// Those of `into`.
pub fn write(outcome: &Outcome, mut into: &mut dyn io::Write) -> io::Result<()> {
    let mut serializer = V2DeflateSerializer::new();
    let began = SystemTime::now() - outcome.window_began.elapsed();
    let mut log = IntervalLogWriterBuilder::new()
        .add_comment("[Histogram log format version 1.3]")
        .add_comment("bakeoff load. Values are in nanoseconds; Interval_Max is in milliseconds.")
        .add_comment("Tags: response (from the intended start), service (from the send),")
        .add_comment("lateness (intended start to send), connect (SYN to established).")
        .add_comment("response_at_least and service_at_least are waits that ended without an")
        .add_comment("answer: each true value is at least the one given.")
        .with_start_time(began)
        .with_base_time(began)
        .with_max_value_divisor(1e6)
        .begin_log_with(&mut into, &mut serializer)?;
    let distributions = [
        ("response", &outcome.response.good),
        ("response_at_least", &outcome.response.censored),
        ("service", &outcome.service.good),
        ("service_at_least", &outcome.service.censored),
        ("lateness", &outcome.lateness),
        ("connect", &outcome.connect),
    ];
    for (tag, histogram) in distributions {
        log.write_histogram(histogram, Duration::ZERO, outcome.window, Tag::new(tag)).map_err(
            |error| match error {
                IntervalLogWriterError::IoError(error) => error,
                error @ IntervalLogWriterError::SerializeError(_) => {
                    io::Error::other(error.to_string())
                }
            },
        )?;
    }
    Ok(())
}
