//! What a reader sees first: every rate in one table, and who is absent.

use maud::{Markup, html};
use result::Run;
use result::finding::Verdict;
use result::outcome::{Outcome, Row};

use super::checks::sign;
use super::{figure, prose, scrolling};
use crate::summary::{self, Section};
use crate::text::visible_name;
use crate::units;

/// The verdicts that have a sign in these tables: a figure without one is valid.
const SIGNED: [Verdict; 3] = [Verdict::NotChecked, Verdict::Suspect, Verdict::Invalid];

/// A table a section: contenders down, connections across.
pub fn figures(run: &Run) -> Markup {
    html! {
        div id="figures" {
            @for section in summary::sections(run) {
                (scrolling(section.name, table(run, &section)))
            }
        }
        (legend(run))
    }
}

/// What the signs in the tables are, those only that are in one.
fn legend(run: &Run) -> Markup {
    let is_used = |verdict: &Verdict| {
        let mut rows = run.outcomes.iter().flat_map(|outcome| &outcome.rows);
        rows.any(|row| row.verdict == *verdict)
    };
    let used: Vec<Verdict> = SIGNED.into_iter().filter(is_used).collect();
    html! {
        @if !used.is_empty() {
            p.quiet {
                @for verdict in used { (sign(verdict)) " " (verdict.word()) " · " }
                "no sign: valid. " a href="#how-to-read" { "What that means" }
            }
        }
    }
}

fn table(run: &Run, section: &Section) -> Markup {
    // In the order of the first load; whoever has no figure there comes last.
    let mut contenders: Vec<&str> = Vec::new();
    for row in section.outcomes.iter().flat_map(|outcome| &outcome.rows) {
        if !contenders.contains(&&*row.contender) {
            contenders.push(&row.contender);
        }
    }
    html! {
        table.sortable {
            caption {
                span {
                    (section.name)
                    @if summary::shares_cores(run, section) { ", shared by server and client" }
                }
            }
            thead {
                tr {
                    th scope="col" { "answers/s by connections" }
                    @for outcome in &section.outcomes {
                        th.number scope="col" {
                            a href={ "#" (anchor(outcome)) } {
                                (units::whole(outcome.load.connections.into()))
                            }
                        }
                    }
                }
            }
            tbody {
                @for contender in contenders {
                    tr data-contender=(visible_name(contender)) data-verdicts=(verdicts(section, contender)) {
                        th scope="row" { (summary::who(run, contender)) }
                        @for outcome in &section.outcomes {
                            @match outcome.rows.iter().find(|row| row.contender == contender) {
                                None => td.number { (units::NOTHING) },
                                Some(row) => td.number data-rate data-bound[row.rate.at_least]
                                    data-load=(anchor(outcome))
                                    data-value=(row.rate.median.round()) { (rate(row)) },
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The words that a contender's figures of a section have.
fn verdicts(section: &Section, contender: &str) -> String {
    let rows = section.outcomes.iter().flat_map(|outcome| &outcome.rows);
    let words = rows.filter(|row| row.contender == contender).map(|row| row.verdict.word());
    words.collect::<Vec<_>>().join(",")
}

fn rate(row: &Row) -> Markup {
    let rate = html! { (units::at_least(row.rate.at_least)) (units::count(row.rate.median)) };
    html! {
        @if row.rank == Some(1) { strong { (rate) } } @else { (figure(row.verdict, rate)) }
        @if SIGNED.contains(&row.verdict) { " " (sign(row.verdict)) }
    }
}

/// The id of a load's part of the page.
pub fn anchor(outcome: &Outcome) -> String {
    let load = &outcome.load;
    let kept = if load.keep_alive { "kept-alive" } else { "closed" };
    format!("{:?}-{kept}-{}", load.cores, load.connections).to_lowercase()
}

/// Contenders that could not be had.
pub fn absent(run: &Run) -> Markup {
    let absent = summary::absent(run);
    html! {
        @if !absent.is_empty() {
            h2 { "Absent" }
            ul {
                @for (who, reason) in absent {
                    li { strong { (who) } ": " (prose(reason)) }
                }
            }
        }
    }
}
