//! What all checks together say: of a trial, of a load, of a row, the worst first.

use result::Trial;
use result::evidence::{Evidence, Work};
use result::finding::{Finding, Verdict};
use result::kind::Kind;
use result::plan::{Contender, Slot};

use super::check::{Check, RowSeen, Scope, TrialSeen};
use super::same_answers::SAME_ANSWERS;
use super::{CHECKS, OF_THE_PLACE, contract, memory, quiet_machine};
use crate::statistics::{BLOCKS_MIN, SIGNIFICANCE, sign_flip_test};

/// What the checks that apply say of a trial of such a study, the worst first.
///
/// A contender that failed has one finding, that of its contract. What else such a trial
/// shows follows from it: connections that were refused ask for no longer listen queue. What
/// may be why it failed is told beside: the machine's other users, and memory that ran out.
pub fn judge(kind: Kind, slot: &Slot, evidence: &Evidence) -> Vec<Finding> {
    let seen = TrialSeen { kind, slot, evidence };
    let failed = evidence.process.failure.is_some();
    let may_be_why =
        |check: &Check| check.id == memory::MEMORY.id || matches!(check.scope, Scope::Machine(_));
    let findings = CHECKS.iter().filter_map(|check| {
        let finding = check.on_trial(&seen)?;
        let speaks = !failed
            || check.id == contract::CONTRACT.id
            || may_be_why(check) && finding.verdict >= Verdict::Suspect;
        speaks.then_some(finding)
    });
    worst_first(findings.collect())
}

/// What the checks of the place say of a trial in which nothing was asked of anybody, in
/// the order of all checks.
pub fn judge_place(slot: &Slot, evidence: &Evidence) -> Vec<Finding> {
    // A client stands ready, as for the load of a server.
    let seen = TrialSeen { kind: Kind::Http, slot, evidence };
    OF_THE_PLACE.iter().filter_map(|check| check.on_trial(&seen)).collect()
}

/// What the checks that apply say of all trials under one load as a whole: it stands in each
/// row's findings, and is found once for all.
pub fn judge_load(contenders: &[Contender], trials: &[&Trial]) -> Vec<Finding> {
    let of_load = |check: &&Check| match check.scope {
        Scope::MachineOverLoad(look) => Some(check.finding(look(contenders, trials)?)),
        _ => None,
    };
    CHECKS.iter().filter_map(of_load).collect()
}

/// What the checks that apply say of a contender of such a study under one load, the worst first:
/// of its trials together, and of the comparison with all trials under that load, of which as a
/// whole this was said. Of twins counts alone that answers were wrong: who answers wrongly does so
/// in any trial.
pub(crate) fn judge_row(compared: &RowSeen) -> Vec<Finding> {
    let name = &compared.contender.name;
    let (twins, own): (Vec<&Trial>, Vec<&Trial>) =
        compared.of(name).partition(|trial| trial.slot.twin);
    let mut findings = over_blocks(&own);
    let mut of_twins = twins.iter().flat_map(|trial| &trial.findings);
    let is_wrong = |it: &&Finding| it.check == SAME_ANSWERS.id && it.verdict == Verdict::Invalid;
    if let Some(wrong) = of_twins.find(is_wrong) {
        findings.retain(|it| it.check != wrong.check);
        findings.push(wrong.clone());
    }
    // Beside the others, one that failed would only be told once more that it did.
    let failed = own.iter().any(|trial| trial.evidence.process.failure.is_some());
    let speaks = |check: &&&Check| !(failed && matches!(check.scope, Scope::Row(_)));
    findings.extend(CHECKS.iter().filter(speaks).filter_map(|check| check.on_row(compared)));
    worst_first(findings)
}

fn worst_first(mut findings: Vec<Finding>) -> Vec<Finding> {
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.verdict));
    findings
}

/// Whether others used so much of the machine that a trial may be made again.
pub fn is_disturbed(trial: &Trial) -> bool {
    let id = quiet_machine::QUIET_MACHINE.id;
    trial.findings.iter().any(|it| it.check == id && it.verdict == Verdict::Invalid)
}

