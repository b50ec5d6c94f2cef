//! What a user reads at the terminal.

use report::{Terminal, terminal, terminal_brief};
use result::Run;
use result::evidence::ProcessUse;
use result::figure::{MEMORY, P99_US, RATE};
use result::finding::Verdict;
use result::outcome::Estimate;

use crate::fixture;

fn plain(run: &Run, columns: u16) -> String {
    terminal(run, Terminal { columns, colour: false })
}

#[test]
fn a_full_study_reads_well() {
    insta::assert_snapshot!(plain(&fixture::web(), 120));
}

/// Lines that a run may end with, but for those that say where the report is and what took how
/// long: at 80 columns these are six.
const BRIEF_LINES_MAX: usize = 34;

#[test]
fn a_run_ends_in_forty_lines_whatever_it_has() {
    let runs = [
        ("web", fixture::web()),
        ("stores", fixture::stores()),
        ("open loops", fixture::overloaded()),
        ("largest", fixture::largest()),
        ("hostile", fixture::hostile()),
        ("unfinished", Run { state: result::State::Unfinished, ..fixture::largest() }),
    ];
    for (name, run) in runs {
        for columns in [72, 80, 120, 200] {
            let text = terminal_brief(&run, Terminal { columns, colour: false });
            let lines = text.lines().count();
            assert!(lines <= BRIEF_LINES_MAX, "{name} at {columns}: {lines} lines:\n{text}");
            let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
            // Who writes names to be in the way takes what room he likes.
            assert!(
                name == "hostile" || widest <= columns.into(),
                "{name} at {columns}: a line of {widest}:\n{text}"
            );
        }
    }
}

#[test]
fn what_a_run_ends_with_reads_well() {
    insta::assert_snapshot!(terminal_brief(&fixture::web(), Terminal::default()));
}

#[test]
fn what_has_no_room_at_the_end_of_a_run_is_counted() {
    let run = fixture::largest();
    let text = terminal_brief(&run, Terminal { columns: 120, colour: false });
    insta::assert_snapshot!(text);
    assert!(text.contains(" more settings, in the report"), "{text}");
}

#[test]
fn a_full_study_fits_80_columns() {
    let text = plain(&fixture::web(), 80);
    let widest = text.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(80), "a line of {widest:?} characters wraps at 80 columns");
    insta::assert_snapshot!(text);
}

#[test]
fn a_terminal_without_width_shows_everything() {
    for columns in [0, 40, 72] {
        let text = plain(&fixture::web(), columns);
        for name in ["nginx-return", "go", "erlang", "load-arrived"] {
            assert!(text.contains(name), "{name} isn't shown at {columns} columns");
        }
    }
}

#[test]
fn a_quick_run_says_why_there_is_no_rank() {
    insta::assert_snapshot!(plain(&fixture::quick(), 100));
}

#[test]
fn a_lighter_contract_is_marked_at_the_name_and_explained() {
    let run = fixture::lighter();
    insta::assert_snapshot!(plain(&run, 120));
    for columns in [72, 80, 120] {
        let text = plain(&run, columns);
        assert!(text.contains("1 *nginx"), "no mark at {columns} columns: {text}");
        assert!(text.contains("* keeps a lighter contract"), "unexplained at {columns} columns");
        let (_, open_loops) = text.split_once("One rate for all").unwrap();
        let (rate, curve) = open_loops.split_once("Each at shares of its own maximum").unwrap();
        assert_eq!(rate.matches("*nginx").count(), 1, "{columns} columns: {rate}");
        assert_eq!(curve.matches("*nginx").count(), 2, "{columns} columns: {curve}");
    }
}

#[test]
fn what_was_made_again_is_named_with_the_reason() {
    let text = plain(&fixture::disturbed(), 100);
    let (_, part) = text.split_once("Made again\n").unwrap();
    insta::assert_snapshot!(part, @r"
    - block 1, 1,000 connections kept alive, one core: others used up to 0.60 cores and the host took
      up to 0.1 % of the time
    What was measured first is kept in run.json, and not counted.
    ");
}

#[test]
fn open_loops_read_well() {
    insta::assert_snapshot!(plain(&fixture::open_loops(), 120));
}

#[test]
fn the_marks_of_open_loops_are_explained_where_the_closed_loop_has_none() {
    let mut run = fixture::overloaded();
    run.curves[0].lines[0].points[1].figures.get_mut(P99_US).unwrap().at_least = true;
    let text = plain(&run, 1_000);
    for mark in ["≥ before a time: ", "? doubtful, ", "✗ not a figure to use, "] {
        assert!(text.contains(mark), "{mark:?} isn't explained: {text}");
    }
}

#[test]
fn open_loops_fit_80_columns() {
    let text = plain(&fixture::open_loops(), 80);
    let widest = text.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(80), "a line of {widest:?} characters wraps at 80 columns");
}

#[test]
fn a_run_without_figures_says_so() {
    let mut run = fixture::quick();
    run.state = result::State::Unfinished;
    run.trials.truncate(1);
    run.outcomes.clear();
    insta::assert_snapshot!(plain(&run, 80));
}

