//! Digests over a contender's folder, and of a file: whether it is what it was.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::FileType;
use sha2::{Digest, Sha256};

/// What tells of a file whether it is what it was, without a look into it. Whatever is done
/// to a file, the last of these changes, and no program can set it (`st_ctim`, inode(7)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    mode: u32,
    bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    fn of(metadata: &fs::Metadata) -> Stamp {
        Stamp {
            device: metadata.dev(),
            inode: metadata.ino(),
            mode: metadata.mode(),
            bytes: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    fn is_link(self) -> bool {
        FileType::from_raw_mode(self.mode) == FileType::Symlink
    }
}

/// The files of a folder, each by its name in it.
type Files = BTreeMap<PathBuf, Stamp>;

/// Folders whose digest is known, with the files that it is of: a folder with a data set of
/// gigabytes is looked at before every trial, and read once.
#[derive(Debug, Default)]
struct Known(BTreeMap<PathBuf, (Files, String)>);

static KNOWN: Mutex<Known> = Mutex::new(Known(BTreeMap::new()));

/// For so long after a change another one may leave the file's times as they are: clocks of
/// file systems are coarse.
const SETTLED_AFTER: Duration = Duration::from_secs(2);

impl Known {
    /// The digest of a folder with these files, which are read if any of them may have changed.
    fn digest(
        &mut self,
        folder: &Path,
        files: Files,
        now: SystemTime,
        read: impl FnOnce(&Path, &Files) -> io::Result<String>,
    ) -> io::Result<String> {
        if let Some((before, digest)) = self.0.get(folder)
            && *before == files
        {
            return Ok(digest.clone());
        }
        self.0.remove(folder);
        let digest = read(folder, &files)?;
        let settled = now - SETTLED_AFTER;
        let settled = settled.duration_since(UNIX_EPOCH).map_or(0, |it| it.as_secs() as i64);
        if files.values().all(|stamp| stamp.changed.0 < settled) {
            self.0.insert(folder.into(), (files, digest.clone()));
        }
        Ok(digest)
    }
}

/// SHA-256 over all files of a folder, in hex: their names, contents, and whether
/// they may be executed. The folder `leave_out` in it doesn't count, nor does what Python makes
/// beside each module once it is loaded.
///
/// # Errors
/// The system's, if a file can't be read.
fn of_folder(folder: &Path, leave_out: &OsStr) -> io::Result<String> {
    let now = SystemTime::now();
    let mut files = Files::new();
    collect(folder, folder, leave_out, &mut files)?;
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.digest(folder, files, now, of_files)
}

/// The names of a folder's files, but for what is to be left out, in their order.
///
/// # Errors
/// The system's, if it can't be read.
pub fn names(folder: &Path, leave_out: &OsStr) -> io::Result<Vec<PathBuf>> {
    let mut files = Files::new();
    collect(folder, folder, leave_out, &mut files)?;
    Ok(files.into_keys().collect())
}

fn of_files(folder: &Path, files: &Files) -> io::Result<String> {
    let mut digest = Sha256::new();
    for (name, stamp) in files {
        let path = folder.join(name);
        part(&mut digest, name.as_os_str().as_bytes());
        if stamp.is_link() {
            part(&mut digest, b"link");
            part(&mut digest, fs::read_link(&path)?.as_os_str().as_bytes());
        } else {
            part(&mut digest, if stamp.mode & 0o111 != 0 { b"program" } else { b"file" });
            digest.update(stamp.bytes.to_le_bytes());
            if read(&path, &mut digest)? != stamp.bytes {
                let what = format!("{} changes while it is read", path.display());
                return Err(io::Error::other(what));
            }
        }
    }
    Ok(hex(digest))
}

/// Each part has its length before it, so that no two folders read alike.
fn part(digest: &mut Sha256, bytes: &[u8]) {
    digest.update((bytes.len() as u64).to_le_bytes());
    digest.update(bytes);
}

/// The same over a folder and others that belong to it, each with the name that it is
/// called by. Without others it is that of the folder.
///
/// # Errors
/// The system's, if a file can't be read.
pub fn of_folders<'a>(
    folder: &Path,
    others: impl IntoIterator<Item = (&'a str, PathBuf)>,
    leave_out: &OsStr,
) -> io::Result<String> {
    let mut whole = of_folder(folder, leave_out)?;
    for (name, other) in others {
        // Digests are all of one length, so that no two lists read alike.
        let other = of_folder(&other, leave_out)?;
        whole = hex(Sha256::new().chain_update(whole).chain_update(other).chain_update(name));
    }
    Ok(whole)
}

/// The same with programs that lie elsewhere. Without any it is what it was.
///
/// # Errors
/// The system's, if one can't be read.
pub fn with_programs<'a>(
    whole: String,
    programs: impl IntoIterator<Item = &'a Path>,
) -> io::Result<String> {
    programs.into_iter().try_fold(whole, |whole, program| {
        Ok(hex(Sha256::new().chain_update(whole).chain_update(of_program(program)?)))
    })
}

