//! Did the load arrive?

use result::evidence::{Evidence, Sample};

use super::check::{Check, Load, LoadRule, Scope, TrialSeen, Word};

/// Share of the connections made that may be lost on the way, before the 99th
/// percentile is the time after which the kernel tries again.
const LOST_INVALID: f64 = 0.01;

pub(super) const LOAD_ARRIVED: Check = Check {
    id: "load-arrived",
    signal: "Where connections are kept: how many were asked for, and how many were established at once. The client counts them. So does the kernel at the server's port, without those that the server hasn't accepted. Of robots in rooms count those that are in their rooms. If that would cost too much: whether the number of all TCP sockets grew by both ends of each. In every load, of the connections made within the window: SYN segments that had to be sent again, and overflows of listen queues.",
    threshold: "all connections established, on both sides, and accepted, in an open loop all that were asked, or half of them accepted where each was cut about once or more; no SYN sent again, no listen queue overflown; invalid from one connection in a hundred on",
    why: "With fewer connections than asked for, the figure belongs to another load: a limit of 1,024 connections makes 5,000 look easy. The kernel establishes connections also for a server that never accepts them, so all looks well to the client. A loop that accepts one connection a turn, and answers all the others in that turn, leaves hundreds waiting for seconds. A server that cuts connections (`keep-alive` shows it) cuts many at about the same time, so some are missing at any moment. A lost SYN is sent again after 1, 3 and 7 seconds. In 2009 that was read as a server's latency. From one connection in a hundred on, it is the 99th percentile. With a connection a request, chance decides how many are established at a moment. `arithmetic` then shows whether as many were at work as were asked for.",
    fix: "Raise the server's limit of connections, its backlog and `net.core.somaxconn`, and the open files allowed; where connections wait in its queue, let it accept more than one a turn of its loop, or in a loop of its own (nginx: `multi_accept`; Netty: a parent group); then measure again.",
    scope: Scope::Trial(|seen, _| {
        seen.under_load(|load| RULES.iter().find_map(|rule| rule(seen, load)))
    }),
};

/// The first that speaks is the word.
const RULES: [LoadRule; 5] =
    [too_few_at_the_client, too_few_at_the_server, lost_on_the_way, not_counted, all_arrived];

fn too_few_at_the_client(seen: &TrialSeen, load: &Load) -> Option<Word> {
    let (client, asked) = (load.client.connections_established, load.client.connections_asked);
    (seen.slot.setting.kept() && client < asked).then(|| {
        Word::invalid(
            format!("{client} of {asked} established"),
            seen.either(
                "Fewer connections carried the load than the figure says.",
                "Fewer robots came into their rooms than the figure says.",
            ),
        )
        .against("all")
    })
}

fn too_few_at_the_server(seen: &TrialSeen, load: &Load) -> Option<Word> {
    let (server, queued) = at_the_server(seen).filter(|_| seen.slot.setting.kept())?;
    let asked = load.client.connections_asked;
    let is_cut = load.client.cut.is_some_and(|cut| cut >= u64::from(asked));
    let enough = if is_cut { asked.div_ceil(2) } else { asked };
    let accepted = format!("{server} of {asked} accepted by the server");
    let word = if server >= enough {
        return None;
    } else if queued == 0 && only_unasked_may_be_missing(seen, load) {
        return Some(Word::valid(
            accepted,
            "The server takes a connection when its first request comes, and this load didn't ask \
             all of them.",
        ));
    } else if server + queued < asked {
        Word::invalid(accepted, "The server had fewer connections than the client thought.")
    } else {
        Word::invalid(
            format!("{accepted}, {queued} in its queue"),
            "Some connections waited to be accepted while the server answered others.",
        )
    };
    Some(word.against("all"))
}

/// Whether those that the server lacks may be those that nobody asked: a listener may defer
/// accepting until a request comes (TCP_DEFER_ACCEPT), and an open loop asks as many as its rate
/// takes.
fn only_unasked_may_be_missing(seen: &TrialSeen, load: &Load) -> bool {
    let (fewest_answers, _) = load.client.answers_a_connection;
    let all_asked_were_answered = load.client.connections_unanswered == Some(0);
    // A robot comes into its room by what it says, so that all were asked.
    let may_be_unasked = seen.is_open_loop() && !seen.kind.passes_on();
    may_be_unasked && fewest_answers == 0 && all_asked_were_answered
}

