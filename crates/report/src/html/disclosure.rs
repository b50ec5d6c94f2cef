//! Everything that somebody needs to repeat a run, or to doubt it.

use std::collections::BTreeSet;

use histogram::median;
use maud::{Markup, html};
use result::Run;
use result::evidence::CpuSource;
use result::plan::{Contender, Cores, TextFile};
use result::shell;

use super::checks;
use super::markup::{prose, scrolling};
use crate::caveats;
use crate::client_hosts::OverTrials;
use crate::names;
use crate::text::{visible, visible_command, visible_lines, visible_name};
use crate::units;

/// Bytes of the page that the texts of builds and configurations may take: those of a study
/// fit.
pub const TEXTS_BYTES: usize = 64 << 10;

/// The last part of the page, in which the texts of contenders' files have so many bytes of room.
pub fn disclosure(run: &Run, room: usize) -> Markup {
    let longest = longest_shown(run, room);
    html! {
        h2 { "How it was measured" }
        p { "The command that repeats it:" }
        pre { (visible(&run.command)) }
        (plan(run))
        h3 { "Machine" }
        (machine(run))
        (hosts(run))
        h3 { "Contenders" }
        p { "What each is asked to do: " (visible(&run.study.contract)) }
        @for lighter in &run.study.lighter {
            p { "The lighter contract " (visible_name(&lighter.name)) ": " (visible(&lighter.says)) }
        }
        p {
            "In commands and settings, " code { "$SOURCE" } " is a contender's own folder, "
            code { "$BUILD" } " what its build made there, " code { "$DIR" } " a trial's own folder; "
            code { "$HOST" } ", " code { "$PORT" } " and " code { "$CORES" } " are what a trial gives it. "
            "Commands are quoted as a POSIX shell needs it, but for these names; bakeoff starts them without a shell."
        }
        @for contender in &run.contenders { (contender_facts(run, contender, longest)) }
        h3 { "Checks" }
        p { "Each figure was held against the checks that apply to it. It has the worst word that one of them said." }
        (checks::all(run))
        h3 id="how-to-read" { "How to read the figures" }
        ul {
            li { "A block holds every contender once, in shuffled order, each as a fresh process. A bar is the median over blocks, a dot is one block." }
            @if let Some(says) = caveats::counted(run) { li { (says) } }
            @if let Some(says) = caveats::lines_of_code(run) { li { (says) } }
            li { "(a–b) is the 95 % interval; [a–b] is the lowest and highest block, where there are too few for an interval." }
            li { "Hatched, with ≥: the client was the limit, and the server can do at least that. ≥ at a time: " (caveats::bound_of_time(run)) " are in it, with the time they waited. ≥ or ≤ at a share of the best: the share is a bound too, since one of the two rates that it compares is a lower bound." }
            @if caveats::shares_memory(run) { li { (caveats::SHARED_MEMORY) } }
            @if caveats::has_more_bytes(run) { li { (caveats::MORE_BYTES) } }
            li { "✓ valid: every check that applies looked, and has nothing against the figure. In the first tables it has no sign." }
            li { "○ not checked: a check could not look, for the reason that it gives, so nothing is said for or against." }
            li { "? suspect: a check says what casts doubt on the figure. It stands with that doubt." }
            li { "✗ and struck out: invalid. It has no rank, and it stays so that you see what happened." }
        }
    }
}

/// Facts by name.
fn facts(facts: Vec<(&str, Markup)>) -> Markup {
    html! { dl { @for (name, fact) in facts { div { dt { (name) } dd { (fact) } } } } }
}

