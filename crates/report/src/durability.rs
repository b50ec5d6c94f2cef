//! What became of a store's acknowledged writes, at the terminal.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use result::durability::{Cut, CutVerdict, Durability, Promise, Rung, RungSeen};

use crate::Terminal;
use crate::text::visible;
use crate::units;

const HEADS: [&str; 7] = [
    "cut off",
    "verdict",
    "most writes lost, of acknowledged",
    "over at most",
    "up again in",
    "may lose",
    "its word",
];

/// All rungs of a store as text, ending in a line break.
pub fn durability(seen: &Durability, terminal: Terminal) -> String {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(HEADS);
    if terminal.colour {
        table.enforce_styling();
    } else {
        table.force_no_tty();
    }
    for rung in &seen.rungs {
        table.add_row(row(rung));
    }
    for column in table.column_iter_mut().skip(2).take(4) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let mut lines = vec![table.to_string(), String::new(), class(seen)];
    lines.extend(seen.promised_in.iter().map(|it| format!("What it may lose: {}.", visible(it))));
    let notes: Vec<String> = seen.rungs.iter().flat_map(notes).collect();
    if !notes.is_empty() {
        lines.extend([String::new(), "To know of these:".into()]);
        lines.extend(notes.iter().map(|note| format!("  - {note}")));
    }
    let width = textwrap::Options::new(terminal.columns.into()).subsequent_indent("    ");
    let wrapped = |line: &String| {
        if line.contains('\n') {
            line.clone()
        } else {
            textwrap::fill(line, &width).trim_end().to_string()
        }
    };
    lines.iter().map(|line| wrapped(line) + "\n").collect()
}

/// One cut in a line, while others are made: `3,021 of 40,112 lost, within 0.84 s`.
pub fn durability_cut(cut: &Cut) -> String {
    let what = match cut.verdict() {
        CutVerdict::DoesNotStart => word(&CutVerdict::DoesNotStart).to_string(),
        CutVerdict::Corrupt => {
            format!("{} corrupt, {} lost", units::of(cut.corrupt, "key"), lost(cut))
        }
        _ => format!("{} lost", lost(cut)),
    };
    let within = cut.lost_span_s.map(|span| format!(", within {}", seconds(span)));
    let how = cut.how.as_ref().map(|how| format!(" ({})", visible(how)));
    format!("{what}{}{}", within.unwrap_or_default(), how.unwrap_or_default())
}

fn row(seen: &RungSeen) -> [String; 7] {
    let nothing = || units::NOTHING.to_string();
    let all = seen.cuts.len() as u64;
    let verdict = match &seen.verdict {
        verdict @ CutVerdict::NotChecked(_) => word(verdict).into(),
        CutVerdict::Kept => format!("kept, {}", units::of(all, "cut")),
        verdict => format!("{}, {} of {}", word(verdict), seen.worst_cuts(), units::of(all, "cut")),
    };
    let acknowledged = || seen.cuts.iter().map(|cut| cut.acknowledged).sum();
    let lost = match seen.most_lost() {
        Some(cut) => lost(cut),
        // What nobody lost is told of all cuts together.
        None if seen.cuts.iter().any(|cut| cut.restart_s.is_some()) => {
            format!("0 of {}", units::whole(acknowledged()))
        }
        None => nothing(),
    };
    let restarts = seen.cuts.iter().filter_map(|cut| cut.restart_s);
    [
        seen.rung.says().into(),
        verdict,
        lost,
        seen.longest_loss_s().map_or_else(nothing, seconds),
        restarts.reduce(f64::max).map_or_else(nothing, seconds),
        seen.promise_s.map_or_else(nothing, seconds),
        match seen.promise() {
            Promise::None => nothing(),
            Promise::NotTried => "not tried".into(),
            Promise::Kept => "kept".into(),
            Promise::Broken => "broken".into(),
        },
    ]
}

pub(crate) fn word(verdict: &CutVerdict) -> &'static str {
    match verdict {
        CutVerdict::Kept => "kept",
        CutVerdict::Lost => "lost",
        CutVerdict::Corrupt => "corrupt",
        CutVerdict::DoesNotStart => "doesn't start",
        CutVerdict::NotChecked(_) => "not checked",
    }
}

pub(crate) fn lost(cut: &Cut) -> String {
    format!("{} of {}", units::whole(cut.lost), units::whole(cut.acknowledged))
}

pub(crate) fn seconds(seconds: f64) -> String {
    match seconds {
        0.0 => "0 s".into(),
        _ => units::time(seconds * 1e6),
    }
}

fn class(seen: &Durability) -> String {
    let classes = seen.classes();
    match classes.known() {
        Some(class) => format!("Class: {}.", class.says()),
        None => format!("Class not known: it survives {}.", classes.survives()),
    }
}

/// What a row has no room for.
fn notes(seen: &RungSeen) -> Vec<String> {
    let of = |rung: Rung, what: String| format!("{}: {what}", rung.says());
    let mut notes = Vec::new();
    if let CutVerdict::NotChecked(why) = &seen.verdict {
        notes.push(format!("not checked: {}", visible(why)));
    }
    if seen.promise() == Promise::NotTried {
        notes.push(
            "its word wasn't tried: it may lose writes of a longer time than any cut had".into(),
        );
    }
    // Of three cuts and fewer nothing follows.
    if let Some(bound) = seen.bound.filter(|&bound| bound < 1.0) {
        notes.push(format!(
            "none of {} lost anything: with 95 % confidence fewer than {} of such cuts do",
            units::of(seen.cuts.len() as u64, "cut"),
            units::percent(bound)
        ));
    }
    if let Some(cut) = seen.worst_cut() {
        let how = cut.how.as_ref().map(|how| format!(" ({})", visible(how))).unwrap_or_default();
        notes.extend(cut.example.as_ref().map(|example| format!("{}{how}", visible(example))));
        notes.extend(cut.last_words.last().map(|line| format!("its last line: {}", visible(line))));
    }
    let holes = seen.cuts.iter().filter(|cut| cut.holes > 0);
    if let Some(cut) = holes.max_by_key(|cut| cut.holes) {
        let holes = units::of(cut.holes, "lost write");
        notes.push(format!("{holes} of one cut had been acknowledged before others were sent that are there: what it keeps has holes"));
    }
    notes.into_iter().map(|note| of(seen.rung, note)).collect()
}
