//! `bakeoff durability` as its users see it, with stores that lie in one way each.
//!
//! What needs root, loop devices or FUSE is skipped where bakeoff itself says why it can't be
//! checked.

use std::fs;
use std::panic::resume_unwind;
use std::time::Duration;

use keeper::process_tree::descendants;
use result::durability::{Class, Cut, CutVerdict, Durability, Rung};
use rustix::process::{Pid, Signal, kill_process};

use super::fixture::{Lab, skipped};

const EATMYDATA: &str = "/usr/lib/x86_64-linux-gnu/libeatmydata.so";

/// A study of stores with one that is the test's own, in this mode. It promises to lose nothing.
pub fn lab_with(mode: &str, environment: &str) -> Lab {
    let lab = Lab::of_stores();
    let program = ("durable.py", include_str!("../fixture/durable.py"));
    let run = lab.python("studies/s/it", program, mode);
    let more = format!(
        "needs = {{ python3 = \"python3\" }}\nspeaks = \"memcached\"\n{environment}\n[promises]\n\
         process_s = 0\nmachine_s = 0\npower_s = 0\nsource = \"its own words\""
    );
    lab.contender("it", &run, &more);
    if mode == "no-checksum" {
        // A record of several pages is sooner cut within.
        lab.change_study("value_bytes = [100]", "value_bytes = [20_000]");
    }
    lab
}

/// What is seen of the only contender; `None` where a part of it can't be checked here.
fn seen(lab: &Lab, rungs: &str, cuts: u32) -> Option<Durability> {
    let cuts = cuts.to_string();
    let said = lab.bakeoff(&["durability", "s/it", "--rung", rungs, "--cuts", &cuts, "--json"]);
    if said.is_absent() {
        skipped("skipped", said.stderr.trim_end());
        return None;
    }
    let seen: Vec<Durability> =
        serde_json::from_str(&said.stdout).unwrap_or_else(|error| panic!("{error}: {said:?}"));
    let [seen] = &seen[..] else { panic!("one contender was asked for: {said:?}") };
    lab.assert_nothing_is_left();
    let why_not = seen.rungs.iter().find_map(|seen| match &seen.verdict {
        CutVerdict::NotChecked(why) => Some(why),
        _ => None,
    });
    if let Some(why) = why_not {
        skipped("skipped", why);
        return None;
    }
    let broke = |seen: &result::durability::RungSeen| seen.kept_promise == Some(false);
    let expected = if seen.rungs.iter().any(broke) { 1 } else { 0 };
    assert_eq!(said.code, Some(expected), "{said:?}");
    Some(seen.clone())
}

/// What is seen of such a store on each of these rungs, all at once: a cut waits nearly all the
/// time.
fn seen_at_once(lab: impl Fn() -> Lab + Sync, rungs: [Rung; 2]) -> Option<[Durability; 2]> {
    std::thread::scope(|scope| {
        let lab = &lab;
        let test = std::thread::current().name().unwrap_or_default().to_string();
        let on = rungs.map(|rung| {
            // What is skipped is told by the test's name.
            let thread = std::thread::Builder::new().name(test.clone());
            thread.spawn_scoped(scope, move || seen(&lab(), rung.name(), 2)).unwrap()
        });
        let [first, second] = on.map(|it| it.join().unwrap_or_else(|why| resume_unwind(why)));
        Some([first?, second?])
    })
}

fn verdict(seen: &Durability, rung: Rung) -> &CutVerdict {
    &seen.rungs.iter().find(|seen| seen.rung == rung).expect("it was asked for").verdict
}

/// Has stores found out on one rung that lose only what comes between two moments, which a cut
/// may miss: so several are made, until one hits.
fn found_out(mode: &str, rung: Rung, is_it: impl Fn(&Cut) -> bool) {
    let lab = lab_with(mode, "");
    for _ in 0..5 {
        let Some(seen) = seen(&lab, rung.name(), 4) else { return };
        if seen.rungs[0].cuts.iter().any(&is_it) {
            assert_eq!(seen.rungs[0].kept_promise, Some(false));
            return;
        }
    }
    panic!("{mode}: nothing wrong was seen in 20 cuts");
}

