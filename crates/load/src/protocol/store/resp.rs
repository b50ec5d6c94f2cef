//! RESP, versions 2 and 3, as its documentation has it ("Redis serialization protocol
//! specification"): requests are arrays of strings with their lengths.

use std::ops::Range;

use super::{Answer, ExpectedReply, KEY_BYTES, Parsed, length, line, number};
use crate::outcome::ErrorKind;
use crate::outcome::fault::show;
use crate::plan::keys::{Operation, Resp};

/// What is skipped in an answer to a greeting.
const BOUNDS: NestedBounds = NestedBounds { depth: 8, string_bytes: super::LINE_BYTES_MAX };
/// Bytes of such an answer: it is kept until it is whole.
pub(super) const GREETING_BYTES_MAX: usize = 64 << 10;
/// The bytes before a value that say what it is ("Verbatim strings").
const FORMAT_BYTES: usize = b"txt:".len();
/// The first byte of a message that nobody asked for, and of what is told beside a reply.
pub(in crate::protocol) const PUSH: u8 = b'>';
pub(in crate::protocol) const ATTRIBUTE: u8 = b'|';
/// Elements of a nested value.
const ELEMENTS_MAX: usize = 1_000;

/// How deep values may lie in each other, and how long their strings may be.
#[derive(Debug, Clone, Copy)]
pub(in crate::protocol) struct NestedBounds {
    pub depth: u32,
    pub string_bytes: usize,
}

/// What a connection says first, and how many answers that has.
pub(super) fn greeting(resp: &Resp) -> (Vec<u8>, u32) {
    let mut commands: Vec<Vec<&str>> = Vec::new();
    let database = resp.database.to_string();
    let user = resp.user.as_deref();
    match (resp.is_third, &resp.password) {
        (true, None) => commands.push(vec!["HELLO", "3"]),
        (true, Some(password)) => {
            commands.push(vec!["HELLO", "3", "AUTH", user.unwrap_or("default"), password]);
        }
        (false, None) => {}
        (false, Some(password)) => {
            commands.push(["AUTH"].into_iter().chain(user).chain([&**password]).collect());
        }
    }
    if resp.database > 0 {
        commands.push(vec!["SELECT", &database]);
    }
    let mut bytes = Vec::new();
    for command in &commands {
        array(command.len(), &mut bytes);
        command.iter().for_each(|word| bulk(word.as_bytes(), &mut bytes));
    }
    (bytes, commands.len() as u32)
}

pub(super) fn get(keys: impl ExactSizeIterator<Item = [u8; KEY_BYTES]>, room: &mut Vec<u8>) {
    if keys.len() == 1 {
        room.extend_from_slice(b"*2\r\n$3\r\nGET\r\n");
    } else {
        array(1 + keys.len(), room);
        bulk(b"MGET", room);
    }
    keys.for_each(|name| key(&name, room));
}

pub(super) fn set(
    name: [u8; KEY_BYTES],
    bytes: usize,
    expires_s: u32,
    value: impl FnOnce(&mut Vec<u8>),
    room: &mut Vec<u8>,
) {
    room.extend_from_slice(match expires_s {
        0 => b"*3\r\n$3\r\nSET\r\n",
        _ => b"*5\r\n$3\r\nSET\r\n",
    });
    key(&name, room);
    head(b'$', bytes, room);
    value(room);
    room.extend_from_slice(b"\r\n");
    if expires_s > 0 {
        bulk(b"EX", room);
        bulk(expires_s.to_string().as_bytes(), room);
    }
}

pub(super) fn delete(name: [u8; KEY_BYTES], room: &mut Vec<u8>) {
    room.extend_from_slice(b"*2\r\n$3\r\nDEL\r\n");
    key(&name, room);
}

/// A key, which every request has: its length is always the same.
fn key(name: &[u8; KEY_BYTES], room: &mut Vec<u8>) {
    const { assert!(KEY_BYTES == 16) };
    let mut words = *b"$16\r\nkey:000000000000\r\n";
    words[5..5 + KEY_BYTES].copy_from_slice(name);
    room.extend_from_slice(&words);
}

/// The head of a command of so many words.
pub(in crate::protocol) fn array(elements: usize, room: &mut Vec<u8>) {
    head(b'*', elements, room);
}

