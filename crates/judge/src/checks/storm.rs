//! Are all back after a storm, and is the order kept?

use result::scripts::{AfterStorm, Played, StormEnding, StormPlayed};

use super::check::{Check, Scope, Word};

pub(super) const STORM: Check = Check {
    id: "storm",
    signal: "Of gateways that scripts were played with: all robots ended their connections at once and all came back, once by closing and once by a reset. How many were in their rooms again within 5 s, and what came afterwards out of order, twice or never.",
    threshold: "nothing out of order, twice or missing; all back",
    why: "When a network fails for a moment, all players of a game lose their connections at once, and all come back at once. A gateway that still sends to members who left does so in vain, and one that takes a new connection for an old one sends a message twice or to nobody. Then it doesn't do the job that it was timed at, so its figures are invalid. One that can't take all back in 5 s has a short listen queue, or does much for each that joins. Its figures are of robots that had time to come, which is suspect.",
    fix: "Read what was seen (`scripts` in `run.json`). Where robots were refused or had to send SYN again, raise the listen queue (`listen(2)`, `net.core.somaxconn`); where they were slow to join, look for what each one costs.",
    scope: Scope::Row(|row| {
        let played = &row.scripts?.storms;
        let may_lose = row.scripts?.may_lose;
        let words = played.iter().map(|storm| look(storm, may_lose));
        words.reduce(|worst, word| if word.verdict > worst.verdict { word } else { worst })
    }),
};

fn look(storm: &StormPlayed, may_lose: bool) -> Word {
    let how = match storm.ending {
        StormEnding::Fin => "after all closed",
        StormEnding::Reset => "after a reset of all",
    };
    let seen = match &storm.after {
        Played::Failed(why) => {
            return Word::invalid(
                format!("failed {how}"),
                format!("In a storm, or before it, the gateway failed: {why}."),
            );
        }
        Played::Seen(seen) => seen,
    };
    let AfterStorm { ended, back, within_s, out_of_order, duplicates, .. } = seen;
    let missing = if may_lose { 0 } else { seen.missing };
    let value = format!("{back} of {ended} back {how}");
    if out_of_order + duplicates + missing > 0 {
        let first = seen.first_missing.as_ref().filter(|_| missing > 0);
        let first =
            first.map_or(String::new(), |first| format!(" The first that never came: {first}."));
        let says = format!(
            "Afterwards {out_of_order} deliveries came out of order and {duplicates} twice, and \
             {missing} never came.{first}"
        );
        return Word::invalid(value, says);
    }
    if back < ended {
        let left = ended - back;
        let says = format!("{left} robots weren't in their rooms again within {within_s} s.");
        return Word::suspect(value, says);
    }
    Word::valid(value, "All came back, and all that was said afterwards came once and in order.")
}

#[cfg(test)]
mod tests {
    use result::finding::{Finding, Verdict};
    use result::scripts::ScriptsSeen;

    use super::super::sound::{field, scripts};
    use super::*;

    /// What is said where the second of two storms was like this.
    fn word(may_lose: bool, change: impl FnOnce(&mut AfterStorm)) -> Finding {
        let sound = AfterStorm { ended: 200, back: 200, within_s: 5.0, ..AfterStorm::default() };
        let mut second = sound.clone();
        change(&mut second);
        let played = |ending, seen| StormPlayed { ending, after: Played::Seen(seen) };
        let storms = vec![played(StormEnding::Fin, sound), played(StormEnding::Reset, second)];
        let mut field = field();
        field.scripts = Some(ScriptsSeen { storms, may_lose, ..scripts("a") });
        field.word(&STORM, "a")
    }

    /// Else a gateway whose rooms are in disorder after a moment's failure passes for sound.
    #[test]
    fn what_is_not_in_order_after_a_storm_makes_the_figures_invalid() {
        for change in [
            (|seen| seen.out_of_order = 1) as fn(&mut AfterStorm),
            |seen| seen.duplicates = 1,
            |seen| seen.missing = 1,
        ] {
            let found = word(false, change);
            assert_eq!(found.verdict, Verdict::Invalid, "{found:?}");
            assert_eq!(found.value, "200 of 200 back after a reset of all");
        }
        let missing = |seen: &mut AfterStorm| {
            (seen.missing, seen.first_missing) = (3, Some("message 5 of robot 0".into()));
        };
        assert!(word(false, missing).says.contains("message 5 of robot 0"));
        assert_eq!(word(true, missing).verdict, Verdict::Valid, "it may lose some");
    }

    #[test]
    fn robots_that_do_not_come_back_cast_doubt() {
        let found = word(false, |seen| seen.back = 150);
        assert_eq!(found.verdict, Verdict::Suspect);
        assert_eq!(found.says, "50 robots weren't in their rooms again within 5 s.");
    }

    #[test]
    fn all_that_came_back_is_valid_and_nothing_is_said_where_nothing_was_played() {
        assert_eq!(word(false, |_| {}).verdict, Verdict::Valid);
        assert!(field().word_if_any(&STORM, "a").is_none());
        let mut field = field();
        let after = Played::Failed("it ended with exit code 1 during a script".into());
        let storms = vec![StormPlayed { ending: StormEnding::Fin, after }];
        field.scripts = Some(ScriptsSeen { storms, ..scripts("a") });
        let failed = field.word(&STORM, "a");
        assert_eq!((failed.verdict, &*failed.value), (Verdict::Invalid, "failed after all closed"));
    }
}
