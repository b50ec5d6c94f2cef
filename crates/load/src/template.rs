//! Requests with placeholders.
//!
//! `{counter}` stands for the number of the request in this run, from 0;
//! `{nonce}` for 16 random digits of its own, so that an answer that shows them
//! was made for this request. A nonce is below 2^53, so that every language's
//! numbers hold it.

/// An HTTP request whose parts may have placeholders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// `GET`, `POST`, ….
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Headers beside `Host`, `Content-Length` and `Connection`, which are made.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Request {
    /// A GET without further headers.
    pub fn get(path: impl Into<String>) -> Request {
        Request { method: "GET".into(), path: path.into(), headers: Vec::new(), body: Vec::new() }
    }
}
