//! The records of the study are what it says, formats have the sizes that follow from them,
//! contenders of one read each other's bytes, and what they count was done. `make check-programs`
//! has all of them do all.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use lab::ready::{missing, programs};
use lab::study::Study;
use lab::study::contender::{Contender, Placeholders};
use serde_json::Value;

use crate::fixture::{self, skipped};

/// One a language.
const LIGHT: [&str; 6] =
    ["erlang-term", "go-json", "java-jackson", "node-json", "python-json", "rust-serde-json"];
/// Those of described formats whose build takes a few seconds.
const SOON_BUILT: [&str; 2] = ["go-protobuf", "python-protobuf"];
/// Who reads whose bytes.
const FORMATS: [&[&str]; 12] = [
    &["go-json", "java-jackson", "node-json", "python-json", "python-orjson", "rust-serde-json"],
    &[
        "cpp-protobuf",
        "go-protobuf",
        "java-protobuf",
        "java-protobuf-code-size",
        "node-protobufjs",
        "python-protobuf",
        "rust-prost",
    ],
    &["cpp-thrift", "java-thrift-binary"],
    &["cpp-capnproto"],
    &["cpp-flatbuffers"],
    &["erlang-term"],
    &["java-avro"],
    &["java-fory"],
    &["java-thrift-compact"],
    &["python-msgpack"],
    &["rust-postcard"],
    &["rust-rkyv"],
];
const SETS: [&str; 4] = ["defaults", "full", "utf8", "shape-2009"];
const DEFAULT_TYPE: &str = "A";
const DEFAULT_TTL: u32 = 86_400;
/// A build's word that something is missing which no package is known to give.
const ABSENT: i32 = 69;

fn studies() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies")
}

/// A record, with the number that was told of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Record {
    number: u32,
    /// Key, value, type, first, last.
    texts: [String; 5],
    ttl: u32,
}

/// What `records.py` prints; `None` where there is no Python.
fn printed(data: &str, seed: u32) -> Option<String> {
    let python = "/usr/bin/python3";
    if !Path::new(python).exists() {
        skipped("skipped", "python3 is not installed; apt-get install python3");
        return None;
    }
    let mut maker = Command::new(python);
    maker.arg("records.py").args(["--data", data, "--seed", &seed.to_string()]);
    let Output { status, stdout, stderr } =
        maker.current_dir(studies().join("codecs")).output().unwrap();
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
    Some(String::from_utf8(stdout).unwrap())
}