fn lost_on_the_way(seen: &TrialSeen, load: &Load) -> Option<Word> {
    let (syn, overflows) = (load.client.syn_retransmits, overflows(seen.evidence, load));
    let lost = Some(syn.max(overflows.unwrap_or(0))).filter(|&lost| lost > 0)?;
    let overflows = overflows.map_or_else(String::new, |it| format!(", {it} listen overflows"));
    let value = format!("{syn} SYN sent again{overflows}");
    let lost_some = "Connections were lost while they were made, and made again seconds later.";
    let says = match too_short(seen, load) {
        Some(backlog) => format!(
            "{lost_some} The server's listen queue has a backlog of {backlog}, and as many as {} \
             were made at once, one a request.",
            load.client.connections_asked
        ),
        None => lost_some.into(),
    };
    let word = if lost as f64 >= LOST_INVALID * made(load) as f64 {
        Word::invalid(value, says)
    } else {
        Word::suspect(value, says)
    };
    Some(word.against("none; invalid from one connection in a hundred on"))
}

/// The backlog of the server's listen queue, where a load with a connection a request overflows
/// that by its nature: Linux lets one more wait.
fn too_short(seen: &TrialSeen, load: &Load) -> Option<u32> {
    let backlog = seen.evidence.listen_backlog.filter(|_| !seen.slot.setting.kept())?;
    (backlog.saturating_add(1) < load.client.connections_asked).then_some(backlog)
}

fn not_counted(seen: &TrialSeen, load: &Load) -> Option<Word> {
    if seen.slot.setting.kept() && at_the_server(seen).is_none() {
        return Some(Word::not_checked("The connections at the server couldn't be counted."));
    }
    let unknown = || Word::not_checked("Overflows of listen queues couldn't be counted.");
    overflows(seen.evidence, load).is_none().then(unknown)
}

fn all_arrived(seen: &TrialSeen, load: &Load) -> Option<Word> {
    let (client, asked) = (load.client.connections_established, load.client.connections_asked);
    Some(if seen.slot.setting.kept() {
        Word::valid(
            format!("{client} of {asked} established"),
            "Every connection asked for was there, at both ends.",
        )
    } else {
        Word::valid(
            format!("{} connections made", made(load)),
            "No connection was lost while it was made.",
        )
    })
}

/// Connections that the load made within the window.
fn made(load: &Load) -> u64 {
    load.client.made.unwrap_or(load.client.reconnects + u64::from(load.client.connections_asked))
}

/// The most connections that the server had accepted, and how many were in its queue then.
fn at_the_server(seen: &TrialSeen) -> Option<(u32, u32)> {
    let samples = seen.evidence.samples.iter();
    samples.filter_map(|sample| Some((accepted(sample)?, sample.accept_queue?))).max()
}

/// The connections that the server has: established, and no longer in its queue.
fn accepted(sample: &Sample) -> Option<u32> {
    Some(sample.connections_established?.saturating_sub(sample.accept_queue?))
}

/// The most connections that a full queue can have cost. What the contender's
/// listeners dropped is a bound: where they defer accepting (TCP_DEFER_ACCEPT), the
/// last acknowledgement of each handshake is dropped and counted too, and nothing
/// is lost. Overflows of all listeners, by the kernel's own count, are another.
fn overflows(evidence: &Evidence, load: &Load) -> Option<u64> {
    let dropped = evidence.listen_drops?;
    // While the load makes no connection, no drop is one of its own.
    let most = if made(load) == 0 { 0 } else { dropped };
    Some(evidence.machine.listen_overflows_of_all.map_or(most, |all| most.min(all)))
}

#[cfg(test)]
mod tests {
    use result::finding::Verdict;
    use result::setting::Pace;

