//! The hosts that load comes from, where it doesn't come from this machine.

use std::net::{IpAddr, TcpListener};

use hosts::agent::boot_id;
use hosts::hub::Hub;
use hosts::wire::Build;
use hosts::{Host, HostError};
use keeper::text::harmless;
use result::plan::ClientHost;

/// The hosts of a run, and how they reach the contenders.
#[derive(Debug, Clone)]
pub struct ClientHosts {
    /// This machine's address, as the hosts reach it.
    pub address: IpAddr,
    /// The hosts, in the order of the user's file.
    pub hosts: Vec<Host>,
    /// The program that has to run on each.
    pub build: Build,
}

/// Why hosts can't offer the load of a run.
#[derive(Debug, thiserror::Error)]
pub enum NoHosts {
    /// What was asked for doesn't fit them.
    #[error("{0}")]
    Unfit(String),
    /// One of them can't be had.
    #[error(transparent)]
    Lost(#[from] HostError),
}

impl ClientHosts {
    /// Greets all hosts, and says what they are.
    ///
    /// # Errors
    /// A host that can't be reached or has another program, and an address that contenders can't
    /// listen on, or that the hosts can't reach.
    pub fn greet(&self) -> Result<Vec<ClientHost>, NoHosts> {
        let address = self.address;
        TcpListener::bind((address, 0)).map_err(|error| {
            NoHosts::Unfit(format!(
                "contenders can't listen on {address}, this machine's address: {error}"
            ))
        })?;
        let hub = Hub::greet(&self.hosts, &self.build)?;
        let here = boot_id();
        if let Some(why) = hub.complaint(address) {
            return Err(NoHosts::Unfit(why));
        }
        let greeted = hub.hosts().map(|(host, facts, _)| ClientHost {
            name: host.name.clone(),
            kernel: harmless(&facts.kernel),
            cpus: hosts::hub::cpus(host, facts).to_vec(),
            is_here: facts.boot_id == here,
        });
        Ok(greeted.collect())
    }

    /// Those that a setting's load comes from: so many, the first of the file, or all.
    pub fn first(&self, clients: Option<usize>) -> &[Host] {
        &self.hosts[..clients.map_or(self.hosts.len(), |clients| clients.min(self.hosts.len()))]
    }
}
