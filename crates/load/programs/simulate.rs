//! Makes simulated runs until one breaks a law, each by a seed of its own:
//! `simulate RUNS [FIRST_SEED]`. `simulate 1 SEED` makes one again.

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Histograms are large, made for each run, and hardly touched: their memory is kept.
fn keep_memory() {
    const KEPT: libc::c_int = 1 << 30;
    // SAFETY: both only set limits, before there is a second thread.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, KEPT);
        libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT);
    }
}

fn main() -> ExitCode {
    keep_memory();
    let mut numbers = std::env::args().skip(1).map(|word| word.parse::<u64>());
    let (runs, first) = match (numbers.next(), numbers.next().unwrap_or(Ok(0))) {
        (Some(Ok(runs)), Ok(first)) => (runs, first),
        _ => {
            eprintln!("simulate RUNS [FIRST_SEED]: two numbers");
            return ExitCode::from(2);
        }
    };
    let (next, began) = (AtomicU64::new(first), Instant::now());
    let threads = std::thread::available_parallelism().map_or(1, |threads| threads.get());
    let broken = std::thread::scope(|scope| {
        let work = || {
            std::iter::from_fn(|| Some(next.fetch_add(1, Ordering::Relaxed)))
                .take_while(|seed| *seed < first + runs)
                .find_map(|seed| load::simulator::check(seed).err())
        };
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        threads.into_iter().find_map(|it| it.join().unwrap_or(Some("a thread panicked".into())))
    });
    match broken {
        None => {
            println!("{runs} runs hold, in {:.1} s.", began.elapsed().as_secs_f64());
            ExitCode::SUCCESS
        }
        Some(what) => {
            eprintln!("{what}\nTo make it again: make simulate RUNS=1 SEED=…");
            ExitCode::FAILURE
        }
    }
}
