//! Published figures beside today's.

use std::borrow::Cow;

use maud::{Markup, html};
use result::Run;
use result::plan::PublishedFigure;

use super::markup::{figure, prose, scrolling};
use super::verdict::sign;
use crate::figures;
use crate::names;
use crate::text::visible_name;
use crate::then_and_now::{self, Pair, Today};
use crate::units;

/// A table a published row, with what was wrong with it.
pub fn then_and_now(run: &Run) -> Markup {
    let pairs = then_and_now::pairs(run);
    html! {
        @if !pairs.is_empty() {
            h2 id="then-and-now" { "Then and now" }
            p { (then_and_now::meaning(run)) }
            @for pair in &pairs { (one(run, pair)) }
        }
    }
}

fn one(run: &Run, pair: &Pair) -> Markup {
    let (then, now) = (pair.then(), pair.now(run));
    let table = html! {
        table {
            caption {
                span {
                    strong { (then) } " (" (prose(&pair.published.source)) ") beside "
                    strong { (now) }
                    @if let Some(load) = pair.load(run) { "; " (load) }
                }
            }
            thead {
                tr {
                    th.number scope="col" { (names::first_name(&run.study.dimensions)) }
                    th.number scope="col" { (then_and_now::rate_name(run)) " then" }
                    th.number scope="col" { "today" }
                    @if then_and_now::has_ratios(run) { th.number scope="col" { "times" } }
                    @if figures::has_times(run) {
                        th.number scope="col" { "p99 then" }
                        th.number scope="col" { "today" }
                    }
                }
            }
            tbody { @for (figure, today) in &pair.figures { (line(run, pair, figure, today.as_ref())) } }
        }
    };
    let verdicts = pair.figures.iter().filter_map(|(_, today)| today.as_ref());
    let verdicts: Vec<&str> = verdicts.map(|today| today.row.verdict.word()).collect();
    html! {
        div data-contender=(contender(pair)) data-verdicts=(verdicts.join(",")) {
            (scrolling(&then, table))
            p {
                strong { "What was wrong then: " }
                @match &pair.published.mistake {
                    Some(mistake) => (prose(mistake)),
                    None => "nothing that is known.",
                }
            }
        }
    }
}

/// The contender of today, for the page's filters.
fn contender<'a>(pair: &'a Pair) -> Cow<'a, str> {
    visible_name(pair.published.contender.as_deref().unwrap_or_default())
}

fn line(run: &Run, pair: &Pair, then: &PublishedFigure, today: Option<&Today>) -> Markup {
    let verdict = today.map(|today| today.row.verdict.word()).unwrap_or_default();
    html! {
        tr data-contender=(contender(pair)) data-verdicts=(verdict) {
            th.number scope="row" { (names::first_named(&run.study.dimensions, &then.values)) }
            td.number { (units::count(then.rate)) }
            td.number { (today.map_or(html! { (units::NOTHING) }, rate)) }
            @if then_and_now::has_ratios(run) {
                td.number { (today.map_or(html! { (units::NOTHING) }, ratio)) }
            }
            @if figures::has_times(run) {
                td.number { (then.p99_ms.map_or(units::NOTHING.into(), |ms| units::time(ms * 1e3))) }
                td.number { (today.map_or(html! { (units::NOTHING) }, p99)) }
            }
        }
    }
}

fn rate(today: &Today) -> Markup {
    let row = today.row;
    html! {
        (figure(row.verdict, today.rate())) " " (sign(row.verdict))
        @if let Some(mode) = &today.other_mode { " " span.quiet { (mode) } }
    }
}

fn ratio(today: &Today) -> Markup {
    let Some(ratio) = &today.ratio else { return html! { (units::NOTHING) } };
    html! {
        (units::at_least(today.is_bound())) (units::plain(ratio.median))
        @if let Some(interval) = ratio.interval {
            " " span.quiet { "(" (units::plain_range(interval)) ")" }
        }
    }
}

fn p99(today: &Today) -> Markup {
    figure(today.row.verdict, today.p99())
}
