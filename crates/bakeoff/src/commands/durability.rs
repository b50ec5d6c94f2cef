//! `bakeoff durability`: what a store has of the writes that it acknowledged, after it was cut
//! off.

use std::process::ExitCode;

use clap::builder::PossibleValuesParser;
use clap::builder::TypedValueParser;
use durability::{Asked, CUTS, Told, measure};
use lab::place::ThisMachine;
use lab::place::machine;
use lab::plan::write_load::WriteLoad;
use lab::plan::{Choice, Order, plan};
use lab::ready::{Prepared, prepare};
use lab::study::Study;
use load::Stop;
use report::text::{visible, visible_json};
use result::durability::{CutVerdict, Durability, Rung};

use super::exit_codes::{BAD_INPUT, INTERRUPTED, SYSTEM};
use super::load::interrupt;
use super::printing::{complain, note};
use super::report::print_text;
use super::studies::Studies;

/// A promise was broken, a value was corrupt, a store didn't start again, or can't be had.
const FAILED: u8 = 1;
/// Something that was asked for couldn't be checked, or what was required wasn't kept.
const NOT_SHOWN: u8 = 3;

/// Cuts stores off while they are written to, and tells what they have of it afterwards
#[derive(clap::Args)]
#[command(
    after_help = "Exit codes: 0 all was checked, and no promise was broken; 1 a promise was \
broken, a value was corrupt, a store didn't start on its own data, or can't be had; 2 wrong \
arguments or files; 3 a rung couldn't be checked here, or isn't kept that --require names; 4 the machine failed; 130 interrupted."
)]
pub struct DurabilityArguments {
    /// The contenders, each by its study and name, for example kv/redis, or by its folder
    #[arg(required = true, value_name = "STUDY/CONTENDER")]
    contenders: Vec<String>,
    /// In which way they are cut off, instead of all: their process dies, their machine stops, or
    /// the power goes
    #[arg(long, value_name = "RUNG", value_parser = rungs(), value_delimiter = ',')]
    rung: Vec<Rung>,
    /// What each has to survive, for scripts: exit code 3 unless it kept all on this rung and on
    /// those below it, which alone are checked then
    #[arg(long, value_name = "RUNG", value_parser = rungs(), conflicts_with = "rung")]
    require: Option<Rung>,
    /// How often they are cut off in each of these ways
    #[arg(long, value_name = "N", default_value_t = CUTS,
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    cuts: u32,
    /// Repeats the moments and the writes of another time
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// As JSON (docs/durability.md)
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    studies: Studies,
}

fn rungs() -> impl TypedValueParser<Value = Rung> {
    PossibleValuesParser::new(Rung::ALL.map(Rung::name)).try_map(|name| {
        Rung::ALL.into_iter().find(|rung| rung.name() == name).ok_or("there is no such rung")
    })
}

/// Why nobody learns what became of a store's writes.
enum Ended {
    /// With this exit code, and what is to be said.
    Failed(u8, String),
    Interrupted,
}

/// Carries the command out.
pub fn run(arguments: DurabilityArguments) -> ExitCode {
    match check(&arguments) {
        Ok(code) => code,
        Err(Ended::Interrupted) => ExitCode::from(INTERRUPTED),
        Err(Ended::Failed(code, sentence)) => {
            complain("durability", &sentence);
            ExitCode::from(code)
        }
    }
}

fn check(arguments: &DurabilityArguments) -> Result<ExitCode, Ended> {
    let named: Vec<Study> =
        arguments.contenders.iter().map(|name| named(arguments, name)).collect::<Result<_, _>>()?;
    let stop = Stop::default();
    interrupt::stops(&stop)
        .map_err(|error| Ended::Failed(SYSTEM, format!("waiting for Ctrl-C: {error}")))?;
    keeper::leftovers::remove();
    let asked = Asked {
        rungs: asked_for(arguments),
        cuts: arguments.cuts,
        seed: arguments.seed.unwrap_or_else(lab::run::a_seed),
        loads: Vec::new(),
        goes_on: true,
    };
    let mut all = Vec::new();
    for (study, name) in named.iter().zip(&arguments.contenders) {
        let asked = Asked { loads: loads(study), ..asked.clone() };
        all.push(of_contender(study, name, &asked, arguments.json, &stop)?);
    }
    if arguments.json {
        let json = serde_json::to_string_pretty(&all)
            .map_err(|error| Ended::Failed(SYSTEM, format!("couldn't make JSON of it: {error}")))?;
        print_text(|_| visible_json(&json) + "\n").map_err(|why| Ended::Failed(SYSTEM, why))?;
    }
    let unmet = arguments.require.map_or(Vec::new(), |rung| unmet(rung, &all));
    unmet.iter().for_each(|sentence| complain("durability", sentence));
    Ok(exit_code(&all, !unmet.is_empty()))
}

