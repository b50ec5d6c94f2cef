//! The trees of control groups that this machine has, and where in them this
//! process is.

use std::fs;
use std::path::{Path, PathBuf};

use procfs::ProcessCGroups;
use procfs::process::{MountInfo, Process};
use rustix::fs::Access;

use super::{Group, PROCESSES};

/// Where this process is in each tree that matters.
#[derive(Debug, Clone, Default)]
pub struct Trees {
    v2: Option<Place>,
    cpu: Option<Place>,
    cpuacct: Option<Place>,
    memory: Option<Place>,
    blkio: Option<Place>,
}

/// A group in one tree.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    /// The tree's root, as far as it can be seen from here.
    root: PathBuf,
    /// The group's folder.
    own: PathBuf,
}

impl Place {
    /// The group and those above it, nearest first.
    fn upwards(&self) -> Vec<PathBuf> {
        let above = self.own.ancestors().take_while(|folder| folder.starts_with(&self.root));
        above.map(Path::to_path_buf).collect()
    }
}

impl Trees {
    /// Asks the kernel. What it doesn't tell isn't there.
    pub fn of_this_process() -> Trees {
        let asked = || -> procfs::ProcResult<Trees> {
            let own = Process::myself()?;
            Ok(Trees::new(&own.mountinfo()?.0, &own.cgroups()?))
        };
        asked().unwrap_or_default()
    }

    fn new(mounts: &[MountInfo], groups: &ProcessCGroups) -> Trees {
        let place = |controller| place_of(controller, mounts, groups);
        Trees {
            v2: place(None),
            cpu: place(Some("cpu")),
            cpuacct: place(Some("cpuacct")),
            memory: place(Some("memory")),
            blkio: place(Some("blkio")),
        }
    }

    /// A group of this name, with a folder in each tree where one may be made.
    ///
    /// What is watched must not be scheduled otherwise: a group of version 1's
    /// `cpu` controller, or one of version 2 with that controller on, has its own
    /// share of a processor, whatever its number of threads. So `cpuacct` is
    /// used only where it is a tree of its own, and where the contender shares
    /// processors with the load, a place without the controller is taken.
    pub fn group(&self, name: &str, shares_processors: bool) -> Group {
        let child = |place: &Option<Place>| {
            let own = &place.as_ref()?.own;
            takes_children(own).then(|| own.join(name))
        };
        let v2 = self.v2.as_ref().and_then(|place| parent(place, shares_processors));
        let alone = self.cpu.as_ref().map(|place| &place.root)
            != self.cpuacct.as_ref().map(|place| &place.root);
        Group {
            cpuacct: if v2.is_none() && alone { child(&self.cpuacct) } else { None },
            v2: v2.map(|parent| parent.join(name)),
            memory: child(&self.memory),
            blkio: child(&self.blkio),
        }
    }

    /// The roots of the trees in which groups of bakeoff may lie.
    pub fn roots(&self) -> Vec<PathBuf> {
        let places = [&self.v2, &self.cpu, &self.cpuacct, &self.memory, &self.blkio];
        places.into_iter().flatten().map(|place| place.root.clone()).collect()
    }

    /// The groups whose CPU quota holds for this process: its own and those above
    /// it.
    pub fn with_cpu_quota(&self) -> Vec<PathBuf> {
        self.cpu.iter().chain(&self.v2).flat_map(Place::upwards).collect()
    }

    /// The groups whose limit to memory holds for this process.
    pub fn with_memory_limit(&self) -> Vec<PathBuf> {
        self.memory.iter().chain(&self.v2).flat_map(Place::upwards).collect()
    }
}

/// Where this process is in version 1's tree with this controller; in that of version 2,
/// where none is named.
fn place_of(
    controller: Option<&str>,
    mounts: &[MountInfo],
    groups: &ProcessCGroups,
) -> Option<Place> {
    let group = groups.0.iter().find(|group| match controller {
        Some(name) => group.controllers.iter().any(|it| it == name),
        None => group.hierarchy == 0,
    })?;
    let is_its = |mount: &&MountInfo| match controller {
        Some(name) => mount.fs_type == "cgroup" && mount.super_options.contains_key(name),
        None => mount.fs_type == "cgroup2",
    };
    mounts.iter().filter(is_its).find_map(|mount| {
        // A container may see a part of the tree only.
        let within = Path::new(&group.pathname).strip_prefix(&mount.root).ok()?;
        let root = mount.mount_point.clone();
        // Without the slash at its end that nothing within would leave.
        let own = root.join(within).components().collect();
        Some(Place { root, own })
    })
}

