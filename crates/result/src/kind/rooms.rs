//! Servers that pass each message on to all members of its sender's room, which are the load
//! generator's robots. They are called gateways where people read of them.

use super::{Declared, Descriptor};
use crate::figure::{
    CLIENT_CPU_US, Figure, LINES_OF_CODE, P50_US, P99_US, ROBOT_BYTES, UNTIL_ALL_P99_US, Unit,
    Words,
};
use crate::setting::{CONNECTIONS, MESSAGE_BYTES, PaceKind, ROOM};

pub(super) const ROOMS: Descriptor = Descriptor {
    is_asked: true,
    keeps_data: false,
    passes_on: true,
    counts: ("delivery", "deliveries"),
    dimensions: &[
        Declared::numbers(ROOM, ("robot a room", "robots a room"), 1..=100_000),
        Declared::numbers(CONNECTIONS, ("robot", "robots"), 1..=100_000),
        // A message has room for what says whose it is.
        Declared::numbers(MESSAGE_BYTES, ("byte a message", "bytes a message"), 32..=65_535),
    ],
    figures,
};

/// All are offered one rate, so that what a delivery costs ranks first, then how long it takes,
/// and what a robot takes that says nothing.
fn figures(one: &str, many: &str) -> Vec<Figure> {
    let ranks = || vec![PaceKind::Equal];
    let p99 = Figure {
        ranks: ranks(),
        words: Some(Words::of("needs", "needed", "much", &format!("time for 99 % of {many}"))),
        ..Figure::less(P99_US, &format!("p99 of {one}"), "p99", Unit::Micros)
    };
    let of_robot = Figure {
        ranks: ranks(),
        words: Some(Words::of("takes", "took", "much", "memory a robot")),
        ..Figure::less(ROBOT_BYTES, "memory a robot", "mem/robot", Unit::Bytes)
    };
    let client = format!("client CPU time a {one}");
    let details = [
        Figure::less(UNTIL_ALL_P99_US, "p99 until all have it", "p99 of all", Unit::Micros),
        Figure::less(CLIENT_CPU_US, &client, "client CPU µs", Unit::CpuMicros),
    ];
    let details = details.map(|figure| Figure { is_detail: true, ..figure });
    let own = [
        Figure::rate(many, ("delivers", "delivered")),
        Figure { ranks: ranks(), ..Figure::cpu(one) },
        p99,
        of_robot,
        Figure::less(P50_US, &format!("p50 of {one}"), "p50", Unit::Micros),
        Figure::less(LINES_OF_CODE, "lines of code", "lines", Unit::Count),
    ];
    own.into_iter().chain(details).collect()
}
