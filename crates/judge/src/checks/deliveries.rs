//! Did each message reach all of its room, once, in order and as it was?

use result::evidence::{DeliveriesSeen, ErrorKind};

use super::check::{Check, Load, Scope, Word};

/// The kind of errors that are deliveries which never came.
const MISSING: &str = "missing";

pub(super) const DELIVERIES: Check = Check {
    id: "deliveries",
    signal: "Of servers that pass messages on: deliveries that never came, came twice, came after a later message of the same sender, came to another room, or came with another byte. Members whose connection the server ended. Messages that a broker confirmed to their sender though a member never had them, or didn't confirm. All from the warm-up on.",
    threshold: "none; missing deliveries and members that were cut are suspect where the contender's documentation promises that a message comes once at most",
    why: "A server that leaves a member out has less to do than one that reaches all. So has one that checks no room, and one that sends a message again does other work than is compared. Each message says whose it is, and every byte of it follows from that and the run's seed, so that none can be made up. Messages of one sender that overtake each other tell of a server that has several queues for one member, which its users would have to put in order. A member that is cut misses all that comes after. Some servers promise no more than to try, and throw away what a slow member doesn't take. What they lose is no fault of theirs then, but another work than that of those who lose nothing. A broker that confirms a message tells its sender that it need not say it again: what it confirms and then loses is lost for good.",
    fix: "Read the first of each kind (`deliveries` in `run.json`), and mend the contender; where its documentation promises no more than that a message comes once at most, say so in its contender.toml (`[promises]`), or offer less.",
    scope: Scope::Trial(|seen, _| seen.of_deliveries(look)),
};

fn look(load: &Load, seen: &DeliveriesSeen) -> Option<Word> {
    let value = value(load, seen);
    if load.client.sent == 0 {
        return Some(Word::invalid(value, "Not one message was handed over."));
    }
    let breaches = [
        (seen.leaked, "leaked", "A message came to another room"),
        (seen.wrong, "wrong", "Something came that nobody said"),
        (seen.duplicates, "duplicates", "A message came to a member twice"),
        (seen.out_of_order, "out_of_order", "A message came after a later one of its sender"),
    ];
    if let Some((_, kind, says)) = breaches.into_iter().find(|(count, ..)| *count > 0) {
        return Some(Word::invalid(value, format!("{says}: {}.", first(seen, kind))));
    }
    let lost = if seen.cut > 0 {
        format!("The server ended a member's connection: {}.", first(seen, "cut"))
    } else if seen.confirmed_missing > 0 {
        let first = first(seen, "confirmed_missing");
        format!("A message was confirmed to its sender, and a member never had it: {first}.")
    } else if let Some(missing) = missing(load).next() {
        format!("A member never had a message: {}.", missing.example)
    } else if seen.unconfirmed > 0 {
        "A message was never confirmed to its sender, though others were.".into()
    } else {
        let says = "Each message reached all of its room, once, in order and as it was.";
        return Some(Word::valid(value, says));
    };
    Some(if seen.may_lose {
        let says = format!("{lost} The contender promises no more than to try.");
        Word::suspect(value, says)
    } else {
        Word::invalid(value, lost)
    })
}

/// Deliveries that never came, of the window and of the warm-up.
fn missing<'a>(load: &Load<'a>) -> impl Iterator<Item = &'a ErrorKind> {
    let all = load.work.errors.iter().chain(&load.client.warmup_errors);
    all.filter(|error| error.kind == MISSING)
}

/// What the first of a kind was like.
fn first<'a>(seen: &'a DeliveriesSeen, kind: &str) -> &'a str {
    seen.firsts.get(kind).map_or("what it was like isn't known", String::as_str)
}

/// All that is not 0, beside how many deliveries were due.
fn value(load: &Load, seen: &DeliveriesSeen) -> String {
    let missing = missing(load).map(|error| error.count).sum();
    let counts = [
        (missing, "missing"),
        (seen.duplicates, "twice"),
        (seen.out_of_order, "out of order"),
        (seen.leaked, "to another room"),
        (seen.wrong, "wrong"),
        (u64::from(seen.cut), "members cut"),
        (seen.confirmed_missing, "messages confirmed and missing"),
        (seen.unconfirmed, "messages not confirmed"),
    ];
    let counts = counts.into_iter().filter(|(count, _)| *count > 0);
    let counts: Vec<String> = counts.map(|(count, what)| format!("{count} {what}")).collect();
    let counts = if counts.is_empty() { "none missing".into() } else { counts.join(", ") };
    format!("{counts}, of {} in the window", load.client.sent)
}

#[cfg(test)]
mod tests {
    use result::finding::{Finding, Verdict};

