//! Studies of stores: the load generator asks them for keys.

use result::durability::Durability;
use result::evidence::AfterCrash;
use result::figure::{DISK_BYTES, MEMORY, RATE};
use result::finding::Verdict;
use result::{Run, State};

use crate::fixture::{Lab, STORES, Said, skipped};

/// A contender that is the test store in this mode.
fn store(lab: &Lab, mode: &str) {
    lab.write(&format!("studies/s/{mode}/store.pl"), include_str!("../fixture/store.pl"));
    let run = format!("[\"perl\", \"$SOURCE/store.pl\", \"{mode}\"]");
    let more = "needs = { perl = \"perl-base\" }\nspeaks = \"memcached\"";
    lab.contender(mode, &run, more);
}

/// What a check says of a contender.
fn verdict(run: &Run, contender: &str, check: &str) -> Verdict {
    let row = run.outcomes[0].rows.iter().find(|row| row.contender == contender);
    let row = row.unwrap_or_else(|| panic!("{contender} was not measured"));
    row.findings.iter().find(|it| it.check == check).expect("the check applies").verdict
}

/// A run of one store in this mode that is asked this.
fn run_of(mode: &str, asks: &str) -> (Run, Said) {
    let lab = Lab::of_stores();
    lab.change_study("[\"read\"], keys", &format!("[\"{asks}\"], keys"));
    store(&lab, mode);
    let said = lab.bakeoff(&["run", "s"]);
    lab.assert_nothing_is_left();
    (lab.run(), said)
}

#[test]
fn stores_are_filled_then_asked_and_tell_what_they_have() {
    let lab = Lab::of_stores();
    lab.change_study("[\"read\"], keys", "[\"mixed\"], keys");
    store(&lab, "honest");
    let said = lab.bakeoff(&["run", "s"]);
    let run = lab.run();
    assert_eq!(run.state, State::Complete, "{said:?}");
    let evidence = &run.trials[0].evidence;
    let store = evidence.store.as_ref().unwrap_or_else(|| panic!("{:?}", evidence.process));
    assert_eq!(store.preload.map(|it| (it.keys, it.acknowledged)), Some((1000, 1000)));
    assert_eq!((store.keys_due, store.keys_there), (Some((1000, 1000)), Some(1000)));
    assert_eq!((store.misses, store.missing, store.wrong, store.stale), (0, 0, 0, 0));
    let work = evidence.work.as_ref().unwrap();
    let operations: Vec<&str> = work.operations.iter().map(|it| &*it.operation).collect();
    assert!(store.hits > 0 && operations == ["get", "set"], "{store:?}");
    let row = &run.outcomes[0].rows[0];
    assert!(row.figure(RATE).is_some() && row.figure(MEMORY).is_some(), "{row:?}");
    assert!(row.figure(DISK_BYTES).is_some(), "{row:?}");
    for check in ["contract", "errors", "misses", "evictions", "same-answers"] {
        assert_eq!(verdict(&run, "honest", check), Verdict::Valid, "{check}");
    }
    let title = "reads and writes, 100 bytes a value, 1,000 keys, 4 connections";
    assert!(said.stderr.contains(title), "{said:?}");
    // How long a store takes to be filled nobody knows before it was.
    assert!(said.stderr.contains("\n  time         at least "), "{said:?}");
    lab.assert_nothing_is_left();
}

#[test]
fn reads_of_what_nobody_wrote_are_no_reads() {
    let (run, _) = run_of("honest", "read-nothing");
    assert_eq!(verdict(&run, "honest", "misses"), Verdict::Invalid);
    assert_eq!(verdict(&run, "honest", "errors"), Verdict::Valid, "they may be absent");
}

