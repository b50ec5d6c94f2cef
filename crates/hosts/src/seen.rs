//! What came of a run on several hosts: host by host, and together.

use std::time::Duration;

use load::plan::Arrivals;
use load::verdict::limit::{self, Warning};
use load::{Outcome, Plan};

use crate::clock::Offset;
use crate::wire::HostFacts;

/// A host that began so late wasn't there when the others were.
const START_LATE_MAX: Duration = Duration::from_millis(1);
/// Clocks that may be apart by more than this share of the window cast doubt on a sum of rates.
const APART_SHARE_MAX: f64 = 1e-3;
/// The fastest answers of two hosts are apart by so many times, and by so much, where they aren't
/// equally far from the server.
const FARTHER_TIMES: u32 = 2;
const FARTHER_BY: Duration = Duration::from_micros(200);
/// In a closed loop a host with less than this share of another's answers a connection is held up by
/// its own link or machine: the server serves all alike.
const ALIKE_SHARE_MIN: f64 = 0.5;
/// With fewer connections a host, an open loop has connections free on one host while requests
/// wait on another.
const CONNECTIONS_MIN: u32 = 32;

/// What hosts saw together.
#[derive(Debug, Clone, PartialEq)]
pub struct Together {
    /// The sum of what those saw that told it: whole histograms, every counter.
    pub outcome: Outcome,
    /// Each of them, in the order of the file.
    pub hosts: Vec<HostSeen>,
}

/// What a host saw.
#[derive(Debug, Clone, PartialEq)]
pub struct HostSeen {
    /// Its name.
    pub name: String,
    /// What it is.
    pub facts: HostFacts,
    /// Its part of the plan.
    pub plan: Plan,
    /// What was known of its clock before the run.
    pub clock: Offset,
    /// How far its clock had moved against the hub's after the run, in nanoseconds; `None` where
    /// it couldn't be asked any more.
    pub drift_ns: Option<i64>,
    /// What it saw, with the beginning of its window by the hub's clock; `None` where it was lost.
    pub outcome: Option<Outcome>,
    /// How much later than the others' its warm-up began.
    pub start_late: Duration,
    /// Why its figures are no part of the sum, or are none to rely on.
    pub lost: Option<String>,
}

/// Something to know before using the sum.
#[derive(Debug, Clone, PartialEq)]
pub enum Concern {
    /// A host was lost: the load wasn't what was asked for.
    Lost {
        /// Its name.
        host: String,
        /// What happened.
        why: String,
    },
    /// A host's clock may have been so far off that its window lay elsewhere.
    Apart {
        /// Its name.
        host: String,
        /// By how much, drift included.
        by: Duration,
        /// The measured window.
        window: Duration,
    },
    /// A host began late.
    StartLate {
        /// Its name.
        host: String,
        /// By how much.
        by: Duration,
    },
    /// A host was itself the limit of its part. What else is to be known is known of the sum.
    OfHost {
        /// Its name.
        host: String,
        /// In what.
        warning: Warning,
    },
    /// Hosts aren't equally far from the server: the times of the sum are of two networks.
    UnequallyFar {
        /// The nearest host, and its fastest answer.
        near: (String, Duration),
        /// The one that is farthest.
        far: (String, Duration),
    },
    /// A host had far fewer answers a connection than another.
    Slower {
        /// Its name.
        host: String,
        /// Its share of the other's.
        share: f64,
    },
    /// Requests of an open loop may wait on one host while another has connections free.
    FewConnections {
        /// The fewest of a host.
        connections: u32,
    },
}

impl Concern {
    /// Its name in output.
    pub fn id(&self) -> &'static str {
        match self {
            Concern::Lost { .. } => "host_lost",
            Concern::Apart { .. } => "clocks_apart",
            Concern::StartLate { .. } => "host_began_late",
            Concern::OfHost { warning, .. } => warning.id(),
            Concern::UnequallyFar { .. } => "unequally_far",
            Concern::Slower { .. } => "host_slower",
            Concern::FewConnections { .. } => "few_connections_a_host",
        }
    }
}

