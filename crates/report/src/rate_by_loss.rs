//! What durability costs: how fast stores write, by how much of it was gone after a cut.

use result::Run;
use result::durability::{Class, CutVerdict, Durability};
use result::figure::RATE;
use result::finding::Verdict;
use result::outcome::Estimate;
use result::plan::{Pace, Setting};

use crate::contenders;
use crate::units;
use crate::words::shortened;

/// What its writes are called.
const SET: &str = "set";

/// What the rates and losses are, in one place for every form of the report.
pub const TITLE: &str = "Rate by what is lost";

/// What the worst cut of a store took, over all the ways in which it was cut off.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Loss {
    /// Nothing that it had acknowledged.
    Nothing,
    /// Writes of so many seconds.
    Seconds(f64),
    /// All that was acknowledged.
    All,
    /// It had what nobody wrote, or didn't start.
    Unusable,
}

impl Loss {
    /// Of all cuts of a store.
    fn of(seen: &Durability) -> Loss {
        let rungs = || seen.rungs.iter();
        if rungs()
            .any(|rung| matches!(rung.verdict, CutVerdict::Corrupt | CutVerdict::DoesNotStart))
        {
            return Loss::Unusable;
        }
        let most = || rungs().filter_map(|rung| rung.most_lost());
        if most().any(|cut| cut.lost >= cut.acknowledged) {
            return Loss::All;
        }
        let seconds = rungs().filter_map(|rung| rung.longest_loss_s()).max_by(f64::total_cmp);
        seconds.map_or(Loss::Nothing, Loss::Seconds)
    }

    /// For people.
    pub fn says(self) -> String {
        match self {
            Loss::Nothing => "lost nothing".into(),
            Loss::Seconds(span) => format!("lost {} of writes", units::time(span * 1e6)),
            Loss::All => "lost all writes".into(),
            Loss::Unusable => "unusable".into(),
        }
    }
}

/// A store with both.
pub struct Store<'a> {
    /// Its name.
    pub contender: &'a str,
    /// Its title, visible.
    pub who: String,
    /// The word on its rate.
    pub verdict: Verdict,
    /// What it survives.
    pub class: Class,
    /// What the worst cut took.
    pub loss: Loss,
    /// Its writes a second.
    pub rate: &'a Estimate,
}

impl Store<'_> {
    /// Its rate, with a sign where that is a bound: `14.2k`.
    pub fn rate(&self) -> String {
        format!("{}{}", units::at_least(self.rate.at_least), units::count(self.rate.median))
    }

    /// `Redis: 14.2k/s, lost nothing`.
    pub fn says(&self) -> String {
        format!("{}: {}/s, {}", self.who, self.rate(), self.loss.says())
    }
}

/// All stores of a run.
pub struct RateByLoss<'a> {
    /// The setting that the rates are of.
    pub writes: &'a Setting,
    /// Those that survive most first, and of these the fastest; never empty.
    pub stores: Vec<Store<'a>>,
    /// Who isn't among them, and why.
    pub missing: Vec<String>,
}

/// Rates and losses; `None` where nobody cut stores off, or none has a rate of writes.
pub fn rate_by_loss(run: &Run) -> Option<RateByLoss<'_>> {
    let writes = writes(run)?;
    let (stores, missing): (Vec<_>, Vec<_>) =
        run.durability.iter().map(|seen| store(run, writes, seen)).partition(Result::is_ok);
    let mut stores: Vec<Store> = stores.into_iter().flatten().collect();
    stores.sort_by(|a, b| b.class.cmp(&a.class).then(b.rate.median.total_cmp(&a.rate.median)));
    let missing = missing.into_iter().filter_map(Result::err).collect();
    (!stores.is_empty()).then_some(RateByLoss { writes, stores, missing })
}

/// The first closed loop that only writes.
fn writes(run: &Run) -> Option<&Setting> {
    let only_writes = |setting: &Setting| {
        let trials = run.trials.iter().filter(|trial| trial.slot.setting == *setting);
        let mut works = trials.filter_map(|trial| trial.evidence.work.as_ref()).peekable();
        works.peek().is_some()
            && works.all(|work| work.operations.iter().all(|seen| seen.operation == SET))
    };
    let settings = run.outcomes.iter().map(|outcome| &outcome.setting);
    settings.into_iter().find(|setting| setting.pace == Pace::Free && only_writes(setting))
}