    use super::super::sound::{
        load_of, of_one_request_each, sound, word_after, word_after_load, word_of_a_gateway,
        word_on,
    };
    use super::*;

    #[test]
    fn a_connection_too_few_at_the_client_makes_the_figures_invalid() {
        let word = word_after_load(&LOAD_ARRIVED, |load| load.client.connections_established = 99);
        assert_eq!((word.verdict, &*word.value), (Verdict::Invalid, "99 of 100 established"));
    }

    /// Else a gateway would be measured with the robots that it lets in.
    #[test]
    fn a_robot_that_is_in_no_room_makes_the_figures_invalid() {
        let few = word_of_a_gateway(&LOAD_ARRIVED, |evidence| {
            evidence.clients[0].connections_established = 99;
        });
        assert_eq!((few.verdict, &*few.value), (Verdict::Invalid, "99 of 100 established"));
        assert!(few.says.contains("into their rooms"), "{few:?}");
        let gone = word_of_a_gateway(&LOAD_ARRIVED, |evidence| {
            evidence.clients[0].answers_a_connection = (0, 2_000);
            evidence.clients[0].connections_unanswered = Some(0);
            for sample in &mut evidence.samples {
                sample.connections_established = Some(99);
            }
        });
        assert_eq!(gone.verdict, Verdict::Invalid, "all robots were asked into their rooms");
    }

    #[test]
    fn a_server_that_accepts_with_the_first_request_lacks_those_that_nobody_asked() {
        let word = |pace: Pace, unanswered: u32| {
            let (mut slot, mut evidence) = sound();
            slot.setting.pace = pace;
            for sample in &mut evidence.samples {
                sample.connections_established = Some(23);
            }
            let load = load_of(&mut evidence);
            load.client.answers_a_connection = (0, 1_000);
            load.client.connections_unanswered = Some(unanswered);
            word_on(&LOAD_ARRIVED, &slot, &evidence)
        };
        let open = || Pace::Equal { percent: 50 };
        assert_eq!(word(open(), 0).verdict, Verdict::Valid);
        assert_eq!(word(open(), 1).verdict, Verdict::Invalid, "one was asked in vain");
        assert_eq!(word(Pace::Free, 0).verdict, Verdict::Invalid, "a closed loop asks all");
    }

    #[test]
    fn a_limit_at_the_server_makes_the_figures_invalid() {
        let word = word_after(&LOAD_ARRIVED, |evidence| {
            for sample in &mut evidence.samples {
                sample.connections_established = Some(64);
            }
        });
        assert_eq!(word.verdict, Verdict::Invalid);
        assert_eq!(word.value, "64 of 100 accepted by the server");
    }

    #[test]
    fn connections_that_the_server_never_accepts_make_the_figures_invalid() {
        let word = word_after(&LOAD_ARRIVED, |evidence| {
            for sample in &mut evidence.samples {
                sample.accept_queue = Some(36);
            }
        });
        assert_eq!(word.verdict, Verdict::Invalid);
        assert_eq!(word.value, "64 of 100 accepted by the server, 36 in its queue");
        assert!(word.says.contains("waited to be accepted"), "{}", word.says);
    }

    #[test]
    fn where_connections_are_cut_some_are_missing_at_any_moment() {
        let with = |established, cut| {
            let word = word_after(&LOAD_ARRIVED, |evidence| {
                evidence.clients[0].cut = Some(cut);
                for sample in &mut evidence.samples {
                    sample.connections_established = Some(established);
                }
            });
            word.verdict
        };
        assert_eq!(with(85, 1_200), Verdict::Valid);
        assert_eq!(with(85, 20), Verdict::Invalid, "20 of 100 cut don't explain 15 missing");
        assert_eq!(with(30, 1_200), Verdict::Invalid, "a limit, which cuts as well");
    }

    #[test]
    fn a_queue_that_was_long_in_one_sample_only_is_no_limit() {
        let word = word_after(&LOAD_ARRIVED, |evidence| {
            evidence.samples[0].accept_queue = Some(36);
        });
        assert_eq!(word.verdict, Verdict::Valid);
    }

