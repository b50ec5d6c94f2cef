//! `proof truth --quick`: a short round of `make calibrate` with wide margins,
//! for machines that do other things as well.

use std::path::Path;
use std::process::Command;

#[test]
fn what_bakeoff_load_says_is_what_the_server_recorded() {
    let proof = Path::new(env!("CARGO_BIN_EXE_proof"));
    assert!(
        proof.with_file_name("bakeoff").is_file(),
        "`bakeoff` isn't built beside `proof`: run `cargo build -p bakeoff`, or `make test`"
    );
    let ended = Command::new(proof).args(["truth", "--quick"]).output().expect("proof runs");
    let (table, complaints) =
        (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
    assert!(ended.status.success(), "{table}\n{complaints}");
    assert!(table.contains("counts equal the server's own"), "{table}");
    for experiment in ["closed loop, two-valued", "open loop, constant", "open loop, stalled"] {
        assert!(table.contains(experiment), "{experiment} is missing:\n{table}");
    }
}
