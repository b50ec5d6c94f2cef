//! What loops note that aren't bare.

use std::hint::black_box;

use crate::backend::{Backend, Slot};
use crate::outcome::record::Times;
use crate::thread::now::Now;
use crate::thread::slots::{Flight, Slots};

use super::bare::Notes;

/// Reads the kernel's stamps.
#[derive(Debug, Default)]
pub(super) struct Stamps;

impl<B: Backend> Notes<B> for Stamps {
    #[inline(always)]
    fn heard(&mut self, backend: &B, _slot: Slot, _at: u64) {
        black_box(backend.kernel_stamp());
    }
}

/// Keeps requests under way in their places, with their times, and reads the kernel's stamps.
pub(super) struct Flights {
    slots: Slots<Option<Box<u8>>>,
    now: Now,
    number: u64,
}

impl Flights {
    pub(super) fn new(connections: u32) -> Flights {
        Flights { slots: Slots::new(connections, 1), now: Now::new(0), number: 0 }
    }
}

impl<B: Backend> Notes<B> for Flights {
    #[inline(always)]
    fn woke(&mut self, backend: &B, meant: u64) {
        self.now.ask_after_sleep(self.now.at() + meant, backend.now());
    }

    #[inline(always)]
    fn sends(&mut self, slot: Slot) {
        self.number += 1;
        let now = self.now.at();
        let times = Times { intended: now, begun: now, sent: now };
        // A connection that was lost left its request behind.
        if self.slots.has_room(slot) {
            self.slots.push(slot, Flight { number: self.number, times });
        }
    }

    #[inline(always)]
    fn heard(&mut self, backend: &B, slot: Slot, at: u64) {
        self.now.pass_to(at);
        black_box(backend.kernel_stamp());
        if let Some(flight) = self.slots.oldest(slot) {
            black_box(at - flight.times.sent.min(at));
            self.slots.drop_oldest(slot).is_used = true;
        }
    }
}
