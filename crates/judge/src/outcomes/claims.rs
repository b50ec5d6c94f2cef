//! What became of a study's claims: each says that one contender is better than others by a
//! figure, and is decided by these two at a time, under the settings that it speaks of.

use std::cmp::Ordering;

use result::Run;
use result::durability::Classes;
use result::figure::{Better, Figure};
use result::finding::Verdict;
use result::outcome::{
    Beside, ClaimAgainst, ClaimInSetting, ClaimOutcome, ClaimWord, Estimate, Row,
};
use result::plan::{Claim, Setting};

use super::doubt;
use super::group::{Group, by_setting};
use super::ranked::unranked;
use crate::statistics::side;

/// A lead that is smaller than this is none that a claim means, unless it says so. To show that
/// there is none, the whole interval of their ratio has to lie below it by more than the noise
/// floor: a test of equivalence, as Schuirmann has it (1987). Not to find a lead shows nothing.
const SMALLEST_LEAD: f64 = 1.05;

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
    let decided = |word| settings.iter().filter(move |it| it.word == word).map(|it| it.verdict);
    let word = match (has(ClaimWord::Holds), has(ClaimWord::DoesNot)) {
        (true, true) => ClaimWord::Depends,
        (true, false) => ClaimWord::Holds,
        (false, true) => ClaimWord::DoesNot,
        (false, false) => ClaimWord::NotKnown,
    };
    // One setting in which it surely doesn't hold is enough; to hold, it takes all.
    let verdict = match word {
        ClaimWord::DoesNot => decided(ClaimWord::DoesNot).min(),
        _ => decided(ClaimWord::Holds).chain(decided(ClaimWord::DoesNot)).max(),
    };
    ClaimOutcome { word, verdict: verdict.unwrap_or(Verdict::Valid), settings }
}

