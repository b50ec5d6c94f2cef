//! The pages of `study.toml`, `contender.toml` and a mistake's file beside their parsers:
//! each key with what it may be and what holds without it, and no key that there isn't.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use lab::study::Study;
use museum::mistake;
use toml::{Table, Value};

/// No key of any file.
const UNKNOWN: &str = "no-such-key";
/// In the place of a name that its author chooses.
const NAME: &str = "NAME";

fn page(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The first example of a page.
fn example(page: &str) -> &str {
    nth_example(page, 1)
}

/// One of a page's examples, from 1.
fn nth_example(page: &str, number: usize) -> &str {
    page.split("```toml\n").nth(number).and_then(|it| it.split("```").next()).expect("an example")
}

/// The study of this file with these contenders: what is said against it.
fn complaint(study: &str, contenders: &[(&str, &str)]) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    let studies = folder.path().join("studies");
    for (name, text) in contenders {
        fs::create_dir_all(studies.join("hello").join(name)).unwrap();
        fs::write(studies.join("hello").join(name).join("contender.toml"), text).unwrap();
    }
    fs::write(studies.join("hello/study.toml"), study).unwrap();
    fs::write(studies.join("hello/order.json"), "{}").unwrap();
    let error = Study::read(&studies, "hello").err()?.to_string();
    Some(error.replace(&format!("{}/", folder.path().display()), ""))
}

/// A file of one kind: its example, and what is said against another in its place.
struct File {
    example: String,
    complaint: fn(&str) -> Option<String>,
}

fn contender() -> String {
    example(&page("contenders.md")).to_string()
}

fn study_complaint(text: &str) -> Option<String> {
    complaint(text, &[("go", &contender()), ("nginx", &contender())])
}

fn contender_complaint(text: &str) -> Option<String> {
    complaint(example(&page("study-toml.md")), &[("go", text), ("nginx", &contender())])
}

fn mistake_complaint(text: &str) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("m.toml"), text).unwrap();
    mistake::read(&folder.path().join("m.toml")).err().map(|error| error.to_string())
}

impl File {
    fn study() -> File {
        File { example: example(&page("study-toml.md")).into(), complaint: study_complaint }
    }

    /// Of contenders that drive themselves.
    fn study_of_programs() -> File {
        let complaint =
            |text: &str| complaint(text, &[("go", &contender()), ("rust", &contender())]);
        File { example: nth_example(&page("study-toml.md"), 2).into(), complaint }
    }

    /// Of stores.
    fn study_of_stores() -> File {
        let complaint = |text: &str| {
            let store = format!("{}\nspeaks = \"redis\"", contender().replace("contract = ", "# "));
            complaint(text, &[("redis", &store)])
        };
        File { example: nth_example(&page("study-toml.md"), 3).into(), complaint }
    }

    /// Of gateways.
    fn study_of_gateways() -> File {
        let complaint = |text: &str| {
            let gateway = contender().replace("contract = ", "# ");
            complaint(text, &[("go", &gateway)])
        };
        File { example: nth_example(&page("study-toml.md"), 4).into(), complaint }
    }

    fn contender() -> File {
        File { example: contender(), complaint: contender_complaint }
    }

    /// One with variants.
    fn contender_of_programs() -> File {
        let contenders = page("contenders.md");
        let keys = contenders.split("\n### `[variant.NAME]`\n").nth(1).expect("variants");
        let complaint = |text: &str| {
            let study = page("study-toml.md");
            let others = [("go", &*contender()), ("rust", &*contender())];
            complaint(nth_example(&study, 2), &[&[("erlang", text)], &others[..]].concat())
        };
        File { example: example(keys).into(), complaint }
    }

    fn mistake() -> File {
        let example = example(&page("mistake-toml.md")).into();
        File { example, complaint: mistake_complaint }
    }

    /// What is said against the example with this done to the table at this place.
    fn with(&self, place: &[Step], change: impl FnOnce(&mut Table)) -> Option<String> {
        let mut whole: Value = Value::Table(self.example.parse().unwrap());
        let mut at = &mut whole;
        for step in place {
            at = match step {
                Step::Key(key) => &mut at[key.as_str()],
                Step::Item(item) => &mut at[*item],
            };
        }
        change(at.as_table_mut().expect("a table"));
        (self.complaint)(&toml::to_string(&whole).unwrap())
    }

    /// The keys that are allowed in this table; `None` where its author names them.
    fn allowed(&self, place: &[Step]) -> Option<BTreeSet<String>> {
        let with_unknown = |table: &mut Table| {
            table.insert(UNKNOWN.into(), Value::Boolean(true));
        };
        let said = self.with(place, with_unknown).expect("it is no key");
        let allowed = said.split(&format!("unknown key `{UNKNOWN}`; allowed: ")).nth(1)?;
        let allowed = allowed.split(';').next().unwrap();
        Some(allowed.split('`').skip(1).step_by(2).map(String::from).collect())
    }

