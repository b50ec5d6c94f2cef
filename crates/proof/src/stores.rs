//! Clients of stores side by side: `bakeoff load` beside those that come with the stores, on one
//! Redis and one memcached, in shuffled rounds.
//!
//! Before each run that reads, all keys are written, so that every get of every client finds a
//! value of 100 bytes, and ours holds it to what was written.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use comfy_table::Table;
use report::units::whole;
use tempfile::NamedTempFile;

use crate::client::{Running, Without};
use crate::interrupt::Interrupt;
use crate::older::Older;
use crate::page::{Page, markdown};
use crate::place::Place;
use crate::rounds::{self, Effort, Sample};
use crate::server::{Recipe, Server};
use crate::statistics::Spread;
use crate::target::settle;
use crate::tool::{Count, bakeoff, beside_us, in_path, line_after};

type MeasuredStores = rounds::Measured<StoreCell, Client>;

/// Keys that there are, named alike by `bakeoff load` and redis-benchmark.
const KEYS: u32 = 100_000;
const VALUE_BYTES: u32 = 100;
/// What the values are known again by.
const SEED: u32 = 7;
/// redis-benchmark takes no time, but a number of requests: about so many as take a second.
const REQUESTS_A_SECOND: u64 = 100_000;

/// A store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Redis,
    Memcached,
}

/// A load that every client of a store is put to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct StoreCell {
    kind: Kind,
    /// As `--mix` has it.
    mix: &'static str,
    connections: u32,
    /// Requests under way at once on a connection.
    depth: u16,
}

/// Redis is asked for one operation at a time, as redis-benchmark does, and memcached for the
/// usual mix of both.
const CELLS: [StoreCell; 8] = [
    StoreCell { kind: Kind::Redis, mix: "get=1", connections: 50, depth: 1 },
    StoreCell { kind: Kind::Redis, mix: "set=1", connections: 50, depth: 1 },
    StoreCell { kind: Kind::Redis, mix: "get=1", connections: 500, depth: 1 },
    StoreCell { kind: Kind::Redis, mix: "set=1", connections: 500, depth: 1 },
    StoreCell { kind: Kind::Redis, mix: "get=1", connections: 50, depth: 16 },
    StoreCell { kind: Kind::Redis, mix: "set=1", connections: 50, depth: 16 },
    StoreCell { kind: Kind::Memcached, mix: "get=9,set=1", connections: 50, depth: 1 },
    StoreCell { kind: Kind::Memcached, mix: "get=9,set=1", connections: 500, depth: 1 },
];

impl StoreCell {
    fn in_words(self) -> String {
        let connections = whole(self.connections.into());
        let depth = match self.depth {
            1 => String::new(),
            depth => format!(", depth {depth}"),
        };
        format!("{}, {}, {connections} connections{depth}", self.kind.name(), self.mix)
    }

    fn reads(self) -> bool {
        self.mix.contains("get")
    }
}

/// A client of stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Client {
    Bakeoff,
    /// An older `bakeoff load`: see [`crate::older`].
    Older,
    RedisBenchmark,
    Memtier,
    Memaslap,
}

const CLIENTS: [Client; 4] =
    [Client::Bakeoff, Client::RedisBenchmark, Client::Memtier, Client::Memaslap];

/// What is asked of one run.
struct StoreLoad<'a> {
    cell: StoreCell,
    address: SocketAddr,
    seconds: u32,
    cpu: usize,
    /// Memaslap's set-up as a file.
    set_up: &'a Path,
}

