//! Words of which sentences are made.

use result::Run;

/// The same words for requests, or for deliveries where these are what a run counts.
pub fn either<'a>(run: &Run, of_requests: &'a str, of_deliveries: &'a str) -> &'a str {
    if run.study.kind.passes_on() { of_deliveries } else { of_requests }
}

/// A list as one says it: `a, b and c`.
pub fn and(items: &[impl AsRef<str>]) -> String {
    let items: Vec<&str> = items.iter().map(AsRef::as_ref).collect();
    match items.as_slice() {
        [] => String::new(),
        [only] => (*only).into(),
        [others @ .., last] => format!("{} and {last}", others.join(", ")),
    }
}

/// A text of at most so many characters, with a sign where it is longer.
pub fn shortened(text: &str, chars: usize) -> String {
    if text.chars().count() > chars {
        text.chars().take(chars - 1).chain(['…']).collect()
    } else {
        text.into()
    }
}

/// A text that begins as a sentence does.
pub fn sentence_case(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_cut_with_a_sign_of_it() {
        assert_eq!(shortened("nginx, static", 40), "nginx, static");
        assert_eq!(shortened("nginx, static", 6), "nginx…");
    }
}
