//! Published pages are what the judge of today says of the runs that are kept of them.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use flate2::read::GzDecoder;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Else a page would go on saying what a check no longer says.
#[test]
fn a_studys_page_is_what_the_judge_of_today_writes_of_its_run() {
    let runs = root().join("docs/measured/runs");
    let kept = fs::read_dir(&runs).unwrap().map(|entry| entry.unwrap().path());
    let kept: Vec<_> = kept.collect();
    assert!(!kept.is_empty(), "no run is kept in {}", runs.display());
    for run in kept {
        let name = run.file_name().unwrap().to_str().unwrap().strip_suffix(".json.gz").unwrap();
        let (study, page) = name.split_once('.').unwrap_or((name, "README"));
        let path = root().join("studies").join(study).join(format!("{page}.md"));
        let page = fs::read_to_string(&path).unwrap();
        let told = told_of(&run);
        assert!(
            page.ends_with(&told),
            "{} isn't what is told of its run today. `make pages` writes it anew. That should \
             be:\n{told}",
            path.display()
        );
    }
}

/// The report of a run that is kept.
fn told_of(run: &Path) -> String {
    let folder = tempfile::tempdir().unwrap();
    let mut file = File::create(folder.path().join("run.json")).unwrap();
    io::copy(&mut GzDecoder::new(File::open(run).unwrap()), &mut file).unwrap();
    let bakeoff = env!("CARGO_BIN_EXE_bakeoff");
    Command::new(bakeoff).arg("report").arg(folder.path()).assert().success();
    fs::read_to_string(folder.path().join("report.md")).unwrap()
}
