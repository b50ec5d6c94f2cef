//! The arguments of `bakeoff load`, and the plan that they make.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::{ArgGroup, ValueEnum};
use load::Plan;
use load::plan::headers;
use load::plan::rooms::Wire;
use load::plan::template::{Placeholders, Request};
use load::plan::{Arrivals, BackendChoice, Http, Until, Workload};
use load::verdict::condition::Condition;
use load::verdict::metric::{Metric, Series};

use super::keys::KeysArguments;
use super::pace::{self, ArrivalsChoice};
use super::quantity::{self, Cpus};
use super::rooms::{self, RoomsArguments};
use super::target::{self, Speaks, Store};
use crate::commands::request::{RequestArguments, file_content, read_to_end};

/// Puts load on one server, of HTTP, of keys and values, or of rooms, and tells what it saw.
///
/// In a closed loop (the default) each connection asks again as soon as it has its answer:
/// it finds out how much the server can do. In an open loop (--rate) requests are due at
/// their own times, whatever is answered, and response times count from then: it finds out
/// what users see at that rate.
///
/// In paths, headers, the body and --expect-body, {counter} stands for the number of the
/// request, from 0, and {nonce} for 16 random digits of its own. A body file that is no text
/// is sent as it is, and so is everything with --no-placeholders.
///
/// With frames://, mqtt://, nats:// or redis://…?rooms each connection is a robot in a room: a
/// topic, a subject or a channel. What one says goes to all of its room, and --rate is in deliveries
/// a second.
#[derive(Debug, clap::Args)]
#[command(
    group = ArgGroup::new("open_loop").args(["rate", "find_rate"]),
    after_long_help = AFTER_HELP,
)]
pub struct LoadArguments {
    /// Where to: http://HOST[:PORT][/PATH], redis://[[USER]:PASSWORD@]HOST[:PORT][/DATABASE],
    /// memcached://HOST[:PORT], or of rooms frames://HOST:PORT, mqtt://HOST[:PORT],
    /// nats://HOST[:PORT] or redis://HOST[:PORT]?rooms. TLS and HTTP/2 are not there yet
    pub url: String,

    /// Connections at once [default: 50; --find-rate makes more where they are the limit]
    #[arg(short, long, value_name = "N", help_heading = LOAD,
        value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub connections: Option<u32>,

    /// How long to measure, after the warm-up; with --find-rate, each step [default: 10s]
    #[arg(short, long, value_name = "TIME", value_parser = quantity::duration,
        conflicts_with = "requests", help_heading = LOAD)]
    pub duration: Option<Duration>,

    /// Measure until so many requests have ended, as 10k, in place of a duration
    #[arg(short = 'n', long, value_name = "N", value_parser = quantity::count, help_heading = LOAD)]
    pub requests: Option<u64>,

    /// Load before measuring, left out of every figure [default: 0s; with --find-rate a fifth
    /// of each step]
    #[arg(long, value_name = "TIME", value_parser = quantity::duration_or_none,
        help_heading = LOAD)]
    pub warmup: Option<Duration>,

    /// Offer so many requests a second, as 20k, whatever is answered (open loop)
    #[arg(long, value_name = "RATE", value_parser = quantity::rate, help_heading = LOAD)]
    pub rate: Option<f64>,

    /// When the requests of an open loop are due
    #[arg(long, value_enum, value_name = "HOW", requires = "open_loop",
        default_value_t = ArrivalsChoice::Constant, help_heading = LOAD)]
    pub arrivals: ArrivalsChoice,

    /// A new connection for each request, as with -H 'Connection: close'
    #[arg(long, help_heading = LOAD)]
    pub close: bool,

    /// Requests under way at once on a connection
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "close",
        value_parser = clap::value_parser!(u16).range(1..=1024), help_heading = LOAD)]
    pub pipeline: u16,

    /// The longest wait for a connection, and for an answer from the send on
    #[arg(long, value_name = "TIME", value_parser = quantity::duration, default_value = "5s",
        help_heading = LOAD)]
    pub timeout: Duration,

    #[command(flatten)]
    pub request: RequestArguments,

    /// Send the content of this file as the body; - for standard input
    #[arg(long, value_name = "FILE", conflicts_with = "body", help_heading = REQUEST)]
    pub body_file: Option<PathBuf>,

    /// Send and expect {counter} and {nonce} as they are written
    #[arg(long, help_heading = REQUEST)]
    pub no_placeholders: bool,

    #[command(flatten)]
    pub keys: KeysArguments,

    #[command(flatten)]
    pub rooms: RoomsArguments,

    /// Processors to run on, as 0,2-3 [default: all that it may use]
    #[arg(long, value_name = "LIST", value_parser = quantity::cpus, help_heading = CLIENT)]
    pub cpus: Option<Cpus>,

    /// Threads [default: one a processor]
    #[arg(short, long, value_name = "N", help_heading = CLIENT,
        value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,

    /// Offer the load from the hosts of this file together (docs/hosts.md)
    #[arg(long, value_name = "FILE", conflicts_with = "cpus", help_heading = CLIENT)]
    pub hosts: Option<PathBuf>,

    /// How to talk to the kernel; auto takes io_uring where it is permitted
    #[arg(long, value_enum, value_name = "HOW", default_value_t = Backend::Auto,
        help_heading = CLIENT)]
    pub backend: Backend,

    /// Decides nonces and Poisson arrivals: the same seed offers the same load [default: by
    /// chance, so that no answer kept from an earlier run is the right one]
    #[arg(long, value_name = "NUMBER", help_heading = CLIENT)]
    pub seed: Option<u64>,

    /// Fail (exit code 3) if this holds, as 'p99 > 10ms'; may be given several times
    #[arg(long = "fail-if", value_name = "CONDITION", conflicts_with = "find_rate",
        help_heading = RESULT)]
    pub fail_if: Vec<Condition>,

    /// Search the highest rate at which this holds, as 'p99 < 10ms'
    #[arg(long, value_name = "CONDITION",
        conflicts_with_all = ["rate", "requests", "hdr"], help_heading = RESULT)]
    pub find_rate: Option<Condition>,

    /// Search the most robots with which this holds, as 'p95 < 250ms': --rate is that of --rooms
    /// with --members, and more robots hear as much each
    #[arg(long, value_name = "CONDITION", help_heading = RESULT,
        conflicts_with_all = ["find_rate", "fail_if", "requests", "hdr", "slow", "storm"])]
    pub find_connections: Option<Condition>,

    /// Write the result as JSON; - for standard output
    #[arg(long, value_name = "FILE", help_heading = RESULT)]
    pub json: Option<PathBuf>,

    /// Write the histograms as an HdrHistogram log; - for standard output
    #[arg(long, value_name = "FILE", help_heading = RESULT)]
    pub hdr: Option<PathBuf>,

    /// Print neither the live line nor the summary
    #[arg(short, long, help_heading = RESULT)]
    pub quiet: bool,
}

