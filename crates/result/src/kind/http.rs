//! Servers, which the load generator asks by HTTP/1.1.

use super::{Declared, Descriptor, Values};
use crate::figure::{CLIENT_CPU_US, Figure, P50_US, P99_US, Unit};
use crate::setting::{CLIENTS, CONNECTIONS, KEPT, PaceKind};

pub(super) const HTTP: Descriptor = Descriptor {
    is_asked: true,
    keeps_data: false,
    passes_on: false,
    counts: ("request", "requests"),
    dimensions: &[AT_ONCE, MODES, FROM],
    figures,
};

/// Connections at once.
pub(super) const AT_ONCE: Declared =
    Declared::numbers(CONNECTIONS, ("connection", "connections"), 1..=100_000);
/// Whether a connection serves many requests or one.
const MODES: Declared = Declared {
    id: KEPT,
    one: "",
    many: "",
    values: Values::Flags("kept alive", "of one request each"),
};
/// How many hosts the load comes from.
pub(super) const FROM: Declared = Declared {
    id: CLIENTS,
    one: "client host",
    many: "client hosts",
    values: Values::Optional(1..=100),
};

/// Rates rank where contenders are to do what they can; at one rate for all, which leaves rates
/// nothing to say, CPU time ranks.
pub(super) fn figures(one: &str, many: &str) -> Vec<Figure> {
    let cpu = Figure { ranks: vec![PaceKind::Equal], ..Figure::cpu(one) };
    let client = format!("client CPU time a {one}");
    let client = Figure::less(CLIENT_CPU_US, &client, "client CPU µs", Unit::CpuMicros);
    vec![
        Figure::rate(many, ("answers", "answered")),
        cpu,
        Figure { is_detail: true, ..client },
        Figure::less(P50_US, "p50", "p50", Unit::Micros),
        Figure::less(P99_US, "p99", "p99", Unit::Micros),
    ]
}
