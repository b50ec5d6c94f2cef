//! The one queue of a run: which request is next, and which thread is awake for it.
//!
//! A request of an open loop waits only if no connection of the run is free, whichever
//! thread has it. So threads share the number of the next request: a thread that has a free
//! connection takes it once it is due. If all of them woke up for each request, their
//! wake-ups would cost more than the load. So each request has a thread that wakes up for
//! it: the thread whose turn it is by number, or, if that has no free connection, the next
//! one that has. Before a thread sleeps, it says until when, and sees to it that the next
//! request has a thread that wakes up in time.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use rustix::event::{EventfdFlags, eventfd};

use crate::pace::schedule::{Block, Schedule};
use crate::plan::{Arrivals, Plan, Until, Workload};

/// In place of the time until which a thread sleeps: it has no free connection.
const TAKEN: u64 = u64::MAX;
/// The same: it is awake, and looks at the queue before it sleeps.
const AWAKE: u64 = 0;

/// Numbers that a thread takes together where nothing depends on their order.
const TOGETHER: u64 = 64;

/// What the threads of a run share.
#[derive(Debug)]
pub(crate) struct Queue {
    next: Padded<AtomicU64>,
    /// Requests of the window that were handed out, where they are counted.
    of_window: Padded<AtomicU64>,
    /// How many the window has; the largest number if a time ends it.
    window_max: u64,
    /// `None` in a closed loop.
    schedule: Option<Schedule>,
    /// Numbers that are taken together.
    together: u64,
    /// One for each thread, if they have to wake each other.
    watches: Box<[Padded<Watch>]>,
    threads: usize,
    /// Threads that take no more requests.
    done: AtomicUsize,
    /// Whether a thread saw the error that ends the run for all.
    has_failed: AtomicBool,
}

/// What other threads know of one.
#[derive(Debug)]
struct Watch {
    /// Until when it sleeps, [`TAKEN`] or [`AWAKE`].
    sleeps_until: AtomicU64,
    /// Since when it has a free connection; means nothing where it has none.
    free_since: AtomicU64,
    wake: OwnedFd,
}

/// Keeps what one thread writes out of the cache lines of others.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Padded<T>(T);

impl Queue {
    /// The queue of a run on so many threads.
    ///
    /// # Errors
    /// The kernel's, if threads can't be given a way to wake each other.
    pub(crate) fn new(plan: &Plan, threads: usize) -> io::Result<Queue> {
        let watch = |_| {
            let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
            let (sleeps_until, free_since) = (AtomicU64::new(AWAKE), AtomicU64::new(0));
            Ok(Padded(Watch { sleeps_until, free_since, wake }))
        };
        let is_shared = plan.arrivals != Arrivals::Closed && threads > 1;
        let watches = if is_shared { threads } else { 0 };
        let counted = matches!(plan.until, Until::Requests(_));
        let shows_numbers = match &plan.work {
            Workload::Http(http) => http.requests.iter().any(|request| request.has_counter()),
            // Keys may follow from them.
            Workload::Keys(_) | Workload::Rooms(_) => true,
        };
        let in_order = counted || shows_numbers || plan.arrivals != Arrivals::Closed;
        Ok(Queue {
            next: Padded::default(),
            of_window: Padded::default(),
            window_max: match plan.until {
                Until::Elapsed(_) => u64::MAX,
                Until::Requests(all) => all,
            },
            schedule: Schedule::new(plan.arrivals, plan.seed, plan.share),
            together: if in_order { 1 } else { TOGETHER },
            watches: (0..watches).map(watch).collect::<io::Result<_>>()?,
            threads,
            done: AtomicUsize::new(0),
            has_failed: AtomicBool::new(false),
        })
    }

    /// Whether requests are due at times of their own.
    pub(crate) fn is_open_loop(&self) -> bool {
        self.schedule.is_some()
    }

    /// The next request and when it is due, from the run's start; `None` in a closed loop.
    pub(crate) fn next(&self, block: &mut Block) -> Option<(u64, u64)> {
        let schedule = self.schedule.as_ref()?;
        loop {
            let number = self.next.0.load(Ordering::Relaxed);
            if let Some(due) = schedule.due(number, block) {
                return Some((number, due));
            }
        }
    }

    /// Takes the request with this number, if it is still the next.
    pub(crate) fn claim(&self, number: u64) -> bool {
        let (from, to) = (Ordering::SeqCst, Ordering::Relaxed);
        self.next.0.compare_exchange(number, number + 1, from, to).is_ok()
    }

