//! A server that may open no more files can't accept a connection. That passes when one
//! ends, so it has to wait for that, without taking a processor meanwhile and without
//! ending. Three aren't here: nginx has a way of its own; the JDK's server and Netty's
//! transport on io_uring try again and again, in code that isn't the contender's.
//! `make check-servers` has all others.

use super::server::{ask, contenders, is_built, is_light, open, start};
use crate::started::Started;

const CONTENDERS: [&str; 8] =
    ["beast", "erlang", "erlang-engine", "fasthttp", "go", "hyper", "netty-epoll", "node"];
/// Files that a server may have open.
const FILES: u64 = 100;

#[test]
fn a_server_that_may_open_no_more_files_waits_and_goes_on_when_connections_end() {
    servers_wait_for_files(is_light);
}

#[test]
#[ignore = "`make check-servers` builds all"]
fn all_servers_that_may_open_no_more_files_wait_and_go_on_when_connections_end() {
    servers_wait_for_files(|_| true);
}

fn servers_wait_for_files(is_tried: impl Fn(&str) -> bool) {
    let all = contenders();
    for name in CONTENDERS {
        if !is_tried(name) || !is_built(name) {
            continue;
        }
        let contender = all.iter().find(|contender| contender.name == name).expect(name);
        let open = |server: &Started| open(server).unwrap_or_else(|why| panic!("{name}: {why}"));
        start(contender, FILES)
            .assert_waits_for_files(FILES, open, |server| ask(server) == Ok(200));
    }
}
