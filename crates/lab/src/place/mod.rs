//! Where a trial runs.
//!
//! The contender is on this machine. The load comes from a client beside it, or from other hosts
//! ([`client_hosts`]). All that a trial needs of the contender's machine goes through [`Host`].

pub mod awake;
pub mod client_hosts;
pub mod disk;
pub mod machine;
mod placing;
pub mod ports;
pub(crate) mod processors;
pub mod reach;
pub mod yardstick;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::iter;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use keeper::Order;
use keeper::cgroup::{Group, Trees};
use keeper::kept::{Kept, NotStarted};
use keeper::leftovers;
use keeper::process_tree::Sockets;
use procfs::net::{TcpNetEntries, TcpNetEntry};
use procfs::{FromBufReadSI, current_system_info};
use result::evidence::Place;
use result::plan::{ClientHost, Cores, Machine};

use crate::place::placing::{Placing, placing};
use crate::place::ports::ForClients;
use crate::place::yardstick::Speed;
use crate::sample::connections;

/// A contender that runs.
#[derive(Debug)]
pub struct Running {
    /// Its processes.
    pub kept: Kept,
    /// What it was started with.
    pub order: Order,
    /// Where it is to answer.
    pub address: SocketAddr,
    /// The numbers of the records that it was given; none where the study has no records.
    pub records: Vec<u64>,
    /// The file that it writes what it made of them to, where the study counts that.
    pub made: Option<PathBuf>,
}

/// What a trial asks of a host that contenders run on.
pub trait Host {
    /// The processors for the contender and for the load, as `placing.rs` chooses them.
    fn split(&self, cores: Cores) -> Place;

    /// An address that nobody uses, and that the kernel gives to no client.
    ///
    /// # Errors
    /// One sentence, if there is none.
    fn free_address(&self) -> Result<SocketAddr, String>;

    /// Whether anybody listens there; also where that can't be known. To find out by
    /// connecting, from a port that the kernel gives, may meet itself.
    fn may_listen(&self, address: SocketAddr) -> bool;

    /// The backlog of the shortest listen queue at this port; `None` where that can't be known.
    fn listen_backlog(&self, port: u16) -> Option<u32>;

    /// A name for a trial's own folder; its keeper makes and removes it.
    fn scratch(&self) -> PathBuf;

    /// The same for a store: on a disk, if there is one.
    fn scratch_on_disk(&self) -> PathBuf;

    /// A control group for a contender or its client at this place. Whoever starts
    /// that makes it; the contender's keeper removes both.
    fn cgroup(&self, place: &Place) -> Group;

    /// Starts a program.
    ///
    /// # Errors
    /// [`NotStarted`], if it doesn't run.
    fn start(&self, order: &Order) -> Result<Kept, NotStarted>;

    /// Who else than the descendants of `root` may take what is sent to this address, in
    /// words. An answer from there would be somebody else's.
    fn foreign_listener(&self, address: SocketAddr, root: i32) -> Option<String>;

    /// The TCP addresses that the descendants of `root` listen on.
    fn listening(&self, root: i32) -> Vec<SocketAddr>;

    /// How fast each of these processors is, in their order; `None` where that can't be told.
    fn speeds(&self, cpus: &[usize]) -> Vec<Option<Speed>>;
}

/// This machine as a place for contenders and load.
#[derive(Debug, Clone)]
pub struct ThisMachine {
    machine: Machine,
    /// The address that contenders listen on.
    address: IpAddr,
}

impl ThisMachine {
    /// From what the machine told of itself. Contenders are reached from here alone.
    pub fn new(machine: &Machine) -> ThisMachine {
        ThisMachine { machine: machine.clone(), address: Ipv4Addr::LOCALHOST.into() }
    }

    /// The same, where contenders are reached at this address.
    pub fn reached_at(self, address: IpAddr) -> ThisMachine {
        ThisMachine { address, ..self }
    }

    /// The contender's processors where the load comes from hosts, and those that are left to
    /// bakeoff, which has to hear them. Hosts that are this machine all the same have processors
    /// of their own.
    pub fn for_hosts(&self, cores: Cores, hosts: &[&ClientHost]) -> (Place, Vec<usize>) {
        let (server_cpus, hub_cpus) = placing::beside_a_hub(&self.machine, cores);
        let here = hosts.iter().filter(|host| host.is_here).flat_map(|host| &host.cpus);
        let client_cpus = here.copied().collect::<BTreeSet<usize>>().into_iter().collect();
        let cores = self.machine.smt_siblings.clone();
        (Place { server_cpus, client_cpus, cores }, hub_cpus)
    }

