//! `proof elsewhere`: what a busy processor costs work on another core.
//!
//! The check `quiet-machine` lets others use processors that neither contender nor client has.
//! No processor is taken by that, but memory, caches and clock are shared.

use std::hint::black_box;
use std::path::PathBuf;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::Parser;
use keeper::affinity;

use crate::interrupt::Interrupt;
use crate::page::{Page, markdown};
use crate::place::Place;
use crate::statistics::Spread;

/// Measures what a busy processor costs fixed pieces of work on another core.
#[derive(Debug, Parser)]
pub struct ElsewhereArguments {
    /// Rounds: each has every neighbour once, in an order of its own.
    #[arg(long, default_value_t = 60)]
    rounds: u32,
    /// Write it to this file as well. What stands there below a heading `## Before` stays.
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
}

/// What the other processor does meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Neighbour {
    /// Nothing.
    Nobody,
    /// Nothing, once more: what this differs by is chance.
    NobodyAgain,
    /// It computes, in registers alone.
    Computes,
    /// It writes all over more memory than any cache holds.
    FillsMemory,
}

impl Neighbour {
    const ALL: [Neighbour; 4] =
        [Neighbour::Nobody, Neighbour::NobodyAgain, Neighbour::Computes, Neighbour::FillsMemory];

    fn name(self) -> &'static str {
        match self {
            Neighbour::Nobody => "nothing",
            Neighbour::NobodyAgain => "nothing, once more",
            Neighbour::Computes => "computes",
            Neighbour::FillsMemory => "writes 256 MiB over and over",
        }
    }
}

/// The names of the pieces of work, in the order in which they are timed.
const WORK: [&str; 3] =
    ["operations in a chain", "operations side by side", "steps through 16 MiB"];
/// Speeds of these, in steps a µs of CPU time.
type Speeds = [f64; WORK.len()];

/// Measures, and tells what came out: nothing is claimed of it.
pub fn run(arguments: &ElsewhereArguments, interrupt: &Interrupt) -> Result<bool, String> {
    let place = Place::find()?;
    if place.server == place.client {
        return Err("this machine has one core: there is none beside it".into());
    }
    affinity::pin(&[place.server]).map_err(|error| format!("binding to a processor: {error}"))?;
    let (lines, mut memory) = (Walk::new(), vec![0_u8; NEIGHBOURS_MEMORY]);
    let mut rounds: Vec<[Speeds; Neighbour::ALL.len()]> = Vec::new();
    for _ in 0..arguments.rounds {
        let mut order = Neighbour::ALL;
        fastrand::shuffle(&mut order);
        let mut round = [Speeds::default(); Neighbour::ALL.len()];
        for neighbour in order {
            interrupt.check()?;
            round[neighbour as usize] =
                beside(neighbour, place.client, &mut memory, || speeds(&lines));
        }
        rounds.push(round);
    }
    let page = page(&place, &rounds);
    arguments.write.as_ref().map_or(Ok(()), |file| page.write(file))?;
    Ok(true)
}

fn page(place: &Place, rounds: &[[Speeds; Neighbour::ALL.len()]]) -> Page {
    let mut page = Page::new("What a busy processor costs work on another core", "elsewhere");
    page.say(format!(
        "Three fixed pieces of work were timed on processor {}, while processor {}, of another \
         core, did something else. A row has the speed of the work beside its speed while that \
         processor did nothing: the median of {} rounds, and the lowest and the highest of them. \
         Time is CPU time, so that what takes turns on a processor costs nothing here. The check \
         [quiet-machine](../checks/quiet-machine.md) rests on this.",
        place.server,
        place.client,
        rounds.len()
    ));
    let mut table = markdown();
    table.set_header(["the other processor", "work", "speed", "lowest", "highest"]);
    for neighbour in &Neighbour::ALL[1..] {
        for (work, name) in WORK.iter().enumerate() {
            let pairs = rounds.iter().map(|round| {
                (round[*neighbour as usize][work], round[Neighbour::Nobody as usize][work])
            });
            let Some(Spread { median, min, max }) = Spread::of_ratios(pairs) else { continue };
            let percent = |ratio: f64| format!("{:.1} %", ratio * 100.0);
            table.add_row([
                neighbour.name().to_string(),
                name.to_string(),
                percent(median),
                percent(min),
                percent(max),
            ]);
        }
    }
    page.say(table);
    page
}

