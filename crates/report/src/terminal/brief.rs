//! A run in as many lines as a window has: what a run ends with. All else is in its report.

use result::Run;
use result::finding::Verdict;
use result::outcome::Outcome;

use super::legend::{MARKS, Mark};
use super::page::{BOLD, DIM, PLAIN, Page, Terminal, of_verdict};
use crate::figures;
use crate::findings::{self, ByCheck};
use crate::missing;
use crate::notes;
use crate::sections::{self, Section};
use crate::units;
use crate::words::{sentence_case, shortened};

/// Lines of it. With those that say where the report is and what took how long, forty stand in
/// a window of 80 columns.
const LINES_MAX: usize = 34;

/// What the first table takes at least: a name, a head, two rows, and what was left out.
const TABLE_LINES_MIN: usize = 7;

/// The rows of a table.
const ROWS_MAX: usize = 8;

/// The lines of why nobody has a figure.
const REASON_LINES: usize = 3;

/// Checks and contenders that have a line.
const CHECKS_MAX: usize = 4;
const ABSENT_MAX: usize = 3;

/// Marks that are explained: the others stand beside their words, or in notes.
fn is_explained(mark: &&Mark) -> bool {
    !mark.1.starts_with(['*', '✓', '○', '?', '✗'])
}

/// The finding, its chart, a table a setting, and what to know before using a figure in a line a
/// check; ends in a line break.
pub fn terminal_brief(run: &Run, terminal: Terminal) -> String {
    let part = |print: fn(&mut Page, &Run)| {
        let mut page = Page::new(terminal);
        print(&mut page, run);
        page.out
    };
    let lead = part(Page::lead);
    let mut room = LINES_MAX.saturating_sub(lines(&lead) + TABLE_LINES_MIN);
    // What has no room is left out; the first of them are the last to be.
    let parts: [fn(&mut Page, &Run); 3] =
        [Page::brief_notes, Page::brief_checks, Page::brief_absent];
    let [notes, checks, absent] = parts.map(|print| if_fits(part(print), &mut room));
    room += TABLE_LINES_MIN;
    let mut tables = Page::new(terminal);
    tables.brief_tables(run, room);
    room = room.saturating_sub(lines(&tables.out));
    let legend = if_fits(part(Page::brief_legend), &mut room);
    [lead, notes, tables.out, legend, absent, checks].concat()
}

/// A text that there is room for, which it takes; else nothing.
fn if_fits(text: String, room: &mut usize) -> String {
    match room.checked_sub(lines(&text)) {
        Some(left) => {
            *room = left;
            text
        }
        None => String::new(),
    }
}

fn lines(text: &str) -> usize {
    text.lines().count()
}

/// A setting that has room, and how many of its rows have.
struct Fitting<'a> {
    section: &'a Section<'a>,
    outcome: &'a Outcome,
    rows: usize,
}

