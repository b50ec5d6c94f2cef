//! `bakeoff doctor`: whether this machine can measure, and what would be said of the
//! figures, before somebody spends an hour on them.

use std::cmp::Reverse;
use std::path::PathBuf;
use std::process::ExitCode;

use judge::checks;
use lab::study::{self, Error, Study};
use lab::trial::nobody::{self, Checkup, Nobody, Profile, Tools};
use load::Stop;
use report::text::visible;
use report::{Terminal, units};
use result::finding::Verdict;
use result::plan::{Cores, Machine, Setting};

use super::exit_codes::{BAD_INPUT, INTERRUPTED, SYSTEM};
use super::load::interrupt;
use super::printing::complain;
use super::report::print_text;

/// Not one contender of the study can be had.
const NOBODY: u8 = 1;
/// A run could be made, and its figures would be invalid.
const NO_FIGURE: u8 = 3;

/// With less room than this, in bytes, a line says so. A contender's build may take
/// hundreds of MB, and a trial some 10 kB.
const ROOM_MIN: u64 = 1 << 30;
/// Checks that have nothing to tell where nobody is measured, but that they could look.
const SILENT: [&str; 5] = ["load-arrived", "client-limit", "server-cores", "cpu-quota", "network"];
/// Of the column of words.
const WORD_WIDTH: usize = 13;

/// Says in seconds whether this machine can measure, and what would be said of the figures
#[derive(clap::Args)]
#[command(after_help = "Exit codes: 0 nothing stands in the way; 1 no contender can be had; \
2 wrong arguments or files; 3 figures made now would be invalid; 4 no run can be made here; \
130 interrupted.")]
pub struct Arguments {
    /// The study whose contenders and loads are looked at as well; the first by name where none is given
    study: Option<String>,
    /// The folder of studies
    #[arg(long, value_name = "DIR", default_value = lab::run::STUDIES)]
    studies: PathBuf,
    /// The folder that runs are kept in
    #[arg(long, value_name = "DIR", default_value = "runs")]
    runs: PathBuf,
}

/// Carries the command out.
pub fn run(arguments: Arguments) -> ExitCode {
    let failed = |code: u8, sentence: String| {
        complain("doctor", &sentence);
        ExitCode::from(code)
    };
    let study = match study(&arguments) {
        Ok(study) => study,
        Err(error) => return failed(BAD_INPUT, error.to_string()),
    };
    let stop = Stop::default();
    if let Err(error) = interrupt::stops(&stop) {
        return failed(SYSTEM, format!("waiting for Ctrl-C: {error}"));
    }
    let checkup = nobody::look(study.as_ref(), &arguments.runs, &stop);
    if stop.asked() {
        return ExitCode::from(INTERRUPTED);
    }
    let lines = lines(&checkup);
    let harm = worst(&lines);
    match print_text(|terminal| text(&checkup.machine, &lines, terminal)) {
        Ok(()) => harm.exit_code().into(),
        Err(sentence) => failed(SYSTEM, sentence),
    }
}

fn study(arguments: &Arguments) -> Result<Option<Study>, Error> {
    let first = || study::names(&arguments.studies).into_iter().next();
    let name = arguments.study.clone().or_else(first);
    name.map(|name| Study::read(&arguments.studies, &name)).transpose()
}

/// What something does to a run, from nothing to the worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Harm {
    /// Nothing.
    Fine,
    /// A part is missing or could be better, and the figures stand.
    Note,
    /// A check can't look.
    NotChecked,
    /// A check casts doubt on figures.
    Suspect,
    /// A check strikes figures out.
    Invalid,
    /// There is nobody to measure.
    Nobody,
    /// No run can be made.
    Stops,
}

impl Harm {
    fn word(self) -> &'static str {
        match self {
            Harm::Fine => "fine",
            Harm::Note => "note",
            Harm::NotChecked => Verdict::NotChecked.word(),
            Harm::Suspect => Verdict::Suspect.word(),
            Harm::Invalid => Verdict::Invalid.word(),
            Harm::Nobody => "nobody",
            Harm::Stops => "stops",
        }
    }

    /// What the worst of all comes to.
    fn conclusion(self) -> &'static str {
        match self {
            Harm::Fine | Harm::Note => "Nothing stands in the way.",
            Harm::NotChecked | Harm::Suspect => {
                "A run can be made. Of some of its figures, what stands above would be said."
            }
            Harm::Invalid => "A run can be made, and figures made now would be invalid.",
            Harm::Nobody => "Nobody is left to measure.",
            Harm::Stops => "No run can be made here as it is.",
        }
    }

    fn exit_code(self) -> u8 {
        match self {
            Harm::Fine | Harm::Note | Harm::NotChecked | Harm::Suspect => 0,
            Harm::Invalid => NO_FIGURE,
            Harm::Nobody => NOBODY,
            Harm::Stops => SYSTEM,
        }
    }
}

