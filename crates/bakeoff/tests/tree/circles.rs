//! Files of a crate that know each other in a circle: none can be read, changed or moved without
//! the others.
//!
//! A file knows the one that holds an item which it names. What it names is read from its text:
//! `use`, and paths from `crate`, `self`, `super` or what was imported.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::source::{ModulePath, crates, modules, tokens};

#[test]
fn no_file_knows_one_that_knows_it() {
    let mut found = Vec::new();
    let mut known = 0;
    for (name, src) in crates() {
        let graph = graph(&modules(&src));
        known += graph.values().map(BTreeSet::len).sum::<usize>();
        let circles = graph.keys().filter_map(|module| circle(&graph, module));
        found.extend(circles.map(|circle| format!("{name}: {}", circle.join(" → "))));
    }
    assert!(known > 500, "only {known} times a file was seen to know another");
    assert!(found.is_empty(), "files that know each other in a circle:\n{}", found.join("\n"));
}

/// Else the test above looks at nothing.
#[test]
fn a_circle_is_found_however_a_file_is_named() {
    let name = |path: &str| -> ModulePath { path.split('/').map(str::to_string).collect() };
    let file = |path: &str, text: &str| (name(path), tokens(text));
    let a = file("a", "use crate::b::{Type, inner::{self, Other}}; inner::new();");
    for (b, through) in [
        (file("b", "use super::a; a::call();"), "b"),
        (file("b/inner", "fn f() { crate::a::call() }"), "b/inner"),
        (file("b/inner", "use crate::{c}; c::call();"), "b/inner"),
    ] {
        let c = file("c", "pub use crate::a::call;");
        let modules = BTreeMap::from([a.clone(), file("b", ""), c, b]);
        let circle = circle(&graph(&modules), &name("a"));
        assert_eq!(circle, Some(vec!["a".into(), through.into(), "a".into()]), "{modules:?}");
    }
}

type Modules = BTreeMap<ModulePath, Vec<String>>;
type Graph = BTreeMap<ModulePath, BTreeSet<ModulePath>>;

/// Whom each file knows. What the file of a folder holds is there for the files of the folder.
fn graph(modules: &Modules) -> Graph {
    let imports: Imports =
        modules.keys().map(|module| (module.clone(), imports(modules, module))).collect();
    let known = |module: &ModulePath| {
        let named = imports[module].iter().filter(|import| !import.is_public);
        let named = named.map(|import| import.path.clone()).chain(
            paths(&modules[module])
                .into_iter()
                .filter_map(|path| from_root(modules, &imports[module], module, path)),
        );
        let owners = named.filter_map(|path| owner(&imports, path));
        owners.filter(|owner| !module.starts_with(owner)).collect()
    };
    modules.keys().map(|module| (module.clone(), known(module))).collect()
}

/// The shortest way from a file back to it.
fn circle(graph: &Graph, from: &ModulePath) -> Option<Vec<String>> {
    let mut ways = VecDeque::from([vec![from]]);
    let mut seen = BTreeSet::new();
    while let Some(way) = ways.pop_front() {
        for next in graph.get(way[way.len() - 1]).into_iter().flatten() {
            let way: Vec<&ModulePath> = way.iter().copied().chain([next]).collect();
            if next == from {
                return Some(way.iter().map(|path| path.join("/")).collect());
            }
            if seen.insert(next) {
                ways.push_back(way);
            }
        }
    }
    None
}

type Imports = BTreeMap<ModulePath, Vec<Import>>;

/// A name of the crate that a file got by `use`.
struct Import {
    name: String,
    path: Vec<String>,
    is_public: bool,
}

fn imports(modules: &Modules, module: &ModulePath) -> Vec<Import> {
    let tokens = &modules[module];
    let mut all = Vec::new();
    for at in (0..tokens.len()).filter(|&at| is_import(&tokens[at..])) {
        let is_public = at > 0 && ["pub", ")"].contains(&tokens[at - 1].as_str());
        let mut named = Vec::new();
        names_of(&mut &tokens[at + 1..], vec![], &mut named);
        for (name, path) in named {
            let path = from_root(modules, &[], module, path);
            all.extend(path.map(|path| Import { name, path, is_public }));
        }
    }
    all
}

/// Whether these begin with an import; `use<'a>` of a type is none.
fn is_import(tokens: &[String]) -> bool {
    tokens[0] == "use" && tokens.get(1).is_some_and(|next| next != "<")
}

/// The names that a tree of `use` has below a path, each with its own path; leaves what is behind
/// the tree.
fn names_of(tree: &mut &[String], mut path: Vec<String>, found: &mut Vec<(String, Vec<String>)>) {
    let mut name = None;
    while let Some((token, rest)) = tree.split_first() {
        match token.as_str() {
            "}" | "," | ";" => break,
            "{" => {
                *tree = rest;
                while tree.first().is_some_and(|token| token != "}") {
                    names_of(tree, path.clone(), found);
                    *tree = tree.strip_prefix(&[",".to_string()]).unwrap_or(tree);
                }
                *tree = tree.get(1..).unwrap_or_default();
                return;
            }
            "as" => name = rest.first().cloned(),
            "::" => {}
            "self" if !path.is_empty() => {}
            _ if name.is_some() => {}
            _ => path.push(token.clone()),
        }
        *tree = rest;
    }
    if let Some(name) = name.or_else(|| path.last().cloned()) {
        found.push((name, path));
    }
}

/// A path that begins at the root of the crate; `None` where it leads out of the crate.
fn from_root(
    modules: &Modules,
    imports: &[Import],
    module: &ModulePath,
    path: Vec<String>,
) -> Option<Vec<String>> {
    let first = path.first()?;
    let child: ModulePath = module.iter().chain([first]).cloned().collect();
    if let Some(import) = imports.iter().find(|import| import.name == *first) {
        return Some(import.path.iter().chain(&path[1..]).cloned().collect());
    }
    let mut base = match first.as_str() {
        "crate" => vec![],
        "self" | "super" => module.clone(),
        _ if modules.contains_key(&child) => module.clone(),
        _ => return None,
    };
    for part in path {
        match part.as_str() {
            "crate" | "self" => {}
            "super" => drop(base.pop()),
            _ => base.push(part),
        }
    }
    Some(base)
}

/// All paths of a text, but for those of imports.
fn paths(tokens: &[String]) -> Vec<Vec<String>> {
    let mut all: Vec<Vec<String>> = Vec::new();
    let mut imports = false;
    let mut goes_on = false;
    for (at, token) in tokens.iter().enumerate() {
        imports = is_import(&tokens[at..]) || imports && token != ";";
        let is_word = token.starts_with(|it: char| it.is_alphabetic() || it == '_');
        match all.last_mut() {
            Some(path) if is_word && goes_on => path.push(token.clone()),
            _ if is_word && !imports => all.push(vec![token.clone()]),
            _ => {}
        }
        goes_on = token == "::" && !imports;
    }
    all.retain(|path| path.len() > 1);
    all
}

/// The file that holds what a path names: what is only handed on leads to where it comes from.
fn owner(imports: &Imports, mut path: Vec<String>) -> Option<ModulePath> {
    // No way is longer than there are files.
    for _ in imports {
        let length = (0..=path.len()).rev().find(|&to| imports.contains_key(&path[..to]))?;
        let (owner, item) = (path[..length].to_vec(), path.get(length)?);
        let handed_on = imports[&owner].iter().find(|import| import.name == *item && item != "*");
        let Some(import) = handed_on else { return Some(owner) };
        path = import.path.iter().chain(&path[length + 1..]).cloned().collect();
    }
    None
}
