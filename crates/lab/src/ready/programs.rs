//! Where the programs of this machine are looked for, and what they find around them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use keeper::{Order, Scratch, leftovers};

/// Where Debian puts servers, which only root's own path has.
const FOLDERS_OF_ROOT: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/// The folders that programs are looked for in, as `PATH` has them: the user's,
/// then those that only root's has.
pub fn search_path() -> String {
    let mut path = std::env::var("PATH").unwrap_or_default();
    for folder in FOLDERS_OF_ROOT {
        if !path.split(':').any(|known| known == folder) {
            path.push(':');
            path.push_str(folder);
        }
    }
    path
}

/// A program, by its name, or by its whole path where it lies in no such folder.
pub fn find(name: &str) -> Option<PathBuf> {
    let path = search_path();
    let mut programs = std::env::split_paths(&path).map(|folder| folder.join(name));
    programs.find(|program| is_executable(program))
}

fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}

/// The user's own environment, but for its `PATH`, which is [`search_path`].
pub fn environment() -> Vec<(String, String)> {
    let others = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| name != "PATH");
    others.chain([("PATH".into(), search_path())]).collect()
}

/// A tool that works in a folder. Its temporary files are gone with it, also where it is
/// killed.
pub fn tool(command: Vec<String>, folder: PathBuf) -> Order {
    let path = std::env::temp_dir().join(leftovers::name());
    let environment = environment().into_iter().filter(|(name, _)| name != "TMPDIR");
    let environment = environment.chain([("TMPDIR".into(), path.display().to_string())]).collect();
    Order {
        folder: Some(folder),
        scratch: Some(Scratch { path, files: Vec::new() }),
        ..Order::tool(command, environment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_by_name_and_by_path_if_it_can_be_started() {
        let shell = find("sh").expect("there is a shell everywhere");
        assert_eq!(find(&shell.display().to_string()), Some(shell));
        assert_eq!(find("/etc/passwd"), None, "a file that is no program");
        assert_eq!(find("/no/such/program"), None);
    }
}
