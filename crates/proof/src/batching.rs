//! A server for pipelines: it answers all that it has read of a connection with one write,
//! which nginx doesn't. So it is the client that decides how many writes there are.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd};

use clap::Parser;
use rustix::buffer::spare_capacity;
use rustix::event::epoll;

use crate::interrupt::Interrupt;
use crate::nginx::BODY;
use crate::place::Place;
use crate::server::{Recipe, Server};
use crate::target::{STATUS, Target};

/// Serves until it is stopped.
#[derive(Debug, Parser)]
pub struct BatchingServerArguments {
    /// Where to listen.
    #[arg(long)]
    address: SocketAddr,
}

/// Starts one on its processor.
pub fn start(place: &Place, interrupt: &Interrupt) -> Result<Target, String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let recipe = |address: SocketAddr, _: &str| Recipe {
        command: vec![
            own.display().to_string(),
            "batching-server".into(),
            "--address".into(),
            address.to_string(),
        ],
        files: Vec::new(),
        is_ready: |server| server.get("/").is_ok(),
    };
    Server::start(recipe, &[place.server], interrupt).map(Target::new)
}

pub fn run(arguments: &BatchingServerArguments) -> Result<(), String> {
    let fail = |error: io::Error| format!("on {}: {error}", arguments.address);
    let listener = TcpListener::bind(arguments.address).map_err(fail)?;
    // Clients may come all at once.
    rustix::net::listen(&listener, 4096).map_err(|error| fail(error.into()))?;
    Batching::new(listener).map_err(fail)?.serve().map_err(fail)
}

struct Batching {
    listener: TcpListener,
    epoll: std::os::fd::OwnedFd,
    connections: HashMap<u64, Connection>,
    /// Connections since the start, and requests.
    accepted: u64,
    requests: u64,
    answer: String,
}

struct Connection {
    stream: TcpStream,
    /// How much of the blank line that ends a head has been seen.
    matched: usize,
}

const BLANK_LINE: &[u8; 4] = b"\r\n\r\n";
/// More than a pipeline of requests has.
const READ_BYTES: usize = 64 * 1024;

impl Batching {
    fn new(listener: TcpListener) -> io::Result<Batching> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let batching = Batching {
            listener,
            epoll,
            connections: HashMap::new(),
            accepted: 0,
            requests: 0,
            answer: answer(BODY),
        };
        batching.watch(&batching.listener)?;
        Ok(batching)
    }

    fn watch(&self, what: &(impl AsFd + AsRawFd)) -> io::Result<()> {
        let name = epoll::EventData::new_u64(what.as_raw_fd() as u64);
        Ok(epoll::add(&self.epoll, what, name, epoll::EventFlags::IN)?)
    }

    fn serve(&mut self) -> io::Result<()> {
        let listener = self.listener.as_raw_fd() as u64;
        let mut events = Vec::with_capacity(256);
        let mut bytes = vec![0; READ_BYTES];
        loop {
            events.clear();
            epoll::wait(&self.epoll, spare_capacity(&mut events), None)?;
            for event in &events {
                match event.data.u64() {
                    name if name == listener => self.accept()?,
                    name => self.see_to(name, &mut bytes),
                }
            }
        }
    }

    fn accept(&mut self) -> io::Result<()> {
        let (stream, _) = self.listener.accept()?;
        stream.set_nodelay(true)?;
        self.watch(&stream)?;
        self.accepted += 1;
        let name = stream.as_raw_fd() as u64;
        self.connections.insert(name, Connection { stream, matched: 0 });
        Ok(())
    }

    /// Reads what is there, and answers it.
    fn see_to(&mut self, name: u64, bytes: &mut [u8]) {
        let active = self.connections.len();
        let Some(connection) = self.connections.get_mut(&name) else { return };
        let count = match connection.stream.read(bytes) {
            Ok(count) if count > 0 => count,
            // A connection that ends is no concern of ours.
            _ => return drop(self.connections.remove(&name)),
        };
        let bytes = &bytes[..count];
        let whole = connection.whole_requests(bytes);
        self.requests += whole as u64;
        let answers = if bytes.starts_with(format!("GET {STATUS} ").as_bytes()) {
            let (accepted, requests) = (self.accepted, self.requests);
            answer(&format!(
                "Active connections: {active} \nserver accepts handled requests\n {accepted} \
                 {accepted} {requests} \n"
            ))
        } else {
            self.answer.repeat(whole)
        };
        // It may wait for the client, which always reads.
        if connection.stream.write_all(answers.as_bytes()).is_err() {
            self.connections.remove(&name);
        }
    }
}

impl Connection {
    /// How many requests these bytes are the end of.
    fn whole_requests(&mut self, bytes: &[u8]) -> usize {
        let mut whole = 0;
        for &byte in bytes {
            self.matched = match (byte, self.matched) {
                (byte, matched) if byte == BLANK_LINE[matched] => matched + 1,
                (b'\r', _) => 1,
                _ => 0,
            };
            if self.matched == BLANK_LINE.len() {
                self.matched = 0;
                whole += 1;
            }
        }
        whole
    }
}

fn answer(body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\n\r\n{body}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server, and a connection to it.
    fn served() -> TcpStream {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || Batching::new(listener).unwrap().serve());
        TcpStream::connect(address).unwrap()
    }

    fn read(client: &mut TcpStream, bytes: usize) -> String {
        let mut read = vec![0; bytes];
        client.read_exact(&mut read).unwrap();
        String::from_utf8(read).unwrap()
    }

    #[test]
    fn requests_that_come_together_are_answered_together_wherever_they_are_cut() {
        let mut client = served();
        let requests = "GET / HTTP/1.1\r\nHost: x\r\n\r\n".repeat(3);
        for cut in [1, 26, 28, 40, requests.len()] {
            let (first, rest) = requests.split_at(cut);
            for part in [first, rest] {
                client.write_all(part.as_bytes()).unwrap();
            }
            let answers = answer(BODY).repeat(3);
            assert_eq!(read(&mut client, answers.len()), answers, "cut at {cut}");
        }
    }

    #[test]
    fn it_counts_as_nginx_does() {
        let mut client = served();
        client.write_all("GET / HTTP/1.1\r\n\r\n".repeat(16).as_bytes()).unwrap();
        read(&mut client, 16 * answer(BODY).len());
        client.write_all(format!("GET {STATUS} HTTP/1.1\r\n\r\n").as_bytes()).unwrap();
        let status = "Active connections: 1 \nserver accepts handled requests\n 1 1 17 \n";
        let status = answer(status);
        assert_eq!(read(&mut client, status.len()), status);
    }
}
