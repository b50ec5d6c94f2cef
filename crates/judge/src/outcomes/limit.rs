//! "Why not double?": what kept a contender's rate in the closed loop from being
//! higher. It follows from what the checks found and what was used; where these
//! don't tell, it says so, and names what they rule out.

use result::Trial;
use result::finding::{Finding, Verdict};
use result::outcome::{Limit, LimitedBy};

use crate::checks::{self, CLIENT_LIMIT, CPU_QUOTA, Check, SERVER_CORES};
use histogram::median;

/// The limit of a row with these findings, from these trials.
pub(super) fn limit(findings: &[Finding], trials: &[&Trial]) -> Limit {
    let seen = RowFacts { findings, trials };
    if seen.verdict(&CPU_QUOTA) == Verdict::Invalid {
        let says = format!("A CPU quota was the limit: {}.", seen.value(&CPU_QUOTA));
        return Limit { by: LimitedBy::Quota, says };
    }
    let cores_full = seen.verdict(&SERVER_CORES) == Verdict::Valid && !seen.idled();
    match seen.verdict(&CLIENT_LIMIT) {
        Verdict::Invalid => {
            let says = format!("The client was the limit: {}.", seen.value(&CLIENT_LIMIT));
            return Limit { by: LimitedBy::Client, says };
        }
        Verdict::Suspect => {
            let client = format!("The client was near its limit: {}.", seen.value(&CLIENT_LIMIT));
            let cores = cores_full.then(|| format!(" {}", seen.full_cores()));
            let says = client + &cores.unwrap_or_default();
            return Limit { by: LimitedBy::Client, says };
        }
        Verdict::Valid | Verdict::NotChecked => {}
    }
    if let Some(check) = seen.invalid_for_another_reason() {
        return unknown(format!("The figures are invalid, by `{check}`."));
    }
    if seen.idled() {
        return unknown("Its cores weren't full: it waited, which its study allows.".into());
    }
    if !cores_full {
        return unknown(seen.other_cores());
    }
    let by = if seen.is_shared() { LimitedBy::SharedCores } else { LimitedBy::Cores };
    Limit { by, says: seen.full_cores() }
}

fn unknown(says: String) -> Limit {
    Limit { by: LimitedBy::Unknown, says }
}

/// What there is to see of a row.
struct RowFacts<'a> {
    findings: &'a [Finding],
    trials: &'a [&'a Trial],
}

impl RowFacts<'_> {
    fn finding(&self, check: &Check) -> Option<&Finding> {
        self.findings.iter().find(|finding| finding.check == check.id)
    }

    /// The worst word of a check over the blocks.
    fn verdict(&self, check: &Check) -> Verdict {
        self.finding(check).map_or(Verdict::NotChecked, |finding| finding.verdict)
    }

    fn value(&self, check: &Check) -> &str {
        self.finding(check).map_or("", |finding| &finding.value)
    }

    /// A check that makes the figures invalid, but for those that tell of a limit.
    fn invalid_for_another_reason(&self) -> Option<&str> {
        let others = self.findings.iter().filter(|it| it.check != SERVER_CORES.id);
        others.into_iter().find(|it| it.verdict == Verdict::Invalid).map(|it| &*it.check)
    }

    fn is_shared(&self) -> bool {
        self.trials.iter().any(|trial| trial.evidence.place.shared())
    }

    /// Whether it left cores idle in a study that lets it.
    fn idled(&self) -> bool {
        let idled = self.trials.iter().filter(|trial| checks::was_let_idle(&trial.evidence));
        2 * idled.count() > self.trials.len()
    }

    /// The median over the trials, if all have it.
    fn median(&self, of: impl Fn(&Trial) -> Option<f64>) -> Option<f64> {
        median(&self.trials.iter().map(|trial| of(trial)).collect::<Option<Vec<f64>>>()?)
    }

    /// Says that the cores were full, and with what.
    fn full_cores(&self) -> String {
        let cores = |cpu_s: fn(&Trial) -> Option<f64>| {
            self.median(|trial| {
                let seconds = trial.evidence.work.as_ref()?.seconds;
                (seconds > 0.0).then_some(cpu_s(trial)? / seconds)
            })
        };
        let server = cores(|trial| trial.evidence.contender_cpu_s());
        let client = cores(|trial| trial.evidence.client_cpu_s());
        let given = self.trials.iter().map(|it| it.evidence.place.server_cpus.len()).max();
        let (Some(server), Some(client), Some(given)) = (server, client, given) else {
            return format!("The cores were full: {}.", self.value(&SERVER_CORES));
        };
        let kernel = self.median(|trial| {
            let in_user_mode = trial.evidence.server_cpu_s? - trial.evidence.server.system_cpu_s?;
            let all = trial.evidence.contender_cpu_s().filter(|&it| it > 0.0)?;
            Some(1.0 - in_user_mode / all)
        });
        let kernel = match kernel {
            Some(share) => format!("{:.0} % of that in the kernel", share * 100.0),
            None => "how much of that in the kernel is not known".into(),
        };
        match (self.is_shared(), given) {
            (true, _) => format!(
                "Contender and client filled the {given} cores that they share: the contender used \
                 {server:.2}, {kernel}, the client {client:.2}."
            ),
            (false, 1) => format!("Its core was full: {server:.2} of 1 in use, {kernel}."),
            (false, _) => {
                format!("Its cores were full: {server:.2} of {given} in use, {kernel}.")
            }
        }
    }

    /// Says that the cores were not full, and what that leaves, or that they weren't the
    /// contender's all, or that nobody could see it.
    fn other_cores(&self) -> String {
        let Some(finding) = self.finding(&SERVER_CORES) else {
            return "Whether its cores were full is not known.".into();
        };
        // One that got away from its cores had the time of others.
        if !checks::found_idle_cores(finding, self.trials) {
            return finding.says.clone();
        }
        let word = |what: &str, check: &Check| match self.verdict(check) {
            Verdict::Valid => format!("{what} was not the limit"),
            _ => format!("whether {what} was the limit is not known"),
        };
        format!(
            "{} It used {}; {}, {}. From outside, a lock can't be told from a wait.",
            finding.says,
            finding.value,
            word("the client", &CLIENT_LIMIT),
            word("a CPU quota", &CPU_QUOTA),
        )
    }
}