    /// The same with a second client beside the first, on a core that neither
    /// contender nor load has.
    ///
    /// # Errors
    /// One sentence, where there is no such core.
    pub fn with_second_client(&self, cores: Cores) -> Result<Place, String> {
        let Placing { mut place, spare } = placing(&self.machine, cores);
        if spare.is_empty() {
            let cores = match placing::usable(&self.machine).len() {
                1 => "There is one core to use".to_string(),
                count => format!("Of the {count} cores to use none is left"),
            };
            return Err(format!("{cores}: a second client had nowhere to run."));
        }
        place.client_cpus.extend(spare);
        Ok(place)
    }

    /// The ways to give cores that differ here: where there is one processor, it is all.
    pub fn ways(&self) -> Vec<Cores> {
        let [one, all] = [Cores::One, Cores::All].map(|cores| self.split(cores).server_cpus);
        if one == all { vec![Cores::All] } else { vec![Cores::All, Cores::One] }
    }

    /// The address that contenders listen on.
    pub fn host(&self) -> IpAddr {
        self.address
    }
}

impl Host for ThisMachine {
    fn split(&self, cores: Cores) -> Place {
        placing(&self.machine, cores).place
    }

    fn free_address(&self) -> Result<SocketAddr, String> {
        Ok(SocketAddr::new(self.host(), ForClients::of_this_machine().free()?))
    }

    fn may_listen(&self, address: SocketAddr) -> bool {
        connections::is_listened_to(address.port()).unwrap_or(true)
    }

    fn listen_backlog(&self, port: u16) -> Option<u32> {
        connections::listeners(port)?.backlog
    }

    fn scratch(&self) -> PathBuf {
        std::env::temp_dir().join(leftovers::name())
    }

    fn scratch_on_disk(&self) -> PathBuf {
        disk::folder_for_data().join(leftovers::name())
    }

    fn cgroup(&self, place: &Place) -> Group {
        Trees::of_this_process().group(&leftovers::name(), place.shared())
    }

    fn start(&self, order: &Order) -> Result<Kept, NotStarted> {
        Kept::start(order)
    }

    fn foreign_listener(&self, address: SocketAddr, root: i32) -> Option<String> {
        let own = Sockets::of(root);
        let foreign = listeners()
            .find(|socket| takes(socket.local_address, address) && !own.has(socket.inode))?;
        match holder(foreign.inode) {
            // The contender's own, of which nobody can see what they hold.
            None if own.may_have_more() => None,
            None => Some("a process that can't be seen from here".into()),
            seen => seen,
        }
    }

    fn listening(&self, root: i32) -> Vec<SocketAddr> {
        let own = Sockets::of(root);
        let listeners = listeners().filter(|socket| own.has(socket.inode));
        listeners.map(|socket| socket.local_address).collect()
    }

    fn speeds(&self, cpus: &[usize]) -> Vec<Option<Speed>> {
        yardstick::speeds(cpus)
    }
}

/// Whether a listener may be given a connection to this address: it listens there, or on all
/// addresses, which those of IPv6 (`::`) have those of IPv4 among.
fn takes(listener: SocketAddr, asked: SocketAddr) -> bool {
    let there = listener.ip().to_canonical();
    let is_on_all = there.is_unspecified() && (there.is_ipv6() || asked.is_ipv4());
    listener.port() == asked.port() && (there == asked.ip() || is_on_all)
}

/// All TCP sockets here that listen.
fn listeners() -> impl Iterator<Item = TcpNetEntry> {
    ["/proc/net/tcp", "/proc/net/tcp6"].into_iter().filter_map(listening).flatten()
}

/// Those that the kernel tells of in this file, which it does first: of connections, and of
/// thousands in TIME_WAIT, it tells behind them.
fn listening(file: &str) -> Option<Vec<TcpNetEntry>> {
    let mut lines = BufReader::new(File::open(file).ok()?).lines().map_while(Result::ok);
    let head = lines.next()?;
    let listens = |line: &String| line.split_whitespace().nth(3) == Some("0A");
    let lines: Vec<String> = iter::once(head).chain(lines.take_while(listens)).collect();
    let text = lines.join("\n");
    TcpNetEntries::from_buf_read(text.as_bytes(), current_system_info()).ok().map(|all| all.0)
}

