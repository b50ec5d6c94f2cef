//! Puts the project's studies into the program, so that they are there wherever it is installed.

use std::fmt::Write;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Folders of what builds, tests and runs leave there, or what only tests need.
const LEFT_OUT: [&str; 5] = ["build", "target", "tests", "__pycache__", "node_modules"];

fn main() {
    let studies = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies");
    let mut files = Vec::new();
    collect(&studies, &mut files);
    files.sort();
    let mut listed = String::from("&[\n");
    let mut digest = DefaultHasher::new();
    for path in &files {
        println!("cargo::rerun-if-changed={}", path.display());
        let name = path.strip_prefix(&studies).expect("it was found there").display().to_string();
        let is_executable =
            fs::metadata(path).is_ok_and(|file| file.permissions().mode() & 0o100 != 0);
        (&name, is_executable, fs::read(path).expect("a study's file can be read"))
            .hash(&mut digest);
        let path = path.canonicalize().expect("it is there");
        writeln!(listed, "    File {{ name: {name:?}, is_executable: {is_executable}, content: include_bytes!({path:?}) }},")
            .expect("a text takes all");
    }
    listed.push(']');
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo gives one"));
    fs::write(out.join("studies.rs"), listed).expect("cargo's own folder can be written to");
    println!("cargo::rustc-env=BAKEOFF_STUDIES={:016x}", digest.finish());
    // What is new there is seen when this runs again: a folder as a whole has builds in it too.
    println!("cargo::rerun-if-changed=build.rs");
}

/// All files of a folder and of those in it.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = entry.file_name();
        if path.is_dir() && !LEFT_OUT.iter().any(|left_out| name == *left_out) {
            collect(&path, files);
        } else if path.is_file() {
            files.push(path);
        }
    }
}
