//! The buffers that receives of a ring take.

use std::io;
use std::ptr;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::Submitter;
use io_uring::types::BufRingEntry;

use super::Received;

/// The group of the only buffer ring.
pub(crate) const GROUP: u16 = 0;

/// Memory of a ring's buffers, of which only what was used takes any.
const MEMORY_BYTES: usize = 16 << 20;
/// The most places that the kernel allows a ring.
const PLACES_MAX: usize = 1 << 15;

/// How many buffers there are, and of which size.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    /// Bytes of each.
    size: usize,
    /// Places in the ring; a power of two.
    places: u16,
    /// Buffers at the start: what fits beside other things in a core's cache.
    at_start: u16,
    /// Whether the kernel may fill a buffer piece by piece.
    is_filled_in_pieces: bool,
}

impl Shape {
    /// Large ones, for bytes alone.
    pub(crate) const PLAIN: Shape = Shape {
        size: 64 << 10,
        places: (MEMORY_BYTES / (64 << 10)) as u16,
        at_start: 4,
        is_filled_in_pieces: true,
    };

    /// One of so many bytes at least for each receive, as where something stands before the bytes:
    /// a piece of a buffer may be too small for that. With those of so many slots one look may
    /// bring two of each, as far as there is memory.
    pub(crate) fn of_one_receive_each(bytes: usize, slots: u32) -> Shape {
        const AT_START: usize = 64;
        let size = bytes.next_power_of_two();
        let most = (MEMORY_BYTES / size).clamp(AT_START, PLACES_MAX);
        let places = (2 * slots as usize).next_power_of_two().clamp(AT_START, most);
        Shape { size, places: places as u16, at_start: AT_START as u16, is_filled_in_pieces: false }
    }

    fn ring_bytes(self) -> usize {
        size_of::<BufRingEntry>() * usize::from(self.places)
    }

    fn memory_bytes(self) -> usize {
        self.size * usize::from(self.places)
    }
}

/// Receive buffers, shared with the kernel through a ring of their addresses.
///
/// Where the kernel can (Linux 6.12), it fills a buffer answer by answer, so
/// that small ones lie close together in the cache and large ones come in few
/// pieces; an older one uses a buffer up for each receive. A few buffers are
/// enough at first; more are added when they ran out.
pub(crate) struct Buffers {
    ring: *mut BufRingEntry,
    memory: *mut u8,
    shape: Shape,
    tail: u16,
    /// Buffers in use, from the front of `memory`.
    count: u16,
    /// Whether they ran out in this batch.
    pub(crate) short: bool,
    /// Bytes of each that were filled since it was given to the kernel.
    filled: Vec<u32>,
}

impl Buffers {
    /// The kernel fills a buffer piece by piece: `IOU_PBUF_RING_INC`.
    const INCREMENTAL: u16 = 2;

    /// Makes them, and lets the kernel know of those at the start.
    ///
    /// # Errors
    /// The kernel's, where it lacks buffer rings or the memory for them.
    pub(crate) fn new(submitter: &Submitter<'_>, shape: Shape) -> io::Result<Buffers> {
        let ring: *mut BufRingEntry = map(shape.ring_bytes())?.cast();
        let memory = map(shape.memory_bytes())?;
        let filled = vec![0; usize::from(shape.places)];
        let mut buffers = Buffers { ring, memory, shape, tail: 0, count: 0, short: false, filled };
        let register = |flags| {
            // SAFETY: the memory stays mapped until it is unregistered, when the
            // backend is dropped.
            unsafe {
                submitter.register_buf_ring_with_flags(ring as u64, shape.places, GROUP, flags)
            }
        };
        if shape.is_filled_in_pieces {
            register(Self::INCREMENTAL).or_else(|_| register(0))?;
        } else {
            register(0)?;
        }
        buffers.grow_to(shape.at_start);
        buffers.publish();
        Ok(buffers)
    }

    /// Buffers in use.
    pub(crate) fn count(&self) -> usize {
        self.count.into()
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
            let start = self.memory.add(received.buffer as usize * self.shape.size);
            std::slice::from_raw_parts(start.add(received.start as usize), received.length as usize)
        }
    }

    pub(crate) fn give_back(&mut self, buffer: u16) {
        self.filled[usize::from(buffer)] = 0;
        let index = usize::from(self.tail & (self.shape.places - 1));
        // SAFETY: the index is below the ring's length, and entries between the
        // kernel's head and our tail only are read by the kernel.
        unsafe {
            let entry = &mut *self.ring.add(index);
            entry.set_addr(self.memory.add(usize::from(buffer) * self.shape.size) as u64);
            entry.set_len(self.shape.size as u32);
            entry.set_bid(buffer);
        }
        self.tail = self.tail.wrapping_add(1);
    }

    /// Doubles the buffers if they ran out; whether they did.
    pub(crate) fn grow_if_short(&mut self) -> bool {
        let was_short = std::mem::take(&mut self.short);
        if was_short {
            self.grow_to(self.count.saturating_mul(2).min(self.shape.places));
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
        // SAFETY: both were mapped in `new` with these lengths.
        unsafe {
            let _ = rustix::mm::munmap(self.ring.cast(), self.shape.ring_bytes());
            let _ = rustix::mm::munmap(self.memory.cast(), self.shape.memory_bytes());
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_of_one_receive_each_have_room_and_a_bound() {
        for (bytes, slots, size, places) in [
            (560, 1, 1 << 10, 64),
            (560, 6_500, 1 << 10, 16_384),
            (560, 1_000_000, 1 << 10, 16_384),
            (2 * 65_537 + 48, 10_000, 256 << 10, 64),
        ] {
            let shape = Shape::of_one_receive_each(bytes, slots);
            assert_eq!((shape.size, usize::from(shape.places)), (size, places), "{bytes} bytes");
            assert!(shape.memory_bytes() <= MEMORY_BYTES, "{slots} slots");
        }
        assert_eq!(Shape::PLAIN.memory_bytes(), MEMORY_BYTES);
    }
}
