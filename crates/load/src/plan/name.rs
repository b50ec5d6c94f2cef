//! The name of a request: the class of its answers, whose times conditions speak of.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::plan::keys::Operation;
use crate::verdict::metric;

/// What a request is called: `home` in `home.p99 < 10ms`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RequestName(String);

/// The most letters of a name: it heads a column.
const LENGTH_MAX: usize = 30;

impl RequestName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for RequestName {
    type Err = String;

    fn from_str(text: &str) -> Result<RequestName, String> {
        let is_inner = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_');
        let begins = text.starts_with(|first: char| first.is_ascii_alphabetic());
        if !begins || !text.chars().all(is_inner) || text.len() > LENGTH_MAX {
            return Err(format!(
                "a request's name has letters, digits, - and _ alone, {LENGTH_MAX} at most, and \
                 begins with a letter"
            ));
        }
        if Operation::of_name(text).is_some() {
            return Err(format!("no request can be called {text}, as an operation of a store is"));
        }
        if metric::is_word(text) {
            return Err(format!(
                "no request can be called {text}, which has a meaning of its own in conditions"
            ));
        }
        Ok(RequestName(text.into()))
    }
}

impl fmt::Display for RequestName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for RequestName {
    type Error = String;

    fn try_from(text: String) -> Result<RequestName, String> {
        text.parse()
    }
}

impl From<RequestName> for String {
    fn from(name: RequestName) -> String {
        name.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::condition::Condition;
    use crate::verdict::metric::{Metric, Series};

    /// Else somebody could give a request a name, and no condition on it.
    #[test]
    fn a_condition_can_speak_of_whatever_is_a_name() {
        for name in ["home", "Home", "a", "user-by-id", "v2_search", "p99th", "rates", "p"] {
            name.parse::<RequestName>().unwrap_or_else(|why| panic!("{name}: {why}"));
            for statistic in ["p50", "p99.9", "max", "mean"] {
                let condition: Condition = format!("{name}.{statistic} < 1ms").parse().unwrap();
                let Metric::Time(Series::Class(class), _) = condition.metric() else {
                    panic!("{condition} is of no class");
                };
                assert_eq!(class, name, "{condition}");
            }
        }
    }

    #[test]
    fn what_no_condition_could_tell_from_something_else_is_no_name() {
        let refused = |text: &str| text.parse::<RequestName>().expect_err(text);
        for text in ["", "1st", "-a", "_a", "a.b", "a b", "a<b", "caf\u{e9}", &"a".repeat(31)] {
            assert!(refused(text).contains("begins with a letter"), "{text:?}: {}", refused(text));
        }
        for text in ["rate", "errors", "error_share", "good_share", "max", "mean", "p99", "p100"] {
            assert!(refused(text).contains("a meaning of its own"), "{text}: {}", refused(text));
        }
        for text in ["service", "lateness", "connect", "service_p99", "connect_max"] {
            assert!(refused(text).contains("a meaning of its own"), "{text}: {}", refused(text));
        }
        for operation in Operation::ALL {
            assert!(refused(operation.name()).contains("an operation of a store"));
        }
        assert!("a".repeat(30).parse::<RequestName>().is_ok());
    }

    #[test]
    fn a_plan_from_elsewhere_has_no_other_names() {
        assert!(serde_json::from_str::<RequestName>(r#""home""#).is_ok());
        assert!(serde_json::from_str::<RequestName>(r#""p99""#).is_err());
    }
}
