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

/// Reads a file into a type. `page` is where its keys are explained.
pub fn read<T: DeserializeOwned>(path: &Path, page: &str) -> Result<T, Error> {
    let text = fs::read_to_string(path)
        .map_err(|source| Error::Read { path: path.to_path_buf(), source })?;
    parse(path, &text, page)
}

fn parse<T: DeserializeOwned>(path: &Path, text: &str, page: &str) -> Result<T, Error> {
    toml::from_str(text).map_err(|error| {
        let offset = error.span().map_or(0, |span| span.start);
        let mut what = in_plain_words(error.message());
        if what.starts_with("unknown key") || what.starts_with("missing key") {
            what = format!("{what}; {page} explains each");
        }
        complaint(path, text, offset, what)
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

/// The same about what must not be shown.
pub fn refuse_secret(path: &Path, place: Range<usize>, what: String) -> Error {
    match refuse(path, place, what) {
        Error::Content { path, line, column, what, .. } => {
            Error::Content { path, line, column, what, text: "***".into() }
        }
        other => other,
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

/// The parser speaks of fields, variants and Rust's types; a file has keys and values.
fn in_plain_words(message: &str) -> String {
    let message = message
        .replace("missing field", "missing key")
        .replace("duplicate field", "key given twice:")
        .trim_end()
        .replace('\n', "; ");
    if message.starts_with("invalid")
        && let Some((found, expected)) = message.rsplit_once(", expected ")
    {
        return format!("{found}, expected {}", type_in_plain_words(expected));
    }
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

fn type_in_plain_words(expected: &str) -> &str {
    match expected {
        "u16" | "u32" | "u64" | "usize" => "a whole number that isn't negative",
        "f64" => "a number",
        "a string" => "text",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        "a tuple of size 2" => "a list of two",
        "a map" => "a table",
        expected if expected.starts_with("struct ") => "a table",
        other => other,
    }
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
        parse::<Menu>(Path::new("studies/menu.toml"), text, "docs/menu.md").unwrap_err().to_string()
    }

    #[test]
    fn an_unknown_key_is_named_with_its_place_and_what_is_allowed() {
        insta::assert_snapshot!(complaint("dish = 'soup'\nprise = 3\n"), @r"
        studies/menu.toml:2:1: unknown key `prise`; allowed: `dish` or `price`; docs/menu.md explains each
          2 | prise = 3
        ");
    }

    #[test]
    fn a_missing_key_is_named() {
        insta::assert_snapshot!(complaint("price = 3\n"), @r"
        studies/menu.toml:1:1: missing key `dish`; docs/menu.md explains each
          1 | price = 3
        ");
    }

    #[test]
    fn a_value_of_the_wrong_type_is_shown_in_its_line() {
        insta::assert_snapshot!(complaint("dish = 'soup'\nprice = 'cheap'\n"), @r#"
        studies/menu.toml:2:9: invalid type: string "cheap", expected a whole number that isn't negative
          2 | price = 'cheap'
        "#);
    }

    #[test]
    fn broken_syntax_has_a_place() {
        assert!(complaint("dish = \n").starts_with("studies/menu.toml:1:"));
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let error =
            read::<Menu>(Path::new("no/such.toml"), "docs/menu.md").unwrap_err().to_string();
        assert!(error.starts_with("couldn't read no/such.toml: No such file"), "{error}");
    }
}
