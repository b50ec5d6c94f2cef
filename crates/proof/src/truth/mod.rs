//! `proof truth`: latencies, rates and counts beside a server that knows its own.

pub mod calibration;
mod figure;
mod one_queue;
mod priority;
mod queue;
pub mod relay;
mod rooms;
mod service;
mod stall;
mod tries;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::{Parser, ValueEnum};
use comfy_table::Table;
use histogram::reading::Statistic;
use lab::place::awake::Awake;
use rustix::process::{Pid, Signal, kill_process};

use crate::client::Running;
use crate::interrupt::Interrupt;
use crate::page::Page;
use crate::place::Place;
use crate::report::Report;
use crate::server::Server;
use crate::tool::Tool;
use crate::truth::calibration::{QUANTILES, RECORD, Record};
use crate::truth::figure::{Allowed, Figure, Margin};
use crate::truth::one_queue::QueueScope;
use crate::truth::stall::Stall;
use crate::truth::tries::Outcome;

/// Compares what `bakeoff load` says with what a server of known service times
/// recorded itself, and with what queueing theory expects of it.
#[derive(Debug, Parser)]
pub struct TruthArguments {
    /// Rounds: of each experiment, the one in the middle counts; of each count, the
    /// worst.
    #[arg(long, default_value_t = 3)]
    rounds: u32,
    /// Short rounds with wide margins, for a machine that does other things as
    /// well.
    #[arg(long)]
    quick: bool,
    /// What is measured.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "records,queues,rooms")]
    parts: Vec<Part>,
    /// Write it to this file as well. What stands there below a heading `## Before` stays.
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// What is seen of a server, beside its own record.
    Records,
    /// The response times of an open loop, beside queueing theory.
    Queues,
    /// The deliveries of robots in rooms, beside a relay's own record and queueing theory.
    Rooms,
}

/// How much is measured, and how exact it has to be.
#[derive(Debug, Clone, Copy)]
struct Precision {
    /// The constant service time, in ms.
    constant_ms: u32,
    /// The two-valued one.
    two_valued: &'static str,
    /// Requests of a closed loop: 100,000 and more have a p99.9.
    requests: u32,
    /// Its connections.
    users: u32,
    /// Connections of further closed loops: of so many that their answers are gathered, where
    /// `users` are fewer. Each has four times the constant service time.
    crowds: &'static [u32],
    /// Seconds of an open loop: its requests, with the rate, have a p99.
    seconds: f64,
    /// Requests a second of an open loop.
    rate: u32,
    /// Its connections: enough for all that are under way at once.
    connections: u32,
    /// Requests a second where rates alone are looked at, in thousands, and for how
    /// many seconds.
    fast_rate_k: u32,
    fast_seconds: f64,
    /// Of requests in a pipeline: ms from one tick at which all are answered to the next;
    /// connections of a closed loop beside a single one, and the seconds of both.
    pipeline_ms: u32,
    pipeline_users: u32,
    pipeline_seconds: f64,
    /// On how many backends stalls and rates alone are looked at.
    backends: usize,
    /// How far times may be off.
    margin: Margin,
    /// How far a rate may be off.
    rate_margin: f64,
    /// How often an experiment that misses is made twice more, so that the one in the
    /// middle counts.
    tries_of_a_miss: u32,
}

const BACKENDS: &[&str] = &["io_uring", "epoll"];

const FULL: Precision = Precision {
    constant_ms: 5,
    two_valued: "92%2ms,8%20ms",
    requests: 102_000,
    users: 50,
    crowds: &[400],
    seconds: 10.0,
    rate: 1_200,
    connections: 100,
    fast_rate_k: 20,
    fast_seconds: 3.0,
    pipeline_ms: 40,
    pipeline_users: 50,
    pipeline_seconds: 3.0,
    backends: 2,
    margin: Margin { share: 0.02, us: 100.0 },
    rate_margin: 0.005,
    tries_of_a_miss: 0,
};

/// Its service times are so long that half a time, or twice it, is out of so wide a
/// margin.
const QUICK: Precision = Precision {
    constant_ms: 50,
    two_valued: "92%30ms,8%200ms",
    requests: 11_000,
    users: 300,
    crowds: &[],
    seconds: 4.5,
    rate: 2_600,
    connections: 300,
    fast_rate_k: 5,
    fast_seconds: 1.0,
    pipeline_ms: 50,
    pipeline_users: 50,
    pipeline_seconds: 1.5,
    backends: 1,
    margin: Margin { share: 0.25, us: 5_000.0 },
    rate_margin: 0.05,
    tries_of_a_miss: 2,
};

