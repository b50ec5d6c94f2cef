//! A contender: one program to compare (`studies/<study>/<contender>/`).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use load::plan::keys::{Dialect, Resp};
use load::plan::rooms::{Qos, Wire};
use result::plan::{BodyBytes, Setting, Tier, Value};
pub use result::scripts::SlowReader;
use serde::{Deserialize, Serialize};
use toml::Spanned;

use crate::study::limits;
use crate::study::near::did_you_mean;
use crate::study::toml_file;

/// The folder of a contender that its build puts things into; no source, wherever it lies.
pub const BUILD: &str = "build";
/// What a contender says of itself, in its folder.
pub const FILE: &str = "contender.toml";

/// The word of a command that a variant's arguments take the place of.
const VARIANT: &str = "$VARIANT";

/// What stands for something else behind a `$`.
const PLACEHOLDERS: [&str; 7] = ["SOURCE", "BUILD", "DIR", "HOST", "PORT", "CORES", "VARIANT"];

/// Where its keys are explained.
const PAGE: &str = "docs/contenders.md";

/// A contender as its folder has it.
#[derive(Debug, Clone)]
pub struct Contender {
    /// Its folder's name.
    pub name: String,
    /// Its folder.
    pub source: PathBuf,
    /// What its file says; of a variant, with what is other there.
    pub file: ContenderFile,
    /// The values of the study's parameters that it can be given; any of those that aren't
    /// named.
    pub only: BTreeMap<String, Vec<Value>>,
}

/// The content of `contender.toml`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContenderFile {
    /// A short title for tables.
    pub title: String,
    /// The language that its author would name.
    pub language: String,
    /// How it was made; `None` of a command that nobody wrote a contender for.
    pub tier: Option<Tier>,
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
    /// Folders beside its own that it is built or run from as well: `../NAME`.
    #[serde(default)]
    pub sources: Vec<Spanned<String>>,
    /// Files that lie elsewhere and that it is run from as well, by their whole paths.
    #[serde(default)]
    pub programs: Vec<Spanned<PathBuf>>,
    /// Files of its folder that are copied into each trial's own folder, with
    /// their placeholders filled in.
    #[serde(default, deserialize_with = "limits::file_names")]
    pub files: Vec<String>,
    /// The command that makes it in its folder, where there is something to make.
    #[serde(default)]
    pub build: Vec<String>,
    /// The command that starts it, and stays in the foreground. None of one that runs already.
    #[serde(default, deserialize_with = "limits::command")]
    pub run: Vec<String>,
    /// The folder that all its trials are started in, by its whole path, in place of the trial's
    /// own.
    pub folder: Option<Spanned<PathBuf>>,
    /// Where it listens whatever it is told: one that ignores `PORT`, or one that runs already.
    pub address: Option<Spanned<SocketAddr>>,
    /// The IP address that it listens on at its port, where that isn't 127.0.0.1.
    pub host: Option<IpAddr>,
    /// Bytes of the body of its right answer, where the contract names no text that is in it.
    #[serde(default, deserialize_with = "limits::body_bytes")]
    pub body_bytes: Option<BodyBytes>,
    /// Settings beside the command line. `{env:NAME}` in a value stands for a variable of
    /// bakeoff's environment, which is handed on.
    #[serde(default, deserialize_with = "limits::environment")]
    pub environment: BTreeMap<String, String>,
    /// The values of the study's parameters that it can be given, where it can't be given all.
    #[serde(default)]
    pub only: BTreeMap<String, Spanned<toml::Value>>,
    /// The same program with other flags, each a contender of its own.
    #[serde(default)]
    pub variant: BTreeMap<Spanned<String>, Variant>,
    /// What a store is spoken with.
    pub speaks: Option<Speaks>,
    /// What a gateway is spoken with.
    #[serde(default)]
    pub wire: GatewayWire,
    /// What is promised of a store's writes, or of a gateway's messages and slow members.
    pub promises: Option<Promises>,
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

/// What a store is spoken with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Speaks {
    /// What Redis and Valkey speak: RESP.
    Redis,
    /// memcached's text protocol.
    Memcached,
}

