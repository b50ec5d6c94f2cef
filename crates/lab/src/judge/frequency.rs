//! Did the processors keep their speed?

use super::{Check, Scope, Seen, Word};

/// How far the lowest frequency may be below the highest.
const DROP_MAX: f64 = 0.1;

pub(super) const FREQUENCY: Check = Check {
    id: "frequency",
    signal: "The lowest and the highest frequency seen among the contender's processors within the window.",
    threshold: "the lowest within 10 % of the highest",
    why: "A busy server's rate follows its processor's frequency. Turbo modes move it by some percent between trials; more than 10 % within one is heat, a power limit or a governor that still makes up its mind, and no single number stands for that.",
    fix: "Fix the frequency (governor `performance`, turbo off), cool the machine, or measure for longer.",
    scope: Scope::Trial(look),
};

fn look(seen: &Seen) -> Word {
    if seen.load().is_none() {
        return Word::no_load();
    }
    let machine = &seen.evidence.machine;
    let Some((lowest, highest)) = machine.server_cpu_mhz_min.zip(machine.server_cpu_mhz_max) else {
        return Word::not_checked("The machine doesn't tell its frequency, as virtual ones don't.");
    };
    let value = format!("{lowest:.0} to {highest:.0} MHz");
    if lowest >= (1.0 - DROP_MAX) * highest {
        Word::valid(value, "The processors kept their speed.")
    } else if seen.is_open_loop() {
        Word::not_checked("Processors that have time to rest slow down, which is no fault.")
    } else {
        Word::suspect(value, "The processors changed their speed within the window.")
    }
}

#[cfg(test)]
mod tests {
    use result::finding::Verdict;

    use super::super::tests::{at_half_of_its_maximum, word_after, word_on};
    use super::*;

    #[test]
    fn a_drop_in_frequency_casts_doubt() {
        let with = |lowest| {
            word_after(&FREQUENCY, |evidence| {
                evidence.machine.server_cpu_mhz_min = Some(lowest);
                evidence.machine.server_cpu_mhz_max = Some(3_000.0);
            })
        };
        assert_eq!(with(2_750.0).verdict, Verdict::Valid);
        assert_eq!(with(2_600.0).verdict, Verdict::Suspect);
        assert_eq!(with(2_600.0).value, "2600 to 3000 MHz");
    }

    #[test]
    fn idle_processors_and_those_that_dont_tell_are_not_checked() {
        let (slot, mut evidence) = at_half_of_its_maximum();
        evidence.machine.server_cpu_mhz_min = Some(800.0);
        evidence.machine.server_cpu_mhz_max = Some(3_000.0);
        assert_eq!(word_on(&FREQUENCY, &slot, &evidence).verdict, Verdict::NotChecked);
        let word = word_after(&FREQUENCY, |evidence| evidence.machine.server_cpu_mhz_min = None);
        assert_eq!(word.verdict, Verdict::NotChecked);
    }
}
