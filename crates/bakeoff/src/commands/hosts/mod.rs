//! `bakeoff hosts`: the hosts that offer load together, and `bakeoff agent`, which runs there.
//!
//! - [`file`]: the user's file of hosts;
//! - `install`: brings this program to hosts that lack it;
//! - `kubernetes`: a Job whose pods are the hosts.

pub mod file;
mod install;
mod kubernetes;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::OnceLock;

use comfy_table::{CellAlignment, Table, presets};
use hosts::hub::Hub;
use hosts::wire::{Build, PROTOCOL};
use hosts::{Host, HostError};
use ipnet::IpNet;
use lab::place::client_hosts::ClientHosts;
use report::text::visible;
use report::units;

use self::file::HostsFile;
use super::exit_codes::{BAD_INPUT, SYSTEM};
use super::printing::{Output, complain};

/// Greets the hosts of a file, and tells what they are and how well their clocks are known
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit codes: 0 all greeted; 2 the file is wrong; 4 a host can't be reached, \
has another program, or lacks a processor of its cpus."
)]
pub struct HostsArguments {
    #[command(subcommand)]
    action: Option<Action>,

    /// The hosts and what leads to each: docs/hosts.md
    #[arg(default_value = "hosts.toml", global = true)]
    file: PathBuf,

    #[command(flatten)]
    cluster: kubernetes::Cluster,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Brings this program to the hosts that lack it, by its digest
    Install,
}

/// Offers load for a hub at the other end of standard input and output
///
/// The hub starts it, by whatever leads to this host: docs/hosts.md. It ends with its input.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit codes: 0 the hub closed the pipe; 1 the hub was silent, or said what \
can't be understood; 2 wrong arguments; 4 this program can't read its own file."
)]
pub struct AgentArguments {
    /// Offer load to this network only, as 10.77.0.0/24; may be given several times
    #[arg(long, value_name = "NETWORK")]
    only: Vec<IpNet>,
}

/// Is the agent.
pub fn agent(arguments: &AgentArguments) -> ExitCode {
    match own_build() {
        Ok(build) => hosts::agent::main(build, &arguments.only),
        Err(error) => {
            complain("agent", &error);
            SYSTEM.into()
        }
    }
}

/// Carries the command out.
pub fn run(arguments: &HostsArguments) -> ExitCode {
    match arguments.cluster.manifest() {
        Ok(Some(text)) => return print(&text),
        Ok(None) => {}
        Err(why) => return failed(BAD_INPUT, &why),
    }
    let hosts = match file::read(&arguments.file) {
        Ok(file) => file.hosts,
        Err(why) => return failed(BAD_INPUT, &why),
    };
    let done = match arguments.action {
        None => greet(&hosts).map(|hub| table(&hub)),
        Some(Action::Install) => install::on_all(&hosts),
    };
    match done {
        Ok(text) => print(&text),
        Err(error) => failed(SYSTEM, &visible(&error.to_string())),
    }
}

fn print(text: &str) -> ExitCode {
    let mut output = Output::to_stdout();
    output.print(text);
    match output.failure() {
        None => ExitCode::SUCCESS,
        Some(error) => failed(SYSTEM, &format!("printing: {error}")),
    }
}

fn failed(code: u8, why: &str) -> ExitCode {
    complain("hosts", why);
    code.into()
}

/// The hosts of a file, for the load of a study.
///
/// # Errors
/// What is wrong with the file, or with this program.
pub fn of_study(path: &Path) -> Result<ClientHosts, String> {
    let HostsFile { address, hosts } = file::read(path)?;
    let address = address.ok_or_else(|| {
        format!(
            "{}: missing key `address`: this machine, as the hosts reach it, where contenders are \
             to listen",
            path.display()
        )
    })?;
    Ok(ClientHosts { address, hosts, build: own_build()? })
}

/// Greets these hosts.
///
/// # Errors
/// The first that can't be reached, has another program, or lacks a processor of its `cpus`.
pub fn greet(hosts: &[Host]) -> Result<Hub, HostError> {
    let build = own_build().map_err(|what| HostError { host: "here".into(), what })?;
    let hub = Hub::greet(hosts, &build)?;
    for (host, facts, _) in hub.hosts() {
        if let Some(lacking) = host.cpus.iter().find(|cpu| !facts.cpus.contains(cpu)) {
            let what =
                format!("its cpus name {lacking}, and the agent there may use {:?}", facts.cpus);
            return Err(HostError { host: host.name.clone(), what });
        }
    }
    Ok(hub)
}

/// Which program this is.
///
/// # Errors
/// Why its digest can't be taken.
pub fn own_build() -> Result<Build, String> {
    static DIGEST: OnceLock<Option<String>> = OnceLock::new();
    let digest = DIGEST.get_or_init(lab::run::own_digest).clone();
    let digest = digest.ok_or("this program can't read its own file (/proc/self/exe)")?;
    Ok(Build { protocol: PROTOCOL, version: env!("CARGO_PKG_VERSION").into(), digest })
}

/// What the hosts are, in the words of a table.
fn table(hub: &Hub) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header([
        "host",
        "its name",
        "kernel",
        "processors",
        "files",
        "backend",
        "round trip",
        "clock within",
    ]);
    for (host, facts, clock) in hub.hosts() {
        let time = |time: std::time::Duration| units::time(time.as_secs_f64() * 1e6);
        table.add_row([
            host.name.clone(),
            visible(&facts.name).into_owned(),
            visible(&facts.kernel).into_owned(),
            facts.cpus.len().to_string(),
            units::whole(facts.files),
            visible(&facts.backend).into_owned(),
            time(clock.round_trip),
            time(clock.bound()),
        ]);
    }
    for (number, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if [3, 4, 6, 7].contains(&number) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let mut text = table.trim_fmt();
    text.push('\n');
    text + &same_machine(hub)
}

/// Which hosts are one machine, as a sentence.
fn same_machine(hub: &Hub) -> String {
    let boots: Vec<(&str, &str)> =
        hub.hosts().map(|(host, facts, _)| (&*host.name, &*facts.boot_id)).collect();
    let shares =
        |(name, boot): &(&str, &str)| boots.iter().any(|(other, its)| other != name && its == boot);
    let shared: Vec<&str> = boots.iter().filter(|it| shares(it)).map(|(name, _)| *name).collect();
    match shared[..] {
        [] => String::new(),
        _ => format!(
            "\n{} share a machine with another of them: their load shares its processors.\n",
            shared.join(", ")
        ),
    }
}
