//! Brokers as contenders: with each that is installed a small study is run, in which it does its job
//! on its own wire.

use std::fs;
use std::path::Path;

use result::figure::LINES_OF_CODE;
use result::finding::Verdict;
use result::{Run, State};

use crate::fixture::{Lab, skipped};
use crate::started::ROOT;

/// A contender that is a broker, or a variant of one, with what it speaks and whether it confirms.
type Spoken = (&'static str, &'static str, bool);

#[test]
fn mosquitto_passes_on_by_mqtt_and_confirms_with_qos_1() {
    let spoken =
        [("mosquitto", "MQTT 3.1.1, QoS 0", false), ("mosquitto-qos1", "MQTT 3.1.1, QoS 1", true)];
    let Some(said) = does_its_job("mosquitto", &spoken) else { return };
    // Both are MQTT, and what they cost isn't the same work.
    assert!(said.contains("Wires differ"), "{said}");
}

#[test]
fn the_server_of_nats_passes_on_by_its_protocol() {
    let said = does_its_job("nats", &[("nats", "NATS", false)]);
    assert!(said.is_none_or(|said| !said.contains("Wires differ")));
}

#[test]
fn redis_passes_on_by_publish_and_subscribe() {
    does_its_job("redis", &[("redis", "RESP3", true)]);
}

#[test]
#[ignore = "`make check-servers` has those that start slowly"]
fn rabbitmq_passes_on_by_its_plugin_of_mqtt() {
    does_its_job("rabbitmq", &[("rabbitmq", "MQTT 3.1.1, QoS 0", false)]);
}

/// Runs a study with what lies in a broker's folder; gives what was said at the end, unless it can't
/// be had.
fn does_its_job(broker: &str, all: &[Spoken]) -> Option<String> {
    let lab = Lab::of_gateways();
    let folder = Path::new(ROOT).join("studies/gateway").join(broker);
    for entry in fs::read_dir(folder).unwrap() {
        let file = entry.unwrap();
        let name = file.file_name().into_string().unwrap();
        let text = fs::read_to_string(file.path()).unwrap();
        lab.write(&format!("studies/s/{broker}/{name}"), &text);
    }
    let said = lab.bakeoff(&["run", "s"]);
    if said.is_absent() {
        skipped("skipped", said.stderr.trim_end());
        return None;
    }
    let run = lab.run();
    assert_eq!(run.state, State::Complete, "{said:?}");
    for one in all {
        assert_does_its_job(&run, *one);
    }
    lab.assert_nothing_is_left();
    Some(said.stdout.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn assert_does_its_job(run: &Run, (name, wire, confirms): Spoken) {
    let record = run.contenders.iter().find(|it| it.name == name).expect(name);
    assert_eq!(record.wire.as_deref(), Some(wire));
    let trial = run.trials.iter().find(|it| it.slot.contender == name).expect(name);
    for check in ["contract", "deliveries"] {
        let found = trial.findings.iter().find(|it| it.check == check).expect(check);
        assert_eq!(found.verdict, Verdict::Valid, "{name}: {found:?}");
    }
    let evidence = &trial.evidence;
    let seen = evidence.deliveries.as_ref().expect("robots were there");
    let (work, client) = (evidence.work.as_ref().unwrap(), &evidence.clients[0]);
    assert_eq!((client.sent, client.good, seen.joined), (1_200, 1_200, 20), "{name}: {seen:?}");
    // Each message is five deliveries.
    assert_eq!(seen.confirmed, confirms.then_some(240), "{name}: {seen:?}");
    assert_eq!((seen.unconfirmed, seen.confirmed_missing), (0, 0), "{name}: {seen:?}");
    assert!(seen.memory_idle_bytes.is_some(), "{name}: {seen:?}");
    let lines = work.result.get(LINES_OF_CODE);
    assert_eq!(lines, None, "{name} has no code in the study, and that isn't 0 lines");
}
