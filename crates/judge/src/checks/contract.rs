//! Does the contender do the job?

use result::evidence::ContractStep;

use super::check::{Check, Scope, TrialSeen, Word};

/// The id of the step that a program's sum passes.
const SUM: &str = "sum";

pub(super) const CONTRACT: Check = Check {
    id: "contract",
    signal: "The steps of the contract check before the load, and whether the contender's process lived through the trial.",
    threshold: "every step right, and the process alive to the end",
    why: "A server that leaves out a part of the job is faster for it. In 2009 one that didn't parse HTTP won.",
    fix: "Run `bakeoff check` on the contender, which shows every step and what was seen, and mend the contender.",
    scope: Scope::Anyway(|seen| Some(look(seen))),
};

/// What to do about a contender whose process didn't live through the trial.
const AFTER_A_FAILURE: &str = "Find out from its last lines why it failed: they stand in the report and in `run.json`. Then mend the contender and measure again.";

fn look(seen: &TrialSeen) -> Word {
    let process = &seen.evidence.process;
    if let Some(failure) = &process.failure {
        let last = process.last_words.last().map(|line| format!(" Its last line: {line}"));
        let says = format!("The contender failed: {failure}.{}", last.unwrap_or_default());
        return Word::invalid("failed", says).advise(AFTER_A_FAILURE);
    }
    let steps = &seen.evidence.contract;
    let wrong: Vec<_> =
        steps.iter().filter_map(|step| Some((&step.asked, step.wrong.as_ref()?))).collect();
    match wrong.first() {
        Some((asked, what)) => Word::invalid(
            format!("{} of {} steps wrong", wrong.len(), steps.len()),
            format!("The contender doesn't do the job. It was asked whether it {asked}: {what}."),
        ),
        None if steps.is_empty() => Word::not_checked("The contract was not checked."),
        None if seen.kind.is_asked() => Word::valid(
            format!("{} steps right", steps.len()),
            "The contender does the job that it is compared for.",
        ),
        None => of_a_program(steps),
    }
}

/// A program's own account is held against numbers that only its work gives, where its study
/// has them.
fn of_a_program(steps: &[ContractStep]) -> Word {
    if steps.iter().any(|step| step.id == SUM) {
        Word::valid(
            format!("{} steps right", steps.len()),
            "The contender's clock goes, and its sum is that of the units that it counts.",
        )
    } else {
        Word::not_checked(
            "The contender's clock goes. That it did the work that it counts, nothing shows: its \
             study has no sum.",
        )
        .advise("Tie the work to a number: `sum` of the study's contract.")
    }
}

#[cfg(test)]
mod tests {
    use result::finding::Verdict;
    use result::kind::Kind;

    use super::super::sound::{of_program, word_after};
    use super::*;

    #[test]
    fn a_wrong_step_makes_the_figures_invalid() {
        let word = word_after(&CONTRACT, |evidence| {
            evidence.contract[0].wrong = Some("status 500 instead of 200".into());
        });
        assert_eq!(word.verdict, Verdict::Invalid);
        assert_eq!(word.value, "1 of 1 steps wrong");
        assert!(word.says.contains("status 500 instead of 200"), "{}", word.says);
    }

    #[test]
    fn of_a_process_that_died_the_last_line_is_told() {
        let word = word_after(&CONTRACT, |evidence| {
            evidence.process.failure = Some("it ended with signal 11 under load".into());
            evidence.process.last_words = vec!["listening".into(), "out of range".into()];
        });
        let says =
            "The contender failed: it ended with signal 11 under load. Its last line: out of range";
        assert_eq!(word.says, says);
        assert!(word.fix.starts_with("Find out"), "{}", word.fix);
    }

    #[test]
    fn a_process_that_died_makes_the_figures_invalid() {
        let word = word_after(&CONTRACT, |evidence| {
            evidence.process.failure = Some("it ended with exit code 1".into());
        });
        assert_eq!(word.verdict, Verdict::Invalid);
    }

    /// A clock that goes says nothing of the work.
    #[test]
    fn of_a_program_only_its_sum_shows_that_work_was_done() {
        let verdict = |ids: &[&str]| {
            let (slot, mut evidence) = of_program();
            let step = evidence.contract[0].clone();
            let of = |id: &&str| ContractStep { id: (*id).into(), ..step.clone() };
            evidence.contract = ids.iter().map(of).collect();
            let seen = TrialSeen { kind: Kind::Program, slot: &slot, evidence: &evidence };
            CONTRACT.on_trial(&seen).unwrap().verdict
        };
        assert_eq!(verdict(&["clock", "sum"]), Verdict::Valid);
        assert_eq!(verdict(&["clock"]), Verdict::NotChecked);
    }

    #[test]
    fn a_contract_that_nobody_checked_is_not_valid() {
        let word = word_after(&CONTRACT, |evidence| evidence.contract.clear());
        assert_eq!(word.verdict, Verdict::NotChecked);
    }
}
