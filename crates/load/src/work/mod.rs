//! What is asked, and what an answer is worth.

pub mod keys;
