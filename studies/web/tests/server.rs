//! The contenders of the study, started by a test and asked over HTTP.

use std::path::Path;

use lab::contract::http_client::{Connection, Wrong};
use lab::study::Study;
use lab::study::contender::Contender;

use crate::started::{self, ROOT, Started, WITHIN};

/// Whether its build takes a few seconds, and it accepts or parses in code that no other one here
/// has.
pub fn is_light(name: &str) -> bool {
    ["erlang", "erlang-engine", "go", "jdk-virtual-threads", "nginx-module", "node"].contains(&name)
}

/// The contenders of the study.
pub fn contenders() -> Vec<Contender> {
    let study = Study::read(&Path::new(ROOT).join("studies"), "web");
    study.unwrap_or_else(|why| panic!("{why}")).contenders
}

/// Builds a contender; whether it can be had.
pub fn is_built(name: &str) -> bool {
    let all = contenders();
    started::is_built(all.iter().find(|contender| contender.name == name).expect(name))
}

/// Starts a contender with so many files that it may have open, and waits until it answers.
pub fn start(contender: &Contender, files: u64) -> Started {
    Started::start(contender, files, |server| ask(server) == Ok(200))
}

/// Opens a connection.
pub fn open(server: &Started) -> Result<Connection, Wrong> {
    Connection::open(server.address(), WITHIN)
}

/// The status of the answer to a request on a connection of its own.
pub fn ask(server: &Started) -> Result<u16, Wrong> {
    let mut connection = open(server)?;
    connection.send(b"GET /hello?id=1 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")?;
    connection.receive(false).map(|answer| answer.status)
}
