//! Which keys of a run a store has to have when it is over, for who reads some of them back: work
//! that only writes reads none itself.
//!
//! Keys are drawn from those that were written or removed. Each has to have the value of its last
//! write, or of a later one than is known of; a key that was removed last has to have none. Of the
//! last requests of a run, and of those that were under way together, nobody knows which came
//! first: they decide nothing. Who wants to know of the last moment writes on, one write after the
//! other.

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
    /// Each key that was drawn, with what changed it last.
    last: BTreeMap<u64, LastChange>,
    /// Between two writes whose order is known.
    apart: u64,
    /// No request of the run has this number or a later one.
    end: u64,
    expires: bool,
    evicts: bool,
}

/// The last write or removal of a key, as far as is known.
#[derive(Debug, Clone, Copy)]
struct LastChange {
    /// The number of its request.
    write: u64,
    /// That of the last removal that was sent, answered or not.
    removal: Option<u64>,
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

impl NextWrite {
    /// The number of its key.
    pub fn key(&self) -> u64 {
        self.key
    }
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
    /// One that was overwritten or removed long before.
    Overwritten(String),
}

impl KeysDue {
    /// Draws so many keys at most, after a run in which so many requests were sent. `None` where
    /// it changed none, or where numbers of requests don't tell which were sent.
    pub fn draw(plan: &Plan, sent: u64, count: u64, draws: u64) -> Option<KeysDue> {
        let Workload::Keys(keys) = &plan.work else { return None };
        if plan.arrivals != Arrivals::Closed || keys.share_of(Operation::Get) >= 1.0 {
            return None;
        }
        let apart = ROUNDS * u64::from(plan.connections) * u64::from(plan.pipeline);
        let known = sent.saturating_sub(apart.min(sent / 2));
        let choice = Choice::new(keys, plan.seed);
        let change = |number: u64| {
            let asked = choice.of(number);
            (asked.operation != Operation::Get).then_some((asked, number))
        };
        let numbers = known.saturating_sub(LOOKED_THROUGH)..known;
        let drawn = (0..count.min(known))
            .map(|nth| numbers.start + mix(draws ^ mix(nth)) % (numbers.end - numbers.start));
        let one_of_several = LastChange { write: 0, removal: None, is_alone: false };
        let mut last: BTreeMap<u64, LastChange> =
            drawn.filter_map(change).map(|(asked, _)| (asked.key, one_of_several)).collect();
        for (asked, number) in (numbers.start..sent).filter_map(change) {
            let Some(last) = last.get_mut(&asked.key) else { continue };
            if number < known {
                last.write = number;
            }
            if asked.operation == Operation::Delete {
                last.removal = Some(number);
            }
        }
        let values = Values::new(plan.seed, keys.value_bytes.clone());
        let (expires, evicts, end) = (keys.expires_s > 0, keys.evicts, sent + apart);
        (!last.is_empty()).then_some(KeysDue { choice, values, last, apart, end, expires, evicts })
    }

    /// So many writes as the run would go on with: of its keys, with its values. None where it only
    /// removes.
    pub fn next_writes(&self, count: usize) -> Vec<NextWrite> {
        let next = self.end..self.end + LOOKED_THROUGH;
        let asked = next.map(|number| self.choice.of(number));
        let writes = asked.filter(|asked| asked.operation == Operation::Set).map(|asked| {
            let mut value = Vec::new();
            self.values.append(asked.write, asked.key, 0, &mut value);
            NextWrite { key: asked.key, write: asked.write, name: shown(asked.key), value }
        });
        writes.take(count).collect()
    }

    /// One of them was acknowledged, before another was sent.
    pub fn is_acknowledged(&mut self, of: &NextWrite) {
        self.last.insert(of.key, LastChange { write: of.write, removal: None, is_alone: true });
    }

    /// The keys, by number and name.
    pub fn keys(&self) -> impl Iterator<Item = (u64, String)> {
        self.last.keys().map(|key| (*key, shown(*key)))
    }

    /// What it says that a key has this value, or none.
    pub fn judge(&self, key: u64, value: Option<&[u8]>) -> Back {
        let nothing = LastChange { write: 0, removal: None, is_alone: false };
        let last = self.last.get(&key).copied().unwrap_or(nothing);
        let apart = if last.is_alone { 0 } else { self.apart };
        let Some(value) = value else {
            let may_be_removed = last.removal.is_some_and(|it| it + apart > last.write);
            return if self.evicts || self.expires || may_be_removed {
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
                    let did = match self.choice.of(last.write).operation {
                        Operation::Delete => "removed",
                        Operation::Get | Operation::Set => "overwritten",
                    };
                    Back::Overwritten(format!(
                        "{key} has the value {which}, which request {} has {did}",
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
        let (key, LastChange { write: last, .. }) = due.last.iter().next().unwrap();
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

    /// Else a store that says that it removed a key, and keeps it, does less than one that removes.
    #[test]
    fn a_store_that_keeps_what_was_removed_is_found_by_what_it_has_afterwards() {
        let mut plan = plan(Chosen::Uniform);
        let Workload::Keys(keys) = &mut plan.work else { unreachable!("it is one of keys") };
        keys.mix = vec![(Operation::Set, 1), (Operation::Delete, 1)];
        let (choice, values) = (Choice::new(keys, plan.seed), Values::new(plan.seed, 100..=100));
        let back = |removes: bool, loses: bool| -> Vec<Back> {
            let mut store: HashMap<u64, Vec<u8>> = HashMap::new();
            for number in 0..SENT {
                let asked = choice.of(number);
                let mut value = Vec::new();
                values.append(number, asked.key, 0, &mut value);
                match asked.operation {
                    Operation::Set if loses => {}
                    Operation::Set => drop(store.insert(asked.key, value)),
                    Operation::Delete if removes => drop(store.remove(&asked.key)),
                    Operation::Get | Operation::Delete => {}
                }
            }
            let due = KeysDue::draw(&plan, SENT, 500, 3).unwrap();
            let keys =
                due.keys().map(|(key, _)| due.judge(key, store.get(&key).map(Vec::as_slice)));
            keys.collect()
        };
        let honest = back(true, false);
        assert!(honest.iter().all(|back| *back == Back::Right), "{honest:?}");
        let removed = |it: &Back| matches!(it, Back::Overwritten(why) if why.ends_with("removed"));
        assert!(back(false, false).iter().any(removed), "what was removed has to be gone");
        let missing = |it: &Back| matches!(it, Back::Missing(_));
        assert!(back(true, true).iter().any(missing), "what was written last has to be there");
    }

    /// Else a crash at the end of work that only removes would be waited for without an end.
    #[test]
    fn work_that_only_removes_has_no_next_writes() {
        let mut plan = plan(Chosen::Uniform);
        if let Workload::Keys(keys) = &mut plan.work {
            keys.mix = vec![(Operation::Delete, 1)];
        }
        let due = KeysDue::draw(&plan, SENT, 500, 3).unwrap();
        assert!(due.next_writes(3).is_empty());
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
