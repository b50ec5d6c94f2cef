//! `bakeoff duel`: servers that nobody wrote a study for.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;

use result::evidence::SharedFolder;
use result::finding::Verdict;
use result::{Run, State};
use rustix::process::{Pid, Signal, kill_process};

use crate::fixture::{Lab, Said, free_address, said, skipped};

/// A folder with the test server.
fn lab() -> Lab {
    let lab = Lab::new();
    lab.write("server.pl", include_str!("../fixture/server.pl"));
    lab
}

/// What short trials take, which tell nothing of speed.
const SHORT: [&str; 6] = ["--blocks", "1", "--seconds", "0.3", "--warmup", "0.1"];

fn duel(lab: &Lab, more: &[&str]) -> Said {
    let path: &[&str] = if more.contains(&"--path") { &[] } else { &["--path", "/hello?id=7"] };
    lab.bakeoff(&[&["duel", "-c", "4"], path, &SHORT[..], more].concat())
}

/// The command of the test server in a mode.
fn server(lab: &Lab, mode: &str) -> String {
    format!("PID_FILE={} perl server.pl {mode}", lab.path("pids").display())
}

fn good(lab: &Lab) -> String {
    server(lab, "good")
}

#[test]
fn two_commands_are_measured_side_by_side_and_nothing_is_left() {
    let lab = lab();
    let one = format!("first={}", good(&lab));
    let two = format!("second={}", good(&lab));
    let said = duel(&lab, &["--expect-body", "7", "--name", &one, "--name", &two]);
    said.assert_complains(&["first: status 200", "second: status 200", "about"]);
    let run = lab.run();
    assert_eq!(run.trials.len(), 3, "one of them twice");
    for trial in &run.trials {
        let work = trial.evidence.work.as_ref().expect("it was measured");
        assert!(work.done > 0 && work.errors.is_empty(), "{work:?}");
        assert_eq!(trial.evidence.contract.len(), 1, "nothing but its answers is asked about");
    }
    assert!(run.command.starts_with("bakeoff duel -c 4 "), "{}", run.command);
    assert!(run.command.contains(" --seed "), "it can be repeated: {}", run.command);
    lab.assert_nothing_is_left();
}

/// Many ignore the port that they are given.
#[test]
fn a_command_that_listens_elsewhere_is_found_there() {
    let lab = lab();
    let port = free_address().port();
    let fixed = format!("fixed={}", server(&lab, &format!("fixed-port {port}")));
    let said = duel(&lab, &["--expect-body", "7", &good(&lab), "--name", &fixed]);
    said.assert_complains(&[&format!("it listens at 127.0.0.1:{port} whatever PORT says")]);
    let run = lab.run();
    let mut fixed = run.trials.iter().filter(|it| it.slot.contender == "fixed");
    // Beside other tests a short window may have no answer.
    let has_answers = fixed.any(|it| it.evidence.work.as_ref().is_some_and(|work| work.done > 0));
    assert!(has_answers, "{:?}", run.trials);
    lab.assert_nothing_is_left();
}

/// Whether there is an IPv6 to listen in.
fn has_ipv6() -> bool {
    TcpListener::bind("[::1]:0").is_ok()
}

#[test]
fn a_server_in_ipv6_that_ends_with_its_input_and_says_close_is_measured_as_it_says() {
    if !has_ipv6() {
        return skipped("a duel in IPv6", "there is no IPv6 here");
    }
    let lab = lab();
    lab.write("odd.pl", include_str!("../fixture/odd.pl"));
    let said = duel(&lab, &["--expect-body", "7", "perl odd.pl", "perl odd.pl"]);
    said.assert_complains(&[
        "; it answers at [::1]:",
        "and not at 127.0.0.1, which HOST says",
        "ends each connection after its answer",
    ]);
    for trial in &lab.run().trials {
        assert!(!trial.slot.setting.kept(), "the load obeys the header");
        let work = trial.evidence.work.as_ref().expect("it was measured");
        assert!(work.done > 0 && work.errors.is_empty(), "{work:?}");
        let shared = trial.evidence.process.shared_folder.as_ref();
        assert_eq!(shared, Some(&SharedFolder::AsItWas), "runs/ doesn't count");
    }
    lab.assert_nothing_is_left();
}

