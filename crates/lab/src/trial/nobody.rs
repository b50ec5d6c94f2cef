//! What a run would meet here, before anybody waits for one.
//!
//! What can be tried is tried. A *trial of nobody* goes through keeper, folder, control
//! groups, pinning and sampling as any other does: in the place of a contender a program
//! that sleeps, and a client that is given no load. So a sensor is missing here where it
//! would be missing there, and the checks themselves say what they would make of it.
//!
//! Nothing is built, and nothing is removed that an earlier run left.

use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use judge::checks;
use keeper::affinity::Moved;
use keeper::leftovers;
use keeper::process_tree;
use keeper::{Order, Scratch};
use load::{Moment, Stop};
use result::evidence::{ClientSide, Evidence, FileSystem, Place, Work};
use result::finding::Finding;
use result::plan::{Cores, Machine, Pace, Setting, Slot, Version};
use rustix::fs::{Access, access, statvfs};

use crate::drive::Passage;
use crate::drive::client::Client;
use crate::drive::generator::allow_connections;
use crate::place::disk;
use crate::place::machine;
use crate::place::ports::ForClients;
use crate::place::reach::Reach;
use crate::place::yardstick;
use crate::place::{Host, ThisMachine};
use crate::ready;
use crate::ready::programs;
use crate::sample::{Expected, Sampler};
use crate::study::contender::Contender;
use crate::study::{Profile, Study};

/// What stands for a contender: a program that every POSIX system has, and that outlives
/// the look at it.
const NOBODY: [&str; 2] = ["sleep", "60"];
/// For how long the machine is watched in each of them: time for two readings of all.
const WINDOW: Duration = Duration::from_millis(1500);
/// How often an order to stop is looked for.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Connections that are looked at where no study says how many: the most of 2009's test.
const CONNECTIONS: u32 = 5_000;

/// What was found.
#[derive(Debug)]
pub struct Checkup {
    /// What the machine tells of itself.
    pub machine: Machine,
    /// Each way to give cores that there is here, and who has which then.
    pub places: Vec<(Cores, Place)>,
    /// A trial of nobody in each of them, or why none can be made.
    pub trials: Result<Vec<Nobody>, String>,
    /// The backend of the load's client, and why it is not io_uring, if it isn't.
    pub backend: String,
    /// Whether the kernel lists the children of a process; else those of a contender are found
    /// by the parents of all processes.
    pub lists_children: bool,
    /// Why there is no port for contenders that the kernel gives to no client, if so.
    pub no_port: Option<String>,
    /// What dead runs left, which the next one removes.
    pub leftovers: Vec<PathBuf>,
    /// Where runs are kept.
    pub runs: Room,
    /// Where stores have their data, and what that lies on.
    pub data: (PathBuf, Option<FileSystem>),
    /// What a study asks for. Without one, many connections, kept and not.
    pub profiles: Vec<Demands>,
    /// The contenders of the study, if there is one.
    pub contenders: Option<Vec<Tools>>,
}

/// A trial of nobody.
#[derive(Debug)]
pub struct Nobody {
    /// How many cores a contender would have had.
    pub cores: Cores,
    /// What was seen.
    pub evidence: Evidence,
    /// What the checks of the place say of it, in the same order for every trial.
    pub findings: Vec<Finding>,
}

/// A folder that may still have to be made.
#[derive(Debug)]
pub struct Room {
    /// The folder, or the nearest one above it that is there.
    pub at: PathBuf,
    /// Whether something can be made in that.
    pub is_writable: bool,
    /// Bytes that are free there; `None` where the system doesn't tell.
    pub free_bytes: Option<u64>,
}

/// What is asked of the machine.
#[derive(Debug)]
pub struct Demands {
    /// Its name in the study.
    pub name: Option<String>,
    /// The loads of its closed loop, which are those of its open loops as well.
    pub loads: Vec<Setting>,
    /// Why the client may not open so many connections.
    pub refused: Option<String>,
}

/// Whether a contender can be had.
#[derive(Debug)]
pub struct Tools {
    /// Its name.
    pub contender: String,
    /// The versions that its tools tell, or what is missing and what gives it.
    pub versions: Result<Vec<Version>, String>,
    /// Whether it has to be built first.
    pub is_to_be_built: bool,
}

/// Looks at the machine, and at what a study needs of it. It takes a few seconds; after an
/// order to stop, what it says is nothing.
pub fn look(study: Option<&Study>, runs: &Path, stop: &Stop) -> Checkup {
    let machine = machine::describe();
    let here = ThisMachine::new(&machine);
    let ways = here.ways();
    // First, while bakeoff itself does nothing else.
    let trials = ways.iter().map(|&cores| Nobody::watched(&here, cores, stop)).collect();
    Checkup {
        trials,
        places: ways.into_iter().map(|cores| (cores, here.split(cores))).collect(),
        machine,
        backend: load::chosen_backend(),
        lists_children: process_tree::kernel_lists_children(),
        no_port: ForClients::of_this_machine().complaint(),
        leftovers: leftovers::found(),
        runs: Room::of(runs),
        data: {
            let folder = disk::folder_for_data();
            let file_system = disk::file_system(&folder);
            (folder, file_system)
        },
        profiles: profiles(study),
        contenders: study.map(|study| {
            let contenders = study.contenders.iter().take_while(|_| !stop.asked());
            contenders.map(Tools::of).collect()
        }),
    }
}

