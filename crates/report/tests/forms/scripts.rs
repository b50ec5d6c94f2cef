//! What gateways did in scripts, in every form of the report.

use report::{Terminal, html, markdown, terminal};
use result::evidence::{Percentile, Percentiles};
use result::scripts::{
    AfterStorm, Played, ScriptsSeen, SlowReader, SlowReaderSeen, StormEnding, StormPlayed,
};

use crate::fixture;

fn p99(value: f64) -> Percentiles {
    let at = vec![Percentile { percentile: 99.0, value, at_least: false }];
    Percentiles { at, ..Percentiles::default() }
}

fn played(contender: &str, promised: SlowReader, slow: SlowReaderSeen) -> ScriptsSeen {
    let slow = SlowReaderSeen {
        slow: 1,
        owed: 2_000,
        others_before_us: p99(920.0),
        others_meanwhile_us: p99(1_100.0),
        memory_before_bytes: Some(40 << 20),
        memory_max_bytes: Some(52 << 20),
        ..slow
    };
    let all = AfterStorm {
        ended: 6_500,
        back: 6_500,
        within_s: 5.0,
        half_back_s: Some(0.21),
        p99_back_s: Some(1.02),
        all_back_s: Some(1.05),
        memory_max_bytes: Some(41 << 20),
        ..AfterStorm::default()
    };
    let few = AfterStorm { back: 6_000, all_back_s: None, refused: 12, ..all.clone() };
    let storms = [(StormEnding::Fin, all), (StormEnding::Reset, few)]
        .map(|(ending, after)| StormPlayed { ending, after: Played::Seen(after) });
    ScriptsSeen {
        contender: contender.into(),
        promised: Some(promised),
        may_lose: false,
        promised_in: Some("its README".into()),
        slow: Some(Played::Seen(slow)),
        storms: storms.into(),
    }
}

/// Else a reader couldn't tell who holds memory without bound from who doesn't.
#[test]
fn what_gateways_did_in_scripts_stands_in_every_form() {
    let mut run = fixture::rooms();
    let nothing = SlowReaderSeen::default;
    run.scripts = vec![
        played(
            "go",
            SlowReader::Cuts,
            SlowReaderSeen { word: Some(SlowReader::Cuts), cut: 1, came: 735, ..nothing() },
        ),
        played(
            "erlang",
            SlowReader::Cuts,
            SlowReaderSeen { word: Some(SlowReader::Buffers), came: 2_000, ..nothing() },
        ),
        played(
            "hasty",
            SlowReader::Buffers,
            SlowReaderSeen { word: Some(SlowReader::Drops), missing: 9, ..nothing() },
        ),
    ];
    run.scripts[2].storms[0].after = Played::Failed("it ended: <b>no</b>".into());
    let terminal = terminal(&run, Terminal { columns: 200, colour: false });
    for (form, text) in [("terminal", terminal), ("Markdown", markdown(&run)), ("HTML", html(&run))]
    {
        for says in [
            "What becomes of a slow reader, and after a storm",
            "cuts: 1 of 1 robot, when 735 of 2,000 messages had come",
            "buffers: all 2,000 messages came, and its memory grew by 12.0 MiB",
            "not reached (cuts is promised)",
            "drops: 9 of 2,000 messages never came",
            "broken (buffers is promised)",
            "before, 1.10 ms meanwhile",
            "half in 210 ms, 99 % in 1.02 s, all in 1.05 s; 41.0 MiB at most",
            "all not in 5.00 s; 500 away; 12 refused",
            "failed: it ended: ",
        ] {
            assert!(text.contains(says), "{form} lacks {says:?}: {text}");
        }
        assert!(form == "terminal" || !text.contains("<b>no"), "{form}: it is foreign text");
    }
}

#[test]
fn nothing_is_said_of_scripts_where_none_was_played() {
    let run = fixture::rooms();
    for text in [markdown(&run), html(&run)] {
        assert!(!text.contains("What becomes of a slow reader"), "{text}");
    }
}
