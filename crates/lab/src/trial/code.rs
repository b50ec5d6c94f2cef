//! The files whose code a contender runs: its programs, the libraries that they have loaded, and
//! the script that an interpreter was started with. Where one of them is another file later, the
//! contender is another one.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use procfs::process::{FDPermissions, FDTarget, MMPermissions, MMapPath, Process};

/// Words of a command line among which an interpreter's script is looked for.
const WORDS: usize = 2;

/// Those of these processes, as far as they can be seen and have names that can be written down.
pub(super) fn files(pids: &[i32]) -> BTreeSet<PathBuf> {
    let processes = pids.iter().filter_map(|&pid| Process::new(pid).ok());
    let files = processes.flat_map(|process| {
        let script = script(&process);
        mapped(&process).into_iter().chain(script)
    });
    files.filter(|file| file.to_str().is_some()).collect()
}

/// The files that a process has in its memory to be run.
fn mapped(process: &Process) -> Vec<PathBuf> {
    let maps = process.maps().into_iter().flatten();
    let code = maps.filter(|map| map.perms.contains(MMPermissions::EXECUTE));
    let files = code.filter_map(|map| match map.pathname {
        MMapPath::Path(file) => Some(file),
        _ => None,
    });
    files.collect()
}

/// What an interpreter was started with: the first word of its command line that names a file, from
/// where it works. A program of that folder is no interpreter, and a file that is open to be
/// written to is data.
fn script(process: &Process) -> Option<PathBuf> {
    let (words, here) = (process.cmdline().ok()?, process.cwd().ok()?);
    if process.exe().ok()?.starts_with(&here) {
        return None;
    }
    let words = words.iter().skip(1).filter(|word| !word.starts_with('-')).take(WORDS);
    let mut files = words.map(|word| here.join(word)).filter(|file| file.is_file());
    files.next().filter(|file| !is_written_to(process, file))
}

fn is_written_to(process: &Process, file: &Path) -> bool {
    let file = file.canonicalize().unwrap_or_else(|_| file.into());
    let mut open = process.fd().into_iter().flatten().flatten();
    open.any(|fd| {
        let is_it = matches!(&fd.target, FDTarget::Path(path) if *path == file);
        is_it && fd.mode().contains(FDPermissions::WRITE)
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Read;
    use std::process::{Command, Stdio};

    use keeper::process_tree::descendants;

    use super::*;

    /// A shell that runs this script in a folder, and what of the folder it is seen to run.
    fn seen(folder: &Path, script: &str) -> Vec<String> {
        fs::write(folder.join("run.sh"), script).unwrap();
        let mut shell = Command::new("/bin/sh");
        shell.args(["run.sh", "data"]).current_dir(folder);
        let mut child = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        // What it says is said by who is to be seen.
        child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        let shell = child.id() as i32;
        let files = files(&[&[shell][..], &descendants(shell)].concat());
        drop(child.stdin.take());
        child.wait().unwrap();
        assert!(files.iter().any(|it| !it.starts_with(folder)), "the shell itself: {files:?}");
        let own = files.iter().filter_map(|it| it.strip_prefix(folder).ok());
        own.map(|it| it.display().to_string()).collect()
    }

    /// Else two programs are mixed under one name where a script starts the one that changes.
    #[test]
    fn what_a_command_runs_is_seen_whatever_starts_it() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        fs::write(folder.join("data"), "data").unwrap();
        let behind = seen(&folder, "cp /bin/cat server\n./server data -\n");
        assert_eq!(behind, ["run.sh", "server"], "what is read is no program");
    }

    #[test]
    fn a_file_that_is_written_to_is_data() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        // A shell that has its script open to append to it.
        let log = seen(&folder, "exec 3>>run.sh\necho\nread end\n");
        assert!(log.is_empty(), "{log:?}");
    }
}
