//! A study's claims, each with what became of it.

use maud::{Markup, html};
use result::Run;

use super::{prose, scrolling};
use crate::claims::{self, RULE};

/// A line a claim; nothing where the study has none.
pub fn claims(run: &Run) -> Markup {
    let all = claims::all(run);
    if all.is_empty() {
        return html! {};
    }
    let table = html! {
        table {
            thead {
                tr {
                    th scope="col" { "claim" }
                    th scope="col" { "today" }
                    th scope="col" { "where" }
                }
            }
            tbody {
                @for claim in &all {
                    tr {
                        th scope="row" { (prose(&claim.says)) " " span.quiet { (prose(&claim.source)) } }
                        td { strong { (claim.word) } }
                        td { @for setting in &claim.settings { div { (prose(setting)) } } }
                    }
                }
            }
        }
    };
    html! {
        h2 id="claims" { "What was claimed" }
        p { (RULE) }
        (scrolling("What was claimed", table))
    }
}
