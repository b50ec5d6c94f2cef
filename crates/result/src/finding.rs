//! One check's word on the evidence.

use serde::{Deserialize, Serialize};

/// The check whose word is on the machine's other users, and on no contender.
pub const QUIET_MACHINE: &str = "quiet-machine";

/// What a check may say, from best to worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Looked at, and nothing is against the figure.
    Valid,
    /// The sensor is missing, so nothing can be said.
    NotChecked,
    /// Something casts doubt: the figure stands with the doubt beside it.
    Suspect,
    /// The figure doesn't mean what it seems to: shown struck out, never ranked.
    Invalid,
}

impl Verdict {
    /// The word that readers see.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Valid => "valid",
            Verdict::NotChecked => "not checked",
            Verdict::Suspect => "suspect",
            Verdict::Invalid => "invalid",
        }
    }

    /// What stands beside a figure in a sentence; `None` where nothing is against it.
    pub fn caveat(self) -> Option<&'static str> {
        match self {
            Verdict::Valid => None,
            Verdict::NotChecked => Some("not checked in full"),
            other => Some(other.word()),
        }
    }
}

/// One check's word.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// The check's id, which is also its page's name in `docs/checks/`.
    pub check: String,
    /// Its word.
    pub verdict: Verdict,
    /// What was measured, with its unit.
    pub value: String,
    /// What it was held against, with its unit.
    pub threshold: String,
    /// One sentence: what this means for the figure.
    pub says: String,
    /// One sentence: what to do about it, or, of what was not checked, what lets it be
    /// checked. Empty where the verdict is valid, or nothing that a reader does would.
    pub fix: String,
    /// Of doubt whose effect is bounded: the factor, 1 or more, by which it moves the figure
    /// that ranks at most, up or down. `None` where nobody can say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub off_by_max: Option<f64>,
}

/// The worst word among findings; `NotChecked` where there is none.
pub fn worst(findings: &[Finding]) -> Verdict {
    findings.iter().map(|finding| finding.verdict).max().unwrap_or(Verdict::NotChecked)
}