const LOAD: &str = "Load";
const REQUEST: &str = "Request";
const CLIENT: &str = "Client";
const RESULT: &str = "Result";

const AFTER_HELP: &str = "\
Conditions are METRIC OPERATOR VALUE:
  p50 p90 p99 p99.9 (or any other) mean max   of the response time, in us, ms, s
  service_p99 lateness_p99 connect_p99 …      the same of the other times
  home.p99 get.mean …                         the same of the response time of one request:
                                              its NAME of --path, or get, set, delete of --mix
  rate                                        requests a second with a good answer, as 20k
  errors                                      requests that failed
  error_share                                 their share, in %
  good_share                                  share of requests with a good answer, in %
  operators                                   <  <=  >  >=
A percentile with fewer than 100 samples beyond it is unknown, and so is a comparison
that requests without an answer leave open. Unknown never speaks for the server: --fail-if
fails, --find-rate takes it as not held. --find-rate takes a condition that holds below
some rate, as 'p99 < 10ms' or 'good_share > 99.9%'.

Exit codes:
  0    the load was offered, and something was answered
  1    not one good answer, or nobody was there any more before all of -n were asked
  2    wrong arguments or input
  3    a condition of --fail-if held or is unknown, --find-rate found no rate, or the account of
       rooms isn't clean
  4    the load could not be offered, or the result not be written
  130  interrupted; what was measured until then is printed

Examples:
  bakeoff load http://127.0.0.1:8080/ -c 1000 -d 30s --warmup 5s
  bakeoff load http://127.0.0.1:8080/ --rate 20k --arrivals poisson --fail-if 'p99 > 10ms'
  bakeoff load http://127.0.0.1:8080/ --find-rate 'p99 < 10ms' -d 5s
  bakeoff load redis://127.0.0.1/ --mix get=90,set=10 --keys 1M
  bakeoff load frames://127.0.0.1:7000 --rooms 100 --members 10 --rate 10k
  bakeoff load mqtt://127.0.0.1 --qos 1 --rooms 100 --members 10 --rate 10k
  bakeoff load 'http://127.0.0.1:8080/echo?id={nonce}' --expect-body '{nonce}'";

/// How to talk to the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Backend {
    /// io_uring where the kernel permits it, else epoll
    Auto,
    /// io_uring or an error
    #[value(name = "io_uring")]
    Uring,
    /// epoll
    Epoll,
}

/// Connections where nothing is said.
const CONNECTIONS: u32 = 50;

