//! What parts of a run saw, its threads or others, made into one: whoever has the parts can
//! merge them in any grouping.

use std::time::Duration;

use histogram::Histogram;

use crate::outcome::{
    Account, ClassSeen, Connections, First, Firsts, KeysSeen, Latency, Second, ThreadUse,
};
use crate::{Moment, Outcome};

impl Outcome {
    /// What a part of a run saw whose window began then, and that has seen nothing yet.
    pub fn nothing(window_began: Moment) -> Outcome {
        Outcome {
            account: Account::default(),
            warmup: Account::default(),
            window_began,
            window: Duration::ZERO,
            answers_in_window: 0,
            bytes_received: 0,
            bytes_sent: 0,
            response: Latency::default(),
            service: Latency::default(),
            lateness: histogram::empty(),
            connection_wait: histogram::empty(),
            connect: histogram::empty(),
            opening: histogram::empty(),
            seen_late: histogram::empty(),
            connections: Connections { answers_min: u64::MAX, ..Connections::default() },
            firsts: Firsts::default(),
            seconds: Vec::new(),
            sampled_answers: Vec::new(),
            keys: None,
            classes: Vec::new(),
            deliveries: None,
            threads: Vec::new(),
            backend: String::new(),
            interrupted: false,
        }
    }

    /// What this part and the next one saw, as that of one run.
    pub fn merge(self, next: Outcome) -> Outcome {
        let threads = [self.threads, next.threads].concat();
        Outcome {
            account: self.account.merge(next.account),
            warmup: self.warmup.merge(next.warmup),
            window_began: self.window_began.min(next.window_began),
            window: self.window.max(next.window),
            answers_in_window: self.answers_in_window + next.answers_in_window,
            bytes_received: self.bytes_received + next.bytes_received,
            bytes_sent: self.bytes_sent + next.bytes_sent,
            response: self.response.merge(&next.response),
            service: self.service.merge(&next.service),
            lateness: all(self.lateness, &next.lateness),
            connection_wait: all(self.connection_wait, &next.connection_wait),
            connect: all(self.connect, &next.connect),
            opening: all(self.opening, &next.opening),
            seen_late: all(self.seen_late, &next.seen_late),
            connections: self.connections.merge(next.connections),
            firsts: self.firsts.merge(next.firsts),
            seconds: seconds(self.seconds, &next.seconds),
            sampled_answers: [self.sampled_answers, next.sampled_answers].concat(),
            keys: match (self.keys, next.keys) {
                (Some(a), Some(b)) => Some(a.merge(b)),
                (one, other) => one.or(other),
            },
            classes: classes(self.classes, next.classes),
            deliveries: match (self.deliveries, next.deliveries) {
                (Some(a), Some(b)) => Some(Box::new(a.merge(*b))),
                (one, other) => one.or(other),
            },
            backend: backends(&threads),
            threads,
            interrupted: self.interrupted || next.interrupted,
        }
    }
}

impl KeysSeen {
    fn merge(self, next: KeysSeen) -> KeysSeen {
        KeysSeen {
            hits: self.hits + next.hits,
            misses: self.misses + next.misses,
            missing: self.missing + next.missing,
            wrong: self.wrong + next.wrong,
            stale: self.stale + next.stale,
            pushes: self.pushes + next.pushes,
        }
    }
}

fn classes(mut all: Vec<ClassSeen>, next: Vec<ClassSeen>) -> Vec<ClassSeen> {
    for seen in next {
        match all.iter_mut().find(|it| it.name == seen.name) {
            Some(known) => {
                known.response.add(&seen.response);
                known.service.add(&seen.service);
            }
            None => all.push(seen),
        }
    }
    all
}

impl Account {
    fn merge(self, next: Account) -> Account {
        let mut errors = [self.errors, next.errors].concat();
        errors.sort_by_key(|error| (error.kind, error.first));
        errors.dedup_by(|later, first| {
            let is_same = later.kind == first.kind;
            first.count += if is_same { later.count } else { 0 };
            is_same
        });
        let mut statuses = [self.statuses, next.statuses].concat();
        statuses.sort_by_key(|of_one| of_one.status);
        statuses.dedup_by(|next, of_one| {
            let is_same = next.status == of_one.status;
            if is_same {
                of_one.count += next.count;
                of_one.good += next.good;
            }
            is_same
        });
        Account {
            scheduled: self.scheduled + next.scheduled,
            shed: self.shed + next.shed,
            sent: self.sent + next.sent,
            good: self.good + next.good,
            errors,
            in_flight: self.in_flight + next.in_flight,
            statuses,
        }
    }
}

