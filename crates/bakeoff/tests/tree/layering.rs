//! Who may know whom (ARCHITECTURE.md): `result`, `load` and `keeper` know nobody of this
//! workspace, `judge` knows what was seen and how the generator writes it down, `lab` knows
//! those four, `museum` all five, `report` knows `result`, and nobody knows the programs on top.

use std::collections::BTreeMap;

use cargo_metadata::MetadataCommand;

/// Crates that others build on, each with those that it may know.
const LAYERS: [(&str, &[&str]); 7] = [
    ("result", &[]),
    ("load", &[]),
    ("keeper", &[]),
    ("judge", &["load", "result"]),
    ("lab", &["judge", "keeper", "load", "result"]),
    ("museum", &["judge", "keeper", "lab", "load", "result"]),
    ("report", &["result"]),
];

/// Crates that nobody builds on; they may know every layer.
const PROGRAMS: [&str; 2] = ["bakeoff", "proof"];

#[test]
fn every_crate_knows_only_the_layers_below_it() {
    let metadata = MetadataCommand::new()
        .manifest_path(concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml"))
        .no_deps()
        .exec()
        .expect("cargo describes its own workspace");
    let names: Vec<&str> = metadata.packages.iter().map(|package| package.name.as_str()).collect();
    let layers: BTreeMap<&str, &[&str]> = LAYERS.into();

    for package in &metadata.packages {
        let name = package.name.as_str();
        let may_know = match layers.get(name) {
            Some(may_know) => may_know.to_vec(),
            None if PROGRAMS.contains(&name) => layers.keys().copied().collect(),
            None => panic!("{name} is new: give it a place here and in ARCHITECTURE.md"),
        };
        // Dependencies of tests and build scripts count as well.
        for dependency in package.dependencies.iter().map(|known| known.name.as_str()) {
            assert!(
                !names.contains(&dependency) || may_know.contains(&dependency),
                "{name} knows {dependency}, and may know only {may_know:?}"
            );
        }
    }
    for layer in layers.keys() {
        assert!(names.contains(layer), "{layer} is a layer here, and no crate of the workspace");
    }
}
