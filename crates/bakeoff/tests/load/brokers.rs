//! `bakeoff load` with robots in rooms against real brokers, mosquitto, NATS and Redis, where they
//! are installed, and beside real clients of these.

use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::free_address::free_address;
use crate::skipped::skipped;
use crate::support::{After, Said, Server, backends, bakeoff_load, load};

/// A kind of broker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Mosquitto,
    Nats,
    Redis,
}

impl Kind {
    fn program(self) -> &'static str {
        match self {
            Kind::Mosquitto => "mosquitto",
            Kind::Nats => "nats-server",
            Kind::Redis => "redis-server",
        }
    }

    /// What its file of settings says, beside more.
    fn settings(self, port: u16, more: &str) -> String {
        match self {
            Kind::Mosquitto => {
                let log = "persistence false\nset_tcp_nodelay true\nlog_dest none";
                format!("listener {port} 127.0.0.1\n{log}\n{more}\n")
            }
            Kind::Nats => format!("listen: \"127.0.0.1:{port}\"\n{more}\n"),
            Kind::Redis => format!("bind 127.0.0.1\nport {port}\nsave \"\"\n{more}\n"),
        }
    }

    /// Those with which it takes everybody.
    fn open(self) -> &'static str {
        match self {
            Kind::Mosquitto => "allow_anonymous true",
            Kind::Nats | Kind::Redis => "",
        }
    }

    /// What stands between the words of a room's name.
    fn between(self) -> char {
        match self {
            Kind::Mosquitto => '/',
            Kind::Nats => '.',
            Kind::Redis => ':',
        }
    }
}

/// A program of this name, unless it isn't installed.
fn is_installed(program: &str) -> bool {
    match Command::new(program).arg("--version").output() {
        Ok(_) => true,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            skipped("skipped in part", &format!("{program} is not installed"));
            false
        }
        Err(error) => panic!("{program}: {error}"),
    }
}

/// A broker in a process of its own, which ends when dropped.
struct Broker {
    kind: Kind,
    process: Child,
    address: SocketAddr,
    _folder: TempDir,
}

impl Broker {
    /// One that takes everybody; `None`, with the reason printed, where it isn't installed.
    fn start(kind: Kind) -> Option<Broker> {
        Broker::that(kind, |_| kind.open().into())
    }

    /// One with settings of its own, which may name files in a folder.
    fn that(kind: Kind, more: impl Fn(&TempDir) -> String) -> Option<Broker> {
        if !is_installed(kind.program()) {
            return None;
        }
        let folder = TempDir::new().unwrap();
        // As root mosquitto becomes another user.
        let readable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(folder.path(), readable).unwrap();
        let more = more(&folder);
        // Somebody else may take the port meanwhile.
        let mut tries = (0..5).filter_map(|_| Broker::listening(kind, &more, &folder));
        let (process, address) = tries.next().expect("it ends in one of five tries");
        Some(Broker { kind, process, address, _folder: folder })
    }

    /// A process that listens; `None` if it ended.
    fn listening(kind: Kind, more: &str, folder: &TempDir) -> Option<(Child, SocketAddr)> {
        let address = free_address();
        let settings = folder.path().join("settings");
        std::fs::write(&settings, kind.settings(address.port(), more)).unwrap();
        let mut command = Command::new(kind.program());
        if kind != Kind::Redis {
            command.arg("-c");
        }
        let null = Stdio::null;
        let mut process = command
            .arg(&settings)
            .current_dir(folder.path())
            .stdin(null())
            .stdout(null())
            .stderr(null())
            .spawn()
            .unwrap();
        let patience = Instant::now() + Duration::from_secs(60);
        while process.try_wait().unwrap().is_none() {
            if TcpStream::connect(address).is_ok() {
                return Some((process, address));
            }
            assert!(Instant::now() < patience, "it does not listen after a minute");
            std::thread::sleep(Duration::from_millis(10));
        }
        None
    }

    fn url(&self) -> String {
        let address = self.address;
        match self.kind {
            Kind::Mosquitto => format!("mqtt://{address}"),
            Kind::Nats => format!("nats://{address}"),
            Kind::Redis => format!("redis://{address}?rooms"),
        }
    }

