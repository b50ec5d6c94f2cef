//! What a duel hands on and doesn't keep: variables of `--env`, and secrets in headers. They stand
//! in no file and in no command that is shown.

use std::str::FromStr;

use lab::environment;
use load::plan::headers;

use crate::commands::request;

/// What bakeoff itself tells each server.
const OWN: [&str; 3] = ["HOST", "PORT", "CORES"];

/// A variable of `--env`.
#[derive(Debug, Clone, PartialEq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its value, if that isn't the environment's.
    value: Option<String>,
}

impl FromStr for Variable {
    type Err = String;

    fn from_str(text: &str) -> Result<Variable, String> {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value.to_string())),
            None => (text, None),
        };
        if !headers::is_variable(name) {
            return Err("give NAME or NAME=VALUE, with a name of letters, digits and _".into());
        }
        if OWN.contains(&name) {
            return Err(format!("each server is told its own {name}"));
        }
        if value.as_ref().is_some_and(|value| value.contains('\0')) {
            return Err(format!("the value of {name} has a zero byte"));
        }
        Ok(Variable { name: name.into(), value })
    }
}

impl Variable {
    /// Sees to it that its value can be handed on.
    ///
    /// # Errors
    /// That it isn't set, in a sentence.
    pub fn hand_on(&self) -> Result<(), String> {
        if let Some(value) = &self.value {
            environment::give(&self.name, value);
        }
        if environment::is_set(&self.name) {
            Ok(())
        } else {
            Err(format!(
                "--env {0}: {0} isn't set in your environment; set it, or give --env {0}=VALUE",
                self.name
            ))
        }
    }
}

/// Headers in which each secret is a variable that has it now.
pub fn without_secrets(headers: &[(String, String)]) -> Vec<(String, String)> {
    let mut names: Vec<String> = Vec::new();
    let mut without = |(name, value): &(String, String)| {
        if !headers::carries_secret(name, value) {
            return (name.clone(), value.clone());
        }
        let variable = free_name(&names, name);
        let (scheme, secret) = split(name, value);
        environment::give(&variable, secret);
        names.push(variable.clone());
        (name.clone(), format!("{scheme}{{env:{variable}}}"))
    };
    headers.iter().map(&mut without).collect()
}

/// A value in two: what comes before a secret, as `Bearer `, and that.
fn split<'a>(name: &str, value: &'a str) -> (&'a str, &'a str) {
    let has_scheme = name.to_ascii_lowercase().ends_with("authorization");
    match value.find(' ').filter(|_| has_scheme) {
        Some(space) => value.split_at(space + 1),
        None => ("", value),
    }
}

/// A name for a header's secret that isn't taken.
fn free_name(taken: &[String], header: &str) -> String {
    let fit = |it: char| if it.is_ascii_alphanumeric() { it.to_ascii_uppercase() } else { '_' };
    let name = format!("BAKEOFF_{}", header.chars().map(fit).collect::<String>());
    let numbered = (2..).map(|number| format!("{name}_{number}"));
    let mut names = [name.clone()].into_iter().chain(numbered);
    names.find(|name| !taken.contains(name)).expect("numbers don't end")
}

/// The words of a command line in which no secret stands: `shown` are its headers without.
pub fn words_without_secrets(words: &[String], shown: &[(String, String)]) -> Vec<String> {
    let mut headers = shown.iter();
    let mut option = "";
    let mut all = Vec::new();
    for word in words {
        let (name, value) = match (option, word) {
            ("", word) => started(word),
            (option, word) => (option, Some(&**word)),
        };
        let (before, value) = match value {
            // Its value is the next word.
            None => {
                option = name;
                all.push(word.clone());
                continue;
            }
            Some(value) => (&word[..word.len() - value.len()], value),
        };
        option = "";
        let value = match name {
            "--header" if request::header(value).is_ok() => {
                headers.next().map(|(name, value)| format!("{name}: {value}"))
            }
            "--env" => value.split_once('=').map(|(name, _)| name.into()),
            _ => None,
        }
        .unwrap_or_else(|| value.into());
        all.push(environment::hidden(&format!("{before}{value}")));
    }
    all
}

