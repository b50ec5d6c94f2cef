//! What a check is: what it looks at, its word on that, and what it says of itself.

use result::Trial;
use result::durability::Classes;
use result::evidence::{ClientSide, DeliveriesSeen, Evidence, StoreSeen, Work};
use result::finding::{Finding, Verdict};
use result::kind::Kind;
use result::plan::{Contender, Pace, Slot};
use result::scripts::ScriptsSeen;

/// One check.
#[derive(Debug)]
pub struct Check {
    /// Its id, which is its page's name.
    pub id: &'static str,
    /// What it looks at.
    pub signal: &'static str,
    /// From where on that speaks against a figure.
    pub threshold: &'static str,
    /// Why the threshold is there.
    pub why: &'static str,
    /// What to do if it does. Where it couldn't look, this would be advice against a
    /// fault that nobody saw: what lets it look, if anything does, its word says.
    pub fix: &'static str,
    /// What it looks at, and gives its word.
    pub(super) scope: Scope,
}

/// What a check is about, and what it says of that; `None` where it doesn't apply to it,
/// which speaks neither for a figure nor against it.
#[derive(Debug)]
pub(super) enum Scope {
    /// One trial by itself, whether it got as far as load or not.
    Anyway(fn(&TrialSeen) -> Option<Word>),
    /// One trial by itself.
    Trial(Rule),
    /// One trial by itself, in which a passing moment of the machine may have been
    /// met. The figures of a row are medians over its blocks, and doubtful values
    /// in fewer than half of them don't carry a median away: from half on, doubt
    /// counts for the row.
    Moment(Rule),
    /// One trial by itself, and how far it drifted, as a logarithm. A contender
    /// drifts the same way in every block, a machine mostly either way: doubt counts for
    /// the row as that of moments does, unless an exact test lets the drifts of its
    /// blocks pass as chance.
    Drift { look: Rule, drift: fn(&Work) -> Option<f64> },
    /// The machine during one trial, met as a passing moment is: what it says,
    /// somebody else did, and not the contender, the client or the set-up.
    Machine(Rule),
    /// A contender's trials under one load, beside those of the others.
    Row(fn(&RowSeen) -> Option<Word>),
    /// All trials under one load, where doubt is about the machine that they were made on:
    /// of all rows alike.
    MachineOverLoad(fn(&[Contender], &[&Trial]) -> Option<Word>),
    /// As of a row, where doubt is about the machine.
    MachineOverRow(fn(&RowSeen) -> Option<Word>),
}

/// What a check of a trial may look at.
#[derive(Debug, Clone, Copy)]
pub(super) struct TrialSeen<'a> {
    /// What kind of study the trial is of.
    pub(super) kind: Kind,
    pub(super) slot: &'a Slot,
    pub(super) evidence: &'a Evidence,
}

/// What the load generator saw of a trial, for checks that speak of its load alone.
#[derive(Debug, Clone, Copy)]
pub(super) struct Load<'a> {
    pub(super) work: &'a Work,
    pub(super) client: &'a ClientSide,
}

/// What a check of a row may look at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowSeen<'a> {
    /// What kind of study the row is of.
    pub(crate) kind: Kind,
    pub(crate) contender: &'a Contender,
    /// All contenders of the run that it is compared with, this one among them.
    pub(crate) contenders: &'a [Contender],
    /// All trials under the row's load, twins among them.
    pub(crate) trials: &'a [&'a Trial],
    /// What was said of them as a whole.
    pub(crate) of_load: &'a [Finding],
    /// What is known of its class, where it was cut off.
    pub(crate) classes: Option<Classes>,
    /// What it did in scripts, where some were played with it.
    pub(crate) scripts: Option<&'a ScriptsSeen>,
}

