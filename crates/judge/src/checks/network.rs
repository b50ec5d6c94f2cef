//! Was the network the limit?

use result::evidence::Work;

use super::check::{Check, Scope, TrialSeen, Word};

/// Bytes a second over the loopback interface that are mostly copying.
const BYTES_SUSPECT: f64 = 1e9;

pub(super) const NETWORK: Check = Check {
    id: "network",
    signal: "Bytes a second over the loopback interface: all connections of the network namespace, both directions.",
    threshold: "less than 1 GB/s for each core of the contender",
    why: "Loopback has no line speed. Its limit is how fast processors copy memory, twice for each byte. A core copies about 10 GB/s. So from 1 GB/s on, a fifth of a core does nothing else, and contenders look more alike than they are. On the gigabit Ethernet of 2009 the limit was 0.125 GB/s.",
    fix: "Compare with shorter answers, or compare bytes a second and CPU time instead of answers.",
    scope: Scope::Trial(|seen, work| {
        seen.kind.is_asked().then(|| seen.with_hosts(look(seen, work)))
    }),
};

fn look(seen: &TrialSeen, work: &Work) -> Word {
    let Some(bytes) = seen.evidence.machine.loopback_bytes else {
        return Word::not_checked("The bytes on the network couldn't be counted.");
    };
    let rate = bytes as f64 / work.seconds;
    let cores = seen.evidence.place.server_cpus.len().max(1);
    let a_core = rate / cores as f64;
    let value = format!("{:.3} GB/s a core", a_core / 1e9);
    if a_core < BYTES_SUSPECT {
        Word::valid(value, "The network had room.")
    } else {
        Word::suspect(value, "Copying bytes took a large part of the time.")
    }
}

#[cfg(test)]
mod tests {
    use result::finding::Verdict;

    use super::super::sound::word_after;
    use super::*;

    #[test]
    fn a_load_that_is_mostly_copying_casts_doubt() {
        let with = |bytes| {
            word_after(&NETWORK, |evidence| evidence.machine.loopback_bytes = Some(bytes)).verdict
        };
        assert_eq!(with(3_900_000_000), Verdict::Valid, "in 4 s");
        assert_eq!(with(4_000_000_000), Verdict::Suspect);
    }

    #[test]
    fn more_cores_copy_more() {
        let word = word_after(&NETWORK, |evidence| {
            evidence.machine.loopback_bytes = Some(6_000_000_000);
            evidence.place.server_cpus = vec![0, 2];
        });
        assert_eq!((word.verdict, &*word.value), (Verdict::Valid, "0.750 GB/s a core"));
    }

    #[test]
    fn bytes_that_nobody_counted_are_not_checked() {
        let word = word_after(&NETWORK, |evidence| evidence.machine.loopback_bytes = None);
        assert_eq!(word.verdict, Verdict::NotChecked);
    }
}
