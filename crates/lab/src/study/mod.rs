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
use result::plan::{
    Asks, Cores, Dimension, LighterContract, Pace, Published, PublishedFigure, Setting, Value,
};
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
    pub driver: Spanned<Driver>,
    /// What a contender that drives itself is started with, in the order of tables.
    #[serde(default, rename = "parameter")]
    pub parameters: Vec<Parameter>,
    /// What a contender must do.
    pub contract: Spanned<ContractFile>,
    /// Contracts that ask for less, by name, for contenders that can't do all of
    /// it. Whoever keeps one is labelled so wherever it is ranked.
    #[serde(default)]
    pub lighter: BTreeMap<String, Spanned<ContractFile>>,
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
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Driver {
    /// Which it is.
    pub kind: DriverKind,
    /// What the load generator speaks with a contender.
    pub protocol: Option<Protocol>,
    /// What is counted of a contender that drives itself.
    pub unit: Option<Noun>,
}

/// The drivers that there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DriverKind {
    /// The load generator.
    Generator,
    /// The contender itself, which works and tells of it.
    Program,
}

/// What the load generator can speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// HTTP/1.1.
    Http1,
}

/// What something is called.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Noun {
    /// One of it: `message`.
    #[serde(deserialize_with = "limits::phrase")]
    pub one: String,
    /// Several: `messages`.
    #[serde(deserialize_with = "limits::phrase")]
    pub many: String,
}

/// A parameter of contenders that drive themselves: a dimension of the study.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    /// What it is passed as: `pairs` of `--pairs 100`.
    #[serde(deserialize_with = "limits::option")]
    pub name: Spanned<String>,
    /// What its values count, where they are numbers.
    pub unit: Option<Noun>,
    /// The values that it can have, where they are no numbers, each with its words.
    #[serde(default)]
    pub words: BTreeMap<String, String>,
}

/// What a contender must do.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContractFile {
    /// The same in one or two sentences, for readers.
    pub says: String,
    /// What the load generator asks it.
    pub request: Option<Request>,
    /// What it has to answer.
    pub answer: Option<RightAnswer>,
    /// Requests that must be refused, and how.
    #[serde(default, deserialize_with = "limits::refusals")]
    pub refuses: Vec<Refusal>,
    /// What shows that a contender that drives itself did its work.
    pub sum: Option<Sum>,
}

/// What shows that work was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sum {
    /// The sum of the payloads of all units done: numbers that follow from the trial's seed.
    Payloads,
}

/// What a contender has to answer to HTTP/1.1.
#[derive(Debug, Clone)]
pub struct HttpContract {
    /// What it is asked.
    pub request: Request,
    /// What it has to answer.
    pub answer: RightAnswer,
    /// Requests that it has to refuse.
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
    /// What it asks by HTTP/1.1; `None` where it doesn't.
    pub fn http(&self) -> Option<HttpContract> {
        let (request, answer) = (self.request.clone()?, self.answer.clone()?);
        Some(HttpContract { request, answer, refuses: self.refuses.clone() })
    }

    /// What speaks against it under this driver.
    fn complaint(&self, driver: &Driver) -> Option<&'static str> {
        match driver.kind {
            DriverKind::Generator if self.request.is_none() => {
                Some("missing key `request`: the load generator has to know what it asks")
            }
            DriverKind::Generator if self.answer.is_none() => {
                Some("missing key `answer`: the load generator has to know what is right")
            }
            DriverKind::Generator if self.sum.is_some() => {
                Some("`sum` is for contenders that drive themselves")
            }
            DriverKind::Program
                if self.request.is_some() || self.answer.is_some() || !self.refuses.is_empty() =>
            {
                Some("nobody asks a contender that drives itself: it has `sum`")
            }
            _ => None,
        }
    }
}

impl HttpContract {
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

/// Settings that have cores in common: one for each combination of values.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "SettingsTable")]
pub struct Settings {
    /// Cores given to the contender.
    pub cores: Cores,
    /// Connections at once; none where contenders drive themselves.
    pub connections: Vec<u32>,
    /// Whether connections are kept alive.
    pub kept: Vec<bool>,
    /// The values of a study's own parameters.
    pub parameters: BTreeMap<String, Spanned<toml::Value>>,
    /// These parameters, in the study's order. They stand elsewhere in its file.
    pub declared: Vec<Parameter>,
}

/// The same as a file has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SettingsTable {
    cores: Cores,
    #[serde(default, deserialize_with = "limits::connections")]
    connections: Vec<u32>,
    #[serde(default = "kept_alive", deserialize_with = "limits::modes")]
    kept: Vec<bool>,
    #[serde(default)]
    parameters: BTreeMap<String, Spanned<toml::Value>>,
}

