//! The same load from several hosts: here agents on this machine, behind pipes of every kind.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::Value;
use tempfile::TempDir;

use crate::stores::{Kind, Store};
use crate::support::Server;

const HELLO: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
/// What a host that is gone may cost.
const ENDS_WITHIN: Duration = Duration::from_secs(10);

/// A file of hosts, and where their processes tell their ids.
pub struct Hosts {
    folder: TempDir,
    content: String,
}

impl Hosts {
    pub fn new() -> Hosts {
        Hosts { folder: TempDir::new().unwrap(), content: String::new() }
    }

    /// A host behind a shell's words, in which `"$@"` is the agent.
    pub fn and(mut self, name: &str, words: &str) -> Hosts {
        let words = words.replace("PID", &self.pid_file(name));
        let binary = env!("CARGO_BIN_EXE_bakeoff");
        self.content += &format!(
            "[host.{name}]\nreach = [\"sh\", \"-c\", {words:?}, \"sh\"]\nbinary = {binary:?}\n"
        );
        fs::write(self.file(), &self.content).unwrap();
        self
    }

    /// So many that are as they should be.
    fn sound(count: usize) -> Hosts {
        (1..=count).fold(Hosts::new(), |hosts, nth| hosts.and(&format!("c{nth}"), SOUND))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn file(&self) -> PathBuf {
        self.path("hosts.toml")
    }

    fn pid_file(&self, name: &str) -> String {
        self.path(&format!("{name}.pid")).display().to_string()
    }

    /// The agent's process on this host, once it has told.
    fn agent(&self, name: &str) -> Pid {
        let path = self.pid_file(name);
        let end = Instant::now() + ENDS_WITHIN;
        loop {
            let told = fs::read_to_string(&path).unwrap_or_default();
            if let Some(pid) = told.trim().parse().ok().and_then(Pid::from_raw) {
                return pid;
            }
            assert!(Instant::now() < end, "no agent of {name} has begun");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    pub fn load(&self, arguments: &[&str]) -> Told {
        Told::of(&self.begin(&[arguments, &["--json", "-"]].concat()).wait_with_output().unwrap())
    }

    /// The same under way, which is not waited for.
    fn begin(&self, arguments: &[&str]) -> Child {
        Command::new(env!("CARGO_BIN_EXE_bakeoff"))
            .arg("load")
            .args(arguments)
            .arg("--hosts")
            .arg(self.file())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }
}

/// What a run told.
pub struct Told {
    pub code: Option<i32>,
    /// Nothing, where no load was offered.
    pub json: Value,
    pub stderr: String,
}

impl Told {
    /// That of a process.
    pub fn of(output: &Output) -> Told {
        Told {
            code: output.status.code(),
            json: serde_json::from_slice(&output.stdout).unwrap_or_default(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// One of the counts of the account.
    fn count(&self, name: &str) -> u64 {
        self.json["requests"][name].as_u64().unwrap_or_else(|| panic!("no {name}: {}", self.stderr))
    }
}

/// The words of a host as it should be.
pub const SOUND: &str = "echo $$ >PID; exec \"$@\"";

fn sum(hosts: &Value, of: impl Fn(&Value) -> u64) -> u64 {
    hosts.as_array().unwrap().iter().map(of).sum()
}

/// A sum that isn't that of the parts, or a part that is asked twice, is a rate that nobody had.
#[test]
fn hosts_offer_one_load_and_its_sum_is_what_the_server_counted() {
    let server = Server::says(HELLO);
    let said = Hosts::sound(3).load(&[&server.url("/"), "-n", "3000", "-c", "6", "-t", "1"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert_eq!((said.count("good"), said.count("sent")), (3000, 3000), "{}", said.stderr);
    assert_eq!(server.requests_once(3000), 3000);
    let hosts = &said.json["hosts"];
    assert_eq!(hosts.as_array().unwrap().len(), 3);
    assert_eq!(sum(hosts, |host| host["good"].as_u64().unwrap()), 3000);
    assert_eq!(sum(hosts, |host| host["service_us"]["samples"].as_u64().unwrap()), 3000);
    assert_eq!(sum(hosts, |host| host["connections"].as_u64().unwrap()), 6);
    assert_eq!(said.json["service_us"]["samples"], 3000);
}

/// Else two hosts would write as one, and a lost write would be another's.
#[test]
fn hosts_write_and_read_one_store() {
    let Some(store) = Store::start(Kind::Redis, &[]) else { return };
    let arguments = [&*store.url(), "-n", "2000", "-c", "4", "-t", "1", "--keys", "500"];
    let said = Hosts::sound(2).load(&arguments);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert_eq!(said.count("good"), 2000, "{}", said.stderr);
    assert_eq!(said.json["keys"]["missing"], 0, "{}", said.stderr);
}

/// A host that lacks the program gets the very one that asks, and only once. What its login says
/// is no answer.
#[test]
fn a_program_is_installed_by_its_digest_and_runs() {
    let server = Server::says(HELLO);
    let hosts = Hosts::new();
    let folder = hosts.folder.path().display();
    let login = format!("echo 'Welcome  to c1!'; cd {folder} && exec \"$@\"");
    let content = format!("[host.c1]\nreach = [\"sh\", \"-c\", {login:?}, \"sh\"]\n");
    fs::write(hosts.file(), content).unwrap();
    let asked = ["http://127.0.0.1:1/", "-n", "1", "-c", "1"];
    let lacks = hosts.load(&asked);
    assert_eq!(lacks.code, Some(4), "{}", lacks.stderr);
    assert!(lacks.stderr.contains("bakeoff hosts install"), "{}", lacks.stderr);
    for says in ["c1: got .cache/bakeoff/", "c1: has .cache/bakeoff/"] {
        let mut install = Command::new(env!("CARGO_BIN_EXE_bakeoff"));
        let output = install.args(["hosts", "install"]).arg(hosts.file()).output().unwrap();
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && told.starts_with(says), "{output:?}");
    }
    let said = hosts.load(&[&server.url("/"), "-n", "20", "-c", "2"]);
    assert_eq!((said.code, said.count("good")), (Some(0), 20), "{}", said.stderr);
}

#[test]
fn a_banner_before_the_agent_is_passed_over() {
    let server = Server::says(HELLO);
    let hosts = Hosts::new().and("c1", "echo 'Welcome to c1!'; echo; exec \"$@\"");
    let said = hosts.load(&[&server.url("/"), "-n", "20", "-c", "2"]);
    assert_eq!((said.code, said.count("good")), (Some(0), 20), "{}", said.stderr);
}

/// Each is told by the host's name, and nothing is waited for longer than it has to be.
#[test]
fn a_host_that_fails_before_the_start_ends_the_run() {
    let server = Server::says(HELLO);
    let url = server.url("/");
    let cases = [
        ("echo nobody >&2; exit 3", "exit code 3; it said: nobody"),
        ("yes", "no agent speaks within 65536 bytes"),
        (
            r#"echo '{"bakeoff":{"build":{"protocol":1,"version":"0.0.9","digest":"aa"},"name":"n","kernel":"k","cpus":[0],"files":1,"ports":[1,2],"backend":"b","boot_id":"i"}}'; cat >/dev/null"#,
            "bakeoff 0.0.9 (aa) runs there",
        ),
        ("exec \"$@\" --only 10.77.0.0/24", "this agent offers load to 10.77.0.0/24 only"),
    ];
    for (words, says) in cases {
        let began = Instant::now();
        let hosts = Hosts::new().and("c1", SOUND);
        // Else the run may have ended before there is an agent that has to go.
        let after = format!("until [ -s {} ]; do sleep 0.01; done; ", hosts.pid_file("c1"));
        let hosts = hosts.and("c2", &(after + words));
        let said = hosts.load(&[&url, "-n", "20", "-c", "4"]);
        assert_eq!(said.code, Some(4), "{words}: {}", said.stderr);
        assert!(said.stderr.contains("host c2: "), "{words}: {}", said.stderr);
        assert!(said.stderr.contains(says), "{words}: {}", said.stderr);
        assert!(began.elapsed() < ENDS_WITHIN, "{words}");
        assert_gone(hosts.agent("c1"));
    }
    assert_eq!(server.requests(), 0, "load was offered without a host");
}

/// Figures without one of the hosts are of another load; but what the others saw is kept.
#[test]
fn a_host_that_is_lost_on_the_way_makes_the_run_invalid_by_its_name() {
    let server = Server::says(HELLO);
    let url = server.url("/");
    let arguments = [&*url, "-d", "60s", "-c", "4", "-t", "1", "--quiet"];
    for (signal, says) in [
        (Signal::KILL, "its pipe ended with SIGKILL (signal 9)"),
        (Signal::STOP, "nothing was heard of it for 5 s"),
    ] {
        let hosts = Hosts::sound(2);
        let json = hosts.path("out.json");
        let run = hosts.begin(&[&arguments[..], &["--json", json.to_str().unwrap()]].concat());
        let (lost, other) = (hosts.agent("c2"), hosts.agent("c1"));
        let before = server.requests();
        while server.requests() < before + 100 {
            std::thread::sleep(Duration::from_millis(10));
        }
        let began = Instant::now();
        kill_process(lost, signal).unwrap();
        let output = run.wait_with_output().unwrap();
        assert!(began.elapsed() < ENDS_WITHIN, "{signal:?}: {:?}", began.elapsed());
        let Told { code, stderr, .. } = Told::of(&output);
        assert_eq!(code, Some(4), "{signal:?}: {stderr}");
        assert!(stderr.contains("host c2 was lost") && stderr.contains(says), "{stderr}");
        let told: Value = serde_json::from_slice(&fs::read(json).unwrap()).unwrap();
        assert_eq!(told["hosts"][0]["lost"], Value::Null, "{told}");
        assert!(told["hosts"][0]["good"].as_u64().unwrap() > 0, "{told}");
        assert!(told["hosts"][1]["lost"].is_string(), "{told}");
        assert_eq!(told["warnings"][0]["id"], "host_lost", "{told}");
        assert_gone(lost);
        assert_gone(other);
        assert_quiet(&server);
    }
}

/// What a host claims is held to its own books, and read within bounds.
#[test]
fn a_host_that_tells_what_cannot_be_is_no_part_of_the_sum() {
    let server = Server::says(HELLO);
    let cases = [
        (r#""$@" | sed -u 's/"good":[0-9]*,/"good":1000000000000,/'"#, "contradict each other"),
        (r#""$@" | sed -u '/"ended"/s/^\(.\{99\}\).*/\1/'"#, "can't be understood"),
        (
            r#""$@" | perl -ne '$|=1; if (/"ended"/) { print "x" x 65536 while 1 } print'"#,
            "a line without an end",
        ),
    ];
    for (words, says) in cases {
        let began = Instant::now();
        let hosts = Hosts::new().and("c1", SOUND).and("c2", words);
        let said = hosts.load(&[&server.url("/"), "-n", "200", "-c", "4", "-t", "1"]);
        assert_eq!(said.code, Some(4), "{words}: {}", said.stderr);
        assert!(said.stderr.contains("host c2 was lost"), "{words}: {}", said.stderr);
        assert!(said.stderr.contains(says), "{words}: {}", said.stderr);
        assert_eq!(said.count("good"), 100, "{words}: the sum has what was claimed");
        assert!(began.elapsed() < ENDS_WITHIN, "{words}");
    }
}

/// Else load would go on that nobody measures.
#[test]
fn nothing_is_left_on_a_host_when_the_hub_is_killed() {
    let server = Server::says(HELLO);
    let hosts = Hosts::sound(2);
    let mut run = hosts.begin(&[&server.url("/"), "-d", "60s", "-c", "4"]);
    let agents = [hosts.agent("c1"), hosts.agent("c2")];
    while server.requests() < 100 {
        std::thread::sleep(Duration::from_millis(10));
    }
    run.kill().unwrap();
    run.wait().unwrap();
    agents.into_iter().for_each(assert_gone);
    assert_quiet(&server);
}

/// Else it would be told in the middle of a load, in the kernel's words.
#[test]
fn a_processor_that_a_host_lacks_is_told_by_its_name() {
    let hosts = Hosts::new();
    fs::write(hosts.file(), "[host.c1]\nreach = []\ncpus = [9999]\n").unwrap();
    let said = hosts.load(&["http://127.0.0.1:1/", "-n", "1"]);
    assert_eq!(said.code, Some(4), "{}", said.stderr);
    assert!(said.stderr.contains("host c1: its cpus name 9999"), "{}", said.stderr);
}

#[test]
fn a_file_of_hosts_that_is_wrong_is_told_with_its_line() {
    let hosts = Hosts::new();
    fs::write(hosts.file(), "[host.c1]\nreach = \"ssh c1\"\n").unwrap();
    let said = hosts.load(&["http://127.0.0.1:1/", "-n", "1"]);
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    assert!(said.stderr.contains("hosts.toml:2:9"), "{}", said.stderr);
}

/// Whether this process ends.
fn assert_gone(process: Pid) {
    let end = Instant::now() + ENDS_WITHIN;
    while test_kill_process(process).is_ok() && !is_zombie(process) {
        assert!(Instant::now() < end, "{process:?} is left");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn is_zombie(process: Pid) -> bool {
    let stat = Path::new("/proc").join(process.as_raw_nonzero().to_string()).join("stat");
    fs::read_to_string(stat).is_ok_and(|stat| stat.contains(") Z "))
}

/// Whether nobody asks this server any more.
fn assert_quiet(server: &Server) {
    let end = Instant::now() + ENDS_WITHIN;
    loop {
        let before = server.requests();
        std::thread::sleep(Duration::from_millis(300));
        if server.requests() == before {
            return;
        }
        assert!(Instant::now() < end, "load goes on");
    }
}
