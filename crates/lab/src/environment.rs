//! What is handed on from the environment: to contenders, and into headers of requests.
//!
//! Its values stand in no file. Here is who knows them while bakeoff runs: those of its own
//! environment, and those that a command was given beside (`bakeoff duel --env NAME=VALUE`), of
//! which no process knows but who needs them. What was handed on is taken out of all that others
//! say, before anything of it is kept.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use result::evidence::{AfterCrash, ContractStep, ErrorKind, Evidence, StoreSeen};

/// Shorter values are no secrets, and would be found in words that have nothing to do with them.
const HIDDEN_BYTES_MIN: usize = 4;

/// Variables that commands were given beside the environment.
static GIVEN: Mutex<BTreeMap<String, String>> = Mutex::new(BTreeMap::new());
/// Those that were handed on.
static HANDED_ON: Mutex<BTreeMap<String, String>> = Mutex::new(BTreeMap::new());

/// Gives a variable a value, whatever the environment has.
pub fn give(name: &str, value: &str) {
    lock(&GIVEN).insert(name.into(), value.into());
}

/// The value of a variable, to hand it on; `None` if it isn't set, or is no text.
pub fn value(name: &str) -> Option<String> {
    let given = lock(&GIVEN).get(name).cloned();
    let value = given.or_else(|| load::plan::headers::of_environment(name))?;
    lock(&HANDED_ON).insert(name.into(), value.clone());
    Some(value)
}

/// Whether a variable is set.
pub fn is_set(name: &str) -> bool {
    lock(&GIVEN).contains_key(name) || load::plan::headers::of_environment(name).is_some()
}

/// That these aren't set, and what to do about it.
pub fn not_set(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    let are = if names.len() == 1 { "isn't" } else { "aren't" };
    let how: Vec<String> = names.iter().map(|name| format!("export {name}=…")).collect();
    format!(
        "{} {are} set in the environment, from which it is handed on: `{}`",
        quoted.join(" and "),
        how.join("; ")
    )
}

fn lock<T>(of: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A text with `$NAME` in place of each value that was handed on.
pub fn hidden(text: &str) -> String {
    hidden_of(&lock(&HANDED_ON), text)
}

fn hidden_of(values: &BTreeMap<String, String>, text: &str) -> String {
    let mut forms: Vec<(String, &str)> = Vec::new();
    for (name, value) in values.iter().filter(|(_, value)| value.len() >= HIDDEN_BYTES_MIN) {
        // As it is, and as texts have it that escape what isn't harmless. An output is told line
        // by line.
        let escaped = [value.clone(), value.escape_debug().to_string()];
        let bytes = value.as_bytes().escape_ascii().to_string();
        let lines = value.lines().map(String::from).filter(|it| it.len() >= HIDDEN_BYTES_MIN);
        forms.extend(escaped.into_iter().chain([bytes]).chain(lines).map(|form| (form, &**name)));
    }
    // One may be a part of another.
    forms.sort_by_key(|(form, _)| std::cmp::Reverse(form.len()));
    forms.iter().fold(text.to_string(), |text, (form, name)| {
        if text.contains(form) { text.replace(form, &format!("${name}")) } else { text }
    })
}

/// Takes what was handed on out of all that a contender or a server said.
pub fn hide(evidence: &mut Evidence) {
    let hide = |text: &mut String| *text = hidden(text);
    let process = &mut evidence.process;
    process.failure.iter_mut().chain(&mut process.last_words).for_each(hide);
    let steps =
        [&mut evidence.contract, &mut evidence.contract_under_load, &mut evidence.contract_after];
    for ContractStep { saw, wrong, .. } in steps.into_iter().flatten() {
        [saw].into_iter().chain(wrong).for_each(hide);
    }
    let errors = evidence.work.iter_mut().flat_map(|work| &mut work.errors);
    let warmup = evidence.clients.iter_mut().flat_map(|client| &mut client.warmup_errors);
    for ErrorKind { example, .. } in errors.chain(warmup) {
        hide(example);
    }
    if let Some(StoreSeen { after_crash: Some(AfterCrash::Unread(why)), .. }) = &mut evidence.store
    {
        hide(why);
    }
    evidence.deliveries.iter_mut().flat_map(|seen| seen.firsts.values_mut()).for_each(hide);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_were_handed_on_are_taken_out_of_what_is_said() {
        let of = |pairs: &[(&str, &str)]| {
            let pairs = pairs.iter().map(|&(name, value)| (name.to_string(), value.to_string()));
            pairs.collect::<BTreeMap<_, _>>()
        };
        let values = of(&[("URL", "postgres://u:pass@h"), ("PASS", "pass"), ("LEVEL", "1")]);
        let said = "connected to postgres://u:pass@h with pass at level 1";
        assert_eq!(hidden_of(&values, said), "connected to $URL with $PASS at level 1");
        let odd = of(&[("ODD", "a\"b\\c\u{fc}")]);
        for form in ["a\"b\\c\u{fc}", "a\\\"b\\\\c\u{fc}", "a\\\"b\\\\c\\xc3\\xbc"] {
            assert_eq!(hidden_of(&odd, &format!("<{form}>")), "<$ODD>", "{form}");
        }
        let lines = of(&[("KEY", "first line\nsecond line")]);
        assert_eq!(hidden_of(&lines, "second line"), "$KEY");
    }

    #[test]
    fn what_is_given_comes_before_the_environment_and_is_hidden_once_it_was_handed_on() {
        give("BAKEOFF_TEST_GIVEN", "given value");
        assert!(is_set("BAKEOFF_TEST_GIVEN") && !is_set("BAKEOFF_TEST_NONE"));
        assert_eq!(hidden("a given value"), "a given value");
        assert_eq!(value("BAKEOFF_TEST_GIVEN").as_deref(), Some("given value"));
        assert_eq!(hidden("a given value"), "a $BAKEOFF_TEST_GIVEN");
        assert_eq!(value("BAKEOFF_TEST_NONE"), None);
        let mut evidence = Evidence::default();
        evidence.process.last_words.push("given value".into());
        evidence.contract.push(ContractStep {
            id: String::new(),
            asked: String::new(),
            saw: "given value".into(),
            wrong: Some("given value".into()),
            hung: false,
        });
        hide(&mut evidence);
        let kept = serde_json::to_string(&evidence).unwrap();
        assert!(!kept.contains("given value"), "{kept}");
    }
}
