//! Who may know whom (ARCHITECTURE.md): `result`, `histogram`, `keeper`, `payloads` and `yardstick`
//! know nobody of this workspace. Each other crate knows some of those before it. Nobody knows the
//! programs on top.

use std::collections::BTreeMap;
use std::path::Path;

use cargo_metadata::MetadataCommand;

use crate::source::{files_below, program};

/// Crates that others build on, each with those that it may know.
const LAYERS: [(&str, &[&str]); 12] = [
    ("result", &[]),
    ("histogram", &[]),
    ("load", &["histogram"]),
    ("keeper", &[]),
    ("hosts", &["keeper", "load"]),
    ("payloads", &[]),
    ("yardstick", &[]),
    ("judge", &["histogram", "result"]),
    ("lab", &["histogram", "hosts", "judge", "keeper", "load", "payloads", "result", "yardstick"]),
    ("durability", &["keeper", "lab", "load", "result"]),
    ("museum", &["histogram", "judge", "keeper", "lab", "load", "payloads", "result", "yardstick"]),
    ("report", &["histogram", "result"]),
];

/// Crates that nobody builds on; they may know every layer.
const PROGRAMS: [&str; 2] = ["bakeoff", "proof"];

#[test]
fn every_crate_knows_only_the_layers_below_it() {
    let metadata = MetadataCommand::new()
        .manifest_path(concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml"))
        .no_deps()
        .exec()
        .expect("cargo describes its own workspace");
    let names: Vec<&str> = metadata.packages.iter().map(|package| package.name.as_str()).collect();
    let layers: BTreeMap<&str, &[&str]> = LAYERS.into();

    for package in &metadata.packages {
        let name = package.name.as_str();
        let may_know = match layers.get(name) {
            Some(may_know) => may_know.to_vec(),
            None if PROGRAMS.contains(&name) => layers.keys().copied().collect(),
            None => panic!("{name} is new: give it a place here and in ARCHITECTURE.md"),
        };
        // Dependencies of tests and build scripts count as well.
        for dependency in package.dependencies.iter().map(|known| known.name.as_str()) {
            assert!(
                !names.contains(&dependency) || may_know.contains(&dependency),
                "{name} knows {dependency}, and may know only {may_know:?}"
            );
        }
    }
    for layer in layers.keys() {
        assert!(names.contains(layer), "{layer} is a layer here, and no crate of the workspace");
    }
}

/// Else another study would need another program.
#[test]
fn no_crate_names_a_study_or_a_contender() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let studies = root.join("studies");
    let mut names = lab::study::names(&studies);
    for study in names.clone() {
        let study = lab::study::Study::read(&studies, &study).unwrap_or_else(|why| panic!("{why}"));
        // Others are the names of tools and languages as well, which checks and skeletons know.
        let own = study.contenders.into_iter().map(|it| it.name).filter(|it| it.contains('-'));
        names.extend(own);
    }
    assert!(names.len() > 5, "there is nothing to look for: {names:?}");
    let mut files = Vec::new();
    for entry in std::fs::read_dir(root.join("crates")).unwrap().map(Result::unwrap) {
        files_below(&entry.path().join("src"), &mut files);
    }
    assert!(files.len() > 100, "only {} files were looked through", files.len());
    for file in files {
        let is_of_tests = file.components().any(|part| part.as_os_str() == "tests.rs");
        let text = program(&file);
        for name in names.iter().filter(|_| !is_of_tests) {
            assert!(!text.contains(&format!("\"{name}\"")), "{} names {name}", file.display());
        }
    }
}

/// Else a run that has something of another kind of study, or lacks something of its own, would
/// be taken for one of the other.
#[test]
fn who_judges_and_reports_asks_the_kind_of_a_study_what_it_is_of() {
    const SIGNS: [&str; 6] = [
        "CONNECTIONS",
        "ASKS",
        "\"connections\"",
        "\"asks\"",
        "store.is_some()",
        "store.is_none()",
    ];
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for name in ["judge", "report", "museum"] {
        let mut files = Vec::new();
        files_below(&crates.join(name).join("src"), &mut files);
        assert!(files.len() > 5, "only {} files of {name} were looked through", files.len());
        for file in files {
            let text = program(&file);
            for sign in SIGNS {
                assert!(!text.contains(sign), "{} has {sign}: ask the kind", file.display());
            }
        }
    }
}
