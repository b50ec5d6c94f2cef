//! `proof truth`: latencies, rates and counts beside a server that knows its own.

pub mod calibration;
mod figure;
mod priority;
mod service;
mod stall;

use std::time::{Duration, Instant};

use clap::Parser;
use rustix::process::{Pid, Signal, kill_process};

use crate::client::Running;
use crate::interrupt::Interrupt;
use crate::place::Place;
use crate::report::Report;
use crate::server::{Recipe, Server};
use crate::tool::Tool;
use crate::truth::calibration::{QUANTILES, RECORD, Record};
use crate::truth::figure::{Allowed, Figure, Margin};
use crate::truth::stall::Stall;

/// Compares what `bakeoff load` says with what a server of known service times
/// recorded itself.
#[derive(Debug, Parser)]
pub struct Arguments {
    /// Rounds: of each time, the one in the middle counts; of each count, the worst.
    #[arg(long, default_value_t = 3)]
    rounds: u32,
    /// Short rounds with wide margins, for a machine that does other things as
    /// well.
    #[arg(long)]
    quick: bool,
}

/// How much is measured, and how exact it has to be.
#[derive(Debug, Clone, Copy)]
struct Effort {
    /// Requests of a closed loop: 100,000 and more have a p99.9.
    requests: u32,
    /// Seconds of an open loop.
    seconds: f64,
    /// Requests a second of an open loop.
    rate: u32,
    /// How far times may be off.
    margin: Margin,
    /// How far a rate may be off.
    rate_margin: f64,
}

const FULL: Effort = Effort {
    requests: 110_000,
    seconds: 12.0,
    rate: 1_000,
    margin: Margin { share: 0.02, us: 100.0 },
    rate_margin: 0.005,
};

const QUICK: Effort = Effort {
    requests: 11_000,
    seconds: 6.0,
    rate: 2_000,
    margin: Margin { share: 0.25, us: 5_000.0 },
    rate_margin: 0.05,
};

/// The constant service time.
const SERVICE: &str = "5ms";
/// The two-valued one.
const TWO_VALUED: &str = "92%2ms,8%20ms";
/// Share of a run that the server is stopped for, and when it begins.
const STALL_SHARE: f64 = 0.2;
const STALL_BEGINS: f64 = 0.3;

/// Runs all experiments. Tells whether everything is as it should be.
pub fn run(arguments: &Arguments, interrupt: &Interrupt) -> Result<bool, String> {
    let rounds = arguments.rounds;
    let effort = if arguments.quick { QUICK } else { FULL };
    let bench = Bench { effort, place: Place::find()?, interrupt };
    let neighbours = match priority::before_all_others() {
        Ok(()) => "before all other processes of this machine",
        Err(_) => "among the other processes of this machine, which show in the times",
    };
    println!("Rounds: {rounds}; {}, {neighbours}.\n", bench.place.in_words());
    let mut figures = Vec::new();
    for round in 1..=rounds {
        let of_round = bench.experiments()?;
        figures.push(of_round);
        eprintln!("round {round} of {rounds} is done");
    }
    let figures = figure::over_rounds(&figures);
    println!("{}\n\n{}", figure::table(&figures), figure::counts(&figures));
    Ok(figures.iter().all(Figure::holds))
}

/// Where experiments are made.
struct Bench<'a> {
    effort: Effort,
    place: Place,
    interrupt: &'a Interrupt,
}

