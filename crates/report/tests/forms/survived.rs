//! What stores survive, in every form of the report.

use report::export::{Format, export};
use report::{Terminal, badge, html, markdown, terminal, terminal_brief};
use result::Run;
use result::durability::{Class, Cut, CutVerdict, Durability, Rung, RungSeen};
use result::evidence::OperationSeen;
use result::finding::Verdict;

use crate::fixture;

/// Else a reader would have to believe that a class was measured.
#[test]
fn what_stores_kept_where_they_were_cut_off_stands_beside_their_class() {
    let kept = Cut { acknowledged: 40_000, restart_s: Some(0.1), ..Cut::default() };
    let lost = Cut { lost: 9_000, lost_span_s: Some(0.42), ..kept.clone() };
    let rungs = vec![
        RungSeen::new(Rung::Process, vec![kept.clone(); 5], None, None),
        RungSeen::new(Rung::Machine, vec![kept, lost], Some(0.1), None),
        RungSeen::new(Rung::Power, vec![], None, Some("there is no <b>FUSE</b>".into())),
    ];
    let mut run = fixture::quick();
    run.durability.push(Durability::new("go".into(), 1, None, rungs));
    let terminal = terminal(&run, Terminal { columns: 200, colour: false });
    for (form, text) in [("terminal", terminal), ("Markdown", markdown(&run)), ("HTML", html(&run))]
    {
        for says in [
            "What stores survive",
            "kept, 5 cuts",
            "lost, 1 of 2 cuts: at most 9,000 of 40,000, over at most 420 ms",
            "not checked: there is no",
            "broken",
            "its own crash",
        ] {
            assert!(text.contains(says), "{form} lacks {says:?}: {text}");
        }
        assert!(form == "terminal" || !text.contains("<b>FUSE"), "{form}: it is foreign text");
    }
}

/// The cut that lost most need not be the one that lost over the longest time.
#[test]
fn the_most_lost_is_the_most_and_stores_that_lost_less_come_first() {
    let cut = |lost, span| Cut {
        acknowledged: 40_000,
        lost,
        lost_span_s: Some(span),
        restart_s: Some(0.1),
        ..Cut::default()
    };
    let mut run = fixture::quick();
    for (contender, factor) in [("go", 10.0), ("erlang", 1.0)] {
        let cuts = vec![cut(9_000, 0.01 * factor), cut(20, 0.4 * factor)];
        let rungs = vec![RungSeen::new(Rung::Process, cuts, None, None)];
        run.durability.push(Durability::new(contender.into(), 1, None, rungs));
    }
    let text = markdown(&run);
    assert!(text.contains("at most 9,000 of 40,000, over at most 4.00 s"), "{text}");
    let place = |says: &str| text.find(says).unwrap_or_else(|| panic!("no {says}: {text}"));
    assert!(place("over at most 400 ms") < place("over at most 4.00 s"), "{text}");
}

/// Its figures stand elsewhere: else a reader would look for what is wrong with it.
#[test]
fn a_store_of_another_class_does_not_lack_a_figure() {
    let mut run = fixture::quick();
    let outcome = &mut run.outcomes[0];
    let other = outcome.rows.pop().unwrap().contender;
    assert!(markdown(&run).contains(" has no figure: "), "it lacks one in its own class");
    let cut = Cut { acknowledged: 90, restart_s: Some(0.1), ..Cut::default() };
    let kept = RungSeen::new(Rung::Process, vec![cut], None, None);
    run.durability.push(Durability::new(other, 1, None, vec![kept]));
    assert!(!markdown(&run).contains(" has no figure: "), "{}", markdown(&run));
}

/// A rate without what is lost for it is what stores were ranked by in 2009.
#[test]
fn a_chart_shows_rates_of_writes_by_what_was_lost_for_them() {
    let mut run = fixture::quick();
    let [first, second] = [0, 1].map(|at| run.outcomes[0].rows[at].contender.clone());
    assert!(!html(&run).contains(CHART), "there is nothing to draw");
    for (contender, lost, span) in [(&first, 0, None), (&second, 7, Some(0.25))] {
        let cut = Cut { acknowledged: 90, lost, lost_span_s: span, ..Cut::default() };
        let cut = Cut { restart_s: Some(0.1), ..cut };
        let rungs = Rung::ALL.map(|rung| RungSeen::new(rung, vec![cut.clone()], None, None));
        run.durability.push(Durability::new(contender.clone(), 1, None, rungs.into()));
    }
    ask(&mut run, &["get", "set"]);
    assert!(!html(&run).contains(CHART), "a mix is no rate of writes");
    ask(&mut run, &["set"]);
    let page = html(&run);
    let label = page.split("aria-label=\"").find(|it| it.contains("/s, lost"));
    let label = label.unwrap().split('"').next().unwrap();
    assert!(label.contains("/s, lost nothing; "), "{label}");
    assert!(label.ends_with("/s, lost 250 ms of writes"), "{label}");
    assert!(page.contains(CHART) && page.contains("survives nothing"), "{page}");
}

