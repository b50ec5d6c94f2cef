//! A whole run: study → contenders made ready → plan → trials → outcomes. Each
//! trial is kept in the run's folder as soon as it is over.

mod bounds;
mod changed;
mod command;
mod events;
pub mod folder;
mod older;
mod shared_folder;
mod spent;
mod time_left;
mod under_way;

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use load::Stop;
use result::durability::Durability;
use result::kind::{Declared, Values};
use result::plan::{ClientHost, Plan, Slot};
use result::{Run, SCHEMA, Spent, State};

use self::changed::{changed, differs, has_figures};
use self::command::command;
pub use self::events::{Early, Ended, Event, RunError, ToMake};
use self::folder::Folder;
use self::time_left::CutsMade;
pub use self::time_left::TimeLeft;
use self::under_way::{UnderWay, missing};
use crate::drive::generator::allow_connections;
use crate::place::client_hosts::{ClientHosts, NoHosts};
use crate::place::{Host, machine};
use crate::plan::pair;
use crate::plan::repeat::take_back_failed;
use crate::plan::write_load::WriteLoad;
use crate::plan::{Choice, Order, plan};
use crate::ready::{Prepared, prepare, record};
use crate::study::contender::Contender;
use crate::study::digest;
use crate::study::near::did_you_mean;
use crate::study::{Profile, Study, StudyFile};

/// The folder of studies, where no other is named.
pub const STUDIES: &str = "studies";

/// What is asked for.
#[derive(Debug, Clone)]
pub struct Options {
    /// The folder of studies.
    pub studies: PathBuf,
    /// The folder of runs.
    pub runs: PathBuf,
    /// The study's name.
    pub study: String,
    /// The profile's name.
    pub profile: String,
    /// These contenders only; those of the profile, if none is named.
    pub only: Vec<String>,
    /// What of the profile.
    pub choice: Choice,
    /// The seed; chosen by chance if there is none.
    pub seed: Option<u64>,
    /// The hosts that the load comes from, and the file that names them; none, where it comes from
    /// this machine.
    pub hosts: Option<(PathBuf, ClientHosts)>,
}

/// The cuts that are due of a store before it is timed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CutsDue {
    /// In each way.
    pub cuts: u32,
    /// What they are drawn from.
    pub seed: u64,
    /// The loads under which it will be timed.
    pub loads: Vec<WriteLoad>,
}

/// Finds out what a store survives. It is made of what lies above the lab.
pub trait Ladder: std::fmt::Debug {
    /// Cuts a store that is ready to be started off so many times in each way, and tells each time
    /// that it did; `None` if it was stopped on the way. What couldn't be checked is told in it.
    fn climb(
        &self,
        store: &Contender,
        host: &dyn Host,
        due: CutsDue,
        stop: &Stop,
        was_cut: &mut dyn FnMut(),
    ) -> Option<Durability>;
}

/// Makes a new run.
///
/// # Errors
/// [`RunError`], if not one trial could be begun.
pub fn new(
    options: &Options,
    ladder: &dyn Ladder,
    stop: &Stop,
    tell: &mut dyn FnMut(Event),
) -> Result<Ended, RunError> {
    let study = Study::read(&options.studies, &options.study)?;
    let profile = profile(&study, &options.profile)?.clone();
    let study = match &options.only[..] {
        [] => study.only(&profile.contender_names())?,
        names => study.only(names)?,
    };
    let seed = options.seed.unwrap_or_else(a_seed);
    let asked = Asked {
        study: &study,
        profile: (&options.profile, &profile),
        choice: &options.choice,
        order: Order::Shuffled,
        seed,
        command: command(options, seed),
        runs: &options.runs,
        keeps_study: false,
        hosts: options.hosts.as_ref().map(|(_, hosts)| hosts),
        ladder,
    };
    of_study(asked, stop, tell)
}

/// A seed by chance: of so many that no program finds it by trying, and none that a reader of JSON
/// rounds.
pub fn a_seed() -> u64 {
    fastrand::u64(1..1 << 53)
}

