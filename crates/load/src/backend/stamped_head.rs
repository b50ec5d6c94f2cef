//! What a buffer begins with where one receive is armed for a connection's whole life and its bytes
//! come with the kernel's stamp: see [`stamped`](super::stamped).

use std::time::Duration;

use io_uring::types::RecvMsgOut;

use super::stamped::stamp_in;

/// Room for the stamp with its header.
const CONTROL: usize = 32;
/// What the kernel writes before that: four lengths and flags (`io_uring_recvmsg_out`).
const LENGTHS: usize = 16;

/// How the kernel lays such a buffer out, which it is told with each receive that is armed.
pub(super) struct StampedHead(Box<libc::msghdr>);

impl StampedHead {
    /// Bytes of the head.
    pub(super) const BYTES: usize = LENGTHS + CONTROL;

    pub(super) fn new() -> StampedHead {
        // SAFETY: it is plain data, for which zeros are a valid value.
        let mut layout: Box<libc::msghdr> = Box::new(unsafe { std::mem::zeroed() });
        layout.msg_controllen = CONTROL;
        StampedHead(layout)
    }

    /// The layout as the kernel is told of it.
    pub(super) fn layout(&self) -> *const libc::msghdr {
        &raw const *self.0
    }

    /// When the last bytes in such a buffer came, since the Unix epoch, where the kernel said so;
    /// and how many bytes lie behind the head.
    pub(super) fn read(&self, buffer: &[u8]) -> (Option<Duration>, u32) {
        let Ok(told) = RecvMsgOut::parse(buffer, &self.0) else { return (None, 0) };
        // SAFETY: it is plain data, for which zeros are a valid value.
        let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
        header.msg_control = told.control_data().as_ptr().cast_mut().cast();
        header.msg_controllen = told.control_data().len();
        // SAFETY: the kernel wrote those bytes. They are aligned as the buffer is, which is a page
        // or an even part of one.
        let stamp = unsafe { stamp_in(&raw const header) };
        (stamp, told.payload_data().len() as u32)
    }
}