fn plan(run: &Run) -> Markup {
    let plan = &run.plan;
    let backends: BTreeSet<&str> = run
        .trials
        .iter()
        .flat_map(|trial| trial.evidence.clients.iter().map(|client| &*client.backend))
        .collect();
    let backends: Vec<_> = backends.into_iter().map(visible).collect();
    let mut list = vec![
        (
            "bakeoff",
            html! {
                (visible(&run.bakeoff)) ", run " (visible(&run.id))
                div {
                    @match &run.bakeoff_sha256 {
                        Some(digest) => { "SHA-256 of the program " code { (visible(digest)) } }
                        None => "which build of it isn't known",
                    }
                }
            },
        ),
        ("profile", html! { (visible(&plan.profile)) ", seed " (plan.seed) }),
        (
            "trials",
            html! {
                (units::whole(run.trials.len() as u64)) " of "
                (units::whole(plan.slots.len() as u64)) " in " (units::of(plan.blocks.into(), "block"))
                ", each " (plan.warmup_s) " s of warm-up " (longer_warmups(run)) "and "
                (plan.measure_s) " s measured"
            },
        ),
    ];
    // Programs drive themselves: they have no client.
    if !backends.is_empty() {
        list.push(("client", html! { (backends.join(", ")) }));
    }
    list.push(("sampling", html! { (sampling(run)) }));
    for (cores, name) in [(Cores::One, "one core"), (Cores::All, "all cores")] {
        if let Some(trial) = run.trials.iter().find(|trial| trial.slot.setting.cores == cores) {
            let place = &trial.evidence.place;
            list.push((
                name,
                html! {
                    "server on CPU " (cpus(&place.server_cpus))
                    @if !place.client_cpus.is_empty() {
                        ", client on CPU " (cpus(&place.client_cpus))
                    }
                    @if place.shared() { " (shared)" }
                },
            ));
        }
    }
    facts(list)
}

/// Who was given more, because it needs more.
fn longer_warmups(run: &Run) -> String {
    let plan = &run.plan;
    let longer = run.contenders.iter().filter(|contender| {
        contender.absent.is_none() && plan.warmup_s_of(contender) > plan.warmup_s
    });
    let longer: Vec<String> = longer
        .map(|contender| format!("{} {} s", visible(&contender.name), contender.warmup_s))
        .collect();
    if longer.is_empty() { String::new() } else { format!("({}) ", longer.join(", ")) }
}

/// The share of one core that sampling may take.
const SAMPLING_MAX: f64 = 0.01;

/// What the sampling cost, and from where the contenders' CPU time is known.
fn sampling(run: &Run) -> String {
    let evidence = || run.trials.iter().map(|trial| &trial.evidence);
    let shares: Vec<f64> = evidence().filter_map(|it| it.sampling.core_share()).collect();
    let most = shares.iter().copied().fold(0.0, f64::max);
    let cost = match median(&shares) {
        None => "what it took is unknown".to_string(),
        Some(usual) => format!(
            "it took {} of one core (median; at most {}{})",
            units::percent(usual),
            units::percent(most),
            if most > SAMPLING_MAX { ", which is more than the 1 % that it may" } else { "" },
        ),
    };
    let others: Vec<f64> = evidence().filter_map(|it| it.sampling.harness_cores()).collect();
    let others_most = others.iter().copied().fold(0.0, f64::max);
    let others = median(&others).map_or(String::new(), |usual| {
        let (usual, most) = (units::percent(usual), units::percent(others_most));
        format!("; the rest of bakeoff and the keeper took {usual} besides (at most {most})")
    });
    let grouped = evidence().filter(|it| it.server.cpu_source == CpuSource::Cgroup).count();
    let source = match (grouped, run.trials.len()) {
        (0, _) => "the process tree",
        (grouped, all) if grouped == all => "their control groups",
        _ => "their control groups in some trials, the process tree in others",
    };
    format!("{cost}{others}; the contenders' CPU time is that of {source}")
}

fn cpus(cpus: &[usize]) -> String {
    cpus.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")
}

