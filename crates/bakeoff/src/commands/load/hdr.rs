//! `--hdr`: the histograms as an HdrHistogram interval log, for the tools that
//! read one.

use std::io;
use std::time::{Duration, SystemTime};

use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{
    IntervalLogWriterBuilder, IntervalLogWriterError, Tag,
};
use histogram::Histogram;
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
        .add_comment("lateness (intended start to send, or to the SYN if the request has a")
        .add_comment("connection of its own), connection_wait (the part of it until a connection")
        .add_comment("was free, if none was), connect (SYN to established).")
        .add_comment("response_at_least and service_at_least are waits that ended without an")
        .add_comment("answer: each true value is at least the one given.")
        .with_start_time(began)
        .with_base_time(began)
        .with_max_value_divisor(1e6)
        .begin_log_with(&mut into, &mut serializer)?;
    for (tag, histogram) in distributions(outcome) {
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

/// What the log has, by tag.
fn distributions(outcome: &Outcome) -> [(&'static str, &Histogram<u64>); 8] {
    [
        ("response", &outcome.response.good),
        ("response_at_least", &outcome.response.censored),
        ("service", &outcome.service.good),
        ("service_at_least", &outcome.service.censored),
        ("lateness", &outcome.lateness),
        ("connection_wait", &outcome.connection_wait),
        ("connect", &outcome.connect),
        ("open", &outcome.opening),
    ]
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::prelude::BASE64_STANDARD;
    use hdrhistogram::serialization::Deserializer;
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

    use super::super::run::tests::bad;
    use super::*;

    #[test]
    fn the_log_read_back_has_every_count() {
        let outcome = bad().outcome;
        let mut log = Vec::new();
        write(&outcome, &mut log).unwrap();
        let read: Vec<(String, Duration, Histogram<u64>)> = IntervalLogIterator::new(&log)
            .filter_map(|entry| match entry.unwrap() {
                LogEntry::Interval(interval) => Some(interval),
                LogEntry::StartTime(_) | LogEntry::BaseTime(_) => None,
            })
            .map(|interval| {
                let bytes = BASE64_STANDARD.decode(interval.encoded_histogram()).unwrap();
                let histogram = Deserializer::new().deserialize(&mut &bytes[..]).unwrap();
                (interval.tag().unwrap().to_string(), interval.duration(), histogram)
            })
            .collect();
        let written = distributions(&outcome);
        assert_eq!(read.len(), written.len());
        for ((tag, duration, histogram), (expected_tag, expected)) in read.iter().zip(written) {
            assert_eq!((tag.as_str(), *duration), (expected_tag, outcome.window));
            assert_eq!(histogram, expected, "the histogram {tag} changed on its way");
        }
    }
}
