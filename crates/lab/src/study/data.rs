//! What contenders that drive themselves work on: `[data]` of `study.toml`.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::limits;

/// Records that are made anew for each trial.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Data {
    /// The command that makes them, run in the study's folder.
    #[serde(deserialize_with = "limits::command")]
    pub made_by: Vec<String>,
    /// The command that counts what a contender made of them, run there likewise; none where
    /// that is of no interest.
    #[serde(default, deserialize_with = "limits::command")]
    pub counted_by: Vec<String>,
    /// The study's folder, which its file doesn't tell.
    #[serde(skip)]
    pub folder: PathBuf,
}

impl Data {
    /// The files of the study that its commands name: what they say is the study's as well.
    pub(super) fn files(&self) -> impl Iterator<Item = PathBuf> {
        let words = self.made_by.iter().chain(&self.counted_by);
        let words = words.filter(|word| !Path::new(word).is_absolute());
        words.map(|word| self.folder.join(word)).filter(|path| path.is_file())
    }
}
