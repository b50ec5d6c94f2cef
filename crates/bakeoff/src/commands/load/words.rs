//! What a reader is told of a warning, in whole sentences with advice.

use std::time::Duration;

use load::outcome::ErrorKind;
use load::verdict::limit::Warning;

/// The sentences of a warning. Parts of them may be a server's words.
pub fn sentences(warning: &Warning) -> String {
    match warning {
        Warning::ThreadBusy { thread, busy_share, run_delay_share } => {
            let waited = run_delay_share.map_or_else(String::new, |waited| {
                format!(" and waited for its processor {:.0} %", waited * 100.0)
            });
            format!(
                "The client was at its limit: its thread {thread} was busy {:.0} % of the \
                 time{waited}. The server may be able to do more. Give the client more processors, \
                 and such that nothing else uses (--cpus, -t).",
                busy_share * 100.0
            )
        }
        Warning::Late { late } => format!(
            "The client sent {} % of the requests at least {} late, although connections were \
             free. Its own delay is in the response times. Give it processors that nothing else \
             uses, or offer less.",
            100 - late.percentile,
            time(late.least)
        ),
        Warning::ConnectionsBusy { late, connections } => format!(
            "{} % of the requests waited at least {} for a free connection: all {connections} were \
             taken. The wait is in the response times, as it would be for users behind a pool of \
             this size. To see the server without it, give more connections (-c).",
            100 - late.percentile,
            time(late.least)
        ),
        Warning::RateNotReached { offered, reached } => format!(
            "{} requests a second were offered, and {} came to an end. The response times are \
             those of a queue that grows with time, and say how long the run was, not how fast the \
             server is. Offer less, or search with --find-rate.",
            rate(*offered),
            rate(*reached)
        ),
        Warning::Shed { shed, scheduled } => format!(
            "{shed} of {scheduled} requests were due and never sent. They stand among the response \
             times as waits without an end (≥). Offer less, or search with --find-rate."
        ),
        Warning::ClientErrors { count, example } => format!(
            "{count} requests failed for lack of something on the client's machine ({example}). \
             They say nothing of the server."
        ),
        Warning::ClosedLoopStalled { longest, window } => format!(
            "The server stalled: a request was without an answer for {}, and {} were measured. A \
             closed loop asks nothing while it waits, so its percentiles leave out those who would \
             have come meanwhile: don't trust them as response times. Offer a rate (--rate) to see \
             what users would.",
            time(*longest),
            time(*window)
        ),
        Warning::ClientAway { longest, window } => format!(
            "The client stood still for {} of {}: it was stopped, or its machine was. It saw no \
             answer meanwhile and asked for none, so neither the rate nor the highest percentiles \
             are the server's. Measure again.",
            time(*longest),
            time(*window)
        ),
        Warning::FewerConnections { asked, established, why } => {
            let why = match why {
                Some((ErrorKind::Client, what)) => format!(
                    "The others failed for lack of something on the client's machine ({what})."
                ),
                Some((_, what)) => format!(
                    "One failed with: {what}. Look at the server's limits of connections and open \
                     files."
                ),
                None => "Look at the server's limits of connections and open files, and at the \
                         errors."
                    .into(),
            };
            format!(
                "{asked} connections were asked for, and {established} established at once. The \
                 figures are those of {established} connections. {why}"
            )
        }
        Warning::SynRetransmits { count } => format!(
            "{count} connection requests (SYN) were lost and sent again after 1 s, 3 s or longer. \
             Such a wait is none of the server's work: its listen queue was full, or the network \
             lost them. Raise its backlog and net.core.somaxconn."
        ),
        Warning::DelayedAck { share } => format!(
            "{:.0} % of the answers took 40 to 50 ms, and hardly any a little less or more. So it \
             looks where a server writes head and body apart without TCP_NODELAY: the kernel holds \
             the body back until the head is acknowledged, which takes 40 ms. If the times go with \
             TCP_NODELAY, or with both in one write, it was that. A server that works for so long \
             looks the same, and so does a queue.",
            share * 100.0
        ),
        Warning::Starved { unanswered, connections, answers_max } => format!(
            "The server left {unanswered} of {connections} connections waiting: they were asked \
             and had not one good answer, while another had {answers_max}. Fewer connections \
             carried the load than were asked for. Look for a listener or a worker that stops \
             reading from some of its connections."
        ),
        Warning::NotKept { cut, answers } => format!(
            "The connections were to be kept alive, and the server ended them: {cut} in {answers} \
             answers. Most of the figures is the making of connections. If that is the server's \
             setting, change it there; if it is what you want to measure, say so (--close)."
        ),
        Warning::Contradiction { what } => format!(
            "The client's own books contradict each other: {what}. Its figures are wrong. That is a \
             fault of bakeoff: please report it, with the command."
        ),
        Warning::TooShort { window } => format!(
            "The run is too short to tell whether the client or the server was the limit: {} were \
             measured, and one wake-up that comes late is a part of that. Measure for longer (-d, \
             -n).",
            time(*window)
        ),
        Warning::Unasked { times, example } => format!(
            "The server spoke though nothing was asked, {times} times; the first time it sent {example}. \
             What it sends a moment later is taken for the answer to the next request. So answers \
             may be those of other requests, and times too short. Mend the server first."
        ),
        Warning::Early { early, answers } => format!(
            "{early} of {answers} answers came before their request was sent whole. The server \
             didn't read those requests before it answered, so it did less work than one that \
             does. Don't compare the two."
        ),
    }
}