const NEIGHBOURS_MEMORY: usize = 256 << 20;

/// Does something while a processor has this neighbour.
fn beside<T>(neighbour: Neighbour, cpu: usize, memory: &mut [u8], work: impl FnOnce() -> T) -> T {
    if matches!(neighbour, Neighbour::Nobody | Neighbour::NobodyAgain) {
        return work();
    }
    let (has_begun, is_over) = (Barrier::new(2), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // Where it can't be bound it runs on some processor all the same.
            let _ = affinity::pin(&[cpu]);
            has_begun.wait();
            let mut number = 0_u64;
            while !is_over.load(Ordering::Relaxed) {
                number += 1;
                match neighbour {
                    Neighbour::FillsMemory => {
                        for part in memory.chunks_mut(1 << 20) {
                            part.fill(number as u8);
                            if is_over.load(Ordering::Relaxed) {
                                break;
                            }
                        }
                    }
                    _ => drop(black_box(yardstick::whole())),
                }
            }
            black_box(&memory);
        });
        has_begun.wait();
        let done = work();
        is_over.store(true, Ordering::Relaxed);
        done
    })
}

fn speeds(lines: &Walk) -> Speeds {
    [yardstick::chain(), yardstick::whole(), lines.speeds()]
        .map(|tries| Spread::of(tries).map_or(0.0, |spread| spread.median))
}

/// Cache lines, each of which names the next: all are visited in an order that no processor
/// foresees.
struct Walk(Vec<[u32; 16]>);

impl Walk {
    /// 16 MiB: more than a core's own caches hold.
    const LINES: usize = (16 << 20) / size_of::<[u32; 16]>();
    /// About a millisecond, as often as a yardstick's work is tried.
    const STEPS: u32 = 20_000;
    const TRIES: u32 = 20;

    /// One circle through all lines (Sattolo, "An algorithm to generate a random cyclic
    /// permutation", 1986).
    fn new() -> Walk {
        let mut lines: Vec<[u32; 16]> = (0..Walk::LINES).map(|line| [line as u32; 16]).collect();
        for last in (1..lines.len()).rev() {
            lines.swap(last, fastrand::usize(..last));
        }
        Walk(lines)
    }

    /// Steps a µs of each try.
    fn speeds(&self) -> Vec<f64> {
        let mut line = 0;
        let one = |_| {
            let began = yardstick::cpu_time();
            line = (0..Walk::STEPS).fold(line, |line, _| self.0[line as usize][0]);
            let took = (yardstick::cpu_time() - began).max(Duration::from_nanos(1));
            f64::from(Walk::STEPS) / (took.as_secs_f64() * 1e6)
        };
        let speeds = (0..Walk::TRIES).map(one).collect();
        black_box(line);
        speeds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In a shorter circle the walk would stay within a core's own caches.
    #[test]
    fn the_walk_visits_every_line() {
        let lines = Walk::new();
        let mut line = 0;
        let others = (0..).take_while(|_| {
            line = lines.0[line as usize][0];
            line != 0
        });
        assert_eq!(1 + others.count(), Walk::LINES);
    }

    #[test]
    fn a_page_has_the_medians_of_ratios_within_rounds() {
        let round = |slower: f64| [[100.0; 3], [100.0; 3], [99.0; 3], [100.0 * slower; 3]];
        let place = Place { server: 0, client: 1 };
        let text = format!("{:?}", page(&place, &[round(0.5), round(0.75), round(0.8)]));
        let row = "| writes 256 MiB over and over | operations in a chain   | 75.0 %  | 50.0 %  | 80.0 %  |";
        assert!(text.contains(row), "{text}");
    }
}
