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
    /// What it survives at least; `None` where its first rung wasn't checked.
    pub class: Option<Class>,
    /// What it survives at most. Runs of older versions don't say it: [`Durability::classes`]
    /// does of all.
    #[serde(default)]
    pub class_at_most: Option<Class>,
}

impl Durability {
    /// From the rungs that were asked for.
    pub fn new(
        contender: String,
        seed: u64,
        promised_in: Option<String>,
        rungs: Vec<RungSeen>,
    ) -> Durability {
        let Classes { least, most } = Classes::of(&rungs);
        let (class, class_at_most) = (least, Some(most));
        Durability { contender, seed, promised_in, rungs, class, class_at_most }
    }

    /// What is known of its class.
    pub fn classes(&self) -> Classes {
        Classes::of(&self.rungs)
    }
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
    /// promises nothing, this wasn't checked, or no cut could have shown otherwise.
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
    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Class::None => "none",
            Class::Process => "process",
            Class::Machine => "machine",
            Class::Power => "power",
        }
    }

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

/// Acknowledged writes that a cut without a loss needs to show anything: where none of 30 is
/// lost, a store that loses a tenth of them would be seen with 95 % confidence (the rule of three).
const ACKNOWLEDGED_MIN: u64 = 30;

/// What became of a store's word on one rung.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Promise {
    /// It promises nothing, or the rung wasn't checked.
    None,
    /// No cut could have shown that it is broken: none lost writes of so long a time, and none
    /// came after so long a time of writing.
    NotTried,
    /// It was, by cuts that could have shown otherwise.
    Kept,
    /// More was lost than it promised, or worse happened.
    Broken,
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
        let why_not = why_not.or_else(|| too_few(&cuts));
        let verdict = match (worst, why_not) {
            // What was seen stands, whatever kept others from being seen.
            (Some(worst), why_not) if why_not.is_none() || worst > CutVerdict::Kept => worst,
            (_, why_not) => {
                CutVerdict::NotChecked(why_not.unwrap_or_else(|| "no cut was asked for".into()))
            }
        };
        let bound = (verdict == CutVerdict::Kept).then(|| (3.0 / cuts.len() as f64).min(1.0));
        let seen = RungSeen { rung, verdict, cuts, bound, promise_s, kept_promise: None };
        let kept_promise = match seen.promise() {
            Promise::None | Promise::NotTried => None,
            Promise::Kept => Some(true),
            Promise::Broken => Some(false),
        };
        RungSeen { kept_promise, ..seen }
    }

    /// What became of its word. It follows from the cuts, so that runs of older versions are
    /// held to the same.
    pub fn promise(&self) -> Promise {
        let Some(promise_s) = self.promise_s else { return Promise::None };
        match self.verdict {
            CutVerdict::NotChecked(_) => Promise::None,
            CutVerdict::Corrupt | CutVerdict::DoesNotStart => Promise::Broken,
            CutVerdict::Kept | CutVerdict::Lost => {
                let may_lose_s = may_lose_s(promise_s);
                if self.cuts.iter().any(|cut| cut.lost_more_than(may_lose_s)) {
                    Promise::Broken
                } else if self.cuts.iter().any(|cut| cut.moment_s > may_lose_s) {
                    Promise::Kept
                } else {
                    Promise::NotTried
                }
            }
        }
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

/// Why cuts that lost nothing show nothing, if so.
fn too_few(cuts: &[Cut]) -> Option<String> {
    let fewest = cuts.iter().map(|cut| cut.acknowledged).min()?;
    (fewest < ACKNOWLEDGED_MIN).then(|| {
        let writes = if fewest == 1 { "write was" } else { "writes were" };
        format!("only {fewest} {writes} acknowledged before a cut, which shows nothing")
    })
}

/// A promise in seconds is held to so many more of them: flushing takes its time as well.
const PROMISE_GRAIN_S: f64 = 0.1;

/// The seconds of writes that a store may lose by its word. A promise of 0 has no grain.
fn may_lose_s(promise_s: f64) -> f64 {
    if promise_s > 0.0 { promise_s + PROMISE_GRAIN_S } else { 0.0 }
}

impl Cut {
    /// Whether it lost writes of more than so many seconds; of none, whether it lost any.
    fn lost_more_than(&self, may_lose_s: f64) -> bool {
        self.lost_span_s.is_some_and(|span| span > may_lose_s || may_lose_s == 0.0)
    }
}

/// What is known of a store's class: the ends between which it lies. A rung that wasn't checked
/// parts them, and stores that differ in what isn't known may be of different classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Classes {
    /// It survives this at least; `None` where the first rung wasn't checked.
    pub least: Option<Class>,
    /// And no more than this.
    pub most: Class,
}

impl Classes {
    /// By the rungs that were checked: at least the highest below which all was kept, at most
    /// the one below the first that wasn't.
    pub fn of(rungs: &[RungSeen]) -> Classes {
        let seen = |rung: Rung| rungs.iter().find(|seen| seen.rung == rung).map(|it| &it.verdict);
        let below = [Class::None, Class::Process, Class::Machine];
        let reached = [Class::Process, Class::Machine, Class::Power];
        let lost = Rung::ALL.into_iter().zip(below).find_map(|(rung, below)| {
            let is_lost =
                |it: &CutVerdict| !matches!(it, CutVerdict::Kept | CutVerdict::NotChecked(_));
            seen(rung).is_some_and(is_lost).then_some(below)
        });
        let kept = Rung::ALL.into_iter().zip(reached);
        let kept = kept.take_while(|(rung, _)| seen(*rung) == Some(&CutVerdict::Kept));
        let none = lost.filter(|most| *most == Class::None);
        Classes {
            least: kept.last().map(|(_, reached)| reached).or(none),
            most: lost.unwrap_or(Class::Power),
        }
    }