/// Whichever file the path leads to counts, so that a link that was turned is a change.
fn of_program(program: &Path) -> io::Result<String> {
    let now = SystemTime::now();
    let name = program.file_name().unwrap_or_default();
    let files = Files::from([(name.into(), Stamp::of(&fs::metadata(program)?))]);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.digest(program, files, now, |_, files| {
        of_files(program.parent().unwrap_or(program), files)
    })
}

/// SHA-256 of a file, in hex.
///
/// # Errors
/// The system's, if it can't be read.
pub fn of_file(path: &Path) -> io::Result<String> {
    let mut digest = Sha256::new();
    read(path, &mut digest)?;
    Ok(hex(digest))
}

/// SHA-256 of bytes, in hex.
pub fn of_bytes(bytes: &[u8]) -> String {
    hex(Sha256::new().chain_update(bytes))
}

/// The same of a file and others that belong to it. Without others it is that of the file.
///
/// # Errors
/// The system's, if one can't be read.
pub fn of_file_with(path: &Path, others: impl IntoIterator<Item = PathBuf>) -> io::Result<String> {
    let whole = of_file(path)?;
    others.into_iter().try_fold(whole, |whole, other| {
        Ok(hex(Sha256::new().chain_update(whole).chain_update(of_file(&other)?)))
    })
}

/// Adds a file's bytes, and tells how many they are. It may be larger than what memory is for.
fn read(path: &Path, digest: &mut Sha256) -> io::Result<u64> {
    let mut file = fs::File::open(path)?;
    let mut piece = vec![0; 1 << 16];
    let mut bytes = 0;
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(bytes),
            read => {
                digest.update(&piece[..read]);
                bytes += read as u64;
            }
        }
    }
}

