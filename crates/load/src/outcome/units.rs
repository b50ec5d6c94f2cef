//! Times as an outcome is written: numbers in the unit that their names end in.

/// Whole nanoseconds, in microseconds. Weeks are read as they were, to the nanosecond.
pub(super) mod microseconds {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(in super::super) fn serialize<S: Serializer>(
        ns: &Option<u64>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        ns.map(|ns| ns as f64 / 1e3).serialize(to)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<u64>, D::Error> {
        let us = Option::<f64>::deserialize(from)?;
        Ok(us.map(|us| (us * 1e3).round() as u64))
    }
}

/// A time, in seconds. Weeks are read as they were, to the nanosecond.
pub(super) mod seconds {
    use std::time::Duration;

    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(in super::super) fn serialize<S: Serializer>(
        time: &Duration,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        time.as_secs_f64().serialize(to)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Duration, D::Error> {
        Duration::try_from_secs_f64(f64::deserialize(from)?).map_err(Error::custom)
    }
}