#[test]
fn a_store_that_keeps_nothing_is_found_out_where_its_process_dies() {
    let lab = lab_with("null", "");
    let Some(seen) = seen(&lab, "process", 1) else { return };
    let cut = &seen.rungs[0].cuts[0];
    assert!(cut.acknowledged > 0 && cut.lost == cut.acknowledged, "{cut:?}");
    assert!(cut.lost_span_s.is_some_and(|span| span > cut.moment_s / 2.0), "{cut:?}");
    assert_eq!((seen.class, seen.rungs[0].kept_promise), (Some(Class::None), Some(false)));
}

#[test]
fn a_store_that_syncs_every_write_loses_none_on_any_rung() {
    let lab = lab_with("honest", "");
    let Some(seen) = seen(&lab, "process,machine,power", 2) else { return };
    assert_eq!(seen.class, Some(Class::Power), "{seen:?}");
    assert!(seen.rungs.iter().all(|rung| rung.kept_promise == Some(true)), "{seen:?}");
}

#[test]
fn sqlite_loses_nothing_with_a_full_sync() {
    let rungs = [Rung::Machine, Rung::Power];
    let Some(seen) = seen_at_once(|| lab_with("sqlite", ""), rungs) else { return };
    for (seen, rung) in seen.iter().zip(rungs) {
        assert_eq!(verdict(seen, rung), &CutVerdict::Kept, "{seen:?}");
    }
}

#[test]
fn a_store_whose_syncs_do_nothing_is_found_out_where_its_machine_stops() {
    if !fs::exists(EATMYDATA).unwrap() {
        return skipped("skipped", "libeatmydata is not installed");
    }
    let lab = lab_with("honest", &format!("environment = {{ LD_PRELOAD = \"{EATMYDATA}\" }}"));
    let Some(seen) = seen(&lab, "process,machine", 1) else { return };
    assert_eq!(verdict(&seen, Rung::Process), &CutVerdict::Kept, "its process took nothing along");
    assert!(!matches!(verdict(&seen, Rung::Machine), CutVerdict::Kept), "{seen:?}");
    assert_eq!(seen.class, Some(Class::Process));
}

/// A wrong path in a configuration is enough: what was synced there lies on no disk that was cut
/// off, or on none at all.
#[test]
fn a_store_whose_data_lie_elsewhere_survives_nothing_by_that() {
    let lab = lab_with("in-memory", "");
    if let Some(seen) = seen(&lab, "machine", 1) {
        let cut = &seen.rungs[0].cuts[0];
        assert!(cut.acknowledged > 0 && cut.lost == cut.acknowledged, "{cut:?}");
    }
    let lab = lab_with("in-source", "");
    let said = lab.bakeoff(&["durability", "s/it", "--rung", "machine", "--cuts", "1", "--json"]);
    if said.is_absent() {
        return skipped("skipped", said.stderr.trim_end());
    }
    let seen: Vec<Durability> = serde_json::from_str(&said.stdout).unwrap();
    let CutVerdict::NotChecked(why) = &seen[0].rungs[0].verdict else { panic!("{seen:?}") };
    match why.strip_prefix("its data lie elsewhere: ") {
        Some(what) => assert!(what.starts_with("started on "), "{why}"),
        None => skipped("skipped", why),
    }
}

/// An empty disk has no name that leads to them: only an older one tells them from the disk's own.
#[test]
fn a_store_whose_data_lie_elsewhere_by_a_name_on_its_disk_survives_nothing_by_that() {
    let lab = lab_with("by-marker", "");
    for rung in ["machine", "power"] {
        let said = lab.bakeoff(&["durability", "s/it", "--rung", rung, "--cuts", "1", "--json"]);
        if said.is_absent() {
            return skipped("skipped", said.stderr.trim_end());
        }
        lab.assert_nothing_is_left();
        let seen: Vec<Durability> = serde_json::from_str(&said.stdout).unwrap();
        let CutVerdict::NotChecked(why) = &seen[0].rungs[0].verdict else { panic!("{seen:?}") };
        match why.strip_prefix("its data lie elsewhere: ") {
            Some(what) => assert!(
                what.starts_with("started on its disk as it was before, it has key:"),
                "{rung}: {why}"
            ),
            None => skipped("skipped in part", why),
        }
    }
}

#[test]
#[ignore = "it takes up to 20 cuts: `make check-durability`"]
fn a_store_that_syncs_every_tenth_time_is_found_out() {
    found_out("every-tenth", Rung::Machine, |cut| cut.lost > 0);
}