/// A check's word.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Word {
    pub(super) verdict: Verdict,
    /// What was measured, with its unit.
    pub(super) value: String,
    /// One sentence: what this means.
    pub(super) says: String,
    /// Which part of the threshold it was held against, where there are several.
    pub(super) against: Option<&'static str>,
    /// What to do, where that isn't the check's own fix: of a check that couldn't look, what
    /// lets it look next time.
    pub(super) advice: Option<&'static str>,
    /// Of a suspect figure, by which factor it may be off at most, where that is bounded.
    pub(super) off_by_max: Option<f64>,
}

impl Word {
    pub(super) fn new(verdict: Verdict, value: impl Into<String>, says: impl Into<String>) -> Word {
        let (value, says) = (value.into(), says.into());
        Word { verdict, value, says, against: None, advice: None, off_by_max: None }
    }

    pub(super) fn valid(value: impl Into<String>, says: impl Into<String>) -> Word {
        Word::new(Verdict::Valid, value, says)
    }

    pub(super) fn suspect(value: impl Into<String>, says: impl Into<String>) -> Word {
        Word::new(Verdict::Suspect, value, says)
    }

    pub(super) fn invalid(value: impl Into<String>, says: impl Into<String>) -> Word {
        Word::new(Verdict::Invalid, value, says)
    }

    /// The sensor is missing: nothing can be said.
    pub(super) fn not_checked(says: impl Into<String>) -> Word {
        Word::new(Verdict::NotChecked, "–", says)
    }

    pub(super) fn against(self, part: &'static str) -> Word {
        Word { against: Some(part), ..self }
    }

    /// By which factor a suspect figure may be off at most. What isn't finite bounds nothing.
    pub(super) fn off_by(self, factor: f64) -> Word {
        Word { off_by_max: Some(factor.max(1.0 / factor)).filter(|it| it.is_finite()), ..self }
    }

    pub(super) fn advise(self, advice: &'static str) -> Word {
        Word { advice: Some(advice), ..self }
    }
}

/// What there may be to say of a trial, by what was measured in it.
pub(super) type Rule = fn(&TrialSeen, &Work) -> Option<Word>;

/// The same, of what the load generator saw.
pub(super) type LoadRule = fn(&TrialSeen, &Load) -> Option<Word>;

impl<'a> TrialSeen<'a> {
    /// The work that was measured; `None` where no time was.
    pub(super) fn work(&self) -> Option<&'a Work> {
        self.evidence.work.as_ref().filter(|work| work.seconds > 0.0)
    }

    /// A check's word on what the load generator saw. It doesn't apply to what drives itself.
    pub(super) fn under_load(&self, look: impl FnOnce(&Load) -> Option<Word>) -> Option<Word> {
        if !self.kind.is_asked() {
            return None;
        }
        match self.evidence.clients.first() {
            Some(client) => look(&Load { work: self.work()?, client }),
            None => Some(Word::not_checked("What the client saw is not known.")),
        }
    }

    /// The word of a check that looked at the contender's machine, whose *valid* is of the load's
    /// machine too. Where the load came from other machines, nobody looked at those.
    pub(super) fn with_hosts(&self, word: Word) -> Word {
        let elsewhere = self.evidence.hosts().filter(|host| !host.is_here);
        let names: Vec<&str> = elsewhere.map(|host| &*host.name).collect();
        if names.is_empty() || word.verdict != Verdict::Valid {
            return word;
        }
        Word::not_checked(format!(
            "{} That is the contender's machine. Of the hosts of the load ({}) it isn't known.",
            word.says,
            names.join(", ")
        ))
    }

    /// A check's word on what became of a store's keys. It doesn't apply to what keeps no data.
    pub(super) fn of_keys(&self, look: impl FnOnce(&StoreSeen) -> Option<Word>) -> Option<Word> {
        if !self.kind.keeps_data() {
            return None;
        }
        match &self.evidence.store {
            Some(store) => look(store),
            None => Some(Word::not_checked("What became of the keys is not known.")),
        }
    }

    /// A check's word on what the load generator's robots heard of each other. It doesn't apply to
    /// what passes nothing on.
    pub(super) fn of_deliveries(
        &self,
        look: impl FnOnce(&Load, &DeliveriesSeen) -> Option<Word>,
    ) -> Option<Word> {
        if !self.kind.passes_on() {
            return None;
        }
        match &self.evidence.deliveries {
            Some(deliveries) => self.under_load(|load| look(load, deliveries)),
            None => Some(Word::not_checked("What became of the deliveries is not known.")),
        }
    }

    /// The same words for requests, or for deliveries where these are what is counted.
    pub(super) fn either(
        &self,
        of_requests: &'static str,
        of_deliveries: &'static str,
    ) -> &'static str {
        if self.kind.passes_on() { of_deliveries } else { of_requests }
    }

    /// Whether requests came at a rate, whatever was answered.
    pub(super) fn is_open_loop(&self) -> bool {
        self.slot.setting.pace != Pace::Free
    }
}

