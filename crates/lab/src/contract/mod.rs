//! Does a contender do its job? What is asked of it, by protocol.
//!
//! - [`http`]: HTTP/1.1, with a small client that is made to complain ([`http_client`]);
//! - [`store`]: stores write, read and remove keys of its own ([`store_client`]);
//! - [`rooms`]: gateways pass messages on between members of its own ([`room_member`]);
//! - [`program`]: programs that drive themselves are held to their clock and their sums.
//!
//! All clients wait on a server in time only (`in_time`).

pub mod http;
pub mod http_client;
mod in_time;
pub mod program;
pub mod room_member;
pub mod rooms;
pub mod store;
pub mod store_client;

use load::Stop;
use load::outcome::SampledAnswer;
use result::evidence::{AnswerSize, ContractStep};
use result::plan::Setting;

use crate::place::Running;

use self::program::{GivenWork, Told};

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

    /// The steps that can be gone through by what was seen while there was work: a few answers
    /// of a contender that was asked, or what one told that drives itself, of what it was given.
    /// None, where the load generator holds all that comes back to what it wrote or said.
    fn under_work(
        &self,
        _answers: &[SampledAnswer],
        _told: &[Told],
        _given: &GivenWork,
        _stop: &Stop,
    ) -> Vec<ContractStep> {
        Vec::new()
    }
}
