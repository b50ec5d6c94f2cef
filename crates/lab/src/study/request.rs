//! A request that a contract asks, and what has to be answered: `request`, `requests` and `answer`
//! of `study.toml`.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use load::plan::headers::carries_secret;
use load::plan::name::RequestName;
use load::plan::template::Placeholders;
use load::plan::{Expect, Statuses, WEIGHT_MAX};
use serde::Deserialize;
use toml::Spanned;

use super::{limits, toml_file};

/// The most bytes of a body file. Each trial's client is told it anew.
const BODY_BYTES_MAX: u64 = 64 << 20;

/// What a contender is asked.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// What it is called, where its times are told apart.
    pub name: Option<RequestName>,
    /// Its method; if not given, GET, or POST with a body.
    #[serde(default, deserialize_with = "limits::own_method")]
    pub method: Option<String>,
    /// Path and query; `{nonce}` stands for digits that are new in every request,
    /// `{counter}` for its number.
    #[serde(deserialize_with = "limits::path")]
    pub path: String,
    /// Its own headers; may have the same, and `{env:NAME}`.
    #[serde(default, deserialize_with = "limits::headers")]
    pub headers: Option<Spanned<BTreeMap<String, String>>>,
    /// The text that it sends.
    pub body: Option<String>,
    /// The file of the study's folder that it sends, in the place of a text.
    pub body_file: Option<Spanned<String>>,
    /// How often it is sent beside the others.
    #[serde(default = "one", deserialize_with = "limits::weight")]
    pub weight: u32,
    /// The statuses of a right answer to it, where they aren't those of all.
    #[serde(default, deserialize_with = "limits::own_statuses")]
    pub status: Option<Statuses>,
    /// What the body of a right answer to it holds, where that isn't the same for all.
    #[serde(default, deserialize_with = "limits::own_text")]
    pub answer_body: Option<String>,
    /// The bytes of its body, once they were read.
    #[serde(skip)]
    pub bytes: Arc<[u8]>,
}

fn one() -> u32 {
    1
}

/// What a contender has to answer.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RightAnswer {
    /// The statuses that are right.
    #[serde(deserialize_with = "limits::statuses")]
    pub status: Statuses,
    /// What the body holds; may have the request's `{nonce}` and `{counter}`. Empty where nothing
    /// but answers is asked about, and each contender's own file has the length of its body.
    #[serde(default, deserialize_with = "limits::not_empty")]
    pub body: String,
    /// Whether that is all of it, and no byte may stand around it.
    #[serde(default)]
    pub whole_body: bool,
    /// Whether two answers to the same request must differ, because a part of
    /// them is made anew each time.
    pub fresh: bool,
}

impl Request {
    /// A GET of this path.
    pub fn get(path: &str) -> Request {
        Request {
            name: None,
            method: None,
            path: path.into(),
            headers: None,
            body: None,
            body_file: None,
            weight: 1,
            status: None,
            answer_body: None,
            bytes: Arc::default(),
        }
    }

    /// Reads its body, from the study's folder if it is a file, and refuses a secret that is
    /// written out. `path` is the study's file.
    pub(super) fn read_body(&mut self, path: &Path) -> Result<(), toml_file::Unusable> {
        if let Some(headers) = &self.headers
            && let Some((name, _)) =
                headers.get_ref().iter().find(|(name, value)| carries_secret(name, value))
        {
            let what = format!(
                "the header {name} carries a secret, which stands in no file: write {name} = \
                 \"{{env:NAME}}\", and set NAME in the environment"
            );
            return Err(toml_file::refuse_secret(path, headers.span(), what));
        }
        let Some(file) = &self.body_file else {
            self.bytes = self.body.as_deref().unwrap_or_default().as_bytes().into();
            return Ok(());
        };
        let (name, refuse) = (file.get_ref(), |what| toml_file::refuse(path, file.span(), what));
        if self.body.is_some() {
            return Err(refuse("a request has `body` or `body_file`, and not both".into()));
        }
        let steps = |step| matches!(step, Component::Normal(_));
        if name.is_empty() || !Path::new(name).components().all(steps) {
            let what = format!("`{name}` has to be a file in the study's folder");
            return Err(refuse(what));
        }
        let mut bytes = Vec::new();
        File::open(path.with_file_name(name))
            .and_then(|file| file.take(BODY_BYTES_MAX + 1).read_to_end(&mut bytes))
            .map_err(|error| refuse(format!("the file `{name}` can't be read: {error}")))?;
        if bytes.len() as u64 > BODY_BYTES_MAX {
            let mib = BODY_BYTES_MAX >> 20;
            return Err(refuse(format!("the file `{name}` has more than {mib} MiB")));
        }
        self.bytes = bytes.into();
        Ok(())
    }

    /// The file that it sends, where it sends one. `path` is the study's file.
    pub(super) fn file(&self, path: &Path) -> Option<PathBuf> {
        Some(path.with_file_name(self.body_file.as_ref()?.get_ref()))
    }

