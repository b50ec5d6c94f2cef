//! When a thread may open connections: paced, so that a listen queue that the
//! server could have served does not overflow, and with a pause where nobody
//! listens.

use std::collections::VecDeque;
use std::time::Duration;

use super::SYN_LOST_NS;
use crate::backend::Slot;

/// Handshakes under way at once, by all threads together, for connections that are
/// kept: a quarter of the listen queue that servers commonly have (nginx: 511).
/// Where a connection serves one request, as many are under way as were asked for:
/// that is the load.
const AT_ONCE: u32 = 128;
/// How first connections are begun, by all threads together: up to so many of them, so many
/// at once, and so many nanoseconds apart. A few come slowly: servers in scripting languages
/// have a listen queue of 5 (Python's `http.server`), and accept some a millisecond. Many
/// come at ten a millisecond, since who means to serve thousands has a longer queue. A
/// handshake on loopback is over before anybody has accepted it, so that it alone slows
/// nothing down. A client that was kept from its processor doesn't catch up: what it opened
/// then at once would be the overflow that the pace is there against.
const FIRST: [Pace; 3] = [
    Pace { until: 64, together: 4, apart_ns: 1_600_000 },
    Pace { until: 192, together: 8, apart_ns: 1_600_000 },
    Pace { until: u64::MAX, together: 32, apart_ns: 3_000_000 },
];
/// A handshake under way for so long, and for so many times as long as the slowest that was
/// made, has probably lost its SYN to a full listen queue.
const OVERDUE_NS: u64 = 3_000_000;
const OVERDUE_TIMES: u64 = 4;
/// For how long nobody follows such a handshake, and how often at most: a network loses SYNs
/// as well, and there a pause helps nobody. The kernel sends the SYN again only after a second.
const HELD_NS: u64 = 50_000_000;
const HELD_TIMES_MAX: u32 = 20;
/// How often at most the pace is halved after that.
const HALVED_TIMES_MAX: u32 = 3;
/// The shortest and the longest pause after a failure, in nanoseconds.
const PAUSE_NS: (u64, u64) = (10_000_000, 1_000_000_000);

/// The longest that kept connections take to be made or to fail, one try each: a slot
/// waits for one of those under way, and through pauses.
pub(crate) fn longest(connections: u32, timeout: Duration) -> Duration {
    let each = timeout.saturating_add(Duration::from_nanos(PAUSE_NS.1));
    each.saturating_mul(connections.div_ceil(AT_ONCE))
}

/// A part of the first connections, and their pace.
struct Pace {
    until: u64,
    together: u64,
    apart_ns: u64,
}

/// The slots that wait for a connection.
pub(crate) struct Connects {
    waiting: VecDeque<Slot>,
    threads: u64,
    under_way: u32,
    under_way_max: u32,
    /// First connections of slots that are still to be begun.
    first: u64,
    first_begun: u64,
    /// So many of them may still be begun before the time that follows.
    first_left: u64,
    /// When the next of them may be begun.
    first_at: u64,
    /// First connections that are kept and have no handshake yet: who, and since when.
    /// Where a connection serves one request, none is watched: the load doesn't wait.
    handshakes: VecDeque<(Slot, u64)>,
    is_watched: bool,
    /// The slowest handshake that was made.
    slowest: Option<u64>,
    held: u32,
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
            threads: threads.into(),
            under_way: 0,
            under_way_max: if kept { AT_ONCE.div_ceil(threads) } else { slots },
            first: if paced { slots.into() } else { 0 },
            first_begun: 0,
            first_left: 0,
            first_at: now,
            handshakes: VecDeque::new(),
            is_watched: kept,
            slowest: None,
            held: 0,
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

    /// The slots that wait, and how many are being connected.
    pub(crate) fn books(&self) -> (impl Iterator<Item = Slot>, u32) {
        (self.waiting.iter().copied(), self.under_way)
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
        if self.is_first() {
            self.begin_first(slot, now);
        }
        slot
    }

    /// When the next slot may connect; `None` if none waits, or only an event
    /// will let it.
    pub(crate) fn may_at(&self, now: u64) -> Option<u64> {
        if self.waiting.is_empty() || self.under_way >= self.under_way_max {
            return None;
        }
        let first_at = if self.is_first() { self.first_at } else { now };
        Some(first_at.max(self.paused_until))
    }

    /// Whether the next connection is the first of its slot.
    fn is_first(&self) -> bool {
        self.first_begun < self.first
    }

    /// Enters a first connection, and says when the next may follow.
    fn begin_first(&mut self, slot: Slot, now: u64) {
        let by_all = self.first_begun * self.threads;
        let step = FIRST.iter().find(|step| by_all < step.until).unwrap_or(&FIRST[2]);
        if self.first_left == 0 {
            // Of several threads each has its part, and never less than one connection.
            self.first_left = step.together.div_ceil(self.threads);
        }
        self.first_begun += 1;
        self.first_left -= 1;
        if self.first_left == 0 {
            let own = step.together.div_ceil(self.threads) * self.threads;
            let apart = step.apart_ns * own / step.together;
            self.first_at = now + (apart << self.held.min(HALVED_TIMES_MAX));
        }
        if self.is_watched {
            self.handshakes.push_back((slot, now));
        }
    }

    /// To be called before first connections are begun: where a handshake is overdue, the
    /// listen queue is probably full. Nobody follows for a while, and then others come at
    /// half the pace.
    pub(crate) fn hold_for_overdue(&mut self, now: u64) {
        let Some(slowest) = self.slowest.filter(|_| self.held < HELD_TIMES_MAX) else { return };
        let patience = OVERDUE_NS.max(slowest.saturating_mul(OVERDUE_TIMES));
        let is_overdue = |(_, since): &(Slot, u64)| now.saturating_sub(*since) > patience;
        if self.handshakes.iter().any(is_overdue) {
            // One that was told is watched no more: others lost theirs together with it.
            self.handshakes.retain(|handshake| !is_overdue(handshake));
            self.held += 1;
            self.first_at = self.first_at.max(now + HELD_NS);
        }
    }

