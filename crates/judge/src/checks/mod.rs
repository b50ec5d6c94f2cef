//! Whether a trial's figures mean what they seem to.
//!
//! One file a check. A check looks at the evidence of one trial, or at one row
//! of a comparison beside the others, and gives its word; this frame adds what
//! the check says of itself, and the order. To add one: a file here, a line in
//! [`CHECKS`], and a page of the check's own words in `docs/checks/`. A test
//! holds the page against them.

mod answers_alike;
mod arithmetic;
mod client_limit;
mod contract;
mod cpu_quota;
mod delayed_ack;
mod disk_writes;
mod errors;
mod evictions;
mod fair_answers;
mod frequency;
mod fresh_process;
mod hidden_tail;
mod keep_alive;
mod lateness;
mod load_arrived;
mod memory;
mod misses;
mod network;
mod offered_rate;
mod one_ceiling;
mod optimised_build;
mod order;
mod pressure;
mod quiet_machine;
mod replication;
mod runtime;
mod same_answers;
mod server_cores;
mod shared_cores;
mod stall;
mod steady;

use result::Trial;
use result::evidence::{ClientSide, Evidence, StoreSeen, Work};
use result::finding::{Finding, Verdict};
use result::kind::Kind;
use result::plan::{Contender, Pace, Slot};

use crate::statistics::{BLOCKS_MIN, SIGNIFICANCE, sign_flip_test};

pub use client_limit::{CLIENT_LIMIT, asks_for_second_client};
pub(crate) use cpu_quota::CPU_QUOTA;
pub use hidden_tail::p99_by_time_us;
pub use pressure::DELEGATE;
pub(crate) use replication::noise_floor;
pub use replication::stands;
pub(crate) use server_cores::{SERVER_CORES, found_idle_cores, was_let_idle};

/// All checks, in the order of what can go wrong: first whether the contender
/// does the job, last whether it does so steadily and is compared fairly.
pub const CHECKS: [&Check; 32] = [
    &contract::CONTRACT,
    &same_answers::SAME_ANSWERS,
    &answers_alike::ANSWERS_ALIKE,
    &optimised_build::OPTIMISED_BUILD,
    &load_arrived::LOAD_ARRIVED,
    &errors::ERRORS,
    &misses::MISSES,
    &evictions::EVICTIONS,
    &fair_answers::FAIR_ANSWERS,
    &keep_alive::KEEP_ALIVE,
    &offered_rate::OFFERED_RATE,
    &CLIENT_LIMIT,
    &lateness::LATENESS,
    &one_ceiling::ONE_CEILING,
    &SERVER_CORES,
    &shared_cores::SHARED_CORES,
    &CPU_QUOTA,
    &network::NETWORK,
    &disk_writes::DISK_WRITES,
    &quiet_machine::QUIET_MACHINE,
    &memory::MEMORY,
    &pressure::PRESSURE,
    &frequency::FREQUENCY,
    &arithmetic::ARITHMETIC,
    &steady::STEADY,
    &stall::STALL,
    &hidden_tail::HIDDEN_TAIL,
    &delayed_ack::DELAYED_ACK,
    &runtime::RUNTIME,
    &fresh_process::FRESH_PROCESS,
    &order::ORDER,
    &replication::REPLICATION,
];

/// Those of them that speak of the place and its sensors whoever is measured.
const OF_THE_PLACE: [&Check; 10] = [
    &load_arrived::LOAD_ARRIVED,
    &CLIENT_LIMIT,
    &SERVER_CORES,
    &shared_cores::SHARED_CORES,
    &CPU_QUOTA,
    &network::NETWORK,
    &quiet_machine::QUIET_MACHINE,
    &memory::MEMORY,
    &pressure::PRESSURE,
    &frequency::FREQUENCY,
];

/// One check.
#[derive(Debug)]
pub struct Check {
    /// Its id, which is its page's name.
    pub id: &'static str,
    /// What it looks at.
    pub signal: &'static str,
    /// From where on that speaks against a figure.
    pub threshold: &'static str,
    /// Why the threshold is there.
    pub why: &'static str,
    /// What to do if it does. Where it couldn't look, this would be advice against a
    /// fault that nobody saw: what lets it look, if anything does, its word says.
    pub fix: &'static str,
    /// What it looks at, and gives its word.
    scope: Scope,
}

