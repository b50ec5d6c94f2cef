//! Which keys of a run a store has to have when it is over, for who reads some of them back: work
//! that only writes reads none itself.
//!
//! Keys are drawn from those that were written. Each has to have the value of its last write, or
//! of a later one than is known of. Of the last requests of a run, and of those that were under
//! way together, nobody knows which came first: they decide nothing. Who wants to know of the last
//! moment writes on, one write after the other.

use std::collections::BTreeMap;

use super::choice::{Choice, PRELOADED};
use super::shown;
use super::value::Values;
use crate::plan::keys::Operation;
use crate::plan::template::mix;
use crate::plan::{Arrivals, Plan, Workload};

/// So many requests of each that may be under way at once lie between two writes before the one
/// is known to have come after the other.
const ROUNDS: u64 = 100;
/// The last requests that are looked through for writes.
const LOOKED_THROUGH: u64 = 2_000_000;

/// What has to be there.
#[derive(Debug, Clone)]
pub struct KeysDue {
    choice: Choice,
    values: Values,
    /// Each key that was drawn, with its last write.
    last: BTreeMap<u64, LastWrite>,
    /// Between two writes whose order is known.
    apart: u64,
    /// No request of the run has this number or a later one.
    end: u64,
    may_be_gone: bool,
    evicts: bool,
}

/// The last write of a key, as far as is known.
#[derive(Debug, Clone, Copy)]
struct LastWrite {
    write: u64,
    /// Whether every other had been answered before.
    is_alone: bool,
}

/// A write as the run would have sent it next.
#[derive(Debug, Clone)]
pub struct NextWrite {
    key: u64,
    write: u64,
    /// The name of its key.
    pub name: String,
    /// What its key is given.
    pub value: Vec<u8>,
}

/// What a key turned out to have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Back {
    /// The value that it has to have.
    Right,
    /// None, though it was written.
    Missing(String),
    /// Another one than was ever written to it.
    Wrong(String),
    /// One that was overwritten long before.
    Overwritten(String),
}

impl KeysDue {
    /// Draws so many keys at most, after a run in which so many requests were sent. `None` where
    /// it wrote none, or where numbers of requests don't tell which were sent.
    pub fn draw(plan: &Plan, sent: u64, count: u64, draws: u64) -> Option<KeysDue> {
        let Workload::Keys(keys) = &plan.work else { return None };
        if plan.arrivals != Arrivals::Closed || keys.share_of(Operation::Set) == 0.0 {
            return None;
        }
        let apart = ROUNDS * u64::from(plan.connections) * u64::from(plan.pipeline);
        let known = sent.saturating_sub(apart.min(sent / 2));
        let choice = Choice::new(keys, plan.seed);
        let write = |number: u64| {
            let asked = choice.of(number);
            (asked.operation == Operation::Set).then_some((asked.key, number))
        };
        let numbers = known.saturating_sub(LOOKED_THROUGH)..known;
        let drawn = (0..count.min(known))
            .map(|nth| numbers.start + mix(draws ^ mix(nth)) % (numbers.end - numbers.start));
        let one_of_several = |(key, write)| (key, LastWrite { write, is_alone: false });
        let mut last: BTreeMap<u64, LastWrite> =
            drawn.filter_map(write).map(one_of_several).collect();
        for (key, number) in numbers.filter_map(write) {
            if let Some(last) = last.get_mut(&key) {
                last.write = number.max(last.write);
            }
        }
        let values = Values::new(plan.seed, keys.value_bytes.clone());
        let (may_be_gone, evicts, end) = (keys.may_be_gone(), keys.evicts, sent + apart);
        (!last.is_empty()).then_some(KeysDue {
            choice,
            values,
            last,
            apart,
            end,
            may_be_gone,
            evicts,
        })
    }

    /// So many writes as the run would go on with: of its keys, with its values.
    pub fn next_writes(&self, count: usize) -> Vec<NextWrite> {
        let asked = (self.end..).map(|number| self.choice.of(number));
        let writes = asked.filter(|asked| asked.operation == Operation::Set).map(|asked| {
            let mut value = Vec::new();
            self.values.append(asked.write, asked.key, 0, &mut value);
            NextWrite { key: asked.key, write: asked.write, name: shown(asked.key), value }
        });
        writes.take(count).collect()
    }

    /// One of them was acknowledged, before another was sent.
    pub fn is_acknowledged(&mut self, of: &NextWrite) {
        self.last.insert(of.key, LastWrite { write: of.write, is_alone: true });
    }

    /// The keys, by number and name.
    pub fn keys(&self) -> impl Iterator<Item = (u64, String)> {
        self.last.keys().map(|key| (*key, shown(*key)))
    }

