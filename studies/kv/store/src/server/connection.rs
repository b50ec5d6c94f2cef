//! One client's connection: what came, what it speaks, and what it has yet to be sent.

use std::io::{ErrorKind, Result, Write};

use mio::net::TcpStream;

use super::input::{Fill, Input};
use crate::protocol::Wire;

/// Answers that wait for a client to take them: a client with more is asked for nothing new.
const UNSENT_BYTES_MAX: usize = 1 << 20;
/// Room for answers that is kept for later.
const KEPT_BYTES_MAX: usize = 256 << 10;

#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    pub input: Input,
    /// Known from the first byte on.
    pub wire: Option<Wire>,
    /// Answers, of which so many bytes are sent.
    pub answers: Vec<u8>,
    sent: usize,
    /// There may be more to read.
    is_readable: bool,
    /// The client sends no more: it is closed once it has its answers.
    has_ended: bool,
    /// What comes makes no sense, or isn't wanted: likewise.
    pub is_ending: bool,
    /// There are whole requests that wait until answers are taken.
    pub has_postponed: bool,
    /// It is among those that have their turn.
    pub is_due: bool,
}

impl Connection {
    pub fn new(stream: TcpStream) -> Connection {
        Connection {
            stream,
            input: Input::default(),
            wire: None,
            answers: Vec::new(),
            sent: 0,
            is_readable: true,
            has_ended: false,
            is_ending: false,
            has_postponed: false,
            is_due: false,
        }
    }

    pub fn stream(&mut self) -> &mut TcpStream {
        &mut self.stream
    }

    /// Something happened on it: more came, or only more can be sent.
    pub fn is_ready(&mut self, to_read: bool) {
        self.is_readable |= to_read;
    }

    /// Takes what came, if there is something and it is wanted.
    ///
    /// # Errors
    /// Where the connection is lost.
    pub fn read(&mut self) -> Result<()> {
        if self.is_readable && !self.has_ended && !self.is_ending && !self.is_behind() {
            match self.input.fill(&mut self.stream)? {
                Fill::Drained => self.is_readable = false,
                Fill::Unfinished => {}
                Fill::Ended => self.has_ended = true,
            }
        }
        self.wire = self.wire.or_else(|| self.input.bytes().first().copied().map(Wire::of));
        Ok(())
    }

    /// Whether so many answers wait that nothing more is done for it.
    pub fn is_behind(&self) -> bool {
        self.answers.len() - self.sent > UNSENT_BYTES_MAX
    }

    /// Sends what the client takes.
    ///
    /// # Errors
    /// Where the connection is lost.
    pub fn send(&mut self) -> Result<()> {
        while self.sent < self.answers.len() {
            match self.stream.write(&self.answers[self.sent..]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) => self.sent += count,
                Err(why) if why.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(why) if why.kind() == ErrorKind::Interrupted => {}
                Err(why) => return Err(why),
            }
        }
        self.sent = 0;
        self.answers.clear();
        self.answers.shrink_to(KEPT_BYTES_MAX);
        Ok(())
    }

    /// Whether there is something to do for it without anything new from the kernel.
    pub fn has_work(&self) -> bool {
        let may_read = self.is_readable && !self.has_ended && !self.is_ending;
        (may_read || self.has_postponed) && !self.is_behind()
    }

    /// Whether nothing more is to come.
    pub fn is_over(&self) -> bool {
        (self.is_ending || (self.has_ended && !self.has_postponed)) && self.answers.is_empty()
    }
}