/// The part of a search's step that its warm-up has where nothing is said.
const WARMUP_PART: u32 = 5;

/// How long a run or step measures where nothing is said.
const DURATION: Duration = Duration::from_secs(10);

impl LoadArguments {
    /// The plan that they make. That of a search has no rate yet.
    ///
    /// # Errors
    /// What is wrong with them, as a sentence.
    pub fn plan(&self) -> Result<Plan, String> {
        self.check_conditions()?;
        if let (Some(json), Some(hdr)) = (&self.json, &self.hdr)
            && json == hdr
        {
            return Err(format!("--json and --hdr would both be written to {}", json.display()));
        }
        let (target, speaks) = target::target(&self.url, self.timeout)?;
        let (work, keep_alive) = match speaks {
            Speaks::Http => self.http(&target.path)?,
            Speaks::Keys(store) => (self.keys_of(store)?, !self.close),
            Speaks::Rooms(wire) => (self.in_rooms(wire)?, true),
        };
        self.check_classes(&work)?;
        let until = match self.requests {
            Some(requests) => Until::Requests(requests),
            None => Until::Elapsed(self.duration.unwrap_or(DURATION)),
        };
        let plan = Plan {
            arrivals: self.rate.map_or(Arrivals::Closed, |rate| self.arrivals.at(rate)),
            connections: match &work {
                Workload::Rooms(_) => self.rooms.robots()?,
                Workload::Http(_) | Workload::Keys(_) => self.connections.unwrap_or(CONNECTIONS),
            },
            keep_alive,
            pipeline: self.pipeline,
            until,
            warmup: self.warmup.unwrap_or_else(|| self.default_warmup()),
            timeout: self.timeout,
            cpus: self.cpus()?,
            threads: self.threads.map_or(0, usize::from),
            backend: match self.backend {
                Backend::Auto => BackendChoice::Auto,
                Backend::Uring => BackendChoice::Uring,
                Backend::Epoll => BackendChoice::Epoll,
            },
            seed: self.seed.unwrap_or_else(lab::run::a_seed),
            work,
            ..Plan::new(target, Vec::new())
        };
        match (&self.find_rate, &self.find_connections) {
            (Some(condition), _) => pace::check(condition, &plan)?,
            (None, Some(condition)) => pace::check_robots(condition, &plan)?,
            (None, None) => (),
        }
        load::allow_memory(&plan).map_err(|error| error.to_string())?;
        Ok(plan)
    }

    /// What is asked of a server of HTTP, and whether connections are kept.
    fn http(&self, path: &str) -> Result<(Workload, bool), String> {
        if let Some(name) = self.keys.first_given() {
            return Err(format!("{name} is for stores: redis:// or memcached://"));
        }
        self.without_rooms()?;
        let body = self.body()?;
        let placeholders = self.no_placeholders.then_some(Placeholders::Left);
        let requests = self.request.requests(path, body, placeholders)?;
        // A variable that isn't set is told now, and not once there are connections.
        for request in &requests {
            request.with_environment(headers::of_environment)?;
        }
        let keep_alive = self.keep_alive(&requests[0])?;
        Ok((Workload::Http(Http { requests, expect: self.request.expect() }), keep_alive))
    }

    /// What is asked of a store.
    fn keys_of(&self, store: Store) -> Result<Workload, String> {
        self.without_rooms()?;
        match self.first_of_http() {
            Some(name) => Err(format!("{name} is for http://, and not for stores")),
            None => self.keys.of(store).map(Workload::Keys),
        }
    }

    /// What robots do.
    fn in_rooms(&self, wire: Wire) -> Result<Workload, String> {
        let others = [
            ("--connections", self.connections.is_some()),
            ("--requests", self.requests.is_some()),
            ("--close", self.close),
            ("--pipeline", self.pipeline > 1),
            ("--hosts", self.hosts.is_some()),
            ("--find-rate", self.find_rate.is_some()),
        ];
        let other = others.into_iter().find(|(_, is_given)| *is_given).map(|(name, _)| name);
        match self.first_of_http().or(self.keys.first_given()).or(other) {
            Some(name) => Err(format!(
                "{name} is not for rooms: there are --rooms with --members each, who speak at a \
                 --rate of their own"
            )),
            None if self.rate.is_none() => {
                Err("robots speak at a rate of their own: give --rate, in deliveries a second"
                    .into())
            }
            None => {
                let measured = self.duration.unwrap_or(DURATION);
                self.rooms.of(wire, measured).map(Workload::Rooms)
            }
        }
    }

