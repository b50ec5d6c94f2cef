//! Single replies of a store, for who asks beside the load: what is right there is right under
//! load, because both are read by the same decoders.

use std::ops::Range;

use super::{Answer, ExpectedReply, Parsed, line, memcached, resp};
use crate::plan::keys::{Dialect, Operation};

/// The longest value that is read.
const VALUE_BYTES_MAX: usize = 64 << 20;

/// What was asked.
#[derive(Debug, Clone, Copy)]
pub enum StoreAsk<'a> {
    /// The value of this key.
    Get(&'a str),
    /// To give a key a value.
    Set,
    /// To remove a key.
    Delete,
    /// Something that no load asks: the next line of what the store tells.
    Line,
}

/// What came of bytes.
#[derive(Debug, PartialEq, Eq)]
pub enum ReplyRead {
    /// The reply isn't whole: so many bytes are missing, at least.
    More(usize),
    /// The reply is whole.
    Whole {
        /// What it says.
        reply: StoreReply,
        /// Bytes used.
        used: usize,
    },
}

/// What a store says. Hostile.
#[derive(Debug, PartialEq, Eq)]
pub enum StoreReply {
    /// It did so: what was asked for is this, a value, or a line without its end.
    Done(Vec<u8>),
    /// There is no such key.
    Nothing,
    /// It refused, in these words.
    Refused(Vec<u8>),
}

/// Reads the reply that begins these bytes.
///
/// # Errors
/// Why this is no reply, for people: bounded and escaped. The connection is of no more use then.
pub fn read(dialect: &Dialect, asked: StoreAsk, bytes: &[u8]) -> Result<ReplyRead, String> {
    let (operation, key) = match asked {
        StoreAsk::Get(key) => (Operation::Get, key),
        StoreAsk::Set => (Operation::Set, ""),
        StoreAsk::Delete => (Operation::Delete, ""),
        StoreAsk::Line => return read_line(dialect, bytes),
    };
    let value_bytes_max = VALUE_BYTES_MAX;
    let is_third = matches!(dialect, Dialect::Resp(resp) if resp.is_third);
    let expected = ExpectedReply { operation, keys: 1, value_bytes_max, opaque: 0, is_third };
    let mut found = Vec::new();
    let parsed = match dialect {
        Dialect::Resp(_) => resp::parse(bytes, expected, &mut found),
        Dialect::MemcachedText => memcached::parse_text(bytes, expected, |_| key, &mut found),
        Dialect::MemcachedMeta => memcached::parse_meta(bytes, expected),
    };
    let (used, answer) = match parsed? {
        Parsed::More(missing) => return Ok(ReplyRead::More(missing)),
        Parsed::Whole(used, answer) => (used, answer),
    };
    let of_value = |value: Option<Range<usize>>| match value {
        Some(value) => StoreReply::Done(bytes[value].to_vec()),
        None => StoreReply::Nothing,
    };
    let reply = match answer {
        Answer::Value(value) => of_value(value),
        Answer::Values { .. } => of_value(found.pop().flatten()),
        Answer::Stored | Answer::Removed(true) => StoreReply::Done(Vec::new()),
        Answer::Removed(false) => StoreReply::Nothing,
        Answer::Refused(words) => StoreReply::Refused(bytes[words].to_vec()),
    };
    Ok(ReplyRead::Whole { reply, used })
}

fn read_line(dialect: &Dialect, bytes: &[u8]) -> Result<ReplyRead, String> {
    let Some((line, used)) = line(bytes)? else { return Ok(ReplyRead::More(1)) };
    let refusal = match dialect {
        Dialect::Resp(_) => line.strip_prefix(b"-"),
        Dialect::MemcachedText | Dialect::MemcachedMeta => {
            memcached::is_refusal(line).then_some(line)
        }
    };
    let reply = match refusal {
        Some(words) => StoreReply::Refused(words.to_vec()),
        None => StoreReply::Done(line.to_vec()),
    };
    Ok(ReplyRead::Whole { reply, used })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::splits::{StreamStep, seeds};
    use crate::protocol::store::splits::in_any_split;

    /// Where each of four replies ends, to who reads no byte that isn't missing.
    fn asked_once(dialect: &Dialect, operation: Operation, stream: &[u8]) -> Vec<Option<usize>> {
        let mut ends: Vec<Option<usize>> = Vec::new();
        for number in 0..4 {
            let key = format!("key:{number:012}");
            let asked = match operation {
                Operation::Get => StoreAsk::Get(&key),
                Operation::Set => StoreAsk::Set,
                Operation::Delete => StoreAsk::Delete,
            };
            let begin = ends.last().copied().flatten().unwrap_or(0);
            let mut end = begin;
            loop {
                match stream.get(begin..end).map(|it| read(dialect, asked, it)) {
                    Some(Ok(ReplyRead::More(missing))) => end += missing,
                    Some(Ok(ReplyRead::Whole { used, .. })) => {
                        assert_eq!(used, end - begin, "it read more than was missing");
                        ends.push(Some(end));
                        break;
                    }
                    Some(Err(_)) | None => {
                        ends.push(None);
                        return ends;
                    }
                }
            }
        }
        ends
    }

    #[test]
    fn who_asks_once_reads_what_is_read_under_load() {
        let mut answers = 0;
        for (name, input) in seeds("store_answer") {
            let [asked, _, stream @ ..] = &input[..] else { panic!("a seed is a whole input") };
            let dialect = match asked & 3 {
                0 => Dialect::Resp(crate::plan::keys::Resp::default()),
                1 => Dialect::MemcachedText,
                // Meta commands repeat a word of each request, others are greeted, and nobody
                // asks for several keys beside the load.
                _ => continue,
            };
            let Some(operation) = Operation::ALL.get(usize::from(asked >> 2 & 3)) else { continue };
            let steps = in_any_split(&input).unwrap().steps;
            let under_load = steps.into_iter().map(|step| match step {
                StreamStep::Answer { end, .. } => Some(end),
                StreamStep::Broken(_) | StreamStep::Cut(_) => None,
            });
            let under_load: Vec<_> = under_load.collect();
            answers += under_load.iter().flatten().count();
            assert_eq!(asked_once(&dialect, *operation, stream), under_load, "{name}");
        }
        assert!(answers > 10, "hardly a seed was compared: {answers} answers");
    }
}
