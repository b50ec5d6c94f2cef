//! Makes contenders ready: are their tools there, does their build succeed,
//! which versions are they?

pub mod programs;
mod texts;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use keeper::Order;
use keeper::kept::Kept;
use load::Stop;
use result::plan::Version;

use crate::environment;
use crate::study::contender::{BUILD, Contender, GatewayWire, Placeholders};
use crate::study::digest;

/// The exit code of a build that lacks something which `needs` can't name: a
/// program of a certain age, a feature of the kernel. `EX_UNAVAILABLE` of
/// sysexits.h: "a support program or file does not exist".
const UNAVAILABLE: i32 = 69;
/// Lines of a failed build that are shown.
const LINES: usize = 15;
/// Time for a program to tell its version.
const VERSION_WITHIN: Duration = Duration::from_secs(10);
/// How often an order to stop is looked for.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// How making a contender ready came out.
#[derive(Debug)]
pub enum Prepared {
    /// It can be started; what it told of its versions is in the record.
    Ready(Box<result::plan::Contender>),
    /// What it needs is not all there: what is missing, and what gives it.
    Absent(String),
    /// Its build failed: the sentence and the last lines.
    Failed(String),
    /// Somebody asked to stop.
    Interrupted,
}

/// Makes a contender ready. It may be built already, as another variant of the same folder.
pub fn prepare(contender: &Contender, is_built: bool, stop: &Stop) -> Prepared {
    if let Some(missing) = missing(&contender.file.needs) {
        return Prepared::Absent(missing);
    }
    let handed_on = contender.handed_on().into_iter();
    let not_set: Vec<&str> = handed_on.filter(|name| !environment::is_set(name)).collect();
    if !not_set.is_empty() {
        return Prepared::Absent(environment::not_set(&not_set));
    }
    let placeholders = placeholders(contender);
    if !is_built && let Err(instead) = build(contender, &placeholders, stop) {
        return instead;
    }
    let versions = versions(contender, &placeholders, true);
    Prepared::Ready(Box::new(result::plan::Contender { versions, ..record(contender) }))
}

/// The versions that a contender's tools tell, of one that isn't built those that need no
/// build.
///
/// # Errors
/// What is missing, and what gives it.
pub fn tools(contender: &Contender) -> Result<Vec<Version>, String> {
    match missing(&contender.file.needs) {
        Some(missing) => Err(missing),
        None => Ok(versions(contender, &placeholders(contender), is_built(contender))),
    }
}

/// Whether it was built before, or there is nothing to build.
pub fn is_built(contender: &Contender) -> bool {
    contender.file.build.is_empty() || contender.build_folder().is_dir()
}

fn placeholders(contender: &Contender) -> Placeholders {
    Placeholders {
        source: contender.source.clone(),
        build: contender.build_folder(),
        ..Placeholders::default()
    }
}

/// What its programs say of themselves. Before a build some can't say it.
fn versions(contender: &Contender, placeholders: &Placeholders, is_built: bool) -> Vec<Version> {
    let needs_build = |command: &[String]| command.iter().any(|word| word.contains("$BUILD"));
    let versions = contender.file.versions.iter();
    let asked = versions.filter(|(_, command)| is_built || !needs_build(command));
    let told = asked.filter_map(|(of, command)| {
        let says = match ask(&placeholders.fill_all(command)) {
            Ok(says) => says,
            Err(why) if is_built => format!("unknown: {why}"),
            Err(_) => return None,
        };
        Some(Version { of: of.clone(), says })
    });
    told.collect()
}

/// A contender as a run's record has it, before anything is known of it.
pub fn record(contender: &Contender) -> result::plan::Contender {
    let file = &contender.file;
    result::plan::Contender {
        name: contender.name.clone(),
        title: file.title.clone(),
        language: file.language.clone(),
        tier: file.tier,
        lighter_contract: contender.lighter_contract().map(str::to_string),
        wire: (file.wire != GatewayWire::default()).then(|| file.wire.words().into()),
        remark: file.remark.clone(),
        versions: Vec::new(),
        sources: contender.sources().map(|(name, _)| name.to_string()).collect(),
        source_sha256: source_digest(contender),
        build: Some(file.build.clone()),
        build_files: texts::of_build(contender),
        configuration: texts::of_configuration(contender),
        run: file.run.clone(),
        address: file.address.as_ref().map(|address| address.get_ref().to_string()),
        body_bytes: file.body_bytes.clone(),
        environment: file.environment.clone().into_iter().collect(),
        warmup_s: file.warmup_s,
        absent: None,
    }
}

/// A digest of all that a contender is made from; `None` where it can't be read.
pub fn source_digest(contender: &Contender) -> Option<String> {
    let programs = contender.file.programs.iter().map(|it| it.get_ref().as_path());
    digest::of_folders(&contender.source, contender.sources(), BUILD.as_ref())
        .and_then(|folders| digest::with_programs(folders, programs))
        .ok()
}

