//! Verdicts as a page shows them.

use maud::{Markup, html};
use result::finding::Verdict;

use crate::findings;

/// A verdict's word and sign. The sign tells it from the others without colour.
pub fn badge(verdict: Verdict) -> Markup {
    html! { span.badge.(class(verdict)) { (findings::sign(verdict)) " " (verdict.word()) } }
}

/// The sign alone, where a table has no room for the word.
pub fn sign(verdict: Verdict) -> Markup {
    html! { span.(class(verdict)) title=(verdict.word()) { (findings::sign(verdict)) } }
}

/// The verdict's name in the style.
pub fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Valid => "valid",
        Verdict::NotChecked => "not-checked",
        Verdict::Suspect => "suspect",
        Verdict::Invalid => "invalid",
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
