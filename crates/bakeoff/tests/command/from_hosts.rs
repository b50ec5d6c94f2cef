//! `bakeoff run --hosts`: the load of a study comes from other hosts. Here they are agents on this
//! machine.

use std::fs;

use result::evidence::HostSide;
use result::finding::Verdict;
use result::{Run, State};

use crate::fixture::Lab;

/// The words of a host as it should be.
const SOUND: &str = "exec \"$@\"";
/// Of one that is gone in the middle of a trial: as soon as it tells of a second.
const DIES: &str = r#"exec bash -c '
    exec "$@" > >(while IFS= read -r line; do
        printf "%s\n" "$line"
        if [[ $line == *second* ]]; then kill -KILL $$; fi
    done)' bash "$@""#;

/// Writes the file of hosts behind these shells' words, by the names c1, c2 and so on.
fn write_hosts(lab: &Lab, head: &str, hosts: &[&str]) {
    let mut content = head.to_string();
    for (number, words) in (1..).zip(hosts) {
        let binary = env!("CARGO_BIN_EXE_bakeoff");
        content += &format!(
            "[host.c{number}]\nreach = [\"sh\", \"-c\", {words:?}, \"sh\"]\nbinary = {binary:?}\n\
             cpus = [0]\n"
        );
    }
    fs::write(lab.path("hosts.toml"), content).unwrap();
}

const HERE: &str = "address = \"127.0.0.1\"\n";

/// Gives the profile `quick` settings of its own.
fn with_settings(lab: &Lab, settings: &str) {
    let path = lab.path("studies/s/study.toml");
    let study = fs::read_to_string(&path).unwrap();
    let usual = "settings = [{ cores = \"one\", connections = [4] }]\n";
    assert!(study.contains(usual), "{study}");
    fs::write(path, study.replacen(usual, settings, 1)).unwrap();
}

fn hosts_of(run: &Run) -> Vec<Vec<&HostSide>> {
    run.trials.iter().map(|trial| trial.evidence.hosts().collect()).collect()
}

/// A load of fewer hosts than its name says, or a sum that isn't the parts', would be a figure of
/// something else.
#[test]
fn a_study_is_loaded_from_as_many_hosts_as_each_setting_says() {
    let lab = Lab::with_good();
    let settings = "settings = [\n\
                    { cores = \"one\", clients = [1], connections = [2], kept = [true] },\n\
                    { cores = \"one\", clients = [2], connections = [6], kept = [false] },\n]\n";
    with_settings(&lab, settings);
    write_hosts(&lab, HERE, &[SOUND, SOUND]);
    let said = lab.bakeoff(&["run", "s", "--seed", "7", "--hosts", "hosts.toml"]);
    assert!(matches!(said.code, Some(0 | 3)), "{said:?}");
    assert!(said.stdout.contains("2 client hosts"), "{}", said.stdout);
    assert!(said.stderr.contains("load from    c1, c2\n"), "{}", said.stderr);
    let run = lab.run();
    assert_eq!(run.command, "bakeoff run s --profile quick --seed 7 --hosts hosts.toml");
    assert_eq!(run.state, State::Complete);
    let names: Vec<&str> = run.hosts.iter().map(|host| &*host.name).collect();
    assert_eq!(names, ["c1", "c2"]);
    for (trial, hosts) in run.trials.iter().zip(hosts_of(&run)) {
        let setting = &trial.slot.setting;
        assert_eq!(Some(hosts.len()), setting.clients(), "{setting:?}");
        let all = &trial.evidence.clients[0];
        let sum = |of: fn(&HostSide) -> u64| hosts.iter().map(|host| of(host)).sum::<u64>();
        assert!(hosts.iter().all(|host| host.is_here), "{hosts:?}");
        assert_eq!(sum(|it| it.side.sent), all.sent);
        assert_eq!(sum(|it| it.side.good), all.good);
        assert_eq!(sum(|it| it.side.connections_asked.into()), u64::from(setting.connections()));
        assert_eq!(sum(|it| it.done), trial.evidence.work.as_ref().unwrap().done);
        let said = |id: &str| trial.findings.iter().find(|it| it.check == id).unwrap();
        assert_ne!(said("hosts").verdict, Verdict::Invalid, "{:?}", said("hosts"));
        assert_ne!(said("arithmetic").value, "contradiction", "{:?}", said("arithmetic"));
    }
    // Beside other tests a short window may have no answer.
    let answered = |name: &str| {
        let mut all = run.trials.iter().flat_map(|trial| trial.evidence.hosts());
        all.any(|host| host.name == name && host.side.good > 0)
    };
    assert!(answered("c1") && answered("c2"), "a host had no answer in any trial");
    let page = fs::read_to_string(lab.path("runs/latest/report.html")).unwrap();
    assert!(page.contains("Hosts of the load"), "the page has no table of hosts");
    let text = fs::read_to_string(lab.path("runs/latest/report.md")).unwrap();
    assert!(text.contains("The load came from 2 hosts: c1 (1 processor, which is"), "{text}");
    lab.assert_nothing_is_left();
}

/// Else the others' load would pass for that of all.
#[test]
fn a_host_that_is_lost_in_a_trial_makes_its_figures_invalid_by_name() {
    let lab = Lab::with_good();
    let settings = "settings = [{ cores = \"one\", connections = [4] }]\n";
    with_settings(&lab, settings);
    write_hosts(&lab, HERE, &[SOUND, DIES]);
    let arguments = ["run", "s", "--seed", "7", "--seconds", "2", "--hosts", "hosts.toml"];
    let said = lab.bakeoff(&arguments);
    assert_eq!(said.code, Some(3), "a figure stands: {said:?}");
    let run = lab.run();
    for (trial, hosts) in run.trials.iter().zip(hosts_of(&run)) {
        let word = trial.findings.iter().find(|it| it.check == "hosts").unwrap();
        assert_eq!(word.verdict, Verdict::Invalid);
        assert!(word.says.starts_with("Host c2 was lost"), "{word:?}");
        assert!(hosts[0].lost.is_none() && hosts[0].side.good > 0, "what c1 saw is gone");
    }
    lab.assert_nothing_is_left();
}

#[test]
fn hosts_that_do_not_do_for_a_study_are_refused_before_anything_is_built() {
    let lab = Lab::with_good();
    with_settings(&lab, "settings = [{ cores = \"all\", clients = [3], connections = [9] }]\n");
    let refused = |arguments: &[&str], code: i32, says: &str| {
        let said = lab.bakeoff(&[&["run", "s"], arguments].concat());
        assert_eq!(said.code, Some(code), "{said:?}");
        assert!(said.stderr.contains(says), "{says}: {}", said.stderr);
        assert!(!said.stderr.contains("preparing"), "{}", said.stderr);
    };
    let with_hosts = ["--hosts", "hosts.toml"];
    refused(&[], 2, "come from 3 hosts: name them with `--hosts hosts.toml`");
    write_hosts(&lab, HERE, &[SOUND, SOUND]);
    refused(&with_hosts, 2, "come from 3 hosts, and the file names 2");
    write_hosts(&lab, "", &[SOUND; 3]);
    refused(&with_hosts, 2, "missing key `address`");
    write_hosts(&lab, "address = \"192.0.2.1\"\n", &[SOUND; 3]);
    refused(&with_hosts, 2, "contenders can't listen on 192.0.2.1");
    write_hosts(&lab, HERE, &[SOUND, SOUND, "exit 7"]);
    refused(&with_hosts, 4, "host c3: ");
    lab.assert_nothing_is_left();
}
