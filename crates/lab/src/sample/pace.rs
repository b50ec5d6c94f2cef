//! How often something is read that may cost much.

use std::time::{Duration, Instant};

use super::{Extent, own_cpu_s};

const EVERY: Duration = Duration::from_millis(250);
/// Everything is read so many times less often, which is at least once a second, if there
/// is no reason to put it off.
const RARELY: usize = 3;

/// When is read, and how much, as long as nobody says otherwise.
#[derive(Debug, Default)]
pub(super) struct Schedule {
    /// About when the window ends, if it is under way.
    pub window_ends: Option<Instant>,
    /// The latest readings that were of CPU time alone.
    only_cpu: usize,
}

impl Schedule {
    /// How long to wait from now on, and what to read then.
    pub fn next(&self, now: Instant) -> (Duration, Extent) {
        let to_end = self.window_ends.map(|ends| ends.saturating_duration_since(now));
        match to_end.filter(|to_end| *to_end <= EVERY) {
            // What is used from its end on isn't the window's.
            Some(to_end) => (to_end, Extent::Cpu),
            None if self.only_cpu + 1 >= RARELY => (EVERY, Extent::Most),
            None => (EVERY, Extent::Cpu),
        }
    }

    /// So much was read then.
    pub fn was_read(&mut self, at: Instant, depth: Extent) {
        self.window_ends = self.window_ends.filter(|ends| at < *ends);
        self.only_cpu = if depth == Extent::Cpu { self.only_cpu + 1 } else { 0 };
    }
}

/// As often as its share of one core allows: what is left of it is spread evenly over the
/// time that is left.
#[derive(Debug)]
pub(super) struct Pace {
    /// CPU seconds that it may take from now to the end.
    allowed_s: f64,
    ends: Instant,
    pub spent_s: f64,
    /// What it cost the last time, and when that was.
    pub last_s: f64,
    last_at: Instant,
    pub put_off: u32,
}

impl Pace {
    /// For so long from now on.
    pub fn new(core_share: f64, length: Duration) -> Pace {
        let now = Instant::now();
        Pace {
            allowed_s: core_share * length.as_secs_f64(),
            ends: now + length,
            spent_s: 0.0,
            last_s: 0.0,
            last_at: now,
            put_off: 0,
        }
    }

    /// Whether it is time for one more, which will cost so much, where so much is kept for
    /// what will be read at the end.
    pub fn is_due(&mut self, cost_s: f64, reserve_s: f64) -> bool {
        let is_due = self.is_due_at(Instant::now(), cost_s, reserve_s);
        self.put_off += u32::from(!is_due);
        is_due
    }

    fn is_due_at(&self, now: Instant, cost_s: f64, reserve_s: f64) -> bool {
        let times = (self.allowed_s - self.spent_s - reserve_s) / cost_s;
        let time_left = self.ends.saturating_duration_since(now);
        let passed = now - self.last_at;
        times >= 1.0 && passed.as_secs_f64() * times >= time_left.as_secs_f64()
    }

    /// Whether it is time for one more like the last, where so many are to come in any case.
    pub fn is_due_again(&mut self, ahead: f64) -> bool {
        self.is_due(self.last_s, ahead * self.last_s)
    }

    /// One more was made, and cost so much.
    pub fn took(&mut self, cost_s: f64) {
        self.last_s = cost_s;
        self.last_at = Instant::now();
        self.spent_s += cost_s;
    }

    pub fn timed<T>(&mut self, read: impl FnOnce() -> T) -> T {
        let before = own_cpu_s();
        let read = read();
        self.took(own_cpu_s() - before);
        read
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is read for so many readings, each as soon as it is time.
    fn read(schedule: &mut Schedule, now: &mut Instant, count: usize) -> Vec<(u128, Extent)> {
        let mut read = || {
            let (wait, depth) = schedule.next(*now);
            *now += wait;
            schedule.was_read(*now, depth);
            (wait.as_millis(), depth)
        };
        (0..count).map(|_| read()).collect()
    }

    #[test]
    fn everything_is_read_at_each_third_reading() {
        let read = read(&mut Schedule::default(), &mut Instant::now(), 6);
        let (cpu, most) = ((250, Extent::Cpu), (250, Extent::Most));
        assert_eq!(read, [cpu, cpu, most, cpu, cpu, most]);
    }

    #[test]
    fn what_was_put_off_is_asked_for_at_each_reading() {
        let (mut schedule, now) = (Schedule::default(), Instant::now());
        for _ in 0..4 {
            schedule.was_read(now, Extent::Cpu);
        }
        assert_eq!(schedule.next(now), (EVERY, Extent::Most));
        schedule.was_read(now, Extent::Window);
        assert_eq!(schedule.next(now), (EVERY, Extent::Cpu));
    }

    #[test]
    fn cpu_time_is_read_when_the_window_ends_and_then_as_before() {
        let mut now = Instant::now();
        let ends = now + Duration::from_millis(600);
        let mut schedule = Schedule { window_ends: Some(ends), only_cpu: 0 };
        let (cpu, most) = ((250, Extent::Cpu), (250, Extent::Most));
        let at_its_end = (100, Extent::Cpu);
        assert_eq!(read(&mut schedule, &mut now, 4), [cpu, cpu, at_its_end, most]);
        let late = Schedule { window_ends: Some(ends), only_cpu: 9 };
        assert_eq!(late.next(now), (Duration::ZERO, Extent::Cpu), "it ended meanwhile");
    }

    /// After how many milliseconds something is read that costs so much each time, within
    /// 10 s of which it may take 1 %, looked at every 250 ms; at both ends as well or not.
    fn read_at_ms(cost_ms: f64, at_both_ends: bool) -> Vec<u64> {
        let mut pace = Pace::new(0.01, Duration::from_secs(10));
        let began = pace.last_at;
        let cost_s = cost_ms / 1e3;
        let reserve_s = if at_both_ends { cost_s } else { 0.0 };
        pace.spent_s = reserve_s;
        let mut read = Vec::new();
        for ms in (250..10_000).step_by(250) {
            let now = began + Duration::from_millis(ms);
            if pace.is_due_at(now, cost_s, reserve_s) {
                pace.took(cost_s);
                pace.last_at = now;
                read.push(ms);
            }
        }
        assert!(pace.spent_s + reserve_s <= 0.1 || read.is_empty(), "{pace:?}");
        read
    }

    #[test]
    fn what_costs_little_is_read_each_time() {
        assert_eq!(read_at_ms(1.0, false).len(), 39);
        assert_eq!(read_at_ms(0.0, false).len(), 39);
    }

    #[test]
    fn what_costs_more_is_read_so_often_that_its_share_lasts_to_the_end() {
        assert_eq!(read_at_ms(20.0, false), [1750, 3500, 5250, 7000, 8500]);
        assert_eq!(read_at_ms(60.0, false), [3750]);
        assert!(read_at_ms(101.0, false).is_empty());
    }

    #[test]
    fn what_is_read_at_both_ends_has_them_within_its_share() {
        assert_eq!(read_at_ms(20.0, true), [2500, 5000, 7500]);
        assert!(read_at_ms(50.0, true).is_empty(), "the ends take it all");
    }
}
