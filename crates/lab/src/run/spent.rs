//! Where a run's time goes.

use result::Spent;
use result::evidence::Evidence;

/// Adds what a trial took of which so much warm-up was asked. A contender that drives itself
/// warms up until its window begins, which is later by chance.
pub(super) fn add(spent: &mut Spent, warmup_s: f64, evidence: &Evidence) {
    spent.start_s += evidence.ready_s.unwrap_or(0.0);
    spent.contract_s += evidence.contract_s.unwrap_or(0.0);
    spent.stop_s += evidence.stop_s.unwrap_or(0.0);
    let preload = evidence.store.as_ref().and_then(|store| store.preload.as_ref());
    spent.fill_s += preload.map_or(0.0, |preload| preload.seconds);
    if let Some((work, load_s)) = evidence.work.as_ref().zip(evidence.load_s) {
        let warmup_s = warmup_s.max(work.warmup.iter().map(|it| it.seconds).sum());
        spent.window_s += work.seconds;
        spent.warmup_s += warmup_s;
        spent.connect_s += load_s - work.seconds - warmup_s;
    }
}

#[cfg(test)]
mod tests {
    use result::evidence::{Interval, Preload, StoreSeen, Work};

    use super::*;

    #[test]
    fn what_is_no_load_is_the_labs_own() {
        let evidence = Evidence {
            ready_s: Some(0.3),
            contract_s: Some(0.1),
            work: Some(Work { seconds: 2.0, ..Work::default() }),
            load_s: Some(2.75),
            stop_s: Some(0.2),
            store: Some(StoreSeen {
                preload: Some(Preload { keys: 9, acknowledged: 9, seconds: 4.0 }),
                ..StoreSeen::default()
            }),
            ..Evidence::default()
        };
        let mut spent = Spent::default();
        for _ in 0..2 {
            add(&mut spent, 0.5, &evidence);
        }
        spent.whole_s = 10.0;
        assert_eq!((spent.window_s, spent.warmup_s, spent.connect_s), (4.0, 1.0, 0.5));
        assert_eq!(spent.fill_s, 8.0, "a store that syncs each write is filled for seconds");
        assert_eq!(spent.overhead_s(), 5.0);
    }
    /// Else a program's work before its window would be called connecting.
    #[test]
    fn what_a_program_does_until_its_window_begins_is_warm_up() {
        let warmup = [0.3, 0.25].map(|seconds| Interval { seconds, done: 1 });
        let work = Work { seconds: 1.0, warmup: warmup.to_vec(), ..Work::default() };
        let evidence = Evidence { work: Some(work), load_s: Some(1.75), ..Evidence::default() };
        let mut spent = Spent::default();
        add(&mut spent, 0.5, &evidence);
        assert!((spent.warmup_s - 0.55).abs() < 1e-9, "{spent:?}");
        assert!((spent.connect_s - 0.2).abs() < 1e-9, "{spent:?}");
    }
}
