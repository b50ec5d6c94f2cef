//! Requests larger than what the kernel takes at once, to servers that don't wait for
//! their end.

use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tempfile::NamedTempFile;

use crate::support::{After, Server, backends, load};

/// More than all buffers on the way take, with the request's number at both ends.
fn large_body() -> NamedTempFile {
    let file = NamedTempFile::new().unwrap();
    let filling = "x".repeat(8 << 20);
    std::fs::write(file.path(), format!("{{counter}}{filling}{{counter}}")).unwrap();
    file
}

#[test]
fn resets_a_large_request() {
    let body = large_body();
    let server = Server::on_heads(|_, _| Ok(After::Reset));
    for backend in backends() {
        for more in [&[][..], &["--close"], &["--pipeline", "2"]] {
            let (url, file) = (server.url("/"), body.path().to_str().unwrap());
            let base = [&url, "-n", "6", "-c", "2", "-t", "1", "--body-file", file];
            let said = load(&[&base[..], &["--backend", backend], more].concat());
            let what = format!("{backend} {more:?}");
            said.assert_conserved(&what);
            assert_eq!(said.errors("reset"), 6, "{what}: {}", said.json["errors"]);
        }
    }
}

/// As nginx does where a location only returns something. What it reads afterwards must be
/// the rest of that request, and neither the next nor its bytes.
#[test]
fn answers_before_it_read_a_large_request() {
    let file = large_body();
    let spoilt = Arc::new(AtomicU64::new(0));
    let server = Server::on_heads({
        let spoilt = spoilt.clone();
        move |connection, seen| {
            connection.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")?;
            // Time for the client to do something wrong.
            std::thread::sleep(Duration::from_millis(20));
            let missing = seen.length() - seen.body.len();
            let mut body = seen.body.clone();
            connection.set_read_timeout(None)?;
            connection.take(missing as u64).read_to_end(&mut body)?;
            let number = seen.path().trim_start_matches("/?").as_bytes();
            let filling = body.strip_prefix(number).unwrap_or(b"?");
            let is_whole = body.len() == seen.length();
            let filling = if is_whole { filling.strip_suffix(number) } else { Some(filling) };
            if filling.is_none_or(|filling| filling.iter().any(|byte| *byte != b'x')) {
                spoilt.fetch_add(1, Ordering::Relaxed);
            }
            Ok(if is_whole { After::Keep } else { After::Close })
        }
    });
    let (url, file) = (server.url("/?{counter}"), file.path().to_str().unwrap());
    for backend in backends() {
        for more in [&[][..], &["--close"], &["--pipeline", "2"]] {
            let base = [&url, "-n", "8", "-c", "2", "-t", "1", "--body-file", file];
            let said = load(&[&base[..], &["--backend", backend], more].concat());
            let what = format!("{backend} {more:?}");
            said.assert_conserved(&what);
            assert_eq!(said.count("good"), 8, "{what}: {}", said.json["errors"]);
            let spoilt = spoilt.load(Ordering::Relaxed);
            assert_eq!(spoilt, 0, "{what}: other bytes came in the middle of a request");
        }
    }
}
