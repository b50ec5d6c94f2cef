//! A study: the question, the contract, the load levels, and what others
//! published (`studies/<study>/study.toml`).

pub mod contender;
pub(crate) mod digest;
pub(crate) mod limits;
pub mod toml_file;

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use result::figure::Figure;
use result::plan::{Asks, Cores, Dimension, LighterContract, Published, PublishedFigure, Setting};
use serde::Deserialize;
use toml::Spanned;

use crate::study::contender::Contender;

/// A study with its contenders, as its folder has them.
#[derive(Debug)]
pub struct Study {
    /// Its folder's name.
    pub name: String,
    /// What its file says.
    pub file: StudyFile,
    /// Its contenders, by name.
    pub contenders: Vec<Contender>,
}

/// The content of `study.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StudyFile {
    /// A short title.
    pub title: String,
    /// The question in one or two sentences.
    pub question: String,
    /// What puts work on a contender.
    pub driver: Driver,
    /// What a contender must do.
    pub contract: ContractFile,
    /// Contracts that ask for less, by name, for contenders that can't do all of
    /// it. Whoever keeps one is labelled so wherever it is ranked.
    #[serde(default)]
    pub lighter: BTreeMap<String, ContractFile>,
    /// How much is measured, by the profile's name.
    pub profile: BTreeMap<String, Profile>,
    /// Figures that somebody published for the same question.
    #[serde(default)]
    pub published: Vec<PublishedRow>,
    /// SHA-256 of the file, which has no such key; `None` if it couldn't be read again.
    #[serde(skip)]
    pub sha256: Option<String>,
}

/// What puts work on a contender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Driver {
    /// Which it is.
    pub kind: DriverKind,
    /// What it speaks with a contender.
    pub protocol: Protocol,
}

/// The drivers that there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DriverKind {
    /// The load generator.
    Generator,
}

/// What the load generator can speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// HTTP/1.1.
    Http1,
}

/// What a contender must do.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContractFile {
    /// The same in one or two sentences, for readers.
    pub says: String,
    /// What it is asked.
    pub request: Request,
    /// What it has to answer.
    pub answer: RightAnswer,
    /// Requests that must be refused, and how.
    #[serde(default, deserialize_with = "limits::refusals")]
    pub refuses: Vec<Refusal>,
}

/// What a contender is asked.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Path and query; `{nonce}` stands for digits that are new in every request,
    /// `{counter}` for its number.
    #[serde(deserialize_with = "limits::path")]
    pub path: String,
}

/// What a contender has to answer.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RightAnswer {
    /// The status.
    #[serde(deserialize_with = "limits::success")]
    pub status: u16,
    /// What the body holds; may have the request's `{nonce}` and `{counter}`.
    #[serde(deserialize_with = "limits::not_empty")]
    pub body: String,
    /// Whether that is all of it, and no byte may stand around it.
    #[serde(default)]
    pub whole_body: bool,
    /// Whether two answers to the same request must differ, because a part of
    /// them is made anew each time.
    pub fresh: bool,
}

impl ContractFile {
    /// What it asks for, as a run's record has it.
    fn asks(&self) -> Asks {
        let refused = |refusal: &Refusal| result::plan::Refusal {
            method: refusal.method.clone(),
            path: refusal.path.clone(),
            status: refusal.status,
        };
        Asks {
            path: self.request.path.clone(),
            status: self.answer.status,
            body: self.answer.body.clone(),
            whole_body: self.answer.whole_body,
            fresh: self.answer.fresh,
            refuses: self.refuses.iter().map(refused).collect(),
        }
    }
}

/// A request that must be refused.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Refusal {
    /// What is wrong with it, for readers.
    #[serde(deserialize_with = "limits::phrase")]
    pub what: String,
    /// Its method.
    #[serde(default = "get", deserialize_with = "limits::method")]
    pub method: String,
    /// Its path and query.
    #[serde(deserialize_with = "limits::path")]
    pub path: String,
    /// The status that it must get.
    #[serde(deserialize_with = "limits::refusal")]
    pub status: u16,
}

fn get() -> String {
    "GET".into()
}