/// What a check is about, and what it says of that; `None` where it doesn't apply to it,
/// which speaks neither for a figure nor against it.
#[derive(Debug)]
enum Scope {
    /// One trial by itself, whether it got as far as load or not.
    Anyway(fn(&TrialSeen) -> Option<Word>),
    /// One trial by itself.
    Trial(Rule),
    /// One trial by itself, in which a passing moment of the machine may have been
    /// met. The figures of a row are medians over its blocks, and doubtful values
    /// in fewer than half of them don't carry a median away: from half on, doubt
    /// counts for the row.
    Moment(Rule),
    /// One trial by itself, and how far it drifted, as a logarithm. A contender
    /// drifts the same way in every block, a machine mostly either way: doubt counts for
    /// the row as that of moments does, unless an exact test lets the drifts of its
    /// blocks pass as chance.
    Drift { look: Rule, drift: fn(&Work) -> Option<f64> },
    /// The machine during one trial, met as a passing moment is: what it says,
    /// somebody else did, and not the contender, the client or the set-up.
    Machine(Rule),
    /// A contender's trials under one load, beside those of the others.
    Row(fn(&RowSeen) -> Option<Word>),
    /// All trials under one load, where doubt is about the machine that they were made on:
    /// of all rows alike.
    MachineOverLoad(fn(&[Contender], &[&Trial]) -> Option<Word>),
    /// As of a row, where doubt is about the machine.
    MachineOverRow(fn(&RowSeen) -> Option<Word>),
}

/// What a check of a trial may look at.
#[derive(Debug, Clone, Copy)]
struct TrialSeen<'a> {
    /// What kind of study the trial is of.
    kind: Kind,
    slot: &'a Slot,
    evidence: &'a Evidence,
}

/// What the load generator saw of a trial, for checks that speak of its load alone.
#[derive(Debug, Clone, Copy)]
struct Load<'a> {
    work: &'a Work,
    client: &'a ClientSide,
}

/// What a check of a row may look at.
#[derive(Debug, Clone, Copy)]
struct RowSeen<'a> {
    /// What kind of study the row is of.
    kind: Kind,
    contender: &'a Contender,
    /// All contenders of the run, this one among them.
    contenders: &'a [Contender],
    /// All trials under the row's load, twins among them.
    trials: &'a [&'a Trial],
    /// What was said of them as a whole.
    of_load: &'a [Finding],
}

/// A check's word.
#[derive(Debug, Clone, PartialEq)]
struct Word {
    verdict: Verdict,
    /// What was measured, with its unit.
    value: String,
    /// One sentence: what this means.
    says: String,
    /// Which part of the threshold it was held against, where there are several.
    against: Option<&'static str>,
    /// What to do, where that isn't the check's own fix: of a check that couldn't look, what
    /// lets it look next time.
    advice: Option<&'static str>,
    /// Of a suspect figure, by which factor it may be off at most, where that is bounded.
    off_by_max: Option<f64>,
}

impl Word {
    fn new(verdict: Verdict, value: impl Into<String>, says: impl Into<String>) -> Word {
        let (value, says) = (value.into(), says.into());
        Word { verdict, value, says, against: None, advice: None, off_by_max: None }
    }

    fn valid(value: impl Into<String>, says: impl Into<String>) -> Word {
        Word::new(Verdict::Valid, value, says)
    }

    fn suspect(value: impl Into<String>, says: impl Into<String>) -> Word {
        Word::new(Verdict::Suspect, value, says)
    }

    fn invalid(value: impl Into<String>, says: impl Into<String>) -> Word {
        Word::new(Verdict::Invalid, value, says)
    }

    /// The sensor is missing: nothing can be said.
    fn not_checked(says: impl Into<String>) -> Word {
        Word::new(Verdict::NotChecked, "–", says)
    }

    fn against(self, part: &'static str) -> Word {
        Word { against: Some(part), ..self }
    }