fn machine(run: &Run) -> Markup {
    let machine = &run.machine;
    let siblings = machine.smt_siblings.iter().filter(|group| group.len() > 1);
    let siblings: Vec<String> = siblings.map(|group| cpus(group)).collect();
    let siblings = match (machine.smt_siblings.is_empty(), siblings.is_empty()) {
        (true, _) => "unknown".to_string(),
        (false, true) => "none".to_string(),
        (false, false) => siblings.join("; "),
    };
    let virtual_machine = match machine.virtual_machine {
        Some(true) => "yes",
        Some(false) => "no",
        None => "unknown",
    };
    facts(vec![
        ("processor", html! { (names::processor(run)) }),
        ("CPUs used", html! { (cpus(&machine.cpus)) }),
        ("SMT siblings", html! { (siblings) }),
        ("memory", html! { (machine.memory_bytes.map_or("unknown".into(), units::bytes)) }),
        ("virtual", html! { (virtual_machine) }),
        ("sleep", html! { (names::kept_awake(run).unwrap_or("as usual".into())) }),
        ("kernel", html! { (visible(&machine.kernel)) }),
        ("distribution", html! { (visible(&machine.distribution)) }),
        ("open files", html! { "at most " (units::whole(machine.open_files_max)) " a process" }),
        ("settings", html! { @for (name, value) in &machine.sysctl { (setting(name, value)) } }),
    ])
}

/// The hosts that the load came from, where it did.
fn hosts(run: &Run) -> Markup {
    let hosts: Vec<_> =
        run.hosts.iter().map(|host| (host, OverTrials::of(run, &host.name))).collect();
    html! {
        @if !hosts.is_empty() {
            h3 { "Hosts of the load" }
            p { "Of all trials, the worst value of each column. " code { "run.json" } " has each trial's." }
            (scrolling("Hosts of the load", html! { table {
                thead { tr {
                    th scope="col" { "host" }
                    th scope="col" { "kernel" }
                    th.number scope="col" { "processors" }
                    th.number scope="col" { "trials" }
                    th.number scope="col" { "lost in" }
                    th.number scope="col" { "busiest thread" }
                    th.number scope="col" { "clock within" }
                    th.number scope="col" { "began late by" }
                } }
                tbody { @for (host, over) in &hosts { tr {
                    th scope="row" {
                        (visible_name(&host.name))
                        @if host.is_here { " (the contenders' machine)" }
                    }
                    td { (visible(&host.kernel)) }
                    td.number { (host.cpus.len()) }
                    td.number { (units::whole(over.trials.0)) }
                    td.number { (units::whole(over.trials.1)) }
                    td.number { (units::percent(over.busiest)) }
                    td.number { (units::time(over.apart_us)) }
                    td.number { (units::time(over.late_us)) }
                } } }
            } }))
        }
    }
}

fn setting(name: &str, value: &str) -> Markup {
    html! { div { code { (visible(name)) " = " (visible(value)) } } }
}

/// A setting of a contender's environment. What was handed on from there isn't kept.
fn variable(name: &str, value: &str) -> Markup {
    match value.strip_prefix("{env:").and_then(|rest| rest.strip_suffix('}')) {
        Some(of) if of == name => {
            html! { div { code { "$" (visible(name)) } " (from the environment)" } }
        }
        _ => setting(name, value),
    }
}

/// A command as a shell reads it, which may go over several lines.
fn command(words: &[String]) -> Markup {
    html! { code { (visible_command(&shell::command(words))) } }
}

