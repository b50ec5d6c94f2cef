//! The pages that a newcomer goes through from top to bottom, gone through: all their blocks of
//! `sh`, one after the other, in one shell that begins in an empty folder.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::fixture::{Lab, free_address, said, shortened, skipped};

/// A page's blocks of one kind.
fn blocks<'a>(page: &'a str, kind: &str) -> Vec<&'a str> {
    let opening = format!("```{kind}\n");
    page.split(&opening).skip(1).map(|block| block.split("```").next().unwrap()).collect()
}

/// Goes through a page. Whatever a command says of figures is right, since nobody can tell how
/// fast this machine is: exit code 3 is as good as 0. No other is.
fn go_through(page: &str, programs: &[&str]) -> Option<Lab> {
    for program in programs {
        let found = Command::new("which").arg(program).stdout(Stdio::null()).status().unwrap();
        if !found.success() {
            skipped("skipped", &format!("{program} is not installed"));
            return None;
        }
    }
    let lab = Lab::new();
    fs::create_dir_all(lab.path("empty")).unwrap();
    let port = free_address().port().to_string();
    let pasted = shortened(&blocks(page, "sh").join("\n")).replace("8080", &port);
    // What a command that fails ended with, and how it begins.
    let noted = "trap 'echo \"$? $BASH_COMMAND\" >> \"$FAILED\"' ERR\n";
    lab.write("pasted", &[noted, &pasted, "\ntrue\n"].concat());
    lab.write("failed", "");

    let program = std::path::Path::new(env!("CARGO_BIN_EXE_bakeoff")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    fs::create_dir_all(lab.path("tmp")).unwrap();
    let output = Command::new("bash")
        .arg("../pasted")
        .current_dir(lab.path("empty"))
        .stdin(Stdio::null())
        .envs([("PATH", path.as_str()), ("GIT_CONFIG_NOSYSTEM", "1")])
        .envs([("GIT_AUTHOR_NAME", "A newcomer"), ("GIT_AUTHOR_EMAIL", "new@example.com")])
        .envs([("GIT_COMMITTER_NAME", "A newcomer"), ("GIT_COMMITTER_EMAIL", "new@example.com")])
        .envs([("TMPDIR", lab.path("tmp")), ("XDG_DATA_HOME", lab.path("data"))])
        .envs([("HOME", lab.path("home")), ("FAILED", lab.path("failed"))])
        .output()
        .unwrap();
    let said = said(output);
    let failed = fs::read_to_string(lab.path("failed")).unwrap();
    let is_fine = said.code == Some(0) && failed.lines().all(|line| line.starts_with("3 "));
    assert!(is_fine, "{failed}\n{}\n{}", said.stdout, said.stderr);
    lab.assert_nothing_is_left();
    Some(lab)
}

#[test]
fn the_page_on_ci_can_be_gone_through_from_top_to_bottom() {
    let page = include_str!("../../../../docs/ci.md");
    let Some(lab) = go_through(page, &["git", "python3", "curl", "redis-server"]) else { return };
    let latest = lab.path("empty/shop/runs/latest");
    for file in ["report.html", "report.md", "trials.csv", "run.json"] {
        assert!(latest.join(file).exists(), "the page speaks of {file}");
    }
    let exported = ["gha-bigger-is-better.json", "gha-smaller-is-better.json"];
    let runs = fs::read_dir(lab.path("empty/shop/runs")).unwrap();
    let has_all = |run: &Path| exported.iter().all(|file| run.join(file).exists());
    assert!(runs.map(|run| run.unwrap().path()).any(|run| has_all(&run)), "of the one block");
}

#[test]
fn the_page_on_shared_machines_can_be_gone_through_from_top_to_bottom() {
    let page = include_str!("../../../../docs/shared-machines.md");
    let Some(lab) = go_through(page, &["python3", "taskset"]) else { return };
    let runs = fs::read_dir(lab.path("empty/runs")).unwrap().count();
    assert_eq!(runs, 3, "two duels, and `latest`");
}

/// Else a reader would have two gates.
#[test]
fn the_workflow_runs_the_scripts_of_its_page() {
    let page = include_str!("../../../../docs/ci.md");
    let pasted = blocks(page, "sh").join("\n");
    let workflow = blocks(page, "yaml").join("\n");
    let runs = workflow.lines().filter_map(|line| line.split("run: ").nth(1));
    let scripts: Vec<&str> = runs.filter(|run| run.starts_with("sh ")).collect();
    assert_eq!(scripts.len(), 2, "{scripts:?}");
    for script in scripts {
        let file = script.split(' ').nth(1).unwrap();
        assert!(pasted.contains(&format!("cat > {file} <<")), "the page doesn't write {file}");
    }
}