impl<'a> RowSeen<'a> {
    /// A contender's trials, twins among them.
    pub(super) fn of(&self, contender: &str) -> impl Iterator<Item = &'a Trial> {
        self.trials.iter().copied().filter(move |trial| trial.slot.contender == contender)
    }

    pub(super) fn others(&self) -> impl Iterator<Item = &'a Contender> {
        self.contenders.iter().filter(|it| it.name != self.contender.name)
    }

    pub(super) fn is_open_loop(&self) -> bool {
        self.trials.iter().any(|trial| trial.slot.setting.pace != Pace::Free)
    }
}

impl Check {
    /// Its word on a trial, if it applies to that.
    pub(super) fn on_trial(&self, seen: &TrialSeen) -> Option<Finding> {
        let word = match self.scope {
            Scope::Anyway(look) => look(seen),
            Scope::Trial(look)
            | Scope::Moment(look)
            | Scope::Drift { look, .. }
            | Scope::Machine(look) => match seen.work() {
                Some(work) => look(seen, work),
                None => Some(Word::not_checked("The trial ended before there was load.")),
            },
            Scope::Row(_) | Scope::MachineOverRow(_) | Scope::MachineOverLoad(_) => None,
        };
        Some(self.finding(word?))
    }

    /// Its word on a row, if it applies to that.
    pub(super) fn on_row(&self, compared: &RowSeen) -> Option<Finding> {
        match self.scope {
            Scope::Row(look) | Scope::MachineOverRow(look) => Some(self.finding(look(compared)?)),
            Scope::MachineOverLoad(_) => {
                compared.of_load.iter().find(|finding| finding.check == self.id).cloned()
            }
            _ => None,
        }
    }

    pub(super) fn finding(&self, word: Word) -> Finding {
        let Word { verdict, value, says, against, advice, off_by_max } = word;
        Finding {
            check: self.id.into(),
            verdict,
            value,
            threshold: against.unwrap_or(self.threshold).into(),
            says,
            fix: match verdict {
                Verdict::Valid => String::new(),
                Verdict::NotChecked => advice.unwrap_or_default().into(),
                Verdict::Suspect | Verdict::Invalid => advice.unwrap_or(self.fix).into(),
            },
            off_by_max: off_by_max.filter(|_| verdict == Verdict::Suspect),
        }
    }

    /// Its doubt about so many blocks of a row whose median stands in spite of that: the word
    /// is that of the rest of them.
    pub(super) fn softened(
        &self,
        doubt: &Finding,
        rest: Option<&Finding>,
        often: &str,
        reason: &str,
    ) -> Finding {
        Finding {
            check: self.id.into(),
            verdict: rest.map_or(Verdict::Valid, |it| it.verdict),
            value: format!("{} {often}", doubt.value),
            threshold: self.threshold.into(),
            says: format!("{} {reason}", doubt.says),
            fix: rest.map_or(String::new(), |it| it.fix.clone()),
            off_by_max: None,
        }
    }
}

/// A share as people read it. The sum of no shares is -0, which nobody reads.
pub(super) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0 + 0.0)
}
