//! memcached's text protocol (`doc/protocol.txt` of memcached): `get`, `gets`, `set`, `delete`,
//! `flush_all`, `stats`, `version`, `quit`.

use std::ops::Range;

use super::{
    KEY_BYTES_MAX, LINE_BYTES_MAX, Parsed, Request, VALUE_BYTES_MAX, WORDS_MAX, Words, line,
    number, resp, split_words,
};
use crate::value::Head;

/// A time of expiry up to this many seconds counts from now, a larger one from 1970.
const RELATIVE_S_MAX: u64 = 30 * 24 * 3600;
/// Deadlines below are over, and aren't none: for times that lie before now.
const LONG_OVER_MS: u64 = 1;

pub fn parse<'a>(bytes: &'a [u8], now_ms: u64, words: &'a mut Vec<Range<usize>>) -> Parsed<'a> {
    let (first, end) = match line(bytes, LINE_BYTES_MAX) {
        Ok(Some(found)) => found,
        Ok(None) => return Parsed::More(1),
        Err(()) => return Parsed::Broken(b"CLIENT_ERROR line too long\r\n".into()),
    };
    split_words(first, words);
    if words.len() > WORDS_MAX {
        return Parsed::Refused(b"CLIENT_ERROR too many keys\r\n".into(), end);
    }
    let words = Words { bytes, places: words };
    if words.get(0) == Some(b"set") {
        return set(bytes, words, end, now_ms);
    }
    match command(words) {
        Ok(request) => Parsed::Whole(request, end),
        Err(answer) => Parsed::Refused(answer.into(), end),
    }
}

const BAD_FORMAT: &str = "CLIENT_ERROR bad command line format\r\n";

fn command(words: Words<'_>) -> Result<Request<'_>, &'static str> {
    let Some(name) = words.get(0) else { return Err("ERROR\r\n") };
    let rest = words.from(1);
    match name {
        b"get" | b"gets" => {
            let with_cas = name == b"gets";
            Ok(Request::Get { keys: keys(rest)?, as_list: true, with_cas })
        }
        b"delete" => {
            let is_silent = is_silent(rest, 1);
            // A time of 0 may stand there, of clients that are older than memcached 1.4.
            if rest.len() > 1 && !is_silent && rest.get(1) != Some(b"0") {
                return Err(BAD_FORMAT);
            }
            let keys =
                keys(Words { bytes: rest.bytes, places: rest.places.get(..1).unwrap_or(&[]) })?;
            Ok(Request::Delete { keys, is_silent })
        }
        // A delay isn't known here, but 0 for none.
        b"flush_all" => match rest.get(0) {
            None | Some(b"0" | b"noreply") => {
                Ok(Request::Clear { is_silent: rest.iter().any(|word| word == b"noreply") })
            }
            Some(_) => Err("CLIENT_ERROR flush_all takes no delay here\r\n"),
        },
        b"stats" if rest.len() == 0 => Ok(Request::Stats),
        b"version" => {
            Ok(Request::Answer(concat!("VERSION ", env!("CARGO_PKG_VERSION"), "\r\n").into()))
        }
        b"verbosity" => Ok(Request::Answer(b"OK\r\n".into())),
        b"quit" => Ok(Request::Quit),
        _ => Err("ERROR\r\n"),
    }
}

/// `set KEY FLAGS EXPTIME BYTES [noreply]`, and the value in a line of its own.
fn set<'a>(bytes: &'a [u8], words: Words<'a>, begin: usize, now_ms: u64) -> Parsed<'a> {
    let number_at = |at| words.get(at).and_then(number);
    let flags = number_at(2).and_then(|flags| u32::try_from(flags).ok());
    let deadline_ms = words.get(3).and_then(|time| deadline_ms(time, now_ms));
    let length = number_at(4).and_then(|length| usize::try_from(length).ok());
    let is_silent = is_silent(words, 5);
    let is_whole = words.len() == 5 || (words.len() == 6 && is_silent);
    let (Some(flags), Some(deadline_ms), Some(length), true) =
        (flags, deadline_ms, length, is_whole)
    else {
        // Where the value would end isn't known.
        return Parsed::Broken(BAD_FORMAT.into());
    };
    if length > VALUE_BYTES_MAX {
        return Parsed::Broken(b"SERVER_ERROR object too large for cache\r\n".into());
    }
    let end = begin + length;
    match bytes.get(end..end + 2) {
        None => return Parsed::More(end + 2 - bytes.len()),
        Some(b"\r\n") => {}
        Some(_) => return Parsed::Broken(b"CLIENT_ERROR bad data chunk\r\n".into()),
    }
    match keys(Words { bytes, places: &words.places[1..2] }) {
        Err(answer) => Parsed::Refused(answer.into(), end + 2),
        Ok(keys) => {
            let key = keys.get(0).unwrap_or_default();
            let head = Head { deadline_ms, flags };
            let value = &bytes[begin..end];
            Parsed::Whole(Request::Set { key, value, head, is_silent }, end + 2)
        }
    }
}

/// When a value is gone, by the protocol's time of expiry.
fn deadline_ms(time: &[u8], now_ms: u64) -> Option<u64> {
    if let Some(before) = time.strip_prefix(b"-") {
        return number(before).map(|_| LONG_OVER_MS);
    }
    match number(time)? {
        0 => Some(0),
        seconds if seconds <= RELATIVE_S_MAX => Some(now_ms + seconds * 1000),
        seconds => seconds.checked_mul(1000),
    }
}

fn is_silent(words: Words<'_>, at: usize) -> bool {
    words.get(at) == Some(b"noreply")
}

fn keys(words: Words<'_>) -> Result<Words<'_>, &'static str> {
    if words.len() == 0 {
        return Err("ERROR\r\n");
    }
    match words.iter().find(|key| key.len() > KEY_BYTES_MAX) {
        Some(_) => Err(BAD_FORMAT),
        None => Ok(words),
    }
}

pub fn value(key: &[u8], head: Head, value: &[u8], with_cas: bool, out: &mut Vec<u8>) {
    out.extend_from_slice(b"VALUE ");
    out.extend_from_slice(key);
    decimal(head.flags.into(), out);
    decimal(value.len() as u64, out);
    if with_cas {
        // There is no `cas` here: the number only says whether a value is another one.
        decimal(crc32fast::hash(value).into(), out);
    }
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}

/// A space and a number.
fn decimal(number: u64, out: &mut Vec<u8>) {
    resp::number(b' ', number, out);
    out.truncate(out.len() - 2);
}

pub fn stats(engine: &str, threads: usize, keys: u64, out: &mut Vec<u8>) {
    let (process, version) = (std::process::id(), env!("CARGO_PKG_VERSION"));
    let text = format!(
        "STAT pid {process}\r\nSTAT version {version}\r\nSTAT threads {threads}\r\n\
         STAT engine {engine}\r\nSTAT curr_items {keys}\r\nSTAT evictions 0\r\nEND\r\n"
    );
    out.extend_from_slice(text.as_bytes());
}
