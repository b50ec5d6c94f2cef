//! Was the rate steady?

use super::{Check, Seen, Word, percent};

/// How far the second half's rate may be from the first's.
const CHANGE_MAX: f64 = 0.1;

pub(super) const STEADY: Check = Check {
    id: "steady",
    signal: "Answers in the first half of the window's seconds against those in the second half.",
    threshold: "halves within 10 % of each other",
    why: "A rate that still rises is a warm-up, one that falls a limit that was met on the way (memory, ports, a full queue): no single number stands for either. Up to 10 % is a noisy machine's.",
    fix: "Warm up for longer (`warmup_s` of the contender or the profile), or measure for longer and look at the seconds in the report.",
    look,
};

fn look(seen: &Seen) -> Word {
    let Some(load) = seen.load() else { return Word::no_load() };
    // The last one may be a part of a second.
    let whole = (load.seconds + 0.01) as usize;
    let seconds = &load.per_second[..whole.min(load.per_second.len())];
    let half = seconds.len() / 2;
    if half == 0 {
        return Word::not_checked("The window has no two whole seconds to compare.");
    }
    // Of an odd number, the middle second belongs to neither half.
    let sum = |part: &[result::evidence::Second]| -> f64 {
        part.iter().map(|second| second.good as f64).sum()
    };
    let (first, second) = (sum(&seconds[..half]), sum(&seconds[seconds.len() - half..]));
    if first == 0.0 {
        return Word::invalid("no answer at first", "The first half had no answer.");
    }
    let change = second / first - 1.0;
    let value = format!("{:+.1} %", change * 100.0);
    match change.abs() > CHANGE_MAX {
        true => Word::suspect(
            value,
            format!(
                "The second half {} by more than {}.",
                if change > 0.0 { "rose" } else { "fell" },
                percent(CHANGE_MAX)
            ),
        ),
        false => Word::valid(value, "Both halves of the window tell the same."),
    }
}

#[cfg(test)]
mod tests {
    use result::finding::Verdict;

    use super::super::tests::word_after_load;
    use super::*;

    #[test]
    fn a_rate_that_rises_or_falls_casts_doubt() {
        let with = |good| word_after_load(&STEADY, |load| load.per_second[3].good = good);
        assert_eq!(with(50_000).verdict, Verdict::Valid);
        assert_eq!(with(58_000).verdict, Verdict::Valid, "8 % over both seconds of a half");
        assert_eq!((with(25_000).verdict, &*with(25_000).value), (Verdict::Suspect, "-25.0 %"));
        assert_eq!(with(75_000).verdict, Verdict::Suspect);
    }

    #[test]
    fn a_window_of_less_than_two_seconds_is_not_checked() {
        let word = word_after_load(&STEADY, |load| load.per_second.truncate(1));
        assert_eq!(word.verdict, Verdict::NotChecked);
        let word = word_after_load(&STEADY, |load| load.seconds = 1.5);
        assert_eq!(word.verdict, Verdict::NotChecked);
    }

    #[test]
    fn a_part_of_a_second_at_the_end_is_no_fall() {
        let word = word_after_load(&STEADY, |load| {
            load.seconds = 3.2;
            load.per_second[3].good = 10_000;
        });
        assert_eq!(word.verdict, Verdict::Valid);
    }

    #[test]
    fn a_first_half_without_answers_makes_the_figures_invalid() {
        let word = word_after_load(&STEADY, |load| {
            load.per_second[0].good = 0;
            load.per_second[1].good = 0;
        });
        assert_eq!(word.verdict, Verdict::Invalid);
    }
}
