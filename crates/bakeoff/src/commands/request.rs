//! What is asked of a server of HTTP, and what is right: the options that `load` and `duel`
//! share.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use clap::builder::NonEmptyStringValueParser;
use http::{Method, uri::PathAndQuery};
use load::plan::headers;
use load::plan::name::RequestName;
use load::plan::template::{Placeholders, Request, meant_by};
use load::plan::{Expect, Statuses, WEIGHT_MAX, check_names};
use report::units;

/// The most bytes of a body. It is kept in memory, and the kernel takes no more than 2 GiB
/// at once, to which placeholders may make it grow.
const BODY_BYTES_MAX: u64 = 512 << 20;

const REQUEST: &str = "Request";

/// What is asked, and what is right.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct RequestArguments {
    /// Request method [default: GET, or POST with a body]
    #[arg(short = 'X', long, value_name = "METHOD", value_parser = method, help_heading = REQUEST)]
    pub method: Option<String>,

    /// A header, as 'Name: value'; may be given several times. {env:NAME} in it is taken from
    /// the environment
    #[arg(short = 'H', long = "header", value_name = "HEADER", value_parser = header,
        help_heading = REQUEST)]
    pub headers: Vec<(String, String)>,

    /// Send this text as the body, or with @FILE the content of that file
    #[arg(long, value_name = "TEXT|@FILE", help_heading = REQUEST)]
    pub body: Option<String>,

    /// Ask for this path, in place of a URL's; several are asked for in turn. The times of one
    /// with a name, as home=/, are told apart
    #[arg(long = "path", value_name = "[NAME=]PATH", help_heading = REQUEST)]
    pub paths: Vec<PathAsked>,

    /// How often each path is asked for beside the others, as 9,1, in their order
    #[arg(long, value_name = "LIST", value_delimiter = ',', requires = "paths",
        value_parser = clap::value_parser!(u32).range(1..=i64::from(WEIGHT_MAX)),
        help_heading = REQUEST)]
    pub weights: Vec<u32>,

    /// Count an answer as good only if its body holds this text
    #[arg(long, value_name = "TEXT", help_heading = REQUEST,
        value_parser = NonEmptyStringValueParser::new())]
    pub expect_body: Option<String>,

    /// Count an answer as good only if its status is one of these, as 200-299,304
    /// [default: those of success, 200-299]
    #[arg(long, value_name = "LIST", help_heading = REQUEST)]
    pub expect_status: Option<Statuses>,
}

/// A path that was given, and what a request for it is called.
#[derive(Debug, Clone, PartialEq)]
pub struct PathAsked {
    /// Its name, if it has one.
    pub name: Option<RequestName>,
    /// Path and query.
    pub path: String,
}

/// A body that was given.
#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    /// As text.
    Text(String),
    /// As a file with this content.
    File(PathBuf, Arc<[u8]>),
}

impl Body {
    /// Its bytes.
    pub fn bytes(&self) -> Arc<[u8]> {
        match self {
            Body::Text(text) => text.as_bytes().into(),
            Body::File(_, bytes) => bytes.clone(),
        }
    }
}

impl RequestArguments {
    /// The body that `--body` gives.
    ///
    /// # Errors
    /// Why its file can't be read.
    pub fn body(&self) -> Result<Option<Body>, String> {
        let Some(body) = &self.body else { return Ok(None) };
        let Some(file) = body.strip_prefix('@') else { return Ok(Some(Body::Text(body.clone()))) };
        let name = format!("--body @{file}");
        let file = PathBuf::from(file);
        Ok(Some(Body::File(file.clone(), file_content(&file, &name)?.into())))
    }

