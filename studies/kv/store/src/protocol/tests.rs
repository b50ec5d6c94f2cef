use proptest::prelude::*;

use super::*;

const NOW_MS: u64 = 1_800_000_000_000;

/// What is at the begin of these bytes, as text that tests compare.
fn parsed(bytes: &[u8]) -> String {
    let wire = Wire::of(bytes[0]);
    match wire.parse(bytes, NOW_MS, &mut Vec::new()) {
        Parsed::Whole(request, end) => {
            assert_eq!(end, bytes.len(), "all of it is the request");
            told(&request)
        }
        Parsed::Refused(answer, end) => {
            assert_eq!(end, bytes.len(), "all of it is refused");
            format!("refused: {}", answer.escape_ascii())
        }
        Parsed::More(missing) => format!("{missing} more"),
        Parsed::Broken(answer) => format!("broken: {}", answer.escape_ascii()),
    }
}

fn told(request: &Request) -> String {
    let list = |keys: Words| keys.iter().map(shown).collect::<Vec<_>>().join(" ");
    match request {
        Request::Get { keys, .. } => format!("get {}", list(*keys)),
        Request::Set { key, value, head, is_silent } => {
            let (key, value) = (shown(key), shown(value));
            let Head { deadline_ms, flags } = head;
            let left = deadline_ms.saturating_sub(NOW_MS);
            format!("set {key} {value} left {left} flags {flags} silent {is_silent}")
        }
        Request::Delete { keys, is_silent } => format!("delete {} silent {is_silent}", list(*keys)),
        Request::Answer(answer) => format!("answer {}", answer.escape_ascii()),
        other => format!("{other:?}"),
    }
}

fn resp(words: &[&[u8]]) -> Vec<u8> {
    let mut bytes = Vec::new();
    resp::number(b'*', words.len() as u64, &mut bytes);
    words.iter().for_each(|word| resp::bulk(word, &mut bytes));
    bytes
}

#[test]
fn requests_of_both_protocols_are_understood() {
    let redis = |line: &str| parsed(&resp(&line.split(' ').map(str::as_bytes).collect::<Vec<_>>()));
    assert_eq!(redis("GET a"), "get a");
    assert_eq!(redis("mget a b"), "get a b");
    assert_eq!(redis("SET a b"), "set a b left 0 flags 0 silent false");
    assert_eq!(redis("SET a b EX 7"), "set a b left 7000 flags 0 silent false");
    assert_eq!(redis("SET a b px 7"), "set a b left 7 flags 0 silent false");
    assert_eq!(redis("DEL a b"), "delete a b silent false");
    assert_eq!(redis("PING"), "answer +PONG\\r\\n");
    assert_eq!(redis("SELECT 0"), "answer +OK\\r\\n");
    assert_eq!(redis("CONFIG GET save"), "answer *2\\r\\n$4\\r\\nsave\\r\\n$0\\r\\n\\r\\n");
    assert_eq!(parsed(b"PING\r\n"), "answer +PONG\\r\\n");
    assert_eq!(parsed(b"SET  a b\r\n"), "set a b left 0 flags 0 silent false");
    assert_eq!(redis("HELLO 3"), "answer -NOPROTO unsupported protocol version\\r\\n");
    assert_eq!(parsed(b"get a bc\r\n"), "get a bc");
    assert_eq!(parsed(b"set a 5 0 2\r\n\r\n\r\n"), "set a \\r\\n left 0 flags 5 silent false");
    assert_eq!(parsed(b"set a 0 9 1 noreply\r\nb\r\n"), "set a b left 9000 flags 0 silent true");
    assert_eq!(parsed(b"delete a noreply\r\n"), "delete a silent true");
    assert_eq!(parsed(b"flush_all\r\n"), "Clear { is_silent: false }");
    assert_eq!(parsed(b"quit\r\n"), "Quit");
}

#[test]
fn a_time_of_the_past_is_over_and_a_date_is_one() {
    let now_s = NOW_MS / 1000;
    let line = |time: &str| parsed(format!("set a 0 {time} 1\r\nb\r\n").as_bytes());
    assert_eq!(line("-1"), "set a b left 0 flags 0 silent false");
    assert_eq!(line(&(now_s + 60).to_string()), "set a b left 60000 flags 0 silent false");
    let over = b"set a 0 -1 1\r\nb\r\n";
    let Parsed::Whole(Request::Set { head, .. }, _) =
        Wire::Text.parse(over, NOW_MS, &mut Vec::new())
    else {
        panic!("no set");
    };
    assert!(head.is_over(NOW_MS), "a negative time is over at once, and isn't none");
}