/// A word of a command.
pub(in crate::protocol) fn bulk(bytes: &[u8], room: &mut Vec<u8>) {
    bulk_head(bytes.len(), room);
    room.extend_from_slice(bytes);
    room.extend_from_slice(b"\r\n");
}

/// What stands before a word of so many bytes.
pub(in crate::protocol) fn bulk_head(bytes: usize, room: &mut Vec<u8>) {
    head(b'$', bytes, room);
}

fn head(sign: u8, length: usize, room: &mut Vec<u8>) {
    room.push(sign);
    number(length, room);
    room.extend_from_slice(b"\r\n");
}

/// Looks for the end of an answer to a request.
///
/// # Errors
/// What makes it none, for people.
pub(super) fn parse(
    bytes: &[u8],
    expected: ExpectedReply,
    found: &mut Vec<Option<Range<usize>>>,
) -> Result<Parsed, String> {
    let is_value = matches!(bytes.first(), Some(b'$' | b'_' | b'='));
    if is_value && expected.operation == Operation::Get && expected.keys == 1 {
        return Ok(match value(bytes, 0, expected)? {
            Ok((value, end)) => Parsed::Whole(end, Answer::Value(value)),
            Err(missing) => Parsed::More(missing),
        });
    }
    let Some((first, after)) = line(bytes)? else { return Ok(Parsed::More(1)) };
    let other = || {
        let what = expected.operation.name();
        Err(format!("no answer to a {what}: \"{}\"", show(first)))
    };
    let whole = |answer| Ok(Parsed::Whole(after, answer));
    match (first.first(), expected.operation) {
        (Some(b'-'), _) => whole(Answer::Refused(1..first.len())),
        // The words of RESP3's long errors stand behind their length.
        (Some(b'!'), _) => match length(&first[1..], super::LINE_BYTES_MAX) {
            None => other(),
            Some(words) if bytes.len() < after + words + 2 => {
                Ok(Parsed::More(after + words + 2 - bytes.len()))
            }
            Some(words) => {
                Ok(Parsed::Whole(after + words + 2, Answer::Refused(after..after + words)))
            }
        },
        (_, Operation::Set) if first == b"+OK" => whole(Answer::Stored),
        // An integer may have a plus before its digits.
        (_, Operation::Delete) if matches!(first, b":0" | b":+0") => whole(Answer::Removed(false)),
        (_, Operation::Delete) if matches!(first, b":1" | b":+1") => whole(Answer::Removed(true)),
        (Some(b'*'), Operation::Get) if expected.keys > 1 => {
            match length(&first[1..], usize::from(expected.keys)) {
                Some(elements) if elements == usize::from(expected.keys) => {}
                _ => return other(),
            }
            let (mut at, mut refused) = (after, None);
            let mut asides = Asides::default();
            for _ in 0..expected.keys {
                if expected.is_third {
                    match asides.pass(&bytes[at..])? {
                        Some(end) => at += end,
                        None => return Ok(Parsed::More(1)),
                    }
                }
                match value(bytes, at, expected) {
                    Ok(Ok((value, end))) => {
                        found.push(value);
                        at = end;
                    }
                    Ok(Err(missing)) => return Ok(Parsed::More(missing)),
                    // A proxy that asks several servers may have had no answer of one.
                    Err(why) => match refusal_at(bytes, at)? {
                        None => return Err(why),
                        Some(Err(missing)) => return Ok(Parsed::More(missing)),
                        Some(Ok((words, end))) => {
                            refused.get_or_insert(words);
                            found.push(None);
                            at = end;
                        }
                    },
                }
            }
            let values = Answer::Values { pushes: asides.pushes };
            Ok(Parsed::Whole(at, refused.map_or(values, Answer::Refused)))
        }
        _ => other(),
    }
}

/// Where an error's words lie, and its end.
type Words = (Range<usize>, usize);

/// The error that begins at a place, or how many bytes of it are missing; `None` where none does.
fn refusal_at(bytes: &[u8], at: usize) -> Result<Option<Result<Words, usize>>, String> {
    let Some((first, after)) = line(&bytes[at..])? else { return Ok(None) };
    let begin = at + after;
    Ok(match first.split_first() {
        Some((b'-', words)) => Some(Ok((at + 1..at + 1 + words.len(), begin))),
        Some((b'!', digits)) => length(digits, super::LINE_BYTES_MAX).map(|words| {
            let end = begin + words + 2;
            if bytes.len() < end { Err(end - bytes.len()) } else { Ok((begin..end - 2, end)) }
        }),
        _ => None,
    })
}

