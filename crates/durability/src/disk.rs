//! What a store's data lies on, and how that is cut off and comes back.
//!
//! - For the lowest rung it is a folder: killed processes take nothing with them that the kernel
//!   has.
//! - Above, it is an ext4 file system in a file, behind a loop device. `FS_IOC_SHUTDOWN` without
//!   a flush of the journal stops it at once: what was synced is in the file, nothing else is,
//!   and names and renames that weren't synced aren't either.
//! - For the highest, that file lies on a disk that forgets (`forgetful`).
//!
//! Above the lowest rung files in memory (`/dev/shm`) and System V's shared memory are empty
//! after the cut, as they are where a machine stopped. Each later start finds them empty too.
//!
//! All is mounted in a namespace of this process and those that it starts, so that it vanishes
//! with the last of them; a loop device lets go of its file when nothing is mounted from it, and
//! the file has no name.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use lab::ready::programs;
use result::durability::Rung;
use rustix::fs::syncfs;
use rustix::io::Errno;
use rustix::ioctl::{Opcode, Setter, ioctl};
use rustix::mount::{MountFlags, UnmountFlags, mount, mount_bind, unmount};
use rustix::thread::{UnshareFlags, unshare_unsafe};

use crate::forgetful::Forgetful;
use crate::image::{self, NO_PICTURE};
use crate::loop_device::LoopDevice;
use crate::namespace;

/// `FS_IOC_SHUTDOWN` of linux/fs.h, `_IOR('X', 125, __u32)`; ioctl_xfs_goingdown(2).
const FS_IOC_SHUTDOWN: Opcode = 0x8004_587d;
/// `FS_SHUTDOWN_FLAGS_NOLOGFLUSH`: what is only in the journal's memory is lost as well.
const NO_LOG_FLUSH: u32 = 2;

/// Where files in memory are that processes share.
const SHARED_MEMORY: &str = "/dev/shm";

/// The last process that used it is gone by then.
const UNMOUNTED_WITHIN: Duration = Duration::from_secs(20);

/// What data lies on. Dropping it takes it away.
#[derive(Debug)]
pub struct Disk {
    /// Where data lies: a folder of the file system, or the plain one that it is mounted on.
    data: PathBuf,
    below: Option<Below>,
}

/// What lies below a file system.
#[derive(Debug)]
struct Below {
    /// Where the whole file system is mounted. The folder with data is one of it, and elsewhere:
    /// else a store knew by its neighbours that it is cut off.
    root: PathBuf,
    is_mounted: bool,
    /// The caller's folder, for files without a name.
    within: PathBuf,
    // In this order: the file is closed before its disk goes.
    image: File,
    /// What the file had when the disk came back. A disk that forgets keeps its own.
    picture: Option<File>,
    forgetful: Option<Forgetful>,
}

impl Disk {
    /// Makes what this rung takes, in an empty folder of the caller's, for data in another one.
    /// From then on the calling thread, and what it starts, is in a mount namespace of its own,
    /// unless the rung is the lowest.
    ///
    /// # Errors
    /// What this machine doesn't have or allow, for people.
    pub fn make(rung: Rung, within: &Path, data: &Path) -> Result<Disk, String> {
        let data = data.to_path_buf();
        if rung == Rung::Process {
            return Ok(Disk { data, below: None });
        }
        let root = within.join("disk");
        make_folder(&root)?;
        let mkfs = programs::find("mkfs.ext4")
            .ok_or("mkfs.ext4 is not installed; on Debian: apt-get install e2fsprogs")?;
        namespace::enter()?;
        forget_memory(within)?;
        let (image, forgetful) = match rung {
            Rung::Power => {
                let cache = within.join("cache");
                make_folder(&cache)?;
                let forgetful = Forgetful::start(&cache)?;
                let path = forgetful.image();
                let image = OpenOptions::new().read(true).write(true).open(&path);
                let image = image.map_err(|error| format!("couldn't open the disk: {error}"))?;
                (image, Some(forgetful))
            }
            Rung::Process | Rung::Machine => (image::unnamed_file(within)?, None),
        };
        let (within, picture) = (within.to_path_buf(), None);
        let below = Below { root, is_mounted: false, within, image, picture, forgetful };
        let mut disk = Disk { data, below: Some(below) };
        disk.mount(Some(&mkfs))?;
        Ok(disk)
    }

    /// Makes all durable that was written to it so far.
    ///
    /// # Errors
    /// The kernel's, for people.
    pub fn sync(&self) -> Result<(), String> {
        let synced = File::open(&self.data).and_then(|it| syncfs(it).map_err(io::Error::from));
        synced.map_err(|error| format!("couldn't sync the disk: {error}"))
    }

    /// Cuts it off, at once. Whoever writes to it isn't ended by that. `part`: a disk that
    /// forgets keeps a part of its cache, by this seed.
    ///
    /// # Errors
    /// Why it goes on, for people.
    pub fn cut(&mut self, part: Option<u64>) -> Result<(), String> {
        match &mut self.below {
            None => Ok(()),
            Some(Below { forgetful: Some(forgetful), .. }) => forgetful.cut(part),
            Some(Below { forgetful: None, .. }) => {
                let stopped = File::open(&self.data).and_then(|folder| {
                    // SAFETY: the opcode takes a pointer to a `u32` of flags, and reads it.
                    let stopped = unsafe {
                        ioctl(&folder, Setter::<FS_IOC_SHUTDOWN, u32>::new(NO_LOG_FLUSH))
                    };
                    stopped.map_err(io::Error::from)
                });
                stopped.map_err(|error| {
                    format!("the kernel doesn't cut a file system off (FS_IOC_SHUTDOWN): {error}")
                })
            }
        }
    }

