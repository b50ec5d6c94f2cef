//! The command that repeats a run.

use result::plan::Cores;
use result::shell;

use super::{Options, STUDIES};
use crate::plan::Length;

/// The command that repeats a run, as a shell reads it.
pub(super) fn command(options: &Options, seed: u64) -> String {
    let quoted = |name: &String| shell::word(name).into_owned();
    let mut words = vec!["bakeoff".into(), "run".into(), quoted(&options.study)];
    let mut option = |name: &str, value: String| words.extend([name.into(), value]);
    option("--profile", quoted(&options.profile));
    if !options.only.is_empty() {
        option("--only", options.only.iter().map(quoted).collect::<Vec<_>>().join(","));
    }
    if let Some(cores) = &options.choice.cores {
        let names: Vec<_> = cores
            .iter()
            .map(|cores| match cores {
                Cores::One => "1",
                Cores::All => "all",
            })
            .collect();
        option("--cores", names.join(","));
    }
    if let Some(connections) = &options.choice.connections {
        let numbers: Vec<_> = connections.iter().map(u32::to_string).collect();
        option("--connections", numbers.join(","));
    }
    if let Some(modes) = &options.choice.keep_alive {
        let names: Vec<_> =
            modes.iter().map(|&keep_alive| if keep_alive { "kept" } else { "closed" }).collect();
        option("--mode", names.join(","));
    }
    let Length { blocks, measure_s, warmup_s } = options.choice.length;
    let length = [
        ("--blocks", blocks.map(|it| it.to_string())),
        ("--seconds", measure_s.map(|it| it.to_string())),
        ("--warmup", warmup_s.map(|it| it.to_string())),
    ];
    for (name, value) in length {
        value.into_iter().for_each(|value| option(name, value));
    }
    option("--seed", seed.to_string());
    if let Some((file, _)) = &options.hosts {
        option("--hosts", shell::word(&file.to_string_lossy()).into_owned());
    }
    words.join(" ") + &shell::path_option("--studies", &options.studies, STUDIES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Choice;

    #[test]
    fn the_command_that_repeats_a_run_names_its_studies_where_they_are_elsewhere() {
        let repeated = |studies: &str| {
            let options = Options {
                studies: studies.into(),
                runs: "runs".into(),
                study: "s".into(),
                profile: "two short".into(),
                only: vec!["a b".into(), "c".into()],
                choice: Choice::default(),
                seed: None,
                hosts: None,
            };
            command(&options, 7)
        };
        let here = "bakeoff run s --profile 'two short' --only 'a b',c --seed 7";
        assert_eq!(repeated("studies"), here);
        assert_eq!(repeated("my studies"), format!("{here} --studies 'my studies'"));
    }
}
