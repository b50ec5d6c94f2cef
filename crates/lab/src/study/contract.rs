//! What a contender must do: `[contract]` of `study.toml`, and `[lighter.NAME]`.

use std::path::{Path, PathBuf};

use load::plan::{Expect, Statuses, check_names};
use result::plan::{AskedRequest, Asks, BodyBytes, RightStatus};
use serde::Deserialize;

use super::request::{Request, RightAnswer};
use super::{digest, limits, toml_file};
use crate::environment;

/// What a contender must do.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContractFile {
    /// The same in one or two sentences, for readers.
    pub says: String,
    /// What the load generator asks it.
    pub request: Option<Request>,
    /// The same where that is several requests.
    #[serde(default, deserialize_with = "limits::requests")]
    pub requests: Vec<Request>,
    /// What it has to answer.
    pub answer: Option<RightAnswer>,
    /// Requests that must be refused, and how.
    #[serde(default, deserialize_with = "limits::refusals")]
    pub refuses: Vec<Refusal>,
    /// Whether nothing but answers is asked about, and not what a contender does with odd requests,
    /// its Date or HEAD: for servers that nobody wrote for this study.
    #[serde(default)]
    pub answers_only: bool,
    /// What shows that a contender that drives itself did its work.
    pub sum: Option<Sum>,
}

/// What shows that work was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sum {
    /// The sum of the payloads of all units done: numbers that follow from the trial's seed.
    Payloads,
    /// The same, where it tells as well in which order they were done.
    PayloadsInOrder,
    /// That of the numbers of all records done, in order, round and round, each changed by the
    /// payload of its turn.
    Records,
}

/// What a contender has to answer to HTTP/1.1.
#[derive(Debug, Clone)]
pub struct HttpContract {
    /// What it is asked, each with what it has to answer.
    pub requests: Vec<load::plan::template::Request>,
    /// Whether two answers to the same request must differ.
    pub fresh: bool,
    /// Requests that it has to refuse.
    pub refuses: Vec<Refusal>,
    /// Whether nothing else is asked about.
    pub answers_only: bool,
}

impl ContractFile {
    /// All that it asks.
    fn asked(&self) -> impl Iterator<Item = &Request> {
        self.request.iter().chain(&self.requests)
    }

    /// What it asks by HTTP/1.1; `None` where it doesn't.
    pub fn http(&self) -> Option<HttpContract> {
        let answer = self.answer.as_ref()?;
        let requests: Vec<_> = self.asked().map(|request| request.asked(answer)).collect();
        let (refuses, answers_only) = (self.refuses.clone(), self.answers_only);
        let contract = HttpContract { requests, fresh: answer.fresh, refuses, answers_only };
        (!contract.requests.is_empty()).then_some(contract)
    }

    /// The same as a run's record has it.
    pub(super) fn asks(&self) -> Option<Asks> {
        self.http()?.asks()
    }

    /// Reads the bodies of what it asks. `path` is the study's file.
    pub(super) fn read_bodies(&mut self, path: &Path) -> Result<(), toml_file::Unusable> {
        let mut asked = self.request.iter_mut().chain(&mut self.requests);
        asked.try_for_each(|request| request.read_body(path))
    }

    /// The files that it sends. `path` is the study's file.
    pub(super) fn files(&self, path: &Path) -> Vec<PathBuf> {
        self.asked().filter_map(|request| request.file(path)).collect()
    }

    /// What speaks against what it asks by HTTP and holds to be right.
    pub(super) fn http_complaint(&self) -> Option<String> {
        if self.request.is_some() && !self.requests.is_empty() {
            return Some("a contract has `request`, or several `requests`, and not both".into());
        }
        if self.asked().next().is_none() {
            return Some(
                "it has no `request`, and no `requests`: the load generator has to know what it \
                 asks"
                    .into(),
            );
        }
        let Some(contract) = self.http() else {
            return Some(
                "missing key `answer`: the load generator has to know what is right".into(),
            );
        };
        if let Err(why) = check_names(&contract.requests) {
            return Some(why);
        }
        if !self.answers_only && contract.lacks_text() {
            return Some(
                "missing key `body`: what a right answer holds; only a contract with \
                 `answers_only` may leave it out"
                    .into(),
            );
        }
        let names_a_body = self.answer.as_ref().is_some_and(|it| !it.body.is_empty());
        let mut expects = contract.requests.iter().filter_map(|it| it.expect.as_ref());
        if names_a_body && expects.all(|it| it.body.is_none()) {
            return Some(
                "no answer to what it asks has a body, so that none can hold `body`".into(),
            );
        }
        let of = |it: &load::plan::template::Request| {
            it.expect.as_ref()?.check(std::slice::from_ref(it)).err()
        };
        contract.requests.iter().find_map(of)
    }

