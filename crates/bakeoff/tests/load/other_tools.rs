//! The commands of docs/from-other-tools.md, each run as it stands there, but for less long.

use std::path::Path;
use std::time::Duration;

use assert_cmd::Command;

use crate::shortened::shortened;
use crate::stores::{Kind, Store};
use crate::support::Server;

/// The addresses of the page, by the scheme of the server there.
const ADDRESSES: [(&str, &str); 3] =
    [("http", "127.0.0.1:8080"), ("redis", "127.0.0.1:6379"), ("memcached", "127.0.0.1:11211")];

/// The page's commands for a server of this scheme.
fn commands(scheme: &str) -> Vec<String> {
    let page = include_str!("../../../../docs/from-other-tools.md");
    let begins = format!("bakeoff load {scheme}://");
    let code = page.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
    let commands = code.filter(|code| code.starts_with(&begins)).map(shortened);
    commands.collect()
}

/// Runs the page's commands for this scheme on the server at this address. A condition on so
/// short a run may be unknown: exit code 3 is as good as 0. No other is.
fn run_all(scheme: &str, address: &str) {
    let (_, of_page) = ADDRESSES.iter().find(|(of, _)| *of == scheme).unwrap();
    let program = assert_cmd::cargo::cargo_bin("bakeoff");
    let folder = program.parent().unwrap_or(Path::new("/"));
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let commands = commands(scheme);
    assert!(!commands.is_empty(), "the page has no command for {scheme}");
    for command in commands {
        let command = command.replace(of_page, address);
        assert!(command.contains(address), "another address than {of_page}: {command}");
        let mut shell = Command::new("sh");
        shell.args(["-c", &command]).env("PATH", &path).timeout(Duration::from_secs(120));
        let output = shell.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(matches!(output.status.code(), Some(0 | 3)), "{command}: {said}");
    }
}

#[test]
fn the_commands_for_servers_are_taken() {
    let server = Server::says(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes");
    run_all("http", &server.address.to_string());
}

#[test]
fn the_commands_for_stores_are_taken() {
    for kind in [Kind::Redis, Kind::Memcached] {
        let Some(store) = Store::start(kind, &[]) else { continue };
        run_all(kind.scheme(), &store.address.to_string());
    }
}
