//! What is done to the machine for the length of a sabotaged run, to this process
//! and all that it starts. Each is undone when it is dropped, and none outlives
//! the process: a binding and a namespace end with it, and an empty control group
//! has a name that the next run knows.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use keeper::Order;
use keeper::cgroup::Trees;
use keeper::kept::Kept;
use keeper::leftovers;
use lab::place::disk;
use lab::ready::programs;
use result::evidence::Place;
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_bind, mount_change};
use rustix::thread::{CpuSet, LinkNameSpaceType, UnshareFlags};

use crate::mistake::{Neighbours, NeighboursOf, Sabotage};

/// A period of a CPU quota, in µs: the kernel's own default.
const PERIOD_US: f64 = 100_000.0;

/// All that is done for a run.
#[derive(Debug, Default)]
pub struct Conditions {
    _binding: Option<Binding>,
    _quota: Option<Quota>,
    _ports: Option<FewPorts>,
    _memory: Option<DataInMemory>,
    _loop_devices: Option<OtherMount>,
}

impl Conditions {
    /// Does what a sabotage asks for. To be called by the main thread, which all
    /// else descends from, and whose namespaces are what /proc shows.
    ///
    /// # Errors
    /// One sentence that says what this machine doesn't allow.
    pub fn of(sabotage: &Sabotage) -> Result<Conditions, String> {
        Ok(Conditions {
            _binding: sabotage.cpus.map(Binding::to).transpose()?,
            _quota: sabotage.cpu_quota.map(Quota::of).transpose()?,
            _ports: sabotage.client_ports.map(FewPorts::between).transpose()?,
            _memory: sabotage.data_in_memory.then(DataInMemory::of_trials).transpose()?,
            _loop_devices: sabotage.no_loop_devices.then(without_loop_devices).transpose()?,
        })
    }
}

/// This thread, and those that it starts, on a few processors only.
#[derive(Debug)]
struct Binding {
    before: CpuSet,
}

impl Binding {
    fn to(count: usize) -> Result<Binding, String> {
        let failed = |error| format!("couldn't bind to {count} processors: {error}");
        let before = rustix::thread::sched_getaffinity(None).map_err(failed)?;
        let mut few = CpuSet::new();
        let allowed = (0..CpuSet::MAX_CPU).filter(|&cpu| before.is_set(cpu));
        allowed.take(count).for_each(|cpu| few.set(cpu));
        rustix::thread::sched_setaffinity(None, &few).map_err(failed)?;
        Ok(Binding { before })
    }
}

impl Drop for Binding {
    fn drop(&mut self) {
        let _ = rustix::thread::sched_setaffinity(None, &self.before);
    }
}

/// This process in a control group with a CPU quota.
#[derive(Debug)]
struct Quota {
    group: PathBuf,
    before: PathBuf,
}

impl Quota {
    fn of(cores: f64) -> Result<Quota, String> {
        let places = Trees::of_this_process().with_cpu_quota();
        let before = places.first().ok_or("no control group can be seen that has CPU quotas")?;
        // Under version 2 a group has the controller only if the one above hands it
        // on, which bakeoff's own can't while it holds bakeoff.
        let mut tried = places.iter().take(2).map(|above| Quota::below(above, before, cores));
        let refused = match tried.next() {
            Some(Err(why)) => why,
            Some(made) => return made,
            None => unreachable!("there is a first place"),
        };
        tried.next().and_then(Result::ok).ok_or(refused)
    }

    fn below(above: &Path, before: &Path, cores: f64) -> Result<Quota, String> {
        let group = above.join(leftovers::name());
        let failed = |error| {
            let above = above.display();
            format!("couldn't make a control group with a CPU quota in {above}: {error}")
        };
        fs::create_dir(&group).map_err(failed)?;
        let quota = Quota { group, before: before.to_path_buf() };
        let micros = (cores * PERIOD_US) as u64;
        let v1 = quota.group.join("cpu.cfs_quota_us");
        let v2 = quota.group.join("cpu.max");
        if v1.exists() {
            fs::write(v1, micros.to_string())
        } else {
            fs::OpenOptions::new().write(true).open(v2).and_then(|mut file| {
                use std::io::Write;
                file.write_all(format!("{micros} {PERIOD_US}").as_bytes())
            })
        }
        .map_err(failed)?;
        enter(&quota.group).map_err(failed)?;
        Ok(quota)
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        let _ = enter(&self.before);
        keeper::cgroup::end(&self.group);
    }
}

fn enter(group: &Path) -> std::io::Result<()> {
    fs::write(group.join("cgroup.procs"), std::process::id().to_string())
}

/// This thread, and those that it starts, in a network namespace of its own whose
/// connections have few ports to begin at.
#[derive(Debug)]
struct FewPorts {
    before: OwnedFd,
}

impl FewPorts {
    fn between((first, last): (u16, u16)) -> Result<FewPorts, String> {
        let failed = |error: std::io::Error| {
            format!("couldn't make a network namespace, which takes root: {error}")
        };
        let before = fs::File::open("/proc/thread-self/ns/net").map_err(failed)?.into();
        // SAFETY: a network namespace changes nothing about file descriptors or
        // memory, which is what makes other flags unsafe.
        unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNET) }
            .map_err(|error| failed(error.into()))?;
        let ports = FewPorts { before };
        loopback_up().map_err(failed)?;
        let range = format!("{first} {last}");
        fs::write("/proc/sys/net/ipv4/ip_local_port_range", range).map_err(failed)?;
        Ok(ports)
    }
}

