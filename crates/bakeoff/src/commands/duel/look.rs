//! The contract of a duel, which nobody wrote: it comes from the first answers.

use lab::contract::http_client::Answer;
use lab::trial::first::First;
use report::text::visible;
use report::units;

/// Bytes of a body that are shown.
const SHOWN_CHARS: usize = 40;

/// What is expected of all who take part.
#[derive(Debug, Clone, PartialEq)]
pub struct Contract {
    /// The status of each answer.
    pub status: u16,
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
    /// Bytes of the body of its answers.
    pub fn body_bytes(&self) -> u64 {
        self.first.answers[0].body_bytes
    }

    /// What it answered, in a line.
    pub fn line(&self) -> String {
        let Answer { status, body, body_bytes, .. } = &self.first.answers[0];
        let kind = self.first.answers[0].header("content-type").unwrap_or("no type");
        let text = String::from_utf8_lossy(body);
        let start: String = text.chars().take(SHOWN_CHARS).collect();
        let more = if text.chars().nth(SHOWN_CHARS).is_some() { " …" } else { "" };
        let place = match self.first.as_told {
            true => String::new(),
            false => format!("; it listens at {} whatever PORT says", self.first.address),
        };
        format!(
            "{}: status {status}, {} of {}: \"{}\"{more}{place}",
            visible(self.name),
            units::bytes(*body_bytes),
            visible(kind),
            visible(&start),
        )
    }
}

/// What may be expected of all answers to this path, with the text that somebody expects in them.
///
/// # Errors
/// Why nothing can be, in a sentence.
pub fn contract(path: &str, seen: &[Seen], text: Option<&str>) -> Result<Contract, String> {
    for Seen { name, first } in seen {
        let status = first.answers[0].status;
        if !(200..300).contains(&status) || status == 204 {
            return Err(format!(
                "{name} answers {path} with status {status}, which is no page: give a path that \
                 all have, with --path"
            ));
        }
        if let Some(other) = first.answers.iter().find(|it| it.status != status) {
            return Err(format!(
                "{name} answers {path} with status {status} and then {}: nothing can be expected \
                 of it",
                other.status
            ));
        }
        match text {
            Some(text) if first.answers.iter().any(|it| !holds(&it.body, text)) => {
                return Err(format!("the answer of {name} doesn't hold {text:?} (--expect-body)"));
            }
            None if first.answers.iter().any(|it| it.body_bytes != first.answers[0].body_bytes) => {
                let sizes: Vec<String> =
                    first.answers.iter().map(|it| it.body_bytes.to_string()).collect();
                return Err(format!(
                    "{name} answers {path} differently each time, with {} bytes: give a text that \
                     every answer holds, with --expect-body",
                    sizes.join(", ")
                ));
            }
            _ => {}
        }
    }
    let status = seen[0].first.answers[0].status;
    if let Some(other) = seen.iter().find(|it| it.first.answers[0].status != status) {
        return Err(format!(
            "{} answers {path} with status {status}, {} with {}: they do different things",
            seen[0].name, other.name, other.first.answers[0].status
        ));
    }
    let kept = seen.iter().all(|it| it.first.keeps_connections);
    Ok(Contract { status, text: text.map(String::from), kept })
}

fn holds(body: &[u8], text: &str) -> bool {
    String::from_utf8_lossy(body).contains(text)
}

/// In what their answers differ, in a sentence; `None` where they are the same.
pub fn difference(seen: &[Seen]) -> Option<String> {
    let first = &seen[0];
    let other = seen
        .iter()
        .find(|it| it.first.answers[0].body_sha256 != first.first.answers[0].body_sha256)?;
    Some(match first.body_bytes() == other.body_bytes() {
        true => format!(
            "{} and {} answer with other bodies of the same length: see that they do the same",
            first.name, other.name
        ),
        false => format!(
            "{} and {} answer differently, with {} and {}: they may not do the same work, and the \
             check `answers-alike` says what that does to the figures",
            first.name,
            other.name,
            units::of(first.body_bytes(), "byte"),
            units::of(other.body_bytes(), "byte"),
        ),
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