    /// The first option that was given and is for HTTP alone.
    fn first_of_http(&self) -> Option<&'static str> {
        let others = [
            ("--body-file", self.body_file.is_some()),
            ("--no-placeholders", self.no_placeholders),
        ];
        let other = others.into_iter().find(|(_, is_given)| *is_given).map(|(name, _)| name);
        self.request.first_given().or(other)
    }

    /// Refuses options that are for rooms alone.
    fn without_rooms(&self) -> Result<(), String> {
        let searched = self.find_connections.as_ref().map(|_| "--find-connections");
        let name = self.rooms.first_given().or(searched);
        name.map_or(Ok(()), |name| Err(format!("{name} is for rooms: {}", rooms::URLS)))
    }

    /// The condition of a search, if this is one.
    pub fn searched(&self) -> Option<&Condition> {
        self.find_rate.as_ref().or(self.find_connections.as_ref())
    }

    /// The URL as it may be shown.
    pub fn shown_url(&self) -> String {
        target::shown(&self.url)
    }

    /// Steps of a search are short, and each begins anew: what a cold server takes would
    /// decide them.
    fn default_warmup(&self) -> Duration {
        match self.searched() {
            Some(_) => self.duration.unwrap_or(DURATION) / WARMUP_PART,
            None => Duration::ZERO,
        }
    }

    /// The body, if there is one.
    fn body(&self) -> Result<Option<Arc<[u8]>>, String> {
        match &self.body_file {
            Some(file) => Ok(Some(body_of(file)?.into())),
            None => Ok(self.request.body()?.map(|body| body.bytes())),
        }
    }

    /// Whether connections are kept, which the requests' own header may rule out.
    fn keep_alive(&self, request: &Request) -> Result<bool, String> {
        let says_close = request.has_connection_option("close");
        if says_close && self.pipeline > 1 {
            return Err("the header 'Connection: close' ends each connection after one request, \
                        so that none can be pipelined; leave it out, or --pipeline"
                .into());
        }
        if self.close && !says_close && request.has_connection_option("keep-alive") {
            return Err("--close and the header 'Connection: keep-alive' contradict each other; \
                        leave one of them out"
                .into());
        }
        Ok(!self.close && !says_close)
    }

    /// The processors, if they are given and may be used.
    fn cpus(&self) -> Result<Vec<usize>, String> {
        let Some(Cpus(cpus)) = &self.cpus else { return Ok(Vec::new()) };
        let allowed = load::allowed_cpus()
            .map_err(|error| format!("the processors can't be asked for: {error}"))?;
        match cpus.iter().find(|cpu| !allowed.contains(cpu)) {
            Some(cpu) => Err(format!(
                "--cpus: processor {cpu} is not one that this process may use ({})",
                allowed.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")
            )),
            None => Ok(cpus.clone()),
        }
    }

    /// Refuses conditions that can never be decided.
    fn check_conditions(&self) -> Result<(), String> {
        let closed = self.rate.is_none() && self.find_rate.is_none();
        let late = |condition: &&Condition| {
            matches!(condition.metric(), Metric::Time(Series::Lateness, _))
        };
        match self.fail_if.iter().find(late) {
            Some(condition) if closed => Err(format!(
                "--fail-if '{condition}': a closed loop has no lateness; give a --rate"
            )),
            _ => Ok(()),
        }
    }

    /// Refuses conditions on classes of requests that aren't asked for.
    fn check_classes(&self, work: &Workload) -> Result<(), String> {
        let searched = self.find_rate.iter().map(|condition| ("--find-rate", condition));
        let robots = self.find_connections.iter().map(|it| ("--find-connections", it));
        let all = self.fail_if.iter().map(|condition| ("--fail-if", condition));
        let all = all.chain(searched).chain(robots);
        let known: Vec<&str> = work.classes().into_iter().map(|(name, _)| name).collect();
        for (name, condition) in all {
            let Metric::Time(Series::Class(class), _) = condition.metric() else { continue };
            if known.contains(&class.as_str()) {
                continue;
            }
            let but = match known[..] {
                [] => ": none has a name, which --path NAME=PATH gives it".into(),
                _ => format!(", but {}", known.join(", ")),
            };
            return Err(format!("{name} '{condition}': no request is called {class}{but}"));
        }
        Ok(())
    }
}

/// The content of a file, or of standard input, which may have no end.
fn body_of(file: &Path) -> Result<Vec<u8>, String> {
    if file != Path::new("-") {
        return file_content(file, &format!("--body-file {}", file.display()));
    }
    let input = io::stdin();
    if input.is_terminal() {
        return Err("--body-file - reads standard input, which is a terminal; send a body there, \
                    as with `< FILE`, or give it as --body TEXT"
            .into());
    }
    let body = read_to_end(input.lock(), "--body-file -: standard input")?;
    if body.is_empty() {
        return Err(
            "--body-file - reads standard input, and nothing came; for an empty body give \
                    --body ''"
                .into(),
        );
    }
    Ok(body)
}