#[test]
fn a_store_that_lost_what_it_acknowledged_is_found_out() {
    let (run, _) = run_of("loses", "read");
    assert_eq!(verdict(&run, "loses", "errors"), Verdict::Invalid);
    assert_eq!(verdict(&run, "loses", "evictions"), Verdict::Invalid);
    let store = run.trials[0].evidence.store.as_ref().unwrap();
    assert!(store.missing > 0 && store.keys_there < Some(1000), "{store:?}");
}

/// A store that lies in this way, and a run of it that is asked this.
pub fn lying(lab: &Lab, mode: &str) {
    let folder = format!("studies/s/{mode}");
    let run = lab.python(&folder, ("lying.py", include_str!("../fixture/lying.py")), mode);
    lab.contender(mode, &run, "needs = { python3 = \"python3\" }\nspeaks = \"redis\"");
}

/// What is told of a store that lies has to be its lie, and of one that doesn't nothing.
#[test]
fn stores_that_lie_under_load_are_found_out_by_what_they_give() {
    for (asks, modes, check) in [
        ("mixed", &["honest", "stale-cold", "zero-fills", "early-wrong"][..], "errors"),
        ("write", &["honest", "drops-some", "drops-all", "forgets-old"], "same-answers"),
    ] {
        let lab = Lab::of_stores();
        lab.change_study("[\"read\"], keys", &format!("[\"{asks}\"], keys"));
        modes.iter().for_each(|mode| lying(&lab, mode));
        let said = lab.bakeoff(&["run", "s"]);
        if said.is_absent() {
            return skipped("skipped", said.stderr.trim_end());
        }
        let run = lab.run();
        for mode in modes {
            let expected = if *mode == "honest" { Verdict::Valid } else { Verdict::Invalid };
            assert_eq!(verdict(&run, mode, check), expected, "{mode}: {said:?}");
            assert_eq!(verdict(&run, mode, "contract"), Verdict::Valid, "{mode} while idle");
        }
        lab.assert_nothing_is_left();
    }
}

/// Else a store that keeps all in a file in memory, or on a disk outside of its folder, seems to take
/// neither memory nor disk.
#[test]
fn what_a_store_has_elsewhere_is_counted_or_makes_the_figure_a_bound() {
    let lab = Lab::of_stores();
    ["honest", "elsewhere"].iter().for_each(|mode| lying(&lab, mode));
    let said = lab.bakeoff(&["run", "s"]);
    if said.is_absent() {
        return skipped("skipped", said.stderr.trim_end());
    }
    lab.assert_nothing_is_left();
    let run = lab.run();
    let figure = |mode: &str, id: &str| {
        let row = run.outcomes[0].rows.iter().find(|row| row.contender == mode).unwrap();
        row.figure(id).unwrap_or_else(|| panic!("{mode} has no {id}: {said:?}")).clone()
    };
    const HELD: f64 = 67_108_864.0;
    assert!(figure("honest", MEMORY).median < HELD, "{:?}", figure("honest", MEMORY));
    let memory = figure("elsewhere", MEMORY);
    assert!(memory.median >= HELD || memory.at_least, "{memory:?}");
    assert!(!figure("honest", DISK_BYTES).at_least, "{:?}", figure("honest", DISK_BYTES));
    let seen = |mode: &str| {
        let trial = run.trials.iter().find(|trial| trial.slot.contender == mode).unwrap();
        trial.evidence.store.clone().unwrap()
    };
    assert_eq!(seen("honest").elsewhere_bytes, Some(0));
    let elsewhere = seen("elsewhere");
    if elsewhere.file_system.as_ref().is_some_and(|it| it.in_memory) {
        return skipped("skipped in part", "the folders of trials lie in memory");
    }
    assert!(elsewhere.elsewhere_bytes >= Some(1 << 20), "{elsewhere:?}");
    assert!(figure("elsewhere", DISK_BYTES).at_least, "{:?}", figure("elsewhere", DISK_BYTES));
}