/// Under each setting that it speaks of and where those that it compares were measured.
fn in_settings(run: &Run, claim: &Claim, figure: &Figure) -> Vec<ClaimInSetting> {
    let pace = run.study.kind.pace();
    let by_setting = by_setting(run, pace).into_iter();
    let of_it = by_setting.filter(|(setting, _)| speaks_of(claim, setting));
    let outcomes = of_it.filter_map(|(setting, trials)| {
        // Of stores there is an outcome for each class.
        let outcomes = run.outcomes_at(pace).filter(|it| it.setting == *setting);
        let rows = outcomes.flat_map(|it| it.rows.iter().map(|row| (row, it.classes()))).collect();
        Contest::new(Group::new(run, setting, trials), rows, figure).of(claim)
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
    /// Those that were measured, each with its class.
    rows: Vec<(&'a Row, Option<Classes>)>,
    figure: &'a Figure,
}

impl<'a> Contest<'a> {
    fn new(
        group: Group<'a>,
        rows: Vec<(&'a Row, Option<Classes>)>,
        figure: &'a Figure,
    ) -> Contest<'a> {
        Contest { group, rows, figure }
    }

    /// What is known of a claim; `None` where nothing that it compares was measured.
    fn of(&self, claim: &Claim) -> Option<ClaimInSetting> {
        let own = self.row(&claim.contender)?;
        let against: Vec<ClaimAgainst> =
            claim.against.iter().map(|other| self.beside(own, other, claim.lead)).collect();
        let has = |stands: Beside| against.iter().any(|it| it.stands == stands);
        if against.iter().all(|it| it.stands == Beside::NotMeasured) {
            return None;
        }
        let word = if has(Beside::NotBehind) {
            ClaimWord::DoesNot
        } else if has(Beside::NotRanked) || has(Beside::NotToldApart) {
            ClaimWord::NotKnown
        } else {
            ClaimWord::Holds
        };
        let decided =
            |stands| against.iter().filter(move |it| it.stands == stands).map(|it| it.verdict);
        let verdict = match word {
            ClaimWord::DoesNot => decided(Beside::NotBehind).min(),
            ClaimWord::Holds => decided(Beside::Behind).max(),
            _ => None,
        };
        let (setting, verdict) = (self.group.setting.clone(), verdict.unwrap_or(Verdict::Valid));
        Some(ClaimInSetting { setting, word, verdict, against })
    }

    fn row(&self, contender: &str) -> Option<(&'a Row, Option<Classes>)> {
        self.rows.iter().find(|(row, _)| row.contender == contender).copied()
    }

    fn beside(
        &self,
        (own, class): (&Row, Option<Classes>),
        other: &str,
        lead: Option<f64>,
    ) -> ClaimAgainst {
        let contender = other.into();
        let Some((row, class_of_other)) = self.row(other) else {
            let (stands, verdict) = (Beside::NotMeasured, Verdict::Valid);
            return ClaimAgainst { contender, stands, ratio: None, verdict };
        };
        let ratio = self.group.ratio(&own.contender, other, &self.figure.id);
        let stands = match &ratio {
            // A store that keeps nothing is no rival of one that waits for its disk.
            Some(ratio) if class == class_of_other => {
                let noise_floor = self.group.noise_floor(&self.figure.id, class);
                self.stands((own, row), ratio, noise_floor, lead)
            }
            _ => Beside::NotRanked,
        };
        let most = doubt::at_most(own, row).zip(ratio.as_ref().and_then(|it| self.interval(it)));
        let is_beyond_doubt =
            most.is_some_and(|(most, interval)| is_beyond(most, interval, stands, lead));
        let findings = own.findings.iter().chain(&row.findings).map(|it| it.verdict);
        let counts = |it: &Verdict| !is_beyond_doubt || *it != Verdict::Suspect;
        let verdict = findings.filter(counts).max().unwrap_or(Verdict::Valid);
        ClaimAgainst { contender, stands, ratio, verdict }
    }

    fn stands(
        &self,
        (own, other): (&Row, &Row),
        ratio: &Estimate,
        noise_floor: Result<f64, &'static str>,
        lead: Option<f64>,
    ) -> Beside {
        let may_be_ranked = |row| unranked(row, self.figure, noise_floor).is_none();
        // Of a block in which one of them has 0 there is no ratio. Those that are left would be
        // chosen by their outcome.
        let blocks = own.figure(&self.figure.id).map_or(0, |it| it.blocks.len());
        let is_whole = ratio.blocks.len() == blocks;
        let (Ok(floor), Some((least, most))) = (noise_floor, self.interval(ratio)) else {
            return Beside::NotRanked;
        };
        if !(may_be_ranked(own) && may_be_ranked(other) && is_whole) {
            return Beside::NotRanked;
        }
        let [own_is_bound, other_is_bound] =
            [own, other].map(|row| row.figure(&self.figure.id).is_some_and(|it| it.at_least));
        // A bound may be anything beyond it.
        let (own_may_be_better, other_may_be_better) = match self.figure.better {
            Better::More => (own_is_bound, other_is_bound),
            Better::Less => (other_is_bound, own_is_bound),
        };
        // As a condition of a duel has it, which names a threshold as well.
        let side_of = |threshold: f64| {
            let better: Vec<f64> = ratio.blocks.iter().map(|it| self.times_as_good(*it)).collect();
            let logs: Vec<f64> = better.iter().map(|it| (it / threshold).ln()).collect();
            side(&logs, Some(floor))
        };
        let (enough, too_little) = (lead.unwrap_or(1.0), lead.unwrap_or(SMALLEST_LEAD));
        if side_of(enough) == Some(Ordering::Greater) && least >= enough && !other_may_be_better {
            Beside::Behind
        } else if own_may_be_better {
            Beside::NotToldApart
        } else if side_of(1.0) == Some(Ordering::Less) || most * floor < too_little {
            Beside::NotBehind
        } else {
            Beside::NotToldApart
        }
    }

    /// Between which bounds it lies how many times as good the claim's contender is.
    fn interval(&self, ratio: &Estimate) -> Option<(f64, f64)> {
        let (low, high) = ratio.interval?;
        let [a, b] = [low, high].map(|end| self.times_as_good(end));
        Some((a.min(b), a.max(b)))
    }

    /// How many times as good one is whose figure is so many times another's.
    fn times_as_good(&self, ratio: f64) -> f64 {
        match self.figure.better {
            Better::More => ratio,
            Better::Less => 1.0 / ratio,
        }
    }
}

/// Whether doubts that move the ratio by a factor of `most` at most leave a claim's contender where
/// it stands.
fn is_beyond(most: f64, interval: (f64, f64), stands: Beside, lead: Option<f64>) -> bool {
    let (lowest, highest) = (interval.0 / most, interval.1 * most);
    match stands {
        Beside::Behind => lowest > lead.unwrap_or(1.0),
        Beside::NotBehind => highest < lead.unwrap_or(SMALLEST_LEAD),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use result::figure::{CPU_US, P99_US, RATE};
    use result::finding::Finding;
    use result::kind::Kind;
    use result::plan::{Cores, Pace, Value};

    use crate::outcomes::conclude;
    use crate::samples::{contender, cut_off, run_of, suspect, trial};

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
            lead: None,
            cores: None,
            values: BTreeMap::from([("connections".into(), vec![30.into(), Value::Number(100)])]),
        }
    }

    fn word(rates: &[(&str, u32, f64)]) -> ClaimOutcome {
        outcome_of(claim(), rates)
    }

    /// What becomes of a claim in six blocks with such rates at so many connections.
    fn outcome_of(claim: Claim, rates: &[(&str, u32, f64)]) -> ClaimOutcome {
        let mut run = run_with(claim, rates);
        conclude(&mut run);
        run.claims.remove(0)
    }

    /// The same with a rate a block, at 30 connections.
    fn outcome_in(claim: Claim, names: &[&str], rate: impl Fn(&str, u32) -> f64) -> ClaimOutcome {
        let mut run = run_in(claim, names, rate);
        conclude(&mut run);
        run.claims.remove(0)
    }

    fn run_in(claim: Claim, names: &[&str], rate: impl Fn(&str, u32) -> f64) -> Run {
        let setting = setting(30);
        let mut trials = Vec::new();
        for (block, name) in (0..6).flat_map(|block| names.iter().map(move |name| (block, name))) {
            let trial = trial(name, block, &setting, rate(name, block));
            if *name == "a" {
                let mut twin = trial.clone();
                twin.slot.twin = true;
                trials.push(twin);
            }
            trials.push(trial);
        }
        let mut run = run_of(&["a", "b", "c"].map(contender), trials);
        run.study.claims = vec![claim];
        run
    }

    fn run_with(claim: Claim, rates: &[(&str, u32, f64)]) -> Run {
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
        run
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
        let equal = word(&[("a", 30, 100.0), ("b", 30, 100.05)]);
        assert_eq!(equal.word, ClaimWord::DoesNot, "who is equal doesn't lead");
        assert_eq!(stands(&equal), [("b", Beside::NotBehind), ("c", Beside::NotMeasured)]);
        let mixed =
            word(&[("a", 30, 100.0), ("b", 30, 50.0), ("a", 100, 100.0), ("b", 100, 150.0)]);
        assert_eq!(mixed.word, ClaimWord::Depends);
    }

    /// Gateways are compared at a rate that was given. Else no claim on them is ever decided.
    #[test]
    fn a_claim_on_gateways_is_decided_at_the_rate_that_was_given() {
        let claim = Claim { figure: P99_US.into(), values: BTreeMap::new(), ..claim() };
        let mut run = run_in(claim, &["a", "b", "c"], |name, block| {
            let rate = if name == "a" { 200.0 } else { 100.0 };
            rate + f64::from(block)
        });
        run.study.kind = Kind::Rooms;
        run.study.figures = Kind::Rooms.figures(None);
        for trial in &mut run.trials {
            trial.slot.setting.pace = Pace::Fixed { per_s: 100 };
        }
        conclude(&mut run);
        assert_eq!(run.claims[0].word, ClaimWord::Holds, "{:?}", run.claims);
    }

    /// Stores of each class have an outcome of their own. Else a claim is decided by those of one
    /// class, and of all others nothing is known.
    #[test]
    fn a_claim_on_stores_looks_at_the_rows_of_all_classes() {
        let rates = [("a", 30, 900.0), ("b", 30, 100.0), ("c", 30, 50.0)];
        let becomes = |contender: &str, against: [&str; 2]| {
            let against = against.map(String::from).into();
            let mut run =
                run_with(Claim { contender: contender.into(), against, ..claim() }, &rates);
            for (contender, lost) in [("a", 9), ("b", 0), ("c", 0)] {
                run.durability.push(cut_off(contender, [Some(lost); 3]));
            }
            conclude(&mut run);
            run.claims.remove(0)
        };
        let in_memory = becomes("a", ["b", "c"]);
        assert_eq!(in_memory.word, ClaimWord::NotKnown, "a store that loses all beats no other");
        assert_eq!(stands(&in_memory), [("b", Beside::NotRanked), ("c", Beside::NotRanked)]);
        let on_disk = becomes("b", ["c", "a"]);
        assert_eq!(stands(&on_disk), [("c", Beside::Behind), ("a", Beside::NotRanked)]);
    }

    /// Six blocks in which `a` is as fast as `b` on the average, but for such noise.
    fn noisy(noise: f64) -> ClaimOutcome {
        let rate = |name: &str, block: u32| match (name, block % 2) {
            ("a", 0) | ("b", 1) => 100.0,
            _ => 100.0 * noise,
        };
        outcome_in(claim(), &["a", "b"], rate)
    }

    #[test]
    fn not_to_find_a_lead_is_no_proof_that_there_is_none() {
        assert_eq!(stands(&noisy(1.01))[0], ("b", Beside::NotBehind));
        let noisy = noisy(1.10);
        assert_eq!(noisy.word, ClaimWord::NotKnown, "10 % between blocks hide any lead");
        assert_eq!(stands(&noisy)[0], ("b", Beside::NotToldApart));
    }

    #[test]
    fn a_claim_of_twice_as_much_needs_twice_as_much() {
        let of = |lead, rate| {
            let claim = Claim { lead: Some(lead), ..claim() };
            outcome_of(claim, &[("a", 30, rate), ("b", 30, 100.0)]).word
        };
        assert_eq!(of(2.0, 210.0), ClaimWord::Holds);
        assert_eq!(of(2.0, 190.0), ClaimWord::DoesNot, "it leads, but not by so much");
        let around =
            outcome_in(Claim { lead: Some(2.0), ..claim() }, &["a", "b"], |name, block| {
                if name == "a" { 190.0 + 5.0 * f64::from(block) } else { 100.0 }
            });
        assert_eq!(around.word, ClaimWord::NotKnown, "its interval has 2 within it");
    }

    /// Identical entries that are 1.5 times apart tell nothing of a lead of 2 or of 1.9.
    #[test]
    fn a_lead_that_the_noise_could_make_is_not_known() {
        let of = |rate: f64, noise: f64| {
            let rates = |name: &str, block: u32| match (name, block % 2) {
                ("a", _) => rate,
                (_, 0) => 100.0,
                _ => 100.2,
            };
            let mut run = run_in(Claim { lead: Some(2.0), ..claim() }, &["a", "b"], rates);
            for twin in run.trials.iter_mut().filter(|it| it.slot.twin) {
                twin.evidence.work.as_mut().unwrap().rate *= noise;
            }
            conclude(&mut run);
            run.claims.remove(0).word
        };
        assert_eq!((of(210.0, 1.01), of(190.0, 1.01)), (ClaimWord::Holds, ClaimWord::DoesNot));
        assert_eq!((of(210.0, 1.5), of(190.0, 1.5)), (ClaimWord::NotKnown, ClaimWord::NotKnown));
        assert_eq!(of(330.0, 1.5), ClaimWord::Holds, "it leads by more than the noise beyond 2");
    }

    #[test]
    fn a_figure_of_nothing_gives_no_ratio_and_decides_nothing() {
        let of = |name: &str, block: u32| match (name, block) {
            ("b", 0) => 0.0,
            ("b", _) => 50.0,
            _ => 100.0,
        };
        let some = outcome_in(claim(), &["a", "b"], of);
        assert_eq!(some.word, ClaimWord::NotKnown, "the blocks that are left were chosen by it");
    }

    #[test]
    fn doubt_in_what_decides_a_claim_stays_beside_its_word() {
        let rates = [("a", 30, 100.0), ("b", 30, 50.0)];
        let with = |off_by_max| {
            let mut run = run_with(claim(), &rates);
            conclude(&mut run);
            for row in run.outcomes.iter_mut().flat_map(|it| &mut it.rows) {
                row.findings.push(Finding { off_by_max, ..suspect("steady") });
                row.verdict = Verdict::Suspect;
            }
            outcomes(&run).remove(0)
        };
        let doubted = with(None);
        assert_eq!((doubted.word, doubted.verdict), (ClaimWord::Holds, Verdict::Suspect));
        assert_eq!(doubted.settings[0].verdict, Verdict::Suspect);
        assert_ne!(with(Some(1.1)).verdict, Verdict::Suspect, "a doubt of 10 % of a lead of 100 %");
    }

    #[test]
    fn doubt_counts_against_the_lead_that_a_claim_speaks_of() {
        let with = |rate, off_by_max| {
            let claim = Claim { lead: Some(2.0), ..claim() };
            let mut run = run_with(claim, &[("a", 30, rate), ("b", 30, 100.0)]);
            conclude(&mut run);
            for row in run.outcomes.iter_mut().flat_map(|it| &mut it.rows) {
                row.findings.push(Finding { off_by_max: Some(off_by_max), ..suspect("steady") });
                row.verdict = Verdict::Suspect;
            }
            let outcome = outcomes(&run).remove(0);
            (outcome.word, outcome.verdict)
        };
        let doubted = (ClaimWord::Holds, Verdict::Suspect);
        assert_eq!(
            with(220.0, 1.2),
            doubted,
            "2.2 times may be 1.5, which is a lead, but not of 2"
        );
        assert_eq!(with(400.0, 1.2).0, ClaimWord::Holds);
        assert_ne!(with(400.0, 1.2).1, Verdict::Suspect, "4 times is 2.8 at least");
        let doubted = (ClaimWord::DoesNot, Verdict::Suspect);
        assert_eq!(with(180.0, 1.2), doubted, "1.8 times may be 2.6");
        assert_ne!(with(120.0, 1.2).1, Verdict::Suspect, "1.2 times is 1.7 at most");
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