/// How much is measured.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Blocks of the closed loop and of the equal rate: each holds every
    /// contender once a load.
    #[serde(deserialize_with = "limits::blocks")]
    pub blocks: u32,
    /// Seconds measured a trial.
    #[serde(deserialize_with = "limits::seconds")]
    pub measure_s: f64,
    /// Seconds of load before measuring.
    #[serde(deserialize_with = "limits::seconds")]
    pub warmup_s: f64,
    /// What contenders are compared under in the closed loop.
    #[serde(deserialize_with = "limits::settings")]
    pub settings: Vec<Settings>,
    /// One rate for all.
    pub equal_rate: Option<Spanned<EqualRate>>,
    /// Rates up to each contender's own maximum, and beyond.
    pub curve: Option<Spanned<Curve>>,
    /// These contenders only, unless somebody chooses others; all, if none is
    /// named.
    #[serde(default)]
    pub contenders: Vec<Spanned<String>>,
}

/// Settings of the closed loop that have cores in common.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Cores given to the contender.
    pub cores: Cores,
    /// Connections at once, a setting each.
    #[serde(deserialize_with = "limits::connections")]
    pub connections: Vec<u32>,
    /// Whether connections are kept alive, a setting each.
    #[serde(default = "kept_alive", deserialize_with = "limits::modes")]
    pub kept: Vec<bool>,
}

fn kept_alive() -> Vec<bool> {
    vec![true]
}

/// An open loop at one rate for all contenders.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EqualRate {
    /// Cores given to the contender.
    pub cores: Cores,
    /// Connections at once.
    pub connections: u32,
    /// Whether they are kept alive.
    #[serde(default = "yes")]
    pub kept: bool,
    /// The rate, out of 100 of the lowest maximum.
    #[serde(deserialize_with = "limits::percent")]
    pub percent: u32,
}

/// Open loops at shares of each contender's own maximum.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Curve {
    /// Cores given to the contender.
    pub cores: Cores,
    /// Connections at once.
    pub connections: u32,
    /// Whether they are kept alive.
    #[serde(default = "yes")]
    pub kept: bool,
    /// The rates, out of 100 of the contender's own maximum.
    #[serde(deserialize_with = "limits::percents")]
    pub percent: Vec<u32>,
    /// Blocks: each holds every contender once a rate.
    #[serde(deserialize_with = "limits::blocks")]
    pub blocks: u32,
}

fn yes() -> bool {
    true
}

impl Profile {
    /// The contenders that it names.
    pub fn contender_names(&self) -> Vec<String> {
        self.contenders.iter().map(|name| name.get_ref().clone()).collect()
    }

    /// All loads of the closed loop, each once.
    pub fn closed_loops(&self) -> Vec<Setting> {
        let mut loads = Vec::new();
        for declared in &self.settings {
            for &kept in &declared.kept {
                for &connections in &declared.connections {
                    let load = Setting::closed(connections, declared.cores, kept);
                    if !loads.contains(&load) {
                        loads.push(load);
                    }
                }
            }
        }
        loads
    }
}

impl EqualRate {
    /// The closed loop that shows the maxima.
    pub fn closed_loop(&self) -> Setting {
        Setting::closed(self.connections, self.cores, self.kept)
    }
}

impl Curve {
    /// The closed loop that shows the maxima.
    pub fn closed_loop(&self) -> Setting {
        Setting::closed(self.connections, self.cores, self.kept)
    }
}

/// A row of published figures, as a file has it: columns of equal length.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, try_from = "PublishedColumns")]
pub struct PublishedRow {
    /// The row.
    pub row: Published,
    /// Where the file names its contender.
    contender_at: Option<Range<usize>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PublishedColumns {
    row: String,
    contender: Option<Spanned<String>>,
    source: String,
    mistake: Option<String>,
    cores: Cores,
    kept: bool,
    connections: Vec<u32>,
    rate: Vec<f64>,
    p99_ms: Option<Vec<f64>>,
}

impl TryFrom<PublishedColumns> for PublishedRow {
    type Error = String;

