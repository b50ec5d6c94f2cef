//! Reads a TOML file, and says what is wrong with it in one sentence with file,
//! line and column.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

/// Why a file couldn't be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It couldn't be read.
    #[error("couldn't read {path}: {source}", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// It was read, and doesn't say what it has to.
    #[error("{path}:{line}:{column}: {what}\n  {line} | {text}", path = path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// From 1, in characters.
        column: usize,
        /// The sentence.
        what: String,
        /// The line itself.
        text: String,
    },
}

/// Reads a file into a type.
pub fn read<T: DeserializeOwned>(path: &Path) -> Result<T, Error> {
    let text = fs::read_to_string(path)
        .map_err(|source| Error::Read { path: path.to_path_buf(), source })?;
    parse(path, &text)
}

fn parse<T: DeserializeOwned>(path: &Path, text: &str) -> Result<T, Error> {
    toml::from_str(text).map_err(|error| {
        let offset = error.span().map_or(0, |span| span.start);
        complaint(path, text, offset, in_plain_words(error.message()))
    })
}

/// A complaint about what stands at this place of a file that was read: its
/// value is well-formed, and doesn't fit the rest.
pub fn refuse(path: &Path, place: Range<usize>, what: String) -> Error {
    match fs::read_to_string(path) {
        Ok(text) => complaint(path, &text, place.start, what),
        Err(source) => Error::Read { path: path.to_path_buf(), source },
    }
}

fn complaint(path: &Path, text: &str, offset: usize, what: String) -> Error {
    let before = text.get(..offset.min(text.len())).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    Error::Content {
        path: path.to_path_buf(),
        line,
        column: before.chars().rev().take_while(|&c| c != '\n').count() + 1,
        what,
        text: text.lines().nth(line - 1).unwrap_or_default().to_string(),
    }
}

/// The parser speaks of fields and variants; a file has keys and values.
fn in_plain_words(message: &str) -> String {
    let message = message
        .replace("missing field", "missing key")
        .replace("duplicate field", "key given twice:")
        .trim_end()
        .replace('\n', "; ");
    if !message.starts_with("unknown") {
        return message;
    }
    message
        .replace("unknown field", "unknown key")
        .replace("unknown variant", "unknown value")
        .replace(", expected one of ", "; allowed: ")
        .replace(", expected ", "; allowed: ")
        .replace(", there are no fields", "; none is allowed here")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Menu {
        #[allow(dead_code)]
        dish: String,
        #[serde(default)]
        #[allow(dead_code)]
        price: u32,
    }

    fn complaint(text: &str) -> String {
        parse::<Menu>(Path::new("studies/menu.toml"), text).unwrap_err().to_string()
    }

    #[test]
    fn an_unknown_key_is_named_with_its_place_and_what_is_allowed() {
        insta::assert_snapshot!(complaint("dish = 'soup'\nprise = 3\n"), @r"
        studies/menu.toml:2:1: unknown key `prise`; allowed: `dish` or `price`
          2 | prise = 3
        ");
    }

    #[test]
    fn a_missing_key_is_named() {
        insta::assert_snapshot!(complaint("price = 3\n"), @r"
        studies/menu.toml:1:1: missing key `dish`
          1 | price = 3
        ");
    }

    #[test]
    fn a_value_of_the_wrong_type_is_shown_in_its_line() {
        insta::assert_snapshot!(complaint("dish = 'soup'\nprice = 'cheap'\n"), @r#"
        studies/menu.toml:2:9: invalid type: string "cheap", expected u32
          2 | price = 'cheap'
        "#);
    }

    #[test]
    fn broken_syntax_has_a_place() {
        assert!(complaint("dish = \n").starts_with("studies/menu.toml:1:"));
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let error = read::<Menu>(Path::new("no/such.toml")).unwrap_err().to_string();
        assert!(error.starts_with("couldn't read no/such.toml: No such file"), "{error}");
    }
}
