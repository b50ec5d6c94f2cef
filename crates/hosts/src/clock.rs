//! How far a host's clock is from the hub's, and how well that is known.
//!
//! The hub asks a few times, and takes the answer that came back soonest. The host read its clock
//! somewhere within that round trip: so the middle is wrong by half of it at most. No response
//! time crosses hosts. What depends on this is the common start, and which seconds lie beside
//! each other.

use std::time::Duration;

use load::Moment;

/// How often the hub asks.
pub const ASKED: u32 = 20;

/// What is known of a host's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offset {
    /// The host's clock less the hub's, in nanoseconds.
    pub ns: i64,
    /// The shortest round trip. The offset is wrong by half of it at most.
    pub round_trip: Duration,
}

impl Offset {
    /// What a question told that was asked and answered at these moments of the hub's clock, where
    /// the host's showed `there`.
    pub fn of(asked: Moment, there: Moment, answered: Moment) -> Offset {
        let [asked, there, answered] = [asked, there, answered].map(nanoseconds);
        let middle = (asked + answered) / 2;
        let round_trip = Duration::from_nanos((answered - asked).max(0) as u64);
        Offset { ns: (there - middle) as i64, round_trip }
    }

    /// By how much it may be wrong.
    pub fn bound(self) -> Duration {
        self.round_trip / 2
    }

    /// What the host's clock shows at this moment of the hub's.
    pub fn there(self, here: Moment) -> Moment {
        shifted(here, self.ns)
    }

    /// What the hub's clock shows at this moment of the host's.
    pub fn here(self, there: Moment) -> Moment {
        shifted(there, -self.ns)
    }
}

/// The one that is known best.
pub fn best(offsets: impl IntoIterator<Item = Offset>) -> Option<Offset> {
    offsets.into_iter().min_by_key(|offset| offset.round_trip)
}

/// A moment in nanoseconds of its clock, which takes more than 64 bits only of a hostile one.
fn nanoseconds(moment: Moment) -> i128 {
    moment.shown().as_nanos() as i128
}

fn shifted(moment: Moment, ns: i64) -> Moment {
    let by = Duration::from_nanos(ns.unsigned_abs());
    let shown = moment.shown();
    Moment::at(if ns < 0 { shown.saturating_sub(by) } else { shown.saturating_add(by) })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(ns: u64) -> Moment {
        Moment::at(Duration::from_nanos(ns))
    }

    proptest! {
        /// Else a common start, and seconds that are laid side by side, would be apart by more
        /// than is told.
        #[test]
        fn the_offset_is_wrong_by_half_a_round_trip_at_most(
            (asked, hub, host) in (0..1_u64 << 60, 1..1_u64 << 40, 1..1_u64 << 60),
            (there, back) in (0..1_000_000_u64, 0..1_000_000_u64),
        ) {
            // The host's clock is `host - hub` ahead.
            let asked = asked + hub;
            let shown = asked + there + host - hub;
            let offset = Offset::of(at(asked), at(shown), at(asked + there + back));
            let wrong = (i128::from(offset.ns) - (i128::from(host) - i128::from(hub))).unsigned_abs();
            prop_assert!(wrong <= offset.bound().as_nanos() + 1, "{:?}: {}", offset, wrong);
        }

        #[test]
        fn a_moment_comes_back_as_it_went(here in 1_u64 << 50..1 << 60, ns in -1_i64 << 49..1 << 49) {
            let offset = Offset { ns, round_trip: Duration::ZERO };
            prop_assert_eq!(offset.here(offset.there(at(here))), at(here));
        }
    }

    #[test]
    fn the_soonest_answer_counts() {
        let of = |ns, us| Offset { ns, round_trip: Duration::from_micros(us) };
        assert_eq!(best([of(1, 300), of(2, 200), of(3, 250)]), Some(of(2, 200)));
        assert_eq!(best([]), None);
    }
}
