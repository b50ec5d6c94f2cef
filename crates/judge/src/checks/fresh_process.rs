//! Was the contender measured from its start on, and did it find what others left?

use result::evidence::SharedFolder;

use super::check::{Check, Scope, Word};

pub(super) const FRESH_PROCESS: Check = Check {
    id: "fresh-process",
    signal: "Whether the trial started the contender itself, or it was running already. Where all trials are started in one folder: whether a file in it was made, changed or removed since the first trial began.",
    threshold: "a process of its own in each trial, and a folder as it was",
    why: "A server that was running already has a past that nobody saw: its caches, its memory, its compiled code, the load of the trial before. Two servers may differ by their past as much as by their code. Nor is it known which processors each has, and what CPU time it takes. A file that one trial leaves behind, such as a cache or a database, is the next one's past.",
    fix: "Give `bakeoff duel` the command that starts the server, instead of its URL. Have a command keep its files in `$DIR`, which is a folder of each trial's own.",
    scope: Scope::Anyway(|seen| {
        let process = &seen.evidence.process;
        if process.runs_already {
            let says =
                "The contender ran before the trial: what it went through until then isn't known.";
            let advice = "Give the command that starts it, instead of its URL.";
            return Some(Word::not_checked(says).advise(advice));
        }
        match process.shared_folder.as_ref()? {
            SharedFolder::AsItWas => None,
            SharedFolder::Changed(what) => Some(
                Word::not_checked(format!(
                    "The folder that all trials are started in has changed since the first one \
                     began ({what}): what an earlier one left there isn't known."
                ))
                .advise("Have the command keep its files in `$DIR`, a folder of each trial's own."),
            ),
            SharedFolder::Unknown(why) => Some(Word::not_checked(format!(
                "Whether the folder that all trials are started in has changed isn't known: {why}."
            ))),
        }
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

    #[test]
    fn of_a_folder_that_changed_between_trials_it_is_said() {
        let of = |folder: SharedFolder| {
            let (slot, mut evidence) = sound();
            evidence.process.shared_folder = Some(folder);
            word_if_any(&FRESH_PROCESS, &slot, &evidence)
        };
        assert_eq!(of(SharedFolder::AsItWas), None);
        let changed = of(SharedFolder::Changed("cache.db".into())).unwrap();
        assert_eq!(changed.verdict, Verdict::NotChecked);
        assert!(changed.says.contains("cache.db"), "{}", changed.says);
        let unknown = of(SharedFolder::Unknown("it is large".into())).unwrap();
        assert_eq!(unknown.verdict, Verdict::NotChecked);
    }
}
