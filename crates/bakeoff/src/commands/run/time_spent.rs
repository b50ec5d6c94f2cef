//! Where a run's time went, said when it is over.

use report::units;
use result::Spent;

use super::progress::time;

const FILLING: &str = "filling stores";

/// One sentence; `None` of a run without a trial.
pub fn sentence(spent: &Spent) -> Option<String> {
    if spent.window_s == 0.0 {
        return None;
    }
    let share = |seconds: f64| units::percent(seconds / spent.whole_s);
    let own = [
        ("starts", spent.start_s),
        ("contracts", spent.contract_s),
        (FILLING, spent.fill_s),
        ("connecting and draining", spent.connect_s),
        ("stops", spent.stop_s),
        ("keeping trials", spent.keep_s),
    ];
    // Only stores are filled.
    let own = own.iter().filter(|(what, seconds)| *what != FILLING || *seconds > 0.0);
    let own: Vec<String> =
        own.map(|(what, seconds)| format!("{what} {}", share(*seconds))).collect();
    let second_client = match spent.second_client_s {
        0.0 => String::new(),
        seconds => format!(", {} trials with a second client", share(seconds)),
    };
    let cuts = match spent.cuts_s {
        0.0 => String::new(),
        seconds => format!(", {} cutting stores off", share(seconds)),
    };
    let scripts = match spent.scripts_s {
        0.0 => String::new(),
        seconds => format!(", {} playing scripts", share(seconds)),
    };
    Some(format!(
        "Time: {}: {} measured, {} warm-up{second_client}{cuts}{scripts}, {} the lab's own ({}).",
        time(spent.whole_s),
        share(spent.window_s),
        share(spent.warmup_s),
        share(spent.overhead_s()),
        own.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_tells_where_its_time_went() {
        let spent = Spent {
            whole_s: 310.0,
            window_s: 204.0,
            warmup_s: 51.0,
            second_client_s: 0.0,
            cuts_s: 0.0,
            scripts_s: 0.0,
            connect_s: 5.0,
            start_s: 31.0,
            contract_s: 5.0,
            stop_s: 9.0,
            keep_s: 0.4,
            fill_s: 0.0,
        };
        insta::assert_snapshot!(sentence(&spent).unwrap(), @"Time: 5 min 10 s: 66 % measured, 16 % warm-up, 18 % the lab's own (starts 10 %, contracts 1.6 %, connecting and draining 1.6 %, stops 2.9 %, keeping trials 0.1 %).");
    }

    #[test]
    fn trials_with_a_second_client_are_not_the_labs_own() {
        let spent = Spent {
            whole_s: 100.0,
            window_s: 60.0,
            warmup_s: 10.0,
            second_client_s: 20.0,
            ..Spent::default()
        };
        let told = sentence(&spent).unwrap();
        assert!(told.contains("20 % trials with a second client, 10 % the lab's own"), "{told}");
        assert!(!told.contains("filling"), "{told}");
        let told = sentence(&Spent { fill_s: 5.0, ..spent }).unwrap();
        assert!(told.contains("filling stores 5 %"), "{told}");
    }

    #[test]
    fn a_run_without_a_trial_tells_nothing() {
        assert_eq!(sentence(&Spent::default()), None);
    }
}
