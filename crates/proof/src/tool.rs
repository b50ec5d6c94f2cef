//! The clients that are compared: how each is called, and how it says what it
//! did.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use clap::builder::PossibleValue;
use serde_json::Value;

use crate::report::{Counted, OwnFigures};
use crate::rung::{OnLadder, RungName};

/// A client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tool {
    /// `bakeoff load` as it is.
    Bakeoff,
    /// `bakeoff load` on epoll.
    BakeoffEpoll,
    /// An older `bakeoff load` as it is: see [`crate::older`].
    Older,
    /// An older `bakeoff load` on epoll.
    OlderEpoll,
    /// A rung of the crate `load`'s ladder.
    Rung(OnLadder),
    /// wrk.
    Wrk,
    /// ApacheBench.
    Ab,
    /// h2load.
    H2load,
    /// hey.
    Hey,
    /// oha.
    Oha,
    /// gcannon, which asks by io_uring as well and looks at no more than a status.
    Gcannon,
    /// wrk2, which is wrk with a rate and without anything else.
    Wrk2,
}

/// What is asked of a client.
#[derive(Debug, Clone)]
pub struct Load {
    /// Where to.
    pub url: String,
    /// Connections at once.
    pub connections: u32,
    /// Whether a connection serves many requests or one.
    pub keep_alive: bool,
    /// For how long.
    pub seconds: u32,
    /// The one processor that the client has.
    pub cpu: usize,
    /// Whether requests go out without waiting for the answers of those before.
    pub pipeline: Option<Pipeline>,
    /// Requests a second of an open loop; `None` for as many as are answered.
    pub rate: Option<u32>,
}

/// Requests under way at once on a connection.
#[derive(Debug, Clone)]
pub struct Pipeline {
    /// How many.
    pub depth: u16,
    /// [`WRKS_SCRIPT`] as a file.
    pub script: PathBuf,
}

/// What wrk needs to be told for a pipeline; its argument is how many.
pub const WRKS_SCRIPT: &str = include_str!("pipeline.lua");

/// What a client says that it did.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Count {
    /// Good answers.
    pub answers: u64,
    /// Requests that failed.
    pub errors: u64,
    /// Seconds in which that was, by its own clock.
    pub seconds: f64,
}

/// Those that can be chosen.
impl ValueEnum for Tool {
    fn value_variants<'a>() -> &'a [Tool] {
        use Tool::{Ab, Bakeoff, BakeoffEpoll, Gcannon, H2load, Hey, Oha, Wrk, Wrk2};
        &[Bakeoff, BakeoffEpoll, Tool::BARE, Wrk, Ab, H2load, Hey, Oha, Gcannon, Wrk2]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let name = match self {
            Tool::BakeoffEpoll => "bakeoff-epoll",
            &Tool::BARE => "bare",
            Tool::Older | Tool::OlderEpoll | Tool::Rung(_) => return None,
            tool => tool.name(),
        };
        Some(PossibleValue::new(name))
    }
}

