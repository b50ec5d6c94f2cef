//! The first sentence, which many readers read alone.

use report::{Terminal, terminal};
use result::figure::RATE;
use result::finding::{Finding, Verdict};
use result::outcome::Estimate;
use result::plan::Tier;
use result::{Run, State};

use crate::fixture;

fn headline(run: &Run) -> String {
    let wide = Terminal { columns: 1_000, colour: false };
    terminal(run, wide).lines().next().unwrap().to_string()
}

/// Gives ranks to a load's rows, by contender.
fn rank(run: &mut Run, load: usize, ranks: &[(&str, Option<u32>)]) {
    for (contender, rank) in ranks {
        fixture::standing_of(fixture::row_of(run, load, contender)).rank = *rank;
    }
    run.outcomes[load].rankings[0].sentence = format!("Something else under load {load}.");
}

#[test]
fn one_winner_of_all_loads_comes_with_the_closest_other() {
    insta::assert_snapshot!(headline(&fixture::web()), @"nginx, by configuration alone (suspect) is first of those ranked under all 4 loads; Go net/http comes closest, with ≤64 % (62–65) of that.");
}

/// Two words of doubt in a headline tell nothing where no doubt can change the order.
#[test]
fn doubt_that_cannot_change_an_order_is_told_as_such() {
    let mut run = fixture::web();
    run.outcomes.truncate(1);
    for row in &mut run.outcomes[0].rows {
        row.verdict = Verdict::Suspect;
        let standing = fixture::standing_of(row);
        standing.beyond_doubt = standing.rank > Some(1);
    }
    insta::assert_snapshot!(headline(&run), @"nginx, by configuration alone answers the most requests a second; Go net/http comes closest: 1.56 times apart, far beyond what is doubted.");
    fixture::standing_of(fixture::row_of(&mut run, 0, "erlang")).beyond_doubt = false;
    assert!(headline(&run).contains("(suspect)"), "one order may change: {}", headline(&run));
}

#[test]
fn winners_that_differ_come_with_their_loads() {
    let mut run = fixture::web();
    rank(&mut run, 3, &[("go", Some(1)), ("nginx-return", Some(2)), ("erlang", Some(3))]);
    let ratio = fixture::standing_of(fixture::row_of(&mut run, 3, "nginx-return"));
    let ratio = ratio.ratio.as_mut().unwrap();
    (ratio.median, ratio.interval) = (0.9, Some((0.89, 0.91)));
    insta::assert_snapshot!(headline(&run), @"nginx, by configuration alone (suspect) is first of those ranked under 3 of 4 loads; Go net/http comes closest, with ≤64 % (62–65) of that.");
}

#[test]
fn who_alone_could_be_ranked_has_won_nothing() {
    let mut run = fixture::web();
    for load in 0..3 {
        rank(&mut run, load, &[("go", None), ("nginx-return", None), ("erlang", Some(1))]);
    }
    insta::assert_snapshot!(headline(&run), @"nginx, by configuration alone answers the most requests a second under 1 of 4 loads; Go net/http comes closest, with 63 % (61–64) of that.");
    rank(&mut run, 3, &[("go", None), ("nginx-return", None), ("erlang", Some(1))]);
    insta::assert_snapshot!(headline(&run), @"Only Erlang/OTP gen_tcp could be ranked under all 4 loads, which is no win: what is against the others stands below.");
}

#[test]
fn a_winner_with_a_lighter_contract_is_named_as_such() {
    insta::assert_snapshot!(headline(&fixture::lighter()), @"nginx, static file (lighter contract: static) (suspect) is first of those ranked under all 4 loads; Go net/http comes closest, with ≤64 % (62–65) of that.");
}

#[test]
fn a_tie_names_all_who_tie() {
    let mut run = fixture::web();
    for load in 0..4 {
        rank(&mut run, load, &[("go", Some(1)), ("erlang", Some(1))]);
    }
    insta::assert_snapshot!(headline(&run), @"nginx, by configuration alone (suspect), Go net/http and Erlang/OTP gen_tcp tie for the most requests a second under all 4 loads.");
}

