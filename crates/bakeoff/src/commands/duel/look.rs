//! The contract of a duel, which nobody wrote: it comes from the first answers.

use lab::contract::http_client::Answer;
use lab::environment;
use lab::trial::first::First;
use load::plan::Statuses;
use report::text::visible;
use report::units;

use super::requests::Requests;

/// Characters of a body that are shown.
const SHOWN_CHARS: usize = 40;
/// Headers of an answer that say why it is no success, or where it is.
const TELLING: [&str; 4] = ["location", "www-authenticate", "allow", "retry-after"];

/// What is expected of all who take part.
#[derive(Debug, Clone, PartialEq)]
pub struct Contract {
    /// The statuses of right answers, to each request.
    pub statuses: Vec<Statuses>,
    /// The text that each holds; `None` where each is held to the length that it has.
    pub text: Option<String>,
    /// Whether connections are kept: all keep them.
    pub kept: bool,
}

/// One who takes part, and what it answered.
pub struct Seen<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its first answers.
    pub first: First,
}

impl Seen<'_> {
    /// Its first answer to a request.
    fn answer(&self, nth: usize) -> &Answer {
        &self.first.answers[nth][0].answer
    }

    /// Whether its answers to a request differ from one to the next, as those with a number of
    /// their own do.
    fn varies(&self, nth: usize) -> bool {
        let digest = self.answer(nth).body_sha256;
        self.first.answers[nth].iter().any(|it| it.answer.body_sha256 != digest)
    }

    /// Bytes of the body of its answers to each request.
    pub fn body_bytes(&self) -> Vec<u64> {
        self.first.answers.iter().map(|answers| answers[0].answer.body_bytes).collect()
    }

    /// What it answered, a line for each request.
    pub fn lines(&self, asked: &Requests) -> Vec<String> {
        let place = if self.first.as_told {
            String::new()
        } else {
            format!("; it listens at {} whatever PORT says", self.first.address)
        };
        let line = |nth: usize| {
            let request = match asked.all.len() {
                1 => String::new(),
                _ => format!("{}: ", visible(&asked.name(nth))),
            };
            format!("{}: {request}{}{place}", visible(self.name), shown(self.answer(nth)))
        };
        (0..asked.all.len()).map(line).collect()
    }
}

/// An answer in words, bounded, and without what was handed on.
fn shown(answer: &Answer) -> String {
    let Answer { status, body, body_bytes, .. } = answer;
    let kind = answer.header("content-type").unwrap_or("no type");
    let text = String::from_utf8_lossy(body);
    let start: String = text.chars().take(SHOWN_CHARS).collect();
    let more = if text.chars().nth(SHOWN_CHARS).is_some() { " …" } else { "" };
    let telling = |name: &&str| {
        let value: String = answer.header(name)?.chars().take(2 * SHOWN_CHARS).collect();
        Some(format!(", {name}: {}", visible(&value)))
    };
    let telling: String = TELLING.iter().filter_map(telling).collect();
    environment::hidden(&format!(
        "status {status}, {} of {}: \"{}\"{more}{telling}",
        units::bytes(*body_bytes),
        visible(kind),
        visible(&start),
    ))
}

/// What may be expected of all answers to these requests.
///
/// # Errors
/// Why nothing can be, in a sentence.
pub fn contract(asked: &Requests, seen: &[Seen]) -> Result<Contract, String> {
    for one in seen {
        (0..asked.all.len()).try_for_each(|nth| check(asked, one, nth))?;
    }
    let statuses = (0..asked.all.len()).map(|nth| statuses(asked, seen, nth));
    let statuses = statuses.collect::<Result<_, String>>()?;
    let kept = seen.iter().all(|it| it.first.keeps_connections);
    Ok(Contract { statuses, text: asked.text.clone(), kept })
}

