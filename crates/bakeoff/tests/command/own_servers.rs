//! Servers of one's own: requests with a method, headers and a body, several with weights, what is
//! right of their answers, and secrets, which stand in no file.

use std::fs;
use std::path::Path;

use base64::Engine;
use base64::prelude::BASE64_STANDARD_NO_PAD;
use result::plan::AskedRequest;

use crate::fixture::{Lab, Said};

/// What stands in a header, and what in a command's environment. Both are known by their middle.
const TOKEN: &str = "of-tests-7f3a91c2";
const URL: &str = "postgres://own:w0rd-5b1e@db/orders";

/// A folder with the test server and the body of an order.
fn lab() -> Lab {
    let lab = Lab::new();
    lab.write("server.pl", include_str!("../fixture/server.pl"));
    lab.write("order.json", r#"{"item": "{nonce}"}"#);
    lab
}

/// The command of the test server that takes orders; it dies after so many.
fn orders(lab: &Lab, dies_after: &str) -> String {
    format!("PID_FILE={} perl server.pl orders {dies_after}", lab.path("pids").display())
}

/// A duel of one block of orders.
fn duel(lab: &Lab, more: &[&str]) -> Said {
    let short = ["duel", "-c", "4", "--blocks", "1", "--seconds", "0.2", "--warmup", "0.1"];
    lab.bakeoff(&[&short[..], more].concat())
}

/// How a text stands in base64, wherever it begins there: the characters that are its alone.
fn in_base64(text: &str) -> [String; 3] {
    [0, 1, 2].map(|before| {
        let padded = [" ".repeat(before).as_bytes(), text.as_bytes()].concat();
        let whole = BASE64_STANDARD_NO_PAD.encode(&padded);
        let (start, end) = (before * 8, padded.len() * 8);
        whole[start.div_ceil(6)..end / 6].to_string()
    })
}

/// Every file below a folder, with what it holds.
fn files(folder: &Path) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() && !path.is_symlink() {
            all.extend(files(&path))
        } else {
            let bytes = fs::read(&path).unwrap_or_default();
            all.push((path.display().to_string(), String::from_utf8_lossy(&bytes).into_owned()));
        }
    }
    all
}

/// That a secret stands in none of these texts, in no form.
#[track_caller]
fn assert_nowhere(texts: &[(String, String)]) {
    for secret in [TOKEN, "7f3a91c2", URL, "w0rd-5b1e"] {
        let forms = [secret.to_string()].into_iter().chain(in_base64(secret));
        for form in forms {
            let with = texts.iter().find(|(_, text)| text.contains(&form));
            let with = with.map(|(name, text)| {
                let at = text.find(&form).unwrap();
                (name, text[at.saturating_sub(60)..at].to_string())
            });
            assert_eq!(with, None, "{form} stands behind this");
        }
    }
}