#[cfg(test)]
mod tests {
    use result::evidence::{ClientSide, Evidence, ServerUse, ThreadUse, Work};
    use result::plan::{self, Cores};

    use super::*;
    use crate::samples::{finding, trial};

    /// Four seconds on one core that was full, half of it in the kernel.
    fn busy() -> Vec<Trial> {
        let load = plan::Setting::closed(100, Cores::One, true);
        (0..2)
            .map(|block| {
                let mut trial = trial("a", block, &load, 1000.0);
                trial.evidence = Evidence {
                    server_cpu_s: Some(3.96),
                    server: ServerUse { system_cpu_s: Some(1.98), ..ServerUse::default() },
                    work: Some(Work { seconds: 4.0, ..Work::default() }),
                    clients: vec![ClientSide { cpu_s: 2.4, ..ClientSide::default() }],
                    ..Evidence::default()
                };
                trial.evidence.place.server_cpus = vec![0];
                trial.evidence.place.client_cpus = vec![1];
                trial
            })
            .collect()
    }

    /// The limit where the checks found this, and nothing against the rest.
    fn limit_of(trials: &[Trial], found: &[(&Check, Verdict, &str, &str)]) -> (LimitedBy, String) {
        let valid =
            [&CLIENT_LIMIT, &CPU_QUOTA, &SERVER_CORES].map(|check| (check, Verdict::Valid, "", ""));
        let mut findings: Vec<Finding> = Vec::new();
        for (check, verdict, value, says) in found.iter().copied().chain(valid) {
            if findings.iter().all(|known| known.check != check.id) {
                let (value, says) = (value.into(), says.into());
                findings.push(Finding { value, says, ..finding(check.id, verdict) });
            }
        }
        let trials: Vec<&Trial> = trials.iter().collect();
        let Limit { by, says } = limit(&findings, &trials);
        (by, says)
    }

    #[test]
    fn full_cores_are_told_with_what_was_spent_in_the_kernel() {
        let (by, says) = limit_of(&busy(), &[]);
        assert_eq!(by, LimitedBy::Cores);
        insta::assert_snapshot!(says, @"Its core was full: 0.99 of 1 in use, 50 % of that in the kernel.");
        let mut unknown = busy();
        unknown[1].evidence.server.system_cpu_s = None;
        insta::assert_snapshot!(limit_of(&unknown, &[]).1, @"Its core was full: 0.99 of 1 in use, how much of that in the kernel is not known.");
    }

    #[test]
    fn shared_cores_are_told_with_what_each_took() {
        let mut trials = busy();
        for trial in &mut trials {
            trial.evidence.place.server_cpus = vec![0, 1];
            trial.evidence.place.client_cpus = vec![0, 1];
        }
        let (by, says) = limit_of(&trials, &[(&CLIENT_LIMIT, Verdict::NotChecked, "", "")]);
        assert_eq!(by, LimitedBy::SharedCores);
        insta::assert_snapshot!(says, @"Contender and client filled the 2 cores that they share: the contender used 0.99, 50 % of that in the kernel, the client 0.60.");
    }

