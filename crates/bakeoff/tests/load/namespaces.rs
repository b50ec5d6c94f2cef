//! Hosts with networks and clocks of their own: namespaces of this machine, joined by a bridge.
//!
//! Each is held by a process, and goes with it: nothing has to be taken away.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Signal, geteuid, set_parent_process_death_signal};

use crate::several_hosts::{Hosts, SOUND, Told};
use crate::skipped::skipped;

/// The hub's address, on which the server listens.
const HUB: &str = "10.77.0.1";

/// A process that holds a network namespace.
struct Namespace {
    holder: Child,
}

impl Namespace {
    fn new() -> Namespace {
        let mut command = Command::new("unshare");
        command.args(["--net", "sleep", "600"]).stdin(Stdio::null());
        // SAFETY: between fork and exec there is one system call, which allocates nothing.
        unsafe {
            command.pre_exec(|| Ok(set_parent_process_death_signal(Some(Signal::KILL))?));
        }
        let namespace = Namespace { holder: command.spawn().unwrap() };
        let own = std::fs::read_link("/proc/self/ns/net").unwrap();
        let its = format!("/proc/{}/ns/net", namespace.id());
        let end = Instant::now() + Duration::from_secs(10);
        while std::fs::read_link(&its).ok().is_none_or(|it| it == own) {
            assert!(Instant::now() < end, "no network namespace was made");
            std::thread::sleep(Duration::from_millis(5));
        }
        namespace.run("ip link set lo up");
        namespace
    }

    fn id(&self) -> u32 {
        self.holder.id()
    }

    /// The words that lead into it.
    fn entered(&self) -> String {
        format!("nsenter --net --target {}", self.id())
    }

    /// Runs a command in it.
    fn run(&self, words: &str) {
        let line = format!("{} {words}", self.entered());
        let output = Command::new("sh").args(["-c", &line]).output().unwrap();
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}

/// The hub's namespace with a bridge, and so many hosts' on it.
struct Network {
    hub: Namespace,
    hosts: Vec<Namespace>,
}

impl Network {
    /// `None`, and told why, where this machine makes none.
    fn of(hosts: usize) -> Option<Network> {
        let missing = ["ip", "tc", "nsenter", "unshare", "perl"].into_iter().find(|program| {
            let found = Command::new("sh").args(["-c", &format!("command -v {program}")]).output();
            !found.is_ok_and(|output| output.status.success())
        });
        if let Some(program) = missing {
            skipped("skipped", &format!("{program} is not installed"));
            return None;
        }
        if !geteuid().is_root() {
            skipped("skipped", "only root makes network namespaces");
            return None;
        }
        let hub = Namespace::new();
        hub.run("ip link add hub type bridge");
        hub.run(&format!("ip address add {HUB}/24 dev hub"));
        hub.run("ip link set hub up");
        let hosts = (0..hosts).map(|nth| {
            let host = Namespace::new();
            let (link, there) = (format!("to{nth}"), host.id());
            hub.run(&format!("ip link add {link} type veth peer name eth0 netns {there}"));
            hub.run(&format!("ip link set {link} master hub up"));
            host.run(&format!("ip address add 10.77.0.{}/24 dev eth0", 11 + nth));
            host.run("ip link set eth0 up");
            host
        });
        Some(Network { hosts: hosts.collect(), hub })
    }

    /// The file of its hosts.
    fn file(&self) -> Hosts {
        let mut file = Hosts::new();
        for (nth, host) in self.hosts.iter().enumerate() {
            let words = SOUND.replace("exec", &format!("exec {}", host.entered()));
            file = file.and(&format!("c{}", nth + 1), &words);
        }
        file
    }