/// What a contender is, with those texts of its files that have at most so many bytes.
fn contender_facts(run: &Run, contender: &Contender, longest: usize) -> Markup {
    let folder = format!("studies/{}/{}", run.study.name, contender.name);
    let file = |file| text_file(file, who_has_it_above(run, contender, file), longest);
    let configuration = html! { @for it in &contender.configuration { (file(it)) } };
    let configuration =
        (!contender.configuration.is_empty()).then_some(("configuration", configuration));
    let wire = contender.wire.as_ref().map(|wire| ("wire", html! { (visible(wire)) }));
    let remark = contender.remark.as_ref().map(|remark| ("remark", prose(remark)));
    html! {
        h4 { (visible_name(&contender.title)) }
        (facts(vec![
            ("name", html! { code { (visible(&contender.name)) } }),
            (
                "contract",
                html! {
                    @match &contender.lighter_contract {
                        Some(lighter) => { "the lighter one, " (visible_name(lighter)) }
                        None => { "the full one" }
                    }
                },
            ),
            (
                "made",
                html! {
                    @if let Some(tier) = contender.tier { (tier.word()) ", " }
                    (visible(&contender.language))
                },
            ),
            (
                "version",
                html! {
                    @for version in &contender.versions {
                        div { (visible(&version.of)) ": " (visible(&version.says)) }
                    }
                    @if contender.versions.is_empty() { "unknown" }
                },
            ),
            (
                "source",
                html! {
                    div { "its own files, configuration among them: " code { (visible(&folder)) } }
                    @if !contender.sources.is_empty() {
                        div {
                            "and those of folders beside it, which it is made from as well: "
                            @for (at, source) in contender.sources.iter().enumerate() {
                                @if at > 0 { ", " }
                                code { (visible(source)) }
                            }
                        }
                    }
                    div {
                        @match &contender.source_sha256 {
                            Some(digest) => {
                                "SHA-256 over all of them, without what builds made there "
                                code { (visible(digest)) }
                            }
                            None => "SHA-256 over them unknown",
                        }
                    }
                },
            ),
            (
                "build",
                html! {
                    @match contender.build.as_deref() {
                        Some([]) => "nothing to build",
                        Some(words) => (command(words)),
                        None => "unknown: the run was made before that was kept",
                    }
                    @for it in &contender.build_files { (file(it)) }
                },
            ),
            ("command", command(&contender.run)),
            (
                "environment",
                html! {
                    @for (name, value) in &contender.environment { (variable(name, value)) }
                    @if contender.environment.is_empty() { "nothing set" }
                },
            ),
        ].into_iter().chain(wire).chain(configuration).chain(remark).collect()))
    }
}

/// How many bytes a text of a file may have to be shown, so that those that are have
/// room. Long ones go first: scripts and configuration, where settings stand, are shorter than
/// sources.
fn longest_shown(run: &Run, mut room: usize) -> usize {
    let mut lengths: Vec<usize> = Vec::new();
    for contender in &run.contenders {
        let own = files(contender).filter(|file| who_has_it_above(run, contender, file).is_none());
        lengths.extend(own.map(|file| text_of(file).0.len()));
    }
    lengths.sort_unstable();
    for length in lengths {
        match room.checked_sub(length) {
            Some(left) => room = left,
            None => return length - 1,
        }
    }
    usize::MAX
}

/// The files of which a contender's record has the texts.
fn files(contender: &Contender) -> impl Iterator<Item = &TextFile> {
    contender.build_files.iter().chain(&contender.configuration)
}

/// The first contender above this one that has a file of the same text, as one that several
/// share.
fn who_has_it_above<'a>(
    run: &'a Run,
    contender: &Contender,
    file: &TextFile,
) -> Option<&'a Contender> {
    let is_it = |other: &TextFile| (&other.text, other.cut) == (&file.text, file.cut);
    let mut above = run.contenders.iter().take_while(|other| other.name != contender.name);
    above.find(|other| files(other).any(is_it))
}

fn text_of(file: &TextFile) -> Markup {
    html! {
        pre.verbatim role="region" aria-label=(visible_name(&file.name)) tabindex="0" {
            (visible_lines(&file.text))
        }
    }
}

/// A file of a contender, to be opened: its text if it has at most so many bytes, and
/// nobody has it above.
fn text_file(file: &TextFile, above: Option<&Contender>, longest: usize) -> Markup {
    let text = text_of(file);
    html! {
        details {
            summary { code { (visible_name(&file.name)) } }
            @if let Some(other) = above {
                p { "Its text is the same as that of " (visible_name(&other.title)) ", above." }
            } @else if text.0.len() > longest {
                p { "So that the page stays small, its text is in run.json beside it only." }
            } @else {
                (text)
                @if file.cut { p { "This is its beginning: the run keeps no more of it." } }
            }
        }
    }
}