    /// What a client of its own, which comes with it or in a package beside it, hears in all rooms;
    /// `None` where that isn't installed.
    fn listen(&self) -> Option<Client> {
        let port = self.address.port().to_string();
        let (told, heard) = channel();
        let mut command = match self.kind {
            Kind::Nats => {
                let client = self.nats_client();
                let mut lines = BufReader::new(client.try_clone().unwrap());
                (&client).write_all(b"SUB bakeoff.> 1\r\nPING\r\n").unwrap();
                read_until(&mut lines, "PONG");
                std::thread::spawn(move || tell_of_nats(&mut lines, &told));
                return Some(Client { heard, process: None, socket: Some(client) });
            }
            Kind::Mosquitto if is_installed("mosquitto_sub") => {
                let mut command = Command::new("mosquitto_sub");
                let form = "%t %x";
                command.args(["-h", "127.0.0.1", "-p", &port, "-t", "bakeoff/#", "-F", form]);
                command
            }
            Kind::Redis if is_installed("redis-cli") => {
                let mut command = Command::new("redis-cli");
                command.args(["-p", &port, "--no-raw", "PSUBSCRIBE", "bakeoff:*"]);
                command
            }
            Kind::Mosquitto | Kind::Redis => return None,
        };
        let mut process = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap());
        let tell = match self.kind {
            Kind::Mosquitto => tell_of_mosquitto,
            _ => tell_of_redis,
        };
        std::thread::spawn(move || tell(lines, &told));
        let client = Client { heard, process: Some(process), socket: None };
        // It doesn't say when it has subscribed.
        let probe = format!("bakeoff{}probe", self.kind.between());
        let patience = Instant::now() + Duration::from_secs(30);
        while client.heard.recv_timeout(Duration::from_millis(100)).is_err() {
            self.publish(&probe, PROBE);
            assert!(Instant::now() < patience, "a client of {:?} heard nothing", self.kind);
        }
        Some(client)
    }

    /// Has that client say something.
    fn publish(&self, room: &str, text: &str) {
        let port = self.address.port().to_string();
        let mut command = match self.kind {
            Kind::Nats => {
                let mut client = self.nats_client();
                let line = format!("PUB {room} {}\r\n{text}\r\nPING\r\n", text.len());
                client.write_all(line.as_bytes()).unwrap();
                read_until(&mut BufReader::new(client), "PONG");
                return;
            }
            Kind::Mosquitto => {
                let mut command = Command::new("mosquitto_pub");
                command.args(["-h", "127.0.0.1", "-p", &port, "-t", room, "-m", text]);
                command
            }
            Kind::Redis => {
                let mut command = Command::new("redis-cli");
                command.args(["-p", &port, "PUBLISH", room, text]);
                command
            }
        };
        let output = command.output().unwrap();
        assert!(output.status.success(), "{command:?}: {output:?}");
    }

    /// A connection that has greeted a server of NATS: no package has a client of it.
    fn nats_client(&self) -> TcpStream {
        let mut client = TcpStream::connect(self.address).unwrap();
        client.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        client.write_all(b"CONNECT {\"verbose\":false}\r\nPING\r\n").unwrap();
        read_until(&mut BufReader::new(client.try_clone().unwrap()), "PONG");
        client
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        let _ = self.process.kill();
        self.process.wait().unwrap();
    }
}

/// What a client says until it hears robots.
const PROBE: &str = "probe";

/// A client that isn't ours, and what it hears: the names of rooms and messages.
struct Client {
    heard: Receiver<(String, Vec<u8>)>,
    process: Option<Child>,
    socket: Option<TcpStream>,
}

impl Drop for Client {
    fn drop(&mut self) {
        if let Some(process) = &mut self.process {
            let _ = process.kill();
            process.wait().unwrap();
        }
        if let Some(socket) = &self.socket {
            let _ = socket.shutdown(std::net::Shutdown::Both);
        }
    }
}

impl Client {
    /// The next message that isn't a probe; `None` if there was none for a while.
    fn next(&self) -> Option<(String, Vec<u8>)> {
        loop {
            let next = self.heard.recv_timeout(Duration::from_secs(10)).ok()?;
            if next.1 != PROBE.as_bytes() {
                return Some(next);
            }
        }
    }
}

