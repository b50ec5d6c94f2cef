//! The folder that all trials of a contender are started in, where they have none of their own:
//! what one leaves there, the next one finds.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use keeper::leftovers;
use result::Run;
use result::evidence::SharedFolder;

/// With more in it, a folder isn't looked through: that takes tenths of a second before each
/// trial.
const ENTRIES_MAX: usize = 100_000;
/// Of a name that is told.
const NAME_CHARS_MAX: usize = 100;

/// When the first trial of a run began, which has made others already where it is resumed. Their
/// times are in whole seconds.
pub fn began(run: &Run) -> SystemTime {
    let first = run.trials.iter().filter_map(|it| humantime::parse_rfc3339(&it.started).ok()).min();
    first.map_or_else(SystemTime::now, |first| first + Duration::from_secs(1))
}

/// What became of a folder since then. What bakeoff itself makes there doesn't count: `runs`, and
/// the folders of trials where it lies among temporary ones.
pub fn look(folder: &Path, since: SystemTime, runs: &Path) -> SharedFolder {
    match first_changed(folder, since, runs) {
        Ok(None) => SharedFolder::AsItWas,
        Ok(Some(path)) => SharedFolder::Changed(path),
        Err(why) => SharedFolder::Unknown(why),
    }
}

fn first_changed(folder: &Path, since: SystemTime, runs: &Path) -> Result<Option<String>, String> {
    let since = since.duration_since(UNIX_EPOCH).unwrap_or_default();
    let since = (since.as_secs() as i64, i64::from(since.subsec_nanos()));
    let whole = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.into());
    let [folder, runs, temporary] = [folder, runs, &std::env::temp_dir()].map(whole);
    // These change with what bakeoff makes in them.
    let has_own = [runs.parent().unwrap_or(&runs).to_path_buf(), temporary.clone()];
    let is_own = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        *path == *runs || path.parent() == Some(&*temporary) && leftovers::is_name(&name)
    };
    let text = |error: io::Error| error.to_string();
    let (mut left, mut entries) = (vec![folder.clone()], 0);
    while let Some(path) = left.pop() {
        entries += 1;
        if entries > ENTRIES_MAX {
            return Err(format!("it has more than {ENTRIES_MAX} files"));
        }
        let metadata = match fs::symlink_metadata(&path) {
            Ok(metadata) => metadata,
            // It went while the others were looked at.
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Ok(Some(name(&folder, &path)));
            }
            Err(error) => return Err(text(error)),
        };
        // No program can set the time of a change.
        let is_changed = (metadata.ctime(), metadata.ctime_nsec()) > since;
        if is_changed && !has_own.contains(&path) {
            return Ok(Some(name(&folder, &path)));
        }
        if metadata.is_dir() {
            let all = fs::read_dir(&path).map_err(text)?;
            left.extend(all.flatten().map(|entry| entry.path()).filter(|path| !is_own(path)));
        }
    }
    Ok(None)
}

/// What something in a folder is called, bounded: a program may have made it.
fn name(folder: &Path, path: &Path) -> String {
    let name = path.strip_prefix(folder).unwrap_or(path).to_string_lossy();
    if name.is_empty() { ".".into() } else { name.chars().take(NAME_CHARS_MAX).collect() }
}

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
