//! Hash maps in memory, and no file: what the network and the protocols cost.

use std::hash::{BuildHasher, RandomState};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use hashbrown::HashMap;

use super::{Engine, Session};
use crate::batch::Batch;
use crate::error::Result;

/// So many maps that threads seldom wait for each other.
const SHARDS: usize = 64;

type Shard = HashMap<Box<[u8]>, Box<[u8]>>;

#[derive(Default)]
pub struct Map {
    shards: Shards,
}

struct Shards {
    shards: Vec<RwLock<Shard>>,
    hasher: RandomState,
}

impl Default for Shards {
    fn default() -> Shards {
        let shards = std::iter::repeat_with(RwLock::default).take(SHARDS).collect();
        Shards { shards, hasher: RandomState::new() }
    }
}

impl Shards {
    fn of(&self, key: &[u8]) -> &RwLock<Shard> {
        // The maps within take a hash of their own, so that all of its bits are free here.
        &self.shards[self.hasher.hash_one(key) as usize % SHARDS]
    }
}

// A map is whole after each operation, also where a thread ended within a lock.
fn read(shard: &RwLock<Shard>) -> RwLockReadGuard<'_, Shard> {
    shard.read().unwrap_or_else(PoisonError::into_inner)
}

fn write(shard: &RwLock<Shard>) -> RwLockWriteGuard<'_, Shard> {
    shard.write().unwrap_or_else(PoisonError::into_inner)
}

impl Engine for Map {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(&self.shards))
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

impl Session for &Shards {
    fn get(&mut self, key: &[u8], found: &mut dyn FnMut(&[u8])) -> Result<()> {
        if let Some(kept) = read(self.of(key)).get(key) {
            found(kept);
        }
        Ok(())
    }

    fn commit(&mut self, batch: &Batch) -> Result<()> {
        for (key, kept) in batch.writes() {
            let mut shard = write(self.of(key));
            match kept {
                Some(kept) => match shard.get_mut(key) {
                    // Values mostly stay as long as they were: then nothing is allocated.
                    Some(place) if place.len() == kept.len() => place.copy_from_slice(kept),
                    Some(place) => *place = kept.into(),
                    None => {
                        shard.insert(key.into(), kept.into());
                    }
                },
                None => {
                    shard.remove(key);
                }
            }
        }
        Ok(())
    }

    fn count(&mut self) -> Result<u64> {
        Ok(self.shards.iter().map(|shard| read(shard).len() as u64).sum())
    }

    fn clear(&mut self) -> Result<()> {
        self.shards.iter().for_each(|shard| *write(shard) = Shard::default());
        Ok(())
    }
}