    /// Whether it has anything that is asked by HTTP.
    pub(super) fn is_http(&self) -> bool {
        self.asked().next().is_some() || self.answer.is_some() || !self.refuses.is_empty()
    }
}

impl HttpContract {
    /// Whether the answer to one of its requests has a body, and is held to no text.
    pub(super) fn lacks_text(&self) -> bool {
        self.requests.iter().any(lacks_text)
    }

    /// The same with the lengths that a contender's answers have.
    pub(super) fn with_lengths(mut self, lengths: Option<&BodyBytes>) -> HttpContract {
        for (nth, request) in self.requests.iter_mut().enumerate() {
            let length = lengths.and_then(|lengths| lengths.of(nth));
            if let Some(expect) = &mut request.expect {
                expect.body_bytes = length;
            }
        }
        self
    }

    /// The same with what its headers take from the environment.
    ///
    /// # Errors
    /// Which variable isn't set, or can't stand in a header.
    pub(super) fn with_environment(mut self) -> Result<HttpContract, String> {
        let filled = |it: &load::plan::template::Request| it.with_environment(environment::value);
        self.requests = self.requests.iter().map(filled).collect::<Result<_, _>>()?;
        Ok(self)
    }

    /// What it asks for, as a run's record has it.
    fn asks(&self) -> Option<Asks> {
        let first = self.requests.first()?;
        let expect = first.expect.clone().unwrap_or_default();
        let refused = |refusal: &Refusal| result::plan::Refusal {
            method: refusal.method.clone(),
            path: refusal.path.clone(),
            status: refusal.status,
        };
        let is_plain = self.requests.len() == 1 && self.requests.iter().all(is_plain);
        let requests = self.requests.iter().filter(|_| !is_plain).map(asked_request);
        Some(Asks {
            path: first.path.clone(),
            status: status(&expect.statuses),
            body: expect.body.unwrap_or_default(),
            whole_body: expect.whole_body,
            fresh: self.fresh,
            answers_only: self.answers_only,
            refuses: self.refuses.iter().map(refused).collect(),
            requests: requests.collect(),
        })
    }
}

/// Whether its answer has a body, and is held to no text.
fn lacks_text(request: &load::plan::template::Request) -> bool {
    let is_free = |expect: &Expect| expect.body.is_none() && expect.statuses.may_have_body();
    request.method != "HEAD" && request.expect.as_ref().is_none_or(is_free)
}

/// Whether it is a GET of its path, and no more.
fn is_plain(request: &load::plan::template::Request) -> bool {
    request.method == "GET" && request.headers.is_empty() && request.body.is_empty()
}

fn asked_request(request: &load::plan::template::Request) -> AskedRequest {
    let expect = request.expect.clone().unwrap_or_default();
    AskedRequest {
        name: request.name.as_ref().map(ToString::to_string),
        method: request.method.clone(),
        path: request.path.clone(),
        headers: request.headers.clone(),
        body_bytes: request.body.len() as u64,
        body_sha256: (!request.body.is_empty()).then(|| digest::of_bytes(&request.body)),
        weight: request.weight,
        status: status(&expect.statuses),
        answer_body: expect.body.unwrap_or_default(),
    }
}

fn status(statuses: &Statuses) -> RightStatus {
    let text = statuses.to_string();
    text.parse().map_or(RightStatus::List(text), RightStatus::One)
}

/// A request that must be refused.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Refusal {
    /// What is wrong with it, for readers.
    #[serde(deserialize_with = "limits::phrase")]
    pub what: String,
    /// Its method.
    #[serde(default = "get", deserialize_with = "limits::method")]
    pub method: String,
    /// Its path and query.
    #[serde(deserialize_with = "limits::path")]
    pub path: String,
    /// The status that it must get.
    #[serde(deserialize_with = "limits::refusal")]
    pub status: u16,
}

fn get() -> String {
    "GET".into()
}
