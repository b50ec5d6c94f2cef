//! What gateways did where robots don't do what is usual.

use maud::{Markup, html};
use result::Run;

use super::markup::scrolling;
use crate::scripts::{HEADS, MEANING, TITLE, lines};

/// A table, a line a gateway; nothing where nobody looked.
pub fn scripts(run: &Run) -> Markup {
    let gateways = lines(run);
    let table = html! {
        table.sentences {
            thead { tr { @for head in HEADS { th scope="col" { (head) } } } }
            tbody {
                @for [who, rest @ ..] in &gateways {
                    tr { th scope="row" { (who) } @for cell in rest { td { (cell) } } }
                }
            }
        }
    };
    html! {
        @if !gateways.is_empty() {
            h2 id="scripts" { (TITLE) }
            p { (MEANING) }
            (scrolling(TITLE, table))
        }
    }
}
