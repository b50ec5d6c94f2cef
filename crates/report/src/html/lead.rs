//! The first screen: one sentence, one chart, one line of verdicts.

use maud::{Markup, html};
use result::Run;
use result::finding::Verdict;
use result::outcome::{EqualRate, Estimate, Outcome};
use result::plan::{Arrivals, Load};

use super::bars::Axis;
use super::checks::{badge, class};
use super::load::{CPU, Figure, RATE, Scale};
use super::prose;
use crate::lead::{self, Lead};
use crate::summary;
use crate::text::visible_name;
use crate::units;

/// Bars that the first screen of a phone has room for.
const BARS_MAX: usize = 5;

/// Names that are longer would take the chart off the screen of a phone; they stand in full
/// below.
const NAME_CHARS: usize = 45;

/// What a reader sees without scrolling.
pub fn lead(run: &Run) -> Markup {
    html! {
        h1 { (prose(&lead::sentence(run))) }
        @match lead::lead(run) {
            None => {}
            Some(Lead::Rate(outcome)) => (rates(run, outcome)),
            Some(Lead::Cpu(outcome)) => (costs(run, outcome)),
        }
        (verdicts(run))
    }
}

/// One bar of the chart.
struct Bar<'a> {
    contender: &'a str,
    rank: String,
    /// What stands beside the name.
    beside: Option<String>,
    estimate: &'a Estimate,
    verdict: Verdict,
}

fn rates(run: &Run, outcome: &Outcome) -> Markup {
    let bars = outcome.rows.iter().map(|row| Bar {
        contender: &row.contender,
        rank: summary::rank(outcome, row),
        beside: None,
        estimate: &row.rate,
        verdict: row.verdict,
    });
    let title = "Answers a second";
    chart(run, (title, "more is better"), &outcome.load, bars.collect(), RATE)
}

fn costs(run: &Run, outcome: &EqualRate) -> Markup {
    let closed = outcome.load.with(Arrivals::Closed);
    let ranks = || outcome.rows.iter().map(|row| row.rank);
    let can_do = |contender: &str| {
        let rate = &summary::row(run, &closed, contender)?.rate;
        let bound = units::at_least(rate.at_least);
        Some(format!("can do {bound}{}/s", units::count(rate.median)))
    };
    let bars = outcome.rows.iter().filter_map(|row| {
        Some(Bar {
            contender: &row.contender,
            rank: summary::rank_among(ranks(), row.rank),
            beside: can_do(&row.contender),
            estimate: row.server_cpu_us.as_ref()?,
            verdict: row.verdict,
        })
    });
    let all = units::whole(outcome.offered_rate.round() as u64);
    let title = format!("CPU time an answer at {all} requests a second");
    chart(run, (&title, "less is better"), &closed, bars.collect(), CPU)
}

fn chart(
    run: &Run,
    (title, better): (&str, &str),
    load: &Load,
    bars: Vec<Bar>,
    scale: Scale,
) -> Markup {
    let (shown, others) = bars.split_at(bars.len().min(BARS_MAX));
    let axis = Axis::over(shown.iter().map(|bar| bar.estimate));
    html! {
        figure.lead style=(axis.grid()) {
            figcaption {
                (title) " " span.quiet { (better) "; " (summary::load_names(&[load])) }
            }
            @for Bar { contender, rank, beside, estimate, verdict } in shown {
                @let figure = Figure { verdict: *verdict, estimate, at_least: estimate.at_least, scale };
                div.row.ranked data-contender=(visible_name(contender)) data-verdicts=(verdict.word()) {
                    span.who {
                        span.rank { (rank) } (lead::shortened(&summary::who(run, contender), NAME_CHARS))
                        @if let Some(beside) = beside { " " span.quiet.beside { (beside) } }
                    }
                    (figure.bar(&axis)) (figure.value()) (badge(*verdict))
                }
            }
            div.row { (axis.scale(scale.unit)) }
            @if let count @ 1.. = others.len() as u64 {
                p.quiet { a href="#figures" { "and " (units::of(count, "other")) } }
            }
        }
    }
}

/// How many figures have which verdict, each with a way to where that is told.
fn verdicts(run: &Run) -> Markup {
    let counts = lead::verdicts(run);
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

/// Where a verdict is told of.
pub fn anchor(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Valid => "figures",
        Verdict::NotChecked => "not-checked",
        Verdict::Suspect => "suspect",
        Verdict::Invalid => "invalid",
    }
}
