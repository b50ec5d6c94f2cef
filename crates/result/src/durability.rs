//! What stores kept of what they acknowledged, where they were cut off.

use serde::{Deserialize, Serialize};

/// What was found of one store, with the configuration of its trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Durability {
    /// The contender's name.
    pub contender: String,
    /// What it survives without a loss; `None` where nobody could look.
    pub class: Option<Class>,
}

/// What a store survives without losing a write that it acknowledged. Each holds what those
/// before it do: stores are only compared within one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Not even the end of its process.
    Nothing,
    /// The end of its process.
    OwnCrash,
    /// The stop of its machine, where the disk keeps what it was told to.
    MachineStop,
    /// A power cut, in which the disk loses its own cache.
    PowerCut,
}

impl Class {
    /// What stores of it do, as a sentence has it behind *stores that*.
    pub fn says(self) -> &'static str {
        match self {
            Class::Nothing => "lose writes when their process dies",
            Class::OwnCrash => "survive their own crash",
            Class::MachineStop => "survive a machine's stop",
            Class::PowerCut => "survive a power cut",
        }
    }
}
