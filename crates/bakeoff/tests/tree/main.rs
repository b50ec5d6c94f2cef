//! What lies in the tree, held against itself: documents beside the commands and the
//! parsers that they tell of, crates beside the map of who may know whom, the web study
//! beside its question, and the script that finds a JDK.

mod documented;
mod documented_keys;
mod layering;
mod newest_jdk;
mod web_study;
