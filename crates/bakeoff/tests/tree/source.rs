//! The files of a crate as modules, each as the tokens of its text. Comments, literals and unit
//! tests are left out.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Where a module stands in its crate: `["html", "checks"]`. The root is empty.
pub type ModulePath = Vec<String>;

/// The crates of the workspace by name, each with its `src`.
pub fn crates() -> BTreeMap<String, PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let entries = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
    entries
        .map(|it| (it.file_name().into_string().unwrap(), it.path().join("src")))
        .filter(|(_, src)| src.is_dir())
        .collect()
}

/// The modules of a crate by path, each with the tokens of its file.
pub fn modules(src: &Path) -> BTreeMap<ModulePath, Vec<String>> {
    let mut files = Vec::new();
    files_below(src, &mut files);
    let is_program = |file: &&PathBuf| !file.iter().any(|part| part == "tests.rs");
    files
        .iter()
        .filter(is_program)
        .map(|file| (module_path(file.strip_prefix(src).unwrap()), tokens(&program(file))))
        .collect()
}

fn module_path(file: &Path) -> ModulePath {
    let parts = file.with_extension("");
    let parts = parts.iter().map(|part| part.to_str().unwrap().to_string());
    parts.filter(|part| !["mod", "lib", "main"].contains(&part.as_str())).collect()
}

/// The text of a file of the program, without its unit tests, which may take any name.
pub fn program(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default().to_string()
}

/// All files of Rust in a folder and below it.
pub fn files_below(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        match entry.path() {
            path if path.is_dir() => files_below(&path, found),
            path if path.extension().is_some_and(|it| it == "rs") => found.push(path),
            _ => {}
        }
    }
}

/// Words, `::`, and other characters by themselves.
pub fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_word = |char: char| char.is_alphanumeric() || char == '_';
        let length = if first.is_whitespace() {
            first.len_utf8()
        } else if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if let Some(length) = literal(rest) {
            length
        } else {
            let length = match first {
                ':' if rest.starts_with("::") => 2,
                _ if is_word(first) => rest.find(|it| !is_word(it)).unwrap_or(rest.len()),
                _ => first.len_utf8(),
            };
            tokens.push(rest[..length].to_string());
            length
        };
        rest = &rest[length..];
    }
    tokens
}

/// The length of the string or character that a text begins with.
fn literal(text: &str) -> Option<usize> {
    let raw = text.strip_prefix('b').unwrap_or(text).strip_prefix('r');
    if let Some(raw) = raw.filter(|raw| raw.trim_start_matches('#').starts_with('"')) {
        let hashes = "#".repeat(raw.len() - raw.trim_start_matches('#').len());
        let content = &raw[hashes.len() + 1..];
        let end = content.find(&format!("\"{hashes}"))?;
        return Some(text.len() - content.len() + end + 1 + hashes.len());
    }
    let content = text.strip_prefix('"');
    if let Some(content) = content {
        let mut is_escaped = false;
        let end = content.find(|char| {
            let is_end = char == '"' && !is_escaped;
            is_escaped = char == '\\' && !is_escaped;
            is_end
        });
        return Some(1 + end? + 1);
    }
    // A lifetime has no end.
    let mut content = text.strip_prefix('\'')?.chars();
    match content.next()? {
        '\\' => Some(1 + 2 + text[3..].find('\'')? + 1),
        char => (content.next()? == '\'').then_some(2 + char.len_utf8()),
    }
}
