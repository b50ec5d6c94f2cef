//! Stores, which the load generator asks for keys.

use super::{Declared, Descriptor, Values, http};
use crate::figure::{DISK_BYTES, FLUSHES, Figure, LOAD_AVERAGE, MEMORY, Unit, WRITTEN};
use crate::setting;

pub(super) const KEYS: Descriptor = Descriptor {
    is_asked: true,
    keeps_data: true,
    passes_on: false,
    counts: ("request", "requests"),
    dimensions: &[
        Declared { id: setting::ASKS, one: "", many: "", values: Values::Names },
        // A value has room for what says whose it is.
        Declared::numbers(setting::VALUE_BYTES, ("byte a value", "bytes a value"), 24..=64 << 20),
        Declared::numbers(setting::KEYS, ("key", "keys"), 1..=1_000_000_000),
        http::AT_ONCE,
        http::FROM,
    ],
    figures,
};

/// What servers are compared by, and what the values take.
fn figures(one: &str, many: &str) -> Vec<Figure> {
    let own = [
        Figure::less(MEMORY, "peak memory", "memory", Unit::Bytes),
        Figure::less(DISK_BYTES, "bytes on disk", "on disk", Unit::Bytes),
    ];
    let written = "bytes written a byte stored";
    let details = [
        Figure::less(WRITTEN, written, "written/stored", Unit::Count),
        Figure::less(FLUSHES, "flushes of the disk", "flushes/s", Unit::PerSecond),
        Figure::less(LOAD_AVERAGE, "load average", "load", Unit::Count),
    ];
    let details = details.map(|figure| Figure { is_detail: true, ..figure });
    http::figures(one, many).into_iter().chain(own).chain(details).collect()
}
