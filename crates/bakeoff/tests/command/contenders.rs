//! Contenders as they are in the tree: they do their job, and they are what they say that they
//! are. `make check-servers` has all that serve keep their contract.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use lab::study::Study;
use result::plan::Tier;

use crate::fixture::{Said, said, skipped};

/// One a language and a way of being built, as far as that takes a few seconds.
const LIGHT: [&str; 13] = [
    "web/erlang",
    "web/go",
    "web/jdk-virtual-threads",
    "web/nginx-module",
    "web/nginx-static-tuned",
    "web/node",
    "gateway/mosquitto-qos1",
    "gateway/nats",
    "gateway/redis",
    "kv/memcached",
    "kv/redis",
    "kv/store-map",
    "kv/valkey",
];
/// Bytes that bodies may differ by.
const FEW_BYTES: usize = 4;
/// `bakeoff check` shows so many characters of a body, and cuts what is longer.
const SHOWN: usize = 80;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn studies() -> Vec<Study> {
    let folder = root().join("studies");
    let entries = fs::read_dir(&folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.map(|name| Study::read(&folder, &name).unwrap_or_else(|why| panic!("{why}"))).collect()
}

fn check(name: &str, tmp: &Path) -> Said {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bakeoff"));
    command.args(["check", name]).current_dir(root()).env("TMPDIR", tmp).stdin(Stdio::null());
    said(command.output().unwrap())
}

/// The length of the body in the first step's line: `… status 200, "hello …"`.
fn body_bytes(steps: &str) -> usize {
    let quoted = steps.split(", \"").nth(1).and_then(|rest| rest.lines().next()).expect("a body");
    let body: String = serde_json::from_str(&format!("\"{quoted}")).expect("a quoted text");
    assert!(body.chars().count() < SHOWN, "it may be cut: {body}");
    body.len()
}

/// Has a contender keep its contract: the length of its body, if it is there and has one.
fn checked(study: &Study, contender: &str) -> Option<usize> {
    let is_asked_for_pages = study.file.kind() == result::kind::Kind::Http;
    let study = &study.name;
    let name = format!("{study}/{contender}");
    let tmp = tempfile::tempdir().unwrap();
    let said = check(&name, tmp.path());
    // By what it needs, or by its build's own word. Whose build fails otherwise, or can't
    // even be started, is as good as gone from the study.
    let absent = format!("bakeoff check: {contender} is absent: ");
    if said.code == Some(1) && said.stderr.starts_with(&absent) {
        skipped("skipped in part", said.stderr.trim());
        return None;
    }
    assert_eq!(said.code, Some(0), "{name}: {said:?}");
    assert!(!said.stdout.contains(": unknown: "), "{name} tells no version: {said:?}");
    let left = fs::read_dir(tmp.path()).unwrap().count();
    assert_eq!(left, 0, "{name} leaves files behind");
    // What a store gives back, or a gateway passes on, is what it was given.
    is_asked_for_pages.then(|| body_bytes(&said.stdout))
}

#[test]
fn contenders_that_serve_keep_their_contract_and_bodies_are_of_one_length() {
    assert_eq!(keep_their_contract(|name| LIGHT.contains(&name)), LIGHT.len());
}

#[test]
#[ignore = "`make check-servers` builds all"]
fn every_contender_that_serves_keeps_its_contract_and_bodies_are_of_one_length() {
    keep_their_contract(|_| true);
}

/// How many were tried.
fn keep_their_contract(is_tried: impl Fn(&str) -> bool) -> usize {
    let studies = studies();
    let mut tried = 0;
    let mut queues = BTreeMap::<_, Vec<_>>::new();
    // Those that drive themselves are tried beside their studies.
    let asked = |study: &&Study| study.file.kind().is_asked();
    for study in studies.iter().filter(asked) {
        for contender in &study.contenders {
            if !is_tried(&format!("{}/{}", study.name, contender.name)) {
                continue;
            }
            tried += 1;
            // Variants have one build. Maven's folder of what it fetched is no two builds' at once.
            let of = match &*contender.file.language {
                "Java" => Path::new("Java"),
                _ => &contender.source,
            };
            queues.entry(of).or_default().push((study, &contender.name));
        }
    }
    let (queues, lengths) = (Mutex::new(queues), Mutex::new(Vec::new()));
    let next = || queues.lock().unwrap().pop_first();
    // A check waits for most of its time, as for a Date to advance.
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while let Some((_, contenders)) = next() {
                    for (study, contender) in contenders {
                        let length = checked(study, contender).map(|it| (it, contender));
                        lengths.lock().unwrap().extend(length);
                    }
                }
            });
        }
    });
    let lengths = lengths.into_inner().unwrap();
    let (shortest, longest) = (lengths.iter().min(), lengths.iter().max());
    let (shortest, longest) = shortest.zip(longest).expect("somebody can be had");
    assert!(longest.0 - shortest.0 <= FEW_BYTES, "{longest:?} is longer than {shortest:?}");
    tried
}