fn read_until(lines: &mut impl BufRead, last: &str) {
    let mut line = String::new();
    while !line.starts_with(last) {
        line.clear();
        assert!(lines.read_line(&mut line).unwrap() > 0, "no {last}");
    }
}

fn tell_of_nats(lines: &mut impl BufRead, told: &Sender<(String, Vec<u8>)>) {
    let mut line = String::new();
    while lines.read_line(&mut line).is_ok_and(|bytes| bytes > 0) {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let ["MSG", room, _, bytes] = words[..] {
            let mut message = vec![0; bytes.parse::<usize>().unwrap() + 2];
            if lines.read_exact(&mut message).is_err() {
                return;
            }
            message.truncate(message.len() - 2);
            let _ = told.send((room.into(), message));
        }
        line.clear();
    }
}

fn tell_of_mosquitto(lines: BufReader<ChildStdout>, told: &Sender<(String, Vec<u8>)>) {
    for line in lines.lines().map_while(Result::ok) {
        let (room, digits) = line.split_once(' ').unwrap();
        let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
        let message = (0..digits.len()).step_by(2).map(byte).collect();
        let _ = told.send((room.into(), message));
    }
}

/// Of a message it has only what can be printed.
fn tell_of_redis(lines: BufReader<ChildStdout>, told: &Sender<(String, Vec<u8>)>) {
    let mut room = String::new();
    for line in lines.lines().map_while(Result::ok) {
        let quoted = |line: &str| line[4..line.len() - 1].to_string();
        if line.starts_with("3) \"") {
            room = quoted(&line);
        } else if line.starts_with("4) \"") {
            let _ = told.send((room.clone(), quoted(&line).into_bytes()));
        }
    }
}

/// All that can be spoken: the broker, options, and whether it confirms messages.
const WIRES: [(Kind, &[&str], bool); 4] = [
    (Kind::Mosquitto, &["--qos", "0"], false),
    (Kind::Mosquitto, &["--qos", "1"], true),
    (Kind::Nats, &[], false),
    (Kind::Redis, &[], true),
];

fn count(said: &Said, pointer: &str) -> u64 {
    let count = said.json.pointer(pointer).and_then(serde_json::Value::as_u64);
    count.unwrap_or_else(|| panic!("no {pointer}: {}", said.json))
}

#[test]
fn robots_of_a_real_broker_hear_all_of_each_other() {
    for (kind, options, confirms) in WIRES {
        let Some(broker) = Broker::start(kind) else { continue };
        for backend in backends() {
            let rooms = ["--rooms", "3", "--members", "5", "--rate", "600", "-d", "1s"];
            let url = broker.url();
            let line = [&[&*url, "--backend", backend], options, &rooms].concat();
            let said = load(&line);
            let what = format!("{kind:?} {options:?} on {backend}");
            assert_eq!(said.code, 0, "{what}: {} {}", said.stderr, said.json["deliveries"]);
            let deliveries = &said.json["deliveries"];
            assert_eq!(count(&said, "/deliveries/delivered"), 600, "{what}: {deliveries}");
            assert_eq!(count(&said, "/robots/joined"), 15, "{what}");
            let messages = &said.json["messages"];
            assert_eq!(messages["sent"], 120, "{what}: {messages}");
            let confirmed = if confirms { 120 } else { 0 };
            assert_eq!(count(&said, "/messages/confirmed"), confirmed, "{what}: {messages}");
            assert_eq!(count(&said, "/messages/unconfirmed"), 0, "{what}: {messages}");
            assert_eq!(count(&said, "/confirm_us/samples"), confirmed, "{what}");
        }
    }
}

