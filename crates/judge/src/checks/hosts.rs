//! Did all hosts offer their part of the load, at the same time?

use result::evidence::HostSide;

use super::check::{Check, Scope, TrialSeen, Word, percent};

/// Clocks that may be apart by more than this share of the window cast doubt on a sum of rates.
const APART_SUSPECT: f64 = 1e-3;
/// From here on the hosts' windows aren't one.
const APART_INVALID: f64 = 1e-2;
/// A host that began so late, in µs, wasn't there when the others were.
const LATE_US_MAX: f64 = 1_000.0;
/// In a closed loop a host with less than this share of another's answers a connection is held up by
/// its own link or machine.
const ALIKE_SHARE_MIN: f64 = 0.5;
/// Hosts aren't equally far from the contender where their fastest answers are apart by so many
/// times, and by so many µs.
const FARTHER_TIMES: f64 = 2.0;
const FARTHER_BY_US: f64 = 200.0;

const NONE_LOST: &str = "none lost";

pub(super) const HOSTS: Check = Check {
    id: "hosts",
    signal: "Of a load from several hosts: whether each told what it saw; how well its clock was known, and how far it moved; how much later than planned it began; its fastest answer. In a closed loop also its answers a connection.",
    threshold: "none lost; clocks known within a thousandth of the window, invalid from a hundredth on; begun within 1 ms of the plan; in a closed loop each with half of another's answers a connection; the fastest answers of two hosts apart by less than twice, or by less than 200 µs",
    why: "A load that was to come from three hosts and came from two is another load. Hosts measure times by their own clocks, and no time of an answer goes from one clock to another. But rates are added, so that the hosts' windows have to be one: a window that lies elsewhere by a thousandth adds a thousandth of its answers wrongly at most. A host that begins late leaves the others alone with the contender. In a closed loop a contender serves all connections alike. So a host with far fewer answers is held up by its own link or machine, and the sum is less than the contender can do. Where hosts aren't equally far, a percentile of all is one of several networks.",
    fix: "See why the host was lost: its last words are in the sentence. For clocks, measure for longer, or reach the host by a shorter way. For distance, use hosts of one network.",
    scope: Scope::Anyway(look),
};

fn look(seen: &TrialSeen) -> Option<Word> {
    let hosts: Vec<&HostSide> = seen.evidence.hosts().collect();
    let number = hosts.len();
    if number == 0 {
        return None;
    }
    let found = lost(&hosts)
        .or_else(|| apart(&hosts, seen.work()?.seconds))
        .or_else(|| late(&hosts))
        .or_else(|| slower(&hosts).filter(|_| !seen.is_open_loop()))
        .or_else(|| unequally_far(&hosts));
    Some(found.unwrap_or_else(|| {
        let says = "Each host offered its part, at the same time as the others.";
        Word::valid(format!("{number} there, none lost"), says)
    }))
}

fn lost(hosts: &[&HostSide]) -> Option<Word> {
    let lost: Vec<(&str, &str)> =
        hosts.iter().filter_map(|host| Some((&*host.name, host.lost.as_deref()?))).collect();
    let (name, why) = *lost.first()?;
    let says = format!("Host {name} was lost: {why}. This is another load.");
    Some(Word::invalid(format!("{} of {} lost", lost.len(), hosts.len()), says).against(NONE_LOST))
}

fn apart(hosts: &[&HostSide], seconds: f64) -> Option<Word> {
    let farthest = hosts.iter().max_by(|a, b| a.apart_us().total_cmp(&b.apart_us()))?;
    let share = farthest.apart_us() / 1e6 / seconds;
    let value = format!("host {} by {} of the window", farthest.name, percent(share));
    if share > APART_INVALID {
        Some(Word::invalid(value, "The hosts' windows aren't one, as far as their clocks tell."))
    } else if share > APART_SUSPECT {
        let says = "A host's window may lie elsewhere than the others'.";
        Some(Word::suspect(value, says).off_by(1.0 + share))
    } else {
        None
    }
}

fn late(hosts: &[&HostSide]) -> Option<Word> {
    let latest = hosts.iter().max_by(|a, b| a.began_late_us.total_cmp(&b.began_late_us))?;
    (latest.began_late_us > LATE_US_MAX).then(|| {
        let value = format!("host {} {:.1} ms late", latest.name, latest.began_late_us / 1e3);
        Word::suspect(value, "A host began late: until then the load was less.")
    })
}

