//! `bakeoff load`: the load generator by itself.
//!
//! - [`arguments`]: what is asked for, and the plan that it makes, with
//!   `target` (URL to address), `keys` (what is asked of stores), `rooms` (what robots do, and what
//!   is told of them), `quantity` (rates, durations, processors) and `pace` (when requests are due,
//!   and which rates may be searched for);
//! - `clients`: who offers the load, this process or several hosts;
//! - `interrupt`, `live`: while it runs;
//! - `run`: a run with what is made of it, then told by `summary`, `json`, `hdr`, with the
//!   sentences of `words`, and by `by_host` of each host;
//! - `search`: many runs, in search of a rate, or of how many robots there may be;
//! - `sink`: the files, or standard output, that results are written to;
//! - `exit`: what the exit code says.

pub mod arguments;
mod by_host;
mod clients;
mod exit;
mod hdr;
pub mod interrupt;
mod json;
pub mod keys;
mod live;
mod pace;
pub mod quantity;
mod rooms;
mod run;
mod search;
mod sink;
mod summary;
mod table;
pub mod target;
mod words;

use std::io;
use std::process::ExitCode;
use std::time::Duration;

use load::outcome::{ErrorKind, Outcome};
use load::plan::Until;
use load::verdict::condition::Condition;
use load::{PRELOADED_WITHIN, Plan, Stop};
use report::text::visible;
use report::units;

pub use self::arguments::LoadArguments;
use self::clients::{Clients, Offered};
use self::exit::{Exit, Failure};
use self::run::Run;
use self::sink::Sink;
use super::printing::{self, Output};

/// Carries the command out.
pub fn run(arguments: &LoadArguments) -> ExitCode {
    match carry_out(arguments) {
        Ok(exit) => exit.into(),
        Err(failure) => {
            complain(&failure.sentence);
            failure.exit.into()
        }
    }
}

fn carry_out(arguments: &LoadArguments) -> Result<Exit, Failure> {
    let plan = arguments.plan().map_err(Failure::bad_input)?;
    // Opened before the run, so that no result is lost to a wrong name.
    let json = arguments.json.as_deref().map(Sink::open).transpose()?;
    let hdr = arguments.hdr.as_deref().map(Sink::open).transpose()?;
    let stdout_is_taken = [&json, &hdr].into_iter().flatten().any(Sink::is_stdout);
    let mut output = match (arguments.quiet, stdout_is_taken) {
        (true, _) => Output::to_nobody(),
        (false, true) => Output::to_stderr(),
        (false, false) => Output::to_stdout(),
    };
    let stop = Stop::default();
    interrupt::stops(&stop).map_err(|error| Failure::system("waiting for Ctrl-C", &error))?;

    let mut clients = Clients::of(arguments, &plan)?;
    if let Some(preload) = plan.preload() {
        let clients = (&mut clients, arguments.quiet);
        self::preload(&preload, PRELOADED_WITHIN, clients, &stop, &mut output)?;
    }
    load::scout(&plan, &stop).map_err(|sentence| Failure { exit: Exit::Unanswered, sentence })?;
    if let Some(condition) = arguments.searched() {
        let searched = (&plan, condition);
        let found = search::run(arguments, searched, &mut clients, &stop, &mut output)?;
        found.elsewhere.iter().for_each(|sentence| complain(sentence));
        let document = json::search(&arguments.shown_url(), &plan, &found);
        let no_json = json.and_then(|json| json.write(|into| json::write(&document, into)).err());
        let missing = [not_printed(output), no_json];
        return Ok(complain_of(&missing).unwrap_or_else(|| found.exit()));
    }
    let offered = clients.offer(&plan, &stop, arguments.quiet)?;
    let run = judged(arguments, plan, offered);
    output.print(&match &run.outcome.deliveries {
        Some(seen) => rooms::summary::text(&run, seen),
        None => summary::text(&run),
    });
    let no_json = json.and_then(|json| json.write(|into| written(&run, into)).err());
    let no_hdr = hdr.and_then(|hdr| hdr.write(|into| hdr::write(&run.outcome, into)).err());
    run.complain();
    other_family(&run.plan, &run.outcome).iter().for_each(|sentence| complain(sentence));
    let missing = [not_printed(output), no_json, no_hdr];
    Ok(complain_of(&missing).unwrap_or_else(|| run.exit()))
}

/// Writes what scripts read of a run.
fn written(run: &Run, into: &mut dyn io::Write) -> io::Result<()> {
    match &run.outcome.deliveries {
        Some(seen) => json::write(&rooms::json::run(run, seen), into),
        None => json::write(&json::run(run), into),
    }
}

/// Why the result isn't printed, though it can still be written elsewhere.
fn not_printed(output: Output) -> Option<Failure> {
    output.failure().map(|error| Failure::system("printing the result", &error))
}

/// Says on standard error what went wrong.
fn complain(sentence: &str) {
    printing::complain("load", sentence);
}

/// Where the server listens, if it refused connections and there was no answer, and that is in the
/// other address family.
fn other_family(plan: &Plan, outcome: &Outcome) -> Option<String> {
    let refused = outcome.firsts.failed.as_ref().filter(|it| it.what.0 == ErrorKind::Refused);
    let address = refused.filter(|_| outcome.account.good == 0).map(|_| plan.target.address)?;
    target::in_the_other_family(address).map(|other| {
        format!("nobody listens at {address}, and somebody does at {other}: give that in the URL")
    })
}

