//! The contract of a duel, which nobody wrote: it comes from the first answers.

use lab::contract::http_client::Answer;
use lab::environment;
use lab::trial::first::First;
use load::plan::Statuses;
use report::text::visible;
use report::units;
use result::evidence::{ContractStep, Evidence};
use result::{Run, Trial};

use super::CONNECTIONS;
use super::requests::Requests;

/// Characters of a body that are shown.
const SHOWN_CHARS: usize = 40;
/// The kind of errors that are answers with another body than the one that is due.
const WRONG_BODY: &str = "wrong_body";
/// In the sentence of a contract's step that is wrong by a body's length.
const OF_LENGTH: &str = " bytes instead of ";
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
        let First { address, told, .. } = self.first;
        let place = if address.port() != told.port() {
            format!("; it listens at {address} whatever PORT says")
        } else if address != told {
            format!("; it answers at {address}, and not at {}, which HOST says", told.ip())
        } else {
            String::new()
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

/// Whose bodies differ from one answer to the next, so that nothing but their length is known of
/// them.
pub fn variations(asked: &Requests, seen: &[Seen]) -> Vec<String> {
    let of_one = |one: &Seen, nth: usize| {
        let bodies = one.first.answers[nth].iter().map(|it| &it.answer.body);
        let first = &one.answer(nth).body;
        let other = bodies.into_iter().find(|body| *body != first)?;
        let at = first.iter().zip(other).position(|(a, b)| a != b).unwrap_or(0);
        let [a, b] = [first, other].map(|body| around(body, at));
        let length = units::of(one.answer(nth).body_bytes, "byte");
        Some(environment::hidden(&format!(
            "{} answers {} with another body each time, as {a} and {b}: only its length is looked \
             at, {length}. If that changes too, every figure of it is invalid: give a text that \
             every answer holds, with --expect-body",
            one.name,
            visible(&asked.name(nth)),
        )))
    };
    if asked.text.is_some() {
        return Vec::new();
    }
    let requests = 0..asked.all.len();
    seen.iter().flat_map(|one| requests.clone().filter_map(move |nth| of_one(one, nth))).collect()
}

/// A body near this byte, in quotation marks.
fn around(body: &[u8], at: usize) -> String {
    let from = at.saturating_sub(SHOWN_CHARS / 2);
    let text = String::from_utf8_lossy(&body[from..body.len().min(from + SHOWN_CHARS)]);
    format!("\"{}\"", visible(text.trim()))
}

/// Whose answers under load hadn't the length of the first ones, where nothing else is known of
/// them.
pub fn other_lengths(asked: &Requests, run: &Run) -> Option<String> {
    let has_other = |trial: &&Trial| {
        let Evidence { work, clients, contract, contract_after, .. } = &trial.evidence;
        let errors = work.iter().flat_map(|work| &work.errors);
        let in_warmup = clients.iter().flat_map(|client| &client.warmup_errors);
        let steps = contract.iter().chain(contract_after);
        let is_length =
            |step: &ContractStep| step.wrong.as_ref().is_some_and(|it| it.contains(OF_LENGTH));
        errors.chain(in_warmup).any(|error| error.kind == WRONG_BODY)
            || steps.clone().any(is_length)
    };
    let mut trials = run.trials.iter().filter(|_| asked.text.is_none());
    let name = &trials.find(has_other)?.slot.contender;
    Some(format!(
        "{name}: some answers hadn't the length of its first ones, to which they are held. If they \
         may differ, give a text that every answer holds, with --expect-body"
    ))
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

/// Connections that the load has at once.
#[derive(Debug, PartialEq)]
pub struct AtOnce {
    /// How many.
    pub connections: u32,
    /// What is said of them, where a listen queue is too short.
    pub says: Option<String>,
    /// What the figures can't say because of that.
    pub cannot_say: Option<String>,
}

/// The connections of a load, of which so many were asked for. Where each has one request, as many
/// may be begun at the same moment. What a listen queue doesn't hold then is lost, and the kernel
/// tries again after a second, and after three: that would be most of the duel's time, and all of
/// its figures.
pub fn at_once(asked: Option<u32>, seen: &[Seen]) -> AtOnce {
    let connections = asked.unwrap_or(CONNECTIONS);
    let is_one_each = seen.iter().any(|it| !it.first.keeps_connections);
    let backlogs = seen.iter().filter_map(|it| Some((it.first.listen_backlog?, it.name)));
    // Linux lets one more wait than the server asked for.
    let queues = backlogs.map(|(backlog, name)| (backlog.saturating_add(1), name));
    let shortest = queues.min().filter(|(room, _)| is_one_each && *room < connections);
    let Some((room, name)) = shortest else {
        return AtOnce { connections, says: None, cannot_say: None };
    };
    let holds = format!(
        "{name} lets {} wait to be accepted (its backlog is {}), and each request makes a \
         connection",
        units::of(room.into(), "connection"),
        room - 1
    );
    if asked.is_some() {
        let says = format!(
            "{holds}. {connections} at once overflow this queue: those beyond it are tried again \
             after a second or three. That wait is in the figures, and after each window the duel \
             waits for them. Give -c {room}, or a longer backlog in the server"
        );
        let cannot_say = format!(
            "What they do with {connections} connections at once that don't overflow a listen \
             queue: that of {name} holds {room}."
        );
        return AtOnce { connections, says: Some(says), cannot_say: Some(cannot_say) };
    }
    let says = format!(
        "{holds}. So {room} are made at once instead of {CONNECTIONS}. For more, give the server a \
         longer backlog. With -c {CONNECTIONS} this queue overflows"
    );
    let cannot_say = format!(
        "What they do with more connections at once: the listen queue of {name} holds {room}."
    );
    AtOnce { connections: room, says: Some(says), cannot_say: Some(cannot_say) }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use super::*;

    /// Servers that keep connections or don't, with listen queues as long.
    fn of(asked: Option<u32>, all: &[(bool, Option<u32>)]) -> (u32, Option<String>) {
        let address: SocketAddr = "127.0.0.1:80".parse().unwrap();
        let seen =
            all.iter().zip(["a", "b"]).map(|(&(keeps_connections, listen_backlog), name)| {
                let (answers, code) = (Vec::new(), Vec::new());
                let told = address;
                let first =
                    First { address, told, answers, keeps_connections, listen_backlog, code };
                Seen { name, first }
            });
        let at_once = at_once(asked, &seen.collect::<Vec<_>>());
        assert_eq!(at_once.says.is_some(), at_once.cannot_say.is_some());
        (at_once.connections, at_once.says)
    }

    /// Else two servers of Python's take a minute of waiting, and no figure of theirs stands.
    #[test]
    fn no_more_connections_are_made_at_once_than_the_shortest_queue_holds() {
        let (fits, says) = of(None, &[(true, Some(511)), (false, Some(5))]);
        assert_eq!(fits, 6);
        insta::assert_snapshot!(says.unwrap(), @"b lets 6 connections wait to be accepted (its backlog is 5), and each request makes a connection. So 6 are made at once instead of 64. For more, give the server a longer backlog. With -c 64 this queue overflows");
        assert_eq!(of(None, &[(false, Some(0)), (false, None)]).0, 1, "one is always tried");
        for all in [
            [(true, Some(5)), (true, Some(5))],
            [(false, Some(511)), (false, Some(63))],
            [(false, None), (false, None)],
        ] {
            assert_eq!(of(None, &all), (CONNECTIONS, None), "{all:?}");
        }
    }

    #[test]
    fn who_asks_for_more_than_a_queue_holds_gets_them_and_is_told() {
        let (connections, says) = of(Some(64), &[(false, Some(5)), (false, Some(128))]);
        assert_eq!(connections, 64);
        insta::assert_snapshot!(says.unwrap(), @"a lets 6 connections wait to be accepted (its backlog is 5), and each request makes a connection. 64 at once overflow this queue: those beyond it are tried again after a second or three. That wait is in the figures, and after each window the duel waits for them. Give -c 6, or a longer backlog in the server");
        assert_eq!(of(Some(6), &[(false, Some(5)), (false, Some(5))]), (6, None));
    }
}
