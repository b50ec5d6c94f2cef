//! What a condition looks at, as it is written in one: `p99`, `service_mean`, `home.p99`.

use std::str::FromStr;

use crate::verdict::comparison::{Unit, did_you_mean, percentile};
use histogram::reading::Statistic;

/// What a condition looks at.
#[derive(Debug, Clone, PartialEq)]
pub enum Metric {
    /// A statistic of one of the measured times.
    Time(Series, Statistic),
    /// Good answers a second.
    Rate,
    /// Requests that ended in an error.
    Errors,
    /// The share of the requests that ended in an error. It isn't known while requests
    /// have no answer: each may have been good, or an error.
    ErrorShare,
    /// The share of the requests that had a good answer. What was never sent had none, nor
    /// what was never answered.
    GoodShare,
}

/// The measured times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Series {
    /// From the intended start to the whole answer.
    Response,
    /// From the send to the whole answer.
    Service,
    /// From the intended start to the send.
    Lateness,
    /// From the SYN to the established connection.
    Connect,
    /// The response time of the requests of the class with this name.
    Class(String),
}

impl Metric {
    /// The unit of its values.
    pub fn unit(&self) -> Unit {
        match self {
            Metric::Time(..) => Unit::Nanoseconds,
            Metric::Rate => Unit::PerSecond,
            Metric::Errors => Unit::Count,
            Metric::ErrorShare | Metric::GoodShare => Unit::Share,
        }
    }
}

/// As people write it: `p99`, `service_mean`, `home.p99`.
impl FromStr for Metric {
    type Err = String;

    fn from_str(text: &str) -> Result<Metric, String> {
        match text {
            "rate" => return Ok(Metric::Rate),
            "errors" => return Ok(Metric::Errors),
            "error_share" => return Ok(Metric::ErrorShare),
            "good_share" => return Ok(Metric::GoodShare),
            _ => {}
        }
        if let Some((class, of_it)) = text.split_once('.')
            && let Some(statistic) = statistic(of_it)
        {
            return Ok(Metric::Time(Series::Class(class.into()), statistic?));
        }
        let (series, of_it) = match text.split_once('_') {
            None => (Series::Response, text),
            Some((word, of_it)) => (series(word).ok_or_else(|| unknown_metric(text))?, of_it),
        };
        let statistic = statistic(of_it).ok_or_else(|| unknown_metric(text))?;
        Ok(Metric::Time(series, statistic?))
    }
}

/// Whether a word without a point means something in a condition, so that nothing else can be
/// called so.
pub(crate) fn is_word(text: &str) -> bool {
    statistic(text).is_some() || series(text).is_some() || text.parse::<Metric>().is_ok()
}

/// The time that stands before `_` in a metric; `None` where there is no such.
fn series(word: &str) -> Option<Series> {
    match word {
        "service" => Some(Series::Service),
        "lateness" => Some(Series::Lateness),
        "connect" => Some(Series::Connect),
        _ => None,
    }
}

/// The statistic of this name; `None` where there is no such.
fn statistic(name: &str) -> Option<Result<Statistic, String>> {
    match name {
        "max" => Some(Ok(Statistic::Max)),
        "mean" => Some(Ok(Statistic::Mean)),
        _ => {
            let percentile = percentile(name)?.map_err(|why| format!("{why}; the largest is max"));
            Some(percentile.map(Statistic::Percentile))
        }
    }
}

fn unknown_metric(text: &str) -> String {
    let what = if text.is_empty() { "there is no metric" } else { "there is no such metric" };
    format!(
        "{what}; there are p50, p90, p99, p99.9 (or any other), mean and max of the response \
         time, the same with service_, lateness_ or connect_ before them, or with the name of a \
         request and a point (home.p99, get.p99), rate, errors, error_share and good_share{}",
        did_you_mean(text, ["rate", "errors", "error_share", "good_share", "mean", "max"])
    )
}
