//! The rooms, and who is in them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::sync::{Notify, mpsc};

/// Frames that may wait for a member.
const WAITING_MAX: usize = 1024;

/// Where a robot is spoken to.
#[derive(Clone)]
pub struct Member {
    waiting: mpsc::Sender<Bytes>,
    cut: Arc<Notify>,
}

impl Member {
    /// A robot's, with what waits for the robot, and what tells that it is cut.
    pub fn new() -> (Member, mpsc::Receiver<Bytes>, Arc<Notify>) {
        let (waiting, frames) = mpsc::channel(WAITING_MAX);
        let cut = Arc::new(Notify::new());
        (Member { waiting, cut: Arc::clone(&cut) }, frames, cut)
    }

    /// Whether so much waits for the robot that all who hear the same should write.
    pub fn is_crowded(&self) -> bool {
        self.waiting.capacity() < WAITING_MAX / 2
    }

    /// Has a frame wait for the robot, which shares it with all others to whom it goes. One that
    /// reads so slowly that there is no room for it is cut.
    fn send(&self, frame: &Bytes) {
        if self.waiting.try_send(frame.clone()).is_err() {
            self.cut.notify_one();
        }
    }
}

/// The members of a room by the numbers of their connections.
#[derive(Default)]
struct Room(Mutex<HashMap<u64, Member>>);

/// The rooms in which there is somebody.
#[derive(Default)]
pub struct Rooms(Mutex<HashMap<u32, Arc<Room>>>);

/// What a robot has of the room that it is in.
pub struct Seat {
    number: u32,
    connection: u64,
    room: Arc<Room>,
}

impl Rooms {
    /// The robot is a member from now on, and hears its own words before any others.
    pub fn join(&self, number: u32, connection: u64, member: &Member, words: &Bytes) -> Seat {
        let mut rooms = lock(&self.0);
        let room = Arc::clone(rooms.entry(number).or_default());
        let mut members = lock(&room.0);
        member.send(words);
        members.insert(connection, member.clone());
        drop(members);
        Seat { number, connection, room }
    }

    pub fn leave(&self, seat: &Seat) {
        let mut rooms = lock(&self.0);
        let mut members = lock(&seat.room.0);
        members.remove(&seat.connection);
        if members.is_empty() {
            rooms.remove(&seat.number);
        }
    }
}

impl Seat {
    /// Sends a frame to all members of the room, its speaker among them.
    pub fn say(&self, frame: &Bytes) {
        for member in lock(&self.room.0).values() {
            member.send(frame);
        }
    }
}

/// Nothing is half done where a thread could panic.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