    /// By which factor a suspect figure may be off at most. What isn't finite bounds nothing.
    fn off_by(self, factor: f64) -> Word {
        Word { off_by_max: Some(factor.max(1.0 / factor)).filter(|it| it.is_finite()), ..self }
    }

    fn advise(self, advice: &'static str) -> Word {
        Word { advice: Some(advice), ..self }
    }
}

/// What there may be to say of a trial, by what was measured in it.
type Rule = fn(&TrialSeen, &Work) -> Option<Word>;

/// The same, of what the load generator saw.
type LoadRule = fn(&TrialSeen, &Load) -> Option<Word>;

impl<'a> TrialSeen<'a> {
    /// The work that was measured; `None` where no time was.
    fn work(&self) -> Option<&'a Work> {
        self.evidence.work.as_ref().filter(|work| work.seconds > 0.0)
    }

    /// A check's word on what the load generator saw. It doesn't apply to what drives itself.
    fn under_load(&self, look: impl FnOnce(&Load) -> Option<Word>) -> Option<Word> {
        if !self.kind.is_asked() {
            return None;
        }
        match self.evidence.clients.first() {
            Some(client) => look(&Load { work: self.work()?, client }),
            None => Some(Word::not_checked("What the client saw is not known.")),
        }
    }

    /// A check's word on what became of a store's keys. It doesn't apply to what keeps no data.
    fn of_keys(&self, look: impl FnOnce(&StoreSeen) -> Option<Word>) -> Option<Word> {
        if !self.kind.keeps_data() {
            return None;
        }
        match &self.evidence.store {
            Some(store) => look(store),
            None => Some(Word::not_checked("What became of the keys is not known.")),
        }
    }

    /// Whether requests came at a rate, whatever was answered.
    fn is_open_loop(&self) -> bool {
        self.slot.setting.pace != Pace::Free
    }
}

impl<'a> RowSeen<'a> {
    /// A contender's trials, twins among them.
    fn of(&self, contender: &str) -> impl Iterator<Item = &'a Trial> {
        self.trials.iter().copied().filter(move |trial| trial.slot.contender == contender)
    }

    fn others(&self) -> impl Iterator<Item = &'a Contender> {
        self.contenders.iter().filter(|it| it.name != self.contender.name)
    }

    fn is_open_loop(&self) -> bool {
        self.trials.iter().any(|trial| trial.slot.setting.pace != Pace::Free)
    }
}

impl Check {
    /// Its word on a trial, if it applies to that.
    fn on_trial(&self, seen: &TrialSeen) -> Option<Finding> {
        let word = match self.scope {
            Scope::Anyway(look) => look(seen),
            Scope::Trial(look)
            | Scope::Moment(look)
            | Scope::Drift { look, .. }
            | Scope::Machine(look) => match seen.work() {
                Some(work) => look(seen, work),
                None => Some(Word::not_checked("The trial ended before there was load.")),
            },
            Scope::Row(_) | Scope::MachineOverRow(_) | Scope::MachineOverLoad(_) => None,
        };
        Some(self.finding(word?))
    }

    /// Its word on a row, if it applies to that.
    fn on_row(&self, compared: &RowSeen) -> Option<Finding> {
        match self.scope {
            Scope::Row(look) | Scope::MachineOverRow(look) => Some(self.finding(look(compared)?)),
            Scope::MachineOverLoad(_) => {
                compared.of_load.iter().find(|finding| finding.check == self.id).cloned()
            }
            _ => None,
        }
    }

    fn finding(&self, word: Word) -> Finding {
        let Word { verdict, value, says, against, advice, off_by_max } = word;
        Finding {
            check: self.id.into(),
            verdict,
            value,
            threshold: against.unwrap_or(self.threshold).into(),
            says,
            fix: match verdict {
                Verdict::Valid => String::new(),
                Verdict::NotChecked => advice.unwrap_or_default().into(),
                Verdict::Suspect | Verdict::Invalid => advice.unwrap_or(self.fix).into(),
            },
            off_by_max: off_by_max.filter(|_| verdict == Verdict::Suspect),
        }
    }

