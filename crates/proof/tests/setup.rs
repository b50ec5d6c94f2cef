//! The set-up scripts, run where only a few programs can be found.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A folder that holds all that the scripts themselves use, and `programs`,
/// which are looked for, and never run.
fn machine_with(programs: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for tool in ["bash", "dirname", "sed", "tr", "awk", "env"] {
        let path = ["/usr/bin", "/bin"].map(|place| Path::new(place).join(tool));
        let real = path.iter().find(|path| path.exists()).expect("every Debian has these");
        symlink(real, folder.path().join(tool)).unwrap();
    }
    for program in programs {
        let path = folder.path().join(name(program));
        // More than one may need it.
        if !path.exists() {
            symlink("/bin/true", path).unwrap();
        }
    }
    folder
}

/// The name, which is none of a path: joined to a folder, a path from the root would
/// leave it.
fn name(program: &str) -> &str {
    assert!(!program.contains('/'), "{program} is no name of a program");
    program
}

fn install(machine: &tempfile::TempDir, what: &str) -> Output {
    Command::new(root().join("setup/install"))
        .arg(what)
        .env("PATH", machine.path())
        .output()
        .unwrap()
}

/// What the set-up says and does where `listed` is needed to run.
fn install_with_needs(listed: &str, machine: &tempfile::TempDir) -> Output {
    let folder = tempfile::tempdir().unwrap();
    // Links, because a program that was written a moment ago may still be open in a
    // child of another test, and then it can't be run. `needs run` is `cat run`.
    symlink(root().join("setup/install"), folder.path().join("install")).unwrap();
    symlink("/bin/cat", folder.path().join("needs")).unwrap();
    fs::write(folder.path().join("run"), listed).unwrap();
    Command::new(folder.path().join("install"))
        .arg("run")
        .env("PATH", machine.path())
        .current_dir(folder.path())
        .output()
        .unwrap()
}

fn first_cell(line: &str) -> &str {
    line.split('\t').next().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn needs(what: &str) -> String {
    let output = Command::new(root().join("setup/needs")).arg(what).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn everything_that_a_contender_needs_is_seen_by_the_set_up() {
    let listed = needs("run");
    let listed: BTreeSet<(&str, &str)> = listed
        .lines()
        .filter_map(|line| {
            let mut cells = line.split('\t');
            Some((cells.next()?, cells.next()?))
        })
        .collect();
    let studies = fs::read_dir(root().join("studies")).unwrap();
    let folders =
        studies.flat_map(|study| fs::read_dir(study.unwrap().path()).into_iter().flatten());
    let mut contenders = 0;
    for folder in folders {
        let file = folder.unwrap().path().join("contender.toml");
        let Ok(text) = fs::read_to_string(&file) else { continue };
        contenders += 1;
        let contender: toml::Table = text.parse().unwrap();
        let Some(needs) = contender.get("needs").and_then(toml::Value::as_table) else { continue };
        for (program, package) in needs {
            let package = package.as_str().unwrap();
            assert!(
                listed.iter().any(|(listed, _)| listed == program),
                "{program} ({package}) isn't listed: {} must have its needs in one line, \
                 `needs = {{ program = \"package\" }}`",
                file.display()
            );
        }
    }
    assert!(contenders > 0, "no contender was found");
}

#[test]
fn what_only_tests_use_is_installed_for_them_with_all_the_rest() {
    let (run, test) = (needs("run"), needs("test"));
    let has = |program: &str| test.lines().map(first_cell).any(|listed| listed == program);
    assert!(run.lines().map(first_cell).all(has), "{test}");
    for program in ["lighttpd", "chromium", "python3", "pdftotext", "ip"] {
        assert!(has(program), "the tests that use {program} would be skipped:\n{test}");
    }
}

#[test]
fn the_set_up_is_silent_where_nothing_is_missing() {
    let listed = needs("run");
    // A library is named by the path of one of its files. Where it isn't installed,
    // another file of this machine stands for it.
    let (files, programs): (Vec<&str>, Vec<&str>) =
        listed.lines().map(first_cell).partition(|name| name.starts_with('/'));
    assert!(!files.is_empty(), "no contender needs a library: nothing is tried with a path");
    let there = root().join("setup/install").display().to_string();
    let listed = files.iter().fold(listed.clone(), |listed, file| listed.replace(file, &there));
    let machine = machine_with(&[&programs[..], &["cargo"]].concat());
    let output = install_with_needs(&listed, &machine);
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(said(&output), "");
}

#[test]
fn a_library_of_which_no_file_is_there_is_missing() {
    let machine = machine_with(&["cargo"]);
    let listed = "/nowhere/at/all.h\tlibnowhere-dev\tthe contender x\n";
    let output = install_with_needs(listed, &machine);
    assert!(output.status.success(), "{}", said(&output));
    assert!(said(&output).contains("libnowhere-dev"), "{}", said(&output));
}

#[test]
fn without_root_the_one_command_is_printed_and_nothing_fails() {
    let machine = machine_with(&["cargo", "apt-get", "cc"]);
    // `id -u` is `echo -u` here, which isn't the 0 of root. A script written just now
    // may still be open in a child of another test, and then it can't be run.
    symlink("/bin/echo", machine.path().join("id")).unwrap();
    let output = install(&machine, "bench");
    assert!(output.status.success(), "{}", said(&output));
    let said = said(&output);
    assert!(said.contains("apt-get install --no-install-recommends "), "{said}");
    assert!(said.contains("wrk apache2-utils nghttp2-client hey"), "{said}");
    assert!(said.contains("a load generator to compare with"), "it says why:\n{said}");
}

#[test]
fn where_there_are_no_debian_packages_it_goes_on() {
    let machine = machine_with(&["cargo", "cc"]);
    let output = install(&machine, "run");
    assert!(output.status.success(), "{}", said(&output));
    assert!(said(&output).contains("no Debian"), "{}", said(&output));
}

#[test]
fn without_rust_it_says_where_to_get_it() {
    let machine = machine_with(&[]);
    let output = install(&machine, "run");
    assert!(!output.status.success());
    assert!(said(&output).contains("rust-lang.org"), "{}", said(&output));
}
