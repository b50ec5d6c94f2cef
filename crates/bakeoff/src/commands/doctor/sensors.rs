//! What a trial of nobody, and the checks of it, say of this machine.

use judge::checks;
use lab::trial::nobody::{Checkup, Nobody};
use report::units;
use result::finding::Verdict;

use super::line::{Harm, Line, on};

/// Checks that have nothing to tell where nobody is measured, but that they could look.
const SILENT: [&str; 5] = ["load-arrived", "client-limit", "server-cores", "cpu-quota", "network"];

pub fn trial(checkup: &Checkup) -> Line {
    let what = "a trial of nobody";
    match &checkup.trials {
        Ok(_) => Line::fine(what, "was started, watched and stopped"),
        Err(why) => Line::new(Harm::Stops, what, why),
    }
}

/// What the checks of the place say: of each the worst.
pub fn checks<'a>(trials: &'a [Nobody]) -> Vec<Line> {
    let (mut lines, mut silent) = (Vec::new(), Vec::new());
    for check in checks::CHECKS {
        let of_check = |trial: &'a Nobody| {
            let finding = trial.findings.iter().find(|it| it.check == check.id)?;
            Some((trial.cores, finding))
        };
        let said = || trials.iter().filter_map(of_check);
        let Some((cores, worst)) = said().max_by_key(|(_, it)| it.verdict) else { continue };
        if worst.verdict == Verdict::Valid && SILENT.contains(&check.id) {
            silent.push(check.id);
            continue;
        }
        let everywhere = checks::is_about_the_machine(check.id)
            || said().all(|(_, it)| it.verdict == worst.verdict);
        let place = if everywhere { String::new() } else { format!(" {}", on(cores)) };
        let found = if worst.verdict == Verdict::NotChecked { &worst.says } else { &worst.value };
        let line = Line::new(worst.verdict, format!("{}{place}", check.id), found);
        lines.push(line.advise(&worst.fix));
    }
    if !silent.is_empty() {
        lines.push(Line::fine("sensors", format!("there for {}", silent.join(", "))));
    }
    lines
}

/// A quota that a load can use up. The check tells of it only when one has.
pub fn quota(checkup: &Checkup, trials: &[Nobody]) -> Option<Line> {
    let quota = trials.first()?.evidence.limits.cpu_quota_cores?;
    let processors = checkup.machine.cpus.len();
    (quota < processors as f64).then(|| {
        let found = format!(
            "{quota:.1} cores for {}: a load that uses that up measures the quota",
            units::of(processors as u64, "processor")
        );
        Line::new(Verdict::Suspect, "CPU quota", found)
            .advise("Run without one (`cpu.max`, `--cpus` of a container).")
    })
}

/// Whether contender and client have one each, as far as anything was seen.
pub fn control_groups(trials: &[Nobody]) -> Option<Line> {
    let what = "control groups";
    let seen = || trials.iter().filter(|trial| !trial.evidence.samples.is_empty());
    let lacks = |trial: &&Nobody| {
        let of_client = trial.evidence.client.as_ref().and_then(|client| client.cgroup.as_ref());
        trial.evidence.server.cgroup.is_none() || of_client.is_none()
    };
    let Some(lacking) = seen().find(lacks) else {
        let trees = &seen().next()?.evidence.server.cgroup.as_ref()?.hierarchies;
        return Some(Line::fine(what, trees.join(", ")));
    };
    let when = if seen().all(|trial| lacks(&trial)) {
        String::new()
    } else {
        format!(" {}", on(lacking.cores))
    };
    let found = format!(
        "none for contender and client{when}: whether they waited for memory or a disk may \
         not be told from others (pressure), and how much memory they held at most is not known"
    );
    Some(Line::new(Verdict::NotChecked, what, found).advise(checks::DELEGATE))
}

pub fn children(checkup: &Checkup) -> Line {
    let what = "a contender's processes";
    if checkup.lists_children {
        return Line::fine(what, "the kernel lists the children of each");
    }
    let advice = "The kernel lists no children (CONFIG_PROC_CHILDREN). With many other \
                  processes, that takes time of the load's processors.";
    Line::note(what, "found by the parents of all that can be seen").advise(advice)
}
