//! nginx closes a connection that had 1,000 answers, unless it is told otherwise: the
//! check says so of the one that keeps this default, and not of the one that lifts it.

use std::fs;
use std::path::Path;
use std::process::Command;

use lab::ready::programs;
use result::finding::Verdict;

use crate::fixture::{Lab, skipped};
use crate::started::ROOT;

/// Answers that a connection has before nginx closes it.
const LIMIT: u64 = 1000;
/// With one connection, which has all answers.
const PROFILE: &str = r#"
[quick]
blocks = 1
measure_s = 2
warmup_s = 0.1
settings = [{ cores = "one", connections = [1] }]
"#;

#[test]
fn the_default_of_nginx_cuts_connections_and_the_tuned_one_keeps_them() {
    if programs::find("nginx").is_none() {
        return skipped("skipped", "nginx is not installed; apt-get install nginx");
    }
    let lab = Lab::new();
    let web = Path::new(ROOT).join("studies/web");
    let study = fs::read_to_string(web.join("study.toml")).unwrap();
    let mut study: toml::Table = study.parse().unwrap();
    // Those name contenders that aren't here.
    study.remove("published");
    study.remove("claim");
    study.insert("profile".into(), toml::Value::Table(PROFILE.parse().unwrap()));
    lab.write("studies/web/study.toml", &study.to_string());
    let verdicts = [("nginx-static", Verdict::Suspect), ("nginx-static-tuned", Verdict::Valid)];
    let mut copy = Command::new("cp");
    copy.arg("-r").args(verdicts.map(|(name, _)| web.join(name)));
    assert!(copy.arg(lab.path("studies/web")).status().unwrap().success());

    let said = lab.bakeoff(&["run", "web"]);
    let run = lab.run();
    for (name, verdict) in verdicts {
        let mut trials = run.trials.iter().filter(|trial| trial.slot.contender == name);
        let trial = trials.next().unwrap_or_else(|| panic!("no trial of {name}: {said:?}"));
        let client = trial.evidence.clients.first().expect("it got as far as load");
        if client.good <= LIMIT {
            skipped("skipped in part", &format!("{name} had no more than {LIMIT} answers"));
            continue;
        }
        let word = trial.findings.iter().find(|it| it.check == "keep-alive").unwrap();
        assert_eq!(word.verdict, verdict, "{name}, {} answers: {word:?}", client.good);
    }
    lab.assert_nothing_is_left();
}
