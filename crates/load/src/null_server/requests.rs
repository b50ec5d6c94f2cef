//! How many requests bytes complete.

use memchr::memmem;

/// Counts requests. Where all have one length, that is a division, and nothing is
/// looked at.
#[derive(Debug, Clone, Copy)]
pub(super) enum Counter {
    /// All have so many bytes.
    OfOneLength(u64),
    /// Their heads and bodies have to be found.
    Parsing,
}

/// What came of a request that isn't whole.
#[derive(Debug, Default)]
pub(super) struct Partial {
    /// Where all have one length: the bytes that came.
    bytes: u64,
    /// Else its unfinished head.
    head: Vec<u8>,
    /// And the bytes of its body still to come.
    body: u64,
}

impl Counter {
    /// For requests of this length, or of several.
    pub(super) fn of(length: Option<usize>) -> Counter {
        match length {
            Some(length) if length > 0 => Counter::OfOneLength(length as u64),
            _ => Counter::Parsing,
        }
    }

    /// The requests that these bytes complete.
    pub(super) fn take(self, partial: &mut Partial, bytes: &[u8]) -> u64 {
        match self {
            Counter::OfOneLength(length) => {
                let all = partial.bytes + bytes.len() as u64;
                partial.bytes = all % length;
                all / length
            }
            Counter::Parsing => partial.parse(bytes),
        }
    }
}

impl Partial {
    fn parse(&mut self, mut bytes: &[u8]) -> u64 {
        let mut whole = 0;
        while !bytes.is_empty() {
            if self.body > 0 {
                let taken = self.body.min(bytes.len() as u64);
                self.body -= taken;
                whole += u64::from(self.body == 0);
                bytes = &bytes[taken as usize..];
                continue;
            }
            let joined;
            let (all, before) = if self.head.is_empty() {
                (bytes, 0)
            } else {
                let before = self.head.len();
                self.head.extend_from_slice(bytes);
                joined = std::mem::take(&mut self.head);
                (&joined[..], before)
            };
            let Some(end) = memmem::find(all, b"\r\n\r\n").map(|at| at + 4) else {
                self.head = all.to_vec();
                return whole;
            };
            self.body = content_length(&all[..end]);
            whole += u64::from(self.body == 0);
            bytes = &bytes[end - before..];
        }
        whole
    }
}

/// The length of the body after this head. Only the generator's own requests
/// come here, which all write it alike.
fn content_length(head: &[u8]) -> u64 {
    if head.starts_with(b"GET ") {
        return 0;
    }
    let name = b"\r\nContent-Length: ";
    memmem::find(head, name)
        .map(|at| &head[at + name.len()..])
        .and_then(|rest| rest.split(|&byte| byte == b'\r').next())
        .and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUESTS: &[u8] = b"GET /a HTTP/1.1\r\nHost: a\r\n\r\n\
        POST /b HTTP/1.1\r\nContent-Length: 5\r\n\r\n\r\n\r\n!\
        POST /c HTTP/1.1\r\nContent-Length: 0\r\n\r\n\
        HEAD /d HTTP/1.1\r\n\r\n";

    fn count(counter: Counter, size: usize) -> u64 {
        let mut partial = Partial::default();
        REQUESTS.chunks(size).map(|piece| counter.take(&mut partial, piece)).sum()
    }

    #[test]
    fn requests_are_counted_in_any_split() {
        for size in 1..=REQUESTS.len() {
            assert_eq!(count(Counter::of(None), size), 4, "in pieces of {size} bytes");
        }
    }

    #[test]
    fn requests_of_one_length_are_counted_in_any_split() {
        for size in 1..=REQUESTS.len() {
            let counter = Counter::of(Some(10));
            assert_eq!(count(counter, size), REQUESTS.len() as u64 / 10, "by {size} bytes");
        }
    }
}
