//! What became of a study's claims, in words for every form of the report.

use result::Run;
use result::outcome::{ClaimInSetting, ClaimOutcome, ClaimWord};
use result::plan::{Claim, Value};

use crate::names;
use crate::summary::{self, and};
use crate::text::visible;

/// What decides a claim.
pub const RULE: &str = "A claim holds under a setting where its contender is ahead of all that it \
    names and that were measured there, beyond chance and the noise floor. A tie is no lead. Of \
    settings that weren't measured nothing is said.";

/// A claim with what became of it.
pub struct Claimed {
    /// In its author's words, visible.
    pub says: String,
    /// Who said it, visible.
    pub source: String,
    /// Whether it holds, and whether all that it speaks of was measured.
    pub word: String,
    /// Where it holds, where not and beside whom, and where that isn't known.
    pub settings: Vec<String>,
}

/// All claims of the run's study.
pub fn all(run: &Run) -> Vec<Claimed> {
    let pairs = run.study.claims.iter().zip(&run.claims);
    pairs.map(|(claim, outcome)| claimed(run, claim, outcome)).collect()
}

fn claimed(run: &Run, claim: &Claim, outcome: &ClaimOutcome) -> Claimed {
    let unmeasured = unmeasured(run, claim, outcome);
    let is_whole =
        unmeasured.is_none() && outcome.settings.iter().all(|it| it.not_measured.is_empty());
    let word = match (outcome.word, is_whole) {
        (ClaimWord::NotKnown, _) | (_, true) => outcome.word.says().to_string(),
        (word, false) => format!("{}, as far as measured", word.says()),
    };
    let settings = outcome.settings.iter().map(|it| in_setting(run, it));
    Claimed {
        says: visible(&claim.says).into_owned(),
        source: visible(&claim.source).into_owned(),
        word,
        settings: settings.chain(unmeasured).collect(),
    }
}

/// What it speaks of beside, and what was not measured.
fn unmeasured(run: &Run, claim: &Claim, outcome: &ClaimOutcome) -> Option<String> {
    let is_measured = |id: &str, value: &Value| {
        outcome.settings.iter().any(|it| it.setting.value(id) == Some(value))
    };
    let left = claim.values.iter().flat_map(|(id, values)| {
        let dimension = run.study.dimensions.iter().find(|dimension| dimension.id == *id);
        let left = values.iter().filter(|value| !is_measured(id, value));
        left.filter_map(move |value| Some(names::value_name(dimension?, value)))
    });
    let left: Vec<String> = left.collect();
    (!left.is_empty()).then(|| format!("not measured: {}", left.join("; ")))
}

fn in_setting(run: &Run, it: &ClaimInSetting) -> String {
    let setting = summary::names(run, &[&it.setting]);
    let titles = |names: &[String]| -> Vec<String> {
        names.iter().map(|name| summary::who(run, name).into_owned()).collect()
    };
    let others = titles(&it.not_behind);
    let missing = match it.not_measured.as_slice() {
        [] => String::new(),
        names => format!(" ({} not measured there)", and(&titles(names))),
    };
    match it.word {
        ClaimWord::DoesNot => {
            let verb = if others.len() == 1 { "is" } else { "are" };
            format!("{setting}: {}; {} {verb} not behind{missing}", it.word.says(), and(&others))
        }
        _ => format!("{setting}: {}{missing}", it.word.says()),
    }
}
