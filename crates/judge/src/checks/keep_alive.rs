//! Were kept connections kept?

use super::check::{Check, Load, Scope, Word};

/// One in so many answers may end its connection.
const CUTS_SUSPECT: f64 = 1.0 / 2_000.0;
/// From here on it is another load.
const CUTS_INVALID: f64 = 1.0 / 10.0;

pub(super) const KEEP_ALIVE: Check = Check {
    id: "keep-alive",
    signal: "Where connections are kept: how many of them the server ended, after an answer or in place of the next, by good answers. Connections that it broke off within an answer are errors.",
    threshold: "fewer than 1 in 2,000 answers, invalid from 1 in 10",
    why: "A new connection costs client and server several times what an answer costs. A server that cuts one in 2,000 answers loses some tenths of a per cent, as much as identical entries differ by. A limit of requests a connection also cuts all connections at about the same time. One in 10 is nearer to a load without keep-alive.",
    fix: "Lift the server's limit of requests a connection, or its time limit (nginx: `keepalive_requests`), or compare it with others that cut as well.",
    scope: Scope::Trial(|seen, _| {
        // A robot that is cut stays away, which `deliveries` tells.
        let may_be_cut = seen.slot.setting.kept() && !seen.kind.passes_on();
        seen.under_load(|load| may_be_cut.then(|| look(load)))
    }),
};

fn look(load: &Load) -> Word {
    let Some(cut) = load.client.cut else {
        return Word::not_checked("Nobody counted the connections that the server ended.");
    };
    if cut == 0 {
        return Word::valid("none cut", "Every connection was kept.");
    }
    let cuts = cut as f64 / load.client.good.max(1) as f64;
    let value = format!("{cut} cut, 1 in {:.0} answers", 1.0 / cuts);
    if cuts >= CUTS_INVALID {
        Word::invalid(value, "Connections were hardly kept: this is another load.")
    } else if cuts >= CUTS_SUSPECT {
        Word::suspect(value, "The server cut connections that were to be kept.")
    } else {
        Word::valid(value, "Connections were kept but for a few.")
    }
}

#[cfg(test)]
mod tests {
    use result::finding::Verdict;

    use super::super::sound::{of_one_request_each, word_after_load, word_if_any};
    use super::*;

    #[test]
    fn cut_connections_cast_doubt_and_many_make_the_figures_invalid() {
        let with = |count| word_after_load(&KEEP_ALIVE, |load| load.client.cut = Some(count));
        assert_eq!(with(99).verdict, Verdict::Valid);
        assert_eq!(with(200).verdict, Verdict::Suspect, "a limit of 1,000 requests must show");
        assert_eq!(with(200).value, "200 cut, 1 in 1000 answers");
        assert_eq!(with(20_000).verdict, Verdict::Invalid);
    }

    #[test]
    fn connections_that_the_client_gave_up_were_not_cut() {
        let word = word_after_load(&KEEP_ALIVE, |load| {
            (load.client.reconnects, load.client.cut) = (200, Some(0))
        });
        assert_eq!(word.verdict, Verdict::Valid);
    }

    #[test]
    fn runs_in_which_nobody_counted_are_not_checked() {
        let word = word_after_load(&KEEP_ALIVE, |load| load.client.cut = None);
        assert_eq!(word.verdict, Verdict::NotChecked);
    }

    #[test]
    fn connections_that_were_not_to_be_kept_may_be_opened_again() {
        let (slot, mut evidence) = of_one_request_each();
        evidence.clients[0].reconnects = 200_000;
        assert_eq!(word_if_any(&KEEP_ALIVE, &slot, &evidence), None);
    }
}
