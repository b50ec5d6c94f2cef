//! Servers, which the load generator asks by HTTP/1.1.

use result::plan::BodyBytes;

use super::{Kind, has_of_programs, has_of_stores};
use crate::contract::{self, Contract};
use crate::drive::{self, WorkDriver};
use crate::study::contender::Contender;
use crate::study::{ContractFile, HttpContract, Study, StudyFile};

pub(super) struct HttpKind;

impl Kind for HttpKind {
    fn key(&self) -> &'static str {
        "protocol = \"http1\""
    }

    fn complaint(&self, study: &StudyFile) -> Option<String> {
        has_of_programs(study).or_else(|| has_of_stores(study))
    }

    fn contract_complaint(&self, contract: &ContractFile, _: &StudyFile) -> Option<String> {
        let has_refusals = contract.answers_only && !contract.refuses.is_empty();
        let other = || {
            if has_refusals {
                Some("with `answers_only` nothing has to be refused: leave `refuses` out".into())
            } else {
                let what = "`sum` is for contenders that drive themselves";
                contract.sum.map(|_| what.into())
            }
        };
        contract.http_complaint().or_else(other)
    }

    fn contender_complaint(
        &self,
        contender: &Contender,
        contract: &ContractFile,
    ) -> Option<String> {
        let contract = contract.http()?;
        match &contender.file.body_bytes {
            None if contract.lacks_text() => Some(
                "missing key `body` in the contract of its study, or `body_bytes` here: any \
                 answer would be right"
                    .into(),
            ),
            Some(BodyBytes::Each(each)) if each.len() != contract.requests.len() => {
                let (requests, lengths) = (contract.requests.len(), each.len());
                Some(format!(
                    "`body_bytes` has {lengths} numbers, and the contract {requests} requests"
                ))
            }
            _ => None,
        }
    }

    fn driver(&self, study: &Study, contender: &Contender) -> Box<dyn WorkDriver> {
        Box::new(drive::http::HttpDriver { contract: asks(study, contender) })
    }

    fn contract(&self, study: &Study, contender: &Contender) -> Box<dyn Contract> {
        Box::new(contract::http::HttpJob { asks: asks(study, contender) })
    }
}

/// What a contender is asked.
fn asks(study: &Study, contender: &Contender) -> HttpContract {
    let asks = study.contract_of(contender).http();
    let asks = asks.expect("a contract without it is refused where its study is read");
    let asks = asks.with_lengths(contender.file.body_bytes.as_ref());
    // That a variable isn't set is told before anything is measured.
    asks.clone().with_environment().unwrap_or(asks)
}