/// The subcommand of this program that is the calibration server.
const SERVER: &str = "calibration-server";
/// Requests under way at once on a connection, where they are pipelined.
const DEPTH: u32 = 16;
/// The server is as fast as it can be.
const AT_ONCE: &str = "0ms";
/// The service time where a closed loop stalls: short, so that the few requests that
/// wait for the stall's end are below 1 % of all.
const CLOSED_STALL: &str = "5ms";
/// The service time where threads share few connections: so long that what passes between
/// an answer and the next request is below what a rate may be off. Each connection has as
/// many of the requests.
const SHARED: &str = "50ms";
const SHARED_REQUESTS: u32 = 150;
/// How many standard deviations random arrivals may be off their mean: chance alone
/// is, once in 16,000 schedules.
const DEVIATIONS: f64 = 4.0;
/// Share of a run that the server is stopped for, and when it begins.
const STALL_SHARE: f64 = 0.2;
const STALL_BEGINS: f64 = 0.3;

/// Runs all experiments. Tells whether everything is as it should be.
pub fn run(arguments: &TruthArguments, interrupt: &Interrupt) -> Result<bool, String> {
    let rounds = arguments.rounds;
    let effort = if arguments.quick { QUICK } else { FULL };
    let mut page = Page::new("What the calibration measured", "calibrate");
    let chosen = load::chosen_backend();
    let backends = if BACKENDS.contains(&&*chosen) {
        BACKENDS
    } else {
        page.say(format!("Only what this machine permits: {chosen}."));
        &BACKENDS[1..]
    };
    let bench = Bench { effort, backends, place: Place::find()?, interrupt };
    let neighbours = match priority::before_all_others() {
        Ok(()) => "before all other processes of this machine",
        Err(_) => "among the other processes of this machine, which show in the times",
    };
    let awake = Awake::keep();
    let sleep = match &awake {
        Ok(_) => "Processors are kept from sleeping.".into(),
        Err(why) => format!("Processors may sleep, and wake up late: {why}."),
    };
    page.say(format!("Where: {}, {neighbours}. {sleep}", bench.place.in_words()));
    let mut holds = true;
    if arguments.parts.contains(&Part::Records) {
        holds &= bench.records(rounds, &mut page)?;
    }
    if arguments.parts.contains(&Part::Queues) {
        holds &= bench.queues(arguments.quick, &mut page)?;
    }
    if arguments.parts.contains(&Part::Rooms) {
        holds &= bench.rooms(arguments.quick, &mut page)?;
    }
    if let Some(file) = &arguments.write {
        page.write(file)?;
    }
    Ok(holds)
}

/// Makes an experiment once.
type Experiment<'a> = Box<dyn Fn() -> Result<Vec<Figure>, String> + 'a>;

/// Where experiments are made.
struct Bench<'a> {
    effort: Precision,
    /// The backends that this machine permits.
    backends: &'static [&'static str],
    place: Place,
    interrupt: &'a Interrupt,
}