/// A time as people read it.
fn time(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds < 1.0 { format!("{:.1} ms", seconds * 1e3) } else { format!("{seconds:.1} s") }
}

/// A rate as people read it.
fn rate(a_second: f64) -> String {
    if a_second < 100.0 { format!("{a_second:.2}") } else { format!("{a_second:.0}") }
}

#[cfg(test)]
mod tests {
    use load::verdict::limit::Lateness;

    use super::*;

    #[test]
    fn each_warning_is_whole_sentences_with_advice() {
        let second = Duration::from_secs(1);
        let all = [
            Warning::ThreadBusy { thread: 1, busy_share: 0.934, run_delay_share: None },
            Warning::ThreadBusy { thread: 1, busy_share: 0.25, run_delay_share: Some(0.743) },
            Warning::Late {
                late: Lateness { percentile: 99, least: Duration::from_micros(12_340) },
            },
            Warning::ConnectionsBusy {
                late: Lateness { percentile: 90, least: second },
                connections: 64,
            },
            Warning::RateNotReached { offered: 20_000.0, reached: 17_345.6 },
            Warning::RateNotReached { offered: 0.5, reached: 0.25 },
            Warning::Shed { shed: 12, scheduled: 20_000 },
            Warning::ClientErrors { count: 3, example: "no free port".into() },
            Warning::ClosedLoopStalled { longest: second * 2, window: second * 10 },
            Warning::ClientAway { longest: second * 2, window: second * 10 },
            Warning::FewerConnections { asked: 5_000, established: 1_024, why: None },
            Warning::FewerConnections {
                asked: 5_000,
                established: 1_024,
                why: Some((ErrorKind::ConnectTimeout, "no connection within 5 s".into())),
            },
            Warning::FewerConnections {
                asked: 30_000,
                established: 28_232,
                why: Some((ErrorKind::Client, "no free port".into())),
            },
            Warning::SynRetransmits { count: 17 },
            Warning::DelayedAck { share: 0.0741 },
            Warning::Starved { unanswered: 3, connections: 50, answers_max: 4_000 },
            Warning::NotKept { cut: 990, answers: 1_000 },
            Warning::TooShort { window: Duration::from_micros(7_300) },
            Warning::Unasked {
                times: 3,
                example: "bytes that nobody asked for: \"HTTP/1.1 200 OK\"".into(),
            },
            Warning::Early { early: 20, answers: 4_000 },
            Warning::Contradiction {
                what: "in the window, 20 requests were due, but 18 sent and 1 never sent".into(),
            },
        ];
        let page = include_str!("../../../../../docs/load.md");
        for warning in &all {
            let id = warning.id();
            assert!(page.contains(&format!("| `{id}` |")), "docs/load.md lacks {id}");
        }
        let text: Vec<String> =
            all.iter().map(|warning| format!("{}: {}", warning.id(), sentences(warning))).collect();
        insta::assert_snapshot!(text.join("\n\n"));
    }
}
