//! The machine as a run would find it.

use lab::trial::nobody::Checkup;
use report::units;
use result::evidence::cpu_list;

use super::line::{Harm, Line, on};

/// With less room than this, in bytes, a line says so. A contender's build may take
/// hundreds of MB, and a trial some 10 kB.
const ROOM_MIN: u64 = 1 << 30;

pub fn runs(checkup: &Checkup) -> Line {
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
        Line::note(what, found).advise(advice)
    } else {
        Line::fine(what, found)
    }
}

/// What stores write to.
pub fn data(checkup: &Checkup) -> Line {
    let (what, (folder, file_system)) = ("data of stores", &checkup.data);
    let on = file_system.as_ref().map_or("an unknown file system", |it| &*it.name);
    let found = format!("in {}, on {on}", folder.display());
    if file_system.as_ref().is_some_and(|it| it.in_memory) {
        let advice = "There a sync costs nothing, so a store that survives a machine's stop has \
                     invalid figures. Set `TMPDIR` to a folder on a disk.";
        Line::note(what, found).advise(advice)
    } else {
        Line::fine(what, found)
    }
}

/// The processors as they are described, which is all that the places below follow from.
pub fn processors(checkup: &Checkup) -> Line {
    let machine = &checkup.machine;
    let processors = units::of(machine.cpus.len() as u64, "processor");
    let physical = match machine.smt_siblings.len() {
        0 => "cores that the machine doesn't tell".into(),
        count => units::of(count as u64, "core"),
    };
    let nodes = match machine.numa_nodes.len() {
        0 | 1 => String::new(),
        count => format!(" on {count} NUMA nodes"),
    };
    let speeds: Vec<String> = machine.speeds.iter().map(|group| cpu_list(group)).collect();
    let speeds = match &speeds[..] {
        [] | [_] => String::new(),
        [fastest, slower @ ..] => {
            format!("; CPU {fastest} faster than CPU {}", slower.join(", than CPU "))
        }
    };
    let quota = machine
        .cpu_quota_cores
        .map_or(String::new(), |quota| format!("; a CPU quota of {} cores", units::plain(quota)));
    Line::fine("processors", format!("{processors} of {physical}{nodes}{speeds}{quota}"))
}

/// Who is given which.
pub fn cores(checkup: &Checkup) -> Line {
    let places = checkup
        .places
        .iter()
        .map(|(cores, place)| format!("{} {}", on(*cores), place.in_words(&checkup.machine)));
    Line::fine("cores", places.collect::<Vec<_>>().join("; "))
}

pub fn backend(checkup: &Checkup) -> Line {
    let (what, found) = ("backend", &checkup.backend);
    if found == "io_uring" {
        return Line::fine(what, found);
    }
    let advice = "io_uring costs the client less where it is permitted: Linux 6.1 or newer, \
                 `kernel.io_uring_disabled` 0, and no container that forbids it.";
    Line::note(what, found).advise(advice)
}

pub fn leftovers(checkup: &Checkup) -> Line {
    let what = "leftovers";
    let Some(first) = checkup.leftovers.first() else {
        return Line::fine(what, "nothing of a run that was killed");
    };
    let count = units::of(checkup.leftovers.len() as u64, "folder");
    let found = format!("{count} of a run that was killed, such as {}", first.display());
    Line::note(what, found).advise("The next run removes that, and ends what runs there.")
}
