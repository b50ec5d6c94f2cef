//! What gateways did where robots don't do what is usual: a line a gateway, alike in all forms of a
//! report.

use result::Run;
use result::scripts::{
    AfterStorm, Played, ScriptsSeen, SlowPromise, SlowReader, SlowReaderSeen, StormEnding,
};

use crate::contenders;
use crate::text::visible;
use crate::units;

/// What the lines stand below.
pub const TITLE: &str = "What becomes of a slow reader, and after a storm";
/// What they mean.
pub const MEANING: &str = "Once for each gateway, before it was timed, a robot read nothing for some \
    seconds, and all robots ended at once and came back. Nobody is ranked by it.";
/// The heads of the columns.
pub const HEADS: [&str; 6] = [
    "contender",
    "with a slow reader it",
    "its word",
    "the others meanwhile",
    "all close, and come back",
    "all break off, and come back",
];

/// A cell for each column, a line a gateway, in the order of the contenders; none where nobody
/// looked.
pub fn lines(run: &Run) -> Vec<[String; 6]> {
    run.contenders.iter().filter_map(|it| Some(line(run, run.scripts(&it.name)?))).collect()
}

fn line(run: &Run, seen: &ScriptsSeen) -> [String; 6] {
    let who = contenders::title(run, &seen.contender).into_owned();
    let slow = played(seen.slow.as_ref(), does);
    let others = seen.slow_seen().map_or_else(|| units::NOTHING.into(), others);
    let [fin, reset] = StormEnding::ALL.map(|ending| {
        let storm = seen.storms.iter().find(|storm| storm.ending == ending);
        played(storm.map(|storm| &storm.after), after)
    });
    [who, slow, word(seen), others, fin, reset]
}

/// What a script showed, if it was played.
fn played<T>(seen: Option<&Played<T>>, says: impl Fn(&T) -> String) -> String {
    match seen {
        None => units::NOTHING.into(),
        Some(Played::Failed(why)) => format!("failed: {}", visible(why)),
        Some(Played::Seen(seen)) => says(seen),
    }
}

/// What a gateway did: `cuts: 1 of 1 robot, when 735 of 2,000 messages had come`.
fn does(seen: &SlowReaderSeen) -> String {
    let [owed, came, missing] = [seen.owed, seen.came, seen.missing].map(units::whole);
    let grown = seen
        .grown_bytes()
        .map_or(String::new(), |grown| format!(", and its memory grew by {}", units::bytes(grown)));
    match seen.word {
        Some(SlowReader::Blocks) => "blocks: the others wait for it".into(),
        Some(SlowReader::Cuts) => {
            let robots = units::of(seen.slow.into(), "robot");
            format!("cuts: {} of {robots}, when {came} of {owed} messages had come", seen.cut)
        }
        Some(SlowReader::Drops) => format!("drops: {missing} of {owed} messages never came"),
        Some(SlowReader::Buffers) => format!("buffers: all {owed} messages came{grown}"),
        None if seen.owed == 0 => "not known: it was owed nothing".into(),
        None => format!("not known: all {owed} messages came{grown}"),
    }
}

/// What became of a gateway's word on it.
fn word(seen: &ScriptsSeen) -> String {
    let promised = seen.promised.map_or("", SlowReader::name);
    match seen.slow_promise() {
        _ if seen.slow.is_none() => units::NOTHING.into(),
        SlowPromise::None => "promises nothing".into(),
        SlowPromise::NotKnown => format!("not known ({promised} is promised)"),
        SlowPromise::NotReached => format!("not reached ({promised} is promised)"),
        SlowPromise::Kept => "kept".into(),
        SlowPromise::Broken => format!("broken ({promised} is promised)"),
    }
}

/// How others fared: `p99 0.92 ms before, 1.10 ms meanwhile`.
fn others(seen: &SlowReaderSeen) -> String {
    let waited = seen.others_waited_us().map(|(percentile, [before, meanwhile])| {
        let [before, meanwhile] = [before, meanwhile].map(units::time);
        format!("p{percentile} {before} before, {meanwhile} meanwhile")
    });
    let lost = [
        (seen.others_shed, "not taken from them"),
        (seen.others_missing, "missing"),
        (seen.others_cut.into(), "cut"),
    ];
    let lost = lost.into_iter().filter(|(count, _)| *count > 0);
    let lost = lost.map(|(count, what)| format!("{} {what}", units::whole(count)));
    let parts: Vec<String> = waited.into_iter().chain(lost).collect();
    if parts.is_empty() { "too few deliveries".into() } else { parts.join("; ") }
}

/// What a storm showed: `half in 210 ms, 99 % in 1.02 s, all in 1.05 s; 3 SYN again; 41 MB at most`.
fn after(seen: &AfterStorm) -> String {
    let within = |seconds: Option<f64>| match seconds {
        Some(seconds) => format!("in {}", units::time(seconds * 1e6)),
        None => format!("not in {}", units::time(seen.within_s * 1e6)),
    };
    let back = format!(
        "half {}, 99 % {}, all {}",
        within(seen.half_back_s),
        within(seen.p99_back_s),
        within(seen.all_back_s)
    );
    let away = u64::from(seen.ended.saturating_sub(seen.back));
    let counts = [
        (away, "away"),
        (seen.refused, "refused"),
        (seen.failed, "failed"),
        (seen.syn_retransmits, "SYN again"),
        (seen.out_of_order, "out of order"),
        (seen.duplicates, "twice"),
        (seen.missing, "missing"),
    ];
    let counts = counts.into_iter().filter(|(count, _)| *count > 0);
    let counts = counts.map(|(count, what)| format!("{} {what}", units::whole(count)));
    let memory = seen.memory_max_bytes.map(|most| format!("{} at most", units::bytes(most)));
    [back].into_iter().chain(counts).chain(memory).collect::<Vec<_>>().join("; ")
}