impl Tool {
    /// The bare loop: what a client on this ring can't do without.
    pub const BARE: Tool = Tool::Rung(OnLadder { rung: RungName::Bare, epoll: false });

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Tool::Bakeoff => "bakeoff",
            Tool::BakeoffEpoll => "bakeoff, epoll",
            Tool::Older => "bakeoff, older",
            Tool::OlderEpoll => "bakeoff, older, epoll",
            Tool::Rung(rung) => rung.name(),
            Tool::Wrk => "wrk",
            Tool::Ab => "ab",
            Tool::H2load => "h2load",
            Tool::Hey => "hey",
            Tool::Oha => "oha",
            Tool::Gcannon => "gcannon",
            Tool::Wrk2 => "wrk2",
        }
    }

    /// Its program, or what is missing.
    pub fn program(self) -> Result<PathBuf, String> {
        match self {
            Tool::Bakeoff | Tool::BakeoffEpoll => beside_us("bakeoff"),
            Tool::Older | Tool::OlderEpoll => Err("nobody named it".into()),
            Tool::Rung(_) => std::env::current_exe().map_err(|error| error.to_string()),
            Tool::Wrk | Tool::Ab | Tool::H2load | Tool::Hey => {
                in_path(self.name(), "setup/install bench")
            }
            Tool::Oha => in_path(self.name(), "cargo install oha"),
            Tool::Gcannon => in_path(self.name(), "github.com/MDA2AV/gcannon"),
            Tool::Wrk2 => in_path(self.name(), "github.com/giltene/wrk2"),
        }
    }

    /// What it was before, of one that is compared with what it was.
    pub fn older(self) -> Option<Tool> {
        match self {
            Tool::Bakeoff => Some(Tool::Older),
            Tool::BakeoffEpoll => Some(Tool::OlderEpoll),
            _ => None,
        }
    }

    /// Whether it can put on a load at all where connections are kept or not.
    pub fn can(self, keep_alive: bool) -> Result<(), &'static str> {
        match self {
            Tool::H2load if !keep_alive => {
                Err("doesn't come to its end where the server closes connections")
            }
            _ => Ok(()),
        }
    }

    /// Whether it can ask at a rate, whatever the answers take.
    pub fn has_open_loop(self) -> bool {
        match self {
            Tool::Bakeoff
            | Tool::BakeoffEpoll
            | Tool::Older
            | Tool::OlderEpoll
            | Tool::Oha
            | Tool::Wrk2 => true,
            Tool::Rung(_) | Tool::Wrk | Tool::Ab | Tool::H2load | Tool::Hey | Tool::Gcannon => {
                false
            }
        }
    }

    /// Whether it can ask as fast as it is answered.
    pub fn has_closed_loop(self) -> bool {
        self != Tool::Wrk2
    }

    /// Whether it sends a request before it has the answer to the one before.
    pub fn pipelines(self) -> bool {
        match self {
            Tool::Bakeoff
            | Tool::BakeoffEpoll
            | Tool::Older
            | Tool::OlderEpoll
            | Tool::Wrk
            | Tool::Gcannon
            | Tool::H2load => true,
            Tool::Rung(_) | Tool::Ab | Tool::Hey | Tool::Oha | Tool::Wrk2 => false,
        }
    }

    /// The command that puts the load on.
    pub fn command(self, program: &Path, load: &Load) -> Vec<String> {
        let Load { url, connections, keep_alive, seconds, cpu, pipeline, rate } = load;
        let options = match self {
            Tool::Bakeoff | Tool::Older => {
                format!("load -c {connections} -d {seconds}s -t 1 --cpus {cpu} --json -")
            }
            Tool::BakeoffEpoll | Tool::OlderEpoll => format!(
                "load -c {connections} -d {seconds}s -t 1 --cpus {cpu} --json - --backend epoll"
            ),
            Tool::Rung(rung) => rung.options(*connections, *seconds),
            Tool::Wrk | Tool::Wrk2 => {
                format!("-t 1 -c {connections} -d {seconds}s --timeout 10s")
            }
            // Its -t sets the number of requests as well, so -n comes after.
            Tool::Ab => format!("-q -r -s 10 -c {connections} -t {seconds} -n 50000000"),
            Tool::H2load => format!("--h1 -t 1 -c {connections} -D {seconds}s"),
            Tool::Hey => format!("-cpus 1 -t 10 -c {connections} -z {seconds}s"),
            Tool::Oha => {
                format!("--no-tui --output-format json --redirect 0 -c {connections} -z {seconds}s")
            }
            Tool::Gcannon => format!("-t 1 -c {connections} -d {seconds}s --json"),
        };
        let mode: &[&str] = match (self, *keep_alive) {
            (Tool::Ab, true) => &["-k"],
            (Tool::Ab, false) | (_, true) => &[],
            (
                Tool::Bakeoff | Tool::BakeoffEpoll | Tool::Older | Tool::OlderEpoll | Tool::Rung(_),
                false,
            ) => &["--close"],
            (Tool::Wrk | Tool::Wrk2 | Tool::H2load, false) => &["-H", "Connection: close"],
            (Tool::Hey, false) => &["-disable-keepalive"],
            (Tool::Oha, false) => &["--disable-keepalive"],
            // Requests of a connection.
            (Tool::Gcannon, false) => &["-r", "1"],
        };
        let mut command = vec![program.display().to_string()];
        command.extend(options.split_ascii_whitespace().map(String::from));
        command.extend(mode.iter().map(ToString::to_string));
        if let Some(Pipeline { depth, script }) = pipeline {
            command.extend(match self {
                Tool::Wrk => vec!["-s".into(), script.display().to_string()],
                Tool::H2load => vec!["-m".into(), depth.to_string()],
                Tool::Gcannon => vec!["-p".into(), depth.to_string()],
                _ => vec!["--pipeline".into(), depth.to_string()],
            });
        }
        if let Some(rate) = rate {
            let option = match self {
                Tool::Oha => "-q",
                Tool::Wrk2 => "-R",
                _ => "--rate",
            };
            command.extend([option.to_string(), rate.to_string()]);
        }
        command.push(url.clone());
        // What is for wrk's script comes last.
        if let (Tool::Wrk, Some(Pipeline { depth, .. })) = (self, pipeline) {
            command.extend(["--".into(), depth.to_string()]);
        }
        command
    }

    /// What its output tells of itself.
    pub fn told(self, output: &str) -> OwnFigures {
        match self {
            Tool::Bakeoff | Tool::BakeoffEpoll | Tool::Older | Tool::OlderEpoll => {
                Counted::read(output).map(|it| it.told()).unwrap_or_default()
            }
            _ => OwnFigures::default(),
        }
    }

    /// What its output says that it did.
    pub fn count(self, output: &str) -> Result<Count, String> {
        let counted = match self {
            Tool::Bakeoff | Tool::BakeoffEpoll | Tool::Older | Tool::OlderEpoll => bakeoff(output),
            Tool::Rung(_) => bare(output),
            Tool::Wrk | Tool::Wrk2 => wrk(output),
            Tool::Ab => ab(output),
            Tool::H2load => h2load(output),
            Tool::Hey => hey(output),
            Tool::Oha => oha(output),
            Tool::Gcannon => gcannon(output),
        };
        counted.ok_or_else(|| {
            let start: String = output.chars().take(300).collect();
            format!("{}'s output is not understood; it begins {start:?}", self.name())
        })
    }
}