#[test]
#[ignore = "it takes up to 20 cuts: `make check-durability`"]
fn a_store_that_doesnt_sync_its_folder_is_found_out() {
    found_out("forgets-folder", Rung::Machine, |cut| cut.lost > 0);
}

#[test]
#[ignore = "it takes up to 20 cuts: `make check-durability`"]
fn a_store_without_checksums_is_found_out_that_is_cut_off_within_a_record() {
    found_out("no-checksum", Rung::Machine, |cut| cut.corrupt > 0);
}

#[test]
fn a_store_that_never_has_the_disk_flushed_is_found_out_where_the_power_goes() {
    let rungs = [Rung::Machine, Rung::Power];
    let Some([machine, power]) = seen_at_once(|| lab_with("no-flush", ""), rungs) else { return };
    assert_eq!(verdict(&machine, Rung::Machine), &CutVerdict::Kept, "the disk itself was honest");
    assert_eq!(power.rungs[0].worst_cuts(), 2, "{power:?}");
}

/// Redis with a log that it syncs so often.
fn redis(appendfsync: &str) -> Lab {
    let lab = Lab::of_stores();
    let run = format!(
        "[\"redis-server\", \"--bind\", \"$HOST\", \"--port\", \"$PORT\", \"--dir\", \"$DIR\", \
         \"--save\", \"\", \"--appendonly\", \"yes\", \"--appendfsync\", \"{appendfsync}\"]"
    );
    let more = "needs = { redis-server = \"redis-server\" }\nspeaks = \"redis\"";
    lab.contender("it", &run, more);
    lab
}

/// Not with `everysec`: while a sync goes on, Redis keeps its log's newest writes back for up to 2 s
/// and acknowledges them.
#[test]
fn redis_keeps_what_is_in_its_log_where_its_process_dies() {
    let Some(seen) = seen(&redis("no"), "process", 2) else { return };
    assert_eq!(verdict(&seen, Rung::Process), &CutVerdict::Kept, "{seen:?}");
    let how: Vec<_> = seen.rungs[0].cuts.iter().map(|cut| cut.how.as_deref()).collect();
    assert_eq!(how, [None, Some("in the middle of BGREWRITEAOF")]);
    assert_eq!(seen.rungs[0].kept_promise, None, "it promised nothing here");
}

#[test]
fn redis_loses_nothing_that_it_always_synced() {
    let rungs = [Rung::Machine, Rung::Power];
    let Some(seen) = seen_at_once(|| redis("always"), rungs) else { return };
    for (seen, rung) in seen.iter().zip(rungs) {
        assert_eq!(verdict(seen, rung), &CutVerdict::Kept, "{seen:?}");
    }
}

#[test]
fn people_read_a_table_and_what_it_means() {
    let lab = lab_with("null", "");
    let said = lab.bakeoff(&["durability", "s/it", "--rung", "process", "--cuts", "1"]);
    if said.is_absent() {
        return skipped("skipped", said.stderr.trim_end());
    }
    assert_eq!(said.code, Some(1), "{said:?}");
    for part in [" its process dies  lost, 1 of 1 cut ", "broken", "\nClass: none.\n"] {
        assert!(said.stdout.contains(part), "{part}\n{}", said.stdout);
    }
    let words: Vec<&str> = said.stdout.split_whitespace().collect();
    assert!(words.join(" ").contains("and afterwards there was nothing"), "{}", said.stdout);
    assert!(said.stderr.contains("\n  its process dies, 1 of 1: "), "{}", said.stderr);
}

#[test]
fn what_is_no_store_is_refused_before_anything_is_started() {
    let lab = Lab::with_good();
    for (name, says) in [
        ("s/good", "s/good is no store: its contender.toml has no `speaks`"),
        ("good", "give study and contender, for example web/go"),
        ("s/nobody", "nobody"),
    ] {
        let said = lab.bakeoff(&["durability", name]);
        assert_eq!(said.code, Some(2), "{said:?}");
        said.assert_complains(&[says]);
    }
    assert!(lab.servers().is_empty(), "somebody was started");
}

#[test]
fn a_store_that_cant_start_or_acknowledges_nothing_is_not_checked() {
    let lab = lab_with("no-such-mode", "");
    let said = lab.bakeoff(&["durability", "s/it", "--rung", "process", "--cuts", "2"]);
    if said.is_absent() {
        return skipped("skipped", said.stderr.trim_end());
    }
    assert_eq!(said.code, Some(3), "{said:?}");
    said.assert_complains(&["not checked: it doesn't start: it ended with exit code 1"]);
    lab.assert_nothing_is_left();
}

