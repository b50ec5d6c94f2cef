//! A mistake, as its file has it (`mistakes/<name>.toml`).

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

use judge::checks::CHECKS;
use lab::study::toml_file;
use lab::study::{Asks, Profile};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use toml::Spanned;

/// A mistake.
#[derive(Debug)]
pub struct Mistake {
    /// Its file's name, without the end.
    pub name: String,
    /// A folder beside the file: what lies in it is put into the sabotaged
    /// contender's own.
    pub folder: PathBuf,
    /// What its file says.
    pub file: MistakeFile,
}

/// The content of a file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MistakeFile {
    /// Its number in the list of known mistakes. Variants have the same.
    pub number: u32,
    /// A short title for the table.
    pub title: String,
    /// Who made it first, or where it is made today.
    pub made_by: String,
    /// The story, for readers.
    pub story: Story,
    /// How it is made.
    pub set_up: SetUp,
}

/// A mistake told in a few sentences.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Story {
    /// What was done.
    pub done: String,
    /// What the figure would have said.
    pub said: String,
    /// What gave it away.
    pub gave_away: String,
}

/// How a mistake is made.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetUp {
    /// The study whose contenders and contract are taken.
    pub study: String,
    /// Contenders to measure a second time, as others of the same kind.
    #[serde(default)]
    pub again: Vec<String>,
    /// What stores are asked beside what the study has, by the word that settings have for it.
    #[serde(default)]
    pub asks: BTreeMap<String, Asks>,
    /// What is measured without the mistake, as a study's profile has it. The
    /// contender that it names first is the one whose figure is looked at.
    pub run: Spanned<Profile>,
    /// Changes to files of the contender that is named first, in both runs: where
    /// none of the study's shows the mistake as it is.
    #[serde(default)]
    pub changes: Vec<Change>,
    /// What is different with the mistake.
    #[serde(default)]
    pub sabotage: Sabotage,
    /// What is expected of it.
    pub expect: Expect,
}

impl SetUp {
    /// What is measured with the mistake.
    pub fn sabotaged_run(&self) -> &Spanned<Profile> {
        self.sabotage.run.as_ref().unwrap_or(&self.run)
    }
}

/// What is different with the mistake. Where nothing is, it lies in how figures
/// are read, and both runs are one.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sabotage {
    /// What is measured instead.
    pub run: Option<Spanned<Profile>>,
    /// Changes to files of the contender that is named first.
    #[serde(default)]
    pub changes: Vec<Change>,
    /// Whether trials are made in the same order in every block.
    #[serde(default)]
    pub fixed_order: bool,
    /// All of bakeoff, contender and client, is bound to so many processors.
    pub cpus: Option<usize>,
    /// All of bakeoff has a CPU quota of so many cores.
    pub cpu_quota: Option<f64>,
    /// In the turns of the contender that is named first, other programs keep
    /// processors busy.
    pub neighbours: Option<Neighbours>,
    /// Connections may begin at these ports only: the first and the last.
    pub client_ports: Option<(u16, u16)>,
    /// Whether what trials write lies on a file system in memory.
    #[serde(default)]
    pub data_in_memory: bool,
    /// Whether the machine has no loop devices, so that it can't be stopped for a store.
    #[serde(default)]
    pub no_loop_devices: bool,
    /// A program of the mistake's folder that asks a store in the place of bakeoff's client.
    pub client: Option<Spanned<String>>,
    /// Programs and libraries that it takes, as a contender names its own.
    #[serde(default)]
    pub needs: BTreeMap<String, String>,
}

impl Sabotage {
    /// Whether nothing is done to the run.
    pub fn is_nothing(&self) -> bool {
        let Sabotage { run, changes, client, .. } = self;
        let in_conditions = self.fixed_order
            || self.cpus.is_some()
            || self.cpu_quota.is_some()
            || self.neighbours.is_some()
            || self.client_ports.is_some()
            || self.data_in_memory
            || self.no_loop_devices;
        run.is_none() && changes.is_empty() && client.is_none() && !in_conditions
    }
}

