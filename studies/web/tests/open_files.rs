//! A server that may open no more files can't accept a connection. That passes when one
//! ends, so it has to wait for that, without taking a processor meanwhile and without
//! ending. Three aren't here: nginx has a way of its own; the JDK's server and Netty's
//! transport on io_uring try again and again, in code that isn't the contender's.
//! `make check-servers` has all others.

use std::time::{Duration, Instant};

use keeper::process_tree;
use lab::contract::http_client::Connection;

use super::server::{Server, contenders, is_built, is_light};

const CONTENDERS: [&str; 8] =
    ["beast", "erlang", "erlang-engine", "fasthttp", "go", "hyper", "netty-epoll", "node"];
/// Files that a server may have open.
const FILES: u64 = 100;
/// More than it can accept.
const CONNECTIONS: u64 = 2 * FILES;
/// So long it is watched while it can accept nothing.
const WATCHED: Duration = Duration::from_secs(1);
/// Of a processor. A server that tries again and again takes all that it gets of one.
const CPU_SHARE_MAX: f64 = 0.2;

fn has_no_file_left(server: &Server) -> bool {
    let mut members = server.processes().into_iter().filter_map(process_tree::member);
    members.any(|member| member.open_files >= Some(FILES))
}

fn cpu_s(server: &Server) -> f64 {
    server.processes().into_iter().filter_map(process_tree::cpu_of_one).sum()
}

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
        let mut server = Server::start(contender, FILES);

        let connections: Vec<Connection> = (0..CONNECTIONS)
            .map(|_| server.open().unwrap_or_else(|why| panic!("{name}: {why}")))
            .collect();
        server.wait_until("no file is left", has_no_file_left);
        let (began, before) = (Instant::now(), cpu_s(&server));
        std::thread::sleep(WATCHED);
        let share = (cpu_s(&server) - before) / began.elapsed().as_secs_f64();
        assert!(share < CPU_SHARE_MAX, "{name} takes {share:.2} of a processor to wait");

        drop(connections);
        // libuv closes what comes before it has seen to the connections that ended.
        server.wait_until("it goes on", |server| server.ask() == Ok(200));
    }
}