/// Whether the check of this id is about the machine alone: what it says, somebody
/// else did, and not the contender, the client or the set-up.
pub fn is_about_the_machine(id: &str) -> bool {
    let is_so = |check: &Check| {
        matches!(
            check.scope,
            Scope::Machine(_) | Scope::MachineOverRow(_) | Scope::MachineOverLoad(_)
        )
    };
    CHECKS.iter().any(|check| check.id == id && is_so(check))
}

/// Of each check one word over the blocks of a row, the worst first: the worst that it said
/// of a block, but for doubt that its scope tolerates.
pub fn over_blocks(trials: &[&Trial]) -> Vec<Finding> {
    let of_check = |check: &&Check| {
        let findings = || trials.iter().flat_map(|trial| &trial.findings);
        let said = || findings().filter(|finding| finding.check == check.id);
        let worst =
            said().reduce(|worst, it| if it.verdict > worst.verdict { it } else { worst })?;
        let doubtful = said().filter(|it| it.verdict == Verdict::Suspect).count();
        let reason = check.scope.tolerates(trials, doubtful);
        let Some(reason) = reason.filter(|_| worst.verdict == Verdict::Suspect) else {
            // A median is off by no more than the block that is off the most.
            let each = said().filter(|it| it.verdict == Verdict::Suspect).map(|it| it.off_by_max);
            let off_by_max = each.reduce(|a, b| Some(a?.max(b?))).flatten();
            return Some(Finding { off_by_max, ..worst.clone() });
        };
        let others = said().filter(|finding| finding.verdict < Verdict::Suspect);
        let rest = others.max_by_key(|finding| finding.verdict);
        let often = format!("in {doubtful} of {} blocks", trials.len());
        Some(check.softened(worst, rest, &often, reason))
    };
    worst_first(CHECKS.iter().filter_map(of_check).collect())
}

impl Scope {
    /// Why a row's medians stand although so many of its trials are doubtful, if they do:
    /// doubt about moments has to be in half of them, and about a drift to go one way besides.
    fn tolerates(&self, trials: &[&Trial], doubtful: usize) -> Option<&'static str> {
        let is_rare = 2 * doubtful < trials.len();
        match *self {
            Scope::Moment(_) | Scope::Machine(_) | Scope::Drift { .. } if is_rare => {
                Some("It was a moment: the median stands.")
            }
            Scope::Drift { drift, .. } if goes_either_way(trials, drift) => {
                Some("Over the blocks it goes either way: the median stands.")
            }
            _ => None,
        }
    }
}

