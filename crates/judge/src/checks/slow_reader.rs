//! Does a gateway do with a slow reader what it promises?

use result::scripts::{Played, ScriptsSeen, SlowPromise, SlowReader, SlowReaderSeen};

use super::check::{Check, Scope, Word};

pub(super) const SLOW_READER: Check = Check {
    id: "slow-reader",
    signal: "Of gateways that scripts were played with: what became of a robot that read nothing for 5 s, and of the others meanwhile, beside what the contender promises (`slow_reader` of `[promises]`).",
    threshold: "as promised, and the others lose nothing; where it promises a bound, that bound is reached",
    why: "A gateway that cuts a slow member off has to notice it. One that keeps all for it has nothing to notice, and one whose senders wait has nothing to keep. So these are different works, and what a figure costs is said of one of them. A gateway that keeps all holds more and more memory, until one slow member is the end of all; one that has the others wait lets one member stop a room. A contender that does something else than its file says is compared as what it isn't, so its figures are invalid. Where it promises to cut or to drop and all came, its bound may lie beyond what the slow robot was owed: that is suspect. A gateway that promises nothing can break nothing, and what it does is told.",
    fix: "Read what was seen (`scripts` in `run.json`), and mend the contender; or say in its contender.toml what it does (`[promises]`, `slow_reader`).",
    scope: Scope::Row(|row| {
        let scripts = row.scripts?;
        Some(match scripts.slow.as_ref()? {
            Played::Failed(why) => {
                let says =
                    format!("While a robot read nothing, or before, the gateway failed: {why}.");
                Word::invalid("failed", says)
            }
            Played::Seen(seen) => look(scripts, seen),
        })
    }),
};

fn look(scripts: &ScriptsSeen, seen: &SlowReaderSeen) -> Word {
    let value = value(seen);
    if seen.others_lost() && !scripts.may_lose {
        let (missing, cut) = (seen.others_missing, seen.others_cut);
        let says = format!(
            "It isn't the slow robot alone that lost something: {missing} deliveries to others \
             never came, and {cut} others were cut."
        );
        return Word::invalid(value, says);
    }
    let promised = scripts.promised.map_or("nothing", promises);
    match scripts.slow_promise() {
        SlowPromise::None => Word::valid(value, format!("{} It promises nothing.", does(seen))),
        SlowPromise::NotKnown => {
            Word::not_checked(format!("{} It promises {promised}.", does(seen)))
        }
        SlowPromise::NotReached => {
            let says = format!(
                "It promises {promised}. {} Its bound, if it has one, lies beyond that.",
                does(seen)
            );
            Word::suspect(value, says)
        }
        SlowPromise::Kept => Word::valid(value, format!("{} So it promises.", does(seen))),
        SlowPromise::Broken => {
            Word::invalid(value, format!("It promises {promised}. {}", does(seen)))
        }
    }
}

/// A promise, as a sentence has it behind *it promises*.
fn promises(word: SlowReader) -> &'static str {
    match word {
        SlowReader::Cuts => "to cut a slow reader",
        SlowReader::Drops => "to drop what a slow reader doesn't take",
        SlowReader::Buffers => "to keep all for a slow reader",
        SlowReader::Blocks => "to have the others wait for a slow reader",
    }
}

/// What it did, in a sentence.
fn does(seen: &SlowReaderSeen) -> String {
    let SlowReaderSeen { owed, came, missing, cut, slow, others_shed, .. } = seen;
    match seen.word {
        Some(SlowReader::Cuts) => {
            format!("It cut {cut} of {slow} slow robots, when {came} of {owed} messages had come.")
        }
        Some(SlowReader::Drops) => {
            format!("{missing} of {owed} messages never came to the slow robot.")
        }
        Some(SlowReader::Buffers) => format!("All {owed} messages came once the robot read again."),
        Some(SlowReader::Blocks) if *others_shed > 0 => {
            format!("Others couldn't speak: messages of {others_shed} deliveries weren't taken.")
        }
        Some(SlowReader::Blocks) => format!("The others had to wait: {}.", waits(seen)),
        None if *owed == 0 => "The slow robot was owed nothing.".into(),
        None => format!(
            "All {owed} messages came, and its memory didn't grow by half of them: where they were \
             meanwhile isn't known."
        ),
    }
}