/// A program that was built with this one.
pub fn beside_us(name: &str) -> Result<PathBuf, String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let program = own.with_file_name(name);
    if program.is_file() {
        Ok(program)
    } else {
        Err(format!("{} isn't built: run `make bench-load`", program.display()))
    }
}

/// A program that the PATH leads to, or how it is installed.
pub fn in_path(name: &str, install: &str) -> Result<PathBuf, String> {
    lab::ready::programs::find(name).ok_or_else(|| format!("it isn't installed: `{install}`"))
}

/// A get that misses is no answer: every key of a store has a value.
pub fn bakeoff(output: &str) -> Option<Count> {
    let Counted { seconds, requests, keys, .. } = Counted::read(output)?;
    let misses = keys.map_or(0, |keys| keys.misses);
    Some(Count {
        answers: requests.good.checked_sub(misses)?,
        errors: requests.errors + misses,
        seconds,
    })
}

fn bare(output: &str) -> Option<Count> {
    let mut words = output.split_ascii_whitespace();
    Some(Count {
        answers: words.next()?.parse().ok()?,
        errors: 0,
        seconds: words.next()?.parse().ok()?,
    })
}

/// `  253012 requests in 2.00s, 57.18MB read`, and lines on errors if any.
fn wrk(output: &str) -> Option<Count> {
    let (requests, rest) = output.lines().find_map(|line| line.split_once(" requests in "))?;
    let requests: u64 = requests.trim().parse().ok()?;
    let socket_errors = line_after(output, "Socket errors: ").map_or(0, sum);
    let not_good = line_after(output, "Non-2xx or 3xx responses: ").map_or(0, sum);
    Some(Count {
        answers: requests - not_good,
        errors: socket_errors + not_good,
        seconds: seconds(rest.split(',').next()?)?,
    })
}

