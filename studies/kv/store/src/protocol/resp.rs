//! RESP 2 ("Redis serialization protocol specification"): a request is an array of strings, each
//! with its length, or a line of words.

use std::ops::Range;

use super::{
    KEY_BYTES_MAX, LINE_BYTES_MAX, Parsed, Request, VALUE_BYTES_MAX, WORDS_MAX, Words, line,
    number as digits, shown, split_words,
};
use crate::value::Head;

/// Bytes of a line that says a length.
const LENGTH_LINE_BYTES_MAX: usize = 32;
/// Bytes of words that are no value, all together.
const WORDS_BYTES_MAX: usize = WORDS_MAX * (KEY_BYTES_MAX + LENGTH_LINE_BYTES_MAX);

pub fn parse<'a>(bytes: &'a [u8], now_ms: u64, words: &'a mut Vec<Range<usize>>) -> Parsed<'a> {
    match split(bytes, words) {
        Ok(Split::Whole(end)) => match command(Words { bytes, places: words }, now_ms) {
            Ok(request) => Parsed::Whole(request, end),
            Err(why) => Parsed::Refused(error(&why), end),
        },
        Ok(Split::More(missing)) => Parsed::More(missing),
        Err(why) => Parsed::Broken(error(&format!("Protocol error: {why}"))),
    }
}

enum Split {
    /// All words are there, and end here.
    Whole(usize),
    /// So many bytes are missing at least.
    More(usize),
}

/// Finds the words of a request.
fn split(bytes: &[u8], words: &mut Vec<Range<usize>>) -> Result<Split, String> {
    if bytes.first().is_some_and(|&first| first != b'*') {
        let found = line(bytes, LINE_BYTES_MAX).map_err(|()| "the line has no end")?;
        let Some((line, end)) = found else { return Ok(Split::More(1)) };
        split_words(line, words);
        return match words.len() <= WORDS_MAX {
            true => Ok(Split::Whole(end)),
            false => Err("the line has too many words".into()),
        };
    }
    let Some((count, mut at)) = length(bytes, b'*', WORDS_MAX)? else { return Ok(Split::More(1)) };
    // The longest word may be a value; the others are names and keys.
    let mut room = VALUE_BYTES_MAX + WORDS_BYTES_MAX;
    for _ in 0..count {
        let Some((length, after)) = length(&bytes[at..], b'$', VALUE_BYTES_MAX)? else {
            return Ok(Split::More(1));
        };
        room = room.checked_sub(length).ok_or("the request is too long")?;
        let begin = at + after;
        let end = begin + length;
        match bytes.get(end..end + 2) {
            None => return Ok(Split::More(end + 2 - bytes.len())),
            Some(b"\r\n") => words.push(begin..end),
            Some(_) => return Err("a string is longer than its length".into()),
        }
        at = end + 2;
    }
    Ok(Split::Whole(at))
}

/// The number behind a sign, and where its line ends.
fn length(bytes: &[u8], sign: u8, most: usize) -> Result<Option<(usize, usize)>, String> {
    match bytes.first() {
        None => return Ok(None),
        Some(&first) if first == sign => {}
        Some(_) => {
            return Err(format!("expected '{}', got '{}'", sign as char, shown(&bytes[..1])));
        }
    }
    let no_end = |()| format!("no length behind '{}'", sign as char);
    let Some((line, end)) = line(bytes, LENGTH_LINE_BYTES_MAX).map_err(no_end)? else {
        return Ok(None);
    };
    match digits(&line[1..]).map(usize::try_from) {
        Some(Ok(number)) if number <= most => Ok(Some((number, end))),
        _ => Err(format!("a length has to be from 0 to {most}, and is \"{}\"", shown(line))),
    }
}