/// The others' times, before and meanwhile.
fn waits(seen: &SlowReaderSeen) -> String {
    match seen.others_waited_us() {
        Some((percentile, [before, meanwhile])) => format!(
            "their p{percentile} was {:.1} ms before, and {:.1} ms meanwhile",
            before / 1e3,
            meanwhile / 1e3
        ),
        None => "too few of their deliveries came to tell for how long".into(),
    }
}

/// The word, with the others' times.
fn value(seen: &SlowReaderSeen) -> String {
    let word = seen.word.map_or("not known", SlowReader::name);
    format!("{word}; {}", waits(seen))
}

#[cfg(test)]
mod tests {
    use result::evidence::{Percentile, Percentiles};
    use result::finding::{Finding, Verdict};

    use super::super::sound::{field, scripts};
    use super::*;

    fn word(promised: Option<SlowReader>, change: impl FnOnce(&mut SlowReaderSeen)) -> Finding {
        let mut field = field();
        let times = |value| Percentiles {
            at: vec![Percentile { percentile: 99.0, value, at_least: false }],
            ..Percentiles::default()
        };
        let mut seen = SlowReaderSeen {
            robots: 10,
            slow: 1,
            word: Some(SlowReader::Cuts),
            cut: 1,
            owed: 2_000,
            came: 700,
            missing: 1_300,
            others_before_us: times(900.0),
            others_meanwhile_us: times(1_100.0),
            ..SlowReaderSeen::default()
        };
        change(&mut seen);
        let slow = Some(Played::Seen(seen));
        field.scripts = Some(ScriptsSeen { promised, slow, ..scripts("a") });
        field.word(&SLOW_READER, "a")
    }

    /// Else one that keeps everything is ranked among those that have a bound.
    #[test]
    fn another_word_than_was_promised_makes_the_figures_invalid() {
        let broken = word(Some(SlowReader::Buffers), |_| {});
        assert_eq!(broken.verdict, Verdict::Invalid);
        assert_eq!(broken.value, "cuts; their p99 was 0.9 ms before, and 1.1 ms meanwhile");
        assert_eq!(
            broken.says,
            "It promises to keep all for a slow reader. It cut 1 of 1 slow robots, when 700 of \
             2000 messages had come."
        );
        let blocks = word(Some(SlowReader::Cuts), |seen| {
            (seen.word, seen.others_shed) = (Some(SlowReader::Blocks), 40);
        });
        assert_eq!(blocks.verdict, Verdict::Invalid);
        assert!(blocks.says.contains("messages of 40 deliveries weren't taken"), "{blocks:?}");
        assert_eq!(word(Some(SlowReader::Cuts), |_| {}).verdict, Verdict::Valid);
    }

    #[test]
    fn a_bound_that_was_not_reached_casts_doubt_and_a_word_that_is_not_known_is_no_broken_one() {
        let buffers = |seen: &mut SlowReaderSeen| seen.word = Some(SlowReader::Buffers);
        assert_eq!(word(Some(SlowReader::Drops), buffers).verdict, Verdict::Suspect);
        let unknown = word(Some(SlowReader::Cuts), |seen| seen.word = None);
        assert_eq!(unknown.verdict, Verdict::NotChecked);
        assert!(unknown.says.contains("isn't known"), "{unknown:?}");
    }

    #[test]
    fn what_it_does_is_told_without_a_promise_and_nothing_where_nothing_was_played() {
        let told = word(None, |seen| seen.word = Some(SlowReader::Blocks));
        assert_eq!(told.verdict, Verdict::Valid);
        assert!(told.value.starts_with("blocks; "), "{told:?}");
        assert!(field().word_if_any(&SLOW_READER, "a").is_none());
    }

    /// Else a gateway that cuts all of a room keeps its word.
    #[test]
    fn what_others_lose_is_invalid_whatever_was_promised() {
        let cut = word(Some(SlowReader::Cuts), |seen| seen.others_cut = 4);
        assert_eq!(cut.verdict, Verdict::Invalid);
        assert!(cut.says.contains("4 others were cut"), "{cut:?}");
    }

    #[test]
    fn a_gateway_that_fails_meanwhile_is_invalid() {
        let mut field = field();
        let slow = Some(Played::Failed("it ended with SIGKILL (signal 9) during a script".into()));
        field.scripts = Some(ScriptsSeen { slow, ..scripts("a") });
        let failed = field.word(&SLOW_READER, "a");
        assert_eq!(failed.verdict, Verdict::Invalid);
        assert!(failed.says.contains("SIGKILL"), "{failed:?}");
    }
}
