//! A robot that a test moves.

use std::io::{Read, Result, Write};
use std::net::TcpStream;

use rustix::net::sockopt::set_socket_linger;

use crate::started::{Started, WITHIN};

/// A robot's connection.
pub struct Robot(TcpStream);

impl Robot {
    /// One that is in no room.
    pub fn connect(gateway: &Started) -> Result<Robot> {
        let stream = TcpStream::connect_timeout(&gateway.address(), WITHIN)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(WITHIN))?;
        stream.set_write_timeout(Some(WITHIN))?;
        Ok(Robot(stream))
    }

    /// One that is in a room.
    pub fn join(gateway: &Started, room: u32) -> Result<Robot> {
        let mut robot = Robot::connect(gateway)?;
        robot.go_to(room)?;
        Ok(robot)
    }

    /// Joins a room. What it hears first has to be its own words.
    pub fn go_to(&mut self, room: u32) -> Result<()> {
        let words = [&b"J"[..], &room.to_be_bytes()].concat();
        self.say(&words)?;
        assert_eq!(self.hear()?, words, "its own words don't come back");
        Ok(())
    }

    /// Sends a frame.
    pub fn say(&mut self, words: &[u8]) -> Result<()> {
        let length = u16::try_from(words.len()).expect("words for a frame");
        self.send(&[&length.to_be_bytes(), words].concat())
    }

    /// Sends these bytes.
    pub fn send(&mut self, bytes: &[u8]) -> Result<()> {
        self.0.write_all(bytes)
    }

    /// The next frame.
    pub fn hear(&mut self) -> Result<Vec<u8>> {
        let mut length = [0; 2];
        self.0.read_exact(&mut length)?;
        let mut words = vec![0; usize::from(u16::from_be_bytes(length))];
        self.0.read_exact(&mut words)?;
        Ok(words)
    }

    /// Reads until the connection ends or so many bytes have come; gives how many these are.
    pub fn read_up_to(&mut self, most: usize) -> usize {
        let (mut bytes, mut read) = (vec![0; 1 << 16], 0);
        while read < most {
            match self.0.read(&mut bytes) {
                Ok(0) | Err(_) => break,
                Ok(more) => read += more,
            }
        }
        read
    }

    /// Whether the gateway ends its connection, though it says nothing.
    pub fn is_cut(&mut self) -> bool {
        let mut byte = [0];
        match self.0.read(&mut byte) {
            Ok(read) => read == 0,
            // Nothing came within the timeout.
            Err(error) => error.kind() != std::io::ErrorKind::WouldBlock,
        }
    }

    /// Goes away without a farewell: its connection is reset.
    pub fn reset(self) {
        set_socket_linger(&self.0, Some(std::time::Duration::ZERO)).unwrap();
    }
}
