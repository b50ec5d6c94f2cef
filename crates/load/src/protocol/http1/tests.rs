//! The rules of RFC 9110 and RFC 9112 that the decoder keeps, one a test; each
//! stream is read whole and byte by byte.

use super::splits::AskedPages;
use super::*;
use crate::plan::Target;
use crate::protocol;
use crate::protocol::splits::StreamStep;
use crate::work::pages::Pages;

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

fn gets(count: usize) -> AskedPages {
    AskedPages { head: vec![false; count], ..AskedPages::default() }
}

fn head() -> AskedPages {
    AskedPages { head: vec![true], ..AskedPages::default() }
}

fn expecting(text: &str) -> AskedPages {
    AskedPages { head: vec![false], expected: Some(text.into()), ..AskedPages::default() }
}

#[track_caller]
fn read(asked: &AskedPages, stream: &str) -> Vec<StreamStep> {
    let whole = asked.reader().read(stream.as_bytes(), []);
    let by_bytes = asked.reader().read(stream.as_bytes(), 0..stream.len());
    assert_eq!(whole, by_bytes, "another result byte by byte, of {stream:?}");
    whole
}

/// The stream is one answer with such a fault.
#[track_caller]
fn answer(asked: &AskedPages, stream: &str, fault: Option<ErrorKind>, reusable: bool) {
    ends_at(stream.len(), asked, stream, fault, reusable);
}

/// A good answer that ends at this byte.
fn good(end: usize) -> StreamStep {
    StreamStep::Answer { end, class: 0, status: 200, fault: None, reusable: true }
}

/// The answer ends at this byte, and others follow it.
#[track_caller]
fn answer_before_surplus(asked: &AskedPages, stream: &str, surplus: &str) {
    ends_at(stream.len(), asked, &format!("{stream}{surplus}"), None, true);
}

#[track_caller]
fn ends_at(
    length: usize,
    asked: &AskedPages,
    stream: &str,
    fault: Option<ErrorKind>,
    reusable: bool,
) {
    let steps = read(asked, stream);
    let [StreamStep::Answer { end, fault: wrong, reusable: kept, .. }] = steps[..] else {
        panic!("{stream:?}: {steps:?}")
    };
    assert_eq!((end, wrong, kept), (length, fault, reusable), "{stream:?}");
}

#[track_caller]
fn malformed(stream: &str) {
    assert_eq!(read(&gets(1), stream), [StreamStep::Broken(ErrorKind::Malformed)], "{stream:?}");
}

#[track_caller]
fn cut(stream: &str) {
    assert_eq!(read(&gets(1), stream), [StreamStep::Cut(ErrorKind::ClosedEarly)], "{stream:?}");
}

/// An answer with such headers and no body.
fn with(headers: &str) -> String {
    format!("HTTP/1.1 200 OK\r\n{headers}\r\n\r\n")
}

/// A chunked answer with such a body.
fn chunked(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{body}")
}

// Status lines.

#[test]
fn statuses_outside_200_to_299_are_not_good() {
    for status in [200, 201, 299] {
        let stream = format!("HTTP/1.1 {status} x\r\nContent-Length: 0\r\n\r\n");
        answer(&gets(1), &stream, None, true);
    }
    for status in [300, 302, 400, 404, 500, 503, 600, 999] {
        let stream = format!("HTTP/1.1 {status} x\r\nContent-Length: 1\r\n\r\na");
        answer(&gets(1), &stream, Some(ErrorKind::WrongStatus), true);
    }
}

#[test]
fn only_the_statuses_that_are_expected_are_good() {
    let asked = AskedPages { statuses: "200,304,404".parse().unwrap(), ..gets(1) };
    for (status, is_good) in [(200, true), (201, false), (304, true), (404, true), (500, false)] {
        let stream = format!("HTTP/1.1 {status} x\r\nContent-Length: 0\r\n\r\n");
        let fault = (!is_good).then_some(ErrorKind::WrongStatus);
        answer(&asked, &stream, fault, true);
        // The second time its head is known.
        let twice = AskedPages { head: vec![false; 2], ..asked.clone() };
        let steps = read(&twice, &stream.repeat(2));
        let came = steps.iter().map(|step| match step {
            StreamStep::Answer { status, fault, .. } => (*status, *fault),
            other => panic!("{other:?}"),
        });
        assert_eq!(came.collect::<Vec<_>>(), [(status, fault); 2]);
    }
}

#[test]
fn a_reason_may_be_empty_or_missing() {
    for line in ["HTTP/1.1 200 ", "HTTP/1.1 200", "HTTP/1.1 200 a b\tc"] {
        answer(&gets(1), &format!("{line}\r\nContent-Length: 0\r\n\r\n"), None, true);
    }
}

/// Its bytes beyond ASCII mean nothing, and are allowed (RFC 9112, section 4: `obs-text`).
#[test]
fn a_reason_may_have_bytes_beyond_ascii_and_no_control_character() {
    answer(&gets(1), "HTTP/1.1 200 \u{e9}t\u{e9}\r\nContent-Length: 0\r\n\r\n", None, true);
    for reason in ["a\0b", "a\u{b}b", "a\u{7f}b"] {
        malformed(&format!("HTTP/1.1 200 {reason}\r\nContent-Length: 0\r\n\r\n"));
    }
}

