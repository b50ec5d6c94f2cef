//! Whether a mistake was caught, and whether the set-up without it is clean. The
//! judging is the lab's; here its words are only looked up.

use judge::checks::is_about_the_machine;
use result::Run;
use result::figure::{P99_US, RATE};
use result::finding::{Finding, Verdict};
use result::outcome::Row;

use crate::mistake::{CaughtBy, Expect};
use crate::survived;

/// What came of a mistake.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    /// What the check saw, or why the mistake is not caught.
    pub caught: Result<String, String>,
    /// What speaks against the set-up without the mistake: false alarms.
    pub alarms: Vec<Alarm>,
    /// What speaks against the machine while the set-up without the mistake was
    /// measured: whether that is true can't be told from here.
    pub disturbed: Vec<Alarm>,
    /// The check that speaks against it and is right, on few cores.
    pub also: Option<String>,
}

/// A check that speaks against a set-up in which nothing is wrong.
#[derive(Debug, Clone, PartialEq)]
pub struct Alarm {
    /// Whose figure.
    pub contender: String,
    /// The check's id.
    pub check: String,
    /// Its word.
    pub verdict: Verdict,
    /// What it measured.
    pub value: String,
}

impl Seen {
    /// Whether the mistake is caught and the set-up without it clean.
    pub fn is_caught(&self) -> bool {
        self.caught.is_ok() && self.alarms.is_empty() && self.disturbed.is_empty()
    }

    /// Whether the mistake is caught, and nothing but the machine spoke against the
    /// set-up without it.
    pub fn is_disturbed(&self) -> bool {
        self.caught.is_ok() && self.alarms.is_empty() && !self.disturbed.is_empty()
    }
}

/// Looks up what the judging says of both runs.
pub fn of(sabotaged: &Run, clean: &Run, expect: &Expect) -> Seen {
    let caught = match expect.caught_by.get_ref() {
        CaughtBy::Check(id) => by_check(sabotaged, id),
        CaughtBy::Tie => by_tie(sabotaged),
        CaughtBy::Withheld => by_withholding(sabotaged),
        CaughtBy::Class => survived::other_class(sabotaged),
        CaughtBy::Promise => survived::broken_promise(sabotaged),
    };
    let shared = clean.trials.iter().any(|trial| trial.evidence.place.shared());
    let also = expect.also_on_few_cores.as_ref().map(|id| id.get_ref());
    let also = also.filter(|_| shared);
    let (mut alarms, right): (Vec<Alarm>, Vec<Alarm>) =
        alarms(clean).into_iter().partition(|alarm| Some(&alarm.check) != also);
    // Where another check is right to speak, this one may have nothing to go by.
    if let CaughtBy::Check(id) = expect.caught_by.get_ref()
        && right.is_empty()
    {
        alarms.extend(not_checked(clean, id));
    }
    alarms.extend(of_what_survived(clean, expect.caught_by.get_ref()));
    let (disturbed, alarms) = alarms.into_iter().partition(|it| is_about_the_machine(&it.check));
    Seen { caught, alarms, disturbed, also: right.first().map(|alarm| alarm.check.clone()) }
}

/// The rows that a mistake shows in.
pub(crate) fn rows(run: &Run) -> impl Iterator<Item = &Row> {
    run.outcomes_at(run.study.kind.pace()).flat_map(|outcome| &outcome.rows)
}

/// The row of the contender that the run names first.
fn row(run: &Run) -> Result<&Row, String> {
    let first = run.contenders.first().map(|it| it.name.as_str()).unwrap_or_default();
    rows(run).find(|row| row.contender == first).ok_or_else(|| {
        let failure = run.trials.iter().find_map(|it| it.evidence.process.failure.as_ref());
        let why = failure.map(|failure| format!(": {failure}")).unwrap_or_default();
        format!("no trial got as far as load{why}")
    })
}

