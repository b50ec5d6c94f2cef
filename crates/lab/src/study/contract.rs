//! What a contender must do: `[contract]` of `study.toml`, and `[lighter.NAME]`.

use result::plan::Asks;
use serde::Deserialize;

use super::limits;
use super::{Driver, DriverKind, Protocol};

/// What a contender must do.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContractFile {
    /// The same in one or two sentences, for readers.
    pub says: String,
    /// What the load generator asks it.
    pub request: Option<Request>,
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
#[serde(rename_all = "snake_case")]
pub enum Sum {
    /// The sum of the payloads of all units done: numbers that follow from the trial's seed.
    Payloads,
    /// The sum of the numbers of all records done, in order, round and round.
    Records,
}

/// What a contender has to answer to HTTP/1.1.
#[derive(Debug, Clone)]
pub struct HttpContract {
    /// What it is asked.
    pub request: Request,
    /// What it has to answer.
    pub answer: RightAnswer,
    /// How many bytes the body has; any number, if there is none.
    pub body_bytes: Option<u64>,
    /// Requests that it has to refuse.
    pub refuses: Vec<Refusal>,
    /// Whether nothing else is asked about.
    pub answers_only: bool,
}

/// What a contender is asked.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Path and query; `{nonce}` stands for digits that are new in every request,
    /// `{counter}` for its number.
    #[serde(deserialize_with = "limits::path")]
    pub path: String,
}

/// What a contender has to answer.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RightAnswer {
    /// The status.
    #[serde(deserialize_with = "limits::success")]
    pub status: u16,
    /// What the body holds; may have the request's `{nonce}` and `{counter}`. Empty where nothing
    /// but answers is asked about, and each contender's own file has the length of its body.
    #[serde(default, deserialize_with = "limits::not_empty")]
    pub body: String,
    /// Whether that is all of it, and no byte may stand around it.
    #[serde(default)]
    pub whole_body: bool,
    /// Whether two answers to the same request must differ, because a part of
    /// them is made anew each time.
    pub fresh: bool,
}

impl ContractFile {
    /// What it asks by HTTP/1.1; `None` where it doesn't.
    pub fn http(&self) -> Option<HttpContract> {
        let (request, answer) = (self.request.clone()?, self.answer.clone()?);
        let (refuses, answers_only) = (self.refuses.clone(), self.answers_only);
        Some(HttpContract { request, answer, body_bytes: None, refuses, answers_only })
    }

    /// What speaks against it under this driver, in a study with `[data]` or without.
    pub(super) fn complaint(&self, driver: &Driver, has_data: bool) -> Option<&'static str> {
        match driver.kind {
            DriverKind::Generator if driver.protocol == Some(Protocol::Keys) => {
                let is_http = self.request.is_some() || self.answer.is_some();
                (is_http || !self.refuses.is_empty() || self.sum.is_some())
                    .then_some("all stores have one contract: theirs has `says` alone")
            }
            DriverKind::Generator if self.request.is_none() => {
                Some("missing key `request`: the load generator has to know what it asks")
            }
            DriverKind::Generator if self.answer.is_none() => {
                Some("missing key `answer`: the load generator has to know what is right")
            }
            DriverKind::Generator
                if !self.answers_only
                    && self.answer.as_ref().is_some_and(|it| it.body.is_empty()) =>
            {
                Some(
                    "missing key `body`: what a right answer holds; only a contract with \
                      `answers_only` may leave it out",
                )
            }
            DriverKind::Generator if self.answers_only && !self.refuses.is_empty() => {
                Some("with `answers_only` nothing has to be refused: leave `refuses` out")
            }
            DriverKind::Generator if self.sum.is_some() => {
                Some("`sum` is for contenders that drive themselves")
            }
            DriverKind::Program
                if self.request.is_some() || self.answer.is_some() || !self.refuses.is_empty() =>
            {
                Some("nobody asks a contender that drives itself: it has `sum`")
            }
            DriverKind::Program if self.sum == Some(Sum::Records) && !has_data => {
                Some("`sum = \"records\"` takes `[data]`: a command that makes records")
            }
            _ => None,
        }
    }
}

impl HttpContract {
    /// What it asks for, as a run's record has it.
    pub(super) fn asks(&self) -> Asks {
        let refused = |refusal: &Refusal| result::plan::Refusal {
            method: refusal.method.clone(),
            path: refusal.path.clone(),
            status: refusal.status,
        };
        Asks {
            path: self.request.path.clone(),
            status: self.answer.status,
            body: self.answer.body.clone(),
            whole_body: self.answer.whole_body,
            fresh: self.answer.fresh,
            answers_only: self.answers_only,
            refuses: self.refuses.iter().map(refused).collect(),
        }
    }
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