/// Programs that do nothing but keep processors busy.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Neighbours {
    /// Whose processors.
    pub of: NeighboursOf,
    /// How many on each: beside one, half of a processor is left, beside three a
    /// quarter.
    #[serde(deserialize_with = "programs")]
    pub programs: u32,
}

/// Beside so many, hardly anything of a processor is left; more only fill the machine.
const PROGRAMS_MAX: u32 = 16;

fn programs<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let programs = u32::deserialize(deserializer)?;
    if (1..=PROGRAMS_MAX).contains(&programs) {
        Ok(programs)
    } else {
        Err(D::Error::custom(format!("this has to be a number from 1 to {PROGRAMS_MAX}")))
    }
}

/// Whose processors are kept busy.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NeighboursOf {
    /// The contender's.
    Contender,
    /// The client's.
    Client,
}

/// Other words in a contender's file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// The file, in the contender's folder, or in one of its `sources`.
    #[serde(deserialize_with = "file_of_contender")]
    pub file: String,
    /// The words, which have to be there.
    pub from: Spanned<String>,
    /// What stands there instead.
    pub to: String,
}

impl Change {
    /// Whether the file is in a folder beside the contender's.
    pub fn is_outside(&self) -> bool {
        self.is_in(Path::new(".."))
    }

    /// Whether the file is in this folder, as the contender names it.
    pub fn is_in(&self, folder: &Path) -> bool {
        Path::new(&self.file).starts_with(folder)
    }
}

/// A file in a contender's folder, or in one beside it: it is written to.
fn file_of_contender<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let file = String::deserialize(deserializer)?;
    let path = Path::new(&file);
    let own = path.strip_prefix("..").unwrap_or(path);
    let is_within = |part| matches!(part, Component::Normal(_));
    if own.file_name().is_some() && own.components().all(is_within) {
        Ok(file)
    } else {
        Err(D::Error::custom(
            "this has to be a file in the contender's folder, or in one of its `sources`",
        ))
    }
}

/// What is expected of a mistake.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// What catches it.
    pub caught_by: Spanned<CaughtBy>,
    /// The figure that somebody who believes what he sees would print.
    pub naive: Naive,
    /// A check that speaks against the set-up without the mistake as well, on
    /// machines of fewer than four cores, and is right there.
    pub also_on_few_cores: Option<Spanned<String>>,
}

/// What catches a mistake.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CaughtBy {
    /// A check, by its id.
    Check(String),
    /// The ranks: what is equal ties.
    Tie,
    /// The percentile is withheld.
    Withheld,
    /// What stores survive: those of another class aren't ranked beside it.
    Class,
    /// What stores survive: it loses more than it promises.
    Promise,
}

impl CaughtBy {
    /// For people.
    pub fn word(&self) -> &str {
        match self {
            CaughtBy::Check(id) => id,
            CaughtBy::Tie => "tie",
            CaughtBy::Withheld => "withheld",
            CaughtBy::Class => "class",
            CaughtBy::Promise => "promise",
        }
    }
}

/// How the naive figure is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Naive {
    /// Units of work a second: answers, whatever they hold, and what a program counts.
    Rate,
    /// The same by the program's own clock.
    RateByOwnClock,
    /// The 99th percentile of service time, of however many samples.
    P99,
    /// The same, of a server that stalls: the true one counts waits by the time
    /// that they took.
    P99OfStalls,
    /// The 99th percentile of what one member of a room waits for a message, as the sender for its
    /// own: the true one is until all members have it.
    P99OfOne,
    /// Deliveries a second, as whoever says the messages counts them: the true ones came.
    RateDue,
    /// The longest time to connect.
    LongestConnect,
    /// Connections established at once.
    Connections,
    /// Who does most, by the median of his trials.
    Winner,
    /// Who does most, by the best of his first three trials.
    BestOfThree,
}