    /// Takes the next numbers of a closed loop, so many at least.
    pub(crate) fn take_numbers(&self, at_least: u64) -> std::ops::Range<u64> {
        let together = self.together.max(at_least);
        let first = self.next.0.fetch_add(together, Ordering::Relaxed);
        first..first + together
    }

    /// Whether a number of requests ends the window, and not a time.
    pub(crate) fn is_counted(&self) -> bool {
        self.window_max != u64::MAX
    }

    /// Counts a request of the window; whether it may still be asked.
    pub(crate) fn count(&self) -> bool {
        !self.is_counted() || self.of_window.0.fetch_add(1, Ordering::Relaxed) < self.window_max
    }

    /// Whether all requests of the window were handed out.
    pub(crate) fn is_used_up(&self) -> bool {
        self.is_counted() && self.of_window.0.load(Ordering::Relaxed) >= self.window_max
    }

    /// A thread saw the error that ends the run for all.
    pub(crate) fn fail(&self) {
        self.has_failed.store(true, Ordering::Relaxed);
    }

    /// Whether one did.
    pub(crate) fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Relaxed)
    }

    /// A thread takes no more requests; whether it is the last, so that those left are
    /// nobody's.
    pub(crate) fn is_last_done(&self) -> bool {
        self.done.fetch_add(1, Ordering::SeqCst) + 1 == self.threads
    }

    /// What wakes a thread; `None` if nobody does.
    pub(crate) fn wake_of(&self, thread: usize) -> Option<BorrowedFd<'_>> {
        Some(self.watches.get(thread)?.0.wake.as_fd())
    }

    /// Whether a thread was woken since this was asked last.
    #[cfg(any(test, feature = "simulator"))]
    pub(crate) fn is_woken(&self, thread: usize) -> bool {
        self.wake_of(thread).is_some_and(|wake| rustix::io::read(wake, &mut [0; 8]).is_ok())
    }

    /// Until when a thread may sleep for the queue's sake: `free` says since when it has a
    /// free connection, and from when that may be used. `start` is the run's.
    ///
    /// To be called right before it sleeps: others rely on it until [`Queue::is_awake`].
    pub(crate) fn sleeps(
        &self,
        thread: usize,
        free: Option<Free>,
        start: u64,
        block: &mut Block,
    ) -> u64 {
        let Some((next, due)) = self.next(block) else { return u64::MAX };
        let due = start.saturating_add(due);
        let Some(own) = self.watches.get(thread) else {
            return free.map_or(u64::MAX, |free| due.max(free.from));
        };
        // The next request whose turn is this thread's.
        let (threads, next_thread) = (self.threads as u64, next % self.threads as u64);
        let own_number = next + (thread as u64 + threads - next_thread) % threads;
        let until = free.map_or(TAKEN, |free| {
            own.0.free_since.store(free.since, Ordering::Relaxed);
            let own_due = self.schedule.as_ref().and_then(|it| it.due(own_number, block));
            // Awake is no time at which anybody sleeps.
            start.saturating_add(own_due.unwrap_or(0)).max(free.from).clamp(AWAKE + 1, TAKEN - 1)
        });
        // What others say now and what they read of this in the same moment can't both be
        // old: all of it is in one order.
        own.0.sleeps_until.store(until, Ordering::SeqCst);
        match self.awake_for(next_thread as usize) {
            Some(one) if one == thread => {
                let from = free.map_or(due, |free| due.max(free.from));
                own.0.sleeps_until.store(until.min(from), Ordering::SeqCst);
                until.min(from)
            }
            Some(other) => {
                let watch = &self.watches[other].0;
                if watch.sleeps_until.load(Ordering::SeqCst) > due {
                    // Fails only if it was woken 2^64 times.
                    let _ = rustix::io::write(&watch.wake, &1_u64.to_ne_bytes());
                }
                until
            }
            None => until,
        }
    }

    /// The thread that wakes up for a request whose turn is this thread's: the first from
    /// there on that has a free connection.
    fn awake_for(&self, thread: usize) -> Option<usize> {
        let is_free =
            |&one: &usize| self.watches[one].0.sleeps_until.load(Ordering::SeqCst) != TAKEN;
        (thread..self.threads).chain(0..thread).find(is_free)
    }

    /// A thread is back. One that had no free connection still counts as such until it
    /// sleeps again.
    pub(crate) fn is_awake(&self, thread: usize) {
        if let Some(own) = self.watches.get(thread)
            && own.0.sleeps_until.load(Ordering::Relaxed) != TAKEN
        {
            own.0.sleeps_until.store(AWAKE, Ordering::SeqCst);
        }
    }

    /// Since when another thread than this has a free connection, as far as they said;
    /// `None` if none has.
    pub(crate) fn others_free_since(&self, thread: usize) -> Option<u64> {
        let others = self.watches.iter().enumerate().filter(|(one, _)| *one != thread);
        let free = others.filter(|(_, it)| it.0.sleeps_until.load(Ordering::SeqCst) != TAKEN);
        free.map(|(_, it)| it.0.free_since.load(Ordering::Relaxed)).min()
    }
}

