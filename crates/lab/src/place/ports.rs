//! Ports for contenders: those that the kernel gives to nobody.
//!
//! A client without a port of its own gets one of `net.ipv4.ip_local_port_range`. Were the
//! contender's among them, connections of the client, or what is left of them in TIME_WAIT,
//! could hold it; and whoever tries whether it is ready yet could be given its port, and meet
//! itself there.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::RangeInclusive;

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with};

/// Below, servers of the system have theirs.
const USUAL: RangeInclusive<u16> = 10_000..=65_535;
/// Below, only root may listen.
const ALL: RangeInclusive<u16> = 1_024..=65_535;
/// Ports that are tried.
const TRIES: usize = 100;

/// What the kernel gives to clients: the range, but for what is reserved.
#[derive(Debug, Clone)]
pub struct ForClients {
    range: RangeInclusive<u16>,
    reserved: Vec<RangeInclusive<u16>>,
}

impl ForClients {
    /// As the kernel has it now. Where it doesn't tell, it is its own default.
    pub fn of_this_machine() -> ForClients {
        let read = |name: &str| {
            std::fs::read_to_string(format!("/proc/sys/net/ipv4/{name}")).unwrap_or_default()
        };
        ForClients::read(&read("ip_local_port_range"), &read("ip_local_reserved_ports"))
    }

    fn read(range: &str, reserved: &str) -> ForClients {
        let mut ends = range.split_whitespace().map_while(|end| end.parse().ok());
        let (first, last) = ends.next().zip(ends.next()).unwrap_or((32_768, 60_999));
        let part = |part: &str| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            Some(first.trim().parse().ok()?..=last.trim().parse().ok()?)
        };
        ForClients { range: first..=last, reserved: reserved.split(',').filter_map(part).collect() }
    }

    fn has(&self, port: u16) -> bool {
        self.range.contains(&port) && !self.reserved.iter().any(|it| it.contains(&port))
    }

    /// The ports that are left for contenders: of the usual ones, else of all.
    fn left(&self) -> Vec<u16> {
        let of = |all: RangeInclusive<u16>| all.filter(|&port| !self.has(port)).collect();
        let usual: Vec<u16> = of(USUAL);
        // So few might all be taken.
        if usual.len() >= TRIES { usual } else { of(ALL) }
    }

    /// What somebody who measures has to know, where these leave none for contenders.
    pub fn complaint(&self) -> Option<String> {
        self.left().is_empty().then(|| {
            format!(
                "the kernel gives every port to clients (net.ipv4.ip_local_port_range = {} {}), \
                 so that a connection may hold the one that a contender is to listen on. Leave \
                 some: sysctl net.ipv4.ip_local_reserved_ports=20000-20999",
                self.range.start(),
                self.range.end()
            )
        })
    }

    /// A port that no socket has, in whatever state.
    ///
    /// # Errors
    /// One sentence, if none of many is free.
    pub fn free(&self) -> Result<u16, String> {
        let left = self.left();
        let left = if left.is_empty() { USUAL.collect() } else { left };
        let mut why = Errno::ADDRINUSE;
        for _ in 0..TRIES {
            let port = left[fastrand::usize(..left.len())];
            match is_free(port) {
                Ok(()) => return Ok(port),
                Err(error) => why = error,
            }
        }
        Err(format!("none of {TRIES} ports that were tried is free, at last: {why}"))
    }
}

/// Whether a server may listen here that asks for no other's port (`SO_REUSEADDR`), as some
/// don't: then a connection in TIME_WAIT is enough to keep it from that.
fn is_free(port: u16) -> Result<(), Errno> {
    let bind_to = |family, address: SocketAddr| {
        let socket = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        bind(&socket, &address)
    };
    bind_to(AddressFamily::INET, (Ipv4Addr::UNSPECIFIED, port).into())?;
    match bind_to(AddressFamily::INET6, (Ipv6Addr::UNSPECIFIED, port).into()) {
        // There may be no IPv6.
        Err(Errno::AFNOSUPPORT | Errno::ADDRNOTAVAIL) => Ok(()),
        bound => bound,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn no_port_that_the_kernel_gives_to_clients_is_a_contenders() {
        for (range, reserved, first) in [
            ("32768\t60999\n", "\n", 10_000),
            ("1024 50000", "", 50_001),
            // The usual tuning for load.
            ("1024 65500", "", 65_501),
            ("10000 65535", "", 1_024),
            ("1024 65535", "8080,20000-20999\n", 20_000),
        ] {
            let for_clients = ForClients::read(range, reserved);
            let left = for_clients.left();
            assert!(left.contains(&first), "{range}: {left:?}");
            assert!(!left.iter().any(|&port| for_clients.has(port)), "{range}");
            assert_eq!(for_clients.complaint(), None);
        }
    }

    #[test]
    fn where_no_port_is_left_it_is_said() {
        let all = ForClients::read("1024 65535", "");
        insta::assert_snapshot!(all.complaint().unwrap(), @"the kernel gives every port to clients (net.ipv4.ip_local_port_range = 1024 65535), so that a connection may hold the one that a contender is to listen on. Leave some: sysctl net.ipv4.ip_local_reserved_ports=20000-20999");
        assert!(all.free().is_ok(), "a trial is made all the same");
    }

    /// The server ends its connections itself, as in every trial with a connection a request.
    #[test]
    fn a_port_with_a_connection_in_time_wait_is_no_contenders() {
        let port = ForClients::of_this_machine().free().unwrap();
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let listener = TcpListener::bind(address).unwrap();
        let mut client = TcpStream::connect(address).unwrap();
        drop(listener.accept().unwrap());
        drop(listener);
        assert_eq!(client.read(&mut [0]).unwrap(), 0);
        drop(client);
        assert!(TcpListener::bind(address).is_ok(), "with SO_REUSEADDR nothing is seen of it");
        assert_eq!(is_free(port), Err(Errno::ADDRINUSE));
        let other = ForClients::of_this_machine().free().unwrap();
        assert_eq!(is_free(other), Ok(()));
    }
}
