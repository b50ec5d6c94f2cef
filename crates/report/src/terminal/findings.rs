//! What is against figures, and of whom.

use result::Run;
use result::finding::Verdict;

use super::page::{BOLD, DIM, PLAIN, Page, of_verdict};
use crate::findings::{self, Case, Group};
use crate::names;

/// Lines that one finding may take to say of whom it speaks. The HTML report
/// has them all.
const CASES_MAX: usize = 6;

impl Page {
    pub(super) fn findings(&mut self, run: &Run) {
        let (unchecked, against): (Vec<Group>, Vec<Group>) = findings::against(run)
            .into_iter()
            .partition(|group| group.verdict == Verdict::NotChecked);
        if !against.is_empty() {
            self.line("");
            self.paragraph(BOLD, "", "Before you use a figure");
        }
        for group in &against {
            self.line("");
            self.group(run, group);
        }
        if !unchecked.is_empty() {
            let checks: Vec<&str> = unchecked.iter().map(|group| group.check).collect();
            let says = format!("Not checked: {}", checks.join(", "));
            self.line("");
            self.paragraph(DIM, "", &says);
        }
    }

    fn group(&mut self, run: &Run, group: &Group) {
        let sign = findings::sign(group.verdict);
        self.paragraph(
            of_verdict(group.verdict),
            "",
            &format!("{sign} {}: {}", group.verdict.word(), group.check),
        );
        self.paragraph(PLAIN, "  ", group.says);
        for case in group.cases.iter().take(CASES_MAX) {
            self.paragraph(PLAIN, "  - ", &case_line(run, case));
        }
        if let Some(more @ 1..) = group.cases.len().checked_sub(CASES_MAX) {
            self.paragraph(PLAIN, "  - ", &format!("and {more} more"));
        }
        for (name, text) in [("Threshold", group.threshold), ("Fix", group.fix)] {
            if !text.is_empty() {
                self.paragraph(PLAIN, "  ", &format!("{name}: {text}"));
            }
        }
    }
}

/// Of whom a finding speaks, and under which loads.
fn case_line(run: &Run, case: &Case) -> String {
    let is_all = case.settings.len() == findings::settings_with_figures(run);
    let loads = if is_all && case.settings.len() > 1 {
        "every load".into()
    } else {
        names::settings(run, &case.settings)
    };
    match case.value {
        "" => format!("{} ({loads})", case.names()),
        value => format!("{}: {value} ({loads})", case.names()),
    }
}
