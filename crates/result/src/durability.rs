//! What a store had of the writes that it acknowledged, after it was cut off.
//!
//! A *rung* is a way in which a store is cut off while it is written to; each takes away what
//! the one below it leaves. A *cut* is one time that this was done: the store is started anew on
//! the same data, and all that it acknowledged is read back.

use serde::{Deserialize, Serialize};

/// All rungs of one store.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Durability {
    /// The contender's name.
    pub contender: String,
    /// What moments and writes were drawn from.
    pub seed: u64,
    /// Where its promises are written; `None` if it makes none.
    pub promised_in: Option<String>,
    /// The rungs that were asked for, in their order.
    pub rungs: Vec<RungSeen>,
    /// The class that it is ranked in; `None` where its first rung wasn't checked, or others
    /// below the highest that it kept.
    pub class: Option<Class>,
}

/// In which way a store is cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rung {
    /// Its processes are killed with SIGKILL. What it handed to the kernel stays.
    Process,
    /// Its file system stops as well: what wasn't synced is gone, what was is kept.
    Machine,
    /// The disk loses what it wasn't told to flush, all of it or a part.
    Power,
}

impl Rung {
    /// All of them, the lowest first.
    pub const ALL: [Rung; 3] = [Rung::Process, Rung::Machine, Rung::Power];

    /// Its name on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Rung::Process => "process",
            Rung::Machine => "machine",
            Rung::Power => "power",
        }
    }

    /// What happens to the store, for people.
    pub fn says(self) -> &'static str {
        match self {
            Rung::Process => "its process dies",
            Rung::Machine => "its machine stops",
            Rung::Power => "the power goes",
        }
    }
}

/// What one rung showed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RungSeen {
    /// Which.
    pub rung: Rung,
    /// The worst of its cuts.
    pub verdict: CutVerdict,
    /// Each cut, in the order of time.
    pub cuts: Vec<Cut>,
    /// Where no cut lost anything: the largest share of cuts that may do so and still leave a
    /// chance of 5 % for this (the rule of three, 3/N, and 1 at most).
    pub bound: Option<f64>,
    /// Seconds of acknowledged writes that its documentation says it may lose; `None` where it
    /// promises nothing.
    pub promise_s: Option<f64>,
    /// Whether it lost no more than it promised, and nothing worse happened; `None` where it
    /// promises nothing, or this wasn't checked.
    pub kept_promise: Option<bool>,
}

/// What became of acknowledged writes, from the best to the worst.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CutVerdict {
    /// Every one was there.
    Kept,
    /// Some were gone, or older values stood in their place.
    Lost,
    /// A key had what was never written to it.
    Corrupt,
    /// The store didn't start on its own data, or didn't stay.
    DoesNotStart,
    /// Nothing is known, and why.
    NotChecked(String),
}

/// One time that a store was cut off.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Cut {
    /// Seconds that it had been written to.
    pub moment_s: f64,
    /// What else was so at this cut: `in the middle of BGSAVE`. `None` if nothing was.
    pub how: Option<String>,
    /// Writes that it had acknowledged.
    pub acknowledged: u64,
    /// Writes under way, or refused: they may be there or not.
    pub in_flight: u64,
    /// Acknowledged writes that were gone, or for which an older value stood.
    pub lost: u64,
    /// Seconds from the acknowledgement of the first lost write to the cut; `None` if nothing
    /// was lost.
    pub lost_span_s: Option<f64>,
    /// Lost writes that were acknowledged before a write was sent that is there: what was lost
    /// isn't the end of what was written, but has holes.
    pub holes: u64,
    /// Keys with what was never written to them.
    pub corrupt: u64,
    /// Seconds from the new start to the first right answer; `None` if there was none.
    pub restart_s: Option<f64>,
    /// The first thing that is wrong, in a sentence. What the store said is escaped in it.
    pub example: Option<String>,
    /// The last lines of a store that didn't start or stay. Hostile.
    #[serde(default)]
    pub last_words: Vec<String>,
}

impl Cut {
    /// What became of acknowledged writes.
    pub fn verdict(&self) -> CutVerdict {
        match self {
            Cut { restart_s: None, .. } => CutVerdict::DoesNotStart,
            Cut { corrupt: 1.., .. } => CutVerdict::Corrupt,
            Cut { lost: 1.., .. } => CutVerdict::Lost,
            _ => CutVerdict::Kept,
        }
    }
}

