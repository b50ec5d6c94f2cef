//! A run at the terminal: the finding, a table, then what to know before using
//! a figure of it. [`brief`] has of that what a window has room for.

mod brief;
mod curve;
mod findings;
mod lead;
mod legend;
mod page;
mod sections;
mod table;

pub use brief::terminal_brief;
pub use page::Terminal;

use result::Run;

use self::page::{BOLD, PLAIN, Page};
use crate::claims;
use crate::missing;
use crate::names;
use crate::notes;
use crate::repeated;
use crate::scripts;
use crate::survived;

/// The whole run as text, ending in a line break.
pub fn terminal(run: &Run, terminal: Terminal) -> String {
    let mut page = Page::new(terminal);
    page.lead(run);
    for note in notes::notes(run) {
        page.paragraph(PLAIN, "", &note);
    }
    page.claims(run);
    page.survived(run);
    page.scripts(run);
    page.figures(run);
    page.curves(run);
    page.legend(run);
    page.absent(run);
    page.findings(run);
    page.repeated(run);
    page.out
}

impl Page {
    /// A study's claims, each with what became of it.
    fn claims(&mut self, run: &Run) {
        let all = claims::all(run);
        if all.is_empty() {
            return;
        }
        self.paragraph(BOLD, "", "What was claimed");
        self.paragraph(PLAIN, "", &claims::rule(run));
        for claim in &all {
            self.out.push('\n');
            let says = format!("{}: {} ({})", claim.word, claim.says, claim.source);
            self.paragraph(BOLD, "", &says);
            for line in claim.by().into_iter().chain(claim.lines()) {
                self.paragraph(PLAIN, "  ", &line);
            }
        }
        self.out.push('\n');
    }

    /// What stores kept where they were cut off.
    fn survived(&mut self, run: &Run) {
        use survived::{HEADS, MEANING, TITLE};
        self.lines((TITLE, MEANING), HEADS, &survived::lines(run));
    }

    /// What gateways did where robots don't do what is usual.
    fn scripts(&mut self, run: &Run) {
        use scripts::{HEADS, MEANING, TITLE};
        self.lines((TITLE, MEANING), HEADS, &scripts::lines(run));
    }

    /// A table of sentences, each contender in a paragraph; nothing without a line.
    fn lines<const N: usize>(
        &mut self,
        (title, meaning): (&str, &str),
        heads: [&str; N],
        lines: &[[String; N]],
    ) {
        if lines.is_empty() {
            return;
        }
        self.paragraph(BOLD, "", title);
        self.paragraph(PLAIN, "", meaning);
        for line in lines {
            self.paragraph(PLAIN, "", &format!("{}:", line[0]));
            for (head, cell) in heads.iter().zip(line).skip(1) {
                self.paragraph(PLAIN, "  ", &format!("{head}: {cell}"));
            }
        }
        self.out.push('\n');
    }

    fn absent(&mut self, run: &Run) {
        let absent = missing::absent(run);
        if absent.is_empty() {
            return;
        }
        self.line("");
        self.paragraph(BOLD, "", "Absent");
        for (who, reason) in absent {
            self.paragraph(PLAIN, "  ", &format!("{who}: {reason}"));
        }
    }

    fn repeated(&mut self, run: &Run) {
        let repeated = repeated::repeated(run);
        if repeated.is_empty() {
            return;
        }
        self.line("");
        self.paragraph(BOLD, "", "Made again");
        for it in &repeated {
            let load = names::settings(run, &[it.setting]);
            let when = if it.is_made_again(run) { "" } else { " (not yet)" };
            let says = format!("block {}, {load}{when}: {}", it.block + 1, it.reason());
            self.paragraph(PLAIN, "  - ", &says);
        }
        self.paragraph(
            PLAIN,
            "  ",
            "What was measured first is kept in run.json, and not counted.",
        );
    }
}
