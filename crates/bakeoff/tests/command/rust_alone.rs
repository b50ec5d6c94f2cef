//! On a machine with nothing but Rust, the web study still runs: with the
//! contenders that can be had, the others absent with the reason.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use lab::study::contender::Contender;
use result::State;

use crate::fixture::Lab;

/// What a Rust toolchain takes: rustc links by `cc`, which links by `ld`.
const TOOLS: [&str; 4] = ["cargo", "rustc", "cc", "ld"];
/// Programs are looked for here too, whatever the user's path is.
const FOLDERS_OF_ROOT: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/// The study of the tests with the contenders of the web study.
fn lab() -> (Lab, Vec<Contender>) {
    let lab = Lab::new();
    let web = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/web");
    let mut contenders = Vec::new();
    for entry in fs::read_dir(web.canonicalize().unwrap()).unwrap() {
        let folder = entry.unwrap().path();
        if folder.join("contender.toml").is_file() {
            let name = folder.file_name().unwrap().to_str().unwrap();
            symlink(&folder, lab.path("studies/s").join(name)).unwrap();
            contenders.push(Contender::read(&folder, name).unwrap());
        }
    }
    // Some contenders keep a lighter contract, which is the web study's.
    let declared: toml::Table =
        fs::read_to_string(web.join("study.toml")).unwrap().parse().unwrap();
    let lighter = toml::Table::from_iter([("lighter".to_string(), declared["lighter"].clone())]);
    let file = lab.path("studies/s/study.toml");
    let study = fs::read_to_string(&file).unwrap();
    fs::write(file, format!("{study}\n{}", toml::to_string(&lighter).unwrap())).unwrap();
    (lab, contenders)
}

/// A folder with the tools and nothing else.
fn tools(lab: &Lab) -> PathBuf {
    let tools = lab.path("tools");
    fs::create_dir(&tools).unwrap();
    let path = std::env::var("PATH").unwrap();
    for tool in TOOLS {
        let found = std::env::split_paths(&path).map(|folder| folder.join(tool));
        let found = found.into_iter().find(|program| program.is_file()).expect(tool);
        symlink(found, tools.join(tool)).unwrap();
    }
    tools
}

#[test]
fn with_nothing_but_rust_what_is_written_in_rust_runs_and_the_others_are_absent() {
    let (lab, contenders) = lab();
    let tools = tools(&lab);
    let is_there = |program: &str| {
        tools.join(program).exists()
            || FOLDERS_OF_ROOT.iter().any(|folder| Path::new(folder).join(program).exists())
    };
    let said = lab.output(lab.command(&["run", "s", "--quick"]).env("PATH", &tools)).unwrap();
    // On a busy machine no figure stands. That somebody is absent costs nothing.
    assert!(matches!(said.code, Some(0 | 3)), "{said:?}");
    let run = lab.run();
    assert_eq!(run.state, State::Complete, "{said:?}");
    let report = lab.bakeoff(&["report", "--full", "runs/latest"]);

    let (mut in_rust, mut absent) = (0, 0);
    for contender in &contenders {
        let name = &contender.name;
        let record = run.contenders.iter().find(|it| it.name == *name);
        let record = record.unwrap_or_else(|| panic!("{name} is silently dropped"));
        let measured = run.trials.iter().find(|trial| trial.slot.contender == *name);
        let needs = &contender.file.needs;
        if let Some((program, package)) = needs.iter().find(|(program, _)| !is_there(program)) {
            let why = record.absent.as_deref().unwrap_or_else(|| panic!("{name} isn't absent"));
            assert!(why.contains(program) && why.contains(package), "{name}: {why}");
            assert!(report.stdout.contains(why), "the report says why {name} is absent");
            assert!(measured.is_none(), "{name} is absent and measured");
            absent += 1;
        } else if needs.keys().eq(["cargo"]) {
            let work = measured.and_then(|trial| trial.evidence.work.as_ref());
            let work = work.unwrap_or_else(|| panic!("{name} wasn't measured: {said:?}"));
            assert!(work.done > 0 && work.errors.is_empty(), "{name}: {:?}", work.errors);
            in_rust += 1;
        }
    }
    assert!(in_rust > 0, "a contender of the study takes nothing but Rust");
    assert!(absent > 0, "programs of other contenders were found in {tools:?}");
    lab.assert_nothing_is_left();
}
