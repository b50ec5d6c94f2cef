//! What stores kept where they were cut off.

use maud::{Markup, html};
use result::Run;

use super::markup::scrolling;
use crate::survived::{HEADS, MEANING, TITLE, lines};

/// A table, a line a store; nothing where nobody looked.
pub fn survived(run: &Run) -> Markup {
    let stores = lines(run);
    let table = html! {
        table.sentences {
            thead { tr { @for head in HEADS { th scope="col" { (head) } } } }
            tbody {
                @for [who, rest @ ..] in &stores {
                    tr { th scope="row" { (who) } @for cell in rest { td { (cell) } } }
                }
            }
        }
    };
    html! {
        @if !stores.is_empty() {
            h2 id="survived" { (TITLE) }
            p { (MEANING) }
            (scrolling(TITLE, table))
        }
    }
}