    /// `bakeoff load` on the hub, at a server there.
    fn load(&self, file: &Hosts, port: u16, arguments: &[&str]) -> Told {
        let mut words = self.hub.entered();
        words.push_str(&format!(" {} load http://{HUB}:{port}/", env!("CARGO_BIN_EXE_bakeoff")));
        for argument in arguments {
            words.push_str(&format!(" '{argument}'"));
        }
        words.push_str(&format!(" --json - --hosts {}", file.file().display()));
        Told::of(&Command::new("sh").args(["-c", &words]).output().unwrap())
    }
}

/// A server in a namespace, which sends this many bytes.
struct Sends {
    process: Child,
}

impl Sends {
    fn begin(network: &Network, port: u16, bytes: usize) -> Sends {
        let script = format!(
            r#"use IO::Socket::INET; $SIG{{CHLD}} = "IGNORE"; $| = 1;
            my $l = IO::Socket::INET->new(LocalAddr => "{HUB}", LocalPort => {port}, Listen => 128,
                ReuseAddr => 1) or die; print "up\n"; my $body = "x" x {bytes};
            my $answer = "HTTP/1.1 200 OK\r\nContent-Length: {bytes}\r\n\r\n" . $body;
            while (my $c = $l->accept) {{ next if fork; my $in = "";
                while (sysread($c, $in, 65536, length $in)) {{
                    while ($in =~ s/^.*?\r\n\r\n//s) {{ my $at = 0;
                        while ($at < length $answer) {{
                            my $n = syswrite($c, $answer, length($answer) - $at, $at);
                            exit unless $n; $at += $n; }} }} }}
                exit }}"#
        );
        let words = format!("exec {} perl -e \"$SCRIPT\"", network.hub.entered());
        let mut command = Command::new("sh");
        command.args(["-c", &words]).env("SCRIPT", script).stdout(Stdio::piped());
        command.process_group(0);
        let mut process = command.spawn().unwrap();
        let mut out = std::io::BufReader::new(process.stdout.take().unwrap());
        let mut line = String::new();
        std::io::BufRead::read_line(&mut out, &mut line).unwrap();
        assert_eq!(line, "up\n");
        Sends { process }
    }
}

impl Drop for Sends {
    fn drop(&mut self) {
        let group = rustix::process::Pid::from_child(&self.process);
        let _ = rustix::process::kill_process_group(group, Signal::KILL);
        let _ = self.process.wait();
    }
}

/// A narrow link is a host's, and not the server's: it has to show by the host's name.
#[test]
fn hosts_of_networks_of_their_own_are_told_apart() {
    let Some(network) = Network::of(3) else { return };
    let _server = Sends::begin(&network, 8080, 20_000);
    network.hosts[2].run("tc qdisc add dev eth0 root tbf rate 2mbit burst 16kb latency 400ms");
    network.hub.run("tc qdisc add dev to2 root tbf rate 20mbit burst 64kb latency 400ms");
    let said = network.load(&network.file(), 8080, &["-d", "1s", "-c", "6", "-t", "1"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let rates: Vec<f64> =
        (0..3).map(|nth| said.json["hosts"][nth]["rate"].as_f64().unwrap()).collect();
    assert!(rates[2] * 3.0 < rates[0].min(rates[1]), "the narrow link doesn't show: {rates:?}");
    let warnings = said.json["warnings"].as_array().unwrap();
    let slower: Vec<&str> = warnings
        .iter()
        .filter(|it| it["id"] == "host_slower")
        .filter_map(|it| it["text"].as_str())
        .collect();
    assert!(slower.iter().any(|text| text.starts_with("Host c3 had")), "{warnings:?}");
}

/// Else a host whose clock is another would begin at another time, and its seconds would lie
/// beside others'.
#[test]
fn a_clock_that_is_a_day_ahead_is_found_and_changes_nothing() {
    if !geteuid().is_root() {
        return skipped("skipped", "only root makes time namespaces");
    }
    let day = "unshare --time --monotonic 86400 --fork --kill-child \"$@\"";
    if !Command::new("unshare")
        .args(["--time", "--fork", "true"])
        .status()
        .is_ok_and(|it| it.success())
    {
        return skipped("skipped", "this kernel makes no time namespaces");
    }
    let server = crate::support::Server::says(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    let hosts = Hosts::new().and("c1", SOUND).and("c2", day);
    let said = hosts.load(&[&server.url("/"), "-d", "1s", "-c", "4", "-t", "1"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let clock = |nth: usize, name: &str| said.json["hosts"][nth]["clock"][name].as_f64().unwrap();
    assert!((clock(1, "offset_us") / 86_400e6 - 1.0).abs() < 1e-6, "{}", clock(1, "offset_us"));
    assert!(clock(0, "offset_us").abs() < 1e6, "{}", clock(0, "offset_us"));
    assert!(clock(1, "start_late_us") < 50_000.0, "{}", clock(1, "start_late_us"));
}