impl Bench<'_> {
    /// Tells whether what is seen of a server is what it wrote down itself.
    fn records(&self, rounds: u32, page: &mut Page) -> Result<bool, String> {
        page.say("## Beside a server's own record");
        page.say(format!(
            "Rounds: {rounds}; all figures of an experiment are of the one in the middle. Server \
             and client have a processor each, or both the client's where a row says one \
             processor."
        ));
        let mut experiments: Vec<(Experiment, Vec<Vec<Figure>>)> =
            self.experiments().into_iter().map(|experiment| (experiment, Vec::new())).collect();
        for round in 1..=rounds {
            for (experiment, rounds) in &mut experiments {
                rounds.push(experiment()?);
            }
            eprintln!("round {round} of {rounds} is done");
        }
        let mut figures = Vec::new();
        for (experiment, mut rounds) in experiments {
            for _ in 0..self.effort.tries_of_a_miss {
                if figure::over_rounds(&rounds).iter().all(Figure::holds) {
                    break;
                }
                // Two more, so that one is in the middle again.
                rounds.extend([experiment()?, experiment()?]);
            }
            figures.extend(figure::over_rounds(&rounds));
        }
        page.say(figure::table(&figures));
        page.say(figure::counts(&figures));
        Ok(figures.iter().all(Figure::holds))
    }

    /// Tells whether the requests of an open loop wait as in one queue.
    fn queues(&self, quick: bool, page: &mut Page) -> Result<bool, String> {
        let scope = if quick { QueueScope::QUICK } else { QueueScope::FULL };
        let outcomes = one_queue::measure(self, &scope)?;
        page.say("## Beside queueing theory");
        page.say(one_queue::ABOUT);
        Ok(say_outcomes(page, one_queue::table(&outcomes), &outcomes, one_queue::IN_TABLE))
    }

    /// Tells whether robots hear what a relay says when it says so.
    fn rooms(&self, quick: bool, page: &mut Page) -> Result<bool, String> {
        let scope = if quick { rooms::RoomsScope::QUICK } else { rooms::RoomsScope::FULL };
        let outcomes = rooms::measure(self, &scope)?;
        page.say("## Robots in rooms");
        page.say(rooms::ABOUT);
        Ok(say_outcomes(page, rooms::table(&outcomes), &outcomes, rooms::IN_TABLE))
    }

    fn experiments(&self) -> Vec<Experiment<'_>> {
        let mut experiments: Vec<Experiment> = Vec::new();
        let constant = &format!("constant {} ms", self.effort.constant_ms);
        let users = self.effort.users;
        for backend in self.backends {
            for side in [Side::SameProcessor, Side::OwnProcessor] {
                let (constant, service) = (constant.clone(), self.constant());
                experiments
                    .push(Box::new(move || self.closed(&constant, &service, users, side, backend)));
            }
            let two_valued = self.effort.two_valued;
            experiments.push(Box::new(move || {
                self.closed("two-valued", two_valued, users, Side::SameProcessor, backend)
            }));
            for &crowd in self.effort.crowds {
                experiments.push(Box::new(move || self.closed_crowd(crowd, backend)));
            }
            let what = constant.clone();
            experiments.push(Box::new(move || self.open(&what, backend)));
            for users in [1, self.effort.pipeline_users] {
                experiments.push(Box::new(move || self.closed_pipeline(users, backend)));
            }
            experiments.push(Box::new(move || self.open_pipeline(backend)));
            experiments.push(Box::new(move || self.closed_on_threads(backend)));
        }
        for backend in self.backends.iter().take(self.effort.backends) {
            for threads in [1, 2] {
                for arrivals in [Arrivals::Constant, Arrivals::Poisson] {
                    experiments.push(Box::new(move || self.fast(arrivals, threads, backend)));
                }
            }
            experiments.push(Box::new(move || self.open_with_stall(backend)));
            experiments.push(Box::new(move || self.closed_with_stall(backend)));
        }
        experiments
    }

    fn constant(&self) -> String {
        format!("{}ms", self.effort.constant_ms)
    }

    /// Every time that the client saw beside every time that the server took.
    fn closed(
        &self,
        what: &str,
        service: &str,
        users: u32,
        side: Side,
        backend: &str,
    ) -> Result<Vec<Figure>, String> {
        let of = format!("closed loop, {what}, {}, {backend}", side.name());
        let server = self.server(service, side)?;
        let Precision { requests, margin, .. } = self.effort;
        let options = format!("-c {users} -n {requests} --backend {backend}");
        let report = self.load(&server, &options, 1, no_stall)?.0;
        let record = self.record(&server, &report)?;
        let quantiles = quantiles(requests.into()).filter(|quantile| side.tells(*quantile));
        let mut figures = times(&of, margin, quantiles, &report, &record)?;
        figures.extend(counts(&of, &report, &record));
        figures.push(count(&of, "requests asked for", requests.into(), report.requests.good));
        Ok(figures)
    }

    /// The same with so many connections that a thread on io_uring waits for several answers: their
    /// times are still those that the server took.
    fn closed_crowd(&self, users: u32, backend: &str) -> Result<Vec<Figure>, String> {
        let service_ms = 4 * self.effort.constant_ms;
        let what = format!("constant {service_ms} ms, {users} connections");
        self.closed(&what, &format!("{service_ms}ms"), users, Side::OwnProcessor, backend)
    }

    /// As many requests a second as the connections can have, however threads share them.
    fn closed_on_threads(&self, backend: &str) -> Result<Vec<Figure>, String> {
        let of = format!("closed loop, 3 connections on two threads, {backend}");
        let server = self.server(SHARED, Side::SameProcessor)?;
        let options = format!("-c 3 -n {SHARED_REQUESTS} --backend {backend}");
        let report = self.load(&server, &options, 2, no_stall)?.0;
        let record = self.record(&server, &report)?;
        let mut figures = vec![Figure {
            of: of.clone(),
            name: "rate reached".into(),
            expected: 3.0 / usual_s(&record)?,
            measured: Some(report.rate),
            allowed: Allowed::Share(2.0 * self.effort.rate_margin),
        }];
        figures.extend(counts(&of, &report, &record));
        figures.push(count(&of, "threads", 2, report.threads.len() as u64));
        Ok(figures)
    }

    /// The same at a rate, with a warm-up that has to be left out of the figures
    /// and in the counts.
    fn open(&self, what: &str, backend: &str) -> Result<Vec<Figure>, String> {
        let side = Side::SameProcessor;
        let of = format!("open loop, {what}, {}, {backend}", side.name());
        let Precision { rate, margin, rate_margin, .. } = self.effort;
        let server = self.server(&self.constant(), side)?;
        let options = format!("{} --warmup 500ms --backend {backend}", self.open_options());
        let report = self.load(&server, &options, 1, no_stall)?.0;
        let record = self.record(&server, &report)?;
        let mut figures = times(&of, margin, quantiles(self.open_requests()), &report, &record)?;
        figures.extend(rates(&of, rate.into(), Arrivals::Constant, rate_margin, &report));
        figures.extend(counts(&of, &report, &record));
        Ok(figures)
    }

    fn open_options(&self) -> String {
        let Precision { connections, rate, seconds, .. } = self.effort;
        format!("-c {connections} --rate {rate} -d {}ms", milliseconds(seconds))
    }

    /// Requests that fall due in an open loop.
    fn open_requests(&self) -> u64 {
        (f64::from(self.effort.rate) * self.effort.seconds) as u64
    }

    /// Requests in a pipeline: each is sent when the client says so, and not when its turn
    /// comes among those that were taken together with it.
    fn closed_pipeline(&self, users: u32, backend: &str) -> Result<Vec<Figure>, String> {
        let connections = if users == 1 { "one connection" } else { "many connections" };
        let of = format!("closed loop, pipelines of {DEPTH}, {connections}, {backend}");
        let Precision { pipeline_ms, pipeline_seconds, .. } = self.effort;
        let rounds = pipeline_seconds * 1e3 / f64::from(pipeline_ms);
        let requests = (f64::from(users * DEPTH) * rounds) as u64;
        let options = format!("-c {users} --pipeline {DEPTH} -n {requests} --backend {backend}");
        self.pipeline(&of, &options, requests)
    }

    /// The same at a rate.
    fn open_pipeline(&self, backend: &str) -> Result<Vec<Figure>, String> {
        let of = format!("open loop, pipelines of {DEPTH}, {backend}");
        let requests = 1e3 * self.effort.pipeline_seconds;
        let options =
            format!("-c 4 --pipeline {DEPTH} --rate 1000 -n {requests} --backend {backend}");
        self.pipeline(&of, &options, requests as u64)
    }

    fn pipeline(&self, of: &str, options: &str, requests: u64) -> Result<Vec<Figure>, String> {
        let side = Side::OwnProcessor;
        let server = self.server(&format!("ticks:{}ms", self.effort.pipeline_ms), side)?;
        let report = self.load(&server, options, 1, no_stall)?.0;
        let record = self.record(&server, &report)?;
        let quantiles = quantiles(requests).filter(|quantile| side.tells(*quantile));
        let mut figures = times(of, self.effort.margin, quantiles, &report, &record)?;
        figures.extend(counts(of, &report, &record));
        figures.push(count(of, "requests asked for", requests, report.requests.good));
        Ok(figures)
    }

    /// A high rate where the server answers at once: however requests arrive, and
    /// where each thread has a part of them.
    fn fast(&self, arrivals: Arrivals, threads: u32, backend: &str) -> Result<Vec<Figure>, String> {
        let Precision { connections, fast_rate_k: rate_k, fast_seconds, rate_margin, .. } =
            self.effort;
        let of = format!(
            "open loop, {rate_k}k/s, {} arrivals, {}, {backend}",
            arrivals.name(),
            if threads == 1 { "one thread" } else { "two threads" }
        );
        let server = self.server(AT_ONCE, Side::OwnProcessor)?;
        let options = format!(
            "-c {connections} --rate {rate_k}k --arrivals {} -d {}ms --backend {backend}",
            arrivals.name(),
            milliseconds(fast_seconds)
        );
        let report = self.load(&server, &options, threads, no_stall)?.0;
        let record = self.record(&server, &report)?;
        let asked = f64::from(rate_k) * 1e3;
        let mut figures = rates(&of, asked, arrivals, rate_margin, &report);
        figures.extend(counts(&of, &report, &record));
        figures.push(count(&of, "threads", threads.into(), report.threads.len() as u64));
        Ok(figures)
    }

    /// An open loop sees a stall as its users would.
    fn open_with_stall(&self, backend: &str) -> Result<Vec<Figure>, String> {
        let of = &*format!("open loop, stalled for 20 %, {backend}");
        let Precision { rate, margin, .. } = self.effort;
        let server = self.server(&self.constant(), Side::OwnProcessor)?;
        let stall = |load: &Running| self.stall(&server, load);
        let options = format!("{} --backend {backend}", self.open_options());
        let (report, stalled) = self.load(&server, &options, 1, stall)?;
        let record = self.record(&server, &report)?;
        let service = usual_s(&record)?;
        let stall = Stall {
            length: stalled,
            window: report.seconds,
            rate: rate.into(),
            // Busiest is the server when it makes up for the stall.
            capacity: record.busiest_rate,
            service,
        };
        let mut figures = times_with_stall(of, margin, &stall, &report);
        figures.extend(counts(of, &report, &record));
        Ok(figures)
    }

    /// A closed loop can't: while it waits, it asks nothing. It has to say so.
    fn closed_with_stall(&self, backend: &str) -> Result<Vec<Figure>, String> {
        let of = &*format!("closed loop, stalled for 20 %, {backend}");
        let server = self.server(CLOSED_STALL, Side::OwnProcessor)?;
        let seconds = milliseconds(self.effort.seconds);
        let options = format!("-c 40 -d {seconds}ms --backend {backend}");
        let stall = |load: &Running| self.stall(&server, load);
        let (report, stalled) = self.load(&server, &options, 1, stall)?;
        let record = self.record(&server, &report)?;
        // Users don't wait for each other, nor does a queue of them take long.
        let users = Stall {
            length: stalled,
            window: report.seconds,
            rate: 0.0,
            capacity: 1.0,
            service: usual_s(&record)?,
        };
        let mut figures = vec![
            Figure {
                of: of.into(),
                name: "p99, beside that of users".into(),
                expected: users.response(0.99) * 1e6,
                measured: report.response_us.at(0.99),
                allowed: Allowed::FarBelow,
            },
            Figure {
                of: of.into(),
                name: "it says that it can't be trusted".into(),
                expected: 1.0,
                measured: Some(u8::from(report.warns_of("closed_loop_stalled")).into()),
                allowed: Allowed::Yes,
            },
        ];
        figures.extend(counts(of, &report, &record));
        Ok(figures)
    }

    /// Stops the server for a share of the run; tells for how long, in seconds.
    fn stall(&self, server: &Server, load: &Running) -> Result<f64, String> {
        let pause = |share: f64| Duration::from_secs_f64(self.effort.seconds * share);
        if load.ended_within(pause(STALL_BEGINS))? {
            return Err("the load ended before the stall began".into());
        }
        let pids: Vec<Pid> = server.pids().into_iter().filter_map(Pid::from_raw).collect();
        let send = |signal| {
            pids.iter().try_for_each(|pid| kill_process(*pid, signal)).map_err(|error| {
                format!("couldn't stop the calibration server for a while: {error}")
            })
        };
        send(Signal::STOP)?;
        let began = Instant::now();
        let waited = load.ended_within(pause(STALL_SHARE));
        send(Signal::CONT)?;
        let stalled = began.elapsed().as_secs_f64();
        waited?;
        Ok(stalled)
    }

    fn server(&self, service: &str, side: Side) -> Result<Server, String> {
        let cpu = match side {
            Side::SameProcessor => self.place.client,
            Side::OwnProcessor => self.place.server,
        };
        self.start_server(service, &[cpu])
    }

    fn start_server(&self, service: &str, cpus: &[usize]) -> Result<Server, String> {
        let arguments = ["--service".into(), service.into()];
        let is_ready = |server: &Server| server.get(RECORD).is_ok();
        Server::of_this_program(SERVER, arguments, cpus, is_ready, self.interrupt)
    }

    /// Runs `bakeoff load` with so many threads on its processor, and something
    /// beside it.
    fn load<T>(
        &self,
        server: &Server,
        options: &str,
        threads: u32,
        meanwhile: impl FnOnce(&Running) -> Result<T, String>,
    ) -> Result<(Report, T), String> {
        let running = self.start_load(&server.url("/"), options, threads, &[self.place.client])?;
        let beside = meanwhile(&running)?;
        let ended = running.wait(self.interrupt)?.success()?;
        Ok((Report::read(&ended.output)?, beside))
    }

    /// Starts `bakeoff load` with so many threads on these processors.
    fn start_load(
        &self,
        url: &str,
        options: &str,
        threads: u32,
        cpus: &[usize],
    ) -> Result<Running, String> {
        let mut command = vec![Tool::Bakeoff.program()?.display().to_string(), "load".into()];
        command.extend(options.split_ascii_whitespace().map(String::from));
        command.extend(["-t".into(), threads.to_string()]);
        let list: Vec<String> = cpus.iter().map(usize::to_string).collect();
        command.extend(["--cpus".into(), list.join(",")]);
        command.extend(["--json", "-"].map(String::from));
        command.push(url.into());
        let at_most = Duration::from_secs(120);
        priority::before_the_server(|| Running::start(&command, cpus, at_most))
    }

    /// The server's record, once all that was sent has reached it.
    fn record(&self, server: &Server, report: &Report) -> Result<Record, String> {
        let deadline = Instant::now() + Duration::from_secs(5);
        loop {
            let record: Record = serde_json::from_str(&server.get(RECORD)?)
                .map_err(|error| format!("the calibration server's record: {error}"))?;
            let complete = record.received >= report.sent() && record.answered >= record.received;
            if complete || Instant::now() >= deadline {
                return Ok(record);
            }
            self.interrupt.check()?;
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// Says a table of outcomes, and which figures are missed that it doesn't have: it has those whose
/// names begin so. Tells whether all holds.
fn say_outcomes<C>(page: &mut Page, table: Table, outcomes: &[Outcome<C>], in_table: &str) -> bool {
    page.say(table);
    let all = outcomes.iter().flat_map(|outcome| &outcome.figures);
    let missed = all.filter(|figure| !figure.holds() && !figure.name.starts_with(in_table));
    let missed: Vec<Figure> = missed.cloned().collect();
    if !missed.is_empty() {
        page.say("What is missed beside these times:");
        page.say(figure::table(&missed));
    }
    outcomes.iter().all(Outcome::holds)
}

/// Where the server runs beside the client.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Side {
    /// On the client's processor: if that is taken away from both, by a neighbour or a
    /// virtual machine's host, the record shifts with what the client says.
    SameProcessor,
    /// On one of its own: answers come in while the client is busy, as they do from
    /// servers that are measured. A pause of the client's processor is in no record.
    OwnProcessor,
}

impl Side {
    fn name(self) -> &'static str {
        match self {
            Side::SameProcessor => "one processor",
            Side::OwnProcessor => "two processors",
        }
    }

    /// Whether the times at this quantile are compared: beyond the 90th percentile
    /// pauses of the client's processor are, on many machines.
    fn tells(self, quantile: f64) -> bool {
        self == Side::SameProcessor || quantile <= 0.9
    }
}

