//! The null server on io_uring: as cheap as a server can be that makes a send for
//! each receive.
//!
//! As in the client's backend, receives are armed once and take their buffers
//! from a ring, and sends complete silently. Beyond that:
//! - connections are accepted straight into registered files, so that none has a
//!   descriptor;
//! - it looks at no byte where all requests have one length.
//!
//! The kernel's part of a request is about the same on both sides, so that where
//! connections are kept the two are nearly even.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use io_uring::types::{Fd, Fixed};
use io_uring::{CompletionQueue, SubmissionQueue, Submitter, cqueue, opcode, squeue};

use super::requests::Partial;
use super::{ANSWER, Load, SLEEP};
use crate::backend::ring::{Buffers, GROUP, Ring, Wait};

/// Answers handed over together: the client is to have work before the last of a
/// large batch is made. Of 8, 16, 32 and 128, 8 kept the client busiest.
const ANSWERS_AT_ONCE: u32 = 8;

/// The step that a completion belongs to: the low bits of its user data.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Step {
    Accept = 0,
    Receive = 1,
    /// Of no interest: it fails only where the receive does.
    Silent = 2,
}

fn tag(slot: u32, step: Step) -> u64 {
    u64::from(slot) << 8 | step as u64
}

/// A ring with room for the files of so many connections, twice: a closed one may
/// linger.
///
/// # Errors
/// The kernel's, where it has no io_uring or forbids it.
pub(super) fn prepare(connections: u32) -> io::Result<Ring> {
    let slots = slots(connections);
    let ring = Ring::new(slots)?;
    ring.0.submitter().register_files_sparse(slots)?;
    Ok(ring)
}

fn slots(connections: u32) -> u32 {
    connections.saturating_mul(2).max(64)
}

/// Serves until told to end.
pub(super) fn serve(
    mut ring: Ring,
    listener: &OwnedFd,
    load: &Load,
    end: &AtomicBool,
) -> io::Result<()> {
    let wait = Wait::on(&ring);
    let (mut submitter, submissions, completions) = ring.0.split();
    let _ = submitter.register_ring_fd();
    let buffers = Buffers::new(&submitter)?;
    let partials = (0..slots(load.connections)).map(|_| Partial::default()).collect();
    let answers = ANSWER.repeat(usize::from(load.pipeline.max(1)));
    let mut responder = Responder {
        load,
        submitter,
        submissions,
        completions,
        wait,
        buffers,
        partials,
        answers,
        queued: 0,
    };
    responder.accept(listener);
    while !end.load(Ordering::Relaxed) {
        responder.wait()?;
        responder.see_to_all(listener);
    }
    // The kernel takes a ring down a little later, and until then it would listen.
    let _ = rustix::net::shutdown(listener, rustix::net::Shutdown::Both);
    Ok(())
}

struct Responder<'a> {
    load: &'a Load,
    submitter: Submitter<'a>,
    submissions: SubmissionQueue<'a>,
    completions: CompletionQueue<'a>,
    wait: Wait,
    buffers: Buffers,
    /// What came in part, by registered file.
    partials: Vec<Partial>,
    /// As many as a connection may wait for at once.
    answers: Vec<u8>,
    queued: u32,
}

