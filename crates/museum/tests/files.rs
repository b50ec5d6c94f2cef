//! The files of mistakes: those that there are, and complaints about others.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use lab::study::Study;
use museum::mistake::{self, Mistake};
use museum::page;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn all() -> Vec<Mistake> {
    mistake::read_all(&root().join("mistakes")).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn every_known_mistake_has_an_entry() {
    let numbers: BTreeSet<u32> = all().iter().map(|it| it.file.number).collect();
    assert_eq!(numbers, (1..=39).collect(), "the list of known mistakes has these numbers");
}

/// Else a mistake would be made with a contender that was since renamed.
#[test]
fn every_contender_that_a_mistake_names_is_there() {
    for mistake in all() {
        let set_up = &mistake.file.set_up;
        let profiles = [set_up.run.get_ref(), set_up.sabotaged_run().get_ref()];
        let named = profiles.into_iter().flat_map(|profile| profile.contender_names());
        let study = Study::read(&root().join("studies"), &set_up.study);
        let study = study.unwrap_or_else(|error| panic!("{error}"));
        for name in named.chain(set_up.again.iter().cloned()) {
            let is_there = study.contenders.iter().any(|it| it.name == name);
            assert!(is_there, "{}: {name}", mistake.name);
        }
    }
}

/// Every change is found in the contender's files as they are today.
#[test]
fn every_set_up_can_be_made() {
    for mistake in all() {
        let file = root().join(format!("mistakes/{}.toml", mistake.name));
        let stage = museum::stage::Stage::set(&root().join("studies"), &file, &mistake)
            .unwrap_or_else(|error| panic!("{}: {error}", mistake.name));
        assert!(!stage.clean.contenders.is_empty());
    }
}

/// What `docs/mistakes.md` tells is what the files say.
#[test]
fn the_stories_are_those_of_the_files() {
    let path = root().join("docs/mistakes.md");
    let page = std::fs::read_to_string(&path).expect("docs/mistakes.md");
    let (before, after) = (page.split_once("\n## 1. "), page.split_once("\n# As measured"));
    let (Some((introduction, _)), Some((_, measured))) = (before, after) else {
        panic!("docs/mistakes.md has an introduction, the stories, and what was measured");
    };
    let stories: Vec<String> = all().iter().map(page::story).collect();
    let expected = format!("{introduction}\n{}\n# As measured{measured}", stories.join("\n"));
    if page != expected {
        let new = path.with_extension("md.new");
        std::fs::write(&new, expected).expect("a file beside it");
        panic!("docs/mistakes.md is not what the files say; {} is", new.display());
    }
}

/// A mistake that was added after the last measurement would be told of, and never shown.
#[test]
fn each_mistake_was_measured() {
    let path = root().join("docs/measured/mistakes.md");
    let measured = std::fs::read_to_string(path).expect("docs/measured/mistakes.md");
    let rows = measured.lines().filter_map(|line| line.strip_prefix("| "));
    let rows: Vec<&str> = rows.filter_map(|row| row.split(" |").next()).collect();
    for Mistake { name, file, .. } in all() {
        let mistake = format!("{} {name}", file.number);
        assert!(rows.contains(&&*mistake), "{mistake} has no row: `make mistakes`");
    }
}

const WHOLE: &str = r#"
number = 1
title = "t"
made_by = "m"
story = { done = "d", said = "s", gave_away = "g" }
[set_up]
study = "web"
[set_up.run]
contenders = ["go"]
blocks = 1
measure_s = 1
warmup_s = 1
settings = [{ cores = "one", connections = [1] }]
[set_up.expect]
caught_by = { check = "errors" }
naive = "rate"
"#;

fn complaint(text: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("m.toml"), text).unwrap();
    match mistake::read_all(folder.path()) {
        Ok(_) => "nothing".into(),
        Err(error) => error.to_string().replace(folder.path().to_str().unwrap(), "mistakes"),
    }
}