#[test]
fn what_begins_no_status_line_is_refused_at_its_first_byte() {
    // None of these ever has an empty line: to wait for it would end in a timeout.
    for stream in ["x", "hello world", "HTTP/2.0 200 OK", "HTTPS", " HTTP/1.1", "http/1.1", "\0"] {
        malformed(stream);
    }
}

#[test]
fn an_empty_line_before_an_answer_is_refused() {
    // It is the end of an earlier answer that was longer than it said.
    malformed(&format!("\r\n{OK}"));
    malformed(&format!("\n{OK}"));
    let late = format!("{OK}\r\n{OK}");
    assert_eq!(
        read(&gets(2), &late)[1],
        StreamStep::Broken(ErrorKind::Malformed),
        "2 bytes beyond Content-Length pass"
    );
}

#[test]
fn malformed_status_lines_are_refused() {
    for line in [
        "HTTP/1.2 200 OK",
        "HTTP/1.10 200 OK",
        "HTTP/1. 200 OK",
        "HTTP/1.1 20 OK",
        "HTTP/1.1 2000 OK",
        "HTTP/1.1 -20 OK",
        "HTTP/1.1 2x0 OK",
        "HTTP/1.1  200 OK",
        "HTTP/1.1\t200 OK",
        "HTTP/1.1",
        "HTTP/1.1 ",
    ] {
        malformed(&format!("{line}\r\nContent-Length: 0\r\n\r\n"));
    }
    malformed("HTTP/1.1 099 OK\r\nContent-Length: 0\r\n\r\n");
    malformed("HTTP/1.1 200 a\rb\r\nContent-Length: 0\r\n\r\n");
}

// Headers.

#[test]
fn a_line_may_end_in_a_bare_lf() {
    answer(&gets(1), "HTTP/1.1 200 OK\nContent-Length: 2\n\nab", None, true);
    answer(&gets(1), "HTTP/1.1 200 OK\r\nContent-Length: 2\n\r\nab", None, true);
}

#[test]
fn folded_headers_are_refused() {
    malformed(&with("A: b\r\n c\r\nContent-Length: 0"));
    malformed(&with("A: b\r\n\tContent-Length: 3\r\nContent-Length: 0"));
    malformed(&with(" A: b\r\nContent-Length: 0"));
    let told = fault_of(&gets(1), &with("A: b\r\n c\r\nContent-Length: 0"));
    assert!(told.starts_with("a header goes on in a second line"), "{told}");
}

#[test]
fn malformed_headers_are_refused() {
    for header in ["A", "A : b", ": b", "A: b\rc", "A: b\0c", "A(: b", "Content-Length : 0"] {
        malformed(&with(&format!("{header}\r\nContent-Length: 0")));
    }
}

#[test]
fn bytes_beyond_ascii_may_stand_in_values_and_in_no_name() {
    answer(&gets(1), &with("A: \u{e9}\u{80}\r\nContent-Length: 0"), None, true);
    answer(&gets(1), &chunked("1;a=\u{e9}\r\na\r\n0\r\nA: \u{e9}\r\n\r\n"), None, true);
    malformed(&with("\u{e9}: a\r\nContent-Length: 0"));
    malformed(&chunked("0\r\n\u{e9}: a\r\n\r\n"));
}

#[test]
fn heads_of_up_to_64_kib_are_read_and_longer_ones_refused() {
    let of_length = |length: usize| {
        let frame = with("Content-Length: 0\r\nA: ").len();
        with(&format!("Content-Length: 0\r\nA: {}", "x".repeat(length - frame)))
    };
    assert_eq!(of_length(1000).len(), 1000);
    answer(&gets(1), &of_length(64 * 1024), None, true);
    malformed(&of_length(64 * 1024 + 1));
    malformed(&format!("HTTP/1.1 200 OK\r\nA: {}", "x".repeat(64 * 1024)));
}

#[test]
fn a_head_may_have_as_many_headers_as_fit() {
    let headers = "a:\n".repeat(21_800);
    answer(&gets(1), &format!("HTTP/1.1 200 OK\nContent-Length: 0\n{headers}\n"), None, true);
}

// Where a body ends.

#[test]
fn a_body_ends_at_its_content_length() {
    answer_before_surplus(&gets(1), "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", "HTTP");
    answer_before_surplus(&gets(1), "HTTP/1.1 200 OK\r\ncontent-LENGTH:003 \r\n\r\nabc", "d");
}

#[test]
fn equal_content_lengths_count_as_one() {
    answer(&gets(1), "HTTP/1.1 200 OK\r\nContent-Length: 3, 3\r\n\r\nabc", None, true);
    let twice = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 03\r\n\r\nabc";
    answer(&gets(1), twice, None, true);
}

#[test]
fn a_content_length_that_readers_could_differ_on_is_refused() {
    for value in [
        "",
        "-1",
        "+1",
        "1a",
        "0x1",
        "1 1",
        "1.0",
        "\"1\"",
        "1,",
        ",1",
        "1, 2",
        "1;1",
        "1\u{b2}",
        "18446744073709551616",
        "99999999999999999999999999",
    ] {
        malformed(&with(&format!("Content-Length: {value}")));
    }
    malformed(&with("Content-Length: 0\r\nContent-Length: 1"));
    malformed(&with("Content-Length: 0\r\nContent-Length:"));
}