    #[test]
    fn with_a_connection_a_request_only_what_was_lost_counts() {
        let with = |overflows| {
            let (slot, mut evidence) = of_one_request_each();
            evidence.listen_drops = overflows;
            evidence.clients[0].made = Some(200_000);
            word_on(&LOAD_ARRIVED, &slot, &evidence).verdict
        };
        assert_eq!(with(Some(0)), Verdict::Valid, "57 of 100 established is chance");
        assert_eq!(with(Some(1)), Verdict::Suspect);
        assert_eq!(with(None), Verdict::NotChecked);
    }

    /// A server in a scripting language holds five, and nobody looks for that.
    #[test]
    fn a_listen_queue_that_is_shorter_than_the_load_is_named() {
        let with = |backlog: u32| {
            let (slot, mut evidence) = of_one_request_each();
            evidence.clients[0].syn_retransmits = 90;
            evidence.listen_backlog = Some(backlog);
            word_on(&LOAD_ARRIVED, &slot, &evidence).says
        };
        let short = with(5);
        assert!(short.contains("a backlog of 5, and as many as 100 were made"), "{short}");
        assert!(!with(99).contains("backlog"), "it was lost on another way");
    }

    #[test]
    fn a_lost_syn_or_an_overflow_casts_doubt() {
        let with = |made: u64, lost| {
            let word = word_after_load(&LOAD_ARRIVED, |load| {
                load.client.made = Some(made);
                load.client.syn_retransmits = lost;
            });
            word.verdict
        };
        assert_eq!(with(10_000, 1), Verdict::Suspect);
        assert_eq!(with(10_000, 100), Verdict::Invalid, "the 99th percentile is a lost SYN's");
        assert_eq!(with(0, 1), Verdict::Invalid, "none was made, but for that");
    }

    #[test]
    fn drops_count_where_the_load_made_connections() {
        let with = |made| {
            let word = word_after(&LOAD_ARRIVED, |evidence| {
                evidence.listen_drops = Some(3);
                evidence.clients[0].made = made;
            });
            word.verdict
        };
        assert_eq!(with(Some(100)), Verdict::Invalid, "3 of 100 connections");
        assert_eq!(with(Some(1_000)), Verdict::Suspect);
        assert_eq!(with(Some(0)), Verdict::Valid, "all had been made before the window");
        assert_eq!(with(None), Verdict::Invalid, "3 of the 100 of an older run");
    }

    #[test]
    fn overflows_that_nobody_counted_are_not_told_as_none() {
        let with = |drops| {
            let word = word_after(&LOAD_ARRIVED, |evidence| {
                evidence.clients[0].syn_retransmits = 2;
                evidence.listen_drops = drops;
            });
            (word.verdict, word.value)
        };
        let (verdict, value) = with(None);
        assert_eq!((verdict, &*value), (Verdict::Invalid, "2 SYN sent again"));
        assert_eq!(with(Some(0)).1, "2 SYN sent again, 0 listen overflows");
    }

    #[test]
    fn deferred_accepting_drops_acknowledgements_and_costs_nothing() {
        let word = word_after(&LOAD_ARRIVED, |evidence| {
            evidence.listen_drops = Some(100);
            evidence.machine.listen_overflows_of_all = Some(0);
        });
        assert_eq!(word.verdict, Verdict::Valid);
    }

    #[test]
    fn overflows_of_other_listeners_are_not_the_contenders() {
        let word = word_after(&LOAD_ARRIVED, |evidence| {
            evidence.listen_drops = Some(0);
            evidence.machine.listen_overflows_of_all = Some(100);
        });
        assert_eq!(word.verdict, Verdict::Valid);
    }

    #[test]
    fn a_missing_sensor_is_not_checked() {
        let word = word_after(&LOAD_ARRIVED, |evidence| evidence.listen_drops = None);
        assert_eq!(word.verdict, Verdict::NotChecked);
        let word = word_after(&LOAD_ARRIVED, |evidence| evidence.samples.clear());
        assert_eq!(word.verdict, Verdict::NotChecked);
    }
}