/// Runs stores that lie in these ways, each cut off once before it is timed, beside one that is
/// asked to write.
fn cut_off_once(modes: &[&str]) -> (Lab, Said) {
    let lab = Lab::of_stores();
    lab.change_study("[\"read\"], keys", "[\"write\"], keys");
    lab.change_study("blocks = 1\n", "blocks = 1\ncuts = 1\n");
    modes.iter().for_each(|mode| lying(&lab, mode));
    let said = lab.bakeoff(&["run", "s"]);
    lab.assert_nothing_is_left();
    (lab, said)
}

/// Else a store that writes to its disk only where it sees that it is cut off has the class of one
/// that always does, and the rate of one that never does.
#[test]
fn a_store_that_keeps_its_word_only_where_it_is_cut_off_is_found_out_as_it_was_timed() {
    let (lab, said) = cut_off_once(&["keeps", "keeps-when-cut", "keeps-once-idle"]);
    if said.is_absent() {
        return skipped("skipped", said.stderr.trim_end());
    }
    let run = lab.run();
    let after = |mode: &str| {
        let trial = run.trials.iter().find(|trial| trial.slot.contender == mode).unwrap();
        let store = trial.evidence.store.as_ref().unwrap();
        assert_eq!(trial.evidence.process.failure, None, "a crash of ours is no fault of its");
        match store.after_crash.clone() {
            Some(AfterCrash::Read(back)) => back,
            other => panic!("{mode}: {other:?} {said:?}"),
        }
    };
    let (kept, lost) = (after("keeps"), after("keeps-when-cut"));
    // How many it is, the disk decides: one write waits for it after the other.
    assert!(kept.keys > 0 && kept.lost() == 0, "{kept:?}");
    assert_eq!(lost.missing, lost.keys, "it has nothing: {lost:?}");
    assert!(lost.keys > 0, "it took nothing: {lost:?}");
    let put_off = after("keeps-once-idle");
    assert!(put_off.lost() > 0, "it had a moment without work: {put_off:?}");
    let word = |mode: &str| {
        let row = run.outcomes[0].rows.iter().find(|row| row.contender == mode).unwrap();
        row.findings.iter().find(|it| it.check == "survives").unwrap().clone()
    };
    assert!(word("keeps").verdict < Verdict::Invalid, "{:?}", word("keeps"));
    for liar in ["keeps-when-cut", "keeps-once-idle"] {
        assert_eq!(word(liar).verdict, Verdict::Invalid, "{:?}", word(liar));
    }
}

/// Else a store knows by what it is asked, and where, that it had better keep it.
#[test]
fn a_store_is_cut_off_in_a_folder_and_under_a_load_as_it_is_timed() {
    let lab = Lab::of_stores();
    lying(&lab, "keeps-for-signs");
    let arguments = ["durability", "s/keeps-for-signs", "--rung", "process", "--cuts", "1"];
    let said = lab.bakeoff(&[&arguments[..], &["--json"]].concat());
    if said.is_absent() {
        return skipped("skipped", said.stderr.trim_end());
    }
    let seen: Vec<Durability> =
        serde_json::from_str(&said.stdout).unwrap_or_else(|error| panic!("{error}: {said:?}"));
    let cut = &seen[0].rungs[0].cuts[0];
    assert_eq!(cut.lost, cut.acknowledged, "it saw a sign: {cut:?}");
    lab.assert_nothing_is_left();
}

#[test]
fn a_store_that_throws_values_away_is_found_out_unless_that_is_expected() {
    let (run, _) = run_of("throws-away", "read");
    assert_eq!(verdict(&run, "throws-away", "evictions"), Verdict::Invalid);
    let lab = Lab::of_stores();
    lab.change_study("[asks.read]\n", "[asks.read]\nevicts = true\n");
    store(&lab, "throws-away");
    lab.bakeoff(&["run", "s"]);
    let run = lab.run();
    assert_eq!(verdict(&run, "throws-away", "evictions"), Verdict::Valid);
    assert_eq!(verdict(&run, "throws-away", "misses"), Verdict::Suspect, "half is missed");
    assert_eq!(verdict(&run, "throws-away", "errors"), Verdict::Valid);
}

