//! What the documents say of commands, beside the commands themselves.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use assert_cmd::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Every document for users, by its name.
fn documents() -> Vec<(String, String)> {
    let mut names: Vec<String> =
        ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md"].map(String::from).into();
    for folder in ["docs", "docs/checks", "docs/decisions"] {
        let entries = fs::read_dir(root().join(folder)).unwrap();
        let files = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.extend(files.filter(|it| it.ends_with(".md")).map(|it| format!("{folder}/{it}")));
    }
    names.into_iter().map(|name| (name.clone(), read(&name))).collect()
}

/// Words of our own that stood where the field has one that people search for.
const OWN_WORDS: [(&str, &str); 3] = [
    ("answers a second", "requests a second"),
    ("twins", "two identical entries (an A/A pair)"),
    ("twin of the", "second entry of the"),
];

/// What people search for who need such a program, whether there is it or not.
const SEARCHED_FOR: [&str; 16] = [
    "RPS",
    "throughput",
    "latency",
    "p95",
    "p99",
    "SLO",
    "regression",
    "ramp",
    "TLS",
    "HTTP/2",
    "WebSocket",
    "k6",
    "wrk",
    "CI",
    "duel",
    "load generator",
];

/// Documents that commands write from output, whose words are that output's.
const WRITTEN_BY_COMMANDS: [&str; 1] = ["docs/mistakes.md"];

/// Where the links of a document lead that stay in the tree: a file, and perhaps a heading's
/// anchor in it.
fn links(document: &str) -> Vec<(String, Option<String>)> {
    let mut text = String::new();
    let mut in_block = false;
    for line in document.lines() {
        if line.starts_with("```") {
            in_block = !in_block;
        } else if !in_block {
            text.push_str(line);
            text.push('\n');
        }
    }
    let ends = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let inner = ends.filter(|link| !link.contains("://") && !link.contains(char::is_whitespace));
    let parts = inner.map(|link| match link.split_once('#') {
        Some((file, anchor)) => (file.to_string(), Some(anchor.to_string())),
        None => (link.to_string(), None),
    });
    parts.collect()
}

/// The anchors of a document's headings, as GitHub makes them.
fn anchors(document: &str) -> BTreeSet<String> {
    let headings = document.lines().filter(|line| line.starts_with('#'));
    let kept = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    let anchor = |line: &str| {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        title.chars().filter(|&c| kept(c)).collect::<String>().replace(' ', "-")
    };
    headings.map(anchor).collect()
}

/// A path without the `..` in it.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

/// What stands in a document as code: lines of blocks, and pieces of other lines.
fn code(document: &str) -> Vec<&str> {
    let mut code = Vec::new();
    let mut in_block = false;
    for line in document.lines() {
        if line.starts_with("```") {
            in_block = !in_block;
        } else if in_block {
            code.push(line);
        } else {
            code.extend(line.split('`').skip(1).step_by(2));
        }
    }
    code
}

fn help(arguments: &[&str]) -> String {
    let output = Command::cargo_bin("bakeoff").unwrap().args(arguments).arg("--help").output();
    String::from_utf8(output.unwrap().stdout).unwrap()
}

/// The help of each command, by its name.
fn commands() -> BTreeMap<String, String> {
    let all = help(&[]);
    let list = all.split("Commands:\n").nth(1).and_then(|it| it.split("\n\n").next()).unwrap();
    // What a command does may go on in the next line, which is indented further.
    let lines = list.lines().filter_map(|line| line.strip_prefix("  "));
    let names = lines.filter_map(|line| line.split(' ').next());
    let names = names.filter(|name| !["", "help"].contains(name));
    names.map(|name| (name.to_string(), help(&[name]))).collect()
}

/// The numbers that such a text begins its parts with.
fn numbers<'a>(parts: impl Iterator<Item = &'a str>) -> BTreeSet<u8> {
    parts.filter_map(|part| part.split_whitespace().next()?.parse().ok()).collect()
}

#[test]
fn every_command_has_its_exit_codes_in_its_help_and_on_the_page() {
    let page = read("docs/exit-codes.md");
    for (command, help) in commands() {
        let told = help.split("Exit codes:").nth(1);
        let told = told.unwrap_or_else(|| panic!("`bakeoff {command} --help` tells none"));
        let told = told.trim_start().split("\n\n").next().unwrap();
        let told = numbers(told.split([';', '\n']));
        let heading = format!("Exit codes of `bakeoff {command}`\n");
        let section = page.split("# ").find_map(|section| section.strip_prefix(&heading));
        let section = section.unwrap_or_else(|| panic!("the page lacks `bakeoff {command}`"));
        let rows = section.lines().filter_map(|line| line.strip_prefix("| "));
        assert_eq!(told, numbers(rows), "`bakeoff {command}`: its help, and docs/exit-codes.md");
    }
}