/// Rows stand by their rates, and among those that tie chance has the order.
#[test]
fn a_tie_is_the_same_in_whatever_order_its_rows_stand() {
    let mut run = fixture::web();
    for load in 0..4 {
        rank(&mut run, load, &[("go", Some(1)), ("erlang", Some(1))]);
        run.outcomes[load].rows.rotate_left(load % 3);
    }
    let says = headline(&run);
    assert!(says.contains(" tie for the most requests a second under all 4 loads"), "{says}");
}

#[test]
fn where_each_load_has_others_first_the_headline_says_of_how_many_it_speaks() {
    let mut run = fixture::largest();
    for (load, outcome) in run.outcomes.iter_mut().enumerate() {
        for (place, row) in outcome.rows.iter_mut().enumerate() {
            fixture::standing_of(row).rank = Some(if place == 0 { 1 } else { 2 });
        }
        let names: Vec<String> = outcome.rows.iter().map(|it| it.contender.clone()).collect();
        let count = names.len();
        for (place, row) in outcome.rows.iter_mut().enumerate() {
            row.contender = names[(place + load) % count].clone();
        }
        outcome.rankings[0].sentence = format!("Something else under load {load}.");
    }
    // As many contenders as loads, or some are first twice.
    run.outcomes.truncate(10);
    let says = headline(&run);
    assert!(says.contains(" under 1 of 10 loads"), "{says}");
}

#[test]
fn of_many_that_tie_some_are_named_and_the_others_counted() {
    let mut run = fixture::largest();
    let names: Vec<String> = run.contenders.iter().map(|it| it.name.clone()).collect();
    for (load, outcome) in run.outcomes.iter_mut().enumerate() {
        for row in &mut outcome.rows {
            let number = names.iter().position(|name| *name == row.contender).unwrap();
            fixture::standing_of(row).rank = match load {
                0..6 => Some(if number < 5 { 1 } else { 6 }),
                6 => (number == 6).then_some(1),
                7 => None,
                _ => Some(if number == load - 2 { 1 } else { 2 }),
            };
        }
        outcome.rankings[0].sentence = format!("Something else under load {load}.");
    }
    insta::assert_snapshot!(headline(&run));

    // As long as it gets: ties of contenders with long names and lighter contracts.
    for contender in &mut run.contenders {
        contender.title = "n".repeat(60);
        contender.lighter_contract = Some("c".repeat(60));
    }
    for (load, outcome) in run.outcomes.iter_mut().enumerate().skip(8) {
        outcome.rows.iter_mut().for_each(|row| fixture::standing_of(row).rank = Some(2));
        outcome.rows.rotate_left(load - 8);
        outcome.rows[..4].iter_mut().for_each(|row| fixture::standing_of(row).rank = Some(1));
        outcome.rows[0].verdict = Verdict::Suspect;
        outcome.rows[1].verdict = Verdict::NotChecked;
    }
    run.contenders[0].tier = Some(Tier::Tuned);
    run.state = State::Unfinished;
    assert!(headline(&run).chars().count() <= 160, "{}", headline(&run));
}

#[test]
fn loads_without_a_rank_are_counted_with_the_reason() {
    let mut run = fixture::web();
    let nobody = [("go", None), ("erlang", None), ("nginx-return", None)];
    rank(&mut run, 1, &nobody);
    insta::assert_snapshot!(headline(&run), @"nginx, by configuration alone (suspect) is first of those ranked under 3 of 4 loads; Go net/http comes closest, with ≤64 % (62–65) of that.");
    for row in &mut run.outcomes[1].rows {
        fixture::standing_of(row).unranked = Some("a rank needs a noise floor".into());
    }
    insta::assert_snapshot!(headline(&run), @"nginx, by configuration alone (suspect) is first of those ranked under 3 of 4 loads; Go net/http comes closest, with ≤64 % (62–65) of that.");
}

/// Else it would say that nobody is ranked, of a run in which somebody is.
#[test]
fn ranks_at_one_rate_for_all_are_told_where_there_are_no_others() {
    let mut run = fixture::open_loops();
    let outcome = fixture::equal_of(&mut run);
    fixture::rank_in_order(outcome);
    outcome.rankings[0].sentence = "At 30720 requests a second Go takes more than nginx.".into();
    insta::assert_snapshot!(headline(&run), @"nginx, by configuration alone takes the least CPU time a request at 30,720 requests a second.");
    rank(&mut run, 0, &[("go", Some(2)), ("nginx-return", Some(1))]);
    assert!(!headline(&run).contains("at one rate"), "the closed loop has the finding");
}