/// The statuses that are right for a request: those that were given, or the one that all have.
fn statuses(asked: &Requests, seen: &[Seen], nth: usize) -> Result<Statuses, String> {
    if let Some(given) = &asked.statuses {
        return Ok(given.clone());
    }
    let status = seen[0].answer(nth).status;
    if let Some(other) = seen.iter().find(|it| it.answer(nth).status != status) {
        return Err(format!(
            "{} answers {} with status {status}, {} with {}: they do different things; if both \
             are right, say so with --expect-status",
            seen[0].name,
            asked.name(nth),
            other.name,
            other.answer(nth).status
        ));
    }
    Ok(Statuses::one(status).unwrap_or_default())
}

/// Refuses answers to a request of which nothing can be expected.
fn check(asked: &Requests, Seen { name, first }: &Seen, nth: usize) -> Result<(), String> {
    let (request, given) = (asked.name(nth), &first.answers[nth]);
    let answers = || given.iter().map(|it| &it.answer);
    if let Some(answer) = answers().find(|it| !asked.takes(it.status)) {
        let status = answer.status;
        let advice = match &asked.statuses {
            Some(given) => format!("--expect-status has {given}"),
            None => format!(
                "that is no success (2xx). If it is right all the same, say so with \
                 --expect-status {status}. Else ask for something else: --path, -X, -H, --body"
            ),
        };
        return Err(format!(
            "{name} answers {request} with status {status}: {advice}. The answer: {}",
            shown(answer)
        ));
    }
    let Answer { status, body_bytes, .. } = given[0].answer;
    if let Some(other) = answers().find(|it| it.status != status && asked.statuses.is_none()) {
        return Err(format!(
            "{name} answers {request} with status {status} and then {}: nothing can be expected \
             of it, unless --expect-status has both",
            other.status
        ));
    }
    if let Some(text) = &asked.text {
        let lacks = given.iter().find(|it| !holds(&it.answer.body, &it.filled(text)));
        return lacks.map_or(Ok(()), |it| {
            Err(format!(
                "the answer of {name} to {request} doesn't hold {text:?} (--expect-body): {}",
                shown(&it.answer)
            ))
        });
    }
    if answers().all(|it| it.body_bytes == body_bytes) {
        return Ok(());
    }
    let sizes: Vec<String> = answers().map(|it| it.body_bytes.to_string()).collect();
    Err(format!(
        "{name} answers {request} differently each time, with {} bytes: give a text that every \
         answer holds, with --expect-body",
        sizes.join(", ")
    ))
}

fn holds(body: &[u8], text: &str) -> bool {
    String::from_utf8_lossy(body).contains(text)
}

/// In what their answers differ, in a sentence; `None` where they are the same.
pub fn difference(seen: &[Seen]) -> Option<String> {
    let first = &seen[0];
    let requests = 0..first.first.answers.len();
    let (nth, other) = requests.clone().find_map(|nth| {
        let digest = first.answer(nth).body_sha256;
        Some((nth, seen.iter().find(|it| it.answer(nth).body_sha256 != digest)?))
    })?;
    let [one, two] = [first, other].map(|it| it.answer(nth).body_bytes);
    if one == two && [first, other].iter().any(|it| it.varies(nth)) {
        // So that they differ from each other says nothing.
        return None;
    }
    Some(if one == two {
        format!(
            "{} and {} answer with other bodies of the same length: see that they do the same",
            first.name, other.name
        )
    } else {
        format!(
            "{} and {} answer differently, with {} and {}: they may not do the same work, and the \
         check `answers-alike` says what that does to the figures",
            first.name,
            other.name,
            units::of(one, "byte"),
            units::of(two, "byte"),
        )
    })
}

/// Who ends its connections, so that all are asked with a connection a request.
pub fn who_closes(seen: &[Seen]) -> Option<String> {
    let who = seen.iter().find(|it| !it.first.keeps_connections)?;
    Some(format!(
        "{} ends each connection after its answer, so all are asked with a connection a request",
        who.name
    ))
}
