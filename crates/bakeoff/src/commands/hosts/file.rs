//! The user's file of hosts: who they are, and what leads there. It is never part of a study.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::Path;

use hosts::Host;
use lab::study::toml_file::{self, Unusable};
use serde::Deserialize;
use toml::Spanned;

/// Where its keys are explained.
const PAGE: &str = "docs/hosts.md";
/// The longest name of a host: it stands in tables.
const NAME_CHARS_MAX: usize = 40;

/// What such a file says.
#[derive(Debug)]
pub struct HostsFile {
    /// This machine, as the hosts reach it.
    pub address: Option<IpAddr>,
    /// The hosts, in the order of their names.
    pub hosts: Vec<Host>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    address: Option<IpAddr>,
    host: BTreeMap<Spanned<String>, HostContent>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HostContent {
    reach: Spanned<Vec<String>>,
    binary: Option<Spanned<String>>,
    #[serde(default)]
    cpus: Vec<usize>,
}

/// Reads a file of hosts.
///
/// # Errors
/// What is wrong with it: file, line and sentence.
pub fn read(path: &Path) -> Result<HostsFile, String> {
    let content: Content = toml_file::read(path, PAGE).map_err(|error| match error {
        Unusable::Read { .. } => format!("{error}; {PAGE} has an example"),
        Unusable::Content { path, line, column, what, text } if what.starts_with("invalid") => {
            let what = format!("{what}; {PAGE} has an example");
            Unusable::Content { path, line, column, what, text }.to_string()
        }
        Unusable::Content { .. } => error.to_string(),
    })?;
    let refuse = |span, what: &str| toml_file::refuse(path, span, what.into()).to_string();
    if content.host.is_empty() {
        return Err(format!("{}: it names no host; {PAGE} has an example", path.display()));
    }
    let mut hosts = Vec::new();
    for (name, host) in content.host {
        let is_plain = |it: char| it.is_ascii_alphanumeric() || "-_.".contains(it);
        let (text, span) = (name.get_ref(), name.span());
        if text.is_empty() || text.len() > NAME_CHARS_MAX || !text.chars().all(is_plain) {
            let what = "a host's name is of letters, digits, and - _ . in between, 40 at most";
            return Err(refuse(span, what));
        }
        let words = host.reach.get_ref();
        if words.iter().any(String::is_empty) {
            let what = "this is a command, word by word, and one word is empty; `[]` is this \
                        machine itself";
            return Err(refuse(host.reach.span(), what));
        }
        // A command in one piece would be looked for as a program of that name.
        let program = words.first().filter(|it| it.contains(' ') && !Path::new(it).exists());
        if let Some(program) = program {
            let apart: Vec<&str> = program.split_whitespace().collect();
            let what = format!("no program has this name; word by word it is {apart:?}");
            return Err(refuse(host.reach.span(), &what));
        }
        if let Some(binary) = host.binary.as_ref().filter(|it| it.get_ref().trim().is_empty()) {
            return Err(refuse(binary.span(), "this is the path of bakeoff on that host"));
        }
        hosts.push(Host {
            name: name.into_inner(),
            reach: host.reach.into_inner(),
            binary: host.binary.map(Spanned::into_inner),
            cpus: host.cpus,
        });
    }
    Ok(HostsFile { address: content.address, hosts })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> Result<HostsFile, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hosts.toml");
        std::fs::write(&path, text).unwrap();
        read(&path).map_err(|error| error.replace(folder.path().to_str().unwrap(), ""))
    }

    #[test]
    fn hosts_are_read_in_the_order_of_their_names() {
        let HostsFile { address, hosts } = read_text(
            "address = \"10.77.0.1\"\n[host.c2]\nreach = [\"ssh\", \"-T\", \"c2\"]\nbinary = \
             \"/opt/bakeoff\"\n[host.c1]\nreach = []\ncpus = [0, 1]\n",
        )
        .unwrap();
        let names: Vec<&str> = hosts.iter().map(|host| host.name.as_str()).collect();
        assert_eq!(names, ["c1", "c2"]);
        assert_eq!(address, Some([10, 77, 0, 1].into()));
        assert_eq!(hosts[0].cpus, [0, 1]);
        assert_eq!(hosts[1].binary.as_deref(), Some("/opt/bakeoff"));
    }

    /// Else a wrong file would be found out by a host that can't be reached, or not at all.
    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let refused = |text: &str, says: &str| {
            let why = read_text(text).unwrap_err();
            assert!(why.contains("hosts.toml") && why.contains(says), "{why}");
        };
        refused("address = \"here\"\n[host.c1]\nreach = []\n", ":1:");
        refused("", "missing key `host`");
        refused("[host]\n", "it names no host");
        refused("[host.c1]\nbinary = \"x\"\n", "missing key `reach`");
        refused("[host.c1]\nreach = [\"ssh\", \"\"]\n", ":2:");
        refused(
            "[host.c1]\nreach = [\"ssh -T\", \"c1\"]\n",
            "word by word it is [\"ssh\", \"-T\"]",
        );
        refused(
            "[host.c1]\nreach = \"ssh c1\"\n",
            ":2:9: invalid type: string \"ssh c1\", expected a list",
        );
        refused("[host.c1]\nreach = []\ncpus = [-1]\n", ":3:9:");
        refused("[host.c1]\nreach = []\n[host.c1]\nreach = []\n", ":3:");
        refused("[hosts.c1]\nreach = []\n", "did you mean `host`?");
        refused("[host.\"c 1\"]\nreach = []\n", ":1:");
        refused("[host.c1]\nreach = []\nbinary = \" \"\n", ":3:");
        refused("[host.c1]\nreach = []\nkey = 1\n", "unknown key");
    }
}
