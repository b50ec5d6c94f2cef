//! The network: a thread for each core, each with a loop of its own over its connections.
//!
//! A turn of the loop reads all that came, does it, commits, and only then answers, each
//! connection by one send.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token, Waker};

use self::connection::Connection;
use self::turn::{Asker, Broken, Shared, Turn};
use crate::engine::{Engine, Session};
use crate::error::{Error, Result};
use crate::protocol::{Parsed, Request};

mod connection;
mod input;
mod turn;

/// What the kernel tells at once.
const EVENTS: usize = 1024;
/// After which a connection is tried again that couldn't be accepted.
const RETRY: Duration = Duration::from_millis(50);
const WAKER: Token = Token(usize::MAX);
const LISTENER: Token = Token(usize::MAX - 1);

/// Ends the threads of a server.
#[derive(Debug, Clone)]
pub struct Stop {
    is_asked: Arc<AtomicBool>,
    wakers: Arc<[Waker]>,
}

impl Stop {
    pub fn ask(&self) {
        self.is_asked.store(true, Ordering::Release);
        // One that can't be woken ends with its next request, or with the process.
        self.wakers.iter().for_each(|waker| drop(waker.wake()));
    }
}

/// A server that listens, and doesn't serve yet.
pub struct Server {
    workers: Vec<Worker>,
    stop: Stop,
}

/// What one thread has before it serves.
struct Worker {
    poll: Poll,
    arrivals: Receiver<TcpStream>,
    /// One of them accepts for all.
    door: Option<Door>,
}

/// Where connections come in. They are given to the threads in turn.
struct Door {
    listener: TcpListener,
    threads: Vec<Sender<TcpStream>>,
    next: usize,
    /// The last one couldn't be accepted: no more files may be open, or the kernel has no room.
    is_stuck: bool,
}

impl Server {
    /// Listens.
    ///
    /// # Errors
    /// Where the address can't be had, or the kernel has no room.
    pub fn listen(on: SocketAddr, threads: usize) -> Result<Server> {
        let no_room = |why| Error::when("the kernel has no room for another thread")(why);
        let mut listener =
            TcpListener::bind(on).map_err(Error::when(format!("can't listen on {on}")))?;
        let (mut workers, mut senders, mut wakers) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..threads {
            let poll = Poll::new().map_err(no_room)?;
            wakers.push(Waker::new(poll.registry(), WAKER).map_err(no_room)?);
            let (sender, arrivals) = channel();
            senders.push(sender);
            workers.push(Worker { poll, arrivals, door: None });
        }
        if let Some(first) = workers.first_mut() {
            let registry = first.poll.registry();
            registry.register(&mut listener, LISTENER, Interest::READABLE).map_err(no_room)?;
            first.door = Some(Door { listener, threads: senders, next: 0, is_stuck: false });
        }
        let stop = Stop { is_asked: Arc::default(), wakers: wakers.into() };
        Ok(Server { workers, stop })
    }

    /// What ends it.
    pub fn stop(&self) -> Stop {
        self.stop.clone()
    }

    /// Serves until it is stopped.
    ///
    /// # Errors
    /// Where a thread can't go on.
    pub fn serve(self, engine: &dyn Engine, name: &str) -> Result<()> {
        let shared = Shared::new(name, self.workers.len());
        let stop = &self.stop;
        std::thread::scope(|scope| {
            let shared = &shared;
            let threads: Vec<_> = self
                .workers
                .into_iter()
                .map(|worker| {
                    scope.spawn(move || {
                        let served = engine
                            .session()
                            .and_then(|session| Loop::new(worker, session, shared, stop)?.run());
                        if served.is_err() {
                            stop.ask();
                        }
                        served
                    })
                })
                .collect();
            let ends = threads.into_iter().map(|thread| {
                thread.join().unwrap_or_else(|_| Err(Error::new("a thread ended by a panic")))
            });
            // All of them, and then the first that went wrong.
            ends.collect::<Vec<_>>().into_iter().collect()
        })
    }
}

/// A thread's loop.
struct Loop<'s> {
    poll: Poll,
    arrivals: Receiver<TcpStream>,
    door: Option<Door>,
    stop: &'s Stop,
    turn: Turn<'s>,
    connections: Vec<Option<Connection>>,
    /// Places of connections that are gone.
    free: Vec<usize>,
    /// Those that have their turn.
    due: Vec<usize>,
    /// Room for the words of a request.
    words: Vec<Range<usize>>,
}

