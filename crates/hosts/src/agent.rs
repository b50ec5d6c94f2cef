//! The agent: `bakeoff agent` on a host, behind a pipe.
//!
//! It hears the hub on its standard input, and tells on its standard output. Each plan is carried
//! out by a client of its own, a fresh process. Nothing outlives the pipe: when the input closes,
//! or the hub is silent for [`SILENT_MAX`], the agent ends its client and itself. A client whose
//! agent is silent ends itself.

use std::io::{self, Write};
use std::net::IpAddr;
use std::process::ExitCode;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::Instant;

use ipnet::IpNet;
use load::agent::{Heard, SILENT_MAX, Told, line};
use load::{Error, Moment, Plan};
use rustix::process::Resource;

use crate::client::ClientProcess;
use crate::pipe::ALIVE_EVERY;
use crate::wire::{Build, HostFacts, ToAgent, ToHub, line_of};

/// The subcommand of bakeoff that is the agent.
pub const SUBCOMMAND: &str = "agent";

/// What happens to an agent.
enum Event {
    /// The hub said something.
    Hub(ToAgent),
    /// The hub closed the pipe, or said what can't be understood.
    HubGone(Option<String>),
    /// The client of this run told something.
    Client(u64, Told),
    /// The client of this run is gone.
    ClientGone(u64),
}

/// The agent's whole life. It offers load to these networks alone; to any, if none is named.
pub fn main(build: Build, only: &[IpNet]) -> ExitCode {
    let (to, events) = mpsc::channel();
    std::thread::spawn({
        let to = to.clone();
        move || listen_to_hub(&to)
    });
    match (Agent { build, only, events, to, run: None }).live() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("bakeoff agent: {why}");
            ExitCode::FAILURE
        }
    }
}

struct Agent<'a> {
    build: Build,
    only: &'a [IpNet],
    events: Receiver<Event>,
    to: Sender<Event>,
    run: Option<UnderWay>,
}

/// A run that is prepared, or under way.
struct UnderWay {
    number: u64,
    client: ClientProcess,
}

impl Agent<'_> {
    /// Serves the hub until that closes the pipe.
    ///
    /// # Errors
    /// Why it ended otherwise.
    fn live(mut self) -> Result<(), String> {
        let (mut heard_at, mut told_at) = (Instant::now(), Instant::now());
        loop {
            match self.events.recv_timeout(ALIVE_EVERY.saturating_sub(told_at.elapsed())) {
                Ok(Event::Hub(said)) => {
                    heard_at = Instant::now();
                    self.hear(said);
                }
                Ok(Event::HubGone(None)) => return Ok(()),
                Ok(Event::HubGone(Some(why))) => return Err(why),
                Ok(Event::Client(run, told)) if self.is_of(run) => self.pass_on(run, told),
                Ok(Event::ClientGone(run)) if self.is_of(run) => {
                    self.run = None;
                    self.fail(run, "the client's process ended".into());
                }
                // Of a run that is over.
                Ok(Event::Client(..) | Event::ClientGone(_)) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => unreachable!("it holds a sender itself"),
            }
            if heard_at.elapsed() > SILENT_MAX {
                return Err(format!("the hub said nothing for {} s", SILENT_MAX.as_secs()));
            }
            if told_at.elapsed() >= ALIVE_EVERY {
                told_at = Instant::now();
                tell(&ToHub::Alive);
                self.run.iter_mut().for_each(|run| run.client.say(&Heard::Alive));
            }
        }
    }

    fn is_of(&self, run: u64) -> bool {
        self.run.as_ref().is_some_and(|it| it.number == run)
    }

    fn hear(&mut self, said: ToAgent) {
        match said {
            ToAgent::Hello(_) => tell(&ToHub::Hello(Box::new(facts(self.build.clone())))),
            ToAgent::Clock { n } => tell(&ToHub::Clock { n, at: Moment::now() }),
            ToAgent::Prepare { run, plan } => self.prepare(run, &plan),
            ToAgent::Start { run, at } => self.start(run, at),
            ToAgent::Stop { run } => {
                let of_it = self.run.iter_mut().filter(|it| it.number == run);
                of_it.for_each(|it| it.client.say(&Heard::Stop));
            }
            ToAgent::Alive => {}
        }
    }

    fn prepare(&mut self, run: u64, plan: &Plan) {
        self.run = None;
        let target = plan.target.address.ip();
        if !self.allows(target) {
            let words = self.only.iter().map(IpNet::to_string).collect::<Vec<_>>().join(", ");
            return self.fail(run, format!("this agent offers load to {words} only, not {target}"));
        }
        match start_client(run, self.to.clone()) {
            Ok(mut client) => {
                client.say(&Heard::Plan(Box::new(plan.clone())));
                client.say(&Heard::Alive);
                self.run = Some(UnderWay { number: run, client });
            }
            Err(error) => self.fail(run, format!("starting a client: {error}")),
        }
    }

    fn allows(&self, target: IpAddr) -> bool {
        self.only.is_empty() || self.only.iter().any(|network| network.contains(&target))
    }

    fn start(&mut self, run: u64, at: Moment) {
        let late = at.elapsed();
        if !late.is_zero() {
            self.run = None;
            let late = late.as_secs_f64() * 1e3;
            return self.fail(run, format!("the word to start came {late:.1} ms too late"));
        }
        let of_it = self.run.iter_mut().filter(|it| it.number == run);
        of_it.for_each(|it| it.client.say(&Heard::Start(at)));
    }

    fn pass_on(&mut self, run: u64, told: Told) {
        let (said, is_last) = match told {
            Told::Connecting(open) => (ToHub::Connecting { run, open }, false),
            Told::Ready => (ToHub::Ready { run }, false),
            Told::Second(second) => (ToHub::Second { run, second }, false),
            Told::Ended(outcome) => (ToHub::Ended { run, outcome }, true),
            Told::Failed(error) => (ToHub::Failed { run, error }, true),
        };
        tell(&said);
        if is_last {
            self.run = None;
        }
    }

    fn fail(&mut self, run: u64, why: String) {
        let error =
            Error::System { what: "offering the load".into(), source: io::Error::other(why) };
        tell(&ToHub::Failed { run, error });
    }
}

