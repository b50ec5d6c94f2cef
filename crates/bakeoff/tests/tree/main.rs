//! What lies in the tree, held against itself: documents beside the commands and the parsers that
//! they tell of, crates beside the map of who may know whom, files beside those that they know,
//! names beside what they stand for, published pages beside their runs, the web study beside its
//! question, and the script that finds a JDK.

mod circles;
mod documented;
mod documented_keys;
mod fixture;
mod layering;
mod meanings;
mod newest_jdk;
mod pages;
mod source;
mod web_study;
