//! The folder that all trials of a contender are started in, where they have none of their own:
//! what one leaves there, the next one finds.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use result::Run;
use result::evidence::SharedFolder;

/// With more in it, a folder isn't looked through: that takes tenths of a second before each
/// trial.
const ENTRIES_MAX: usize = 100_000;

/// When the first trial of a run began, which has made others already where it is resumed. Their
/// times are in whole seconds.
pub fn began(run: &Run) -> SystemTime {
    let first = run.trials.iter().filter_map(|it| humantime::parse_rfc3339(&it.started).ok()).min();
    first.map_or_else(SystemTime::now, |first| first + Duration::from_secs(1))
}

/// What became of a folder since then. In `runs`, which may lie in it, runs are kept.
pub fn look(folder: &Path, since: SystemTime, runs: &Path) -> SharedFolder {
    let since = since.duration_since(UNIX_EPOCH).unwrap_or_default();
    let since = (since.as_secs() as i64, i64::from(since.subsec_nanos()));
    let runs = fs::canonicalize(runs).unwrap_or_else(|_| runs.into());
    let (mut left, mut entries) = (vec![folder.to_path_buf()], 0);
    while let Some(path) = left.pop() {
        let is_runs = |path: &Path| fs::canonicalize(path).is_ok_and(|path| path == runs);
        let metadata = match fs::symlink_metadata(&path) {
            Ok(metadata) => metadata,
            // It went while the others were looked at.
            Err(error) if error.kind() == ErrorKind::NotFound => return changed(folder, &path),
            Err(error) => return SharedFolder::Unknown(error.to_string()),
        };
        entries += 1;
        if entries > ENTRIES_MAX {
            return SharedFolder::Unknown(format!("it has more than {ENTRIES_MAX} files"));
        }
        let has_runs = || runs.parent() == fs::canonicalize(&path).ok().as_deref();
        if metadata.is_dir() && is_runs(&path) {
            continue;
        }
        // No program can set the time of a change.
        let is_changed = (metadata.ctime(), metadata.ctime_nsec()) > since;
        if is_changed && !(metadata.is_dir() && has_runs()) {
            return changed(folder, &path);
        }
        if metadata.is_dir() {
            match fs::read_dir(&path) {
                Ok(all) => left.extend(all.flatten().map(|entry| entry.path())),
                Err(error) => return SharedFolder::Unknown(error.to_string()),
            }
        }
    }
    SharedFolder::AsItWas
}

fn changed(folder: &Path, path: &Path) -> SharedFolder {
    let name = path.strip_prefix(folder).map_or(path.into(), Path::to_path_buf);
    let name = if name == PathBuf::new() { ".".into() } else { name };
    SharedFolder::Changed(name.to_string_lossy().chars().take(NAME_CHARS_MAX).collect())
}

/// Of a name that a program may have made.
const NAME_CHARS_MAX: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_made_changed_or_removed_since_is_found_and_runs_are_not() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path();
        let runs = folder.join("runs");
        fs::create_dir(folder.join("data")).unwrap();
        fs::write(folder.join("data/old"), "").unwrap();
        // Clocks of file systems are coarse.
        let after = || SystemTime::now() + Duration::from_millis(20);
        let since = after();
        assert_eq!(look(folder, since, &runs), SharedFolder::AsItWas);
        std::thread::sleep(Duration::from_millis(50));
        fs::create_dir(&runs).unwrap();
        fs::write(runs.join("run.json"), "").unwrap();
        assert_eq!(look(folder, since, &runs), SharedFolder::AsItWas, "runs are kept there");
        fs::write(folder.join("data/old"), "x").unwrap();
        assert_eq!(look(folder, since, &runs), SharedFolder::Changed("data/old".into()));
        let since = after();
        assert_eq!(look(folder, since, &runs), SharedFolder::AsItWas);
        std::thread::sleep(Duration::from_millis(50));
        fs::remove_file(folder.join("data/old")).unwrap();
        assert_eq!(look(folder, since, &runs), SharedFolder::Changed("data".into()));
    }
}