impl From<Verdict> for Harm {
    fn from(verdict: Verdict) -> Harm {
        match verdict {
            Verdict::Valid => Harm::Fine,
            Verdict::NotChecked => Harm::NotChecked,
            Verdict::Suspect => Harm::Suspect,
            Verdict::Invalid => Harm::Invalid,
        }
    }
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq)]
struct Line {
    harm: Harm,
    what: String,
    found: String,
    /// What to do about it; empty where there is nothing to be done.
    advice: String,
}

impl Line {
    fn new(harm: Harm, what: impl Into<String>, found: impl Into<String>) -> Line {
        Line { harm, what: what.into(), found: found.into(), advice: String::new() }
    }

    fn advise(self, advice: impl Into<String>) -> Line {
        Line { advice: advice.into(), ..self }
    }

    fn sentence(&self) -> String {
        let Line { what, found, advice, .. } = self;
        match advice.is_empty() {
            true => format!("{what}: {found}"),
            false => format!("{what}: {}. {advice}", found.trim_end_matches('.')),
        }
    }
}

fn worst(lines: &[Line]) -> Harm {
    lines.iter().map(|line| line.harm).max().unwrap_or(Harm::Fine)
}

fn text(machine: &Machine, lines: &[Line], terminal: Terminal) -> String {
    let hanging = " ".repeat(WORD_WIDTH);
    // A command is to be read, and copied, as it is.
    let options = textwrap::Options::new(terminal.columns.into())
        .word_separator(textwrap::WordSeparator::AsciiSpace)
        .word_splitter(textwrap::WordSplitter::NoHyphenation)
        .break_words(false)
        .subsequent_indent(&hanging);
    let filled = lines.iter().map(|line| {
        let line = format!("{:WORD_WIDTH$}{}", line.harm.word(), visible(&line.sentence()));
        textwrap::fill(&line, &options) + "\n"
    });
    let filled: String = filled.collect();
    format!("{}\n\n{filled}\n{}\n", visible(&heading(machine)), worst(lines).conclusion())
}

/// The machine, as far as it tells.
fn heading(machine: &Machine) -> String {
    let memory = machine.memory_bytes.map(|bytes| format!("{} of memory", units::bytes(bytes)));
    let is_virtual = machine.virtual_machine == Some(true);
    let parts = [
        machine.cpu.clone(),
        memory.unwrap_or_default(),
        machine.kernel.clone(),
        machine.distribution.clone(),
        if is_virtual { "a virtual machine".into() } else { String::new() },
    ];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}

/// All that was looked at, what harms most first.
fn lines(checkup: &Checkup) -> Vec<Line> {
    let mut lines = vec![trial(checkup), runs(checkup), open_files(checkup)];
    let trials = checkup.trials.as_deref().unwrap_or_default();
    lines.extend(checks(trials));
    lines.extend(quota(checkup, trials));
    lines.extend(control_groups(trials));
    lines.extend(listen_queue(checkup));
    lines.extend(ports(checkup));
    lines.extend(contenders_port(checkup));
    lines.extend([cores(checkup), backend(checkup), children(checkup), leftovers(checkup)]);
    lines.extend(contenders(checkup.contenders.as_deref().unwrap_or_default()));
    lines.sort_by_key(|line| Reverse(line.harm));
    lines
}

fn trial(checkup: &Checkup) -> Line {
    let what = "a trial of nobody";
    match &checkup.trials {
        Ok(_) => Line::new(Harm::Fine, what, "was started, watched and stopped"),
        Err(why) => Line::new(Harm::Stops, what, why),
    }
}

fn runs(checkup: &Checkup) -> Line {
    let room = &checkup.runs;
    let (what, at) = ("room for runs", room.at.display());
    let free = room.free_bytes.map_or("an unknown number of bytes".into(), units::bytes);
    let found = format!("{free} in {at}");
    if !room.is_writable {
        Line::new(Harm::Stops, what, format!("nothing can be written to {at}"))
            .advise("Have them elsewhere (`--runs DIR`).")
    } else if room.free_bytes.is_some_and(|bytes| bytes < ROOM_MIN) {
        let advice = "Make room: builds and trials may take more. A run that a full disk ended \
                     can be resumed.";
        Line::new(Harm::Note, what, found).advise(advice)
    } else {
        Line::new(Harm::Fine, what, found)
    }
}