#[test]
fn a_page_with_a_counter_is_told_before_the_load_and_where_its_length_changed() {
    if !has_ipv6() {
        return skipped("a duel in IPv6", "there is no IPv6 here");
    }
    let lab = lab();
    lab.write("odd.pl", include_str!("../fixture/odd.pl"));
    let said = duel(&lab, &["perl odd.pl 10", "perl odd.pl 10"]);
    said.assert_complains(&[
        "answers GET /hello?id=7 with another body each time, as \"11\" and \"12\"",
        "some answers hadn't the length of its first ones",
        "--expect-body",
    ]);
}

/// The test server writes its process ids to a file there.
#[test]
fn a_folder_that_trials_leave_something_in_is_told_of() {
    let lab = lab();
    duel(&lab, &["--expect-body", "7", &good(&lab), &good(&lab)]);
    let mut trials = lab.run().trials;
    trials.sort_by(|a, b| a.started.cmp(&b.started));
    let last = trials.last().unwrap();
    let changed = SharedFolder::Changed("pids".into());
    assert_eq!(last.evidence.process.shared_folder, Some(changed));
    let fresh = last.findings.iter().find(|it| it.check == "fresh-process").unwrap();
    assert_eq!(fresh.verdict, Verdict::NotChecked);
    assert!(fresh.says.contains("(pids)"), "{}", fresh.says);
}

/// Answers with these texts in turn, on threads that end with the test.
fn running(texts: &'static [&'static str]) -> SocketAddr {
    running_after(0, texts)
}

/// The same, once so many connections found no page.
fn running_after(early: usize, texts: &'static [&'static str]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for (number, stream) in listener.incoming().enumerate() {
            let mut stream = stream.unwrap();
            if number < early {
                let _ = stream.read(&mut [0; 4096]);
                let head = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close";
                let _ = stream.write_all(format!("{head}\r\n\r\n").as_bytes());
                continue;
            }
            std::thread::spawn(move || {
                let mut room = [0; 4096];
                let mut texts = texts.iter().cycle();
                while stream.read(&mut room).is_ok_and(|count| count > 0) {
                    let text = texts.next().unwrap();
                    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", text.len());
                    if stream.write_all((head + text).as_bytes()).is_err() {
                        break;
                    }
                }
            });
        }
    });
    address
}

#[test]
fn of_servers_that_run_already_it_is_said_what_cant_be_seen() {
    let lab = lab();
    let urls = [0, 1].map(|_| format!("http://{}", running(&["hello"])));
    let said = duel(&lab, &["--rate", "500", &urls[0], &urls[1]]);
    said.assert_complains(&["status 200"]);
    let run = lab.run();
    for trial in &run.trials {
        let evidence = &trial.evidence;
        assert!(evidence.process.runs_already);
        assert_eq!((evidence.server_cpu_s, evidence.others_cpu_s), (None, None));
        let word =
            |check: &str| trial.findings.iter().find(|it| it.check == check).unwrap().verdict;
        for check in ["fresh-process", "server-cores"] {
            assert_eq!(word(check), Verdict::NotChecked, "{check}");
        }
        let offered = evidence.offered_rate().expect("all are offered one rate");
        assert!((offered - 500.0).abs() < 1e-6, "{offered}");
    }
    lab.assert_nothing_is_left();
}

/// Some have no page yet while they start, and trials wait for them.
#[test]
fn a_server_that_has_no_page_at_first_is_waited_for() {
    let lab = lab();
    // The first look makes four connections to find out that none is kept.
    let urls = [running_after(8, &["hello"]), running(&["hello"])].map(|it| format!("http://{it}"));
    let said = duel(&lab, &[&*urls[0], &urls[1]]);
    said.assert_complains(&["status 200"]);
    assert!(!lab.run().trials.is_empty());
}