fn records(data: &str, seed: u32) -> Option<Vec<Record>> {
    let record = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        let [number, key, value, r#type, first, last, ttl] = fields.try_into().expect("7 fields");
        let texts = [key, value, r#type, first, last].map(String::from);
        Record { number: number.parse().unwrap(), texts, ttl: ttl.parse().unwrap() }
    };
    Some(printed(data, seed)?.lines().map(record).collect())
}

#[test]
fn records_are_distinct_follow_from_the_seed_and_have_their_numbers() {
    for data in SETS {
        let Some(all) = records(data, 7) else { return };
        let distinct: BTreeSet<_> = all.iter().collect();
        assert!(distinct.len() >= 1_000 && distinct.len() == all.len(), "{data}");
        assert_eq!(all, records(data, 7).unwrap(), "{data}: one seed, other records");
        let of_another_seed = records(data, 8).unwrap();
        assert!(of_another_seed.iter().all(|it| !distinct.contains(it)), "{data}");
        for record in &all {
            let [key, value, r#type, first, last] = &record.texts;
            let number =
                [value, r#type, first, last, key].into_iter().fold(record.ttl, |number, text| {
                    let code = |letter: Option<char>| letter.map_or(0, u32::from);
                    let (begin, end) = (code(text.chars().next()), code(text.chars().next_back()));
                    let weighed = |before: u32, after| before.wrapping_mul(31).wrapping_add(after);
                    weighed(weighed(number, begin), end)
                });
            assert_eq!(record.number, number, "{data}: {record:?}");
            assert!(key.ends_with('a'), "what each round changes: {key}");
            // A program takes the last byte for the last code point.
            assert!(
                record.texts.iter().all(|it| it.is_empty() || it.ends_with(|c: char| c.is_ascii()))
            );
        }
    }
}

#[test]
fn each_data_set_is_what_its_name_says() {
    for data in SETS {
        let Some(all) = records(data, 7) else { return };
        for Record { texts, ttl, .. } in &all {
            let [key, value, r#type, first, last] = texts;
            let is_default = *ttl == DEFAULT_TTL && r#type == DEFAULT_TYPE;
            let is_ascii = texts.iter().all(|text| text.is_ascii());
            match data {
                "defaults" => assert!(is_default && first.is_empty() && last.is_empty()),
                "utf8" => assert!(!key.is_ascii() && !value.is_ascii()),
                _ => assert!(is_ascii, "{texts:?}"),
            }
            if data != "defaults" {
                assert!(*ttl != DEFAULT_TTL && r#type != DEFAULT_TYPE, "{texts:?}");
                assert!(texts.iter().all(|text| !text.is_empty()), "{texts:?}");
            }
        }
        let longest =
            |bytes: usize| all.iter().any(|it| it.texts[0].chars().any(|c| c.len_utf8() == bytes));
        assert_eq!(longest(2) && longest(3) && longest(4), data == "utf8", "{data}");
    }
}

/// Thrift's binary protocol: a field's type and number in 3 bytes, a text's length in 4.
fn thrift_binary(record: &Record) -> usize {
    let texts = record.texts.iter().map(|text| 3 + 4 + text.len());
    let ttl = if record.ttl == DEFAULT_TTL { 0 } else { 3 + 4 };
    let stop = 1;
    texts.sum::<usize>() + ttl + stop
}

/// Bytes of a number that has seven bits in each.
fn varint(number: usize) -> usize {
    (1..).find(|bytes| number >> (7 * bytes) == 0).expect("some number of bytes")
}

/// A field of Protocol Buffers: number and type in a byte, the length, and what is in it.
fn delimited(bytes: usize) -> usize {
    1 + varint(bytes) + bytes
}

fn protobuf(record: &Record) -> usize {
    let [key, value, r#type, first, last] = &record.texts;
    let texts = [key, value, first, last].map(|text| delimited(text.len()));
    let r#type = if r#type == DEFAULT_TYPE { 0 } else { delimited(r#type.len()) };
    let ttl = if record.ttl == DEFAULT_TTL { 0 } else { 1 + varint(record.ttl as usize) };
    texts.iter().sum::<usize>() + r#type + ttl
}

/// What 2009 has: 1,130,000,000 bytes of 10,000,000 records, and 83,000,419 of 1,000,000.
#[test]
fn records_of_the_shape_of_2009_have_its_sizes_to_the_byte() {
    let Some(all) = records("shape-2009", 7) else { return };
    for record in &all {
        assert_eq!((thrift_binary(record), protobuf(record)), (113, 83), "{record:?}");
    }
}

/// Whether contenders that were built could be had, by their names.
type Builds = BTreeMap<String, bool>;

/// Held by a test for as long as it uses what contenders are built to: another one might build
/// them anew meanwhile.
fn builds() -> MutexGuard<'static, Builds> {
    static BUILDS: Mutex<Builds> = Mutex::new(Builds::new());
    BUILDS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What stands for the placeholders of its file.
fn placeholders(contender: &Contender, folder: &Path) -> Placeholders {
    let build = contender.build_folder();
    let (source, dir) = (contender.source.clone(), folder.into());
    Placeholders { source, build, dir, cores: 1, ..Placeholders::default() }
}

fn study() -> Study {
    Study::read(&studies(), "codecs").unwrap_or_else(|why| panic!("{why}"))
}

/// Builds a contender, unless it was; whether it can be had here.
fn is_built(contender: &Contender, builds: &mut Builds) -> bool {
    *builds.entry(contender.name.clone()).or_insert_with(|| build(contender))
}

fn build(contender: &Contender) -> bool {
    if let Some(missing) = missing(&contender.file.needs) {
        skipped("skipped in part", &format!("{}: {missing}", contender.name));
        return false;
    }
    let command = placeholders(contender, Path::new("")).fill_all(&contender.file.build);
    if command.is_empty() {
        return true;
    }
    fs::create_dir_all(contender.build_folder()).unwrap();
    let mut build = Command::new(&command[0]);
    build.args(&command[1..]).current_dir(&contender.source).stdin(Stdio::null());
    let output = build.env_clear().envs(programs::environment()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    if output.status.code() == Some(ABSENT) {
        let why = said.lines().last().unwrap_or_default();
        skipped("skipped in part", &format!("{}: {why}", contender.name));
        return false;
    }
    assert!(output.status.success(), "{}: {output:?}", contender.name);
    true
}

/// Starts a contender on what was printed: with these arguments, and in this folder.
fn start(
    contender: &Contender,
    (at_once, printed): (usize, &str),
    arguments: &[&str],
    folder: &Path,
) -> Output {
    let records = printed.lines().map(|line| line.split_once('\t').unwrap().1.to_string() + "\n");
    fs::write(folder.join("records"), records.collect::<String>()).unwrap();
    let placeholders = placeholders(contender, folder);
    let command = placeholders.fill_all(&contender.file.run);
    let mut program = Command::new(&command[0]);
    program
        .args(&command[1..])
        .args(["--at-once", &at_once.to_string(), "--records", "records"])
        .args(arguments)
        .current_dir(folder)
        .env("PATH", programs::search_path());
    for (name, value) in &contender.file.environment {
        program.env(name, placeholders.fill(value));
    }
    program.output().unwrap()
}

/// Bytes a record that a contender makes of what was printed.
fn bytes_each(contender: &Contender, data: &str, at_once: usize, printed: &str) -> f64 {
    let folder = tempfile::tempdir().unwrap();
    let output = start(contender, (at_once, printed), &["--made", "made"], folder.path());
    assert!(output.status.success(), "{}, {data}: {output:?}", contender.name);
    let records = printed.lines().count();
    let file = fs::metadata(folder.path().join("made")).unwrap().len() as usize;
    // Each thing has its length before it.
    (file - 4 * records / at_once) as f64 / records as f64
}

/// What a contender tells in its result, after a short work on what was printed.
fn result(contender: &Contender, data: &str, at_once: usize, printed: &str) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["--does", "both", "--data", data, "--seed", "1", "--seconds", "0.1"];
    let output = start(contender, (at_once, printed), &arguments, folder.path());
    assert!(output.status.success(), "{}: {output:?}", contender.name);
    let said = String::from_utf8(output.stdout).unwrap();
    let last: Value = serde_json::from_str(said.lines().last().expect("a result")).unwrap();
    last["result"].clone()
}

#[test]
fn what_contenders_count_was_done() {
    let _builds = builds();
    let parameters = r#"does = ["both", "decode"], data = ["utf8"], at-once = [100]"#;
    fixture::try_settings("codecs", &LIGHT, parameters);
}

/// So a contender of a format sends what the others do.
#[test]
fn formats_have_the_bytes_that_follow_from_their_descriptions() {
    sizes_are_right(|name| SOON_BUILT.contains(&name));
}

#[test]
#[ignore = "`make check-programs` builds all"]
fn all_contenders_have_the_bytes_that_follow_from_their_formats() {
    sizes_are_right(|_| true);
}

/// Bytes of a record alone, and of a list of records of these sizes in one message. Where a list
/// is no plain sum, there is nothing to hold it to.
type Sizes = (fn(&Record) -> usize, Option<fn(&[usize]) -> usize>);

fn sum(sizes: &[usize]) -> usize {
    sizes.iter().sum()
}

fn thrift_list(records: &[usize]) -> usize {
    // The list's field, the type and number of what is in it, and a stop.
    3 + 1 + 4 + sum(records) + 1
}

/// In C++ the ttl is sent also where it is at its default.
fn thrift_binary_with_ttl(record: &Record) -> usize {
    thrift_binary(&Record { ttl: DEFAULT_TTL - 1, ..record.clone() })
}

fn protobuf_list(records: &[usize]) -> usize {
    records.iter().map(|&bytes| delimited(bytes)).sum()
}

/// Avro's binary encoding: numbers as varints of twice their size (zig-zag), a text's length
/// before it.
fn avro(record: &Record) -> usize {
    let texts = record.texts.iter().map(|text| varint(2 * text.len()) + text.len());
    texts.sum::<usize>() + varint(2 * record.ttl as usize)
}

fn avro_list(records: &[usize]) -> usize {
    let end = 1;
    varint(2 * records.len()) + sum(records) + end
}

/// JSON without spaces. Nothing in a record is escaped.
fn json(record: &Record) -> usize {
    let names = r#"{"key":"","value":"","type":"","ttl":,"first":"","last":""}"#;
    let texts = record.texts.iter().map(String::len);
    names.len() + texts.sum::<usize>() + record.ttl.to_string().len()
}

fn json_list(records: &[usize]) -> usize {
    let (brackets, commas) = (2, records.len() - 1);
    brackets + commas + sum(records)
}

const FLATBUFFERS_ROOT: usize = 4;
/// Where each of six fields is, after the sizes of the vtable and of the table: 2 bytes each.
const FLATBUFFERS_VTABLE: usize = 2 * (2 + 6);

/// FlatBuffers: an offset is 4 bytes, as a table's own to its vtable. A text has its length before
/// it and a zero behind.
fn flatbuffers(record: &Record) -> usize {
    let texts = record.texts.iter().map(|text| 4 + (4 + text.len() + 1).next_multiple_of(4));
    let ttl = if record.ttl == DEFAULT_TTL { 0 } else { 4 };
    FLATBUFFERS_ROOT + FLATBUFFERS_VTABLE + 4 + texts.sum::<usize>() + ttl
}

/// Of records that have the same fields, and share a vtable.
fn flatbuffers_list(records: &[usize]) -> usize {
    let tables = sum(records) - records.len() * (FLATBUFFERS_ROOT + FLATBUFFERS_VTABLE);
    let length_and_offsets = 4 + 4 * records.len();
    let vtable_of_one_field = (2 * (2 + 1_usize)).next_multiple_of(4);
    let response = vtable_of_one_field + 4 + 4;
    FLATBUFFERS_ROOT + response + length_and_offsets + FLATBUFFERS_VTABLE + tables
}

/// Cap'n Proto, in words of 8 bytes: one of segments, one for the root, one of a record's numbers,
/// and one for each text. A text ends in a zero. One at its default takes none.
fn capnproto(record: &Record) -> usize {
    let [key, value, r#type, first, last] = &record.texts;
    let r#type = (r#type != DEFAULT_TYPE).then_some(r#type);
    let texts = [key, value, first, last].into_iter().chain(r#type);
    let words = 1 + 1 + 1 + 5 + texts.map(|text| (text.len() + 1).div_ceil(8)).sum::<usize>();
    8 * words
}

/// rkyv, unaligned: a record has 8 bytes for each text, which hold it if it fits, and 4 for its
/// ttl.
fn rkyv(record: &Record) -> usize {
    let apart = record.texts.iter().map(String::len).filter(|&bytes| bytes > 8);
    5 * 8 + 4 + apart.sum::<usize>()
}

fn rkyv_list(records: &[usize]) -> usize {
    let place_and_length = 8;
    sum(records) + place_and_length
}

fn sizes_of(contender: &Contender) -> Option<Sizes> {
    let is_of_schema = contender.sources().any(|(name, _)| name == "../schema");
    match &*contender.name {
        // A long list is in several segments, with pointers from one to another.
        "cpp-capnproto" => Some((capnproto, None)),
        "cpp-flatbuffers" => Some((flatbuffers, Some(flatbuffers_list))),
        "cpp-thrift" => Some((thrift_binary_with_ttl, Some(thrift_list))),
        "go-json" | "python-orjson" | "rust-serde-json" => Some((json, Some(json_list))),
        "java-avro" => Some((avro, Some(avro_list))),
        "java-thrift-binary" => Some((thrift_binary, Some(thrift_list))),
        "java-thrift-compact" => None,
        "rust-rkyv" => Some((rkyv, Some(rkyv_list))),
        _ => is_of_schema.then_some((protobuf, Some(protobuf_list))),
    }
}

fn sizes_are_right(is_tried: impl Fn(&str) -> bool) {
    let mut builds = builds();
    let seed = 7;
    for contender in &study().contenders {
        let Some((alone, list)) = sizes_of(contender) else { continue };
        if !is_tried(&contender.name) || !is_built(contender, &mut builds) {
            continue;
        }
        for (data, at_once) in [("shape-2009", 1), ("utf8", 1), ("defaults", 1), ("full", 100)] {
            let Some(all) = records(data, seed) else { return };
            let sizes: Vec<usize> = all.iter().map(alone).collect();
            let bytes = match (at_once, list) {
                (1, _) => sum(&sizes),
                (_, Some(list)) => sizes.chunks(at_once).map(list).sum(),
                (_, None) => continue,
            };
            let told = bytes_each(contender, data, at_once, &printed(data, seed).unwrap());
            let expected = bytes as f64 / all.len() as f64;
            let name = &contender.name;
            assert!((told - expected).abs() < 1e-6, "{name}, {data}: {told}, not {expected}");
        }
    }
}

#[test]
fn each_contender_has_its_format() {
    let mut listed = FORMATS.concat();
    listed.sort_unstable();
    let study = study();
    let all: Vec<&str> = study.contenders.iter().map(|it| &*it.name).collect();
    assert_eq!(listed, all, "who reads whose bytes, and the study's contenders");
}

#[test]
fn contenders_of_a_format_decode_each_others_bytes() {
    let is_tried = |name: &str| LIGHT.contains(&name) || SOON_BUILT.contains(&name);
    bytes_are_exchanged(is_tried, &[("utf8", 1), ("defaults", 100)]);
}

#[test]
#[ignore = "`make check-programs` builds all"]
fn all_contenders_of_a_format_decode_each_others_bytes() {
    bytes_are_exchanged(
        |_| true,
        &[("utf8", 1), ("utf8", 100), ("defaults", 1), ("defaults", 100)],
    );
}

/// Of these data sets, so many records at once.
fn bytes_are_exchanged(is_tried: impl Fn(&str) -> bool, of: &[(&str, usize)]) {
    let mut builds = builds();
    let study = study();
    for format in FORMATS {
        let of_format = |it: &&Contender| format.contains(&&*it.name) && is_tried(&it.name);
        let contenders: Vec<&Contender> = study
            .contenders
            .iter()
            .filter(of_format)
            .filter(|it| is_built(it, &mut builds))
            .collect();
        for &(data, at_once) in of {
            let (Some(own), Some(others)) = (printed(data, 7), printed(data, 8)) else { return };
            for writer in &contenders {
                let folder = tempfile::tempdir().unwrap();
                let encode = |printed: &str, file: &str| {
                    let arguments = ["--made", file];
                    let output = start(writer, (at_once, printed), &arguments, folder.path());
                    assert!(output.status.success(), "{}: {output:?}", writer.name);
                };
                encode(&own, "encoded");
                encode(&others, "of-others");
                fs::write(folder.path().join("nothing"), "").unwrap();
                for reader in &contenders {
                    let decode = |file: &str| {
                        let arguments = ["--decode-from", file];
                        let output = start(reader, (at_once, &own), &arguments, folder.path());
                        (output.status.code(), String::from_utf8(output.stderr).unwrap())
                    };
                    let names = format!("{} reads {}, {data}", reader.name, writer.name);
                    assert_eq!(decode("encoded"), (Some(0), String::new()), "{names}");
                    // Once a reader.
                    if reader.name == writer.name {
                        for wrong in ["of-others", "nothing"] {
                            let (code, why) = decode(wrong);
                            assert_eq!(code, Some(1), "{names}, {wrong}: {why}");
                            assert!(
                                why.contains("doesn't decode to the records"),
                                "{names}: {why}"
                            );
                        }
                    }
                }
            }
        }
    }
}

/// A codec that is wrong: its program is the shared one, as of all others in Python.
#[test]
fn a_codec_that_loses_a_field_has_no_figure() {
    const MAIN: &str = r#"
import json
from works import run

def decode(encoded):
    return {**json.loads(encoded), "last": ""}

def encode(thing):
    return json.dumps(thing).encode()

run((encode, decode), (encode, json.loads))
"#;
    let Some(records) = printed("full", 7) else { return };
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("main.py"), MAIN).unwrap();
    let study = study();
    let python = study.contenders.iter().find(|it| it.name == "python-json").unwrap();
    let losing = Contender { source: folder.path().into(), ..python.clone() };
    let works = studies().join("codecs/python");
    let run = |arguments: &[&str]| {
        let mut losing = losing.clone();
        losing.file.environment = [("PYTHONPATH".into(), works.display().to_string())].into();
        start(&losing, (1, &records), arguments, folder.path())
    };
    for arguments in [["--does", "encode"], ["--made", "made"]] {
        let Output { status, stdout, stderr } = run(&arguments);
        let why = String::from_utf8(stderr).unwrap();
        assert_eq!(status.code(), Some(1), "{arguments:?}: {why}");
        assert!(why.starts_with("it isn't the same after the round trip: {'key': "), "{why}");
        assert!(stdout.is_empty(), "{arguments:?}: it told of a work");
    }
}

#[test]
fn what_is_allocated_a_record_is_more_than_what_is_made_of_it() {
    allocated_is_more(|name| LIGHT.contains(&name));
}

#[test]
#[ignore = "`make check-programs` builds all"]
fn what_all_allocate_is_more_than_what_they_make() {
    allocated_is_more(|_| true);
}

/// Of those whose runtime counts.
fn allocated_is_more(is_tried: impl Fn(&str) -> bool) {
    let mut builds = builds();
    for contender in study().contenders.iter().filter(|it| is_tried(&it.name)) {
        let name = &contender.name;
        if !is_built(contender, &mut builds) {
            continue;
        }
        let Some(records) = printed("full", 7) else { return };
        let bytes = bytes_each(contender, "full", 100, &records);
        let told = result(contender, "full", 100, &records);
        let counts = ["Go", "Java"].contains(&&*contender.file.language);
        let is_more = told["allocated_each"].as_f64().is_some_and(|it| it > bytes);
        assert_eq!(is_more, counts, "{name}: {bytes}, {told}");
    }
}

/// What `count.py` prints of what was made of the records of the seed 7 with no field at its default.
fn counted(made: &[u8], at_once: usize) -> Result<Value, String> {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(&file, made).unwrap();
    let mut counter = Command::new("/usr/bin/python3");
    counter.arg("count.py").args(["--data", "full", "--seed", "7"]);
    counter.args(["--at-once", &at_once.to_string(), "--made"]).arg(file.path());
    let Output { status, stdout, stderr } =
        counter.current_dir(studies().join("codecs")).output().unwrap();
    if status.success() {
        Ok(serde_json::from_slice(&stdout).unwrap())
    } else {
        Err(String::from_utf8(stderr).unwrap())
    }
}

/// Each with its length before it.
fn as_made(pieces: &[String]) -> Vec<u8> {
    let piece = |bytes: &String| [&(bytes.len() as u32).to_be_bytes(), bytes.as_bytes()].concat();
    pieces.iter().flat_map(piece).collect()
}

#[test]
fn bytes_are_counted_before_and_after_deflate() {
    let Some(records) = printed("full", 7) else { return };
    let lines: Vec<String> = records.lines().map(String::from).collect();
    let lists: Vec<String> = lines.chunks(100).map(<[String]>::concat).collect();
    let bytes = lines.iter().map(String::len).sum::<usize>() as f64 / lines.len() as f64;
    for (pieces, at_once) in [(&lines, 1), (&lists, 100)] {
        let told = counted(&as_made(pieces), at_once).unwrap();
        assert_eq!(told["bytes_each"].as_f64(), Some(bytes), "{at_once}");
        assert!(told["deflated_each"].as_f64().is_some_and(|it| it < bytes), "{at_once}: {told}");
    }
    let cut = as_made(&lines);
    let told = counted(&cut[..cut.len() - 1], 1);
    assert!(told.is_err_and(|why| why.contains("ends too early")));
}

/// RFC 1951: a block begins with 3 bits and ends with 7. The codes that it has by itself take 8
/// bits for a letter: 10 bits of nothing, and 18 of a letter.
#[test]
fn deflate_has_no_head_and_no_sum() {
    let Some(_) = printed("full", 7) else { return };
    let program = "import count; print(*(len(count.deflated(it)) for it in (b'', b'a')))";
    let mut python = Command::new("/usr/bin/python3");
    let output = python.args(["-B", "-c", program]).current_dir(studies().join("codecs")).output();
    assert_eq!(String::from_utf8(output.unwrap().stdout).unwrap(), "2 3\n");
}

/// What a program does in its window it has to have shown before: bytes from which the records can
/// be had again.
#[test]
fn who_makes_fewer_bytes_than_the_records_take_has_no_figure() {
    let Some(records) = printed("full", 7) else { return };
    let without_a_field = |line: &str| line.rsplit_once('\t').unwrap().0.to_string();
    let half = |line: &str| line[..line.len() / 2].to_string();
    let of = |make: &dyn Fn(&str) -> String| {
        let pieces: Vec<String> = records.lines().map(make).collect();
        counted(&as_made(&pieces), 1).map(|told| told["bytes_each"].as_f64())
    };
    assert!(of(&without_a_field).is_ok(), "a form that says little more than the texts");
    for made in [of(&|_| "x".into()), of(&half)] {
        assert!(made.is_err_and(|why| why.starts_with("fewer bytes were made than")));
    }
    let first: Vec<String> = records.lines().take(10).map(String::from).collect();
    let why = counted(&as_made(&first), 1).unwrap_err();
    assert!(why.starts_with("10 times 1 records were encoded, not 1000"), "{why}");
}
