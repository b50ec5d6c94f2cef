//! `proof hosts`: load from several hosts over what leads to hosts elsewhere, and all ways to fail.
//!
//! The hosts are namespaces of this machine, and nothing of them outlives it (`stage`). What leads
//! there is an sshd on each, a Slurm, and a stand-in for `kubectl` (`reach`). What is said is held
//! to what happened (`faults`), and sums to what the server counted. What it costs to have several
//! is measured beside one client (`cost`).

mod cost;
mod faults;
mod field;
mod left;
mod reach;
mod stage;

use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use comfy_table::Table;

use self::faults::Failures;
use self::field::{Field, Second, Told};
use self::reach::{By, Reach};
use self::stage::Stage;
use crate::interrupt::Interrupt;
use crate::nginx;
use crate::page::{Page, markdown};
use crate::place::Place;
use crate::target::Target;

/// Requests of the load whose sum is held to the server's own count.
const REQUESTS: u64 = 3_000;
/// Where the server listens for the hosts.
const PORT: u16 = 8080;
/// A body that is longer than what a narrow link lets pass at once.
const BODY_BYTES: usize = 20_000;

/// Offers load from several hosts by ssh, by Slurm and by a stand-in for kubectl, makes all ways
/// to fail happen, and measures what several hosts cost. As root.
#[derive(Debug, Parser)]
pub struct HostsArguments {
    /// What leads to the hosts.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [By::Ssh, By::Srun, By::Kubectl])]
    by: Vec<By>,
    /// One load over each, by the program where it is here: it is installed nowhere, nothing fails,
    /// and no cost is measured.
    #[arg(long)]
    quick: bool,
    /// Rounds in which three hosts and one client are put to the same load; 0 for none.
    #[arg(long, default_value_t = 15)]
    rounds: u32,
    /// Seconds of each of these runs.
    #[arg(long, default_value_t = 3)]
    seconds: u32,
    /// Write it to this file as well. What stands there below a heading `## Before` stays.
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
}

/// Whether all that could be tried here holds.
pub fn run(arguments: &HostsArguments, interrupt: &Interrupt) -> Result<bool, String> {
    let missing = if stage::is_entered() { None } else { stage::missing() };
    if missing.is_none() && !stage::is_entered() {
        return match stage::enter(interrupt)?.code() {
            Some(0) => Ok(true),
            Some(1) => Ok(false),
            _ => Err("on the hosts it couldn't be tried".into()),
        };
    }
    // On the stage relative paths are others.
    let absolute = |file: &PathBuf| std::path::absolute(file);
    let file = arguments.write.as_ref().map(absolute).transpose();
    let file = file.map_err(|error| format!("--write: {error}"))?;
    let place = Place::find()?;
    let mut page = Page::new("Load from several hosts", "hosts");
    let holds = match missing {
        Some(why) => {
            page.say(format!("**Skipped:** hosts of networks of their own: {why}."));
            let target = nginx::start(&place, &[], interrupt)?;
            rounds(arguments, &target, &place, &mut page, interrupt)?
        }
        None => {
            let stage = Stage::set()?;
            let address = format!("{}:{PORT}", stage::SERVER);
            let address = address.parse().map_err(|error| format!("{address}: {error}"))?;
            let target = nginx::start_at(address, &place, &[BODY_BYTES], interrupt)?;
            let are_sound = on_stage(&stage, arguments, &target, &mut page, interrupt)?;
            rounds(arguments, &target, &place, &mut page, interrupt)? && are_sound
        }
    };
    file.map_or(Ok(()), |file| page.write(&file))?;
    Ok(holds)
}

fn rounds(
    arguments: &HostsArguments,
    target: &Target,
    place: &Place,
    page: &mut Page,
    interrupt: &Interrupt,
) -> Result<bool, String> {
    match arguments.rounds {
        0 => Ok(true),
        _ if arguments.quick => Ok(true),
        rounds => cost::say(target, place, (rounds, arguments.seconds), page, interrupt),
    }
}

