//! What a store has of what it was given, read when the work is over.
//!
//! Keys are drawn then, from a seed: no store knows before which will be read.

use std::time::{Duration, Instant};

use load::outcome::Outcome;
use load::plan::Plan;
use load::read_back::{Back, KeysDue};
use result::evidence::ReadBack;

use crate::contract::store_client::{StoreClient, StoreWrong};

/// Keys that are read back at most, and the time for that.
const KEYS: u64 = 4096;
const WITHIN: Duration = Duration::from_secs(10);
/// Writes right before a crash at most, and the time for those.
const LAST_WRITES: usize = 256;
const LAST_WRITES_WITHIN: Duration = Duration::from_secs(1);

/// What a work wrote to a store.
#[derive(Debug, Clone)]
pub struct Written {
    plan: Plan,
    /// Requests that were sent, from the warm-up on.
    sent: u64,
    /// Those that ended in an error: so many writes may be missing for that.
    errors: u64,
}

impl Written {
    /// What was written by the load of this plan.
    pub fn of(plan: &Plan, seen: &Outcome) -> Written {
        let accounts = [&seen.account, &seen.warmup];
        let sent = accounts.iter().map(|it| it.sent).sum();
        let errors = accounts.iter().flat_map(|it| &it.errors).map(|it| it.count).sum();
        Written { plan: plan.clone(), sent, errors }
    }

    /// Draws keys that the store has to have when the work is over; `None` where none can be read,
    /// which the check of what was compared says.
    pub fn due(&self) -> Option<KeysDue> {
        KeysDue::draw(&self.plan, self.sent, KEYS, !self.plan.seed)
    }

    /// Draws others, for a crash: what was read already may have been kept for that.
    fn others_due(&self) -> Option<KeysDue> {
        KeysDue::draw(&self.plan, self.sent, KEYS, !self.plan.seed.rotate_left(1))
    }

    /// Writes on: what the store has to have from then on.
    pub fn write_on(&self, client: &mut StoreClient) -> Option<KeysDue> {
        let mut due = self.others_due()?;
        let began = Instant::now();
        for write in due.next_writes(LAST_WRITES) {
            if began.elapsed() > LAST_WRITES_WITHIN
                || client.set(&write.name, &write.value, 0).is_err()
            {
                break;
            }
            due.is_acknowledged(&write);
        }
        Some(due)
    }

    /// Reads what the store has to have, up to the first key that it doesn't give. It may end a
    /// connection after so many requests, so it is asked once more on another.
    pub fn read(
        &self,
        due: &KeysDue,
        connect: impl Fn() -> Result<StoreClient, StoreWrong>,
    ) -> ReadBack {
        let mut back = ReadBack { errors: self.errors, ..ReadBack::default() };
        let began = Instant::now();
        let mut client = connect();
        let mut get = |name: &str| {
            let value = client.as_mut().map_err(|why| why.clone())?.get(name);
            if matches!(value, Err(StoreWrong::NoConnection(_))) {
                client = connect();
                return client.as_mut().map_err(|why| why.clone())?.get(name);
            }
            value
        };
        for (key, name) in due.keys().take_while(|_| began.elapsed() < WITHIN) {
            let value = match get(&name) {
                Ok(value) => value,
                // Whoever kept nothing would rather not say.
                Err(why) => {
                    back.refused = Some(format!("{name}: {why}"));
                    break;
                }
            };
            back.keys += 1;
            let (count, what) = match due.judge(key, value.as_deref()) {
                Back::Right => continue,
                Back::Missing(what) => (&mut back.missing, what),
                Back::Wrong(what) => (&mut back.wrong, what),
                Back::Overwritten(what) => (&mut back.overwritten, what),
            };
            *count += 1;
            back.example.get_or_insert(what);
        }
        back
    }
}