/// The expected check must be among the worst words on the figure.
fn by_check(run: &Run, id: &str) -> Result<String, String> {
    let row = row(run)?;
    let own = row.findings.iter().find(|finding| finding.check == id);
    let own = own.ok_or_else(|| format!("`{id}` gave no word"))?;
    let is_worst = own.verdict == row.verdict && own.verdict >= Verdict::Suspect;
    if is_worst {
        return Ok(own.value.clone());
    }
    let worst: Vec<&Finding> = row
        .findings
        .iter()
        .filter(|it| it.verdict == row.verdict && it.verdict >= Verdict::Suspect)
        .collect();
    let others = match &worst[..] {
        [] => "nothing speaks against the figure".to_string(),
        worst => {
            let names: Vec<String> =
                worst.iter().map(|it| format!("`{}`: {}", it.check, it.value)).collect();
            format!("the worst is {} ({})", row.verdict.word(), names.join("; "))
        }
    };
    Err(format!("`{id}` says {} ({}); {others}", own.verdict.word(), own.value))
}

/// All are ranked, and none before another.
fn by_tie(run: &Run) -> Result<String, String> {
    let rows: Vec<&Row> = rows(run).collect();
    if rows.len() < 2 {
        return Err("fewer than two entries were measured".into());
    }
    if rows.iter().any(|row| row.rank(RATE) > Some(1)) {
        return Err("equal entries were ranked one before the other".into());
    }
    let unranked: Vec<&Row> = rows.iter().copied().filter(|row| row.rank(RATE).is_none()).collect();
    let Some(first) = unranked.first() else { return Ok("no rank before another".into()) };
    let unranked_for = |row: &Row| row.standings.get(RATE)?.unranked.clone();
    let reason = |row: &Row| unranked_for(row).unwrap_or_else(|| "for no known reason".into());
    let is_one_reason = unranked.iter().all(|row| unranked_for(row) == unranked_for(first));
    Err(if unranked.len() == rows.len() && is_one_reason {
        format!("nobody was ranked: {}", reason(first))
    } else {
        let each = |row: &&Row| format!("{} wasn't ranked: {}", row.contender, reason(row));
        unranked.iter().map(each).collect::<Vec<_>>().join("; ")
    })
}

/// The figure has no 99th percentile.
fn by_withholding(run: &Run) -> Result<String, String> {
    match row(run)?.figure(P99_US) {
        None => Ok("too few samples beyond it".into()),
        Some(_) => Err("the percentile is shown".into()),
    }
}

/// The expected check, if it had nothing to go by on the set-up without the mistake:
/// its silence tells nothing then.
fn not_checked(clean: &Run, id: &str) -> Option<Alarm> {
    let row = row(clean).ok()?;
    let own = row.findings.iter().find(|finding| finding.check == id)?;
    (own.verdict == Verdict::NotChecked).then(|| Alarm {
        contender: row.contender.clone(),
        check: id.into(),
        verdict: own.verdict,
        value: own.says.trim_end_matches('.').into(),
    })
}

/// What stores were found to survive, if that speaks against the set-up without the mistake,
/// or isn't known.
fn of_what_survived(clean: &Run, by: &CaughtBy) -> Option<Alarm> {
    let said = match by {
        CaughtBy::Class => survived::other_class(clean),
        CaughtBy::Promise => survived::broken_promise(clean),
        CaughtBy::Check(_) | CaughtBy::Tie | CaughtBy::Withheld => return None,
    };
    let (verdict, value) = match (said, survived::is_known(clean)) {
        (Ok(value), _) => (Verdict::Invalid, value),
        (Err(_), Err(why)) => (Verdict::NotChecked, why),
        (Err(_), Ok(())) => return None,
    };
    let contender = clean.contenders.first()?.name.clone();
    Some(Alarm { contender, check: by.word().into(), verdict, value })
}

/// What speaks against any figure of a run.
fn alarms(run: &Run) -> Vec<Alarm> {
    let mut alarms: Vec<Alarm> = Vec::new();
    for row in rows(run) {
        let against = row.findings.iter().filter(|it| it.verdict >= Verdict::Suspect);
        alarms.extend(against.map(|finding| Alarm {
            contender: row.contender.clone(),
            check: finding.check.clone(),
            verdict: finding.verdict,
            value: finding.value.clone(),
        }));
    }
    if let Err(why) = row(run) {
        let contender = run.contenders.first().map(|it| it.name.clone()).unwrap_or_default();
        let (check, verdict) = ("contract".into(), Verdict::Invalid);
        alarms.push(Alarm { contender, check, verdict, value: why });
    }
    alarms
}

