//! A run as one HTML page that needs nothing else: no network, and no script to
//! be whole. Where scripts run, its own adds sorting, filters and ratios.
//!
//! One file a part of the page; this one has their order. Charts are SVG made
//! here, because they take their colours from the page (light, dark, print) and
//! stretch in width while their text and lines do not.

mod bars;
mod checks;
mod disclosure;
mod load;
mod open_loop;
mod overview;
mod percentiles;
mod raw;
mod repeated;
mod seconds;
mod then_and_now;
mod times;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use result::Run;
use result::finding::Verdict;
use sha2::{Digest, Sha256};

use crate::summary;
use crate::text::{visible, visible_name};

const STYLE: &str = include_str!("style.css");

const SCRIPT: &str = include_str!("script.js");

/// Nothing is fetched, and no script runs but the page's own, known by its hash,
/// whatever a server under test wrote.
fn policy() -> String {
    let hash = BASE64_STANDARD.encode(Sha256::digest(SCRIPT));
    format!("default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{hash}'")
}

/// The tier of each contender, for the page's filters.
fn tiers(run: &Run) -> String {
    let tiers = run
        .contenders
        .iter()
        .map(|it| (visible_name(&it.name).into_owned(), it.tier.word().into()));
    serde_json::Value::Object(tiers.collect()).to_string()
}

/// What a page may take, in bytes, so that it can be sent and opened anywhere.
const BYTES_MAX: usize = 1_000_000;

/// The whole page.
pub fn html(run: &Run) -> String {
    let body = body(run);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy());
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (visible(&run.study.title)) ": bakeoff" }
                style { (PreEscaped(STYLE)) }
                script { (PreEscaped(SCRIPT)) }
            }
            body {
                (body)
                // A little is left for the head and for the words around the data.
                (raw::raw(run, BYTES_MAX.saturating_sub(body.0.len() + STYLE.len() + SCRIPT.len() + 4_096)))
            }
        }
    };
    page.into_string()
}

fn body(run: &Run) -> Markup {
    html! {
        (bars::hatching())
        (percentiles::marks())
        header {
            h1 { (prose(&summary::headline(run))) }
            @for note in summary::notes(run) { p { (prose(&note)) } }
            p.quiet {
                (visible(&run.machine.cpu)) ", " (visible(&run.machine.kernel)) ", "
                (visible(&run.started))
            }
        }
        main data-tiers=(tiers(run)) {
            (overview::figures(run))
            (overview::absent(run))
            (checks::against(run))
            @for section in summary::sections(run) {
                h2 { (section.name) }
                @if summary::shares_cores(run, &section) { p { (summary::SHARED_CORES) } }
                @for outcome in &section.outcomes { (load::load(run, outcome)) }
            }
            (open_loop::equal_rates(run))
            (open_loop::curves(run))
            (then_and_now::then_and_now(run))
            (repeated::repeated(run))
            (disclosure::disclosure(run))
        }
    }
}

/// A sentence, with what stands between backticks as code.
fn prose(text: &str) -> Markup {
    let text = visible(text);
    let parts: Vec<&str> = text.split('`').collect();
    if parts.len().is_multiple_of(2) {
        return html! { (text) };
    }
    html! {
        @for (at, part) in parts.iter().enumerate() {
            @if at % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

/// A figure, struck out where it is invalid.
fn figure(verdict: Verdict, figure: impl maud::Render) -> Markup {
    match verdict {
        Verdict::Invalid => html! { s { (figure) } },
        _ => figure.render(),
    }
}

/// A table that scrolls by itself where the page is too narrow for it.
fn scrolling(label: &str, table: Markup) -> Markup {
    html! { div.scroll role="region" aria-label=(label) tabindex="0" { (table) } }
}