/// The loads of all profiles of a study.
fn loads(study: &Study) -> Vec<WriteLoad> {
    let contenders: Vec<_> = study.contenders.iter().collect();
    let plans = study.file.profile.iter().map(|(name, profile)| {
        plan(name, profile, &Choice::default(), &contenders, (0, Order::default()))
    });
    WriteLoad::of(plans.flat_map(|plan| plan.slots).collect::<Vec<_>>().iter())
}

/// The rungs, each once and the lowest first.
fn asked_for(arguments: &DurabilityArguments) -> Vec<Rung> {
    let is_asked = |rung: &Rung| match arguments.require {
        Some(highest) => *rung <= highest,
        None => arguments.rung.is_empty() || arguments.rung.contains(rung),
    };
    Rung::ALL.into_iter().filter(is_asked).collect()
}

/// Of each store that isn't known to keep all up to this rung, a sentence.
fn unmet(required: Rung, all: &[Durability]) -> Vec<String> {
    let reached = |seen: &&Durability| {
        let kept =
            |rung| seen.rungs.iter().any(|it| it.rung == rung && it.verdict == CutVerdict::Kept);
        !Rung::ALL.into_iter().filter(|rung| *rung <= required).all(kept)
    };
    let sentence = |seen: &Durability| {
        let name = visible(&seen.contender);
        format!(
            "--require {}: {name} isn't known to keep all when {}",
            required.name(),
            required.says()
        )
    };
    all.iter().filter(reached).map(sentence).collect()
}

/// The study of this name, with the contender alone.
fn named(arguments: &DurabilityArguments, name: &str) -> Result<Study, Ended> {
    let bad_input = |sentence| Ended::Failed(BAD_INPUT, sentence);
    let (studies, study, contender) = arguments.studies.contender(name).map_err(bad_input)?;
    let study = Study::read(&studies, &study)
        .and_then(|study| study.only(&[contender]))
        .map_err(|error| bad_input(error.to_string()))?;
    match study.contenders[0].file.speaks {
        Some(_) => Ok(study),
        None => Err(bad_input(format!("{name} is no store: its contender.toml has no `speaks`"))),
    }
}

/// Makes a contender ready, and goes up the ladder with it.
fn of_contender(
    study: &Study,
    name: &str,
    asked: &Asked,
    is_json: bool,
    stop: &Stop,
) -> Result<Durability, Ended> {
    let contender = &study.contenders[0];
    let failed = |sentence: String| Err(Ended::Failed(FAILED, sentence));
    let record = match prepare(contender, false, stop) {
        Prepared::Ready(record) => record,
        Prepared::Absent(why) => return failed(format!("{name} is absent: {why}")),
        Prepared::Failed(why) => return failed(format!("{name}: {why}")),
        Prepared::Interrupted => return Err(Ended::Interrupted),
    };
    let head = format!("{} ({}), seed {}", visible(&record.title), visible(name), asked.seed);
    note(&head);
    let machine = ThisMachine::new(&machine::describe());
    let mut tell = |told: Told| match told {
        Told::Cut(rung, number, cut) => note(&format!(
            "  {}, {number} of {}: {}",
            rung.says(),
            asked.cuts,
            report::durability_cut(cut)
        )),
        Told::NotMade(rung, why) => note(&format!("  {}: not checked: {why}", rung.says())),
    };
    let seen = measure(contender, &machine, asked, stop, &mut tell)
        .map_err(|why| Ended::Failed(SYSTEM, why))?
        .ok_or(Ended::Interrupted)?;
    if !is_json {
        print_text(|terminal| format!("{head}\n{}\n", report::durability(&seen, terminal)))
            .map_err(|why| Ended::Failed(SYSTEM, why))?;
    }
    Ok(seen)
}

fn exit_code(all: &[Durability], is_unmet: bool) -> ExitCode {
    let rungs = || all.iter().flat_map(|seen| &seen.rungs);
    let is_bad =
        |verdict: &CutVerdict| matches!(verdict, CutVerdict::Corrupt | CutVerdict::DoesNotStart);
    if rungs().any(|seen| seen.kept_promise == Some(false) || is_bad(&seen.verdict)) {
        FAILED.into()
    } else if is_unmet || rungs().any(|seen| matches!(seen.verdict, CutVerdict::NotChecked(_))) {
        NOT_SHOWN.into()
    } else {
        ExitCode::SUCCESS
    }
}
