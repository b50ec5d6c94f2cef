//! Servers, programs, stores and gateways that lie, each beside the sentence of a page that says
//! what finds it out: `make liars` has them all measured, and prints a line for each.
//!
//! The list grows with each lie that was believed once. The parts:
//!
//! - [`tried`]: who lies how, and what finds it out;
//! - [`held`]: sentences that a test or a mistake of the museum holds.

mod held;
mod tried;

use std::fmt;
use std::path::{Path, PathBuf};

use result::Run;
use result::durability::{CutVerdict, Durability};
use result::finding::{Finding, Verdict};
use result::outcome::{ClaimOutcome, ClaimWord};

use crate::fixture::{Lab, Said};
use held::Holder;

/// Somebody who lies.
#[derive(Debug, Clone, Copy)]
struct Liar {
    /// The page that tells of it.
    page: &'static str,
    /// What that says, in its own words.
    sentence: &'static str,
    /// How the test's server, program or store lies.
    mode: &'static str,
    /// What finds it out.
    by: By,
}

/// What finds a liar out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    /// This check, whose word is suspect or worse.
    Check(&'static str),
    /// This check, which says that something isn't known.
    NotChecked(&'static str),
    /// There is no figure.
    NoFigure,
    /// These words are told.
    Told(&'static str),
    /// It is cut off in this way.
    Rung(&'static str),
    /// It is cut off, and its data lie elsewhere.
    Elsewhere,
    /// The claim isn't said to hold without doubt.
    NotHeld,
    /// Nothing does, and the page says so.
    Nothing,
}

impl fmt::Display for By {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            By::Check(check) => to.pad(&format!("found by {check}")),
            By::NotChecked(check) => to.pad(&format!("not checked, by {check}")),
            By::NoFigure => to.pad("found: it has no figure"),
            By::Told(_) => to.pad("found: it is told"),
            By::Rung(rung) => to.pad(&format!("found by the rung {rung}")),
            By::Elsewhere => to.pad("found: its data lie elsewhere"),
            By::NotHeld => to.pad("found: the claim doesn't stand"),
            By::Nothing => to.pad("NOT FOUND"),
        }
    }
}

/// Cuts of each store. Some lose only what comes between two moments, which a cut may miss.
const CUTS: &str = "8";

/// Checks whose word depends on what else the machine does. Of one who is honest they may say
/// anything, and of a liar that they can't tell.
const OF_THE_MACHINE: [&str; 4] = ["server-cores", "hidden-tail", "stall", "steady"];

/// Checks that say nothing of a liar whom nothing finds out.
const OF_LIES: [&str; 6] =
    ["contract", "errors", "same-answers", "own-account", "keep-alive", "survives"];

/// The liars that are asked for, by their modes, as in `LIARS=mget-swap,once-wrong`; else all.
fn asked_for(liars: &[Liar]) -> Vec<Liar> {
    let asked = std::env::var("LIARS").unwrap_or_default();
    let is_asked = |liar: &&Liar| asked.is_empty() || asked.split(',').any(|it| it == liar.mode);
    liars.iter().filter(is_asked).copied().collect()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Pages with the sentences that somebody holds, and who.
fn sentences() -> impl Iterator<Item = (&'static str, &'static str, String)> {
    let tried = tried::all().map(|it| (it.page, it.sentence, it.mode.to_string()));
    tried.chain(held::all().map(|(page, it)| (page, it.sentence, format!("{:?}", it.by))))
}

/// Else somebody who reads a page would rely on what nobody tries.
#[test]
fn each_sentence_that_a_liar_is_held_against_stands_on_its_page() {
    let is_missing = |(page, sentence, _): &(&str, &str, String)| {
        let text = std::fs::read_to_string(root().join(page)).unwrap();
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        !words.contains(sentence)
    };
    let missing: Vec<_> = sentences().filter(is_missing).collect();
    assert!(missing.is_empty(), "no page says so: {missing:#?}");
}

/// Else a new check would be believed before anybody has lied to it.
#[test]
fn each_page_of_a_check_has_somebody_who_is_found_by_it() {
    for page in std::fs::read_dir(root().join("docs/checks")).unwrap() {
        let page = format!("docs/checks/{}", page.unwrap().file_name().to_string_lossy());
        let is_named = sentences().any(|(named, ..)| named == page);
        assert!(is_named || page.ends_with("/README.md"), "nobody is held against {page}");
    }
}

/// Else a sentence would stand by a test that was since renamed, or by another's mistake.
#[test]
fn who_is_said_to_hold_a_sentence_is_there_and_of_its_check() {
    let sources = sources_of(&root().join("crates"));
    let mut gone = Vec::new();
    for (page, held) in held::all() {
        match held.by {
            Holder::Test(name) => {
                let test = format!("fn {name}(");
                if !sources.iter().any(|text| text.contains(&test)) {
                    gone.push((page, name));
                }
            }
            Holder::Mistake(name) => {
                let file = root().join(format!("mistakes/{name}.toml"));
                let text = std::fs::read_to_string(file).unwrap();
                let check = page.strip_prefix("docs/checks/").and_then(|it| it.strip_suffix(".md"));
                let by = check.map(|check| format!("check = \"{check}\"")).unwrap_or_default();
                // What is equal ties: no check says so.
                let is_by = text.contains(&by) || text.contains("caught_by = \"tie\"");
                assert!(is_by, "{page}: {name} is caught by another");
            }
        }
    }
    assert!(gone.is_empty(), "there are no such tests: {gone:?}");
}

/// The texts of all files in Rust below a folder.
fn sources_of(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (folders, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    let in_rust = files.iter().filter(|path| path.extension().is_some_and(|end| end == "rs"));
    let texts = in_rust.map(|path| std::fs::read_to_string(path).unwrap());
    texts.chain(folders.iter().flat_map(|folder| sources_of(folder))).collect()
}

/// What a check says of a contender of a run.
fn finding<'a>(run: &'a Run, mode: &str, check: &str) -> Option<&'a Finding> {
    let mut rows = run.outcomes.iter().flat_map(|it| &it.rows);
    rows.find(|row| row.contender == mode)?.findings.iter().find(|it| it.check == check)
}

/// What found a contender out in a run that told this.
fn found(run: &Run, said: &Said, mode: &str, expected: By) -> By {
    let has_row = run.outcomes.iter().flat_map(|it| &it.rows).any(|row| row.contender == mode);
    let verdict = |check| finding(run, mode, check).map(|it| it.verdict);
    let all = |check| {
        let findings = run.outcomes.iter().flat_map(|it| &it.rows).flat_map(|row| &row.findings);
        findings.filter(move |it| it.check == check).map(|it| it.verdict)
    };
    match expected {
        By::Told(words) if said.stderr.contains(words) => expected,
        By::Check(check) if verdict(check) >= Some(Verdict::Suspect) => expected,
        By::Check(check) if verdict(check) == Some(Verdict::NotChecked) => By::NotChecked(check),
        By::NotChecked(check) if verdict(check) == Some(Verdict::NotChecked) => expected,
        By::NotChecked(check) if verdict(check) >= Some(Verdict::Suspect) => By::Check(check),
        // What one leaves behind may be told of those after it.
        By::NotChecked(check @ "fresh-process")
            if all(check).any(|it| it == Verdict::NotChecked) =>
        {
            expected
        }
        _ if !has_row => By::NoFigure,
        By::Nothing => {
            let finds = |check: &&'static str| verdict(check) >= Some(Verdict::Suspect);
            OF_LIES.into_iter().find(finds).map_or(By::Nothing, By::Check)
        }
        _ => By::Nothing,
    }
}

/// Has them measured in one run beside one who is honest; those that weren't found as their page
/// says, in words. They are measured again before, twice at most: a busy machine hides what shows in
/// times.
fn tried(lab: &Lab, liars: &[Liar]) -> Vec<String> {
    if liars.is_empty() {
        return Vec::new();
    }
    let mut wrong = Vec::new();
    let mut left: Vec<&Liar> = liars.iter().collect();
    for tries_left in [2, 1, 0] {
        let names: Vec<&str> = left.iter().map(|liar| liar.mode).chain(["honest"]).collect();
        let said = lab.bakeoff(&["run", "s", "--only", &names.join(",")]);
        let run = lab.run();
        lab.assert_nothing_is_left();
        wrong.extend(accused(&run, liars));
        left.retain(|liar| {
            let found = found(&run, &said, liar.mode, liar.by);
            let is_over = is_said(found, liar.by) || tries_left == 0;
            if is_over {
                wrong.extend(told(liar, found));
            }
            !is_over
        });
        if left.is_empty() {
            break;
        }
    }
    wrong
}

/// What is said against the one who is honest by the checks that find these liars.
fn accused(run: &Run, liars: &[Liar]) -> Vec<String> {
    let mut checks = vec!["contract", "errors", "same-answers"];
    checks.extend(liars.iter().filter_map(|liar| match liar.by {
        By::Check(check) if !OF_THE_MACHINE.contains(&check) => Some(check),
        _ => None,
    }));
    checks.sort_unstable();
    checks.dedup();
    let findings = checks.into_iter().filter_map(|check| finding(run, "honest", check));
    let accuses = findings.filter(|finding| finding.verdict > Verdict::NotChecked);
    accuses.map(|finding| format!("who is honest is accused: {finding:?}")).collect()
}

/// Whether one was found as a page says.
fn is_said(found: By, by: By) -> bool {
    match (found, by) {
        (By::NotChecked(found), By::Check(by)) => found == by && OF_THE_MACHINE.contains(&by),
        (found, by) => found == by,
    }
}

/// Prints what found a liar out; in words, if that isn't what its page says.
fn told(Liar { page, sentence, mode, by }: &Liar, found: By) -> Option<String> {
    line(&found, mode, page, sentence);
    (!is_said(found, *by)).then(|| format!("{mode}: {found}, and {page} says that it is {by}"))
}

fn line(found: &impl fmt::Display, who: &str, page: &str, sentence: &str) {
    println!("{found:<29} {who:<34} {page}: {sentence}");
}

/// Programs in these modes, beside one that is honest in this way.
fn programs(lab: Lab, honest: &str, liars: &[Liar]) -> Vec<String> {
    let liars = &asked_for(liars);
    lab.program("honest", honest);
    liars.iter().for_each(|liar| lab.program(liar.mode, liar.mode));
    // Some of them tell late what the warm-up was.
    lab.change_study("measure_s = 0.6\nwarmup_s = 0.1", "measure_s = 0.6\nwarmup_s = 0.4");
    tried(&lab, liars)
}

/// Stores in these modes, of which this is asked, beside one that is honest.
fn stores(asks: &str, liars: &[Liar], changes: &[(&str, &str)]) -> Vec<String> {
    let (lab, liars) = (Lab::of_stores(), &asked_for(liars));
    lab.change_study("[\"read\"], keys", &format!("[\"{asks}\"], keys"));
    changes.iter().for_each(|(from, to)| lab.change_study(from, to));
    let modes = liars.iter().map(|liar| liar.mode);
    modes.chain(["honest"]).for_each(|mode| super::stores::lying(&lab, mode));
    tried(&lab, liars)
}

/// Gateways in these modes, after these changes to their study, beside one that is honest.
fn gateways(liars: &[Liar], changes: &[(&str, &str)]) -> Vec<String> {
    let (lab, liars) = (Lab::of_gateways(), &asked_for(liars));
    changes.iter().for_each(|(from, to)| lab.change_study(from, to));
    let modes = liars.iter().map(|liar| liar.mode);
    modes.chain(["honest"]).for_each(|mode| super::rooms::gateway(&lab, mode));
    tried(&lab, liars)
}

/// The server of tests that lies.
const SERVER: (&str, &str) = ("liar.py", include_str!("../../fixture/liar.py"));

/// Servers in these modes, measured for so long, beside one that is honest; with such a body.
fn servers(measure_s: &str, body: &str, liars: &[Liar]) -> Vec<String> {
    let (lab, liars) = (Lab::new(), &asked_for(liars));
    lab.change_study("body = \"{nonce}\"", body);
    lab.change_study("measure_s = 0.3", &format!("measure_s = {measure_s}"));
    liars.iter().map(|liar| liar.mode).chain(["honest"]).for_each(|mode| server(&lab, mode));
    tried(&lab, liars)
}

/// A server as a contender, whose name begins with its mode.
fn server(lab: &Lab, name: &str) {
    let mode = name.strip_suffix(AGAIN).unwrap_or(name);
    let run = lab.python(&format!("studies/s/{name}"), SERVER, mode);
    lab.contender(name, &run, "needs = { python3 = \"python3\" }");
}

/// The end of the name of one that takes part twice.
const AGAIN: &str = "-again";

/// Claims that a study makes of servers, each as `A` [`AHEAD_OF`] `B`, and what becomes of them.
fn claims(liars: &[Liar]) -> Vec<String> {
    let (lab, liars) = (Lab::new(), &asked_for(liars));
    if liars.is_empty() {
        return Vec::new();
    }
    let mut study = String::new();
    for Liar { mode, .. } in liars {
        let (one, other) = mode.split_once(AHEAD_OF).unwrap();
        study += &format!(
            "[[claim]]\nsays = \"It is ahead.\"\nsource = \"the test\"\ncontender = \"{one}\"\n\
             against = [\"{other}\"]\n\n"
        );
        [one, other].iter().for_each(|name| server(&lab, name));
    }
    lab.change_study("[profile.quick]\nblocks = 1", &format!("{study}[profile.quick]\nblocks = 6"));
    lab.bakeoff(&["run", "s"]);
    let run = lab.run();
    lab.assert_nothing_is_left();
    assert_eq!(run.claims.len(), liars.len());
    let stands = |it: &ClaimOutcome| it.word == ClaimWord::Holds && it.verdict < Verdict::Suspect;
    let found = run.claims.iter().map(|it| if stands(it) { By::Nothing } else { By::NotHeld });
    liars.iter().zip(found).filter_map(|(liar, found)| told(liar, found)).collect()
}

const AHEAD_OF: &str = " ahead of ";

/// What finds a server out in a duel with one that is honest.
fn in_a_duel(mode: &str, by: By) -> By {
    let lab = Lab::new();
    lab.python(".", SERVER, mode);
    let command = |mode: &str| format!("{mode}=python3 -B liar.py {mode}");
    let (honest, liar) = (command("honest"), command(mode));
    // Without a text its bodies have to be of one length.
    let text: &[&str] = match by {
        By::Told(_) => &[],
        _ => &["--expect-body", "7"],
    };
    let short = ["--blocks", "2", "--seconds", "0.5", "--warmup", "0.2", "-c", "4"];
    let duel = ["duel", "--path", "/hello?id=7", "--name", &honest, "--name", &liar];
    let said = lab.bakeoff(&[&duel[..], &short, text].concat());
    lab.assert_nothing_is_left();
    found(&lab.run(), &said, mode, by)
}

/// What finds a store out that is cut off, thrice at most: all cuts may miss what lies between two
/// moments.
fn cut_off_again(Liar { mode, by, .. }: &Liar) -> By {
    let found = || cut_off(mode, *by);
    (1..3).map(|_| found()).find(|found| is_said(*found, *by)).unwrap_or_else(found)
}

/// What finds a store out that is cut off: on the rung that is said to, or where its disk alone is.
fn cut_off(mode: &str, by: By) -> By {
    let rung = match by {
        By::Rung(rung) => rung,
        _ => "machine",
    };
    let lab = super::durability::lab_with(mode, "");
    let said = lab.bakeoff(&["durability", "s/it", "--rung", rung, "--cuts", CUTS, "--json"]);
    let seen: Vec<Durability> =
        serde_json::from_str(&said.stdout).unwrap_or_else(|error| panic!("{error}: {said:?}"));
    lab.assert_nothing_is_left();
    match &seen[0].rungs[0].verdict {
        CutVerdict::Kept => By::Nothing,
        CutVerdict::NotChecked(why) if why.contains("elsewhere") => By::Elsewhere,
        CutVerdict::NotChecked(why) => panic!("{rung} can't be had: {why}"),
        CutVerdict::Lost | CutVerdict::Corrupt | CutVerdict::DoesNotStart => By::Rung(rung),
    }
}

#[test]
#[ignore = "make liars"]
fn what_others_hold_is_listed() {
    for (page, held) in held::all() {
        match held.by {
            Holder::Test(name) => line(&"by a test of `make test`", name, page, held.sentence),
            Holder::Mistake(name) => line(&"by `make mistakes`", name, page, held.sentence),
        }
    }
}

#[test]
#[ignore = "make liars"]
fn servers_that_lie_are_found_as_their_pages_say() {
    let holds = "body = \"{nonce}\"";
    let whole = format!("body = \"{{nonce}}{}\", whole_body = true", ".".repeat(70));
    let mut wrong = servers("0.3", holds, &tried::OF_CONTRACT);
    wrong.extend(servers("1.2", holds, &tried::OF_LOAD));
    wrong.extend(servers("0.6", &whole, &tried::OF_WHOLE_BODIES));
    wrong.extend(servers("4", holds, &tried::OF_SECONDS));
    wrong.extend(claims(&tried::OF_CLAIMS));
    let duels = asked_for(&tried::OF_DUELS);
    wrong.extend(duels.iter().filter_map(|liar| told(liar, in_a_duel(liar.mode, liar.by))));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
#[ignore = "make liars"]
fn stores_that_lie_are_found_as_their_pages_say() {
    let mut wrong = stores("mixed", &tried::OF_READS, &[]);
    wrong.extend(stores("write", &tried::OF_WRITES, &[]));
    let a_second = ("measure_s = 0.3", "measure_s = 1");
    wrong.extend(stores("read-ten", &tried::OF_SEVERAL, &[a_second]));
    wrong.extend(stores("remove", &tried::OF_REMOVALS, &[]));
    let may_evict = ("[asks.read]\n", "[asks.read]\nevicts = true\n");
    wrong.extend(stores("read", &tried::OF_MISSES, &[may_evict]));
    let cut_once =
        [("blocks = 1\n", "blocks = 1\ncuts = 1\n"), ("measure_s = 0.3", "measure_s = 3.2")];
    wrong.extend(stores("write", &tried::OF_CRASHES, &cut_once));
    let on_many =
        [("connections = [4]", "connections = [128]"), ("blocks = 1\n", "blocks = 1\ncuts = 2\n")];
    wrong.extend(stores("write", &tried::OF_FLUSHES, &on_many));
    let cuts = asked_for(&tried::OF_CUTS);
    wrong.extend(cuts.iter().filter_map(|liar| told(liar, cut_off_again(liar))));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
#[ignore = "make liars"]
fn gateways_that_lie_are_found_as_their_pages_say() {
    let mut wrong = gateways(&tried::OF_ROOMS, &[]);
    let large = ("connections = 20, room = [5]", "connections = 400, room = [200]");
    wrong.extend(gateways(&tried::OF_LARGE_ROOMS, &[large, ("per_s = 2000", "per_s = 20000")]));
    let pairs = ("connections = 20, room = [5]", "connections = 96, room = [2]");
    let seconds = ("measure_s = 0.6", "measure_s = 2.2");
    let changes = [pairs, ("per_s = 2000", "per_s = 4000"), seconds];
    wrong.extend(gateways(&tried::OF_PAIRS, &changes));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
#[ignore = "make liars"]
fn programs_that_lie_are_found_as_their_pages_say() {
    let mut wrong = programs(Lab::of_programs(), "honest", &tried::OF_PAYLOADS);
    let order = Lab::of_programs();
    order.change_study("sum = \"payloads\"", "sum = \"payloads-in-order\"");
    wrong.extend(programs(order, "in-order", &tried::OF_ORDER));
    let records = super::programs::of_records(super::programs::MAKER);
    wrong.extend(programs(records, "honest", &tried::OF_RECORDS_KEPT));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
