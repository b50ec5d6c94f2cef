//! Contenders of the messages study do two of its works, and what they count was received.
//! `make check-programs` has all of them do all.

#[path = "../../../crates/bakeoff/tests/fixture/mod.rs"]
mod fixture;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Mutex;

use crate::fixture::{Lab, skipped};

/// Those whose build takes a few seconds.
const LIGHT: [&str; 6] = ["cpp-coroutines", "erlang", "go", "java-threads", "node", "python"];

/// The study with two of its works, and its contenders as they are.
fn lab() -> Lab {
    let lab = Lab::new();
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/messages");
    let study = fs::read_to_string(own.join("study.toml")).unwrap();
    let head = study.split("[profile.").next().unwrap();
    let profile = "[profile.quick]\nblocks = 1\nmeasure_s = 1\nwarmup_s = 0.1\n\
                   settings = [{ cores = \"one\", parameters = { does = [\"oneway-64\", \"ring\"] } }]\n";
    lab.write("studies/messages/study.toml", &format!("{head}{profile}"));
    for entry in fs::read_dir(&own).unwrap() {
        let entry = entry.unwrap();
        if entry.path().is_dir() && entry.file_name() != "tests" {
            let link = lab.path("studies/messages").join(entry.file_name());
            symlink(entry.path().canonicalize().unwrap(), link).unwrap();
        }
    }
    lab
}

#[test]
fn what_contenders_count_was_received() {
    let lab = lab();
    let left = Mutex::new(LIGHT.to_vec());
    let next = || left.lock().unwrap().pop();
    let check = |name: &str| {
        let of = format!("messages/{name}");
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_bakeoff"));
        let said = command.args(["check", &of]).current_dir(lab.dir.path()).output().unwrap();
        let [told, failed] =
            [said.stdout, said.stderr].map(|it| String::from_utf8_lossy(&it).into_owned());
        if failed.contains(" is absent: ") {
            return skipped("skipped in part", failed.trim());
        }
        assert!(said.status.success(), "{name}: {told}{failed}");
        for work in ["one way with a window of 64:", "hops round a ring of 1,000:"] {
            assert!(told.contains(work), "{name}: {told}");
        }
    };
    // They wait for their seconds to pass, so that two at once take half of the time.
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(name) = next() {
                    check(name);
                }
            });
        }
    });
}
