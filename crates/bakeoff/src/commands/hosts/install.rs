//! `bakeoff hosts install`: this program is brought to hosts that lack it.
//!
//! All commands are plain words: a login shell reads them as they are, and so does what runs them
//! without a shell. The program lies below the folder in which commands begin there, and its name
//! is its digest. It has that name only once its bytes have been read back.

use std::fs::File;
use std::process::{Command, Stdio};

use hosts::wire::Build;
use hosts::{Host, HostError};
use report::text::visible;

use super::own_build;

/// The folder on a host.
const FOLDER: &str = ".cache/bakeoff";

/// Brings it to all that lack it; tells of each, in lines.
///
/// # Errors
/// The first host on which it failed.
pub fn on_all(hosts: &[Host]) -> Result<String, HostError> {
    let build = own_build().map_err(|what| HostError { host: "here".into(), what })?;
    let mut told = String::new();
    for host in hosts {
        let done = on(host, &build).map_err(|what| HostError { host: host.name.clone(), what })?;
        told += &format!("{}: {done}\n", host.name);
    }
    Ok(told)
}

fn on(host: &Host, build: &Build) -> Result<String, String> {
    if let Some(binary) = &host.binary {
        return Ok(format!("has {binary}, by its file"));
    }
    if host.is_here() {
        return Ok("is this machine, and has it".into());
    }
    let path = format!("{FOLDER}/{}", build.digest);
    if digest_there(host, &path).is_some_and(|digest| digest == build.digest) {
        return Ok(format!("has {path}"));
    }
    let arriving = format!("{path}.arriving");
    let program =
        || File::open("/proc/self/exe").map_err(|error| format!("reading itself: {error}"));
    said(host, &["mkdir", "-p", FOLDER], Stdio::null())?;
    said(host, &["dd", &format!("of={arriving}"), "bs=65536", "status=none"], program()?.into())?;
    match digest_there(host, &arriving) {
        Some(digest) if digest == build.digest => {}
        other => {
            let there = other.unwrap_or_else(|| "none".into());
            return Err(format!("the program arrived with another digest ({})", visible(&there)));
        }
    }
    said(host, &["chmod", "755", &arriving], Stdio::null())?;
    said(host, &["mv", &arriving, &path], Stdio::null())?;
    Ok(format!("got {path}"))
}

/// The digest of a file there; `None` where there is none.
fn digest_there(host: &Host, path: &str) -> Option<String> {
    let told = said(host, &["sha256sum", path], Stdio::null()).ok()?;
    // A login may say something of its own.
    let mut lines = told.lines().filter_map(|line| line.split_once("  "));
    lines.find(|(_, of)| *of == path).map(|(digest, _)| digest.into())
}

/// What a command says there.
///
/// # Errors
/// How it failed, with its words.
fn said(host: &Host, words: &[&str], input: Stdio) -> Result<String, String> {
    let all: Vec<&str> =
        host.reach.iter().map(String::as_str).chain(words.iter().copied()).collect();
    let shown = all.join(" ");
    let mut command = Command::new(all[0]);
    command.args(&all[1..]).stdin(input);
    let output = command.output().map_err(|error| format!("{shown}: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    Err(format!("{shown}: {}; it said: {}", output.status, visible(words.trim())))
}
