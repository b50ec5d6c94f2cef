//! Whether an answer is the one that was due.

use std::time::{Duration, SystemTime};

use load::answers::Looking;
use load::plan::template::Request;
use load::plan::{Expect, Statuses};

use crate::contract::http_client::{Answer, Wrong, start};

/// How far a Date header may be off: a server may make it once a second.
const DATE_OFF_MAX: Duration = Duration::from_secs(3);

/// What the answer to a request of a contract's own has to be.
pub(super) fn expected(request: &Request) -> &Expect {
    request.expect.as_ref().expect("each request of a contract has what its answer has to be")
}

/// The answer that comes to a request, if it has the contract's status and this text in its
/// body, as the load generator has it.
pub(super) fn right(
    request: &Request,
    text: &str,
    receive: impl FnOnce(&mut Looking) -> Result<Answer, Wrong>,
) -> Result<Answer, Wrong> {
    let expect = expected(request);
    let mut looking = Looking::for_text(text, expect.whole_body);
    let answer = receive(&mut looking)?;
    expect_status(&answer, &expect.statuses)?;
    if request.method == "HEAD" {
        return Ok(answer);
    }
    if let Some(due) = expect.body_bytes.filter(|&due| due != answer.body_bytes) {
        return wrong(format!("a body of {} bytes instead of {due}", answer.body_bytes));
    }
    match looking.wrong() {
        None => Ok(answer),
        Some(what) if expect.whole_body => wrong(format!("{what}: {}", shown(&answer))),
        Some(_) => wrong(format!(
            "the body doesn't hold {text:?}, which was asked for: {}",
            shown(&answer)
        )),
    }
}

/// The Date header as text and as time, of an answer that came at this time.
pub(super) fn date(answer: &Answer, came: SystemTime) -> Result<(String, SystemTime), Wrong> {
    let Some(text) = answer.header("date") else {
        return wrong("there is no Date header".into());
    };
    let Ok(date) = httpdate::parse_http_date(text) else {
        return wrong(format!("the Date header is no date: {:?}", start(text)));
    };
    let off = came.duration_since(date).or_else(|_| date.duration_since(came));
    match off {
        Ok(off) if off <= DATE_OFF_MAX => Ok((text.into(), date)),
        _ => wrong(format!(
            "the Date header is off by more than {} s: {text}",
            DATE_OFF_MAX.as_secs()
        )),
    }
}

pub(super) fn expect_status(answer: &Answer, due: &Statuses) -> Result<(), Wrong> {
    if due.contains(answer.status) {
        Ok(())
    } else {
        Err(Wrong::Status { seen: answer.status, due: due.to_string() })
    }
}

pub(super) fn expect_one(answer: &Answer, due: u16) -> Result<(), Wrong> {
    if answer.status == due {
        Ok(())
    } else {
        Err(Wrong::Status { seen: answer.status, due: due.to_string() })
    }
}

pub(super) fn wrong<T>(what: String) -> Result<T, Wrong> {
    Err(Wrong::Answer(what))
}

/// An answer for people, bounded.
pub(super) fn shown(answer: &Answer) -> String {
    let text = String::from_utf8_lossy(&answer.body[..answer.body.len().min(200)]);
    let start: String = text.chars().take(80).collect();
    format!("status {}, {start:?}{}", answer.status, answer.encoded)
}
