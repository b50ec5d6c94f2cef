//! A disk that forgets: one file, in a file system of ours (FUSE), over which a loop device
//! and ext4 lie. What ext4 had flushed is durable; the rest is in the disk's cache, and gone at
//! a cut.
//!
//! The file system is a process of its own: were it a part of the one that mounts on top of it,
//! that one couldn't be killed while it waits for itself. For the same reason it is in a mount
//! namespace of its own. A process that dies as the last one of a namespace unmounts what is
//! mounted there. Ext4 is flushed then, to a disk that would be this process.

mod cache;

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

use fastrand::Rng;
use fuser::{
    Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo,
    LockOwner, MountOption, OpenFlags, ReplyAttr, ReplyData, ReplyEmpty, ReplyEntry, ReplyOpen,
    ReplyWrite, Request, Session, WriteFlags,
};
use rustix::mount::{UnmountFlags, unmount};

use self::cache::{BLOCK, Cache};
use crate::image::{IMAGE_BYTES, NO_PICTURE, unnamed_file};
use crate::namespace;

/// The hidden subcommand of bakeoff that is the disk.
pub const SUBCOMMAND: &str = "forgetful-disk";
/// The only file there is.
const IMAGE: &str = "image";
const IMAGE_INODE: INodeNo = INodeNo(2);
/// A cache has an end: 256 MiB, as large ones have.
const BLOCKS_MAX: usize = (256 << 20) / BLOCK;
/// The kernel need not ask again what doesn't change.
const FOREVER: Duration = Duration::from_secs(3600);
/// What the disk says when it has done what it was told.
const DONE: &str = "done";

/// A disk that forgets, seen from the process that mounts it. Dropping it takes it away.
#[derive(Debug)]
pub struct Forgetful {
    process: Child,
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    folder: PathBuf,
}

impl Forgetful {
    /// Starts it. Its file lies in this empty folder.
    ///
    /// # Errors
    /// Why there is none, for people.
    pub fn start(folder: &Path) -> Result<Forgetful, String> {
        let mut command = Command::new("/proc/self/exe");
        command.arg(SUBCOMMAND).arg(folder).stdin(Stdio::piped()).stdout(Stdio::piped());
        keeper::bind_to_this_process(&mut command, Vec::new());
        let mut process =
            command.spawn().map_err(|error| format!("couldn't start the disk: {error}"))?;
        let (Some(orders), Some(answers)) = (process.stdin.take(), process.stdout.take()) else {
            return Err("the disk can't be spoken with".into());
        };
        let answers = BufReader::new(answers);
        let folder = folder.to_path_buf();
        let mut disk = Forgetful { process, orders: Some(orders), answers, folder };
        disk.hear()?;
        Ok(disk)
    }

    /// The disk's content, as a file.
    pub fn image(&self) -> PathBuf {
        self.folder.join(IMAGE)
    }

    /// The power goes: all that wasn't flushed is lost, or, by this seed, a part. What is
    /// written from now on is lost as well.
    ///
    /// # Errors
    /// That it couldn't be told.
    pub fn cut(&mut self, part: Option<u64>) -> Result<(), String> {
        match part {
            None => self.tell("cut"),
            Some(seed) => self.tell(&format!("cut {seed}")),
        }
    }

    /// The power comes back. What the disk has then is kept as a picture of it.
    ///
    /// # Errors
    /// That it couldn't be told, or kept.
    pub fn come_back(&mut self) -> Result<(), String> {
        self.tell("come-back")
    }

    /// The disk is again what it was when the power came back. What was written since is gone,
    /// flushed or not.
    ///
    /// # Errors
    /// That it couldn't be told, or there is no such picture.
    pub fn go_back(&mut self) -> Result<(), String> {
        self.tell("go-back")
    }

    fn tell(&mut self, order: &str) -> Result<(), String> {
        let orders = self.orders.as_mut().ok_or("the disk is gone")?;
        writeln!(orders, "{order}").map_err(|error| format!("the disk is gone: {error}"))?;
        self.hear()
    }

    fn hear(&mut self) -> Result<(), String> {
        let mut line = String::new();
        let heard = self.answers.read_line(&mut line);
        heard.map_err(|error| format!("the disk is gone: {error}"))?;
        match line.trim_end() {
            DONE => Ok(()),
            "" => Err("the disk's process ended".into()),
            why => Err(why.to_string()),
        }
    }
}