fn ab(output: &str) -> Option<Count> {
    let number = |label| line_after(output, label)?.split_ascii_whitespace().next()?.parse().ok();
    let complete: u64 = number("Complete requests:")?;
    let failed: u64 = number("Failed requests:")?;
    let not_good: u64 = number("Non-2xx responses:").unwrap_or(0);
    let seconds = line_after(output, "Time taken for tests:")?;
    Some(Count {
        answers: complete.checked_sub(failed + not_good)?,
        errors: failed + not_good,
        seconds: seconds.split_ascii_whitespace().next()?.parse().ok()?,
    })
}

/// `finished in 2.00s, …` and
/// `requests: 9 total, 9 started, 9 done, 9 succeeded, 0 failed, 0 errored, 0 timeout`.
fn h2load(output: &str) -> Option<Count> {
    let requests = line_after(output, "requests: ")?;
    let number = |label: &str| -> Option<u64> {
        requests.split(", ").find_map(|part| part.strip_suffix(label)?.trim().parse().ok())
    };
    Some(Count {
        answers: number("succeeded")?,
        errors: number("failed")?,
        seconds: seconds(line_after(output, "finished in ")?.split(',').next()?)?,
    })
}

/// `  Total: 2.0002 secs`, and under `Status code distribution:` lines such as
/// `  [200] 48521 responses`; under `Error distribution:` `  [7] Get …`.
fn hey(output: &str) -> Option<Count> {
    let total = line_after(output, "Total:")?;
    let (statuses, failures) = match output.split_once("Error distribution:") {
        Some((before, after)) => (before, after),
        None => (output, ""),
    };
    let mut count = Count {
        answers: 0,
        errors: 0,
        seconds: total.split_ascii_whitespace().next()?.parse().ok()?,
    };
    for line in statuses.lines().filter_map(|line| line.trim().strip_suffix(" responses")) {
        let (status, responses) = line.strip_prefix('[')?.split_once(']')?;
        let responses: u64 = responses.trim().parse().ok()?;
        if status.starts_with('2') { count.answers += responses } else { count.errors += responses }
    }
    for line in failures.lines().filter_map(|line| line.trim().strip_prefix('[')) {
        count.errors += line.split_once(']')?.0.parse::<u64>().ok()?;
    }
    Some(count)
}

fn oha(output: &str) -> Option<Count> {
    let report: Value = serde_json::from_str(output).ok()?;
    let mut count =
        Count { answers: 0, errors: 0, seconds: report.get("summary")?.get("total")?.as_f64()? };
    for (status, responses) in report.get("statusCodeDistribution")?.as_object()? {
        if status.starts_with('2') {
            count.answers += responses.as_u64()?
        } else {
            count.errors += responses.as_u64()?
        }
    }
    for (error, times) in report.get("errorDistribution")?.as_object()? {
        // What it had under way at the end, and gave up.
        if error != "aborted due to deadline" {
            count.errors += times.as_u64()?;
        }
    }
    Some(count)
}