/// A store, or why it has no place.
fn store<'a>(run: &'a Run, writes: &Setting, seen: &'a Durability) -> Result<Store<'a>, String> {
    let who = contenders::title(run, &seen.contender).into_owned();
    let classes = seen.classes();
    let Some(class) = classes.known() else {
        return Err(match classes.least {
            Some(least) => {
                format!("{who} (whether it survives more than {} isn't known)", least.survives())
            }
            None => format!("{who} (what it survives isn't known)"),
        });
    };
    let row = run.row(writes, &seen.contender);
    let Some((row, rate)) = row.and_then(|row| Some((row, row.figure(RATE)?))) else {
        return Err(format!("{who} (it has no rate of writes)"));
    };
    let (contender, verdict, loss) = (&*seen.contender, row.verdict, Loss::of(seen));
    Ok(Store { contender, who, verdict, class, loss, rate })
}

/// What durability costs, with names of at most so many characters: the fastest store of those
/// that survive most, beside itself without that where it was measured so, else beside the
/// fastest that lost writes. `None` where there are no two such stores whose rates stand.
pub fn sentence(run: &Run, name_chars: usize) -> Option<String> {
    let all = rate_by_loss(run)?;
    let stands = |store: &&Store| store.verdict != Verdict::Invalid;
    let usable = || all.stores.iter().filter(stands);
    let keeps = usable().find(|it| it.loss == Loss::Nothing && it.class > Class::None)?;
    let less = || {
        usable()
            .filter(|it| it.class < keeps.class && matches!(it.loss, Loss::Seconds(_) | Loss::All))
    };
    let fastest = |a: &&Store, b: &&Store| a.rate.median.total_cmp(&b.rate.median);
    let itself = less().filter(|it| is_variant(keeps.contender, it.contender)).max_by(fastest);
    let loses = itself.or_else(|| less().max_by(fastest))?;
    let cut = match keeps.class {
        Class::None | Class::Process => "its process died",
        Class::Machine => "its machine stopped",
        Class::Power => "the power went",
    };
    let lost = match loses.loss {
        Loss::Seconds(span) => format!("the last {} of them", units::time(span * 1e6)),
        _ => "all of them".into(),
    };
    let side = |store: &Store| {
        let doubt = if store.verdict == Verdict::Suspect { " (suspect)" } else { "" };
        (shortened(&store.who, name_chars), format!("{}{doubt}", store.rate()))
    };
    let ((kept_by, kept_rate), (lost_by, lost_rate)) = (side(keeps), side(loses));
    Some(format!(
        "{kept_by}: {kept_rate} writes a second, none lost when {cut}; {lost_by}: {lost_rate}, \
         and {lost} lost."
    ))
}

/// Whether one is a variant of the other: its name has a word more.
fn is_variant(one: &str, other: &str) -> bool {
    let begins = |long: &str, short: &str| {
        long.strip_prefix(short).is_some_and(|rest| rest.starts_with('-'))
    };
    begins(one, other) || begins(other, one)
}

#[cfg(test)]
mod tests {
    use result::durability::{self, Rung, RungSeen};

    use super::*;

    fn seen(rungs: Vec<(Rung, durability::Cut)>) -> Durability {
        let rungs = rungs.into_iter().map(|(rung, cut)| RungSeen::new(rung, vec![cut], None, None));
        Durability::new("a".into(), 1, None, rungs.collect())
    }

    fn cut(lost: u64, span: Option<f64>, corrupt: u64) -> durability::Cut {
        durability::Cut {
            acknowledged: 100,
            lost,
            lost_span_s: span,
            corrupt,
            restart_s: Some(0.1),
            ..durability::Cut::default()
        }
    }

    #[test]
    fn the_worst_cut_decides_where_a_store_stands() {
        let kept = || (Rung::Process, cut(0, None, 0));
        for (rungs, loss) in [
            (vec![kept()], Loss::Nothing),
            (vec![kept(), (Rung::Machine, cut(9, Some(0.4), 0))], Loss::Seconds(0.4)),
            (vec![(Rung::Process, cut(100, Some(1.6), 0))], Loss::All),
            (vec![kept(), (Rung::Machine, cut(100, Some(1.6), 1))], Loss::Unusable),
        ] {
            assert_eq!(Loss::of(&seen(rungs)), loss);
        }
    }

    /// Else a store stands beside another one, and what durability costs isn't told.
    #[test]
    fn a_variant_is_told_from_another_store() {
        assert!(is_variant("redis-always", "redis") && is_variant("store-log", "store-log-nosync"));
        assert!(!is_variant("store-log", "store-lmdb") && !is_variant("redis", "redisx"));
    }
}