impl Drop for Forgetful {
    fn drop(&mut self) {
        // It ends, and answers nobody from then on. A loop device may hold its file still.
        self.orders = None;
        let _ = self.process.wait();
        let _ = unmount(&self.folder, UnmountFlags::DETACH);
    }
}

/// The disk's whole life: until nobody holds its standard input.
pub fn main(folder: &Path) -> ExitCode {
    let _ = rustix::thread::set_name(c"forgetful-disk");
    match serve(folder) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            say(&why);
            ExitCode::FAILURE
        }
    }
}

fn serve(folder: &Path) -> Result<(), String> {
    let above = folder.parent().unwrap_or(folder);
    let disk = unnamed_file(above)?;
    let cache = Arc::new(Mutex::new(Cache::new(disk, BLOCKS_MAX)));
    let mut config = Config::default();
    config.mount_options = vec![MountOption::FSName(SUBCOMMAND.into())];
    let no = |error| format!("couldn't mount a file system of our own (FUSE): {error}");
    let session = Session::new(FileSystem(cache.clone()), folder, &config).map_err(no)?;
    // Its threads have the namespace of this one. Nothing lies above it yet, nor will it here.
    namespace::enter()?;
    unmount(folder, UnmountFlags::DETACH).map_err(|error| no(error.into()))?;
    let session = session.spawn().map_err(no)?;
    say(DONE);
    let mut picture = None;
    for order in io::stdin().lines().map_while(Result::ok) {
        match obey(&order, &mut lock(&cache), &mut picture, above) {
            Ok(()) => say(DONE),
            Err(why) => say(&why),
        }
    }
    // Its mount is gone here. Its thread ends with the process.
    drop(session);
    Ok(())
}

/// Does what is ordered. A picture of the disk lies in this folder, without a name.
fn obey(
    order: &str,
    disk: &mut Cache,
    picture: &mut Option<File>,
    folder: &Path,
) -> Result<(), String> {
    let of_file = |error: io::Error| format!("the disk's own file: {error}");
    let mut words = order.split(' ');
    match (words.next(), words.next()) {
        (Some("cut"), None) => disk.cut(|_| false).map_err(of_file),
        (Some("cut"), Some(seed)) => {
            let mut random = Rng::with_seed(seed.parse().unwrap_or(0));
            disk.cut(|_| random.bool()).map_err(of_file)
        }
        (Some("go-back"), _) => {
            disk.go_back_to(picture.take().ok_or(NO_PICTURE)?);
            Ok(())
        }
        _ => {
            disk.come_back();
            *picture = Some(disk.picture(folder)?);
            Ok(())
        }
    }
}

fn say(line: &str) {
    let mut out = io::stdout().lock();
    let _ = writeln!(out, "{line}");
    let _ = out.flush();
}

fn lock(cache: &Mutex<Cache>) -> MutexGuard<'_, Cache> {
    cache.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The file system: a folder and a file.
struct FileSystem(Arc<Mutex<Cache>>);

impl FileSystem {
    fn attributes(inode: INodeNo) -> Option<FileAttr> {
        let (kind, size, perm) = match inode {
            INodeNo::ROOT => (FileType::Directory, 0, 0o700),
            IMAGE_INODE => (FileType::RegularFile, IMAGE_BYTES, 0o600),
            _ => return None,
        };
        Some(FileAttr {
            ino: inode,
            size,
            blocks: size / 512,
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind,
            perm,
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: BLOCK as u32,
            flags: 0,
        })
    }
}

impl Filesystem for FileSystem {
    fn lookup(&self, _: &Request, _parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match FileSystem::attributes(IMAGE_INODE).filter(|_| name == IMAGE) {
            Some(attributes) => reply.entry(&FOREVER, &attributes, Generation(0)),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match FileSystem::attributes(inode) {
            Some(attributes) => reply.attr(&FOREVER, &attributes),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        // The kernel keeps nothing of it: what a cut took away may not be read from there.
        reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO);
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        match lock(&self.0).read(offset, size as usize) {
            Ok(bytes) => reply.data(&bytes),
            Err(error) => reply.error(error.into()),
        }
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        if offset + data.len() as u64 > IMAGE_BYTES {
            return reply.error(Errno::EFBIG);
        }
        match lock(&self.0).write(offset, data) {
            Ok(()) => reply.written(data.len() as u32),
            Err(error) => reply.error(error.into()),
        }
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        // That of close(2), which promises nothing. fsync(2) is the disk's flush.
        reply.ok();
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        match lock(&self.0).flush() {
            Ok(()) => reply.ok(),
            Err(error) => reply.error(error.into()),
        }
    }
}
