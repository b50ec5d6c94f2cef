//! Every ranking figure in one table a section, and who is absent.

use maud::{Markup, html};
use result::Run;
use result::figure::Figure;
use result::finding::Verdict;
use result::outcome::{Outcome, Row};
use result::plan::Pace;
use sha2::{Digest, Sha256};

use super::markup::{figure, prose, scrolling};
use super::verdict::sign;
use crate::caveats;
use crate::contenders;
use crate::figures;
use crate::missing;
use crate::names;
use crate::sections::{self, Section};
use crate::standing;
use crate::text::visible_name;
use crate::units;

/// The verdicts that have a sign in these tables: a figure without one is valid.
const SIGNED: [Verdict; 3] = [Verdict::NotChecked, Verdict::Suspect, Verdict::Invalid];

/// A table a section that has something to go along: contenders down, the first dimension
/// across.
pub fn figures(run: &Run) -> Markup {
    html! {
        div id="figures" {
            @for section in sections::sections(run).into_iter().filter(|_| has_any(run)) {
                @if let Some(figure) = figures::ranking(run, section.outcomes[0])
                    && section.outcomes[0].offered.is_none()
                {
                    (scrolling(&section.name, table(run, &section, figure)))
                }
            }
        }
        @if has_any(run) { (legend(run)) }
    }
}

/// Whether there are such tables: of one setting all is in its own chart.
pub fn has_any(run: &Run) -> bool {
    run.outcomes.iter().filter(|outcome| outcome.offered.is_none()).count() > 1
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

fn table(run: &Run, section: &Section, figure: &Figure) -> Markup {
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
                    @if caveats::shares_cores(run, section) { ", shared by server and client" }
                }
            }
            thead {
                tr {
                    th scope="col" {
                        (figures::short(figure))
                        @if let Some(first) = run.study.dimensions.first() { " by " (visible_name(&first.many)) }
                    }
                    @for outcome in &section.outcomes {
                        th.number scope="col" {
                            a href={ "#" (anchor(outcome)) } {
                                (names::point(&run.study.dimensions, &outcome.setting))
                            }
                        }
                    }
                }
            }
            tbody {
                @for contender in contenders {
                    tr data-contender=(visible_name(contender)) data-verdicts=(verdicts(section, contender)) {
                        th scope="row" { (contenders::who(run, contender)) }
                        @for outcome in &section.outcomes {
                            @match outcome.rows.iter().find(|row| row.contender == contender) {
                                None => td.number { (units::NOTHING) },
                                Some(row) => (cell(outcome, row, figure)),
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

fn cell(outcome: &Outcome, row: &Row, of: &Figure) -> Markup {
    let estimate = row.figure(&of.id);
    let number = figures::median_if_any(of.unit, estimate);
    html! {
        td.number data-rate data-bound[estimate.is_some_and(|it| it.at_least)]
            data-load=(anchor(outcome)) data-value=[estimate.map(|it| it.median.round())] {
            @if standing::is_first(outcome, row) { strong { (number) } }
            @else { (figure(row.verdict, number)) }
            @if SIGNED.contains(&row.verdict) { " " (sign(row.verdict)) }
        }
    }
}

/// The id of a setting's part of the page.
pub fn anchor(outcome: &Outcome) -> String {
    let setting = &outcome.setting;
    let values = setting.values.iter().map(|(id, value)| format!("-{id}-{value}"));
    let pace = match setting.pace {
        Pace::Free => String::new(),
        Pace::Equal { percent } => format!("-equal-{percent}"),
        Pace::Fixed { per_s } => format!("-at-{per_s}"),
        Pace::Own { percent } => format!("-own-{percent}"),
    };
    let id = format!("{:?}{}{pace}", setting.cores, values.collect::<String>()).to_lowercase();
    id.replace(|it: char| !it.is_ascii_alphanumeric(), "-")
}

/// The id of one figure of a contender, which stays the same from run to run. It is a digest of
/// their names: a large page has a thousand of them.
pub fn figure_anchor(outcome: &Outcome, row: &Row, figure: &Figure) -> String {
    let names = format!("{}/{}/{}", anchor(outcome), row.contender, figure.id);
    let digest = Sha256::digest(names);
    let letter = |byte: &u8| char::from(LETTERS[usize::from(*byte) % LETTERS.len()]);
    digest.iter().take(6).map(letter).collect()
}

/// What ids are made of: 32, so that each is as likely as the others.
const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyzABCDEF";

/// Contenders that could not be had.
pub fn absent(run: &Run) -> Markup {
    let absent = missing::absent(run);
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
