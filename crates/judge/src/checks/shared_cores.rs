//! Did client and server take time from each other?

use result::evidence::Place;

use super::check::{Check, Scope, TrialSeen, Word};

pub(super) const SHARED_CORES: Check = Check {
    id: "shared-cores",
    signal: "The processors that contender and load were bound to, and which of them are siblings on one physical core.",
    threshold: "no processor and no physical core in common",
    why: "On shared cores a cheaper client makes a faster server, and the scheduler's turns are in the latency. Siblings (SMT, hyper-threads) share one core's units and caches, so each slows the other down. Such figures compare contenders under the same client on the same machine, and nothing else.",
    fix: "Use a machine with four cores or more, where both have their own, or read the figures of one core.",
    scope: Scope::Anyway(|seen| seen.kind.is_asked().then(|| look(seen))),
};

fn look(seen: &TrialSeen) -> Word {
    let place = &seen.evidence.place;
    let mut hosts = seen.evidence.hosts();
    if place.client_cpus.is_empty() && hosts.any(|host| !host.is_here) {
        return Word::valid("none shared", "The load came from other machines.");
    }
    if place.server_cpus.is_empty() || place.client_cpus.is_empty() {
        return Word::not_checked("It is not known where contender and load ran.");
    }
    let shared = named(place.server_cpus.iter().filter(|cpu| place.client_cpus.contains(cpu)));
    if !shared.is_empty() {
        return Word::suspect(
            format!("cpu {shared} shared"),
            "Client and server took time from each other.",
        );
    }
    if place.cores.is_empty() {
        return Word::not_checked("Which processors share a physical core is not known.");
    }
    let siblings = named(place.server_cpus.iter().filter(|&&cpu| has_sibling(place, cpu)));
    if siblings.is_empty() {
        Word::valid("none shared", "Contender and load had cores of their own.")
    } else {
        Word::suspect(
            format!("core of cpu {siblings} shared"),
            "Client and server ran on siblings, which slow each other down.",
        )
    }
}

/// Whether the load has another processor of the physical core that this one is on.
fn has_sibling(place: &Place, cpu: usize) -> bool {
    let core = place.cores.iter().find(|core| core.contains(&cpu));
    core.is_some_and(|core| core.iter().any(|sibling| place.client_cpus.contains(sibling)))
}

fn named<'a>(cpus: impl Iterator<Item = &'a usize>) -> String {
    cpus.map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use result::finding::Verdict;

    use super::super::sound::{on_hosts, word_after};
    use super::*;

    #[test]
    fn a_processor_in_common_casts_doubt() {
        let word = word_after(&SHARED_CORES, |evidence| evidence.place.client_cpus = vec![1, 0]);
        assert_eq!((word.verdict, &*word.value), (Verdict::Suspect, "cpu 0 shared"));
    }

    #[test]
    fn siblings_on_one_physical_core_cast_doubt() {
        let with = |cores: &[&[usize]]| {
            word_after(&SHARED_CORES, |evidence| {
                evidence.place.cores = cores.iter().map(|core| core.to_vec()).collect();
            })
        };
        let word = with(&[&[0, 1], &[2, 3]]);
        assert_eq!((word.verdict, &*word.value), (Verdict::Suspect, "core of cpu 0 shared"));
        assert_eq!(with(&[&[0, 2], &[1, 3]]).verdict, Verdict::Valid);
        assert_eq!(with(&[]).verdict, Verdict::NotChecked);
    }

    #[test]
    fn an_unknown_place_is_not_checked() {
        let word = word_after(&SHARED_CORES, |evidence| evidence.place = Default::default());
        assert_eq!(word.verdict, Verdict::NotChecked);
    }

    #[test]
    fn hosts_on_other_machines_share_nothing() {
        let word = word_after(&SHARED_CORES, |evidence| on_hosts(evidence, 3));
        assert_eq!(word.verdict, Verdict::Valid);
    }
}
