//! What a contender made of its records, counted by the study's own command.
//!
//! A contender writes it to a file before it begins. Whatever is counted there is counted alike
//! for all: of two that make the same bytes, none is smaller because its language has another way
//! to count. And no contender is taken at its word.
//!
//! What is counted stood in the file when the contender said that it is ready. Else one could have
//! something else counted than what it worked on.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use keeper::text::harmless;
use load::Stop;

use super::tool;
use crate::drive::Drive;
use crate::drive::program::{is_a_figure, setting_and_seed};
use crate::study::{Data, digest};

/// The file's name in the trial's folder.
pub const FILE: &str = "made";
/// Bytes of it at most: whoever counts them may read them all at once.
const BYTES_MAX: u64 = 1 << 30;
const CHANGED: &str = "it changed the file that `--made` names after it had said that it is ready: what it worked on \
     isn't what would be counted";

/// The digest of what stands in the file now.
///
/// # Errors
/// That it can't be counted, in a sentence.
pub fn content(file: &Path) -> Result<String, String> {
    is_countable(file)?;
    let unread = |error| format!("the file that `--made` names can't be read: {error}");
    digest::of_file(file).map_err(unread)
}

/// Counts what stands in the file, which has to have this digest still: figures, by their ids.
/// Somebody who asks to stop meanwhile gets none.
///
/// # Errors
/// That it couldn't be counted, in a sentence.
pub fn count(
    data: &Data,
    what: &Drive,
    (file, before): (&Path, String),
    stop: &Stop,
) -> Result<BTreeMap<String, f64>, String> {
    if content(file) != Ok(before) {
        return Err(CHANGED.into());
    }
    let made = vec!["--made".into(), file.display().to_string()];
    let command = [data.counted_by.clone(), setting_and_seed(what), made].concat();
    let failed = |why: String| format!("`{}`: {why}", data.counted_by.join(" "));
    let mut printed = String::new();
    let take = |line: &str| {
        printed.push_str(line);
        Ok(())
    };
    tool::run(data, command, stop, take).map_err(failed)?;
    if stop.asked() {
        return Ok(BTreeMap::new());
    }
    figures(&printed).map_err(failed)
}

/// Whether a contender wrote the file, and not more than can be looked through.
fn is_countable(file: &Path) -> Result<(), String> {
    // A link leads to what may be another's.
    let written = fs::symlink_metadata(file).ok().filter(fs::Metadata::is_file);
    match written.map(|it| it.len()) {
        None => Err("it wrote nothing to the file that `--made` names before it was ready".into()),
        Some(bytes) if bytes > BYTES_MAX => Err(format!(
            "it wrote {bytes} bytes to the file that `--made` names, and {BYTES_MAX} are the most"
        )),
        Some(_) => Ok(()),
    }
}

fn figures(printed: &str) -> Result<BTreeMap<String, f64>, String> {
    let figures: Option<BTreeMap<String, f64>> = serde_json::from_str(printed).ok();
    figures.filter(|them| them.values().all(|&number| is_a_figure(number))).ok_or_else(|| {
        let printed = harmless(printed);
        format!("it printed {printed:?}, which is no object of numbers from 0 to 2^53 in JSON")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Else a contender has another's file counted as its own, or takes all memory by one that is
    /// hardly there.
    #[test]
    fn what_is_counted_is_a_file_of_its_own_and_not_too_large() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let file = fs::File::create(path("made")).unwrap();
        assert_eq!(is_countable(&path("made")), Ok(()));
        file.set_len(BYTES_MAX + 1).unwrap();
        let why = is_countable(&path("made")).unwrap_err();
        assert!(why.starts_with("it wrote 1073741825 bytes to the file"), "{why}");
        std::os::unix::fs::symlink(path("made"), path("link")).unwrap();
        fs::create_dir(path("folder")).unwrap();
        for name in ["link", "folder", "none"] {
            let why = is_countable(&path(name)).unwrap_err();
            let nothing = "it wrote nothing to the file that `--made` names before it was ready";
            assert_eq!(why, nothing, "{name}");
        }
    }

    /// Else a contender could have less counted than what it worked on.
    #[test]
    fn a_file_that_was_written_anew_is_another_though_its_length_and_times_are_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("made");
        fs::write(&path, "first").unwrap();
        let times = fs::metadata(&path).unwrap().modified().unwrap();
        let before = content(&path).unwrap();
        assert_eq!(content(&path), Ok(before.clone()));
        fs::write(&path, "other").unwrap();
        fs::File::options().write(true).open(&path).unwrap().set_modified(times).unwrap();
        assert_ne!(content(&path), Ok(before));
    }

    #[test]
    fn figures_are_an_object_of_numbers() {
        let told = figures(r#"{"bytes_each": 83, "deflated_each": 80.8}"#).unwrap();
        let expected = [("bytes_each", 83.0), ("deflated_each", 80.8)];
        assert_eq!(told, expected.map(|(id, number)| (id.to_string(), number)).into());
        for wrong in ["", "83", r#"{"bytes_each": "83"}"#, r#"{"bytes_each": -1}"#] {
            let why = figures(wrong).unwrap_err();
            assert!(why.starts_with(&format!("it printed {wrong:?}, which is no ")), "{why}");
        }
    }
}
