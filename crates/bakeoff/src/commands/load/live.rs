//! The line that shows a run under way: on a terminal only, on stderr.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use load::Progress;
use load::outcome::Second;
use load::plan::{Plan, Until};
use report::units;

use super::run::rate;

/// A line that is rewritten once a second and gone at the end.
pub struct Live {
    line: ProgressBar,
    /// The whole run's length, where it is known.
    length: Option<Duration>,
}

impl Live {
    /// A line for one run. indicatif shows nothing where stderr is no terminal.
    pub fn new(plan: &Plan, quiet: bool) -> Live {
        let target =
            if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let line = ProgressBar::with_draw_target(None, target);
        line.set_style(ProgressStyle::with_template("{wide_msg}").expect("a constant template"));
        let length = match plan.until {
            Until::Elapsed(window) => Some(plan.warmup + window),
            Until::Requests(_) => None,
        };
        Live { line, length }
    }

    /// Shows the second that is over.
    pub fn show(&self, progress: &Progress) {
        self.line.set_message(text(progress, self.length));
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.line.finish_and_clear();
    }
}

fn text(progress: &Progress, length: Option<Duration>) -> String {
    let Second { good, p50, p99, .. } = progress.second;
    let time = |nanoseconds: Option<u64>| match nanoseconds {
        None => units::NOTHING.to_string(),
        Some(nanoseconds) => units::time(nanoseconds as f64 / 1e3),
    };
    let left = length.map_or_else(String::new, |length| {
        let left = (length.as_secs_f64() - progress.elapsed_s).max(0.0);
        format!(" · {left:.0} s left")
    });
    format!(
        "{}{} · p50 {} · p99 {} · {}{left}",
        if progress.warming_up { "warming up: " } else { "" },
        rate(good as f64),
        time(p50),
        time(p99),
        units::of(progress.errors, "error"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_has_rate_percentiles_errors_and_the_time_left() {
        let mut progress = Progress {
            elapsed_s: 3.02,
            warming_up: true,
            second: Second {
                good: 31_234,
                p50: Some(85_000),
                p99: Some(1_250_000),
                ..Second::default()
            },
            errors: 1,
        };
        assert_eq!(
            text(&progress, Some(Duration::from_secs(11))),
            "warming up: 31.2k/s · p50 85.0 µs · p99 1.25 ms · 1 error · 8 s left"
        );
        progress.warming_up = false;
        progress.second = Second::default();
        assert_eq!(text(&progress, None), "0/s · p50 – · p99 – · 1 error");
    }
}