/// Says which parts of a result there aren't, though there are the others; gives the exit
/// code that the first of them makes.
fn complain_of(missing: &[Option<Failure>]) -> Option<Exit> {
    let mut failures = missing.iter().flatten();
    failures.clone().for_each(|failure| complain(&failure.sentence));
    failures.next().map(|failure| failure.exit)
}

/// Has all keys of a store written within so long, and tells of it. What isn't there can't be read.
fn preload(
    plan: &Plan,
    within: Duration,
    (clients, quiet): (&mut Clients, bool),
    stop: &Stop,
    output: &mut Output,
) -> Result<(), Failure> {
    let (offered, is_late) = load::in_time(within, stop, |stop| clients.offer(plan, stop, quiet));
    let outcome = &offered?.whole()?.outcome;
    output.print(&summary::preload(plan, outcome));
    let written = outcome.account.good;
    match plan.until {
        Until::Requests(keys) if written < keys && is_late => {
            Err(Failure { exit: Exit::Unanswered, sentence: too_slow(within, written, keys) })
        }
        Until::Requests(keys) if written < keys && !outcome.interrupted => {
            let elsewhere = other_family(plan, outcome);
            let elsewhere = elsewhere.map_or_else(String::new, |it| format!("; {it}"));
            let sentence = not_all_acknowledged(outcome, keys) + &elsewhere;
            Err(Failure { exit: Exit::Unanswered, sentence })
        }
        _ => Ok(()),
    }
}

/// That a preload took too long, how far it came, and what to do about it.
fn too_slow(within: Duration, written: u64, keys: u64) -> String {
    format!(
        "the store acknowledged {} of {} keys within {}, which is the longest that a preload may \
         take. Take fewer keys (--keys), or say that they needn't be there (--no-preload)",
        units::whole(written),
        units::whole(keys),
        humantime::format_duration(within),
    )
}

/// Why a preload ended before all keys of a store were written, and what to do about it.
fn not_all_acknowledged(outcome: &Outcome, keys: u64) -> String {
    let account = &outcome.account;
    // What came of others that were lost says nothing of its own.
    let own = account.errors.iter().filter(|error| error.kind != ErrorKind::Behind);
    let of_a_key = own.min_by_key(|error| error.first).map(|error| (error.kind, &*error.example));
    // Where nobody could be connected to, no key was tried.
    let of_a_connection = || {
        let failure = outcome.firsts.failed.as_ref()?;
        Some((failure.what.0, &*failure.what.1))
    };
    let first = of_a_key.or_else(of_a_connection);
    let why = first.map_or_else(String::new, |(kind, example)| {
        format!(", up to the first error, {}: {}", kind.name(), visible(example))
    });
    let advice = match first {
        Some((ErrorKind::Malformed, _)) => ". Does it speak the protocol that the URL says?",
        // The words of Redis and of memcached.
        Some((ErrorKind::ServerError, words))
            if words.contains("OOM") || words.contains("out of memory") =>
        {
            ". Give the store more memory, take fewer keys (--keys), or say that they needn't be \
             there (--no-preload)"
        }
        _ => "",
    };
    let (written, keys) = (units::whole(account.good), units::whole(keys));
    format!("the store acknowledged {written} of {keys} keys{why}{advice}")
}

/// What came of a plan, judged.
fn judged(arguments: &LoadArguments, plan: Plan, offered: Offered) -> Run {
    let Offered { outcome, warnings, hosts, concerns } = offered;
    let judge = |condition: &Condition| (condition.clone(), condition.judge(&outcome));
    Run {
        url: arguments.shown_url(),
        conditions: arguments.fail_if.iter().map(judge).collect(),
        warnings,
        plan,
        hosts,
        concerns,
        outcome,
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use super::arguments::tests::parse;
    use super::*;

    /// Else five million keys of a store that takes a second for each are waited for for weeks.
    #[test]
    fn a_preload_that_takes_too_long_ends_and_says_how_far_it_came() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("redis://{}", listener.local_addr().unwrap());
        // It acknowledges three of the writes that lie before it, and none after.
        std::thread::spawn(move || {
            let mut kept = Vec::new();
            for mut connection in listener.incoming().flatten() {
                let _ = connection.read(&mut [0; 1]);
                let _ = connection.write_all(&b"+OK\r\n".repeat(3));
                kept.push(connection);
            }
        });
        let line = [&*url, "--keys", "5M", "-c", "1", "-t", "1", "--timeout", "10m"];
        let plan = parse(&line).unwrap().plan().unwrap().preload().unwrap();
        let stop = Stop::default();
        // A busy machine may not come to the first write within a second.
        let has_come_so_far = [1, 4, 16].into_iter().any(|seconds| {
            let (within, clients) = (Duration::from_secs(seconds), (&mut Clients::Here, true));
            let told = preload(&plan, within, clients, &stop, &mut Output::to_nobody());
            let told = told.expect_err("five million keys were not written");
            assert_eq!(told.exit, Exit::Unanswered);
            assert!(told.sentence.contains("(--keys)"), "{}", told.sentence);
            let says = format!("the store acknowledged 3 of 5,000,000 keys within {seconds}s");
            told.sentence.starts_with(&says)
        });
        assert!(has_come_so_far, "it doesn't say that three writes were acknowledged");
    }
}
