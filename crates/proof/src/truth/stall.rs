//! Where the response times of an open loop lie when its server stalls once.
//!
//! Requests come at a constant rate R for a time T. The server answers each after
//! its service time s, and up to M a second. It stalls for a time S. A request
//! that is due a time x after the stall began waits for its end, S − x, and then
//! for those that came before it and aren't answered yet, x·R/M. The queue is
//! gone a time L = S·M/(M − R) after the stall began. So the requests due within
//! that time, a share L/T of all, have response times spread evenly from s to
//! S + s; those of all others are s. The quantile q is then
//!
//! - s, as long as q ≤ 1 − L/T;
//! - S·(1 − (1 − q)·T/L) + s beyond.

/// One stall in an open loop. Times are in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stall {
    /// Its length.
    pub length: f64,
    /// The length of the loop.
    pub window: f64,
    /// Requests a second.
    pub rate: f64,
    /// Requests that the server can answer a second.
    pub capacity: f64,
    /// The service time.
    pub service: f64,
}

impl Stall {
    /// The response time at a quantile, in seconds.
    pub fn response(&self, quantile: f64) -> f64 {
        let affected = self.length * self.capacity / (self.capacity - self.rate);
        let beyond = (1.0 - quantile) * self.window / affected;
        self.length * (1.0 - beyond).max(0.0) + self.service
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STALL: Stall =
        Stall { length: 2.0, window: 10.0, rate: 1_000.0, capacity: 9_000.0, service: 0.005 };

    /// The same, request by request.
    fn simulated(stall: Stall, quantile: f64) -> f64 {
        let requests = (stall.rate * stall.window) as usize;
        let begin = stall.window * 0.3;
        let mut free_at = 0.0_f64;
        let mut times: Vec<f64> = (0..requests)
            .map(|number| {
                let due = number as f64 / stall.rate;
                let mut start = due.max(free_at);
                if start >= begin && start < begin + stall.length {
                    start = begin + stall.length;
                }
                free_at = start + 1.0 / stall.capacity;
                start + stall.service - due
            })
            .collect();
        times.sort_by(f64::total_cmp);
        times[(quantile * requests as f64).ceil() as usize - 1]
    }

    #[test]
    fn arithmetic_and_simulation_agree() {
        for quantile in [0.5, 0.7, 0.9, 0.99, 0.999] {
            let (expected, simulated) = (STALL.response(quantile), simulated(STALL, quantile));
            assert!(
                (expected - simulated).abs() < 0.002 + 0.002 * simulated,
                "at {quantile}: {expected} by arithmetic, {simulated} by simulation"
            );
        }
    }

    #[test]
    fn without_a_queue_the_worst_wait_is_the_stall() {
        let endless = Stall { capacity: 1e12, ..STALL };
        assert!((endless.response(0.9) - (2.0 - 1.0 + 0.005)).abs() < 1e-6);
        assert!((endless.response(1.0) - 2.005).abs() < 1e-6);
        assert_eq!(endless.response(0.5), 0.005);
    }
}