    /// Its doubt about so many blocks of a row whose median stands in spite of that: the word
    /// is that of the rest of them.
    fn softened(
        &self,
        doubt: &Finding,
        rest: Option<&Finding>,
        often: &str,
        reason: &str,
    ) -> Finding {
        Finding {
            check: self.id.into(),
            verdict: rest.map_or(Verdict::Valid, |it| it.verdict),
            value: format!("{} {often}", doubt.value),
            threshold: self.threshold.into(),
            says: format!("{} {reason}", doubt.says),
            fix: rest.map_or(String::new(), |it| it.fix.clone()),
            off_by_max: None,
        }
    }
}

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

/// What the checks that apply say of a contender of such a study under one load, the worst first: of its
/// trials together, twins left out, and of the comparison with all trials under
/// that load, of which as a whole this was said.
pub fn judge_row(
    kind: Kind,
    contender: &Contender,
    contenders: &[Contender],
    trials: &[&Trial],
    of_load: &[Finding],
) -> Vec<Finding> {
    let compared = RowSeen { kind, contender, contenders, trials, of_load };
    let own: Vec<&Trial> = compared.of(&contender.name).filter(|trial| !trial.slot.twin).collect();
    let mut findings = over_blocks(&own);
    // Beside the others, one that failed would only be told once more that it did.
    let failed = own.iter().any(|trial| trial.evidence.process.failure.is_some());
    let speaks = |check: &&&Check| !(failed && matches!(check.scope, Scope::Row(_)));
    findings.extend(CHECKS.iter().filter(speaks).filter_map(|check| check.on_row(&compared)));
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

/// A share as people read it. The sum of no shares is -0, which nobody reads.
fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0 + 0.0)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use histogram::Histogram;
    use result::evidence::{
        AnswerSize, ContractStep, CoreSpeed, Limits, MachineUse, Percentile, Percentiles, Place,
        Sample, Second, SecondClient, ServerUse, StoreSeen, ThreadGroup, ThreadUse,
    };
    use result::plan::Cores;
    use serde_json::Value;

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
            let findings = judge(&slot, evidence).into_iter();
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

    /// A histogram as evidence has it: times in µs, and how often each.
    pub(super) fn histogram(times: &[(u64, u64)]) -> String {
        let mut histogram = Histogram::<u64>::new(3).unwrap();
        for (us, count) in times {
            histogram.record_n(us * 1_000, *count).unwrap();
        }
        histogram::text::encode(&histogram)
    }

    /// A trial that nothing is wrong with: 100 connections for 4 s, 50,000
    /// answers a second of 2 ms each, one core each for server and client.
    pub(super) fn sound() -> (Slot, Evidence) {
        let slot = Slot {
            number: 0,
            block: 0,
            contender: "go".into(),
            twin: false,
            setting: result::plan::Setting::closed(100, Cores::One, true),
        };
        let times = Percentiles {
            count: 200_000,
            min: Some(100.0),
            mean: Some(2_000.0),
            max: Some(9_000.0),
            at: [(50.0, 1_900.0), (99.0, 4_000.0), (99.9, 6_000.0)]
                .map(|(percentile, value)| Percentile { percentile, value, at_least: false })
                .to_vec(),
            histogram: histogram(&[(1_900, 198_000), (4_000, 2_000)]),
            ..Percentiles::default()
        };
        let second =
            Second { good: 50_000, errors: 0, p50_us: Some(1_900.0), p99_us: Some(4_000.0) };
        let sample = |at: u32| Sample {
            at_s: at.into(),
            server_cpu_s: Some(0.99),
            connections_established: Some(100),
            accept_queue: Some(0),
            ..Sample::default()
        };
        let (id, asked) = ("right-answer".into(), "answers".into());
        let step = ContractStep { id, asked, saw: "status 200".into(), wrong: None, hung: false };
        let evidence = Evidence {
            place: Place {
                server_cpus: vec![0],
                client_cpus: vec![1],
                cores: vec![vec![0], vec![1]],
            },
            contract: vec![step.clone()],
            contract_under_load: vec![step.clone()],
            contract_after: vec![step],
            answer: Some(AnswerSize { head_bytes: 150, body_bytes: 50, whole_bytes: Some(200) }),
            work: Some(Work {
                seconds: 4.0,
                done: 200_000,
                rate: 50_000.0,
                response_us: times.clone(),
                service_us: times,
                per_second: vec![second; 4],
                ..Work::default()
            }),
            clients: vec![ClientSide {
                scheduled: 200_000,
                sent: 200_000,
                good: 200_000,
                received_bytes: 40_000_000,
                connections_asked: 100,
                connections_established: 100,
                cut: Some(0),
                answers_a_connection: (1_900, 2_100),
                cpu_s: 2.4,
                busy_share: vec![0.6],
                run_delay_share: Some(vec![0.01]),
                away_s: Some(0.0),
                ..ClientSide::default()
            }],
            samples: (1..=4).map(sample).collect(),
            server_cpu_s: Some(3.96),
            server_disk_write_bytes: Some(0),
            server_output_bytes: Some(0),
            server_folder_bytes: Some(0),
            load_s: Some(4.5),
            server: ServerUse {
                threads: vec![ThreadUse { cpu_s: 3.9, cpus: vec![0], ..ThreadUse::default() }],
                thread_groups: vec![ThreadGroup::default()],
                major_faults: Some(0),
                disk_read_bytes: Some(0),
                swap_max_bytes: Some(0),
                code_bytes: Some(0),
                code_grown_bytes: Some(0),
                ..ServerUse::default()
            },
            limits: Limits {
                throttled_periods: Some(0),
                throttled_s: Some(0.0),
                ..Limits::default()
            },
            machine: MachineUse {
                swap_in_bytes: Some(0),
                swap_out_bytes: Some(0),
                oom_kills: Some(0),
                memory_pressure_share: Some(0.0),
                io_pressure_share: Some(0.0),
                server_cpu_mhz_min: Some(3_000.0),
                server_cpu_mhz_max: Some(3_000.0),
                loopback_bytes: Some(100_000_000),
                ..MachineUse::default()
            },
            core_speeds: vec![CoreSpeed {
                cpu: 0,
                before: 800.0,
                after: 800.0,
                whole_before: Some(900.0),
                whole_after: Some(900.0),
            }],
            others_cpu_s: Some(0.02),
            steal_share: Some(0.0),
            listen_drops: Some(0),
            tcp_retransmits: Some(0),
            ..Evidence::default()
        };
        (slot, evidence)
    }

    /// What the load generator saw of a trial, to be changed.
    pub(super) struct LoadOf<'a> {
        pub(super) work: &'a mut Work,
        pub(super) client: &'a mut ClientSide,
    }

    pub(super) fn load_of(evidence: &mut Evidence) -> LoadOf<'_> {
        LoadOf { work: evidence.work.as_mut().unwrap(), client: &mut evidence.clients[0] }
    }

    /// The sound trial with a connection a request. Half of the 2 ms goes into
    /// connecting, so that fewer are established than are at work.
    pub(super) fn of_one_request_each() -> (Slot, Evidence) {
        let (mut slot, mut evidence) = sound();
        slot.setting.set(result::setting::KEPT, false);
        for sample in &mut evidence.samples {
            sample.connections_established = Some(40);
        }
        let load = load_of(&mut evidence);
        load.client.connections_established = 57;
        load.client.connect_us = load.work.service_us.clone();
        for times in [&mut load.client.connect_us, &mut load.work.service_us] {
            times.mean = Some(1_000.0);
        }
        (slot, evidence)
    }

    /// A store that kept its hundred keys.
    pub(super) fn of_a_store() -> (Slot, Evidence) {
        let (slot, evidence) = sound();
        let store = StoreSeen {
            hits: 1_000,
            keys_due: Some((100, 100)),
            keys_there: Some(100),
            evictions: Some(0),
            ..StoreSeen::default()
        };
        (slot, Evidence { store: Some(store), ..evidence })
    }

    /// One of each sort that checks speak of, with the kind of its study.
    fn all_sound() -> [(Kind, (Slot, Evidence)); 4] {
        let of_servers = |trial| (Kind::Http, trial);
        let store = (Kind::Keys, of_a_store());
        let [free, half, one] = [sound(), at_half_of_its_maximum(), of_one_request_each()];
        [of_servers(free), of_servers(half), of_servers(one), store]
    }

    /// What the checks say of a server's trial.
    fn judge(slot: &Slot, evidence: &Evidence) -> Vec<Finding> {
        super::judge(Kind::Http, slot, evidence)
    }

    /// A sound trial of an open loop: half of a maximum of 50,000 a second.
    pub(super) fn at_half_of_its_maximum() -> (Slot, Evidence) {
        let (mut slot, mut evidence) = sound();
        slot.setting.pace = Pace::Own { percent: 50 };
        evidence.server_cpu_s = Some(2.0);
        let load = load_of(&mut evidence);
        load.client.offered_rate = Some(25_000.0);
        load.client.received_bytes = 20_000_000;
        (load.work.rate, load.work.done) = (25_000.0, 100_000);
        (load.client.scheduled, load.client.sent, load.client.good) = (100_000, 100_000, 100_000);
        for times in [&mut load.work.response_us, &mut load.work.service_us] {
            (times.count, times.mean) = (100_000, Some(300.0));
            times.at = [(50.0, 250.0), (99.0, 1_000.0)]
                .map(|(percentile, value)| Percentile { percentile, value, at_least: false })
                .to_vec();
        }
        let mut lateness = load.work.service_us.clone();
        (lateness.min, lateness.mean, lateness.max) = (Some(0.1), Some(5.0), Some(500.0));
        lateness.at.iter_mut().for_each(|one| one.value /= 50.0);
        load.client.lateness_us = Some(lateness.clone());
        lateness.at.iter_mut().for_each(|one| one.value = 0.0);
        load.client.connection_wait_us = Some(lateness);
        load.work.per_second.iter_mut().for_each(|second| second.good = 25_000);
        (slot, evidence)
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
                for finding in judge(&slot, &evidence) {
                    let text = format!("{} {}", finding.value, finding.says);
                    let is_none = |word: &str| ["inf", "NaN"].contains(&word);
                    let odd = text.split(|c: char| !c.is_alphanumeric()).any(is_none);
                    assert!(!odd, "number {at} is 0: {finding:?}");
                }
            }
        }
    }

    /// A check's word on the sound trial after a change to it.
    pub(super) fn word_after(check: &Check, change: impl FnOnce(&mut Evidence)) -> Finding {
        let (slot, mut evidence) = sound();
        change(&mut evidence);
        word_on(check, &slot, &evidence)
    }

    /// A check's word on a trial.
    pub(super) fn word_on(check: &Check, slot: &Slot, evidence: &Evidence) -> Finding {
        word_if_any(check, slot, evidence).expect("the check applies to the trial")
    }

    /// The same; `None` where the check doesn't apply.
    pub(super) fn word_if_any(check: &Check, slot: &Slot, evidence: &Evidence) -> Option<Finding> {
        word_if(Kind::Http, check, slot, evidence)
    }

    /// The same in such a study.
    pub(super) fn word_if(
        kind: Kind,
        check: &Check,
        slot: &Slot,
        evidence: &Evidence,
    ) -> Option<Finding> {
        check.on_trial(&TrialSeen { kind, slot, evidence })
    }

    /// A check's word on a store that kept its keys, after a change to its trial.
    pub(super) fn word_of_a_store(check: &Check, change: impl FnOnce(&mut Evidence)) -> Finding {
        let (slot, mut evidence) = of_a_store();
        change(&mut evidence);
        word_if(Kind::Keys, check, &slot, &evidence).expect("the check applies to stores")
    }

    /// The same, of a change to what the load saw.
    pub(super) fn word_after_load(check: &Check, change: impl FnOnce(&mut LoadOf)) -> Finding {
        word_after(check, |evidence| change(&mut load_of(evidence)))
    }

    /// A comparison.
    pub(super) struct Field {
        pub(super) kind: Kind,
        pub(super) contenders: Vec<Contender>,
        pub(super) trials: Vec<Trial>,
    }

    /// A sound comparison: six blocks of `a`, `b` with its twin, and `c`, which
    /// take each place of a block in turn and answer 50,000, 40,000 and 30,000
    /// a second.
    pub(super) fn field() -> Field {
        let entries = [("a", false, 5e4), ("b", false, 4e4), ("b", true, 4e4), ("c", false, 3e4)];
        let mut trials = Vec::new();
        for number in 0..24 {
            let block = number / 4;
            let (name, twin, rate) = entries[(number + block) as usize % entries.len()];
            let (slot, mut evidence) = sound();
            evidence.work.as_mut().unwrap().rate = rate;
            let slot = Slot { number, block, contender: name.into(), twin, ..slot };
            let findings = judge(&slot, &sound().1);
            trials.push(Trial { slot, started: String::new(), evidence, findings });
        }
        let contenders = ["a", "b", "c"].map(crate::samples::contender).to_vec();
        Field { kind: Kind::Http, contenders, trials }
    }

    impl Field {
        /// Changes what all trials of a contender saw.
        pub(super) fn each(&mut self, contender: &str, change: impl Fn(&mut Evidence)) {
            let of = self.trials.iter_mut().filter(|trial| trial.slot.contender == contender);
            of.for_each(|trial| change(&mut trial.evidence));
        }

        /// A check's word on a contender's row.
        pub(super) fn word(&self, check: &Check, contender: &str) -> Finding {
            self.word_if_any(check, contender).expect("the check applies to the row")
        }

        /// The same; `None` where the check doesn't apply.
        pub(super) fn word_if_any(&self, check: &Check, contender: &str) -> Option<Finding> {
            let trials: Vec<&Trial> = self.trials.iter().collect();
            let contender = self.contenders.iter().find(|it| it.name == contender).unwrap();
            let (contenders, of_load) = (&self.contenders, judge_load(&self.contenders, &trials));
            let (kind, trials, of_load) = (self.kind, &*trials, &*of_load);
            let compared = RowSeen { kind, contender, contenders, trials, of_load };
            check.on_row(&compared)
        }

        /// What all checks say of the first contender's row.
        fn judge(&self) -> Vec<Finding> {
            let trials: Vec<&Trial> = self.trials.iter().collect();
            let of_load = judge_load(&self.contenders, &trials);
            judge_row(self.kind, &self.contenders[0], &self.contenders, &trials, &of_load)
        }
    }

    #[test]
    fn every_check_is_silent_on_a_sound_trial_and_a_sound_comparison() {
        let mut findings = field().judge();
        for (kind, (slot, evidence)) in all_sound() {
            findings.extend(super::judge(kind, &slot, &evidence));
        }
        let spoke: BTreeSet<&str> = findings.iter().map(|it| &*it.check).collect();
        let silent = "nobody is on a virtual machine, and nobody ran before";
        assert_eq!(spoke.len(), CHECKS.len() - 2, "{silent}");
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
            absent(super::judge(kind, &slot, &evidence), is_of_trials)
        };
        let of_trial = |trial| of_kind(Kind::Http, trial);
        let of_stores = ["misses", "evictions"];
        let and = |others: &[&'static str]| [&of_stores[..], others].concat();
        assert_eq!(
            of_trial(sound()),
            and(&["offered-rate", "lateness", "runtime", "fresh-process"])
        );
        assert_eq!(
            of_kind(Kind::Keys, of_a_store()),
            ["offered-rate", "lateness", "runtime", "fresh-process"]
        );
        assert_eq!(
            of_trial(at_half_of_its_maximum()),
            and(&["hidden-tail", "runtime", "fresh-process"])
        );
        let one_each = and(&["keep-alive", "offered-rate", "lateness", "runtime", "fresh-process"]);
        assert_eq!(of_trial(of_one_request_each()), one_each);

        let all = |_: &Check| true;
        assert_eq!(
            absent(field().judge(), all),
            and(&["offered-rate", "lateness", "runtime", "fresh-process"])
        );
        let mut one = field();
        one.contenders.truncate(1);
        let alone = ["offered-rate", "lateness", "one-ceiling", "runtime", "fresh-process"];
        assert_eq!(absent(one.judge(), all), [&["answers-alike"], &and(&alone)[..]].concat());
    }

    /// Else a store that died would be judged as a server that writes a log.
    #[test]
    fn a_store_of_whose_keys_nothing_is_known_is_a_store() {
        let (slot, evidence) = of_a_store();
        let evidence = Evidence { store: None, ..evidence };
        let findings = super::judge(Kind::Keys, &slot, &evidence);
        let verdict = |check: &str| findings.iter().find(|it| it.check == check).unwrap().verdict;
        assert_eq!(verdict("misses"), Verdict::NotChecked);
        assert_eq!(verdict("evictions"), Verdict::NotChecked);
        assert_eq!(verdict("same-answers"), Verdict::Valid, "every value was compared");

        let mut field = Field { kind: Kind::Keys, ..field() };
        field.contenders.truncate(1);
        field.each("a", |evidence| {
            evidence.server_disk_write_bytes = Some(100 * evidence.work.as_ref().unwrap().done);
        });
        let alone = field.word(&disk_writes::DISK_WRITES, "a");
        assert_eq!(alone.says, "It is the only store that survives what it does.");
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
            trial.findings = judge(&slot, &trial.evidence);
        }
        let findings = unknown.judge();
        assert_eq!(findings.len(), CHECKS.len(), "one word a check");
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
                findings.extend(super::judge(kind, &slot, &without(&evidence, way)?));
            }
            let mut field = field();
            let of_the_trials = judge(&field.trials[0].slot, &without(&sound().1, way)?);
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

    #[test]
    fn a_trial_is_made_again_for_the_machines_sake_only() {
        let (slot, evidence) = sound();
        let trial = |change: fn(&mut Evidence)| {
            let mut evidence = evidence.clone();
            change(&mut evidence);
            let findings = judge(&slot, &evidence);
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
        let findings = judge(&slot, &evidence);
        assert_eq!(findings[0].check, "shared-cores");
        let trial = |findings| Trial {
            slot: slot.clone(),
            started: String::new(),
            evidence: evidence.clone(),
            findings,
        };
        let trials = [trial(judge(&slot, &sound().1)), trial(findings)];
        let worst = over_blocks(&trials.iter().collect::<Vec<_>>());
        assert_eq!(worst.len(), judge(&slot, &evidence).len(), "one word a check");
        assert_eq!((&*worst[0].check, worst[0].verdict), ("shared-cores", Verdict::Suspect));
    }

    #[test]
    fn a_moment_in_fewer_than_half_of_the_blocks_casts_no_doubt_on_their_median() {
        let row = |steady: [Verdict; 4]| {
            let trials = steady.map(|verdict| {
                let (slot, evidence) = sound();
                let mut findings = judge(&slot, &evidence);
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
                    let findings = judge(&slot, &evidence);
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

    #[test]
    fn every_check_has_a_page_with_its_own_words_and_every_page_a_check() {
        let pages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/checks");
        let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        for check in CHECKS {
            let path = pages.join(format!("{}.md", check.id));
            let page = std::fs::read_to_string(&path)
                .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let page = one_line(&page);
            for words in [check.signal, check.threshold, check.why, check.fix] {
                assert!(
                    page.contains(&one_line(words)),
                    "docs/checks/{}.md lacks: {words}",
                    check.id
                );
            }
        }
        // The list of all, with the marks of those that aren't about one trial by itself.
        let list = std::fs::read_to_string(pages.join("README.md")).unwrap();
        let rows: Vec<&str> = list.lines().filter(|line| line.starts_with("| [")).collect();
        assert_eq!(rows.len(), CHECKS.len(), "docs/checks/README.md lists one check a line");
        for (check, row) in CHECKS.iter().zip(rows) {
            let mark = match check.scope {
                Scope::Anyway(_) | Scope::Trial(_) => "",
                Scope::Row(_) | Scope::MachineOverRow(_) | Scope::MachineOverLoad(_) => " †",
                Scope::Moment(_) | Scope::Drift { .. } | Scope::Machine(_) => " ‡",
            };
            let expected = format!("| [{0}]({0}.md){mark} | ", check.id);
            assert!(row.starts_with(&expected), "docs/checks/README.md: {row}, not {expected}");
        }
        for page in std::fs::read_dir(pages).unwrap() {
            let name = page.unwrap().file_name().into_string().unwrap();
            let id = name.strip_suffix(".md").unwrap();
            let known = id == "README" || CHECKS.iter().any(|check| check.id == id);
            assert!(known, "docs/checks/{name} is no check's page");
        }
    }
}
