//! The hosts that a run's load came from, where it didn't come from the contenders' machine.

use result::Run;
use result::evidence::HostSide;

use crate::text::visible_name;
use crate::units;

/// What is told of a host, over all trials in which it offered load.
pub struct OverTrials {
    /// Trials that it was a part of, and those in which it was lost.
    pub trials: (u64, u64),
    /// The share of the time for which its busiest thread was busy, at most.
    pub busiest: f64,
    /// By how much its clock may have been off, and how late it began, at most, in µs.
    pub apart_us: f64,
    /// How much later than planned it began at most, in µs.
    pub late_us: f64,
}

impl OverTrials {
    /// Of the host of this name.
    pub fn of(run: &Run, name: &str) -> OverTrials {
        let seen = || {
            let all = run.trials.iter().flat_map(|trial| trial.evidence.hosts());
            all.filter(|host| host.name == name)
        };
        let most = |of: fn(&HostSide) -> f64| seen().map(of).fold(0.0, f64::max);
        let busiest = |host: &HostSide| host.side.busy_share.iter().copied().fold(0.0, f64::max);
        OverTrials {
            trials: (
                seen().count() as u64,
                seen().filter(|host| host.lost.is_some()).count() as u64,
            ),
            busiest: most(busiest),
            apart_us: most(HostSide::apart_us),
            late_us: most(|host| host.began_late_us),
        }
    }
}

/// Where the load came from, as a sentence; `None` where it came from the contenders' machine.
pub fn sentence(run: &Run) -> Option<String> {
    let names: Vec<String> = run
        .hosts
        .iter()
        .map(|host| {
            let here = if host.is_here { ", which is the contenders' machine" } else { "" };
            let cpus = units::of(host.cpus.len() as u64, "processor");
            format!("{} ({cpus}{here})", visible_name(&host.name))
        })
        .collect();
    (!names.is_empty()).then(|| {
        let number = units::of(names.len() as u64, "host");
        format!("The load came from {number}: {}.", names.join(", "))
    })
}
