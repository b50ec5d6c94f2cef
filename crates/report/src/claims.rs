//! What became of a study's claims, in words for every form of the report.

use result::Run;
use result::figure::{Better, Figure, RATE};
use result::finding::Verdict;
use result::outcome::{Beside, ClaimAgainst, ClaimInSetting, ClaimOutcome, ClaimWord, Estimate};
use result::plan::{Claim, Value};

use crate::contenders;
use crate::figures::{self, Spread};
use crate::names;
use crate::notes::{self, CHANCE};
use crate::text::visible;
use crate::units;
use crate::words::and;

/// What decides a claim.
const RULE: &str = "A claim holds under a setting if its contender is ahead of every other \
    contender that the claim names and that was measured there. The lead must be larger than \
    chance and the noise floor. If the claim names a lead, it must be that much larger than the \
    named one. A claim doesn't hold if another contender is shown to be ahead, or if the lead is \
    shown to be missing. It is shown to be missing if the whole interval of the ratio lies below \
    the named lead by more than the noise floor, or below 5 % if the claim names no lead. Where \
    neither is shown, the word is \"not known\". Only the lead is tested. What else a claim says, \
    such as a number or a reason, isn't tested. Nothing is said of settings that weren't measured.";

/// What decides the claims of a run, and how many of them chance may decide.
pub fn rule(run: &Run) -> String {
    let against = run.claims.iter().flat_map(|it| &it.settings).flat_map(|it| &it.against);
    let compared = against.filter(|it| it.stands != Beside::NotMeasured).count();
    if compared < 2 {
        return RULE.into();
    }
    format!(
        "{RULE} {} decide these claims, each tested at the {} level. If all contenders were equal, \
         chance alone would find a lead in up to {:.1} of these tests.",
        units::of(compared as u64, "comparison"),
        units::percent(CHANCE),
        compared as f64 * CHANCE
    )
}

/// A claim with what became of it.
pub struct Claimed<'a> {
    /// In its author's words, visible.
    pub says: String,
    /// Who said it, visible.
    pub source: String,
    /// Whether it holds, and whether all that it speaks of was measured.
    pub word: String,
    /// The contender that it speaks for, visible.
    pub who: String,
    /// How many times as good its contender is at least, where it says so.
    pub lead: Option<f64>,
    /// What decides it; `None` where the study has no such figure.
    pub figure: Option<&'a Figure>,
    /// Whether nobody but the contenders tells that figure.
    is_told: bool,
    /// What is known under each setting.
    pub settings: Vec<InSetting<'a>>,
    /// What it speaks of beside, and what was not measured.
    pub unmeasured: Option<String>,
}

/// What is known of a claim under one setting.
pub struct InSetting<'a> {
    /// The setting's name.
    pub name: String,
    /// Whether it holds there, and how sure that is.
    pub word: String,
    /// Each that its contender should be ahead of.
    pub others: Vec<Other<'a>>,
}

/// One that a claim's contender should be ahead of.
pub struct Other<'a> {
    /// Its title, visible.
    pub who: String,
    /// Where it stands.
    pub stands: Beside,
    /// The figure of the claim's contender divided by its own.
    pub ratio: Option<&'a Estimate>,
}

/// All claims of the run's study.
pub fn all(run: &Run) -> Vec<Claimed<'_>> {
    let pairs = run.study.claims.iter().zip(&run.claims);
    pairs.map(|(claim, outcome)| claimed(run, claim, outcome)).collect()
}