    /// The requests with this body: one for each path, or for `path` if none was given.
    ///
    /// # Errors
    /// What doesn't go together, in a sentence.
    pub fn requests(
        &self,
        path: &str,
        body: Option<Arc<[u8]>>,
        placeholders: Option<Placeholders>,
    ) -> Result<Vec<Request>, String> {
        let of_url = || vec![PathAsked { name: None, path: path.into() }];
        let paths = if self.paths.is_empty() { of_url() } else { self.paths.clone() };
        if !self.weights.is_empty() && self.weights.len() != paths.len() {
            return Err(format!(
                "--weights has {}, and --path was given {}: each path has one weight",
                units::of(self.weights.len() as u64, "number"),
                units::of(paths.len() as u64, "time"),
            ));
        }
        let method = match (&self.method, &body) {
            (Some(method), _) => method.clone(),
            (None, Some(_)) => "POST".into(),
            (None, None) => "GET".into(),
        };
        let body = body.unwrap_or_default();
        let placeholders = placeholders.unwrap_or_else(|| Placeholders::with_body(&body));
        let weights = self.weights.iter().copied().chain(std::iter::repeat(1));
        let request = |(PathAsked { name, path }, weight)| Request {
            name,
            method: method.clone(),
            path,
            headers: self.headers.clone(),
            body: body.clone(),
            placeholders,
            weight,
            expect: None,
        };
        let requests: Vec<Request> = paths.into_iter().zip(weights).map(request).collect();
        check_names(&requests).map(|()| requests)
    }

    /// What is right, where nothing else is said of statuses.
    pub fn expect(&self) -> Expect {
        Expect {
            body: self.expect_body.clone(),
            statuses: self.expect_status.clone().unwrap_or_default(),
            ..Expect::default()
        }
    }

    /// The first of its options that was given.
    pub fn first_given(&self) -> Option<&'static str> {
        let given = [
            ("--method", self.method.is_some()),
            ("--header", !self.headers.is_empty()),
            ("--body", self.body.is_some()),
            ("--path", !self.paths.is_empty()),
            ("--expect-body", self.expect_body.is_some()),
            ("--expect-status", self.expect_status.is_some()),
        ];
        given.into_iter().find(|(_, is_given)| *is_given).map(|(name, _)| name)
    }
}

/// The content of a file. `name` is what an error calls it.
///
/// # Errors
/// Why it can't be read, in a sentence.
pub fn file_content(file: &Path, name: &str) -> Result<Vec<u8>, String> {
    let opened = File::open(file).map_err(|error| unreadable(name, &error))?;
    read_to_end(opened, name)
}

/// All that comes from there, unless it is more than a body may have.
///
/// # Errors
/// Why it can't be read, in a sentence.
pub fn read_to_end(from: impl Read, name: &str) -> Result<Vec<u8>, String> {
    let mut body = Vec::new();
    from.take(BODY_BYTES_MAX + 1)
        .read_to_end(&mut body)
        .map_err(|error| unreadable(name, &error))?;
    if body.len() as u64 > BODY_BYTES_MAX {
        return Err(format!("{name} has more than {} MiB", BODY_BYTES_MAX >> 20));
    }
    Ok(body)
}

fn unreadable(name: &str, error: &io::Error) -> String {
    format!("{name} can't be read: {error}")
}

fn method(text: &str) -> Result<String, String> {
    if let Some(meant) = meant_by(text) {
        return Err(format!("methods are case-sensitive: write {meant}"));
    }
    match Method::from_bytes(text.as_bytes()) {
        Ok(Method::CONNECT) => Err("after CONNECT a connection is a tunnel, and not HTTP".into()),
        Ok(method) => Ok(method.to_string()),
        Err(_) => Err("a method is one word, as GET or PUT".into()),
    }
}

/// `Name: value`.
///
/// # Errors
/// What is wrong with it, in a sentence.
pub fn header(text: &str) -> Result<(String, String), String> {
    let Some((name, value)) = text.split_once(':') else {
        return Err("a header is written 'Name: value'".into());
    };
    let value = value.trim();
    headers::check(name, value)?;
    Ok((name.into(), value.into()))
}

/// `/path`, or `name=/path`.
impl FromStr for PathAsked {
    type Err = String;

    fn from_str(text: &str) -> Result<PathAsked, String> {
        let (name, path) = match text.split_once('=') {
            Some((name, path)) if !text.starts_with('/') => (Some(name.parse()?), path),
            _ => (None, text),
        };
        if !path.starts_with('/') || path.contains(char::is_whitespace) {
            return Err("a path begins with / and has no space".into());
        }
        let path = PathAndQuery::try_from(path).map_err(|error| error.to_string())?;
        Ok(PathAsked { name, path: path.as_str().into() })
    }
}
