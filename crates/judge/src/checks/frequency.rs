//! Did the processors keep their speed?

use result::evidence::CoreSpeed;

use super::{Check, Scope, TrialSeen, Word};

/// How far the lowest may be below the highest.
const DROP_MAX: f64 = 0.1;

pub(super) const FREQUENCY: Check = Check {
    id: "frequency",
    signal: "Of the contender's processor whose frequency changed most: its lowest and its highest frequency within the window. If the machine doesn't report frequencies, or the processors had time to rest: how fast each did a fixed piece of work, just before the load and just after it.",
    threshold: "the lowest within 10 % of the highest",
    why: "The rate of a busy server follows the frequency of its processor. Turbo modes move it by some per cent between trials. A change of more than 10 % within one trial is heat, a power limit, or a governor that hasn't settled. No single number stands for such a trial.",
    fix: "Fix the frequency (governor `performance`, turbo off), cool the machine, or measure for longer.",
    scope: Scope::Machine(|seen, _| Some(look(seen))),
};

fn look(seen: &TrialSeen) -> Word {
    let machine = &seen.evidence.machine;
    match machine.server_cpu_mhz_min.zip(machine.server_cpu_mhz_max) {
        // Processors that have time to rest slow down, which is no fault.
        Some((lowest, highest)) if !seen.is_open_loop() => {
            word(lowest, highest, format!("{lowest:.0} to {highest:.0} MHz"))
        }
        _ => by_yardstick(&seen.evidence.core_speeds),
    }
}

/// From a fixed piece of work, by the processor that changed most.
fn by_yardstick(speeds: &[CoreSpeed]) -> Word {
    let bounds = |it: &CoreSpeed| (it.before.min(it.after), it.before.max(it.after));
    let kept = |it: &CoreSpeed| {
        let (lowest, highest) = bounds(it);
        lowest / highest
    };
    match speeds.iter().min_by(|a, b| kept(a).total_cmp(&kept(b))) {
        None => Word::not_checked("Neither frequency nor speed of the processors is known."),
        Some(most) => {
            let (lowest, highest) = bounds(most);
            let value = format!(
                "{:.0} steps a µs before, {:.0} after, on processor {}",
                most.before, most.after, most.cpu
            );
            word(lowest, highest, value)
        }
    }
}

fn word(lowest: f64, highest: f64, value: String) -> Word {
    if lowest >= (1.0 - DROP_MAX) * highest {
        Word::valid(value, "The processors kept their speed.")
    } else {
        Word::suspect(value, "The processors changed their speed within the window.")
            .off_by(highest / lowest)
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
    fn where_the_machine_doesnt_tell_work_is_timed() {
        let with = |speeds: &[(f64, f64)]| {
            word_after(&FREQUENCY, |evidence| {
                evidence.machine.server_cpu_mhz_min = None;
                let numbered = speeds.iter().enumerate();
                evidence.core_speeds = numbered
                    .map(|(cpu, &(before, after))| CoreSpeed {
                        cpu,
                        before,
                        after,
                        ..CoreSpeed::default()
                    })
                    .collect();
            })
        };
        assert_eq!(with(&[(800.0, 730.0)]).verdict, Verdict::Valid);
        assert_eq!(with(&[(800.0, 700.0)]).verdict, Verdict::Suspect);
        assert_eq!(with(&[(700.0, 800.0)]).verdict, Verdict::Suspect, "it became faster");
        let of_two = with(&[(800.0, 790.0), (800.0, 600.0)]);
        assert_eq!(of_two.verdict, Verdict::Suspect);
        assert_eq!(of_two.value, "800 steps a µs before, 600 after, on processor 1");
        assert_eq!(with(&[]).verdict, Verdict::NotChecked);
    }

    #[test]
    fn processors_that_rest_may_slow_down_but_not_lose_speed() {
        let (slot, mut evidence) = at_half_of_its_maximum();
        evidence.machine.server_cpu_mhz_min = Some(800.0);
        evidence.machine.server_cpu_mhz_max = Some(3_000.0);
        assert_eq!(word_on(&FREQUENCY, &slot, &evidence).verdict, Verdict::Valid);
        evidence.core_speeds[0].after *= 0.8;
        assert_eq!(word_on(&FREQUENCY, &slot, &evidence).verdict, Verdict::Suspect);
    }
}