impl<'s> Loop<'s> {
    fn new(
        worker: Worker,
        session: Box<dyn Session + 's>,
        shared: &'s Shared,
        stop: &'s Stop,
    ) -> Result<Loop<'s>> {
        Ok(Loop {
            poll: worker.poll,
            arrivals: worker.arrivals,
            door: worker.door,
            stop,
            turn: Turn::new(shared, session),
            connections: Vec::new(),
            free: Vec::new(),
            due: Vec::new(),
            words: Vec::new(),
        })
    }

    fn run(mut self) -> Result<()> {
        let mut events = Events::with_capacity(EVENTS);
        while !self.stop.is_asked.load(Ordering::Acquire) {
            let is_stuck = self.door.as_ref().is_some_and(|door| door.is_stuck);
            let within = match self.due.is_empty() {
                false => Some(Duration::ZERO),
                true => is_stuck.then_some(RETRY),
            };
            match self.poll.poll(&mut events, within) {
                Err(why) if why.kind() == ErrorKind::Interrupted => continue,
                other => other.map_err(Error::when("waiting for connections"))?,
            }
            for event in &events {
                match event.token() {
                    WAKER => self.take_arrivals(),
                    LISTENER => self.accept(),
                    Token(at) => {
                        let Some(Some(connection)) = self.connections.get_mut(at) else { continue };
                        let is_over = event.is_read_closed() || event.is_error();
                        connection.is_ready(event.is_readable() || is_over);
                        make_due(at, connection, &mut self.due);
                    }
                }
            }
            if is_stuck {
                self.accept();
            }
            self.take_turn();
        }
        Ok(())
    }

    fn accept(&mut self) {
        let Some(door) = &mut self.door else { return };
        loop {
            match door.listener.accept() {
                Ok((stream, _)) => {
                    door.is_stuck = false;
                    // One that waits for an acknowledgement before it sends would be slow, and
                    // nothing else: it is served all the same.
                    drop(stream.set_nodelay(true));
                    let thread = door.next % door.threads.len();
                    door.next += 1;
                    // A thread that ended has asked all to stop.
                    drop(door.threads[thread].send(stream));
                    drop(self.stop.wakers[thread].wake());
                }
                Err(why) if why.kind() == ErrorKind::Interrupted => {}
                Err(why) if why.kind() == ErrorKind::WouldBlock => {
                    door.is_stuck = false;
                    return;
                }
                // One that went before it was accepted.
                Err(why) if why.kind() == ErrorKind::ConnectionAborted => {}
                Err(why) => {
                    if !door.is_stuck {
                        eprintln!("store: a connection can't be accepted for now: {why}");
                    }
                    door.is_stuck = true;
                    return;
                }
            }
        }
    }

    fn take_arrivals(&mut self) {
        while let Ok(stream) = self.arrivals.try_recv() {
            let at = self.free.pop().unwrap_or_else(|| {
                self.connections.push(None);
                self.connections.len() - 1
            });
            let mut connection = Connection::new(stream);
            let interest = Interest::READABLE | Interest::WRITABLE;
            let registry = self.poll.registry();
            if let Err(why) = registry.register(connection.stream(), Token(at), interest) {
                eprintln!("store: a connection can't be waited for: {why}");
                self.free.push(at);
                continue;
            }
            make_due(at, &mut connection, &mut self.due);
            self.connections[at] = Some(connection);
        }
    }

    /// Reads, does and answers for all connections that are due.
    fn take_turn(&mut self) {
        let mut due = std::mem::take(&mut self.due);
        // All of it before anything is done: what is read from the engine then is never older
        // than a request.
        for &at in &due {
            if let Some(connection) = &mut self.connections[at] {
                connection.is_due = false;
                if connection.read().is_err() {
                    self.close(at);
                }
            }
        }
        self.turn.begin();
        for &at in &due {
            self.work(at);
        }
        let committed = self.turn.commit();
        self.settle(committed);
        due.retain(|&at| self.answer(at));
        self.due = due;
    }

    /// Sends a connection's answers, and tells whether it is due again.
    fn answer(&mut self, at: usize) -> bool {
        let Some(connection) = &mut self.connections[at] else { return false };
        if connection.send().is_err() || connection.is_over() {
            self.close(at);
            return false;
        }
        connection.is_due = connection.has_work();
        connection.is_due
    }

    /// Does what a connection asks for.
    fn work(&mut self, at: usize) {
        loop {
            let Some(connection) = &mut self.connections[at] else { return };
            connection.has_postponed = connection.is_behind();
            if connection.has_postponed || connection.is_ending {
                return;
            }
            let Connection { input, answers, wire: Some(wire), .. } = connection else { return };
            let wire = *wire;
            let parsed = wire.parse(input.bytes(), self.turn.now_ms(), &mut self.words);
            let mut by = Asker { connection: at, wire, answers };
            let (end, has_to_end) = match parsed {
                Parsed::More(_) => return,
                Parsed::Whole(request, end) => {
                    if self.turn.has_to_commit_before(&request) {
                        let committed = self.turn.commit();
                        self.settle(committed);
                        continue;
                    }
                    self.turn.ask(&request, &mut by);
                    (end, request == Request::Quit)
                }
                Parsed::Refused(answer, end) => {
                    by.answers.extend_from_slice(&answer);
                    (end, false)
                }
                Parsed::Broken(answer) => {
                    by.answers.extend_from_slice(&answer);
                    (input.bytes().len(), true)
                }
            };
            input.consume(end);
            connection.is_ending = has_to_end;
        }
    }

    /// Takes back what was promised, if the commit failed.
    fn settle(&mut self, committed: std::result::Result<(), Broken>) {
        let Err(Broken { promises, why }) = committed else { return };
        for (at, place) in promises {
            if let Some(Connection { answers, wire: Some(wire), .. }) = &mut self.connections[at] {
                let mut error = Vec::new();
                wire.error(&why, &mut error);
                answers.splice(place, error);
            }
        }
    }

    fn close(&mut self, at: usize) {
        if let Some(mut connection) = self.connections[at].take() {
            // What is closed is waited for no more, whatever this says.
            drop(self.poll.registry().deregister(connection.stream()));
            self.free.push(at);
        }
    }
}

fn make_due(at: usize, connection: &mut Connection, due: &mut Vec<usize>) {
    if !connection.is_due {
        connection.is_due = true;
        due.push(at);
    }
}

#[cfg(test)]
mod tests;