/// When the requests of an open loop are due.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Arrivals {
    Constant,
    Poisson,
}

impl Arrivals {
    fn name(self) -> &'static str {
        match self {
            Arrivals::Constant => "constant",
            Arrivals::Poisson => "poisson",
        }
    }
}

/// The quantiles that so many requests have: of fewer the value is withheld.
fn quantiles(requests: u64) -> impl Iterator<Item = f64> {
    let has =
        move |quantile: &f64| Statistic::Percentile(quantile * 100.0).samples_needed() <= requests;
    QUANTILES.into_iter().filter(has)
}

/// Times beside those that the server took. Those of the few requests that only one of
/// both has, at a warm-up or at the end, don't move a percentile.
fn times(
    of: &str,
    margin: Margin,
    quantiles: impl Iterator<Item = f64>,
    report: &Report,
    record: &Record,
) -> Result<Vec<Figure>, String> {
    quantiles
        .map(|quantile| {
            Ok(Figure {
                of: of.into(),
                name: format!("service time, {}", percentile(quantile)),
                expected: record.time_us(quantile).ok_or(NO_ANSWER)?,
                measured: report.service_us.at(quantile),
                allowed: Allowed::Time(margin),
            })
        })
        .collect()
}

/// Times beside those that a stall makes.
fn times_with_stall(of: &str, margin: Margin, stall: &Stall, report: &Report) -> Vec<Figure> {
    let figure = |quantile| Figure {
        of: of.into(),
        name: format!("response time, {}, by arithmetic", percentile(quantile)),
        expected: stall.response(quantile) * 1e6,
        measured: report.response_us.at(quantile),
        allowed: Allowed::Time(margin),
    };
    [0.5, 0.9, 0.99].map(figure).into()
}