    /// The kind of its driver and what that speaks, where it is a study's.
    fn driver(&self) -> Vec<String> {
        let example: Table = self.example.parse().unwrap();
        let Some(driver) = example.get("driver") else { return Vec::new() };
        let words = ["kind", "protocol"].into_iter().filter_map(|key| driver.get(key)?.as_str());
        words.map(String::from).collect()
    }

    /// All tables of the example.
    fn tables(&self) -> Vec<Found> {
        let whole = Value::Table(self.example.parse().unwrap());
        let mut found = Vec::new();
        self.collect(&whole, Vec::new(), String::new(), &mut found);
        found
    }

    fn collect(&self, value: &Value, place: Vec<Step>, name: String, found: &mut Vec<Found>) {
        let step = |step: Step| place.iter().cloned().chain([step]).collect::<Vec<_>>();
        match value {
            Value::Array(items) => {
                for (at, item) in items.iter().enumerate() {
                    self.collect(item, step(Step::Item(at)), name.clone(), found);
                }
            }
            Value::Table(table) => {
                let is_named_by_its_author = self.allowed(&place).is_none();
                for (key, value) in table {
                    let key_of_page = if is_named_by_its_author { NAME } else { key };
                    let name = format!("{name}.{key_of_page}");
                    self.collect(value, step(Step::Key(key.clone())), name, found);
                }
                if !is_named_by_its_author {
                    found.push(Found { place, name, keys: table.keys().cloned().collect() });
                }
            }
            _ => {}
        }
    }

    /// Holds a row of the page to what the parser says of its key.
    fn hold(&self, place: &[Step], key: &str, row: &Row) {
        let without = self.with(place, |table| {
            table.remove(key);
        });
        let is_required = without.is_some_and(|said| said.contains("missing key"));
        assert_eq!(row.is_required(&self.driver()), is_required, "`{key}`: {row:?}");

        for odd in odd_values() {
            let is_list = odd.is_array();
            if is_list && row.value == "table" {
                // The parser takes it for the table's values, and complains of the first.
                continue;
            }
            let said = self.with(place, |table| {
                table.insert(key.into(), odd);
            });
            let said = said.unwrap_or_default();
            let what = said.lines().next().unwrap_or_default();
            let after = |words: &str| what.split(words).nth(1);
            let is_said = |words: &str| {
                assert!(row.value.contains(words), "`{key}` has to be {words}; the page: {row:?}");
            };
            if let Some(bound) = after("this has to be ") {
                is_said(bound);
            }
            if what.contains("unknown value") {
                let values = after("allowed: ").expect("the values").split('`');
                values.skip(1).step_by(2).for_each(|value| is_said(&format!("`{value}`")));
            }
            // What is wrong with a list may be what is in it.
            if !is_list && what.contains("invalid type") {
                match after(", expected ").expect("a type") {
                    "a list" => is_said("list"),
                    "a table" => is_said("table"),
                    "true or false" => is_said("true or false"),
                    // Text and numbers mostly have other words, and a bound.
                    _ => {}
                }
            }
        }
    }
}

/// A table of an example.
struct Found {
    place: Vec<Step>,
    /// What the page calls it, after all that it lies in.
    name: String,
    keys: BTreeSet<String>,
}

/// A step from a table or a list to what is in it.
#[derive(Debug, Clone)]
enum Step {
    Key(String),
    Item(usize),
}

/// One of these is wrong for any key that has a bound or a type.
fn odd_values() -> [Value; 7] {
    [
        Value::Integer(0),
        Value::Integer(1_000_000_000),
        Value::String(String::new()),
        Value::String("no such word".into()),
        Value::Array(vec![]),
        Value::Array(vec![Value::Integer(0)]),
        Value::Boolean(true),
    ]
}

/// A key's line on a page.
#[derive(Debug)]
struct Row {
    value: String,
    default: String,
}

impl Row {
    /// Whether the page says so, of all studies or of those with such a driver.
    fn is_required(&self, driver: &[String]) -> bool {
        let by = self.default.strip_prefix("required by ").unwrap_or_default();
        self.default == "required" || driver.iter().any(|it| by.contains(&format!("`{it}`")))
    }
}

