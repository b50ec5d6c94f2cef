//! A robot's connection.

use std::io::{Error, ErrorKind, IoSlice, Result};
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::sync::mpsc::Receiver;
use tokio::task;

use crate::rooms::{Member, Rooms, Seat};

/// Bytes of a frame's length.
const LENGTH: usize = 2;
/// Bytes that are read at once, if frames aren't longer.
const READ: usize = 4096;
/// Frames that are written at once.
const BATCH: usize = 64;

/// Takes in what a robot says and puts out what it hears, until its connection ends.
pub async fn serve(number: u64, mut stream: TcpStream, rooms: Arc<Rooms>) {
    // It fails where the robot has gone already, which reading tells.
    let _ = stream.set_nodelay(true);
    let (input, output) = stream.split();
    let (member, waiting, cut) = Member::new();
    let mut seat = None;
    // Whichever ends first: with an error where the robot went away.
    tokio::select! {
        _ = read(input, number, &member, &rooms, &mut seat) => {}
        _ = write(output, waiting) => {}
        () = cut.notified() => {}
    }
    if let Some(seat) = seat {
        rooms.leave(&seat);
    }
}

async fn read(
    mut input: ReadHalf<'_>,
    number: u64,
    member: &Member,
    rooms: &Rooms,
    seat: &mut Option<Seat>,
) -> Result<()> {
    let mut bytes = BytesMut::with_capacity(READ);
    while input.read_buf(&mut bytes).await? > 0 {
        while let Some(frame) = whole_frame(&mut bytes)? {
            if let Some(room) = joined_room(&frame) {
                if let Some(before) = seat.take() {
                    rooms.leave(&before);
                }
                *seat = Some(rooms.join(room, number, member, &frame));
            } else if let Some(seat) = seat {
                seat.say(&frame);
                if member.is_crowded() {
                    // Who says much at once lets them write first.
                    task::yield_now().await;
                }
            }
        }
        bytes.reserve(READ);
    }
    Ok(())
}

/// Takes the first frame with its length, if it is whole.
///
/// # Errors
/// Where it is empty, which no frame is.
fn whole_frame(bytes: &mut BytesMut) -> Result<Option<Bytes>> {
    let Some(length) = bytes.first_chunk::<LENGTH>() else { return Ok(None) };
    let length = usize::from(u16::from_be_bytes(*length));
    if length == 0 {
        return Err(Error::new(ErrorKind::InvalidData, "a frame has a byte at least"));
    }
    let whole = LENGTH + length;
    Ok((bytes.len() >= whole).then(|| bytes.split_to(whole).freeze()))
}

/// The room, if it is a frame that joins one.
fn joined_room(frame: &[u8]) -> Option<u32> {
    match *frame {
        [_, _, b'J', a, b, c, d] => Some(u32::from_be_bytes([a, b, c, d])),
        _ => None,
    }
}

async fn write(mut output: WriteHalf<'_>, mut waiting: Receiver<Bytes>) -> Result<()> {
    let mut batch = Vec::new();
    while waiting.recv_many(&mut batch, BATCH).await > 0 {
        let mut slices: Vec<IoSlice> = batch.iter().map(|frame| IoSlice::new(frame)).collect();
        let mut left = &mut slices[..];
        while !left.is_empty() {
            match output.write_vectored(left).await? {
                0 => return Err(ErrorKind::WriteZero.into()),
                written => IoSlice::advance_slices(&mut left, written),
            }
        }
        batch.clear();
    }
    Ok(())
}
