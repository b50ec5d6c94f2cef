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

    /// What stores kept where they were cut off, each in a paragraph.
    fn survived(&mut self, run: &Run) {
        let stores = survived::lines(run);
        if stores.is_empty() {
            return;
        }
        self.paragraph(BOLD, "", survived::TITLE);
        self.paragraph(PLAIN, "", survived::MEANING);
        for store in &stores {
            self.paragraph(PLAIN, "", &format!("{}:", store[0]));
            for (head, cell) in survived::HEADS.iter().zip(store).skip(1) {
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