/// What is asked for, of a study that was read.
#[derive(Debug, Clone)]
pub struct Asked<'a> {
    /// The study, with the contenders that are to be measured.
    pub study: &'a Study,
    /// The profile, with its name.
    pub profile: (&'a str, &'a Profile),
    /// What of the profile.
    pub choice: &'a Choice,
    /// In which order.
    pub order: Order,
    /// The seed.
    pub seed: u64,
    /// The command that repeats the run.
    pub command: String,
    /// The folder of runs.
    pub runs: &'a Path,
    /// Whether the study is copied into the run's folder, because it lies nowhere else that
    /// stays.
    pub keeps_study: bool,
    /// The hosts that the load comes from; none, where it comes from this machine.
    pub hosts: Option<&'a ClientHosts>,
    /// What finds out what stores survive, where the profile has cuts.
    pub ladder: &'a dyn Ladder,
}

/// Makes a new run of a study that was read.
///
/// # Errors
/// [`RunError`], if not one trial could be begun.
pub fn of_study(asked: Asked, stop: &Stop, tell: &mut dyn FnMut(Event)) -> Result<Ended, RunError> {
    let (study, (name, profile)) = (asked.study, asked.profile);
    let plan_for = |contenders: &[&Contender]| {
        let plan = plan(name, profile, asked.choice, contenders, (asked.seed, asked.order));
        Plan { may_idle: !study.file.expects.saturates, ..plan }
    };
    let names: Vec<String> = study.contenders.iter().map(|it| it.name.clone()).collect();
    let intended = plan_for(&study.contenders.iter().collect::<Vec<_>>());
    // Builds may take minutes, for which nobody should wait in vain.
    if intended.slots.is_empty() {
        return Err(RunError::NoLoad);
    }
    let hosts = hosts_of(&intended, study, asked.hosts)?;
    let more = pair::may_be_added_to(&intended);
    let to_make = to_make(intended.slots.iter().collect(), &more, |slots| {
        time_left::before_builds(&intended, study, slots.iter().copied())
    });
    let record = with_dimensions(study.record(), &intended);
    let intended = Intended { study: &record, contenders: &names, plan: &intended, to_make };
    let (contenders, builds_failed) = begin(intended, study, stop, tell)?;
    let prepared = study.contenders.iter().zip(&contenders);
    let ready: Vec<&Contender> =
        prepared.filter(|(_, record)| record.absent.is_none()).map(|(it, _)| it).collect();
    if ready.is_empty() {
        return Err(RunError::Nobody);
    }
    let plan = plan_for(&ready);

    let now = SystemTime::now();
    let stamp = humantime::format_rfc3339_seconds(now).to_string().replace(['-', ':'], "");
    let folder = Folder::create(asked.runs, &format!("{}-{stamp}", study.name))?;
    let kept = asked.keeps_study.then(|| kept_in(&folder, study, &names)).transpose()?;
    let study = kept.as_ref().unwrap_or(study);
    let run = Run {
        schema: SCHEMA,
        bakeoff: env!("CARGO_PKG_VERSION").into(),
        bakeoff_sha256: own_digest(),
        id: folder.name(),
        started: humantime::format_rfc3339_seconds(now).to_string(),
        state: State::Unfinished,
        command: asked.command,
        machine: machine::describe(),
        hosts,
        studies: study.folder.parent().and_then(|studies| folder.way_to(studies)),
        study: with_dimensions(study.record(), &plan),
        contenders,
        plan,
        trials: Vec::new(),
        disturbed: Vec::new(),
        failed: Vec::new(),
        left_out: Vec::new(),
        spent: Spent::default(),
        outcomes: Vec::new(),
        curves: Vec::new(),
        claims: Vec::new(),
        durability: Vec::new(),
        scripts: Vec::new(),
    };
    folder.write(&run)?;
    folder.is_latest();
    let helpers = (asked.hosts, asked.ladder);
    Ok(UnderWay::new(study, folder, run, helpers, stop).go_on(tell, builds_failed))
}

