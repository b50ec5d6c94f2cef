//! What was set aside and made again: because others used the machine, or because it
//! had failed when the run was resumed.

use maud::{Markup, html};
use result::figure::RATE;
use result::finding::worst;
use result::{Run, Trial};

use super::detail::Detail;
use super::markup::{figure, prose, scrolling};
use super::verdict::sign;
use crate::contenders;
use crate::figures;
use crate::names;
use crate::repeated::{self, Repeated};
use crate::units;

/// A line a trial that failed and is made again: which, and why.
pub fn failed(run: &Run) -> Markup {
    html! {
        @if !run.failed.is_empty() {
            h2 id="failed-first" { "Failed at first" }
            p {
                "These trials failed and have no figure. A run that is resumed makes them again: "
                "somebody may have mended what was wrong."
            }
            ul {
                @for Trial { slot, evidence, .. } in &run.failed {
                    li {
                        "Block " (slot.block + 1) ", " (names::settings(run, &[&slot.setting])) ", "
                        (contenders::who(run, &slot.contender)) ": "
                        (prose(evidence.process.failure.as_deref().unwrap_or(NO_LOAD)))
                    }
                }
            }
        }
    }
}

/// Said of a contender that ran, and was given no load.
const NO_LOAD: &str = "it didn't do its job.";

/// A table a comparison: what was measured first, why it is not counted, and
/// what is; without room for that, why alone.
pub fn repeated(run: &Run, detail: Detail) -> Markup {
    let repeated = repeated::repeated(run);
    html! {
        @if !repeated.is_empty() {
            h2 id="made-again" { "Made again" }
            p {
                "During these comparisons others used so much of the machine that figures would show it. "
                "So each comparison is made again as a whole, whatever its figures were. "
                @if detail > Detail::Bare {
                    "The first figures are struck out. Nothing else on this page uses them."
                } @else {
                    "Nothing on this page uses the first figures."
                }
            }
            @if detail > Detail::Bare {
                @for it in &repeated { (comparison(run, it)) }
            } @else {
                ul { @for it in &repeated { li { (name(run, it)) ": " (it.reason()) } } }
            }
        }
    }
}

fn name(run: &Run, repeated: &Repeated) -> String {
    let when = if repeated.is_made_again(run) { "" } else { " (not yet)" };
    format!("Block {}, {}{when}", repeated.block + 1, names::settings(run, &[repeated.setting]))
}

fn comparison(run: &Run, repeated: &Repeated) -> Markup {
    let name = name(run, repeated);
    let table = html! {
        table {
            caption { span { (name) ": " (repeated.reason()) } }
            thead {
                tr {
                    th scope="col" { "Contender" }
                    th.number scope="col" { (rate_name(run)) ", not counted" }
                    th.number scope="col" { "cores used by others" }
                    th.number scope="col" { "time taken by the host" }
                    th.number scope="col" { (rate_name(run)) ", made again" }
                }
            }
            tbody { @for trial in &repeated.aside { (row(run, trial)) } }
        }
    };
    scrolling(&name, table)
}

fn row(run: &Run, aside: &Trial) -> Markup {
    let again = run.trials.iter().find(|trial| trial.slot == aside.slot);
    let others = aside.evidence.others_near_cores().map_or(units::NOTHING.into(), units::plain);
    let steal = aside.evidence.steal_share.map_or(units::NOTHING.into(), units::percent);
    html! {
        tr {
            th scope="row" {
                (contenders::who(run, &aside.slot.contender))
                @if aside.slot.twin { " " span.quiet { "the second of an A/A pair" } }
            }
            td.number { s { (rate(aside)) } }
            td.number { (others) }
            td.number { (steal) }
            td.number { (again.map_or(html! { (units::NOTHING) }, counted)) }
        }
    }
}

/// What the study calls a rate.
fn rate_name(run: &Run) -> String {
    run.study.figure(RATE).map_or("done/s".into(), figures::short)
}

/// A rate that counts, with the word of its own trial's checks.
fn counted(trial: &Trial) -> Markup {
    let verdict = worst(&trial.findings);
    html! {
        @match &trial.evidence.work {
            None => (units::NOTHING),
            Some(work) => { (figure(verdict, units::count(work.rate))) " " (sign(verdict)) }
        }
    }
}

fn rate(trial: &Trial) -> String {
    trial.evidence.work.as_ref().map_or(units::NOTHING.into(), |work| units::count(work.rate))
}
