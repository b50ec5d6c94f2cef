//! What the contenders in Rust share: what they are given, their payloads, and what they tell.

use std::time::{Duration, Instant};
use std::{env, fs};

const INTERVAL: Duration = Duration::from_millis(200);
/// Units between two looks at the clock.
const CLOCK_EVERY: u64 = 1_000;

/// The value of an argument, as of `--seed 7`.
pub fn argument(name: &str) -> String {
    env::args()
        .skip_while(|argument| argument != name)
        .nth(1)
        .unwrap_or_else(|| panic!("{name} and its value have to be given"))
}

/// The payloads in their order: C++'s `minstd_rand`.
#[derive(Debug, Clone)]
pub struct Payloads(u32);

impl Payloads {
    pub fn new(seed: u32) -> Payloads {
        Payloads(seed)
    }
}

impl Iterator for Payloads {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        self.0 = (u64::from(self.0) * 48_271 % 2_147_483_647) as u32;
        Some(self.0)
    }
}

/// The sum after one more payload, modulo 2^32. Each place weighs 31 times as much as the next, so
/// that payloads in another order have another sum.
pub fn after(sum: u32, payload: u32) -> u32 {
    sum.wrapping_mul(31).wrapping_add(payload)
}

/// What goes round a ring.
#[derive(Debug)]
pub struct Token {
    pub payloads: Payloads,
    pub sum: u32,
    pub done: u64,
}

impl Token {
    pub fn hop(mut self) -> Token {
        self.sum = self.payloads.by_ref().take(1).fold(self.sum, after);
        self.done += 1;
        self
    }
}

/// What was received, which is told every now and then.
#[derive(Debug)]
pub struct Account {
    done: u64,
    sum: u32,
    begun: Instant,
    told: Duration,
    until: Duration,
}

impl Account {
    /// Says that the work begins.
    pub fn begin(seconds: f64) -> Account {
        println!(r#"{{"ready": true}}"#);
        let until = Duration::from_secs_f64(seconds);
        Account { done: 0, sum: 0, begun: Instant::now(), told: Duration::ZERO, until }
    }

    /// Units that were done.
    pub fn done(&self) -> u64 {
        self.done
    }

    /// Counts a unit.
    pub fn count(&mut self, payload: u32) {
        self.done += 1;
        self.sum = after(self.sum, payload);
    }

    /// Counts a unit, and returns whether the work goes on.
    pub fn add(&mut self, payload: u32) -> bool {
        self.count(payload);
        if self.done.is_multiple_of(CLOCK_EVERY) { self.tell() } else { self.goes_on() }
    }

    /// Takes over what a token counted, and returns whether the work goes on.
    pub fn take_over(&mut self, token: &Token) -> bool {
        (self.done, self.sum) = (token.done, token.sum);
        self.tell()
    }

    /// Until it was told of at its end.
    fn goes_on(&self) -> bool {
        self.told < self.until
    }

    /// Prints what was done, if that is due, and returns whether the work goes on.
    pub fn tell(&mut self) -> bool {
        let now = self.begun.elapsed();
        if now >= self.told + INTERVAL {
            let (t, done, sum) = (now.as_secs_f64(), self.done, self.sum);
            println!(r#"{{"t": {t:.6}, "done": {done}, "sum": {sum}}}"#);
            self.told = now;
        }
        self.goes_on()
    }
}

/// The memory that this process has, in bytes.
pub fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("its own status");
    let of_line = |line: &str| line.strip_prefix("VmRSS:")?.strip_suffix("kB")?.trim().parse().ok();
    1024 * status.lines().find_map(of_line).unwrap_or(0_u64)
}
