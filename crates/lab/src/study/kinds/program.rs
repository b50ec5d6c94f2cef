//! Programs that drive themselves.

use result::plan::Setting;

use super::{Kind, has_of_stores};
use crate::contract::{self, Contract};
use crate::drive::program::MORE_S;
use crate::drive::{self, WorkDriver};
use crate::study::contender::Contender;
use crate::study::{ContractFile, Study, StudyFile, Sum};

pub(super) struct Program;

impl Kind for Program {
    fn key(&self) -> &'static str {
        "kind = \"program\""
    }

    fn complaint(&self, study: &StudyFile) -> Option<String> {
        let driver = study.driver.get_ref();
        let what = if driver.unit.is_none() {
            "missing key `unit`: what contenders do is counted in it"
        } else if driver.protocol.is_some() {
            "`protocol` is the load generator's: nobody speaks with these contenders"
        } else {
            return has_of_stores(study);
        };
        Some(what.into())
    }

    fn contract_complaint(&self, contract: &ContractFile, study: &StudyFile) -> Option<String> {
        let what = if contract.is_http() {
            "nobody asks a contender that drives itself: it has `sum`"
        } else if contract.sum == Some(Sum::Records) && study.data.is_none() {
            "`sum = \"records\"` takes `[data]`: a command that makes records"
        } else {
            return None;
        };
        Some(what.into())
    }

    fn driver(&self, _: &Study, _: &Contender) -> Box<dyn WorkDriver> {
        Box::new(drive::program::ProgramDriver::default())
    }

    fn contract(&self, study: &Study, contender: &Contender) -> Box<dyn Contract> {
        Box::new(contract::program::ProgramJob { sum: study.contract_of(contender).sum })
    }

    fn more_s(&self, _: &StudyFile, _: &Setting) -> f64 {
        MORE_S
    }
}
