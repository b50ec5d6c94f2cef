//! What all that use io_uring here have in common: how the ring is set up and waited
//! on, and the buffers that receives take from it.

use std::io;
use std::ptr;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use io_uring::types::{BufRingEntry, SubmitArgs, Timespec};
use io_uring::{CompletionQueue, EnterFlags, IoUring, SubmissionQueue, Submitter};

use super::{Gathering, Received};

/// Entries of the submission queue; more are handed over in parts.
const QUEUE: u32 = 512;

/// The group of the only buffer ring.
pub(crate) const GROUP: u16 = 0;

/// The ring itself, which its users borrow so that its parts can be used apart.
pub(crate) struct Ring(pub(crate) IoUring);

impl Ring {
    /// Makes a ring for so many slots.
    ///
    /// # Errors
    /// The kernel's, where it has no io_uring, forbids it, or lacks what is
    /// needed (`DEFER_TASKRUN` is of Linux 6.1).
    pub(crate) fn new(slots: u32) -> io::Result<Ring> {
        let completions = slots.saturating_mul(2).clamp(4096, 32768).next_power_of_two();
        let build = |without_array: bool| {
            let mut builder = IoUring::builder();
            builder
                .setup_single_issuer()
                .setup_defer_taskrun()
                .setup_submit_all()
                .setup_cqsize(completions);
            if without_array {
                builder.setup_no_sqarray();
            }
            builder.build(QUEUE)
        };
        // The array that orders submissions is one indirection; Linux 6.6 can
        // do without.
        build(true).or_else(|_| build(false)).map(Ring)
    }
}

/// How a ring is entered to wait for a completion.
///
/// The kernel can't know what for, and takes it for a wait for a disk: it would show as
/// disk pressure, of the client and of the whole machine. From Linux 6.15 on it can be
/// told that it is none (io_uring_enter(2), `IORING_ENTER_NO_IOWAIT`); it then also does
/// without the higher frequency that a processor is given after a wait for a disk.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wait {
    flags: u32,
    /// Whether several events can be waited for, and one a while later (Linux 6.12).
    pub(crate) gathers: bool,
}

impl Wait {
    pub(crate) fn on(ring: &Ring) -> Wait {
        let mut flags = EnterFlags::GETEVENTS | EnterFlags::EXT_ARG;
        flags.set(EnterFlags::NO_IOWAIT, ring.0.params().is_feature_no_iowait());
        Wait { flags: flags.bits(), gathers: ring.0.params().is_feature_min_timeout() }
    }

    /// Hands over what is queued, and waits until there is a completion that wasn't taken
    /// yet, or the time is over, or a signal comes. With `gathering`
    /// one completion is enough only a while after it began to wait.
    ///
    /// # Errors
    /// The kernel's.
    #[inline]
    pub(crate) fn for_one(
        self,
        submitter: &Submitter<'_>,
        submissions: &mut SubmissionQueue<'_>,
        completions: &mut CompletionQueue<'_>,
        at_most: Duration,
        gathering: Option<Gathering>,
    ) -> io::Result<()> {
        submissions.sync();
        // Else the kernel would take those that were taken for a reason not to wait.
        completions.sync();
        let timeout = Timespec::from(at_most);
        let mut arguments = SubmitArgs::new().timespec(&timeout);
        let mut enough = 1;
        if let Some(gathering) = gathering {
            enough = gathering.events;
            arguments = arguments.min_wait_usec(gathering.within.as_micros() as u32);
        }
        // SAFETY: with EXT_ARG the kernel reads just these arguments, within the call.
        let entered = unsafe {
            submitter.enter(submissions.len() as u32, enough, self.flags, Some(&arguments))
        };
        submissions.sync();
        match entered {
            Ok(_) => Ok(()),
            Err(error) => match error.raw_os_error() {
                // Time over, a signal, or completions to be taken first.
                Some(libc::ETIME | libc::EINTR | libc::EBUSY | libc::EAGAIN) => Ok(()),
                _ => Err(error),
            },
        }
    }
}

/// Receive buffers, shared with the kernel through a ring of their addresses.
///
/// Where the kernel can (Linux 6.12), it fills a buffer answer by answer, so
/// that small ones lie close together in the cache and large ones come in few
/// pieces; an older one uses a buffer up for each receive. A few buffers are
/// enough then; more are added when they ran out.
pub(crate) struct Buffers {
    ring: *mut BufRingEntry,
    memory: *mut u8,
    tail: u16,
    /// Buffers in use, from the front of `memory`.
    count: u16,
    /// Whether they ran out in this batch.
    pub(crate) short: bool,
    /// Bytes of each that were filled since it was given to the kernel.
    filled: Vec<u32>,
}

