//! Was the contender's virtual machine warm, and its heap large enough?

use result::evidence::{Collects, Compiles, Runtime};
use result::finding::Verdict;

use super::{Check, Scope, Seen, Word, percent};

/// Share of the contender's CPU time that compiling may take.
const COMPILING_SUSPECT: f64 = 0.1;
/// From here on it is mostly the compiler that is measured.
const COMPILING_INVALID: f64 = 0.5;
/// Share of all compiled code that may be new, where a module is compiled when it
/// is loaded. Erlang/OTP 25 took 30 to 50 µs of CPU for each KiB of code, so for a
/// tenth of a small server's 4 MiB some 20 ms: 1 % of two seconds on one core.
const NEW_CODE_SUSPECT: f64 = 0.1;
/// Share of the window that the application may stand still for collections.
const COLLECTING_SUSPECT: f64 = 0.1;

pub(super) const RUNTIME: Check = Check {
    id: "runtime",
    signal: "Of a contender on a virtual machine that can be told from outside: CPU time of its compiler threads by all its CPU time, or, where it compiles a module once as it is loaded, the code that came within the window by all of it; and the share of the window that it stood still for garbage collection.",
    threshold: "compiling less than 10 %, invalid from 50 %, or new code less than 10 %; standing still less than 10 %",
    why: "Code that is still being compiled is slower than it will be, and its compiler takes time from it: in 2009, 1 and 10 million loops gave Thrift figures 1.6 times apart. Below 10 % both effects are within what `steady` allows. A machine that compiles once at load is warm when it has loaded its modules: a rare request may need a few more, but one that gets a tenth of its code within the window is still starting. A heap so small that a tenth of the time goes into collecting it is a setting, not the server.",
    fix: "Warm up for longer (`warmup_s` of the contender or the profile); load modules at the start; give the virtual machine a larger heap.",
    scope: Scope::Trial(look),
};

fn look(seen: &Seen) -> Word {
    let Some(load) = seen.load() else { return Word::no_load() };
    let server = &seen.evidence.server;
    if server.thread_groups.is_empty() {
        return Word::not_checked("The contender's threads couldn't be told apart.");
    }
    let Some(runtime) = &server.runtime else {
        return Word::valid("none found", "No thread of a known virtual machine was seen.");
    };
    let compiling = match runtime.compiles {
        Some(Compiles::AtLoad) => loading(runtime),
        Some(Compiles::WhileRunning) | None => compiling(runtime, seen.evidence.server_cpu_s),
    };
    let collecting = collecting(runtime, load.seconds);
    let value = format!("{}, {}", compiling.value, collecting.value);
    let worst = if collecting.verdict > compiling.verdict { collecting } else { compiling };
    match worst.verdict {
        Verdict::NotChecked => {
            Word::not_checked(format!("{} doesn't tell all of it: {value}.", runtime.name))
        }
        _ => Word { value, ..worst },
    }
}

/// The word on a compiler that works while the contender does.
fn compiling(runtime: &Runtime, server_cpu_s: Option<f64>) -> Word {
    let Some((compiling_s, cpu_s)) = runtime.jit_cpu_s.zip(server_cpu_s) else {
        return unknown("compiling");
    };
    let share = compiling_s / cpu_s;
    let value = format!("compiling {}", percent(share));
    if share >= COMPILING_INVALID {
        Word::invalid(value, "Most of the time went into compiling: it was not warm.")
            .against("compiling less than 10 %, invalid from 50 %")
    } else if share >= COMPILING_SUSPECT {
        Word::suspect(value, "It was still compiling: it was not warm yet.")
            .against("compiling less than 10 %, invalid from 50 %")
    } else {
        Word::valid(value, "Compiling and collecting took a small part.")
    }
}

/// The word on a compiler that works when a module is loaded.
fn loading(runtime: &Runtime) -> Word {
    let Some((new, all)) = runtime.code_grown_bytes.zip(runtime.code_bytes) else {
        return unknown("new code");
    };
    // An interpreter makes none.
    let share = new as f64 / all.max(1) as f64;
    let value = format!("new code {}", percent(share));
    if share >= NEW_CODE_SUSPECT {
        Word::suspect(
            value,
            "It was still loading modules, and compiling them: it was not warm yet.",
        )
        .against("new code less than 10 %")
    } else {
        Word::valid(
            value,
            "Its code was compiled before, and a collection stops one of its processes only.",
        )
    }
}

