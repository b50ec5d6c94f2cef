//! Programs and stores that lie, each beside the sentence of a page that says what finds it out:
//! `make liars` has them all measured, and prints a line for each.
//!
//! The list grows with each lie that was believed once.

use std::fmt;
use std::path::Path;

use result::Run;
use result::finding::Verdict;

use crate::fixture::Lab;

/// Somebody who lies.
struct Liar {
    /// The page that tells of it.
    page: &'static str,
    /// What that says, in its own words.
    sentence: &'static str,
    /// How the test program or store lies.
    mode: &'static str,
    /// What finds it out.
    by: By,
}

/// What finds a liar out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    /// This check, whose word is suspect or worse.
    Check(&'static str),
    /// There is no figure.
    NoFigure,
    /// Nothing does, and the page says so.
    Nothing,
}

impl fmt::Display for By {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            By::Check(check) => to.pad(&format!("found by {check}")),
            By::NoFigure => to.pad("found: it has no figure"),
            By::Nothing => to.pad("NOT FOUND"),
        }
    }
}

const CONTRACT: &str = "docs/checks/contract.md";
const ITS_CLOCK: &str = "A clock that stands still makes any rate.";
const ITS_SUM: &str =
    "Work that was left out, counted twice or counted before it was done gives another sum.";
const OTHER_WAY: &str =
    "A program that leaves out the work and makes the right sum in another way isn't found.";
const OF_RECORDS: &str = "no record was kept from an earlier round.";
const IN_ORDER: &str =
    "Whoever reads them had each payload in its turn, with none lost and none twice.";
const REFUSED: &str = "A line with a number that no program can tell is refused when it is read";
const NO_FIGURE: &str = "A trial has no figure if a line can't be read, an account goes backwards, or the program ends before its result.";
const OWN_ACCOUNT: &str = "docs/checks/own-account.md";
const AHEAD: &str = "A program that does its work ahead, and counts it in the window, has a rate of its own choosing, and its sums are right.";
const LATE: &str =
    "Lines come every 200 ms; where none comes for longer, nobody knows when the work was done.";

/// Of a study that has its contenders sum payloads.
const OF_PAYLOADS: [Liar; 15] = [
    Liar { page: CONTRACT, sentence: ITS_SUM, mode: "counts-twice", by: By::Check("contract") },
    Liar { page: CONTRACT, sentence: OTHER_WAY, mode: "sums-alone", by: By::Nothing },
    Liar { page: CONTRACT, sentence: ITS_CLOCK, mode: "stopped-clock", by: By::Check("contract") },
    Liar { page: CONTRACT, sentence: ITS_CLOCK, mode: "fast-clock", by: By::Check("contract") },
    Liar { page: CONTRACT, sentence: ITS_CLOCK, mode: "slow-clock", by: By::Check("contract") },
    Liar { page: CONTRACT, sentence: NO_FIGURE, mode: "garbage", by: By::NoFigure },
    Liar { page: CONTRACT, sentence: NO_FIGURE, mode: "no-result", by: By::NoFigure },
    Liar { page: CONTRACT, sentence: NO_FIGURE, mode: "tells-at-the-end", by: By::NoFigure },
    Liar { page: CONTRACT, sentence: REFUSED, mode: "boasts", by: By::NoFigure },
    Liar { page: CONTRACT, sentence: REFUSED, mode: "extreme-t-1e308", by: By::NoFigure },
    Liar { page: CONTRACT, sentence: REFUSED, mode: "extreme-result--5", by: By::NoFigure },
    Liar {
        page: CONTRACT,
        sentence: REFUSED,
        mode: "extreme-done-1152921504606846976",
        by: By::NoFigure,
    },
    Liar { page: OWN_ACCOUNT, sentence: AHEAD, mode: "works-ahead", by: By::Check("own-account") },
    Liar { page: OWN_ACCOUNT, sentence: AHEAD, mode: "saves-up", by: By::Check("own-account") },
    Liar { page: OWN_ACCOUNT, sentence: LATE, mode: "pauses", by: By::Check("own-account") },
];

/// Of one in which their order counts.
const OF_ORDER: [Liar; 1] =
    [Liar { page: CONTRACT, sentence: IN_ORDER, mode: "not-in-order", by: By::Check("contract") }];

/// Of one with records.
const OF_RECORDS_KEPT: [Liar; 2] = [
    Liar { page: CONTRACT, sentence: OF_RECORDS, mode: "one-record", by: By::Check("contract") },
    Liar {
        page: CONTRACT,
        sentence: OF_RECORDS,
        mode: "records-never-change",
        by: By::Check("contract"),
    },
];

fn all() -> impl Iterator<Item = &'static Liar> {
    OF_PAYLOADS.iter().chain(&OF_ORDER).chain(&OF_RECORDS_KEPT)
}

/// Else somebody who reads a page would rely on what nobody tries.
#[test]
fn each_sentence_that_a_liar_is_held_against_stands_on_its_page() {
    for Liar { page, sentence, mode, .. } in all() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(page);
        let text = std::fs::read_to_string(&path).unwrap();
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(sentence), "{mode}: {page} doesn't say: {sentence}");
    }
}

/// What found a contender out in a run.
fn found(run: &Run, mode: &str, expected: By) -> By {
    let row = run.outcomes.iter().flat_map(|it| &it.rows).find(|row| row.contender == mode);
    let Some(row) = row else { return By::NoFigure };
    let speaks = |check: &str| {
        let said = row.findings.iter().find(|finding| finding.check == check);
        said.is_some_and(|finding| finding.verdict >= Verdict::Suspect)
    };
    match expected {
        By::Check(check) if speaks(check) => By::Check(check),
        By::Check(_) | By::NoFigure | By::Nothing => By::Nothing,
    }
}

/// Has them measured in one run beside one who is honest; those that weren't found as their page
/// says, in words.
fn tried(lab: &Lab, honest: &str, liars: &[Liar]) -> Vec<String> {
    lab.program("honest", honest);
    liars.iter().for_each(|liar| lab.program(liar.mode, liar.mode));
    // Some of them tell late what the warm-up was.
    lab.change_study("measure_s = 0.6\nwarmup_s = 0.1", "measure_s = 0.6\nwarmup_s = 0.4");
    let said = lab.bakeoff(&["run", "s"]);
    let run = lab.run();
    let mut wrong = Vec::new();
    let row = run.outcomes[0].rows.iter().find(|row| row.contender == "honest");
    let contract = row.and_then(|row| row.findings.iter().find(|it| it.check == "contract"));
    if contract.is_none_or(|it| it.verdict != Verdict::Valid) {
        wrong.push(format!("an honest program is accused: {said:?}"));
    }
    for Liar { page, sentence, mode, by } in liars {
        let found = found(&run, mode, *by);
        println!("{found:<28} {mode:<34} {page}: {sentence}");
        if found != *by {
            wrong.push(format!("{mode}: {found}, and {page} says that it is {by}"));
        }
    }
    lab.assert_nothing_is_left();
    wrong
}

#[test]
#[ignore = "make liars"]
fn programs_that_lie_are_found_as_their_pages_say() {
    let payloads = Lab::of_programs();
    let mut wrong = tried(&payloads, "honest", &OF_PAYLOADS);
    let order = Lab::of_programs();
    order.change_study("sum = \"payloads\"", "sum = \"payloads-in-order\"");
    wrong.extend(tried(&order, "in-order", &OF_ORDER));
    let records = super::programs::of_records(super::programs::MAKER);
    wrong.extend(tried(&records, "honest", &OF_RECORDS_KEPT));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
