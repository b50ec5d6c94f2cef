//! Where a run's time goes.

use result::Spent;
use result::evidence::Evidence;

/// Adds what a trial with so much warm-up took.
pub(super) fn add(spent: &mut Spent, warmup_s: f64, evidence: &Evidence) {
    spent.start_s += evidence.ready_s.unwrap_or(0.0);
    spent.contract_s += evidence.contract_s.unwrap_or(0.0);
    spent.stop_s += evidence.stop_s.unwrap_or(0.0);
    if let Some((work, load_s)) = evidence.work.as_ref().zip(evidence.load_s) {
        spent.window_s += work.seconds;
        spent.warmup_s += warmup_s;
        spent.connect_s += load_s - work.seconds - warmup_s;
    }
}

#[cfg(test)]
mod tests {
    use result::evidence::Work;

    use super::*;

    #[test]
    fn what_is_no_load_is_the_labs_own() {
        let evidence = Evidence {
            ready_s: Some(0.3),
            contract_s: Some(0.1),
            work: Some(Work { seconds: 2.0, ..Work::default() }),
            load_s: Some(2.75),
            stop_s: Some(0.2),
            ..Evidence::default()
        };
        let mut spent = Spent::default();
        for _ in 0..2 {
            add(&mut spent, 0.5, &evidence);
        }
        spent.whole_s = 10.0;
        assert_eq!((spent.window_s, spent.warmup_s, spent.connect_s), (4.0, 1.0, 0.5));
        assert_eq!(spent.overhead_s(), 5.0);
    }
}
