//! `bakeoff new` as its users see it.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use crate::fixture::{Lab, Said, skipped};

/// What a user fills in, language by language: the marked lines, and theirs.
const FILLED_IN: [(&str, &str, &str, &str, &str); 4] = [
    (
        "python",
        "python3",
        "server.py",
        r#"self.answer(200, "to be filled in\n")"#,
        r#"self.answer(200, "hello " + self.path.partition("=")[2] + "\n")"#,
    ),
    (
        "node",
        "node",
        "server.js",
        r#"const body = "to be filled in\n""#,
        r#"const body = "hello " + request.url.split("=")[1] + "\n""#,
    ),
    (
        "go",
        "go",
        "main.go",
        r#"w.Write([]byte("to be filled in\n"))"#,
        r#"w.Write([]byte("hello " + r.URL.Query().Get("id") + "\n"))"#,
    ),
    (
        "java",
        "javac",
        "Server.java",
        r#"send(exchange, 200, "to be filled in\n")"#,
        r#"send(exchange, 200, "hello " + exchange.getRequestURI().getQuery() + "\n")"#,
    ),
];

fn is_here(program: &str) -> bool {
    Command::new("sh")
        .args(["-c", &format!("command -v {program}")])
        .output()
        .unwrap()
        .status
        .success()
}

/// Those of them whose programs are installed: language, file, gap and what fills it.
fn filled_in() -> impl Iterator<Item = [&'static str; 4]> {
    FILLED_IN.into_iter().filter_map(|(language, program, file, gap, filled)| {
        if !is_here(program) {
            skipped("skipped in part", &format!("{program} is not installed"));
            return None;
        }
        Some([language, file, gap, filled])
    })
}

#[test]
fn a_skeleton_fails_its_check_clearly_and_passes_once_filled_in() {
    for [language, file, gap, filled] in filled_in() {
        let lab = Lab::new();
        let name = format!("s/my-{language}");
        let said = lab.bakeoff(&["new", &name, "--language", language]);
        assert_eq!(said.code, Some(0), "{said:?}");
        assert!(said.stdout.contains(&format!("Then: bakeoff check {name}")), "{}", said.stdout);

        let said = lab.bakeoff(&["check", &name]);
        assert_eq!(said.code, Some(1), "{language}: nothing is filled in yet: {said:?}");
        said.assert_complains(&["it gives no right answer", "to be filled in"]);

        let path = lab.path(&format!("studies/{name}/{file}"));
        let source = fs::read_to_string(&path).unwrap();
        assert!(source.contains(gap), "{language}: the gap isn't where it was");
        assert!(source.contains("GET /hello?id=ID answers with the ID."), "{language}: {source}");
        fs::write(&path, source.replace(gap, filled)).unwrap();
        let said = lab.bakeoff(&["check", &name]);
        assert_eq!(said.code, Some(0), "{language}: {said:?}");
        lab.assert_nothing_is_left();
    }
}

/// What an answer takes here whose body waits until the client has acknowledged its head,
/// since both are sent apart: the median, in µs. Linux puts that off, but not for a
/// connection's first ones.
fn acknowledged_after_us() -> f64 {
    const ANSWERS: usize = 50;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (mut server, _) = listener.accept().unwrap();
    let mut times: Vec<f64> = std::thread::scope(|scope| {
        scope.spawn(move || {
            for _ in 0..ANSWERS {
                server.read_exact(&mut [0]).unwrap();
                server.write_all(b"head").unwrap();
                server.write_all(b"body").unwrap();
            }
        });
        let answer = |_| {
            let asked = Instant::now();
            client.write_all(b"?").unwrap();
            client.read_exact(&mut [0; 8]).unwrap();
            asked.elapsed().as_secs_f64() * 1e6
        };
        (0..ANSWERS).map(answer).collect()
    });
    times.sort_by(f64::total_cmp);
    times[ANSWERS / 2]
}

