//! A receive that tells when its bytes came to this machine: the kernel's stamp of the
//! packet (`SO_TIMESTAMPNS`, socket(7)), which no wake-up or batch of ours makes later.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr;
use std::time::Duration;

use rustix::io::Errno;

/// Room for the stamp with its header.
const CONTROL: usize = 64;

/// Memory for one receive at a time. The kernel has its addresses while one is under way.
pub(super) struct Stamped {
    memory: Box<Memory>,
    bytes: Box<[u8]>,
}

#[repr(C, align(16))]
struct Memory {
    /// Aligned as its headers have to be.
    control: [u8; CONTROL],
    header: libc::msghdr,
    piece: libc::iovec,
}

impl Stamped {
    /// For receives of so many bytes at once.
    pub(super) fn new(bytes: usize) -> Stamped {
        // SAFETY: all of it is plain data, for which zeros are a valid value.
        let memory = Box::new(unsafe { std::mem::zeroed() });
        Stamped { memory, bytes: vec![0; bytes].into() }
    }

    /// Bytes that are taken at once.
    pub(super) fn room(&self) -> usize {
        self.bytes.len()
    }

    /// Readies the memory for a receive; gives where the kernel is to write.
    pub(super) fn header(&mut self) -> *mut libc::msghdr {
        let Stamped { memory, bytes } = self;
        memory.piece = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
        memory.header.msg_iov = &raw mut memory.piece;
        memory.header.msg_iovlen = 1;
        memory.header.msg_control = memory.control.as_mut_ptr().cast();
        memory.header.msg_controllen = CONTROL;
        &raw mut memory.header
    }

    /// Receives what a socket has.
    pub(super) fn receive(&mut self, socket: &OwnedFd) -> Result<usize, Errno> {
        // SAFETY: the header and all that it points to is memory of ours for this purpose.
        let received = unsafe { libc::recvmsg(socket.as_raw_fd(), self.header(), 0) };
        usize::try_from(received)
            .map_err(|_| Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO))
    }

    /// The first bytes received.
    pub(super) fn bytes(&self, length: u32) -> &[u8] {
        &self.bytes[..length as usize]
    }

    /// When the last of them came, since the Unix epoch; `None` where the kernel didn't say.
    pub(super) fn stamp(&self) -> Option<Duration> {
        // SAFETY: the kernel wrote the header and what it points to, within our memory.
        unsafe { stamp_in(&raw const self.memory.header) }
    }
}

/// The stamp among what a receive told beside its bytes.
///
/// # Safety
/// The kernel wrote the control bytes that this header has, which are aligned as their headers.
pub(super) unsafe fn stamp_in(header: *const libc::msghdr) -> Option<Duration> {
    // SAFETY: as the caller says.
    let mut control = unsafe { libc::CMSG_FIRSTHDR(header) };
    while !control.is_null() {
        // SAFETY: the macros give headers that lie whole within the control bytes.
        let of = unsafe { &*control };
        if (of.cmsg_level, of.cmsg_type) == (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) {
            // SAFETY: such a message holds one timespec.
            let time: libc::timespec =
                unsafe { ptr::read_unaligned(libc::CMSG_DATA(control).cast()) };
            return Some(Duration::new(time.tv_sec as u64, time.tv_nsec as u32));
        }
        // SAFETY: as above.
        control = unsafe { libc::CMSG_NXTHDR(header, control) };
    }
    None
}