impl HostSeen {
    /// How far its window may lie from where it was to be.
    pub fn apart(&self) -> Duration {
        self.clock.bound() + Duration::from_nanos(self.drift_ns.unwrap_or(0).unsigned_abs())
    }

    /// Its fastest good answer.
    fn fastest(&self) -> Option<(String, Duration)> {
        let good = &self.outcome.as_ref()?.service.good;
        let fastest = (!good.is_empty()).then(|| Duration::from_nanos(good.min()))?;
        Some((self.name.clone(), fastest))
    }

    /// Its good answers a connection, where each asks again as soon as it is answered.
    fn answers_a_connection(&self) -> Option<f64> {
        let outcome = self.outcome.as_ref().filter(|_| self.lost.is_none())?;
        let is_closed = self.plan.arrivals == Arrivals::Closed;
        let each = outcome.answers_in_window as f64 / f64::from(self.plan.connections.max(1));
        is_closed.then_some(each)
    }

    fn concerns(&self) -> Vec<Concern> {
        let host = || self.name.clone();
        let mut concerns = Vec::new();
        if let Some(why) = &self.lost {
            concerns.push(Concern::Lost { host: host(), why: why.clone() });
        }
        let Some(outcome) = &self.outcome else { return concerns };
        let (by, window) = (self.apart(), outcome.window);
        if by.as_secs_f64() > APART_SHARE_MAX * window.as_secs_f64() {
            concerns.push(Concern::Apart { host: host(), by, window });
        }
        if self.start_late > START_LATE_MAX {
            concerns.push(Concern::StartLate { host: host(), by: self.start_late });
        }
        let of_host = |warning| Concern::OfHost { host: host(), warning };
        let limits = limit::warnings(&self.plan, outcome).into_iter();
        concerns.extend(limits.filter(Warning::is_client_limit).map(of_host));
        concerns
    }
}

impl Together {
    /// What to know before using the sum, the gravest first.
    pub fn concerns(&self) -> Vec<Concern> {
        let mut concerns: Vec<Concern> = self.hosts.iter().flat_map(HostSeen::concerns).collect();
        concerns.sort_by_key(|concern| !matches!(concern, Concern::Lost { .. }));
        let fastest = || self.hosts.iter().filter_map(HostSeen::fastest);
        if let Some(near) = fastest().min_by_key(|(_, time)| *time)
            && let Some(far) = fastest().max_by_key(|(_, time)| *time)
            && far.1 > near.1 * FARTHER_TIMES
            && far.1 > near.1 + FARTHER_BY
        {
            concerns.push(Concern::UnequallyFar { near, far });
        }
        concerns.extend(self.slower());
        let open = self.hosts.iter().filter(|host| host.plan.arrivals != Arrivals::Closed);
        if let Some(connections) = open.map(|host| host.plan.connections).min()
            && self.hosts.len() > 1
            && connections < CONNECTIONS_MIN
        {
            concerns.push(Concern::FewConnections { connections });
        }
        concerns
    }

    /// The hosts that had far fewer answers a connection than the quickest of all.
    fn slower(&self) -> impl Iterator<Item = Concern> {
        let most = self.hosts.iter().filter_map(HostSeen::answers_a_connection).reduce(f64::max);
        self.hosts.iter().filter_map(move |host| {
            let share = host.answers_a_connection()? / most.filter(|&most| most > 0.0)?;
            let slower = || Concern::Slower { host: host.name.clone(), share };
            (share < ALIKE_SHARE_MIN).then(slower)
        })
    }

    /// Whether the load was what was asked for, and all that was seen of it is in the sum.
    pub fn is_whole(&self) -> bool {
        self.hosts.iter().all(|host| host.lost.is_none())
    }
}
