//! Programs and stores that lie, each beside the sentence of a page that says what finds it out:
//! `make liars` has them all measured, and prints a line for each.
//!
//! The list grows with each lie that was believed once.

use std::fmt;
use std::path::Path;

use result::Run;
use result::durability::{CutVerdict, Durability};
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
    /// It is cut off in this way.
    Rung(&'static str),
    /// It is cut off, and its data lie elsewhere.
    Elsewhere,
    /// Nothing does, and the page says so.
    Nothing,
}

impl fmt::Display for By {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            By::Check(check) => to.pad(&format!("found by {check}")),
            By::NoFigure => to.pad("found: it has no figure"),
            By::Rung(rung) => to.pad(&format!("found by the rung {rung}")),
            By::Elsewhere => to.pad("found: its data lie elsewhere"),
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

const ERRORS: &str = "docs/checks/errors.md";
const WRONG_VALUE: &str = "So is a value of a store's key that is another than was written, that was overwritten before it was asked for, or that is gone though the store doesn't throw values away.";
const AT_ANY_TIME: &str = "That is wrong at any time.";
const SAME_ANSWERS: &str = "docs/checks/same-answers.md";
const READ_BACK: &str = "A key has to have the value of its last write.";

/// Of a study of stores that are read and written.
const OF_READS: [Liar; 3] = [
    Liar { page: ERRORS, sentence: WRONG_VALUE, mode: "stale-cold", by: By::Check("errors") },
    Liar { page: ERRORS, sentence: WRONG_VALUE, mode: "zero-fills", by: By::Check("errors") },
    Liar { page: ERRORS, sentence: AT_ANY_TIME, mode: "early-wrong", by: By::Check("errors") },
];

/// Of one whose work only writes.
const OF_WRITES: [Liar; 3] = [
    Liar {
        page: SAME_ANSWERS,
        sentence: READ_BACK,
        mode: "drops-some",
        by: By::Check("same-answers"),
    },
    Liar {
        page: SAME_ANSWERS,
        sentence: READ_BACK,
        mode: "drops-all",
        by: By::Check("same-answers"),
    },
    Liar {
        page: SAME_ANSWERS,
        sentence: READ_BACK,
        mode: "forgets-old",
        by: By::Check("same-answers"),
    },
];

const SURVIVES: &str = "docs/checks/survives.md";
const CRASH: &str =
    "A trial that writes ends with a crash, if the store was seen to survive its own.";

/// Of one whose stores are cut off before they are timed.
const OF_CRASHES: [Liar; 1] =
    [Liar { page: SURVIVES, sentence: CRASH, mode: "keeps-when-cut", by: By::Check("survives") }];

const DURABILITY: &str = "docs/durability.md";

/// Of stores that are cut off.
const OF_CUTS: [Liar; 7] = [
    Liar {
        page: DURABILITY,
        sentence: "| keeps all in memory | `process` |",
        mode: "null",
        by: By::Rung("process"),
    },
    Liar {
        page: DURABILITY,
        sentence: "| honest, but its files lie in `/dev/shm` | `machine` |",
        mode: "in-memory",
        by: By::Rung("machine"),
    },
    Liar {
        page: DURABILITY,
        sentence: "| honest, but its files lie beside its program | `machine`, as *its data lie elsewhere* |",
        mode: "in-source",
        by: By::Elsewhere,
    },
    Liar {
        page: DURABILITY,
        sentence: "| syncs every tenth time | `machine` |",
        mode: "every-tenth",
        by: By::Rung("machine"),
    },
    Liar {
        page: DURABILITY,
        sentence: "| syncs a file, renames it, and doesn't sync the folder | `machine` |",
        mode: "forgets-folder",
        by: By::Rung("machine"),
    },
    Liar {
        page: DURABILITY,
        sentence: "| has no checksum, and is cut off within a record | `machine`, as corrupt |",
        mode: "no-checksum",
        by: By::Rung("machine"),
    },
    Liar {
        page: DURABILITY,
        sentence: "| writes past the page cache (`O_DIRECT`), and never has the disk flushed | `power` |",
        mode: "no-flush",
        by: By::Rung("power"),
    },
];

/// The rungs, the lowest first.
const RUNGS: [&str; 3] = ["process", "machine", "power"];

/// Cuts of each rung. Some lose only what comes between two moments, which a cut may miss.
const CUTS: &str = "8";

fn all() -> impl Iterator<Item = &'static Liar> {
    let programs = OF_PAYLOADS.iter().chain(&OF_ORDER).chain(&OF_RECORDS_KEPT);
    programs.chain(&OF_READS).chain(&OF_WRITES).chain(&OF_CRASHES).chain(&OF_CUTS)
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
        _ => By::Nothing,
    }
}

