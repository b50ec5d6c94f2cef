//! Histograms as text: HdrHistogram's V2 format, compressed, in Base64.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use serde::Deserialize;
use serde::de::Error;

/// A histogram as text.
pub fn encode(histogram: &Histogram<u64>) -> String {
    let mut bytes = Vec::new();
    V2DeflateSerializer::new()
        .serialize(histogram, &mut bytes)
        .expect("a histogram can be written to memory");
    STANDARD.encode(bytes)
}

/// The histogram of a text; `None` where it is none.
pub fn decode(text: &str) -> Option<Histogram<u64>> {
    let bytes = STANDARD.decode(text).ok()?;
    Deserializer::new().deserialize(&mut &bytes[..]).ok()
}

/// For serde, which looks for this name.
pub fn serialize<S: serde::Serializer>(
    histogram: &Histogram<u64>,
    to: S,
) -> Result<S::Ok, S::Error> {
    to.serialize_str(&encode(histogram))
}

/// For serde, which looks for this name.
pub fn deserialize<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Histogram<u64>, D::Error> {
    let text = String::deserialize(from)?;
    decode(&text).ok_or_else(|| D::Error::custom("this is no histogram"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_kept_is_what_was_measured(
            values in prop::collection::vec(1..60_000_000_000_u64, 0..300),
        ) {
            let mut measured = Histogram::new(3).unwrap();
            values.into_iter().for_each(|value| measured.record(value).unwrap());
            prop_assert_eq!(decode(&encode(&measured)), Some(measured));
        }
    }

    #[test]
    fn a_wait_as_long_as_the_longest_run_is_told_as_it_was() {
        let (day, mut times) = (86_400_000_000_000, crate::empty());
        times.saturating_record(day);
        assert!(times.max() >= day, "{} ns of {day}", times.max());
    }

    #[test]
    fn what_is_none_tells_nothing() {
        assert_eq!(decode("not a histogram"), None);
        assert_eq!(decode(""), None);
    }
}