fn open_files(checkup: &Checkup) -> Line {
    let what = "open files";
    let refused: Vec<String> = checkup.profiles.iter().filter_map(refused).collect();
    let is_study = checkup.contenders.is_some();
    match refused.len() {
        0 => {
            let connections = checkup.profiles.iter().flat_map(|profile| &profile.loads);
            let most = connections.map(|load| load.connections()).max().unwrap_or_default();
            let most = units::of(most.into(), "connection");
            Line::new(Harm::Fine, what, format!("enough for {most}"))
        }
        count if is_study && count == checkup.profiles.len() => {
            Line::new(Harm::Stops, what, refused.join("; "))
        }
        _ => Line::new(Harm::Note, what, refused.join("; ")),
    }
}

/// Why a profile can't be measured.
fn refused(profile: &Profile) -> Option<String> {
    let why = profile.refused.as_ref()?;
    Some(match &profile.name {
        Some(name) => format!("profile `{name}`: {why}"),
        None => why.clone(),
    })
}

/// What the checks of the place say: of each the worst.
fn checks<'a>(trials: &'a [Nobody]) -> Vec<Line> {
    let (mut lines, mut silent) = (Vec::new(), Vec::new());
    for check in checks::CHECKS {
        let of_check = |trial: &'a Nobody| {
            let finding = trial.findings.iter().find(|it| it.check == check.id)?;
            Some((trial.cores, finding))
        };
        let said = || trials.iter().filter_map(of_check);
        let Some((cores, worst)) = said().max_by_key(|(_, it)| it.verdict) else { continue };
        if worst.verdict == Verdict::Valid && SILENT.contains(&&*worst.check) {
            silent.push(&*worst.check);
            continue;
        }
        let is_so_everywhere = checks::is_about_the_machine(&worst.check)
            || said().all(|(_, it)| it.verdict == worst.verdict);
        let what = match is_so_everywhere {
            true => worst.check.clone(),
            false => format!("{} {}", worst.check, on(cores)),
        };
        let found = if worst.verdict == Verdict::NotChecked { &worst.says } else { &worst.value };
        lines.push(Line::new(worst.verdict.into(), what, found).advise(&worst.fix));
    }
    if !silent.is_empty() {
        let found = format!("there for {}", silent.join(", "));
        lines.push(Line::new(Harm::Fine, "sensors", found));
    }
    lines
}

/// A quota that a load can use up. The check tells of it only when one has.
fn quota(checkup: &Checkup, trials: &[Nobody]) -> Option<Line> {
    let quota = trials.first()?.evidence.limits.cpu_quota_cores?;
    let processors = checkup.machine.cpus.len();
    (quota < processors as f64).then(|| {
        let found = format!(
            "{quota:.1} cores for {}: a load that uses that up measures the quota",
            units::of(processors as u64, "processor")
        );
        Line::new(Harm::Suspect, "CPU quota", found)
            .advise("Run without one (`cpu.max`, `--cpus` of a container).")
    })
}

/// Whether contender and client have one each, as far as anything was seen.
fn control_groups(trials: &[Nobody]) -> Option<Line> {
    let what = "control groups";
    let seen = || trials.iter().filter(|trial| !trial.evidence.samples.is_empty());
    let lacks = |trial: &&Nobody| {
        let of_client = trial.evidence.client.as_ref().and_then(|client| client.cgroup.as_ref());
        trial.evidence.server.cgroup.is_none() || of_client.is_none()
    };
    let Some(lacking) = seen().find(lacks) else {
        let trees = &seen().next()?.evidence.server.cgroup.as_ref()?.hierarchies;
        return Some(Line::new(Harm::Fine, what, trees.join(", ")));
    };
    let when = match seen().all(|trial| lacks(&trial)) {
        true => String::new(),
        false => format!(" {}", on(lacking.cores)),
    };
    let found = format!(
        "none for contender and client{when}: whether they waited for memory or a disk may \
         not be told from others (pressure), and how much memory they held at most is not known"
    );
    Some(Line::new(Harm::NotChecked, what, found).advise(checks::DELEGATE))
}

