//! Where the kernel permits no io_uring.

use serde_json::Value;

use crate::support::Server;
use crate::without_io_uring::output_without_io_uring;

const GOOD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

#[test]
fn epoll_takes_its_place_and_the_reason_is_told() {
    let server = Server::says(GOOD);
    let url = server.url("/");
    let bakeoff = env!("CARGO_BIN_EXE_bakeoff");
    let load = [bakeoff, "load", &url, "-n", "100", "-c", "4", "-t", "1", "--json", "-"];
    let Some(output) = output_without_io_uring(load) else { return };
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["requests"]["good"], 100);
    assert_eq!(json["backend"], "epoll (io_uring: Operation not permitted (os error 1))");

    let asked_for = load.into_iter().chain(["--backend", "io_uring"]);
    let Some(output) = output_without_io_uring(asked_for) else { return };
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{stderr}");
    assert!(stderr.contains("`--backend epoll` does without"), "{stderr}");
}