/// Has them measured in one run beside one who is honest; those that weren't found as their page
/// says, in words.
fn tried(lab: &Lab, liars: &[Liar]) -> Vec<String> {
    let said = lab.bakeoff(&["run", "s"]);
    let run = lab.run();
    let row = run.outcomes[0].rows.iter().find(|row| row.contender == "honest");
    let mut wrong = Vec::new();
    for check in ["contract", "errors", "same-answers"] {
        let finding = row.and_then(|row| row.findings.iter().find(|it| it.check == check));
        if finding.is_some_and(|it| it.verdict > Verdict::NotChecked) {
            wrong.push(format!("who is honest is accused by {check}: {said:?}"));
        }
    }
    wrong.extend(liars.iter().filter_map(|liar| told(liar, found(&run, liar.mode, liar.by))));
    lab.assert_nothing_is_left();
    wrong
}

/// Prints what found a liar out; in words, if that isn't what its page says.
fn told(Liar { page, sentence, mode, by }: &Liar, found: By) -> Option<String> {
    println!("{found:<29} {mode:<34} {page}: {sentence}");
    // One that a rung finds may be found on the rung below already, by a luckier cut.
    let is_below = |(found, by)| RUNGS.iter().take_while(|it| **it != by).any(|it| *it == found);
    let is_said = match (found, *by) {
        (By::Rung(found), By::Rung(by)) => found == by || is_below((found, by)),
        (found, by) => found == by,
    };
    (!is_said).then(|| format!("{mode}: {found}, and {page} says that it is {by}"))
}

/// Programs in these modes, beside one that is honest in this way.
fn programs(lab: Lab, honest: &str, liars: &[Liar]) -> Vec<String> {
    lab.program("honest", honest);
    liars.iter().for_each(|liar| lab.program(liar.mode, liar.mode));
    // Some of them tell late what the warm-up was.
    lab.change_study("measure_s = 0.6\nwarmup_s = 0.1", "measure_s = 0.6\nwarmup_s = 0.4");
    tried(&lab, liars)
}

/// Stores in these modes, of which this is asked, beside one that is honest.
fn stores(lab: &Lab, asks: &str, liars: &[Liar]) -> Vec<String> {
    lab.change_study("[\"read\"], keys", &format!("[\"{asks}\"], keys"));
    let modes = liars.iter().map(|liar| liar.mode);
    modes.chain(["honest"]).for_each(|mode| super::stores::lying(lab, mode));
    tried(lab, liars)
}

/// What finds a store out that is cut off.
fn cut_off(mode: &str) -> By {
    let lab = super::durability::lab_with(mode, "");
    let said = lab.bakeoff(&["durability", "s/it", "--cuts", CUTS, "--json"]);
    let seen: Vec<Durability> =
        serde_json::from_str(&said.stdout).unwrap_or_else(|error| panic!("{error}: {said:?}"));
    lab.assert_nothing_is_left();
    let bad = seen[0].rungs.iter().find(|seen| seen.verdict != CutVerdict::Kept);
    match bad.map(|seen| (&seen.verdict, seen.rung)) {
        None => By::Nothing,
        Some((CutVerdict::NotChecked(why), _)) if why.contains("elsewhere") => By::Elsewhere,
        Some((CutVerdict::NotChecked(why), rung)) => panic!("{} can't be had: {why}", rung.name()),
        Some((_, rung)) => By::Rung(rung.name()),
    }
}

#[test]
#[ignore = "make liars"]
fn stores_that_lie_are_found_as_their_pages_say() {
    let mut wrong = stores(&Lab::of_stores(), "mixed", &OF_READS);
    wrong.extend(stores(&Lab::of_stores(), "write", &OF_WRITES));
    let before = Lab::of_stores();
    before.change_study("blocks = 1\n", "blocks = 1\ncuts = 1\n");
    wrong.extend(stores(&before, "write", &OF_CRASHES));
    wrong.extend(OF_CUTS.iter().filter_map(|liar| told(liar, cut_off(liar.mode))));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
#[ignore = "make liars"]
fn programs_that_lie_are_found_as_their_pages_say() {
    let mut wrong = programs(Lab::of_programs(), "honest", &OF_PAYLOADS);
    let order = Lab::of_programs();
    order.change_study("sum = \"payloads\"", "sum = \"payloads-in-order\"");
    wrong.extend(programs(order, "in-order", &OF_ORDER));
    let records = super::programs::of_records(super::programs::MAKER);
    wrong.extend(programs(records, "honest", &OF_RECORDS_KEPT));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