impl Bench<'_> {
    fn experiments(&self) -> Result<Vec<Figure>, String> {
        let mut figures = Vec::new();
        for backend in ["io_uring", "epoll"] {
            figures.extend(self.closed("constant 5 ms", SERVICE, backend)?);
            figures.extend(self.closed("two-valued", TWO_VALUED, backend)?);
            figures.extend(self.open(backend)?);
        }
        figures.extend(self.open_with_stall()?);
        figures.extend(self.closed_with_stall()?);
        Ok(figures)
    }

    /// Every time that the client saw beside every time that the server took.
    fn closed(&self, what: &str, service: &str, backend: &str) -> Result<Vec<Figure>, String> {
        let of = format!("closed loop, {what}, {backend}");
        let server = self.server(service)?;
        let requests = self.effort.requests;
        let report =
            self.load(&server, &format!("-c 50 -n {requests} --backend {backend}"), no_stall)?.0;
        let record = self.record(&server, &report)?;
        let mut figures = self.times(&of, &report, &record);
        figures.extend(counts(&of, &report, &record));
        figures.push(count(&of, "requests asked for", requests.into(), report.requests.good));
        Ok(figures)
    }

    /// The same at a rate, with a warm-up that has to be left out of the figures
    /// and in the counts.
    fn open(&self, backend: &str) -> Result<Vec<Figure>, String> {
        let of = format!("open loop, constant 5 ms, {backend}");
        let Effort { seconds, rate, .. } = self.effort;
        let server = self.server(SERVICE)?;
        let options = format!(
            "-c 100 --rate {rate} -d {}ms --warmup 500ms --backend {backend}",
            (seconds * 1e3) as u64
        );
        let report = self.load(&server, &options, no_stall)?.0;
        let record = self.record(&server, &report)?;
        let mut figures = self.times(&of, &report, &record);
        for (name, reached) in [
            ("rate offered", report.requests.scheduled as f64 / report.seconds),
            ("rate reached", report.rate),
        ] {
            figures.push(Figure {
                of: of.clone(),
                name: name.into(),
                expected: rate.into(),
                measured: reached,
                allowed: Allowed::Share(self.effort.rate_margin),
            });
        }
        figures.extend(counts(&of, &report, &record));
        Ok(figures)
    }

    /// An open loop sees a stall as its users would.
    fn open_with_stall(&self) -> Result<Vec<Figure>, String> {
        let of = "open loop, stalled for 20 %";
        let Effort { seconds, rate, .. } = self.effort;
        let server = self.server(SERVICE)?;
        let options = format!("-c 100 --rate {rate} -d {}ms", (seconds * 1e3) as u64);
        let (report, stalled) = self.load(&server, &options, |load| self.stall(&server, load))?;
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
        let mut figures: Vec<Figure> = [0.5, 0.9, 0.99]
            .into_iter()
            .filter_map(|quantile| {
                Some(Figure {
                    of: of.into(),
                    name: format!("response time, {}, by arithmetic", percentile(quantile)),
                    expected: stall.response(quantile) * 1e6,
                    measured: report.response_us.at(quantile)?,
                    allowed: Allowed::Time(self.effort.margin),
                })
            })
            .collect();
        figures.extend(counts(of, &report, &record));
        Ok(figures)
    }

    /// A closed loop can't: while it waits, it asks nothing. It has to say so.
    fn closed_with_stall(&self) -> Result<Vec<Figure>, String> {
        let of = "closed loop, stalled for 20 %";
        let seconds = self.effort.seconds;
        let server = self.server(SERVICE)?;
        let options = format!("-c 20 -d {}ms", (seconds * 1e3) as u64);
        let (report, stalled) = self.load(&server, &options, |load| self.stall(&server, load))?;
        let record = self.record(&server, &report)?;
        // Users don't wait for each other, nor does a queue of them take long.
        let users = Stall {
            length: stalled,
            window: report.seconds,
            rate: 0.0,
            capacity: 1.0,
            service: usual_s(&record)?,
        };
        let mut figures = Vec::new();
        if let Some(measured) = report.response_us.at(0.99) {
            figures.push(Figure {
                of: of.into(),
                name: "p99, beside that of users".into(),
                expected: users.response(0.99) * 1e6,
                measured,
                allowed: Allowed::FarBelow,
            });
        }
        figures.push(Figure {
            of: of.into(),
            name: "it says that it can't be trusted".into(),
            expected: 1.0,
            measured: u8::from(report.warns_of("closed_loop_stalled")).into(),
            allowed: Allowed::Yes,
        });
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

    fn server(&self, service: &str) -> Result<Server, String> {
        let own = std::env::current_exe().map_err(|error| error.to_string())?;
        let recipe = |address: std::net::SocketAddr, _: &str| Recipe {
            command: vec![
                own.display().to_string(),
                "calibration-server".into(),
                "--address".into(),
                address.to_string(),
                "--service".into(),
                service.into(),
            ],
            files: Vec::new(),
            ready: RECORD,
        };
        Server::start(recipe, &self.place, self.interrupt)
    }

    /// Runs `bakeoff load`, and something beside it.
    fn load<T>(
        &self,
        server: &Server,
        options: &str,
        meanwhile: impl FnOnce(&Running) -> Result<T, String>,
    ) -> Result<(Report, T), String> {
        let mut command = vec![Tool::Bakeoff.program()?.display().to_string(), "load".into()];
        command.extend(options.split_ascii_whitespace().map(String::from));
        command.extend(["-t", "1", "--cpus"].map(String::from));
        command.extend([self.place.client.to_string(), "--json".into(), "-".into()]);
        command.push(server.url("/"));
        let running = Running::start(&command, self.place.client, Duration::from_secs(120))?;
        let beside = meanwhile(&running)?;
        let ended = running.wait(self.interrupt)?.success()?;
        Ok((Report::read(&ended.output)?, beside))
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

    /// Times beside those that the server took. Those of the few requests that
    /// only one of both has, at a warm-up or at the end, don't move a percentile.
    fn times(&self, of: &str, report: &Report, record: &Record) -> Vec<Figure> {
        QUANTILES
            .into_iter()
            .zip(&record.times_us)
            .filter_map(|(quantile, &expected)| {
                Some(Figure {
                    of: of.into(),
                    name: format!("service time, {}", percentile(quantile)),
                    expected,
                    measured: report.service_us.at(quantile)?,
                    allowed: Allowed::Time(self.effort.margin),
                })
            })
            .collect()
    }
}

fn no_stall(_: &Running) -> Result<(), String> {
    Ok(())
}

/// The service time that the server usually had, in seconds.
fn usual_s(record: &Record) -> Result<f64, String> {
    let median_us = record.times_us.first().ok_or("the calibration server answered nothing")?;
    Ok(median_us / 1e6)
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
        measured: measured as f64,
        allowed: Allowed::Nothing,
    }
}

fn percentile(quantile: f64) -> String {
    format!("p{}", (quantile * 1e5).round() / 1e3)
}