#[test]
fn the_longest_content_length_overflows_nothing() {
    cut(&format!("{}abc", with("Content-Length: 18446744073709551615")));
}

#[test]
fn both_content_length_and_transfer_encoding_are_refused() {
    malformed(&with("Content-Length: 0\r\nTransfer-Encoding: chunked"));
    malformed(&with("Transfer-Encoding: x\r\nContent-Length: 0"));
}

#[test]
fn transfer_encoding_in_http_1_0_is_refused() {
    malformed("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
}

#[test]
fn the_last_transfer_coding_decides() {
    let coded = |headers: &str| format!("{}1\r\na\r\n0\r\n\r\n", with(headers));
    for headers in [
        "Transfer-Encoding: chunked",
        "Transfer-Encoding: CHUNKED ,",
        "Transfer-Encoding:\t chunked\t",
        "Transfer-Encoding: gzip, ,chunked",
        "Transfer-Encoding: gzip;a=b\r\nA: b\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: ,",
    ] {
        answer(&gets(1), &coded(headers), None, true);
    }
    for headers in [
        "Transfer-Encoding: gzip",
        "Transfer-Encoding: identity",
        "Transfer-Encoding: \"chunked\"",
        "Transfer-Encoding: xchunked",
        "Transfer-Encoding: chunked, gzip",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: gzip",
    ] {
        answer(&gets(1), &coded(headers), None, false);
    }
}

#[test]
fn a_transfer_encoding_that_readers_could_differ_on_is_refused() {
    for value in ["", ",", "chunked, chunked", "chunked, x, chunked", "chunked;a=b", "chunked ;"] {
        malformed(&with(&format!("Transfer-Encoding: {value}")));
    }
    malformed(&with("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"));
    malformed(&with("Transfer-Encoding: \u{b}chunked"));
    malformed(&with("Transfer-Encoding : chunked"));
    malformed(&with("Transfer-Encoding: x\r\n chunked"));
}

#[test]
fn without_a_length_the_body_ends_with_the_connection() {
    for version in ["HTTP/1.0", "HTTP/1.1"] {
        let stream = format!("{version} 200 OK\r\nConnection: keep-alive\r\n\r\nabc{OK}");
        answer(&gets(2), &stream, None, false);
        answer(&gets(1), &format!("{version} 200 OK\r\n\r\n"), None, false);
    }
}

#[test]
fn answers_to_head_and_204_and_304_have_no_body() {
    for headers in ["Content-Length: 5", "Transfer-Encoding: chunked", "A: b"] {
        answer_before_surplus(&head(), &with(headers), "hello");
        let no_content = format!("HTTP/1.1 204 x\r\n{headers}\r\n\r\n");
        answer_before_surplus(&gets(1), &no_content, "hello");
        let not_modified = format!("HTTP/1.1 304 x\r\n{headers}\r\n\r\n");
        answer(&gets(1), &not_modified, Some(ErrorKind::WrongStatus), true);
    }
}

#[test]
fn the_same_head_means_a_body_for_get_and_none_for_head() {
    // The remembered head must not carry the answer's body from one to the other.
    let asked = AskedPages { head: vec![false, true, false], ..AskedPages::default() };
    let head = with("Content-Length: 2");
    let stream = format!("{head}ab{head}{head}cd");
    let ends: Vec<StreamStep> =
        [head.len() + 2, 2 * head.len() + 2, 3 * head.len() + 4].map(good).into();
    assert_eq!(read(&asked, &stream), ends);
}

#[test]
fn a_stream_that_ends_too_soon_is_closed_early() {
    for stream in [
        "",
        "HTT",
        "HTTP/1.1 200 OK\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r",
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab",
        "HTTP/1.1 100 Continue\r\n\r\n",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200",
    ] {
        cut(stream);
    }
    for body in ["", "1", "1;a", "1 ", "1\r", "1\r\n", "2\r\na", "1\r\na", "1\r\na\r", "0\r\n"] {
        cut(&chunked(body));
    }
    for body in ["0\r\n\r", "0\r\nA", "0\r\nA: b", "0\r\nA: b\r\n", "0\r\nA: b\r\n\r"] {
        cut(&chunked(body));
    }
}

// Chunks.

#[test]
fn chunks_make_up_a_body() {
    for body in [
        "0\r\n\r\n",
        "1\r\na\r\n0\r\n\r\n",
        "A\r\n0123456789\r\na\r\n0123456789\r\n000\r\n\r\n",
        "00000000000000000000003\r\nabc\r\n0\r\n\r\n",
        "2\r\n\r\n\r\n0\r\n\r\n",
    ] {
        answer_before_surplus(&gets(1), &chunked(body), "x");
    }
}

#[test]
fn extensions_and_trailers_are_skipped() {
    for body in [
        "1;a\r\na\r\n0;b=c\r\n\r\n",
        "1 ;a=\"b;\tc\"\r\na\r\n0\r\n\r\n",
        "1 \t\r\na\r\n0\r\n\r\n",
        "0\r\nA: b\r\n\r\n",
        "0\r\nA:\r\nContent-Length: 7\r\nTransfer-Encoding: x\r\n\r\n",
    ] {
        answer_before_surplus(&gets(1), &chunked(body), "x");
    }
}

#[test]
fn a_chunk_size_that_readers_could_differ_on_is_refused() {
    for size in ["", "x", "-1", "+1", "0x1", "1x", "1 1", "1\t;\0", " 1", ";a", "1;a\rb", "1\n"] {
        malformed(&chunked(&format!("{size}\r\na\r\n0\r\n\r\n")));
    }
    malformed(&chunked("1\na\r\n0\r\n\r\n"));
    malformed(&chunked("1\rxa\r\n0\r\n\r\n"));
    malformed(&chunked("0\rx\r\n"));
    malformed(&chunked("1;a\na\r\n0\r\n\r\n"));
}

#[test]
fn a_chunk_size_beyond_64_bits_is_refused_not_wrapped() {
    malformed(&chunked("10000000000000001\r\na\r\n0\r\n\r\n"));
    cut(&chunked("ffffffffffffffff\r\na\r\n0\r\n\r\n"));
}

#[test]
fn a_chunk_of_another_length_than_it_says_is_refused() {
    malformed(&chunked("1\r\nab\r\n0\r\n\r\n"));
    malformed(&chunked("2\r\na\r\n0\r\n\r\n"));
    malformed(&chunked("1\r\na0\r\n\r\n"));
    malformed(&chunked("1\r\na\n0\r\n\r\n"));
}

#[test]
fn malformed_trailers_are_refused() {
    for trailer in ["A", ": b", "A : b", " A: b", "A: b\r\n c: d", "A: b\0", "A: b\rc", "A: b\n"] {
        malformed(&chunked(&format!("0\r\n{trailer}\r\n\r\n")));
    }
}

#[test]
fn frames_without_end_are_refused_within_their_bounds() {
    malformed(&chunked(&"0".repeat(4097)));
    malformed(&chunked(&format!("1;{}", "a".repeat(4096))));
    malformed(&chunked(&format!("1{}", " ".repeat(4097))));
    malformed(&chunked(&format!("0\r\n{}", "A: b\r\n".repeat(11_000))));
    malformed(&chunked(&format!("0\r\n{}", "A".repeat(64 * 1024 + 1))));
}

// Interim answers.

#[test]
fn interim_answers_come_before_the_answer() {
    let interim = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 x\r\nContent-Length: 9\r\n\r\n";
    answer(&gets(1), &format!("{interim}{OK}"), None, true);
    let once_each = format!("{interim}{OK}{interim}{OK}");
    assert_eq!(read(&gets(2), &once_each).len(), 2);
}

/// It tells of itself, and not of the answer behind it (RFC 9110, section 15.2).
#[test]
fn what_an_interim_answer_says_of_the_connection_and_of_lengths_is_not_the_answers() {
    for interim in [
        "HTTP/1.1 103 x\r\nConnection: close\r\n\r\n",
        "HTTP/1.0 102 x\r\n\r\n",
        "HTTP/1.1 103 x\r\nContent-Length: 5\r\n\r\n",
        "HTTP/1.1 103 x\r\nTransfer-Encoding: chunked\r\n\r\n",
    ] {
        answer(&gets(1), &format!("{interim}{OK}"), None, true);
        let of_head = with("Content-Length: 5");
        answer(&head(), &format!("{interim}{of_head}"), None, true);
    }
    malformed(&format!("HTTP/1.1 103 x\r\nA\r\n\r\n{OK}"));
}

#[test]
fn a_flood_of_interim_answers_ends() {
    let interim = "HTTP/1.1 102 Processing\r\n\r\n";
    answer(&gets(1), &format!("{}{OK}", interim.repeat(100)), None, true);
    malformed(&interim.repeat(101));
    let hundred_each = format!("{}{OK}", interim.repeat(100)).repeat(2);
    assert_eq!(read(&gets(2), &hundred_each).len(), 2, "the count goes on after an answer");
}

#[test]
fn switching_protocols_ends_the_connection() {
    let stream = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nContent-Length: 5\r\n\r\n";
    let expected = StreamStep::Answer {
        end: stream.len(),
        class: 0,
        status: 101,
        fault: Some(ErrorKind::WrongStatus),
        reusable: false,
    };
    assert_eq!(read(&gets(2), &format!("{stream}{OK}")), [expected]);
}

// Connections.

#[test]
fn a_connection_can_be_used_again_unless_the_server_says_otherwise() {
    for (version, options, reusable) in [
        ("1.1", "x", true),
        ("1.1", "close", false),
        ("1.1", "CLOSE", false),
        ("1.1", "x, close", false),
        ("1.1", "close, keep-alive", false),
        ("1.1", "x\r\nA: b\r\nConnection: close", false),
        ("1.1", "closed, not-close", true),
        ("1.0", "x", false),
        ("1.0", "keep-alive", true),
        ("1.0", "Keep-Alive ,x", true),
        ("1.0", "close, keep-alive", false),
        ("1.0", "keep-alive, close", false),
    ] {
        let headers = format!("Content-Length: 0\r\nConnection: {options}");
        answer(&gets(1), &format!("HTTP/{version} 200 OK\r\n{headers}\r\n\r\n"), None, reusable);
    }
}

#[test]
fn pipelined_answers_are_read_one_by_one() {
    let (one, other) = ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab", chunked("0\r\n\r\n"));
    let stream = format!("{one}{other}{one}");
    let ends: Vec<usize> = read(&gets(3), &stream)
        .iter()
        .map(|step| match step {
            StreamStep::Answer { end, fault: None, reusable: true, .. } => *end,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(ends, [one.len(), one.len() + other.len(), stream.len()]);
}

/// What comes behind it is no answer: the requests behind it are asked again elsewhere.
#[test]
fn an_answer_that_closes_is_the_last_of_a_pipeline() {
    let closes = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nab";
    let ends = OK.len() + closes.len();
    let last =
        |reusable| StreamStep::Answer { end: ends, class: 0, status: 200, fault: None, reusable };
    for behind in ["", OK, "rubbish"] {
        let came = read(&gets(3), &format!("{OK}{closes}{behind}"));
        assert_eq!(came, [good(OK.len()), last(false)], "{behind:?} behind it");
    }
}

// The expected text.

#[test]
fn the_expected_text_is_found_across_chunks() {
    answer(&expecting("hello"), &chunked("2\r\nhe\r\n3;llo\r\nllo\r\n0\r\n\r\n"), None, true);
    answer(&expecting("hello"), "HTTP/1.0 200 OK\r\n\r\nhello", None, false);
}

#[test]
fn the_expected_text_counts_in_the_body_only() {
    let wrong = Some(ErrorKind::WrongBody);
    let in_head = "HTTP/1.1 200 hello\r\nhello: hello\r\nContent-Length: 3\r\n\r\nhel";
    answer(&expecting("hello"), in_head, wrong, true);
    let in_frames = chunked("2;hello\r\nhe\r\n3\r\nlla\r\n0\r\nhello: hello\r\n\r\n");
    answer(&expecting("hello"), &in_frames, wrong, true);
    answer(&expecting("hello"), OK, wrong, true);
    answer(&expecting("hello"), "HTTP/1.1 204 x\r\n\r\n", wrong, true);
}

/// A length is all that is known of the answers of a server that nobody wrote a contract for.
#[test]
fn a_body_of_another_length_than_expected_is_told_in_one_piece_and_in_many() {
    let asked = AskedPages { head: vec![false], body_bytes: Some(5), ..AskedPages::default() };
    let wrong = Some(ErrorKind::WrongBody);
    answer(&asked, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", None, true);
    answer(&asked, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nhell", wrong, true);
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    answer(&asked, &format!("{chunked}2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n"), None, true);
    answer(&asked, &format!("{chunked}4\r\nhell\r\n0\r\n\r\n"), wrong, true);
}

#[test]
fn where_the_whole_body_is_expected_no_byte_stands_around_it() {
    let asked = AskedPages { whole_body: true, ..expecting("hello") };
    let with_length = |body: &str| with(&format!("Content-Length: {}", body.len())) + body;
    let in_chunks = |body: &str| {
        let chunks = body.chars().map(|letter| format!("1\r\n{letter}\r\n")).collect::<String>();
        chunked(&format!("{chunks}0\r\n\r\n"))
    };
    let wrong = Some(ErrorKind::WrongBody);
    for (body, fault) in
        [("hello", None), ("hello\n", wrong), (" hello", wrong), ("hell", wrong), ("", wrong)]
    {
        answer(&asked, &with_length(body), fault, true);
        answer(&asked, &in_chunks(body), fault, true);
        answer(&asked, &format!("HTTP/1.0 200 OK\r\n\r\n{body}"), fault, false);
    }
    answer(&asked, "HTTP/1.1 204 x\r\n\r\n", wrong, true);
    let empty = AskedPages { whole_body: true, ..expecting("") };
    answer(&empty, OK, None, true);
    answer(&empty, "HTTP/1.1 204 x\r\n\r\n", None, true);
    answer(&empty, &with_length("x"), wrong, true);
    let to_head = AskedPages { head: vec![true], ..asked };
    answer(&to_head, &with("Content-Length: 5"), None, true);
}

#[test]
fn the_text_of_one_answer_does_not_serve_the_next() {
    let asked = AskedPages {
        head: vec![false; 3],
        expected: Some("<{counter}>".into()),
        ..AskedPages::default()
    };
    let body = |text: &str| format!("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{text}");
    let stream = format!("{}{}{}", body("<0>"), body("<0>"), body("<2>"));
    let faults: Vec<Option<ErrorKind>> = read(&asked, &stream)
        .into_iter()
        .map(|step| match step {
            StreamStep::Answer { fault, .. } => fault,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(faults, [None, Some(ErrorKind::WrongBody), None]);
}

#[test]
fn an_answer_to_head_need_not_hold_the_text() {
    let asked = AskedPages { head: vec![true], ..expecting("hello") };
    answer(&asked, &with("Content-Length: 5"), None, true);
}

#[test]
fn the_empty_text_is_in_every_body() {
    answer(&expecting(""), OK, None, true);
}

#[test]
fn a_wrong_status_goes_before_a_wrong_body() {
    let stream = "HTTP/1.1 404 x\r\nContent-Length: 0\r\n\r\n";
    answer(&expecting("hello"), stream, Some(ErrorKind::WrongStatus), true);
}

#[test]
fn an_error_shows_the_text_of_its_own_request() {
    let mut decoder = decoder(vec![Request::get("/")], Some("n{counter}\"\n"));
    let mut kept = None;
    let fed = decoder.feed(&mut kept, OK.as_bytes(), protocol::Asked::numbered(7));
    let Fed::Answer { fault: Some(fault), .. } = fed else { panic!("{fed:?}") };
    assert_eq!(fault.example, r#"no "n7\"\n" in the body"#);
}

#[test]
fn errors_say_what_was_missing() {
    let example = |stream: &str| {
        let mut decoder = decoder(vec![Request::get("/")], None);
        let mut kept = None;
        assert!(matches!(
            decoder.feed(&mut kept, stream.as_bytes(), protocol::Asked::numbered(0)),
            Fed::More { .. }
        ));
        match decoder.end(&mut kept, protocol::Asked::numbered(0)) {
            Fed::Broken(fault) => fault.example,
            other => panic!("{other:?}"),
        }
    };
    let body = with("Content-Length: 5") + "ab";
    assert_eq!(example(&body), "closed within the body, 3 bytes missing");
    assert_eq!(example(&chunked("5\r\nab")), "closed within the body, 3 bytes of a chunk missing");
    assert_eq!(example(&chunked("2\r\nab\r\n")), "closed within the body, the last chunk missing");
    assert_eq!(example("HTTP/1.1 2\r\n"), r#"closed within the head, after "HTTP/1.1 2\r\n""#);
    assert_eq!(example("HTTP/1.1 100 x\r\n\r\n"), "closed after an interim answer");
    assert_eq!(example(""), "closed without an answer");
}

// Time and memory.

#[test]
fn nothing_of_a_large_body_is_kept() {
    let mut decoder = decoder(vec![Request::get("/")], None);
    let mut kept = None;
    let head = with("Content-Length: 1000000");
    assert_eq!(
        decoder.feed(&mut kept, head.as_bytes(), protocol::Asked::numbered(0)),
        Fed::More { missing: 1_000_000 }
    );
    for piece in 1..250 {
        let missing = 1_000_000 - piece * 4000;
        assert_eq!(
            decoder.feed(&mut kept, &[b'x'; 4000], protocol::Asked::numbered(0)),
            Fed::More { missing }
        );
        let partial = kept.as_deref().expect("the answer isn't whole");
        assert_eq!(
            partial.reading.head.capacity() + partial.looked.kept_bytes(),
            0,
            "bytes are kept"
        );
    }
    let fed = decoder.feed(&mut kept, &[b'x'; 4000], protocol::Asked::numbered(0));
    assert_eq!(
        fed,
        Fed::Answer {
            used: 4000,
            kind: AnswerKind { status: 200, class: 0 },
            fault: None,
            reusable: true
        }
    );
}

#[test]
fn an_answer_in_one_piece_costs_no_room() {
    let mut decoder = decoder(vec![Request::get("/")], Some("n{counter}"));
    let mut kept = None;
    for (number, body) in ["n0", "n1", " n2", "xn3x"].iter().enumerate() {
        let stream = format!("{}{body}", with(&format!("Content-Length: {}", body.len())));
        let fed =
            decoder.feed(&mut kept, stream.as_bytes(), protocol::Asked::numbered(number as u64));
        let used = stream.len();
        assert_eq!(
            fed,
            Fed::Answer {
                used,
                kind: AnswerKind { status: 200, class: 0 },
                fault: None,
                reusable: true
            }
        );
        assert_eq!(kept, None, "room for an answer that needs none");
    }
}

#[test]
fn the_room_of_a_head_in_parts_is_given_back() {
    let mut decoder = decoder(vec![Request::get("/")], None);
    let mut kept = None;
    let (one, two) = OK.split_at(20);
    assert_eq!(
        decoder.feed(&mut kept, one.as_bytes(), protocol::Asked::numbered(0)),
        Fed::More { missing: 1 }
    );
    assert!(matches!(
        decoder.feed(&mut kept, two.as_bytes(), protocol::Asked::numbered(0)),
        Fed::Answer { .. }
    ));
    assert_eq!(kept, None, "each connection keeps the room of a head");
}

// Requests.

fn http1(plan: &Plan) -> Http1<Pages> {
    let http = plan.http().unwrap();
    Http1::new(plan, http, Pages::new(plan, http))
}

fn decoder(requests: Vec<Request>, expected: Option<&str>) -> Http1<Pages> {
    let mut plan = plan(requests);
    plan.http_mut().unwrap().expect.body = expected.map(Into::into);
    http1(&plan)
}

fn plan(requests: Vec<Request>) -> Plan {
    let target = Target {
        address: "127.0.0.1:80".parse().unwrap(),
        authority: "localhost:80".into(),
        path: "/".into(),
    };
    Plan::new(target, requests)
}

fn sent(request: Request, number: u64) -> String {
    let mut encoder = http1(&plan(vec![request]));
    let mut room = Vec::new();
    let bytes = match encoder.fixed(number) {
        Some(fixed) => fixed.to_vec(),
        None => {
            encoder.ask(number, &mut room);
            assert!(room.len() <= encoder.rendered_bytes_max(), "the room is too small");
            room
        }
    };
    assert!(bytes.len() <= encoder.request_bytes_max(), "a request is longer than the longest");
    String::from_utf8(bytes).unwrap()
}

#[test]
fn a_get_has_a_host_and_no_length() {
    assert_eq!(sent(Request::get("/a"), 0), "GET /a HTTP/1.1\r\nHost: localhost:80\r\n\r\n");
}

#[test]
fn a_post_always_says_its_length() {
    let post = |body: &str| Request {
        method: "POST".into(),
        body: body.as_bytes().into(),
        ..Request::get("/")
    };
    assert!(sent(post(""), 0).ends_with("\r\nContent-Length: 0\r\n\r\n"));
    assert!(sent(post("abc"), 0).ends_with("\r\nContent-Length: 3\r\n\r\nabc"));
    assert!(sent(post("<{counter}>"), 9).ends_with("\r\nContent-Length: 3\r\n\r\n<9>"));
    assert!(sent(post("<{counter}>"), 10).ends_with("\r\nContent-Length: 4\r\n\r\n<10>"));
    assert!(sent(post("{nonce}"), 1).contains("\r\nContent-Length: 16\r\n\r\n"));
}

#[test]
fn a_body_that_its_author_framed_gets_no_second_length() {
    for (name, value) in [("content-length", "9"), ("Transfer-Encoding", "chunked")] {
        for body in ["0\r\n\r\n", "{counter}\r\n\r\n"] {
            let request = Request {
                method: "POST".into(),
                headers: vec![(name.into(), value.into())],
                body: body.as_bytes().into(),
                ..Request::get("/")
            };
            let text = format!("{name}: {value}\r\n\r\n0\r\n\r\n");
            assert!(sent(request, 0).ends_with(&text), "{name} is ambiguous");
        }
    }
}

#[test]
fn given_headers_stand_in_for_those_that_are_made() {
    let mut plan = plan(vec![Request {
        headers: vec![("host".into(), "a".into()), ("Connection".into(), "x".into())],
        ..Request::get("/{counter}")
    }]);
    plan.keep_alive = false;
    let mut room = Vec::new();
    let mut encoder = http1(&plan);
    assert_eq!(encoder.fixed(4), None);
    encoder.ask(4, &mut room);
    assert_eq!(room, b"GET /4 HTTP/1.1\r\nhost: a\r\nConnection: x\r\n\r\n");
}

#[test]
fn a_connection_for_one_request_says_so() {
    let mut plan = plan(vec![Request::get("/")]);
    plan.keep_alive = false;
    let encoder = http1(&plan);
    let bytes = encoder.fixed(0).unwrap();
    assert!(bytes.ends_with(b"\r\nConnection: close\r\n\r\n"));
}

#[test]
fn placeholders_that_are_left_stand_for_themselves() {
    let post = |placeholders| Request {
        method: "POST".into(),
        headers: vec![("X".into(), "{counter}".into())],
        body: b"<{counter}>".as_slice().into(),
        placeholders,
        ..Request::get("/{counter}")
    };
    let left_in_body = sent(post(Placeholders::LeftInBody), 7);
    assert!(left_in_body.starts_with("POST /7 HTTP/1.1\r\n"), "{left_in_body}");
    assert!(left_in_body.ends_with("\r\nX: 7\r\nContent-Length: 11\r\n\r\n<{counter}>"));
    let left = sent(post(Placeholders::Left), 7);
    assert!(left.starts_with("POST /{counter} HTTP/1.1\r\n"), "{left}");
    assert!(left.ends_with("\r\nX: {counter}\r\nContent-Length: 11\r\n\r\n<{counter}>"));
}

#[test]
fn a_text_is_expected_as_it_is_where_placeholders_are_left() {
    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n{nonce}";
    for (placeholders, is_good) in [(Placeholders::Left, true), (Placeholders::Filled, false)] {
        let mut decoder =
            decoder(vec![Request { placeholders, ..Request::get("/") }], Some("{nonce}"));
        let fed = decoder.feed(&mut None, answer, protocol::Asked::numbered(0));
        assert!(matches!(&fed, Fed::Answer { fault, .. } if fault.is_none() == is_good), "{fed:?}");
    }
}

#[test]
fn requests_are_encoded_once_for_all_threads() {
    let body = vec![b'x'; 100_000];
    let post = Request { method: "POST".into(), body: body.into(), ..Request::get("/") };
    let first = http1(&plan(vec![post]));
    let second = first.clone();
    let of = |of: &Http1<Pages>| of.fixed(0).unwrap().as_ptr();
    assert_eq!(of(&first), of(&second), "each thread would have a body of its own");
}

#[test]
fn several_requests_take_turns() {
    let mut encoder = http1(&plan(vec![Request::get("/a"), Request::get("/b{counter}")]));
    let mut room = Vec::new();
    assert!(encoder.fixed(2).unwrap().starts_with(b"GET /a "));
    assert_eq!(encoder.fixed(3), None);
    encoder.ask(3, &mut room);
    assert!(room.starts_with(b"GET /b3 "));
}

/// What is told of an answer that comes so and no further.
fn lacks(asked: &AskedPages, stream: &str) -> Option<String> {
    let mut http = asked.decoder();
    let mut kept = None;
    http.feed(&mut kept, stream.as_bytes(), Asked { number: 0, sent: 0, at: 1 });
    http.lacks(&kept)
}

/// The fault of an answer.
fn fault_of(asked: &AskedPages, stream: &str) -> String {
    let of = Asked { number: 0, sent: 0, at: 1 };
    match asked.decoder().feed(&mut None, stream.as_bytes(), of) {
        Fed::Answer { fault, .. } => fault.expect("it isn't good").example,
        Fed::Broken(fault) => fault.example,
        Fed::More { .. } => panic!("it is whole: {stream}"),
    }
}

#[test]
fn what_an_answer_lacks_that_never_ends_is_told() {
    let told = |stream| lacks(&gets(1), stream);
    assert_eq!(
        told("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nhello").as_deref(),
        Some("3 of 8 bytes of the body are missing")
    );
    let endless = told("HTTP/1.1 200 OK\r\n\r\nhello").unwrap();
    assert!(endless.starts_with("nothing tells where the body ends"), "{endless}");
    let encoded = told("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n\x1f\u{8}x").unwrap();
    assert!(encoded.ends_with("the body is encoded (Transfer-Encoding: gzip)"), "{encoded}");
    let chunks = told("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
    assert_eq!(chunks.as_deref(), Some("the last chunk missing"));
    let head = told("HTTP/1.1 200 OK\r\nContent-").unwrap();
    assert!(head.starts_with("its head has no end"), "{head}");
    let interim = told("HTTP/1.1 100 Continue\r\n\r\n").unwrap();
    assert!(interim.starts_with("an interim answer came"), "{interim}");
}

#[test]
fn an_answer_that_isnt_good_is_told_with_what_its_headers_say() {
    let moved = "HTTP/1.1 301 Moved\r\nLocation: /new\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(fault_of(&gets(1), moved), "status 301, which leads to \"/new\"");
    for (answer, told) in [
        ("401 x\r\nWWW-Authenticate: Basic", "status 401, which asks for credentials"),
        ("405 x\r\nAllow: GET, HEAD", "status 405, which allows the methods \"GET, HEAD\""),
        (
            "503 x\r\nRetry-After: 3",
            "status 503, which is to be asked again after (Retry-After) \"3\"",
        ),
        ("426 x\r\nUpgrade: h2c", "status 426, which goes on in another protocol: \"h2c\""),
    ] {
        let answer = format!("HTTP/1.1 {answer}\r\nContent-Length: 0\r\n\r\n");
        let fault = fault_of(&gets(1), &answer);
        assert!(fault.starts_with(told), "a header that says what is asked isn't told: {fault}");
    }
    let encoded =
        "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\n\x1f\u{8}x";
    let told = fault_of(&expecting("hello"), encoded);
    assert!(told.ends_with("the body is encoded (Content-Encoding: gzip)"), "{told}");
    let on_the_way = "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n\
                      3\r\n\x1f\u{8}x\r\n0\r\n\r\n";
    let told = fault_of(&expecting("hello"), on_the_way);
    assert!(told.ends_with("the body is encoded (Transfer-Encoding: gzip, chunked)"), "{told}");
    let chunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n";
    let told = fault_of(&expecting("hello"), chunks);
    assert!(!told.contains("encoded"), "chunks aren't what differs: {told}");
    let told = fault_of(&gets(1), "\x15\x03\x03\x00\x02\x02\x50");
    assert!(told.starts_with("the server speaks TLS"), "{told}");
}

/// Servers of TLS say so in the body of a 400, and many others have their reason there.
#[test]
fn a_status_that_isnt_expected_is_told_with_the_first_words_of_its_body() {
    let words = "Client sent an HTTP request to an HTTPS server.\n";
    let told = "status 400: \"Client sent an HTTP request to an HTTPS server.\"";
    let of_length = format!("HTTP/1.1 400 x\r\nContent-Length: {}\r\n\r\n{words}", words.len());
    assert_eq!(fault_of(&gets(1), &of_length), told);
    let in_chunks = format!(
        "HTTP/1.1 400 x\r\nTransfer-Encoding: chunked\r\n\r\n7\r\n{}\r\n29\r\n{}\r\n0\r\n\r\n",
        &words[..7],
        &words[7..],
    );
    assert_eq!(fault_of(&gets(1), &in_chunks), told, "only its first piece is told");
    let long = format!("HTTP/1.1 500 x\r\nContent-Length: 99\r\n\r\n{}", "a".repeat(99));
    assert_eq!(fault_of(&gets(1), &long), format!("status 500: \"{}\"", "a".repeat(60)));
}
