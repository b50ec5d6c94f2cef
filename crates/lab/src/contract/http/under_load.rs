//! What a few answers that came under load are held to.

use std::time::{Duration, SystemTime};

use load::outcome::SampledAnswer;
use result::evidence::{ContractStep, DATE};

use super::right::{date, right, shown, wrong};
use super::step::{FRESH, IS_FRESH, RIGHT, SAYS_DATE, answers_right, of_request, step};
use crate::contract::http_client::{Answer, Wrong, whole};
use crate::study::HttpContract;

/// The steps that a few answers under load can be held to, each with the first that isn't
/// right. Nothing without any.
pub(super) fn under_load(contract: &HttpContract, sampled: &[SampledAnswer]) -> Vec<ContractStep> {
    if sampled.is_empty() {
        return Vec::new();
    }
    let mut steps = Vec::new();
    let mut all: Vec<(Duration, Answer)> = Vec::new();
    for (nth, request) in contract.requests.iter().enumerate() {
        let of_it: Vec<_> = sampled.iter().filter(|sample| sample.request == nth).collect();
        let (id, asked) = (of_request(RIGHT, nth), answers_right(request));
        let right = |sample: &&SampledAnswer| {
            right(request, &sample.expected, |looking| {
                whole(request.method == "HEAD", &sample.bytes, |piece| looking.look(piece))
            })
        };
        let answers: Vec<Answer> = match of_it.iter().map(right).collect() {
            Ok(answers) => answers,
            Err(wrong) => return vec![step(&id, asked, Err(wrong))],
        };
        let (Some(last), count) = (answers.last(), answers.len()) else { continue };
        let saw = format!("{count} right answers, the last one {}", shown(last));
        steps.push(step(&id, asked, Ok(saw)));
        if contract.fresh && count > 1 {
            let expected: Vec<&str> = of_it.iter().map(|sample| &*sample.expected).collect();
            steps.push(fresh_under_load(nth, &answers, &expected));
        }
        all.extend(of_it.iter().map(|sample| sample.at).zip(answers));
    }
    if contract.answers_only || all.is_empty() {
        return steps;
    }
    all.sort_by_key(|(at, _)| *at);
    let date = |(at, answer): &(Duration, Answer)| date(answer, SystemTime::UNIX_EPOCH + *at);
    let dates: Result<Vec<_>, Wrong> = all.iter().map(date).collect();
    let seen = dates.map(|dates| dates.last().map_or(String::new(), |(text, _)| text.clone()));
    steps.push(step(DATE, SAYS_DATE.into(), seen));
    steps
}

/// Whether answers to one request differ in more than the text that each had to hold. Each has
/// a nonce of its own, so that it is the rest that has to differ. A small random number may come
/// twice, and the first answers were made before the load was felt.
fn fresh_under_load(nth: usize, answers: &[Answer], expected: &[&str]) -> ContractStep {
    let count = answers.len();
    let rest = |nth: usize| without(&answers[nth].body, expected[nth].as_bytes());
    let again = (1..count).filter(|&nth| rest(nth) == rest(nth - 1)).count();
    let last = shown(&answers[count - 1]);
    let outcome = if again * 2 >= count - 1 {
        wrong(format!(
            "{again} of {count} answers differ from the one before in nothing but what they were \
         asked for; the last one {last}"
        ))
    } else {
        Ok(format!("{count} answers, the last one {last}"))
    };
    step(&of_request(FRESH, nth), IS_FRESH.into(), outcome)
}

/// These bytes without any that are the same as `part`.
fn without(bytes: &[u8], part: &[u8]) -> Vec<u8> {
    let mut rest = Vec::new();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        if !part.is_empty() && bytes[at..].starts_with(part) {
            at += part.len();
        } else {
            rest.push(*byte);
            at += 1;
        }
    }
    rest
}
