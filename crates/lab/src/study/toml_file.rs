//! Reads a TOML file, and says what is wrong with it in one sentence with file,
//! line and column.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::near::did_you_mean;

/// Why a file couldn't be used.
#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    /// It couldn't be read.
    #[error("couldn't read {path}: {source}", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// It was read, and doesn't say what it has to.
    #[error("{path}:{line}:{column}: {what}\n  {line} | {text}\n{caret:>at$}", path = path.display(),
        caret = '^', at = format!("  {line} | ").len() + column)]
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
pub fn read<T: DeserializeOwned>(path: &Path, page: &str) -> Result<T, Unusable> {
    let text = fs::read_to_string(path)
        .map_err(|source| Unusable::Read { path: path.to_path_buf(), source })?;
    parse(path, &text, page)
}

fn parse<T: DeserializeOwned>(path: &Path, text: &str, page: &str) -> Result<T, Unusable> {
    toml::from_str(text).map_err(|error| {
        if let Some((at, what)) = unclosed(text) {
            return complaint(path, text, at, what);
        }
        let offset = error.span().map_or(0, |span| span.start);
        let mut what = in_plain_words(error.message());
        if what == "wanted string or table" {
            what = format!("a word has to stand here, as text; {page} has those that there are");
        }
        if what.starts_with("unknown key") || what.starts_with("missing key") {
            what = format!("{what}; {page} explains each");
        }
        complaint(path, text, offset, what)
    })
}

/// The bracket that nothing closes, and a sentence about it: the parser stumbles over what
/// follows, lines later. `None` where something else is wrong.
fn unclosed(text: &str) -> Option<(usize, String)> {
    let (_, errors) = DeTable::parse_recoverable(text);
    if !errors.iter().any(|error| error.message().starts_with("unclosed")) {
        return None;
    }
    let mut open = Vec::new();
    let mut at = 0;
    while let Some(char) = text[at..].chars().next() {
        let mut end = at + char.len_utf8();
        match char {
            '#' => end = text[at..].find('\n').map_or(text.len(), |line| at + line),
            '"' | '\'' => end = end_of_string(text, at, char),
            '[' => open.push((at, '[', ']')),
            '{' => open.push((at, '{', '}')),
            ']' | '}' => match open.pop_if(|(_, _, closes)| *closes == char) {
                Some(_) => {}
                None => break,
            },
            _ => {}
        }
        at = end;
    }
    let (at, opens, closes) = open.pop()?;
    Some((at, format!("nothing closes this `{opens}`: `{closes}` is missing")))
}

/// Where a text ends that begins here with this quote.
fn end_of_string(text: &str, begin: usize, quote: char) -> usize {
    let triple = quote.to_string().repeat(3);
    let is_long = text[begin..].starts_with(&triple);
    let end = if is_long { &triple[..] } else { &triple[..1] };
    let mut at = begin + end.len();
    while let Some(char) = text[at..].chars().next() {
        if text[at..].starts_with(end) {
            return at + end.len();
        }
        if char == '\n' && !is_long {
            return at;
        }
        at += char.len_utf8();
        if char == '\\' && quote == '"' {
            at += text[at..].chars().next().map_or(0, char::len_utf8);
        }
    }
    at
}

/// A complaint about what stands at this place of a file that was read: its
/// value is well-formed, and doesn't fit the rest.
pub fn refuse(path: &Path, place: Range<usize>, what: String) -> Unusable {
    match fs::read_to_string(path) {
        Ok(text) => complaint(path, &text, place.start, what),
        Err(source) => Unusable::Read { path: path.to_path_buf(), source },
    }
}

/// The same about what must not be shown.
pub fn refuse_secret(path: &Path, place: Range<usize>, what: String) -> Unusable {
    match refuse(path, place, what) {
        Unusable::Content { path, line, column, what, .. } => {
            Unusable::Content { path, line, column, what, text: "***".into() }
        }
        other => other,
    }
}

/// What templates have where their users are to write something.
const GAPS: [&str; 2] = ["FILL IN", "FILL-IN"];

/// Refuses a file in which a template's words stand still that are to be filled in.
pub fn check_filled_in(path: &Path) -> Result<(), Unusable> {
    let text = fs::read_to_string(path)
        .map_err(|source| Unusable::Read { path: path.to_path_buf(), source })?;
    // What is no TOML was refused when it was read.
    let whole = DeTable::parse(&text).ok();
    let gap = whole.and_then(|whole| whole.get_ref().values().filter_map(gap).min());
    match gap {
        Some(at) => Err(complaint(path, &text, at, "this is still to be filled in".into())),
        None => Ok(()),
    }
}

/// Where the first text begins that is to be filled in, of this value and all in it.
fn gap(value: &Spanned<DeValue>) -> Option<usize> {
    match value.get_ref() {
        DeValue::String(text) => {
            GAPS.iter().any(|gap| text.contains(gap)).then(|| value.span().start)
        }
        DeValue::Array(items) => items.iter().filter_map(gap).min(),
        DeValue::Table(table) => table.values().filter_map(gap).min(),
        _ => None,
    }
}

fn complaint(path: &Path, text: &str, offset: usize, what: String) -> Unusable {
    let before = text.get(..offset.min(text.len())).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    Unusable::Content {
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
    let mut names = message.split('`').skip(1).step_by(2);
    let near = did_you_mean(names.next().unwrap_or_default(), names);
    message
        .replace("unknown field", "unknown key")
        .replace("unknown variant", "unknown value")
        .replacen(", expected one of ", &format!("{near}; allowed: "), 1)
        .replacen(", expected ", &format!("{near}; allowed: "), 1)
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
        studies/menu.toml:2:1: unknown key `prise` (did you mean `price`?); allowed: `dish` or `price`; docs/menu.md explains each
          2 | prise = 3
              ^
        ");
    }

    #[test]
    fn a_missing_key_is_named() {
        insta::assert_snapshot!(complaint("price = 3\n"), @r"
        studies/menu.toml:1:1: missing key `dish`; docs/menu.md explains each
          1 | price = 3
              ^
        ");
    }

    #[test]
    fn a_value_of_the_wrong_type_is_shown_in_its_line() {
        insta::assert_snapshot!(complaint("dish = 'soup'\nprice = 'cheap'\n"), @r#"
        studies/menu.toml:2:9: invalid type: string "cheap", expected a whole number that isn't negative
          2 | price = 'cheap'
                      ^
        "#);
    }

    /// The parser finds out lines later.
    #[test]
    fn a_bracket_that_nothing_closes_has_its_own_place() {
        insta::assert_snapshot!(complaint("dish = { a = \"}\", b = 1\n# }\nprice = 3\n[more]\n"), @r#"
        studies/menu.toml:1:8: nothing closes this `{`: `}` is missing
          1 | dish = { a = "}", b = 1
                     ^
        "#);
        for (text, place) in [
            ("dish = [{ a = 1, b = [4] ]\nprice = 3\n", "1:9: nothing closes this `{`"),
            ("dish = [\n { a = 1\n { a = 2 },\n]\n", "2:2: nothing closes this `{`"),
            ("a = '''\n{'''\nb = \"\\\"{\"\ndish = [\n", "4:8: nothing closes this `[`"),
        ] {
            let said = complaint(text);
            assert!(said.starts_with(&format!("studies/menu.toml:{place}")), "{text}: {said}");
        }
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
