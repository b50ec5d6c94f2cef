//! V8 compiles what runs often: the server as it is has its code when it is measured,
//! and one that makes more meanwhile is caught.

use lab::ready::programs;
use result::Run;
use result::finding::{Finding, Verdict};

use crate::fixture::{Lab, skipped};

/// Ever more functions, each run so often that it is compiled, and kept.
const MAKES_CODE: &str = "
const kept = [];
setInterval(() => {
  const sums = new Function('n', `let s = ${kept.length}; for (let i = 0; i < n; i++) s += i ^ s; return s`);
  for (let i = 0; i < 100; i++) sums(1000);
  kept.push(sums);
}, 5);
";

/// How much of the machine code that a contender's processes had made was new, and the
/// check's word on that.
fn seen(run: &Run, contender: &str) -> (f64, Finding) {
    let mut trials = run.trials.iter().filter(|trial| trial.slot.contender == contender);
    let trial = trials.next().unwrap_or_else(|| panic!("there is no trial of {contender}"));
    let server = &trial.evidence.server;
    let (new, all) = server.code_grown_bytes.zip(server.code_bytes).expect("pages are counted");
    assert!(all > 0, "V8 compiles, and no page has its code");
    let finding = trial.findings.iter().find(|it| it.check == "runtime").unwrap();
    (new as f64 / all as f64, finding.clone())
}

#[test]
fn a_server_has_its_code_once_it_is_warm_and_is_not_warm_while_it_makes_more() {
    if programs::find("node").is_none() {
        return skipped("skipped", "node is not installed; apt-get install nodejs");
    }
    let lab = Lab::new();
    // Long enough to be told from the warm-up; on all cores it is several processes.
    lab.change_study("measure_s = 0.3", "measure_s = 1.5");
    lab.change_study(
        r#"settings = [{ cores = "one", connections = [4] }]"#,
        r#"settings = [{ cores = "all", connections = [30] }]"#,
    );
    let as_it_is = include_str!("../contender.toml").replace("warmup_s = 4", "warmup_s = 1");
    let server = r#""$SOURCE/server.js""#;
    let making = as_it_is.replace(server, &format!(r#""--require", "$SOURCE/code.js", {server}"#));
    assert_ne!(making, as_it_is, "contender.toml starts the server otherwise");
    for (name, text) in [("warm", &as_it_is), ("making", &making)] {
        lab.write(&format!("studies/s/{name}/contender.toml"), text);
        lab.write(&format!("studies/s/{name}/server.js"), include_str!("../server.js"));
    }
    lab.write("studies/s/making/code.js", MAKES_CODE);
    let said = lab.bakeoff(&["run", "s"]);
    let run = lab.run();
    let (warm_share, word) = seen(&run, "warm");
    assert_ne!(word.verdict, Verdict::Valid, "its collections aren't known: {}", said.stderr);
    let (making_share, word) = seen(&run, "making");
    assert_eq!(word.verdict, Verdict::Suspect, "{word:?}\n{}", said.stderr);
    // On a busy machine it may take longer to be warm.
    assert!(warm_share < making_share, "{warm_share} of one that makes none all the time");
    lab.assert_nothing_is_left();
}
