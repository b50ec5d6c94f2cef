//! Runs made up for tests.

use result::durability::{Cut, Durability, Rung, RungSeen};
use result::evidence::{AnswerSize, ClientSide, Evidence, Percentile, Percentiles, Work};
use result::finding::{Finding, Verdict};
use result::kind::Kind;
use result::plan::{
    Asks, Contender, Machine, Plan, Refusal, RightStatus, Setting, Slot, Study, Tier,
};
use result::{Run, SCHEMA, State, Trial};

/// A contender that is there.
pub fn contender(name: &str) -> Contender {
    Contender {
        name: name.into(),
        title: name.to_uppercase(),
        language: "C".into(),
        tier: Some(Tier::Idiomatic),
        lighter_contract: None,
        wire: None,
        remark: None,
        versions: Vec::new(),
        sources: Vec::new(),
        source_sha256: None,
        build: Some(Vec::new()),
        build_files: Vec::new(),
        configuration: Vec::new(),
        run: Vec::new(),
        address: None,
        body_bytes: None,
        environment: Vec::new(),
        warmup_s: 0.0,
        absent: None,
    }
}

/// A check's finding, without words.
pub fn finding(check: &str, verdict: Verdict) -> Finding {
    Finding {
        check: check.into(),
        verdict,
        value: String::new(),
        threshold: String::new(),
        says: String::new(),
        fix: String::new(),
        off_by_max: None,
    }
}

/// A check that doubts.
pub fn suspect(check: &str) -> Finding {
    finding(check, Verdict::Suspect)
}

/// A check that refuses.
pub fn invalid(check: &str) -> Finding {
    finding(check, Verdict::Invalid)
}

/// A sound trial with this rate and a 99th percentile of 1,000,000 / rate µs. It
/// has what the checks of a row look at.
pub fn trial(contender: &str, block: u32, setting: &Setting, rate: f64) -> Trial {
    let p99 = Percentile { percentile: 99.0, value: 1e6 / rate, at_least: false };
    let contender = contender.into();
    Trial {
        slot: Slot { number: 0, block, contender, twin: false, setting: setting.clone() },
        started: String::new(),
        evidence: Evidence {
            work: Some(Work {
                seconds: 1.0,
                rate,
                done: rate as u64,
                response_us: Percentiles { at: vec![p99], ..Percentiles::default() },
                ..Work::default()
            }),
            clients: vec![ClientSide { cpu_s: 0.5, ..ClientSide::default() }],
            answer: Some(AnswerSize { head_bytes: 150, body_bytes: 50, whole_bytes: Some(200) }),
            load_s: Some(1.0),
            server_cpu_s: Some(1.0),
            server_disk_write_bytes: Some(0),
            server_output_bytes: Some(0),
            server_folder_bytes: Some(0),
            ..Evidence::default()
        },
        findings: vec![finding("contract", Verdict::Valid)],
    }
}

/// A run of these contenders with these trials, and nothing planned.
pub fn run_of(contenders: &[Contender], trials: Vec<Trial>) -> Run {
    Run {
        schema: SCHEMA,
        bakeoff: String::new(),
        bakeoff_sha256: None,
        id: String::new(),
        started: String::new(),
        state: State::Complete,
        command: String::new(),
        machine: Machine::default(),
        hosts: Vec::new(),
        studies: None,
        study: Study {
            name: String::new(),
            title: String::new(),
            question: String::new(),
            contract: String::new(),
            kind: Kind::Http,
            dimensions: Kind::Http.dimensions(),
            figures: Kind::Http.figures(None),
            asks: Some(Asks {
                path: "/hello?id={nonce}".into(),
                status: RightStatus::One(200),
                body: "{nonce}".into(),
                whole_body: false,
                fresh: true,
                answers_only: false,
                refuses: vec![Refusal { method: "GET".into(), path: "/no".into(), status: 404 }],
                requests: Vec::new(),
            }),
            lighter: Vec::new(),
            published: Vec::new(),
            cannot_say: Vec::new(),
            claims: Vec::new(),
            file_sha256: None,
        },
        contenders: contenders.to_vec(),
        plan: Plan {
            profile: "full".into(),
            seed: 1,
            blocks: 6,
            measure_s: 1.0,
            warmup_s: 0.0,
            may_idle: false,
            cuts: 0,
            scripts: Vec::new(),
            slots: Vec::new(),
        },
        trials,
        disturbed: Vec::new(),
        failed: Vec::new(),
        left_out: Vec::new(),
        spent: result::Spent::default(),
        outcomes: Vec::new(),
        curves: Vec::new(),
        claims: Vec::new(),
        durability: Vec::new(),
        scripts: Vec::new(),
    }
}

/// A store that was cut off once on each rung: so many writes were lost on it, or `None` where it
/// couldn't be checked.
pub fn cut_off(contender: &str, lost: [Option<u64>; 3]) -> Durability {
    let rung = |(rung, lost): (Rung, Option<u64>)| {
        let cut = |lost| Cut {
            moment_s: 1.5,
            acknowledged: 1000,
            lost,
            lost_span_s: (lost > 0).then_some(0.5),
            restart_s: Some(0.1),
            ..Cut::default()
        };
        let why_not = lost.is_none().then(|| "only root may mount a disk".into());
        RungSeen::new(rung, lost.map(cut).into_iter().collect(), None, why_not)
    };
    let rungs = Rung::ALL.into_iter().zip(lost).map(rung).collect();
    Durability::new(contender.into(), 1, None, rungs)
}
