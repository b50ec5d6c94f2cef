//! When a thread may open connections: paced, so that a listen queue that the
//! server could have served does not overflow, and with a pause where nobody
//! listens.

use std::collections::VecDeque;
use std::time::Duration;

use crate::backend::Slot;

/// Handshakes under way at once, by all threads together, for connections that are
/// kept: a quarter of the listen queue that servers commonly have (nginx: 511).
/// Where a connection serves one request, as many are under way as were asked for:
/// that is the load.
const AT_ONCE: u32 = 128;
/// First connections that all threads open together, and how many nanoseconds
/// apart at least: 10 a millisecond. A handshake on loopback is over before anybody has
/// accepted it, so that it alone slows nothing down; any listen queue takes so few. A
/// client that was kept from its processor doesn't catch up: what it opened then at once
/// would be the overflow that the pace is there against.
const FIRST_TOGETHER: u32 = 32;
const FIRST_APART_NS: u64 = 3_200_000;
/// The shortest and the longest pause after a failure, in nanoseconds.
const PAUSE_NS: (u64, u64) = (10_000_000, 1_000_000_000);

/// The longest that kept connections take to be made or to fail, one try each: a slot
/// waits for one of those under way, and through pauses.
pub(crate) fn longest(connections: u32, timeout: Duration) -> Duration {
    let each = timeout.saturating_add(Duration::from_nanos(PAUSE_NS.1));
    each.saturating_mul(connections.div_ceil(AT_ONCE))
}

/// The slots that wait for a connection.
pub(crate) struct Connects {
    waiting: VecDeque<Slot>,
    under_way: u32,
    under_way_max: u32,
    /// First connections of slots that are still to be begun.
    first: u64,
    first_begun: u64,
    first_together: u64,
    /// When the next of them may be begun.
    first_at: u64,
    pause: u64,
    paused_until: u64,
    /// The first failure since a connection was established.
    failing_since: Option<u64>,
}

impl Connects {
    /// All slots of one of so many threads wait for their first connection, which is
    /// kept or not. Where each is begun for a request that is due, those are the pace, and
    /// none is to be added.
    pub(crate) fn new(slots: u32, threads: u32, kept: bool, paced: bool, now: u64) -> Connects {
        Connects {
            waiting: (0..slots).collect(),
            under_way: 0,
            under_way_max: if kept { AT_ONCE.div_ceil(threads) } else { slots },
            first: if paced { slots.into() } else { 0 },
            first_begun: 0,
            first_together: FIRST_TOGETHER.div_ceil(threads).into(),
            first_at: now,
            pause: 0,
            paused_until: 0,
            failing_since: None,
        }
    }

    /// The pace begins now. To be called before any connection was begun.
    pub(crate) fn begin_at(&mut self, now: u64) {
        self.first_at = now;
    }

    /// The slot that waits longest.
    pub(crate) fn first_waiting(&self) -> Option<Slot> {
        self.waiting.front().copied()
    }

    /// A slot wants a connection.
    pub(crate) fn want(&mut self, slot: Slot) {
        self.waiting.push_back(slot);
    }

    /// Takes the slot that has waited longest: it is to be begun. To be called
    /// only when it may: see [`Connects::may_at`].
    pub(crate) fn begin_next(&mut self, now: u64) -> Slot {
        let slot = self.waiting.pop_front().expect("a slot waits where one may connect");
        self.under_way += 1;
        if self.first_begun < self.first {
            self.first_begun += 1;
            if self.first_begun.is_multiple_of(self.first_together) {
                self.first_at = now + FIRST_APART_NS;
            }
        }
        slot
    }

    /// When the next slot may connect; `None` if none waits, or only an event
    /// will let it.
    pub(crate) fn may_at(&self, now: u64) -> Option<u64> {
        if self.waiting.is_empty() || self.under_way >= self.under_way_max {
            return None;
        }
        let first_at = if self.first_begun < self.first { self.first_at } else { now };
        Some(first_at.max(self.paused_until))
    }

    /// A connection that was begun is established.
    pub(crate) fn succeeded(&mut self, now: u64) {
        self.under_way -= 1;
        self.pause = 0;
        self.paused_until = self.paused_until.min(now);
        self.failing_since = None;
    }

    /// A connection that was begun came to nothing.
    pub(crate) fn failed(&mut self, now: u64) {
        self.under_way -= 1;
        self.failing_since.get_or_insert(now);
        if now < self.paused_until {
            // Begun together with one that failed before: one and the same failure.
            return;
        }
        self.pause = (self.pause * 2).clamp(PAUSE_NS.0, PAUSE_NS.1);
        self.paused_until = now + self.pause;
    }

