//! Was the contender measured from its start on?

use super::check::{Check, Scope, Word};

pub(super) const FRESH_PROCESS: Check = Check {
    id: "fresh-process",
    signal: "Whether the trial started the contender itself, or it was running already.",
    threshold: "a process of its own in each trial",
    why: "A server that was running already has a past that nobody saw: its caches, its memory, its compiled code, the load of the trial before. Two servers may differ by their past as much as by their code. Nor is it known which processors each has, and what CPU time it takes.",
    fix: "Give `bakeoff duel` the command that starts the server, instead of its URL.",
    scope: Scope::Anyway(|seen| {
        let says =
            "The contender ran before the trial: what it went through until then isn't known.";
        let advice = "Give the command that starts it, instead of its URL.";
        seen.evidence.process.runs_already.then(|| Word::not_checked(says).advise(advice))
    }),
};

#[cfg(test)]
mod tests {
    use result::finding::Verdict;

    use super::super::sound::{sound, word_after, word_if_any};
    use super::*;

    #[test]
    fn of_a_contender_that_ran_before_it_is_said_that_its_past_isnt_known() {
        let word = word_after(&FRESH_PROCESS, |evidence| evidence.process.runs_already = true);
        assert_eq!(word.verdict, Verdict::NotChecked);
        assert!(!word.fix.is_empty(), "its command would let it be checked");
    }

    #[test]
    fn of_one_that_the_trial_started_nothing_is_said() {
        let (slot, evidence) = sound();
        assert_eq!(word_if_any(&FRESH_PROCESS, &slot, &evidence), None);
    }
}