    /// A handshake that was begun at one time was made at another.
    pub(crate) fn shook_hands(&mut self, slot: Slot, since: u64, at: u64) {
        self.forget_handshake(slot);
        // What lost its SYN says nothing of how long one takes.
        let took = Some(at.saturating_sub(since)).filter(|&took| took < SYN_LOST_NS);
        self.slowest = self.slowest.max(took);
    }

    fn forget_handshake(&mut self, slot: Slot) {
        self.handshakes.retain(|handshake| handshake.0 != slot);
    }

    /// A connection that was begun is established.
    pub(crate) fn succeeded(&mut self, now: u64) {
        self.under_way -= 1;
        self.pause = 0;
        self.paused_until = self.paused_until.min(now);
        self.failing_since = None;
    }

    /// A connection that was begun came to nothing.
    pub(crate) fn failed(&mut self, slot: Slot, now: u64) {
        self.under_way -= 1;
        self.forget_handshake(slot);
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
        (0..until / 1000).map(|step| begun(connects, step * 1000)).sum()
    }

    /// Begins as many as may be by then, each of which has its handshake at once.
    fn made_by(connects: &mut Connects, (from, until): (u64, u64)) -> u64 {
        let mut made = 0;
        for now in (from..until).step_by(100_000) {
            connects.hold_for_overdue(now);
            while connects.may_at(now).is_some_and(|at| at <= now) {
                let slot = connects.begin_next(now);
                connects.shook_hands(slot, now, now);
                connects.succeeded(now);
                made += 1;
            }
        }
        made
    }

    #[test]
    fn first_connections_come_a_few_at_a_time() {
        let mut connects = Connects::new(1000, 1, true, true, 0);
        assert_eq!(begun(&mut connects, 0), 4, "more at once overflow a listen queue of 5");
        for _ in 0..4 {
            connects.succeeded(0);
        }
        assert_eq!(connects.may_at(0), Some(1_600_000));
        let late = 20 * MS;
        assert_eq!(begun(&mut connects, late), 4, "a client that was held up catches up");
        assert_eq!(connects.may_at(late), Some(late + 1_600_000));
    }

    #[test]
    fn thousands_of_connections_are_not_made_more_slowly_than_ten_a_millisecond() {
        let mut connects = Connects::new(5000, 1, true, true, 0);
        let made = made_by(&mut connects, (0, 510 * MS));
        assert_eq!(made, 5000, "a pace for short listen queues slows down who has a long one");
    }

    #[test]
    fn nobody_follows_a_handshake_that_is_overdue_for_a_while_and_then_at_half_the_pace() {
        let mut connects = Connects::new(2000, 1, true, true, 0);
        made_by(&mut connects, (0, 100 * MS));
        let lost = connects.begin_next(100 * MS);
        made_by(&mut connects, (100 * MS, 104 * MS));
        let held = made_by(&mut connects, (104 * MS, 153 * MS));
        assert_eq!(held, 0, "those that follow a lost SYN are lost as well");
        let made = made_by(&mut connects, (154 * MS, 214 * MS));
        assert!((300..=330).contains(&made), "{made} in 60 ms: not half of ten a millisecond");
        connects.shook_hands(lost, 100 * MS, 1100 * MS);
        connects.succeeded(1100 * MS);
        let slowest = connects.slowest;
        assert_eq!(slowest, Some(0), "what lost its SYN is taken for how long handshakes take");
    }

    #[test]
    fn a_network_that_loses_syns_holds_nobody_up_for_long() {
        let mut connects = Connects::new(100_000, 1, true, true, 0);
        made_by(&mut connects, (0, MS));
        let mut now = MS;
        for _ in 0..100 {
            // One in some dozens is lost, and found after a second.
            connects.begin_next(now);
            made_by(&mut connects, (now, now + 60 * MS));
            connects.under_way -= 1;
            now += 60 * MS;
        }
        assert_eq!(connects.held, HELD_TIMES_MAX);
    }

    #[test]
    fn slow_handshakes_far_away_are_not_overdue() {
        let mut connects = Connects::new(1000, 1, true, true, 0);
        for now in [0, 200 * MS] {
            for slot in 0..4 {
                connects.begin_next(now);
                connects.hold_for_overdue(now + 199 * MS);
                connects.shook_hands(slot, now, now + 200 * MS);
                connects.succeeded(now + 200 * MS);
            }
        }
        assert_eq!(connects.held, 0, "a server at 200 ms is connected to in hours");
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
            assert!((4..4 + most).contains(&first), "{first} SYNs at once by {threads} threads");
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
        let mut connects = Connects::new(4, 1, true, true, 0);
        assert_eq!(begun(&mut connects, 0), 4);
        for slot in 0..4 {
            connects.failed(slot, MS);
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
            connects.failed(0, now);
            let may_at = connects.may_at(now).unwrap();
            pauses.push((may_at - now) / MS);
            now = may_at;
        }
        assert_eq!(pauses, [10, 20, 40, 80, 160, 320, 640, 1000, 1000]);
        connects.begin_next(now);
        connects.failed(0, now);
        connects.want(0);
        connects.begin_next(now);
        connects.succeeded(now + MS);
        connects.want(3);
        assert_eq!(connects.may_at(now + MS), Some(now + MS));
        let paused = connects.paused_before(now + 2 * MS);
        assert_eq!(paused, now + MS, "who connects later waited for no pause");
    }
}
