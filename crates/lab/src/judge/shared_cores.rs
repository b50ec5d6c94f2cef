//! Did client and server take time from each other?

use super::{Check, Seen, Word};

pub(super) const SHARED_CORES: Check = Check {
    id: "shared-cores",
    signal: "The processors that contender and load were bound to.",
    threshold: "no processor in common",
    why: "On shared cores a cheaper client makes a faster server, and latency has the scheduler's turns in it. Such figures compare contenders under the same client on the same machine, and nothing else.",
    fix: "Use a machine with four cores or more, where both have their own, or read the figures of one core.",
    look,
};

fn look(seen: &Seen) -> Word {
    let place = &seen.evidence.place;
    if place.server_cpus.is_empty() || place.client_cpus.is_empty() {
        return Word::not_checked("It is not known where contender and load ran.");
    }
    let shared: Vec<String> = place
        .server_cpus
        .iter()
        .filter(|cpu| place.client_cpus.contains(cpu))
        .map(ToString::to_string)
        .collect();
    match shared.is_empty() {
        true => Word::valid("none shared", "Contender and load had cores of their own."),
        false => Word::suspect(
            format!("cpu {} shared", shared.join(", ")),
            "Client and server took time from each other.",
        ),
    }
}

#[cfg(test)]
mod tests {
    use result::finding::Verdict;

    use super::super::tests::word_after;
    use super::*;

    #[test]
    fn a_processor_in_common_casts_doubt() {
        let word = word_after(&SHARED_CORES, |evidence| evidence.place.client_cpus = vec![1, 0]);
        assert_eq!((word.verdict, &*word.value), (Verdict::Suspect, "cpu 0 shared"));
    }

    #[test]
    fn an_unknown_place_is_not_checked() {
        let word = word_after(&SHARED_CORES, |evidence| evidence.place = Default::default());
        assert_eq!(word.verdict, Verdict::NotChecked);
    }
}
