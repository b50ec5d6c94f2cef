//! memcached's protocols, as its `doc/protocol.txt` has them: text commands, and meta commands
//! whose answers repeat an opaque word of the request.

use std::ops::Range;

use super::{Answer, ExpectedReply, KEY_BYTES, Parsed, length, line, number};
use crate::outcome::fault::show;
use crate::plan::keys::Operation;

type Key = [u8; KEY_BYTES];

pub(super) fn get(keys: impl Iterator<Item = Key>, room: &mut Vec<u8>) {
    room.extend_from_slice(b"get");
    for key in keys {
        room.push(b' ');
        room.extend_from_slice(&key);
    }
    room.extend_from_slice(b"\r\n");
}

pub(super) fn set(
    key: Key,
    bytes: usize,
    expires_s: u32,
    value: impl FnOnce(&mut Vec<u8>),
    room: &mut Vec<u8>,
) {
    room.extend_from_slice(b"set ");
    room.extend_from_slice(&key);
    room.extend_from_slice(b" 0 ");
    number(expires_s as usize, room);
    room.push(b' ');
    number(bytes, room);
    room.extend_from_slice(b"\r\n");
    value(room);
    room.extend_from_slice(b"\r\n");
}

pub(super) fn delete(key: Key, room: &mut Vec<u8>) {
    room.extend_from_slice(b"delete ");
    room.extend_from_slice(&key);
    room.extend_from_slice(b"\r\n");
}

pub(super) fn meta_get(key: Key, opaque: u32, room: &mut Vec<u8>) {
    room.extend_from_slice(b"mg ");
    room.extend_from_slice(&key);
    room.extend_from_slice(b" v");
    end_meta(opaque, room);
}

pub(super) fn meta_set(
    key: Key,
    opaque: u32,
    bytes: usize,
    expires_s: u32,
    value: impl FnOnce(&mut Vec<u8>),
    room: &mut Vec<u8>,
) {
    room.extend_from_slice(b"ms ");
    room.extend_from_slice(&key);
    room.push(b' ');
    number(bytes, room);
    if expires_s > 0 {
        room.extend_from_slice(b" T");
        number(expires_s as usize, room);
    }
    end_meta(opaque, room);
    value(room);
    room.extend_from_slice(b"\r\n");
}

pub(super) fn meta_delete(key: Key, opaque: u32, room: &mut Vec<u8>) {
    room.extend_from_slice(b"md ");
    room.extend_from_slice(&key);
    end_meta(opaque, room);
}

fn end_meta(opaque: u32, room: &mut Vec<u8>) {
    room.extend_from_slice(b" O");
    number(opaque as usize, room);
    room.extend_from_slice(b"\r\n");
}

/// Whether a line says that the server couldn't or wouldn't.
pub(super) fn is_refusal(line: &[u8]) -> bool {
    let word = line.split(|byte| *byte == b' ').next();
    matches!(word, Some(b"ERROR" | b"SERVER_ERROR" | b"CLIENT_ERROR"))
}

/// What a refusal means for who asked, where its words alone don't tell.
pub(super) fn advice(refusal: &[u8]) -> &'static str {
    if refusal.starts_with(b"ERROR Too many open connections") {
        ": it takes fewer connections; raise its limit (memcached -c), or ask for fewer (-c)"
    } else {
        ""
    }
}

/// The same of a meta command.
pub(super) fn advice_on_meta(refusal: &[u8]) -> &'static str {
    match refusal {
        b"ERROR" => ": it knows no meta commands, as memcached before 1.6; leave --meta out",
        other => advice(other),
    }
}

fn no_answer(expected: ExpectedReply, line: &[u8]) -> String {
    format!("no answer to a {}: \"{}\"", expected.operation.name(), show(line))
}