/// Else a duel of two such servers is mostly a wait for what their queues lost.
#[test]
fn a_load_makes_no_more_connections_at_once_than_a_listen_queue_holds() {
    let lab = lab();
    let server = include_str!("../fixture/odd.pl").replace("Listen => 128", "Listen => 3");
    lab.write("odd.pl", &server.replace("LocalHost => '::1'", "LocalHost => '127.0.0.1'"));
    let duel = |more: &[&str]| {
        let path = ["duel", "--path", "/hello?id=7", "--expect-body", "7"];
        let servers = ["perl odd.pl", "perl odd.pl"];
        let said = lab.bakeoff(&[&path[..], &SHORT[..], more, &servers[..]].concat());
        let connections = lab.run().trials[0].slot.setting.connections();
        (said, connections)
    };
    let (said, connections) = duel(&[]);
    if !said.stderr.contains("wait to be accepted") {
        return skipped("listen queues of a duel", "this kernel doesn't offer sock_diag");
    }
    said.assert_complains(&["(its backlog is 3)", "So 4 are made at once instead of 64"]);
    assert_eq!(connections, 4);
    for trial in &lab.run().trials {
        let lost = trial.evidence.clients.iter().map(|it| it.syn_retransmits).sum::<u64>();
        assert_eq!((trial.evidence.listen_backlog, lost), (Some(3), 0));
    }
    let (said, connections) = duel(&["-c", "5"]);
    said.assert_complains(&["5 at once overflow this queue", "Give -c 4"]);
    assert_eq!(connections, 5);
    lab.assert_nothing_is_left();
}

/// Else two programs are mixed under one name: nothing in the command names the second file.
#[test]
fn what_a_script_starts_is_remembered_too() {
    let lab = lab();
    lab.write("start.sh", &good(&lab));
    let two = format!("two={}", good(&lab));
    let said = duel(&lab, &["--expect-body", "7", "--keep", "kept", "sh start.sh", "--name", &two]);
    said.assert_complains(&["The study: "]);
    let text = fs::read_to_string(lab.path("kept/sh-start.sh/contender.toml")).unwrap();
    for file in ["start.sh", "server.pl"] {
        assert!(text.contains(&format!("/{file}\"")), "{file} isn't looked at: {text}");
    }
    assert!(!text.contains("/pids\""), "what it writes is no program: {text}");
}

/// Its length is all that is known of a right answer, where no text is given.
#[test]
fn an_answer_of_another_length_than_the_first_ones_is_an_error() {
    let lab = lab();
    let kept = lab.path("kept");
    let urls = [&["hello"], &["hello!"]].map(|texts| format!("http://{}", running(texts)));
    let said = duel(&lab, &["--keep", kept.to_str().unwrap(), &urls[0], &urls[1]]);
    said.assert_complains(&["answer differently, with 5 bytes and 6 bytes", "The study: "]);
    let report = fs::read_to_string(lab.path("runs/latest/report.md")).unwrap();
    assert!(report.contains("answer differently"), "the report says so too: {report}");
    let files: Vec<PathBuf> = fs::read_dir(&kept).unwrap().map(|it| it.unwrap().path()).collect();
    assert_eq!(files.len(), 3, "a study and two contenders: {files:?}");
    let name = files.iter().find(|it| it.is_dir()).unwrap();
    let path = name.join("contender.toml");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("body_bytes = 5", "body_bytes = 9").replace("= 6", "= 9"))
        .unwrap();
    let said = lab.bakeoff(&["run", "kept", "--studies", "."]);
    assert_ne!(said.code, Some(0), "{}", said.stderr);
    said.assert_complains(&["bytes instead of 9"]);
}

#[test]
fn a_kept_study_is_run_again_as_any_other() {
    let lab = lab();
    let two = format!("two={}", good(&lab));
    let said = duel(&lab, &["--expect-body", "7", "--keep", "kept", &good(&lab), "--name", &two]);
    said.assert_complains(&["To run it again: bakeoff run kept --studies ."]);
    let said = lab.bakeoff(&["run", "kept", "--studies", ".", "--only", "two"]);
    assert!(matches!(said.code, Some(0 | 3)), "{said:?}");
    lab.assert_nothing_is_left();
}