#[test]
fn robots_and_real_clients_hear_each_other() {
    for (kind, options, _) in WIRES {
        let Some(broker) = Broker::start(kind) else { continue };
        let Some(client) = broker.listen() else { continue };
        let what = format!("{kind:?} {options:?}");
        let url = broker.url();
        let rooms = ["--rooms", "2", "--members", "3", "--rate", "300", "-d", "2s"];
        let line = [&[&*url], options, &rooms].concat();
        let (said, mut heard) = std::thread::scope(|scope| {
            let load = scope.spawn(|| load(&line));
            let first = client.next().expect("robots speak");
            broker.publish(&first.0, "hello");
            (load.join().unwrap(), vec![first])
        });
        let sent = count(&said, "/messages/sent");
        assert_eq!(sent, 200, "{what}");
        // What the client itself said comes back to it.
        while heard.len() as u64 <= sent {
            heard.push(client.next().unwrap_or_else(|| panic!("{what}: {} heard", heard.len())));
        }
        let (own, robots): (Vec<_>, Vec<_>) =
            heard.into_iter().partition(|(_, message)| message == b"hello");
        assert_eq!((own.len(), robots.len()), (1, 200), "{what}");
        let rooms: std::collections::BTreeSet<_> = robots.iter().map(|(room, _)| room).collect();
        assert_eq!(rooms.len(), 2, "{what}: {rooms:?}");
        for (room, message) in &robots {
            let words: Vec<&str> = room.split(kind.between()).collect();
            assert_eq!((words[0], words.len()), ("bakeoff", 3), "{what}: {room}");
            let is_whole = message.len() == 64 || kind == Kind::Redis;
            assert!(message.starts_with(b"M") && is_whole, "{what}: {message:?}");
        }
        // Each of its room heard the client, and knows that no robot said it.
        assert_eq!(count(&said, "/deliveries/wrong"), 3, "{what}: {}", said.json["deliveries"]);
        let wrong = said.json["deliveries"]["first_wrong"].as_str().unwrap();
        assert!(wrong.contains("5 bytes, where a message has 64: \"hello\""), "{what}: {wrong}");
        assert_eq!(count(&said, "/deliveries/delivered"), 600, "{what}");
        assert_eq!(said.code, 3, "{what}: {}", said.stderr);
    }
}

/// mosquitto confirms also what it then throws away, since nobody may write to that room: MQTT 3.1.1
/// has no words for that.
#[test]
fn a_broker_that_confirms_what_it_loses_is_told_so() {
    let Some(broker) = Broker::that(Kind::Mosquitto, |folder| {
        let list = folder.path().join("list");
        let first_room = "topic readwrite bakeoff/+/00000000";
        std::fs::write(&list, format!("topic read bakeoff/#\n{first_room}\n")).unwrap();
        std::fs::set_permissions(&list, std::fs::Permissions::from_mode(0o644)).unwrap();
        format!("allow_anonymous true\nacl_file {}", list.display())
    }) else {
        return;
    };
    let rooms = ["--rooms", "2", "--members", "3", "--rate", "300", "-d", "500ms"];
    let url = broker.url();
    // Of three threads each has a part of both rooms.
    for threads in ["1", "3"] {
        let line = [&[&*url, "-t", threads, "--qos", "1", "--timeout", "1s"], &rooms[..]].concat();
        let said = load(&line);
        let messages = &said.json["messages"];
        let sent = (count(&said, "/messages/sent"), count(&said, "/messages/confirmed"));
        assert_eq!(sent, (50, 50), "{threads} threads");
        assert_eq!(count(&said, "/messages/confirmed_missing"), 25, "{threads}: {messages}");
        let missing = count(&said, "/deliveries/missing");
        assert_eq!((count(&said, "/deliveries/delivered"), missing), (75, 75));
        let first = messages["first_confirmed_missing"].as_str().unwrap();
        assert!(first.ends_with("within 1s, though it was confirmed"), "{first}");
        assert_eq!(said.code, 3);
        assert!(said.stderr.contains("25 confirmed and missing"), "{}", said.stderr);
    }
}

