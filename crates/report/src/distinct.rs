//! Names that stay apart once they are made fit.

use std::collections::BTreeMap;

/// A name for each of these that fits a form. Names that are the same once they fit, or are
/// taken, have a number behind them.
pub(crate) fn distinct<'a>(
    ids: impl Iterator<Item = &'a str>,
    fit: impl Fn(&str) -> String,
    taken: &[&str],
) -> BTreeMap<&'a str, String> {
    let mut names: BTreeMap<&str, String> = BTreeMap::new();
    for id in ids {
        if names.contains_key(id) {
            continue;
        }
        let fitting = fit(id);
        let numbered = (2..).map(|number| format!("{fitting}_{number}"));
        let mut free = [fitting.clone()].into_iter().chain(numbered);
        let is_free =
            |name: &String| !taken.contains(&&**name) && names.values().all(|it| it != name);
        let name = free.find(is_free).expect("numbers don't end");
        names.insert(id, name);
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_fall_together_or_are_taken_have_a_number() {
        let fit = |id: &str| id.replace('-', "_");
        let names = distinct(["a-b", "a_b", "cores", "a_b_2", "a-b"].into_iter(), fit, &["cores"]);
        let names: Vec<(&str, &str)> = names.iter().map(|(id, name)| (*id, &**name)).collect();
        let expected =
            [("a-b", "a_b"), ("a_b", "a_b_2"), ("a_b_2", "a_b_2_2"), ("cores", "cores_2")];
        assert_eq!(names, expected);
    }
}