impl Buffers {
    /// Places in the ring; a power of two.
    const COUNT_MAX: u16 = 256;
    /// Buffers at the start: what fits beside other things in a core's cache.
    const COUNT_AT_START: u16 = 4;
    /// Bytes of each.
    pub(super) const SIZE: usize = 64 * 1024;
    /// The kernel fills a buffer piece by piece: `IOU_PBUF_RING_INC`.
    const INCREMENTAL: u16 = 2;

    pub(crate) fn new(submitter: &Submitter<'_>) -> io::Result<Buffers> {
        let ring: *mut BufRingEntry =
            map(size_of::<BufRingEntry>() * usize::from(Self::COUNT_MAX))?.cast();
        let memory = map(Self::SIZE * usize::from(Self::COUNT_MAX))?;
        let filled = vec![0; usize::from(Self::COUNT_MAX)];
        let mut buffers = Buffers { ring, memory, tail: 0, count: 0, short: false, filled };
        let register = |flags| {
            // SAFETY: the memory stays mapped until it is unregistered, when the
            // backend is dropped.
            unsafe {
                submitter.register_buf_ring_with_flags(ring as u64, Self::COUNT_MAX, GROUP, flags)
            }
        };
        register(Self::INCREMENTAL).or_else(|_| register(0))?;
        buffers.grow_to(Self::COUNT_AT_START);
        buffers.publish();
        Ok(buffers)
    }

    fn grow_to(&mut self, count: u16) {
        for buffer in self.count..count {
            self.give_back(buffer);
        }
        self.count = count;
    }

    /// Notes that the kernel filled a buffer further, and where.
    pub(crate) fn fill(&mut self, buffer: u16, length: u32) -> Received {
        let filled = &mut self.filled[usize::from(buffer)];
        let start = *filled;
        *filled += length;
        Received { buffer: u32::from(buffer), start, length }
    }

    pub(crate) fn bytes(&self, received: Received) -> &[u8] {
        // SAFETY: the kernel filled these bytes of that buffer, and fills them
        // again only after it was given back, which ends the borrow of `self`.
        unsafe {
            let start = self.memory.add(received.buffer as usize * Self::SIZE);
            std::slice::from_raw_parts(start.add(received.start as usize), received.length as usize)
        }
    }

    pub(crate) fn give_back(&mut self, buffer: u16) {
        self.filled[usize::from(buffer)] = 0;
        let index = usize::from(self.tail & (Self::COUNT_MAX - 1));
        // SAFETY: the index is below the ring's length, and entries between the
        // kernel's head and our tail only are read by the kernel.
        unsafe {
            let entry = &mut *self.ring.add(index);
            entry.set_addr(self.memory.add(usize::from(buffer) * Self::SIZE) as u64);
            entry.set_len(Self::SIZE as u32);
            entry.set_bid(buffer);
        }
        self.tail = self.tail.wrapping_add(1);
    }

    /// Doubles the buffers if they ran out; whether they did.
    pub(crate) fn grow_if_short(&mut self) -> bool {
        let was_short = std::mem::take(&mut self.short);
        if was_short {
            self.grow_to((self.count * 2).min(Self::COUNT_MAX));
        }
        was_short
    }

    /// Lets the kernel see what was given back.
    pub(crate) fn publish(&mut self) {
        // SAFETY: the ring's base has the tail at a place that is aligned for
        // it; the kernel reads it with acquire order.
        unsafe {
            let tail = BufRingEntry::tail(self.ring).cast_mut().cast::<AtomicU16>();
            (*tail).store(self.tail, Ordering::Release);
        }
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        let ring_bytes = size_of::<BufRingEntry>() * usize::from(Self::COUNT_MAX);
        // SAFETY: both were mapped in `new` with these lengths.
        unsafe {
            let _ = rustix::mm::munmap(self.ring.cast(), ring_bytes);
            let _ =
                rustix::mm::munmap(self.memory.cast(), Self::SIZE * usize::from(Self::COUNT_MAX));
        }
    }
}

/// Maps fresh memory, aligned to pages.
fn map(length: usize) -> io::Result<*mut u8> {
    use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
    // SAFETY: a new private mapping touches nothing else.
    let address = unsafe {
        mmap_anonymous(
            ptr::null_mut(),
            length,
            ProtFlags::READ | ProtFlags::WRITE,
            MapFlags::PRIVATE,
        )?
    };
    Ok(address.cast())
}
