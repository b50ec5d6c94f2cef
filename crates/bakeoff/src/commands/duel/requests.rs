//! What all who take part are asked.

use std::path::{Path, PathBuf};

use lab::environment;
use load::plan::template::Request;
use load::plan::{Expect, Statuses};

use super::handed_on::without_secrets;
use crate::commands::request::{Body, RequestArguments};

/// What all are asked, and what is said of right answers.
#[derive(Debug, Clone)]
pub struct Requests {
    /// The requests, in which no secret stands.
    pub all: Vec<Request>,
    /// The body of each, as it was given.
    pub body: Option<Body>,
    /// The text that each right answer holds.
    pub text: Option<String>,
    /// The statuses of right answers; if none were given, success and those of the first ones.
    pub statuses: Option<Statuses>,
}

impl Requests {
    /// What the arguments ask for, of this path if they have none.
    ///
    /// # Errors
    /// What doesn't go together, in a sentence.
    pub fn new(arguments: &RequestArguments, path: &str) -> Result<Requests, String> {
        if arguments.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("connection")) {
            return Err("-H 'Connection: …': whether connections are kept follows from the first \
                        answers; leave it out"
                .into());
        }
        let headers = without_secrets(&arguments.headers);
        let arguments = RequestArguments { headers, ..arguments.clone() };
        let body = arguments.body()?;
        let requests = arguments.requests(path, body.as_ref().map(Body::bytes), None)?;
        let expect = arguments.expect();
        expect.check(&requests)?;
        let Expect { body: text, .. } = expect;
        let asked = Requests { all: requests, body, text, statuses: arguments.expect_status };
        asked.with_environment().map(|_| asked)
    }

    /// The requests with what their headers take from the environment.
    ///
    /// # Errors
    /// Which variable isn't set, or can't stand in a header.
    pub fn with_environment(&self) -> Result<Vec<Request>, String> {
        self.all.iter().map(|it| it.with_environment(environment::value)).collect()
    }

    /// The headers of each, without secrets.
    pub fn headers(&self) -> &[(String, String)] {
        &self.all[0].headers
    }

    /// The file that is sent as the body, and its name.
    pub fn body_file(&self) -> Option<(PathBuf, &[u8])> {
        let Some(Body::File(file, bytes)) = &self.body else { return None };
        Some((file.file_name().map_or_else(|| "body".into(), PathBuf::from), bytes))
    }

    /// One of them in words: `GET /users`.
    pub fn name(&self, nth: usize) -> String {
        let Request { method, path, .. } = &self.all[nth];
        format!("{method} {path}")
    }

    /// All of them in words.
    pub fn names(&self) -> String {
        let names: Vec<String> = (0..self.all.len()).map(|nth| self.name(nth)).collect();
        match names.split_last() {
            Some((last, first)) if !first.is_empty() => format!("{} and {last}", first.join(", ")),
            _ => names.concat(),
        }
    }

    /// Whether a status may be a right answer's, before anything is known of answers.
    pub fn takes(&self, status: u16) -> bool {
        let success = Statuses::default();
        self.statuses.as_ref().unwrap_or(&success).contains(status)
    }
}

/// The name of a file beside a study's, where these names are taken.
pub fn free_file(name: &Path, taken: &[&str]) -> String {
    let name = name.to_string_lossy().into_owned();
    if taken.contains(&&*name) { format!("body-{name}") } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_named_and_have_no_secret() {
        let arguments = RequestArguments {
            method: Some("PUT".into()),
            headers: vec![("X-Key".into(), "of-asked".into())],
            paths: ["/a", "/b", "/c"].map(|it| it.parse().unwrap()).into(),
            ..RequestArguments::default()
        };
        let asked = Requests::new(&arguments, "/").unwrap();
        assert_eq!(asked.names(), "PUT /a, PUT /b and PUT /c");
        assert!(!format!("{asked:?}").contains("of-asked"));
        assert_eq!(asked.with_environment().unwrap()[2].headers[0].1, "of-asked");
        assert!(asked.takes(204) && !asked.takes(404));
    }

    #[test]
    fn a_body_file_takes_no_name_of_the_studys() {
        let taken = ["study.toml", "old", "new"];
        assert_eq!(free_file(Path::new("order.json"), &taken), "order.json");
        assert_eq!(free_file(Path::new("new"), &taken), "body-new");
    }
}