#[test]
fn a_server_that_never_came_up_is_not_dropped() {
    let mut run = fixture::without("go");
    for trial in run.trials.iter_mut().filter(|trial| trial.slot.contender == "go") {
        trial.evidence.process.failure = Some("Port 8080 was in use.".into());
    }
    assert!(plain(&run, 100).contains("Go net/http has no figure: Port 8080 was in use."));
}

#[test]
fn a_server_that_failed_at_one_rate_for_all_is_not_dropped() {
    let mut run = fixture::open_loops();
    let equal = fixture::equal_of(&mut run);
    let setting = equal.setting.clone();
    equal.rows.retain(|row| row.contender != "go");
    let of_go =
        |trial: &&mut result::Trial| trial.slot.contender == "go" && trial.slot.setting == setting;
    for trial in run.trials.iter_mut().filter(of_go) {
        trial.evidence.process.failure = Some("It ended with signal 11.".into());
    }
    let says = "Go net/http has no figure: It ended with signal 11.";
    assert!(plain(&run, 100).contains(says));
    assert!(report::markdown(&run).contains(says));
    assert!(report::html(&run).contains("</strong> has no figure: It ended with signal 11."));
}

#[test]
fn a_server_that_broke_the_contract_is_not_dropped() {
    let mut run = fixture::without("go");
    for trial in run.trials.iter_mut().filter(|trial| trial.slot.contender == "go") {
        trial.findings[1].verdict = Verdict::Invalid;
        trial.findings[1].says = "It answers 200 to garbage.".into();
    }
    assert!(plain(&run, 100).contains("Go net/http has no figure: It answers 200 to garbage."));
}

#[test]
fn colour_is_sent_only_where_it_may_be() {
    let run = fixture::web();
    assert!(!plain(&run, 80).contains('\u{1b}'), "escape sequences reached a file or pipe");
    let coloured = terminal(&run, Terminal { columns: 80, colour: true });
    assert!(coloured.contains("\u{1b}[9m"), "an invalid figure isn't struck out");
    assert_eq!(strip(&coloured), plain(&run, 80), "colour changed more than the colour");
}

#[test]
fn no_control_character_of_a_run_reaches_the_terminal() {
    for columns in [40, 80, 120] {
        let text = plain(&fixture::hostile(), columns);
        let found = text.chars().find(|char| char.is_control() && *char != '\n');
        assert_eq!(found, None, "at {columns} columns");
        assert!(!text.contains('\u{202e}'), "a mark of direction, at {columns} columns");
    }
}

#[test]
fn hostile_text_is_bounded() {
    let text = plain(&fixture::hostile(), 80);
    assert!(text.len() < 100_000, "{} bytes flood the terminal", text.len());
}

fn strip(text: &str) -> String {
    let text = anstream::adapter::strip_str(text).to_string();
    text.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// Of a user's own command nobody can say how it was made.
#[test]
fn contenders_without_a_tier_are_shown_without_one() {
    let mut run = fixture::quick();
    let shows = |run: &Run| {
        let terminal = terminal(run, Terminal { columns: 160, colour: false });
        [terminal, report::markdown(run)].map(|text| text.contains("tier"))
    };
    assert_eq!(shows(&run), [true, true]);
    run.contenders.iter_mut().for_each(|contender| contender.tier = None);
    assert_eq!(shows(&run), [false, false]);
    assert!(!report::html(&run).contains("idiomatic"));
}

/// A study of servers has no figure of memory, so nobody asks how it was summed.
#[test]
fn memory_is_explained_where_it_is_a_figure() {
    let mut run = fixture::quick();
    let process = ProcessUse::default();
    run.trials[0].evidence.server.processes = vec![process.clone(), process];
    let explains = |run: &Run| {
        let text = terminal(run, Terminal { columns: 160, colour: false });
        text.contains("memory is summed")
    };
    assert!(!explains(&run));
    run.study.figures = result::kind::Kind::Keys.figures(None);
    assert!(explains(&run));
}

/// Else nobody knows why a store with files elsewhere has a bound on its disk.
#[test]
fn bytes_that_may_be_more_are_marked_and_explained_in_each_form() {
    let mut run = fixture::stores();
    let forms = |run: &Run| {
        let terminal = terminal(run, Terminal { columns: 160, colour: false });
        [terminal, report::markdown(run), report::html(run)]
    };
    let explains = |run: &Run| forms(run).map(|text| text.contains("≥ before bytes"));
    assert_eq!(explains(&run), [false; 3]);
    let row = &mut run.outcomes[0].rows[0];
    let blocks = vec![3e9; row.figures[RATE].blocks.len()];
    let memory = Estimate { median: 3e9, interval: None, at_least: true, at_most: false, blocks };
    row.figures.insert(MEMORY.into(), memory);
    assert_eq!(explains(&run), [true; 3]);
    for text in forms(&run) {
        assert!(text.contains("≥2.79 GiB"), "{text}");
    }
}
