//! In what two runs differ: what is an obstacle to comparing them, and what is only said.

use std::collections::BTreeSet;

use result::plan::{
    AskedRequest, Asks, ClientHost, Contender, LighterContract, Machine, Setting, Tier,
};
use result::{Run, shell};

/// Why runs are of different things as a whole.
pub(super) fn obstacles(a: &Run, b: &Run) -> Vec<String> {
    let (on, by) = (&a.machine, &b.machine);
    let memory = |on: &Machine| on.memory_bytes.map_or("unknown".into(), |it| it.to_string());
    // What the kernel keeps of it for itself is not the same each time it starts.
    let is_alike = on
        .memory_bytes
        .zip(by.memory_bytes)
        .is_some_and(|(on, by)| on.abs_diff(by) <= on.max(by) / 100);
    let memory = (memory(on), if is_alike { memory(on) } else { memory(by) });
    let kept = |run: &Run| format!("{}: {}", run.study.name, run.study.contract);
    [
        ("the study and its contract", kept(a), kept(b)),
        ("the processor", on.cpu.clone(), by.cpu.clone()),
        ("the CPUs used", format!("{:?}", on.cpus), format!("{:?}", by.cpus)),
        ("the memory in bytes", memory.0, memory.1),
        ("the kernel", on.kernel.clone(), by.kernel.clone()),
        ("the settings of the kernel", format!("{:?}", on.sysctl), format!("{:?}", by.sysctl)),
        ("the version of bakeoff, which makes the load", a.bakeoff.clone(), b.bakeoff.clone()),
        ("where the load came from", load_from(a), load_from(b)),
        ("the client's way to the kernel", backends(a), backends(b)),
        ("the seconds measured", a.plan.measure_s.to_string(), b.plan.measure_s.to_string()),
        ("the seconds of warm-up", a.plan.warmup_s.to_string(), b.plan.warmup_s.to_string()),
    ]
    .into_iter()
    .filter(|(_, a, b)| a != b)
    .map(|(what, a, b)| format!("{what}: {a} in the first run, {b} in the second"))
    .chain(other_asks(a.study.asks.as_ref(), b.study.asks.as_ref()))
    .collect()
}

/// In what contracts ask for something else, as far as both are known.
fn other_asks(a: Option<&Asks>, b: Option<&Asks>) -> Vec<String> {
    let (Some(a), Some(b)) = (a, b) else { return Vec::new() };
    let refuses = |asks: &Asks| {
        let each =
            asks.refuses.iter().map(|it| format!("{} {} ({})", it.method, it.path, it.status));
        let each: Vec<String> = each.collect();
        if each.is_empty() { "nothing".into() } else { each.join(", ") }
    };
    let requests = |asks: &Asks| {
        if asks.requests.is_empty() {
            "one GET".to_string()
        } else {
            asks.requests.iter().map(asked_request).collect::<Vec<_>>().join("; ")
        }
    };
    let whole =
        |asks: &Asks| if asks.whole_body { "all of it" } else { "a part of it" }.to_string();
    let fresh = |asks: &Asks| if asks.fresh { "made anew" } else { "any" }.to_string();
    [
        ("path", a.path.clone(), b.path.clone()),
        ("requests", requests(a), requests(b)),
        ("status", a.status.to_string(), b.status.to_string()),
        ("body", format!("{:?}", a.body), format!("{:?}", b.body)),
        ("body, of which that is", whole(a), whole(b)),
        ("answers", fresh(a), fresh(b)),
        ("requests to refuse", refuses(a), refuses(b)),
    ]
    .into_iter()
    .filter(|(_, a, b)| a != b)
    .map(|(what, a, b)| format!("the contract's {what}: {a} in the first run, {b} in the second"))
    .collect()
}

/// A request that a contract asks, in words.
fn asked_request(it: &AskedRequest) -> String {
    let AskedRequest { method, path, headers, weight, status, answer_body, .. } = it;
    let headers = headers.iter().map(|(name, value)| format!(", {name}: {value}"));
    let headers: String = headers.collect();
    let body = match &it.body_sha256 {
        Some(sha256) => format!(", {} bytes with SHA-256 {sha256}", it.body_bytes),
        None => String::new(),
    };
    format!("{weight} × {method} {path}{headers}{body}, answered with {status} {answer_body:?}")
}

/// That it isn't known whether both runs asked for the same: older ones don't tell.
pub(super) fn unknown_asks(a: &Run, b: &Run) -> Option<String> {
    (a.study.asks.is_none() || b.study.asks.is_none())
        .then(|| "whether the contract asked for the same in both isn't known".into())
}

/// The hosts of the load, with all that changes what they can offer.
fn load_from(run: &Run) -> String {
    let host = |it: &ClientHost| format!("{} (CPUs {:?}, {})", it.name, it.cpus, it.kernel);
    let hosts: Vec<String> = run.hosts.iter().map(host).collect();
    if hosts.is_empty() { "the contenders' machine".into() } else { hosts.join(", ") }
}