impl Client {
    /// Its name in tables.
    fn name(self) -> &'static str {
        match self {
            Client::Bakeoff => "bakeoff",
            Client::Older => "bakeoff, older",
            Client::RedisBenchmark => "redis-benchmark",
            Client::Memtier => "memtier_benchmark",
            Client::Memaslap => "memaslap",
        }
    }

    /// Its program, or what is missing.
    fn program(self) -> Result<PathBuf, String> {
        match self {
            Client::Bakeoff => beside_us("bakeoff"),
            Client::Older => Err("nobody named it".into()),
            Client::RedisBenchmark => in_path(self.name(), "setup/install bench"),
            Client::Memtier => in_path(self.name(), "github.com/RedisLabs/memtier_benchmark"),
            // As Debian calls it.
            Client::Memaslap => in_path("memcaslap", "setup/install bench"),
        }
    }

    fn allows(self, cell: StoreCell) -> bool {
        match self {
            Client::Bakeoff | Client::Older => true,
            Client::RedisBenchmark | Client::Memtier => cell.kind == Kind::Redis,
            Client::Memaslap => cell.kind == Kind::Memcached,
        }
    }

    /// The command that puts the load on.
    fn command(self, program: &Path, load: &StoreLoad<'_>) -> Vec<String> {
        let StoreCell { mix, connections, depth, .. } = load.cell;
        let (host, port, seconds, cpu) =
            (load.address.ip(), load.address.port(), load.seconds, load.cpu);
        let options = match self {
            Client::Bakeoff | Client::Older => format!(
                "load {} -c {connections} -d {seconds}s -t 1 --cpus {cpu} --pipeline {depth} \
                 --mix {mix} --keys {KEYS} --value-bytes {VALUE_BYTES} --seed {SEED} \
                 --no-preload --json -",
                load.cell.kind.url(load.address)
            ),
            Client::RedisBenchmark => {
                let (operation, _) = mix.split_once('=').unwrap_or((mix, ""));
                let requests =
                    u64::from(seconds) * REQUESTS_A_SECOND * if depth > 1 { 4 } else { 1 };
                format!(
                    "-h {host} -p {port} -c {connections} -n {requests} -P {depth} \
                     -t {operation} -r {KEYS} -d {VALUE_BYTES}"
                )
            }
            Client::Memtier => {
                // It writes numbers without zeros before them: so it takes those of five digits.
                let ratio = if load.cell.reads() { "0:1" } else { "1:0" };
                format!(
                    "-s {host} -p {port} -P redis -t 1 -c {connections} --test-time {seconds} \
                     --pipeline {depth} --ratio {ratio} -d {VALUE_BYTES} --key-pattern R:R \
                     --key-prefix key:0000000 --key-minimum 10000 --key-maximum {} \
                     --hide-histogram",
                    KEYS - 1
                )
            }
            Client::Memaslap => format!(
                "-s {host}:{port} -T 1 -c {connections} -t {seconds}s -w 1k -F {}",
                load.set_up.display()
            ),
        };
        let mut command = vec![program.display().to_string()];
        command.extend(options.split_ascii_whitespace().map(String::from));
        command
    }

    /// What its output says that it did, in a run of so many seconds.
    fn count(self, output: &str, seconds: u32) -> Result<Count, String> {
        let counted = match self {
            Client::Bakeoff | Client::Older => bakeoff(output),
            Client::RedisBenchmark => redis_benchmark(output),
            Client::Memtier => memtier(output, seconds),
            Client::Memaslap => memaslap(output),
        };
        counted.ok_or_else(|| {
            let start: String = output.chars().take(300).collect();
            format!("{}'s output is not understood; it begins {start:?}", self.name())
        })
    }
}

/// `  100000 requests completed in 1.23 seconds`, behind lines of progress.
fn redis_benchmark(output: &str) -> Option<Count> {
    let (before, after) = output.split_once(" requests completed in ")?;
    Some(Count {
        answers: before.split_ascii_whitespace().next_back()?.parse().ok()?,
        errors: 0,
        seconds: after.split_ascii_whitespace().next()?.parse().ok()?,
    })
}

/// `Totals   98765.43 …`: operations a second.
fn memtier(output: &str, seconds: u32) -> Option<Count> {
    let rate: f64 = line_after(output, "Totals")?.split_ascii_whitespace().next()?.parse().ok()?;
    let seconds = f64::from(seconds);
    Some(Count { answers: (rate * seconds) as u64, errors: 0, seconds })
}

