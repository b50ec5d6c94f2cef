//! Was the contender's virtual machine warm, and its heap large enough?

use super::{Check, Scope, Seen, Word, percent};

/// Share of the contender's CPU time that compiling may take.
const COMPILING_SUSPECT: f64 = 0.1;
/// From here on it is mostly the compiler that is measured.
const COMPILING_INVALID: f64 = 0.5;
/// Share of the window that the application may stand still for collections.
const COLLECTING_SUSPECT: f64 = 0.1;

pub(super) const RUNTIME: Check = Check {
    id: "runtime",
    signal: "Of a contender on a virtual machine that can be told from outside: CPU time of its compiler threads by all its CPU time, and the share of the window that it stood still for garbage collection.",
    threshold: "compiling less than 10 %, invalid from 50 %; standing still less than 10 %",
    why: "Code that is still being compiled is slower than it will be, and its compiler takes time from it: in 2009, 1 and 10 million loops gave Thrift figures 1.6 times apart. Below 10 % both effects are within what `steady` allows. A heap so small that a tenth of the time goes into collecting it is a setting, not the server.",
    fix: "Warm up for longer (`warmup_s` of the contender or the profile); give the virtual machine a larger heap.",
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
    let compiling = runtime.jit_cpu_s.zip(seen.evidence.server_cpu_s).map(|(a, b)| a / b);
    let collecting = runtime.gc_pause_s.map(|pause_s| pause_s / load.seconds);
    let told = |share: Option<f64>| share.map_or("unknown".into(), percent);
    let value = format!("compiling {}, standing still {}", told(compiling), told(collecting));
    if compiling.is_some_and(|share| share >= COMPILING_INVALID) {
        Word::invalid(value, "Most of the time went into compiling: it was not warm.")
            .against("compiling less than 10 %, invalid from 50 %")
    } else if compiling.is_some_and(|share| share >= COMPILING_SUSPECT) {
        Word::suspect(value, "It was still compiling: it was not warm yet.")
            .against("compiling less than 10 %, invalid from 50 %")
    } else if collecting.is_some_and(|share| share >= COLLECTING_SUSPECT) {
        Word::suspect(value, "Much of the time went into garbage collection.")
            .against("standing still less than 10 %")
    } else if compiling.is_none() || collecting.is_none() {
        Word::not_checked(format!("{} doesn't tell all of it: {value}.", runtime.name))
    } else {
        Word::valid(value, "Compiling and collecting took a small part.")
    }
}

#[cfg(test)]
mod tests {
    use result::evidence::Runtime;
    use result::finding::Verdict;

    use super::super::tests::word_after;
    use super::*;

    /// The word on a virtual machine with these seconds, of 3.96 s of CPU time
    /// and 4 s of window.
    fn with(jit_cpu_s: Option<f64>, gc_pause_s: Option<f64>) -> Verdict {
        word_after(&RUNTIME, |evidence| {
            evidence.server.runtime = Some(Runtime { name: "A VM".into(), gc_pause_s, jit_cpu_s });
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
}
