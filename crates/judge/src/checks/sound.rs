//! Trials and comparisons that nothing is wrong with, for tests that change one thing.

use histogram::Histogram;
use result::Trial;
use result::durability::Classes;
use result::evidence::{
    AnswerSize, ClientSide, ContractStep, CoreSpeed, DeliveriesSeen, Evidence, HostSide, Interval,
    Limits, MachineUse, Percentile, Percentiles, Place, Sample, Second, ServerUse, StoreSeen,
    ThreadGroup, ThreadUse, Work,
};
use result::finding::Finding;
use result::kind::Kind;
use result::plan::{Contender, Cores, Pace, Slot};
use result::scripts::ScriptsSeen;

use super::check::{Check, RowSeen, TrialSeen};
use super::{judge_load, judge_row};

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
    let second = Second { good: 50_000, errors: 0, p50_us: Some(1_900.0), p99_us: Some(4_000.0) };
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
        place: Place { server_cpus: vec![0], client_cpus: vec![1], cores: vec![vec![0], vec![1]] },
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
        limits: Limits { throttled_periods: Some(0), throttled_s: Some(0.0), ..Limits::default() },
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

/// A trial of a program that nothing is wrong with: 1 s of warm-up and 4 s that count, with a line
/// every 0.2 s.
pub(super) fn of_program() -> (Slot, Evidence) {
    let (slot, mut evidence) = sound();
    let interval = Interval { seconds: 0.2, done: 10_000 };
    let work = evidence.work.as_mut().unwrap();
    work.per_second.clear();
    (work.warmup, work.intervals) = (vec![interval; 5], vec![interval; 20]);
    evidence.clients.clear();
    evidence.ready_cpu_s = Some(0.3);
    let step = evidence.contract[0].clone();
    evidence.contract =
        ["clock", "sum"].map(|id| ContractStep { id: id.into(), ..step.clone() }).into();
    (slot, evidence)
}

/// The sound load as that of so many hosts on other machines, `c1` the first, each with an equal
/// part of it.
pub(super) fn on_hosts(evidence: &mut Evidence, number: u64) {
    evidence.place.client_cpus.clear();
    let all = &mut evidence.clients[0];
    let side = ClientSide {
        scheduled: all.scheduled / number,
        sent: all.sent / number,
        good: all.good / number,
        connections_asked: all.connections_asked / number as u32,
        connections_established: all.connections_established / number as u32,
        offered_rate: all.offered_rate.map(|rate| rate / number as f64),
        cpu_s: all.cpu_s / number as f64,
        ..all.clone()
    };
    all.hosts = (1..=number)
        .map(|host| HostSide {
            name: format!("c{host}"),
            cpus: vec![0],
            done: side.good,
            fastest_us: Some(100.0),
            clock_within_us: 80.0,
            drift_us: Some(2.0),
            side: side.clone(),
            ..HostSide::default()
        })
        .collect();
    let sum = |of: fn(&ClientSide) -> u64| all.hosts.iter().map(|host| of(&host.side)).sum();
    (all.scheduled, all.sent, all.good) =
        (sum(|it| it.scheduled), sum(|it| it.sent), sum(|it| it.good));
    all.busy_share = all.hosts.iter().flat_map(|host| host.side.busy_share.clone()).collect();
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

/// A gateway whose robots, in rooms of ten, heard all of each other, with the kind of its study.
pub(super) fn of_a_gateway() -> (Kind, (Slot, Evidence)) {
    let (mut slot, mut evidence) = sound();
    slot.setting.pace = Pace::Fixed { per_s: 50_000 };
    slot.setting.values.retain(|(id, _)| id != result::setting::KEPT);
    slot.setting.set(result::setting::ROOM, 10);
    slot.setting.set(result::setting::MESSAGE_BYTES, 64);
    evidence.answer = None;
    let load = load_of(&mut evidence);
    load.client.offered_rate = Some(50_000.0);
    load.client.answers_a_connection = (2_000, 2_000);
    let mut lateness = load.work.service_us.clone();
    (lateness.min, lateness.mean, lateness.max) = (Some(0.1), Some(5.0), Some(500.0));
    lateness.at.iter_mut().for_each(|one| one.value /= 50.0);
    lateness.histogram = histogram(&[(40, 19_800), (80, 200)]);
    load.client.lateness_us = Some(lateness);
    let deliveries = DeliveriesSeen {
        rooms: 10,
        joined: 100,
        messages_sent: 20_000,
        messages_received: 200_000,
        stamped: 200_000,
        until_all_us: Percentiles {
            count: 20_000,
            histogram: histogram(&[(3_900, 19_800), (5_000, 200)]),
            ..Percentiles::default()
        },
        ..DeliveriesSeen::default()
    };
    (Kind::Rooms, (slot, Evidence { deliveries: Some(deliveries), ..evidence }))
}

/// One of each sort that checks speak of, with the kind of its study.
pub(super) fn all_sound() -> [(Kind, (Slot, Evidence)); 6] {
    let of_servers = |trial| (Kind::Http, trial);
    let store = (Kind::Keys, of_a_store());
    let [free, half, one] = [sound(), at_half_of_its_maximum(), of_one_request_each()];
    let program = (Kind::Program, of_program());
    [of_servers(free), of_servers(half), of_servers(one), store, program, of_a_gateway()]
}

/// What the checks say of a server's trial.
pub(super) fn judge_server(slot: &Slot, evidence: &Evidence) -> Vec<Finding> {
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

/// A check's word on a gateway that reached all, after a change to its trial.
pub(super) fn word_of_a_gateway(check: &Check, change: impl FnOnce(&mut Evidence)) -> Finding {
    let (kind, (slot, mut evidence)) = of_a_gateway();
    change(&mut evidence);
    word_if(kind, check, &slot, &evidence).expect("the check applies to gateways")
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
    pub(super) classes: Option<Classes>,
    pub(super) scripts: Option<ScriptsSeen>,
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
        let findings = judge_server(&slot, &sound().1);
        trials.push(Trial { slot, started: String::new(), evidence, findings });
    }
    let contenders = ["a", "b", "c"].map(crate::samples::contender).to_vec();
    Field { kind: Kind::Http, contenders, trials, classes: None, scripts: None }
}

/// Scripts of a contender that promises nothing, of which none was played.
pub(super) fn scripts(contender: &str) -> ScriptsSeen {
    ScriptsSeen {
        contender: contender.into(),
        promised: None,
        may_lose: false,
        promised_in: None,
        slow: None,
        storms: Vec::new(),
    }
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
        self.row(contender, |row| check.on_row(row))
    }

    /// What all checks say of the first contender's row.
    pub(super) fn judge(&self) -> Vec<Finding> {
        self.row(&self.contenders[0].name, judge_row)
    }

    fn row<T>(&self, contender: &str, look: impl FnOnce(&RowSeen) -> T) -> T {
        let trials: Vec<&Trial> = self.trials.iter().collect();
        look(&RowSeen {
            kind: self.kind,
            contender: self.contenders.iter().find(|it| it.name == contender).unwrap(),
            contenders: &self.contenders,
            trials: &trials,
            of_load: &judge_load(&self.contenders, &trials),
            classes: self.classes,
            scripts: self.scripts.as_ref(),
        })
    }
}
