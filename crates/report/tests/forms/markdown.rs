//! What a run says where it is pasted.

use report::{Terminal, html, markdown, terminal};
use result::evidence::ProcessUse;
use result::kind::Kind;

use crate::fixture;

#[test]
fn a_run_reads_well_as_text_too() {
    insta::assert_snapshot!(markdown(&fixture::published()));
}

#[test]
fn a_build_that_is_not_known_is_told() {
    let mut run = fixture::web();
    run.bakeoff_sha256 = None;
    let text = markdown(&run);
    assert!(text.contains("; bakeoff 0.1.0 (which build isn't known), 2026"), "{text}");
}

/// A fork's memory is mostly its parent's: else a store that saves would seem to take twice as much.
#[test]
fn that_memory_was_summed_over_processes_is_told_in_every_form() {
    let mut run = fixture::quick();
    run.study.figures = Kind::Keys.figures(None);
    run.trials[0].evidence.server.processes = vec![ProcessUse::default(); 2];
    let terminal = terminal(&run, Terminal { columns: 200, colour: false });
    for text in [terminal, markdown(&run), html(&run)] {
        assert!(text.contains("what two share"), "{text}");
    }
    run.trials[0].evidence.server.processes.pop();
    assert!(!markdown(&run).contains("what two share"), "one process shares nothing");
}

#[test]
fn an_invalid_figure_is_struck_out_with_its_reason() {
    let text = markdown(&fixture::web());
    let row = text.lines().find(|line| line.contains("~~")).expect("nothing is struck out");
    assert!(row.contains("Go net/http") && row.contains("✗ invalid: load-arrived"), "{row}");
}

#[test]
fn a_lighter_contract_is_named_wherever_its_contender_is() {
    let text = markdown(&fixture::lighter());
    let mut rows = 0;
    for line in text.lines().filter(|line| line.contains("nginx, static file")) {
        let named = line.matches("nginx, static file").count();
        let with_it = line.matches("nginx, static file (lighter contract: static)").count();
        let is_note = line.contains("nginx, static file keeps the lighter contract");
        assert!(with_it == named || is_note, "{line}");
        rows += usize::from(line.starts_with("| "));
    }
    assert_eq!(rows, 4 + 1 + 2, "four loads, a rate for all, and two points of a curve: {text}");
}

#[test]
fn every_table_has_its_columns_whatever_is_written_in_it() {
    for run in [fixture::published(), fixture::hostile(), fixture::quick()] {
        let text = markdown(&run);
        let tables = text.split("\n\n").filter(|part| part.starts_with("| "));
        for table in tables {
            let columns = |line: &str| line.replace("\\|", "").matches('|').count();
            let first = columns(table.lines().next().unwrap());
            for line in table.lines() {
                assert_eq!(columns(line), first, "{line}");
            }
        }
    }
}

#[test]
fn hostile_text_is_neither_html_nor_a_control_character() {
    let text = markdown(&fixture::hostile()).replace("<!-- -->", "");
    for part in text.split("\\<").flat_map(|part| part.split('`').step_by(2)) {
        assert!(!part.contains("<script") && !part.contains("<img"), "{part}");
    }
    assert!(!text.contains(['\u{1b}', '\u{7}', '\u{202e}']), "a control character is in it");
}

#[test]
fn the_largest_study_can_be_pasted_into_an_issue() {
    let text = markdown(&fixture::largest());
    let chars = text.chars().count();
    assert!(chars <= 65_536, "{chars} characters");
    assert!(text.contains("more, in report.html"), "224 rows have something against them");
    let mut larger = fixture::largest();
    let points = &mut larger.curves[0].lines[0].points;
    *points = points.iter().cycle().take(100).cloned().collect();
    let text = markdown(&larger);
    let chars = text.chars().count();
    assert!(chars <= 65_536, "{chars} characters");
    assert!(text.contains("The points of the curves are in report.html."));
}

#[test]
fn open_loops_have_their_tables() {
    let text = markdown(&fixture::open_loops());
    insta::assert_snapshot!(
        text.split("### One rate").nth(1).unwrap().split("(a–b)").next().unwrap()
    );
}
