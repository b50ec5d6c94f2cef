//! A badge for a page elsewhere, as shields.io asks for it (`/endpoint`).

use result::Run;
use result::finding::Verdict;
use result::outcome::{Outcome, Row};
use serde_json::json;

use crate::contenders::title;
use crate::figures;
use crate::lead::lead;
use crate::sections::classes;
use crate::standing::{is_first, ranked};
use crate::text::visible_name;

/// The leading comparison in a few words, in a colour that says what the checks do.
pub fn badge(run: &Run) -> String {
    let found = lead(run).and_then(|outcome| Some((outcome, first(outcome)?)));
    let (message, colour) = match found {
        None => ("no figure that stands".to_string(), "lightgrey"),
        Some((outcome, row)) => (message(run, outcome, row), colour(row.verdict)),
    };
    let badge = json!({
        "schemaVersion": 1,
        "label": visible_name(&run.study.title),
        "message": message,
        "color": colour,
    });
    serde_json::to_string_pretty(&badge).expect("texts are JSON") + "\n"
}

/// The best row that no check calls invalid.
fn first(outcome: &Outcome) -> Option<&Row> {
    let mut standing = outcome.rows.iter().filter(|row| row.verdict != Verdict::Invalid);
    standing.next()
}

/// Who is first and with which figure, or who ties.
fn message(run: &Run, outcome: &Outcome, row: &Row) -> String {
    let tied = outcome.rows.iter().filter(|row| is_first(outcome, row)).count();
    let figure = figures::ranking(run, outcome);
    let value = figure.and_then(|figure| {
        let estimate = row.figure(&figure.id)?;
        Some(format!("{} {}", figures::median(figure.unit, estimate), figures::short(figure)))
    });
    let name = match (ranked(outcome), tied) {
        (0 | 1, _) => format!("{} (not ranked)", title(run, &row.contender)),
        (_, 0 | 1) => title(run, &row.contender).to_string(),
        (_, tied) => format!("{tied} tie"),
    };
    let figure = [Some(name), value].into_iter().flatten().collect::<Vec<_>>().join(": ");
    // A store that loses everything may be first among those that do.
    let survives = classes(run, outcome).map(|classes| format!("survives: {}", classes.survives()));
    [Some(figure), survives].into_iter().flatten().collect::<Vec<_>>().join("; ")
}

fn colour(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Valid => "brightgreen",
        Verdict::NotChecked => "green",
        Verdict::Suspect => "yellow",
        Verdict::Invalid => "lightgrey",
    }
}