/// Starts a client for a run. What happens to it comes as events.
///
/// # Errors
/// The kernel's.
fn start_client(run: u64, to: Sender<Event>) -> io::Result<ClientProcess> {
    let mut command = ClientProcess::own();
    keeper::bind_to_this_process(&mut command, Vec::new());
    ClientProcess::start(command, move |told| {
        let event = told.map_or(Event::ClientGone(run), |told| Event::Client(run, told));
        to.send(event).is_ok()
    })
}

/// Hears the hub until the pipe closes.
fn listen_to_hub(to: &Sender<Event>) {
    let mut input = io::stdin().lock();
    let gone = loop {
        let said = match line(&mut input) {
            Ok(Some(line)) => serde_json::from_str(&line).map_err(io::Error::from),
            Ok(None) => break None,
            Err(error) => Err(error),
        };
        match said {
            Ok(said) => {
                if to.send(Event::Hub(said)).is_err() {
                    return;
                }
            }
            Err(error) => break Some(format!("understanding the hub: {error}")),
        }
    };
    let _ = to.send(Event::HubGone(gone));
}

/// Tells the hub. If it is gone, the input closes as well.
fn tell(said: &ToHub) {
    let mut out = io::stdout().lock();
    let _ = out.write_all(&line_of(said)).and_then(|()| out.flush());
}

/// What this host is.
fn facts(build: Build) -> HostFacts {
    let (uname, files) = (rustix::system::uname(), rustix::process::getrlimit(Resource::Nofile));
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    let range = read("/proc/sys/net/ipv4/ip_local_port_range");
    let mut ports = range.split_whitespace().filter_map(|port| port.parse().ok());
    HostFacts {
        build,
        name: uname.nodename().to_string_lossy().into_owned(),
        kernel: uname.release().to_string_lossy().into_owned(),
        cpus: load::allowed_cpus().unwrap_or_default(),
        files: files.maximum.unwrap_or(u64::MAX),
        ports: (ports.next().unwrap_or(0), ports.next().unwrap_or(0)),
        backend: load::chosen_backend(),
        boot_id: boot_id(),
    }
}

/// What is the same for all that run since this machine started.
pub fn boot_id() -> String {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    id.unwrap_or_default().trim().into()
}
