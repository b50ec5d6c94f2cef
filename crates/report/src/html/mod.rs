//! A run as one HTML page that needs nothing else: no network, and no script to
//! be whole. Where scripts run, its own adds sorting, filters and ratios.
//!
//! One file a part of the page; this one has their order. Charts are SVG made
//! here, because they take their colours from the page (light, dark, print) and
//! stretch in width while their text and lines do not.

mod bars;
mod checks;
mod claims;
mod curve;
mod decades;
mod detail;
mod disclosure;
mod figures;
mod lead;
mod looks;
mod markup;
mod outcome;
mod overview;
mod percentiles;
mod rate_by_loss;
mod raw;
mod repeated;
mod scripts;
mod seconds;
mod survived;
mod then_and_now;
mod times;
mod verdict;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use result::Run;
use result::plan::Tier;
use sha2::{Digest, Sha256};

use self::detail::Detail;
use self::disclosure::{TEXTS_BYTES, disclosure};
use self::markup::prose;
use crate::caveats;
use crate::names;
use crate::notes;
use crate::sections::{self, Section};
use crate::text::{visible, visible_name};

const STYLE: &str = include_str!("style.css");

const SCRIPT: &str = include_str!("script.js");

/// Nothing is fetched, and no script runs but the page's own, known by its hash,
/// whatever a server under test wrote.
fn policy() -> String {
    let hash = BASE64_STANDARD.encode(Sha256::digest(SCRIPT));
    format!("default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{hash}'")
}

/// The tier of each contender, for the page's filters: empty where it has none.
fn tiers(run: &Run) -> String {
    let tiers = run
        .contenders
        .iter()
        .map(|it| (visible_name(&it.name).into_owned(), it.tier.map_or("", Tier::word).into()));
    serde_json::Value::Object(tiers.collect()).to_string()
}

/// What a page may take, in bytes, so that it can be sent and opened anywhere.
const BYTES_MAX: usize = 1_000_000;

/// What is left of it for the head and for the words around the raw data.
const AROUND_BYTES: usize = 4_096;

/// The whole page.
pub fn html(run: &Run) -> String {
    let tiers = tiers(run);
    let empty_main = html! { main data-tiers=(tiers) {} };
    let around = STYLE.len() + SCRIPT.len() + AROUND_BYTES + empty_main.0.len();
    let room = BYTES_MAX.saturating_sub(around);
    let [without_texts, with_texts] = [0, TEXTS_BYTES].map(|it| disclosure(run, it));
    let front = front(run);
    let size = |[header, main]: &[Markup; 2]| header.0.len() + main.0.len();
    let (mut detail, mut parts) = (Detail::All, front(Detail::All));
    for less in [Detail::Brief, Detail::Less, Detail::Bare] {
        let texts = if detail >= Detail::Brief { &with_texts } else { &without_texts };
        if size(&parts) + texts.0.len() <= room {
            break;
        }
        (detail, parts) = (less, front(less));
    }
    let left = room.saturating_sub(size(&parts));
    let disclosed = match detail {
        Detail::All | Detail::Brief => with_texts,
        Detail::Less | Detail::Bare => {
            let texts = left.saturating_sub(without_texts.0.len());
            disclosure(run, texts.min(TEXTS_BYTES))
        }
    };
    let [header, main] = parts;
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
                (header)
                main data-tiers=(tiers) { (main) (disclosed) }
                (raw::raw(run, left.saturating_sub(disclosed.0.len())))
            }
        }
    };
    page.into_string()
}

/// The page's header and its main part but for the disclosure, with so much detail. What takes
/// long and is the same with any is made once, since a large run's page is tried with less and
/// less.
fn front<'a>(run: &'a Run) -> impl Fn(Detail) -> [Markup; 2] + 'a {
    let with_outcomes = |section: Section<'a>| {
        let outcomes = section.outcomes.iter().map(|it| outcome::outcome(run, it));
        (outcomes.collect::<Vec<_>>(), section)
    };
    let sections: Vec<_> = sections::sections(run).into_iter().map(with_outcomes).collect();
    move |detail| {
        let header = html! {
            (bars::hatching())
            (percentiles::marks())
            header {
                (lead::lead(run))
                @for note in notes::notes(run) { p { (prose(&note)) } }
                @if let Some(what) = detail.leaves_out() {
                    p { "So that the page stays small, it leaves out " (what) ": run.json beside it has that." }
                }
                p.quiet {
                    (names::processor(run)) ", " (visible(&run.machine.kernel)) ", "
                    (visible(&run.started))
                }
            }
        };
        let main = html! {
            (checks::against(run, detail))
            (claims::claims(run))
            (survived::survived(run))
            (scripts::scripts(run))
            (overview::figures(run))
            (overview::absent(run))
            @for (outcomes, section) in &sections {
                h2 { (section.name) }
                @if caveats::shares_cores(run, section) { p { (caveats::SHARED_CORES) } }
                @for outcome in outcomes { (outcome(detail)) }
            }
            (curve::curves(run, detail))
            (then_and_now::then_and_now(run))
            @if !run.study.cannot_say.is_empty() {
                h2 { (caveats::CANNOT_SAY) }
                ul { @for sentence in &run.study.cannot_say { li { (prose(sentence)) } } }
            }
            (repeated::repeated(run, detail))
            (repeated::failed(run))
        };
        [header, main]
    }
}
