//! What became of a study's claims: each says that one contender does more than others, and is
//! decided by the ranks that these have under the settings that it speaks of.

use result::Run;
use result::outcome::{ClaimInSetting, ClaimOutcome, ClaimWord, Outcome, Row};
use result::plan::{Claim, PaceKind, Setting};

/// Of each claim, in the study's order.
pub(super) fn outcomes(run: &Run) -> Vec<ClaimOutcome> {
    run.study.claims.iter().map(|claim| outcome(claim, run.outcomes_at(PaceKind::Free))).collect()
}

fn outcome<'a>(claim: &Claim, outcomes: impl Iterator<Item = &'a Outcome>) -> ClaimOutcome {
    let of_it = outcomes.filter(|outcome| speaks_of(claim, &outcome.setting));
    let settings: Vec<ClaimInSetting> = of_it.filter_map(|it| in_setting(claim, it)).collect();
    let has = |word: ClaimWord| settings.iter().any(|it| it.word == word);
    let word = match (has(ClaimWord::Holds), has(ClaimWord::DoesNot)) {
        (true, true) => ClaimWord::Depends,
        (true, false) => ClaimWord::Holds,
        (false, true) => ClaimWord::DoesNot,
        (false, false) => ClaimWord::NotKnown,
    };
    ClaimOutcome { word, settings }
}

fn speaks_of(claim: &Claim, setting: &Setting) -> bool {
    claim.values.iter().all(|(dimension, values)| {
        setting.value(dimension).is_some_and(|value| values.contains(value))
    })
}

/// What is known under one setting; `None` where those that it compares weren't measured.
fn in_setting(claim: &Claim, outcome: &Outcome) -> Option<ClaimInSetting> {
    let figure = &outcome.ranking()?.figure;
    let row = |name: &String| outcome.rows.iter().find(|row| row.contender == *name);
    let own = row(&claim.contender)?;
    let others: Vec<&Row> = claim.against.iter().filter_map(row).collect();
    let not_measured: Vec<String> =
        claim.against.iter().filter(|name| row(name).is_none()).cloned().collect();
    if others.is_empty() {
        return None;
    }
    let own_rank = own.rank(figure);
    // Equal ranks are a tie: no difference beyond chance and noise.
    let is_not_behind =
        |other: &&&Row| own_rank.zip(other.rank(figure)).is_some_and(|(own, its)| its <= own);
    let not_behind: Vec<String> =
        others.iter().filter(is_not_behind).map(|row| row.contender.clone()).collect();
    let are_ranked = own_rank.is_some() && others.iter().all(|row| row.rank(figure).is_some());
    let word = match (not_behind.is_empty(), are_ranked) {
        (false, _) => ClaimWord::DoesNot,
        (true, true) => ClaimWord::Holds,
        (true, false) => ClaimWord::NotKnown,
    };
    Some(ClaimInSetting { setting: outcome.setting.clone(), word, not_behind, not_measured })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use result::plan::{Cores, Value};

    use crate::outcomes::conclude;
    use crate::samples::{contender, run_of, trial};

    use super::*;

    fn setting(connections: u32) -> Setting {
        Setting::closed(connections, Cores::One, true)
    }

    /// Six blocks under two settings; what is claimed of `a` over `b` and `c` at 30 and 100.
    fn word(rates: &[(&str, u32, f64)]) -> ClaimOutcome {
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
        run.study.claims = vec![Claim {
            says: "a is the fastest".into(),
            source: "somebody".into(),
            contender: "a".into(),
            against: vec!["b".into(), "c".into()],
            values: BTreeMap::from([("connections".into(), vec![30.into(), Value::Number(100)])]),
        }];
        conclude(&mut run);
        run.claims.remove(0)
    }

    #[test]
    fn a_claim_holds_only_beyond_chance_and_where_all_are_behind() {
        let all = [("a", 30, 100.0), ("b", 30, 50.0), ("a", 100, 100.0), ("c", 100, 40.0)];
        let holds = word(&all);
        assert_eq!(holds.word, ClaimWord::Holds);
        assert_eq!(holds.settings[0].not_measured, ["c"], "who isn't there is told");
        let tie = word(&[("a", 30, 100.0), ("b", 30, 100.05)]);
        assert_eq!(tie.word, ClaimWord::DoesNot, "a tie is no lead");
        assert_eq!(tie.settings[0].not_behind, ["b"]);
        let mixed =
            word(&[("a", 30, 100.0), ("b", 30, 50.0), ("a", 100, 100.0), ("b", 100, 150.0)]);
        assert_eq!(mixed.word, ClaimWord::Depends);
    }

    #[test]
    fn what_was_not_measured_decides_nothing() {
        let elsewhere = word(&[("a", 1000, 100.0), ("b", 1000, 50.0), ("a", 30, 100.0)]);
        assert_eq!((elsewhere.word, elsewhere.settings.len()), (ClaimWord::NotKnown, 0));
    }
}