/// A value, or that it isn't there, and its end.
type Value = (Option<Range<usize>>, usize);

/// The value that begins at a place, or how many bytes of it are missing at least.
///
/// # Errors
/// What makes it none, for people.
fn value(bytes: &[u8], at: usize, expected: ExpectedReply) -> Result<Result<Value, usize>, String> {
    let Some((first, after)) = line(&bytes[at..])? else { return Ok(Err(1)) };
    let begin = at + after;
    if first == b"$-1" || first == b"_" {
        return Ok(Ok((None, begin)));
    }
    let no_value = || format!("no value: \"{}\"", show(first));
    // In RESP3 a value may say by three letters what it is, before a colon.
    let (digits, format) = match first.split_first() {
        Some((b'$', digits)) => (digits, 0),
        Some((b'=', digits)) => (digits, FORMAT_BYTES),
        _ => return Err(no_value()),
    };
    let length = length(digits, expected.value_bytes_max + format).filter(|it| *it >= format);
    let Some(length) = length else {
        let most = expected.value_bytes_max;
        return Err(format!("a value of more than {most} bytes, or none: \"{}\"", show(first)));
    };
    let end = begin + length;
    match bytes.get(end..end + 2) {
        None => Ok(Err(end + 2 - bytes.len())),
        Some(b"\r\n") => Ok(Ok((Some(begin + format..end), end + 2))),
        Some(_) => Err("a value without an end".into()),
    }
}

/// What a refusal means for who asked, where its words alone don't tell.
pub(super) fn advice(refusal: &[u8]) -> &'static str {
    match refusal.split(|byte| *byte == b' ').next() {
        Some(b"MOVED" | b"ASK" | b"CLUSTERDOWN" | b"CROSSSLOT") => {
            ": it is part of a cluster, whose keys lie on several servers, and bakeoff load does \
             not speak with clusters yet"
        }
        Some(b"READONLY") => {
            ": it is a replica, which takes no writes; ask the primary, or only read what is \
             there (--mix get=1 --no-preload)"
        }
        Some(b"NOAUTH") => ": it wants a password, as redis://:PASSWORD@HOST",
        Some(b"NOPROTO") => ": it speaks no RESP3; leave --resp3 out",
        Some(b"LOADING") => ": it isn't ready yet; wait until it is",
        Some(b"ERR") if refusal.starts_with(b"ERR unknown command 'HELLO'") => {
            ": it speaks no RESP3; leave --resp3 out"
        }
        Some(b"ERR") if refusal.starts_with(b"ERR max number of clients") => {
            ": it takes fewer connections; raise its maxclients, or ask for fewer (-c)"
        }
        _ => "",
    }
}

/// Whether bytes begin with what stands beside replies in RESP3: a message that nobody asked for
/// ("Pushes"), or attributes of the reply behind them.
pub(super) fn is_aside(bytes: &[u8]) -> bool {
    matches!(bytes.first(), Some(&PUSH | &ATTRIBUTE))
}

/// Where that ends; `None` if it isn't whole, or the bytes begin with something else.
///
/// # Errors
/// What makes it none, for people.
pub(super) fn aside(bytes: &[u8]) -> Result<Option<usize>, String> {
    if !is_aside(bytes) {
        return Ok(None);
    }
    let first = &bytes[..bytes.len().min(GREETING_BYTES_MAX)];
    match value_end(first, BOUNDS)? {
        None if bytes.len() >= GREETING_BYTES_MAX => Err("a message without an end".into()),
        end => Ok(end),
    }
}

/// What stands beside the values of one reply, before any of them. The specification has attributes
/// there, and pushes between replies only; whoever sends them within one is understood all the same.
#[derive(Default)]
struct Asides {
    bytes: usize,
    pushes: u64,
}

impl Asides {
    /// Where the next value begins; `None` if what stands before it isn't whole.
    ///
    /// # Errors
    /// What makes it none, for people; that it is more than any reply has.
    fn pass(&mut self, bytes: &[u8]) -> Result<Option<usize>, String> {
        let mut at = 0;
        while let Some(end) = aside(&bytes[at..])? {
            self.pushes += u64::from(bytes[at] == PUSH);
            self.bytes += end;
            at += end;
            if self.bytes > GREETING_BYTES_MAX {
                return Err(format!(
                    "more than {GREETING_BYTES_MAX} bytes beside a reply's values"
                ));
            }
        }
        Ok((!is_aside(&bytes[at..])).then_some(at))
    }
}

