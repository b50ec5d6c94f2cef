//! Requests larger than what the kernel takes at once, to servers that don't wait for
//! their end.

use tempfile::NamedTempFile;

use crate::support::{After, Server, backends, load};

/// More than all buffers on the way take, with the request's number at both ends.
fn large_body() -> NamedTempFile {
    let file = NamedTempFile::new().unwrap();
    let filling = "x".repeat(16 << 20);
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
