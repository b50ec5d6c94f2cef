//! The finding, its bars, and how many figures have which verdict.

use result::Run;
use result::figure::Figure;
use result::finding::Verdict;
use result::outcome::Outcome;

use super::page::{BOLD, DIM, PLAIN, Page};
use crate::figures;
use crate::findings;
use crate::headline;
use crate::lead;
use crate::names;
use crate::rate_by_loss::{self, RateByLoss, Store};
use crate::words;

/// Bars of the first lines, and the cells of the longest.
const BARS_MAX: usize = 6;
const BAR_CELLS: usize = 30;
/// Room for a name beside a bar.
const NAME_CHARS: usize = 28;

/// A bar with what stands on both sides of it.
struct Bar {
    who: String,
    length: f64,
    verdict: Verdict,
    says: String,
}

impl Page {
    /// The finding, its bars, and how many figures have which verdict.
    pub(super) fn lead(&mut self, run: &Run) {
        self.paragraph(BOLD, "", &headline::sentence(run));
        if let Some(all) = rate_by_loss::rate_by_loss(run) {
            self.losses(run, &all);
        } else if let Some(outcome) = lead::lead(run)
            && let Some(figure) = figures::ranking(run, outcome)
        {
            self.bars(run, outcome, figure);
        }
        let verdicts: Vec<String> =
            findings::verdicts(run).iter().map(findings::Count::says).collect();
        if !verdicts.is_empty() {
            self.line("");
            self.paragraph(PLAIN, "", &verdicts.join(" · "));
        }
        self.line("");
    }

    fn bars(&mut self, run: &Run, outcome: &Outcome, figure: &Figure) {
        let known = outcome.rows.iter().filter_map(|row| Some((row, row.figure(&figure.id)?)));
        let bars = known.map(|(row, estimate)| Bar {
            who: self.who(run, &row.contender),
            length: estimate.median,
            verdict: row.verdict,
            says: figures::median_with_unit(figure.unit, estimate),
        });
        let bars = bars.collect();
        self.chart(&format!("{} ({})", figures::heading(figure), figure.better.says()), bars);
    }

    /// What durability costs: how fast stores write, and what the worst cut took.
    fn losses(&mut self, run: &Run, all: &RateByLoss) {
        let bar = |store: &Store| Bar {
            who: store.who.clone(),
            length: store.rate.median,
            verdict: store.verdict,
            says: format!("{}/s, {}", store.rate(), store.loss.says()),
        };
        let title = format!(
            "{}: writes a second, and what the worst cut took ({})",
            rate_by_loss::TITLE,
            names::settings(run, &[all.writes])
        );
        self.chart(&title, all.stores.iter().map(bar).collect());
    }

    fn chart(&mut self, title: &str, bars: Vec<Bar>) {
        let longest = bars.iter().map(|bar| bar.length).fold(0.0, f64::max);
        if longest <= 0.0 {
            return;
        }
        self.line("");
        self.paragraph(DIM, "  ", title);
        let words = bars.iter().map(|bar| bar.says.chars().count()).max().unwrap_or(0);
        let around = NAME_CHARS + words + 4;
        let room = usize::from(self.terminal.columns).saturating_sub(around).min(BAR_CELLS);
        for Bar { who, length, verdict, says } in bars.iter().take(BARS_MAX) {
            let cells = (length / longest * room as f64).round() as usize;
            let cell = if *verdict == Verdict::Invalid { "░" } else { "█" };
            let bar = cell.repeat(cells.max(1));
            let name = words::shortened(who, NAME_CHARS);
            self.line(&format!("  {name:<NAME_CHARS$} {bar} {says}"));
        }
        if let Some(more @ 1..) = bars.len().checked_sub(BARS_MAX) {
            self.line(&format!("  and {more} more"));
        }
    }
}
