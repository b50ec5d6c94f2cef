//! What was found under one load.

use maud::{Markup, html};
use result::Run;
use result::finding::Verdict;
use result::outcome::{Estimate, Outcome, Row};

use super::bars::{Axis, Fill};
use super::checks::{self, badge, sign};
use super::{Detail, figure, overview, percentiles, prose, seconds, times};
use crate::summary::{self, Range};
use crate::text::visible_name;
use crate::units;

/// One load's part of the page.
pub fn load(run: &Run, outcome: &Outcome, detail: Detail) -> Markup {
    html! {
        section id=(overview::anchor(outcome)) {
            h3 { (units::of(outcome.load.connections.into(), "connection")) }
            @if let Some(finding) = summary::finding(run, outcome) { p { (prose(&finding)) } }
            (rates(run, outcome, detail))
            (limits(run, outcome))
            (checks::missing(&summary::without_figure(run, outcome)))
            (cpu(run, outcome))
            (percentiles::plot(run, &outcome.load, outcome.rows.iter().map(|row| (&*row.contender, row.verdict))))
            (times::table(run, outcome))
            @if detail > Detail::Less { (seconds::strips(run, outcome)) }
        }
    }
}

/// How a chart's numbers are written.
#[derive(Clone, Copy)]
pub struct Scale {
    number: fn(f64) -> String,
    range: fn(units::Range) -> String,
    /// What stands behind the numbers of an axis.
    pub unit: &'static str,
}

/// Answers a second.
pub const RATE: Scale = Scale { number: units::count, range: units::count_range, unit: "/s" };
/// CPU time.
pub const CPU: Scale = Scale { number: units::plain, range: units::plain_range, unit: " µs" };

/// One figure of a chart.
pub struct Figure<'a> {
    /// What may be said of it.
    pub verdict: Verdict,
    /// The figure.
    pub estimate: &'a Estimate,
    /// Whether it is a lower bound.
    pub at_least: bool,
    /// How it is written.
    pub scale: Scale,
}

impl Figure<'_> {
    /// Its bar.
    pub fn bar(&self, axis: &Axis) -> Markup {
        let fill = match self.verdict {
            Verdict::Invalid => Fill::Outline,
            _ if self.at_least => Fill::Hatched,
            _ => Fill::Solid,
        };
        axis.bar(self.estimate, fill)
    }

    fn median(&self) -> String {
        let median = (self.scale.number)(self.estimate.median);
        format!("{}{median}", units::at_least(self.at_least))
    }

    /// Its number, with how far that may be off.
    pub fn value(&self) -> Markup {
        let range = self.scale.range;
        html! {
            span.value {
                (figure(self.verdict, html! { strong { (self.median()) } }))
                @match summary::range(self.estimate) {
                    Range::Interval(interval) => { " " span.quiet { "(" (range(interval)) ")" } }
                    Range::Blocks(blocks) => { " " span.quiet { "[" (range(blocks)) "]" } }
                    Range::None => {}
                }
            }
        }
    }
}

fn rates(run: &Run, outcome: &Outcome, detail: Detail) -> Markup {
    let axis = Axis::over(outcome.rows.iter().map(|row| &row.rate));
    html! {
        figure style=(axis.grid()) {
            figcaption { "Answers a second " span.quiet { "more is better" } }
            @for row in &outcome.rows {
                @let title = &summary::who(run, &row.contender);
                @let (verdict, estimate) = (row.verdict, &row.rate);
                @let rate = Figure { verdict, estimate, at_least: estimate.at_least, scale: RATE };
                @let line = html! {
                    span.who {
                        span.rank { (summary::rank(outcome, row)) }
                        (title) " " span.quiet { (tier(run, row)) }
                    }
                    (rate.bar(&axis)) (rate.value()) (badge(verdict))
                };
                @let opened = html! {
                    @if let Some(says) = summary::cut_connections(run, outcome, &row.contender) {
                        p { (says) }
                    }
                    (checks::of_row(run, outcome, row, detail))
                };
                @let (name, word) = (visible_name(&row.contender), verdict.word());
                @if opened.0.is_empty() {
                    div.row.ranked data-contender=(name) data-verdicts=(word) { (line) }
                } @else {
                    details data-contender=(name) data-verdicts=(word) {
                        summary.row { (line) }
                        div.checks { (opened) }
                    }
                }
            }
            div.row { (axis.scale(RATE.unit)) }
        }
    }
}

/// What limited each, in a line.
fn limits(run: &Run, outcome: &Outcome) -> Markup {
    html! {
        div.limits {
            h4 { "Why not double?" }
            @if outcome.rows.iter().all(|row| row.limit.is_none()) {
                p.quiet { (summary::LIMIT_NOT_KEPT) }
            } @else {
                ul {
                    @for row in &outcome.rows {
                        li data-contender=(visible_name(&row.contender)) data-verdicts=(row.verdict.word()) {
                            (summary::who(run, &row.contender)) ": "
                            @match &row.limit {
                                None => (summary::LIMIT_NOT_KEPT),
                                Some(limit) => { strong { (limit.by.word()) } ". " (prose(&limit.says)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn cpu(run: &Run, outcome: &Outcome) -> Markup {
    let known = || outcome.rows.iter().filter_map(|row| Some((row, row.server_cpu_us.as_ref()?)));
    let axis = Axis::over(known().map(|(_, cpu)| cpu));
    html! {
        @if known().next().is_some() {
            figure style=(axis.grid()) {
                figcaption { "Server CPU an answer " span.quiet { "less is better" } }
                @for (row, estimate) in known() {
                    @let cpu = Figure { verdict: row.verdict, estimate, at_least: false, scale: CPU };
                    div.row data-contender=(visible_name(&row.contender)) data-verdicts=(row.verdict.word()) {
                        span.who { (summary::who(run, &row.contender)) " " (sign(row.verdict)) }
                        (cpu.bar(&axis)) (cpu.value())
                    }
                }
                div.row { (axis.scale(CPU.unit)) }
            }
        }
    }
}

fn tier(run: &Run, row: &Row) -> &'static str {
    summary::contender(run, &row.contender).map_or("", |it| it.tier.word())
}
