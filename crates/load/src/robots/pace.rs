//! When robots speak.

use crate::pace::schedule::{Block, Schedule};
use crate::plan::{Arrivals, Rooms, Share};
use crate::robots::seats::Seats;

/// When the turns of a thread come.
pub(super) struct SpeakingPace {
    schedule: Schedule,
    /// What was looked at last.
    block: Block,
    /// Whether the schedule is that of the turns of all threads.
    is_of_all: bool,
    seats: Seats,
}

impl SpeakingPace {
    /// Those of these seats, where all robots of the run make so many deliveries a second. Evenly
    /// spaced turns are those of all threads together. Random ones each thread draws for itself:
    /// together they are as random.
    pub(super) fn of(arrivals: Arrivals, rooms: Rooms, seats: Seats, seed: u64) -> SpeakingPace {
        let (arrivals, share, is_of_all) = match arrivals {
            Arrivals::Poisson(rate) => {
                let part = f64::from(seats.robots()) / f64::from(seats.robots_of_all());
                let share =
                    Share { host: seats.thread(), hosts: seats.threads(), ..Share::default() };
                (Arrivals::Poisson(rooms.messages(rate) * part), share, false)
            }
            Arrivals::Constant(rate) => {
                (Arrivals::Constant(rooms.messages(rate)), Share::default(), true)
            }
            Arrivals::Closed => (Arrivals::Closed, Share::default(), true),
        };
        let schedule = Schedule::new(arrivals, seed, share).expect("a plan's robots have a rate");
        SpeakingPace { schedule, block: Block::default(), is_of_all, seats }
    }

    /// When this turn comes, in nanoseconds from the start. To be asked for one after the other.
    pub(super) fn due(&mut self, turn: u64) -> u64 {
        let number = if self.is_of_all { self.seats.among_all(turn) } else { turn };
        self.schedule.due(number, &mut self.block).expect("turns are asked for in their order")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::rooms::Wire;

    const ROOMS: Rooms = Rooms::plain(Wire::Frames, 3, 64);

    /// When each turn of all threads comes, by thread.
    fn turns(arrivals: Arrivals, seed: u64, threads: u32) -> Vec<Vec<u64>> {
        let of_thread = |thread| {
            let seats = Seats::new(ROOMS.members, 2, thread, threads);
            let mut pace = SpeakingPace::of(arrivals, ROOMS, seats, seed);
            (0..6_000).map(|turn| pace.due(turn)).collect()
        };
        (0..threads).map(of_thread).collect()
    }

    #[test]
    fn evenly_spaced_turns_are_those_of_one_thread_however_many_there_are() {
        let one = turns(Arrivals::Constant(3_000.0), 1, 1).concat();
        assert_eq!(one[..3], [0, 1_000_000, 2_000_000], "three deliveries each");
        for threads in [2, 3] {
            let mut all = turns(Arrivals::Constant(3_000.0), 1, threads).concat();
            all.sort_unstable();
            assert_eq!(all[..6_000], one[..], "{threads} threads");
        }
    }

    /// Else threads speak at the same moments, or another rate than was asked for.
    #[test]
    fn random_turns_are_each_threads_own_and_make_the_rate_together() {
        let all = turns(Arrivals::Poisson(3_000.0), 1, 3);
        assert_ne!(all[0], all[1]);
        assert_eq!(all, turns(Arrivals::Poisson(3_000.0), 1, 3), "the seed decides");
        assert_ne!(all, turns(Arrivals::Poisson(3_000.0), 2, 3));
        let until = 10_000_000_000;
        let messages = all.concat().into_iter().filter(|due| *due < until).count();
        assert!((9_500..10_500).contains(&messages), "{messages} in ten seconds");
        // As many evenly spaced ones have no gap of three times the mean.
        let long = all[0].windows(2).filter(|pair| pair[1] - pair[0] > 9_000_000).count();
        assert!((200..400).contains(&long), "{long} of 6,000: e^-3 of them are so long");
    }
}