impl Responder<'_> {
    fn push(&mut self, entry: squeue::Entry) {
        // SAFETY: entries point to nothing but the answers, which live as long as
        // the ring is used.
        while unsafe { self.submissions.push(&entry) }.is_err() {
            self.submit();
        }
    }

    fn submit(&mut self) {
        self.before_entering();
        // A failure shows again at the next wait.
        let _ = self.submitter.submit();
        self.submissions.sync();
    }

    fn before_entering(&mut self) {
        self.submissions.sync();
        self.queued = 0;
        self.buffers.publish();
    }

    /// Hands over what is queued, and waits for the next request.
    fn wait(&mut self) -> io::Result<()> {
        self.buffers.grow_if_short();
        self.before_entering();
        let (queued, done) = (&mut self.submissions, &mut self.completions);
        self.wait.for_one(&self.submitter, queued, done, SLEEP)
    }

    /// Sees to all that came.
    fn see_to_all(&mut self, listener: &OwnedFd) {
        self.completions.sync();
        for _ in 0..self.completions.len() {
            let Some(completion) = self.completions.next() else { break };
            let (result, flags) = (completion.result(), completion.flags());
            let slot = (completion.user_data() >> 8) as u32;
            match completion.user_data() as u8 {
                step if step == Step::Accept as u8 => self.accepted(listener, result, flags),
                step if step == Step::Receive as u8 => self.received(slot, result, flags),
                _ => {}
            }
        }
    }

    fn accept(&mut self, listener: &OwnedFd) {
        let accept = opcode::AcceptMulti::new(Fd(listener.as_raw_fd())).allocate_file_index(true);
        self.push(accept.build().user_data(tag(0, Step::Accept)));
    }

    fn accepted(&mut self, listener: &OwnedFd, result: i32, flags: u32) {
        if let Ok(slot) = u32::try_from(result) {
            self.partials[slot as usize] = Partial::default();
            self.receive(slot);
        }
        if !cqueue::more(flags) {
            self.accept(listener);
        }
    }

    fn receive(&mut self, slot: u32) {
        let entry = match self.load.keep_alive {
            true => opcode::RecvMulti::new(Fixed(slot), GROUP).build(),
            // One that is armed still would hold the socket open after its close.
            false => opcode::Recv::new(Fixed(slot), ptr::null_mut(), 0)
                .buf_group(GROUP)
                .build()
                .flags(squeue::Flags::BUFFER_SELECT),
        };
        self.push(entry.user_data(tag(slot, Step::Receive)));
    }

    fn received(&mut self, slot: u32, result: i32, flags: u32) {
        let mut whole = 0;
        if let Some(buffer) = cqueue::buffer_select(flags) {
            let received = self.buffers.fill(buffer, result.max(0) as u32);
            let bytes = self.buffers.bytes(received);
            whole = self.load.counter.take(&mut self.partials[slot as usize], bytes);
            if !cqueue::buffer_more(flags) {
                self.buffers.give_back(buffer);
            }
        }
        let length = whole as usize * ANSWER.len();
        let is_short = result == -libc::ENOBUFS;
        self.buffers.short |= is_short;
        let ends = (result <= 0 && !is_short) || (whole > 0 && !self.load.keep_alive);
        if length > self.answers.len() {
            // Who asks for more than he may is let go, when the receive says so.
            let both = opcode::Shutdown::new(Fixed(slot), libc::SHUT_RDWR).build();
            self.push_silent(slot, both);
        } else if whole > 0 {
            self.answer(slot, length, ends);
        }
        if ends {
            self.push_silent(slot, opcode::Close::new(Fixed(slot)).build());
        } else if !cqueue::more(flags) {
            self.receive(slot);
        }
        if self.queued >= ANSWERS_AT_ONCE {
            self.submit();
        }
    }

    /// Sends the first bytes of the answers; the next entry waits for that, if it
    /// is the end.
    fn answer(&mut self, slot: u32, length: usize, ends: bool) {
        let flags = libc::MSG_NOSIGNAL | libc::MSG_WAITALL;
        let send = opcode::Send::new(Fixed(slot), self.answers.as_ptr(), length as u32);
        let mut send = send.flags(flags).build();
        if ends {
            // Only what is handed over together is linked.
            if self.submissions.len() + 2 > self.submissions.capacity() {
                self.submit();
            }
            send = send.flags(squeue::Flags::IO_HARDLINK);
        }
        self.push_silent(slot, send);
        self.queued += 1;
    }

    fn push_silent(&mut self, slot: u32, entry: squeue::Entry) {
        let entry = entry.flags(squeue::Flags::SKIP_SUCCESS);
        self.push(entry.user_data(tag(slot, Step::Silent)));
    }
}

impl Drop for Responder<'_> {
    fn drop(&mut self) {
        // The kernel must not know of buffers that are gone.
        let _ = self.submitter.unregister_buf_ring(GROUP);
    }
}
