//! What became of a study's claims, in words for every form of the report.

use result::Run;
use result::outcome::{ClaimInSetting, ClaimWord};

use crate::summary::{self, and};
use crate::text::visible;

/// What decides a claim.
pub const RULE: &str = "A claim holds under a setting where its contender is ahead of all that it \
    names, beyond chance and the noise floor. A tie is no lead.";

/// A claim with what became of it.
pub struct Claimed {
    /// In its author's words, visible.
    pub says: String,
    /// Who said it, visible.
    pub source: String,
    /// Whether it holds.
    pub word: ClaimWord,
    /// Where it holds, where not and beside whom, and where that isn't known.
    pub settings: Vec<String>,
}

/// All claims of the run's study.
pub fn all(run: &Run) -> Vec<Claimed> {
    let pairs = run.study.claims.iter().zip(&run.claims);
    let claimed = pairs.map(|(claim, outcome)| Claimed {
        says: visible(&claim.says).into_owned(),
        source: visible(&claim.source).into_owned(),
        word: outcome.word,
        settings: outcome.settings.iter().map(|it| in_setting(run, it)).collect(),
    });
    claimed.collect()
}

fn in_setting(run: &Run, it: &ClaimInSetting) -> String {
    let setting = summary::names(run, &[&it.setting]);
    let others: Vec<String> =
        it.not_behind.iter().map(|name| summary::who(run, name).into_owned()).collect();
    match it.word {
        ClaimWord::DoesNot => {
            let verb = if others.len() == 1 { "is" } else { "are" };
            format!("{setting}: {}; {} {verb} not behind", it.word.says(), and(&others))
        }
        _ => format!("{setting}: {}", it.word.says()),
    }
}