#[test]
fn complaints_have_file_line_and_advice() {
    assert_eq!(complaint(WHOLE), "nothing");
    let head = WHOLE.split("[set_up]").next().unwrap();
    let complaints: Vec<String> = [
        WHOLE.replace("\"errors\"", "\"erors\""),
        WHOLE.replace("{ check = \"errors\" }", "\"tied\""),
        WHOLE.replace("naive = \"rate\"", "naive = \"mood\""),
        WHOLE.replace("[set_up.run]", "[set_up.sabotage]\nneighbor = true\n[set_up.run]"),
        WHOLE.replace("contenders = [\"go\"]", ""),
        WHOLE.replace(
            "[set_up.expect]",
            "[set_up.sabotage.run]\nblocks = 1\nmeasure_s = 1\nwarmup_s = 1\n\
             settings = [{ cores = \"one\", connections = [1] }]\n\
             [set_up.expect]",
        ),
        head.into(),
        format!(
            "{WHOLE}[[set_up.changes]]\nfile = \"../../web/go/main.go\"\nfrom = \"a\"\nto = \"b\"\n"
        ),
        format!("{WHOLE}[[set_up.changes]]\nfile = \"/main.go\"\nfrom = \"a\"\nto = \"b\"\n"),
    ]
    .iter()
    .map(|text| complaint(text))
    .collect();
    insta::assert_snapshot!(complaints.join("\n\n"));
}

/// Both set-ups of a mistake whose file says this, or the complaint.
fn staged(text: &str) -> Result<museum::stage::Stage, String> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("m.toml");
    std::fs::write(&file, text).unwrap();
    let mistake = mistake::read(&file).unwrap_or_else(|error| panic!("{error}"));
    let stage = museum::stage::Stage::set(&root().join("studies"), &file, &mistake);
    stage.map_err(|error| error.to_string())
}

#[test]
fn a_change_of_words_that_are_not_there_is_refused_with_its_line() {
    let text = format!(
        "{WHOLE}\n[[set_up.sabotage.changes]]\nfile = \"main.go\"\nfrom = \"no such words\"\nto = \"\"\n"
    );
    let error = staged(&text).unwrap_err();
    assert!(
        error.contains("m.toml:20:8: the file main.go of go doesn't hold these words"),
        "{error}"
    );
}

/// Else the store would be asked by bakeoff's own client, and the mistake not be made.
#[test]
fn a_client_that_is_not_there_or_asks_no_store_is_refused_with_its_line() {
    let with_client = "[set_up.sabotage]\nclient = \"client.py\"\n[set_up.run]";
    let error = staged(&WHOLE.replace("[set_up.run]", with_client)).unwrap_err();
    assert!(error.contains("m.toml:9:10: only stores are asked by another client"), "{error}");
    let error = staged(&OF_STORES.replace("[set_up.run]", with_client)).unwrap_err();
    assert!(
        error.contains("the client client.py in ") && error.contains("No such file"),
        "{error}"
    );
}

/// A mistake that is made with a contender of programs that shares a folder with others.
const OF_PROGRAMS: &str = r#"
number = 1
title = "t"
made_by = "m"
story = { done = "d", said = "s", gave_away = "g" }
[set_up]
study = "messages"
[set_up.run]
contenders = ["cpp-threads", "cpp-coroutines"]
blocks = 1
measure_s = 1
warmup_s = 1
settings = [{ cores = "one", parameters = { does = ["pingpong"] } }]
[set_up.expect]
caught_by = { check = "contract" }
naive = "rate"
[[set_up.sabotage.changes]]
file = "../cpp/messages.hpp"
from = "steady_clock"
to = "system_clock"
"#;

#[test]
fn what_contenders_share_is_changed_for_the_first_of_them_alone() {
    let stage = staged(OF_PROGRAMS).unwrap_or_else(|error| panic!("{error}"));
    let sabotaged = stage.sabotaged.as_ref().unwrap();
    let shared = |of: usize| {
        let file = sabotaged.contenders[of].source.join("../cpp/messages.hpp");
        std::fs::read_to_string(file).unwrap()
    };
    let names: Vec<_> = sabotaged.contenders.iter().map(|it| &*it.name).collect();
    assert_eq!(names, ["cpp-threads", "cpp-coroutines"], "in the order of the file");
    assert!(shared(0).contains("std::chrono::system_clock"));
    assert!(shared(1).contains("std::chrono::steady_clock"));
}

