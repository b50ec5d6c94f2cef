//! What `make hosts` does in full, in seconds: a load from three hosts behind an sshd each.

#[path = "../../bakeoff/tests/fixture/skipped.rs"]
mod skipped;

use std::path::Path;
use std::process::Command;

use skipped::skipped;

/// Else what the manual says of `ssh` would be found out by its first user.
#[test]
fn what_hosts_behind_ssh_tell_adds_up_to_what_the_server_counted() {
    let proof = Path::new(env!("CARGO_BIN_EXE_proof"));
    assert!(
        proof.with_file_name("bakeoff").is_file(),
        "`bakeoff` isn't built beside `proof`: run `cargo build -p bakeoff`, or `make test`"
    );
    if Command::new("nginx").arg("-v").output().is_err() {
        return skipped("skipped", "nginx is not installed");
    }
    let arguments = ["hosts", "--by", "ssh", "--quick"];
    let ended = Command::new(proof).args(arguments).output().unwrap();
    let told = String::from_utf8_lossy(&ended.stdout);
    let why = |before| Some(told.split_once(before)?.1.lines().next()?.trim_end_matches('.'));
    if let Some(why) = why("**Skipped:** ").or_else(|| why("absent, ")) {
        return skipped("skipped", why);
    }
    let complaints = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{told}\n{complaints}");
    assert!(told.contains("| 3000 "), "{told}");
}