/// Else it would be absent, or fail, where nobody builds it for months.
#[test]
fn what_a_contender_names_in_its_folder_is_there() {
    let mut found = 0;
    for study in studies() {
        for contender in &study.contenders {
            let file = &contender.file;
            let paths = file.build.iter().chain(&file.run).filter_map(|word| {
                word.strip_prefix("$SOURCE/").or_else(|| word.strip_prefix("./"))
            });
            for path in paths.chain(file.files.iter().map(|name| &**name)) {
                let is_there = contender.source.join(path).exists();
                assert!(is_there, "{}/{}: {path}", study.name, contender.name);
                found += 1;
            }
        }
    }
    assert!(found > 50, "{found} paths can't be all");
}

/// Else nobody would notice a change there: no run that is gone on with, and no
/// comparison.
#[test]
fn every_folder_that_a_contender_is_made_from_is_among_its_sources() {
    let mut found = 0;
    for study in studies() {
        for contender in &study.contenders {
            let mut made_from = vec![contender.source.clone()];
            made_from.extend(contender.sources().map(|(_, folder)| folder));
            for folder in &made_from {
                let own = folder.canonicalize().unwrap();
                let own = format!("../{}", own.file_name().unwrap().to_string_lossy());
                for (file, depth) in files(folder, 0) {
                    // Such as libraries: no build looks into them for a path.
                    let Ok(text) = fs::read_to_string(&file) else { continue };
                    for beside in folders_beside(&text, depth) {
                        let is_named = contender.sources().any(|(name, _)| name == beside);
                        let why = "is not among the `sources` of its contender.toml";
                        let file = file.display();
                        let name = &contender.name;
                        assert!(is_named || beside == own, "{name}: {beside} in {file} {why}");
                        found += 1;
                    }
                }
            }
        }
    }
    assert!(found > 0, "no script names another folder, so this looks at nothing");
}

/// The files that a contender is made from in one of its folders, each with how many
/// folders down it lies. Its own file is held to its sources as it is read.
fn files(folder: &Path, depth: usize) -> Vec<(PathBuf, usize)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let (path, name) = {
            let entry = entry.unwrap();
            (entry.path(), entry.file_name())
        };
        let is_made_by_a_build = depth == 0 && name == "build";
        if path.is_dir() && !is_made_by_a_build && name != "tests" {
            found.extend(files(&path, depth + 1));
        } else if path.is_file() && name != "contender.toml" {
            found.push((path, depth));
        }
    }
    found
}

/// The folders that a text names by a path out of its folder, which lies so many folders
/// down: `../NAME`, or with more `../` where that leads farther up.
fn folders_beside(text: &str, depth: usize) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("../") {
        let path = &rest[at..];
        let up = path.split('/').take_while(|part| *part == "..").count();
        rest = &path[up * "../".len()..];
        let is_of_a_name = |c: &char| c.is_alphanumeric() || "-_.".contains(*c);
        let name: String = rest.chars().take_while(is_of_a_name).collect();
        if up > depth {
            found.push("../".repeat(up - depth) + &name);
        }
    }
    found
}

#[test]
fn who_is_tuned_has_an_idiomatic_sibling() {
    for study in studies() {
        let of = |tier: Tier| study.contenders.iter().filter(move |it| it.file.tier == Some(tier));
        for tuned in of(Tier::Tuned) {
            let language = &tuned.file.language;
            let sibling = of(Tier::Idiomatic).find(|it| it.file.language == *language);
            assert!(sibling.is_some(), "{}: none is idiomatic in {language}", tuned.name);
        }
    }
}
