//! Headers that are given by people: what can't stand in one, which of them carry secrets, and
//! what they take from the environment.
//!
//! `{env:NAME}` in a header's value stands for the variable `NAME` of the environment. It is
//! filled in when the load is made, so that a secret stands in no file.

/// The start of a place that the environment fills.
const ENV: &str = "{env:";

/// Whole names of headers that carry secrets.
const SECRET: [&str; 2] = ["cookie", "set-cookie"];
/// Parts of such names: of `Authorization`, `Proxy-Authorization` and `X-Api-Key` among them.
const SECRET_PARTS: [&str; 6] = ["auth", "token", "secret", "key", "password", "credential"];

/// Refuses what can't stand in a request.
///
/// # Errors
/// What is wrong with it, in a sentence without the value, which may be a secret.
pub fn check(name: &str, value: &str) -> Result<(), String> {
    let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || !name.bytes().all(is_of_name) {
        return Err(format!("{name:?} is no name of a header"));
    }
    if !is_value(value) {
        return Err(format!(
            "the value of {name} can't stand in a header: it has a line's end or another control \
             character"
        ));
    }
    let is_framing = ["content-length", "transfer-encoding"].contains(&&*name.to_ascii_lowercase());
    if is_framing { Err(format!("{name} is computed from the body")) } else { Ok(()) }
}

fn is_value(value: &str) -> bool {
    value.chars().all(|it| it == '\t' || !it.is_control())
}

/// Whether a header carries a secret that was written out: by its name, and unless its value
/// has nothing but places that are filled in, as `{nonce}`.
pub fn carries_secret(name: &str, value: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let is_secret = SECRET.contains(&&*name) || SECRET_PARTS.iter().any(|it| name.contains(it));
    let rest = value.replace("{nonce}", "").replace("{counter}", "");
    is_secret && variables(value).is_empty() && rest.contains(|it: char| it.is_alphanumeric())
}

/// A header's value as it may be shown.
pub fn shown(name: &str, value: &str) -> String {
    if carries_secret(name, value) { "***".into() } else { value.into() }
}

/// The variables that a value takes from the environment.
pub fn variables(value: &str) -> Vec<&str> {
    pieces(value).filter_map(|piece| piece.variable).collect()
}

/// A header with what it takes from the environment: `value_of` a variable.
///
/// # Errors
/// Which variable isn't set, or can't stand in a header.
pub fn filled(
    (name, value): &(String, String),
    value_of: impl Fn(&str) -> Option<String>,
) -> Result<(String, String), String> {
    let whole = with_variables(value, value_of).map_err(|variable| {
        format!(
            "the header {name} takes {variable} from the environment, and it isn't set there: set \
             it, as with `export {variable}=…`"
        )
    })?;
    check(name, &whole)?;
    Ok((name.clone(), whole))
}

/// A text with what it takes from the environment: `value_of` a variable.
///
/// # Errors
/// The first variable that isn't set.
pub fn with_variables(
    text: &str,
    value_of: impl Fn(&str) -> Option<String>,
) -> Result<String, &str> {
    let mut whole = String::new();
    for Piece { before, variable } in pieces(text) {
        whole.push_str(before);
        if let Some(variable) = variable {
            whole.push_str(&value_of(variable).ok_or(variable)?);
        }
    }
    Ok(whole)
}

/// A variable of this process's environment, where it is text.
pub fn of_environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// A part of a value: text, and the variable behind it.
struct Piece<'a> {
    before: &'a str,
    variable: Option<&'a str>,
}

/// A value's parts. Braces that name no variable stand for themselves.
fn pieces(value: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = Some(value);
    std::iter::from_fn(move || {
        let text = rest?;
        for (at, _) in text.match_indices(ENV) {
            let behind = &text[at + ENV.len()..];
            let Some((name, after)) = behind.split_once('}') else { break };
            if is_variable(name) {
                rest = Some(after);
                return Some(Piece { before: &text[..at], variable: Some(name) });
            }
        }
        rest = None;
        Some(Piece { before: text, variable: None })
    })
}

/// Whether it can be the name of a variable of the environment, as shells have them.
pub fn is_variable(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|it: char| it.is_ascii_digit())
        && name.chars().all(|it| it.is_ascii_alphanumeric() || it == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(value: &str) -> Result<String, String> {
        let value_of = |name: &str| match name {
            "A" => Some("a{env:B}".into()),
            "LINES" => Some("a\nb".into()),
            _ => None,
        };
        filled(&("X".into(), value.into()), value_of).map(|(_, value)| value)
    }

    #[test]
    fn variables_are_filled_in_once_and_other_braces_stand_for_themselves() {
        assert_eq!(of("Bearer {env:A}!").unwrap(), "Bearer a{env:B}!");
        assert_eq!(of("{env:A}{env:A}").unwrap(), "a{env:B}a{env:B}");
        for value in ["", "{env:", "{env:}", "{env:1A}", "{env:A B}", "{ env:A}", "{nonce}"] {
            assert_eq!(of(value).unwrap(), value);
        }
        assert_eq!(variables("{env:A} {env:x-} {env:_B1}"), ["A", "_B1"]);
    }

    #[test]
    fn a_variable_that_is_missing_or_no_value_of_a_header_is_named() {
        let missing = of("{env:NONE}").unwrap_err();
        assert!(missing.contains("takes NONE from the environment, and it isn't set"), "{missing}");
        let lines = of("{env:LINES}").unwrap_err();
        assert!(lines.contains("line's end") && !lines.contains('\n'), "{lines}");
    }

    #[test]
    fn headers_that_carry_a_secret_are_known_by_their_names() {
        for name in [
            "Authorization",
            "proxy-authorization",
            "Cookie",
            "X-Api-Key",
            "X-Auth-Token",
            "Client-SECRET",
        ] {
            assert!(carries_secret(name, "Bearer x"), "{name}");
            assert_eq!(shown(name, "Bearer x"), "***");
            assert!(!carries_secret(name, "Bearer {env:X}"), "{name}: it is nowhere yet");
        }
        for name in ["Accept", "Content-Type", "X-Request-Id"] {
            assert!(!carries_secret(name, "x"), "{name}");
            assert_eq!(shown(name, "x"), "x");
        }
        assert!(!carries_secret("Idempotency-Key", "{nonce}-{counter}"), "it is made up");
        assert!(carries_secret("Idempotency-Key", "a{nonce}"));
    }

    #[test]
    fn what_would_be_another_request_is_refused() {
        assert_eq!(check("X", "a\tb \u{fc}"), Ok(()));
        for (name, value) in
            [("", "x"), ("a b", "x"), ("X:", "x"), ("X", "a\r\nY: z"), ("content-length", "1")]
        {
            assert!(check(name, value).is_err(), "{name}: {value}");
        }
        assert!(!check("X", "secret\n").unwrap_err().contains("secret"));
    }
}
