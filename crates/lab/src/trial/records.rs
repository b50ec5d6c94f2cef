//! Records that a contender works on, made for its trial by the study's own command.
//!
//! The command prints a line a record: its number, a tab, and the record. The number is the
//! lab's, and the record goes into the file that the contender is given. So what a record looks
//! like is the study's affair.

use keeper::text::harmless;
use load::Stop;

use super::tool;
use crate::drive::Drive;
use crate::drive::program::setting_and_seed;
use crate::study::Data;

/// The file's name in the trial's folder.
pub const FILE: &str = "records";

/// How many there may be: the keeper tells of no more than 20,000 lines.
const RECORDS_MAX: usize = 10_000;
/// Bytes of a line: the keeper cuts longer ones.
const LINE_BYTES_MAX: usize = 4_000;
/// The records of a trial.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Records {
    /// The file, a record a line.
    pub text: String,
    /// The number of each.
    pub numbers: Vec<u64>,
}

/// Makes the records of a trial. Somebody who asks to stop meanwhile gets what there is.
///
/// # Errors
/// That they couldn't be made, in a sentence.
pub fn make(data: &Data, what: &Drive, stop: &Stop) -> Result<Records, String> {
    let command = [data.made_by.clone(), setting_and_seed(what)].concat();
    let failed = |why: String| format!("`{}`: {why}", command.join(" "));
    let mut records = Records::default();
    tool::run(data, command.clone(), stop, |line| records.take(line)).map_err(failed)?;
    if records.numbers.is_empty() && !stop.asked() {
        return Err(failed("it printed no record".into()));
    }
    Ok(records)
}

impl Records {
    /// Takes a line that was printed.
    fn take(&mut self, line: &str) -> Result<(), String> {
        if self.numbers.len() == RECORDS_MAX {
            return Err(format!("it printed more than {RECORDS_MAX} records"));
        }
        let is_short = line.len() <= LINE_BYTES_MAX;
        let parts = line.split_once('\t').filter(|_| is_short);
        let number = parts.and_then(|(number, _)| number.parse::<u32>().ok());
        let (Some(number), Some((_, record))) = (number, parts) else {
            return Err(format!(
                "it printed {:?}; a line is a number below 2^32, a tab and the record, in \
                 {LINE_BYTES_MAX} bytes at most",
                harmless(line)
            ));
        };
        self.numbers.push(number.into());
        self.text.push_str(record);
        self.text.push('\n');
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_number_and_a_record() {
        let mut records = Records::default();
        records.take("7\tkey\tvalue").unwrap();
        records.take("4294967295\t{\"a\": 1}").unwrap();
        let text = "key\tvalue\n{\"a\": 1}\n".into();
        assert_eq!(records, Records { text, numbers: vec![7, u64::from(u32::MAX)] });
    }

    #[test]
    fn what_is_no_record_is_quoted() {
        let long = format!("1\t{}", "x".repeat(LINE_BYTES_MAX));
        for line in ["", "7", "x\tkey", "-1\tkey", "4294967296\tkey", &long] {
            let mut records = Records::default();
            let why = records.take(line).unwrap_err();
            assert!(why.contains("a line is a number below 2^32"), "{why}");
            assert_eq!(records, Records::default());
        }
    }

    #[test]
    fn more_records_than_lines_are_told_are_refused() {
        let mut records = Records::default();
        for _ in 0..RECORDS_MAX {
            records.take("1\tx").unwrap();
        }
        assert!(records.take("1\tx").unwrap_err().starts_with("it printed more than"));
    }
}
