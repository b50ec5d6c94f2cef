//! The sections of a run, each with its table.

use result::Run;

use super::page::{BOLD, PLAIN, Page};
use crate::caveats;
use crate::figures;
use crate::missing::{self, Missing};
use crate::notes;
use crate::sections::{self, Section};

impl Page {
    /// A table over all sections that have the same figures, so that its columns stand below
    /// each other, broken up by what a setting has to say before its rows.
    pub(super) fn figures(&mut self, run: &Run) {
        let figure = |section: &Section| figures::ranking(run, section.outcomes[0]);
        for sections in sections::sections(run).chunk_by(|a, b| figure(a) == figure(b)) {
            self.sections(run, sections);
        }
    }

    fn sections(&mut self, run: &Run, sections: &[Section]) {
        let outcomes = || sections.iter().flat_map(|section| &section.outcomes);
        let (header, mut lines) = self.rows(run, outcomes().map(|it| (*it, it.rows.len())));
        for section in sections {
            self.line("");
            self.paragraph(BOLD, "", &section.name);
            if caveats::shares_cores(run, section) {
                self.paragraph(PLAIN, "", caveats::SHARED_CORES);
            }
            self.line(&header);
            for outcome in &section.outcomes {
                self.line("");
                let point = sections::point_name(run, outcome);
                let heading = match notes::of_outcome(run, outcome) {
                    Some(finding) => format!("{point}: {finding}"),
                    None => point,
                };
                self.paragraph(BOLD, "", &heading);
                for line in lines.by_ref().take(outcome.rows.len()) {
                    self.line(&line);
                }
                self.missing(&missing::without_figure(run, outcome));
            }
        }
    }

    /// Who has no figure, and why.
    fn missing(&mut self, missing: &[Missing]) {
        for missing in missing {
            let says = format!("{} has no figure: {}", missing.who, missing.reason);
            self.paragraph(PLAIN, "  ", &says);
        }
    }
}
