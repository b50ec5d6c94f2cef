//! From a study to findings.

pub mod contender;
pub mod contract;
pub mod http;
pub mod keeper;
pub mod kept;
pub mod machine;
pub mod output_tail;
pub mod place;
pub mod process_tree;
pub mod sample;
pub mod study;
pub mod toml_file;