fn hex(digest: Sha256) -> String {
    digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Files below a folder by their name from `root`, links as themselves.
fn collect(root: &Path, folder: &Path, leave_out: &OsStr, files: &mut Files) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        if kind.is_dir() {
            let name = entry.file_name();
            if (folder != root || name != leave_out) && name != "__pycache__" {
                collect(root, &path, leave_out, files)?;
            }
        } else if kind.is_file() || kind.is_symlink() {
            let name = path.strip_prefix(root).unwrap_or(&path).to_path_buf();
            files.insert(name, Stamp::of(&entry.metadata()?));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_files_digest_is_the_standards() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "abc").unwrap();
        // FIPS 180-2, appendix B.1.
        let known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(of_file(&file).unwrap(), known);
        // More than one piece.
        fs::write(&file, vec![b'a'; 1_000_000]).unwrap();
        let known = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";
        assert_eq!(of_file(&file).unwrap(), known);
        assert!(of_file(&folder.path().join("none")).is_err());
    }

    /// Its digest, and whether it was read for that, so long after now.
    fn seen(known: &mut Known, folder: &Path, after: Duration) -> (String, bool) {
        let mut files = Files::new();
        collect(folder, folder, OsStr::new("build"), &mut files).unwrap();
        let mut was_read = false;
        let digest = known.digest(folder, files, SystemTime::now() + after, |folder, files| {
            was_read = true;
            of_files(folder, files)
        });
        (digest.unwrap(), was_read)
    }

    #[test]
    fn files_that_are_what_they_were_are_read_once() {
        let folder = tempfile::tempdir().unwrap();
        let later = Duration::from_secs(60);
        let path = |name: &str| folder.path().join(name);
        fs::write(path("data"), "abc").unwrap();
        let mut known = Known::default();
        let (first, was_read) = seen(&mut known, folder.path(), later);
        assert!(was_read);
        assert_eq!(seen(&mut known, folder.path(), later), (first.clone(), false));
        // As many bytes, and the time of before.
        let modified = fs::metadata(path("data")).unwrap().modified().unwrap();
        std::thread::sleep(Duration::from_millis(20));
        fs::write(path("data"), "abd").unwrap();
        fs::File::options().write(true).open(path("data")).unwrap().set_modified(modified).unwrap();
        let (second, was_read) = seen(&mut known, folder.path(), later);
        assert!(was_read && second != first, "a change went unnoticed");
        fs::write(path("new"), "").unwrap();
        assert!(seen(&mut known, folder.path(), later).1, "a new file went unnoticed");
    }

    #[test]
    fn files_that_have_just_changed_may_change_within_the_same_moment() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("data"), "abc").unwrap();
        let mut known = Known::default();
        for _ in 0..2 {
            assert!(seen(&mut known, folder.path(), Duration::ZERO).1);
        }
    }

    #[test]
    fn a_folders_digest_is_that_of_earlier_versions() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("src")).unwrap();
        fs::write(folder.path().join("src/a"), "abc").unwrap();
        fs::write(folder.path().join("run"), "x").unwrap();
        fs::set_permissions(folder.path().join("run"), fs::Permissions::from_mode(0o755)).unwrap();
        symlink("src/a", folder.path().join("to")).unwrap();
        let known = "a2ccbcf788d4393feb1865d80c350dd512da599b617bf94267f8f1ea0bb054bb";
        assert_eq!(of_folder(folder.path(), OsStr::new("build")).unwrap(), known);
    }

    #[test]
    fn whatever_changes_in_the_source_changes_the_digest_and_a_build_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let digest = || of_folder(folder.path(), OsStr::new("build")).unwrap();
        fs::create_dir(path("src")).unwrap();
        fs::create_dir(path("build")).unwrap();
        fs::write(path("a"), "bc").unwrap();
        let mut seen = vec![digest()];
        assert_eq!(seen[0].len(), 64);
        fs::write(path("build/made"), "x").unwrap();
        assert_eq!(digest(), seen[0], "what a build makes is no source");
        fs::create_dir(path("src/__pycache__")).unwrap();
        fs::write(path("src/__pycache__/server.pyc"), "x").unwrap();
        assert_eq!(digest(), seen[0], "what a start makes is no source");

        let mut changed = |what: &str| {
            assert!(!seen.contains(&digest()), "{what} went unnoticed");
            seen.push(digest());
        };
        fs::write(path("a"), "b").unwrap();
        changed("a content");
        fs::rename(path("a"), path("src/a")).unwrap();
        changed("a name");
        fs::set_permissions(path("src/a"), fs::Permissions::from_mode(0o755)).unwrap();
        changed("the right to execute");
        symlink("src/a", path("link")).unwrap();
        changed("a link");
        fs::create_dir(path("src/build")).unwrap();
        fs::write(path("src/build/a"), "").unwrap();
        changed("a source folder of the same name");
    }

    #[test]
    fn a_program_that_lies_elsewhere_changes_the_digest_and_so_does_a_link_that_is_turned() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let digest = |program: &Path| with_programs("whole".into(), [program]);
        assert_eq!(with_programs("whole".into(), []).unwrap(), "whole");
        fs::write(path("old"), "1").unwrap();
        fs::write(path("new"), "2").unwrap();
        symlink("old", path("current")).unwrap();
        let before = digest(&path("current")).unwrap();
        assert_eq!(digest(&path("current")).unwrap(), before);
        fs::remove_file(path("current")).unwrap();
        symlink("new", path("current")).unwrap();
        assert_ne!(digest(&path("current")).unwrap(), before, "another file went unnoticed");
        fs::write(path("new"), "3").unwrap();
        assert_ne!(digest(&path("new")).unwrap(), before, "another content went unnoticed");
        assert!(digest(&path("gone")).is_err());
    }

    #[test]
    fn a_change_in_a_shared_folder_changes_the_digest_and_a_build_there_does_not() {
        let study = tempfile::tempdir().unwrap();
        let path = |name: &str| study.path().join(name);
        let digest = |shared: &[&str]| {
            let shared = shared.iter().map(|&name| (name, path(name)));
            of_folders(&path("own"), shared, OsStr::new("build")).unwrap()
        };
        for folder in ["own", "a", "b"] {
            fs::create_dir_all(path(folder).join("build")).unwrap();
            fs::write(path(folder).join("compile"), "cc -O2").unwrap();
        }
        let alone = of_folder(&path("own"), OsStr::new("build")).unwrap();
        assert_eq!(digest(&[]), alone, "who shares nothing has the digest of its folder");
        let with_a = digest(&["a"]);
        let all = [alone, with_a.clone(), digest(&["b"]), digest(&["a", "b"])];
        let different: std::collections::BTreeSet<_> = all.iter().collect();
        assert_eq!(different.len(), all.len(), "{all:?}");

        fs::write(path("a/build/made"), "x").unwrap();
        assert_eq!(digest(&["a"]), with_a, "what a build makes is no source");
        fs::write(path("a/compile"), "cc -O3").unwrap();
        assert_ne!(digest(&["a"]), with_a, "another flag went unnoticed");
    }
}