/// What the words ask for.
///
/// # Errors
/// Why nothing is done.
fn command<'a>(words: Words<'a>, now_ms: u64) -> Result<Request<'a>, String> {
    let Some(name) = words.get(0) else { return Ok(Request::Answer(Vec::new())) };
    let rest = words.from(1);
    let is = |other: &str| name.eq_ignore_ascii_case(other.as_bytes());
    let takes = |arguments: bool| match arguments {
        true => Ok(()),
        false => Err(format!("wrong number of arguments for '{}'", shown(name))),
    };
    if is("GET") || is("MGET") {
        let as_list = is("MGET");
        takes(if as_list { rest.len() > 0 } else { rest.len() == 1 })?;
        Ok(Request::Get { keys: keys(rest)?, as_list, with_cas: false })
    } else if is("SET") {
        takes(rest.len() >= 2)?;
        set(rest, now_ms)
    } else if is("DEL") || is("UNLINK") {
        takes(rest.len() > 0)?;
        Ok(Request::Delete { keys: keys(rest)?, is_silent: false })
    } else if is("EXISTS") {
        takes(rest.len() > 0)?;
        Ok(Request::Exists { keys: keys(rest)? })
    } else if is("DBSIZE") {
        Ok(Request::Count)
    } else if is("FLUSHALL") || is("FLUSHDB") {
        Ok(Request::Clear { is_silent: false })
    } else if is("INFO") {
        Ok(Request::Stats)
    } else if is("QUIT") {
        Ok(Request::Quit)
    } else if is("PING") && rest.len() == 0 {
        Ok(simple("PONG"))
    } else if is("PING") || is("ECHO") {
        takes(rest.len() == 1)?;
        let mut out = Vec::new();
        bulk(rest.get(0).unwrap_or_default(), &mut out);
        Ok(Request::Answer(out))
    } else if is("SELECT") {
        takes(rest.len() == 1)?;
        match rest.get(0) {
            Some(b"0") => Ok(simple("OK")),
            _ => Err("there is one database here, 0".into()),
        }
    } else if is("HELLO") {
        hello(rest)
    } else if is("COMMAND") {
        // Clients ask for these when they begin, and go on without.
        Ok(Request::Answer(b"*0\r\n".into()))
    } else if is("CONFIG") && rest.get(0).is_some_and(|what| what.eq_ignore_ascii_case(b"GET")) {
        takes(rest.len() == 2)?;
        let mut out = Vec::new();
        number(b'*', 2, &mut out);
        bulk(rest.get(1).unwrap_or_default(), &mut out);
        bulk(b"", &mut out);
        Ok(Request::Answer(out))
    } else if is("CLIENT") {
        Ok(simple("OK"))
    } else {
        Err(format!("unknown command '{}'", shown(name)))
    }
}

fn set<'a>(words: Words<'a>, now_ms: u64) -> Result<Request<'a>, String> {
    let keys = keys(Words { bytes: words.bytes, places: &words.places[..1] })?;
    let (key, value) = (keys.get(0).unwrap_or_default(), words.get(1).unwrap_or_default());
    let mut deadline_ms = 0;
    let mut options = words.from(2).iter();
    while let Some(option) = options.next() {
        let unit_ms = match option.to_ascii_uppercase().as_slice() {
            b"EX" => 1000,
            b"PX" => 1,
            _ => return Err(format!("syntax error: SET has no '{}' here", shown(option))),
        };
        let time = options.next().and_then(digits).filter(|&time| time > 0);
        let time = time.and_then(|time| time.checked_mul(unit_ms)?.checked_add(now_ms));
        deadline_ms = time.ok_or("invalid expire time in 'set' command")?;
    }
    let head = Head { deadline_ms, flags: 0 };
    Ok(Request::Set { key, value, head, is_silent: false })
}

fn keys(words: Words<'_>) -> Result<Words<'_>, String> {
    match words.iter().find(|key| key.is_empty() || key.len() > KEY_BYTES_MAX) {
        Some(_) => Err(format!("a key has to have 1 to {KEY_BYTES_MAX} bytes here")),
        None => Ok(words),
    }
}

fn hello<'a>(words: Words<'a>) -> Result<Request<'a>, String> {
    match words.get(0) {
        None | Some(b"2") => {
            let mut out = Vec::new();
            number(b'*', 6, &mut out);
            for word in ["server", "store", "version", env!("CARGO_PKG_VERSION"), "proto"] {
                bulk(word.as_bytes(), &mut out);
            }
            number(b':', 2, &mut out);
            Ok(Request::Answer(out))
        }
        Some(_) => Ok(Request::Answer(b"-NOPROTO unsupported protocol version\r\n".into())),
    }
}

fn simple<'a>(word: &str) -> Request<'a> {
    Request::Answer(format!("+{word}\r\n").into())
}

fn error(why: &str) -> Vec<u8> {
    format!("-ERR {why}\r\n").into()
}

pub fn number(sign: u8, number: u64, out: &mut Vec<u8>) {
    out.push(sign);
    let mut digits = [0; 20];
    let mut at = digits.len();
    let mut rest = number;
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
    out.extend_from_slice(b"\r\n");
}

pub fn bulk(bytes: &[u8], out: &mut Vec<u8>) {
    number(b'$', bytes.len() as u64, out);
    out.extend_from_slice(bytes);
    out.extend_from_slice(b"\r\n");
}

pub fn info(engine: &str, threads: usize, keys: u64, out: &mut Vec<u8>) {
    let version = env!("CARGO_PKG_VERSION");
    let text = format!(
        "# Server\r\nstore_version:{version}\r\nengine:{engine}\r\nthreads:{threads}\r\n\
         process_id:{}\r\n\r\n# Stats\r\nevicted_keys:0\r\n\r\n# Keyspace\r\n\
         db0:keys={keys},expires=0,avg_ttl=0\r\n",
        std::process::id()
    );
    bulk(text.as_bytes(), out);
}