impl Firsts {
    fn merge(self, next: Firsts) -> Firsts {
        Firsts {
            unasked: First::of_both(self.unasked, next.unasked),
            failed: First::of_both(self.failed, next.failed),
        }
    }
}

impl Connections {
    fn merge(self, next: Connections) -> Connections {
        Connections {
            asked: self.asked + next.asked,
            established: self.established + next.established,
            reconnects: self.reconnects + next.reconnects,
            cut: self.cut + next.cut,
            resent: self.resent + next.resent,
            early: self.early + next.early,
            unasked: self.unasked + next.unasked,
            last_words: self.last_words + next.last_words,
            failed: self.failed + next.failed,
            syn_retransmits: self.syn_retransmits + next.syn_retransmits,
            made_in_window: self.made_in_window + next.made_in_window,
            syn_retransmits_in_window: self.syn_retransmits_in_window
                + next.syn_retransmits_in_window,
            answers_min: self.answers_min.min(next.answers_min),
            answers_max: self.answers_max.max(next.answers_max),
            unanswered: self.unanswered + next.unanswered,
        }
    }
}

fn all(mut times: Histogram<u64>, more: &Histogram<u64>) -> Histogram<u64> {
    times += more;
    times
}

impl Second {
    /// Both in one. A percentile is the longer of the two: that of both is no longer.
    pub fn merge(self, more: Second) -> Second {
        Second {
            good: self.good + more.good,
            errors: self.errors + more.errors,
            bytes: self.bytes + more.bytes,
            p50: self.p50.max(more.p50),
            p99: self.p99.max(more.p99),
            said: match (self.said, more.said) {
                (Some(a), Some(b)) => Some(a.merge(b)),
                (one, other) => one.or(other),
            },
        }
    }
}

/// Second by second.
fn seconds(mut seconds: Vec<Second>, more: &[Second]) -> Vec<Second> {
    seconds.resize(seconds.len().max(more.len()), Second::default());
    for (second, more) in seconds.iter_mut().zip(more) {
        *second = second.merge(*more);
    }
    seconds
}

