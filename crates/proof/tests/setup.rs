//! The set-up scripts, run where only a few programs can be found.

#[path = "../../bakeoff/tests/fixture/skipped.rs"]
mod skipped;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use skipped::skipped;

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

/// The set-up where `listed` is needed to run.
fn setup_with_needs(listed: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let setup = folder.path().join("setup");
    fs::create_dir(&setup).unwrap();
    // Links, because a program that was written a moment ago may still be open in a
    // child of another test, and then it can't be run. `needs run` is `cat run`.
    symlink(root().join("setup/install"), setup.join("install")).unwrap();
    symlink("/bin/cat", setup.join("needs")).unwrap();
    symlink(root().join("Cargo.toml"), folder.path().join("Cargo.toml")).unwrap();
    fs::write(setup.join("run"), listed).unwrap();
    folder
}

/// What it says and does there.
fn install_with_needs(listed: &str, machine: &tempfile::TempDir) -> Output {
    let setup = setup_with_needs(listed);
    let setup = setup.path().join("setup");
    Command::new(setup.join("install"))
        .arg("run")
        .env("PATH", machine.path())
        .current_dir(&setup)
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

/// Else a fresh machine couldn't make it, and `make mistakes` would leave it out.
#[test]
fn what_a_mistake_needs_is_seen_by_the_set_up_of_mistakes() {
    let listed = needs("mistakes");
    let of = "the mistake slow-store-client";
    let has = listed.lines().any(|line| line.contains("\tpython3-redis\t") && line.ends_with(of));
    assert!(has, "{listed}");
    assert!(!needs("run").contains("the mistake "), "a study needs none of them");
}

/// Else `make run` would install Boost's fibers to compare web servers.
#[test]
fn of_one_study_only_its_own_contenders_are_seen_to() {
    let of = |study: &str| {
        let mut command = Command::new(root().join("setup/needs"));
        let output = command.args(["run", study]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let (web, messages) = (of("web"), of("messages"));
    assert!(
        web.contains("the contender web/") && !web.contains("the contender messages/"),
        "{web}"
    );
    assert!(messages.contains("the contender messages/"), "{messages}");
    assert!(!messages.contains("the contender web/"), "{messages}");
}

/// Else `make run` would install what it doesn't measure, or leave out a contender.
#[test]
fn of_one_profile_all_that_it_measures_is_seen_to_and_no_more() {
    let of = |study: &str, profile: &str| {
        let mut command = Command::new(root().join("setup/needs"));
        let output = command.args(["run", study, profile]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let web = of("web", "quick");
    assert!(web.contains("the contender web/erlang") && !web.contains("libboost"), "{web}");
    let mut profiles = 0;
    for study in fs::read_dir(root().join("studies")).unwrap() {
        let folder = study.unwrap().path();
        let Ok(text) = fs::read_to_string(folder.join("study.toml")) else { continue };
        let study: toml::Table = text.parse().unwrap();
        for (name, profile) in study["profile"].as_table().unwrap() {
            let Some(contenders) = profile.get("contenders") else { continue };
            profiles += 1;
            let listed = of(folder.file_name().unwrap().to_str().unwrap(), name);
            for contender in contenders.as_array().unwrap() {
                let file = folder.join(contender.as_str().unwrap()).join("contender.toml");
                // That of a variant is its contender's.
                let Ok(text) = fs::read_to_string(&file) else { continue };
                let contender: toml::Table = text.parse().unwrap();
                let needs = contender.get("needs").and_then(toml::Value::as_table);
                for program in needs.into_iter().flat_map(|needs| needs.keys()) {
                    let has = listed.lines().map(first_cell).any(|listed| listed == program);
                    assert!(has, "{} of {name}: {program} isn't listed", file.display());
                }
            }
        }
    }
    assert!(profiles > 0, "no profile names its contenders");
}

#[test]
fn what_only_tests_use_is_installed_for_them_with_all_the_rest() {
    let (run, test) = (needs("run"), needs("test"));
    let has = |program: &str| test.lines().map(first_cell).any(|listed| listed == program);
    assert!(run.lines().map(first_cell).all(has), "{test}");
    for program in
        ["lighttpd", "chromium", "python3", "pdftotext", "redis-server", "memcached", "ip", "sshd"]
    {
        assert!(has(program), "the tests that use {program} would be skipped:\n{test}");
    }
}

/// Debian's gcc by itself links nothing.
#[test]
fn whatever_is_built_has_what_links_it() {
    for what in ["build", "run", "test", "bench", "hosts"] {
        let listed = needs(what);
        for program in ["cc", "/usr/include/stdio.h"] {
            let has = listed.lines().map(first_cell).any(|listed| listed == program);
            assert!(has, "`setup/install {what}` doesn't see to {program}:\n{listed}");
        }
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

/// What the set-up says as root where these packages are missing, how it ends, what it
/// asked of Debian's programs, and what it left where services are forbidden to start;
/// `None` where nobody here may have a file system of his own.
fn install_as_root(packages: &[&str]) -> Option<(String, Option<i32>, Vec<String>)> {
    let machine = machine_with(&["cargo"]);
    let tools = ["mktemp", "grep", "rm", "chmod", "comm", "sort", "tail", "cat", "ls"];
    for tool in tools {
        symlink(Path::new("/usr/bin").join(tool), machine.path().join(tool)).unwrap();
    }
    let debian = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/setup/debian");
    for program in ["id", "apt-get", "dpkg-query", "dpkg", "update-rc.d"] {
        symlink(&debian, machine.path().join(program)).unwrap();
    }
    let listed = packages.iter().map(|name| format!("{name}\t{name}\tthe contender x\n"));
    let folder = setup_with_needs(&listed.collect::<String>());
    let calls = folder.path().join("calls");
    fs::write(&calls, "").unwrap();
    // The machine's own /usr/sbin stays as it is: ours is empty, and for us alone.
    let script = "mount -t tmpfs none /usr/sbin || exit 99
        PATH=$1 ./install run; ended=$?; PATH=$1 ls -A /usr/sbin >>$CALLS; exit $ended";
    // A job in the background is deaf to the interrupt, and so is all that it starts.
    let output = Command::new("env")
        .args(["--default-signal=INT", "unshare", "--mount", "sh", "-c", script, "sh"])
        .arg(machine.path())
        .env("CALLS", &calls)
        .current_dir(folder.path().join("setup"))
        .output();
    let output = output.ok().filter(|output| {
        let is_refused = output.stderr.starts_with(b"unshare: ");
        output.status.code() != Some(99) && !is_refused
    })?;
    let calls = fs::read_to_string(calls).unwrap();
    Some((said(&output), output.status.code(), calls.lines().map(String::from).collect()))
}

#[test]
fn as_root_each_package_is_installed_without_its_service_and_a_failure_goes_on() {
    let Some((said, ended, calls)) = install_as_root(&["broken", "with-service"]) else {
        return skipped("skipped", "nobody here may have a /usr/sbin of his own");
    };
    assert_eq!(ended, Some(0), "{said}");
    assert!(said.contains("Missing on this machine:"), "{said}");
    assert!(said.contains("the contender x (Debian package with-service)"), "it says why:\n{said}");
    assert!(said.contains("going on without:\n    E: Unable to locate package broken"), "{said}");
    assert_eq!(
        calls,
        [
            "apt-get APT::Update::Error-Mode=any",
            "services may start: 101",
            "apt-get broken",
            "apt-get with-service",
            "services may start: 101",
            "update-rc.d with-service disable",
        ],
        "the list is read once, each package is tried, and nothing is left in /usr/sbin"
    );
}

#[test]
fn an_installation_that_is_interrupted_leaves_services_as_they_were() {
    let Some((said, ended, calls)) = install_as_root(&["interrupted", "with-service"]) else {
        return skipped("skipped", "nobody here may have a /usr/sbin of his own");
    };
    assert_eq!(ended, Some(130), "{said}");
    assert_eq!(
        calls,
        [
            "apt-get APT::Update::Error-Mode=any",
            "services may start: 101",
            "apt-get interrupted",
            "services may start: 101",
        ],
        "nothing more is installed, and nothing is left in /usr/sbin"
    );
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

/// The oldest Rust that the workspace is said to be built with.
fn rust_needed() -> String {
    let manifest: toml::Table =
        fs::read_to_string(root().join("Cargo.toml")).unwrap().parse().unwrap();
    manifest["workspace"]["package"]["rust-version"].as_str().unwrap().to_string()
}

/// What the set-up says where `program` is of this version, and whether it goes on.
fn install_with(program: &str, version: &str) -> (bool, String) {
    let machine = machine_with(&["cc"]);
    let rust = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/setup/rust");
    symlink(&rust, machine.path().join(program)).unwrap();
    if program != "cargo" {
        symlink("/bin/true", machine.path().join("cargo")).unwrap();
    }
    let output = Command::new(root().join("setup/install"))
        .arg("run")
        .env("PATH", machine.path())
        .env("VERSION_OF_RUST", version)
        .output()
        .unwrap();
    (output.status.success(), said(&output))
}

/// Debian 12 has such a one, whose cargo would complain of the manifests.
#[test]
fn with_an_older_rust_one_sentence_says_what_is_needed_what_is_there_and_where_to_get_it() {
    let needed = rust_needed();
    for (program, version) in [("cargo", "1.65.0"), ("rustc", "1.63.0"), ("cargo", "1.9.9")] {
        let (goes_on, said) = install_with(program, version);
        assert!(!goes_on, "{program} {version}: {said}");
        assert_eq!(
            said,
            format!(
                "bakeoff takes Rust {needed} or newer, and {program} is {version} here: get a newer \
                 one with rustup, from https://www.rust-lang.org/tools/install\n"
            )
        );
    }
}

#[test]
fn a_rust_that_is_new_enough_or_says_no_version_is_taken_as_it_is() {
    let needed = rust_needed();
    for version in [&format!("{needed}.0"), &needed, "1.1000.0", "2.0.0", "1.999.0-nightly", ""] {
        for program in ["cargo", "rustc"] {
            let (goes_on, said) = install_with(program, version);
            assert!(goes_on && !said.contains("or newer"), "{program} {version}: {said}");
        }
    }
}

/// As with rustup's minimal profile.
#[test]
fn without_a_program_of_the_lints_it_is_installed_or_the_tests_go_on_without() {
    let setup = |rustup: bool, what: &str| {
        let machine = machine_with(if rustup { &["cc", "rustup"] } else { &["cc"] });
        let rust = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/setup/rust");
        symlink(&rust, machine.path().join("cargo")).unwrap();
        let output = Command::new(root().join("setup/install"))
            .arg(what)
            .env("PATH", machine.path())
            .envs([("VERSION_OF_RUST", &*rust_needed()), ("LACKS", "clippy")])
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", said(&output));
        said(&output)
    };
    let installs = "Installing clippy, which Rust here lacks for the lints …";
    let with_rustup = setup(true, "test");
    assert!(
        with_rustup.contains(installs) && !with_rustup.contains("without lints"),
        "{with_rustup}"
    );
    let without = setup(false, "test");
    assert!(without.contains(installs), "{without}");
    assert!(
        without.contains("going on without lints. To install:\n  rustup component add clippy\n")
    );
    assert!(!setup(false, "run").contains("clippy"), "a run needs no lints");
}

#[test]
fn the_manual_asks_for_the_rust_that_the_workspace_needs() {
    let needed = format!("{} or newer", rust_needed());
    for page in ["README.md", "CONTRIBUTING.md"] {
        let text = fs::read_to_string(root().join(page)).unwrap();
        assert!(text.contains(&needed), "{page} asks for another Rust than {needed}");
    }
}