#[test]
fn a_run_of_one_load_doesnt_count_it() {
    let mut run = fixture::web();
    run.outcomes.truncate(1);
    insta::assert_snapshot!(headline(&run), @"nginx, by configuration alone (suspect) answers the most requests a second; Go net/http comes closest, with ≤64 % (62–65) of that.");
}

/// Else who reads no further takes what a part of it shows for its finding.
#[test]
fn an_unfinished_run_says_so_before_its_finding() {
    let mut run = fixture::quick();
    run.state = State::Unfinished;
    run.trials.truncate(5);
    insta::assert_snapshot!(headline(&run), @"So far, with 5 of 8 trials: Nobody is ranked: a rank needs 6 blocks, and this run has fewer.");
}

/// As of a duel with a rate and one block: there are rows, and they have figures.
#[test]
fn who_was_measured_at_one_rate_alone_is_not_called_unmeasured() {
    let mut run = fixture::open_loops();
    run.outcomes.retain(|outcome| outcome.offered.is_some());
    run.curves.clear();
    for row in &mut run.outcomes[0].rows {
        fixture::standing_of(row).rank = None;
    }
    let why = "Nobody is ranked: a rank needs 6 blocks, and this run has fewer.";
    run.outcomes[0].rankings[0].sentence = why.into();
    assert_eq!(headline(&run), why);
}

#[test]
fn a_run_that_measured_nobody_says_so() {
    let mut run = fixture::web();
    run.outcomes.clear();
    insta::assert_snapshot!(headline(&run), @"This run has no figures: nobody could be measured.");
}

/// As of a study that was made beside somebody's compile job: the rest is the rest of it.
#[test]
fn that_the_machine_was_busy_is_said_once_and_first() {
    let mut run = fixture::web();
    let busy = Finding {
        check: "quiet-machine".into(),
        verdict: Verdict::Invalid,
        value: "others 0.90 cores, steal 0.0 %".into(),
        threshold: String::new(),
        says: String::new(),
        fix: String::new(),
        off_by_max: None,
    };
    let rows = || fixture::web().outcomes.iter().map(|it| it.rows.len()).sum::<usize>();
    let many = rows().div_ceil(2);
    for trial in &mut run.trials[..7] {
        trial.findings.insert(0, busy.clone());
    }
    let disturb = |run: &mut Run, count: usize| {
        for row in run.outcomes.iter_mut().flat_map(|it| &mut it.rows).take(count) {
            fixture::standing_of(row).rank = None;
            row.verdict = Verdict::Invalid;
            row.findings.insert(0, busy.clone());
        }
        headline(run)
    };
    assert!(!disturb(&mut run.clone(), many - 1).contains("busy"), "the others stand");
    insta::assert_snapshot!(disturb(&mut run, many), @"The machine was busy in 7 of 72 trials: 5 of 12 figures stand. Measure again on a quiet machine.");
}

/// As on two cores beside ordinary use: rates are doubtful, what an answer costs isn't.
#[test]
fn the_figure_of_which_most_rows_stand_comes_first() {
    let mut run = fixture::open_loops();
    let order = |run: &Run| {
        let page = report::html(run);
        let main = page.split("<main").nth(1).unwrap();
        let place = |says: &str| main.find(says).unwrap_or_else(|| panic!("no {says}"));
        place("<h2>One rate for all") < place("<h2>One core")
    };
    assert!(!order(&run), "all stand, so the study's order holds");
    for outcome in run.outcomes.iter_mut().filter(|outcome| outcome.offered.is_none()) {
        outcome.rows[0].verdict = Verdict::Suspect;
    }
    assert!(order(&run), "what stands comes after what doesn't");
    let lead = report::html(&run).split("<figcaption>").nth(1).unwrap().to_string();
    assert!(lead.starts_with("CPU time a request"), "{lead}");
    let text = terminal(&run, Terminal { columns: 120, colour: false });
    assert!(text.find("One rate for all").unwrap() < text.find("One core, connections").unwrap());
}

