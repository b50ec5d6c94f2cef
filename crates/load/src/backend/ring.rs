//! What all that use io_uring here have in common: how the ring is set up and waited on.

use std::io;
use std::time::Duration;

use io_uring::types::{SubmitArgs, Timespec};
use io_uring::{CompletionQueue, EnterFlags, IoUring, SubmissionQueue, Submitter};

use super::Gathering;

/// Entries of the submission queue; more are handed over in parts.
const QUEUE: u32 = 512;

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
            // The kernel waits for this while first, also where it is longer than the time.
            let within = gathering.within.min(at_most);
            arguments = arguments.min_wait_usec(within.as_micros() as u32);
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
