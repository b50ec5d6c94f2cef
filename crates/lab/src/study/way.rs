//! How a contender is driven and held to its contract, by what its study and its own file say.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::contender::{Contender, Speaks};
use super::{Asks, HttpContract, Study, Sum};

/// How a contender is driven and held to its contract.
#[derive(Debug, Clone)]
pub enum Way {
    /// The load generator asks by HTTP/1.1.
    Http(HttpContract),
    /// The load generator asks for keys.
    Store {
        /// What it speaks.
        speaks: Speaks,
        /// What it is asked, by the word that settings have for it.
        asks: BTreeMap<String, Asks>,
        /// A program that asks in the place of bakeoff's own client.
        client: Option<PathBuf>,
    },
    /// It drives itself, and this shows that it did the work.
    Program(Option<Sum>),
}

impl Study {
    /// What its requests take from the environment, and isn't set there, in a sentence.
    pub fn missing_variable(&self) -> Option<String> {
        let contracts = self.contenders.iter().map(|contender| self.contract_of(contender));
        contracts.filter_map(|it| it.http()?.with_environment().err()).next()
    }

    /// How one of its contenders is driven.
    pub fn way(&self, contender: &Contender) -> Way {
        let contract = self.contract_of(contender);
        match (contract.http(), contender.file.speaks) {
            (Some(asks), _) => {
                let asks = asks.with_lengths(contender.file.body_bytes.as_ref());
                // That a variable isn't set is told before anything is measured.
                Way::Http(asks.clone().with_environment().unwrap_or(asks))
            }
            (None, Some(speaks)) => {
                let asks = self.file.asks.iter();
                let asks = asks.map(|(name, asks)| (name.clone(), asks.clone())).collect();
                Way::Store { speaks, asks, client: self.client.clone() }
            }
            (None, None) => Way::Program(contract.sum),
        }
    }
}
