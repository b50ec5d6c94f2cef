//! What the readers share that hold a decoder to reading the same in any split.

use super::Fault;
use crate::outcome::ErrorKind;
use crate::template::mix;

/// What came of an answer, or of the connection.
#[derive(Debug, PartialEq)]
pub enum Step {
    /// An answer ended at this byte of the stream.
    Answer {
        /// Where it ended.
        end: usize,
        /// Its status; of a store the number of the operation.
        status: u16,
        /// What was wrong with it.
        fault: Option<ErrorKind>,
        /// Whether the next request may follow.
        reusable: bool,
    },
    /// The stream was found to be no answer before its end.
    Broken(ErrorKind),
    /// The stream ended within an answer, or before one.
    Cut(ErrorKind),
}

/// The most bytes of what people are shown of an error.
const EXAMPLE_BYTES_MAX: usize = 1024;

/// A fault's kind, after a look at its example.
pub(crate) fn kind(fault: &Fault) -> ErrorKind {
    assert!(fault.example.len() <= EXAMPLE_BYTES_MAX, "a long example: {}", fault.example);
    assert!(
        fault.example.chars().all(|letter| !letter.is_control()),
        "an example with a control character: {:?}",
        fault.example
    );
    fault.kind
}

/// Cuts for a stream of so many bytes, by chance: pieces of 1 to `longest` bytes.
pub fn random_cuts(length: usize, longest: usize, seed: u64) -> Vec<usize> {
    let mut cuts = Vec::new();
    let mut at = 0;
    loop {
        let chance = mix(seed.wrapping_add(cuts.len() as u64));
        at += 1 + (chance % longest as u64) as usize;
        if at >= length {
            return cuts;
        }
        cuts.push(at);
    }
}

/// The seeds of a fuzz target, by name.
#[cfg(test)]
pub(crate) fn seeds(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = format!("{}/../../fuzz/seeds/{target}", env!("CARGO_MANIFEST_DIR"));
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let read = |entry: std::fs::DirEntry| {
        (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap())
    };
    let mut seeds: Vec<_> = entries.map(read).collect();
    seeds.sort();
    seeds
}

/// What came of a stream, for a snapshot.
#[cfg(test)]
pub(crate) fn in_lines(steps: &[Step]) -> String {
    steps.iter().map(|step| format!("\n    {step:?}")).collect()
}