#[test]
fn no_answer_of_a_skeleton_waits_for_an_acknowledgement() {
    let waits_us = acknowledged_after_us();
    for [language, file, gap, filled] in filled_in() {
        let lab = Lab::new();
        let said = lab.bakeoff(&["new", "s/mine", "--language", language]);
        assert_eq!(said.code, Some(0), "{said:?}");
        let path = lab.path(&format!("studies/s/mine/{file}"));
        let source = fs::read_to_string(&path).unwrap();
        fs::write(&path, source.replace(gap, filled)).unwrap();

        let said = lab.bakeoff(&["run", "s"]);
        let run = lab.run();
        // Each answer of each trial would wait. A busy machine holds up some.
        let works = run.trials.iter().filter_map(|trial| trial.evidence.work.as_ref());
        let mean_us = works.filter_map(|work| work.response_us.mean).reduce(f64::min);
        let is_at_once = mean_us.is_some_and(|us| us < waits_us / 2.0);
        assert!(is_at_once, "{language}: {mean_us:?} µs; one that waits has {waits_us}: {said:?}");
        lab.assert_nothing_is_left();
    }
}

/// What a skeleton lacks for the web study: the words of its source, and what takes their
/// place.
type Fills<'a> = &'a [(&'a str, &'a str)];

/// Fills a skeleton in, and has it checked.
fn keeps_the_web_contract(language: &str, program: &str, file: &str, fills: Fills) {
    if !is_here(program) {
        return skipped("skipped", &format!("{program} is not installed"));
    }
    let lab = Lab::new();
    lab.write("studies/web/study.toml", &web_study());
    let said = lab.bakeoff(&["new", "web/mine", "--language", language]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let path = lab.path(&format!("studies/web/mine/{file}"));
    let mut source = fs::read_to_string(&path).unwrap();
    for (gap, filled) in fills {
        assert_eq!(source.matches(gap).count(), 1, "{gap:?} isn't there once:\n{source}");
        source = source.replace(gap, filled);
    }
    fs::write(&path, source).unwrap();
    let said = lab.bakeoff(&["check", "web/mine"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.stdout.contains("\nIt keeps the contract"), "{said:?}");
    lab.assert_nothing_is_left();
}

#[test]
fn a_skeleton_in_go_keeps_the_whole_contract_of_the_web_study_once_filled_in() {
    let fills = [
        ("\t\"log\"\n", "\t\"crypto/rand\"\n\t\"encoding/hex\"\n\t\"log\"\n\t\"regexp\"\n"),
        (
            "\tw.Write([]byte(\"to be filled in\\n\"))\n",
            r#"	id := r.URL.Query().Get("id")
	if r.URL.Path != "/hello" {
		http.Error(w, "not found", http.StatusNotFound)
	} else if r.Method != http.MethodGet && r.Method != http.MethodHead {
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
	} else if !regexp.MustCompile("^[0-9A-Za-z]{1,64}$").MatchString(id) {
		http.Error(w, "the id has to be 1 to 64 letters and digits", http.StatusBadRequest)
	} else {
		var number [16]byte
		rand.Read(number[:])
		text := "hello " + id + ", your random number is " + hex.EncodeToString(number[:]) + "\n"
		w.Write([]byte(text))
	}
"#,
        ),
    ];
    keeps_the_web_contract("go", "go", "main.go", &fills);
}

#[test]
fn a_skeleton_in_java_keeps_the_whole_contract_of_the_web_study_once_filled_in() {
    let fills = [
        (
            "import java.util.concurrent.Executors;\n",
            "import java.util.concurrent.Executors;\n\
             import java.util.concurrent.ThreadLocalRandom;\n",
        ),
        (
            "        send(exchange, 200, \"to be filled in\\n\");\n",
            r#"        String query = exchange.getRequestURI().getQuery();
        String id = query != null && query.startsWith("id=") ? query.substring(3) : "";
        String method = exchange.getRequestMethod();
        if (!exchange.getRequestURI().getPath().equals("/hello")) {
            send(exchange, 404, "not found\n");
        } else if (!method.equals("GET") && !method.equals("HEAD")) {
            send(exchange, 405, "method not allowed\n");
        } else if (!id.matches("[0-9A-Za-z]{1,64}")) {
            send(exchange, 400, "the id has to be 1 to 64 letters and digits\n");
        } else {
            ThreadLocalRandom random = ThreadLocalRandom.current();
            String number = String.format("%016x%016x", random.nextLong(), random.nextLong());
            send(exchange, 200, "hello " + id + ", your random number is " + number + "\n");
        }
"#,
        ),
    ];
    keeps_the_web_contract("java", "javac", "Server.java", &fills);
}

#[test]
fn a_skeleton_for_node_keeps_the_whole_contract_of_the_web_study_once_filled_in() {
    let fills = [
        (
            "const http = require(\"node:http\");\n",
            "const { randomBytes } = require(\"node:crypto\");\n\
             const http = require(\"node:http\");\n",
        ),
        (
            "  const body = \"to be filled in\\n\";\n",
            r#"  const url = new URL(`http://${HOST}${request.url}`);
  const id = url.searchParams.get("id") ?? "";
  const number = randomBytes(16).toString("hex");
  let status = 200;
  let body = `hello ${id}, your random number is ${number}\n`;
  if (url.pathname !== "/hello") {
    [status, body] = [404, "not found\n"];
  } else if (request.method !== "GET" && request.method !== "HEAD") {
    [status, body] = [405, "method not allowed\n"];
  } else if (!/^[0-9A-Za-z]{1,64}$/.test(id)) {
    [status, body] = [400, "the id has to be 1 to 64 letters and digits\n"];
  }
"#,
        ),
        ("response.writeHead(200, {", "response.writeHead(status, {"),
    ];
    keeps_the_web_contract("node", "node", "server.js", &fills);
}

#[test]
fn a_skeleton_in_python_keeps_the_whole_contract_of_the_web_study_once_filled_in() {
    let fills = [
        (
            "import os\n",
            "import os\nimport random\nimport re\nfrom urllib.parse import parse_qs, urlsplit\n",
        ),
        (
            "        self.answer(200, \"to be filled in\\n\")\n",
            r#"        url = urlsplit(self.path)
        id = parse_qs(url.query).get("id", [""])[0]
        if url.path != "/hello":
            self.answer(404, "not found\n")
        elif not re.fullmatch("[0-9A-Za-z]{1,64}", id):
            self.answer(400, "the id has to be 1 to 64 letters and digits\n")
        else:
            number = random.getrandbits(128)
            self.answer(200, f"hello {id}, your random number is {number:032x}\n")
"#,
        ),
        (
            "    do_HEAD = do_GET\n",
            r#"    do_HEAD = do_GET

    def do_POST(self):
        self.answer(405, "method not allowed\n")
"#,
        ),
    ];
    keeps_the_web_contract("python", "python3", "server.py", &fills);
}

#[test]
fn every_key_is_explained_and_the_file_is_read_as_it_is() {
    let lab = Lab::new();
    assert_eq!(lab.bakeoff(&["new", "s/mine"]).code, Some(0));
    let file = fs::read_to_string(lab.path("studies/s/mine/contender.toml")).unwrap();
    let documented = include_str!("../../../../docs/contenders.md");
    let documented = documented.split("\n## Keys of").nth(1).unwrap();
    let documented = documented.split("\n### ").next().unwrap();
    let keys = documented.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    let keys: BTreeSet<&str> = keys.filter(|key| !key.starts_with('$')).collect();
    for key in &keys {
        assert!(file.contains(&format!("{key} = ")), "`{key}` isn't in it:\n{file}");
    }
    // Every key that bakeoff takes is documented: it tells them where one is unknown.
    lab.contender("mine", "[\"true\"]", "no-such-key = 1");
    let said = lab.bakeoff(&["check", "s/mine"]);
    let taken = said.stderr.split("allowed: ").nth(1).and_then(|it| it.lines().next());
    let taken = taken.unwrap_or_else(|| panic!("{said:?}"));
    let taken: BTreeSet<&str> = taken.split('`').skip(1).step_by(2).collect();
    assert_eq!(taken, keys, "docs/contenders.md, on the right, and what bakeoff takes");
    // Every key behind a `#` is one that bakeoff knows.
    let all = file
        .replace("\n# ", "\n")
        .lines()
        .filter(|it| it.contains(" = "))
        .collect::<Vec<_>>()
        .join("\n");
    lab.write("studies/s/mine/contender.toml", &all.replace("contract = \"static\"\n", ""));
    let said = lab.bakeoff(&["check", "s/mine"]);
    assert!(!said.stderr.contains("unknown key"), "{said:?}");
}

/// The example of docs/contenders.md, as a reader copies it.
#[test]
fn the_documented_example_keeps_the_contract_of_the_web_study() {
    if !is_here("lighttpd") {
        return skipped("skipped", "lighttpd is not installed");
    }
    let documented = include_str!("../../../../docs/contenders.md");
    let block = |kind: &str| {
        let example = documented.split("## Your first one").nth(1).unwrap();
        let block = example.split(&format!("```{kind}\n")).nth(1).expect(kind);
        block.split("```").next().unwrap()
    };
    let files = [("contender.toml", "toml"), ("lighttpd.conf", "conf"), ("hello.html", "html")];
    let lines: usize = files.iter().map(|(_, kind)| block(kind).lines().count()).sum();
    assert!(lines < 30, "the example has {lines} lines");

    let lab = Lab::new();
    lab.write("studies/web/study.toml", &web_study());
    assert_eq!(lab.bakeoff(&["new", "web/lighttpd"]).code, Some(0));
    for (file, kind) in files {
        lab.write(&format!("studies/web/lighttpd/{file}"), block(kind));
    }
    let said = lab.bakeoff(&["check", "web/lighttpd"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.stdout.contains("\nIt keeps the contract"), "{said:?}");

    // What it says to know: the last four lines are there for a reason.
    let (without, _) = block("conf").split_once("$HTTP[").expect("the lines in question");
    lab.write("studies/web/lighttpd/lighttpd.conf", without);
    let said = lab.bakeoff(&["check", "web/lighttpd"]);
    let complaint = documented.split("`check` says *").nth(1).and_then(|it| it.split('*').next());
    let complaint = format!("✗ {}\n", complaint.expect("what check says then"));
    assert!(said.stdout.contains(&complaint), "not {complaint}: {said:?}");
    lab.assert_nothing_is_left();
}

/// The web study without the names of contenders that are not in this test.
fn web_study() -> String {
    let study = include_str!("../../../../studies/web/study.toml");
    let mut study: toml::Table = study.parse().unwrap();
    study.remove("published");
    study.remove("claim");
    for (_, profile) in study["profile"].as_table_mut().unwrap() {
        profile.as_table_mut().unwrap().remove("contenders");
    }
    study.to_string()
}

/// As somebody does in an editor.
fn fill_in(lab: &Lab, file: &str) {
    let text = fs::read_to_string(lab.path(file)).unwrap();
    lab.write(file, &text.replace("FILL IN", "Filled in").replace("FILL-IN", "true"));
}

/// What stands between backticks and begins with `bakeoff`, in all files below a folder.
fn commands_in(folder: &Path) -> Vec<String> {
    let mut commands = Vec::new();
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            commands.extend(commands_in(&path));
        } else {
            let text = fs::read_to_string(&path).unwrap();
            let quoted = text.split('`').skip(1).step_by(2);
            commands.extend(quoted.filter(|it| it.starts_with("bakeoff ")).map(String::from));
        }
    }
    commands
}

/// The command that comes next, by what one said.
fn then(said: &Said) -> String {
    assert_eq!(said.code, Some(0), "{said:?}");
    let then = said.stdout.lines().find_map(|line| line.strip_prefix("Then: "));
    then.unwrap_or_else(|| panic!("nothing comes next: {said:?}")).into()
}

/// Where there is no folder of studies yet, in one of another name, and at a path.
#[test]
fn each_command_that_a_template_shows_or_new_prints_is_found_as_it_is_pasted() {
    for (place, studies) in
        [(&[][..], "studies/"), (&["--studies", "my own"], "my own/"), (&[], "./")]
    {
        for driver in ["generator", "keys", "rooms", "program"] {
            let lab = Lab::new();
            fs::remove_dir_all(lab.path("studies")).unwrap();
            let study = if studies == "./" { "./mine" } else { "mine" };
            let said = lab.bakeoff(&[&["new", study, "--driver", driver], place].concat());
            let next = then(&said).replace("NAME", "one");
            let folder = lab.path(&format!("{studies}mine"));
            assert!(folder.join("study.toml").is_file(), "{said:?}");
            fill_in(&lab, &format!("{studies}mine/study.toml"));
            let check = then(&lab.paste(&next));
            let shown = commands_in(&folder);
            let is_shown = |start: &str| shown.iter().any(|it| it.starts_with(start));
            assert!(is_shown("bakeoff run ") && is_shown("bakeoff check "), "{shown:?}");
            for command in shown.into_iter().chain([check]) {
                // What it would measure is found, and not measured.
                let (command, says) = if command.starts_with("bakeoff run ") {
                    (command + " --only nobody", "there is no contender `nobody`")
                } else {
                    (command + "-nobody", "there is no contender `one-nobody`")
                };
                let said = lab.paste(&command);
                assert_eq!(said.code, Some(2), "{command}: {said:?}");
                said.assert_complains(&[says, "in the study `mine`"]);
            }
        }
    }
}

#[test]
fn a_new_study_of_stores_has_a_store_that_is_checked_measured_and_cut_off_as_it_is() {
    if !is_here("python3") {
        return skipped("skipped", "python3 is not installed");
    }
    let lab = Lab::new();
    let next = then(&lab.bakeoff(&["new", "shelf", "--driver", "keys"]));
    assert_eq!(next, "bakeoff new shelf/NAME --language python");
    let check = then(&lab.paste(&next.replace("NAME", "mine")));
    let said = lab.paste(&check);
    assert_eq!(said.code, Some(0), "{said:?}");
    let short = ["--blocks", "1", "--seconds", "0.3", "--warmup", "0.1"];
    let said = lab.bakeoff(&[&["run", "shelf"], &short[..]].concat());
    assert!(matches!(said.code, Some(0 | 3)), "{said:?}");
    for trial in &lab.run().trials {
        let work = trial.evidence.work.as_ref().unwrap_or_else(|| panic!("{said:?}"));
        assert!(work.done > 0 && work.errors.is_empty(), "{work:?}");
    }
    let cut =
        |rung: &str| lab.bakeoff(&["durability", "shelf/mine", "--require", rung, "--cuts", "1"]);
    let said = cut("process");
    assert_eq!(said.code, Some(0), "what it acknowledged is in its log: {said:?}");
    assert!(!said.stdout.contains("its machine stops"), "nobody asked: {said:?}");
    // Where it can't be had, that is not shown either.
    let said = cut("machine");
    assert_eq!(said.code, Some(3), "it syncs nothing: {said:?}");
    said.assert_complains(&["--require machine: mine isn't known to keep all"]);
    let said = lab.bakeoff(&["new", "shelf/other", "--language", "node"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    said.assert_complains(&["no skeleton of a store in this language, but in python"]);
    lab.assert_nothing_is_left();
}

#[test]
fn a_new_study_of_gateways_has_contenders_that_are_measured_as_they_are() {
    let lab = Lab::new();
    let next = then(&lab.bakeoff(&["new", "lobby", "--driver", "rooms"]));
    assert_eq!(next, "bakeoff new lobby/NAME --language go");
    let mut contenders = BTreeSet::new();
    for [language, ..] in filled_in() {
        let said = lab.bakeoff(&["new", &format!("lobby/{language}"), "--language", language]);
        assert_eq!(then(&said), format!("bakeoff check lobby/{language}"));
        contenders.insert(language.to_string());
    }
    let short = ["--blocks", "1", "--seconds", "0.3", "--warmup", "0.1"];
    let said = lab.bakeoff(&[&["run", "lobby"], &short[..]].concat());
    assert!(matches!(said.code, Some(0 | 3)), "{said:?}");
    let trials = lab.run().trials;
    let measured: BTreeSet<String> = trials.iter().map(|it| it.slot.contender.clone()).collect();
    assert_eq!(measured, contenders, "{said:?}");
    for trial in &trials {
        let evidence = &trial.evidence;
        for step in evidence.contract.iter().chain(&evidence.contract_after) {
            assert!(step.wrong.is_none(), "{}: {step:?}", trial.slot.contender);
        }
        let work = trial.evidence.work.as_ref().unwrap_or_else(|| panic!("{said:?}"));
        assert!(work.done > 0 && work.errors.is_empty(), "{work:?}");
    }
    lab.assert_nothing_is_left();
}

/// Else a study of one's own would begin with an error.
#[test]
fn a_new_study_is_read_as_it_is_and_its_contract_is_asked() {
    let lab = Lab::new();
    let said = lab.bakeoff(&["new", "mine", "--driver", "generator"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.stdout.contains("bakeoff new mine/NAME --language go"), "{said:?}");
    let again = lab.bakeoff(&["new", "mine", "--driver", "generator"]);
    assert!(again.code == Some(2) && again.stderr.contains("is there already"), "{again:?}");

    let study = fs::read_to_string(lab.path("studies/mine/study.toml")).unwrap();
    assert!(study.contains("`bakeoff run mine`"), "its own name stands in its commands: {study}");
    for [language, ..] in filled_in().take(1) {
        let said = lab.bakeoff(&["new", "mine/server", "--language", language]);
        assert_eq!(said.code, Some(0), "{said:?}");
        let said = lab.bakeoff(&["check", "mine/server"]);
        assert_eq!(said.code, Some(2), "{said:?}");
        said.assert_complains(&["studies/mine/study.toml:2:9: this is still to be filled in"]);
        fill_in(&lab, "studies/mine/study.toml");
        let said = lab.bakeoff(&["check", "mine/server"]);
        assert_eq!(said.code, Some(1), "nothing is filled in yet: {said:?}");
        said.assert_complains(&["it gives no right answer", "to be filled in"]);
        lab.assert_nothing_is_left();
    }
}

/// What is there to be filled in is only the study's own work. One after the other: each
/// works on all processors, and lines that come late are held against it.
#[test]
fn a_new_study_of_programs_has_contenders_that_keep_its_contract() {
    let lab = Lab::new();
    let said = lab.bakeoff(&["new", "sums", "--driver", "program"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    fill_in(&lab, "studies/sums/study.toml");
    for [language, ..] in filled_in() {
        let name = format!("sums/{language}");
        let said = lab.bakeoff(&["new", &name, "--language", language]);
        assert_eq!(said.code, Some(0), "{said:?}");
        let file = fs::read_to_string(lab.path(&format!("studies/{name}/contender.toml"))).unwrap();
        assert!(!file.contains("$PORT of $HOST"), "nobody asks it: {file}");
        let said = lab.check_program(&name);
        assert_eq!(said.code, Some(0), "{said:?}");
        assert!(said.stdout.contains("✓ sums the payloads"), "{said:?}");
    }
    lab.assert_nothing_is_left();
}

#[test]
fn a_study_or_a_contender_is_asked_for_by_the_name_that_it_has() {
    let lab = Lab::new();
    let said = lab.bakeoff(&["new", "mine"]);
    assert_eq!(said.code, Some(2));
    assert!(
        said.stderr.contains("for a new study add --driver with one of generator, keys, rooms"),
        "{said:?}"
    );
    let said = lab.bakeoff(&["new", "s/mine", "--driver", "generator"]);
    assert_eq!(said.code, Some(2));
    assert!(said.stderr.contains("a study's name is made of"), "{said:?}");
}

#[test]
fn what_is_there_is_never_overwritten() {
    let lab = Lab::with_good();
    let before = fs::read_to_string(lab.path("studies/s/good/contender.toml")).unwrap();
    let said = lab.bakeoff(&["new", "s/good"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    said.assert_complains(&["studies/s/good is there already; nothing was written"]);
    assert_eq!(fs::read_to_string(lab.path("studies/s/good/contender.toml")).unwrap(), before);
}

#[test]
fn a_name_that_is_none_is_refused() {
    let lab = Lab::new();
    for (name, says) in [
        ("s/../x", "no study `s/..`"),
        ("s/", "give study and contender"),
        ("s/No Name", "lower-case letters"),
        ("x/y", "no study `x`"),
        ("y", "give study and contender"),
    ] {
        let said = lab.bakeoff(&["new", name]);
        assert_eq!(said.code, Some(2), "{name}: {said:?}");
        said.assert_complains(&[says]);
    }
    assert!(!lab.path("studies/x").exists());
}