/// What it had before it began to count, a tenth of a second, is not in it.
fn gcannon(output: &str) -> Option<Count> {
    let report: Value = serde_json::from_str(output).ok()?;
    let sum = |name: &str, but: &str| {
        let counts = report.get(name)?.as_object()?.iter().filter(|(key, _)| *key != but);
        counts.map(|(_, count)| count.as_u64()).sum::<Option<u64>>()
    };
    Some(Count {
        answers: report.get("status")?.get("2xx")?.as_u64()?,
        errors: sum("status", "2xx")? + sum("errors", "")?,
        seconds: report.get("elapsed_sec")?.as_f64()?,
    })
}

/// What follows the label on the first line that has it.
pub fn line_after<'a>(output: &'a str, label: &str) -> Option<&'a str> {
    output.lines().find_map(|line| line.trim_start().strip_prefix(label))
}

/// The sum of the numbers in a line such as `connect 0, read 3, write 0, timeout 0`.
fn sum(counts: &str) -> u64 {
    counts
        .split(|c: char| !c.is_ascii_digit())
        .filter_map(|number| number.parse::<u64>().ok())
        .sum()
}

/// A time such as `2.00s`, `998.12ms` or `1.02m`, in seconds.
fn seconds(time: &str) -> Option<f64> {
    let time = time.trim();
    let (number, factor) = if let Some(number) = time.strip_suffix("us") {
        (number, 1e-6)
    } else if let Some(number) = time.strip_suffix("ms") {
        (number, 1e-3)
    } else if let Some(number) = time.strip_suffix('s') {
        (number, 1.0)
    } else {
        (time.strip_suffix('m')?, 60.0)
    };
    Some(number.parse::<f64>().ok()? * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(answers: u64, errors: u64, seconds: f64) -> Result<Count, String> {
        Ok(Count { answers, errors, seconds })
    }

    #[test]
    fn wrk_is_understood_with_and_without_failures() {
        let good = "Running 1s test @ http://127.0.0.1:1/\n  1 threads and 30 connections\n  \
                    33186 requests in 1.04s, 5.32MB read\nRequests/sec:  32055.19\n";
        assert_eq!(Tool::Wrk.count(good), count(33186, 0, 1.04));
        let bad = "  20 requests in 998.00ms, 5.32MB read\n  Socket errors: connect 1, read 2, \
                   write 3, timeout 4\n  Non-2xx or 3xx responses: 5\n";
        assert_eq!(Tool::Wrk.count(bad), count(15, 15, 0.998));
    }

    #[test]
    fn ab_is_understood_with_and_without_failures() {
        let good = "Time taken for tests:   1.011 seconds\nComplete requests:      35312\n\
                    Failed requests:        0\n";
        assert_eq!(Tool::Ab.count(good), count(35312, 0, 1.011));
        let bad = "Time taken for tests:   1.011 seconds\nComplete requests:      100\n\
                   Failed requests:        7\n   (Connect: 0, Receive: 0, Length: 7)\n\
                   Non-2xx responses:      3\n";
        assert_eq!(Tool::Ab.count(bad), count(90, 10, 1.011));
    }

    #[test]
    fn h2load_is_understood_with_and_without_failures() {
        let good = "finished in 1.00s, 32465.00 req/s, 5.20MB/s\nrequests: 32465 total, 32495 \
                    started, 32465 done, 32465 succeeded, 0 failed, 0 errored, 0 timeout\n";
        assert_eq!(Tool::H2load.count(good), count(32465, 0, 1.0));
        let bad = "finished in 750.00ms, 1 req/s\nrequests: 9 total, 9 started, 9 done, 4 \
                   succeeded, 5 failed, 2 errored, 0 timeout\n";
        assert_eq!(Tool::H2load.count(bad), count(4, 5, 0.75));
    }

    #[test]
    fn hey_is_understood_with_and_without_failures() {
        let good = "Summary:\n  Total:\t1.0136 secs\n\nResponse time histogram:\n  \
                    0.000 [1]\t|\n\nStatus code distribution:\n  [200]\t12964 responses\n";
        assert_eq!(Tool::Hey.count(good), count(12964, 0, 1.0136));
        let bad = "  Total:\t1.0 secs\nStatus code distribution:\n  [200]\t10 responses\n  \
                   [404]\t3 responses\n\nError distribution:\n  [7]\tGet \"http://a/\": dial\n";
        assert_eq!(Tool::Hey.count(bad), count(10, 10, 1.0));
    }

    #[test]
    fn oha_is_understood_with_and_without_failures() {
        let output = |statuses: &str, errors: &str| {
            format!(
                "{{\"summary\": {{\"successRate\": 1.0, \"total\": 1.25}}, \"details\": {{}},\n\
                 \"statusCodeDistribution\": {statuses}, \"errorDistribution\": {errors}}}"
            )
        };
        let good = output(r#"{"200": 2086}"#, r#"{"aborted due to deadline": 3}"#);
        assert_eq!(Tool::Oha.count(&good), count(2086, 0, 1.25));
        let refused = r#"{"Connection refused (os error 111)": 4}"#;
        let bad = output(r#"{"200": 10, "204": 1, "404": 3}"#, refused);
        assert_eq!(Tool::Oha.count(&bad), count(11, 7, 1.25));
    }

    #[test]
    fn gcannon_is_understood_with_and_without_failures() {
        let output = |good: u64, not_found: u64, read: u64| {
            format!(
                "{{\"elapsed_sec\": 1.5, \"requests\": 99, \"status\": {{\"2xx\": {good}, \
                 \"4xx\": {not_found}, \"other\": 0}}, \"errors\": {{\"connect\": 0, \
                 \"read\": {read}}}}}"
            )
        };
        assert_eq!(Tool::Gcannon.count(&output(90, 0, 0)), count(90, 0, 1.5));
        assert_eq!(Tool::Gcannon.count(&output(80, 3, 4)), count(80, 7, 1.5));
    }

    #[test]
    fn who_can_is_told_the_rate_and_others_are_not_put_to_it() {
        for tool in Tool::value_variants().iter().filter(|tool| tool.has_open_loop()) {
            let load = Load { rate: Some(12_345), ..kept(None) };
            let command = tool.command(Path::new("/client"), &load);
            assert!(command.contains(&"12345".to_string()), "{}: {command:?}", tool.name());
        }
        assert!(!Tool::Wrk.has_open_loop() && !Tool::Wrk2.has_closed_loop());
    }

    /// A load on seven connections that are kept.
    fn kept(pipeline: Option<Pipeline>) -> Load {
        Load {
            url: "http://x/".into(),
            connections: 7,
            keep_alive: true,
            seconds: 3,
            cpu: 1,
            pipeline,
            rate: None,
        }
    }

    #[test]
    fn what_is_no_output_of_the_client_is_an_error_that_shows_it() {
        for tool in Tool::value_variants() {
            let told = tool.count("unable to connect").unwrap_err();
            assert!(told.contains(tool.name()) && told.contains("unable to connect"), "{told}");
        }
    }

    #[test]
    fn who_can_is_told_how_many_requests_are_under_way() {
        for tool in Tool::value_variants().iter().filter(|tool| tool.pipelines()) {
            let pipeline = Some(Pipeline { depth: 17, script: "/script".into() });
            let command = tool.command(Path::new("/client"), &kept(pipeline));
            assert!(command.contains(&"17".to_string()), "{}: {command:?}", tool.name());
        }
    }

    #[test]
    fn only_a_load_of_single_requests_asks_for_closing() {
        for tool in Tool::value_variants() {
            let command = |keep_alive| {
                let load = Load { keep_alive, ..kept(None) };
                tool.command(Path::new("/client"), &load)
            };
            assert_ne!(command(true), command(false), "{} doesn't tell them apart", tool.name());
            assert!(command(true).contains(&"7".to_string()), "{} has no -c", tool.name());
        }
    }
}