    /// As the load generator sends it, with what its answer has to be.
    pub(super) fn asked(&self, answer: &RightAnswer) -> load::plan::template::Request {
        let has_body = self.body.is_some() || self.body_file.is_some();
        let method = self.method.as_deref().unwrap_or(if has_body { "POST" } else { "GET" });
        let statuses = self.status.clone().unwrap_or_else(|| answer.status.clone());
        let may_have_body = method != "HEAD" && statuses.may_have_body();
        let of_all = Some(&answer.body).filter(|text| may_have_body && !text.is_empty());
        let text = self.answer_body.as_ref().or(of_all);
        load::plan::template::Request {
            name: self.name.clone(),
            method: method.into(),
            path: self.path.clone(),
            headers: self.headers.iter().flat_map(|it| it.get_ref().clone()).collect(),
            body: self.bytes.clone(),
            placeholders: Placeholders::with_body(&self.bytes),
            weight: self.weight,
            expect: Some(Expect {
                body: text.cloned(),
                whole_body: text.is_some() && answer.whole_body,
                body_bytes: None,
                statuses,
            }),
        }
    }
}

/// What a weight may be, in words.
pub(super) fn a_weight() -> String {
    format!("a number from 1 to {WEIGHT_MAX}")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::study::{HttpContract, StudyFile};

    /// The contract of a study that asks so, beside the files `order.json` and `photo`.
    fn contract(requests: &str) -> Result<HttpContract, String> {
        let studies = tempfile::tempdir().unwrap();
        let folder = studies.path().join("s");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("order.json"), r#"{"item": "{nonce}"}"#).unwrap();
        fs::write(folder.join("photo"), b"\xff{nonce}").unwrap();
        let text = format!(
            "title = 't'\nquestion = 'q'\ndriver = {{ kind = 'generator', protocol = 'http1' }}\n\
             [contract]\nsays = 's'\n{requests}\n\
             answer = {{ status = 200, body = 'b', fresh = false }}\n\
             [profile.quick]\nblocks = 1\nmeasure_s = 1\nwarmup_s = 1\nsettings = []\n"
        );
        fs::write(folder.join("study.toml"), text).unwrap();
        let file = StudyFile::read(studies.path(), "s").map_err(|error| error.to_string())?;
        let contract = file.contract.get_ref();
        contract.http_complaint().map_or_else(|| Ok(contract.http().unwrap()), Err)
    }

    #[test]
    fn a_request_has_what_the_load_generator_sends_and_expects() {
        let contract = contract(
            "requests = [{ path = '/a' }, { path = '/b', body_file = 'order.json', weight = 9, \
             status = '201,204', answer_body = 'c', headers = { X = 'y' } }, { path = '/c', \
             method = 'PUT', body_file = 'photo' }, { path = '/d', method = 'HEAD' }]",
        );
        let requests = contract.unwrap().requests;
        let methods: Vec<&str> = requests.iter().map(|it| &*it.method).collect();
        assert_eq!(methods, ["GET", "POST", "PUT", "HEAD"]);
        let expects: Vec<_> = requests.iter().map(|it| it.expect.as_ref().unwrap()).collect();
        assert_eq!(
            (expects[0].body.as_deref(), expects[1].body.as_deref()),
            (Some("b"), Some("c"))
        );
        assert_eq!(expects[1].statuses.to_string(), "201,204");
        assert_eq!(expects[3].body, None, "an answer to HEAD has none");
        assert_eq!(requests[1].body[..], *br#"{"item": "{nonce}"}"#);
        assert_eq!((requests[0].weight, requests[1].weight), (1, 9));
        assert_eq!(requests[1].placeholders, Placeholders::Filled);
        assert_eq!(requests[2].placeholders, Placeholders::LeftInBody, "a photo has none");
    }

    #[test]
    fn a_request_has_a_name_of_its_own() {
        let named = contract("requests = [{ name = 'home', path = '/' }, { path = '/a' }]");
        let requests = named.unwrap().requests;
        let names = requests.iter().map(|it| it.name.as_ref().map(RequestName::as_str));
        assert_eq!(names.collect::<Vec<_>>(), [Some("home"), None]);
        let twice = "requests = [{ name = 'a', path = '/' }, { name = 'a', path = '/a' }]";
        assert!(contract(twice).unwrap_err().contains("two requests are called a"));
    }

    #[test]
    fn what_cant_be_sent_is_refused_with_its_line() {
        let refused = |request: &str, part: &str| {
            let why = contract(&format!("request = {{ path = '/', {request} }}")).unwrap_err();
            assert!(why.contains("study.toml:6:") && why.contains(part), "{request}: {why}");
            why
        };
        refused("body = 'a', body_file = 'order.json'", "`body` or `body_file`, and not both");
        refused("body_file = '../order.json'", "a file in the study's folder");
        refused("body_file = '/etc/hostname'", "a file in the study's folder");
        refused("body_file = 'none'", "the file `none` can't be read");
        refused("headers = { 'a b' = 'x' }", "is no name of a header");
        refused("headers = { Content-Length = '1' }", "computed from the body");
        refused("name = 'p99'", "a meaning of its own in conditions");
        refused("name = 'a b'", "begins with a letter");
        refused("weight = 0", "this has to be a number from 1 to 10000");
        refused("status = 100", "this has to be a status from 200 to 999");
        refused("method = 'CONNECT'", "a tunnel");
        let secret = "headers = { Authorization = 'Bearer of-tests' }";
        let why = refused(secret, "carries a secret, which stands in no file");
        assert!(!why.contains("of-tests"), "{why}");
        refused("headers = { connection = 'close' }", "`kept`");
        contract("request = { path = '/', headers = { Cookie = '{env:C}' } }").unwrap();
    }
}
