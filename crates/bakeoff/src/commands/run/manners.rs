//! What a contender did beside its job, said once: no figure rests on it, but
//! whoever wrote the contender wants to know.

use report::units;
use result::evidence::Process;

/// Output above this, in bytes, is more than a server's words at its start and end.
const OUTPUT_BYTES_MAX: u64 = 1 << 20;

/// One sentence; `None` where there is nothing to tell.
pub fn sentence(contender: &str, process: &Process) -> Option<String> {
    let killed = process
        .killed
        .then(|| "didn't end on SIGTERM with all that it had started, and was killed".to_string());
    let wrote = process.output_bytes.filter(|bytes| *bytes > OUTPUT_BYTES_MAX).map(|bytes| {
        let bytes = units::bytes(bytes);
        format!("wrote {bytes} to its output, which takes time from its answers and from the load")
    });
    let both: Vec<String> = killed.into_iter().chain(wrote).collect();
    (!both.is_empty()).then(|| format!("Note: {contender} {}.", both.join("; it ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(killed: bool, output_bytes: Option<u64>) -> Option<String> {
        sentence("go", &Process { killed, output_bytes, ..Process::default() })
    }

    #[test]
    fn who_behaves_is_not_mentioned() {
        assert_eq!(told(false, None), None);
        assert_eq!(told(false, Some(OUTPUT_BYTES_MAX)), None);
    }

    #[test]
    fn what_a_contender_does_beside_its_job_is_one_sentence() {
        insta::assert_snapshot!(told(true, Some(1 << 30)).unwrap(), @"Note: go didn't end on SIGTERM with all that it had started, and was killed; it wrote 1024 MiB to its output, which takes time from its answers and from the load.");
    }
}
