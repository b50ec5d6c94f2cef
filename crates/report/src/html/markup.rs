//! Small pieces that many parts of the page are made of.

use maud::{Markup, Render, html};
use result::finding::Verdict;

use crate::text::visible;

/// A sentence, with what stands between backticks as code.
pub fn prose(text: &str) -> Markup {
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
pub fn figure(verdict: Verdict, figure: impl Render) -> Markup {
    match verdict {
        Verdict::Invalid => html! { s { (figure) } },
        _ => figure.render(),
    }
}

/// A table that scrolls by itself where the page is too narrow for it.
pub fn scrolling(label: &str, table: Markup) -> Markup {
    html! { div.scroll role="region" aria-label=(label) tabindex="0" { (table) } }
}