/// The rate that was offered beside the one that was asked for, and the rate of the
/// answers beside that which was offered: what was sent lies between those two.
fn rates(of: &str, asked: f64, arrivals: Arrivals, margin: f64, report: &Report) -> Vec<Figure> {
    let offered = report.requests.scheduled as f64 / report.seconds;
    let figure = |name: &str, expected, measured, share| Figure {
        of: of.into(),
        name: name.into(),
        expected,
        measured: Some(measured),
        allowed: Allowed::Share(share),
    };
    match arrivals {
        Arrivals::Constant => vec![
            figure("rate offered", asked, offered, margin),
            figure("rate reached", asked, report.rate, margin),
        ],
        // How many fall due within the window is a matter of chance, with the square
        // root of the mean as deviation. What is due is to be sent all the same.
        Arrivals::Poisson => {
            let mean = asked * report.seconds;
            vec![
                figure("rate offered", asked, offered, DEVIATIONS / mean.sqrt()),
                figure("rate reached, of that", offered, report.rate, margin),
            ]
        }
    }
}

fn milliseconds(seconds: f64) -> u64 {
    (seconds * 1e3) as u64
}

/// What is wrong with a server without times.
const NO_ANSWER: &str = "the calibration server answered nothing";

fn no_stall(_: &Running) -> Result<(), String> {
    Ok(())
}