/// Else a rate that tells of the client would lead, and no figure that stands.
#[test]
fn where_the_client_was_the_limit_cpu_time_at_one_rate_leads() {
    let mut run = fixture::open_loops();
    for outcome in run.outcomes.iter_mut().filter(|outcome| outcome.offered.is_none()) {
        fixture::rank_in_order(outcome);
        fixture::figure_of(&mut outcome.rows[0], RATE).at_least = true;
    }
    let outcome = fixture::equal_of(&mut run);
    fixture::rank_in_order(outcome);
    insta::assert_snapshot!(headline(&run), @"nginx, by configuration alone takes the least CPU time a request at 30,720 requests a second.");
    let second = fixture::standing_of(&mut fixture::equal_of(&mut run).rows[1]);
    let (median, interval) = (1.5, Some((1.4, 1.6)));
    let ratio = Estimate { median, interval, at_least: false, at_most: false, blocks: vec![] };
    second.ratio = Some(ratio);
    assert!(headline(&run).ends_with("; Go net/http takes 150 % (140–160) of that."));
    fixture::figure_of(&mut run.outcomes[0].rows[0], RATE).at_least = false;
    assert!(headline(&run).contains("the most requests a second"), "{}", headline(&run));
}

#[test]
fn verdicts_are_counted_with_what_most_are_invalid_for() {
    let mut run = fixture::web();
    let verdicts = |run: &Run| {
        let page = report::html(run);
        let line = page.split("<p class=\"verdicts\">").nth(1).unwrap();
        let line = line.split("</p>").next().unwrap();
        let text = line.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text));
        text.collect::<String>()
    };
    insta::assert_snapshot!(verdicts(&run), @"10 not checked · 1 suspect · 1 invalid: connections were missing");
    for row in run.outcomes.iter_mut().flat_map(|it| &mut it.rows) {
        row.verdict = Verdict::Valid;
    }
    assert!(!verdicts(&run).contains("invalid"));
}

/// A reader who sees 68.1 above 78.3, and 227 % above 204 %, believes neither.
#[test]
fn a_table_never_shows_shares_in_another_order_than_its_figures() {
    let mut run = fixture::web();
    let outcome = &mut run.outcomes[0];
    let share = |run: &Run| {
        let wide = Terminal { columns: 200, colour: false };
        let text = terminal(run, wide);
        text.lines().filter(|line| line.starts_with("3 ") && line.contains("≤87 %")).count()
    };
    let last = outcome.rows.len() - 1;
    for (row, percent) in outcome.rows[1..].iter_mut().zip([0.5, 0.87]) {
        let ratio = fixture::standing_of(row).ratio.as_mut().expect("it has been compared");
        (ratio.median, ratio.interval) = (percent, None);
    }
    assert!(outcome.rows[1].figures[RATE].median > outcome.rows[last].figures[RATE].median);
    assert_eq!(share(&run), 0, "the lower rate has the higher share");
    fixture::standing_of(&mut run.outcomes[0].rows[1]).ratio.as_mut().unwrap().median = 0.9;
    assert_eq!(share(&run), 1);
}

/// Else it would say that a contender is first whose rival's figure isn't known.
#[test]
fn where_somebody_has_no_rank_the_headline_speaks_of_those_ranked() {
    let mut run = fixture::web();
    run.outcomes.truncate(1);
    rank(&mut run, 0, &[("nginx-return", Some(1)), ("go", Some(2)), ("erlang", Some(3))]);
    assert!(!headline(&run).contains("of those ranked"), "{}", headline(&run));
    rank(&mut run, 0, &[("erlang", None)]);
    assert!(headline(&run).contains(" is first of those ranked; "), "{}", headline(&run));
}

#[test]
fn a_winner_whose_figure_is_suspect_is_called_so() {
    let mut run = fixture::web();
    run.outcomes.truncate(1);
    fixture::row_of(&mut run, 0, "nginx-return").verdict = Verdict::Suspect;
    assert!(headline(&run).contains("configuration alone (suspect) answers"), "{}", headline(&run));
}

/// Nobody is beaten where nobody else could be ranked.
#[test]
fn a_load_with_one_rank_is_no_load_that_was_won() {
    let mut run = fixture::web();
    rank(&mut run, 0, &[("nginx-return", Some(1)), ("go", None), ("erlang", None)]);
    assert!(headline(&run).contains(" under 3 of 4 loads"), "{}", headline(&run));
}