/// The keys of each section that has some, by the names in its heading; without a name,
/// they are the file's own.
fn sections(page: &str) -> Vec<(Vec<String>, BTreeMap<String, Row>)> {
    let mut sections = Vec::new();
    for section in page.split("\n#").skip(1) {
        let heading = section.lines().next().unwrap();
        let names = heading.split('`').skip(1).step_by(2);
        let names = names.map(|name| name.trim_matches(['[', ']']).to_string()).collect();
        let rows = section.lines().filter_map(|line| {
            let mut cells = line.strip_prefix("| `")?.split(" | ");
            let key = cells.next()?.strip_suffix('`')?.to_string();
            let row = Row { value: cells.next()?.into(), default: cells.next()?.into() };
            cells.next().map(|_| (key, row))
        });
        let rows: BTreeMap<_, _> = rows.collect();
        if !rows.is_empty() {
            sections.push((names, rows));
        }
    }
    sections
}

/// Holds a page to the parser, key by key, but for tables that another page tells of, and
/// what is in them. Gives the keys of the page that its example doesn't have.
fn hold(file: &File, page: &str, of_another_page: &[&str]) -> Vec<String> {
    let said = (file.complaint)(&file.example);
    assert_eq!(said, None, "the page's own example");
    let sections = sections(page);
    let mut used = vec![BTreeSet::new(); sections.len()];
    for Found { place, name, keys } in file.tables() {
        if of_another_page.iter().any(|of| name.starts_with(of)) {
            continue;
        }
        let is_of_it = |names: &[String]| {
            if name.is_empty() {
                names.is_empty()
            } else {
                names.iter().any(|of| name.ends_with(&format!(".{of}")))
            }
        };
        let at = sections.iter().position(|(names, _)| is_of_it(names));
        let at = at.unwrap_or_else(|| panic!("the page has no section for `{name}`"));
        used[at].extend(keys);
        let rows = &sections[at].1;
        let documented: BTreeSet<String> = rows.keys().cloned().collect();
        let allowed = file.allowed(&place).expect("keys that aren't its author's");
        assert_eq!(documented, allowed, "`{name}`: the page, and what the parser knows");
        for (key, row) in rows {
            file.hold(&place, key, row);
        }
    }
    let all = sections.iter().zip(used);
    all.flat_map(|((names, rows), used)| {
        let unused = rows.keys().filter(move |&key| !used.contains(key));
        unused.map(|key| format!("{}.{key}", names.join(",")))
    })
    .collect()
}

#[test]
fn the_page_of_study_toml_has_every_key_with_its_bounds_and_no_other() {
    let page = page("study-toml.md");
    let asked = hold(&File::study(), &page, &[]);
    let programs = hold(&File::study_of_programs(), &page, &[]);
    let stores = hold(&File::study_of_stores(), &page, &[]);
    let gateways = hold(&File::study_of_gateways(), &page, &[]);
    // Else tables could be new that no page tells of, because nobody looked into them.
    let others = [&programs, &stores, &gateways];
    let is_unused = |key: &&String| others.iter().all(|unused| unused.contains(key));
    let unused: Vec<_> = asked.iter().filter(is_unused).collect();
    assert!(unused.is_empty(), "the examples have every key, but for {unused:?}");
}

#[test]
fn the_page_of_contender_toml_has_every_key_with_its_bounds_and_no_other() {
    let page = page("contenders.md");
    let section = page.split("\n## Keys of `contender.toml`\n").nth(1).expect("the keys");
    let section = section.split("\n## ").next().unwrap();
    let page = format!("\n# Keys\n{section}");
    hold(&File::contender(), &page, &[]);
    hold(&File::contender_of_programs(), &page, &[]);
}

#[test]
fn the_page_of_a_mistakes_file_has_every_key_with_its_bounds_and_no_other() {
    let of_studies = [".set_up.run", ".set_up.sabotage.run", ".set_up.asks"];
    let unused = hold(&File::mistake(), &page("mistake-toml.md"), &of_studies);
    assert!(unused.is_empty(), "the example has every key, but for {unused:?}");
}

#[test]
fn the_complaints_of_the_page_are_those_of_the_parser() {
    let page = page("study-toml.md");
    let example = example(&page);
    let complaints: Vec<String> = [
        ("question = ", "qestion = "),
        (", fresh = true", ""),
        ("blocks = 6", "blocks = 60"),
        ("measure_s = 2", "measure_s = \"2 s\""),
        ("[\"go\", \"nginx\"]", "[\"go\", \"ngnix\"]"),
        (
            "curve = { cores = \"one\", connections = 100",
            "curve = { cores = \"all\", connections = 50",
        ),
        ("percent = [50, 100]", "percent = [50, 50]"),
        ("p99_ms = [1, 4]", "p99_ms = [1]"),
    ]
    .iter()
    .map(|(from, to)| {
        assert!(example.contains(from), "the example has no {from}");
        study_complaint(&example.replacen(from, to, 1)).unwrap_or_else(|| panic!("{to} is taken"))
    })
    .collect();
    let shown = page.split("```text\n").nth(1).and_then(|it| it.split("```").next());
    assert_eq!(shown.expect("complaints on the page"), complaints.join("\n\n") + "\n");
}