/// The service time that the server usually had, in seconds.
fn usual_s(record: &Record) -> Result<f64, String> {
    Ok(record.time_us(0.5).ok_or(NO_ANSWER)? / 1e6)
}

/// What has to be equal whatever the machine does.
fn counts(of: &str, report: &Report, record: &Record) -> Vec<Figure> {
    let [scheduled, shed, sent, good, errors, in_flight] =
        [&report.requests, &report.warmup_requests]
            .map(|part| {
                [part.scheduled, part.shed, part.sent, part.good, part.errors, part.in_flight]
            })
            .into_iter()
            .fold([0; 6], |sums, part| std::array::from_fn(|at| sums[at] + part[at]));
    vec![
        count(of, "requests at the server", record.received, sent),
        count(of, "answers, those under way among them", record.answered, good + in_flight),
        count(of, "scheduled, of sent and shed", sent + shed, scheduled),
        count(of, "sent, of good, errors and in flight", good + errors + in_flight, sent),
    ]
}

fn count(of: &str, name: &str, expected: u64, measured: u64) -> Figure {
    Figure {
        of: of.into(),
        name: name.into(),
        expected: expected as f64,
        measured: Some(measured as f64),
        allowed: Allowed::Nothing,
    }
}

/// The value at a quantile of sorted ones; 0 of none.
fn at_quantile(sorted: &[u64], quantile: f64) -> f64 {
    let rank = (quantile * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).map_or(0.0, |&value| value as f64)
}