fn listen_queue(checkup: &Checkup) -> Option<Line> {
    let (what, setting) = ("listen queue", "net.core.somaxconn");
    let there: u32 = sysctl(checkup, setting)?.parse().ok()?;
    let found = format!("{} may wait ({setting})", units::of(there.into(), "connection"));
    Some(match too_many(checkup, there, |load| !load.kept()) {
        None => Line::new(Harm::Fine, what, found),
        Some((most, whose)) => {
            let found = format!(
                "{found}, and {} are opened at once{whose}, one a request: what overflows comes \
                 seconds later (load-arrived)",
                units::whole(most.into())
            );
            let enough = most.next_power_of_two();
            Line::new(Harm::Suspect, what, found)
                .advise(format!("As root: `sysctl -w {setting}={enough}`."))
        }
    })
}

fn ports(checkup: &Checkup) -> Option<Line> {
    let (what, setting) = ("ports", "net.ipv4.ip_local_port_range");
    let range = sysctl(checkup, setting)?;
    let (first, last) = range.split_once(' ')?;
    let there = last.parse::<u32>().ok()?.checked_sub(first.parse().ok()?)? + 1;
    let found = format!("{} for the client ({setting})", units::whole(there.into()));
    let takes_one_each = |load: &Setting| load.kept() && load.connections() <= load::ONE_SOURCE_MAX;
    Some(match too_many(checkup, there, takes_one_each) {
        None => Line::new(Harm::Fine, what, found),
        Some((most, whose)) => {
            let most = units::whole(most.into());
            let found = format!("{found}, and {most} kept connections{whose} take one each");
            Line::new(Harm::Suspect, what, found)
                .advise(format!("As root: `sysctl -w {setting}=\"32768 60999\"`."))
        }
    })
}

/// A setting of the kernel.
fn sysctl<'a>(checkup: &'a Checkup, name: &str) -> Option<&'a str> {
    let (_, value) = checkup.machine.sysctl.iter().find(|(known, _)| known == name)?;
    Some(value)
}

/// The most connections of such loads, where there are more than so many, and the
/// profiles that ask for that.
fn too_many(
    checkup: &Checkup,
    there: u32,
    is_such: impl Fn(&Setting) -> bool,
) -> Option<(u32, String)> {
    let most = |profile: &Profile| {
        let loads = profile.loads.iter().filter(|load| is_such(load));
        loads.map(|load| load.connections()).max().filter(|&most| most > there)
    };
    let all = checkup.profiles.iter().filter_map(most).max()?;
    let names = checkup.profiles.iter().filter(|profile| most(profile).is_some());
    let names: Vec<String> =
        names.filter_map(|it| Some(format!("`{}`", it.name.as_ref()?))).collect();
    let whose = match names.is_empty() {
        true => String::new(),
        false => format!(" in the profile {}", names.join(", ")),
    };
    Some((all, whose))
}

fn cores(checkup: &Checkup) -> Line {
    let machine = &checkup.machine;
    let processors = units::of(machine.cpus.len() as u64, "processor");
    let physical = match machine.smt_siblings.len() {
        0 => "cores that the machine doesn't tell".into(),
        count => units::of(count as u64, "core"),
    };
    let places = checkup.places.iter().map(|(cores, place)| {
        let (server, client) = (place.server_cpus.len(), place.client_cpus.len());
        match place.shared() {
            true => format!("; {} contender and load share {}", on(*cores), server.max(client)),
            false => format!("; {} the contender has {server}, the load {client}", on(*cores)),
        }
    });
    let places: String = places.collect();
    Line::new(Harm::Fine, "cores", format!("{processors} of {physical}{places}"))
}

fn on(cores: Cores) -> &'static str {
    match cores {
        Cores::One => "on one core",
        Cores::All => "on all cores",
    }
}

fn backend(checkup: &Checkup) -> Line {
    let (what, found) = ("backend", &checkup.backend);
    if found == "io_uring" {
        return Line::new(Harm::Fine, what, found);
    }
    let advice = "io_uring costs the client less where it is permitted: Linux 6.1 or newer, \
                 `kernel.io_uring_disabled` 0, and no container that forbids it.";
    Line::new(Harm::Note, what, found).advise(advice)
}

/// Where a contender may find its port taken by a client.
fn contenders_port(checkup: &Checkup) -> Option<Line> {
    checkup.no_port.as_ref().map(|why| Line::new(Harm::Note, "a contender's port", why))
}