#[cfg(test)]
pub(crate) mod tests {
    use result::evidence::{Evidence, Place};
    use result::kind::Kind;
    use result::outcome::{Estimate, Outcome, Standing};
    use result::plan::{Cores, Pace, Setting, Slot};
    use result::{Run, Trial};

    use super::*;
    use crate::mistake::SetUp;

    fn finding(check: &str, verdict: Verdict) -> Finding {
        Finding {
            check: check.into(),
            verdict,
            value: format!("value of {check}"),
            threshold: String::new(),
            says: String::new(),
            fix: String::new(),
            off_by_max: None,
        }
    }

    pub(crate) fn estimate(median: f64) -> Estimate {
        Estimate { median, interval: None, at_least: false, at_most: false, blocks: vec![median] }
    }

    pub(crate) fn row_of(contender: &str, findings: &[(&str, Verdict)]) -> Row {
        let mut findings: Vec<Finding> =
            findings.iter().map(|(check, verdict)| finding(check, *verdict)).collect();
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.verdict));
        Row {
            contender: contender.into(),
            limit: None,
            figures: [RATE, P99_US].map(|id| (id.to_string(), estimate(1.0))).into(),
            standings: [(RATE.to_string(), Standing::default())].into(),
            verdict: result::finding::worst(&findings),
            findings,
        }
    }

    /// The row with another standing by its rate.
    pub(crate) fn standing(row: Row, standing: Standing) -> Row {
        Row { standings: [(RATE.to_string(), standing)].into(), ..row }
    }

    pub(crate) fn run(rows: Vec<Row>) -> Run {
        let contender = |name: &str| {
            serde_json::json!({
                "name": name, "title": name, "language": "", "tier": "idiomatic", "versions": [],
                "run": [], "environment": [], "warmup_s": 0.0, "absent": null
            })
        };
        let setting = Setting::closed(1, Cores::One, true);
        let outcome = Outcome {
            setting,
            class: None,
            class_at_most: None,
            offered: None,
            rankings: Vec::new(),
            rows,
        };
        let mut run: Run = serde_json::from_value(serde_json::json!({
            "schema": result::SCHEMA, "bakeoff": "", "id": "", "started": "", "state": "complete",
            "command": "", "machine": result::plan::Machine::default(),
            "study": { "name": "", "title": "", "question": "", "contract": "",
                "kind": "http", "published": [] },
            "contenders": [contender("a"), contender("b")],
            "plan": { "profile": "", "seed": 1, "blocks": 1, "measure_s": 1.0, "warmup_s": 1.0,
                "slots": [] },
            "trials": [], "outcomes": []
        }))
        .expect("an empty run");
        run.outcomes = vec![outcome];
        run
    }

    fn expecting(caught_by: &str, more: &str) -> Expect {
        let set_up: SetUp = toml::from_str(&format!(
            "study = 's'\n\
             [run]\nblocks = 1\nmeasure_s = 1\nwarmup_s = 1\n\
             settings = [{{ cores = 'one', connections = [1] }}]\n\
             [expect]\ncaught_by = {caught_by}\nnaive = 'rate'\n{more}"
        ))
        .unwrap();
        set_up.expect
    }

    fn errors() -> Expect {
        expecting("{ check = 'errors' }", "")
    }

    fn clean() -> Run {
        run(vec![row_of("a", &[("errors", Verdict::Valid), ("steady", Verdict::NotChecked)])])
    }

    #[test]
    fn the_expected_check_as_one_of_the_worst_catches_it() {
        let both = [("errors", Verdict::Invalid), ("steady", Verdict::Invalid)];
        let seen = of(&run(vec![row_of("a", &both)]), &clean(), &errors());
        assert_eq!(seen.caught, Ok("value of errors".into()));
        assert!(seen.is_caught());
    }

    #[test]
    fn another_check_does_not_catch_it() {
        let other = [("errors", Verdict::Valid), ("steady", Verdict::Invalid)];
        let seen = of(&run(vec![row_of("a", &other)]), &clean(), &errors());
        assert!(!seen.is_caught());
        let why = seen.caught.unwrap_err();
        assert!(why.contains("`errors` says valid") && why.contains("`steady`"), "{why}");
    }

    #[test]
    fn a_doubt_beside_something_worse_does_not_catch_it() {
        let less = [("errors", Verdict::Suspect), ("steady", Verdict::Invalid)];
        assert!(!of(&run(vec![row_of("a", &less)]), &clean(), &errors()).is_caught());
    }

    #[test]
    fn a_check_that_is_not_checked_does_not_catch_it() {
        let blind = [("errors", Verdict::NotChecked)];
        assert!(!of(&run(vec![row_of("a", &blind)]), &clean(), &errors()).is_caught());
    }

    #[test]
    fn the_figure_of_another_contender_does_not_catch_it() {
        let rows = vec![
            row_of("a", &[("errors", Verdict::Valid)]),
            row_of("b", &[("errors", Verdict::Invalid)]),
        ];
        assert!(!of(&run(rows), &clean(), &errors()).is_caught());
    }

    #[test]
    fn a_run_that_never_got_as_far_as_load_catches_nothing() {
        let seen = of(&run(Vec::new()), &clean(), &errors());
        assert!(seen.caught.unwrap_err().contains("as far as load"));
        let caught = run(vec![row_of("a", &[("errors", Verdict::Invalid)])]);
        let seen = of(&caught, &run(Vec::new()), &errors());
        assert!(!seen.is_caught(), "a twin without figures is not clean");
    }

    #[test]
    fn a_doubt_without_the_mistake_is_a_false_alarm_whosever_figure_it_is() {
        let caught = run(vec![row_of("a", &[("errors", Verdict::Invalid)])]);
        let rows = vec![
            row_of("a", &[("errors", Verdict::Valid)]),
            row_of("b", &[("steady", Verdict::Suspect)]),
        ];
        let seen = of(&caught, &run(rows), &errors());
        assert!(seen.caught.is_ok() && !seen.is_caught());
        assert_eq!((&*seen.alarms[0].contender, &*seen.alarms[0].check), ("b", "steady"));
    }

    #[test]
    fn an_expected_check_without_a_sensor_leaves_the_clean_set_up_unproven() {
        let caught = run(vec![row_of("a", &[("errors", Verdict::Invalid)])]);
        let blind = run(vec![row_of("a", &[("errors", Verdict::NotChecked)])]);
        assert!(!of(&caught, &blind, &errors()).is_caught());
    }

    #[test]
    fn a_disturbed_machine_is_no_false_alarm_and_not_clean() {
        let caught = run(vec![row_of("a", &[("errors", Verdict::Invalid)])]);
        let noisy = run(vec![row_of("a", &[("quiet-machine", Verdict::Suspect)])]);
        let seen = of(&caught, &noisy, &errors());
        assert!(!seen.is_caught() && seen.is_disturbed());
        let worse = [("quiet-machine", Verdict::Suspect), ("steady", Verdict::Suspect)];
        let seen = of(&caught, &run(vec![row_of("a", &worse)]), &errors());
        assert!(!seen.is_caught() && !seen.is_disturbed(), "another check speaks as well");
    }

    #[test]
    fn what_few_cores_are_to_blame_for_is_let_pass_on_few_cores_only() {
        let expect = expecting("{ check = 'errors' }", "also_on_few_cores = 'shared-cores'");
        let caught = run(vec![row_of("a", &[("errors", Verdict::Invalid)])]);
        let mut doubtful = run(vec![row_of("a", &[("shared-cores", Verdict::Suspect)])]);
        assert!(!of(&caught, &doubtful, &expect).is_caught(), "on many cores");
        let place = Place { server_cpus: vec![0], client_cpus: vec![0], cores: vec![vec![0]] };
        doubtful.trials.push(Trial {
            slot: Slot {
                number: 0,
                block: 0,
                contender: "a".into(),
                twin: false,
                setting: Setting::closed(1, Cores::All, true),
            },
            started: String::new(),
            evidence: Evidence { place, ..Evidence::default() },
            findings: Vec::new(),
        });
        let seen = of(&caught, &doubtful, &expect);
        assert!(seen.is_caught());
        assert_eq!(seen.also.as_deref(), Some("shared-cores"));
        doubtful.outcomes[0].rows[0].findings.push(finding("errors", Verdict::NotChecked));
        assert!(of(&caught, &doubtful, &expect).is_caught(), "what shares cores hides more");
    }

    #[test]
    fn equal_entries_have_to_be_ranked_and_to_tie() {
        let tie = expecting("'tie'", "");
        let ranked = |ranks: [Option<u32>; 2]| {
            let mut rows = vec![
                row_of("a", &[("errors", Verdict::Valid)]),
                row_of("b", &[("errors", Verdict::Valid)]),
            ];
            rows.iter_mut()
                .zip(ranks)
                .for_each(|(row, rank)| row.standings.get_mut(RATE).unwrap().rank = rank);
            let run = run(rows);
            of(&run, &run, &tie).is_caught()
        };
        assert!(ranked([Some(1), Some(1)]));
        assert!(!ranked([Some(1), Some(2)]), "a winner among equals");
        assert!(!ranked([None, None]), "who isn't ranked doesn't tie");
    }

    #[test]
    fn who_wasnt_ranked_is_told_and_nobody_else() {
        let why = |standings: &[(Option<u32>, Option<&str>)]| {
            let rows = ["a", "b"].iter().zip(standings).map(|(name, &(rank, unranked))| {
                let unranked = unranked.map(str::to_string);
                standing(row_of(name, &[]), Standing { rank, unranked, ..Standing::default() })
            });
            by_tie(&run(rows.collect())).unwrap_err()
        };
        let (noise, invalid) = (Some("no noise floor"), Some("the figures are invalid"));
        assert_eq!(why(&[(None, noise), (None, noise)]), "nobody was ranked: no noise floor");
        assert_eq!(
            why(&[(Some(1), None), (None, invalid)]),
            "b wasn't ranked: the figures are invalid"
        );
        assert_eq!(
            why(&[(None, noise), (None, invalid)]),
            "a wasn't ranked: no noise floor; b wasn't ranked: the figures are invalid"
        );
        assert_eq!(why(&[(Some(1), None)]), "fewer than two entries were measured");
    }

    /// Else no mistake of gateways would be caught, and each set-up without it be clean.
    #[test]
    fn gateways_are_looked_at_under_the_rate_that_all_are_offered() {
        let at_a_rate = |verdict| {
            let mut run = run(vec![row_of("a", &[("deliveries", verdict)])]);
            run.study.kind = Kind::Rooms;
            run.outcomes[0].setting.pace = Pace::Fixed { per_s: 1_000 };
            run
        };
        let expect = expecting("{ check = 'deliveries' }", "");
        let (lying, sound) = (at_a_rate(Verdict::Invalid), at_a_rate(Verdict::Valid));
        assert!(of(&lying, &sound, &expect).is_caught());
        assert!(!of(&sound, &sound, &expect).is_caught());
        assert!(!of(&lying, &lying, &expect).is_caught(), "a false alarm");
    }

    /// Else the museum would pass where nobody may cut stores off.
    #[test]
    fn what_stores_survive_has_to_be_known_of_both_runs() {
        let seen = of(&clean(), &clean(), &expecting("'promise'", ""));
        assert!(seen.caught.unwrap_err().contains("isn't known"));
        assert_eq!(
            (&*seen.alarms[0].check, seen.alarms[0].verdict),
            ("promise", Verdict::NotChecked)
        );
    }

    #[test]
    fn a_percentile_has_to_be_withheld() {
        let expect = expecting("'withheld'", "");
        let shown = run(vec![row_of("a", &[("errors", Verdict::Valid)])]);
        assert!(!of(&shown, &clean(), &expect).is_caught());
        let mut row = row_of("a", &[("errors", Verdict::Valid)]);
        row.figures.remove(P99_US);
        assert!(of(&run(vec![row]), &clean(), &expect).is_caught());
    }
}