/// By which backends the client made a run's load. They cost it differently, and where it
/// shares cores with the contender, what it saves is the contender's.
fn backends(run: &Run) -> String {
    // The word is followed by the reason, which may be another one each time.
    const EPOLL: &str = "epoll";
    let clients = run.trials.iter().flat_map(|trial| &trial.evidence.clients);
    let used = clients.map(|client| &*client.backend);
    let used: BTreeSet<&str> =
        used.map(|backend| if backend.starts_with(EPOLL) { EPOLL } else { backend }).collect();
    if used.is_empty() { "none".into() } else { used.into_iter().collect::<Vec<_>>().join(" and ") }
}

/// Whether one build of bakeoff made the load of both. Most changes to it change no
/// load, so another one is no obstacle.
pub(super) fn other_builds(a: &Run, b: &Run) -> Option<String> {
    match (&a.bakeoff_sha256, &b.bakeoff_sha256) {
        (Some(then), Some(now)) => (then != now)
            .then(|| "bakeoff, which makes the load, was built anew, maybe of other source".into()),
        _ => Some("whether one build of bakeoff made the load of both isn't known".into()),
    }
}

/// Whether CPU time under this load has interrupts in it that the kernel counts apart: in
/// older runs it hasn't, and on shared cores it never has.
pub(super) fn counts_interrupts(run: &Run, setting: &Setting) -> bool {
    let evidence =
        run.trials.iter().filter(|it| it.slot.setting == *setting).map(|it| &it.evidence);
    evidence
        .filter(|evidence| !evidence.place.shared())
        .any(|evidence| evidence.server_interrupt_s.is_some())
}

/// That a contender has to do something else than before.
pub(super) fn other_contract(
    (run_a, a): (&Run, &Contender),
    (run_b, b): (&Run, &Contender),
) -> Option<String> {
    let name = |it: &Contender| match &it.lighter_contract {
        None => "the full one".to_string(),
        Some(name) => format!("`{name}`"),
    };
    fn lighter<'a>(run: &'a Run, it: &Contender) -> Option<&'a LighterContract> {
        let keeps = it.lighter_contract.as_deref()?;
        run.study.lighter.iter().find(|lighter| lighter.name == keeps)
    }
    let (then, now) = (name(a), name(b));
    let (of_a, of_b) = (lighter(run_a, a), lighter(run_b, b));
    if then != now {
        Some(format!("its contract: {then} in the first run, {now} in the second"))
    } else if of_a.map(|it| &it.says) != of_b.map(|it| &it.says) {
        Some(format!("its contract, {then}, says something else in the second run"))
    } else {
        let asks = |it: Option<&'_ LighterContract>| it.and_then(|it| it.asks.clone());
        let others = other_asks(asks(of_a).as_ref(), asks(of_b).as_ref());
        (!others.is_empty()).then(|| format!("its contract, {then}: {}", others.join("; ")))
    }
}

/// What is different about a contender itself: often what the comparison is about.
pub(super) fn differences(a: &Contender, b: &Contender) -> Vec<String> {
    let told = |what: &str, then: &str, now: &str| {
        let or_nothing = |it: &str| if it.is_empty() { "nothing".into() } else { it.to_string() };
        (then != now).then(|| format!("{what}: {}, then {}", or_nothing(then), or_nothing(now)))
    };
    let says = |of: &Contender, program: &str| {
        let version = of.versions.iter().find(|it| it.of == program);
        version.map_or(String::new(), |it| it.says.clone())
    };
    let mut programs: Vec<&str> = a.versions.iter().chain(&b.versions).map(|it| &*it.of).collect();
    programs.sort_unstable();
    programs.dedup();
    let versions =
        programs.iter().map(|program| told(program, &says(a, program), &says(b, program)));
    let files = match (&a.source_sha256, &b.source_sha256) {
        (Some(then), Some(now)) => (then != now).then(|| "other files".into()),
        _ => Some("whether its files are the same isn't known".into()),
    };
    // Runs that don't have the build don't have the files' digest either.
    let builds = a.build.as_ref().zip(b.build.as_ref());
    let tier = |it: &Contender| it.tier.map_or("none", Tier::word);
    let others = [
        files,
        builds.and_then(|(then, now)| told("build", &shell::command(then), &shell::command(now))),
        told("command", &shell::command(&a.run), &shell::command(&b.run)),
        (a.environment != b.environment).then(|| "another environment".into()),
        told("tier", tier(a), tier(b)),
        told("its own seconds of warm-up", &a.warmup_s.to_string(), &b.warmup_s.to_string()),
    ];
    versions.chain(others).flatten().collect()
}