/// Else robots that hang or end make a broker look as if it forgot to confirm, or lost something.
#[test]
fn a_storm_and_a_slow_robot_cost_a_real_broker_no_delivery_and_no_confirmation() {
    let storm = ["--members", "20", "--rate", "2k", "-d", "2s", "--storm", "fin"];
    let slow = ["--members", "4", "--rate", "400", "-d", "10s", "--slow", "1"];
    std::thread::scope(|scope| {
        for (kind, options, confirms) in WIRES {
            // Of two threads each has a part of the room.
            for (threads, robots) in [("1", storm), ("2", storm), ("1", slow), ("2", slow)] {
                scope.spawn(move || {
                    let Some(broker) = Broker::start(kind) else { return };
                    let url = broker.url();
                    let line = [&[&*url, "-t", threads, "--rooms", "1"], options, &robots].concat();
                    let said = load(&line);
                    let what = format!("{kind:?} {options:?} {robots:?} to {threads}");
                    assert_eq!(said.code, 0, "{what}: {} {}", said.stderr, said.json);
                    let confirmed = if confirms { count(&said, "/messages/sent") } else { 0 };
                    assert_eq!(count(&said, "/messages/confirmed"), confirmed, "{what}");
                    assert_eq!(count(&said, "/messages/unconfirmed"), 0, "{what}");
                    if robots == storm {
                        let storm = (count(&said, "/storm/ended"), count(&said, "/storm/back"));
                        assert_eq!(storm, (20, 20), "{what}: {}", said.json["storm"]);
                    } else {
                        let slow = (count(&said, "/slow/owed"), count(&said, "/slow/came"));
                        assert!(slow.0 > 0 && slow.0 == slow.1, "{what}: {}", said.json["slow"]);
                    }
                });
            }
        }
    });
}

/// What standard error says where nothing is measured: one line.
fn refused(url: &str, options: &[&str]) -> String {
    let mut command = bakeoff_load(&[url, "--rate", "100", "-d", "1s"]);
    let output = command.args(options).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{url}: {said}");
    assert_eq!((said.lines().count(), output.stdout.len()), (1, 0), "{url}: {said}");
    said
}

#[test]
fn a_broker_that_takes_no_robots_is_told_of_before_load_begins() {
    let nats_user = |permissions: &str| {
        let user = format!("{{user: a, password: b, permissions: {{{permissions}}}}}");
        format!("authorization: {{users: [{user}]}}\nno_auth_user: a")
    };
    for (kind, settings, words, advice) in [
        (Kind::Mosquitto, "allow_anonymous false".into(), "with code 5", "allow_anonymous true"),
        (
            Kind::Nats,
            "authorization: {user: a, password: b}".into(),
            "Authorization Violation",
            "let it take clients without",
        ),
        (
            Kind::Nats,
            nats_user("subscribe: {deny: \">\"}"),
            "Permissions Violation for Subscription",
            "publish and subscribe to bakeoff.>",
        ),
        (Kind::Redis, "requirepass x".into(), "NOAUTH", "let it take clients without"),
        (
            Kind::Redis,
            "user default on nopass ~* resetchannels +@all".into(),
            "NOPERM",
            "publish and subscribe to the channels bakeoff:*",
        ),
    ] {
        let Some(broker) = Broker::that(kind, |_| settings.clone()) else { continue };
        let said = refused(&broker.url(), &[]);
        assert!(said.contains("no robot comes into a room at"), "{kind:?}: {said}");
        assert!(said.contains(words) && said.contains(advice), "{kind:?}, {settings}: {said}");
    }
}

#[test]
fn a_server_that_speaks_something_else_is_told_of_before_load_begins() {
    let http = Server::on_bytes(|connection, _| {
        connection.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")?;
        Ok(After::Close)
    });
    let address = http.address;
    for url in [format!("mqtt://{address}"), format!("redis://{address}?rooms")] {
        let said = refused(&url, &[]);
        assert!(said.contains("the server speaks HTTP"), "{url}: {said}");
    }
    // One that waits for a request says nothing to a client that waits for its first word.
    let said = refused(&format!("nats://{address}"), &["--timeout", "500ms"]);
    assert!(said.contains("said nothing") && said.contains("does it speak NATS?"), "{said}");
    if let Some(nats) = Broker::start(Kind::Nats) {
        let said = refused(&format!("mqtt://{}", nats.address), &[]);
        assert!(said.contains("the server speaks NATS"), "{said}");
    }
    if let Some(mosquitto) = Broker::start(Kind::Mosquitto) {
        let said = refused(&format!("redis://{}?rooms", mosquitto.address), &[]);
        assert!(said.contains("ended its connection; does it speak RESP3?"), "{said}");
    }
}
