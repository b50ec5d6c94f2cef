//! `proof bodies`: bytes a second of large bodies, beside wrk.

use std::path::PathBuf;

use clap::Parser;
use judge::statistics::{BLOCKS_MAX, BLOCKS_MIN, SIGNIFICANCE, log_ratios, sign_flip_test};

use crate::interrupt::Interrupt;
use crate::nginx;
use crate::page::{Page, markdown};
use crate::place::Place;
use crate::rounds::{self, Cell, Effort};
use crate::statistics::Spread;
use crate::tool::Tool;

/// Measures bytes a second of bodies of 4 KB, 64 KB and 1 MB, beside wrk.
// Of fewer rounds nobody can say what is chance.
#[derive(Debug, Parser)]
#[command(mut_arg("rounds", |rounds| rounds.default_value("11")))]
pub struct BodiesArguments {
    #[command(flatten)]
    effort: Effort,
    /// Connections at once.
    #[arg(long, default_value_t = 30)]
    connections: u32,
    /// Write it to this file as well. What stands there below a heading `## Before` stays.
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
}

const SIZES: [usize; 3] = [4 << 10, 64 << 10, 1 << 20];

/// A body: its size, and how it is sent.
#[derive(Debug, Clone, Copy)]
struct Body {
    size: usize,
    /// Whether the head is in a packet of its own, which for small bodies makes twice
    /// as many.
    apart: bool,
}

impl Body {
    /// Those asked for, and the one for which it matters how the head is sent.
    fn all() -> impl Iterator<Item = Body> {
        let together = SIZES.map(|size| Body { size, apart: false });
        together.into_iter().chain([Body { size: SIZES[0], apart: true }])
    }

    fn path(self) -> String {
        format!("{}/{}", if self.apart { "/apart" } else { "" }, self.size)
    }

    fn name(self) -> String {
        let apart = if self.apart { ", head apart (`tcp_nopush off`)" } else { "" };
        format!("{} KiB{apart}", self.size >> 10)
    }
}

const TOOLS: [Tool; 3] = [Tool::Bakeoff, Tool::BakeoffEpoll, Tool::Wrk];

/// What is measured, before what came of it.
const ABOUT: &str = "Bytes a second of large bodies, beside wrk, which asks in turn with bakeoff. \
Asked are as many as wrk's. Where nginx is the limit, which client is ahead is chance; *not \
beyond chance* is what a sign-flip test says over the rounds. nginx has `sendfile` and \
`tcp_nopush` on, as in Debian's configuration. With nginx's own default, `tcp_nopush off`, head \
and body come in packets of their own.";

/// Measures, and prints a table. Tells whether nothing is missed.
pub fn run(arguments: &BodiesArguments, interrupt: &Interrupt) -> Result<bool, String> {
    let cell = |body: Body| Cell { path: body.path(), ..Cell::kept_alive(arguments.connections) };
    let cells: Vec<Cell> = Body::all().map(cell).collect();
    let place = Place::find()?;
    let (tools, absent) = rounds::present(&TOOLS);
    let nginx = nginx::start(&place, &SIZES, interrupt)?;
    let mut measured =
        rounds::measure(&|_| &nginx, &place, &cells, &tools, arguments.effort, interrupt)?;
    absent.into_iter().for_each(|note| measured.note(note));

    let mut page = Page::new("Bytes a second of large bodies", "bench-bodies");
    page.say(ABOUT);
    page.say(format!("{}; {}.", arguments.effort.in_words(), place.in_words()));
    let mut holds = true;
    let mut table = markdown();
    table.set_header(["body", "client", "MB/s", "of wrk's (smallest to largest)", ""]);
    for body in Body::all() {
        let cell = cell(body);
        for (tool, _) in &tools {
            let Some(rate) = measured.rate(&cell, *tool) else { continue };
            let pairs = match tool {
                Tool::Wrk => Vec::new(),
                _ => measured.pairs(&cell, *tool, Tool::Wrk, |sample| sample.rate),
            };
            let ratio = Spread::of_ratios(pairs.iter().copied());
            let word = match ratio {
                Some(ratio) => word(ratio, &pairs),
                None if *tool == Tool::Wrk => "",
                None => NOT_SHOWN,
            };
            holds &= ![MISSED, NOT_SHOWN].contains(&word);
            table.add_row([
                body.name(),
                tool.name().to_string(),
                format!("{:.0}", rate.median * body.size as f64 / 1e6),
                ratio.map(Spread::in_words).unwrap_or_default(),
                word.to_string(),
            ]);
        }
    }
    page.say(table);
    page.say_notes(&measured.notes());
    if let Some(file) = &arguments.write {
        page.write(file)?;
    }
    Ok(holds)
}

const MISSED: &str = "MISSED: less than wrk's";
/// Without wrk, or where each of its runs failed.
const NOT_SHOWN: &str = "NOT SHOWN";

/// Whether it is as much as wrk's. Where the server is the limit both are equal, and
/// which is ahead is chance: of fewer or more rounds than the test takes that can't be said.
fn word(ratio: Spread, pairs: &[(f64, f64)]) -> &'static str {
    let may_be_chance = || {
        (BLOCKS_MIN..=BLOCKS_MAX).contains(&pairs.len())
            && sign_flip_test(&log_ratios(pairs)) >= SIGNIFICANCE
    };
    if ratio.median >= 1.0 {
        "holds"
    } else if may_be_chance() {
        "below wrk's, not beyond chance"
    } else {
        MISSED
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chance_can_be_told_from_as_many_rounds_as_are_made_unless_told() {
        let rounds = BodiesArguments::parse_from(["bodies"]).effort.rounds();
        assert!((BLOCKS_MIN..=BLOCKS_MAX).contains(&(rounds as usize)), "{rounds}");
    }

    #[test]
    fn what_is_less_is_said_so_unless_it_may_be_chance() {
        let word_of = |ratios: &[f64]| {
            let pairs: Vec<(f64, f64)> = ratios.iter().map(|ratio| (*ratio, 1.0)).collect();
            word(Spread::of_ratios(pairs.iter().copied()).unwrap(), &pairs)
        };
        assert_eq!(word_of(&[0.9, 1.01, 1.1]), "holds");
        assert_eq!(
            word_of(&[0.98, 1.03, 0.99, 0.97, 1.02, 0.99]),
            "below wrk's, not beyond chance"
        );
        assert_eq!(word_of(&[0.98, 0.99, 0.97, 0.96, 0.99, 0.98]), MISSED);
        let few = [0.98, 1.03, 0.99, 0.97, 0.99];
        assert_eq!(word_of(&few), MISSED, "too few to tell chance by");
    }
}
