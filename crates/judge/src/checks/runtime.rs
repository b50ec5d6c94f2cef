//! Was the contender's virtual machine warm, and its heap large enough?

use result::evidence::{Collects, Compiles, Runtime, ServerUse, Work};

use super::{Check, Scope, TrialSeen, Word, percent};

/// Share of the contender's CPU time that compiling may take.
const COMPILING_SUSPECT: f64 = 0.1;
/// From here on it is mostly the compiler that is measured.
const COMPILING_INVALID: f64 = 0.5;
/// Share of all code of its own making that may be new. Erlang/OTP 25 took 30 to 50 µs
/// of CPU for each KiB of code, so for a tenth of a small server's 4 MiB some 20 ms:
/// 1 % of two seconds on one core. Node.js 20 had 0 to 3 % in 36 trials whose rate had
/// settled, 18 to 65 % in the first two seconds of load, and 7 to 11 % where its rate
/// still rose.
const NEW_CODE_SUSPECT: f64 = 0.1;
/// Share of the window that the application may stand still for collections.
const COLLECTING_SUSPECT: f64 = 0.1;

pub(super) const RUNTIME: Check = Check {
    id: "runtime",
    signal: "Of a contender on a virtual machine, known by its threads or by machine code of its own making: CPU time of its compiler threads by all its CPU time. If these threads can't be told apart: the code that came within the window, by all of it. And the share of the window that it stood still for garbage collection.",
    threshold: "compiling less than 10 %, invalid from 50 %, or new code less than 10 %; standing still less than 10 %",
    why: "Code that is still being compiled is slower than it will be, and its compiler takes time from it. In 2009, 1 and 10 million loops gave Thrift figures 1.6 times apart. Below 10 % both effects are within what `steady` allows. A runtime that compiles a module when it loads it is warm once all modules are loaded. A rare request may need a few more. But if a tenth of its code comes within the window, it is still starting. The same is true of one that compiles what runs often: Node.js made 18 to 65 % of its code in the first two seconds of load, and 0 to 3 % in two seconds once its rate had settled. A heap so small that a tenth of the time goes into collecting it is a setting, not the server.",
    fix: "Warm up for longer (`warmup_s` of the contender or the profile); load modules at the start; give the virtual machine a larger heap.",
    scope: Scope::Trial(look),
};

fn look(seen: &TrialSeen, work: &Work) -> Option<Word> {
    let server = &seen.evidence.server;
    if server.thread_groups.is_empty() {
        return Some(Word::not_checked("The contender's threads couldn't be told apart."));
    }
    let runtime = server.runtime.as_ref();
    if runtime.is_none() {
        match server.code_bytes {
            // All its machine code came from files: it is on no virtual machine.
            Some(0) => return None,
            Some(_) => {}
            None => {
                let says = "Whether it has machine code of its own making couldn't be read.";
                return Some(Word::not_checked(says));
            }
        }
    }
    let compiling = match runtime {
        Some(Runtime { compiles: Some(Compiles::AtLoad), .. }) | None => new_code(server),
        Some(runtime) => compiling(runtime, seen.evidence.server_cpu_s),
    };
    let collecting = collecting(runtime, work.seconds);
    let value = format!("{}, {}", compiling.value, collecting.value);
    let worst = if collecting.verdict > compiling.verdict { collecting } else { compiling };
    Some(Word { value, ..worst })
}

/// The word on a compiler that works while the contender does.
fn compiling(runtime: &Runtime, server_cpu_s: Option<f64>) -> Word {
    let cpu_s = server_cpu_s.filter(|&it| it > 0.0);
    let Some((compiling_s, cpu_s)) = runtime.jit_cpu_s.zip(cpu_s) else {
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

/// The word on a compiler without a thread of its own, by what it made.
fn new_code(server: &ServerUse) -> Word {
    let Some((new, all)) = server.code_grown_bytes.zip(server.code_bytes) else {
        return unknown("new code");
    };
    // An interpreter makes none.
    let share = new as f64 / all.max(1) as f64;
    let value = format!("new code {}", percent(share));
    if share >= NEW_CODE_SUSPECT {
        Word::suspect(value, "It was still making machine code: it was not warm yet.")
            .against("new code less than 10 %")
    } else {
        Word::valid(
            value,
            "Its code was compiled before, and a collection stops one of its processes only.",
        )
    }
}

fn collecting(runtime: Option<&Runtime>, window_s: f64) -> Word {
    if runtime.is_some_and(|it| it.collects == Some(Collects::OneProcess)) {
        return Word::valid("never standing still as a whole", "");
    }
    let Some(pause_s) = runtime.and_then(|it| it.gc_pause_s) else {
        return unknown("standing still");
    };
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
    let says =
        "A virtual machine of this kind doesn't report this to other programs, so it is unknown.";
    Word { value: format!("{what} unknown"), ..Word::not_checked(says) }
}

#[cfg(test)]
mod tests {
    use result::finding::{Finding, Verdict};

    use super::super::tests::{sound, word_after, word_if_any};
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
        assert_eq!(word.fix, "", "no longer warm-up makes its threads known");
    }

    /// The word on a contender with so much machine code of its own making, so much of
    /// it new, and a virtual machine if one is known.
    fn with_code(all: Option<u64>, new: Option<u64>, runtime: Option<Runtime>) -> Finding {
        word_after(&RUNTIME, |evidence| {
            let server = &mut evidence.server;
            (server.code_bytes, server.code_grown_bytes) = (all, new);
            server.runtime.clone_from(&runtime);
        })
    }

    /// The word on a virtual machine that compiles at load and collects one process
    /// at a time.
    fn at_load(all: Option<u64>, new: Option<u64>) -> Finding {
        let runtime = Runtime {
            name: "A VM".into(),
            compiles: Some(Compiles::AtLoad),
            collects: Some(Collects::OneProcess),
            ..Runtime::default()
        };
        with_code(all, new, Some(runtime))
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
    fn code_of_an_unknown_virtual_machine_casts_doubt_while_it_is_made_and_is_never_valid() {
        let making = with_code(Some(400_000), Some(40_000), None);
        assert_eq!(making.verdict, Verdict::Suspect);
        assert_eq!(making.value, "new code 10.0 %, standing still unknown");
        let made = with_code(Some(400_000), Some(39_000), None);
        assert_eq!(made.verdict, Verdict::NotChecked, "nothing tells of its collections");
        assert_eq!(made.value, "new code 9.8 %, standing still unknown");
    }

    #[test]
    fn only_a_program_that_surely_makes_no_code_has_no_virtual_machine() {
        let (slot, compiled_before) = sound();
        assert_eq!(compiled_before.server.code_bytes, Some(0));
        assert_eq!(word_if_any(&RUNTIME, &slot, &compiled_before), None);
        assert_eq!(with_code(None, None, None).verdict, Verdict::NotChecked);
        assert_eq!(with_code(Some(400_000), None, None).verdict, Verdict::NotChecked);
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
