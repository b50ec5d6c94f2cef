//! `bakeoff load` on a machine with hardly any ports: a network namespace.

use std::io;
use std::process::Command;

use crate::skipped::skipped;
use crate::support::{Said, Server, load};

/// Runs this in a network namespace with four ports for clients.
///
/// # Errors
/// Why there can be none: it takes root, and the program `ip`.
fn with_four_ports<T: Send>(run: impl FnOnce() -> T + Send) -> io::Result<T> {
    std::thread::scope(|scope| {
        let inside = scope.spawn(|| {
            // SAFETY: it moves this thread alone, which shares no descriptor table
            // or working directory that it would take apart.
            unsafe { rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::NEWNET) }?;
            Command::new("ip").args(["link", "set", "lo", "up"]).status()?;
            std::fs::write("/proc/sys/net/ipv4/ip_local_port_range", "40000 40003")?;
            Ok(run())
        });
        inside.join().unwrap()
    })
}

#[test]
fn ports_that_run_short_are_the_clients_error() {
    let run = |more: &[&str]| -> Said {
        let server = Server::says(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        load(&[&[&server.url("/"), "-n", "100", "-c", "10", "-t", "1"], more].concat())
    };
    let kept = match with_four_ports(|| run(&[])) {
        Ok(said) => said,
        Err(error) => {
            skipped("skipped", &format!("no network namespace of our own: {error}"));
            return;
        }
    };
    kept.assert_conserved("four ports");
    // The server's port may be one of the four.
    let established = kept.json["connections"]["established"].as_u64().unwrap();
    assert!((3..=4).contains(&established), "{}", kept.json["connections"]);
    assert_eq!(kept.json["connections"]["first_failure"]["kind"], "client", "{}", kept.json);
    let warnings = kept.json["warnings"].as_array().unwrap();
    let blamed = warnings.iter().find(|warning| warning["id"] == "fewer_connections").unwrap();
    assert_eq!(blamed["client_limit"], true, "the server was blamed: {blamed}");
}

#[test]
fn a_connection_a_request_takes_the_ports_of_many_addresses() {
    let run = || {
        let server = Server::says(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        load(&[&server.url("/"), "-n", "500", "-c", "4", "--close"])
    };
    match with_four_ports(run) {
        Ok(said) => assert_eq!(said.count("good"), 500, "{}", said.json["errors"]),
        Err(error) => skipped("skipped", &format!("no network namespace of our own: {error}")),
    }
}

#[test]
fn ports_that_run_short_with_close_are_the_clients_error_too() {
    let run = || {
        // Else the kernel would take ports again a second after their use.
        std::fs::write("/proc/sys/net/ipv4/tcp_tw_reuse", "0")?;
        let server = Server::says(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        // More than four ports of each of 240 addresses.
        io::Result::Ok(load(&[&server.url("/"), "-n", "3000", "-c", "10", "-t", "1", "--close"]))
    };
    let said = match with_four_ports(run).and_then(|said| said) {
        Ok(said) => said,
        Err(error) => {
            return skipped("skipped", &format!("no network namespace of our own: {error}"));
        }
    };
    said.assert_conserved("four ports, a connection a request");
    let errors = said.errors("client");
    assert!(errors > 0, "no port ran short: {}", said.json["requests"]);
    assert_eq!(errors, said.count("errors"), "the server was blamed: {}", said.json["errors"]);
    let warnings = said.json["warnings"].as_array().unwrap();
    let blamed = warnings.iter().find(|warning| warning["id"] == "client_errors");
    assert_eq!(blamed.expect("it is told")["client_limit"], true, "{warnings:?}");
}