/// Whether a loop device or a mount has to do with this folder, or with a file in it that has
/// no name.
fn is_used(lab: &Lab) -> bool {
    let folder = lab.dir.path().display().to_string();
    let devices = fs::read_dir("/sys/block").unwrap().flatten();
    let mut files = devices
        .filter_map(|device| fs::read_to_string(device.path().join("loop/backing_file")).ok());
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    mounts.contains(&folder) || files.any(|file| file.contains(&folder))
}

/// The processes that make cuts here, with their disks.
fn cutting(lab: &Lab) -> Vec<i32> {
    let subcommands = [durability::cut::SUBCOMMAND, durability::forgetful::SUBCOMMAND];
    subcommands.iter().flat_map(|subcommand| lab.living(subcommand)).collect()
}

/// Whether a process is gone, or nothing is left to do but for its parent. One that can't end
/// waits within its last thread, without a command line.
fn has_ended(pid: i32) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { return true };
    let threads = fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count);
    stat.contains(") Z ") && threads <= 1
}

/// Starts to cut stores off in this way, and kills bakeoff in the middle of it; with `all`,
/// all that it started as well, so that nobody is left to clean up.
fn kill_in_the_middle(lab: &Lab, rung: Rung, all: bool) {
    let arguments = ["durability", "s/it", "--rung", rung.name(), "--cuts", "1000"];
    let mut bakeoff = lab.start(&arguments);
    lab.wait_until("there is a disk, or none can be had", || {
        let mut folders = fs::read_dir(lab.path("tmp")).unwrap().flatten();
        // What is looked for afterwards can be seen before.
        let is_there = if rung == Rung::Process {
            folders.next().is_some()
        } else {
            folders.any(|folder| folder.path().join("disk").is_dir()) && is_used(lab)
        };
        is_there || bakeoff.try_wait().unwrap().is_some()
    });
    // Into the writing, but for a machine that is slow: then into what is before it.
    std::thread::sleep(Duration::from_millis(1500));
    if bakeoff.try_wait().unwrap().is_some() {
        let said = super::fixture::said(bakeoff.wait_with_output().unwrap());
        return skipped("skipped in part", said.stderr.trim_end());
    }
    let making = cutting(lab);
    let mut others = if all { descendants(bakeoff.id() as i32) } else { Vec::new() };
    let disks = lab.living(durability::forgetful::SUBCOMMAND);
    for disk in &disks {
        let mounts = fs::read_to_string(format!("/proc/{disk}/mounts")).unwrap_or_default();
        let folder = lab.path("tmp").display().to_string();
        let above = mounts.lines().find(|it| it.contains(&folder) && it.contains(" ext4 "));
        assert_eq!(above, None, "the disk would take it away as it ends, and wait for itself");
    }
    // It is the last one.
    others.sort_by_key(|pid| disks.contains(pid));
    kill_process(Pid::from_child(&bakeoff), Signal::KILL).unwrap();
    for pid in others.into_iter().filter_map(Pid::from_raw) {
        // It may have ended with the one that started it.
        let _ = kill_process(pid, Signal::KILL);
    }
    bakeoff.wait().unwrap();
    lab.wait_until("no process is left that makes a cut", || {
        cutting(lab).is_empty() && making.iter().all(|pid| has_ended(*pid))
    });
    lab.wait_until("no loop device and no mount is left", || !is_used(lab));
}

/// The disk of each rung has its own parts.
#[test]
fn a_killed_bakeoff_leaves_no_process_mount_loop_device_or_file() {
    for rung in Rung::ALL {
        let lab = lab_with("honest", "");
        kill_in_the_middle(&lab, rung, false);
        lab.assert_nothing_is_left();
    }
}

/// Else the last one to die flushes a file system to a disk that dies itself. The kernel then waits
/// for ever: processes, a loop device and a mount stay until the machine is started again.
#[test]
fn what_is_left_where_all_are_killed_at_once_is_a_folder_that_the_next_one_removes() {
    let lab = lab_with("honest", "");
    kill_in_the_middle(&lab, Rung::Power, true);
    lab.bakeoff(&["durability", "s/it", "--rung", "process", "--cuts", "1"]);
    lab.assert_nothing_is_left();
}