fn children(checkup: &Checkup) -> Line {
    let what = "a contender's processes";
    match checkup.lists_children {
        true => Line::new(Harm::Fine, what, "the kernel lists the children of each"),
        false => Line::new(Harm::Note, what, "found by the parents of all that can be seen")
            .advise(
                "The kernel lists no children (CONFIG_PROC_CHILDREN). With many other \
                 processes, that takes time of the load's processors.",
            ),
    }
}

fn leftovers(checkup: &Checkup) -> Line {
    let what = "leftovers";
    let Some(first) = checkup.leftovers.first() else {
        return Line::new(Harm::Fine, what, "nothing of a run that was killed");
    };
    let count = units::of(checkup.leftovers.len() as u64, "folder");
    let found = format!("{count} of a run that was killed, such as {}", first.display());
    Line::new(Harm::Note, what, found)
        .advise("The next run removes that, and ends what runs there.")
}

fn contenders(all: &[Tools]) -> Vec<Line> {
    let mut lines: Vec<Line> = all.iter().map(tools).collect();
    if !all.is_empty() && all.iter().all(|tools| tools.versions.is_err()) {
        let found = format!("not one of {} can be had", all.len());
        let line = Line::new(Harm::Nobody, "contenders", found);
        lines.push(line.advise("Install what one of them needs."));
    }
    lines
}

fn tools(tools: &Tools) -> Line {
    let name = &tools.contender;
    match &tools.versions {
        Err(missing) => Line::new(Harm::Note, name, format!("absent: {missing}")),
        Ok(versions) => {
            let told: Vec<_> = versions.iter().map(|version| version.says.as_str()).collect();
            let told = match told.is_empty() {
                true => "its tools are there".into(),
                false => told.join("; "),
            };
            let more = if tools.is_to_be_built { "; to be built" } else { "" };
            Line::new(Harm::Fine, name, told + more)
        }
    }
}

#[cfg(test)]
mod tests {
    use lab::trial::nobody::Room;
    use result::evidence::{
        Cgroup, ClientSide, ClientUse, CoreSpeed, Evidence, Limits, MachineUse, Place, Sample,
        ServerUse, ThreadUse, Work,
    };
    use result::plan::Version;

    use super::*;

    /// What is seen of a machine on which nothing is wrong.
    fn sound(place: Place) -> Evidence {
        let group = Some(Cgroup {
            hierarchies: vec!["v2".into(), "memory".into()],
            memory_pressure_share: Some(0.0),
            io_pressure_share: Some(0.0),
            ..Cgroup::default()
        });
        let sample =
            Sample { connections_established: Some(0), accept_queue: Some(0), ..Sample::default() };
        Evidence {
            place,
            work: Some(Work { seconds: 2.0, ..Work::default() }),
            clients: vec![ClientSide {
                busy_share: vec![0.0],
                run_delay_share: Some(vec![0.0]),
                ..ClientSide::default()
            }],
            samples: vec![sample; 2],
            server_cpu_s: Some(0.0),
            server_disk_write_bytes: Some(0),
            listen_drops: Some(0),
            others_cpu_s: Some(0.02),
            steal_share: Some(0.0),
            server: ServerUse {
                cgroup: group.clone(),
                threads: vec![ThreadUse { cpus: vec![0], ..ThreadUse::default() }],
                major_faults: Some(0),
                disk_read_bytes: Some(0),
                ..ServerUse::default()
            },
            client: Some(ClientUse {
                cgroup: group,
                disk_read_bytes: Some(0),
                disk_write_bytes: Some(0),
                ..ClientUse::default()
            }),
            limits: Limits { throttled_periods: Some(0), ..Limits::default() },
            machine: MachineUse {
                swap_in_bytes: Some(0),
                swap_out_bytes: Some(0),
                oom_kills: Some(0),
                memory_pressure_share: Some(0.0),
                io_pressure_share: Some(0.0),
                loopback_bytes: Some(0),
                ..MachineUse::default()
            },
            core_speeds: vec![CoreSpeed {
                cpu: 0,
                before: 800.0,
                after: 800.0,
                ..CoreSpeed::default()
            }],
            ..Evidence::default()
        }
    }

    fn place(server_cpus: &[usize], client_cpus: &[usize], cores: usize) -> Place {
        Place {
            server_cpus: server_cpus.into(),
            client_cpus: client_cpus.into(),
            cores: (0..cores).map(|cpu| vec![cpu]).collect(),
        }
    }