impl Speaks {
    /// For people.
    pub fn words(self) -> &'static str {
        match self {
            Speaks::Redis => "as Redis does (RESP)",
            Speaks::Memcached => "memcached's text protocol",
        }
    }

    /// The same, as the load generator has it.
    pub fn dialect(self) -> Dialect {
        match self {
            Speaks::Redis => Dialect::Resp(Resp::default()),
            Speaks::Memcached => Dialect::MemcachedText,
        }
    }
}

/// What a gateway is spoken with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GatewayWire {
    /// Frames, which the gateways of a study have whose authors wrote them for it.
    #[default]
    Frames,
    /// MQTT 3.1.1 with QoS 0.
    Mqtt,
    /// MQTT 3.1.1 with QoS 1.
    MqttQos1,
    /// NATS.
    Nats,
    /// Publish and subscribe of RESP3.
    Resp3,
}

impl GatewayWire {
    /// For people.
    pub fn words(self) -> &'static str {
        match self {
            GatewayWire::Frames => "frames",
            GatewayWire::Mqtt => "MQTT 3.1.1, QoS 0",
            GatewayWire::MqttQos1 => "MQTT 3.1.1, QoS 1",
            GatewayWire::Nats => "NATS",
            GatewayWire::Resp3 => "RESP3",
        }
    }

    /// The same, as the load generator has it.
    pub fn wire(self) -> Wire {
        match self {
            GatewayWire::Frames => Wire::Frames,
            GatewayWire::Mqtt => Wire::Mqtt { qos: Qos::AtMostOnce },
            GatewayWire::MqttQos1 => Wire::Mqtt { qos: Qos::AtLeastOnce },
            GatewayWire::Nats => Wire::Nats,
            GatewayWire::Resp3 => Wire::Resp,
        }
    }

    /// The server at this address, as `bakeoff load` has it.
    pub fn url(self, address: SocketAddr) -> String {
        match self {
            GatewayWire::Frames => format!("frames://{address}"),
            GatewayWire::Mqtt | GatewayWire::MqttQos1 => format!("mqtt://{address}"),
            GatewayWire::Nats => format!("nats://{address}"),
            GatewayWire::Resp3 => format!("redis://{address}?rooms"),
        }
    }
}

/// What a contender's documentation or source says that it does where something goes wrong. Where
/// it says nothing, a store promises nothing, and a gateway that each message comes once.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Promises {
    /// Seconds of acknowledged writes that a store may lose where its process dies.
    #[serde(default, deserialize_with = "limits::lost_s")]
    pub process_s: Option<f64>,
    /// The same where its machine stops, and the disk keeps what it was told to.
    #[serde(default, deserialize_with = "limits::lost_s")]
    pub machine_s: Option<f64>,
    /// The same where the power goes, and the disk loses its own cache.
    #[serde(default, deserialize_with = "limits::lost_s")]
    pub power_s: Option<f64>,
    /// How often a gateway's message comes to a member of its room.
    pub delivery: Option<PromisedDelivery>,
    /// What a gateway does with a member of a room that reads more slowly than the others speak.
    pub slow_reader: Option<SlowReader>,
    /// Where that is written.
    #[serde(deserialize_with = "limits::phrase")]
    pub source: String,
}

/// How often a gateway's message comes to a member of its room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromisedDelivery {
    /// Once, or not at all.
    AtMostOnce,
}

impl Promises {
    /// Whether a gateway may lose messages.
    pub fn may_lose(&self) -> bool {
        self.delivery == Some(PromisedDelivery::AtMostOnce)
    }
}

/// The same program with other flags.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// What stands behind the contender's title in tables.
    #[serde(deserialize_with = "limits::phrase")]
    pub title: String,
    /// What stands for [`VARIANT`] in its command.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// Settings beside the contender's own, or instead of them.
    #[serde(default, deserialize_with = "limits::environment")]
    pub environment: BTreeMap<String, String>,
    /// What a reader of its figures has to know of it, in one sentence.
    #[serde(default, deserialize_with = "limits::remark")]
    pub remark: Option<String>,
    /// What it is spoken with, where that is another wire.
    pub wire: Option<GatewayWire>,
    /// What is promised with these flags; nothing, if it isn't said here.
    pub promises: Option<Promises>,
}