fn percentile(quantile: f64) -> String {
    format!("p{}", (quantile * 1e5).round() / 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A report with these quantiles: each with its value in µs, unless it is
    /// withheld, and whether that is only a lower bound.
    fn report(times: &[(f64, Option<f64>, bool)]) -> Report {
        let percentiles: Vec<serde_json::Value> = times
            .iter()
            .map(|(quantile, value, at_least)| {
                serde_json::json!({
                    "percentile": quantile * 100.0, "value": value, "at_least": at_least,
                })
            })
            .collect();
        let account = serde_json::json!({
            "scheduled": 20_000, "shed": 0, "sent": 20_000, "good": 20_000, "errors": 0,
            "in_flight": 0,
        });
        let report = serde_json::json!({
            "seconds": 10.0, "rate": 2_000.0, "requests": account, "warmup_requests": account,
            "response_us": { "percentiles": percentiles },
            "service_us": { "percentiles": percentiles },
            "errors": [], "connections": { "established": 1 }, "threads": [{}], "warnings": [],
        });
        Report::read(&report.to_string()).unwrap()
    }

    const RECORD: Record =
        Record { received: 20_000, answered: 20_000, times_us: Vec::new(), busiest_rate: 9_000.0 };

    #[test]
    fn half_a_time_and_twice_it_are_out_of_every_margin() {
        for effort in [FULL, QUICK] {
            let two_valued = effort.two_valued.split(',').map(|share| {
                let (_, time) = share.split_once('%').unwrap();
                humantime::parse_duration(time).unwrap().as_secs_f64() * 1e6
            });
            for time in two_valued.chain([f64::from(effort.constant_ms) * 1e3]) {
                for wrong in [0.0, 0.5, 2.0] {
                    let figure = Figure {
                        of: String::new(),
                        name: String::new(),
                        expected: time,
                        measured: Some(wrong * time),
                        allowed: Allowed::Time(effort.margin),
                    };
                    assert!(!figure.holds(), "{wrong} × {time} µs passes");
                }
            }
        }
    }

    #[test]
    fn every_effort_has_the_requests_that_its_percentiles_take() {
        let highest = |requests| quantiles(requests).last();
        assert_eq!(highest(FULL.requests.into()), Some(0.999));
        assert_eq!(highest(QUICK.requests.into()), Some(0.99));
        for Precision { rate, seconds, .. } in [FULL, QUICK] {
            assert_eq!(highest((f64::from(rate) * seconds) as u64), Some(0.99));
        }
    }

    #[test]
    fn a_percentile_that_a_report_lacks_is_missed() {
        let record = Record { times_us: vec![5e3; 4], ..RECORD };
        let margin = FULL.margin;
        let stall = Stall { length: 1e-9, window: 10.0, rate: 1e3, capacity: 9e3, service: 5e-3 };
        let missed = |p99: &[(f64, Option<f64>, bool)]| {
            let lower = [(0.5, Some(5e3), false), (0.9, Some(5e3), false)];
            let report = report(&[&lower[..], p99].concat());
            let with_stall = times_with_stall("open loop", margin, &stall, &report);
            [times("closed loop", margin, quantiles(20_000), &report, &record).unwrap(), with_stall]
                .map(|figures| {
                    let missed = figures.iter().filter(|figure| !figure.holds());
                    (figures.len(), missed.count())
                })
        };
        assert_eq!(missed(&[(0.99, Some(5e3), false)]), [(3, 0); 2]);
        assert_eq!(missed(&[(0.99, None, false)]), [(3, 1); 2], "withheld");
        assert_eq!(missed(&[(0.99, Some(5e3), true)]), [(3, 1); 2], "only a lower bound");
        assert_eq!(missed(&[]), [(3, 1); 2], "not there at all");
    }

    #[test]
    fn a_server_that_recorded_nothing_is_no_proof_of_anything() {
        assert!(times("x", FULL.margin, quantiles(20_000), &report(&[]), &RECORD).is_err());
    }

    #[test]
    fn random_arrivals_may_scatter_and_must_all_be_answered() {
        // 2,000 a second were offered and answered.
        let holds = |asked, arrivals, rate| {
            let report = Report { rate, ..report(&[]) };
            rates("x", asked, arrivals, 0.005, &report).iter().all(Figure::holds)
        };
        assert!(holds(2_000.0, Arrivals::Constant, 2_000.0));
        assert!(!holds(2_020.0, Arrivals::Constant, 2_000.0));
        // The deviation of 20,000 is 141, or 0.7 %.
        assert!(holds(2_020.0, Arrivals::Poisson, 2_000.0));
        assert!(!holds(2_100.0, Arrivals::Poisson, 2_000.0), "5 % fewer is no chance");
        for arrivals in [Arrivals::Constant, Arrivals::Poisson] {
            assert!(!holds(2_000.0, arrivals, 1_980.0), "1 % of {arrivals:?} went unanswered");
        }
    }
}
