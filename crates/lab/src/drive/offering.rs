//! Who offers a trial's load: a client on the contender's machine, or several hosts.

use std::io;

use hosts::hub::{Hub, RunError};
use hosts::seen::HostSeen;
use hosts::{Host, HostError};
use load::{Error, News, Outcome, Plan, Stop};

use super::client::{Client, LoadNews};

/// Who offers the load of a trial. Dropping it ends all that it started.
pub(super) enum Offering {
    /// A client here.
    Here(Client),
    /// Agents on hosts, greeted for this trial.
    Hosts(Box<Hub>),
}

/// What came of it.
pub(super) struct Offered {
    /// What was seen, of all hosts together.
    pub outcome: Outcome,
    /// What each host saw; none where the load came from here.
    pub hosts: Vec<HostSeen>,
}

impl Offering {
    /// Greets hosts.
    ///
    /// # Errors
    /// The first that can't be reached.
    pub(super) fn greet(hosts: &[Host], build: &hosts::wire::Build) -> Result<Offering, Error> {
        Ok(Offering::Hosts(Box::new(Hub::greet(hosts, build).map_err(no_load)?)))
    }

    /// Carries a plan out, and tells of each second; a client here tells before when it has
    /// connected. `None` if it was stopped on the way.
    ///
    /// # Errors
    /// Where no load could be offered. A host that is lost after the start is no error: what the
    /// others saw is kept, and its loss is in what it saw.
    pub(super) fn offer(
        &mut self,
        plan: &Plan,
        stop: &Stop,
        tell: &mut dyn FnMut(LoadNews),
    ) -> Result<Option<Offered>, Error> {
        let hub = match self {
            Offering::Here(client) => {
                let outcome = client.run(plan, stop, tell)?;
                return Ok(outcome.map(|outcome| Offered { outcome, hosts: Vec::new() }));
            }
            Offering::Hosts(hub) => hub,
        };
        let mut seconds = |news: &News| {
            if let News::Second(second) = news {
                tell(LoadNews::Second(second));
            }
        };
        let together = hub.run(plan, stop, &mut seconds).map_err(|error| match error {
            RunError::Plan(why) => Error::Plan(why),
            RunError::Host(error) => no_load(error),
        })?;
        let offered = Offered { outcome: together.outcome, hosts: together.hosts };
        Ok((!stop.asked()).then_some(offered))
    }
}

fn no_load(error: HostError) -> Error {
    Error::System { what: "offering the load".into(), source: io::Error::other(error) }
}
