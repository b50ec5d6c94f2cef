//! What somebody may have meant who wrote a name that isn't there.

/// How alike two names have to be, from 0 to 1: `ngnix` and `nginx` are by 0.8.
const ALIKE_MIN: f64 = 0.6;

/// ` (did you mean `NAME`?)` with the known name that is most like this one, for a sentence that
/// names it; nothing where none is like it.
pub fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let alike = |known: &str| {
        strsim::normalized_damerau_levenshtein(&name.to_lowercase(), &known.to_lowercase())
    };
    let known = known.into_iter().map(|known| (alike(known), known));
    match known.max_by(|(one, _), (other, _)| one.total_cmp(other)) {
        Some((alike, known)) if alike >= ALIKE_MIN => format!(" (did you mean `{known}`?)"),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_that_is_most_alike_is_meant_and_none_where_all_are_others() {
        let meant = |name: &str| did_you_mean(name, ["question", "quick", "nginx"]);
        assert_eq!(meant("qestion"), " (did you mean `question`?)");
        assert_eq!(meant("Quick"), " (did you mean `quick`?)");
        assert_eq!(meant("ngnix"), " (did you mean `nginx`?)");
        assert_eq!(meant("gone"), "");
        assert_eq!(did_you_mean("x", []), "");
    }
}