    fn tools(contender: &str, versions: Result<&str, &str>) -> Tools {
        let version = |says: &str| vec![Version { of: contender.into(), says: says.into() }];
        Tools {
            contender: contender.into(),
            versions: versions.map(version).map_err(String::from),
            is_to_be_built: false,
        }
    }

    /// A machine with these places, on which nothing is wrong, and what is seen in each after
    /// a change.
    fn with_places(places: [Place; 2], change: impl Fn(&mut Evidence)) -> Checkup {
        let [all, one] = places;
        let cpus: Vec<usize> = (0..all.cores.len()).collect();
        let places = vec![(Cores::All, all), (Cores::One, one)];
        let trials = places.iter().map(|(cores, place)| {
            let mut evidence = sound(place.clone());
            change(&mut evidence);
            Nobody::judged(*cores, evidence)
        });
        let loads = [true, false].map(|kept| Setting::closed(1_000, Cores::One, kept));
        let sysctl =
            [("net.core.somaxconn", "4096"), ("net.ipv4.ip_local_port_range", "32768 60999")];
        Checkup {
            trials: Ok(trials.collect()),
            machine: Machine {
                cpu: "A processor".into(),
                smt_siblings: cpus.iter().map(|&cpu| vec![cpu]).collect(),
                cpus,
                memory_bytes: Some(8 << 30),
                kernel: "Linux 6.18.0".into(),
                distribution: "Debian".into(),
                virtual_machine: Some(true),
                sysctl: sysctl.map(|(name, value)| (name.to_string(), value.to_string())).into(),
                ..Machine::default()
            },
            places,
            backend: "io_uring".into(),
            lists_children: true,
            no_port: None,
            leftovers: Vec::new(),
            runs: Room { at: "/runs".into(), is_writable: true, free_bytes: Some(20 << 30) },
            profiles: vec![Profile {
                name: Some("quick".into()),
                loads: loads.into(),
                refused: None,
            }],
            contenders: Some(vec![tools("go", Ok("go version go1.24"))]),
        }
    }

    fn after(change: impl Fn(&mut Evidence)) -> Checkup {
        with_places([place(&[0, 1], &[2, 3], 4), place(&[0], &[1, 2], 4)], change)
    }

    /// The lines that aren't fine, each with its word, and the exit code.
    fn said(checkup: &Checkup) -> (Vec<String>, u8) {
        let lines = lines(checkup);
        let told = lines.iter().filter(|line| line.harm > Harm::Fine);
        let told = told.map(|line| format!("{}: {}", line.harm.word(), line.sentence()));
        (told.collect(), worst(&lines).exit_code())
    }

    /// The only line that isn't fine, of a machine that can measure.
    #[track_caller]
    fn only(checkup: &Checkup) -> String {
        let (lines, code) = said(checkup);
        assert_eq!((lines.len(), code), (1, 0), "{lines:?}");
        lines.into_iter().next().unwrap()
    }

    #[test]
    fn cores_that_the_machine_does_not_tell_are_not_counted() {
        let mut checkup = after(|_| {});
        let told = |checkup: &Checkup| cores(checkup).found;
        assert!(told(&checkup).starts_with("4 processors of 4 cores;"), "{}", told(&checkup));
        checkup.machine.smt_siblings.clear();
        let says = "4 processors of cores that the machine doesn't tell;";
        assert!(told(&checkup).starts_with(says), "{}", told(&checkup));
    }