    /// Brings it back with what it kept, of which it keeps a picture. Nobody may use it.
    ///
    /// # Errors
    /// Why it doesn't come back, for people.
    pub fn come_back(&mut self) -> Result<(), String> {
        self.mount_again(|below| {
            match &mut below.forgetful {
                Some(forgetful) => forgetful.come_back()?,
                None => below.picture = Some(image::copy(&below.image, &below.within)?),
            }
            Ok(())
        })
    }

    /// Takes it back to what it had when it came back, whatever was written and synced since.
    /// Nobody may use it.
    ///
    /// # Errors
    /// Why it doesn't go back, for people.
    pub fn go_back(&mut self) -> Result<(), String> {
        self.mount_again(|below| {
            match &mut below.forgetful {
                Some(forgetful) => forgetful.go_back()?,
                None => below.image = below.picture.take().ok_or(NO_PICTURE)?,
            }
            Ok(())
        })
    }

    /// Takes it away for good: data lies in an empty folder from then on. Nobody may use it.
    ///
    /// # Errors
    /// Why it stays, for people.
    pub fn take_away(mut self) -> Result<(), String> {
        self.unmount()?;
        self.forget_memory()
    }

    /// Mounts it anew, after this was done with what lies below it. Files in memory are gone
    /// then. Below the lowest rung's nothing lies.
    fn mount_again(
        &mut self,
        act: impl FnOnce(&mut Below) -> Result<(), String>,
    ) -> Result<(), String> {
        self.unmount()?;
        self.forget_memory()?;
        let Some(below) = &mut self.below else { return Ok(()) };
        act(below)?;
        self.mount(None)
    }

    fn forget_memory(&self) -> Result<(), String> {
        if self.below.is_some() { forget_memory(&self.data) } else { Ok(()) }
    }

    /// Mounts it, with a new file system where the program is given that makes one.
    fn mount(&mut self, mkfs: Option<&Path>) -> Result<(), String> {
        let Some(below) = &mut self.below else { return Ok(()) };
        let device = LoopDevice::of(&below.image)?;
        if let Some(mkfs) = mkfs {
            make_file_system(mkfs, &device.path)?;
        }
        // What mkfs left for later would be done by the kernel meanwhile.
        let mounted =
            mount(&device.path, &below.root, c"ext4", MountFlags::empty(), c"noinit_itable");
        mounted.map_err(|error| {
            format!("couldn't mount an ext4 file system: {}", io::Error::from(error))
        })?;
        below.is_mounted = true;
        let own = below.root.join("data");
        if mkfs.is_some() {
            make_folder(&own)?;
        }
        mount_bind(&own, &self.data).map_err(|error| {
            format!("couldn't mount the folder with data: {}", io::Error::from(error))
        })
    }

    fn unmount(&mut self) -> Result<(), String> {
        let Some(below) = self.below.as_mut().filter(|below| below.is_mounted) else {
            return Ok(());
        };
        let began = Instant::now();
        for folder in [&self.data, &below.root] {
            loop {
                match unmount(folder, UnmountFlags::empty()) {
                    // The folder with data couldn't be mounted.
                    Ok(()) | Err(Errno::INVAL) => break,
                    Err(Errno::BUSY) if began.elapsed() < UNMOUNTED_WITHIN => {
                        std::thread::sleep(Duration::from_millis(5));
                    }
                    Err(error) => {
                        let error = io::Error::from(error);
                        return Err(format!("couldn't unmount the disk: {error}"));
                    }
                }
            }
        }
        below.is_mounted = false;
        Ok(())
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Where that fails, it is gone with this process.
        let _ = self.unmount();
    }
}

/// What files in memory have, a machine that stops forgets, and System V's shared memory too. From
/// here on there is other memory in their place, which nobody else sees.
fn forget_memory(within: &Path) -> Result<(), String> {
    // Its own folder would be gone with it.
    if within.starts_with(SHARED_MEMORY) {
        return Ok(());
    }
    // SAFETY: as above; nothing here has System V's memory.
    let forgotten = unsafe { unshare_unsafe(UnshareFlags::NEWIPC) }.and_then(|()| {
        match mount(c"tmpfs", SHARED_MEMORY, c"tmpfs", MountFlags::NOSUID | MountFlags::NODEV, None)
        {
            Err(Errno::NOENT) => Ok(()),
            mounted => mounted,
        }
    });
    forgotten.map_err(|error| {
        format!("couldn't give it other memory to share: {}", io::Error::from(error))
    })
}

fn make_folder(folder: &Path) -> Result<(), String> {
    DirBuilder::new()
        .mode(0o700)
        .create(folder)
        .map_err(|error| format!("couldn't make the folder {}: {error}", folder.display()))
}

/// Makes an ext4 file system on a device.
fn make_file_system(mkfs: &Path, device: &Path) -> Result<(), String> {
    let mut command = Command::new(mkfs);
    command
        .args(["-q", "-F", "-E", "nodiscard,lazy_itable_init=1,lazy_journal_init=1"])
        .arg(device)
        .stdin(Stdio::null());
    keeper::bind_to_this_process(&mut command, Vec::new());
    let made = command.output().map_err(|error| format!("couldn't start mkfs.ext4: {error}"))?;
    if made.status.success() {
        Ok(())
    } else {
        let said = String::from_utf8_lossy(&made.stderr);
        let line = keeper::text::harmless(said.lines().last().unwrap_or("it said nothing"));
        Err(format!("mkfs.ext4 failed with {}: {line}", keeper::in_words(made.status)))
    }
}
