//! A step of a contract: its id, what is asked in it, and what came of it.

use load::plan::template::Request;
use result::evidence::ContractStep;

use super::right::expected;
use crate::contract::http_client::Wrong;

/// The id of the contract's own request.
pub(super) const RIGHT: &str = "right-answer";

/// The id of the step in which two answers to the same must differ.
pub(super) const FRESH: &str = "fresh";

/// What is asked where the Date is looked at once.
pub(super) const SAYS_DATE: &str = "says the right Date";

/// What is asked where two answers to the same must differ.
pub(super) const IS_FRESH: &str = "makes a part of every answer anew";

/// The id of a step that is gone through with each request.
pub(super) fn of_request(id: &str, nth: usize) -> String {
    if nth == 0 { id.into() } else { format!("{id}-{}", nth + 1) }
}

/// What is asked first: a request of the contract's own.
pub(super) fn answers_right(request: &Request) -> String {
    let method = if request.method == "GET" { "" } else { &format!("{} ", request.method) };
    let body = if request.method == "HEAD" { "" } else { " and its body" };
    let statuses = &expected(request).statuses;
    format!("answers {method}{} with status {statuses}{body}", request.path)
}

/// A step with what came of it.
pub(super) fn step(id: &str, asked: String, outcome: Result<String, Wrong>) -> ContractStep {
    let hung = outcome.as_ref().is_err_and(Wrong::is_too_late);
    let (saw, wrong) = match outcome {
        Ok(saw) => (saw, None),
        Err(wrong) if hung => {
            let so = "no further step was tried, which may have waited likewise";
            (String::new(), Some(format!("{wrong}; {so}")))
        }
        Err(wrong) => (String::new(), Some(wrong.to_string())),
    };
    ContractStep { id: id.into(), asked, saw, wrong, hung }
}