fn kept_alive() -> Vec<bool> {
    vec![true]
}

impl TryFrom<SettingsTable> for Settings {
    type Error = String;

    fn try_from(table: SettingsTable) -> Result<Settings, String> {
        let SettingsTable { cores, connections, kept, parameters } = table;
        match connections.is_empty() && parameters.is_empty() {
            true => Err("missing key `connections`, or `parameters` of contenders that drive \
                         themselves"
                .into()),
            false => Ok(Settings { cores, connections, kept, parameters, declared: Vec::new() }),
        }
    }
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

    /// All settings at a free pace, each once.
    pub fn free_settings(&self) -> Vec<Setting> {
        let mut settings = Vec::new();
        for declared in &self.settings {
            for setting in declared.combinations() {
                if !settings.contains(&setting) {
                    settings.push(setting);
                }
            }
        }
        settings
    }
}

impl Settings {
    /// One setting for each combination of values, the first dimension's going fastest.
    fn combinations(&self) -> Vec<Setting> {
        if !self.connections.is_empty() {
            let each = self.kept.iter().flat_map(|&kept| {
                let loads = self.connections.iter();
                loads.map(move |&connections| Setting::closed(connections, self.cores, kept))
            });
            return each.collect();
        }
        let mut all = vec![Vec::new()];
        for parameter in self.declared.iter().rev() {
            let name = parameter.name.get_ref();
            let values = self.parameters.get(name).map(|it| parameter.values(it.get_ref()));
            let values = values.and_then(Result::ok).unwrap_or_default();
            all = all
                .iter()
                .flat_map(|others: &Vec<(String, Value)>| {
                    values
                        .iter()
                        .map(|value| [vec![(name.clone(), value.clone())], others.clone()].concat())
                })
                .collect();
        }
        let (cores, pace) = (self.cores, Pace::Free);
        all.into_iter().map(|values| Setting { cores, values, pace }).collect()
    }
}

impl Parameter {
    /// As a run's record has it.
    fn dimension(&self) -> Dimension {
        let unit = self.unit.clone().unwrap_or_default();
        let (id, words) = (self.name.get_ref().clone(), self.words.clone());
        Dimension { id, one: unit.one, many: unit.many, words }
    }

