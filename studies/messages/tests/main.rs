//! Contenders of the messages study do two of its works, and what they count was received.
//! `make check-programs` has all of them do all.

use std::fs;
use std::path::{Path, PathBuf};

use crate::fixture;

/// Those whose build takes a few seconds.
const LIGHT: [&str; 5] = ["cpp-coroutines", "erlang", "go", "node", "python"];

#[test]
fn what_contenders_count_was_received() {
    fixture::try_works("messages", &LIGHT, &["oneway-64", "ring"]);
}

/// A reader of its language takes a file in at once.
#[test]
fn each_source_file_of_a_contender_has_less_than_150_lines() {
    let study = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/messages");
    let files = sources(&study);
    // Of each language one that has to be among them, or nothing was looked at.
    for name in [
        "cpp/blocking.hpp",
        "cpp-caf/main.cpp",
        "erlang/messages.erl",
        "go/main.go",
        "jvm/Works.java",
        "node/messages.js",
        "python/messages.py",
        "rust-tokio/src/main.rs",
    ] {
        assert!(files.contains(&study.join(name)), "{name} isn't looked at");
    }
    for file in files {
        let lines = fs::read_to_string(&file).unwrap().lines().count();
        let name = file.display();
        assert!(lines < 150, "{name} has {lines}: what is none of its works has a file of its own");
    }
}

/// The source files of contenders, and of what they share, below a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let end = path.extension().and_then(|end| end.to_str()).unwrap_or_default();
        if path.is_dir() && !["build", "tests"].contains(&name) {
            found.extend(sources(&path));
        } else if ["cpp", "erl", "go", "hpp", "java", "js", "py", "rs"].contains(&end) {
            found.push(path);
        }
    }
    found
}
