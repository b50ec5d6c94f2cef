//! The line that shows a run under way: on a terminal only, on stderr.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use load::outcome::Second;
use load::plan::{Plan, Until};
use load::{News, Progress};
use report::units;

use super::run::rate;

/// A line that is rewritten once a second and gone at the end.
pub struct Live {
    line: ProgressBar,
    words: LiveLine,
}

impl Live {
    /// A line for one run. indicatif shows nothing where stderr is no terminal.
    pub fn new(plan: &Plan, quiet: bool) -> Live {
        let target =
            if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let line = ProgressBar::with_draw_target(None, target);
        line.set_style(ProgressStyle::with_template("{wide_msg}").expect("a constant template"));
        Live { line, words: LiveLine::of(plan) }
    }

    /// Shows what is new.
    pub fn show(&mut self, news: &News) {
        self.line.set_message(self.words.on(news));
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.line.finish_and_clear();
    }
}

/// What the line says.
struct LiveLine {
    connections: u32,
    end: End,
}

/// When the run is over.
enum End {
    /// After this time, the warm-up's among it.
    After(Duration),
    /// When all requests have come to an end; so many have.
    Of { requests: u64, ended: u64 },
}

impl LiveLine {
    fn of(plan: &Plan) -> LiveLine {
        let end = match plan.until {
            Until::Elapsed(window) => End::After(plan.warmup + window),
            Until::Requests(requests) => End::Of { requests, ended: 0 },
        };
        LiveLine { connections: plan.connections, end }
    }

    fn on(&mut self, news: &News) -> String {
        match news {
            News::Connecting(open) => format!(
                "connecting, {} of {}",
                units::whole((*open).into()),
                units::whole(self.connections.into())
            ),
            News::Second(progress) => self.on_second(progress),
        }
    }

    fn on_second(&mut self, progress: &Progress) -> String {
        let Second { good, errors, bytes, p50, p99, said } = progress.second;
        let time = |nanoseconds: Option<u64>| match nanoseconds {
            None => units::NOTHING.to_string(),
            Some(nanoseconds) => units::time(nanoseconds as f64 / 1e3),
        };
        let left = match &mut self.end {
            End::After(length) => {
                let left = (length.as_secs_f64() - progress.elapsed_s).max(0.0);
                format!("{left:.0} s left")
            }
            End::Of { requests, ended } => {
                if !progress.warming_up {
                    // Late answers to requests of the warm-up are among those of a second.
                    *ended = (*ended + good + errors).min(*requests);
                }
                format!(
                    "{} of {} ({})",
                    units::whole(*ended),
                    units::of(*requests, "request"),
                    units::percent(*ended as f64 / *requests as f64)
                )
            }
        };
        let warming_up = if progress.warming_up { "warming up: " } else { "" };
        if let Some(said) = said {
            let confirmed = match said.confirmed {
                0 => String::new(),
                confirmed => format!(", confirmed {}", rate(confirmed as f64)),
            };
            return format!(
                "{warming_up}{} · out {} {}/s{confirmed} · in {} {}/s · p99 {} · missing {} · {left}",
                units::of(self.connections.into(), "robot"),
                rate(said.messages as f64),
                units::bytes(said.bytes),
                rate(good as f64),
                units::bytes(bytes),
                time(p99),
                units::whole(progress.errors),
            );
        }
        format!(
            "{warming_up}{} · p50 {} · p99 {} · {} · {left}",
            rate(good as f64),
            time(p50),
            time(p99),
            units::of(progress.errors, "error"),
        )
    }
}

#[cfg(test)]
mod tests {
    use load::outcome::deliveries::SaidInSecond;

    use super::super::arguments::tests::parse;
    use super::*;

    fn words(arguments: &[&str]) -> LiveLine {
        let all = [&["http://127.0.0.1:8080/"][..], arguments].concat();
        LiveLine::of(&parse(&all).unwrap().plan().unwrap())
    }

    fn second(good: u64, errors: u64) -> Progress {
        let second =
            Second { good, errors, p50: Some(85_000), p99: Some(1_250_000), ..Second::default() };
        Progress { elapsed_s: 3.02, warming_up: false, second, errors: 1 }
    }

    #[test]
    fn the_line_has_rate_percentiles_errors_and_the_time_left() {
        let mut words = words(&["-d", "10s", "--warmup", "1s"]);
        let warming_up = Progress { warming_up: true, ..second(31_234, 0) };
        assert_eq!(
            words.on(&News::Second(warming_up)),
            "warming up: 31.2k/s · p50 85.0 µs · p99 1.25 ms · 1 error · 8 s left"
        );
        let nothing = Progress { second: Second::default(), ..second(0, 0) };
        assert_eq!(words.on(&News::Second(nothing)), "0/s · p50 – · p99 – · 1 error · 8 s left");
    }

    #[test]
    fn where_requests_are_counted_the_line_has_how_many_are_done_instead_of_a_time() {
        let mut words = words(&["-n", "4000", "--warmup", "1s"]);
        let mut done = |progress: Progress| {
            let line = words.on(&News::Second(progress));
            line.rsplit(" · ").next().unwrap().to_string()
        };
        let warming_up = Progress { warming_up: true, ..second(700, 0) };
        assert_eq!(done(warming_up), "0 of 4,000 requests (0 %)", "it counts the warm-up");
        assert_eq!(done(second(1_000, 0)), "1,000 of 4,000 requests (25 %)");
        assert_eq!(done(second(900, 100)), "2,000 of 4,000 requests (50 %)", "errors are an end");
        assert_eq!(done(second(2_003, 0)), "4,000 of 4,000 requests (100 %)", "more than all");
    }

    #[test]
    fn of_robots_the_line_has_what_goes_out_and_comes_in_and_what_is_missing() {
        let line = ["frames://127.0.0.1:7", "--rate", "32500", "--rooms", "650", "-d", "10s"];
        let mut words = LiveLine::of(&parse(&line).unwrap().plan().unwrap());
        let mut progress = second(32_500, 0);
        progress.second.bytes = 2_145_000;
        progress.second.said = Some(SaidInSecond { messages: 3_250, bytes: 214_500, confirmed: 0 });
        assert_eq!(
            words.on(&News::Second(progress)),
            "6,500 robots · out 3.25k/s 209 KiB/s · in 32.5k/s 2.05 MiB/s · p99 1.25 ms · missing 1 · \
             7 s left"
        );
        progress.second.said =
            Some(SaidInSecond { messages: 3_250, bytes: 214_500, confirmed: 3_240 });
        let line = words.on(&News::Second(progress));
        assert!(line.contains(" · out 3.25k/s 209 KiB/s, confirmed 3.24k/s · in "), "{line}");
    }

    #[test]
    fn while_connections_are_made_the_line_has_how_many_there_are() {
        let mut words = words(&["-c", "5000"]);
        assert_eq!(words.on(&News::Connecting(1_216)), "connecting, 1,216 of 5,000");
    }
}
