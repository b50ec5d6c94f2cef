//! bakeoff where people work: installed elsewhere, behind pipes, in shells and manuals.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use crate::fixture::{Lab, Said};

/// What bakeoff says in an empty folder, with this folder for the user's data.
fn elsewhere(lab: &Lab, arguments: &[&str]) -> Said {
    let folder = lab.path("elsewhere");
    fs::create_dir_all(&folder).unwrap();
    let mut command = lab.command(arguments);
    command.current_dir(folder).env("XDG_DATA_HOME", lab.path("data"));
    lab.output(&mut command).unwrap()
}

/// `cargo install` leaves no studies beside the program.
#[test]
fn where_no_studies_are_its_own_are_unpacked_once_and_that_is_told() {
    let lab = Lab::new();
    let first = elsewhere(&lab, &["check", "web/no-such"]);
    assert_eq!(first.code, Some(2), "{first:?}");
    let data = lab.path("data/bakeoff");
    let folders: Vec<_> = fs::read_dir(&data).unwrap().map(|it| it.unwrap().path()).collect();
    assert_eq!(folders.len(), 1, "nothing half done is left: {folders:?}");
    first.assert_complains(&[
        &format!("bakeoff's own are in {}", folders[0].display()),
        "there is no contender `no-such`",
    ]);
    let script = folders[0].join("kv/store/compile");
    assert!(fs::metadata(script).unwrap().permissions().mode() & 0o100 != 0, "it can be run");
    let second = elsewhere(&lab, &["check", "web/no-such"]);
    assert!(!second.stderr.contains("bakeoff's own"), "it is told once: {}", second.stderr);
    let here = lab.bakeoff(&["check", "web/go"]);
    here.assert_complains(&["there is no study `web` in studies"]);
}

#[test]
fn studies_that_cant_be_unpacked_are_a_sentence() {
    let lab = Lab::new();
    let folder = lab.path("elsewhere");
    fs::create_dir_all(&folder).unwrap();
    let mut command = lab.command(&["run", "web"]);
    command.current_dir(&folder).env_remove("XDG_DATA_HOME").env_remove("HOME");
    let said = lab.output(&mut command).unwrap();
    assert_eq!(said.code, Some(2), "{said:?}");
    said.assert_complains(&["neither XDG_DATA_HOME nor HOME is set", "give --studies"]);
    lab.write("no-folder", "");
    let mut command = lab.command(&["run", "web"]);
    command.current_dir(&folder).env("XDG_DATA_HOME", lab.path("no-folder"));
    let said = lab.output(&mut command).unwrap();
    assert_eq!(said.code, Some(2), "{said:?}");
    said.assert_complains(&["can't be unpacked to", "no-folder"]);
}

/// A newcomer's first study runs before anything is written into it.
#[test]
fn a_new_study_has_a_contender_in_each_language_here_and_keeps_its_contract_as_it_is() {
    let lab = Lab::new();
    let said = lab.bakeoff(&["init", "mine"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(said.stdout.contains("Then: bakeoff run ./mine\n"), "{}", said.stdout);
    let again = lab.bakeoff(&["init", "mine"]);
    assert_eq!(again.code, Some(2), "{again:?}");
    again.assert_complains(&["mine is there already"]);
    let names: Vec<String> = ["go", "java", "node", "python"]
        .into_iter()
        .filter(|name| lab.path(&format!("mine/{name}")).is_dir())
        .map(|name| format!("./mine/{name}"))
        .collect();
    for name in ["go", "java", "node", "python"] {
        let is_here = names.contains(&format!("./mine/{name}"));
        assert_eq!(said.stdout.contains(&format!("Left out: {name}")), !is_here, "{name}");
    }
    for name in &names {
        let said = lab.bakeoff(&["check", name]);
        assert_eq!(said.code, Some(0), "{name}: {}{}", said.stdout, said.stderr);
    }
    let wrong = lab.bakeoff(&["init", "No Name"]);
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
    wrong.assert_complains(&["lower-case letters"]);
    lab.assert_nothing_is_left();
}

#[test]
fn shells_and_manuals_have_every_command() {
    let lab = Lab::new();
    for shell in ["bash", "zsh", "fish"] {
        let said = lab.bakeoff(&["completions", shell]);
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        assert!(said.stdout.contains("duel") && said.stdout.contains("fail-if"), "{shell}");
        assert!(!said.stdout.contains("forgetful"), "{shell} has what is no command of people's");
    }
    let page = lab.bakeoff(&["man"]).stdout;
    assert!(page.contains(".TH bakeoff 1"), "{page}");
    let said = lab.bakeoff(&["man", "pages"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let duel = fs::read_to_string(lab.path("pages/bakeoff-duel.1")).unwrap();
    assert!(duel.contains("Exit codes"), "{duel}");
    assert!(!lab.path("pages/bakeoff-keeper.1").exists(), "a hidden one has a page");
    let said = lab.bakeoff(&["man", "/proc/nowhere"]);
    assert_eq!(said.code, Some(4), "{said:?}");
}

/// `bakeoff … | head -1` is how long output is read.
#[test]
fn a_reader_that_goes_away_is_no_error_of_any_command_that_prints() {
    let lab = Lab::with_good();
    for arguments in [
        &["completions", "bash"][..],
        &["man"],
        &["check", "s/good"],
        &["doctor", "s"],
        &["load", "--help"],
        &["--help"],
        &["run", "--help"],
    ] {
        let mut command = lab.command(arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = lab.spawn(&mut command).unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        drop(output);
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(
            !stderr.contains("panicked") && !stderr.contains("pipe"),
            "{arguments:?}: {stderr}"
        );
        assert!(output.status.code().is_some(), "{arguments:?} ended by a signal: {stderr}");
    }
    lab.assert_nothing_is_left();
}

/// Tables are as wide as they are asked to be, and colours are left out where they are.
#[test]
fn columns_and_no_color_are_heeded() {
    let lab = Lab::with_good();
    let said = lab.bakeoff(&["run", "s"]);
    assert!(matches!(said.code, Some(0 | 3)), "{said:?}");
    let widest = |columns: &str| {
        let mut command = lab.command(&["report", "runs/latest"]);
        let said = lab.output(command.env("COLUMNS", columns).env("NO_COLOR", "1")).unwrap();
        assert!(!said.stdout.contains('\u{1b}'), "colours in spite of NO_COLOR");
        said.stdout.lines().map(|line| line.chars().count()).max().unwrap()
    };
    let (narrow, wide) = (widest("80"), widest("200"));
    assert!(narrow <= 80 && narrow < wide, "{narrow} and {wide} characters");
}
