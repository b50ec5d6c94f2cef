//! A client near its limit, and the second one that tells whose limit it was.
//!
//! One test, in a program of its own and ahead of others for the processors: else
//! the client would not get the whole of its own, and never come near its limit.

mod fixture;

use std::process::Command;

use fixture::{Lab, skipped};
use result::evidence::{Evidence, SecondClient};
use result::finding::Verdict;
use result::{Run, State, Trial};

/// Times that it is tried for a client at its limit, where others use the machine.
const TRIES: usize = 3;

/// Runs bakeoff, and all that it starts, before whoever else wants a processor;
/// who isn't root gets no more than others.
fn bakeoff(lab: &Lab, arguments: &[&str]) {
    let bakeoff = lab.command(arguments);
    let mut nice = Command::new("nice");
    nice.args(["-n", "-20"]).arg(bakeoff.get_program()).args(bakeoff.get_args());
    nice.envs(bakeoff.get_envs().filter_map(|(name, value)| Some((name, value?))));
    lab.output(nice.current_dir(lab.dir.path())).unwrap();
}

/// Makes the trials of a run, as if on a machine of these cores.
fn run_on_cores(lab: &Lab, run: &Run, cores: &[&[usize]]) -> Run {
    let mut run = run.clone();
    run.trials.clear();
    run.disturbed.clear();
    run.state = State::Unfinished;
    run.machine.smt_siblings = cores.iter().map(|core| core.to_vec()).collect();
    let folder = format!("runs/{}", run.id);
    std::fs::remove_file(lab.path(&format!("{folder}/trials.jsonl"))).ok();
    lab.write(&format!("{folder}/run.json"), &serde_json::to_string(&run).unwrap());
    bakeoff(lab, &["run", "--resume", &folder]);
    lab.run()
}

/// Whether client and server went without a part of their processors, to other
/// processes or to other machines of the host, as far as this one tells.
fn is_disturbed(evidence: &Evidence) -> bool {
    evidence.work.is_some()
        && (evidence.others_cores().is_none_or(|cores| cores > 0.1)
            || evidence.steal_share > Some(0.02))
}

/// A run with a trial whose client was near its limit; `None` where others used so
/// much of the machine that none could be.
fn near_its_limit(lab: &Lab, run: &Run, cores: &[&[usize]]) -> Option<(Run, Trial)> {
    let mut disturbed = false;
    for _ in 0..TRIES {
        let run = run_on_cores(lab, run, cores);
        let near = |trial: &&Trial| trial.evidence.second_client.is_some();
        if let Some(trial) = run.trials.iter().find(near).cloned() {
            return Some((run, trial));
        }
        disturbed |= run.trials.iter().any(|trial| is_disturbed(&trial.evidence));
    }
    assert!(disturbed, "the client has the machine to itself, and is not near its limit");
    skipped("skipped", "others use the machine");
    None
}

#[test]
fn a_client_near_its_limit_is_joined_by_a_second_one_where_there_is_a_core() {
    if load::allowed_cpus().is_ok_and(|cpus| cpus.len() < 2) {
        return skipped("skipped", "client and server share the only processor");
    }
    let lab = Lab::new().measuring_a_second();
    lab.server("chatty", "chunks", "");
    bakeoff(&lab, &["run", "s"]);
    let run = lab.run();

    // The spare core is the client's own by another name, so that the two clients
    // share it. All but the figures is as it is where there is a third core.
    let Some((whole, trial)) = near_its_limit(&lab, &run, &[&[0], &[1], &[1]]) else { return };
    let client = &trial.evidence.clients[0];
    assert_eq!(client.busy_share.len(), 1);
    let Some(SecondClient::Measured { client_cpus, rate, client_busy_share, .. }) =
        &trial.evidence.second_client
    else {
        panic!("no second client was started: {:?}", trial.evidence.second_client)
    };
    assert_eq!((client_cpus, client_busy_share.len()), (&vec![1, 1], 2));
    assert!(*rate > 0.0);
    let finding = |trial: &Trial| {
        let mut findings = trial.findings.iter();
        findings.find(|finding| finding.check == "client-limit").unwrap().clone()
    };
    let value = finding(&trial).value;
    assert!(value.contains(&format!("{rate:.0} with a second client")), "{value}");
    assert!(whole.spent.second_client_s > 1.0, "such a trial takes more than its window of 1 s");
    lab.assert_nothing_is_left();

    let Some((whole, trial)) = near_its_limit(&lab, &run, &[&[0], &[1]]) else { return };
    assert_eq!(whole.spent.second_client_s, 0.0, "no trial was made");
    let finding = finding(&trial);
    assert!(finding.verdict >= Verdict::Suspect, "{finding:?}");
    assert!(finding.says.contains("Of the 2 cores to use none is left"), "{finding:?}");
}
