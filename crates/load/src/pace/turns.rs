//! Whose turn it is: when a thread may begin a request, and when no more.

use std::ops::Range;

use crate::pace::queue::{Free, Queue};
use crate::pace::schedule::Block;
use crate::pace::window::{Phase, Window};
use crate::plan::Share;

/// A request's turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Turn {
    /// The request's number in the run, on all hosts.
    pub number: u64,
    /// When it is due.
    pub intended: u64,
    /// The account that it belongs to.
    pub phase: Phase,
}

/// A thread's hand in the run's queue.
#[derive(Debug)]
pub(crate) struct Turns<'a> {
    queue: &'a Queue,
    thread: usize,
    share: Share,
    window: Window,
    /// Numbers taken ahead of their requests, in a closed loop.
    numbers: Range<u64>,
    /// The part of the schedule that was looked at last.
    block: Block,
    /// Turns that were taken, by [`Phase`].
    taken: [u64; 2],
}

impl<'a> Turns<'a> {
    /// A thread's hand before the run begins: nobody has a turn.
    pub(crate) fn new(queue: &'a Queue, thread: usize, share: Share) -> Turns<'a> {
        let window = Window { start: 0, begin: u64::MAX, end: 0 };
        Turns {
            queue,
            thread,
            share,
            window,
            numbers: 0..0,
            block: Block::default(),
            taken: [0; 2],
        }
    }

    /// The run has these borders.
    pub(crate) fn begin(&mut self, window: Window) {
        self.window = window;
    }

    /// Takes the next turn, if it has come.
    #[inline]
    pub(crate) fn take(&mut self, now: u64) -> Option<Turn> {
        let turn =
            if self.queue.is_open_loop() { self.take_due(now) } else { self.take_free(now) }?;
        self.taken[turn.phase as usize] += 1;
        Some(Turn { number: self.share.number(turn.number), ..turn })
    }

    /// How many turns were taken so far, in the warm-up and in the window: the requests that are
    /// to be found again among those that were sent or shed.
    pub(crate) fn taken(&self) -> [u64; 2] {
        self.taken
    }

    /// So many turns are about to be taken at this time, or all that there are. In a closed loop
    /// their numbers are taken together, which spares threads the queue that they share.
    pub(crate) fn expect(&mut self, now: u64, turns: u16) {
        // Numbers that nobody uses would be missing where they are counted.
        let all_are_used = !self.queue.is_counted() && self.goes_on(now);
        if self.numbers.is_empty() && all_are_used && !self.queue.is_open_loop() {
            self.numbers = self.queue.take_numbers(turns.into());
        }
    }

    /// In a closed loop a turn has come as soon as somebody asks for it.
    #[inline]
    fn take_free(&mut self, now: u64) -> Option<Turn> {
        let phase = self.phase(now);
        if !self.goes_on(now) || phase == Phase::Window && !self.queue.count() {
            return None;
        }
        if self.numbers.is_empty() {
            self.numbers = self.queue.take_numbers(1);
        }
        let number = self.numbers.next()?;
        Some(Turn { number, intended: now, phase })
    }

    fn take_due(&mut self, now: u64) -> Option<Turn> {
        loop {
            let (number, due) = self.queue.next(&mut self.block)?;
            // At the end of all time it stays: beyond that it would come at once.
            let intended = self.window.start.saturating_add(due);
            if intended > now || !self.goes_on(intended) {
                return None;
            }
            if !self.queue.claim(number) {
                continue;
            }
            let phase = self.phase(intended);
            if phase == Phase::Window && !self.queue.count() {
                return None;
            }
            return Some(Turn { number, intended, phase });
        }
    }

    /// The account of a request that was due at this time.
    pub(crate) fn phase(&self, intended: u64) -> Phase {
        if intended < self.window.begin { Phase::Warmup } else { Phase::Window }
    }

    /// When the next turn comes; `None` if it is there at any time, or never comes.
    pub(crate) fn due(&mut self) -> Option<u64> {
        let (_, due) = self.queue.next(&mut self.block)?;
        let due = self.window.start.saturating_add(due);
        self.goes_on(due).then_some(due)
    }

    /// Until when this thread may sleep before it has to look for a turn. To be called right
    /// before it sleeps, with its free connection, if it has one.
    pub(crate) fn sleeps(&mut self, free: Option<Free>) -> u64 {
        let until = self.queue.sleeps(self.thread, free, self.window.start, &mut self.block);
        if self.goes_on(until) { until } else { u64::MAX }
    }

    /// This thread is back from its sleep.
    pub(crate) fn is_awake(&self) {
        self.queue.is_awake(self.thread);
    }

    /// Since when another thread has a free connection, as far as is known.
    pub(crate) fn others_free_since(&self) -> Option<u64> {
        self.queue.others_free_since(self.thread)
    }

    /// Whether turns still come at this time.
    pub(crate) fn goes_on(&self, now: u64) -> bool {
        now < self.window.end && (now < self.window.begin || !self.queue.is_used_up())
    }

    /// This thread saw the error that ends the run for all.
    pub(crate) fn fail(&self) {
        self.queue.fail();
    }

    /// Whether a thread did.
    pub(crate) fn has_failed(&self) -> bool {
        self.queue.has_failed()
    }

    /// Whether the turns of an open loop are handed out.
    pub(crate) fn is_open_loop(&self) -> bool {
        self.queue.is_open_loop()
    }

    /// No turn comes after this time.
    pub(crate) fn end_at(&mut self, now: u64) {
        self.window.end = self.window.end.min(now);
    }

    /// This thread takes no more turns; whether it is the last, to which those belong that
    /// nobody took.
    pub(crate) fn is_last_done(&self) -> bool {
        self.queue.is_last_done()
    }

    /// The borders, as they are now.
    pub(crate) fn window(&self) -> Window {
        self.window
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::plan::template::Request;
    use crate::plan::{Arrivals, Plan, Target, Until, Workload};

    fn plan(arrivals: Arrivals, until: Until) -> Plan {
        let target = Target {
            address: "127.0.0.1:1".parse().unwrap(),
            authority: String::new(),
            path: String::new(),
        };
        Plan { arrivals, until, ..Plan::new(target, vec![Request::get("/{counter}")]) }
    }

    fn turns<'a>(queue: &'a Queue, until: Until, thread: usize) -> Turns<'a> {
        let end = match until {
            Until::Elapsed(time) => 200 + time.as_nanos() as u64,
            Until::Requests(_) => u64::MAX,
        };
        let mut turns = Turns::new(queue, thread, Share::default());
        turns.begin(Window { start: 100, begin: 200, end });
        turns
    }