fn ready_within_s() -> f64 {
    30.0
}

/// The same file once more: each text in which placeholders are filled in, with its place.
#[derive(Debug, Deserialize)]
struct Words {
    #[serde(default)]
    files: Vec<Spanned<String>>,
    #[serde(default)]
    build: Vec<Spanned<String>>,
    #[serde(default)]
    run: Vec<Spanned<String>>,
    #[serde(default, deserialize_with = "limits::environment")]
    environment: BTreeMap<String, Spanned<String>>,
    #[serde(default)]
    versions: BTreeMap<String, Vec<Spanned<String>>>,
    #[serde(default)]
    variant: BTreeMap<String, VariantWords>,
}

impl Words {
    /// All but the names of files.
    fn all(&self) -> impl Iterator<Item = &Spanned<String>> {
        let commands = self.build.iter().chain(&self.run);
        let commands = commands.chain(self.versions.values().flatten());
        let variants = self.variant.values();
        let of_variants =
            variants.flat_map(|it| it.arguments.iter().chain(it.environment.values()));
        commands.chain(self.environment.values()).chain(of_variants)
    }

    /// Whether it is a variable of the contender's own.
    fn sets(&self, name: &str) -> bool {
        let variants = self.variant.values().map(|it| &it.environment);
        [&self.environment].into_iter().chain(variants).any(|it| it.contains_key(name))
    }
}

/// Those of a variant.
#[derive(Debug, Deserialize)]
struct VariantWords {
    #[serde(default)]
    arguments: Vec<Spanned<String>>,
    #[serde(default, deserialize_with = "limits::environment")]
    environment: BTreeMap<String, Spanned<String>>,
}

impl Contender {
    /// The folder that a contender's build puts things into.
    pub fn build_folder(&self) -> PathBuf {
        self.source.join(BUILD)
    }

