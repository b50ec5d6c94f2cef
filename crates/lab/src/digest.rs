//! Digests over a contender's folder, and of a file: whether it is what it was.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// SHA-256 over all files of a folder, in hex: their names, contents, and whether
/// they may be executed. The folder `leave_out` in it doesn't count, nor does what Python makes
/// beside each module once it is loaded.
///
/// # Errors
/// The system's, if a file can't be read.
fn of_folder(folder: &Path, leave_out: &OsStr) -> io::Result<String> {
    let mut files = BTreeMap::new();
    collect(folder, folder, leave_out, &mut files)?;
    let mut digest = Sha256::new();
    for (name, path) in files {
        let metadata = fs::symlink_metadata(&path)?;
        // Each part has its length before it, so that no two folders read alike.
        let mut part = |bytes: &[u8]| {
            digest.update((bytes.len() as u64).to_le_bytes());
            digest.update(bytes);
        };
        part(name.as_os_str().as_bytes());
        if metadata.is_symlink() {
            part(b"link");
            part(fs::read_link(&path)?.as_os_str().as_bytes());
        } else {
            let executable = metadata.permissions().mode() & 0o111 != 0;
            part(if executable { b"program" } else { b"file" });
            part(&fs::read(&path)?);
        }
    }
    Ok(hex(digest))
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

/// SHA-256 of a file, in hex. It may be larger than what memory is for.
///
/// # Errors
/// The system's, if it can't be read.
pub fn of_file(path: &Path) -> io::Result<String> {
    let mut file = fs::File::open(path)?;
    let mut digest = Sha256::new();
    let mut piece = vec![0; 1 << 16];
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(hex(digest)),
            read => digest.update(&piece[..read]),
        }
    }
}

fn hex(digest: Sha256) -> String {
    digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Files below a folder by their name from `root`, links as themselves.
fn collect(
    root: &Path,
    folder: &Path,
    leave_out: &OsStr,
    files: &mut BTreeMap<PathBuf, PathBuf>,
) -> io::Result<()> {
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
            files.insert(name, path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

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