    fn all(turns: &mut Turns, now: u64) -> Vec<Turn> {
        std::iter::from_fn(|| turns.take(now)).take(1000).collect()
    }

    #[test]
    fn counted_turns_belong_to_whichever_thread_is_free() {
        let until = Until::Requests(7);
        let queue = Queue::new(&plan(Arrivals::Closed, until), 2).unwrap();
        let (mut one, mut other) = (turns(&queue, until, 0), turns(&queue, until, 1));
        // A thread with more or quicker connections asks more often.
        let mut number = |of: usize| [&mut one, &mut other][of].take(300).unwrap().number;
        let mut numbers = vec![number(0), number(1), number(0), number(0)];
        numbers.extend(all(&mut one, 300).iter().map(|turn| turn.number));
        assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 6]);
        assert_eq!(other.take(300), None, "more were asked than were to be");
        assert!(!other.goes_on(300), "a thread waits for turns that never come");
    }

    #[test]
    fn numbers_of_several_threads_are_all_there_where_requests_show_them() {
        let until = Until::Elapsed(Duration::from_secs(1));
        let queue = Queue::new(&plan(Arrivals::Closed, until), 2).unwrap();
        let (mut one, mut other) = (turns(&queue, until, 0), turns(&queue, until, 1));
        let mut number = |of: usize| [&mut one, &mut other][of].take(300).unwrap().number;
        assert_eq!([number(0), number(1), number(0)], [0, 1, 2]);
    }

    #[test]
    fn each_thread_asks_all_paths_in_turn() {
        let until = Until::Elapsed(Duration::from_secs(1));
        let paths = vec![Request::get("/fast"), Request::get("/slow")];
        let mut two = plan(Arrivals::Closed, until);
        two.http_mut().unwrap().requests = paths;
        let queue = Queue::new(&two, 2).unwrap();
        for thread in 0..2 {
            let mut turns = turns(&queue, until, thread);
            let odd = (0..1000).filter(|_| turns.take(300).unwrap().number % 2 == 1).count();
            assert_eq!(odd, 500, "a thread has paths of its own");
        }
    }

    #[test]
    fn the_warm_up_takes_nothing_from_the_count() {
        let until = Until::Requests(2);
        let queue = Queue::new(&plan(Arrivals::Closed, until), 1).unwrap();
        let mut turns = turns(&queue, until, 0);
        assert_eq!(turns.take(150).unwrap().phase, Phase::Warmup);
        assert_eq!(turns.take(250).unwrap().phase, Phase::Window);
        assert_eq!(turns.take(250).unwrap().phase, Phase::Window);
        assert_eq!(turns.take(250), None);
    }

    #[test]
    fn an_open_loop_keeps_its_schedule_however_late_it_is_asked() {
        let (rate, until) = (Arrivals::Constant(1e8), Until::Elapsed(Duration::from_nanos(50)));
        let queue = Queue::new(&plan(rate, until), 2).unwrap();
        let mut turns = turns(&queue, until, 0);
        assert_eq!(turns.due(), Some(100));
        assert_eq!(turns.take(99), None, "a request went out before it was due");
        let taken = all(&mut turns, 1_000_000);
        let intended: Vec<u64> = taken.iter().map(|turn| turn.intended).collect();
        assert_eq!(intended, (0..15).map(|n| 100 + n * 10).collect::<Vec<_>>());
        assert_eq!(taken[9].phase, Phase::Warmup);
        assert_eq!(taken[10].phase, Phase::Window);
        assert_eq!(turns.due(), None);
    }

    #[test]
    fn what_is_due_after_the_end_of_all_time_is_not_due_at_once() {
        for until in [Until::Elapsed(Duration::from_secs(1)), Until::Requests(5)] {
            let queue = Queue::new(&plan(Arrivals::Constant(1e-11), until), 1).unwrap();
            let mut turns = turns(&queue, until, 0);
            assert_eq!(all(&mut turns, 1_000_000).len(), 1, "the first is due at the start");
            assert_eq!(turns.due(), None);
        }
    }

    /// A number that nobody uses would be a key that is never written, where a number is one.
    #[test]
    fn numbers_that_are_taken_together_are_all_used() {
        for until in [Until::Elapsed(Duration::from_secs(1)), Until::Requests(24)] {
            let plan = Plan {
                pipeline: 4,
                work: Workload::Keys(crate::plan::keys::tests::keys()),
                ..plan(Arrivals::Closed, until)
            };
            let queue = Queue::new(&plan, 2).unwrap();
            let (mut one, mut other) = (turns(&queue, until, 0), turns(&queue, until, 1));
            let mut numbers = Vec::new();
            for _ in 0..3 {
                for turns in [&mut one, &mut other] {
                    turns.expect(300, 4);
                    numbers.extend((0..4).map(|_| turns.take(300).unwrap().number));
                }
            }
            assert_eq!(numbers, (0..24).collect::<Vec<_>>(), "{until:?}");
            one.end_at(300);
            one.expect(300, 4);
            let next = other.take(300).map(|turn| turn.number);
            let expected = if queue.is_counted() { None } else { Some(24) };
            assert_eq!(next, expected, "who has come to the end took numbers");
        }
    }

    #[test]
    fn nothing_is_due_after_an_early_end() {
        let until = Until::Elapsed(Duration::from_secs(1));
        let queue = Queue::new(&plan(Arrivals::Closed, until), 1).unwrap();
        let mut turns = turns(&queue, until, 0);
        turns.end_at(300);
        assert!(turns.take(299).is_some());
        assert!(turns.take(300).is_none());
    }
}
