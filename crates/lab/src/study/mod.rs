//! A study: the question, the contract, the load levels, and what others
//! published (`studies/<study>/study.toml`).

mod asks;
pub mod contender;
mod contract;
mod data;
pub(crate) mod digest;
mod dimension;
mod driver;
mod kinds;
pub(crate) mod limits;
mod lines_of_code;
pub(crate) mod near;
mod profile;
mod published;
mod request;
pub mod toml_file;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use result::figure::{Figure, RATE};
use result::kind::{Kind, Values};
use result::plan::{Claim, Dimension, LighterContract, PaceKind, Setting, Value};
use serde::Deserialize;
use toml::Spanned;

pub use self::asks::Asks;
pub use self::contract::{ContractFile, HttpContract, Refusal, Sum};
pub use self::data::Data;
pub use self::dimension::Valued;
pub use self::driver::{Driver, Noun, Parameter, ToldFigure};
pub use self::profile::Expects;
pub use self::profile::{Curve, EqualRate, FixedRate, Profile, Settings};
pub use self::published::{ClaimFile, PublishedRow};
use self::published::{LEAD_MAX, is_lead};
pub use self::request::{Request, RightAnswer};

use self::contender::Contender;
use self::dimension::OwnKeys;
use self::near::did_you_mean;
use crate::contract::Contract;
use crate::drive;

/// A study with its contenders, as its folder has them.
#[derive(Debug)]
pub struct Study {
    /// Its folder's name.
    pub name: String,
    /// Its folder.
    pub folder: PathBuf,
    /// What its file says.
    pub file: StudyFile,
    /// Its contenders, by name.
    pub contenders: Vec<Contender>,
    /// A program that asks stores in the place of bakeoff's own client: somebody else's client
    /// library, which is how a mistake is made. It hears and tells what `load::agent` does.
    pub client: Option<PathBuf>,
}

/// The content of `study.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StudyFile {
    /// A short title.
    pub title: String,
    /// The question in one or two sentences.
    pub question: String,
    /// What its figures can't say, a sentence each.
    #[serde(default, deserialize_with = "limits::remarks")]
    pub cannot_say: Vec<String>,
    /// What puts work on a contender.
    pub driver: Spanned<Driver>,
    /// What a contender that drives itself is started with, in the order of tables.
    #[serde(default, rename = "parameter")]
    pub parameters: Vec<Parameter>,
    /// What contenders that drive themselves tell at their end, or the study counts of what they
    /// made, beside what is measured.
    #[serde(default, rename = "figure")]
    pub told: Vec<ToldFigure>,
    /// What stores are asked, by the word that settings have for it.
    #[serde(default)]
    pub asks: BTreeMap<String, Asks>,
    /// What such a contender works on, where it doesn't follow from a seed.
    pub data: Option<Data>,
    /// What a contender must do.
    pub contract: Spanned<ContractFile>,
    /// Contracts that ask for less, by name, for contenders that can't do all of
    /// it. Whoever keeps one is labelled so wherever it is ranked.
    #[serde(default)]
    pub lighter: BTreeMap<String, Spanned<ContractFile>>,
    /// What else is expected of contenders.
    #[serde(default)]
    pub expects: Expects,
    /// How much is measured, by the profile's name.
    pub profile: BTreeMap<String, Profile>,
    /// Figures that somebody published for the same question.
    #[serde(default)]
    pub published: Vec<PublishedRow>,
    /// What somebody claimed, for the run to decide.
    #[serde(default, rename = "claim")]
    pub claims: Vec<ClaimFile>,
    /// SHA-256 of the file, which has no such key, with what makes its records; `None` if that
    /// couldn't be read.
    #[serde(skip)]
    pub sha256: Option<String>,
}