    /// Reads a contender from its folder.
    pub fn read(folder: &Path, name: &str) -> Result<Contender, toml_file::Unusable> {
        let path = folder.join(FILE);
        let file = toml_file::read(&path, PAGE)?;
        // Its programs are started elsewhere, so a relative path would mislead them.
        let source = folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf());
        let contender = Contender { name: name.into(), source, file, only: BTreeMap::new() };
        toml_file::check_filled_in(&path)?;
        contender.check_start(&path)?;
        contender.check_sources(&path)?;
        contender.check_programs(&path)?;
        let words = toml_file::read(&path, PAGE)?;
        contender.check_files(&words, &path)?;
        contender.check_placeholders(&words, &path)?;
        contender.check_paths(&words, &path)?;
        contender.check_variants(&path)?;
        Ok(contender)
    }

    /// Whether somebody else started it, so that it runs before a trial and after it.
    pub fn runs_already(&self) -> bool {
        self.file.run.is_empty()
    }

    /// Refuses one of which nobody knows how to start it or where it is.
    fn check_start(&self, path: &Path) -> Result<(), toml_file::Unusable> {
        match (self.runs_already(), &self.file.address) {
            (true, None) => {
                let what = "missing key `run`, or `address` of a server that runs already";
                Err(toml_file::refuse(path, 0..0, what.into()))
            }
            (true, Some(address)) if !self.file.build.is_empty() => {
                let what = "a server that runs already isn't built: it has no `build`";
                Err(toml_file::refuse(path, address.span(), what.into()))
            }
            _ => Ok(()),
        }
    }

    /// The contender as its file has it, and each of its variants.
    pub fn with_variants(self) -> Vec<Contender> {
        let variants = self.file.variant.iter().map(|(name, variant)| {
            let own = self.with_arguments(&variant.arguments);
            let mut file = ContenderFile {
                title: format!("{}, {}", own.title, variant.title),
                remark: variant.remark.clone(),
                promises: variant.promises.clone(),
                wire: variant.wire.unwrap_or(own.wire),
                ..own
            };
            file.environment.extend(variant.environment.clone());
            Contender { name: format!("{}-{}", self.name, name.get_ref()), file, ..self.clone() }
        });
        let own = Contender { file: self.with_arguments(&[]), ..self.clone() };
        [own].into_iter().chain(variants).collect()
    }

    /// What its file says, with these in its command for [`VARIANT`].
    fn with_arguments(&self, arguments: &[String]) -> ContenderFile {
        let run =
            self.file.run.iter().flat_map(|word| {
                if word == VARIANT { arguments.to_vec() } else { vec![word.clone()] }
            });
        ContenderFile { run: run.collect(), ..self.file.clone() }
    }

    /// Whether it can do what is asked under a setting.
    pub fn takes(&self, setting: &Setting) -> bool {
        let is_taken = |(parameter, values): (&String, &Vec<Value>)| {
            setting.value(parameter).is_none_or(|value| values.contains(value))
        };
        self.only.iter().all(is_taken)
    }

    /// Refuses variants whose arguments would go nowhere, or whose names can't be folders'.
    fn check_variants(&self, path: &Path) -> Result<(), toml_file::Unusable> {
        for (name, variant) in &self.file.variant {
            let is_name =
                |char: char| char.is_ascii_lowercase() || char.is_ascii_digit() || char == '-';
            let what = if !name.get_ref().chars().all(is_name) {
                "a variant's name is made of lower-case letters, digits and dashes".to_string()
            } else if !variant.arguments.is_empty() && !self.file.run.iter().any(|it| it == VARIANT)
            {
                format!("its arguments go nowhere: `run` has no word `{VARIANT}`")
            } else {
                continue;
            };
            return Err(toml_file::refuse(path, name.span(), what));
        }
        Ok(())
    }

    /// The folders beside its own that it is made from as well, each by the name that its
    /// file has for it.
    pub fn sources(&self) -> impl Iterator<Item = (&str, PathBuf)> {
        let names = self.file.sources.iter().map(|name| name.get_ref().as_str());
        names.map(move |name| (name, self.source.join(name)))
    }

    /// Refuses sources that aren't there, or aren't folders beside its own.
    fn check_sources(&self, path: &Path) -> Result<(), toml_file::Unusable> {
        for source in &self.file.sources {
            let name = source.get_ref();
            let what = if !is_beside(name) {
                format!("`{name}` has to be a folder beside the contender's own, as `../NAME`")
            } else if !self.source.join(name).is_dir() {
                format!("there is no folder `{name}` beside the contender's own")
            } else {
                continue;
            };
            return Err(toml_file::refuse(path, source.span(), what));
        }
        Ok(())
    }

    /// Refuses programs that aren't there, or that another folder would make others of.
    fn check_programs(&self, path: &Path) -> Result<(), toml_file::Unusable> {
        if let Some(folder) = &self.file.folder
            && !(folder.get_ref().is_absolute() && folder.get_ref().is_dir())
        {
            let what = format!(
                "`{}` has to be the whole path of a folder that is there",
                folder.get_ref().display()
            );
            return Err(toml_file::refuse(path, folder.span(), what));
        }
        for program in &self.file.programs {
            let file = program.get_ref();
            let what = if !file.is_absolute() {
                format!("`{}` has to be a whole path, as `/usr/local/bin/NAME`", file.display())
            } else if !file.is_file() {
                format!("there is no file `{}`", file.display())
            } else {
                continue;
            };
            return Err(toml_file::refuse(path, program.span(), what));
        }
        Ok(())
    }

    /// The folders that it is made and run from.
    pub fn folders(&self) -> Vec<PathBuf> {
        let own = [self.source.clone()].into_iter();
        own.chain(self.sources().map(|(_, folder)| folder)).collect()
    }

    /// Refuses files that aren't there.
    fn check_files(&self, words: &Words, path: &Path) -> Result<(), toml_file::Unusable> {
        match words.files.iter().find(|name| !self.source.join(name.get_ref()).is_file()) {
            Some(name) => {
                let what =
                    format!("there is no file `{}` in the contender's folder", name.get_ref());
                Err(toml_file::refuse(path, name.span(), what))
            }
            None => Ok(()),
        }
    }

    /// Refuses what is almost a placeholder: it would reach the program as it stands there. What
    /// has spaces is for a shell, which has variables of its own.
    fn check_placeholders(&self, words: &Words, path: &Path) -> Result<(), toml_file::Unusable> {
        for word in words.all().filter(|it| !it.get_ref().contains(char::is_whitespace)) {
            for name in placeholders_in(word.get_ref()) {
                let near = did_you_mean(name, PLACEHOLDERS);
                let is_known = PLACEHOLDERS.contains(&name) || words.sets(name);
                if !is_known && !near.is_empty() {
                    let near = near.replace("mean `", "mean `$");
                    let what = format!("there is no `${name}`{near}");
                    return Err(toml_file::refuse(path, word.span(), what));
                }
            }
        }
        Ok(())
    }

    /// Refuses paths that lead out of its folder into none of its sources: nobody would
    /// notice a change there.
    fn check_paths(&self, words: &Words, path: &Path) -> Result<(), toml_file::Unusable> {
        let unnoticed = |to: String| {
            format!(
                "`{to}` lies outside of the contender's folder, and in no folder that `sources` \
                 names: a change there would go unnoticed"
            )
        };
        for word in words.all() {
            if let Some((_, to)) = self.stray(word.get_ref()) {
                return Err(toml_file::refuse(path, word.span(), unnoticed(to)));
            }
        }
        for word in &words.build {
            // It is run in the contender's folder. What has spaces is for a shell, which
            // may have gone elsewhere.
            let text = word.get_ref();
            let is_relative = !text.starts_with('/') && !text.contains(char::is_whitespace);
            if let Some(to) = self.undeclared(text).filter(|_| is_relative) {
                return Err(toml_file::refuse(path, word.span(), unnoticed(to)));
            }
        }
        for name in &self.file.files {
            // One that can't be read is told of when it is needed.
            let text = fs::read_to_string(self.source.join(name)).unwrap_or_default();
            if let Some((at, to)) = self.stray(&text) {
                let path = path.with_file_name(name);
                return Err(toml_file::refuse(&path, at..at, unnoticed(to)));
            }
        }
        Ok(())
    }

    /// The first path from `$SOURCE` in a text that leads out of it into none of its
    /// sources: where in the text, and where to.
    fn stray(&self, text: &str) -> Option<(usize, String)> {
        const FROM: &str = "$SOURCE/";
        text.match_indices(FROM).find_map(|(at, _)| {
            let path = text[at + FROM.len()..].split(ends_a_path).next()?;
            Some((at, self.undeclared(path)?))
        })
    }

    /// Where a path from its folder leads, if that is neither in it nor in its sources.
    fn undeclared(&self, path: &str) -> Option<String> {
        let to = out_of_it(path)?;
        let is_in = |source: &Spanned<String>| Path::new(&to).starts_with(source.get_ref());
        let is_named = self.file.sources.iter().any(is_in);
        (!is_named).then_some(to)
    }

    /// The variables that it is handed on from bakeoff's environment, each once.
    pub fn handed_on(&self) -> BTreeSet<&str> {
        let values = self.file.environment.values();
        values.flat_map(|value| load::plan::headers::variables(value)).collect()
    }

    /// The name of the lighter contract that it keeps, if it does.
    pub fn lighter_contract(&self) -> Option<&str> {
        self.file.contract.as_ref().map(|name| name.get_ref().as_str())
    }
}