/// A thread's free connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Free {
    /// Since when there is one.
    pub since: u64,
    /// From when it may be used.
    pub from: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Target;

    fn queue(arrivals: Arrivals, threads: usize) -> Queue {
        let target = Target {
            address: "127.0.0.1:1".parse().unwrap(),
            authority: String::new(),
            path: String::new(),
        };
        Queue::new(&Plan { arrivals, ..Plan::new(target, Vec::new()) }, threads).unwrap()
    }

    const FREE: Option<Free> = Some(Free { since: 0, from: 0 });

    #[test]
    fn threads_with_free_connections_wake_up_for_requests_in_turn() {
        // One every 10 ns.
        let queue = queue(Arrivals::Constant(1e8), 3);
        let mut block = Block::default();
        let mut sleeps = |thread| queue.sleeps(thread, FREE, 1000, &mut block);
        assert_eq!([sleeps(0), sleeps(1), sleeps(2)], [1000, 1010, 1020]);
        assert!(queue.claim(0));
        assert!(!queue.claim(0), "two threads ask the same request");
        assert_eq!(sleeps(0), 1030);
        assert!((0..3).all(|thread| !queue.is_woken(thread)), "a wake-up that nobody needs");
    }

    #[test]
    fn a_request_whose_thread_has_no_free_connection_wakes_another() {
        let queue = queue(Arrivals::Constant(1e8), 3);
        let mut block = Block::default();
        assert!(queue.claim(0));
        let mut sleeps = |thread, free| queue.sleeps(thread, free, 1000, &mut block);
        assert_eq!(sleeps(0, FREE), 1030);
        assert_eq!(sleeps(2, FREE), 1020);
        // Request 1 is due at 1010, and its thread has nothing to send it on.
        assert_eq!(sleeps(1, None), TAKEN);
        assert!(queue.is_woken(2), "the request waits though a connection is free");
        assert!(!queue.is_woken(0));
        queue.is_awake(2);
        assert_eq!(sleeps(2, FREE), 1010, "it sleeps on");
    }

    #[test]
    fn no_thread_is_woken_that_is_awake_or_wakes_up_in_time() {
        let queue = queue(Arrivals::Constant(1e8), 2);
        let mut block = Block::default();
        let mut sleeps = |thread, free| queue.sleeps(thread, free, 1000, &mut block);
        assert_eq!(sleeps(0, None), TAKEN);
        assert!(!queue.is_woken(1), "it is awake, and looks at the queue before it sleeps");
        assert_eq!(sleeps(1, FREE), 1000);
        assert_eq!(sleeps(0, None), TAKEN);
        assert!(!queue.is_woken(1));
        assert_eq!(sleeps(1, None), TAKEN);
        assert_eq!(queue.others_free_since(0), None);
    }

    #[test]
    fn a_thread_alone_has_nobody_to_wake() {
        let queue = queue(Arrivals::Constant(1e8), 1);
        let mut block = Block::default();
        assert!(queue.wake_of(0).is_none());
        assert_eq!(queue.sleeps(0, FREE, 1000, &mut block), 1000);
        assert_eq!(queue.sleeps(0, None, 1000, &mut block), u64::MAX);
        assert_eq!(queue.sleeps(0, Some(Free { since: 0, from: 1500 }), 1000, &mut block), 1500);
    }

    #[test]
    fn what_several_threads_count_is_handed_out_once() {
        let target = Target {
            address: "127.0.0.1:1".parse().unwrap(),
            authority: String::new(),
            path: String::new(),
        };
        let plan = Plan { until: Until::Requests(1000), ..Plan::new(target, Vec::new()) };
        let queue = Queue::new(&plan, 4).unwrap();
        let counted = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|_| scope.spawn(|| (0..900).filter(|_| queue.count()).count()))
                .collect();
            threads.into_iter().map(|it| it.join().unwrap()).sum::<usize>()
        });
        assert_eq!(counted, 1000);
        assert!(queue.is_used_up());
    }
}