    /// The class, where all rungs that it takes were checked.
    pub fn known(self) -> Option<Class> {
        self.least.filter(|least| *least == self.most)
    }

    /// Whether a store of these and one of those may be of one class.
    pub fn may_be_alike(self, other: Classes) -> bool {
        let least = self.least.max(other.least).unwrap_or(Class::None);
        least <= self.most.min(other.most)
    }

    /// What such a store survives: `its own crash, and perhaps a power cut`.
    pub fn survives(self) -> String {
        match (self.least, self.known()) {
            (_, Some(known)) => known.survives().into(),
            (Some(least), None) => {
                format!("{}, and perhaps {}", least.survives(), self.most.survives())
            }
            (None, None) => "not known".into(),
        }
    }

    /// What all such stores do, as a sentence has it behind *stores*.
    pub fn stores(self) -> String {
        match (self.least, self.known()) {
            (_, Some(known)) => format!("that {}", known.stores()),
            (Some(least), None) => {
                format!("that {}, and perhaps {}", least.stores(), self.most.survives())
            }
            (None, None) => "of which nobody knows what they survive".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(lost: u64, lost_span_s: f64) -> Cut {
        Cut {
            moment_s: 1.5,
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
        assert_eq!((none.kept_promise, none.promise()), (None, Promise::None));
    }

    /// Else a store that loses all that it had is told as one that kept its word, since the word
    /// is of minutes.
    #[test]
    fn a_promise_of_more_than_was_written_is_not_tried_and_never_kept() {
        let all_lost = Cut { lost: 1000, ..cut(7, 1.5) };
        for cuts in [vec![all_lost], vec![cut(0, 0.0)]] {
            let seen = RungSeen::new(Rung::Process, cuts.clone(), Some(300.0), None);
            assert_eq!((seen.promise(), seen.kept_promise), (Promise::NotTried, None));
            let within = RungSeen::new(Rung::Process, cuts, Some(1.45), None);
            assert_eq!(within.promise(), Promise::NotTried, "a flush takes its time");
        }
        let garbled = Cut { corrupt: 1, ..cut(0, 0.0) };
        let seen = RungSeen::new(Rung::Process, vec![garbled], Some(300.0), None);
        assert_eq!(seen.promise(), Promise::Broken, "no promise is of garbage");
    }

    #[test]
    fn a_cut_of_a_handful_of_writes_shows_nothing_unless_it_lost_some() {
        let few = |lost| Cut { acknowledged: 3, ..cut(lost, 0.1) };
        let seen = RungSeen::new(Rung::Power, vec![cut(0, 0.0), few(0)], Some(0.0), None);
        let why = "only 3 writes were acknowledged before a cut, which shows nothing";
        assert_eq!(seen.verdict, CutVerdict::NotChecked(why.into()));
        assert_eq!((seen.bound, seen.kept_promise), (None, None));
        let lost = RungSeen::new(Rung::Power, vec![few(1)], Some(0.0), None);
        assert_eq!((lost.verdict, lost.kept_promise), (CutVerdict::Lost, Some(false)));
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
    fn what_isnt_known_of_a_class_is_said() {
        let says = |least, most| {
            let classes = Classes { least, most };
            (classes.survives(), classes.stores())
        };
        let known = says(Some(Class::Machine), Class::Machine);
        assert_eq!(known.0, "a machine's stop");
        assert_eq!(known.1, "that survive a machine's stop");
        let part = says(Some(Class::Process), Class::Power);
        assert_eq!(part.0, "its own crash, and perhaps a power cut");
        assert_eq!(part.1, "that survive their own crash, and perhaps a power cut");
        assert_eq!(says(None, Class::Power).0, "not known");
    }

    #[test]
    fn a_class_has_two_ends_where_a_rung_between_them_isnt_known() {
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
            let Classes { least, most } = Classes::of(&rungs);
            (least, most)
        };
        let exactly = |class: Class| (Some(class), class);
        assert_eq!(seen(["lost", "kept", "kept"]), exactly(Class::None));
        assert_eq!(seen(["kept", "lost", "kept"]), exactly(Class::Process));
        assert_eq!(seen(["kept", "kept", "lost"]), exactly(Class::Machine));
        assert_eq!(seen(["kept", "kept", "kept"]), exactly(Class::Power));
        assert_eq!(seen(["kept", "kept", "not known"]), (Some(Class::Machine), Class::Power));
        assert_eq!(seen(["kept", "not known", "kept"]), (Some(Class::Process), Class::Power));
        assert_eq!(seen(["kept", "not known", "lost"]), (Some(Class::Process), Class::Machine));
        assert_eq!(seen(["not known", "lost", "kept"]), (None, Class::Process));
        assert_eq!(seen(["not known", "kept", "kept"]), (None, Class::Power));
    }
}
