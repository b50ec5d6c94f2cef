//! What a load from three hosts costs beside the same load from one: processes of this machine in
//! both cases, on the same processor and at the same server, round by round.

use std::time::Duration;

use serde_json::Value;
use tempfile::NamedTempFile;

use crate::client::Running;
use crate::interrupt::Interrupt;
use crate::page::{Page, markdown};
use crate::place::Place;
use crate::rounds::{progress, shuffled};
use crate::statistics::Spread;
use crate::target::Target;
use crate::tool::Tool;

/// Connections of both, in all.
const CONNECTIONS: u32 = 96;
/// How far apart the two may be.
const WITHIN: f64 = 0.03;

/// Who offers the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Who {
    /// Three hosts of a thread each.
    Hosts,
    /// One client of three threads.
    ThreeThreads,
    /// One client of one thread.
    OneThread,
}

impl Who {
    const ALL: [Who; 3] = [Who::Hosts, Who::ThreeThreads, Who::OneThread];

    fn name(self) -> &'static str {
        match self {
            Who::Hosts => "three hosts, a thread each",
            Who::ThreeThreads => "one client, three threads",
            Who::OneThread => "one client, one thread",
        }
    }
}

/// What a run cost.
#[derive(Debug, Clone, Copy, Default)]
struct Cost {
    /// CPU µs of the threads that offer the load, a good answer.
    request_us: f64,
    /// CPU seconds of all processes beside that.
    beside_s: f64,
}

/// Measures it, and says it on the page; whether it is as it has to be.
pub fn say(
    target: &Target,
    place: &Place,
    (rounds, seconds): (u32, u32),
    page: &mut Page,
    interrupt: &Interrupt,
) -> Result<bool, String> {
    let file = hosts_file()?;
    let mut rng = fastrand::Rng::new();
    let mut samples: Vec<[Cost; 3]> = Vec::new();
    let bar = progress(u64::from(rounds) * Who::ALL.len() as u64);
    for _ in 0..rounds {
        let mut round = [Cost::default(); 3];
        for who in shuffled(&Who::ALL, &mut rng) {
            bar.set_message(who.name());
            bar.inc(1);
            target.settle(interrupt)?;
            round[who as usize] = run(who, &file, target, place, seconds, interrupt)?;
        }
        samples.push(round);
    }
    bar.finish_and_clear();
    page.say("## Cost");
    page.say(format!(
        "`bakeoff load URL -c {CONNECTIONS} -d {seconds}s`, from three hosts of one thread each, \
         from one client of three threads (`-t 3`), and from one of one thread (`-t 1`). All of it \
         is on this machine, and all clients share a processor ({}). So no rate is told here. CPU \
         time a request is that of the threads that offer the load. What else processes took in a \
         run stands beside it: they start, take the digest of their program, greet, and add up. \
         Rounds: {rounds}, each in an order of its own; a median, and the least and the most.",
        place.in_words()
    ));
    let spread = |of: &dyn Fn(&[Cost; 3]) -> f64| Spread::of(samples.iter().map(of));
    let in_words = |spread: Option<Spread>| spread.map_or("–".into(), Spread::in_words);
    let mut table = markdown();
    table.set_header(["load from", "CPU µs a request", "CPU s beside it", "three hosts / this"]);
    let mut ratio_of_three = None;
    for who in Who::ALL {
        let hosts = |round: &[Cost; 3]| round[Who::Hosts as usize].request_us;
        let pairs = samples.iter().map(|it| (hosts(it), it[who as usize].request_us));
        let ratio = Spread::of_ratios(pairs).filter(|_| who != Who::Hosts);
        if who == Who::ThreeThreads {
            ratio_of_three = ratio;
        }
        table.add_row([
            who.name().to_string(),
            in_words(spread(&|round| round[who as usize].request_us)),
            in_words(spread(&|round| round[who as usize].beside_s)),
            in_words(ratio),
        ]);
    }
    page.say(table);
    let Some(ratio) = ratio_of_three else { return Ok(true) };
    let holds = (ratio.median - 1.0).abs() <= WITHIN;
    page.say(format!(
        "With as many threads, the same within {:.0} %: {}.",
        WITHIN * 100.0,
        if holds { "holds" } else { "MISSED" }
    ));
    Ok(holds)
}

fn hosts_file() -> Result<NamedTempFile, String> {
    let fail = |error: std::io::Error| format!("the file of hosts: {error}");
    let hosts = (1..=3).map(|nth| format!("[host.c{nth}]\nreach = []\n"));
    let file = NamedTempFile::new().map_err(fail)?;
    std::fs::write(file.path(), hosts.collect::<String>()).map_err(fail)?;
    Ok(file)
}

fn run(
    who: Who,
    file: &NamedTempFile,
    target: &Target,
    place: &Place,
    seconds: u32,
    interrupt: &Interrupt,
) -> Result<Cost, String> {
    let program = Tool::Bakeoff.program()?.display().to_string();
    let (url, file) = (target.url("/"), file.path().display().to_string());
    let (connections, time) = (CONNECTIONS.to_string(), format!("{seconds}s"));
    let mut command = vec![
        program.as_str(),
        "load",
        &url,
        "-c",
        &connections,
        "-d",
        &time,
        "--json",
        "-",
        "--quiet",
    ];
    command.extend(match who {
        Who::Hosts => ["--hosts", &file],
        Who::ThreeThreads => ["-t", "3"],
        Who::OneThread => ["-t", "1"],
    });
    let command: Vec<String> = command.into_iter().map(String::from).collect();
    let at_most = Duration::from_secs(u64::from(seconds) + 30);
    // Agents and their clients have the processor that the hub has.
    let ended = Running::start(&command, &[place.client], at_most)?.wait(interrupt)?;
    let all_s = ended.cpu_s;
    let output = ended.success()?.output;
    let report: Value = serde_json::from_str(&output).unwrap_or_default();
    let figure = |of: &str, name: &str| {
        let figure = report[of][name].as_f64();
        figure.ok_or_else(|| format!("bakeoff's report lacks {of}.{name}"))
    };
    let threads_s = figure("cpu", "user_s")? + figure("cpu", "system_s")?;
    let good = figure("requests", "good")?;
    Ok(Cost { request_us: threads_s * 1e6 / good.max(1.0), beside_s: all_s - threads_s })
}
