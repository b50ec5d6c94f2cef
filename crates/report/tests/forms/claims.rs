//! A study's claims in every form of the report.

use report::{Terminal, html, markdown, terminal};

use crate::fixture;

/// Else a reader would have to put ranks together to see whether a claim holds.
#[test]
fn a_claim_stands_with_what_became_of_it_and_where() {
    let mut run = fixture::quick();
    fixture::claim(&mut run, "Go is faster than Erlang.");
    let terminal = terminal(&run, Terminal { columns: 200, colour: false });
    for (form, text) in [("terminal", terminal), ("Markdown", markdown(&run)), ("HTML", html(&run))]
    {
        for says in [
            "What was claimed",
            "Go is faster than Erlang.",
            "depends (suspect), as far as measured",
            "holds (suspect)",
            "2 comparisons decide these claims",
            "2.50 times",
            "(2.38–2.62)",
            "0.80 times",
            "not measured",
        ] {
            assert!(text.contains(says), "{form} lacks {says:?}: {text}");
        }
    }
}