fn collecting(runtime: &Runtime, window_s: f64) -> Word {
    if runtime.collects == Some(Collects::OneProcess) {
        return Word::valid("never standing still as a whole", "");
    }
    let Some(pause_s) = runtime.gc_pause_s else { return unknown("standing still") };
    let share = pause_s / window_s;
    let value = format!("standing still {}", percent(share));
    if share >= COLLECTING_SUSPECT {
        Word::suspect(value, "Much of the time went into garbage collection.")
            .against("standing still less than 10 %")
    } else {
        Word::valid(value, "")
    }
}

fn unknown(what: &str) -> Word {
    Word { value: format!("{what} unknown"), ..Word::not_checked("") }
}

#[cfg(test)]
mod tests {
    use result::finding::Finding;

    use super::super::tests::word_after;
    use super::*;

    /// The word on a virtual machine with these seconds, of 3.96 s of CPU time
    /// and 4 s of window.
    fn with(jit_cpu_s: Option<f64>, gc_pause_s: Option<f64>) -> Verdict {
        word_after(&RUNTIME, |evidence| {
            let name = "A VM".into();
            evidence.server.runtime =
                Some(Runtime { name, gc_pause_s, jit_cpu_s, ..Runtime::default() });
        })
        .verdict
    }

    #[test]
    fn compiling_casts_doubt_and_hardly_anything_else_is_invalid() {
        assert_eq!(with(Some(0.3), Some(0.0)), Verdict::Valid);
        assert_eq!(with(Some(0.4), Some(0.0)), Verdict::Suspect);
        assert_eq!(with(Some(2.0), Some(0.0)), Verdict::Invalid);
    }

    #[test]
    fn a_heap_that_is_collected_all_the_time_casts_doubt() {
        assert_eq!(with(Some(0.0), Some(0.3)), Verdict::Valid);
        assert_eq!(with(Some(0.0), Some(0.4)), Verdict::Suspect);
    }

    #[test]
    fn a_virtual_machine_that_doesnt_tell_is_not_checked() {
        assert_eq!(with(None, Some(0.0)), Verdict::NotChecked);
        assert_eq!(with(Some(0.0), None), Verdict::NotChecked);
        let word = word_after(&RUNTIME, |evidence| evidence.server.thread_groups.clear());
        assert_eq!(word.verdict, Verdict::NotChecked);
    }

    /// The word on a virtual machine that compiles at load and collects one process
    /// at a time: so much code it has, and so much of it is new.
    fn at_load(code_bytes: Option<u64>, code_grown_bytes: Option<u64>) -> Finding {
        word_after(&RUNTIME, |evidence| {
            evidence.server.runtime = Some(Runtime {
                name: "A VM".into(),
                compiles: Some(Compiles::AtLoad),
                collects: Some(Collects::OneProcess),
                code_bytes,
                code_grown_bytes,
                ..Runtime::default()
            });
        })
    }

    #[test]
    fn modules_that_are_still_loaded_cast_doubt_where_that_is_when_they_are_compiled() {
        let word = at_load(Some(8_000_000), Some(800_000));
        assert_eq!(word.verdict, Verdict::Suspect);
        assert_eq!(word.value, "new code 10.0 %, never standing still as a whole");
        assert_eq!(at_load(Some(8_000_000), Some(799_000)).verdict, Verdict::Valid);
        assert_eq!(at_load(Some(8_000_000), Some(0)).verdict, Verdict::Valid);
        assert_eq!(at_load(Some(0), Some(0)).verdict, Verdict::Valid, "it interprets");
        assert_eq!(at_load(Some(8_000_000), None).verdict, Verdict::NotChecked);
        assert_eq!(at_load(None, None).verdict, Verdict::NotChecked);
    }

    #[test]
    fn a_virtual_machine_of_an_older_run_is_judged_by_what_it_told() {
        let older = |json| {
            let runtime: Runtime = serde_json::from_str(json).expect("older runs are read");
            word_after(&RUNTIME, |evidence| evidence.server.runtime = Some(runtime.clone())).verdict
        };
        let erlang = r#"{"name": "Erlang VM", "gc_pause_s": null, "jit_cpu_s": null}"#;
        assert_eq!(older(erlang), Verdict::NotChecked);
        let jvm = r#"{"name": "HotSpot", "gc_pause_s": 0.01, "jit_cpu_s": 0.1}"#;
        assert_eq!(older(jvm), Verdict::Valid);
    }
}
