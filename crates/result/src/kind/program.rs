//! Programs that drive themselves. Their studies declare what settings differ in.

use super::Descriptor;
use crate::figure::{Figure, MEMORY, Unit};

pub(super) const PROGRAM: Descriptor = Descriptor {
    is_asked: false,
    keeps_data: false,
    passes_on: false,
    counts: ("unit of work", "units of work"),
    dimensions: &[],
    figures,
};

fn figures(one: &str, many: &str) -> Vec<Figure> {
    let memory = Figure::less(MEMORY, "peak memory", "memory", Unit::Bytes);
    vec![Figure::rate(many, ("does", "did")), Figure::cpu(one), memory]
}