/// The backend of all threads; where they differ, how many had which: each falls back
/// by itself.
fn backends(threads: &[ThreadUse]) -> String {
    let mut counts: Vec<(&str, u32)> = Vec::new();
    for ThreadUse { backend, .. } in threads {
        match counts.iter_mut().find(|(known, _)| known == backend) {
            Some((_, count)) => *count += 1,
            None => counts.push((backend, 1)),
        }
    }
    match counts[..] {
        [(all, _)] => all.into(),
        _ => {
            let each = counts.iter().map(|(backend, count)| format!("{count} × {backend}"));
            each.collect::<Vec<_>>().join(", ")
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::array::{uniform2, uniform3, uniform4, uniform10, uniform16};
    use proptest::collection::vec;
    use proptest::option;
    use proptest::prelude::*;

    use super::*;
    use crate::outcome::deliveries::{DeliveriesSeen, DeliveryFirsts, SaidInSecond};
    use crate::outcome::rooms::{RoomSeen, ShareOfDue};
    use crate::outcome::slow::SlowSeen;
    use crate::outcome::storm::StormSeen;
    use crate::outcome::{ErrorCount, ErrorKind, SampledAnswer, StatusCount};

    fn times() -> impl Strategy<Value = Histogram<u64>> {
        vec(1..60_000_000_000_u64, 0..3).prop_map(|values| {
            let mut times = histogram::empty();
            values.into_iter().for_each(|value| times.record(value).unwrap());
            times
        })
    }

    /// One of a few, so that two are often the same.
    fn moment() -> impl Strategy<Value = Duration> {
        (0..4_u64).prop_map(Duration::from_secs)
    }

    fn kind() -> impl Strategy<Value = ErrorKind> {
        prop::sample::select(&ErrorKind::ALL[..4])
    }

    fn error() -> impl Strategy<Value = ErrorCount> {
        (kind(), 1..9_u64, moment(), "[a-z]").prop_map(|(kind, count, first, example)| ErrorCount {
            kind,
            count,
            first,
            example,
        })
    }

    fn status() -> impl Strategy<Value = StatusCount> {
        (200..203_u16, 0..9_u64, 0..9_u64).prop_map(|(status, good, bad)| StatusCount {
            status,
            count: good + bad,
            good,
        })
    }

    fn account() -> impl Strategy<Value = Account> {
        (vec(error(), 0..4), vec(status(), 1..4), uniform2(0..9_u64)).prop_map(
            |(errors, statuses, [shed, in_flight])| {
                let good = statuses.iter().map(|of_one| of_one.good).sum();
                let sent = good + in_flight + errors.iter().map(|error| error.count).sum::<u64>();
                let scheduled = sent + shed;
                Account { scheduled, shed, sent, good, errors, in_flight, statuses }
            },
        )
    }

    fn second() -> impl Strategy<Value = Second> {
        let said = option::of((0..9_u64, 0..9_u64));
        ([0..9_u64, 0..9, 0..9], uniform2(option::of(0..9_u64)), said).prop_map(
            |([good, errors, bytes], [p50, p99], said)| {
                let said = said.map(|(messages, bytes)| SaidInSecond {
                    messages,
                    bytes,
                    confirmed: messages,
                });
                Second { good, errors, bytes, p50, p99, said }
            },
        )
    }

    fn connections() -> impl Strategy<Value = Connections> {
        uniform16(0..9_u32).prop_map(|n| Connections {
            asked: n[0],
            established: n[1],
            reconnects: n[2].into(),
            cut: n[3].into(),
            resent: n[4].into(),
            early: n[5].into(),
            unasked: n[6].into(),
            failed: n[7].into(),
            syn_retransmits: n[8].into(),
            made_in_window: n[9].into(),
            syn_retransmits_in_window: n[10].into(),
            answers_min: n[11].into(),
            answers_max: n[12].into(),
            unanswered: n[13],
            last_words: n[14].into(),
        })
    }

    fn firsts() -> impl Strategy<Value = Firsts> {
        let unasked = option::of((moment(), "[a-z]"));
        let failed = option::of((moment(), (kind(), "[a-z]")));
        (unasked, failed).prop_map(|(unasked, failed)| Firsts {
            unasked: unasked.map(|(at, what)| First { at, what }),
            failed: failed.map(|(at, what)| First { at, what }),
        })
    }

    fn deliveries() -> impl Strategy<Value = DeliveriesSeen> {
        let leaked = option::of((moment(), "[a-z]"));
        (uniform10(0..9_u32), uniform4(times()), leaked).prop_map(|(n, times, leaked)| {
            let [good, censored, first_to_last, confirmed] = times;
            let leaked = leaked.map(|(at, what)| First { at, what });
            DeliveriesSeen {
                rooms: n[0],
                joined: n[1],
                cut: n[2],
                messages_sent: n[3].into(),
                messages_received: n[4].into(),
                until_all: Latency { good, censored },
                first_to_last,
                duplicates: n[5].into(),
                out_of_order: n[6].into(),
                leaked: n[7].into(),
                wrong: n[8].into(),
                overdue: n[9].into(),
                confirm: Latency { good: confirmed.clone(), censored: confirmed },
                confirmed_missing: n[2].into(),
                stamped: n[0].into(),
                unstamped: n[1].into(),
                firsts: DeliveryFirsts { leaked, ..DeliveryFirsts::default() },
                rooms_seen: vec![RoomSeen {
                    room: n[2],
                    missing: n[3].into(),
                    ..RoomSeen::default()
                }],
                least_share: Some(ShareOfDue { robot: n[4], had: n[5].into(), due: 9 }),
                storm: (n[8] > 4)
                    .then(|| Box::new(StormSeen { ended: n[9], ..StormSeen::default() })),
                slow: (n[6] > 4)
                    .then(|| Box::new(SlowSeen { owed: n[7].into(), ..SlowSeen::default() })),
            }
        })
    }

    prop_compose! {
        fn part()(
            [account, warmup] in uniform2(account()),
            times in prop::array::uniform8(times()),
            (connections, firsts) in (connections(), firsts()),
            seconds in vec(second(), 0..3),
            n in uniform3(0..9_u64),
            at in moment(),
            (name, interrupted) in ("[ab]", any::<bool>()),
            deliveries in option::of(deliveries()),
        ) -> Outcome {
            let [good, censored, late, waited, connect, seen_late, service, lost] = times;
            let lost_too = lost.clone();
            Outcome {
                account,
                warmup,
                window_began: Moment::now(),
                window: at,
                answers_in_window: n[0],
                bytes_received: n[1],
                bytes_sent: n[2],
                response: Latency { good, censored },
                service: Latency { good: service, censored: lost },
                lateness: late,
                connection_wait: waited,
                connect,
                opening: seen_late.clone(),
                seen_late,
                connections,
                firsts,
                seconds,
                sampled_answers: vec![SampledAnswer { at, request: 0, expected: name.clone(), bytes: vec![] }],
                threads: vec![ThreadUse { backend: name.clone(), ..ThreadUse::default() }],
                backend: name,
                keys: Some(KeysSeen { hits: n[0], misses: n[1], stale: n[2], ..KeysSeen::default() }),
                classes: ["a", "b", "c"][..n[0] as usize % 4]
                    .iter()
                    .map(|&name| ClassSeen {
                        name: name.into(),
                        response: Latency { good: lost_too.clone(), censored: lost_too.clone() },
                        service: Latency { good: lost_too.clone(), censored: lost_too.clone() },
                    })
                    .collect(),
                deliveries: deliveries.map(Box::new),
                interrupted,
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn parts_are_one_run_however_they_are_grouped(a in part(), b in part(), c in part()) {
            let (left, right) = (a.clone().merge(b.clone()), b.clone().merge(c.clone()));
            let all = left.merge(c.clone());
            prop_assert_eq!(&all, &a.clone().merge(right));
            prop_assert_eq!(&all, &Outcome::nothing(a.window_began).merge(all.clone()));

            prop_assert_eq!(all.account.contradiction(), None);
            prop_assert_eq!(all.warmup.contradiction(), None);
            let sum = |of: fn(&Outcome) -> u64| [&a, &b, &c].map(of).iter().sum::<u64>();
            let counts: [fn(&Outcome) -> u64; 9] = [
                |part| part.account.scheduled,
                |part| part.account.shed,
                |part| part.account.good,
                |part| part.account.in_flight,
                |part| part.account.errors_total(),
                |part| part.account.statuses.iter().map(|of_one| of_one.count).sum(),
                |part| part.response.samples() + part.service.samples(),
                |part| part.seconds.iter().map(|second| second.good).sum(),
                |part| part.deliveries.as_ref().map_or(0, |it| {
                    it.faults() + it.until_all.samples() + it.confirm.samples()
                }),
            ];
            for (nth, of) in counts.into_iter().enumerate() {
                prop_assert_eq!(of(&all), sum(of), "count {}", nth);
            }
            let longest = |part: &Outcome| part.seconds.iter().flat_map(|it| [it.p50, it.p99]).max();
            prop_assert_eq!(longest(&all), [&a, &b, &c].map(longest).into_iter().max().flatten());
            let failures = [&a, &b, &c].map(|part| part.firsts.failed.as_ref());
            let earliest = failures.into_iter().flatten().map(|first| first.at).min();
            prop_assert_eq!(all.firsts.failed.map(|first| first.at), earliest);
        }
    }

    #[test]
    fn a_thread_that_fell_back_is_not_hidden_behind_the_first() {
        let of = |threads: &[&str]| {
            let threads = threads
                .iter()
                .map(|&backend| ThreadUse { backend: backend.into(), ..ThreadUse::default() });
            backends(&threads.collect::<Vec<_>>())
        };
        assert_eq!(of(&["io_uring", "io_uring"]), "io_uring");
        let fell_back = "epoll (io_uring: Cannot allocate memory)";
        assert_eq!(of(&[fell_back]), fell_back);
        assert_eq!(
            of(&["io_uring", fell_back, "io_uring"]),
            "2 × io_uring, 1 × epoll (io_uring: Cannot allocate memory)"
        );
    }
}
