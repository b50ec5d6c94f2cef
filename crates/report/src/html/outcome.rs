//! What was found under one setting.

use maud::{Markup, html};
use result::Run;
use result::figure::{Figure, Unit};
use result::outcome::{Outcome, Row};
use result::plan::Tier;

use super::bars::Axis;
use super::checks;
use super::detail::Detail;
use super::figures::Cell;
use super::markup::prose;
use super::verdict::{badge, sign};
use super::{looks, overview, percentiles, seconds, times};
use crate::caveats;
use crate::contenders;
use crate::figures;
use crate::lead;
use crate::missing;
use crate::notes;
use crate::sections;
use crate::standing;
use crate::text::visible_name;

/// One setting's part of the page, with so much detail. What that doesn't change is made once,
/// above all the plot, which is of every histogram.
pub fn outcome<'a>(run: &'a Run, outcome: &'a Outcome) -> impl Fn(Detail) -> Markup + 'a {
    let beside = figures::beside(run, outcome).filter(|figure| figure.unit != Unit::Micros);
    let rows = || outcome.rows.iter().map(|row| (&*row.contender, row.verdict));
    let same = html! {
        (limits(run, outcome))
        (checks::missing(&missing::without_figure(run, outcome)))
        @for figure in beside { (unranked(run, outcome, figure)) }
        @if figures::has_times(run) {
            (percentiles::plot(run, &outcome.setting, rows()))
            (times::table(run, outcome))
        }
    };
    let strips = seconds::strips(run, outcome);
    // Its chart leads the page, and would stand on the first screen twice.
    let is_last = !overview::has_any(run)
        && lead::lead(run).is_some_and(|leading| std::ptr::eq(leading, outcome));
    let chart = move |detail| {
        html! {
            @if let Some(figure) = figures::ranking(run, outcome) {
                (ranked(run, outcome, figure, detail))
            }
        }
    };
    move |detail| {
        html! {
            section id=(overview::anchor(outcome)) {
                h3 { (sections::point_name(run, outcome)) }
                @if let Some(finding) = notes::of_outcome(run, outcome) { p { (prose(&finding)) } }
                @if !is_last { (chart(detail)) }
                (same)
                @if detail > Detail::Less { (strips) }
                @if is_last { (chart(detail)) }
            }
        }
    }
}

/// The bars of the figure that ranks. Each opens what the checks say.
fn ranked(run: &Run, outcome: &Outcome, figure: &Figure, detail: Detail) -> Markup {
    let known = outcome.rows.iter().filter_map(|row| row.figure(&figure.id));
    let axis = Axis::over(known);
    html! {
        figure style=(axis.grid()) {
            figcaption { (figures::heading(figure)) " " span.quiet { (figure.better.says()) } }
            @for row in &outcome.rows {
                @let line = html! {
                    span.who {
                        span.rank { (standing::rank(outcome, row)) }
                        (contenders::who(run, &row.contender)) " " span.quiet { (tier(run, row)) }
                    }
                    @if let Some(cell) = Cell::of(row, figure) { (cell.bar(&axis, looks::class(run, &row.contender))) (cell.value()) }
                    (badge(row.verdict))
                };
                @let opened = html! {
                    @if let Some(says) = caveats::cut_connections(run, outcome, &row.contender) {
                        p { (says) }
                    }
                    (checks::of_row(run, outcome, row, detail))
                };
                @let (name, word) = (visible_name(&row.contender), row.verdict.word());
                @let id = overview::figure_anchor(outcome, row, figure);
                @if opened.0.is_empty() {
                    div.row.ranked id=(id) data-contender=(name) data-verdicts=(word) { (line) }
                } @else {
                    details id=(id) data-contender=(name) data-verdicts=(word) {
                        summary.row { (line) }
                        div.checks { (opened) }
                    }
                }
            }
            div.row { (axis.scale(figure.unit.sign())) }
        }
    }
}

/// What limited each, in a line.
fn limits(run: &Run, outcome: &Outcome) -> Markup {
    let limited = outcome.rows.iter().filter_map(|row| Some((row, row.limit.as_ref()?)));
    let limited: Vec<_> = limited.collect();
    html! {
        @if !limited.is_empty() {
            div.limits {
                h4 { "What limited each" }
                ul {
                    @for (row, limit) in limited {
                        li data-contender=(visible_name(&row.contender)) data-verdicts=(row.verdict.word()) {
                            (contenders::who(run, &row.contender)) ": "
                            strong { (limit.by.word()) } ". " (prose(&limit.says))
                        }
                    }
                }
            }
        }
    }
}

/// The bars of another figure, of those that have it.
fn unranked(run: &Run, outcome: &Outcome, figure: &Figure) -> Markup {
    let known = || outcome.rows.iter().filter_map(|row| Some((row, Cell::of(row, figure)?)));
    let axis = Axis::over(outcome.rows.iter().filter_map(|row| row.figure(&figure.id)));
    html! {
        @if known().next().is_some() {
            figure style=(axis.grid()) {
                figcaption { (figures::heading(figure)) " " span.quiet { (figure.better.says()) } }
                @for (row, cell) in known() {
                    div.row id=(overview::figure_anchor(outcome, row, figure))
                        data-contender=(visible_name(&row.contender)) data-verdicts=(row.verdict.word()) {
                        span.who { (contenders::who(run, &row.contender)) " " (sign(row.verdict)) }
                        (cell.bar(&axis, looks::class(run, &row.contender))) (cell.value())
                    }
                }
                div.row { (axis.scale(figure.unit.sign())) }
            }
        }
    }
}

fn tier(run: &Run, row: &Row) -> &'static str {
    contenders::contender(run, &row.contender).and_then(|it| it.tier).map_or("", Tier::word)
}
