//! Does a contender do its job? What is asked of it, by protocol.

pub mod http;
pub mod http_client;