impl Drop for FewPorts {
    fn drop(&mut self) {
        let kind = Some(LinkNameSpaceType::Network);
        let _ = rustix::thread::move_into_link_name_space(self.before.as_fd(), kind);
    }
}

/// The loopback interface of a new namespace is down.
fn loopback_up() -> std::io::Result<()> {
    let socket = std::net::UdpSocket::bind("0.0.0.0:0")?;
    // SAFETY: ifreq is plain data, for which zeros are a valid value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    request.ifr_name[..2].copy_from_slice(&[b'l' as libc::c_char, b'o' as libc::c_char]);
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: SIOCSIFFLAGS reads one ifreq.
    match unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

/// What trials write lies in memory: `$TMPDIR`, and where data of stores go instead.
#[derive(Debug)]
struct DataInMemory {
    before: Option<OsString>,
    _mount: OtherMount,
}

impl DataInMemory {
    fn of_trials() -> Result<DataInMemory, String> {
        // The set-up's files lie there, and would be hidden.
        if std::env::temp_dir().starts_with(disk::ON_DISK) {
            return Err(format!(
                "couldn't put memory in place of {}: $TMPDIR is there",
                disk::ON_DISK
            ));
        }
        let memory = |at: &Path| mount(c"tmpfs", at, c"tmpfs", MountFlags::NOSUID, None);
        let mount = OtherMount::over(Path::new(disk::ON_DISK), memory)?;
        let before = std::env::var_os(TMPDIR);
        set_tmpdir(Some(disk::ON_DISK.into()));
        Ok(DataInMemory { before, _mount: mount })
    }
}

impl Drop for DataInMemory {
    fn drop(&mut self) {
        set_tmpdir(self.before.take());
    }
}

const TMPDIR: &str = "TMPDIR";

fn set_tmpdir(folder: Option<OsString>) {
    // SAFETY: no other thread runs between two runs but the one that waits for signals, which
    // looks at no environment.
    unsafe {
        match folder {
            Some(folder) => std::env::set_var(TMPDIR, folder),
            None => std::env::remove_var(TMPDIR),
        }
    }
}

/// As in a container: no disk can be made of a file.
fn without_loop_devices() -> Result<OtherMount, String> {
    OtherMount::over(Path::new("/dev/loop-control"), |at| mount_bind(c"/dev/null", at))
}

/// This thread, and those that it starts, in a mount namespace of its own with something else at
/// one path.
#[derive(Debug)]
struct OtherMount {
    namespace: OwnedFd,
    folder: OwnedFd,
}

impl OtherMount {
    fn over(path: &Path, mount: fn(&Path) -> rustix::io::Result<()>) -> Result<OtherMount, String> {
        let failed = |error: io::Error| {
            format!("couldn't mount over {}, which takes root: {error}", path.display())
        };
        let open = |path: &str| fs::File::open(path).map(OwnedFd::from).map_err(failed);
        let before = (open("/proc/thread-self/ns/mnt")?, open(".")?);
        // SAFETY: of what threads may share only the root and current folders are parted from the
        // others, which nothing here relies on.
        unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNS) }
            .map_err(|error| failed(error.into()))?;
        let other = OtherMount { namespace: before.0, folder: before.1 };
        // Else the mount would be passed on to where this namespace came from.
        mount_change(c"/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
            .and_then(|()| mount(path))
            .map_err(|error| failed(error.into()))?;
        Ok(other)
    }
}

impl Drop for OtherMount {
    fn drop(&mut self) {
        // SAFETY: as above. A thread that shares its current folder with others can't change its
        // namespace.
        let _ = unsafe { rustix::thread::unshare_unsafe(UnshareFlags::FS) };
        let kind = Some(LinkNameSpaceType::Mount);
        let _ = rustix::thread::move_into_link_name_space(self.namespace.as_fd(), kind);
        let _ = rustix::process::fchdir(&self.folder);
    }
}

/// A program that keeps one processor busy until it is dropped.
#[derive(Debug)]
pub struct Neighbour {
    _program: Kept,
}

impl Neighbour {
    /// Starts as many as are asked for.
    ///
    /// # Errors
    /// One sentence, if one doesn't run.
    pub fn all(asked: Neighbours, place: &Place) -> Result<Vec<Neighbour>, String> {
        let cpus = match asked.of {
            NeighboursOf::Contender => &place.server_cpus,
            NeighboursOf::Client => &place.client_cpus,
        };
        let each = cpus.iter().flat_map(|&cpu| (0..asked.programs).map(move |_| cpu));
        each.map(Neighbour::on).collect()
    }

    fn on(cpu: usize) -> Result<Neighbour, String> {
        let command = ["sh", "-c", "while :; do :; done"].map(Into::into).to_vec();
        let order = Order { cpus: vec![cpu], ..Order::tool(command, programs::environment()) };
        Ok(Neighbour { _program: Kept::start(&order)? })
    }
}
