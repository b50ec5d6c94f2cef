//! What stands beside tables so that nobody takes their figures for something else.

use result::Run;
use result::figure::{LINES_OF_CODE, MEMORY, Unit};
use result::outcome::Outcome;

use crate::figures;
use crate::sections::Section;
use crate::trials::trials;
use crate::units;
use crate::words;

/// What figures count, said once where a study has requests or deliveries; `None` of others.
pub fn counted(run: &Run) -> Option<&'static str> {
    let requests = "Requests a second count good answers only.";
    let deliveries = "A delivery is one message that reached one member of its room. CPU time is \
                      that of the server alone. Memory a robot is the server's resident memory \
                      while all robots are there and say nothing, less that without them.";
    figures::has_times(run).then(|| words::either(run, requests, deliveries))
}

/// How lines of code are counted, where a table has them.
pub fn lines_of_code(run: &Run) -> Option<&'static str> {
    let has_lines = run.study.figure(LINES_OF_CODE).is_some();
    has_lines.then_some(
        "Lines of code are those of the contender's own source files that are neither blank nor \
         only a comment.",
    )
}

/// What ≥ means before a time.
pub fn bound_of_time(run: &Run) -> &'static str {
    words::either(run, "requests without an answer", "deliveries that never came")
}

/// What stands over a study's own sentences on that.
pub const CANNOT_SAY: &str = "What these figures can't say";

/// Said where [`shares_cores`].
pub const SHARED_CORES: &str =
    "Server and client share cores here, so each takes time from the other.";

/// Whether server and client shared processors in a section.
pub fn shares_cores(run: &Run, section: &Section) -> bool {
    run.trials.iter().any(|trial| {
        trial.evidence.place.shared()
            && section.outcomes.iter().any(|outcome| outcome.setting == trial.slot.setting)
    })
}

/// Said where [`shares_memory`].
pub const SHARED_MEMORY: &str =
    "Memory is summed over a contender's processes: what two share, as after a fork, counts twice.";

/// Whether a table of figures has memory in it, and of a contender of several processes.
pub fn figures_share_memory(run: &Run) -> bool {
    figures::plain(run).any(|figure| figure.id == MEMORY) && shares_memory(run)
}

/// Said where [`has_more_bytes`].
pub const MORE_BYTES: &str =
    "≥ before bytes: there may be more, in files in memory or elsewhere on a disk.";

/// Whether there may be more bytes of something than a figure has.
pub fn has_more_bytes(run: &Run) -> bool {
    let rows = || run.outcomes.iter().flat_map(|outcome| &outcome.rows);
    let mut bytes = figures::plain(run).filter(|figure| figure.unit == Unit::Bytes);
    bytes.any(|figure| rows().any(|row| row.figure(&figure.id).is_some_and(|it| it.at_least)))
}

/// Whether a contender ran as several processes, which may share pages.
pub fn shares_memory(run: &Run) -> bool {
    run.trials.iter().any(|trial| trial.evidence.server.processes.len() > 1)
}

/// What a row's server did with connections that were to be kept, where it closed
/// some: in order, after an answer, or it would be an error.
pub fn cut_connections(run: &Run, outcome: &Outcome, contender: &str) -> Option<String> {
    let trials = trials(run, &outcome.setting, contender);
    let clients = trials.iter().flat_map(|trial| &trial.evidence.clients);
    // Of the answers of those in which it was counted.
    let counted = clients.filter_map(|client| Some((client.cut?, client.good)));
    let (cut, good) = counted.fold((0, 0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
    (outcome.setting.kept() && cut > 0).then(|| {
        let often = match (good as f64 / cut as f64).round() as u64 {
            0 | 1 => "most answers".into(),
            many => format!("one in {} answers", units::whole(many)),
        };
        format!(
            "It closed connections that were to be kept, and the client opened new ones: after \
             {often}."
        )
    })
}