impl Nobody {
    /// Makes one.
    ///
    /// # Errors
    /// One sentence, where no contender could be started either.
    fn watched(here: &ThisMachine, cores: Cores, stop: &Stop) -> Result<Nobody, String> {
        let place = here.split(cores);
        let address = here.free_address()?;
        let kept = here.start(&Order {
            scratch: Some(Scratch { path: here.scratch(), files: Vec::new() }),
            cgroup: here.cgroup(&place),
            client_cgroup: here.cgroup(&place),
            cpus: place.server_cpus.clone(),
            ..Order::tool(NOBODY.map(String::from).into(), programs::environment())
        })?;
        let cpus = place.server_cpus.clone();
        let speeds_before = here.speeds(&cpus);
        let _moved = Moved::to(&place.client_cpus);
        let reach = Reach { group: kept.client_cgroup().clone(), cpus: place.client_cpus.clone() };
        let client = Client::start(reach).map_err(|error| error.to_string())?;
        let expected = Expected { kept: Some(0), warmup: Duration::ZERO, window: WINDOW };
        let sampler =
            Sampler::start(&kept, Some(&client.outside()), address.port(), expected, &place);
        let began = Moment::now();
        sampler.pass(Passage::Begins { until: Instant::now() + WINDOW });
        while began.elapsed() < WINDOW && !stop.asked() {
            sleep(LOOK_EVERY);
        }
        let window = began.elapsed();
        let mut evidence = Evidence { place, ..Evidence::default() };
        sampler.finish(began, window, &mut evidence);
        // Its client's thread had nothing to do. How long it waited, the kernel tells where it
        // does so of the contender's.
        evidence.work = Some(Work { seconds: window.as_secs_f64(), ..Work::default() });
        evidence.clients = vec![ClientSide {
            busy_share: vec![0.0],
            run_delay_share: evidence.server.run_delay_s.map(|_| vec![0.0]),
            ..ClientSide::default()
        }];
        evidence.core_speeds = yardstick::both(&cpus, &speeds_before, &here.speeds(&cpus));
        drop(client);
        kept.stop(0)?;
        Ok(Nobody::judged(cores, evidence))
    }

    /// With what the checks say of it.
    pub fn judged(cores: Cores, evidence: Evidence) -> Nobody {
        // An open loop: in a closed one, a processor that rests would be at fault.
        let setting = Setting::closed(0, cores, true).with(Pace::Equal { percent: 0 });
        let slot = Slot { number: 0, block: 0, contender: String::new(), twin: false, setting };
        let findings = checks::judge_place(&slot, &evidence);
        Nobody { cores, evidence, findings }
    }
}

impl Room {
    fn of(folder: &Path) -> Room {
        let whole = std::path::absolute(folder).unwrap_or_default();
        let at = whole.ancestors().find(|path| path.exists()).unwrap_or(Path::new("/"));
        Room {
            at: at.into(),
            is_writable: at.is_dir() && access(at, Access::WRITE_OK).is_ok(),
            free_bytes: statvfs(at).ok().map(|it| it.f_bavail.saturating_mul(it.f_frsize)),
        }
    }
}

fn profiles(study: Option<&Study>) -> Vec<Demands> {
    let loads: Vec<(Option<String>, Vec<Setting>)> = match study {
        Some(study) => {
            let profiles = study.file.profile.iter();
            let loads = |it: &Profile| [it.free_settings(), it.fixed_settings()].concat();
            profiles.map(|(name, it)| (Some(name.clone()), loads(it))).collect()
        }
        None => {
            let modes = [true, false];
            vec![(None, modes.map(|kept| Setting::closed(CONNECTIONS, Cores::One, kept)).into())]
        }
    };
    let profile = |(name, loads): (Option<String>, Vec<Setting>)| {
        let refused = allow_connections(loads.iter()).err().map(|error| error.to_string());
        Demands { name, loads, refused }
    };
    loads.into_iter().map(profile).collect()
}

impl Tools {
    fn of(contender: &Contender) -> Tools {
        Tools {
            contender: contender.name.clone(),
            versions: ready::tools(contender),
            is_to_be_built: !ready::is_built(contender),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_folder_is_to_be_made_the_nearest_that_is_there_counts() {
        let tmp = tempfile::tempdir().unwrap();
        let room = Room::of(&tmp.path().join("runs/of/today"));
        assert_eq!((&*room.at, room.is_writable), (tmp.path(), true));
        assert!(room.free_bytes.is_some(), "the kernel tells it of every folder");
        std::fs::write(tmp.path().join("runs"), "").unwrap();
        let room = Room::of(&tmp.path().join("runs/of/today"));
        assert_eq!(room.at, tmp.path().join("runs"));
        assert!(!room.is_writable, "a file has no room for folders");
    }

    #[test]
    fn where_nothing_was_seen_nothing_is_called_valid() {
        let nobody = Nobody::judged(Cores::All, Evidence::default());
        assert!(!nobody.findings.is_empty());
        for finding in nobody.findings {
            assert_eq!(finding.verdict, result::finding::Verdict::NotChecked, "{finding:?}");
        }
    }
}