/// The words of an error, once they are whole, that these bytes begin with: on its line, or, in
/// RESP3, behind their length.
pub(in crate::protocol) fn refusal(bytes: &[u8]) -> Result<Option<&[u8]>, String> {
    let sign = bytes.first();
    if !matches!(sign, Some(b'-' | b'!')) {
        return Ok(None);
    }
    let Some((first, after)) = line(bytes)? else { return Ok(None) };
    if sign == Some(&b'-') {
        return Ok(Some(&first[1..]));
    }
    let words = length(&first[1..], super::LINE_BYTES_MAX);
    Ok(words.and_then(|length| bytes.get(after..after + length + 2)).map(|it| &it[..it.len() - 2]))
}

/// Where the answer to a greeting ends, whatever it says; `None` if it isn't whole.
///
/// # Errors
/// The server's refusal, or what makes it no answer, for people.
pub(super) fn skip(bytes: &[u8]) -> Result<Option<usize>, (ErrorKind, String)> {
    let malformed = |why| (ErrorKind::Malformed, why);
    let Some(begin) = Asides::default().pass(bytes).map_err(malformed)? else { return Ok(None) };
    let bytes = &bytes[begin..];
    if let Some(refusal) = refusal(bytes).map_err(malformed)? {
        let (words, advice) = (show(refusal), advice(refusal));
        let why = format!("the server refused the connection's first words: \"{words}\"{advice}");
        return Err((ErrorKind::ServerError, why));
    }
    let first = &bytes[..bytes.len().min(GREETING_BYTES_MAX)];
    let none = |why| malformed(format!("no answer to a connection's first words: {why}"));
    match value_end(first, BOUNDS).map_err(none)? {
        None if bytes.len() >= GREETING_BYTES_MAX => {
            Err(malformed("an answer without an end to a connection's first words".into()))
        }
        end => Ok(end.map(|end| begin + end)),
    }
}

/// Where an element ends, with what stands before it: that isn't one of the elements.
fn element_end(bytes: &[u8], bounds: NestedBounds) -> Result<Option<usize>, String> {
    let mut at = 0;
    loop {
        let is_element = !is_aside(&bytes[at..]);
        let Some(end) = value_end(&bytes[at..], bounds)? else { return Ok(None) };
        at += end;
        if is_element {
            return Ok(Some(at));
        }
    }
}

/// Where the value ends that bytes begin with, whatever it is; `None` if it isn't whole.
///
/// # Errors
/// What makes it none within these bounds, for people.
pub(in crate::protocol) fn value_end(
    bytes: &[u8],
    bounds: NestedBounds,
) -> Result<Option<usize>, String> {
    let Some((first, after)) = line(bytes)? else { return Ok(None) };
    let strange = || format!("no value of RESP that is awaited: \"{}\"", show(first));
    let Some((sign, rest)) = first.split_first() else { return Err(strange()) };
    let elements = match *sign {
        b'+' | b'-' | b':' | b'_' | b'#' | b',' | b'(' => return Ok(Some(after)),
        // What isn't there, as RESP2 has it.
        b'$' | b'*' if rest == b"-1" => return Ok(Some(after)),
        b'$' | b'=' | b'!' => {
            let length = length(rest, bounds.string_bytes).ok_or_else(strange)?;
            let end = after + length + 2;
            return Ok((bytes.len() >= end).then_some(end));
        }
        b'*' | b'~' | PUSH => length(rest, ELEMENTS_MAX).ok_or_else(strange)?,
        b'%' | ATTRIBUTE => 2 * length(rest, ELEMENTS_MAX).ok_or_else(strange)?,
        _ => return Err(strange()),
    };
    let depth = bounds.depth.checked_sub(1).ok_or_else(strange)?;
    let mut at = after;
    for _ in 0..elements {
        match element_end(&bytes[at..], NestedBounds { depth, ..bounds })? {
            Some(end) => at += end,
            None => return Ok(None),
        }
    }
    Ok(Some(at))
}