#[test]
fn a_change_of_what_its_contender_does_not_use_is_refused_with_its_line() {
    let error = staged(&OF_PROGRAMS.replace("../cpp/messages", "../jvm/messages")).unwrap_err();
    let what = "m.toml:19:8: the file ../jvm/messages.hpp lies in none of the `sources` of \
                cpp-threads";
    assert!(error.contains(what), "{error}");
}

#[test]
fn a_run_that_is_none_of_its_study_is_refused_with_its_line() {
    let stage = staged(OF_PROGRAMS).unwrap_or_else(|error| panic!("{error}"));
    let settings = stage.clean.file.profile[museum::stage::PROFILE].free_settings();
    assert_eq!(settings.len(), 1);
    assert!(settings[0].value("does").is_some(), "{settings:?}");

    let refused = |from: &str, to: &str| staged(&OF_PROGRAMS.replace(from, to)).unwrap_err();
    let error = refused("\"pingpong\"", "\"pong\"");
    assert!(error.contains("m.toml:13:52: this has to be a list of some of"), "{error}");
    let error = refused("parameters = { does = [\"pingpong\"] }", "connections = [1]");
    assert!(error.contains("m.toml:8:1: `connections` is the load generator's"), "{error}");
    let error = refused("\"cpp-coroutines\"]", "\"cpp\"]");
    assert!(error.contains("m.toml:9:30: there is no contender `cpp`; the study"), "{error}");
}

/// A mistake of stores whose first contender is a variant, which has no folder of its own.
const OF_STORES: &str = r#"
number = 1
title = "t"
made_by = "m"
story = { done = "d", said = "s", gave_away = "g" }
[set_up]
study = "kv"
[set_up.asks.unwritten]
says = "reads of keys that nobody wrote"
mix = { get = 1 }
preload = false
[set_up.run]
contenders = ["redis-always", "redis"]
blocks = 1
measure_s = 1
warmup_s = 1
settings = [{ cores = "one", connections = [1], asks = ["unwritten"], keys = [10], value_bytes = [100] }]
[set_up.expect]
caught_by = "promise"
naive = "rate"
[[set_up.sabotage.changes]]
file = "contender.toml"
from = '"--appendonly", "yes", "--appendfsync", "always"'
to = '"--appendonly", "no"'
"#;

#[test]
fn a_variant_is_changed_in_the_folder_that_it_is_of() {
    let stage = staged(OF_STORES).unwrap_or_else(|error| panic!("{error}"));
    let persists = |study: &Study, of: usize| {
        let command = &study.contenders[of].file.run;
        command.windows(2).any(|words| words == ["--appendonly", "yes"])
    };
    let sabotaged = stage.sabotaged.as_ref().unwrap();
    assert!(persists(&stage.clean, 0) && !persists(sabotaged, 0));
    assert_eq!(sabotaged.contenders[1].name, "redis");
    assert!(stage.clean.file.asks.contains_key("unwritten"));
}

#[test]
fn what_no_store_is_asked_is_refused_with_its_line() {
    let error = staged(&OF_STORES.replace("[set_up.asks.unwritten]", "[set_up.asks.other]"));
    let error = error.unwrap_err();
    assert!(error.contains("m.toml:12:1: there is no `[asks.unwritten]`"), "{error}");
}

/// Else the set-up without the mistake would differ by more than the mistake.
#[test]
fn changes_of_the_set_up_stand_in_both_runs_and_those_of_the_sabotage_in_one() {
    let text = format!(
        "{WHOLE}\n\
         [[set_up.changes]]\nfile = \"contender.toml\"\nfrom = 'language = \"Go\"'\n\
         to = 'language = \"G\"'\n\
         [[set_up.sabotage.changes]]\nfile = \"contender.toml\"\nfrom = 'language = \"G\"'\n\
         to = 'language = \"None\"'\n"
    );
    let stage = staged(&text).unwrap_or_else(|error| panic!("{error}"));
    let language = |study: &lab::study::Study| study.contenders[0].file.language.clone();
    assert_eq!(language(&stage.clean), "G");
    assert_eq!(stage.sabotaged.as_ref().map(language), Some("None".into()));
}

#[test]
fn a_mistake_that_is_not_there_is_refused_with_those_that_are() {
    let error = mistake::only(all(), &["no-such".into()]).unwrap_err().to_string();
    assert!(error.contains("no mistake `no-such`") && error.contains("worker-connections"));
}