/// The first settings, as many as so many lines have room for; one at least.
fn fitting<'a>(run: &Run, sections: &'a [Section<'a>], lines: usize) -> Vec<Fitting<'a>> {
    // One says what was left out.
    let mut left = lines.saturating_sub(1);
    let mut fitting: Vec<Fitting> = Vec::new();
    let all =
        sections.iter().flat_map(|section| section.outcomes.iter().map(move |it| (section, *it)));
    for (section, outcome) in all {
        let figure = |outcome| figures::ranking(run, outcome);
        let has_head = fitting.last().is_none_or(|it| figure(it.outcome) != figure(outcome));
        let is_missed = !missing::without_figure(run, outcome).is_empty();
        let reasons = if outcome.rows.is_empty() { REASON_LINES } else { usize::from(is_missed) };
        let around = 2 + usize::from(has_head) + reasons;
        let mut rows = outcome.rows.len().min(ROWS_MAX);
        let cost = |rows: usize| around + rows + usize::from(rows < outcome.rows.len());
        if cost(rows) > left && !fitting.is_empty() {
            break;
        }
        while cost(rows) > left && rows > 1 {
            rows -= 1;
        }
        left = left.saturating_sub(cost(rows));
        fitting.push(Fitting { section, outcome, rows });
    }
    fitting
}

/// What a table is of.
fn heading(run: &Run, section: &Section, outcome: &Outcome) -> String {
    let point = sections::point_name(run, outcome);
    let rate = outcome.offered.as_ref().map(|it| format!(", {}", figures::offered(run, it.rate)));
    let rate = rate.unwrap_or_default();
    if point.eq_ignore_ascii_case(&section.name) {
        return format!("{}{rate}", section.name);
    }
    // What tells it from the others first: a narrow terminal cuts the end off.
    format!("{}{rate}: {}", sentence_case(&point), section.name)
}

impl Page {
    /// One line, cut off where the terminal ends.
    fn one_line(&mut self, style: anstyle::Style, text: &str) {
        let text = shortened(text, self.terminal.columns.into());
        self.paragraph(style, "", &text);
    }

    fn brief_notes(&mut self, run: &Run) {
        for note in notes::urgent(run) {
            self.paragraph(PLAIN, "", &note);
        }
        if !self.out.is_empty() {
            self.line("");
        }
    }

    fn brief_tables(&mut self, run: &Run, room: usize) {
        let sections = sections::sections(run);
        let fitting = fitting(run, &sections, room);
        let figure = |it: &Fitting| figures::ranking(run, it.outcome);
        for group in fitting.chunk_by(|a, b| figure(a) == figure(b)) {
            self.brief_group(run, group);
        }
        let all: usize = sections.iter().map(|section| section.outcomes.len()).sum();
        if let more @ 1.. = (all - fitting.len()) as u64 {
            let more = units::of(more, "more setting");
            self.one_line(PLAIN, &format!("and {more}, in the report"));
        }
    }

    /// Tables that have their columns in common, under one head.
    fn brief_group(&mut self, run: &Run, group: &[Fitting]) {
        let rows = group.iter().map(|it| (it.outcome, it.rows));
        let (header, mut rows) = self.rows(run, rows);
        for (at, Fitting { section, outcome, rows: count }) in group.iter().enumerate() {
            // What leads ends with an empty line.
            if !self.out.is_empty() {
                self.line("");
            }
            self.one_line(BOLD, &heading(run, section, outcome));
            if at == 0 {
                self.line(&header);
            }
            for row in rows.by_ref().take(*count) {
                self.line(&row);
            }
            if let more @ 1.. = outcome.rows.len() - count {
                self.line(&format!("  and {more} more"));
            }
            let missing = missing::without_figure(run, outcome);
            let missing: Vec<String> =
                missing.iter().map(|it| format!("{} ({})", it.who, it.reason)).collect();
            let says = format!("  no figure: {}", missing.join(", "));
            if outcome.rows.is_empty() {
                // Then the reason is all that there is to know of the setting.
                let room = REASON_LINES * usize::from(self.terminal.columns);
                self.paragraph(PLAIN, "  ", &shortened(&says, room));
            } else if !missing.is_empty() {
                self.one_line(PLAIN, &says);
            }
        }
    }

    fn brief_legend(&mut self, run: &Run) {
        let used = MARKS.iter().filter(is_explained).filter(|(is_used, _)| is_used(run));
        let used: Vec<&str> = used.map(|(_, says)| *says).collect();
        if !used.is_empty() {
            self.line("");
            self.paragraph(DIM, "", &used.join(" · "));
        }
    }

    fn brief_absent(&mut self, run: &Run) {
        let absent = missing::absent(run);
        for (who, reason) in absent.iter().take(ABSENT_MAX) {
            self.one_line(PLAIN, &format!("Absent: {who}: {reason}"));
        }
        if let Some(more @ 1..) = absent.len().checked_sub(ABSENT_MAX) {
            self.line(&format!("and {more} more absent"));
        }
    }

    fn brief_checks(&mut self, run: &Run) {
        let (unchecked, against): (Vec<ByCheck>, Vec<ByCheck>) = findings::by_check(run)
            .into_iter()
            .partition(|check| check.groups[0].verdict == Verdict::NotChecked);
        if !against.is_empty() {
            self.line("");
            self.one_line(BOLD, "Before you use a figure");
        }
        for check in against.iter().take(CHECKS_MAX) {
            let worst = &check.groups[0];
            let (sign, word) = (findings::sign(worst.verdict), worst.verdict.word());
            let counts = check.counts();
            let says = format!("{sign} {word}, {}, {counts}: {}", worst.check, worst.says);
            self.one_line(of_verdict(worst.verdict), &says);
        }
        if let Some(more @ 1..) = against.len().checked_sub(CHECKS_MAX) {
            self.line(&format!("and {}", units::of(more as u64, "more check")));
        }
        if !unchecked.is_empty() {
            let names: Vec<&str> = unchecked.iter().map(|check| check.groups[0].check).collect();
            self.one_line(DIM, &format!("○ not checked: {}", names.join(", ")));
        }
    }
}