/// `Run time: 20.0s Ops: 1397754 TPS: 69817 Net_rate: 59.4M/s`
fn memaslap(output: &str) -> Option<Count> {
    let words: Vec<&str> = line_after(output, "Run time: ")?.split_ascii_whitespace().collect();
    let [seconds, "Ops:", operations, ..] = words[..] else { return None };
    Some(Count {
        answers: operations.parse().ok()?,
        errors: 0,
        seconds: seconds.strip_suffix('s')?.parse().ok()?,
    })
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Redis => "Redis",
            Kind::Memcached => "memcached",
        }
    }

    fn url(self, address: SocketAddr) -> String {
        match self {
            Kind::Redis => format!("redis://{address}"),
            Kind::Memcached => format!("memcached://{address}"),
        }
    }

    /// One that keeps all in memory, and nothing else.
    fn recipe(self, address: SocketAddr, folder: &str) -> Recipe {
        let (host, port) = (address.ip(), address.port());
        let command = match self {
            Kind::Redis => format!(
                "redis-server --bind {host} --port {port} --dir {folder} --appendonly no \
                 --maxclients 2000 --save"
            ),
            Kind::Memcached => format!("memcached -l {host} -p {port} -U 0 -t 1 -m 256 -c 2000"),
        };
        let mut command: Vec<String> = command.split_ascii_whitespace().map(String::from).collect();
        match self {
            // No points in time to save at.
            Kind::Redis => command.push(String::new()),
            // It refuses to be root's.
            Kind::Memcached if rustix::process::getuid().is_root() => {
                command.extend(["-u", "root"].map(String::from));
            }
            Kind::Memcached => {}
        }
        let is_ready: fn(&Server) -> bool = match self {
            Kind::Redis => |server| Kind::Redis.ask(server).is_ok(),
            Kind::Memcached => |server| Kind::Memcached.ask(server).is_ok(),
        };
        Recipe { command, files: Vec::new(), is_ready }
    }

    /// What it says of itself.
    fn ask(self, server: &Server) -> Result<String, String> {
        match self {
            Kind::Redis => server.ask_store("INFO\r\nPING\r\n", "+PONG\r\n"),
            Kind::Memcached => server.ask_store("stats\r\n", "END\r\n"),
        }
    }
}

/// A store that clients are measured against. Dropping it stops it.
struct Store {
    kind: Kind,
    server: Server,
    /// Connections that it counts where nobody is a client but who asks.
    idle: u64,
}

impl Store {
    fn start(kind: Kind, place: &Place, interrupt: &Interrupt) -> Result<Store, String> {
        let recipe = |address: SocketAddr, folder: &str| kind.recipe(address, folder);
        let server = Server::start(recipe, &[place.server], interrupt)
            .map_err(|why| format!("{why} (`setup/install bench` installs it)"))?;
        let mut store = Store { kind, server, idle: 0 };
        store.idle = store.told("connected_clients:", "STAT curr_connections ")?;
        Ok(store)
    }

    /// Requests that it has handled since its start, a few of ours among them.
    fn requests(&self) -> Result<u64, String> {
        match self.kind {
            Kind::Redis => self.told("total_commands_processed:", ""),
            Kind::Memcached => {
                Ok(self.told("", "STAT cmd_get ")? + self.told("", "STAT cmd_set ")?)
            }
        }
    }

    fn connections(&self) -> Result<u64, String> {
        let all = self.told("connected_clients:", "STAT curr_connections ")?;
        Ok(all.saturating_sub(self.idle))
    }

    fn told(&self, of_redis: &str, of_memcached: &str) -> Result<u64, String> {
        let said = self.kind.ask(&self.server)?;
        let label = match self.kind {
            Kind::Redis => of_redis,
            Kind::Memcached => of_memcached,
        };
        line_after(&said, label)
            .and_then(|number| number.trim().parse().ok())
            .ok_or_else(|| format!("{} doesn't say {label:?}", self.kind.name()))
    }

    /// Writes all keys by this bakeoff, whose values are those that it looks for.
    fn fill(&self, bakeoff: &Path, cpu: usize, interrupt: &Interrupt) -> Result<(), Without> {
        let url = self.kind.url(self.server.address);
        let options = format!(
            "load {url} -n 1 -t 1 --cpus {cpu} --mix get=1 --keys {KEYS} --value-bytes \
             {VALUE_BYTES} --seed {SEED} -q"
        );
        let mut command = vec![bakeoff.display().to_string()];
        command.extend(options.split_ascii_whitespace().map(String::from));
        let at_most = Duration::from_secs(60);
        Running::start(&command, &[cpu], at_most)?.wait(interrupt)?.success_of_bakeoff().map(drop)
    }