/// What nobody else shows is what a reader should see first.
#[test]
fn what_durability_costs_leads_every_form() {
    let run = fixture::stores();
    let says = "nginx, static file: ≥57.8k (suspect) writes a second, none lost when the power went; \
                Go net/http: 37.0k, and the last 400 ms of them lost.";
    let wide = Terminal { columns: 200, colour: false };
    let [whole, brief] = [terminal(&run, wide), terminal_brief(&run, wide)];
    for text in [&whole, &brief] {
        assert!(text.starts_with(says), "{text}");
        let first = text.lines().nth(3).unwrap();
        assert!(first.contains("nginx") && first.contains("lost nothing"), "{text}");
    }
    let text = markdown(&run);
    assert!(text.starts_with(&format!("**{says}**")), "{text}");
    assert!(
        text.contains("| Erlang/OTP gen\\_tcp | 20.5k | lost all writes | nothing |"),
        "{text}"
    );
    let page = html(&run);
    let (header, _) = page.split_once("</header>").unwrap();
    assert!(header.contains(says) && header.contains(CHART), "{header}");
    // Who answers most comes after it.
    assert!(header.contains("is first of those ranked"), "{header}");
}

/// Else those that survive their own crash seem to be alike, and one that syncs each write stands
/// beside one that never does.
#[test]
fn a_class_of_which_a_rung_wasnt_checked_is_told_as_open_everywhere() {
    let mut run = fixture::stores();
    for seen in &mut run.durability {
        seen.rungs.truncate(1);
        seen.rungs[0].verdict = CutVerdict::Kept;
    }
    for outcome in &mut run.outcomes {
        (outcome.class, outcome.class_at_most) = (Some(Class::Process), Some(Class::Power));
    }
    let wide = Terminal { columns: 200, colour: false };
    let forms = [("terminal", terminal(&run, wide)), ("Markdown", markdown(&run))];
    for (form, text) in forms.into_iter().chain([("HTML", html(&run))]) {
        assert!(text.contains("its own crash, and perhaps a power cut"), "{form}: {text}");
        let section = "stores that survive their own crash, and perhaps a power cut";
        assert!(text.contains(section), "{form}: {text}");
        assert!(!text.contains("none lost when"), "{form}: {text}");
    }
    assert!(!html(&run).contains(CHART), "what is lost for a rate isn't known");
}

/// Else a store that loses everything has the name, the chart and the badge of one that waits for
/// its disk.
#[test]
fn a_badge_and_exports_say_what_a_store_survives() {
    let mut run = fixture::stores();
    let of = |run: &mut Run, classes: (Option<Class>, Class)| {
        for outcome in &mut run.outcomes {
            (outcome.class, outcome.class_at_most) = (classes.0, Some(classes.1));
        }
        let texts = Format::ALL.map(|format| {
            let files = export(run, format).files.into_iter();
            (format, files.map(|(_, text)| text).collect::<String>())
        });
        (badge(run), texts)
    };
    for (classes, survives, class) in [
        ((Some(Class::None), Class::None), "nothing", "none"),
        ((Some(Class::Power), Class::Power), "a power cut", "power"),
        (
            (Some(Class::Process), Class::Power),
            "its own crash, and perhaps a power cut",
            "open-process-to-power",
        ),
        ((None, Class::Power), "not known", "open-none-to-power"),
    ] {
        let (badge, texts) = of(&mut run, classes);
        assert!(badge.contains(&format!("; survives: {survives}\"")), "{badge}");
        for (format, text) in texts {
            let is_point = |line: &&str| line.contains("nginx-return");
            let mut points = text.lines().filter(is_point).peekable();
            assert!(points.peek().is_some(), "{}: {text}", format.word());
            let (path, label) = (format!("/class={class}"), format!("class=\"{class}\""));
            let has = |line: &str| line.contains(&path) || line.contains(&label);
            assert!(points.all(has), "{}, {class}: {text}", format.word());
        }
    }
    for outcome in &mut run.outcomes {
        (outcome.class, outcome.class_at_most) = (None, None);
    }
    assert!(badge(&run).contains("survives: not known"), "it is a store: {}", badge(&run));
    run.durability.clear();
    assert!(!badge(&run).contains("survives"), "it is no store");
    let text: String = export(&run, Format::Go).files.into_iter().map(|(_, text)| text).collect();
    assert!(!text.contains("class="), "it is no store: {text}");
}

/// A rate that doesn't stand costs nothing that anybody could name.
#[test]
fn an_invalid_rate_is_no_cost_of_durability() {
    let mut run = fixture::stores();
    for name in ["go", "erlang"] {
        fixture::row_of(&mut run, 0, name).verdict = Verdict::Invalid;
    }
    let text = markdown(&run);
    assert!(!text.contains("none lost when"), "{text}");
}

/// A store beside itself shows what durability costs; beside a faster one it doesn't.
#[test]
fn a_store_stands_beside_itself_without_durability_where_that_was_measured() {
    let mut run = fixture::stores();
    assert!(markdown(&run).contains("; Go net/http: 37.0k,"));
    rename(&mut run, "erlang", "nginx-return-nosync");
    assert!(markdown(&run).contains("; nginx-return-nosync: 20.5k, and all of them lost."));
}

fn rename(run: &mut Run, from: &str, to: &str) {
    run.contenders.retain(|it| it.name != from);
    let rows = run.outcomes.iter_mut().flat_map(|it| &mut it.rows).map(|row| &mut row.contender);
    let stores = run.durability.iter_mut().map(|seen| &mut seen.contender);
    rows.chain(stores).filter(|name| *name == from).for_each(|name| *name = to.into());
}

const CHART: &str = "Rate by what is lost";

/// Has all trials be of a store that was asked so.
fn ask(run: &mut Run, operations: &[&str]) {
    let seen = operations.iter().map(|operation| OperationSeen {
        operation: operation.to_string(),
        ..OperationSeen::default()
    });
    let seen: Vec<OperationSeen> = seen.collect();
    for work in run.trials.iter_mut().filter_map(|trial| trial.evidence.work.as_mut()) {
        work.operations.clone_from(&seen);
    }
}