#[test]
fn an_interrupted_duel_goes_on_by_the_command_that_it_prints_unless_its_program_changed() {
    let lab = lab();
    let [one, two] = ["one", "two"].map(|name| format!("{name}={}", good(&lab)));
    let duel = ["duel", "--path", "/hello?id=7", "--expect-body", "7", "-c", "4"];
    let length = ["--blocks", "2", "--seconds", "0.3", "--warmup", "0.1"];
    let child = lab.start(&[&duel[..], &length, &["--name", &one, "--name", &two]].concat());
    lab.wait_until("a trial is kept", || lab.path("runs/latest/trials.jsonl").exists());
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let said = said(child.wait_with_output().unwrap());
    assert_eq!(said.code, Some(130), "{said:?}");
    lab.assert_nothing_is_left();
    let before = lab.run();
    assert_eq!(before.studies.as_deref(), Some("study"), "it lies in the run's folder");
    let advice = said.stderr.split(" To go on: ").nth(1).and_then(|it| it.lines().next());
    let advice = advice.unwrap_or_else(|| panic!("nobody says how to go on: {said:?}"));

    let program = fs::read_to_string(lab.path("server.pl")).unwrap();
    lab.write("server.pl", &format!("{program}# Another one.\n"));
    let refused = lab.paste(advice);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    refused.assert_complains(&["can't be resumed: the files of ", " are not what they were"]);
    lab.write("server.pl", &program);

    let resumed = lab.paste(advice);
    assert!(matches!(resumed.code, Some(0 | 3)), "{advice}: {resumed:?}");
    let after = lab.run();
    assert_eq!((after.id, after.state), (before.id, State::Complete));
    assert!(
        after.trials.len() >= 6,
        "two blocks of two, one of them twice: {}",
        after.trials.len()
    );
    lab.assert_nothing_is_left();
}