    /// One run of one client, with what casts doubt on it.
    fn run(
        &self,
        (client, program): (Client, &Path),
        load: &StoreLoad<'_>,
        interrupt: &Interrupt,
    ) -> Result<(Sample, Option<String>), Without> {
        if load.cell.reads() {
            let bakeoff = match client {
                Client::Older => program.to_path_buf(),
                _ => beside_us("bakeoff")?,
            };
            self.fill(&bakeoff, load.cpu, interrupt)?;
        }
        settle(|| self.connections(), interrupt)?;
        let before = self.requests()?;
        let at_most = Duration::from_secs(u64::from(load.seconds) + 60);
        let running = Running::start(&client.command(program, load), &[load.cpu], at_most)?;
        let ended = running.wait(interrupt)?;
        let ended = match client {
            Client::Older => ended.success_of_bakeoff()?,
            _ => ended.success()?,
        };
        settle(|| self.connections(), interrupt)?;
        let count = client.count(&ended.output, load.seconds)?;
        if count.answers == 0 {
            return Err("no answer was good".to_string().into());
        }
        let sample = Sample {
            cpu_us: ended.cpu_s * 1e6 / count.answers as f64,
            rate: count.answers as f64 / count.seconds,
            ..Sample::default()
        };
        let under_way = u64::from(load.cell.connections) * u64::from(load.cell.depth);
        let handled = self.requests()? - before;
        let unaccounted = handled.abs_diff(count.answers + count.errors);
        let doubt = if unaccounted > under_way + handled / 50 {
            Some(format!("it says {} answers, the store {handled} requests", count.answers))
        } else if count.errors > 0 {
            Some(format!("{} errors beside {} answers", count.errors, count.answers))
        } else {
            None
        };
        Ok((sample, doubt))
    }
}

/// What is measured, before what came of it.
const ABOUT: &str = "On stores it is held against the stores' own clients. Each get of each client \
finds a value of 100 bytes: all keys are written before. bakeoff alone compares each value with \
what was written.";

/// Measures, and prints tables; tells whether all holds that is asked.
pub fn run(
    effort: Effort,
    older: Option<&mut Older>,
    (place, page): (&Place, &mut Page),
    interrupt: &Interrupt,
) -> Result<bool, String> {
    page.say("## Clients of stores");
    page.say(ABOUT);
    let mut measured = MeasuredStores::default();
    let mut clients = Vec::new();
    for client in CLIENTS {
        match client.program() {
            Ok(program) => clients.push((client, program)),
            Err(why) => measured.note(format!("{}: absent, {why}", client.name())),
        }
    }
    if let Some(older) = &older {
        clients.push((Client::Older, older.program().to_path_buf()));
    }
    let mut stores = Vec::new();
    for kind in [Kind::Redis, Kind::Memcached] {
        match Store::start(kind, place, interrupt) {
            Ok(store) => stores.push(store),
            Err(why) => measured.note(format!("{}: absent, {why}", kind.name())),
        }
    }
    interrupt.check()?;
    measure(&mut measured, &stores, &clients, place, effort, interrupt)?;
    for (what, figure) in [("CPU µs a request", Measure::Cpu), ("requests a second", Measure::Rate)]
    {
        page.say(format!("**Stores:** {what} (bakeoff's as a share of it)"));
        page.say(table(&measured, figure));
    }
    if let Some(older) = older {
        let loads: Vec<(String, &StoreCell)> =
            CELLS.iter().map(|cell| (cell.in_words(), cell)).collect();
        let both = [(Client::Bakeoff.name(), Client::Bakeoff, Client::Older)];
        older.compare(&measured, &both, &loads, page);
    }
    page.say("**What is asked of it:** medians of paired ratios (smallest to largest)");
    let (table, hold) = claims(&measured);
    page.say(table);
    page.say_notes(&measured.notes());
    Ok(hold)
}