/// A study's record without what none of a plan's settings says, where a setting needn't.
fn with_dimensions(mut study: result::plan::Study, plan: &Plan) -> result::plan::Study {
    let declared = study.kind.declared().iter();
    let optional = declared.filter(|it| matches!(it.values, Values::Optional(_)));
    for Declared { id, .. } in optional {
        if plan.slots.iter().all(|slot| slot.setting.value(id).is_none()) {
            study.dimensions.retain(|dimension| dimension.id != *id);
        }
    }
    study
}

/// The hosts that a plan's load comes from, greeted; none, where it comes from this machine, which
/// may then open as many connections.
///
/// # Errors
/// Where they don't do for the plan, or one can't be had.
fn hosts_of(
    plan: &Plan,
    study: &Study,
    hosts: Option<&ClientHosts>,
) -> Result<Vec<ClientHost>, RunError> {
    let needed = plan.slots.iter().filter_map(|slot| slot.setting.clients()).max();
    let unfit = |why: String| Err(RunError::Hosts(NoHosts::Unfit(why)));
    let Some(hosts) = hosts else {
        if let Some(needed) = needed {
            return unfit(format!(
                "the profile has loads that come from {needed} hosts: name them with `--hosts \
                 hosts.toml` (docs/hosts.md)"
            ));
        }
        allow_connections(plan.slots.iter().map(|slot| &slot.setting))?;
        return Ok(Vec::new());
    };
    if !study.file.kind().is_asked() {
        return unfit("the study's contenders drive themselves: no load comes from hosts".into());
    }
    if study.file.kind().passes_on() {
        return unfit("robots in rooms are all of one client: no load comes from hosts".into());
    }
    let own =
        |it: &Contender| it.file.address.as_ref().map(|it| it.get_ref().ip()).or(it.file.host);
    if let Some((name, address)) = study.contenders.iter().find_map(|it| Some((&it.name, own(it)?)))
    {
        return unfit(format!(
            "{name} has an address of its own, {address}: hosts reach contenders at the `address` of \
             hosts.toml"
        ));
    }
    match needed {
        Some(needed) if needed > hosts.hosts.len() => unfit(format!(
            "the profile has loads that come from {needed} hosts, and the file names {}",
            hosts.hosts.len()
        )),
        _ => Ok(hosts.greet()?),
    }
}

/// The study from its copy in the run's folder, with these contenders.
fn kept_in(folder: &Folder, study: &Study, names: &[String]) -> Result<Study, RunError> {
    let studies = folder.keep_study(&study.folder)?;
    Ok(Study::read(&studies, &study.name)?.only(names)?)
}

/// The digest of the program that runs, also where another has taken its file's place.
pub fn own_digest() -> Option<String> {
    digest::of_file(Path::new("/proc/self/exe")).ok()
}

fn profile<'a>(study: &'a Study, name: &str) -> Result<&'a Profile, RunError> {
    study.file.profile.get(name).ok_or_else(|| RunError::Profile {
        study: study.name.clone(),
        profile: name.into(),
        near: did_you_mean(name, study.file.profile.keys().map(String::as_str)),
        have: if study.file.profile.is_empty() {
            "none".into()
        } else {
            let names: Vec<_> = study.file.profile.keys().map(String::as_str).collect();
            format!("{}; `--profile NAME` takes one", names.join(", "))
        },
    })
}

