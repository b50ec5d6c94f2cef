//! What became of a study's claims: each says that one contender is better than others by a
//! figure, and is decided by these two at a time, under the settings that it speaks of.

use result::Run;
use result::figure::{Better, Figure};
use result::outcome::{
    Beside, ClaimAgainst, ClaimInSetting, ClaimOutcome, ClaimWord, Estimate, Row,
};
use result::plan::{Claim, PaceKind, Setting};

use super::group::Group;
use super::ranked::unranked;

/// Of each claim, in the study's order.
pub(super) fn outcomes(run: &Run) -> Vec<ClaimOutcome> {
    run.study.claims.iter().map(|claim| outcome(run, claim)).collect()
}

fn outcome(run: &Run, claim: &Claim) -> ClaimOutcome {
    let settings = match run.study.figure(&claim.figure) {
        Some(figure) => in_settings(run, claim, figure),
        None => Vec::new(),
    };
    let has = |word: ClaimWord| settings.iter().any(|it| it.word == word);
    let word = match (has(ClaimWord::Holds), has(ClaimWord::DoesNot)) {
        (true, true) => ClaimWord::Depends,
        (true, false) => ClaimWord::Holds,
        (false, true) => ClaimWord::DoesNot,
        (false, false) => ClaimWord::NotKnown,
    };
    ClaimOutcome { word, settings }
}

/// Under each setting that it speaks of and where those that it compares were measured.
fn in_settings(run: &Run, claim: &Claim, figure: &Figure) -> Vec<ClaimInSetting> {
    let by_setting = super::by_setting(run, PaceKind::Free).into_iter();
    let of_it = by_setting.filter(|(setting, _)| speaks_of(claim, setting));
    let outcomes = of_it.filter_map(|(setting, trials)| {
        let outcome = run.outcomes_at(PaceKind::Free).find(|it| it.setting == *setting)?;
        Contest::new(Group::new(run, setting, trials), &outcome.rows, figure).of(claim)
    });
    outcomes.collect()
}

fn speaks_of(claim: &Claim, setting: &Setting) -> bool {
    claim.cores.is_none_or(|cores| cores == setting.cores)
        && claim.values.iter().all(|(dimension, values)| {
            setting.value(dimension).is_some_and(|value| values.contains(value))
        })
}

/// What contenders are compared by under one setting.
struct Contest<'a> {
    group: Group<'a>,
    rows: &'a [Row],
    figure: &'a Figure,
    noise_floor: Result<f64, &'static str>,
}

impl<'a> Contest<'a> {
    fn new(group: Group<'a>, rows: &'a [Row], figure: &'a Figure) -> Contest<'a> {
        let noise_floor = group.noise_floor(&figure.id);
        Contest { group, rows, figure, noise_floor }
    }

    /// What is known of a claim; `None` where nothing that it compares was measured.
    fn of(&self, claim: &Claim) -> Option<ClaimInSetting> {
        let own = self.row(&claim.contender)?;
        let against: Vec<ClaimAgainst> =
            claim.against.iter().map(|other| self.beside(own, other)).collect();
        let has = |stands: Beside| against.iter().any(|it| it.stands == stands);
        if against.iter().all(|it| it.stands == Beside::NotMeasured) {
            return None;
        }
        let word = if has(Beside::NotBehind) {
            ClaimWord::DoesNot
        } else if has(Beside::NotRanked) {
            ClaimWord::NotKnown
        } else {
            ClaimWord::Holds
        };
        Some(ClaimInSetting { setting: self.group.setting.clone(), word, against })
    }

    fn row(&self, contender: &str) -> Option<&'a Row> {
        self.rows.iter().find(|row| row.contender == contender)
    }

    fn beside(&self, own: &Row, other: &str) -> ClaimAgainst {
        let row = self.row(other);
        ClaimAgainst {
            contender: other.into(),
            stands: row.map_or(Beside::NotMeasured, |row| self.stands(own, row)),
            ratio: row.and_then(|_| self.ratio(own, other)),
        }
    }

    fn ratio(&self, own: &Row, other: &str) -> Option<Estimate> {
        self.group.ratio(&own.contender, other, &self.figure.id)
    }

