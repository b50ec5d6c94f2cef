//! Bodies larger than all that the client and the kernel have room for: each comes whole,
//! to the last byte, and is never held whole.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::Value;

use crate::support::{After, Seen, Server, backends, load};

/// Connections, each with a body under way.
const CONNECTIONS: usize = 6;
/// The most memory that the client may have, the program itself and 16 MiB of receive
/// buffers among it.
const MEMORY_MAX: u64 = 40 << 20;
/// Bytes that the server writes at once: a MiB.
const PIECE: usize = 1 << 20;

/// How a body says where it ends.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    Length,
    Chunked,
    UntilClose,
}

/// Writes an answer with so many pieces and these last bytes; gives how many it wrote.
fn answer(
    connection: &mut TcpStream,
    (form, pieces): (Form, usize),
    end: &[u8],
) -> std::io::Result<usize> {
    let piece = vec![b'x'; PIECE];
    let (header, before, after, last) = match form {
        Form::Length => {
            (format!("Content-Length: {}\r\n", pieces * PIECE + end.len()), "".into(), "", "")
        }
        Form::Chunked => {
            let chunk = format!("{PIECE:x}\r\n");
            ("Transfer-Encoding: chunked\r\n".into(), chunk, "\r\n", "0\r\n\r\n")
        }
        Form::UntilClose => (String::new(), String::new(), "", ""),
    };
    let mut written = 0;
    let mut write = |bytes: &[u8]| {
        written += bytes.len();
        connection.write_all(bytes)
    };
    write(format!("HTTP/1.1 200 OK\r\n{header}\r\n").as_bytes())?;
    for _ in 0..pieces {
        write(before.as_bytes())?;
        write(&piece)?;
        write(after.as_bytes())?;
    }
    if form == Form::Chunked {
        write(format!("{:x}\r\n", end.len()).as_bytes())?;
    }
    write(end)?;
    write(after.as_bytes())?;
    write(last.as_bytes())?;
    Ok(written)
}

/// The most memory that a client had until now; `None` once it has ended.
///
/// A process that is started shares its parent's memory, all that the tests hold, until the
/// kernel gives it its own, and may be seen so: its parent goes on a little before that
/// (`exec_mm_release`). It gets the program's name after it.
fn memory(client: &Child) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", client.id())).ok()?;
    let of = |name| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let kib: u64 = of("VmHWM:")?.strip_suffix(" kB")?.parse().ok()?;
    Some(if of("Name:")? == "bakeoff" { kib << 10 } else { 0 })
}

/// Has `bakeoff load` ask for answers of so many MiB, a connection each, and looks what came.
fn all_come_whole(form: Form, mib: usize) {
    let all = CONNECTIONS * mib * PIECE;
    assert!(all as u64 > 2 * MEMORY_MAX, "all of them could be held");
    let written = Arc::new(AtomicU64::new(0));
    let server = Server::start({
        let written = written.clone();
        move |connection, seen: &Seen| {
            let nonce = seen.path().trim_start_matches("/?");
            let bytes = answer(connection, (form, mib), format!("the end of {nonce}").as_bytes())?;
            written.fetch_add(bytes as u64, Ordering::Relaxed);
            Ok(if form == Form::UntilClose { After::Close } else { After::Keep })
        }
    });
    let (url, count) = (server.url("/?{nonce}"), CONNECTIONS.to_string());
    for backend in backends() {
        written.store(0, Ordering::Relaxed);
        let mut client = Command::new(env!("CARGO_BIN_EXE_bakeoff"))
            .args(["load", &url, "-n", &count, "-c", &count, "-t", "1", "--timeout", "25s"])
            .args(["--expect-body", "the end of {nonce}", "--backend", backend, "--json", "-"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut most = 0;
        while let Some(memory) = memory(&client) {
            most = memory.max(most);
            std::thread::sleep(Duration::from_millis(5));
        }
        let mut json = String::new();
        client.stdout.take().unwrap().read_to_string(&mut json).unwrap();
        client.wait().unwrap();
        let json: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(json["requests"]["good"], CONNECTIONS, "{backend}: {}", json["errors"]);
        let written = written.load(Ordering::Relaxed);
        assert!(written > all as u64, "the server wrote {written} bytes");
        assert_eq!(json["bytes"]["received"], written, "{backend}: the server counts otherwise");
        assert!(most > 0, "{backend}: nobody saw its memory");
        assert!(most <= MEMORY_MAX, "{backend}: {most} bytes of memory, for {all} bytes");
    }
}

#[test]
fn bodies_with_a_length_come_whole_and_are_not_held() {
    all_come_whole(Form::Length, 64);
}

#[test]
fn bodies_in_chunks_come_whole_and_are_not_held() {
    all_come_whole(Form::Chunked, 16);
}

#[test]
fn bodies_that_end_with_their_connection_come_whole_and_are_not_held() {
    all_come_whole(Form::UntilClose, 16);
}

/// The kernel is told not to wake the client for less than a portion of a large body. Told
/// too much, it would wake it neither for the end nor for a small answer after it.
#[test]
fn the_end_of_a_large_body_and_a_small_one_behind_it_are_seen_at_once() {
    let answers = AtomicU64::new(0);
    let server = Server::start(move |connection, _: &Seen| {
        if answers.fetch_add(1, Ordering::Relaxed) % 2 == 1 {
            connection.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")?;
            return Ok(After::Keep);
        }
        let length = PIECE + 3;
        connection
            .write_all(format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n").as_bytes())?;
        for part in [&vec![b'x'; PIECE][..], b"e", b"n", b"d"] {
            connection.write_all(part)?;
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(After::Keep)
    });
    for backend in backends() {
        let url = server.url("/");
        let said = load(&[&url, "-n", "8", "-c", "1", "--timeout", "5s", "--backend", backend]);
        assert_eq!(said.json["requests"]["good"], 8, "{backend}: {}", said.json["errors"]);
    }
}

/// More than a socket takes at once: it is sent in parts, the next when there is room.
#[test]
fn bodies_that_are_sent_arrive_whole_and_in_order() {
    // No two parts are alike, so that none can stand for another.
    let body: Vec<u8> =
        (0..1 << 20).flat_map(|line: u32| format!("{line:07}\n").into_bytes()).collect();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &body).unwrap();
    let file = file.path().to_str().unwrap();
    let read = Arc::new(AtomicU64::new(0));
    let server = Server::start({
        let (body, read) = (body.clone(), read.clone());
        move |connection, seen: &Seen| {
            let head = seen.head.len() + "\r\n\r\n".len();
            read.fetch_add((head + seen.body.len()) as u64, Ordering::Relaxed);
            let status = if seen.body == body { "200 OK" } else { "400 Other Bytes" };
            let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
            connection.write_all(answer.as_bytes()).map(|()| After::Keep)
        }
    });
    let url = server.url("/");
    for backend in backends() {
        for more in [&[][..], &["--pipeline", "2"]] {
            read.store(0, Ordering::Relaxed);
            let base = [&url, "-n", "4", "-c", "2", "-t", "1", "--timeout", "25s"];
            let own = ["--body-file", file, "--backend", backend];
            let said = load(&[&base[..], &own, more].concat());
            let what = format!("{backend} {more:?}");
            said.assert_conserved(&what);
            assert_eq!(said.count("good"), 4, "{what}: {}", said.json["errors"]);
            let read = read.load(Ordering::Relaxed);
            assert!(read > 4 * body.len() as u64, "{what}: the server read {read} bytes");
            assert_eq!(said.json["bytes"]["sent"], read, "{what}: the server counts otherwise");
        }
    }
}