/// Makes the trials that an earlier run left out.
///
/// # Errors
/// [`RunError`], if not one trial could be begun.
pub fn resume(
    studies: &Path,
    folder: &Path,
    (hosts, ladder): (Option<&ClientHosts>, &dyn Ladder),
    stop: &Stop,
    tell: &mut dyn FnMut(Event),
) -> Result<Ended, RunError> {
    let (folder, mut run) = Folder::open(folder)?;
    reopen(&mut run);
    let planned: Vec<String> = run
        .contenders
        .iter()
        .filter(|contender| contender.absent.is_none())
        .map(|contender| contender.name.clone())
        .collect();
    let study = Study::read(studies, &run.study.name)?.only(&planned)?;
    let refused = |why| Err(RunError::Changed { folder: folder.path().into(), why });
    // Builds may take minutes, for which nobody should wait in vain.
    if let Some(why) = changed(&run, &study) {
        return refused(why);
    }
    if hosts.is_none() && !run.hosts.is_empty() {
        return refused(format!(
            "its load comes from {} hosts: name them again with `--hosts`",
            run.hosts.len()
        ));
    }
    if hosts_of(&run.plan, &study, hosts)? != run.hosts {
        return refused(
            "its load came from other hosts, or from other kernels or processors".into(),
        );
    }
    let to_make = still_to_make(&run, &study.file);
    let intended = Intended { study: &run.study, contenders: &planned, plan: &run.plan, to_make };
    let (contenders, builds_failed) = begin(intended, &study, stop, tell)?;
    for now in contenders {
        let may_be_new = now.absent.is_none() && !has_figures(&run, &now.name);
        let before = run.contenders.iter_mut().find(|before| before.name == now.name);
        let before = before.expect("only those of the run are made ready");
        if may_be_new {
            *before = now;
        } else if let Some(why) = differs(before, &now) {
            return refused(why);
        }
    }
    if run.state == State::Unfinished && run.bakeoff_sha256 != own_digest() {
        run.bakeoff_sha256 = None;
    }
    // Trials that were appended come into one file with the others.
    folder.write(&run)?;
    let helpers = (hosts, ladder);
    Ok(UnderWay::new(&study, folder, run, helpers, stop).go_on(tell, builds_failed))
}

/// Takes back what a resumed run makes again: what failed, and what had no rate to offer.
fn reopen(run: &mut Run) {
    take_back_failed(run);
    // An earlier part of the run may have known less.
    run.left_out.clear();
    // It may have been complete with these. Should it be stopped before they are made
    // again, its figures are of fewer trials than were planned.
    if missing(run).next().is_some() {
        run.state = State::Unfinished;
    }
}

/// What [`Event::Intends`] tells.
struct Intended<'a> {
    study: &'a result::plan::Study,
    contenders: &'a [String],
    plan: &'a Plan,
    to_make: ToMake,
}

/// What is to be made of these trials, and of more where they may be added, by the time that some
/// take.
fn to_make(slots: Vec<&Slot>, more: &[Slot], time: impl Fn(&[&Slot]) -> TimeLeft) -> ToMake {
    let all: Vec<&Slot> = slots.iter().copied().chain(more).collect();
    let at_most = (!more.is_empty()).then(|| (all.len(), time(&all)));
    ToMake { trials: slots.len(), time: time(&slots), at_most }
}

/// What is still to be made of a run.
fn still_to_make(run: &Run, study: &StudyFile) -> ToMake {
    to_make(missing(run).collect(), &pair::may_be_added(run), |slots| {
        let cuts = time_left::until_trials(run, CutsMade::default());
        cuts + time_left::of_trials(run, study, slots.iter().copied())
    })
}