    fn try_from(columns: PublishedColumns) -> Result<PublishedRow, String> {
        let PublishedColumns {
            row,
            contender,
            source,
            mistake,
            cores,
            kept,
            connections,
            rate,
            p99_ms,
        } = columns;
        let lengths_differ = rate.len() != connections.len()
            || p99_ms.as_ref().is_some_and(|p99| p99.len() != connections.len());
        if lengths_differ {
            return Err(format!(
                "the row `{row}` needs as many values in `rate` and `p99_ms` as in `connections`"
            ));
        }
        let figures = connections
            .iter()
            .enumerate()
            .map(|(at, &connections)| PublishedFigure {
                connections,
                rate: rate[at],
                p99_ms: p99_ms.as_ref().map(|p99| p99[at]),
            })
            .collect();
        let (cores, keep_alive) = (Some(cores), Some(kept));
        let contender_at = contender.as_ref().map(Spanned::span);
        let contender = contender.map(Spanned::into_inner);
        let row = Published { row, contender, source, mistake, cores, keep_alive, figures };
        Ok(PublishedRow { row, contender_at })
    }
}

/// Why a study couldn't be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no such study.
    #[error("there is no study `{name}` in {studies}; {have}", studies = studies.display())]
    Unknown {
        /// The name asked for.
        name: String,
        /// Where it was looked for.
        studies: PathBuf,
        /// What there is.
        have: String,
    },
    /// There is no such contender in it.
    #[error("there is no contender `{name}` in the study `{study}`; it has {have}")]
    UnknownContender {
        /// The name asked for.
        name: String,
        /// The study.
        study: String,
        /// Those that there are.
        have: String,
    },
    /// There is nobody to compare.
    #[error("the study `{study}` has no contender: no folder in {path} has a contender.toml",
        path = path.display())]
    Empty {
        /// The study.
        study: String,
        /// Its folder.
        path: PathBuf,
    },
    /// A file is not as it has to be.
    #[error(transparent)]
    File(#[from] toml_file::Error),
    /// A folder couldn't be listed.
    #[error("couldn't list {path}: {source}", path = path.display())]
    List {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

impl StudyFile {
    /// Reads a study's own file from the folder `studies`.
    pub fn read(studies: &Path, name: &str) -> Result<StudyFile, Error> {
        let path = studies.join(name).join("study.toml");
        let is_a_name = !name.is_empty() && !name.contains(['/', '.']);
        if !is_a_name || !path.is_file() {
            return Err(Error::Unknown {
                name: name.into(),
                studies: studies.into(),
                have: match folders_with(studies, "study.toml") {
                    Ok(names) if !names.is_empty() => format!(
                        "it has {}; docs/study-toml.md says how to add one",
                        names.join(", ")
                    ),
                    _ => "start bakeoff where the folder `studies` is, or give --studies".into(),
                },
            });
        }
        let file: StudyFile = toml_file::read(&path, "docs/study-toml.md")?;
        Ok(StudyFile { sha256: digest::of_file(&path).ok(), ..file })
    }

    /// Reads one of the study's contenders, and refuses it if it names a contract
    /// that the study doesn't have.
    fn read_contender(&self, folder: &Path, name: &str) -> Result<Contender, toml_file::Error> {
        let folder = folder.join(name);
        let contender = Contender::read(&folder, name)?;
        match &contender.file.contract {
            Some(contract) if !self.lighter.contains_key(contract.get_ref()) => {
                let have = match self.lighter.is_empty() {
                    true => "the study has one contract, which needs no name".into(),
                    false => {
                        let names: Vec<_> =
                            self.lighter.keys().map(|name| format!("`{name}`")).collect();
                        format!("allowed: {}, or none for the full one", names.join(" and "))
                    }
                };
                let what = format!("unknown contract `{}`; {have}", contract.get_ref());
                Err(toml_file::refuse(&folder.join("contender.toml"), contract.span(), what))
            }
            _ => Ok(contender),
        }
    }
}

impl Study {
    /// Reads a study and all its contenders from the folder `studies`.
    pub fn read(studies: &Path, name: &str) -> Result<Study, Error> {
        let file = StudyFile::read(studies, name)?;
        let folder = studies.join(name);
        let path = folder.join("study.toml");
        let contenders = folders_with(&folder, "contender.toml")?
            .iter()
            .map(|contender| file.read_contender(&folder, contender))
            .collect::<Result<Vec<_>, _>>()?;
        if contenders.is_empty() {
            return Err(Error::Empty { study: name.into(), path: folder });
        }
        let study = Study { name: name.into(), file, contenders };
        study.check_profiles(&path)?;
        study.check_published(&path)?;
        Ok(study)
    }

    /// Refuses profiles that name what isn't there.
    fn check_profiles(&self, path: &Path) -> Result<(), toml_file::Error> {
        for (name, profile) in &self.file.profile {
            let closed_loops = profile.closed_loops();
            let equal_rate = profile.equal_rate.as_ref();
            let curve = profile.curve.as_ref();
            let bases = equal_rate
                .map(|it| (it.span(), it.get_ref().closed_loop()))
                .into_iter()
                .chain(curve.map(|it| (it.span(), it.get_ref().closed_loop())));
            for (span, base) in bases {
                if !closed_loops.contains(&base) {
                    let what = format!(
                        "its maxima come from the closed loop of the same cores, connections and \
                         kept, which the profile `{name}` lacks among its `settings`"
                    );
                    return Err(toml_file::refuse(path, span, what));
                }
            }
            for contender in &profile.contenders {
                if self.contenders.iter().all(|it| it.name != *contender.get_ref()) {
                    let what = self.lacks(contender.get_ref());
                    return Err(toml_file::refuse(path, contender.span(), what));
                }
            }
        }
        Ok(())
    }

    /// Refuses published figures that are set beside a contender that isn't there.
    fn check_published(&self, path: &Path) -> Result<(), toml_file::Error> {
        for PublishedRow { row, contender_at } in &self.file.published {
            let named = row.contender.as_deref().zip(contender_at.clone());
            if let Some((name, at)) = named
                && self.contenders.iter().all(|it| it.name != name)
            {
                return Err(toml_file::refuse(path, at, self.lacks(name)));
            }
        }
        Ok(())
    }

    fn lacks(&self, contender: &str) -> String {
        format!("there is no contender `{contender}`; the study has {}", self.names())
    }

    /// The names of all contenders, as a sentence has them.
    fn names(&self) -> String {
        self.contenders.iter().map(|it| it.name.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// Keeps only the contenders named; all, if none is.
    pub fn only(mut self, names: &[String]) -> Result<Study, Error> {
        for name in names {
            if !self.contenders.iter().any(|contender| contender.name == *name) {
                return Err(Error::UnknownContender {
                    name: name.clone(),
                    study: self.name.clone(),
                    have: self.names(),
                });
            }
        }
        if !names.is_empty() {
            self.contenders.retain(|contender| names.contains(&contender.name));
        }
        Ok(self)
    }

    /// What a contender of this study must do: the study's contract, or the
    /// lighter one that it names.
    pub fn contract_of(&self, contender: &Contender) -> &ContractFile {
        let lighter = contender.lighter_contract().and_then(|name| self.file.lighter.get(name));
        lighter.unwrap_or(&self.file.contract)
    }

    /// The study as a run's record has it.
    pub fn record(&self) -> result::plan::Study {
        result::plan::Study {
            name: self.name.clone(),
            title: self.file.title.clone(),
            question: self.file.question.clone(),
            contract: self.file.contract.says.clone(),
            dimensions: Dimension::of_generator(),
            figures: Figure::of_generator(),
            asks: Some(self.file.contract.asks()),
            lighter: self
                .file
                .lighter
                .iter()
                .map(|(name, contract)| LighterContract {
                    name: name.clone(),
                    says: contract.says.clone(),
                    asks: Some(contract.asks()),
                })
                .collect(),
            published: self.file.published.iter().map(|it| it.row.clone()).collect(),
            file_sha256: self.file.sha256.clone(),
        }
    }
}

/// The names of the studies in a folder, in order; none where it can't be listed.
pub fn names(studies: &Path) -> Vec<String> {
    folders_with(studies, "study.toml").unwrap_or_default()
}

/// The names of the folders in `folder` that hold the file, in order.
fn folders_with(folder: &Path, file: &str) -> Result<Vec<String>, Error> {
    let list = |source| Error::List { path: folder.to_path_buf(), source };
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(list)? {
        let entry = entry.map_err(list)?;
        if entry.path().join(file).is_file() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}
