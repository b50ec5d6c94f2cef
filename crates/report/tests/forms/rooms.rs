//! A run of gateways, whose figures are of deliveries.

use report::{Terminal, csv, html, markdown, terminal, terminal_brief};
use result::finding::{Finding, QUIET_MACHINE, Verdict};

use crate::fixture;

#[test]
fn gateways_read_well_at_the_terminal() {
    insta::assert_snapshot!(terminal(&fixture::rooms(), Terminal { columns: 120, colour: false }));
}

#[test]
fn gateways_read_well_as_text_too() {
    insta::assert_snapshot!(markdown(&fixture::rooms()));
}

/// Who reads of requests would take a delivery for an answer to somebody who asked.
#[test]
fn nothing_is_said_of_requests_or_answers_where_nobody_asks() {
    let run = fixture::rooms();
    let at_80 = Terminal { columns: 80, colour: false };
    let forms = [
        ("terminal", terminal(&run, at_80)),
        ("end of a run", terminal_brief(&run, at_80)),
        ("markdown", markdown(&run)),
        ("html", html(&run)),
    ];
    for (form, text) in forms {
        assert!(text.contains("deliveries a second"), "{form}: {text}");
        let parts = text.split(['\n', '<']);
        let is_of_asking = |part: &&str| {
            let part = part.to_lowercase();
            part.contains("request") || part.contains("answer")
        };
        assert_eq!(parts.filter(is_of_asking).collect::<Vec<_>>(), [""; 0], "{form}");
    }
}

/// Who compares a broker with a gateway has to know that protocols are compared, too.
#[test]
fn who_speaks_what_is_told_where_wires_differ() {
    let says = "Wires differ, so that a difference may be one of protocols: Hasty speaks NATS; Go, \
                goroutines and Erlang/OTP";
    let forms = |run: &result::Run| {
        let shown = terminal(run, Terminal { columns: 120, colour: false });
        [shown, markdown(run), html(run)]
            .map(|it| it.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    let mut run = fixture::rooms();
    assert!(forms(&run).iter().all(|form| !form.contains("Wires differ")));
    run.contenders.iter_mut().find(|it| it.name == "hasty").unwrap().wire = Some("NATS".into());
    for form in forms(&run) {
        assert!(form.contains(says), "{form}");
    }
    assert!(csv(&run).contains(",NATS,"));
}

/// Today's rate was given, so that its ratio to the published one would say nothing.
#[test]
fn a_published_rate_stands_beside_what_is_measured_at_the_rate_that_was_given() {
    let run = fixture::rooms();
    let text = markdown(&run);
    assert!(
        text.contains("| a gateway in Erlang | Erlang/OTP gen\\_tcp | 10 | 30.0k | 32.5k"),
        "{text}"
    );
    for form in [text, html(&run)] {
        assert!(form.contains("Today's rate was given to all"), "{form}");
        assert!(!form.contains("A ratio is today's rate"), "{form}");
    }
}

/// A gateway has no rate of its own by which the end of a run would know that others used the
/// machine.
#[test]
fn that_the_machine_was_busy_is_told_of_gateways_too() {
    let mut run = fixture::rooms();
    let busy = Finding {
        check: QUIET_MACHINE.into(),
        verdict: Verdict::Invalid,
        ..run.trials[0].findings[0].clone()
    };
    for trial in &mut run.trials {
        trial.findings.push(busy.clone());
    }
    for row in &mut run.outcomes[0].rows {
        row.findings.push(busy.clone());
        row.verdict = busy.verdict;
    }
    let text = terminal_brief(&run, Terminal { columns: 120, colour: false });
    assert!(text.contains("The machine was busy in"), "{text}");
}

/// Who repeats it elsewhere has other wake-ups.
#[test]
fn that_processors_were_kept_awake_is_told() {
    let mut run = fixture::rooms();
    assert!(!markdown(&run).contains("kept awake"));
    run.trials[0].evidence.machine.kept_awake = true;
    let of_some = format!("kept awake in 1 of {} trials", run.trials.len());
    let told = [markdown(&run), html(&run)];
    assert!(told.iter().all(|form| form.contains(&of_some)), "{told:?}");
    run.trials.iter_mut().for_each(|trial| trial.evidence.machine.kept_awake = true);
    assert!(markdown(&run).contains(", kept awake;"), "{}", markdown(&run));
}

#[test]
fn a_line_of_a_trial_has_what_is_of_gateways_alone() {
    let mut run = fixture::rooms();
    let work = run.trials[0].evidence.work.as_mut().unwrap();
    work.result = [("robot_bytes", 6_500.0), ("lines_of_code", 130.0)]
        .map(|(id, value)| (id.to_string(), value))
        .into();
    let text = csv(&run);
    let mut reader = ::csv::Reader::from_reader(text.as_bytes());
    let names: Vec<String> = reader.headers().unwrap().iter().map(str::to_string).collect();
    let first = reader.records().next().unwrap().unwrap();
    let value = |name: &str| &first[names.iter().position(|it| it == name).expect(name)];
    let seen = ["room", "connections", "bytes", "robot_bytes", "lines_of_code"].map(value);
    assert_eq!(seen, ["10", "1000", "64", "6500", "130"]);
}
