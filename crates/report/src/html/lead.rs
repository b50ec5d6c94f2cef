//! The first screen: one sentence, one chart, one line of verdicts.

use maud::{Markup, html};
use result::Run;
use result::figure::{Figure, RATE};
use result::outcome::{Outcome, Row};
use result::plan::{Pace, Setting};

use super::bars::Axis;
use super::figures::Cell;
use super::looks;
use super::markup::prose;
use super::verdict::{anchor, badge, class};
use crate::contenders;
use crate::figures;
use crate::findings;
use crate::headline;
use crate::lead;
use crate::names;
use crate::rate_by_loss;
use crate::sections;
use crate::standing;
use crate::text::visible_name;
use crate::units;
use crate::words;

/// Bars that the first screen of a phone has room for.
const BARS_MAX: usize = 5;

/// Names that are longer would take the chart off the screen of a phone; they stand in full
/// below.
const NAME_CHARS: usize = 45;

/// What a reader sees without scrolling.
pub fn lead(run: &Run) -> Markup {
    let leading = lead::lead(run);
    let leading = leading.and_then(|it| Some((it, figures::ranking(run, it)?)));
    html! {
        h1 { (prose(&headline::sentence(run))) }
        @if let Some(all) = rate_by_loss::rate_by_loss(run) {
            (super::rate_by_loss::rate_by_loss(run, &all))
        } @else if let Some((outcome, figure)) = leading {
            (chart(run, outcome, figure))
        }
        (verdicts(run))
    }
}

fn chart(run: &Run, outcome: &Outcome, figure: &Figure) -> Markup {
    let rows: Vec<&Row> =
        outcome.rows.iter().filter(|row| row.figure(&figure.id).is_some()).collect();
    let (shown, others) = rows.split_at(rows.len().min(BARS_MAX));
    let axis = Axis::over(shown.iter().filter_map(|row| row.figure(&figure.id)));
    let free = outcome.setting.with(Pace::Free);
    let at = outcome.offered.as_ref().map(|it| format!(" at {}", figures::offered(run, it.rate)));
    html! {
        figure.lead style=(axis.grid()) {
            figcaption {
                (figures::heading(figure)) (at.unwrap_or_default()) " "
                span.quiet {
                    (figure.better.says()) "; " (names::settings(run, &[&free]))
                    @if let Some(class) = sections::class_name(run, outcome) { "; " (class) }
                }
            }
            @for row in shown {
                @if let Some(cell) = Cell::of(row, figure) {
                    div.row.ranked data-contender=(visible_name(&row.contender)) data-verdicts=(row.verdict.word()) {
                        span.who {
                            span.rank { (standing::rank(outcome, row)) }
                            (words::shortened(&contenders::who(run, &row.contender), NAME_CHARS))
                            @if let Some(can_do) = can_do(run, outcome, &free, &row.contender) {
                                " " span.quiet.beside { (can_do) }
                            }
                        }
                        (cell.bar(&axis, looks::class(run, &row.contender))) (cell.value()) (badge(row.verdict))
                    }
                }
            }
            div.row { (axis.scale(figure.unit.sign())) }
            @if let count @ 1.. = others.len() as u64 {
                p.quiet { a href="#figures" { "and " (units::of(count, "other")) } }
            }
        }
    }
}

/// What a contender does at a free pace, beside what it takes at a rate that was offered.
fn can_do(run: &Run, outcome: &Outcome, free: &Setting, contender: &str) -> Option<String> {
    outcome.offered.as_ref()?;
    let rate = run.row(free, contender)?.figure(RATE)?;
    let unit = run.study.figure(RATE)?.unit;
    Some(format!("can do {}", figures::median_with_unit(unit, rate)))
}

/// How many figures have which verdict, each with a way to where that is told.
fn verdicts(run: &Run) -> Markup {
    let counts = findings::verdicts(run);
    html! {
        @if !counts.is_empty() {
            p.verdicts {
                @for (at, count) in counts.iter().enumerate() {
                    @if at > 0 { " · " }
                    a.(class(count.verdict)) href={ "#" (anchor(count.verdict)) } { (prose(&count.says())) }
                }
            }
        }
    }
}