/// Why mistakes couldn't be used.
#[derive(Debug, thiserror::Error)]
pub enum MistakeError {
    /// A folder couldn't be listed.
    #[error("couldn't list the mistakes in {folder}: {source}; start bakeoff where the folder \
        `mistakes` is, or give --mistakes", folder = folder.display())]
    List {
        /// The folder.
        folder: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// There is no such mistake.
    #[error("there is no mistake `{name}`; there are {have}")]
    Unknown {
        /// The name asked for.
        name: String,
        /// Those that there are.
        have: String,
    },
    /// There is none at all.
    #[error("there is no mistake in {folder}: it has no toml file", folder = folder.display())]
    Empty {
        /// The folder.
        folder: PathBuf,
    },
    /// A file is not as it has to be.
    #[error(transparent)]
    File(#[from] toml_file::Unusable),
}

/// Reads all mistakes of a folder, in the order of their numbers.
///
/// # Errors
/// The first file that is not as it has to be, with its line.
pub fn read_all(folder: &Path) -> Result<Vec<Mistake>, MistakeError> {
    let list = |source| MistakeError::List { folder: folder.into(), source };
    let mut mistakes = Vec::new();
    for entry in fs::read_dir(folder).map_err(list)? {
        let path = entry.map_err(list)?.path();
        if path.extension().is_some_and(|end| end == "toml") {
            mistakes.push(read(&path)?);
        }
    }
    if mistakes.is_empty() {
        return Err(MistakeError::Empty { folder: folder.into() });
    }
    mistakes.sort_by(|a, b| (a.file.number, &a.name).cmp(&(b.file.number, &b.name)));
    Ok(mistakes)
}

/// Keeps the mistakes that are named; all, if none is.
///
/// # Errors
/// [`MistakeError::Unknown`].
pub fn only(mut mistakes: Vec<Mistake>, names: &[String]) -> Result<Vec<Mistake>, MistakeError> {
    if let Some(name) = names.iter().find(|&name| mistakes.iter().all(|it| it.name != *name)) {
        let have: Vec<_> = mistakes.iter().map(|it| &*it.name).collect();
        return Err(MistakeError::Unknown { name: name.clone(), have: have.join(", ") });
    }
    if !names.is_empty() {
        mistakes.retain(|it| names.contains(&it.name));
    }
    Ok(mistakes)
}

/// Reads one mistake.
///
/// # Errors
/// A complaint with file and line.
pub fn read(path: &Path) -> Result<Mistake, toml_file::Unusable> {
    let file: MistakeFile = toml_file::read(path, "docs/mistake-toml.md")?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    check(path, &file.set_up)?;
    Ok(Mistake { name, folder: path.with_extension(""), file })
}

/// Refuses what can't be made.
fn check(path: &Path, set_up: &SetUp) -> Result<(), toml_file::Unusable> {
    let is_check = |id: &str| CHECKS.iter().any(|check| check.id == id);
    let unknown = |id: &str| format!("there is no check `{id}`; docs/checks has a page for each");
    let expected = &set_up.expect.caught_by;
    if let CaughtBy::Check(id) = expected.get_ref()
        && !is_check(id)
    {
        return Err(toml_file::refuse(path, expected.span(), unknown(id)));
    }
    if let Some(id) = &set_up.expect.also_on_few_cores
        && !is_check(id.get_ref())
    {
        return Err(toml_file::refuse(path, id.span(), unknown(id.get_ref())));
    }
    let nobody = |run: &&Spanned<Profile>| run.get_ref().contenders.is_empty();
    match [Some(&set_up.run), set_up.sabotage.run.as_ref()].into_iter().flatten().find(nobody) {
        None => Ok(()),
        Some(run) => {
            let what =
                "`contenders` has to be there: its first is the one that the mistake is made with";
            Err(toml_file::refuse(path, run.span(), what.into()))
        }
    }
}