#[cfg(test)]
pub mod tests {
    use clap::{CommandFactory, Parser};
    use load::plan::name::RequestName;
    use load::plan::rooms::Qos;
    use load::plan::{Ending, Rooms, Storm};

    use super::*;

    #[derive(Debug, Parser)]
    #[command(name = "bakeoff load")]
    struct Command {
        #[command(flatten)]
        arguments: LoadArguments,
    }

    /// The arguments of a command line, without the command's name.
    pub fn parse(line: &[&str]) -> Result<LoadArguments, String> {
        Command::try_parse_from([&["bakeoff load"], line].concat())
            .map(|command| command.arguments)
            .map_err(|error| error.to_string())
    }

    fn plan(line: &[&str]) -> Plan {
        parse(&[&["http://127.0.0.1:8080/a"], line].concat()).unwrap().plan().unwrap()
    }

    fn complaint(line: &[&str]) -> String {
        let line = [&["http://127.0.0.1:8080/a"], line].concat();
        match parse(&line) {
            Err(complaint) => complaint,
            Ok(arguments) => arguments.plan().unwrap_err(),
        }
    }

    #[test]
    fn a_url_alone_makes_a_closed_loop_of_ten_seconds() {
        let plan = plan(&[]);
        assert_eq!(plan.arrivals, Arrivals::Closed);
        assert_eq!(plan.until, Until::Elapsed(Duration::from_secs(10)));
        assert_eq!(plan.http().unwrap().requests, [Request::get("/a")]);
        assert!(plan.keep_alive);
    }

    #[test]
    fn every_argument_reaches_the_plan() {
        let body = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(body.path(), "{counter}").unwrap();
        let plan = plan(&[
            "-c",
            "100",
            "-n",
            "10k",
            "-t",
            "3",
            "--cpus",
            "0",
            "--warmup",
            "2s",
            "--rate",
            "20k",
            "--arrivals",
            "poisson",
            "--close",
            "-X",
            "PUT",
            "-H",
            "A: b:c",
            "-H",
            "D:{nonce}",
            "--body-file",
            body.path().to_str().unwrap(),
            "--path",
            "/1",
            "--path",
            "/2?x={nonce}",
            "--expect-body",
            "{nonce}",
            "--expect-status",
            "304,200",
            "--timeout",
            "250ms",
            "--backend",
            "epoll",
            "--seed",
            "7",
        ]);
        assert_eq!(plan.connections, 100);
        assert_eq!(plan.until, Until::Requests(10_000));
        assert_eq!((plan.threads, plan.cpus.as_slice()), (3, &[0][..]));
        assert_eq!(plan.warmup, Duration::from_secs(2));
        assert_eq!(plan.arrivals, Arrivals::Poisson(20_000.0));
        assert!(!plan.keep_alive);
        let headers = vec![("A".into(), "b:c".into()), ("D".into(), "{nonce}".into())];
        let request = |path: &str| Request {
            method: "PUT".into(),
            path: path.into(),
            headers: headers.clone(),
            body: b"{counter}".as_slice().into(),
            ..Request::get("")
        };
        assert_eq!(plan.http().unwrap().requests, [request("/1"), request("/2?x={nonce}")]);
        let bodies = [0, 1].map(|nth| plan.http().unwrap().requests[nth as usize].body.as_ptr());
        assert_eq!(bodies[0], bodies[1], "each path would have a body of its own");
        assert_eq!(plan.http().unwrap().expect.statuses.to_string(), "200,304");
        assert_eq!(plan.http().unwrap().expect.body.as_deref(), Some("{nonce}"));
        assert_eq!(plan.timeout, Duration::from_millis(250));
        assert_eq!(plan.backend, BackendChoice::Epoll);
        assert_eq!(plan.seed, 7);
        assert_eq!(plan.pipeline, 1);
    }

    #[test]
    fn paths_have_names_where_they_are_given() {
        let plan = plan(&["--path", "home=/", "--path", "/a=/b", "--path", "find=/f?q==/"]);
        let requests = plan.http().unwrap().requests.iter();
        let asked: Vec<_> = requests
            .map(|it| (it.name.as_ref().map(RequestName::as_str), it.path.as_str()))
            .collect();
        assert_eq!(asked, [(Some("home"), "/"), (None, "/a=/b"), (Some("find"), "/f?q==/")]);
    }

    #[test]
    fn paths_have_weights_where_they_are_given() {
        let paths = ["--path", "/a", "--path", "/b"];
        let weights = |more: &[&str]| {
            let plan = plan(&[&paths[..], more].concat());
            let requests = &plan.http().unwrap().requests;
            requests.iter().map(|it| it.weight).collect::<Vec<_>>()
        };
        assert_eq!(weights(&[]), [1, 1]);
        assert_eq!(weights(&["--weights", "9,1"]), [9, 1]);
        let told = complaint(&[&paths[..], &["--weights", "9"]].concat());
        assert_eq!(
            told,
            "--weights has 1 number, and --path was given 2 times: each path has one weight"
        );
        assert!(complaint(&["--weights", "9"]).contains("--path"));
    }