    #[test]
    fn of_a_machine_on_which_nothing_is_wrong_each_line_is_fine() {
        let checkup = after(|_| {});
        let text = text(&checkup.machine, &lines(&checkup), Terminal::default());
        insta::assert_snapshot!(text, @"
        A processor, 8.00 GiB of memory, Linux 6.18.0, Debian, a virtual machine

        fine         a trial of nobody: was started, watched and stopped
        fine         room for runs: 20.0 GiB in /runs
        fine         open files: enough for 1,000 connections
        fine         shared-cores: none shared
        fine         quiet-machine: others 0.01 cores, steal 0.0 %
        fine         memory: 0 bytes swapped, 0 faults a second
        fine         pressure: memory 0.0 %, disk 0.0 %
        fine         frequency: 800 steps a µs before, 800 after, on processor 0
        fine         sensors: there for load-arrived, client-limit, server-cores, cpu-quota, network
        fine         control groups: v2, memory
        fine         listen queue: 4,096 connections may wait (net.core.somaxconn)
        fine         ports: 28,232 for the client (net.ipv4.ip_local_port_range)
        fine         cores: 4 processors of 4 cores; on all cores the contender has 2, the load 2; on one core the contender has
                     1, the load 2
        fine         backend: io_uring
        fine         a contender's processes: the kernel lists the children of each
        fine         leftovers: nothing of a run that was killed
        fine         go: go version go1.24

        Nothing stands in the way.
        ");
        assert_eq!(said(&checkup).1, 0);
    }

    #[test]
    fn a_missing_sensor_is_told_with_the_check_that_it_silences() {
        let unchecked = only(&after(|it| it.steal_share = None));
        insta::assert_snapshot!(unchecked, @"not checked: quiet-machine: What the host took is not known.");
        let unchecked = only(&after(|it| it.listen_drops = None));
        insta::assert_snapshot!(unchecked, @"not checked: load-arrived: Overflows of listen queues couldn't be counted.");
        let sensors = lines(&after(|it| it.listen_drops = None));
        let sensors = sensors.iter().find(|line| line.what == "sensors").unwrap();
        assert!(!sensors.found.contains("load-arrived"), "{}", sensors.found);
    }

    #[test]
    fn a_busy_machine_comes_first_and_decides_the_exit_code() {
        let (lines, code) = said(&after(|it| {
            it.others_cpu_s = Some(1.8);
            it.core_speeds[0].after = 600.0;
        }));
        assert!(lines[0].starts_with("invalid: quiet-machine: others 0.90 cores, "), "{lines:?}");
        assert!(lines[0].contains(". Stop what else runs on the machine"), "{lines:?}");
        assert!(lines[1].starts_with("suspect: frequency: 800 steps a µs before, 600 after"));
        assert_eq!((lines.len(), code), (2, 3));
    }

    #[test]
    fn cores_that_are_shared_on_all_of_them_only_are_told_so() {
        let two = with_places([place(&[0, 1], &[0, 1], 2), place(&[0], &[1], 2)], |_| {});
        let (lines, code) = said(&two);
        assert!(lines[0].starts_with("suspect: shared-cores on all cores: cpu 0, 1 shared. Use "));
        assert!(lines[1].starts_with("not checked: client-limit on all cores: Client and server "));
        assert_eq!((lines.len(), code), (2, 0), "{lines:?}");
        let one = with_places([place(&[0], &[0], 1), place(&[0], &[0], 1)], |_| {});
        assert!(said(&one).0[0].starts_with("suspect: shared-cores: cpu 0 shared. Use "));
    }

    #[test]
    fn without_control_groups_it_is_said_what_gives_them() {
        let line = only(&after(|it| it.client.as_mut().unwrap().cgroup = None));
        assert!(line.starts_with("not checked: control groups: none for contender and client: "));
        assert!(line.contains("`systemd-run --user --scope -p Delegate=yes "), "{line}");
        let on_all = |it: &mut Evidence| {
            if it.place.server_cpus.len() == 2 {
                it.server.cgroup = None;
            }
        };
        let line = only(&after(on_all));
        assert!(line.contains("none for contender and client on all cores: "), "{line}");
        let (lines, _) = said(&after(|it| *it = Evidence::default()));
        let groups = lines.iter().filter(|line| line.contains("control groups:"));
        assert_eq!(groups.count(), 0, "of a window that wasn't seen nothing is known: {lines:?}");
    }

    #[test]
    fn a_quota_is_told_before_it_is_used_up() {
        let line = only(&after(|it| it.limits.cpu_quota_cores = Some(1.5)));
        assert!(line.starts_with("suspect: CPU quota: 1.5 cores for 4 processors: "), "{line}");
        let (lines, _) = said(&after(|it| it.limits.cpu_quota_cores = Some(4.0)));
        assert!(lines.is_empty(), "it takes nothing away: {lines:?}");
    }

    #[test]
    fn a_machine_on_which_no_trial_can_be_made_stops_a_run() {
        let mut checkup = after(|_| {});
        checkup.trials = Err("none of 100 ports tried is free".into());
        let (lines, code) = said(&checkup);
        assert_eq!(lines, ["stops: a trial of nobody: none of 100 ports tried is free"]);
        assert_eq!(code, 4);
    }

    #[test]
    fn results_that_cant_be_written_stop_a_run_and_little_room_does_not() {
        let mut checkup = after(|_| {});
        checkup.runs.free_bytes = Some(1 << 20);
        let line = only(&checkup);
        assert!(line.starts_with("note: room for runs: 1.00 MiB in /runs. Make room"), "{line}");
        checkup.runs.is_writable = false;
        let (lines, code) = said(&checkup);
        assert!(lines[0].starts_with("stops: room for runs: nothing can be written to /runs. "));
        assert_eq!((lines.len(), code), (1, 4));
    }

    #[test]
    fn too_few_open_files_stop_a_run_where_no_profile_is_left() {
        let mut checkup = after(|_| {});
        let profile = |name: Option<&str>, refused: &str| Profile {
            name: name.map(String::from),
            loads: Vec::new(),
            refused: Some(refused.into()),
        };
        checkup.profiles.push(profile(Some("full"), "run `ulimit -n 5070` first"));
        assert_eq!(only(&checkup), "note: open files: profile `full`: run `ulimit -n 5070` first");
        checkup.profiles[0].refused = Some("run `ulimit -n 1070` first".into());
        assert_eq!(said(&checkup).1, 4);
        checkup.contenders = None;
        checkup.profiles = vec![profile(None, "run `ulimit -n 5070` first")];
        assert_eq!(only(&checkup), "note: open files: run `ulimit -n 5070` first");
    }

    #[test]
    fn a_load_that_the_kernels_settings_have_no_place_for_is_told_with_its_profile() {
        let mut checkup = after(|_| {});
        let loads = |kept| vec![Setting::closed(5_000, Cores::One, kept)];
        let profile = |loads| Profile { name: Some("full".into()), loads, refused: None };
        checkup.profiles.push(profile(loads(false)));
        let line = only(&checkup);
        assert!(line.starts_with("suspect: listen queue: 4,096 connections may wait "), "{line}");
        assert!(line.contains(" 5,000 are opened at once in the profile `full`, one a "), "{line}");
        assert!(line.ends_with(" As root: `sysctl -w net.core.somaxconn=8192`."), "{line}");
        checkup.profiles[1] = profile(loads(true));
        assert!(said(&checkup).0.is_empty(), "kept connections are opened a few at a time");
        checkup.machine.sysctl[1].1 = "40000 41999".into();
        let line = only(&checkup);
        assert!(line.starts_with("suspect: ports: 2,000 for the client "), "{line}");
        assert!(line.contains(" 5,000 kept connections in the profile `full` take one "), "{line}");
        let many = vec![Setting::closed(30_000, Cores::One, true)];
        checkup.profiles[1] = profile(many);
        assert!(said(&checkup).0.is_empty(), "so many have source addresses of their own");
    }

    #[test]
    fn who_is_absent_is_told_and_harms_only_if_nobody_is_left() {
        let mut checkup = after(|it| it.others_cpu_s = Some(1.8));
        let all = checkup.contenders.as_mut().unwrap();
        all.push(tools("node", Err("`node` is not installed; on Debian: apt-get install nodejs")));
        let (lines, code) = said(&checkup);
        assert_eq!(
            lines[1],
            "note: node: absent: `node` is not installed; on Debian: apt-get install nodejs"
        );
        assert_eq!(code, 3);
        checkup.contenders.as_mut().unwrap().remove(0);
        let (lines, code) = said(&checkup);
        assert!(lines[0].starts_with("nobody: contenders: not one of 1 can be had"), "{lines:?}");
        assert_eq!(code, 1);
    }

    #[test]
    fn how_a_contenders_processes_are_found_and_a_port_that_may_be_taken_are_told() {
        let mut checkup = after(|_| {});
        checkup.lists_children = false;
        let line = only(&checkup);
        let says = "note: a contender's processes: found by the parents of all that can be seen. ";
        assert!(line.starts_with(says), "{line}");
        let mut checkup = after(|_| {});
        checkup.no_port = Some("every port is given to clients".into());
        assert_eq!(only(&checkup), "note: a contender's port: every port is given to clients");
    }

    #[test]
    fn epoll_and_leftovers_are_told_and_harm_nothing() {
        let mut checkup = after(|_| {});
        checkup.backend = "epoll (io_uring: Operation not permitted)".into();
        let line = only(&checkup);
        assert!(line.starts_with("note: backend: epoll (io_uring: Operation not permitted). "));
        checkup.backend = "io_uring".into();
        checkup.leftovers = vec!["/tmp/bakeoff-1-2-3-000000000000".into()];
        let line = only(&checkup);
        assert!(line.starts_with("note: leftovers: 1 folder of a run that was killed, such as "));
    }
}