    /// Until when nobody might connect, as far as that is over.
    pub(crate) fn paused_before(&self, now: u64) -> u64 {
        self.paused_until.min(now)
    }

    /// For how long connections have come to nothing, and not one was established.
    pub(crate) fn failing_for(&self, now: u64) -> u64 {
        self.failing_since.map_or(0, |since| now - since)
    }

    /// Whether every slot has had its turn and its outcome.
    pub(crate) fn are_settled(&self) -> bool {
        self.waiting.is_empty() && self.under_way == 0
    }

    /// Nobody waits any more but those for whom this holds.
    pub(crate) fn forget_waiting_unless(&mut self, stays: impl Fn(Slot) -> bool) {
        self.waiting.retain(|slot| stays(*slot));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn begun(connects: &mut Connects, now: u64) -> usize {
        let mut count = 0;
        while connects.may_at(now).is_some_and(|at| at <= now) {
            connects.begin_next(now);
            count += 1;
        }
        count
    }

    /// Begins as many as may be by then; nobody is established meanwhile.
    fn begun_by(connects: &mut Connects, until: u64) -> usize {
        (0..until / FIRST_APART_NS).map(|step| begun(connects, step * FIRST_APART_NS)).sum()
    }

    #[test]
    fn first_connections_come_a_few_at_a_time() {
        let mut connects = Connects::new(1000, 1, true, true, 0);
        assert_eq!(begun(&mut connects, 0), 32, "more at once overflow a short listen queue");
        for _ in 0..32 {
            connects.succeeded(0);
        }
        assert_eq!(connects.may_at(0), Some(FIRST_APART_NS));
        let late = 7 * FIRST_APART_NS;
        assert_eq!(begun(&mut connects, late), 32, "a client that was held up catches up");
        assert_eq!(connects.may_at(late), Some(late + FIRST_APART_NS));
    }

    #[test]
    fn connections_for_requests_that_are_due_come_when_those_are() {
        let mut connects = Connects::new(5000, 1, false, false, 0);
        assert_eq!(begun(&mut connects, 0), 5000, "the client's pace makes requests late");
    }

    #[test]
    fn threads_together_overflow_no_queue_that_one_would_not() {
        for threads in [2, 3, 16, 32] {
            let mut all: Vec<Connects> =
                (0..threads).map(|_| Connects::new(1000, threads, true, true, 0)).collect();
            let first = all.iter_mut().map(|it| begun(it, 0)).sum::<usize>();
            let in_all = all.iter_mut().map(|it| begun_by(it, 1000 * MS)).sum::<usize>();
            // What doesn't come out even is rounded up.
            let most = threads as usize;
            assert!((32..32 + most).contains(&first), "{first} SYNs at once by {threads} threads");
            let under_way = first + in_all;
            assert!((128..128 + most).contains(&under_way), "{under_way} by {threads} threads");
        }
        let mut last = Connects::new(1000, 1024, true, true, 0);
        assert_eq!(begun(&mut last, 1000 * MS), 1, "a thread of many makes no connection");
    }

    #[test]
    fn handshakes_under_way_are_bounded() {
        let mut connects = Connects::new(1000, 1, true, true, 0);
        assert_eq!(begun_by(&mut connects, 1000 * MS), AT_ONCE as usize);
        assert_eq!(connects.may_at(1000 * MS), None, "only an event lets the next begin");
        connects.succeeded(1000 * MS);
        assert_eq!(begun(&mut connects, 1000 * MS), 1);
    }

    #[test]
    fn failures_of_connections_begun_together_are_one_failure() {
        let mut connects = Connects::new(20, 1, true, true, 0);
        begun(&mut connects, 0);
        for _ in 0..20 {
            connects.failed(MS);
        }
        connects.want(0);
        assert_eq!(connects.may_at(MS), Some(MS + PAUSE_NS.0));
    }

    #[test]
    fn failures_pause_ever_longer_and_a_success_ends_that() {
        let mut connects = Connects::new(10, 1, true, true, 0);
        let mut now = 0;
        let mut pauses = Vec::new();
        for _ in 0..9 {
            connects.begin_next(now);
            connects.failed(now);
            let may_at = connects.may_at(now).unwrap();
            pauses.push((may_at - now) / MS);
            now = may_at;
        }
        assert_eq!(pauses, [10, 20, 40, 80, 160, 320, 640, 1000, 1000]);
        connects.begin_next(now);
        connects.failed(now);
        connects.want(0);
        connects.begin_next(now);
        connects.succeeded(now + MS);
        connects.want(3);
        assert_eq!(connects.may_at(now + MS), Some(now + MS));
        let paused = connects.paused_before(now + 2 * MS);
        assert_eq!(paused, now + MS, "who connects later waited for no pause");
    }
}
