//! The virtual machine compiles a module when it is loaded: the server as it is has
//! done so before it is measured, and one that loads modules meanwhile is caught.

use lab::ready::programs;
use result::Run;
use result::evidence::ServerUse;
use result::finding::Verdict;

use crate::fixture::{Lab, skipped};

/// From when the load has come, loads what the library has: a module now and then, so that some
/// come within the window, however late that begins.
const LOADS: &str = r#"
    Loaded = fun Wait() ->
        case erlang:system_info(port_count) > 20 of
            true ->
                [{code:ensure_loaded(list_to_atom(filename:basename(File, ".beam"))), timer:sleep(20)}
                    || Library <- [stdlib, compiler],
                       File <- filelib:wildcard(filename:join([code:lib_dir(Library), "ebin", "*.beam"]))];
            false ->
                timer:sleep(10),
                Wait()
        end
    end,
    spawn(Loaded)."#;

/// What was seen of the contender, and the check's verdict on it.
fn seen<'a>(run: &'a Run, contender: &str) -> (&'a ServerUse, Verdict) {
    let mut trials = run.trials.iter().filter(|trial| trial.slot.contender == contender);
    let trial = trials.next().unwrap_or_else(|| panic!("there is no trial of {contender}"));
    let server = &trial.evidence.server;
    assert!(server.runtime.is_some(), "no schedulers: {server:?}");
    let finding = trial.findings.iter().find(|it| it.check == "runtime").unwrap();
    (server, finding.verdict)
}

#[test]
fn a_server_is_warm_that_has_loaded_its_modules_and_not_while_it_loads_some() {
    if programs::find("erlc").is_none() {
        return skipped("skipped", "erlc is not installed; apt-get install erlang-base");
    }
    let lab = Lab::new();
    // Long enough for modules to be loaded within it, and with connections that can be told
    // from what the machine has open besides.
    lab.change_study("measure_s = 0.3\nwarmup_s = 0.1", "measure_s = 1.5\nwarmup_s = 1.0");
    lab.change_study("connections = [4]", "connections = [30]");
    let as_it_is = include_str!("../contender.toml");
    let loads = LOADS.split_whitespace().collect::<Vec<_>>().join(" ");
    let loading =
        as_it_is.replace(r#""-run", "hello""#, &format!(r#""-eval", '{loads}', "-run", "hello""#));
    assert_ne!(loading, as_it_is, "contender.toml starts the server otherwise");
    for (name, text) in [("warm", as_it_is), ("loading", &loading)] {
        lab.write(&format!("studies/s/{name}/contender.toml"), text);
        lab.write(&format!("studies/s/{name}/hello.erl"), include_str!("../hello.erl"));
    }
    // Without its variants.
    let said = lab.bakeoff(&["run", "s", "--only", "warm,loading"]);
    let run = lab.run();
    let (warm, verdict) = seen(&run, "warm");
    assert_eq!(verdict, Verdict::Valid, "{warm:?}\n{}", said.stderr);
    let (loading, verdict) = seen(&run, "loading");
    if loading.code_bytes == Some(0) {
        return skipped("skipped in part", "this emulator interprets");
    }
    assert_eq!(verdict, Verdict::Suspect, "{loading:?}\n{}", said.stderr);
    lab.assert_nothing_is_left();
}
