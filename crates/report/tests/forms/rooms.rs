//! A run of gateways, whose figures are of deliveries.

use report::{Terminal, csv, html, markdown, terminal, terminal_brief};

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