/// Tells what is intended, and makes all contenders of a study ready, as a run's record has
/// them, with the names of those whose build failed.
fn begin(
    intended: Intended,
    of: &Study,
    stop: &Stop,
    tell: &mut dyn FnMut(Event),
) -> Result<(Vec<result::plan::Contender>, Vec<String>), RunError> {
    let Intended { study, contenders, plan, to_make } = intended;
    if let Some(why) = of.missing_variable() {
        return Err(RunError::Environment(why));
    }
    tell(Event::Intends { study, contenders, plan, to_make });
    let mut builds_failed = Vec::new();
    let mut records = Vec::new();
    // Variants have one build.
    let mut built: Vec<&Path> = Vec::new();
    for (number, contender) in (1..).zip(&of.contenders) {
        let (name, of) = (&contender.name, of.contenders.len());
        tell(Event::Preparing { contender: name, number, of });
        let why = match prepare(contender, built.contains(&&*contender.source), stop) {
            Prepared::Ready(record) => {
                built.push(&contender.source);
                records.push(*record);
                continue;
            }
            Prepared::Interrupted => return Err(RunError::Interrupted),
            Prepared::Absent(why) => why,
            Prepared::Failed(why) => {
                builds_failed.push(contender.name.clone());
                why
            }
        };
        tell(Event::LeftOut { contender: &contender.name, why: &why });
        records.push(result::plan::Contender { absent: Some(why), ..record(contender) });
    }
    Ok((records, builds_failed))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use judge::samples::{run_of, trial};
    use result::plan::{Cores, Setting, Slot};
    use result::{LeftOut, Trial};
    use tempfile::TempDir;

    use super::*;

    /// For studies without stores.
    #[derive(Debug)]
    struct NoLadder;

    impl Ladder for NoLadder {
        fn climb(
            &self,
            _: &Contender,
            _: &dyn Host,
            _: CutsDue,
            _: &Stop,
            _: &mut dyn FnMut(),
        ) -> Option<Durability> {
            panic!("nobody is cut off")
        }
    }

    const STUDY: &str = r#"
title = "A study"
question = "Does it work?"

[driver]
kind = "generator"
protocol = "http1"

[contract]
says = "GET / answers with the ID."
request = { path = "/?id={nonce}" }
answer = { status = 200, body = "{nonce}", fresh = false }

[profile.quick]
blocks = 1
measure_s = 1
warmup_s = 1
settings = [{ cores = "one", connections = [4] }]
"#;

    /// Its need is nowhere, so that no test builds or starts it.
    const CONTENDER: &str = r#"
title = "A server"
language = "C"
tier = "idiomatic"
needs = { "/nowhere/cc" = "gcc" }
build = ["/nowhere/cc", "server.c", "$SOURCE/../shared/flags"]
sources = ["../shared"]
run = ["$BUILD/server"]
"#;

    /// Folders with a study, a contender that was measured once, and the run of it that
    /// was interrupted.
    struct Begun {
        root: TempDir,
        path: PathBuf,
        run: Run,
    }

    impl Begun {
        fn new() -> Begun {
            let root = tempfile::tempdir().unwrap();
            let studies = root.path().join("studies");
            fs::create_dir_all(studies.join("s/server")).unwrap();
            fs::create_dir_all(studies.join("s/shared")).unwrap();
            fs::write(studies.join("s/shared/flags"), "-O2").unwrap();
            fs::write(studies.join("s/study.toml"), STUDY).unwrap();
            fs::write(studies.join("s/server/contender.toml"), CONTENDER).unwrap();
            let study = Study::read(&studies, "s").unwrap();
            let load = Setting::closed(4, Cores::One, true);
            let run = Run {
                bakeoff: env!("CARGO_PKG_VERSION").into(),
                state: State::Unfinished,
                machine: machine::describe(),
                study: study.record(),
                contenders: study.contenders.iter().map(record).collect(),
                ..run_of(&[], vec![trial("server", 0, &load, 1_000.0)])
            };
            let folder = Folder::create(&root.path().join("runs"), "s-1").unwrap();
            folder.write(&run).unwrap();
            Begun { root, path: folder.path().into(), run }
        }

        fn write(&self, name: &str, text: &str) {
            fs::write(self.root.path().join("studies/s").join(name), text).unwrap();
        }

        /// Its folder, which nobody else has until it is dropped.
        fn folder(&self) -> Folder {
            Folder::open(&self.path).unwrap().0
        }

        /// Why it isn't resumed, and for whom a build would have begun before that was
        /// said.
        fn refused(&self, run: &Run) -> (String, Vec<String>) {
            self.folder().write(run).unwrap();
            let mut prepared = Vec::new();
            let studies = self.root.path().join("studies");
            let ended =
                resume(&studies, &self.path, (None, &NoLadder), &Stop::default(), &mut |event| {
                    if let Event::Preparing { contender, .. } = event {
                        prepared.push(contender.to_string());
                    }
                });
            match ended {
                Err(RunError::Changed { why, .. }) => (why, prepared),
                other => panic!("it was resumed, or failed otherwise: {other:?}"),
            }
        }
    }

    #[test]
    fn what_is_intended_is_told_before_anybody_is_made_ready() {
        let begun = Begun::new();
        let contender = CONTENDER.to_string() + "warmup_s = 8\n";
        begun.write("server/contender.toml", &contender);
        let options = |cores: Option<Vec<Cores>>| Options {
            studies: begun.root.path().join("studies"),
            runs: begun.root.path().join("new"),
            study: "s".into(),
            profile: "quick".into(),
            only: Vec::new(),
            choice: Choice { cores, ..Choice::default() },
            seed: Some(1),
            hosts: None,
        };
        let told = |options: &Options| {
            let mut told = Vec::new();
            let ended = new(options, &NoLadder, &Stop::default(), &mut |event| {
                told.push(match event {
                    Event::Intends { study, contenders, plan, to_make } => {
                        let (name, profile) = (&study.name, &plan.profile);
                        let ToMake { trials, time, .. } = to_make;
                        let seconds = time.seconds;
                        format!("{name}, {profile}: {contenders:?}, {trials}, {seconds:.1} s")
                    }
                    Event::Preparing { contender, .. } => format!("preparing {contender}"),
                    Event::LeftOut { contender, .. } => format!("left out: {contender}"),
                    other => panic!("{other:?}"),
                });
            });
            (ended.unwrap_err(), told)
        };
        let (error, all) = told(&options(None));
        assert!(matches!(error, RunError::Nobody), "{error}");
        // Its trial and its twin's, each of a window, a warm-up of its own and what is
        // around them.
        let intends = "s, quick: [\"server\"], 2, 19.0 s";
        assert_eq!(all, [intends, "preparing server", "left out: server"]);
        let (error, all) = told(&options(Some(vec![Cores::All])));
        assert!(matches!(error, RunError::NoLoad), "{error}");
        assert!(all.is_empty(), "it was built before this was said: {all:?}");
    }

    /// Who failed may have been mended, and what had no rate to offer may have one now.
    #[test]
    fn what_failed_and_what_was_left_out_is_intended_again_in_a_resumed_run() {
        let begun = Begun::new();
        let mut run = begun.run.clone();
        let over = run.trials[0].clone();
        let slot = |number: u32| Slot { number, block: number, ..over.slot.clone() };
        let mut setting = over.slot.setting.clone();
        setting.set(result::setting::CONNECTIONS, 5);
        let left_out = Slot { setting, ..slot(2) };
        run.plan.slots = vec![slot(0), slot(1), left_out.clone(), slot(3)];
        let mut failed = Trial { slot: slot(1), ..over };
        failed.evidence.work = None;
        run.trials.push(failed);
        let Slot { contender, setting, .. } = left_out;
        run.left_out.push(LeftOut { contender, setting, reason: "no maximum".into() });
        begun.folder().write(&run).unwrap();

        let studies = begun.root.path().join("studies");
        let mut intended = None;
        let ended =
            resume(&studies, &begun.path, (None, &NoLadder), &Stop::default(), &mut |event| {
                if let Event::Intends { to_make, .. } = event {
                    intended = Some(to_make.trials);
                }
            });
        assert!(ended.is_err(), "what its contender needs is nowhere: {ended:?}");
        assert_eq!(intended, Some(3), "all but the trial that is over");
    }

    #[test]
    fn a_complete_run_is_unfinished_while_what_it_takes_back_is_made_again() {
        let reopened = |change: fn(&mut Run)| {
            let mut run = Begun::new().run;
            run.state = State::Complete;
            run.plan.slots = run.trials.iter().map(|trial| trial.slot.clone()).collect();
            change(&mut run);
            reopen(&mut run);
            run.state
        };
        assert_eq!(reopened(|_| ()), State::Complete, "nothing is made again");
        assert_eq!(reopened(|run| run.trials[0].evidence.work = None), State::Unfinished);
        let left_out = reopened(|run| {
            let Slot { contender, setting, .. } = run.trials.remove(0).slot;
            run.left_out.push(LeftOut { contender, setting, reason: "no maximum".into() });
        });
        assert_eq!(left_out, State::Unfinished);
    }

    #[test]
    fn what_is_known_before_builds_is_refused_before_them() {
        let begun = Begun::new();
        let (why, prepared) = begun.refused(&begun.run);
        assert!(why.starts_with("server can't be had any more: "), "{why}");
        assert_eq!(prepared, ["server"], "nothing else was changed");

        let at_once = |run: &Run, expected: &str| {
            let (why, prepared) = begun.refused(run);
            assert!(why.contains(expected), "{why}");
            assert!(prepared.is_empty(), "{prepared:?} was built before this was said: {why}");
        };
        let with = |change: fn(&mut Run)| {
            let mut run = begun.run.clone();
            change(&mut run);
            run
        };
        at_once(&with(|run| run.machine.kernel = "other".into()), "another machine or kernel");
        at_once(&with(|run| run.bakeoff = "0.0.1".into()), "it began with bakeoff 0.0.1");
        at_once(&with(|run| run.study.file_sha256 = None), "an older bakeoff didn't keep");
        at_once(&with(|run| run.contenders[0].warmup_s = 9.0), "server is not what it was");
        begun.write("shared/flags", "-O3");
        at_once(&begun.run, "the files of server are not what they were");
        begun.write("shared/flags", "-O2");
        begun.write("server/server.c", "int main() {}");
        at_once(&begun.run, "the files of server are not what they were");
        begun.write("study.toml", &STUDY.replace("blocks = 1", "blocks = 2"));
        at_once(&begun.run, "its study.toml is not what it was");
    }

    #[test]
    fn what_is_written_down_has_the_whole_time_beside_its_parts() {
        let begun = Begun::new();
        let study = Study::read(&begun.root.path().join("studies"), "s").unwrap();
        let stop = Stop::default();
        let mut run =
            UnderWay::new(&study, begun.folder(), begun.run.clone(), (None, &NoLadder), &stop);
        let at_least = std::time::Duration::from_millis(20);
        std::thread::sleep(at_least);
        run.keep(Folder::write).unwrap();
        // It is killed now.
        let kept = folder::read(&begun.path.join("run.json")).unwrap();
        assert!(kept.spent.whole_s >= at_least.as_secs_f64(), "{:?}", kept.spent);
    }

    /// Else a figure would be the median of two servers of one name.
    #[test]
    fn a_contender_that_is_changed_meanwhile_gets_no_further_trial() {
        let begun = Begun::new();
        let study = Study::read(&begun.root.path().join("studies"), "s").unwrap();
        let stop = Stop::default();
        let mut run = begun.run.clone();
        let slot = Slot { number: 1, block: 1, ..run.trials[0].slot.clone() };
        run.plan.slots = vec![run.trials[0].slot.clone(), slot];
        begun.write("server/server.c", "int main() {}");
        let under_way = UnderWay::new(&study, begun.folder(), run, (None, &NoLadder), &stop);
        let ended = under_way.go_on(&mut |_| (), Vec::new());
        assert_eq!(ended.run.trials.len(), 1);
        match ended.early {
            Some(Early::Failed(RunError::ChangedMeanwhile { contender, .. })) => {
                assert_eq!(contender, "server");
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_run_that_keeps_no_texts_is_gone_on_with() {
        let begun = Begun::new();
        let now = &begun.run.contenders[0];
        let kept: Vec<_> = now.build_files.iter().map(|file| &*file.name).collect();
        assert_eq!(kept, ["../shared/flags"]);
        let configuration = now.build_files.clone();
        let now = &result::plan::Contender { configuration, ..now.clone() };
        let older = result::plan::Contender {
            build_files: Vec::new(),
            configuration: Vec::new(),
            ..now.clone()
        };
        assert_eq!(differs(&older, now), None);
    }

    #[test]
    fn what_only_a_build_tells_is_refused_after_it() {
        let begun = Begun::new();
        let now = &begun.run.contenders[0];
        let version = result::plan::Version { of: "C".into(), says: "C 1".into() };
        let before = result::plan::Contender { versions: vec![version], ..now.clone() };
        assert_eq!(differs(&before, now).unwrap(), "server is not what it was");
        assert_eq!(differs(&before, &before), None);
        let run = Run { contenders: vec![before], ..begun.run.clone() };
        let (_, prepared) = begun.refused(&run);
        assert_eq!(prepared, ["server"], "versions aren't known before a build");
    }
}
