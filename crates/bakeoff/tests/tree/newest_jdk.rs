//! The script that makes contenders on the JVM takes the newest JDK that there is,
//! and says so where none is new enough.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// A JDK of this version whose compiler does nothing.
fn jdk(at: &Path, version: &str) -> PathBuf {
    fs::create_dir_all(at.join("bin")).unwrap();
    fs::write(at.join("release"), format!("IMPLEMENTOR=\"x\"\nJAVA_VERSION=\"{version}\"\n"))
        .unwrap();
    let javac = at.join("bin/javac");
    // By another process: what was just written can't be run while another test's child
    // still holds it open (ETXTBSY). No link: the script would follow it out of the JDK.
    assert!(Command::new("cp").arg("/bin/true").arg(javac).status().unwrap().success());
    at.canonicalize().unwrap()
}

/// Runs the script for a contender without dependencies, with one JDK on the PATH
/// and another as the user's own. Both are newer than any real one.
fn compile(folder: &TempDir, oldest: &str) -> Output {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/web/jvm/compile");
    let on_path = jdk(&folder.path().join("on-path"), "999.0.2");
    let own = jdk(&folder.path().join("own"), "1000");
    fs::create_dir_all(folder.path().join("source")).unwrap();
    fs::create_dir_all(folder.path().join("build")).unwrap();
    let path = format!("{}:{}", on_path.join("bin").display(), std::env::var("PATH").unwrap());
    Command::new(script)
        .arg(oldest)
        .args(["source", "build"].map(|name| folder.path().join(name)))
        .env("PATH", path)
        .env("JAVA_HOME", own)
        .output()
        .unwrap()
}

#[test]
fn the_newest_jdk_is_linked_whatever_comes_first_on_the_path() {
    let folder = tempfile::tempdir().unwrap();
    let output = compile(&folder, "17");
    assert!(output.status.success(), "{output:?}");
    let linked = folder.path().join("build/jdk").canonicalize().unwrap();
    assert_eq!(linked, folder.path().join("own").canonicalize().unwrap());
}

#[test]
fn jdks_that_are_all_too_old_make_absent_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let output = compile(&folder, "1001");
    assert_eq!(output.status.code(), Some(69), "{output:?}");
    let said = String::from_utf8_lossy(&output.stdout);
    let why = said.lines().last().unwrap();
    assert!(why.contains("needs JDK 1001 or newer, and the newest here is 1000;"), "{why}");
    assert!(!folder.path().join("build/jdk").exists(), "nothing is linked");
}