fn measure(
    measured: &mut MeasuredStores,
    stores: &[Store],
    clients: &[(Client, PathBuf)],
    place: &Place,
    effort: Effort,
    interrupt: &Interrupt,
) -> Result<(), String> {
    let set_up = memaslaps_set_up().map_err(|error| format!("memaslap's set-up: {error}"))?;
    let mut rng = fastrand::Rng::new();
    let bar = rounds::progress(u64::from(effort.rounds()) * (CELLS.len() * clients.len()) as u64);
    for round in 1..=effort.rounds() {
        for cell in rounds::shuffled(&CELLS, &mut rng) {
            for (client, program) in rounds::shuffled(clients, &mut rng) {
                bar.set_message(format!("{}, {}", client.name(), cell.in_words()));
                bar.inc(1);
                let Some(store) = stores.iter().find(|store| store.kind == cell.kind) else {
                    continue;
                };
                if !client.allows(cell) || measured.is_refused(&cell, client) {
                    continue;
                }
                let load = StoreLoad {
                    cell,
                    address: store.server.address,
                    seconds: effort.seconds(),
                    cpu: place.client,
                    set_up: set_up.path(),
                };
                let ran = store.run((client, &program), &load, interrupt);
                if ran.is_err() {
                    interrupt.check()?;
                }
                let who = format!("{}, {}", client.name(), cell.in_words());
                measured.add_run((&cell, client), ran, &who, &format!("round {round}"));
            }
        }
    }
    bar.finish_and_clear();
    Ok(())
}

