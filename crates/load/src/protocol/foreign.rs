//! What a server speaks that doesn't speak what it was asked in, by its first bytes.

/// What HTTP/1 is called here, RESP, memcached's text and meta commands, and what robots speak.
pub(crate) const HTTP: &str = "HTTP";
pub(crate) const RESP: &str = "RESP, as Redis does";
pub(crate) const MEMCACHED: &str = "memcached's text protocol";
pub(crate) const FRAMES: &str = "frames";
pub(crate) const MQTT: &str = "MQTT";
pub(crate) const NATS: &str = "NATS";

/// The first bytes of what servers say in other protocols, whoever has to speak first.
const FIRST_BYTES: [(&[u8], &str); 17] = [
    // RFC 8446, 5.1: an alert, or a handshake, of any version.
    (b"\x15\x03", "TLS"),
    (b"\x16\x03", "TLS"),
    (b"HTTP/1.", HTTP),
    (b"SSH-", "SSH"),
    (b"RFB ", "VNC"),
    (b"* OK", "IMAP"),
    (b"220 ", "SMTP or FTP"),
    (b"220-", "SMTP or FTP"),
    (b"-ERR ", RESP),
    (b"-NOAUTH ", RESP),
    (b"-DENIED ", RESP),
    (b"INFO {", NATS),
    (b"ERROR\r\n", MEMCACHED),
    (b"CLIENT_ERROR ", MEMCACHED),
    (b"AMQP", "AMQP"),
    // A message of an error, with its length below 64 KiB, and how severe it is.
    (b"E\0\0", "PostgreSQL's protocol"),
    (b"SFATAL", "PostgreSQL's protocol"),
];

/// What it speaks, if these bytes tell.
fn protocol_of(bytes: &[u8]) -> Option<&'static str> {
    let known = FIRST_BYTES.iter().find(|(first, _)| bytes.starts_with(first));
    known.map(|(_, name)| *name).or_else(|| is_http2(bytes).then_some("HTTP/2"))
}

/// RFC 9113, 3.4: a server's first frame is one of SETTINGS (type 4), on stream 0; it may end a
/// connection that it doesn't understand with GOAWAY (type 7).
fn is_http2(bytes: &[u8]) -> bool {
    matches!(bytes, [0, _, _, 4 | 7, _, 0, 0, 0, 0, ..])
}

/// The same sentence about these bytes, with what the server speaks if they tell that, and it isn't
/// what it was asked in.
pub(crate) fn named(asked_in: &str, bytes: &[u8], sentence: String) -> String {
    match protocol_of(bytes).filter(|name| *name != asked_in) {
        Some(name) => {
            format!("the server speaks {name}, which isn't what it was asked in: {sentence}")
        }
        None => sentence,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_speaks_is_told_by_its_first_bytes() {
        for (bytes, name) in [
            (&b"\x15\x03\x03\x00\x02\x02\x50"[..], "TLS"),
            (b"\0\0\x12\x04\0\0\0\0\0\0\x03", "HTTP/2"),
            (b"SSH-2.0-OpenSSH_9.2p1\r\n", "SSH"),
            (b"HTTP/1.1 400 Bad Request\r\n", "HTTP"),
            (b"-ERR unknown command 'GET'\r\n", "RESP"),
            (b"INFO {\"server_id\":", "NATS"),
            (b"ERROR\r\n", "memcached"),
        ] {
            let sentence = named("", bytes, "no answer".into());
            assert!(sentence.contains(&format!("speaks {name}")), "{sentence}");
        }
        for bytes in [&b""[..], b"\0\0\0\0\0\0\0\0\0", b"hello", b"\x15"] {
            assert_eq!(named("", bytes, "no answer".into()), "no answer", "{bytes:?}");
        }
    }

    #[test]
    fn a_server_that_speaks_what_it_was_asked_in_isnt_said_to_speak_something_else() {
        for (asked_in, bytes) in [
            (HTTP, &b"HTTP/1.1 408 Request Timeout\r\n"[..]),
            (RESP, b"-ERR unknown command 'HELLO'\r\n"),
            (MEMCACHED, b"ERROR\r\n"),
        ] {
            assert_eq!(named(asked_in, bytes, "no answer".into()), "no answer");
        }
    }
}