/// The process that holds a socket, for people.
fn holder(inode: u64) -> Option<String> {
    let target = format!("socket:[{inode}]");
    for process in procfs::process::all_processes().ok()?.flatten() {
        let Ok(fds) = process.fd() else { continue };
        let holds = fds.flatten().any(|fd| match fd.target {
            procfs::process::FDTarget::Socket(held) => format!("socket:[{held}]") == target,
            _ => false,
        });
        if holds {
            let name = process.stat().map(|stat| stat.comm).unwrap_or_default();
            return Some(format!("process {} ({name})", process.pid));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    fn machine(cores: &[&[usize]]) -> ThisMachine {
        let smt_siblings: Vec<Vec<usize>> = cores.iter().map(|core| core.to_vec()).collect();
        ThisMachine::new(&Machine { cpus: cores.concat(), smt_siblings, ..Machine::default() })
    }

    #[test]
    fn a_second_client_has_the_core_that_is_kept_for_it() {
        let machine = machine(&[&[0, 5], &[1, 6], &[2, 7], &[3, 8], &[4, 9]]);
        for cores in [Cores::One, Cores::All] {
            let (first, both) = (machine.split(cores), machine.with_second_client(cores).unwrap());
            assert_eq!(both.server_cpus, first.server_cpus, "the contender is given the same");
            assert_eq!(both.client_cpus, [&first.client_cpus[..], &[4, 9]].concat());
            assert!(!both.shared());
        }
    }

    #[test]
    fn where_no_core_is_left_for_a_second_client_it_is_said() {
        let why = |cores: &[&[usize]], which| machine(cores).with_second_client(which).unwrap_err();
        insta::assert_snapshot!(why(&[&[0], &[1]], Cores::One), @"Of the 2 cores to use none is left: a second client had nowhere to run.");
        insta::assert_snapshot!(why(&[&[0]], Cores::One), @"There is one core to use: a second client had nowhere to run.");
    }

    #[test]
    fn one_core_and_all_are_the_same_on_a_single_processor_only() {
        assert_eq!(machine(&[&[0]]).ways(), [Cores::All]);
        let others: [&[&[usize]]; 3] = [&[&[0, 1]], &[&[0], &[1]], &[&[0], &[1], &[2], &[3]]];
        for cores in others {
            assert_eq!(machine(cores).ways(), [Cores::All, Cores::One], "{cores:?}");
        }
    }

    #[test]
    fn who_listens_on_all_addresses_takes_what_is_sent_to_one() {
        let asked = "127.0.0.1:80".parse().unwrap();
        let takes = |listener: &str| takes(listener.parse().unwrap(), asked);
        assert!(
            ["127.0.0.1:80", "0.0.0.0:80", "[::]:80", "[::ffff:127.0.0.1]:80"].map(takes)
                == [true; 4]
        );
        assert!(["127.0.0.1:81", "172.17.0.1:80", "[::1]:80"].map(takes) == [false; 3]);
    }

    #[test]
    fn whether_anybody_listens_is_known_without_a_connection() {
        let place = machine(&[&[0]]);
        let address = place.free_address().unwrap();
        assert!(!place.may_listen(address), "a try would come from a port of its own");
        let _listener = TcpListener::bind(address).unwrap();
        assert!(place.may_listen(address));
    }

    #[test]
    fn a_port_that_somebody_else_listens_on_is_seen() {
        let place = machine(&[&[0]]);
        let listener = TcpListener::bind((place.host(), 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let own = std::process::id() as i32;
        assert_eq!(place.foreign_listener(address, own), None, "our own listener is no stranger");
        assert!(place.listening(own).contains(&address));
        let nobody = i32::MAX;
        let stranger = place.foreign_listener(address, nobody).expect("a stranger listens");
        assert!(stranger.contains(&own.to_string()), "{stranger}");
        let beside_it = SocketAddr::new([127, 0, 0, 2].into(), address.port());
        assert_eq!(place.foreign_listener(beside_it, nobody), None, "nothing comes from there");
        assert!(place.listening(nobody).is_empty());
    }
}