    /// What it says that a key has this value, or none.
    pub fn judge(&self, key: u64, value: Option<&[u8]>) -> Back {
        let nothing = LastWrite { write: 0, is_alone: false };
        let last = self.last.get(&key).copied().unwrap_or(nothing);
        let (may_be_gone, apart) =
            if last.is_alone { (self.evicts, 0) } else { (self.may_be_gone, self.apart) };
        let Some(value) = value else {
            return if may_be_gone {
                Back::Right
            } else {
                Back::Missing(format!("{} isn't there, and was written", shown(key)))
            };
        };
        match self.values.check(value, key) {
            Err(why) => Back::Wrong(format!("{} has {why}", shown(key))),
            Ok(header) if !self.choice.is_write_of(header.write, key) => {
                Back::Wrong(format!("{} has a value that was never written", shown(key)))
            }
            Ok(header) => {
                let is_of_preload = header.write & PRELOADED != 0;
                if is_of_preload || header.write.saturating_add(apart) < last.write {
                    let which = if is_of_preload {
                        "of the preload".into()
                    } else {
                        format!("of request {}", header.write)
                    };
                    let key = shown(key);
                    Back::Overwritten(format!(
                        "{key} has the value {which}, which request {} has overwritten",
                        last.write
                    ))
                } else {
                    Back::Right
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::plan::Target;
    use crate::plan::keys::{Chosen, Dialect, Keys, KeysPhase};

    fn plan(chosen: Chosen) -> Plan {
        let keys = Keys {
            dialect: Dialect::MemcachedText,
            phase: KeysPhase::Mix,
            mix: vec![(Operation::Set, 1)],
            count: 1_000,
            chosen,
            value_bytes: 100..=100,
            together: 1,
            expires_s: 0,
            are_there: true,
            evicts: false,
        };
        let address = "127.0.0.1:1".parse().unwrap();
        let target = Target { address, authority: String::new(), path: String::new() };
        let plan = Plan::new(target, Vec::new());
        Plan { work: Workload::Keys(keys), connections: 1, seed: 7, ..plan }
    }

    const SENT: u64 = 20_000;

    /// A store that was sent all requests of a plan, and did with each write what this says.
    fn read_back(chosen: Chosen, keeps: impl Fn(u64) -> bool) -> Vec<Back> {
        let plan = plan(chosen);
        let Workload::Keys(keys) = &plan.work else { unreachable!("it is one of keys") };
        let choice = Choice::new(keys, plan.seed);
        let values = Values::new(plan.seed, 100..=100);
        let mut store: HashMap<u64, Vec<u8>> = HashMap::new();
        let mut set = |key: u64, write: u64| {
            let mut value = Vec::new();
            values.append(write, key, 0, &mut value);
            store.insert(key, value);
        };
        (0..1_000).for_each(|key| set(key, PRELOADED | key));
        (0..SENT).filter(|number| keeps(*number)).for_each(|number| {
            set(choice.of(number).key, number);
        });
        let due = KeysDue::draw(&plan, SENT, 500, 3).unwrap();
        let keys: Vec<u64> = due.keys().map(|(key, _)| key).collect();
        assert!(keys.len() > 200, "{}", keys.len());
        keys.into_iter().map(|key| due.judge(key, store.get(&key).map(Vec::as_slice))).collect()
    }

    /// Else a store that says OK and keeps nothing has the rate of one that keeps all.
    #[test]
    fn a_store_that_drops_writes_is_found_by_what_it_has_afterwards() {
        for chosen in [Chosen::Sequential, Chosen::Uniform, Chosen::Zipf { skew: 0.99 }] {
            let honest = read_back(chosen, |_| true);
            assert!(honest.iter().all(|back| *back == Back::Right), "{chosen:?}: {honest:?}");
            let nothing = read_back(chosen, |_| false);
            assert!(nothing.iter().all(|back| matches!(back, Back::Overwritten(_))), "{chosen:?}");
        }
        let some = read_back(Chosen::Uniform, |number| number % 100 != 0);
        assert!(some.iter().any(|back| *back != Back::Right), "one of a hundred is dropped");
    }

    #[test]
    fn what_was_under_way_together_may_be_in_either_order() {
        let due = KeysDue::draw(&plan(Chosen::Sequential), SENT, 500, 3).unwrap();
        let (key, LastWrite { write: last, .. }) = due.last.iter().next().unwrap();
        let of = |write: u64| {
            let mut value = Vec::new();
            due.values.append(write, *key, 0, &mut value);
            due.judge(*key, Some(&value))
        };
        assert_eq!(of(*last), Back::Right);
        assert_eq!(of(last + 1_000), Back::Right, "a later one that the draw didn't know of");
        assert!(matches!(of(last - 1_000), Back::Overwritten(_)));
        assert!(matches!(of(last - 1), Back::Wrong(_)), "it is another key's");
        assert!(matches!(due.judge(*key, None), Back::Missing(_)));
    }

    /// Else a store that keeps what it acknowledged a little later would pass a crash.
    #[test]
    fn of_what_is_written_on_the_last_write_has_to_be_there() {
        let mut due = KeysDue::draw(&plan(Chosen::Sequential), SENT, 500, 3).unwrap();
        let writes = due.next_writes(3);
        let [first, refused, last] = &writes[..] else { panic!("three were asked for") };
        let (of_first, of_last) = (first.clone(), last.clone());
        assert!(!due.last.contains_key(&refused.key) || !due.last[&refused.key].is_alone);
        due.is_acknowledged(&of_first);
        due.is_acknowledged(&of_last);
        for NextWrite { key, name, value, .. } in [&of_first, &of_last] {
            assert!(due.keys().any(|due| due == (*key, name.clone())));
            assert_eq!(due.judge(*key, Some(value)), Back::Right);
            assert!(matches!(due.judge(*key, None), Back::Missing(_)));
        }
        // A round of all keys before.
        let before = of_last.write - 1_000;
        let mut value = Vec::new();
        due.values.append(before, of_last.key, 0, &mut value);
        assert!(matches!(due.judge(of_last.key, Some(&value)), Back::Overwritten(_)));
    }

    #[test]
    fn what_was_only_read_is_not_read_back() {
        let mut plan = plan(Chosen::Uniform);
        if let Workload::Keys(keys) = &mut plan.work {
            keys.mix = vec![(Operation::Get, 1)];
        }
        assert!(KeysDue::draw(&plan, SENT, 500, 3).is_none());
        assert!(KeysDue::draw(&self::plan(Chosen::Uniform), 0, 500, 3).is_none());
    }
}