/// Where in the tree of version 2 a new group may be made: in bakeoff's own, or
/// beside it.
///
/// A group has a controller if the one above it hands it on, and that can't be
/// turned on in a group that holds processes, such as bakeoff's own is. Beside
/// it, `memory` and `io` are often there; but there the limits of bakeoff's own
/// group don't hold, so it must have none.
fn parent(place: &Place, shares_processors: bool) -> Option<PathBuf> {
    let handed_on = |folder: &Path, controller: &str| {
        let text = fs::read_to_string(folder.join("cgroup.subtree_control")).unwrap_or_default();
        text.split_whitespace().any(|name| name == controller)
    };
    let above = place.own.parent().filter(|above| above.starts_with(&place.root));
    let beside = above.filter(|_| !has_limits(&place.own));
    let candidates: Vec<&Path> = [Some(&*place.own), beside]
        .into_iter()
        .flatten()
        .filter(|folder| takes_children(folder))
        .filter(|folder| !(shares_processors && handed_on(folder, "cpu")))
        .collect();
    let with_memory = candidates.iter().find(|folder| handed_on(folder, "memory"));
    with_memory.or(candidates.first()).map(|folder| folder.to_path_buf())
}

/// Whether a group may be made here, and processes moved into it: that takes the
/// right to write to this file as well.
fn takes_children(folder: &Path) -> bool {
    [folder.to_path_buf(), folder.join(PROCESSES)]
        .iter()
        .all(|path| rustix::fs::access(path, Access::WRITE_OK).is_ok())
}

/// Whether a group of version 2 limits what its processes may use, or gives them another
/// share than others.
fn has_limits(folder: &Path) -> bool {
    // A file that isn't there belongs to a controller that isn't on.
    let text = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
    let differs = |(name, usual): (&str, &str)| {
        let text = text(name);
        !text.trim().is_empty() && (usual.is_empty() || !text.starts_with(usual))
    };
    // What they say where nothing is limited ("Control Group v2" of the kernel's
    // documentation); nothing at all by the last three.
    [
        ("cpu.max", "max"),
        ("cpu.weight", "100\n"),
        ("memory.max", "max"),
        ("memory.high", "max"),
        ("memory.swap.max", "max"),
        ("pids.max", "max"),
        ("io.max", ""),
        ("cpuset.cpus", ""),
        ("cpuset.mems", ""),
    ]
    .into_iter()
    .any(differs)
}

#[cfg(test)]
mod tests {
    use procfs::FromBufRead;
    use procfs::process::MountInfos;
    use tempfile::TempDir;

    use super::*;

    fn trees(mounts: &str, groups: &str) -> Trees {
        let mounts = MountInfos::from_buf_read(mounts.as_bytes()).unwrap();
        Trees::new(&mounts.0, &ProcessCGroups::from_buf_read(groups.as_bytes()).unwrap())
    }

    fn own(place: &Option<Place>) -> &str {
        place.as_ref().map_or("nowhere", |place| place.own.to_str().unwrap())
    }

    #[test]
    fn systemd_has_one_tree() {
        let trees = trees(
            "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n",
            "0::/user.slice/user-0.slice/session-1.scope\n",
        );
        assert_eq!(own(&trees.v2), "/sys/fs/cgroup/user.slice/user-0.slice/session-1.scope");
        assert_eq!(trees.memory, None);
        assert_eq!(
            trees.with_cpu_quota().iter().map(|it| it.to_str().unwrap()).collect::<Vec<_>>(),
            [
                "/sys/fs/cgroup/user.slice/user-0.slice/session-1.scope",
                "/sys/fs/cgroup/user.slice/user-0.slice",
                "/sys/fs/cgroup/user.slice",
                "/sys/fs/cgroup",
            ]
        );
    }

    const HYBRID: &str = "\
        31 30 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n\
        32 30 0:28 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
        33 30 0:29 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
        34 30 0:30 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd\n";