/// What a store survives: ranks are made among stores of one class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Acknowledged writes are gone where its process dies.
    None,
    /// They are there where its process dies.
    Process,
    /// And where its machine stops.
    Machine,
    /// And where the power goes.
    Power,
}

impl Class {
    /// Its name, for people.
    pub fn says(self) -> &'static str {
        match self {
            Class::None => "none",
            Class::Process => "survives its own crash",
            Class::Machine => "survives a machine's stop",
            Class::Power => "survives a power cut",
        }
    }

    /// What stores of it survive, at most.
    pub fn survives(self) -> &'static str {
        match self {
            Class::None => "nothing",
            Class::Process => "its own crash",
            Class::Machine => "a machine's stop",
            Class::Power => "a power cut",
        }
    }

    /// What all stores of it do, as a sentence has it behind *stores that*.
    pub fn stores(self) -> &'static str {
        match self {
            Class::None => "lose writes when their process dies",
            Class::Process => "survive their own crash",
            Class::Machine => "survive a machine's stop",
            Class::Power => "survive a power cut",
        }
    }
}

impl RungSeen {
    /// From the cuts that were made; `why_not` says why there are no more of them.
    pub fn new(
        rung: Rung,
        cuts: Vec<Cut>,
        promise_s: Option<f64>,
        why_not: Option<String>,
    ) -> RungSeen {
        let worst = cuts.iter().map(Cut::verdict).max();
        let verdict = match (worst, why_not) {
            // What was seen stands, whatever kept others from being seen.
            (Some(worst), why_not) if why_not.is_none() || worst > CutVerdict::Kept => worst,
            (_, why_not) => {
                CutVerdict::NotChecked(why_not.unwrap_or_else(|| "no cut was asked for".into()))
            }
        };
        let bound = (verdict == CutVerdict::Kept).then(|| (3.0 / cuts.len() as f64).min(1.0));
        let kept_promise = promise_s.and_then(|promise_s| match verdict {
            CutVerdict::Kept => Some(true),
            CutVerdict::Lost => Some(cuts.iter().all(|cut| cut.is_within(promise_s))),
            CutVerdict::Corrupt | CutVerdict::DoesNotStart => Some(false),
            CutVerdict::NotChecked(_) => None,
        });
        RungSeen { rung, verdict, cuts, bound, promise_s, kept_promise }
    }

    /// The first cut of the worst verdict, and among these the one that lost over the longest
    /// time.
    pub fn worst_cut(&self) -> Option<&Cut> {
        let key = |cut: &Cut| (cut.verdict(), cut.lost_span_s.unwrap_or(0.0), cut.lost);
        self.cuts.iter().reduce(|worst, cut| if key(cut) > key(worst) { cut } else { worst })
    }

    /// The cut that lost the most writes, of those whose writes could be read back.
    pub fn most_lost(&self) -> Option<&Cut> {
        self.losses().max_by_key(|cut| cut.lost)
    }

    /// The longest time over which one of these cuts lost writes, in seconds.
    pub fn longest_loss_s(&self) -> Option<f64> {
        self.losses().filter_map(|cut| cut.lost_span_s).max_by(f64::total_cmp)
    }

    fn losses(&self) -> impl Iterator<Item = &Cut> {
        self.cuts.iter().filter(|cut| cut.lost > 0 && cut.restart_s.is_some())
    }

    /// How many of its cuts have the rung's verdict.
    pub fn worst_cuts(&self) -> u64 {
        self.cuts.iter().filter(|cut| cut.verdict() == self.verdict).count() as u64
    }
}

/// A promise in seconds is held to so many of them: flushing takes its time as well.
const PROMISE_GRAIN_S: f64 = 0.1;

impl Cut {
    /// Whether no more was lost than was promised. A promise of 0 has no grain.
    fn is_within(&self, promise_s: f64) -> bool {
        let may_lose = if promise_s > 0.0 { promise_s + PROMISE_GRAIN_S } else { 0.0 };
        self.lost_span_s.is_none_or(|span| span <= may_lose && promise_s > 0.0)
    }
}

