//! What a contender made of its records, counted by the study's own command.
//!
//! A contender writes it to a file before it begins. Whatever is counted there is counted alike
//! for all: of two that make the same bytes, none is smaller because its language has another way
//! to count. And no contender is taken at its word.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use keeper::text::harmless;
use load::Stop;

use super::tool;
use crate::drive::Drive;
use crate::drive::program::{is_a_figure, setting_and_seed};
use crate::study::Data;

/// The file's name in the trial's folder.
pub const FILE: &str = "made";

/// Counts what stands in the file: figures, by their ids. Somebody who asks to stop meanwhile
/// gets none.
///
/// # Errors
/// That it couldn't be counted, in a sentence.
pub fn count(
    data: &Data,
    what: &Drive,
    file: &Path,
    stop: &Stop,
) -> Result<BTreeMap<String, f64>, String> {
    // A link leads to what may be another's.
    if !fs::symlink_metadata(file).is_ok_and(|it| it.is_file()) {
        return Err("it wrote nothing to the file that `--made` names".into());
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