/// What is missing of such needs, and what to do about it.
pub fn missing(needs: &BTreeMap<String, String>) -> Option<String> {
    let missing: Vec<_> = needs.iter().filter(|(need, _)| !is_there(need)).collect();
    let names: Vec<_> = missing.iter().map(|(need, _)| format!("`{need}`")).collect();
    (!missing.is_empty()).then(|| {
        format!(
            "{} {} not installed; on Debian: apt-get install {}",
            names.join(" and "),
            if names.len() == 1 { "is" } else { "are" },
            packages(missing.iter().map(|(_, package)| package.as_str()))
        )
    })
}

/// The words of these, each once: a need may take several packages, and several needs one.
fn packages<'a>(of_needs: impl Iterator<Item = &'a str>) -> String {
    let mut packages: Vec<&str> = Vec::new();
    for package in of_needs.flat_map(str::split_whitespace) {
        if !packages.contains(&package) {
            packages.push(package);
        }
    }
    packages.join(" ")
}

/// Whether a program is there, or, where the need is a whole path, that file.
fn is_there(need: &str) -> bool {
    if need.starts_with('/') { Path::new(need).is_file() } else { programs::find(need).is_some() }
}

/// Builds it, if there is something to build; says what became of it instead, if
/// it isn't ready now.
fn build(contender: &Contender, placeholders: &Placeholders, stop: &Stop) -> Result<(), Prepared> {
    let Some(program) = contender.file.build.first() else { return Ok(()) };
    let folder = &placeholders.build;
    fs::create_dir_all(folder).map_err(|error| {
        Prepared::Failed(format!("couldn't make the folder {}: {error}", folder.display()))
    })?;
    let command = placeholders.fill_all(&contender.file.build);
    let build = Kept::start(&programs::tool(command, contender.source.clone()))
        .map_err(|why| Prepared::Failed(why.into()))?;
    let exit = loop {
        let ended = build.wait(LOOK_EVERY);
        // First, since what interrupts bakeoff may end the build as well, which then
        // hasn't failed.
        if stop.asked() {
            return Err(Prepared::Interrupted);
        }
        if let Some(exit) = ended {
            break exit;
        }
    };
    let lines = build.stop(LINES).map_err(Prepared::Failed)?.last_lines;
    match (exit.code, lines.last()) {
        (Some(0), _) => Ok(()),
        (Some(UNAVAILABLE), Some(why)) => Err(Prepared::Absent(why.clone())),
        (_, last) => {
            let said = match last {
                None => "it said nothing".into(),
                Some(_) => format!("its last lines:\n    {}", lines.join("\n    ")),
            };
            let how = exit.how;
            let why = format!("its build with `{program}` failed ({how}); {said}");
            Err(Prepared::Failed(environment::hidden(&why)))
        }
    }
}

/// What a program says when it is asked for its version: the line that has one. What one
/// says that fails is a complaint, and no version.
fn ask(command: &[String]) -> Result<String, String> {
    let program = Kept::start(&Order::tool(command.to_vec(), programs::environment()))?;
    let asked = Instant::now();
    let exit = program.wait(VERSION_WITHIN);
    let lines = program.stop(usize::MAX)?.last_lines;
    match exit {
        None => Err(format!("no word for {} s", asked.elapsed().as_secs())),
        Some(exit) if exit.code != Some(0) => Err(format!("it ended with {}", exit.how)),
        Some(_) => version_line(lines).ok_or("it said nothing".into()),
    }
}

/// Of what a program printed, the line with its version: the first with a number such as
/// `1.2`, or the first of all. A warning is none, whatever numbers it has.
fn version_line(lines: Vec<String>) -> Option<String> {
    let is_warning = |line: &String| line.to_ascii_lowercase().contains("warning");
    let has_version = |line: &String| {
        let is_digit = |byte: u8| byte.is_ascii_digit();
        line.as_bytes().windows(3).any(|it| is_digit(it[0]) && it[1] == b'.' && is_digit(it[2]))
    };
    let mut told = lines.into_iter().filter(|line| !is_warning(line)).collect::<Vec<_>>();
    let at = told.iter().position(has_version).unwrap_or_default();
    (at < told.len()).then(|| told.swap_remove(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_is_no_version() {
        let of = |lines: &[&str]| version_line(lines.iter().map(|it| it.to_string()).collect());
        let warned = ["kj/disk.c++:1703: warning: PWD is not /usr/lib/x1.2", "Cap'n Proto 0.9.2"];
        assert_eq!(of(&warned).as_deref(), Some("Cap'n Proto 0.9.2"));
        assert_eq!(of(&["Picked up _JAVA_OPTIONS", "java 17.0.1"]).as_deref(), Some("java 17.0.1"));
        assert_eq!(
            of(&["openjdk 21 2023-09-19", "Runtime"]).as_deref(),
            Some("openjdk 21 2023-09-19")
        );
        assert_eq!(of(&["warning: 1.2"]), None);
    }

    #[test]
    fn a_package_that_several_needs_take_is_installed_once() {
        assert_eq!(packages(["x", "y", "x"].into_iter()), "x y");
        assert_eq!(packages(["x y", "z", "y z"].into_iter()), "x y z");
    }
}