    use super::super::sound::{of_a_gateway, sound, word_if, word_if_any, word_of_a_gateway};
    use super::*;

    fn after(change: impl FnOnce(&mut DeliveriesSeen)) -> Finding {
        word_of_a_gateway(&DELIVERIES, |evidence| change(evidence.deliveries.as_mut().unwrap()))
    }

    fn without(count: u64, may_lose: bool, is_warmup: bool) -> Finding {
        word_of_a_gateway(&DELIVERIES, |evidence| {
            let example = "message 5 of robot 0 didn't come".into();
            let error = ErrorKind { kind: MISSING.into(), count, first_s: 0.1, example };
            if is_warmup {
                evidence.clients[0].warmup_errors.push(error);
            } else {
                evidence.work.as_mut().unwrap().errors.push(error);
            }
            evidence.deliveries.as_mut().unwrap().may_lose = may_lose;
        })
    }

    /// Else a server that leaves some of the work out, or does another, is ranked before one that
    /// does all of it.
    #[test]
    fn a_delivery_that_is_not_as_it_was_said_makes_the_figures_invalid() {
        let count = |change: fn(&mut DeliveriesSeen) -> &mut u64| {
            after(|seen| {
                *change(seen) = 1;
                seen.may_lose = true;
                seen.firsts.insert("leaked".into(), "message 1 came to robot 30".into());
            })
        };
        for word in [
            count(|seen| &mut seen.duplicates),
            count(|seen| &mut seen.out_of_order),
            count(|seen| &mut seen.leaked),
            count(|seen| &mut seen.wrong),
        ] {
            assert_eq!(word.verdict, Verdict::Invalid, "{word:?}");
        }
        let leaked = count(|seen| &mut seen.leaked);
        assert_eq!(leaked.value, "1 to another room, of 200000 in the window");
        assert_eq!(leaked.says, "A message came to another room: message 1 came to robot 30.");
    }

    #[test]
    fn a_delivery_that_never_came_is_invalid_unless_it_was_promised_at_most_once() {
        assert_eq!(without(1, false, false).verdict, Verdict::Invalid);
        assert_eq!(without(1, false, true).verdict, Verdict::Invalid, "in the warm-up, too");
        let promised = without(3, true, false);
        assert_eq!(promised.verdict, Verdict::Suspect);
        assert_eq!(promised.value, "3 missing, of 200000 in the window");
        assert!(promised.says.contains("message 5 of robot 0 didn't come"), "{promised:?}");
    }

    #[test]
    fn a_member_that_is_cut_counts_though_nothing_is_missing_yet() {
        let word = after(|seen| seen.cut = 2);
        assert_eq!(word.verdict, Verdict::Invalid);
        assert_eq!(word.value, "2 members cut, of 200000 in the window");
    }

    /// Else a broker that acknowledges what it throws away costs less than one that keeps its word.
    #[test]
    fn what_is_confirmed_and_missing_or_not_confirmed_speaks_against_a_broker() {
        let lost = after(|seen| {
            (seen.confirmed, seen.confirmed_missing) = (Some(90), 2);
            seen.firsts.insert("confirmed_missing".into(), "message 1 of robot 3".into());
        });
        assert_eq!(lost.verdict, Verdict::Invalid);
        assert_eq!(lost.value, "2 messages confirmed and missing, of 200000 in the window");
        assert!(lost.says.ends_with("a member never had it: message 1 of robot 3."), "{lost:?}");
        let silent = after(|seen| (seen.confirmed, seen.unconfirmed) = (Some(90), 1));
        assert_eq!(silent.verdict, Verdict::Invalid);
        assert_eq!(silent.value, "1 messages not confirmed, of 200000 in the window");
        assert_eq!(after(|seen| seen.confirmed = Some(90)).verdict, Verdict::Valid);
    }

    #[test]
    fn what_reached_all_is_valid_and_what_nobody_saw_is_not_checked() {
        let word = after(|seen| seen.may_lose = true);
        assert_eq!(
            (word.verdict, &*word.value),
            (Verdict::Valid, "none missing, of 200000 in the window")
        );
        let unsaid = word_of_a_gateway(&DELIVERIES, |evidence| evidence.clients[0].sent = 0);
        assert_eq!(unsaid.verdict, Verdict::Invalid);
        let (kind, (slot, mut evidence)) = of_a_gateway();
        evidence.deliveries = None;
        let unseen = word_if(kind, &DELIVERIES, &slot, &evidence).unwrap();
        assert_eq!(unseen.verdict, Verdict::NotChecked);
        let (slot, evidence) = sound();
        assert_eq!(word_if_any(&DELIVERIES, &slot, &evidence), None, "nobody is in a room");
    }
}