#[test]
fn what_cannot_be_done_is_refused_and_the_connection_goes_on() {
    let redis = |line: &str| parsed(&resp(&line.split(' ').map(str::as_bytes).collect::<Vec<_>>()));
    assert_eq!(redis("GET a b"), "refused: -ERR wrong number of arguments for \\'GET\\'\\r\\n");
    assert_eq!(redis("LPUSH a b"), "refused: -ERR unknown command \\'LPUSH\\'\\r\\n");
    assert_eq!(
        redis("SET a b EX 0"),
        "refused: -ERR invalid expire time in \\'set\\' command\\r\\n"
    );
    assert_eq!(redis("SET a b NX"), "refused: -ERR syntax error: SET has no \\'NX\\' here\\r\\n");
    assert_eq!(redis("SELECT 1"), "refused: -ERR there is one database here, 0\\r\\n");
    assert_eq!(redis("GET "), "refused: -ERR a key has to have 1 to 250 bytes here\\r\\n");
    assert_eq!(parsed(b"cas a 0 0 1 7\r\n"), "refused: ERROR\\r\\n");
    assert_eq!(parsed(b"get\r\n"), "refused: ERROR\\r\\n");
    assert_eq!(parsed(b"\r\n"), "refused: ERROR\\r\\n");
    let long = format!("get {}\r\n", "k".repeat(KEY_BYTES_MAX + 1));
    assert_eq!(parsed(long.as_bytes()), "refused: CLIENT_ERROR bad command line format\\r\\n");
    let many = format!("get{}\r\n", " a".repeat(WORDS_MAX));
    assert_eq!(parsed(many.as_bytes()), "refused: CLIENT_ERROR too many keys\\r\\n");
}

#[test]
fn hostile_lengths_break_the_connection_before_anything_is_kept() {
    for (bytes, answer) in [
        (
            &b"*99999999999\r\n"[..],
            "broken: -ERR Protocol error: a length has to be from 0 to 1024",
        ),
        (b"*-1\r\n", "broken: -ERR Protocol error: a length has to be from 0 to 1024"),
        (b"*1\r\n$4294967296\r\n", "broken: -ERR Protocol error: a length has to be from 0 to 67"),
        (b"*1\r\n$18446744073709551617\r\n", "broken: -ERR Protocol error: a length has to be"),
        (b"*1\r\n+PING\r\n", "broken: -ERR Protocol error: expected \\'$\\', got \\'+\\'"),
        (b"*1\r\n$4\r\nPINGPING", "broken: -ERR Protocol error: a string is longer than its"),
        (b"set a 0 0 67108865\r\n", "broken: SERVER_ERROR object too large for cache"),
        (b"set a 0 0 -1\r\n", "broken: CLIENT_ERROR bad command line format"),
        (b"set a 0 0 1\r\nbcd", "broken: CLIENT_ERROR bad data chunk"),
    ] {
        let parsed = parsed(bytes);
        assert!(parsed.starts_with(answer), "{}: {parsed}", bytes.escape_ascii());
    }
    let digits = [&b"*"[..], &[b'1'; 40]].concat();
    assert!(parsed(&digits).starts_with("broken: -ERR Protocol error: no length"));
    let line = vec![b'a'; LINE_BYTES_MAX + 2];
    assert_eq!(parsed(&line), "broken: CLIENT_ERROR line too long\\r\\n");
    let value = format!("*3\r\n$3\r\nSET\r\n$1\r\na\r\n${VALUE_BYTES_MAX}\r\n");
    assert_eq!(parsed(value.as_bytes()), format!("{} more", VALUE_BYTES_MAX + 2));
    let two = format!("*3\r\n${VALUE_BYTES_MAX}\r\n");
    let two = [two.as_bytes(), &vec![b'a'; VALUE_BYTES_MAX], b"\r\n$67108864\r\n"].concat();
    assert_eq!(parsed(&two), "broken: -ERR Protocol error: the request is too long\\r\\n");
}

/// A request of either protocol.
fn request() -> impl Strategy<Value = Vec<u8>> {
    let key = "[a-z]{1,9}";
    let value = prop::collection::vec(any::<u8>(), 0..40);
    prop_oneof![
        prop::collection::vec(key, 1..5).prop_map(|keys| {
            let words: Vec<&[u8]> =
                [&b"MGET"[..]].into_iter().chain(keys.iter().map(String::as_bytes)).collect();
            resp(&words)
        }),
        (key, value.clone()).prop_map(|(key, value)| resp(&[
            b"SET",
            key.as_bytes(),
            &value,
            b"PX",
            b"9"
        ])),
        prop::collection::vec(key, 1..5)
            .prop_map(|keys| format!("get {}\r\n", keys.join(" ")).into()),
        (key, value).prop_map(|(key, value)| {
            let head = format!("set {key} 1 0 {}\r\n", value.len());
            [head.as_bytes(), &value, b"\r\n"].concat()
        }),
    ]
}

proptest! {
    #[test]
    fn a_part_of_a_request_waits_for_the_rest_and_never_for_more(request in request()) {
        let wire = Wire::of(request[0]);
        for end in 1..request.len() {
            let part = &request[..end];
            match wire.parse(part, NOW_MS, &mut Vec::new()) {
                Parsed::More(missing) => prop_assert!(missing >= 1 && end + missing <= request.len()),
                other => prop_assert!(false, "{end} bytes: {other:?}"),
            }
        }
        let followed = [&request[..], b"*"].concat();
        let mut words = Vec::new();
        let parsed = wire.parse(&followed, NOW_MS, &mut words);
        prop_assert!(matches!(parsed, Parsed::Whole(_, end) if end == request.len()));
    }

    #[test]
    fn no_bytes_make_it_panic_or_go_beyond_them(bytes in prop::collection::vec(any::<u8>(), 1..200)) {
        for wire in [Wire::Resp, Wire::Text] {
            match wire.parse(&bytes, NOW_MS, &mut Vec::new()) {
                Parsed::Whole(_, end) | Parsed::Refused(_, end) => {
                    prop_assert!(end > 0 && end <= bytes.len());
                }
                Parsed::More(missing) => prop_assert!(missing > 0),
                Parsed::Broken(answer) => prop_assert!(answer.ends_with(b"\r\n")),
            }
        }
    }
}