/// The class by the rungs that were checked: the highest below which all was kept.
pub fn class(rungs: &[RungSeen]) -> Option<Class> {
    let kept = |rung: Rung| {
        let seen = rungs.iter().find(|seen| seen.rung == rung)?;
        match seen.verdict {
            CutVerdict::NotChecked(_) => None,
            ref verdict => Some(*verdict == CutVerdict::Kept),
        }
    };
    let reached = [Class::Process, Class::Machine, Class::Power];
    let mut class = None;
    for (rung, reached) in Rung::ALL.into_iter().zip(reached) {
        match kept(rung) {
            Some(true) => class = Some(reached),
            Some(false) => return class.or(Some(Class::None)),
            None => return class,
        }
    }
    class
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(lost: u64, lost_span_s: f64) -> Cut {
        Cut {
            acknowledged: 1000,
            lost,
            lost_span_s: (lost > 0).then_some(lost_span_s),
            restart_s: Some(0.1),
            ..Cut::default()
        }
    }

    #[test]
    fn the_worst_cut_is_the_rungs_verdict_and_only_a_clean_one_has_a_bound() {
        let kept = RungSeen::new(Rung::Process, vec![cut(0, 0.0); 5], Some(0.0), None);
        assert_eq!(
            (kept.verdict, kept.bound, kept.kept_promise),
            (CutVerdict::Kept, Some(0.6), Some(true))
        );
        let dead = Cut { restart_s: None, ..cut(0, 0.0) };
        let garbled = Cut { corrupt: 1, ..cut(3, 0.1) };
        let cuts = vec![cut(0, 0.0), garbled.clone(), cut(9, 2.0)];
        let corrupt = RungSeen::new(Rung::Machine, cuts, Some(5.0), None);
        assert_eq!((corrupt.bound, corrupt.kept_promise), (None, Some(false)));
        assert_eq!(corrupt.worst_cut(), Some(&garbled));
        assert_eq!(corrupt.verdict, CutVerdict::Corrupt);
        let cuts = vec![garbled, dead];
        assert_eq!(RungSeen::new(Rung::Power, cuts, None, None).verdict, CutVerdict::DoesNotStart);
    }

    #[test]
    fn a_promise_is_kept_by_who_loses_no_more() {
        let kept = |promise_s: f64, span_s: f64| {
            let cuts = vec![cut(0, 0.0), cut(7, span_s)];
            RungSeen::new(Rung::Machine, cuts, Some(promise_s), None).kept_promise
        };
        assert_eq!(kept(1.0, 0.8), Some(true));
        assert_eq!(kept(1.0, 1.05), Some(true), "a flush takes its time");
        assert_eq!(kept(1.0, 1.2), Some(false));
        assert_eq!(kept(0.0, 0.001), Some(false), "nothing was to be lost");
        let none = RungSeen::new(Rung::Machine, vec![cut(7, 1.0)], None, None);
        assert_eq!(none.kept_promise, None);
    }

    #[test]
    fn what_kept_cuts_from_being_made_hides_no_loss_and_is_no_proof() {
        let why = || Some("there is no loop device".to_string());
        let seen = RungSeen::new(Rung::Machine, vec![cut(0, 0.0)], Some(0.0), why());
        assert!(
            matches!(seen.verdict, CutVerdict::NotChecked(_)),
            "one clean cut of five is told as five"
        );
        assert_eq!((seen.bound, seen.kept_promise), (None, None));
        assert_eq!(
            RungSeen::new(Rung::Machine, vec![cut(1, 0.1)], None, why()).verdict,
            CutVerdict::Lost
        );
    }

    #[test]
    fn a_class_ends_below_the_first_rung_that_isnt_kept_or_known() {
        let seen = |words: [&str; 3]| {
            let rungs: Vec<RungSeen> = Rung::ALL
                .into_iter()
                .zip(words)
                .map(|(rung, word)| match word {
                    "kept" => RungSeen::new(rung, vec![cut(0, 0.0)], None, None),
                    "lost" => RungSeen::new(rung, vec![cut(1, 0.1)], None, None),
                    why => RungSeen::new(rung, Vec::new(), None, Some(why.into())),
                })
                .collect();
            class(&rungs)
        };
        assert_eq!(seen(["lost", "kept", "kept"]), Some(Class::None));
        assert_eq!(seen(["kept", "lost", "kept"]), Some(Class::Process));
        assert_eq!(seen(["kept", "kept", "not known"]), Some(Class::Machine));
        assert_eq!(seen(["kept", "not known", "kept"]), Some(Class::Process));
        assert_eq!(seen(["kept", "kept", "kept"]), Some(Class::Power));
        assert_eq!(seen(["not known", "kept", "kept"]), None);
    }
}