#[test]
fn every_command_and_option_in_a_document_is_there() {
    let commands = commands();
    let mut seen = BTreeSet::new();
    let has = |help: &str, option: &str| {
        let option = option.trim_end_matches([',', '.', ']']);
        help.split([' ', ',', '\n']).any(|word| word == option)
    };
    for (name, document) in documents() {
        for code in code(&document) {
            let Some(line) = code.strip_prefix("bakeoff ") else { continue };
            // What stands in quotation marks are options of somebody else's.
            let own = line.split('\'').step_by(2).collect::<Vec<_>>().join(" ");
            let mut words = own.split_whitespace();
            let command = words.next().unwrap_or_default();
            let help = commands.get(command);
            let help = help.unwrap_or_else(|| panic!("{name}: `{code}`: there is no {command}"));
            seen.insert(command.to_string());
            for option in words.filter(|word| word.starts_with("--")) {
                assert!(has(help, option), "{name}: `{code}`: there is no {option}");
            }
        }
    }
    let all: BTreeSet<String> = commands.keys().cloned().collect();
    assert_eq!(seen, all, "a command stands in no document");
    // These pages speak of one command, and name its options alone.
    for name in ["docs/load.md", "docs/load-json.md"] {
        for option in code(&read(name)).iter().filter(|code| code.starts_with("--")) {
            let option = option.split_whitespace().next().unwrap();
            assert!(has(&commands["load"], option), "{name}: there is no {option}");
        }
    }
}

#[test]
fn every_target_of_make_in_a_document_is_there() {
    let makefile = read("Makefile");
    let mut seen = 0;
    for (name, document) in documents() {
        let code = code(&document);
        let targets = code.iter().filter_map(|code| code.strip_prefix("make "));
        // After more spaces comes what `make` alone does.
        for line in targets.filter(|line| !line.starts_with(' ')) {
            let target = line.split_whitespace().next().unwrap();
            assert!(makefile.contains(&format!("\n{target}: ")), "{name}: make {target}");
            seen += 1;
        }
    }
    assert!(seen > 0, "no document names a target");
}

#[test]
fn every_link_of_a_document_leads_somewhere() {
    for (name, document) in documents() {
        let folder = Path::new(&name).parent().unwrap();
        for (file, anchor) in links(&document) {
            let target = if file.is_empty() { name.clone().into() } else { folder.join(&file) };
            let target = plain(&target);
            assert!(root().join(&target).exists(), "{name}: there is no {file}");
            let Some(anchor) = anchor else { continue };
            let there = anchors(&read(target.to_str().unwrap()));
            assert!(there.contains(&anchor), "{name}: {file} has no heading #{anchor}: {there:?}");
        }
    }
}

#[test]
fn every_document_is_reached_from_the_readme() {
    let mut reached = BTreeSet::new();
    let mut to_read = vec![PathBuf::from("README.md")];
    while let Some(name) = to_read.pop() {
        if !reached.insert(name.clone()) || name.extension().is_none_or(|it| it != "md") {
            continue;
        }
        let folder = name.parent().unwrap();
        let linked = links(&read(name.to_str().unwrap())).into_iter();
        to_read.extend(
            linked.filter(|(file, _)| !file.is_empty()).map(|it| plain(&folder.join(it.0))),
        );
    }
    for (name, _) in documents() {
        assert!(reached.contains(Path::new(&name)), "no link leads from README.md to {name}");
    }
}

#[test]
fn documents_have_the_words_of_the_field() {
    for (name, document) in documents() {
        if WRITTEN_BY_COMMANDS.contains(&name.as_str()) {
            continue;
        }
        // A line may end within the words.
        let text = document.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
        for (own, of_the_field) in OWN_WORDS {
            assert!(!text.contains(own), "{name}: \"{own}\": better \"{of_the_field}\"");
        }
    }
}

#[test]
fn the_readme_has_the_words_that_people_search_for() {
    let readme = read("README.md");
    for word in SEARCHED_FOR {
        assert!(readme.contains(word), "README.md says nothing of {word}");
    }
}

/// A table of another tool's flags names options here: its second column.
#[test]
fn every_option_beside_another_tools_flag_is_there() {
    let help = help(&["load"]);
    let page = read("docs/from-other-tools.md");
    let mut seen = 0;
    for row in page.lines().filter(|line| line.starts_with("| ")) {
        let here = row.split(" | ").nth(1).unwrap_or_default();
        let code = here.split('`').skip(1).step_by(2).filter(|code| code.starts_with('-'));
        for option in code.map(|code| code.split(' ').next().unwrap()) {
            let mut words = help.split([' ', ',', '\n']);
            assert!(words.any(|word| word == option), "there is no {option}: {row}");
            seen += 1;
        }
    }
    assert!(seen > 50, "the tables have {seen} options");
}