/// Tries all that leads to hosts, and all ways to fail over it.
fn on_stage(
    stage: &Stage,
    arguments: &HostsArguments,
    target: &Target,
    page: &mut Page,
    interrupt: &Interrupt,
) -> Result<bool, String> {
    let (mut sums, mut failures, mut absent) = (Sums::default(), Failures::default(), Vec::new());
    for &by in &arguments.by {
        interrupt.check()?;
        let reach = match Reach::open(by, stage) {
            Ok(reach) => reach,
            Err(why) => {
                absent.push(format!("Hosts by {}: absent, {why}", by.name()));
                continue;
            }
        };
        let field = Field { stage, reach: &reach, target, installs: !arguments.quick, interrupt };
        sums.add(&field)?;
        if !arguments.quick {
            failures.add(&field)?;
        }
    }
    page.say(format!(
        "Three hosts, c1 to c3, are namespaces of this machine. Each has a network of its own, on a \
         bridge to the server's, and a name, a home and a clock. The clock of c2 is a day ahead. \
         By {}, the login of c1 says something on standard output to each who comes. All share the \
         machine's processors, so no rate and no response time is told here.",
        By::Ssh.name()
    ));
    page.say_notes(&absent);
    page.say("## What leads there");
    page.say(format!(
        "`bakeoff hosts install` brings the program to each host, `bakeoff hosts` greets them, and \
         `bakeoff load {} --hosts hosts.toml -n {REQUESTS} -c 12 -t 1` offers a load. What all \
         hosts told together is held to what the server (nginx) counted.",
        target.url("/")
    ));
    page.say(sums.table());
    if !arguments.quick {
        page.say("## All ways to fail");
        page.say(format!(
            "One thing is wrong in a load from all three hosts: `bakeoff load URL --hosts \
             hosts.toml` with the words under *asked*. Where c2 is behind words of a shell, `\"$@\"` \
             is what leads to it. Each row is held to its exit code, to what is said, to a deadline, \
             and to what is left running on any host. Exit code 4 says that the run is invalid, or \
             never began. The deadline is the one that \
             [the manual](../hosts.md#when-a-host-fails) tells, and 10 s. Times count from the fault \
             on. Nothing is left where no agent, no client and nothing that led there runs any \
             more. Behind a host that was lost the command says also: {:?}.",
            faults::BEHIND_LOST.trim_start_matches(". ")
        ));
        page.say(failures.table());
    }
    Ok(sums.hold() && failures.hold())
}

/// A load over one thing that leads to hosts, and what the server counted.
struct Sum {
    by: By,
    told: Told,
    counted: u64,
    left: usize,
}

#[derive(Default)]
struct Sums(Vec<Sum>);

impl Sums {
    fn add(&mut self, field: &Field) -> Result<(), String> {
        let by = field.reach.by;
        eprintln!("{}: a load", by.name());
        let file = field.file(Second::default())?;
        let install = ["hosts", "install", &file];
        let greet = ["hosts", &file];
        let install = field.installs.then_some(&install[..]);
        for words in install.into_iter().chain([&greet[..]]) {
            field.reach.settle()?;
            let ended = field.begin(words)?.wait(field.interrupt)?;
            ended
                .success()
                .map_err(|why| format!("`bakeoff {}` by {}: {why}", words.join(" "), by.name()))?;
        }
        field.reach.settle()?;
        let before = field.target.requests()?;
        let asks = format!("-n {REQUESTS} -c 12 -t 1");
        let told = Told::of(&field.begin_load(&file, "/", &asks)?.wait(field.interrupt)?);
        // The question before is one of them.
        let counted = field.target.requests()? - before - 1;
        let left = left::after(Duration::from_secs(5)).len();
        self.0.push(Sum { by, told, counted, left });
        Ok(())
    }

    fn hold(&self) -> bool {
        self.0.iter().all(Sum::holds)
    }

    fn table(&self) -> Table {
        let mut table = markdown();
        table.set_header([
            "hosts by",
            "exit code",
            "good answers told",
            "by the hosts, added up",
            "the server counted",
            "clocks known within",
            "c2's clock ahead",
            "",
        ]);
        for sum in &self.0 {
            let number = |number: Option<u64>| number.map_or("–".into(), |it| it.to_string());
            let most = sum.told.clocks("within_us").into_iter().fold(0.0, f64::max);
            let ahead = sum.told.clocks("offset_us").get(1).copied().unwrap_or_default();
            table.add_row([
                sum.by.name().to_string(),
                sum.told.code.map_or("–".into(), |code| code.to_string()),
                number(sum.told.good()),
                number(sum.told.of_hosts()),
                sum.counted.to_string(),
                format!("{:.2} ms", most / 1e3),
                format!("{:.3} s", ahead / 1e6),
                if sum.holds() { "holds".into() } else { format!("MISSED: {}", sum.told.said) },
            ]);
        }
        table
    }
}

impl Sum {
    fn holds(&self) -> bool {
        let all = Some(REQUESTS);
        let ahead = self.told.clocks("offset_us").get(1).copied().unwrap_or_default() / 1e6;
        self.told.code == Some(0)
            && self.told.good() == all
            && self.told.of_hosts() == all
            && Some(self.counted) == all
            && (ahead - f64::from(stage::AHEAD_S)).abs() < 0.1
            && self.left == 0
    }
}