/// Keys of 16 bytes, values of 100, nine gets a set (its types 1 and 0).
fn memaslaps_set_up() -> io::Result<NamedTempFile> {
    let mut file = NamedTempFile::new()?;
    write!(file, "key\n16 16 1\nvalue\n{VALUE_BYTES} {VALUE_BYTES} 1\ncmd\n0 0.1\n1 0.9\n")?;
    Ok(file)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Measure {
    Cpu,
    Rate,
}

impl Measure {
    fn of(self, sample: &Sample) -> f64 {
        match self {
            Measure::Cpu => sample.cpu_us,
            Measure::Rate => sample.rate,
        }
    }
}

/// A row a load, a column a client: with bakeoff's share of each other one's figure.
fn table(measured: &MeasuredStores, figure: Measure) -> Table {
    let mut table = markdown();
    table.set_header(["load"].into_iter().chain(CLIENTS.map(Client::name)));
    for cell in &CELLS {
        let text = |client| {
            let known = match figure {
                Measure::Cpu => measured.cpu_us(cell, client).map(|it| format!("{:.2}", it.median)),
                Measure::Rate => {
                    measured.rate(cell, client).map(|it| whole(it.median.round() as u64))
                }
            };
            let Some(known) = known else { return "–".to_string() };
            let share = measured.ratio(cell, Client::Bakeoff, client, |it| figure.of(it));
            match share.filter(|_| client != Client::Bakeoff) {
                Some(share) => format!("{known} ({:.2})", share.median),
                None => known,
            }
        };
        table.add_row([cell.in_words()].into_iter().chain(CLIENTS.map(text)));
    }
    table
}

/// What `bakeoff load` may take of a request's CPU, as a share of another client's, though it
/// alone looks at each byte of each value: without a pipeline, and with one.
const CPU_AT_MOST: [f64; 2] = [0.50, 0.70];

/// What is asked of bakeoff beside the clients of Redis, and whether all of it holds. What
/// nothing was measured of doesn't, unless it is of a client that Debian hasn't.
fn claims(measured: &MeasuredStores) -> (Table, bool) {
    let mut table = markdown();
    table.set_header(["bakeoff / other", "load", "figure", "measured", "bound", ""]);
    let mut all_hold = true;
    for cell in CELLS.iter().filter(|cell| cell.kind == Kind::Redis) {
        for other in [Client::RedisBenchmark, Client::Memtier] {
            let ratio =
                |figure: Measure| measured.ratio(cell, Client::Bakeoff, other, |it| figure.of(it));
            if other == Client::Memtier && ratio(Measure::Cpu).is_none() {
                continue;
            }
            let mut claim =
                |figure: Measure, what: &str, bound: String, holds: &dyn Fn(f64) -> bool| {
                    let word = match ratio(figure) {
                        Some(ratio) if holds(ratio.median) => "holds",
                        Some(_) => "MISSED",
                        None => "NOT SHOWN",
                    };
                    all_hold &= word == "holds";
                    table.add_row([
                        other.name().to_string(),
                        cell.in_words(),
                        what.to_string(),
                        ratio(figure).map_or("–".to_string(), Spread::in_words),
                        bound,
                        word.to_string(),
                    ]);
                };
            let at_most = CPU_AT_MOST[usize::from(cell.depth > 1)];
            let bound = format!("at most {at_most:.2}");
            claim(Measure::Cpu, "CPU a request", bound, &|ratio| ratio <= at_most);
            if cell.depth > 1 && other == Client::RedisBenchmark {
                claim(Measure::Rate, "rate", "at least 1.00".into(), &|ratio| ratio >= 1.0);
            }
        }
    }
    (table, all_hold)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(answers: u64, seconds: f64) -> Result<Count, String> {
        Ok(Count { answers, errors: 0, seconds })
    }

    #[test]
    fn each_client_is_understood() {
        let redis = "GET: rps=0.0 (overall: nan) avg_msec=nan\r====== GET ======\n  \
                     100000 requests completed in 1.23 seconds\n  50 parallel clients\n";
        assert_eq!(Client::RedisBenchmark.count(redis, 1), count(100_000, 1.23));
        let memtier = "ALL STATS\nType         Ops/sec     Hits/sec\n---------\nGets       \
                       50000.50         0.00\nTotals     50000.50         0.00\n";
        assert_eq!(Client::Memtier.count(memtier, 2), count(100_001, 2.0));
        let memaslap = "cmd_get: 9\n\nRun time: 2.5s Ops: 1397754 TPS: 69817 Net_rate: 5.4M/s\n";
        assert_eq!(Client::Memaslap.count(memaslap, 2), count(1_397_754, 2.5));
    }

    #[test]
    fn what_is_no_output_of_the_client_is_an_error_that_shows_it() {
        for client in CLIENTS {
            let told = client.count("unable to connect", 1).unwrap_err();
            assert!(told.contains(client.name()) && told.contains("unable to connect"), "{told}");
        }
    }

    #[test]
    fn each_client_is_told_the_load() {
        for cell in CELLS {
            let load = StoreLoad {
                cell,
                address: "127.0.0.1:7321".parse().unwrap(),
                seconds: 3,
                cpu: 1,
                set_up: Path::new("/set-up"),
            };
            for client in CLIENTS.into_iter().filter(|client| client.allows(cell)) {
                let command = client.command(Path::new("/client"), &load);
                let has = |word: String| command.iter().any(|it| it.ends_with(&word));
                assert!(has(cell.connections.to_string()) && has("7321".into()), "{command:?}");
                assert!(cell.depth == 1 || has(cell.depth.to_string()), "{command:?}");
            }
        }
    }

    #[test]
    fn a_claim_that_is_missed_or_that_nothing_was_measured_of_doesnt_hold() {
        let hold = |[single_us, deep_us]: [f64; 2], rate: f64, others: bool| {
            let mut measured = MeasuredStores::default();
            for cell in &CELLS {
                let cpu_us = if cell.depth > 1 { deep_us } else { single_us };
                let ours = Sample { cpu_us, rate, ..Sample::default() };
                measured.add(cell, Client::Bakeoff, Some(ours));
                let others =
                    others.then_some(Sample { cpu_us: 10.0, rate: 1_000.0, ..Sample::default() });
                measured.add(cell, Client::RedisBenchmark, others);
            }
            claims(&measured).1
        };
        assert!(hold([4.9, 6.9], 1_001.0, true));
        assert!(!hold([5.1, 6.9], 1_001.0, true), "it takes too much without a pipeline");
        assert!(!hold([4.9, 7.1], 1_001.0, true), "it takes too much with one");
        assert!(!hold([4.9, 6.9], 999.0, true), "it is slower with a pipeline");
        assert!(!hold([4.9, 6.9], 1_001.0, false), "there was nothing to stand beside");
    }
}