/// The names in capitals behind a `$` in a text.
fn placeholders_in(text: &str) -> impl Iterator<Item = &str> {
    let names = text.split('$').skip(1).map(|after| {
        let is_of_name = |char: char| char.is_ascii_uppercase() || char == '_';
        after.split(|char| !is_of_name(char)).next().unwrap_or_default()
    });
    names.filter(|name| !name.is_empty())
}

/// Whether a name is that of a folder beside the one that it is used in.
fn is_beside(name: &str) -> bool {
    let name = name.strip_prefix("../").unwrap_or_default();
    !matches!(name, "" | "." | "..") && !name.contains('/')
}

/// Whether this stands between paths, or after one, in a command or a configuration.
fn ends_a_path(char: char) -> bool {
    char.is_whitespace() || ":;,=$\"'`&|<>()".contains(char)
}

/// Where a path from a folder leads, if that is out of it: `../` and what follows.
fn out_of_it(path: &str) -> Option<String> {
    let mut up = 0;
    let mut inside = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                if inside.pop().is_none() {
                    up += 1;
                }
            }
            name => inside.push(name),
        }
    }
    (up > 0).then(|| "../".repeat(up) + &inside.join("/"))
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

    /// What is said against a contender with these lines in its file. Beside it there are
    /// the folder `shared` and the file `file`.
    fn complaint(lines: &str) -> String {
        let study = tempfile::tempdir().unwrap();
        let own = study.path().join("own");
        fs::create_dir(&own).unwrap();
        fs::create_dir(study.path().join("shared")).unwrap();
        fs::write(study.path().join("file"), "").unwrap();
        fs::write(own.join("server.conf"), "port $PORT;\nroot $SOURCE/../shared;\n").unwrap();
        let head = "title = 't'\nlanguage = 'C'\ntier = 'idiomatic'\n";
        fs::write(own.join("contender.toml"), format!("{head}{lines}\n")).unwrap();
        match Contender::read(&own, "own") {
            Ok(_) => "nothing".into(),
            Err(error) => error.to_string().replace(study.path().to_str().unwrap(), "s"),
        }
    }

    #[test]
    fn a_source_that_is_no_folder_beside_its_own_has_its_line() {
        assert_eq!(complaint("run = ['x']\nsources = ['../shared']"), "nothing");
        assert_eq!(
            complaint("run = ['x']\nsources = ['../shared', '../gone']"),
            "s/own/contender.toml:5:25: there is no folder `../gone` beside the contender's own\n  \
             5 | sources = ['../shared', '../gone']\n                              ^"
        );
        assert!(
            complaint("run = ['x']\nprograms = ['/no/such/file']")
                .contains("contender.toml:5:13: there is no file `/no/such/file`")
        );
        assert!(complaint("run = ['x']\nfolder = '/etc/passwd'").contains(
            "contender.toml:5:10: `/etc/passwd` has to be the whole path of a folder that is there"
        ));
        assert!(complaint("run = ['x']\nprograms = ['x']").contains("has to be a whole path"));
        let of_a_file = complaint("run = ['x']\nsources = ['../file']");
        assert!(of_a_file.contains("there is no folder `../file`"), "{of_a_file}");
        for other in ["shared", "../", "../..", "../../x", "../shared/x", "../shared/", "/tmp", ""]
        {
            let said = complaint(&format!("run = ['x']\nsources = ['{other}']"));
            let says = format!(
                "contender.toml:5:12: `{other}` has to be a folder beside the contender's own, as \
                 `../NAME`"
            );
            assert!(said.contains(&says), "{other}: {said}");
        }
    }

    #[test]
    fn what_is_almost_a_placeholder_or_was_left_to_be_filled_in_has_its_line() {
        for (lines, says) in [
            (
                "run = ['$SORCE/x', '$PORT']",
                "contender.toml:4:8: there is no `$SORCE` (did you mean `$SOURCE`?)",
            ),
            ("run = ['x', '--port=$PORTS']", "4:13: there is no `$PORTS` (did you mean `$PORT`?)"),
            (
                "run = ['x']\nenvironment = { N = '$CORE' }",
                "5:21: there is no `$CORE` (did you mean `$CORES`?)",
            ),
            ("run = ['x']\nfiles = ['gone']", "5:10: there is no file `gone` in the contender's"),
            ("run = ['FILL-IN', '--listen']", "4:8: this is still to be filled in"),
            ("run = ['x']\n[needs]\nx = 'FILL IN'", "6:5: this is still to be filled in"),
        ] {
            let said = complaint(lines);
            assert!(said.contains(says), "{lines}: {said}");
        }
        for lines in [
            "run = ['x', '$ORIGIN', '$PATH', '$HOME', '$arg', '${PORT}', '$']",
            "run = ['sh', '-c', 'PORTS=1 x $PORTS']",
            "run = ['x', '$PORTS']\nenvironment = { PORTS = '$PORT' }",
            "run = ['x'] # FILL IN",
            "run = ['x']\nfiles = ['server.conf']\nsources = ['../shared']",
        ] {
            assert_eq!(complaint(lines), "nothing", "{lines}");
        }
    }

    #[test]
    fn a_path_into_a_folder_that_is_not_named_has_its_line() {
        assert_eq!(
            complaint("build = [\n    'sh',\n    '$SOURCE/../shared/build.sh',\n]\nrun = ['x']"),
            "s/own/contender.toml:6:5: `../shared/build.sh` lies outside of the contender's folder, \
             and in no folder that `sources` names: a change there would go unnoticed\n  \
             6 |     '$SOURCE/../shared/build.sh',\n          ^"
        );
        for (lines, place) in [
            (
                "run = ['java', '-cp', 'lib:$SOURCE/../shared:x']",
                "contender.toml:4:23: `../shared`",
            ),
            ("run = ['sh', '-c', 'cd \"$SOURCE/..\"']", "contender.toml:4:20: `../`"),
            ("run = ['x', '$SOURCE/a/../../../b']", "contender.toml:4:13: `../../b`"),
            ("build = ['../shared/x']\nrun = ['x']", "contender.toml:4:10: `../shared/x`"),
            ("run = ['x']\nversions = { x = ['$SOURCE/../shared/x'] }", "contender.toml:5:19: "),
            ("run = ['x']\nenvironment = { X = '$SOURCE/../shared' }", "contender.toml:5:21: "),
            ("run = ['x']\nfiles = ['server.conf']", "s/own/server.conf:2:6: `../shared` lies"),
        ] {
            let said = complaint(lines);
            assert!(said.contains(place), "{lines}: {said}");
            if place.contains("shared") {
                let named = format!("{lines}\nsources = ['../shared']");
                assert_eq!(complaint(&named), "nothing", "{named}");
            }
        }
        for within in [
            "run = ['$SOURCE/a/../b', '$BUILD/../a', '/usr/../bin/x']",
            "build = ['sh', '-c', 'cd $BUILD && cmake ..']\nrun = ['x', '../of the trial']",
        ] {
            assert_eq!(complaint(within), "nothing", "{within}");
        }
    }

    #[test]
    fn what_becomes_of_a_slow_reader_is_one_of_four_words() {
        let of = |word: &str| {
            let text = format!(
                "title = 't'\nlanguage = 'C'\ntier = 'idiomatic'\nrun = ['x']\n\
                 [promises]\nslow_reader = '{word}'\nsource = 's'\n"
            );
            let file: ContenderFile = toml::from_str(&text).map_err(|error| error.to_string())?;
            Ok::<_, String>(file.promises.and_then(|it| it.slow_reader))
        };
        for (word, means) in [
            ("cuts", SlowReader::Cuts),
            ("drops", SlowReader::Drops),
            ("buffers", SlowReader::Buffers),
            ("blocks", SlowReader::Blocks),
        ] {
            assert_eq!(of(word), Ok(Some(means)), "{word}");
        }
        let said = complaint("run = ['x']\n[promises]\nslow_reader = 'waits'\nsource = 's'");
        assert!(said.contains("contender.toml:6:15: unknown value `waits`"), "{said}");
        assert!(said.contains("`cuts`, `drops`, `buffers`, `blocks`"), "{said}");
    }

    #[test]
    fn variables_are_handed_on_that_a_list_or_a_table_names() {
        let of = |environment: &str| {
            let text = format!(
                "title = 't'\nlanguage = 'C'\ntier = 'idiomatic'\nrun = ['x']\n\
                 environment = {environment}\n"
            );
            toml::from_str::<ContenderFile>(&text).map_err(|error| error.to_string())
        };
        let handed_on = |file: ContenderFile| {
            let (name, source) = (String::new(), PathBuf::new());
            let contender = Contender { name, source, file, only: BTreeMap::new() };
            contender.handed_on().into_iter().map(String::from).collect::<Vec<_>>()
        };
        let listed = of("['URL', 'KEY']").unwrap();
        assert_eq!(listed.environment["URL"], "{env:URL}");
        assert_eq!(handed_on(listed), ["KEY", "URL"]);
        assert_eq!(handed_on(of("{ A = 'b', C = 'x {env:D}' }").unwrap()), ["D"]);
        assert!(of("['A=b']").unwrap_err().contains("no name of a variable"));
        assert!(of("'URL'").unwrap_err().contains("a list of names of variables"));
    }
}
