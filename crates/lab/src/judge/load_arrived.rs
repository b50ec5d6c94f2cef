//! Did the load arrive?

use result::evidence::Evidence;

use super::{Check, Scope, Seen, Word};

pub(super) const LOAD_ARRIVED: Check = Check {
    id: "load-arrived",
    signal: "Where connections are kept: how many were asked for, and how many established at once as the client counts them, and at the server's port as the kernel counts them. In every load: SYN segments that had to be sent again, and overflows of listen queues.",
    threshold: "all connections established, on both sides; no SYN sent again, no listen queue overflown",
    why: "With fewer connections than asked for, the figure belongs to another load: a limit of 1,024 connections makes 5,000 look easy. A lost SYN is sent again after 1, 3 and 7 seconds, which was read as a server's latency in 2009. With a connection a request, how many are established at a moment is chance; that as many were at work as were asked for is seen by `arithmetic`.",
    fix: "Raise the server's limit of connections, its backlog and `net.core.somaxconn`, and the open files allowed; then measure again.",
    scope: Scope::Trial(look),
};

fn look(seen: &Seen) -> Word {
    let Some(load) = seen.load() else { return Word::no_load() };
    let is_kept = seen.slot.load.keep_alive;
    let asked = load.connections_asked;
    let client = load.connections_established;
    if is_kept && client < asked {
        return Word::invalid(
            format!("{client} of {asked} established"),
            "Fewer connections carried the load than the figure says.",
        )
        .against("all");
    }
    let server = seen.evidence.samples.iter().filter_map(|it| it.connections_established).max();
    if let Some(server) = server.filter(|&server| is_kept && server < asked) {
        return Word::invalid(
            format!("{server} of {asked} established at the server"),
            "The server had fewer connections than the client thought.",
        )
        .against("all");
    }
    let syn = load.syn_retransmits;
    let overflows = overflows(seen.evidence);
    if syn > 0 || overflows.is_some_and(|count| count > 0) {
        return Word::suspect(
            format!("{syn} SYN sent again, {} listen overflows", overflows.unwrap_or(0)),
            "Connections were lost while they were made, and made again seconds later.",
        )
        .against("none");
    }
    match (server, overflows) {
        (None, _) if is_kept => {
            Word::not_checked("The connections at the server couldn't be counted.")
        }
        (_, None) => Word::not_checked("Overflows of listen queues couldn't be counted."),
        (_, Some(_)) if !is_kept => Word::valid(
            format!("{} connections made", load.reconnects + u64::from(asked)),
            "No connection was lost while it was made.",
        ),
        (_, Some(_)) => Word::valid(
            format!("{client} of {asked} established"),
            "Every connection asked for was there, at both ends.",
        ),
    }
}

/// The most connections that a full queue can have cost. What the contender's
/// listeners dropped is a bound: where they defer accepting (TCP_DEFER_ACCEPT), the
/// last acknowledgement of each handshake is dropped and counted too, and nothing
/// is lost. Overflows of all listeners, by the kernel's own count, are another.
fn overflows(evidence: &Evidence) -> Option<u64> {
    let dropped = evidence.listen_overflows?;
    Some(evidence.machine.listen_overflows_of_all.map_or(dropped, |all| dropped.min(all)))
}

#[cfg(test)]
mod tests {
    use result::finding::Verdict;

    use super::super::tests::{of_one_request_each, word_after, word_after_load, word_on};
    use super::*;

    #[test]
    fn a_connection_too_few_at_the_client_makes_the_figures_invalid() {
        let word = word_after_load(&LOAD_ARRIVED, |load| load.connections_established = 99);
        assert_eq!((word.verdict, &*word.value), (Verdict::Invalid, "99 of 100 established"));
    }

    #[test]
    fn a_limit_at_the_server_makes_the_figures_invalid() {
        let word = word_after(&LOAD_ARRIVED, |evidence| {
            for sample in &mut evidence.samples {
                sample.connections_established = Some(64);
            }
        });
        assert_eq!(word.verdict, Verdict::Invalid);
        assert_eq!(word.value, "64 of 100 established at the server");
    }

    #[test]
    fn with_a_connection_a_request_only_what_was_lost_counts() {
        let with = |overflows| {
            let (slot, mut evidence) = of_one_request_each();
            evidence.listen_overflows = overflows;
            word_on(&LOAD_ARRIVED, &slot, &evidence).verdict
        };
        assert_eq!(with(Some(0)), Verdict::Valid, "57 of 100 established is chance");
        assert_eq!(with(Some(1)), Verdict::Suspect);
        assert_eq!(with(None), Verdict::NotChecked);
    }

    #[test]
    fn a_lost_syn_or_an_overflow_casts_doubt() {
        let word = word_after_load(&LOAD_ARRIVED, |load| load.syn_retransmits = 1);
        assert_eq!(word.verdict, Verdict::Suspect);
        let word = word_after(&LOAD_ARRIVED, |evidence| evidence.listen_overflows = Some(3));
        assert_eq!(word.verdict, Verdict::Suspect);
    }

    #[test]
    fn deferred_accepting_drops_acknowledgements_and_costs_nothing() {
        let word = word_after(&LOAD_ARRIVED, |evidence| {
            evidence.listen_overflows = Some(100);
            evidence.machine.listen_overflows_of_all = Some(0);
        });
        assert_eq!(word.verdict, Verdict::Valid);
    }

    #[test]
    fn overflows_of_other_listeners_are_not_the_contenders() {
        let word = word_after(&LOAD_ARRIVED, |evidence| {
            evidence.listen_overflows = Some(0);
            evidence.machine.listen_overflows_of_all = Some(100);
        });
        assert_eq!(word.verdict, Verdict::Valid);
    }

    #[test]
    fn a_missing_sensor_is_not_checked() {
        let word = word_after(&LOAD_ARRIVED, |evidence| evidence.listen_overflows = None);
        assert_eq!(word.verdict, Verdict::NotChecked);
        let word = word_after(&LOAD_ARRIVED, |evidence| evidence.samples.clear());
        assert_eq!(word.verdict, Verdict::NotChecked);
    }
}
