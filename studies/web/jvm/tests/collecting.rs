//! What HotSpot tells of itself is found in a real one: time for collections in a file
//! of its own, and threads that only compile. Cold and with a small heap it has both.

use std::path::Path;
use std::process::Command;

use crate::fixture::{Lab, skipped};

/// It is built without Maven.
const CONTENDER: &str = "jdk-virtual-threads";
/// So little for what is new that a few hundred answers fill it.
const SMALL_HEAP: &str = r#""-Xmx32m", "-Xmn1m", "#;

#[test]
fn a_real_jvm_tells_how_long_it_collected_and_compiled() {
    let lab = Lab::new();
    lab.change_study("measure_s = 0.3", "measure_s = 1");
    let web = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/web");
    // By another process: a script that was just written can't be run while another
    // test's child still holds it open (ETXTBSY).
    let mut copy = Command::new("cp");
    copy.arg("-r").arg(web.join("jvm")).arg(lab.path("studies/s"));
    assert!(copy.status().unwrap().success());
    let as_it_is = include_str!("../../jdk-virtual-threads/contender.toml");
    let mut toml = as_it_is.to_string();
    for (from, to) in [
        ("\"-XX:Active", format!("{SMALL_HEAP}\"-XX:Active")),
        ("warmup_s = 6", "warmup_s = 0.1".into()),
    ] {
        assert!(toml.contains(from), "contender.toml doesn't say {from:?}");
        toml = toml.replace(from, &to);
    }
    lab.write(&format!("studies/s/{CONTENDER}/contender.toml"), &toml);
    let server = include_str!("../../jdk-virtual-threads/Server.java");
    lab.write(&format!("studies/s/{CONTENDER}/Server.java"), server);

    let said = lab.bakeoff(&["run", "s"]);
    if said.code == Some(1) {
        let checked = lab.bakeoff(&["check", &format!("s/{CONTENDER}")]);
        let absent = format!("bakeoff check: {CONTENDER} is absent: ");
        assert!(checked.stderr.starts_with(&absent), "{said:?}");
        return skipped("skipped", checked.stderr.trim());
    }
    let trials = lab.run().trials;
    assert!(!trials.is_empty(), "{said:?}");
    for trial in &trials {
        let runtime = trial.evidence.server.runtime.as_ref().expect("its threads tell of a JVM");
        assert_eq!(runtime.name, "HotSpot");
        let gc_pause_s = runtime.gc_pause_s.expect("its file of counters is found and read");
        let seconds = trial.evidence.work.as_ref().unwrap().seconds;
        assert!(0.0 < gc_pause_s && gc_pause_s < seconds, "{gc_pause_s} s of {seconds}");
        assert!(runtime.jit_cpu_s > Some(0.0), "a cold one compiles: {runtime:?}");
    }
    lab.assert_nothing_is_left();
}