/// The option that a word begins, if it is one of those with a secret, and the value if that
/// stands in the same word. Any other word is a value of no option.
fn started(word: &str) -> (&'static str, Option<&str>) {
    for (option, form) in [("--header", "--header"), ("--header", "-H"), ("--env", "--env")] {
        let Some(rest) = word.strip_prefix(form) else { continue };
        match rest.strip_prefix('=') {
            _ if rest.is_empty() => return (option, None),
            Some(value) => return (option, Some(value)),
            None if form == "-H" => return (option, Some(rest)),
            None => {}
        }
    }
    ("", Some(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers_of(all: &[&str]) -> Vec<(String, String)> {
        all.iter().map(|text| request::header(text).unwrap()).collect()
    }

    #[test]
    fn a_secret_in_a_header_becomes_a_variable() {
        let given = headers_of(&[
            "Accept: text/html",
            "Authorization: Bearer of-test",
            "Cookie: a=of-test",
            "cookie: b=of-test",
            "X-Api-Key: {env:KEY}",
        ]);
        let shown: Vec<String> = without_secrets(&given).into_iter().map(|(_, it)| it).collect();
        assert_eq!(
            shown,
            [
                "text/html",
                "Bearer {env:BAKEOFF_AUTHORIZATION}",
                "{env:BAKEOFF_COOKIE}",
                "{env:BAKEOFF_COOKIE_2}",
                "{env:KEY}",
            ]
        );
        assert_eq!(environment::value("BAKEOFF_AUTHORIZATION").as_deref(), Some("of-test"));
        assert_eq!(environment::value("BAKEOFF_COOKIE_2").as_deref(), Some("b=of-test"));
    }

    #[test]
    fn no_form_of_an_option_leaves_a_secret_in_the_command() {
        // Variables are the process's: another header than that of the test above.
        let all = [
            ("-H", Some("Proxy-Authorization: Basic w0rd")),
            ("--header", Some("X-Token:w0rd")),
            ("--header=Cookie: w0rd", None),
            ("-HX-Secret: w0rd", None),
            ("--env", Some("A=w0rd")),
            ("--env=B=w0rd", None),
            ("--env", Some("C")),
            ("-X", Some("PUT")),
            ("--expect-body", Some("x")),
        ];
        let words = all.iter().flat_map(|(word, value)| [Some(*word), *value]).flatten();
        let words: Vec<String> = words.map(String::from).collect();
        let given =
            ["Proxy-Authorization: Basic w0rd", "X-Token: w0rd", "Cookie: w0rd", "X-Secret: w0rd"];
        let shown = without_secrets(&headers_of(&given));
        let words = words_without_secrets(&words, &shown);
        assert_eq!(
            words,
            [
                "-H",
                "Proxy-Authorization: Basic {env:BAKEOFF_PROXY_AUTHORIZATION}",
                "--header",
                "X-Token: {env:BAKEOFF_X_TOKEN}",
                "--header=Cookie: {env:BAKEOFF_COOKIE}",
                "-HX-Secret: {env:BAKEOFF_X_SECRET}",
                "--env",
                "A",
                "--env=B",
                "--env",
                "C",
                "-X",
                "PUT",
                "--expect-body",
                "x",
            ]
        );
    }

    #[test]
    fn a_variable_has_a_name_and_perhaps_a_value() {
        let of = |text: &str| text.parse::<Variable>();
        assert_eq!(of("A").unwrap(), Variable { name: "A".into(), value: None });
        assert_eq!(of("A=b=c").unwrap(), Variable { name: "A".into(), value: Some("b=c".into()) });
        for text in ["", "=x", "1A", "A B", "PORT", "HOST=x"] {
            assert!(of(text).is_err(), "{text}");
        }
        let told = of("BAKEOFF_TEST_NEVER").unwrap().hand_on().unwrap_err();
        assert!(told.contains("isn't set in your environment"), "{told}");
    }
}