/// Whether the drifts of these trials may come by chance. Too few tell nothing.
fn goes_either_way(trials: &[&Trial], drift: fn(&Work) -> Option<f64>) -> bool {
    let works = trials.iter().filter_map(|trial| trial.evidence.work.as_ref());
    let drifts: Vec<f64> = works.filter_map(drift).collect();
    drifts.len() >= BLOCKS_MIN && sign_flip_test(&drifts) > SIGNIFICANCE
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use result::evidence::SecondClient;
    use serde_json::Value;

    use super::super::sound::*;
    use super::super::{answers_alike, disk_writes};
    use super::*;

    /// A server that crashed refuses connections, leaves requests without an answer and its
    /// cores idle. Advice on its listen queue would send its reader the wrong way.
    #[test]
    fn a_contender_that_died_has_one_finding() {
        let (slot, mut evidence) = sound();
        let load = load_of(&mut evidence);
        load.client.connections_established = 3;
        load.client.good = 10;
        load.work.errors = vec![result::evidence::ErrorKind {
            kind: "refused".into(),
            count: 199_990,
            ..Default::default()
        }];
        evidence.server_cpu_s = Some(0.1);
        let against = |evidence: &Evidence| -> Vec<String> {
            let findings = judge_server(&slot, evidence).into_iter();
            findings.filter(|it| it.verdict > Verdict::Valid).map(|it| it.check).collect()
        };
        assert!(against(&evidence).len() > 2, "a living server has several");
        evidence.process.failure = Some("it ended with signal 11 under load".into());
        assert_eq!(against(&evidence), ["contract"]);
        evidence.others_cpu_s = Some(4.0);
        evidence.machine.oom_kills = Some(1);
        let may_be_why = ["contract", "quiet-machine", "memory"];
        assert_eq!(against(&evidence), may_be_why);
    }

    /// The numbers in a value, of a list those of its first element.
    fn numbers<'a>(value: &'a mut Value, found: &mut Vec<&'a mut Value>) {
        match value {
            Value::Number(_) => found.push(value),
            Value::Array(all) => all.iter_mut().take(1).for_each(|it| numbers(it, found)),
            Value::Object(all) => all.values_mut().for_each(|it| numbers(it, found)),
            _ => {}
        }
    }

    /// Of nothing there is no share.
    #[test]
    fn whatever_is_nothing_no_word_has_a_figure_that_is_none() {
        for (slot, mut evidence) in [sound(), of_one_request_each(), at_half_of_its_maximum()] {
            evidence.server.runtime = Some(result::evidence::Runtime {
                name: "HotSpot".into(),
                gc_pause_s: Some(0.1),
                jit_cpu_s: Some(0.1),
                ..Default::default()
            });
            evidence.second_client = Some(SecondClient::Measured {
                client_cpus: vec![1],
                rate: 60_000.0,
                errors: 0,
                client_busy_share: vec![0.5; 2],
                client_run_delay_share: None,
                others_cores: Some(0.0),
                steal_share: Some(0.0),
            });
            evidence.clients[0].busy_share = vec![0.9];
            let evidence = serde_json::to_value(&evidence).unwrap();
            let count = {
                let mut copy = evidence.clone();
                let mut found = Vec::new();
                numbers(&mut copy, &mut found);
                found.len()
            };
            for at in 0..count {
                let mut changed = evidence.clone();
                let mut found = Vec::new();
                numbers(&mut changed, &mut found);
                *found[at] = 0.into();
                let evidence = serde_json::from_value(changed.clone()).unwrap();
                for finding in judge_server(&slot, &evidence) {
                    let text = format!("{} {}", finding.value, finding.says);
                    let is_none = |word: &str| ["inf", "NaN"].contains(&word);
                    let odd = text.split(|c: char| !c.is_alphanumeric()).any(is_none);
                    assert!(!odd, "number {at} is 0: {finding:?}");
                }
            }
        }
    }

    #[test]
    fn every_check_is_silent_on_a_sound_trial_and_a_sound_comparison() {
        let mut findings = field().judge();
        for (kind, (slot, evidence)) in all_sound() {
            findings.extend(judge(kind, &slot, &evidence));
        }
        let spoke: BTreeSet<&str> = findings.iter().map(|it| &*it.check).collect();
        let silent =
            "nobody is on a virtual machine, ran before, was cut off, met hosts or had scripts";
        assert_eq!(spoke.len(), CHECKS.len() - 7, "{silent}");
        for finding in findings {
            assert_eq!(finding.verdict, Verdict::Valid, "{finding:?}");
            assert_eq!(finding.fix, "", "there is nothing to fix");
        }
    }

    #[test]
    fn a_check_that_doesnt_apply_has_no_finding_of_a_trial_nor_of_a_row() {
        let absent = |findings: Vec<Finding>, asks: fn(&Check) -> bool| -> Vec<&str> {
            let is_absent = |id: &str| findings.iter().all(|finding| finding.check != id);
            let asked = CHECKS.iter().filter(|check| asks(check));
            asked.map(|check| check.id).filter(|id| is_absent(id)).collect()
        };
        let is_of_trials = |check: &Check| {
            !matches!(
                check.scope,
                Scope::Row(_) | Scope::MachineOverRow(_) | Scope::MachineOverLoad(_)
            )
        };
        let of_kind = |kind: Kind, (slot, evidence): (Slot, Evidence)| {
            absent(judge(kind, &slot, &evidence), is_of_trials)
        };
        let of_trial = |trial| of_kind(Kind::Http, trial);
        let of_none = ["hosts", "deliveries", "misses", "evictions"];
        let and = |others: &[&'static str]| [&of_none[..], others].concat();
        assert_eq!(
            of_trial(sound()),
            and(&["offered-rate", "lateness", "own-account", "runtime", "fresh-process"])
        );
        assert_eq!(
            of_kind(Kind::Keys, of_a_store()),
            [
                "hosts",
                "deliveries",
                "offered-rate",
                "lateness",
                "own-account",
                "runtime",
                "fresh-process"
            ]
        );
        let (kind, gateway) = of_a_gateway();
        assert_eq!(
            of_kind(kind, gateway),
            [
                "hosts",
                "errors",
                "misses",
                "evictions",
                "keep-alive",
                "own-account",
                "runtime",
                "fresh-process"
            ]
        );
        assert_eq!(
            of_trial(at_half_of_its_maximum()),
            and(&["own-account", "hidden-tail", "runtime", "fresh-process"])
        );
        let never = ["own-account", "runtime", "fresh-process"];
        let one_each = and(&[&["keep-alive", "offered-rate", "lateness"], &never[..]].concat());
        assert_eq!(of_trial(of_one_request_each()), one_each);

        let all = |_: &Check| true;
        assert_eq!(
            absent(field().judge(), all),
            and(&[
                "slow-reader",
                "storm",
                "survives",
                "flushes",
                "offered-rate",
                "lateness",
                "own-account",
                "runtime",
                "fresh-process",
            ])
        );
        let mut one = field();
        one.contenders.truncate(1);
        let of_others = [
            "slow-reader",
            "storm",
            "survives",
            "flushes",
            "offered-rate",
            "lateness",
            "one-ceiling",
        ];
        let alone = [&of_others, &never[..]].concat();
        assert_eq!(absent(one.judge(), all), [&["answers-alike"], &and(&alone)[..]].concat());
    }

    /// Else a store that died would be judged as a server that writes a log.
    #[test]
    fn a_store_of_whose_keys_nothing_is_known_is_a_store() {
        let (slot, evidence) = of_a_store();
        let evidence = Evidence { store: None, ..evidence };
        let findings = judge(Kind::Keys, &slot, &evidence);
        let verdict = |check: &str| findings.iter().find(|it| it.check == check).unwrap().verdict;
        assert_eq!(verdict("misses"), Verdict::NotChecked);
        assert_eq!(verdict("evictions"), Verdict::NotChecked);
        assert_eq!(verdict("same-answers"), Verdict::NotChecked);

        let mut field = Field { kind: Kind::Keys, ..field() };
        field.contenders.truncate(1);
        field.each("a", |evidence| {
            evidence.server_disk_write_bytes = Some(100 * evidence.work.as_ref().unwrap().done);
        });
        let alone = field.word(&disk_writes::DISK_WRITES, "a");
        assert_eq!(alone.says, "It wrote next to nothing to its output.");
        assert_eq!(field.word_if_any(&answers_alike::ANSWERS_ALIKE, "a"), None);
    }

    #[test]
    fn a_trial_or_a_row_without_evidence_is_never_valid() {
        let (slot, _) = sound();
        let mut unknown = field();
        unknown.contenders[0].build = None;
        for trial in &mut unknown.trials {
            trial.evidence = Evidence::default();
            trial.evidence.process.runs_already = true;
            trial.findings = judge_server(&slot, &trial.evidence);
        }
        let findings = unknown.judge();
        assert_eq!(
            findings.len(),
            CHECKS.len() - 5,
            "one word a check, but of cuts, scripts and hosts"
        );
        for finding in findings {
            assert_eq!(finding.verdict, Verdict::NotChecked, "{finding:?}");
            let check = CHECKS.iter().find(|check| check.id == finding.check).unwrap();
            assert_ne!(finding.fix, check.fix, "advice against a fault that nobody saw");
        }
    }

    /// The ways to what may be missing of evidence: `/machine/oom_kills`,
    /// `/samples/*/server_cpu_s`, `/samples` as a whole.
    fn ways(within: &Value, way: &str, found: &mut BTreeSet<String>) {
        match within {
            Value::Object(fields) => {
                for (name, field) in fields {
                    ways(field, &format!("{way}/{name}"), found);
                }
            }
            Value::Array(items) => {
                items.iter().for_each(|item| ways(item, &format!("{way}/*"), found));
            }
            _ => {}
        }
        if !way.ends_with('*') {
            found.insert(way.to_string());
        }
    }

    /// Takes away what a way leads to, wherever it leads.
    fn take(from: &mut Value, way: &str) {
        let (step, rest) = way[1..].split_once('/').map_or((&way[1..], None), |(step, rest)| {
            (step, Some(&way[way.len() - rest.len() - 1..]))
        });
        match (from, rest) {
            (Value::Array(items), Some(rest)) => items.iter_mut().for_each(|it| take(it, rest)),
            (Value::Object(fields), Some(rest)) => {
                fields.get_mut(step).into_iter().for_each(|it| take(it, rest));
            }
            (Value::Object(fields), None) => match fields.get_mut(step) {
                Some(Value::Array(items)) => items.clear(),
                Some(other) => *other = Value::Null,
                None => {}
            },
            _ => {}
        }
    }

    #[test]
    fn a_sensor_that_is_missing_is_named_by_the_checks_that_need_it() {
        let mut found = BTreeSet::new();
        for (_, (_, evidence)) in all_sound() {
            ways(&serde_json::to_value(evidence).unwrap(), "", &mut found);
        }
        found.remove("");
        let without = |evidence: &Evidence, way: &str| -> Option<Evidence> {
            let mut value = serde_json::to_value(evidence).unwrap();
            take(&mut value, way);
            serde_json::from_value(value).ok()
        };
        let unchecked = |way: &String| -> Option<String> {
            let mut findings = Vec::new();
            for (kind, (slot, evidence)) in all_sound() {
                findings.extend(judge(kind, &slot, &without(&evidence, way)?));
            }
            let mut field = field();
            let of_the_trials = judge_server(&field.trials[0].slot, &without(&sound().1, way)?);
            for trial in &mut field.trials {
                trial.findings.clone_from(&of_the_trials);
                trial.evidence = without(&trial.evidence, way)?;
            }
            findings.extend(field.judge());
            findings.retain(|it| it.verdict != Verdict::Valid);
            let verdicts = findings.iter().map(|it| it.verdict);
            let worst = verdicts.max().unwrap_or(Verdict::Valid);
            assert!(worst <= Verdict::NotChecked, "without {way}: {findings:?}");
            let ids: BTreeSet<&str> = findings.iter().map(|it| &*it.check).collect();
            let ids = if ids.is_empty() {
                "no check by itself".to_string()
            } else {
                ids.into_iter().collect::<Vec<_>>().join(", ")
            };
            Some(format!("{}: {ids}\n", &way[1..]))
        };
        let table: String = found.iter().filter_map(unchecked).collect();
        insta::assert_snapshot!(table);
    }

    #[test]
    fn of_a_place_that_lacks_a_sensor_the_check_that_needs_it_says_so_and_no_other() {
        type Take = fn(&mut Evidence);
        let without = |take: Take| {
            let (slot, mut evidence) = at_half_of_its_maximum();
            take(&mut evidence);
            let findings = judge_place(&slot, &evidence).into_iter();
            let unchecked = findings.filter(|it| it.verdict == Verdict::NotChecked);
            unchecked.map(|it| it.check).collect::<Vec<_>>()
        };
        assert_eq!(without(|_| {}), [""; 0]);
        let sensors: [(&str, Take); OF_THE_PLACE.len()] = [
            ("load-arrived", |it| it.listen_drops = None),
            ("client-limit", |it| it.clients[0].busy_share.clear()),
            ("server-cores", |it| it.server_cpu_s = None),
            ("shared-cores", |it| it.place.cores.clear()),
            ("cpu-quota", |it| it.limits.throttled_periods = None),
            ("network", |it| it.machine.loopback_bytes = None),
            ("quiet-machine", |it| it.steal_share = None),
            ("memory", |it| it.machine.oom_kills = None),
            ("pressure", |it| it.machine.memory_pressure_share = None),
            ("frequency", |it| it.core_speeds.clear()),
        ];
        for (check, take) in sensors {
            assert_eq!(without(take), [check]);
        }
    }

    #[test]
    fn a_row_has_the_worst_word_over_its_own_trials_and_not_its_twins() {
        let mut field = field();
        let of = |field: &mut Field, name: &str, twin: bool| {
            let mut trials = field.trials.iter_mut();
            let is_it = |it: &&mut Trial| it.slot.contender == name && it.slot.twin == twin;
            let trial = trials.find(is_it).unwrap();
            trial.findings[0].verdict = Verdict::Invalid;
        };
        of(&mut field, "b", true);
        field.contenders.swap(0, 1);
        let findings = field.judge();
        let worst = (&*findings[0].check, findings[0].verdict);
        assert_eq!(worst, ("replication", Verdict::NotChecked), "the twin's own trouble");
        of(&mut field, "b", false);
        assert_eq!(field.judge()[0].verdict, Verdict::Invalid);
    }

    /// Else who answers wrongly now and then is valid where only its twin's trial showed it.
    #[test]
    fn a_wrong_answer_in_the_twins_trial_is_the_contenders() {
        let mut field = field();
        let twin = field.trials.iter_mut().find(|it| it.slot.twin).unwrap();
        let same = |it: &&mut Finding| it.check == SAME_ANSWERS.id;
        let finding = twin.findings.iter_mut().find(same).unwrap();
        (finding.verdict, finding.says) = (Verdict::Invalid, "It differs in nothing.".into());
        field.contenders.swap(0, 1);
        let findings = field.judge();
        let same = findings.iter().filter(|it| it.check == SAME_ANSWERS.id);
        let said: Vec<&str> = same.map(|it| &*it.says).collect();
        assert_eq!(said, ["It differs in nothing."]);
        assert_eq!(findings[0].verdict, Verdict::Invalid);
    }

    #[test]
    fn a_trial_is_made_again_for_the_machines_sake_only() {
        let (slot, evidence) = sound();
        let trial = |change: fn(&mut Evidence)| {
            let mut evidence = evidence.clone();
            change(&mut evidence);
            let findings = judge_server(&slot, &evidence);
            Trial { slot: slot.clone(), started: String::new(), evidence, findings }
        };
        assert!(is_disturbed(&trial(|evidence| evidence.others_cpu_s = Some(4.0))));
        assert!(!is_disturbed(&trial(|evidence| evidence.server_cpu_s = Some(0.1))));
        assert!(!is_disturbed(&trial(|evidence| evidence.work.as_mut().unwrap().rate = 1.0)));
    }

    #[test]
    fn the_worst_finding_comes_first_and_stays_over_blocks() {
        let (slot, mut evidence) = sound();
        evidence.place.server_cpus = vec![0, 1];
        evidence.place.client_cpus = vec![0, 1];
        evidence.server_cpu_s = Some(5.0);
        let findings = judge_server(&slot, &evidence);
        assert_eq!(findings[0].check, "shared-cores");
        let trial = |findings| Trial {
            slot: slot.clone(),
            started: String::new(),
            evidence: evidence.clone(),
            findings,
        };
        let trials = [trial(judge_server(&slot, &sound().1)), trial(findings)];
        let worst = over_blocks(&trials.iter().collect::<Vec<_>>());
        assert_eq!(worst.len(), judge_server(&slot, &evidence).len(), "one word a check");
        assert_eq!((&*worst[0].check, worst[0].verdict), ("shared-cores", Verdict::Suspect));
    }

    #[test]
    fn a_moment_in_fewer_than_half_of_the_blocks_casts_no_doubt_on_their_median() {
        let row = |steady: [Verdict; 4]| {
            let trials = steady.map(|verdict| {
                let (slot, evidence) = sound();
                let mut findings = judge_server(&slot, &evidence);
                let of_steady = findings.iter_mut().find(|it| it.check == "steady").unwrap();
                of_steady.verdict = verdict;
                of_steady.says = format!("It was {}.", verdict.word());
                Trial { slot, started: String::new(), evidence, findings }
            });
            let findings = over_blocks(&trials.iter().collect::<Vec<_>>());
            findings.into_iter().find(|it| it.check == "steady").unwrap()
        };
        use Verdict::{Invalid, NotChecked, Suspect, Valid};
        let once = row([Valid, Suspect, Valid, Valid]);
        assert_eq!(once.verdict, Valid);
        assert!(once.value.ends_with(" in 1 of 4 blocks"), "{}", once.value);
        assert_eq!(once.says, "It was suspect. It was a moment: the median stands.");
        assert_eq!(row([Valid, Suspect, Suspect, Valid]).verdict, Suspect);
        assert_eq!(row([Valid, Suspect, Invalid, Valid]).verdict, Invalid, "never passed over");
        let unseen = row([NotChecked, Suspect, NotChecked, Valid]);
        assert_eq!(unseen.verdict, NotChecked, "half of the blocks weren't looked at");
    }

    /// Else a median would seem less doubtful than the block that decides it.
    #[test]
    fn a_row_may_be_off_by_as_much_as_the_worst_of_its_blocks() {
        let row = |bounds: [Option<f64>; 2]| {
            let trials = bounds.map(|off_by_max| {
                let (slot, evidence) = sound();
                let doubt = crate::samples::suspect("client-limit");
                let findings = vec![Finding { off_by_max, ..doubt }];
                Trial { slot, started: String::new(), evidence, findings }
            });
            over_blocks(&trials.iter().collect::<Vec<_>>())[0].off_by_max
        };
        assert_eq!(row([Some(1.1), Some(1.4)]), Some(1.4));
        assert_eq!(row([Some(1.1), None]), None, "one is without bound");
    }

    #[test]
    fn a_drift_that_goes_either_way_over_the_blocks_is_the_machines() {
        let row = |factors: &[f64]| {
            let trials: Vec<Trial> = factors
                .iter()
                .map(|factor| {
                    let (slot, mut evidence) = sound();
                    let load = load_of(&mut evidence);
                    for second in &mut load.work.per_second[2..] {
                        second.good = (second.good as f64 * factor) as u64;
                    }
                    let findings = judge_server(&slot, &evidence);
                    Trial { slot, started: String::new(), evidence, findings }
                })
                .collect();
            let findings = over_blocks(&trials.iter().collect::<Vec<_>>());
            findings.into_iter().find(|it| it.check == "steady").unwrap()
        };
        let warming = row(&[1.2, 1.15, 1.3, 1.2, 1.25, 1.05]);
        assert_eq!(warming.verdict, Verdict::Suspect, "{warming:?}");
        let noisy = row(&[1.2, 0.8, 1.3, 0.85, 1.2, 0.8]);
        assert_eq!(noisy.verdict, Verdict::Valid);
        assert!(noisy.value.ends_with(" in 6 of 6 blocks"), "{}", noisy.value);
        assert!(noisy.says.ends_with(" goes either way: the median stands."), "{}", noisy.says);
        let few = row(&[1.2, 0.8, 1.3, 0.85]);
        assert_eq!(few.verdict, Verdict::Suspect, "four blocks can't tell chance from a drift");
    }
}
