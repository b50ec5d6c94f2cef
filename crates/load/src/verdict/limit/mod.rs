//! What a reader must know before trusting a run: above all, when the client
//! was itself the limit.
//!
//! A cause has its numbers here. Which of them a run has is judged in `judgement`; the
//! words are the command's.

mod judgement;

use std::time::Duration;

pub use self::judgement::warnings;
use crate::outcome::ErrorKind;

/// One thing to know before using a run's figures, with advice.
#[derive(Debug, Clone, PartialEq)]
pub enum Warning {
    /// A client thread had hardly any time left: it was busy, or ready to run while
    /// another ran on its processor.
    ThreadBusy {
        /// Its number.
        thread: usize,
        /// Its CPU seconds by wall seconds.
        busy_share: f64,
        /// The same of the seconds that it waited for a processor; `None` where the
        /// kernel doesn't count them.
        run_delay_share: Option<f64>,
    },
    /// Requests went out late although connections were free.
    Late {
        /// How late which percentile of them was.
        late: Lateness,
    },
    /// Requests waited because every connection was taken.
    ConnectionsBusy {
        /// How late which percentile of them was.
        late: Lateness,
        /// Connections of the plan.
        connections: u32,
    },
    /// Fewer requests came to an end than were offered.
    RateNotReached {
        /// Offered a second.
        offered: f64,
        /// Ended a second.
        reached: f64,
    },
    /// Requests were due and never sent.
    Shed {
        /// How many.
        shed: u64,
        /// Out of these.
        scheduled: u64,
    },
    /// The client's machine refused something: ports, descriptors, buffers.
    ClientErrors {
        /// How often.
        count: u64,
        /// What the first looked like.
        example: String,
    },
    /// The server stalled, and a closed loop stalled with it.
    ClosedLoopStalled {
        /// The longest wait of a request, or the longest silence.
        longest: Duration,
        /// The measured window.
        window: Duration,
    },
    /// The client stood still, and a closed loop with it.
    ClientAway {
        /// How long at a time, at most.
        longest: Duration,
        /// The measured window.
        window: Duration,
    },
    /// Fewer connections were established than asked for.
    FewerConnections {
        /// Asked for.
        asked: u32,
        /// The most at once.
        established: u32,
        /// Why an attempt failed, and whether for lack of something here.
        why: Option<(ErrorKind, String)>,
    },
    /// Connection attempts were lost on the way.
    SynRetransmits {
        /// Segments sent again.
        count: u64,
    },
    /// Answers came when an acknowledgement was due.
    DelayedAck {
        /// The share of the good answers.
        share: f64,
    },
    /// Connections that were asked had no answer at all.
    Starved {
        /// How many.
        unanswered: u32,
        /// All connections.
        connections: u32,
        /// The most answers that a connection had.
        answers_max: u64,
    },
    /// Connections were to be kept, and the server ended them after an answer or two.
    NotKept {
        /// Connections that it ended.
        cut: u64,
        /// Answers.
        answers: u64,
    },
    /// The client's own books contradict each other, so that its figures are wrong.
    Contradiction {
        /// In what.
        what: String,
    },
    /// The run was too short for a word on who was the limit, and there would have been one.
    TooShort {
        /// The measured window.
        window: Duration,
    },
    /// The server spoke though nothing was asked.
    Unasked {
        /// How often.
        times: u64,
        /// What it said the first time.
        example: String,
    },
    /// Answers came before their request was sent whole.
    Early {
        /// How many.
        early: u64,
        /// Answers.
        answers: u64,
    },
}

/// How late the latest requests went out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lateness {
    /// A percentile of lateness: 99 speaks of the latest 1 %.
    pub percentile: u32,
    /// Its value, which those were late by at least.
    pub least: Duration,
}

impl Warning {
    /// Its name in output.
    pub fn id(&self) -> &'static str {
        self.kind().0
    }

    /// Whether it says that the client, and not the server, was the limit.
    pub fn is_client_limit(&self) -> bool {
        self.kind().1
    }

    fn kind(&self) -> (&'static str, bool) {
        match self {
            Warning::ThreadBusy { .. } => ("thread_busy", true),
            Warning::Late { .. } => ("late", true),
            Warning::ConnectionsBusy { .. } => ("connections_busy", false),
            Warning::RateNotReached { .. } => ("rate_not_reached", false),
            Warning::Shed { .. } => ("shed", false),
            Warning::ClientErrors { .. } => ("client_errors", true),
            Warning::ClosedLoopStalled { .. } => ("closed_loop_stalled", false),
            Warning::ClientAway { .. } => ("client_away", true),
            Warning::FewerConnections { why, .. } => {
                ("fewer_connections", matches!(why, Some((ErrorKind::Client, _))))
            }
            Warning::SynRetransmits { .. } => ("syn_retransmits", false),
            Warning::DelayedAck { .. } => ("delayed_ack", false),
            Warning::Starved { .. } => ("starved", false),
            Warning::NotKept { .. } => ("not_kept", false),
            Warning::Contradiction { .. } => ("contradiction", true),
            Warning::TooShort { .. } => ("too_short", false),
            Warning::Unasked { .. } => ("unasked", false),
            Warning::Early { .. } => ("early_answers", false),
        }
    }
}
