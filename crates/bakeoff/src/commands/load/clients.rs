//! Who offers the load: this process, or agents on several hosts.

use hosts::hub::{Hub, RunError};
use hosts::seen::{Concern, HostSeen};
use load::verdict::limit::{self, Warning};
use load::{Outcome, Plan, Stop};

use super::arguments::LoadArguments;
use super::exit::{Exit, Failure};
use super::live::Live;
use super::run;
use crate::commands::hosts::{file, greet};

/// Who offers the load.
pub enum Clients {
    /// This process.
    Here,
    /// Agents on several hosts.
    Hosts(Box<Hub>),
}

/// What came of a load.
pub struct Offered {
    /// What was seen, of all hosts together.
    pub outcome: Outcome,
    /// What to know before using it.
    pub warnings: Vec<Warning>,
    /// What each host saw, where there are hosts.
    pub hosts: Vec<HostSeen>,
    /// What to know of hosts.
    pub concerns: Vec<Concern>,
}

impl Clients {
    /// Those that the arguments name.
    ///
    /// # Errors
    /// Where the file of hosts is wrong, or a host can't be reached.
    pub fn of(arguments: &LoadArguments, plan: &Plan) -> Result<Clients, Failure> {
        let Some(path) = &arguments.hosts else { return Ok(Clients::Here) };
        let hosts = file::read(path).map_err(Failure::bad_input)?.hosts;
        let hub = greet(&hosts).map_err(Failure::of_hosts)?;
        match hub.complaint(plan.target.address.ip()) {
            Some(why) => Err(Failure::bad_input(why)),
            None => Ok(Clients::Hosts(Box::new(hub))),
        }
    }

    /// Offers a load, and shows how it goes on.
    ///
    /// # Errors
    /// Where no load can be offered.
    pub fn offer(&mut self, plan: &Plan, stop: &Stop, quiet: bool) -> Result<Offered, Failure> {
        let mut live = Live::new(plan, quiet);
        let mut tell = |news: &load::News| live.show(news);
        match self {
            Clients::Here => {
                let outcome = load::run(plan, stop, &mut tell)?;
                let warnings = limit::warnings(plan, &outcome);
                Ok(Offered { outcome, warnings, hosts: Vec::new(), concerns: Vec::new() })
            }
            Clients::Hosts(hub) => {
                let together = hub.run(plan, stop, &mut tell).map_err(Failure::of_hosts)?;
                let mut warnings = limit::warnings(plan, &together.outcome);
                // They are a host's, by its name.
                warnings.retain(|warning| !warning.is_client_limit());
                let concerns = together.concerns();
                Ok(Offered { outcome: together.outcome, warnings, hosts: together.hosts, concerns })
            }
        }
    }
}

impl Offered {
    /// Whether all hosts offered their parts.
    ///
    /// # Errors
    /// The first that was lost.
    pub fn whole(self) -> Result<Offered, Failure> {
        match run::lost(&self.concerns) {
            Some(sentence) => Err(Failure { exit: Exit::System, sentence }),
            None => Ok(self),
        }
    }
}

impl Failure {
    /// A host is at fault, or the plan can't be split over the hosts.
    fn of_hosts(error: impl Into<RunError>) -> Failure {
        let error = error.into();
        let exit = match error {
            RunError::Plan(_) => Exit::BadInput,
            RunError::Host(_) => Exit::System,
        };
        Failure { exit, sentence: error.to_string() }
    }
}