    fn stands(&self, own: &Row, other: &Row) -> Beside {
        let may_be_ranked = |row| unranked(row, self.figure, self.noise_floor).is_none();
        if !(may_be_ranked(own) && may_be_ranked(other)) {
            return Beside::NotRanked;
        }
        let [own_is_bound, other_is_bound] =
            [own, other].map(|row| row.figure(&self.figure.id).is_some_and(|it| it.at_least));
        let floor = self.noise_floor.ok();
        let is_ahead = !self.group.is_tie(&own.contender, &other.contender, self.figure, floor);
        // A bound may be anything beyond it.
        let (own_may_be_better, other_may_be_better) = match self.figure.better {
            Better::More => (own_is_bound, other_is_bound),
            Better::Less => (other_is_bound, own_is_bound),
        };
        match is_ahead {
            true if !other_may_be_better => Beside::Behind,
            false if !own_may_be_better => Beside::NotBehind,
            _ => Beside::NotRanked,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use result::figure::{CPU_US, RATE};
    use result::plan::{Cores, Value};

    use crate::outcomes::conclude;
    use crate::samples::{contender, run_of, trial};

    use super::*;

    fn setting(connections: u32) -> Setting {
        Setting::closed(connections, Cores::One, true)
    }

    /// That `a` is better than `b` and `c` at 30 and 100 connections.
    fn claim() -> Claim {
        Claim {
            says: "a is the fastest".into(),
            source: "somebody".into(),
            contender: "a".into(),
            against: vec!["b".into(), "c".into()],
            figure: RATE.into(),
            cores: None,
            values: BTreeMap::from([("connections".into(), vec![30.into(), Value::Number(100)])]),
        }
    }

    fn word(rates: &[(&str, u32, f64)]) -> ClaimOutcome {
        outcome_of(claim(), rates)
    }

    /// What becomes of a claim in six blocks with such rates at so many connections.
    fn outcome_of(claim: Claim, rates: &[(&str, u32, f64)]) -> ClaimOutcome {
        let mut trials = Vec::new();
        for block in 0..6 {
            for &(name, connections, rate) in rates {
                let noise = 1.0 + f64::from(block) / 1e3;
                trials.push(trial(name, block, &setting(connections), rate * noise));
                if name == "a" {
                    let mut twin = trial(name, block, &setting(connections), rate * noise * 1.001);
                    twin.slot.twin = true;
                    trials.push(twin);
                }
            }
        }
        let mut run = run_of(&["a", "b", "c"].map(contender), trials);
        run.study.claims = vec![claim];
        conclude(&mut run);
        run.claims.remove(0)
    }

    /// Where the others stand under the first setting.
    fn stands(outcome: &ClaimOutcome) -> Vec<(&str, Beside)> {
        outcome.settings[0].against.iter().map(|it| (&*it.contender, it.stands)).collect()
    }

    #[test]
    fn a_claim_holds_only_beyond_chance_and_where_all_are_behind() {
        let all = [("a", 30, 100.0), ("b", 30, 50.0), ("a", 100, 100.0), ("c", 100, 40.0)];
        let holds = word(&all);
        assert_eq!(holds.word, ClaimWord::Holds);
        assert_eq!(stands(&holds), [("b", Beside::Behind), ("c", Beside::NotMeasured)]);
        let ratio = holds.settings[0].against[0].ratio.as_ref().unwrap();
        assert!((ratio.median - 2.0).abs() < 0.01, "{ratio:?}");
        let tie = word(&[("a", 30, 100.0), ("b", 30, 100.05)]);
        assert_eq!(tie.word, ClaimWord::DoesNot, "a tie is no lead");
        assert_eq!(stands(&tie), [("b", Beside::NotBehind), ("c", Beside::NotMeasured)]);
        let mixed =
            word(&[("a", 30, 100.0), ("b", 30, 50.0), ("a", 100, 100.0), ("b", 100, 150.0)]);
        assert_eq!(mixed.word, ClaimWord::Depends);
    }

    /// Who answers twice as much in the same CPU time takes half as much of it an answer.
    #[test]
    fn a_claim_is_decided_by_its_own_figure_of_which_less_may_be_better() {
        let by_cpu = || Claim { figure: CPU_US.into(), ..claim() };
        let holds = outcome_of(by_cpu(), &[("a", 30, 100.0), ("b", 30, 50.0)]);
        assert_eq!(holds.word, ClaimWord::Holds);
        let ratio = holds.settings[0].against[0].ratio.as_ref().unwrap();
        assert!((ratio.median - 0.5).abs() < 0.01, "{ratio:?}");
        let not = outcome_of(by_cpu(), &[("a", 30, 50.0), ("b", 30, 100.0)]);
        assert_eq!(not.word, ClaimWord::DoesNot);
    }

    #[test]
    fn a_claim_of_other_cores_says_nothing() {
        let rates = [("a", 30, 100.0), ("b", 30, 50.0)];
        let on = |cores| outcome_of(Claim { cores: Some(cores), ..claim() }, &rates).word;
        assert_eq!((on(Cores::One), on(Cores::All)), (ClaimWord::Holds, ClaimWord::NotKnown));
    }

    #[test]
    fn what_was_not_measured_decides_nothing() {
        let elsewhere = word(&[("a", 1000, 100.0), ("b", 1000, 50.0), ("a", 30, 100.0)]);
        assert_eq!((elsewhere.word, elsewhere.settings.len()), (ClaimWord::NotKnown, 0));
    }
}