    /// What speaks against it.
    fn complaint(&self) -> Option<&'static str> {
        let has_one = self.unit.is_some() != !self.words.is_empty();
        (!has_one).then_some("a parameter has either `unit`, for numbers, or `words`")
    }

    /// Its values in a setting of a file.
    ///
    /// # Errors
    /// What they have to be.
    fn values(&self, file: &toml::Value) -> Result<Vec<Value>, String> {
        let value = |value: &toml::Value| match value {
            toml::Value::Integer(number) if self.words.is_empty() => {
                u64::try_from(*number).ok().map(Value::Number)
            }
            toml::Value::String(word) if self.words.contains_key(word) => {
                Some(Value::Word(word.clone()))
            }
            _ => None,
        };
        let allowed = || match self.words.is_empty() {
            true => "a list of whole numbers that aren't negative".to_string(),
            false => {
                let words = self.words.keys().map(|word| format!("`{word}`"));
                format!("a list of some of {}", words.collect::<Vec<_>>().join(", "))
            }
        };
        let values = file.as_array().and_then(|list| list.iter().map(value).collect());
        let values: Option<Vec<Value>> = values;
        let values = values.filter(|values| !values.is_empty());
        values.ok_or_else(|| format!("this has to be {}", allowed()))
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
        let mut file: StudyFile = toml_file::read(&path, "docs/study-toml.md")?;
        for settings in file.profile.values_mut().flat_map(|profile| &mut profile.settings) {
            settings.declared.clone_from(&file.parameters);
        }
        Ok(StudyFile { sha256: digest::of_file(&path).ok(), ..file })
    }

    /// In what settings differ.
    pub fn dimensions(&self) -> Vec<Dimension> {
        match self.driver.get_ref().kind {
            DriverKind::Generator => Dimension::of_generator(),
            DriverKind::Program => self.parameters.iter().map(Parameter::dimension).collect(),
        }
    }

    /// What contenders are compared by.
    pub fn figures(&self) -> Vec<Figure> {
        match &self.driver.get_ref().unit {
            Some(unit) => Figure::of_programs(&unit.one, &unit.many),
            None => Figure::of_generator(),
        }
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
        study.check_driver(&path)?;
        study.check_profiles(&path)?;
        study.check_published(&path)?;
        Ok(study)
    }

    /// Refuses profiles that name what isn't there.
    fn check_profiles(&self, path: &Path) -> Result<(), toml_file::Error> {
        for (name, profile) in &self.file.profile {
            self.check_settings(path, profile)?;
            let closed_loops = profile.free_settings();
            let equal_rate = profile.equal_rate.as_ref();
            let curve = profile.curve.as_ref();
            let bases = equal_rate
                .map(|it| (it.span(), it.get_ref().closed_loop()))
                .into_iter()
                .chain(curve.map(|it| (it.span(), it.get_ref().closed_loop())));
            for (span, base) in bases {
                if self.file.driver.get_ref().kind == DriverKind::Program {
                    let what = "it is the load generator's: contenders that drive themselves \
                                choose their own pace";
                    return Err(toml_file::refuse(path, span, what.into()));
                }
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

    /// Refuses settings that aren't of this study's dimensions.
    fn check_settings(&self, path: &Path, profile: &Profile) -> Result<(), toml_file::Error> {
        let driver = self.file.driver.get_ref();
        let refuse = |span, what| Err(toml_file::refuse(path, span, what));
        for settings in &profile.settings {
            let names = self.file.parameters.iter().map(|parameter| parameter.name.get_ref());
            for (name, values) in &settings.parameters {
                let parameter = self.file.parameters.iter().find(|it| it.name.get_ref() == name);
                let Some(parameter) = parameter else {
                    let own: Vec<String> = names.map(|it| format!("`{it}`")).collect();
                    let have = match own.is_empty() {
                        true => "none, for want of a table `parameter`".into(),
                        false => own.join(", "),
                    };
                    let what = format!("there is no parameter `{name}`; the study has {have}");
                    return refuse(values.span(), what);
                };
                if let Err(what) = parameter.values(values.get_ref()) {
                    return refuse(values.span(), what);
                }
            }
            if driver.kind == DriverKind::Program && !settings.connections.is_empty() {
                let what = "`connections` are the load generator's: settings of contenders that \
                            drive themselves have `parameters`";
                return refuse(self.file.driver.span(), what.into());
            }
            let is_missing = |name: &&String| !settings.parameters.contains_key(*name);
            let missing = match driver.kind {
                DriverKind::Generator if settings.connections.is_empty() => Some("connections"),
                DriverKind::Generator => None,
                DriverKind::Program => names.into_iter().find(is_missing).map(String::as_str),
            };
            if let Some(name) = missing {
                return refuse(
                    self.file.driver.span(),
                    format!("missing key `{name}` in the `settings` of a study with this driver"),
                );
            }
        }
        Ok(())
    }

    /// Refuses a driver that lacks what it needs, and contracts that it can't ask.
    fn check_driver(&self, path: &Path) -> Result<(), toml_file::Error> {
        let StudyFile { driver, contract, lighter, parameters, .. } = &self.file;
        let of_driver = driver.get_ref();
        let contracts = [contract].into_iter().chain(lighter.values());
        let complaint = match of_driver.kind {
            DriverKind::Generator if of_driver.protocol.is_none() => {
                Some("missing key `protocol`: the load generator has to know what it speaks")
            }
            DriverKind::Generator if of_driver.unit.is_some() || !parameters.is_empty() => {
                Some("`unit` and `parameter` are for contenders that drive themselves")
            }
            DriverKind::Program if of_driver.unit.is_none() => {
                Some("missing key `unit`: what contenders do is counted in it")
            }
            DriverKind::Program if of_driver.protocol.is_some() => {
                Some("`protocol` is the load generator's: nobody speaks with these contenders")
            }
            _ => None,
        };
        if let Some(what) = complaint {
            return Err(toml_file::refuse(path, driver.span(), what.into()));
        }
        for parameter in parameters {
            if let Some(what) = parameter.complaint() {
                return Err(toml_file::refuse(path, parameter.name.span(), what.into()));
            }
        }
        for contract in contracts {
            if let Some(what) = contract.get_ref().complaint(of_driver) {
                return Err(toml_file::refuse(path, contract.span(), what.into()));
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
        lighter.unwrap_or(&self.file.contract).get_ref()
    }

    /// The study as a run's record has it.
    pub fn record(&self) -> result::plan::Study {
        result::plan::Study {
            name: self.name.clone(),
            title: self.file.title.clone(),
            question: self.file.question.clone(),
            contract: self.file.contract.get_ref().says.clone(),
            dimensions: self.file.dimensions(),
            figures: self.file.figures(),
            asks: self.file.contract.get_ref().http().map(|it| it.asks()),
            lighter: self
                .file
                .lighter
                .iter()
                .map(|(name, contract)| LighterContract {
                    name: name.clone(),
                    says: contract.get_ref().says.clone(),
                    asks: contract.get_ref().http().map(|it| it.asks()),
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
