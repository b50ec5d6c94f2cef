//! A contender: one program to compare (`studies/<study>/<contender>/`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use result::plan::Tier;
use serde::Deserialize;
use toml::Spanned;

use crate::{limits, toml_file};

/// A contender as its folder has it.
#[derive(Debug)]
pub struct Contender {
    /// Its folder's name.
    pub name: String,
    /// Its folder.
    pub source: PathBuf,
    /// What its file says.
    pub file: ContenderFile,
}

/// The content of `contender.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContenderFile {
    /// A short title for tables.
    pub title: String,
    /// The language that its author would name.
    pub language: String,
    /// How it was made.
    pub tier: Tier,
    /// The lighter contract of its study that it keeps, where it can't keep the
    /// full one.
    pub contract: Option<Spanned<String>>,
    /// What a reader of its figures has to know of it, in one sentence.
    #[serde(default, deserialize_with = "limits::remark")]
    pub remark: Option<String>,
    /// The programs that it needs, by name or by path, and libraries by the path of
    /// one of their files, each with the Debian package that has it.
    #[serde(default)]
    pub needs: BTreeMap<String, String>,
    /// Files of its folder that are copied into each trial's own folder, with
    /// their placeholders filled in.
    #[serde(default, deserialize_with = "limits::file_names")]
    pub files: Vec<String>,
    /// The command that makes it in its folder, where there is something to make.
    #[serde(default)]
    pub build: Vec<String>,
    /// The command that starts it, and stays in the foreground.
    #[serde(deserialize_with = "limits::command")]
    pub run: Vec<String>,
    /// Settings beside the command line.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// Commands that tell a version: the program's name, and how to ask it.
    #[serde(default)]
    pub versions: BTreeMap<String, Vec<String>>,
    /// Seconds of load after which its rate is its own, where a profile gives
    /// less: for a runtime that compiles what it runs often.
    #[serde(default, deserialize_with = "limits::seconds")]
    pub warmup_s: f64,
    /// Seconds that it may take until its first right answer.
    #[serde(default = "ready_within_s", deserialize_with = "limits::seconds")]
    pub ready_within_s: f64,
}

fn ready_within_s() -> f64 {
    30.0
}

impl Contender {
    /// Reads a contender from its folder.
    pub fn read(folder: &Path, name: &str) -> Result<Contender, toml_file::Error> {
        let file = toml_file::read(&folder.join("contender.toml"), "docs/contenders.md")?;
        // Its programs are started elsewhere, so a relative path would mislead them.
        let source = folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf());
        Ok(Contender { name: name.into(), source, file })
    }

    /// The name of the lighter contract that it keeps, if it does.
    pub fn lighter_contract(&self) -> Option<&str> {
        self.file.contract.as_ref().map(|name| name.get_ref().as_str())
    }
}

/// What the placeholders of a contender's commands and files stand for.
#[derive(Debug, Clone, Default)]
pub struct Placeholders {
    /// `$SOURCE`: the contender's folder.
    pub source: PathBuf,
    /// `$BUILD`: where its build put what it made.
    pub build: PathBuf,
    /// `$DIR`: the trial's own folder, gone after it.
    pub dir: PathBuf,
    /// `$HOST`: the address to listen on.
    pub host: String,
    /// `$PORT`: the port to listen on.
    pub port: u16,
    /// `$CORES`: the number of processors that it may use.
    pub cores: usize,
}

impl Placeholders {
    /// Fills them in, in one pass, so that what a value holds is never taken for
    /// a placeholder. Other words after a `$` stay: configuration languages
    /// have variables of their own.
    pub fn fill(&self, text: &str) -> String {
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find('$') {
            filled.push_str(&rest[..at]);
            let after = &rest[at + 1..];
            let end =
                after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(after.len());
            match self.value(&after[..end]) {
                Some(value) => filled.push_str(&value),
                None => filled.push_str(&rest[at..at + 1 + end]),
            }
            rest = &after[end..];
        }
        filled.push_str(rest);
        filled
    }

    /// Fills them in into every word of a command.
    pub fn fill_all(&self, command: &[String]) -> Vec<String> {
        command.iter().map(|word| self.fill(word)).collect()
    }

    fn value(&self, name: &str) -> Option<String> {
        Some(match name {
            "SOURCE" => self.source.display().to_string(),
            "BUILD" => self.build.display().to_string(),
            "DIR" => self.dir.display().to_string(),
            "HOST" => self.host.clone(),
            "PORT" => self.port.to_string(),
            "CORES" => self.cores.to_string(),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placeholders() -> Placeholders {
        Placeholders {
            source: "/src/$PORT".into(),
            build: "/build".into(),
            dir: "/dir".into(),
            host: "127.0.0.1".into(),
            port: 4711,
            cores: 2,
        }
    }

    #[test]
    fn placeholders_are_filled_once_and_whole_words_only() {
        let filled =
            placeholders().fill("$HOST:$PORT +S $CORES:$CORES $SOURCE $PORTS ${PORT} $arg_id $ 5$");
        assert_eq!(filled, "127.0.0.1:4711 +S 2:2 /src/$PORT $PORTS ${PORT} $arg_id $ 5$");
    }
}
