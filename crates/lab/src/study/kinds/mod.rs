//! What the lab does for each kind of study, a file a kind: what it refuses in a study's files,
//! how it drives contenders, and what it holds them to. What all may know of a kind is in
//! [`result::kind`].

mod http;
mod keys;
mod program;
mod rooms;

use result::plan::Setting;

use super::contender::Contender;
use super::{ContractFile, Profile, Study, StudyFile};
use crate::contract::Contract;
use crate::drive::WorkDriver;

/// What the lab does for a kind of study.
pub trait Kind {
    /// What says in `[driver]` that a study is of it.
    fn key(&self) -> &'static str;

    /// What speaks against a study's driver, or against what only studies of another kind have.
    fn complaint(&self, study: &StudyFile) -> Option<String>;

    /// What speaks against a profile of such a study.
    fn profile_complaint(&self, _profile: &Profile) -> Option<String> {
        None
    }

    /// What speaks against a contract of such a study.
    fn contract_complaint(&self, contract: &ContractFile, study: &StudyFile) -> Option<String>;

    /// What speaks against a contender with this contract.
    fn contender_complaint(
        &self,
        _contender: &Contender,
        _contract: &ContractFile,
    ) -> Option<String> {
        None
    }

    /// What puts work on a contender.
    fn driver(&self, study: &Study, contender: &Contender) -> Box<dyn WorkDriver>;

    /// What a contender has to do.
    fn contract(&self, study: &Study, contender: &Contender) -> Box<dyn Contract>;

    /// Seconds that a trial takes beside start, contract, warm-up, window and stop; of stores, at
    /// least.
    fn more_s(&self, _study: &StudyFile, _setting: &Setting) -> f64 {
        0.0
    }
}

/// What is done for this kind.
pub fn of(kind: result::kind::Kind) -> &'static dyn Kind {
    use result::kind::Kind;
    match kind {
        Kind::Http => &http::HttpKind,
        Kind::Keys => &keys::KeysKind,
        Kind::Program => &program::ProgramKind,
        Kind::Rooms => &rooms::RoomsKind,
    }
}

/// What speaks against a study that is asked, and has what only programs have.
fn has_of_programs(study: &StudyFile) -> Option<String> {
    let StudyFile { driver, parameters, told, data, .. } = study;
    let has = driver.get_ref().unit.is_some()
        || !parameters.is_empty()
        || !told.is_empty()
        || data.is_some();
    let what = "`unit`, `parameter`, `figure` and `data` are for contenders that drive themselves";
    has.then(|| what.into())
}

/// What speaks against a study that has work for stores, and none of them.
fn has_of_stores(study: &StudyFile) -> Option<String> {
    let what = || format!("`asks` is for a driver with `{}`", keys::KeysKind.key());
    (!study.asks.is_empty()).then(what)
}