fn slower(hosts: &[&HostSide]) -> Option<Word> {
    let each = |host: &HostSide| host.done as f64 / f64::from(host.side.connections_asked.max(1));
    let most = hosts.iter().map(|host| each(host)).fold(0.0, f64::max);
    let slowest = hosts.iter().min_by(|a, b| each(a).total_cmp(&each(b)))?;
    (each(slowest) < ALIKE_SHARE_MIN * most).then(|| {
        let share = percent(each(slowest) / most);
        let says = "A host's link or machine was the limit of its part: the server can do more.";
        let value = format!("host {} {share} of another's answers a connection", slowest.name);
        Word::suspect(value, says)
    })
}

fn unequally_far(hosts: &[&HostSide]) -> Option<Word> {
    let fastest = || hosts.iter().filter_map(|host| Some((&host.name, host.fastest_us?)));
    let near = fastest().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let far = fastest().max_by(|a, b| a.1.total_cmp(&b.1))?;
    (far.1 > near.1 * FARTHER_TIMES && far.1 > near.1 + FARTHER_BY_US).then(|| {
        let value = format!("{} {:.0} µs, {} {:.0} µs", near.0, near.1, far.0, far.1);
        Word::suspect(value, "The hosts aren't equally far: percentiles are of several networks.")
    })
}

#[cfg(test)]
mod tests {
    use result::evidence::Evidence;
    use result::finding::{Finding, Verdict};

    use super::super::sound::{on_hosts, sound, word_after, word_if_any};
    use super::*;

    fn after(change: impl FnOnce(&mut [HostSide])) -> Finding {
        word_after(&HOSTS, |evidence: &mut Evidence| {
            on_hosts(evidence, 3);
            change(&mut evidence.clients[0].hosts);
        })
    }

    #[test]
    fn a_load_of_one_client_has_no_hosts_to_speak_of() {
        let (slot, evidence) = sound();
        assert_eq!(word_if_any(&HOSTS, &slot, &evidence), None);
        assert_eq!(after(|_| {}).verdict, Verdict::Valid);
    }

    /// Else the load of two hosts would pass for that of three.
    #[test]
    fn a_lost_host_makes_the_figures_invalid_by_its_name() {
        let word = after(|hosts| hosts[1].lost = Some("its pipe closed".into()));
        assert_eq!(word.verdict, Verdict::Invalid);
        assert!(word.says.starts_with("Host c2 was lost: its pipe closed"), "{}", word.says);
    }

    #[test]
    fn clocks_that_are_little_known_cast_doubt_and_then_leave_no_common_window() {
        // The window is 4 s long.
        let with = |within_us: f64, drift_us: f64| {
            after(|hosts| {
                hosts[2].clock_within_us = within_us;
                hosts[2].drift_us = Some(drift_us);
            })
            .verdict
        };
        assert_eq!(with(3_000.0, -900.0), Verdict::Valid);
        assert_eq!(with(3_000.0, -1_100.0), Verdict::Suspect);
        assert_eq!(with(50_000.0, 0.0), Verdict::Invalid);
    }

    /// Else what a narrow link lets through would pass for what the contender can do.
    #[test]
    fn a_host_with_far_fewer_answers_than_another_is_named() {
        let with =
            |share: f64| after(|hosts| hosts[1].done = (share * hosts[0].done as f64) as u64);
        assert_eq!(with(0.6).verdict, Verdict::Valid);
        let word = with(0.1);
        assert_eq!(word.verdict, Verdict::Suspect);
        assert!(word.value.starts_with("host c2 10.0 %"), "{}", word.value);
    }

    #[test]
    fn a_host_that_begins_late_or_is_farther_away_is_named() {
        let word = after(|hosts| hosts[0].began_late_us = 1_500.0);
        assert_eq!((word.verdict, &*word.value), (Verdict::Suspect, "host c1 1.5 ms late"));
        let word = after(|hosts| hosts[0].fastest_us = Some(900.0));
        assert_eq!(word.verdict, Verdict::Suspect);
        assert!(word.value.contains("c1 900 µs"), "{}", word.value);
    }
}
