//! The runs by which reports are tested, beside what the judge makes of their trials. The crate
//! `report` may not know the judge, so it can't look itself.

use std::collections::BTreeSet;

use result::Run;
use result::outcome::Outcome;

#[path = "../../../report/tests/fixture/mod.rs"]
mod runs;

/// Else pages would be tested by rows and figures that no run has any more.
#[test]
fn reports_are_tested_by_outcomes_as_the_judge_makes_them() {
    for run in
        [runs::web(), runs::quick(), runs::without("go"), runs::published(), runs::open_loops()]
    {
        let mut judged = run.clone();
        for trial in &mut judged.trials {
            trial.findings = judge::checks::judge(run.study.kind, &trial.slot, &trial.evidence);
        }
        judge::outcomes::conclude(&mut judged);
        assert_eq!(shape(&run), shape(&judged));
    }
}

/// Of each outcome its setting, contenders, figures, and what it ranks by.
fn shape(run: &Run) -> Vec<String> {
    let of = |outcome: &Outcome| {
        let rows: BTreeSet<&str> = outcome.rows.iter().map(|row| &*row.contender).collect();
        let figures: BTreeSet<&String> =
            outcome.rows.iter().flat_map(|it| it.figures.keys()).collect();
        let rankings: Vec<&String> = outcome.rankings.iter().map(|it| &it.figure).collect();
        format!("{:?}: {rows:?} {figures:?} {rankings:?}", outcome.setting)
    };
    run.outcomes.iter().map(of).collect()
}