#[test]
fn a_duel_of_a_post_with_secrets_leaves_them_in_no_file() {
    let lab = lab();
    let header = format!("Authorization: Bearer {TOKEN}");
    let variable = format!("DATABASE_URL={URL}");
    let asked = [
        ["-X", "POST"],
        ["-H", &header],
        ["-H", "Content-Type: application/json"],
        ["--body", "@order.json"],
        ["--path", "/orders?id={nonce}"],
        ["--expect-body", "hello {nonce}"],
        ["--env", &variable],
        ["--keep", "kept"],
    ];
    // The second dies under load, so that its last words are kept.
    let (one, two) = (format!("one={}", orders(&lab, "")), format!("two={}", orders(&lab, "60")));
    let said = duel(&lab, &[&asked.concat()[..], &["--name", &one, "--name", &two]].concat());
    said.assert_complains(&[
        "one: status 201, 23 B of no type: \"hello ",
        "It takes BAKEOFF_AUTHORIZATION from the environment",
    ]);
    let run = lab.run();
    let works: Vec<u64> = run
        .trials
        .iter()
        .filter(|trial| trial.slot.contender == "one")
        .map(|trial| trial.evidence.work.as_ref().expect("it was measured").done)
        .collect();
    // On a busy machine a window this short may have no answer.
    assert!(works.iter().any(|&done| done > 0), "{works:?}");
    assert!(run.command.contains("'Authorization: Bearer {env:BAKEOFF_AUTHORIZATION}'"));
    assert!(run.command.contains("--env DATABASE_URL --keep"), "{}", run.command);
    let died = run.trials.iter().find(|trial| trial.slot.contender == "two").unwrap();
    let last_words = died.evidence.process.last_words.join("\n");
    let hidden = "an order of $BAKEOFF_AUTHORIZATION for $DATABASE_URL";
    assert!(last_words.contains(hidden), "{last_words}");

    fs::remove_file(lab.path("order.json")).unwrap();
    let kept = files(lab.dir.path());
    let of = |name: &str| &kept.iter().find(|(path, _)| path.ends_with(name)).expect(name).1;
    let contender = of("kept/one/contender.toml");
    assert!(contender.contains("environment = [\"DATABASE_URL\"]"), "{contender}");
    assert_eq!(of("kept/order.json"), r#"{"item": "{nonce}"}"#);
    assert!(of("report.html").contains("<code>$DATABASE_URL</code> (from the environment)"));
    assert!(kept.len() > 8, "the run and the study: {}", kept.len());
    assert_nowhere(&kept);
    assert_nowhere(&[("standard error".into(), said.stderr), ("output".into(), said.stdout)]);

    // What was kept says which variables it takes.
    let said = lab.bakeoff(&["run", "kept", "--studies", "."]);
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    said.assert_complains(&["takes BAKEOFF_AUTHORIZATION from the environment, and it isn't set"]);
    lab.assert_nothing_is_left();
}

#[test]
fn a_command_is_told_what_it_has_of_the_environment() {
    let lab = lab();
    let (one, two) = (format!("one={}", orders(&lab, "")), format!("two={}", orders(&lab, "")));
    let entrants = ["--name", &one, "--name", &two];
    let said = duel(&lab, &entrants);
    assert_eq!(said.code, Some(1), "{}", said.stderr);
    said.assert_complains(&["no DATABASE_URL", "it has PATH alone: --env NAME hands on another"]);
    let said = duel(&lab, &[&["--env", "DATABASE_URL"], &entrants[..]].concat());
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    said.assert_complains(&["DATABASE_URL isn't set in your environment"]);
    let said = duel(&lab, &[&["-H", "X: {env:NONE_OF_TESTS}"], &entrants[..]].concat());
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    said.assert_complains(&["the header X takes NONE_OF_TESTS from the environment"]);
}

#[test]
fn a_status_that_is_no_success_has_to_be_expected() {
    let lab = lab();
    let good = format!("PID_FILE={} perl server.pl good", lab.path("pids").display());
    let with = |more: &[&str]| {
        duel(
            &lab,
            &[&["--path", "none=/none", &*good, &*good, "--path", "/hello?id=7"], more].concat(),
        )
    };
    let said = with(&[]);
    assert_eq!(said.code, Some(1), "{}", said.stderr);
    said.assert_complains(&[
        "GET /none: status 400, 4 B",
        "GET /hello?id=7: status 200",
        "--expect-status 400. Else",
        "The answer: status 400, 4 B of no type: \"bad",
    ]);
    assert!(!lab.path("runs").exists(), "nothing was measured");
    with(&["--weights", "1,3", "--expect-status", "200,400"]);
    let run = lab.run();
    let requests = run.study.asks.unwrap().requests;
    let weights: Vec<u32> = requests.iter().map(|it| it.weight).collect();
    assert_eq!(weights, [1, 3]);
    assert_eq!(requests[0].name.as_deref(), Some("none"));
    for trial in &run.trials {
        let work = trial.evidence.work.as_ref().expect("it was measured");
        assert!(work.errors.is_empty(), "{work:?}");
        assert_eq!(trial.evidence.contract.len(), 2, "each request is tried before");
    }
    // Beside other tests a short window may have no answer.
    let mut works = run.trials.iter().filter_map(|trial| trial.evidence.work.as_ref());
    assert!(works.any(|work| work.done > 0 && work.operations.len() == 1), "one has a name");
}

/// A study of orders, with two requests.
fn study_of_orders() -> Lab {
    let lab = Lab::new();
    let requests = r#"requests = [
    { name = "hello", path = "/hello?id={nonce}", weight = 9 },
    { method = "POST", path = "/orders?id={nonce}", headers = { Authorization = "Bearer {env:TOKEN_OF_TESTS}" }, body_file = "order.json", status = 201 },
]"#;
    lab.change_study("request = { path = \"/hello?id={nonce}\" }", requests);
    lab.write("studies/s/order.json", r#"{"item": "{nonce}"}"#);
    lab.server("good", "orders", "");
    let path = "studies/s/good/contender.toml";
    let text = fs::read_to_string(lab.path(path)).unwrap();
    lab.write(
        path,
        &text.replace("{ PID_FILE", "{ DATABASE_URL = \"{env:URL_OF_TESTS}\", PID_FILE"),
    );
    lab
}

fn run(lab: &Lab, variables: &[(&str, &str)]) -> Said {
    let mut command = lab.command(&["run", "s"]);
    command.envs(variables.iter().copied());
    lab.output(&mut command).unwrap()
}

#[test]
fn several_requests_are_tried_and_measured_by_their_weights() {
    let lab = study_of_orders();
    let said = run(&lab, &[("TOKEN_OF_TESTS", TOKEN), ("URL_OF_TESTS", URL)]);
    assert!(matches!(said.code, Some(0 | 3)), "{}", said.stderr);
    let run = lab.run();
    for trial in &run.trials {
        let evidence = &trial.evidence;
        let wrong: Vec<_> = evidence.contract.iter().filter(|it| it.wrong.is_some()).collect();
        assert!(wrong.is_empty(), "{wrong:?}");
        let tried = |id: &str| evidence.contract.iter().find(|it| it.id == id).expect(id);
        let post = tried("right-answer-2");
        assert_eq!(post.asked, "answers POST /orders?id={nonce} with status 201 and its body");
        tried("two-pieces");
        let work = evidence.work.as_ref().expect("it was measured");
        assert!(work.done > 0 && work.errors.is_empty(), "{work:?}");
        let named: Vec<_> = work.operations.iter().map(|it| &*it.operation).collect();
        assert_eq!(named, ["hello"], "the other one has no name");
        let (hellos, all) = (work.operations[0].response_us.count, work.response_us.count);
        assert!(0 < hellos && hellos < all, "{hellos} of {all}");
    }
    let asks = run.study.asks.unwrap();
    assert_eq!(asks.requests[0].name.as_deref(), Some("hello"));
    let AskedRequest { method, weight, body_bytes, headers, .. } = &asks.requests[1];
    assert_eq!((&**method, *weight, *body_bytes), ("POST", 1, 19));
    let header = ("Authorization".to_string(), "Bearer {env:TOKEN_OF_TESTS}".to_string());
    assert_eq!(headers[..], [header]);
    assert_nowhere(&files(&lab.path("runs")));
    lab.assert_nothing_is_left();
}

#[test]
fn a_variable_that_is_missing_is_named_before_anything_is_measured() {
    let lab = study_of_orders();
    let said = run(&lab, &[("URL_OF_TESTS", URL)]);
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    said.assert_complains(&["takes TOKEN_OF_TESTS from the environment", "export TOKEN_OF_TESTS="]);
    let said = run(&lab, &[("TOKEN_OF_TESTS", TOKEN)]);
    said.assert_complains(&["`URL_OF_TESTS` isn't set in the environment", "export URL_OF_TESTS="]);
    assert!(!lab.path("runs").exists(), "nothing was measured");
}
