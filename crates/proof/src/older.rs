//! An older `bakeoff load` beside the one of today. Each is a client in the same rounds, so that
//! what changed between them is a ratio within a round.

use std::fs;
use std::path::{Path, PathBuf};

use comfy_table::Table;
use serde::Serialize;

use crate::page::{Page, markdown};
use crate::rounds::Measured;
use crate::statistics::Spread;

/// An older program, and what came of the comparison with it.
#[derive(Debug, Serialize)]
pub struct Older {
    program: PathBuf,
    compared: Vec<Compared>,
    /// What a reader has to know beside the figures: where it is absent, and why.
    notes: Vec<String>,
}

/// One client under one load, now and before.
#[derive(Debug, Serialize)]
struct Compared {
    client: &'static str,
    load: String,
    /// CPU µs a request, of each round that has both.
    new_cpu_us: Vec<f64>,
    old_cpu_us: Vec<f64>,
    new_by_old: Spread,
}

impl Older {
    /// The program at this path. What is compared with it is still to come.
    pub fn at(path: &Path) -> Result<Older, String> {
        let program = path
            .canonicalize()
            .ok()
            .filter(|program| program.is_file())
            .ok_or_else(|| format!("--older: {} is no program", path.display()))?;
        Ok(Older { program, compared: Vec::new(), notes: Vec::new() })
    }

    /// Where it is.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Adds what was measured of a client that is both, and says it on the page: a row a load.
    pub fn compare<C: Clone + Ord, T: Copy + Ord>(
        &mut self,
        measured: &Measured<C, T>,
        clients: &[(&'static str, T, T)],
        loads: &[(String, &C)],
        page: &mut Page,
    ) {
        let first = self.compared.len();
        for &(client, new, old) in clients {
            for (load, cell) in loads {
                let pairs = measured.pairs(cell, new, old, |sample| sample.cpu_us);
                let Some(new_by_old) = Spread::of_ratios(pairs.iter().copied()) else { continue };
                let (new_cpu_us, old_cpu_us) = pairs.into_iter().unzip();
                let load = load.clone();
                self.compared.push(Compared { client, load, new_cpu_us, old_cpu_us, new_by_old });
            }
        }
        self.notes.extend(measured.notes());
        match &self.compared[first..] {
            [] => page.say("**Beside the older one:** no load was put on by both."),
            compared => {
                page.say(
                    "**Beside the older one:** CPU µs a request, and medians of paired ratios \
                     (smallest to largest)",
                );
                page.say(table(compared));
            }
        }
    }

    /// Writes all of it as JSON.
    pub fn write(&self, file: &Path) -> Result<(), String> {
        let text = serde_json::to_string_pretty(self).map_err(|error| error.to_string())?;
        fs::write(file, text + "\n").map_err(|error| format!("{}: {error}", file.display()))
    }
}

fn table(compared: &[Compared]) -> Table {
    let median = |values: &[f64]| {
        Spread::of(values.iter().copied()).map_or("–".into(), |it| format!("{:.2}", it.median))
    };
    let mut table = markdown();
    table.set_header(["client", "load", "old", "new", "new by old"]);
    for it in compared {
        table.add_row([
            it.client.to_string(),
            it.load.clone(),
            median(&it.old_cpu_us),
            median(&it.new_cpu_us),
            it.new_by_old.in_words(),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rounds::{Cell, Sample};
    use crate::tool::Tool;

    #[test]
    fn the_new_one_stands_beside_the_old_one_by_the_rounds_that_have_both() {
        let cell = Cell::kept_alive(30);
        let mut measured = Measured::default();
        let sample = |cpu_us| Some(Sample { cpu_us, rate: 1.0, ..Sample::default() });
        // The machine was slow in the second round, which hits both alike.
        let new = [sample(9.0), sample(18.0), sample(12.0), sample(1.0)];
        let old = [sample(10.0), sample(20.0), sample(10.0), None];
        for (new, old) in new.into_iter().zip(old) {
            measured.add(&cell, Tool::Bakeoff, new);
            measured.add(&cell, Tool::Older, old);
        }
        let folder = tempfile::tempdir().unwrap();
        let mut older = Older::at(&std::env::current_exe().unwrap()).unwrap();
        let clients = [
            ("bakeoff", Tool::Bakeoff, Tool::Older),
            ("bakeoff, epoll", Tool::BakeoffEpoll, Tool::OlderEpoll),
        ];
        let mut page = Page::new("What changed", "bench-load");
        older.compare(&measured, &clients, &[(cell.in_words(), &cell)], &mut page);

        let table = table(&older.compared).to_string();
        assert!(table.contains("new by old"), "{table}");
        assert!(table.contains("| 10.00 | 12.00 | 0.90 (0.90 to 1.20) |"), "{table}");
        assert!(!table.contains("epoll"), "nothing was measured of it:\n{table}");

        let file = folder.path().join("older.json");
        older.write(&file).unwrap();
        let json: serde_json::Value =
            serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
        let one = &json["compared"][0];
        assert_eq!(one["load"], "30 connections, kept alive");
        assert_eq!(one["new_cpu_us"], serde_json::json!([9.0, 18.0, 12.0]), "a round lacks one");
        assert_eq!(one["new_by_old"], serde_json::json!({ "median": 0.9, "min": 0.9, "max": 1.2 }));
    }

    #[test]
    fn what_is_no_program_is_told_before_anything_is_measured() {
        let told = Older::at(Path::new("/no/bakeoff")).unwrap_err();
        assert!(told.contains("--older: /no/bakeoff is no program"), "{told}");
    }
}
