//! Contenders without a figure, each with the reason.

use std::borrow::Cow;

use result::outcome::Outcome;
use result::plan::{Setting, Slot};
use result::{LeftOut, Run};

use crate::contenders::who;
use crate::trials::trials;

/// A contender that could be had but has no row under a load.
pub struct Missing<'a> {
    /// Its title, visible.
    pub who: Cow<'a, str>,
    /// Why.
    pub reason: &'a str,
    /// Its last output lines, where it failed.
    pub last_words: &'a [String],
}

/// Contenders without a figure under a setting.
pub fn without_figure<'a>(run: &'a Run, outcome: &'a Outcome) -> Vec<Missing<'a>> {
    let setting = &outcome.setting;
    let has_row = |name: &str| outcome.rows.iter().any(|row| row.contender == name);
    run.contenders
        .iter()
        .filter(|contender| contender.absent.is_none() && !has_row(&contender.name))
        // Those of another class have an outcome of their own.
        .filter(|contender| is_of_class(run, &contender.name, outcome))
        .filter(|contender| is_planned(run, setting, &contender.name))
        .map(|contender| {
            let trials = trials(run, setting, &contender.name);
            let failure = trials.iter().find_map(|trial| {
                Some((
                    trial.evidence.process.failure.as_deref()?,
                    &*trial.evidence.process.last_words,
                ))
            });
            let finding = || trials.iter().flat_map(|it| &it.findings).max_by_key(|it| it.verdict);
            let left_out = || {
                let is_it =
                    |it: &&LeftOut| it.contender == contender.name && it.setting == *setting;
                run.left_out.iter().find(is_it)
            };
            let (reason, last_words) = failure
                .or_else(|| Some((&*finding()?.says, &[][..])))
                .or_else(|| Some((&*left_out()?.reason, &[][..])))
                .unwrap_or(("It wasn't measured under this setting.", &[]));
            Missing { who: who(run, &contender.name), reason, last_words }
        })
        .collect()
}

/// Whether a contender is of the class that an outcome compares.
fn is_of_class(run: &Run, contender: &str, outcome: &Outcome) -> bool {
    match (run.classes(contender), outcome.class_at_most) {
        // Older runs say the lower end alone.
        (Some(classes), None) => classes.least == outcome.class,
        (classes, _) => classes == outcome.classes(),
    }
}

/// Whether a contender was to be measured under a setting: others can't do what it asks. Plans
/// of older runs may leave out what was left out.
fn is_planned(run: &Run, setting: &Setting, contender: &str) -> bool {
    let is_it = |slot: &Slot| slot.contender == contender && slot.setting == *setting;
    let is_of_setting = |slot: &Slot| slot.setting == *setting;
    let mut slots = run.plan.slots.iter();
    slots.any(is_it) || !run.plan.slots.iter().any(is_of_setting)
}

/// Contenders that could not be had, with the reason.
pub fn absent(run: &Run) -> Vec<(Cow<'_, str>, &str)> {
    run.contenders
        .iter()
        .filter_map(|contender| Some((who(run, &contender.name), contender.absent.as_deref()?)))
        .collect()
}