    #[test]
    fn a_client_at_its_limit_is_named_before_the_server() {
        let idle = (&SERVER_CORES, Verdict::Invalid, "0.46 of 1 cores", "");
        let (by, says) =
            limit_of(&busy(), &[(&CLIENT_LIMIT, Verdict::Invalid, "97.9 % busy", ""), idle]);
        assert_eq!(by, LimitedBy::Client);
        insta::assert_snapshot!(says, @"The client was the limit: 97.9 % busy.");
        let (by, says) = limit_of(&busy(), &[(&CLIENT_LIMIT, Verdict::Suspect, "89.5 % busy", "")]);
        assert_eq!(by, LimitedBy::Client);
        insta::assert_snapshot!(says, @"The client was near its limit: 89.5 % busy. Its core was full: 0.99 of 1 in use, 50 % of that in the kernel.");
    }

    #[test]
    fn a_quota_that_held_all_back_is_the_limit() {
        let used_up = "quota of 1.5 cores, used up 9 times for 5.0 % of the window";
        let (by, says) = limit_of(&busy(), &[(&CPU_QUOTA, Verdict::Invalid, used_up, "")]);
        assert_eq!(by, LimitedBy::Quota);
        insta::assert_snapshot!(says, @"A CPU quota was the limit: quota of 1.5 cores, used up 9 times for 5.0 % of the window.");
    }

    #[test]
    fn idle_cores_leave_the_limit_unknown() {
        let says = "The contender left cores idle: something else was the limit.";
        let idle = (&SERVER_CORES, Verdict::Invalid, "1.00 of 2 cores", says);
        let mut trials = busy();
        trials.iter_mut().for_each(|trial| trial.evidence.place.server_cpus = vec![0, 2]);
        let (by, says) = limit_of(&trials, &[idle]);
        assert_eq!(by, LimitedBy::Unknown);
        insta::assert_snapshot!(says, @"The contender left cores idle: something else was the limit. It used 1.00 of 2 cores; the client was not the limit, a CPU quota was not the limit. From outside, a lock can't be told from a wait.");
        let unseen = (&CPU_QUOTA, Verdict::NotChecked, "", "");
        assert!(limit_of(&trials, &[idle, unseen]).1.contains("whether a CPU quota was the limit"));
    }

    /// As a store that waits for its disk.
    #[test]
    fn cores_that_may_be_idle_are_the_limit_only_where_they_were_full() {
        let mut trials = busy();
        trials.iter_mut().for_each(|trial| trial.evidence.may_idle = true);
        assert_eq!(limit_of(&trials, &[]).0, LimitedBy::Cores);
        trials.iter_mut().for_each(|trial| trial.evidence.server_cpu_s = Some(1.5));
        let (by, says) = limit_of(&trials, &[]);
        assert_eq!(by, LimitedBy::Unknown);
        insta::assert_snapshot!(says, @"Its cores weren't full: it waited, which its study allows.");
    }

    #[test]
    fn a_contender_that_got_away_from_its_cores_left_none_idle() {
        let says =
            "The contender left the cores that it was given: one of its threads may run on others.";
        let away = (&SERVER_CORES, Verdict::Invalid, "thread worker on processor 1", says);
        let mut trials = busy();
        for trial in &mut trials {
            let thread = ThreadUse { cpu_s: 2.0, cpus: vec![1], ..ThreadUse::default() };
            trial.evidence.server.threads = vec![thread];
        }
        assert_eq!(limit_of(&trials, &[away]), (LimitedBy::Unknown, says.into()));
        let mut of_two = trials;
        of_two.iter_mut().for_each(|trial| trial.evidence.place.server_cpus = vec![0, 2]);
        assert_eq!(limit_of(&of_two, &[away]).1, says, "whatever it left idle of its own");
    }

    #[test]
    fn nothing_is_guessed_where_a_sensor_is_missing_or_figures_are_invalid() {
        let unseen = "The contender's CPU time is not known.";
        let missing = (&SERVER_CORES, Verdict::NotChecked, "–", unseen);
        assert_eq!(limit_of(&busy(), &[missing]), (LimitedBy::Unknown, unseen.into()));
        let errors = crate::checks::CHECKS.iter().find(|check| check.id == "errors").unwrap();
        let (by, says) = limit_of(&busy(), &[(errors, Verdict::Invalid, "", "")]);
        assert_eq!(by, LimitedBy::Unknown);
        insta::assert_snapshot!(says, @"The figures are invalid, by `errors`.");
        assert_eq!(limit(&[], &[]).by, LimitedBy::Unknown);
    }
}