#[test]
fn who_cant_be_measured_is_named_with_the_reason() {
    let fails = |more: &dyn Fn(&Lab) -> Vec<String>, parts: &[&str]| {
        let lab = lab();
        let more = more(&lab);
        let arguments = [good(&lab)].into_iter().chain(more.clone()).collect::<Vec<_>>();
        let said = duel(&lab, &arguments.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(said.code, Some(1), "{more:?}: {}", said.stderr);
        said.assert_complains(parts);
        lab.assert_nothing_is_left();
        assert!(!lab.path("runs").exists(), "{more:?}: nothing was measured");
    };
    let words = |words: &[&str]| words.iter().map(|word| word.to_string()).collect();
    let varies = format!("http://{}", running(&["1", "22", "333"]));
    // All of them wait nearly all the time.
    std::thread::scope(|scope| {
        scope.spawn(|| {
            fails(&|_| words(&["echo no licence; exit 3"]), &["exit code 3", "no licence"]);
            fails(&|_| words(&["perl nowhere.pl"]), &["nowhere.pl", "its last lines"]);
            let parts = ["differently each time, with 1, 2, 3 bytes", "--expect-body"];
            fails(&|_| words(&[&varies]), &parts);
        });
        scope.spawn(|| {
            let nobody = "http://127.0.0.1:1";
            fails(&|_| words(&[nobody]), &["nobody answered at http://127.0.0.1:1"]);
        });
        scope.spawn(|| {
            let parts = ["doesn't hold", "--expect-body"];
            fails(&|lab| words(&["--expect-body", "no such text", &good(lab)]), &parts);
        });
        scope.spawn(|| {
            fails(&|lab| words(&["--path", "/nowhere", &good(lab)]), &["status 400", "--path"]);
        });
        // Else it passes the first look, and each of its trials fails.
        scope.spawn(|| {
            let parts = ["it forked away", "in the foreground"];
            fails(&|lab| words(&[&server(lab, "daemon")]), &parts);
        });
    });
}

#[test]
fn wrong_arguments_are_refused_before_anybody_is_started() {
    let lab = lab();
    for (arguments, part) in [
        (&["./a"][..], "a duel takes two"),
        (&["./a", "./b", "--path", "x"], "a path begins with /"),
        (&["http://127.0.0.1/x", "http://127.0.0.1/y"], "there is /x and /y"),
        (&["./a", "./b", "--fail-if", "c.p99 > 1ms"], "nobody here is called c, but a, b"),
        (&["./a", "./b", "--fail-if", "a.p99 is slow"], "new.p99 > old.p99 * 1.1"),
        (&["./a", "./b", "--fail-if", "a.rat < 1k"], "did you mean rate?"),
        (&["./a", "./b", "--fail-if-unknown"], "--fail-if"),
        (&["./a", "./b", "--rate", "0"], "--rate"),
        (&["./a", "./b", "--rate", "200M"], "at most 100M"),
        (&["./a", "./b", "--path", "/a b"], "has no space"),
        (&["./a", "./b", "--expect-body", ""], "--expect-body"),
        (&["./a", "./b", "--seconds", "0"], "--seconds"),
        (&["./a", "./b", "--keep", "studies"], "--keep studies: it is there already"),
        (&["./a", "./b", "--keep", "my.study"], "has no `.`"),
    ] {
        let said = lab.bakeoff(&[&["duel"], arguments].concat());
        assert_eq!(said.code, Some(2), "{arguments:?}: {}", said.stderr);
        said.assert_complains(&[part]);
    }
}

#[test]
fn a_condition_that_cant_be_told_fails_the_duel_that_asks_for_proof() {
    let lab = lab();
    let two = format!("two={}", good(&lab));
    let with = |condition: &str| {
        let proof = ["--fail-if", condition, "--fail-if-unknown", "--expect-body", "7"];
        duel(&lab, &[&proof[..], &[&good(&lab), "--name", &two]].concat())
    };
    // One block has no interval.
    let said = with("two.rate < 1M");
    assert_eq!(said.code, Some(3), "{}", said.stderr);
    said.assert_complains(&["The condition two.rate < 1M can't be told"]);
}

/// Trackers get what stands, and an exit code where that isn't all.
#[test]
fn a_run_writes_its_figures_for_trackers() {
    let lab = lab();
    let two = format!("two={}", good(&lab));
    let formats =
        ["--export", "go", "--export", "gha", "--export", "bmf", "--export", "openmetrics"];
    let duel =
        duel(&lab, &[&formats[..], &["--expect-body", "7", &good(&lab), "--name", &two]].concat());
    let run: Run = lab.run();
    let folder = lab.path(&format!("runs/{}", run.id));
    let names = [
        "go.txt",
        "bmf.json",
        "gha-bigger-is-better.json",
        "gha-smaller-is-better.json",
        "openmetrics.txt",
        "badge.json",
    ];
    for name in names {
        assert!(folder.join(name).is_file(), "{name}: {}", duel.stderr);
    }
    let invalid = |it: &result::outcome::Row| it.verdict == Verdict::Invalid;
    let some_are_invalid = run.outcomes.iter().flat_map(|it| &it.rows).any(invalid);
    for format in ["go", "bmf", "openmetrics"] {
        let said = lab.bakeoff(&["export", "runs/latest", "--format", format]);
        assert_eq!(said.code, Some(if some_are_invalid { 3 } else { 0 }), "{}", said.stderr);
        let file =
            folder.join(if format == "bmf" { "bmf.json".into() } else { format!("{format}.txt") });
        assert_eq!(said.stdout, fs::read_to_string(file).unwrap());
    }
    let said = lab.bakeoff(&["export", "runs/latest", "--format", "gha"]);
    assert_eq!(said.code, Some(2), "two files don't go to one output");
    said.assert_complains(&["--output"]);
    let said = lab.bakeoff(&["export", "nowhere", "--format", "go"]);
    assert_eq!(said.code, Some(2), "{}", said.stderr);
}

/// Each is filled, asked, and filed under what it survives.
#[test]
fn stores_are_compared_by_their_commands() {
    let is_there = |program: &str| {
        std::process::Command::new(program)
            .arg("--version")
            .output()
            .is_ok_and(|it| it.status.success())
    };
    if !is_there("redis-server") {
        return skipped("a duel of stores", "redis-server isn't installed");
    }
    let lab = lab();
    let store = "redis-server --port $PORT --save ''";
    let two = format!("two={store}");
    let asked = ["duel", "--mix", "get=9,set=1", "--cuts", "0", "-c", "4"];
    let said = lab.bakeoff(&[&asked[..], &SHORT, &[store, "--name", &two]].concat());
    said.assert_complains(&["redis-server: it speaks as Redis does (RESP)", "two: it speaks"]);
    let run = lab.run();
    assert_eq!((run.study.kind, run.trials.len()), (result::kind::Kind::Keys, 3));
    for trial in &run.trials {
        let work = trial.evidence.work.as_ref().expect("it was measured");
        assert!(work.done > 0 && work.errors.is_empty(), "{work:?}");
        assert_eq!(trial.evidence.process.shared_folder, None, "each has its own folder");
    }
    lab.assert_nothing_is_left();
    let said = lab.bakeoff(&["duel", "--mix", "get", store, "redis://127.0.0.1"]);
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    said.assert_complains(&["of stores give the commands that start them"]);
}