#[test]
fn keys_that_nobody_wrote_speak_against_a_store() {
    let (run, _) = run_of("foreign", "read");
    assert_eq!(verdict(&run, "foreign", "evictions"), Verdict::Invalid);
}

#[test]
fn a_store_that_cannot_be_filled_has_no_figure_and_says_why() {
    let (run, said) = run_of("full", "read");
    let why = run.trials[0].evidence.process.failure.clone().unwrap();
    assert!(why.contains("of the 1000 writes that have to be there before the work"), "{why}");
    assert!(why.contains("SERVER_ERROR out of memory storing object"), "{why}");
    let shown = said.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("SERVER_ERROR out of memory"), "{said:?}");
}

#[test]
fn a_store_that_dies_under_work_is_told_with_its_last_words() {
    let (run, _) = run_of("dies", "mixed");
    let process = &run.trials[0].evidence.process;
    let why = process.failure.as_deref().unwrap_or_default();
    assert!(why.contains("exit code 7"), "{process:?}");
    assert_eq!(process.last_words, ["the disk is full"]);
}

#[test]
fn a_store_that_keeps_nothing_breaks_its_contract() {
    let lab = Lab::of_stores();
    store(&lab, "keeps-nothing");
    let said = lab.bakeoff(&["check", "s/keeps-nothing"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    let wrong = "no value for a key that was written just before";
    assert!(said.stdout.contains(wrong), "{said:?}");
}

#[test]
fn a_store_that_forgets_a_value_before_its_time_breaks_its_contract() {
    let lab = Lab::of_stores();
    store(&lab, "forgets-early");
    let said = lab.bakeoff(&["check", "s/forgets-early"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.stdout.contains("of its 2 s"), "{said:?}");
}

#[test]
fn what_a_study_of_stores_lacks_is_said_with_its_line() {
    let lab = Lab::of_stores();
    store(&lab, "honest");
    let complains = |from: &str, to: &str, parts: &[&str]| {
        lab.write("studies/s/study.toml", STORES);
        lab.change_study(from, to);
        lab.bakeoff(&["run", "s"]).assert_complains(parts);
    };
    complains("asks = [\"read\"], ", "", &["missing key `asks`"]);
    complains("asks = [\"read\"]", "asks = [\"scan\"]", &["no `[asks.scan]`", "`read-nothing`"]);
    complains("keys = [1000]", "keys = [0]", &["a list of numbers from 1 to"]);
    complains("value_bytes = [100]", "value_bytes = [8]", &["a list of numbers from 24 to"]);
    complains("mix = { get = 90, set = 10 }", "mix = { scan = 1 }", &["no operation `scan`"]);
    complains(
        "key_choice = \"sequential\"",
        "key_choice = \"best\"",
        &["sequential, uniform, zipf"],
    );
    complains("protocol = \"keys\"", "protocol = \"http1\"", &["`asks` is for a driver with"]);
    lab.write("studies/s/study.toml", STORES);
    lab.contender("mute", "[\"true\"]", "");
    lab.bakeoff(&["run", "s"]).assert_complains(&["mute/contender.toml", "missing key `speaks`"]);
}

#[test]
fn a_new_store_says_what_it_speaks_and_has_no_skeleton_of_a_server() {
    let lab = Lab::of_stores();
    assert_eq!(lab.bakeoff(&["new", "s/mine"]).code, Some(0));
    let file = std::fs::read_to_string(lab.path("studies/s/mine/contender.toml")).unwrap();
    assert!(file.contains("\nspeaks = \"redis\"\n"), "{file}");
    let said = lab.bakeoff(&["new", "s/other", "--language", "go"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    said.assert_complains(&["no skeleton of a store in this language, but in python"]);
    said.assert_complains(&["without `--language`"]);
}