/// Why a study couldn't be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no such study.
    #[error("there is no study `{name}` in {studies}{near}; {have}", studies = studies.display())]
    Unknown {
        /// The name asked for.
        name: String,
        /// Which may have been meant.
        near: String,
        /// Where it was looked for.
        studies: PathBuf,
        /// What there is.
        have: String,
    },
    /// There is no such contender in it.
    #[error("there is no contender `{name}` in the study `{study}`{near}; it has {have}")]
    UnknownContender {
        /// The name asked for.
        name: String,
        /// Which may have been meant.
        near: String,
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
    File(#[from] toml_file::Unusable),
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
            let known = names(studies);
            return Err(Error::Unknown {
                name: name.into(),
                near: did_you_mean(name, known.iter().map(String::as_str)),
                studies: studies.into(),
                have: match &known[..] {
                    [_, ..] => format!(
                        "it has {}; docs/study-toml.md says how to add one",
                        known.join(", ")
                    ),
                    [] => "start bakeoff where the folder `studies` is, or give --studies".into(),
                },
            });
        }
        let mut file: StudyFile = toml_file::read(&path, "docs/study-toml.md")?;
        let kind = file.kind();
        file.profile.values_mut().for_each(|profile| profile.declare(kind, &file.parameters));
        if let Some(data) = &mut file.data {
            data.folder = studies.join(name);
        }
        let contracts = [&mut file.contract].into_iter().chain(file.lighter.values_mut());
        let mut bodies = Vec::new();
        for contract in contracts {
            contract.get_mut().read_bodies(&path)?;
            bodies.extend(contract.get_ref().files(&path));
        }
        let of_data = file.data.iter().flat_map(Data::files);
        let sha256 = digest::of_file_with(&path, of_data.chain(bodies)).ok();
        Ok(StudyFile { sha256, ..file })
    }

    /// In what settings differ.
    pub fn dimensions(&self) -> Vec<Dimension> {
        let words = || self.asks.iter().map(|(name, asks)| (name.clone(), asks.says.clone()));
        let own = self.kind().declared().iter().map(|declared| match declared.values {
            Values::Names => Dimension { words: words().collect(), ..declared.dimension() },
            Values::Numbers(_) | Values::Optional(_) | Values::Flags(..) => declared.dimension(),
        });
        own.chain(self.parameters.iter().map(Parameter::dimension)).collect()
    }

    /// What contenders are compared by.
    pub fn figures(&self) -> Vec<Figure> {
        let unit = self.driver.get_ref().unit.as_ref().map(|it| (&*it.one, &*it.many));
        let told = self.told.iter().map(ToldFigure::figure);
        self.kind().figures(unit).into_iter().chain(told).collect()
    }

    /// Which kind of study it is.
    pub fn kind(&self) -> Kind {
        self.driver.get_ref().study()
    }

    /// Seconds that a trial takes beside start, contract, warm-up, window and stop; of stores, at
    /// least.
    pub(crate) fn more_s(&self, setting: &Setting) -> f64 {
        kinds::of(self.kind()).more_s(self, setting)
    }

    /// Refuses the id of a figure that contenders aren't compared by.
    fn figure_of(&self, id: &Spanned<String>, path: &Path) -> Result<(), toml_file::Unusable> {
        let figures = self.figures();
        if figures.iter().any(|figure| figure.id == *id.get_ref()) {
            return Ok(());
        }
        let have: Vec<String> = figures.iter().map(|it| format!("`{}`", it.id)).collect();
        let (id, at) = (id.get_ref(), id.span());
        let near = did_you_mean(id, figures.iter().map(|figure| figure.id.as_str()));
        let what = format!("there is no figure `{id}`{near}; the study has {}", have.join(", "));
        Err(toml_file::refuse(path, at, what))
    }

    /// Refuses the rate as the figure of a claim where all contenders are given the same one.
    fn check_decides(&self, id: &Spanned<String>, path: &Path) -> Result<(), toml_file::Unusable> {
        if self.kind().pace() == PaceKind::Free || id.get_ref() != RATE {
            return Ok(());
        }
        let ranked = self.ranked().map(|it| format!("`{}`", it.id)).collect::<Vec<_>>().join(", ");
        let what = format!("all contenders are given one rate; name one of {ranked}");
        Err(toml_file::refuse(path, id.span(), what))
    }

    /// The id of the figure that decides a claim.
    fn claimed(&self, claim: &ClaimFile) -> String {
        let named = claim.figure.as_ref().map(|it| it.get_ref().clone());
        named.or_else(|| self.ranked().next().map(|it| it.id)).unwrap_or_else(|| RATE.into())
    }

    /// The figures by which contenders are ranked before all others.
    fn ranked(&self) -> impl Iterator<Item = Figure> {
        let pace = self.kind().pace();
        self.figures().into_iter().filter(move |figure| figure.ranks.contains(&pace))
    }

    /// What a file has for the values of one of the study's parameters.
    fn values_of(
        &self,
        parameter: &str,
        values: &Spanned<toml::Value>,
        path: &Path,
    ) -> Result<Vec<Value>, toml_file::Unusable> {
        let names = || self.parameters.iter().map(|parameter| parameter.name.get_ref());
        let known = self.parameters.iter().find(|known| known.name.get_ref() == parameter);
        let read = match known {
            Some(known) => known.values(values.get_ref()),
            None if self.parameters.is_empty() => {
                Err(format!("there is no parameter `{parameter}`: the study has none"))
            }
            None => {
                let have: Vec<String> = names().map(|name| format!("`{name}`")).collect();
                let have = have.join(", ");
                let near = did_you_mean(parameter, names().map(String::as_str));
                Err(format!("there is no parameter `{parameter}`{near}; the study has {have}"))
            }
        };
        read.map_err(|what| toml_file::refuse(path, values.span(), what))
    }

    /// Reads one of the study's contenders, and refuses it if it names a contract
    /// that the study doesn't have.
    fn read_contender(&self, folder: &Path, name: &str) -> Result<Contender, toml_file::Unusable> {
        let folder = folder.join(name);
        let mut contender = Contender::read(&folder, name)?;
        let path = folder.join(contender::FILE);
        for (parameter, values) in &contender.file.only {
            let values = self.values_of(parameter, values, &path)?;
            contender.only.insert(parameter.clone(), values);
        }
        let lighter = contender.lighter_contract().and_then(|name| self.lighter.get(name));
        let contract = lighter.unwrap_or(&self.contract).get_ref();
        let what = kinds::of(self.kind()).contender_complaint(&contender, contract);
        if let Some(what) = what {
            return Err(toml_file::refuse(&path, 0..0, what));
        }
        match &contender.file.contract {
            Some(contract) if !self.lighter.contains_key(contract.get_ref()) => {
                let have = if self.lighter.is_empty() {
                    "the study has one contract, which needs no name".into()
                } else {
                    let names: Vec<_> =
                        self.lighter.keys().map(|name| format!("`{name}`")).collect();
                    format!("allowed: {}, or none for the full one", names.join(" and "))
                };
                let name = contract.get_ref();
                let near = did_you_mean(name, self.lighter.keys().map(String::as_str));
                let what = format!("unknown contract `{name}`{near}; {have}");
                Err(toml_file::refuse(&path, contract.span(), what))
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
        toml_file::check_filled_in(&path)?;
        let contenders = folders_with(&folder, "contender.toml")?
            .iter()
            .map(|contender| Ok(file.read_contender(&folder, contender)?.with_variants()))
            .collect::<Result<Vec<_>, Error>>()?
            .concat();
        if contenders.is_empty() {
            return Err(Error::Empty { study: name.into(), path: folder });
        }
        let study = Study { name: name.into(), folder, file, contenders, client: None };
        study.check_names()?;
        study.check_driver(&path)?;
        study.check_profiles(&path, study.file.driver.span())?;
        study.check_published(&path)?;
        study.check_claims(&path)?;
        Ok(study)
    }

    /// The study with a profile of another file in place of its own.
    ///
    /// # Errors
    /// What its own profiles would be refused for, with the other file's line.
    pub fn with_profile(
        mut self,
        name: &str,
        profile: &Spanned<Profile>,
        path: &Path,
    ) -> Result<Study, toml_file::Unusable> {
        let mut own = profile.get_ref().clone();
        own.declare(self.file.kind(), &self.file.parameters);
        self.file.profile = BTreeMap::from([(name.into(), own)]);
        self.check_profiles(path, profile.span())?;
        Ok(self)
    }

    /// Refuses a folder and a variant of one name.
    fn check_names(&self) -> Result<(), toml_file::Unusable> {
        let mut known = BTreeSet::new();
        for Contender { name, source, .. } in &self.contenders {
            if !known.insert(name) {
                let what = format!("there are two contenders `{name}`: a folder and a variant");
                return Err(toml_file::refuse(&source.join(contender::FILE), 0..0, what));
            }
        }
        Ok(())
    }

    /// Refuses profiles that name what isn't there, or lack what the driver needs: that is
    /// told at this place of the file.
    fn check_profiles(&self, path: &Path, place: Range<usize>) -> Result<(), toml_file::Unusable> {
        for (name, profile) in &self.file.profile {
            if let Some(what) = kinds::of(self.file.kind()).profile_complaint(profile) {
                let what = format!("the profile `{name}`: {what}");
                return Err(toml_file::refuse(path, place, what));
            }
            if !profile.scripts.is_empty() && !self.file.kind().passes_on() {
                let what = format!(
                    "`scripts` of the profile `{name}`: they are for robots, by a driver with `{}`",
                    kinds::of(Kind::Rooms).key()
                );
                return Err(toml_file::refuse(path, place, what));
            }
            self.check_settings(path, place.clone(), profile)?;
            if let Some(fixed_rate) = &profile.fixed_rate {
                self.check_base(path, fixed_rate)?;
            }
            if profile.settings.is_empty() && profile.fixed_rate.is_none() {
                let what = format!(
                    "`settings` of the profile `{name}`: this has to be a list of one or more \
                     settings"
                );
                return Err(toml_file::refuse(path, place, what));
            }
            let closed_loops = profile.free_settings();
            let mut bases = Vec::new();
            if let Some(equal_rate) = &profile.equal_rate {
                bases.push((equal_rate.span(), self.check_base(path, equal_rate)?));
            }
            if let Some(curve) = &profile.curve {
                bases.push((curve.span(), self.check_base(path, curve)?));
            }
            for (span, base) in bases {
                if !closed_loops.contains(&base) {
                    let mut same = vec!["cores".to_string()];
                    same.extend(self.file.kind().dimensions().into_iter().map(|it| it.id));
                    let last = same.pop().unwrap_or_default();
                    let what = format!(
                        "its maxima come from the closed loop of the same {} and {last}, which \
                         the profile `{name}` lacks among its `settings`",
                        same.join(", ")
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

    /// The closed loop that a table is about. Refuses a table that is for another kind of study.
    fn check_base<T: OwnKeys>(
        &self,
        path: &Path,
        table: &Spanned<Valued<T>>,
    ) -> Result<Setting, toml_file::Unusable> {
        let kind = self.file.kind();
        let what = if !kind.is_asked() {
            "it is the load generator's: contenders that drive themselves choose their own pace"
                .into()
        } else if !T::KINDS.contains(&kind) {
            let keys: Vec<String> =
                T::KINDS.iter().map(|kind| format!("`{}`", kinds::of(*kind).key())).collect();
            format!("it is for a driver with {}", keys.join(" or "))
        } else if let Some(what) = self.complaint(table.get_ref()) {
            what
        } else if let Some(lacking) = table.get_ref().lacks(kind) {
            format!("missing key `{lacking}`; docs/study-toml.md explains each")
        } else {
            return Ok(table.get_ref().closed_loop());
        };
        Err(toml_file::refuse(path, table.span(), what))
    }

    /// What speaks against the values that a table has of dimensions.
    fn complaint<T: OwnKeys>(&self, table: &Valued<T>) -> Option<String> {
        if let Some((id, of)) = table.foreign(self.file.kind()) {
            return Some(format!("`{id}` is for a driver with `{}`", kinds::of(of).key()));
        }
        let known = &self.file.asks;
        let is_unknown = |name: &&String| !known.contains_key(*name);
        let unknown = table.names().find(is_unknown)?;
        let have: Vec<String> = known.keys().map(|name| format!("`{name}`")).collect();
        let have = if have.is_empty() { "none".into() } else { have.join(", ") };
        Some(format!("there is no `[asks.{unknown}]`; the study has {have}"))
    }

    /// Refuses settings that aren't of this study's dimensions.
    fn check_settings(
        &self,
        path: &Path,
        place: Range<usize>,
        profile: &Profile,
    ) -> Result<(), toml_file::Unusable> {
        let kind = self.file.kind();
        for settings in &profile.settings {
            let given = &settings.own.parameters;
            for (name, values) in given {
                self.file.values_of(name, values, path)?;
            }
            let mut parameters = self.file.parameters.iter().map(|it| &**it.name.get_ref());
            let lacks = || parameters.find(|name| !given.contains_key(*name));
            let missing = |name| {
                format!("missing key `{name}` in the `settings` of a study with this driver")
            };
            let foreign = settings.foreign(kind).filter(|_| !kind.is_asked());
            let what = match foreign {
                Some((id, _)) => Some(format!(
                    "`{id}` is the load generator's: settings of contenders that drive themselves \
                     have `parameters`"
                )),
                None => self
                    .complaint(settings)
                    .or_else(|| settings.lacks(kind).or_else(lacks).map(missing)),
            };
            if let Some(what) = what {
                return Err(toml_file::refuse(path, place, what));
            }
        }
        Ok(())
    }

    /// Refuses a driver that lacks what it needs, and contracts that it can't ask.
    fn check_driver(&self, path: &Path) -> Result<(), toml_file::Unusable> {
        let StudyFile { driver, contract, lighter, parameters, told, .. } = &self.file;
        let kind = kinds::of(self.file.kind());
        let of_driver = driver.get_ref().complaint().map(String::from);
        if let Some(what) = of_driver.or_else(|| kind.complaint(&self.file)) {
            return Err(toml_file::refuse(path, driver.span(), what));
        }
        for ToldFigure { id, .. } in told {
            if self.file.figures().iter().filter(|figure| figure.id == *id).count() > 1 {
                let what = format!("there is a figure `{id}` already");
                return Err(toml_file::refuse(path, driver.span(), what));
            }
        }
        for parameter in parameters {
            if let Some(what) = parameter.complaint() {
                return Err(toml_file::refuse(path, parameter.name.span(), what.into()));
            }
        }
        for contract in [contract].into_iter().chain(lighter.values()) {
            if let Some(what) = kind.contract_complaint(contract.get_ref(), &self.file) {
                return Err(toml_file::refuse(path, contract.span(), what));
            }
        }
        Ok(())
    }

    /// Refuses published figures that are set beside a contender that isn't there.
    fn check_published(&self, path: &Path) -> Result<(), toml_file::Unusable> {
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

    /// Refuses claims of contenders or settings that aren't there, and those that none can hold.
    fn check_claims(&self, path: &Path) -> Result<(), toml_file::Unusable> {
        for claim in &self.file.claims {
            for name in [&claim.contender].into_iter().chain(&claim.against) {
                if self.contenders.iter().all(|it| it.name != *name.get_ref()) {
                    return Err(toml_file::refuse(path, name.span(), self.lacks(name.get_ref())));
                }
            }
            let own = claim.contender.get_ref();
            if let Some(name) = claim.against.iter().find(|it| it.get_ref() == own) {
                let why =
                    format!("`{own}` can't be ahead of itself; name the contenders that it leads");
                return Err(toml_file::refuse(path, name.span(), why));
            }
            if let Some(lead) = claim.lead.as_ref().filter(|it| !is_lead(*it.get_ref())) {
                let why = format!(
                    "a lead is how many times as good the contender is: a number above 1, of \
                     {LEAD_MAX} at most"
                );
                return Err(toml_file::refuse(path, lead.span(), why));
            }
            if let Some(id) = &claim.figure {
                self.file.figure_of(id, path)?;
                self.file.check_decides(id, path)?;
            }
            for (parameter, values) in &claim.parameters {
                self.file.values_of(parameter, values, path)?;
            }
        }
        Ok(())
    }

    /// That it has no contender of this name.
    pub fn lacks_contender(&self, name: &str) -> Error {
        let (near, study) = (self.nearest(name), self.name.clone());
        Error::UnknownContender { name: name.into(), near, study, have: self.names() }
    }

    fn lacks(&self, contender: &str) -> String {
        let near = self.nearest(contender);
        format!("there is no contender `{contender}`{near}; the study has {}", self.names())
    }

    fn nearest(&self, contender: &str) -> String {
        did_you_mean(contender, self.contenders.iter().map(|it| it.name.as_str()))
    }

    /// The names of all contenders, as a sentence has them.
    fn names(&self) -> String {
        self.contenders.iter().map(|it| it.name.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// Keeps only the contenders named; all, if none is.
    pub fn only(mut self, names: &[String]) -> Result<Study, Error> {
        for name in names {
            if !self.contenders.iter().any(|contender| contender.name == *name) {
                return Err(self.lacks_contender(name));
            }
        }
        if !names.is_empty() {
            self.contenders.retain(|contender| names.contains(&contender.name));
        }
        Ok(self)
    }

    /// What its requests take from the environment, and isn't set there, in a sentence.
    pub fn missing_variable(&self) -> Option<String> {
        let contracts = self.contenders.iter().map(|contender| self.contract_of(contender));
        contracts.filter_map(|it| it.http()?.with_environment().err()).next()
    }

    /// What puts work on one of its contenders, and what that has to do.
    pub fn driver_and_contract(
        &self,
        contender: &Contender,
    ) -> (Box<dyn drive::WorkDriver>, Box<dyn Contract>) {
        let kind = kinds::of(self.file.kind());
        (kind.driver(self, contender), kind.contract(self, contender))
    }

    /// What a contender of this study must do: the study's contract, or the
    /// lighter one that it names.
    pub fn contract_of(&self, contender: &Contender) -> &ContractFile {
        let lighter = contender.lighter_contract().and_then(|name| self.file.lighter.get(name));
        lighter.unwrap_or(&self.file.contract).get_ref()
    }

    /// A claim as a run's record has it. Its values were read with the file.
    fn claim(&self, claim: &ClaimFile) -> Claim {
        let values = claim.parameters.iter().filter_map(|(name, values)| {
            let parameter = self.file.parameters.iter().find(|it| it.name.get_ref() == name)?;
            Some((name.clone(), parameter.values(values.get_ref()).ok()?))
        });
        Claim {
            says: claim.says.clone(),
            source: claim.source.clone(),
            contender: claim.contender.get_ref().clone(),
            against: claim.against.iter().map(|it| it.get_ref().clone()).collect(),
            figure: self.file.claimed(claim),
            lead: claim.lead.as_ref().map(|it| *it.get_ref()),
            cores: claim.cores,
            values: values.collect(),
        }
    }

    /// The study as a run's record has it.
    pub fn record(&self) -> result::plan::Study {
        result::plan::Study {
            name: self.name.clone(),
            title: self.file.title.clone(),
            question: self.file.question.clone(),
            contract: self.file.contract.get_ref().says.clone(),
            kind: self.file.kind(),
            dimensions: self.file.dimensions(),
            figures: self.file.figures(),
            asks: self.file.contract.get_ref().asks(),
            lighter: self
                .file
                .lighter
                .iter()
                .map(|(name, contract)| LighterContract {
                    name: name.clone(),
                    says: contract.get_ref().says.clone(),
                    asks: contract.get_ref().asks(),
                })
                .collect(),
            published: self.file.published.iter().map(|it| it.row.clone()).collect(),
            claims: self.file.claims.iter().map(|claim| self.claim(claim)).collect(),
            cannot_say: self.file.cannot_say.clone(),
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
