//! Words with one meaning: in a crate, a type that other files can see has its name alone.

use std::collections::BTreeMap;

use crate::source::{crates, modules};

#[test]
fn a_type_that_other_files_see_has_its_name_alone() {
    let mut types = 0;
    let mut shared = Vec::new();
    for (name, src) in crates() {
        let mut places = BTreeMap::<String, Vec<(String, bool)>>::new();
        for (module, tokens) in modules(&src) {
            for (defined, is_seen) in defined(&tokens) {
                places.entry(defined).or_default().push((module.join("/"), is_seen));
            }
        }
        types += places.len();
        for (word, places) in places {
            let is_seen = places.iter().any(|(_, is_seen)| *is_seen);
            if is_seen && places.len() > 1 {
                let places: Vec<String> = places.into_iter().map(|(place, _)| place).collect();
                shared.push(format!("{name}: {word} in {}", places.join(", ")));
            }
        }
    }
    assert!(types > 400, "only {types} types were found");
    assert!(shared.is_empty(), "names of several types:\n{}", shared.join("\n"));
}

/// The types that a file defines outside of functions and implementations, and whether other
/// files can see them.
fn defined(tokens: &[String]) -> Vec<(String, bool)> {
    let mut depth = 0;
    let mut types = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        match token.as_str() {
            "{" => depth += 1,
            "}" => depth -= 1,
            "struct" | "enum" | "union" | "trait" | "type" if depth == 0 => {
                let before = at.checked_sub(1).map(|before| tokens[before].as_str());
                types.push((tokens[at + 1].clone(), matches!(before, Some("pub" | ")"))));
            }
            _ => {}
        }
    }
    types
}