    #[test]
    fn version_1_has_a_tree_a_controller_beside_that_of_version_2() {
        let trees =
            trees(HYBRID, "4:cpu,cpuacct:/\n3:memory:/jobs/7\n2:name=systemd:/x\n0::/init\n");
        assert_eq!(own(&trees.v2), "/sys/fs/cgroup/unified/init");
        assert_eq!(own(&trees.cpu), "/sys/fs/cgroup/cpu,cpuacct");
        assert_eq!(own(&trees.memory), "/sys/fs/cgroup/memory/jobs/7");
        assert_eq!(own(&trees.blkio), "nowhere");
    }

    #[test]
    fn a_container_sees_a_part_of_the_tree() {
        let trees = trees(
            "30 23 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n",
            "0::/docker/abc/inner\n",
        );
        assert_eq!(own(&trees.v2), "/sys/fs/cgroup/inner");
        assert_eq!(trees.with_memory_limit().len(), 2);
    }

    #[test]
    fn nothing_is_known_of_a_machine_without_control_groups() {
        let group = trees("", "").group("x", false);
        assert!(group.is_nowhere());
    }

    /// Folders as a tree of version 2 has them: `own` within `above`.
    struct Folders(TempDir);

    impl Folders {
        /// With what each hands on to the groups in it.
        fn new(above: &str, own: &str) -> Folders {
            let folders = Folders(tempfile::tempdir().unwrap());
            fs::create_dir(folders.0.path().join("own")).unwrap();
            for (folder, controllers) in [("", above), ("own", own)] {
                let folder = folders.0.path().join(folder);
                fs::write(folder.join("cgroup.subtree_control"), controllers).unwrap();
                fs::write(folder.join(PROCESSES), "").unwrap();
            }
            folders
        }

        fn write(self, name: &str, text: &str) -> Folders {
            fs::write(self.0.path().join("own").join(name), text).unwrap();
            self
        }

        /// The folder that a new group is made in.
        fn parent(&self, shares_processors: bool) -> Option<&'static str> {
            let place = Place { root: self.0.path().into(), own: self.0.path().join("own") };
            let parent = parent(&place, shares_processors)?;
            Some(if parent == place.own { "own" } else { "above" })
        }
    }

    #[test]
    fn a_group_is_made_where_its_memory_is_counted() {
        assert_eq!(Folders::new("memory pids", "").parent(false), Some("above"));
        assert_eq!(Folders::new("memory", "memory").parent(false), Some("own"));
        assert_eq!(Folders::new("", "").parent(false), Some("own"));
    }

    #[test]
    fn the_users_limits_are_not_escaped() {
        for (name, limit, none) in [
            ("memory.max", "1073741824\n", "max\n"),
            ("cpu.max", "50000 100000\n", "max 100000\n"),
            ("cpu.weight", "1000\n", "100\n"),
            ("cpuset.cpus", "0-1\n", "\n"),
            ("io.max", "8:0 rbps=1048576 wbps=max riops=max wiops=max\n", ""),
        ] {
            let limited = Folders::new("memory", "").write(name, limit);
            assert_eq!(limited.parent(false), Some("own"), "beside it {name} wouldn't hold");
            let free = Folders::new("memory", "").write(name, none);
            assert_eq!(free.parent(false), Some("above"), "{name} limits nothing");
        }
    }

    #[test]
    fn a_contender_that_shares_processors_is_scheduled_as_without_a_group() {
        let folders = Folders::new("cpu memory", "");
        assert_eq!(folders.parent(false), Some("above"));
        assert_eq!(folders.parent(true), Some("own"));
        assert_eq!(Folders::new("cpu memory", "cpu memory").parent(true), None);
    }

    #[test]
    fn a_controller_cpuacct_that_comes_with_cpu_is_left_alone() {
        let folders = Folders::new("", "");
        let place = Some(Place { root: folders.0.path().into(), own: folders.0.path().into() });
        let other = Some(Place { root: "/other".into(), own: "/other".into() });
        let together = Trees { cpu: place.clone(), cpuacct: place.clone(), ..Trees::default() };
        assert!(together.group("x", false).is_nowhere(), "it would change the scheduling");
        let apart = Trees { cpu: other, cpuacct: place, ..Trees::default() };
        assert_eq!(apart.group("x", false).cpuacct, Some(folders.0.path().join("x")));
    }
}
