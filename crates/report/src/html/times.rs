//! The table of times under one load, with what a request cost beside them.

use maud::{Markup, html};
use result::Run;
use result::figure::Figure;
use result::outcome::{Estimate, Outcome, Row};

use super::figures::in_table;
use super::markup::{figure, scrolling};
use super::verdict::sign;
use crate::contenders;
use crate::figures;
use crate::latency;
use crate::standing;
use crate::text::visible_name;
use crate::trials;
use crate::units;
use crate::words;

/// Percentiles that a reader may look for.
pub const PERCENTILES: [f64; 5] = [50.0, 90.0, 99.0, 99.9, 99.99];

/// A row a contender.
pub fn table(run: &Run, outcome: &Outcome) -> Markup {
    let table = html! {
        table.sortable {
            caption {
                span {
                    (words::either(run, "Time to the whole answer, counted from ", "Time of delivery, counted from "))
                    (latency::begins(&outcome.setting))
                    ". –: fewer than 100 " (words::either(run, "requests", "deliveries")) " took longer than that"
                }
            }
            thead {
                tr {
                    th scope="col" { "Contender" }
                    @if let Some(figure) = figures::ranking(run, outcome) {
                        th.number scope="col" { (figures::short(figure)) ", " (figures::of_best(figure)) }
                    }
                    @for percentile in PERCENTILES { th.number scope="col" { "p" (percentile) } }
                    th.number scope="col" { "max" }
                    @for figure in details(run) { th.number scope="col" { (figures::short(figure)) } }
                    th.number scope="col" { "memory" }
                }
            }
            tbody {
                @for (it, share) in outcome.rows.iter().zip(standing::shares(run, outcome)) {
                    (row(run, outcome, it, share))
                }
            }
        }
    };
    scrolling("Times and costs", table)
}

/// Figures that stand nowhere else.
fn details(run: &Run) -> impl Iterator<Item = &Figure> {
    run.study.figures.iter().filter(|figure| figure.is_detail)
}

fn row(run: &Run, outcome: &Outcome, row: &Row, share: Option<&Estimate>) -> Markup {
    let trials = trials::trials(run, &outcome.setting, &row.contender);
    let mut times: Vec<_> =
        PERCENTILES.iter().map(|percentile| latency::percentile(&trials, *percentile)).collect();
    times.push(latency::largest(&trials));
    let memory = trials.iter().filter_map(|trial| trial.evidence.memory()).max();
    html! {
        tr data-contender=(visible_name(&row.contender)) data-verdicts=(row.verdict.word()) {
            th scope="row" { (contenders::who(run, &row.contender)) " " (sign(row.verdict)) }
            td.number data-value=[share.map(|ratio| units::digits(ratio.median))] {
                @match share {
                    None => (units::NOTHING),
                    Some(ratio) => {
                        (standing::share_of_best(ratio))
                        @if let Some((low, high)) = ratio.interval && low < high {
                            " " span.quiet { "(" (units::percent_range((low, high))) ")" }
                        }
                    }
                }
            }
            @for time in times {
                td.number data-value=[time.map(|time| time.us.round())] {
                    @match time {
                        None => (units::NOTHING),
                        Some(time) => {
                            @let bound = units::at_least(time.at_least);
                            (figure(row.verdict, html! { (bound) (units::time(time.us)) }))
                        }
                    }
                }
            }
            @for figure in details(run) {
                (in_table(row.verdict, figure, row.figure(&figure.id)))
            }
            td.number data-value=[memory.map(|(bytes, _)| bytes)] {
                @match memory {
                    None => (units::NOTHING),
                    Some((bytes, at_least)) => {
                        @let bound = units::at_least(at_least);
                        (figure(row.verdict, html! { (bound) (units::bytes(bytes)) }))
                    }
                }
            }
        }
    }
}