/// Looks for the end of an answer to a text command. Of several keys those that aren't there are
/// left out of it. Each value names its key; the usual order is that of the request, but a proxy
/// that asks several servers has another.
///
/// # Errors
/// What makes it none, for people.
pub(super) fn parse_text<Name: AsRef<[u8]>>(
    bytes: &[u8],
    expected: ExpectedReply,
    name: impl Fn(u16) -> Name,
    found: &mut Vec<Option<Range<usize>>>,
) -> Result<Parsed, String> {
    let (mut at, mut place) = (0, 0);
    if expected.operation == Operation::Get {
        found.resize(usize::from(expected.keys), None);
    }
    loop {
        let Some((first, after)) = line(&bytes[at..])? else { return Ok(Parsed::More(1)) };
        let next = at + after;
        if is_refusal(first) {
            return Ok(Parsed::Whole(next, Answer::Refused(at..at + first.len())));
        }
        let answer = match (expected.operation, first) {
            (Operation::Set, b"STORED") => Answer::Stored,
            (Operation::Set, b"NOT_STORED") => Answer::Refused(at..at + first.len()),
            (Operation::Delete, b"DELETED") => Answer::Removed(true),
            (Operation::Delete, b"NOT_FOUND") => Answer::Removed(false),
            (Operation::Get, b"END") => Answer::Values { pushes: 0 },
            (Operation::Get, _) => {
                let Some((key, bytes_of)) = value_head(first, expected) else {
                    return Err(no_answer(expected, first));
                };
                let is_of = |place: &u16| name(*place).as_ref() == key;
                let Some(of) = (place..expected.keys).chain(0..place).find(is_of) else {
                    return Err(format!(
                        "a value of a key that wasn't asked for: \"{}\"",
                        show(first)
                    ));
                };
                match data(bytes, next, bytes_of)? {
                    Ok(end) => {
                        if found[usize::from(of)].replace(next..next + bytes_of).is_some() {
                            return Err(format!("a key has two values: \"{}\"", show(first)));
                        }
                        (at, place) = (end, of + 1);
                        continue;
                    }
                    Err(missing) => return Ok(Parsed::More(missing)),
                }
            }
            _ => return Err(no_answer(expected, first)),
        };
        return Ok(Parsed::Whole(next, answer));
    }
}

/// The key and the length of `VALUE key flags bytes`, if that is one.
fn value_head(line: &[u8], expected: ExpectedReply) -> Option<(&[u8], usize)> {
    let mut words = line.strip_prefix(b"VALUE ")?.split(|byte| *byte == b' ');
    let key = words.next()?;
    let _flags = words.next()?;
    Some((key, length(words.next()?, expected.value_bytes_max)?))
}

/// The end of data that begin at a place, or how many bytes are missing at least.
///
/// # Errors
/// That they don't end where they should, for people.
fn data(bytes: &[u8], begin: usize, length: usize) -> Result<Result<usize, usize>, String> {
    let end = begin + length;
    match bytes.get(end..end + 2) {
        None => Ok(Err(end + 2 - bytes.len())),
        Some(b"\r\n") => Ok(Ok(end + 2)),
        Some(_) => Err("a value without an end".into()),
    }
}

/// Looks for the end of an answer to a meta command.
///
/// # Errors
/// What makes it none, for people.
pub(super) fn parse_meta(bytes: &[u8], expected: ExpectedReply) -> Result<Parsed, String> {
    let Some((first, next)) = line(bytes)? else { return Ok(Parsed::More(1)) };
    if is_refusal(first) {
        return Ok(Parsed::Whole(next, Answer::Refused(0..first.len())));
    }
    let mut words = first.split(|byte| *byte == b' ');
    let code = words.next().unwrap_or_default();
    let answer = match (expected.operation, code) {
        // It alone has no words behind it.
        (Operation::Get, b"EN") => return Ok(Parsed::Whole(next, Answer::Value(None))),
        (Operation::Get, b"VA") => {
            match words.next().and_then(|it| length(it, expected.value_bytes_max)) {
                Some(bytes_of) => Answer::Value(Some(next..next + bytes_of)),
                None => return Err(no_answer(expected, first)),
            }
        }
        (Operation::Set, b"HD") => Answer::Stored,
        (Operation::Set, b"NS") => Answer::Refused(0..first.len()),
        (Operation::Delete, b"HD") => Answer::Removed(true),
        (Operation::Delete, b"NF") => Answer::Removed(false),
        _ => return Err(no_answer(expected, first)),
    };
    let opaque = words.find_map(|word| length(word.strip_prefix(b"O")?, u32::MAX as usize));
    if opaque != Some(expected.opaque as usize) {
        return Err(format!("an answer to another request: \"{}\"", show(first)));
    }
    let Answer::Value(Some(value)) = &answer else { return Ok(Parsed::Whole(next, answer)) };
    Ok(match data(bytes, value.start, value.len())? {
        Ok(end) => Parsed::Whole(end, answer),
        Err(missing) => Parsed::More(missing),
    })
}
