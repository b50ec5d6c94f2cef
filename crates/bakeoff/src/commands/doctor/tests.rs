use lab::trial::nobody::{Checkup, Demands, Nobody, Room, Tools};
use report::Terminal;
use result::evidence::{
    Cgroup, ClientSide, ClientUse, CoreSpeed, Evidence, FileSystem, Limits, MachineUse, Place,
    Sample, ServerUse, ThreadUse, Work,
};
use result::plan::{Cores, Machine, Setting, Version};

use super::line::{Harm, text, worst};
use super::{lines, machine};

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
    let sysctl = [("net.core.somaxconn", "4096"), ("net.ipv4.ip_local_port_range", "32768 60999")];
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
        data: ("/tmp".into(), Some(FileSystem { name: "ext4".into(), in_memory: false })),
        profiles: vec![Demands { name: Some("quick".into()), loads: loads.into(), refused: None }],
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
    (told.collect(), worst(&lines).conclusion().1)
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
    let told = |checkup: &Checkup| machine::processors(checkup).found;
    assert_eq!(told(&checkup), "4 processors of 4 cores");
    checkup.machine.smt_siblings.clear();
    assert_eq!(told(&checkup), "4 processors of cores that the machine doesn't tell");
}

#[test]
fn what_the_places_follow_from_is_told() {
    let mut checkup = after(|_| {});
    checkup.machine.numa_nodes = vec![vec![0, 1], vec![2, 3]];
    checkup.machine.speeds = vec![vec![1, 2, 3], vec![0]];
    checkup.machine.cpu_quota_cores = Some(2.5);
    insta::assert_snapshot!(machine::processors(&checkup).found, @"4 processors of 4 cores on 2 NUMA nodes; CPU 1-3 faster than CPU 0; a CPU quota of 2.50 cores");
}

/// Programs take none, and "enough for 0" tells nothing.
#[test]
fn without_connections_nothing_is_said_of_open_files() {
    let mut checkup = after(|_| {});
    checkup.profiles[0].loads.clear();
    let told = text(&checkup.machine, &lines(&checkup), Terminal::default());
    assert!(!told.contains("open files"), "{told}");
}

#[test]
fn of_a_machine_on_which_nothing_is_wrong_each_line_is_fine() {
    let checkup = after(|_| {});
    let text = text(&checkup.machine, &lines(&checkup), Terminal::default());
    insta::assert_snapshot!(text, @"
    A processor, 8.00 GiB of memory, Linux 6.18.0, Debian, a virtual machine

    fine         a trial of nobody: was started, watched and stopped
    fine         room for runs: 20.0 GiB in /runs
    fine         data of stores: in /tmp, on ext4
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
    fine         processors: 4 processors of 4 cores
    fine         cores: on all cores contender on CPU 0-1, client on CPU 2-3; on one core contender on CPU 0, client on CPU
                 1-2, CPU 3 left to others
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
    let profile = |name: Option<&str>, refused: &str| Demands {
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
    let profile = |loads| Demands { name: Some("full".into()), loads, refused: None };
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

/// Else the figures of a store that waits for its disk are found invalid only after the run.
#[test]
fn data_of_stores_in_memory_are_told_with_what_to_do() {
    let mut checkup = after(|_| {});
    checkup.data = ("/dev/shm".into(), Some(FileSystem { name: "tmpfs".into(), in_memory: true }));
    let line = only(&checkup);
    let says = "note: data of stores: in /dev/shm, on tmpfs. There a sync costs nothing";
    assert!(line.starts_with(says) && line.contains("`TMPDIR`"), "{line}");
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
