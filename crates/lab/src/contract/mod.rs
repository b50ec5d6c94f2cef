//! Does a contender do its job? What is asked of it, by protocol.

pub mod http;
pub mod http_client;

use load::Stop;
use load::outcome::SampledAnswer;
use result::evidence::{AnswerSize, ContractStep};
use result::plan::Setting;

use crate::place::Running;
use crate::study::{ContractFile, Driver, DriverKind, Protocol};

use self::http::Http;

/// How much time a check may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Tenths of a second: before each trial.
    Quick,
    /// Seconds: what needs waiting as well.
    Thorough,
}

/// The job that a contender has to do, in steps that it passes or fails.
pub trait Contract {
    /// Goes through all steps with nothing else to do, telling of each, until `stop` asks for
    /// the end.
    fn check(
        &self,
        on: &Running,
        depth: Depth,
        stop: &Stop,
        tell: &mut dyn FnMut(&ContractStep),
    ) -> Vec<ContractStep>;

    /// The size of one right answer; `None` where there are no answers, or none was right.
    fn answer_size(&self, _on: &Running, _setting: &Setting, _stop: &Stop) -> Option<AnswerSize> {
        None
    }

    /// The steps that a few answers can be held to that came while there was work.
    fn under_work(&self, _answers: &[SampledAnswer]) -> Vec<ContractStep> {
        Vec::new()
    }
}

/// What a study's file asks of a contender, as its driver can ask it.
pub fn of<'a>(driver: &Driver, file: &'a ContractFile) -> Box<dyn Contract + 'a> {
    match (driver.kind, driver.protocol) {
        (DriverKind::Generator, Protocol::Http1) => Box::new(Http { file }),
    }
}