fn claimed<'a>(run: &'a Run, claim: &'a Claim, outcome: &'a ClaimOutcome) -> Claimed<'a> {
    let unmeasured = unmeasured(run, claim, outcome);
    let mut others = outcome.settings.iter().flat_map(|it| &it.against);
    let is_whole = unmeasured.is_none() && others.all(|other| other.stands != Beside::NotMeasured);
    let is_open = outcome.settings.iter().any(|it| it.word == ClaimWord::NotKnown);
    let word = word(outcome.word, outcome.verdict);
    let word = match outcome.word {
        ClaimWord::NotKnown => word,
        // One setting where it doesn't hold is enough.
        ClaimWord::Holds if is_open => format!("{word}, but not known under all settings"),
        _ if is_whole => word,
        _ => format!("{word}, as far as measured"),
    };
    Claimed {
        says: visible(&claim.says).into_owned(),
        source: visible(&claim.source).into_owned(),
        word,
        who: contenders::who(run, &claim.contender).into_owned(),
        lead: claim.lead,
        figure: run.study.figure(&claim.figure),
        is_told: notes::is_told(run, &claim.figure),
        settings: outcome.settings.iter().map(|it| in_setting(run, it)).collect(),
        unmeasured,
    }
}

fn in_setting<'a>(run: &'a Run, it: &'a ClaimInSetting) -> InSetting<'a> {
    let other = |it: &'a ClaimAgainst| Other {
        who: contenders::who(run, &it.contender).into_owned(),
        stands: it.stands,
        ratio: it.ratio.as_ref(),
    };
    InSetting {
        name: names::settings(run, &[&it.setting]),
        word: word(it.word, it.verdict),
        others: it.against.iter().map(other).collect(),
    }
}

/// Whether it holds, with the doubt in what decides it.
fn word(word: ClaimWord, verdict: Verdict) -> String {
    let caveat = verdict.caveat().filter(|_| word != ClaimWord::NotKnown);
    caveat.map_or(word.says().into(), |caveat| format!("{} ({caveat})", word.says()))
}

impl Claimed<'_> {
    /// By what it is decided, where that isn't any lead in the rate, which goes without saying.
    pub fn by(&self) -> Option<String> {
        let figure = self.figure.filter(|figure| figure.id != RATE).map(|figure| {
            let better = match figure.better {
                Better::More => "more",
                Better::Less => "less",
            };
            let told = if self.is_told { ", and which contenders tell" } else { "" };
            format!("by {}, of which {better} is better{told}", visible(&figure.title))
        });
        let lead = self.lead.map(|lead| format!("at least {} times as good", units::plain(lead)));
        let all: Vec<String> = lead.into_iter().chain(figure).collect();
        (!all.is_empty()).then(|| all.join(", "))
    }

    /// What is known of it, a line a setting.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        self.settings.iter().map(InSetting::line).chain(self.unmeasured.clone())
    }
}

impl InSetting<'_> {
    fn line(&self) -> String {
        let known: Vec<String> = self.others.iter().filter_map(Other::times).collect();
        let not_measured = self.others.iter().filter(|other| other.stands == Beside::NotMeasured);
        let not_measured: Vec<&str> = not_measured.map(|other| &*other.who).collect();
        let missing = match not_measured.as_slice() {
            [] => String::new(),
            names => format!("; {} not measured there", and(names)),
        };
        // None where nobody could be ranked.
        let known = if known.is_empty() { String::new() } else { format!(": {}", and(&known)) };
        format!("{}: {}{known}{missing}", self.name, self.word)
    }
}

impl Other<'_> {
    /// How many times its own the figure of the claim's contender is: `2.50 times Erlang
    /// (2.38–2.63)`.
    fn times(&self) -> Option<String> {
        let ratio = self.ratio?;
        let (times, range) = (times(ratio), range(ratio));
        Some(format!("{times} {} {range}", self.who).trim_end().into())
    }
}

/// A ratio: `2.50 times`.
pub fn times(ratio: &Estimate) -> String {
    format!("{}{} times", units::at_least(ratio.at_least), units::plain(ratio.median))
}

/// What it lies between: `(2.38–2.63)`; empty of one block.
pub fn range(ratio: &Estimate) -> String {
    match figures::spread(ratio) {
        Spread::Interval(range) => format!("({})", units::plain_range(range)),
        Spread::Blocks(range) => format!("[{}]", units::plain_range(range)),
        Spread::None => String::new(),
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
