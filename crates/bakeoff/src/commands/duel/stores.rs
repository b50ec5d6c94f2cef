//! A duel of stores: what each is spoken with, and the study that it is.

use lab::place::{ThisMachine, machine};
use lab::study::contender::Contender;
use lab::trial::first::speaks;
use load::Stop;
use result::plan::Cores;

use super::entrant::{Entrant, What};
use super::written::{Written, quoted};
use super::{BAD_INPUT, CONNECTIONS, DuelArguments, Failed, SYSTEM, not_seen, usual_cores};
use crate::commands::load::keys::Mix;
use crate::commands::printing::note;

/// Keys, and bytes of a value: with these a store is filled within a second.
const KEYS: u32 = 100_000;
const VALUE_BYTES: u32 = 100;

/// Refuses what is no command: a store that runs already has keys of its own, and can't be cut off.
pub fn check(entrants: &[Entrant]) -> Result<(), String> {
    match entrants.iter().find(|it| matches!(it.what, What::Running { .. })) {
        Some(entrant) => Err(format!(
            "{}: --mix compares stores that it starts, each with a command: one that runs already \
             has keys that would be written over, and can't be cut off",
            entrant.name
        )),
        None => Ok(()),
    }
}

/// Starts each once, which tells what it is spoken with, and writes the study.
pub fn first_looks(
    arguments: &DuelArguments,
    entrants: &[Entrant],
    mix: &Mix,
    written: &Written,
    stop: &Stop,
) -> Result<(), Failed> {
    let described = machine::describe();
    let machine = ThisMachine::new(&described);
    let mut seen = Vec::new();
    for entrant in entrants {
        let name = &entrant.name;
        let contender = Contender::read(&written.folder.join(name), name)
            .map_err(|error| Failed(BAD_INPUT, error.to_string()))?;
        let first =
            speaks(&machine, &contender, stop).map_err(|why| not_seen(why, entrant, arguments))?;
        note(&format!("{name}: it speaks {}", first.speaks.words()));
        seen.push(first);
    }
    let cores = arguments.cores.unwrap_or_else(|| usual_cores(&described));
    let names: Vec<&str> = entrants.iter().map(|it| &*it.name).collect();
    written.conclude_stores(entrants, &seen, &study(&names, arguments, mix, cores)).map_err(
        |error| Failed(SYSTEM, format!("couldn't write to {}: {error}", written.folder.display())),
    )
}

fn study(names: &[&str], arguments: &DuelArguments, mix: &Mix, cores: Cores) -> String {
    let (last, first) = names.split_last().expect("two or more take part");
    let of_mix = |word: fn(&str, u32) -> String| {
        let all = mix.0.iter().map(|(operation, weight)| word(operation.name(), *weight));
        all.collect::<Vec<_>>()
    };
    let asked = of_mix(|name, weight| format!("{weight} {name}")).join(" to ");
    let cores = match cores {
        Cores::One => "one",
        Cores::All => "all",
    };
    let DuelArguments { blocks, seconds, warmup, .. } = arguments;
    let connections = arguments.connections.unwrap_or(CONNECTIONS);
    let cuts = match arguments.cuts {
        0 => String::new(),
        cuts => format!("cuts = {cuts}\n"),
    };
    format!(
        "title = {title}\n\
         question = {question}\n\
         cannot_say = [\"What they do with more data than memory: here all values fit.\"]\n\n\
         [driver]\nkind = \"generator\"\nprotocol = \"keys\"\n\n\
         [contract]\nsays = \"A read gives the value that was acknowledged last, byte for byte, or \
         says that there is none.\"\n\n\
         # A store that waits for its disk leaves its core idle.\n\
         [expects]\nsaturates = false\n\n\
         [asks.mix]\nsays = {says}\nmix = {{ {mix} }}\n\n\
         [profile.quick]\n{cuts}blocks = {blocks}\nmeasure_s = {seconds:?}\n\
         warmup_s = {warmup:?}\n\
         settings = [{{ cores = \"{cores}\", connections = [{connections}], asks = [\"mix\"], \
         keys = [{KEYS}], value_bytes = [{VALUE_BYTES}] }}]\n",
        title = quoted(&format!("{} and {last}", first.join(", "))),
        question = quoted(&format!("Which of them does more requests a second, of {asked}?")),
        says = quoted(&asked),
        mix = of_mix(|name, weight| format!("{name} = {weight}")).join(", "),
    )
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use lab::study::Study;
    use lab::study::contender::Speaks;
    use lab::trial::first::FirstOfStore;

    use super::*;
    use crate::commands::load::keys::mix;

    #[derive(clap::Parser)]
    struct Command {
        #[command(flatten)]
        arguments: DuelArguments,
    }

    /// A key that it lacks would be told to somebody who wrote no study.
    #[test]
    fn what_is_written_is_a_study_of_stores_with_cuts() {
        let given = ["duel", "--mix", "get=9,set=1", "--cuts", "7", "a --port $PORT", "b"];
        let arguments = Command::try_parse_from(given).unwrap().arguments;
        let entrants = Entrant::all(&arguments.entrants, &[]).unwrap();
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("studies/duel");
        let written = Written::new(folder.clone(), &entrants, Vec::new(), true).unwrap();
        let names: Vec<&str> = entrants.iter().map(|it| &*it.name).collect();
        let text = study(&names, &arguments, &mix("get=9,set=1").unwrap(), Cores::One);
        let seen = [Speaks::Redis, Speaks::Memcached]
            .map(|speaks| FirstOfStore { speaks, code: Vec::new() });
        written.conclude_stores(&entrants, &seen, &text).unwrap();
        let study = Study::read(folder.parent().unwrap(), "duel").unwrap();
        assert!(study.file.kind().keeps_data());
        assert_eq!(study.file.profile["quick"].cuts, 7);
        let speak = study.contenders.iter().map(|it| it.file.speaks.unwrap());
        assert_eq!(speak.collect::<Vec<_>>(), [Speaks::Redis, Speaks::Memcached]);
        assert!(study.contenders.iter().all(|it| it.file.folder.is_none()), "each has its own");
        let mix = &study.file.asks["mix"].mix;
        assert_eq!(mix.iter().map(|(_, weight)| *weight).collect::<Vec<_>>(), [9, 1]);
    }

    #[test]
    fn a_store_that_runs_already_is_refused() {
        let entrants = |url: &str| Entrant::all(&["./a".into(), url.into()], &[]);
        let of_http = entrants("http://127.0.0.1:6379").unwrap();
        assert!(check(&of_http).unwrap_err().contains("a command"));
        // Else a shell is given the URL of a store.
        assert!(entrants("redis://127.0.0.1").unwrap_err().contains("the commands"));
    }
}
