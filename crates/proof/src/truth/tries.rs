//! Cases that are measured side by side, in groups: each that misses something has a second try,
//! since a pause of the machine makes any case miss.

use crate::truth::figure::Figure;

/// What came of a case.
#[derive(Debug, Clone)]
pub struct Outcome<C> {
    /// What was measured.
    pub case: C,
    /// All that is asked of it.
    pub figures: Vec<Figure>,
    /// Whether its first try missed something, so that this is the second.
    pub is_second_try: bool,
}

impl<C> Outcome<C> {
    /// Whether everything is as it should be.
    pub fn holds(&self) -> bool {
        self.figures.iter().all(Figure::holds)
    }

    /// What became of it, for a table.
    pub fn word(&self) -> &'static str {
        match (self.holds(), self.is_second_try) {
            (true, false) => "holds",
            (true, true) => "holds, second try",
            (false, _) => "MISSED, twice",
        }
    }

    /// The figure of this name.
    pub fn figure(&self, name: &str) -> Option<&Figure> {
        self.figures.iter().find(|figure| figure.name == name)
    }

    /// A time in ms, for a table: `expected → measured`. Empty, if there is none of this name.
    pub fn pair_ms(&self, name: &str) -> String {
        self.figure(name).map_or_else(String::new, |Figure { expected, measured, .. }| {
            let told = measured.unwrap_or(f64::NAN);
            format!("{:.2} → {:.2}", expected / 1e3, told / 1e3)
        })
    }
}

/// Measures these cases, so many side by side.
///
/// # Errors
/// Those of measuring a group.
pub fn measure<C: Copy + PartialEq>(
    cases: &[C],
    at_once: usize,
    what: &str,
    group: impl Fn(&[C]) -> Result<Vec<Outcome<C>>, String>,
) -> Result<Vec<Outcome<C>>, String> {
    let mut outcomes = Vec::new();
    for some in cases.chunks(at_once) {
        let mut first = group(some)?;
        let missed: Vec<C> =
            first.iter().filter(|outcome| !outcome.holds()).map(|outcome| outcome.case).collect();
        for second in group(&missed)? {
            if let Some(at) = first.iter().position(|outcome| outcome.case == second.case) {
                first[at] = Outcome { is_second_try: true, ..second };
            }
        }
        outcomes.extend(first);
        eprintln!("{} of {} {what} are done", outcomes.len(), cases.len());
    }
    Ok(outcomes)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::truth::count;

    #[test]
    fn only_what_missed_is_tried_again_and_the_second_try_counts() {
        let tried = RefCell::new(Vec::new());
        let group = |cases: &[u64]| {
            let outcome = |&case: &u64| {
                tried.borrow_mut().push(case);
                // The second misses once, the third always.
                let times = tried.borrow().iter().filter(|&&tried| tried == case).count() as u64;
                let expected = if case == 3 || (case == 2 && times == 1) { 1 } else { 0 };
                let figures = vec![count("", "", expected, 0)];
                Outcome { case, figures, is_second_try: false }
            };
            Ok(cases.iter().map(outcome).collect())
        };
        let outcomes = measure(&[1, 2, 3], 2, "cases", group).unwrap();
        let words: Vec<&str> = outcomes.iter().map(Outcome::word).collect();
        assert_eq!(words, ["holds", "holds, second try", "MISSED, twice"]);
        assert_eq!(*tried.borrow(), [1, 2, 2, 3, 3]);
    }
}
