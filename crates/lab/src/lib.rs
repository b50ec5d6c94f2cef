//! From a study to findings.
