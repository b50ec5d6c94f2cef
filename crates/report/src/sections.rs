//! The outcomes of a run in sections, as tables and headings have them.

use result::Run;
use result::durability::{Class, Classes};
use result::outcome::Outcome;
use result::plan::Pace;

use crate::figures;
use crate::lead::lead;
use crate::list::entry;
use crate::names;
use crate::text::visible_name;

/// The outcomes that differ in the study's first dimension only.
pub struct Section<'a> {
    /// What they have in common.
    pub name: String,
    /// One for each value of that dimension.
    pub outcomes: Vec<&'a Outcome>,
}

/// All outcomes, in sections: those first that compare what the leading one does.
pub fn sections(run: &Run) -> Vec<Section<'_>> {
    let dimensions = &run.study.dimensions;
    let mut sections: Vec<Section> = Vec::new();
    for outcome in &run.outcomes {
        let is_alike = |section: &Section| {
            let first = section.outcomes[0];
            names::is_same_section(dimensions, &first.setting, &outcome.setting)
                && first.classes() == outcome.classes()
        };
        let make = || Section { name: section_name(run, outcome), outcomes: vec![] };
        entry(&mut sections, is_alike, make).outcomes.push(outcome);
    }
    let figure = |outcome: &Outcome| outcome.ranking().map(|ranking| ranking.figure.clone());
    let leading = lead(run).and_then(figure);
    sections.sort_by_key(|section| figure(section.outcomes[0]) != leading);
    sections
}

fn section_name(run: &Run, outcome: &Outcome) -> String {
    let name = match (&outcome.offered, figures::ranking(run, outcome)) {
        (Some(_), Some(figure)) => {
            format!("One rate for all: {}", visible_name(&figure.title))
        }
        (Some(_), None) => "One rate for all".into(),
        (None, _) => names::section_name(&run.study.dimensions, &outcome.setting),
    };
    match class_name(run, outcome) {
        Some(class) => format!("{name}: {class}"),
        None => name,
    }
}

/// Which stores an outcome compares: only those of one class are rivals. `None` where
/// contenders have no classes.
pub fn class_name(run: &Run, outcome: &Outcome) -> Option<String> {
    classes(run, outcome).map(|classes| format!("stores {}", classes.stores()))
}

/// What the stores of an outcome survive; `None` where contenders have no classes.
pub fn classes(run: &Run, outcome: &Outcome) -> Option<Classes> {
    let not_known = Classes { least: None, most: Class::Power };
    outcome.classes().or_else(|| (!run.durability.is_empty()).then_some(not_known))
}

/// What tells an outcome from the others of its section.
pub fn point_name(run: &Run, outcome: &Outcome) -> String {
    match &outcome.offered {
        // It is alone there.
        Some(_) => names::settings(run, &[outcome.setting.with(Pace::Free)]),
        None => names::point_name(&run.study.dimensions, &outcome.setting),
    }
}