    #[test]
    fn what_a_header_takes_from_the_environment_has_to_be_set() {
        let told = complaint(&["-H", "Authorization: Bearer {env:BAKEOFF_TEST_NONE}"]);
        assert!(told.contains("BAKEOFF_TEST_NONE") && told.contains("isn't set"), "{told}");
        // PATH is set. What it is stands in no plan.
        let plan = plan(&["-H", "X-Path: {env:PATH}"]);
        assert_eq!(plan.http().unwrap().requests[0].headers[0].1, "{env:PATH}");
        let as_written = ["-H", "X: {env:BAKEOFF_TEST_NONE}", "--no-placeholders"];
        assert!(parse(&[&["http://127.0.0.1"], &as_written[..]].concat()).unwrap().plan().is_ok());
    }

    #[test]
    fn a_body_is_posted_unless_said_otherwise() {
        for body in [["--body-file", "/dev/null"], ["--body", "text"], ["--body", ""]] {
            assert_eq!(plan(&body).http().unwrap().requests[0].method, "POST", "{body:?}");
            let put = plan(&[&body[..], &["-X", "PUT"]].concat());
            assert_eq!(put.http().unwrap().requests[0].method, "PUT");
        }
        assert_eq!(plan(&["--body", "text"]).http().unwrap().requests[0].body[..], *b"text");
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "of a file").unwrap();
        let at = format!("@{}", file.path().display());
        assert_eq!(plan(&["--body", &at]).http().unwrap().requests[0].body[..], *b"of a file");
    }

    #[test]
    fn a_body_that_is_no_text_is_sent_as_it_is() {
        let of = |content: &[u8], more: &[&str]| {
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), content).unwrap();
            let body = ["--body-file", file.path().to_str().unwrap()];
            let request = plan(&[&body[..], more].concat()).http().unwrap().requests[0].clone();
            assert_eq!(request.body[..], *content);
            request.placeholders
        };
        assert_eq!(of(b"{nonce}", &[]), Placeholders::Filled);
        assert_eq!(of("z\u{fc}rich".as_bytes(), &[]), Placeholders::Filled);
        assert_eq!(of(b"\x89PNG\xff{nonce}", &[]), Placeholders::LeftInBody);
        assert_eq!(of(b"{nonce}\0", &[]), Placeholders::LeftInBody);
        assert_eq!(of(b"{nonce}", &["--no-placeholders"]), Placeholders::Left);
        assert_eq!(of(b"\xff", &["--no-placeholders"]), Placeholders::Left);
    }

    #[test]
    fn a_header_that_says_close_is_taken_as_close() {
        let headers = [
            "Connection: close",
            "CONNECTION:Close",
            "connection: keep-alive, close",
            "Connection: TE ,CLOSE",
        ];
        for header in headers {
            assert!(!plan(&["-H", header]).keep_alive, "{header} and kept alive");
            assert!(!plan(&["-H", header, "--close"]).keep_alive, "{header}");
            let told = complaint(&["-H", header, "--pipeline", "2"]);
            assert!(told.contains("--pipeline"), "{told}");
        }
        let twice = ["-H", "Connection: keep-alive", "-H", "Connection: close"];
        assert!(!plan(&twice).keep_alive);
        for header in ["Connection: keep-alive", "Connection: closed", "X-Connection: close"] {
            assert!(plan(&["-H", header]).keep_alive, "{header}");
        }
        let told = complaint(&["--close", "-H", "connection: Keep-Alive"]);
        assert!(told.contains("contradict"), "{told}");
    }

    #[test]
    fn a_search_takes_the_connections_that_it_needs_and_a_warm_up_unless_told_otherwise() {
        assert_eq!((plan(&[]).connections, plan(&[]).warmup), (50, Duration::ZERO));
        let search = ["--find-rate", "p99 < 10ms"];
        let found = plan(&search);
        assert_eq!((found.connections, found.warmup), (50, Duration::from_secs(2)));
        let found = plan(&[&search[..], &["-d", "5s", "-c", "7", "--warmup", "0s"]].concat());
        assert_eq!((found.connections, found.warmup), (7, Duration::ZERO));
    }

    #[test]
    fn what_does_not_go_together_is_refused() {
        for line in [
            &["--rate", "1k", "--find-rate", "p99 < 1ms"][..],
            &["-d", "1s", "-n", "5"],
            &["--close", "--pipeline", "2"],
            &["--find-rate", "p99 < 1ms", "-n", "5"],
            &["--find-rate", "p99 < 1ms", "--fail-if", "p99 > 1ms"],
            &["--find-rate", "p99 < 1ms", "--hdr", "x"],
            &["--body", "x", "--body-file", "y"],
        ] {
            assert!(complaint(line).contains("cannot be used with"), "{line:?} went through");
        }
        assert!(complaint(&["--arrivals", "poisson"]).contains("required"));
        assert!(complaint(&["--fail-if", "lateness_p99 > 1ms"]).contains("give a --rate"));
    }

    #[test]
    fn a_condition_on_a_request_takes_one_of_that_name() {
        let told = |url: &str, line: &[&str]| {
            parse(&[&[url], line].concat()).unwrap().plan().map(|_| ()).unwrap_err()
        };
        let redis = "redis://127.0.0.1";
        let named = ["--path", "home=/", "--path", "/a=/b", "--path", "find=/find?q=1"];
        let complaints = [
            told("http://127.0.0.1/", &["--fail-if", "get.p99 > 1ms"]),
            told("http://127.0.0.1/", &["--find-rate", "set.mean < 1ms"]),
            told(redis, &["--fail-if", "delete.max > 1ms"]),
            told(redis, &["--fail-if", "home.p99 > 1ms"]),
            told(redis, &["--mix", "get=1,set=0", "--find-rate", "set.p99 < 1ms"]),
            told("http://127.0.0.1/", &[&named[..], &["--fail-if", "hme.p99 > 1ms"]].concat()),
        ];
        insta::assert_snapshot!(complaints.join("\n"));
        for (url, line) in [
            (redis, &["--fail-if", "get.p99 > 1ms", "--fail-if", "set.mean > 1s"][..]),
            (redis, &["--mix", "delete=1", "--find-rate", "delete.max < 1s"]),
            ("http://127.0.0.1", &[&named[..], &["--fail-if", "find.p99 > 1ms"]].concat()),
            ("http://127.0.0.1", &[&named[..], &["--find-rate", "home.p99 < 1ms"]].concat()),
        ] {
            let plan = parse(&[&[url], line].concat()).unwrap().plan();
            assert!(plan.is_ok(), "{line:?}: {plan:?}");
        }
    }

    #[test]
    fn rooms_and_members_make_the_robots() {
        let plan = |line: &[&str]| {
            parse(&[&["frames://127.0.0.1:7", "--rate", "1k"], line].concat()).unwrap().plan()
        };
        let usual = plan(&[]).unwrap();
        assert_eq!((usual.connections, usual.arrivals), (100, Arrivals::Constant(1000.0)));
        assert_eq!(usual.rooms(), Some(Rooms::plain(Wire::Frames, 10, 64)));
        let line = ["--rooms", "3", "--members", "200", "--message-bytes", "65535"];
        let given = plan(&line).unwrap();
        assert_eq!(given.connections, 600);
        assert_eq!(given.rooms(), Some(Rooms::plain(Wire::Frames, 200, 65_535)));
        let random = plan(&["--arrivals", "poisson"]).unwrap();
        assert_eq!(random.arrivals, Arrivals::Poisson(1000.0));
        for line in [
            &["-c", "5"][..],
            &["-n", "5"],
            &["--close"],
            &["--pipeline", "2"],
            &["--path", "/a"],
            &["--body-file", "x"],
            &["--mix", "get"],
        ] {
            let told = plan(line).unwrap_err();
            assert!(told.contains("is not for rooms"), "{line:?}: {told}");
        }
        assert!(plan(&["--rooms", "10k", "--members", "10k"]).unwrap_err().contains("1,000,000"));
        let slow = plan(&["--slow", "1.5%", "-d", "15s"]).unwrap().rooms().unwrap().slow.unwrap();
        assert_eq!((slow.robots, slow.from.as_secs(), slow.until.as_secs()), (2, 5, 10));
        let storm = plan(&["--storm", "reset", "-d", "4s"]).unwrap().rooms().unwrap().storm;
        let at = Duration::from_secs(2);
        assert_eq!(storm, Some(Storm { at, ending: Ending::Reset }));
        let both = parse(&["frames://127.0.0.1:7", "--slow", "1", "--storm", "fin"]).unwrap_err();
        assert!(both.contains("cannot be used with"), "{both}");
        assert!(plan(&["--slow", "51"]).unwrap_err().contains("half of the 100 robots"));
        assert!(plan(&["--slow", "1", "-d", "9s"]).unwrap_err().contains("-d 10s"));
        let closed = parse(&["frames://127.0.0.1:7"]).unwrap().plan().unwrap_err();
        assert!(closed.contains("give --rate"), "{closed}");
        for url in ["http://127.0.0.1", "redis://127.0.0.1"] {
            let told = parse(&[url, "--members", "3"]).unwrap().plan().unwrap_err();
            assert_eq!(
                told,
                "--members is for rooms: frames://, mqtt://, nats:// or redis://…?rooms"
            );
        }
    }

    #[test]
    fn the_url_and_the_quality_of_service_say_what_robots_speak() {
        let wire = |url: &str, line: &[&str]| {
            let line = [&[url, "--rate", "1k"], line].concat();
            let plan = parse(&line)?.plan()?;
            Ok::<_, String>(plan.rooms().expect("it has rooms").wire)
        };
        let mqtt = |qos| Ok(Wire::Mqtt { qos });
        assert_eq!(wire("mqtt://127.0.0.1", &[]), mqtt(Qos::AtMostOnce));
        assert_eq!(wire("mqtt://127.0.0.1", &["--qos", "0"]), mqtt(Qos::AtMostOnce));
        assert_eq!(wire("mqtt://127.0.0.1", &["--qos", "1"]), mqtt(Qos::AtLeastOnce));
        assert_eq!(wire("nats://127.0.0.1", &[]), Ok(Wire::Nats));
        assert_eq!(wire("redis://127.0.0.1?rooms", &[]), Ok(Wire::Resp));
        let told = wire("nats://127.0.0.1", &["--qos", "1"]).unwrap_err();
        assert_eq!(told, "--qos is for mqtt://");
        for (qos, says) in [("2", "QoS 2 isn't there yet"), ("3", "it is 0, or 1 for messages")] {
            let told = wire("mqtt://127.0.0.1", &["--qos", qos]).unwrap_err();
            assert!(told.contains(says), "{told}");
        }
    }

    #[test]
    fn wrong_values_are_refused_with_advice() {
        let complaints: Vec<String> = [
            &["-d", "10"][..],
            &["--rate", "fast"],
            &["-c", "0"],
            &["-n", "0"],
            &["--cpus", "0-"],
            &["--cpus", "60000"],
            &["-X", "CONNECT"],
            &["-X", "head"],
            &["-H", "no colon"],
            &["-H", "bad name: x"],
            &["-H", "Content-Length: 5"],
            &["--path", "relative"],
            &["--path", "home=relative"],
            &["--path", "p99=/"],
            &["--path", "get=/"],
            &["--path", "1.2=/"],
            &["--path", "a=/", "--path", "a=/b"],
            &["--path", "/a b"],
            &["--body-file", "/nonexistent/body"],
            &["--fail-if", "p99 > 10"],
            &["--expect-body", ""],
            &["--json", "-", "--hdr", "-"],
            &["--expect-status", "2xx"],
            &["--expect-status", "100"],
            &["--find-rate", "rate > 10k"],
            &["--find-rate", "p99 > 1ms"],
            &["--find-rate", "p99 == 1ms"],
            &["--find-rate", "good_share < 99%"],
            &["--find-rate", "p99 < 1ms, errors < 1"],
            &["--find-rate", "p99 < 1ms", "--find-rate", "errors < 1"],
            &["-c", "1000000", "--pipeline", "1024"],
            &["--close", "-H", "Connection: keep-alive"],
            &["--pipeline", "2", "-H", "Connection: close"],
        ]
        .iter()
        .map(|line| {
            let complaint = complaint(line);
            // The machine decides which processors there are.
            let machine = complaint.find("may use (").map_or(complaint.len(), |at| at + 7);
            complaint[..machine].trim().replace("\n\nFor more information, try '--help'.", "")
        })
        .collect();
        insta::assert_snapshot!(complaints.join("\n\n"));
    }

    #[test]
    fn the_help_is_the_manual() {
        let help = Command::command().term_width(100).render_long_help().to_string();
        insta::assert_snapshot!(help);
    }

    #[test]
    fn the_page_explains_every_kind_of_error() {
        let page = include_str!("../../../../../docs/load.md");
        for kind in load::outcome::ErrorKind::ALL {
            assert!(page.contains(&format!("| `{}` |", kind.name())), "docs/load.md: {kind:?}");
        }
    }

    #[test]
    fn the_help_names_every_exit_code() {
        use super::super::exit::Exit;
        let documented = include_str!("../../../../../docs/exit-codes.md");
        for code in [
            Exit::Ok,
            Exit::Unanswered,
            Exit::BadInput,
            Exit::Condition,
            Exit::System,
            Exit::Interrupted,
        ] {
            let number = code as u8;
            assert!(AFTER_HELP.contains(&format!("\n  {number:<5}")), "--help lacks {code:?}");
            assert!(documented.contains(&format!("| {number} |")), "the page lacks {code:?}");
        }
    }
}
