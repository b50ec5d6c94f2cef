//! What a run of load is asked to do.

pub mod headers;
pub mod keys;
pub mod name;
pub mod rooms;
pub(crate) mod rotation;
pub mod share;
pub mod statuses;
pub mod template;

use std::net::SocketAddr;
use std::time::Duration;

use histogram::neglect::PATIENCE_MAX;
use serde::{Deserialize, Serialize};

pub use self::keys::Keys;
pub use self::rooms::{Ending, Rooms, Slow, Storm};
pub use self::share::Share;
pub use crate::plan::statuses::Statuses;
use crate::plan::template::Request;

/// Everything that decides a run, apart from chance: the same plan against the
/// same server offers the same load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Where the requests go.
    pub target: Target,
    /// What is sent, and what an answer must be to count as good.
    pub work: Workload,
    /// When requests are due.
    pub arrivals: Arrivals,
    /// Connections at once, over all threads.
    pub connections: u32,
    /// Whether a connection serves many requests or one.
    pub keep_alive: bool,
    /// Requests under way at once on a connection.
    pub pipeline: u16,
    /// When the measured window ends.
    pub until: Until,
    /// Load before the measured window.
    pub warmup: Duration,
    /// The longest wait for a connection and for an answer.
    pub timeout: Duration,
    /// The processors to run on, one thread each in turn. Empty: all allowed.
    pub cpus: Vec<usize>,
    /// Threads; 0 for one a processor.
    pub threads: usize,
    /// How to talk to the kernel.
    pub backend: BackendChoice,
    /// Decides nonces and Poisson arrivals.
    pub seed: u64,
    /// Which part of a load it is.
    #[serde(default)]
    pub share: Share,
}

/// What is sent, and what an answer must be to count as good.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Workload {
    /// Requests of HTTP/1.1.
    Http(Http),
    /// Operations on keys of a store.
    Keys(Keys),
    /// Messages of robots in rooms.
    Rooms(Rooms),
}

impl Workload {
    /// The classes of requests whose times are told apart, by name, each with its share of all
    /// requests, from 0 to 1.
    pub fn classes(&self) -> Vec<(&str, f64)> {
        match self {
            Workload::Http(http) => http.classes(),
            Workload::Keys(keys) => keys.classes(),
            Workload::Rooms(_) => Vec::new(),
        }
    }
}

/// Requests of HTTP/1.1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Http {
    /// What is sent: one template after the other, in turn or by their weights.
    pub requests: Vec<Request>,
    /// What an answer must be to count as good, unless its request has its own.
    pub expect: Expect,
}

impl Http {
    /// What an answer to one of its requests must be.
    pub fn expect_of<'a>(&'a self, request: &'a Request) -> &'a Expect {
        request.expect.as_ref().unwrap_or(&self.expect)
    }

    /// Those of its requests that have names.
    fn classes(&self) -> Vec<(&str, f64)> {
        let all: f64 = self.requests.iter().map(|it| f64::from(it.weight)).sum();
        let named = self.requests.iter().filter_map(|it| Some((it, it.name.as_ref()?)));
        named.map(|(it, name)| (name.as_str(), f64::from(it.weight) / all)).collect()
    }

    /// Whether its requests can be sent, and any answer to them can be good.
    ///
    /// # Errors
    /// Why not, for people.
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.requests.is_empty() {
            return Err("a run needs at least one request to send".into());
        }
        let weights = 1..=WEIGHT_MAX;
        if self.requests.iter().any(|it| !weights.contains(&it.weight)) {
            return Err(format!("a weight is a whole number from 1 to {WEIGHT_MAX}"));
        }
        check_names(&self.requests)?;
        let (own, shared): (Vec<_>, Vec<_>) =
            self.requests.iter().cloned().partition(|it| it.expect.is_some());
        if !shared.is_empty() {
            self.expect.check(&shared)?;
        }
        own.iter().try_for_each(|it| self.expect_of(it).check(std::slice::from_ref(it)))
    }
}

/// Whether these requests can be told apart by their names.
///
/// # Errors
/// Why not, for people.
pub fn check_names(requests: &[Request]) -> Result<(), String> {
    let names: Vec<_> = requests.iter().filter_map(|it| it.name.as_ref()).collect();
    if names.len() > NAMES_MAX {
        return Err(format!("{NAMES_MAX} requests may have names, and {} have", names.len()));
    }
    let twice = names.iter().enumerate().find(|(nth, name)| names[..*nth].contains(name));
    twice.map_or(Ok(()), |(_, name)| Err(format!("two requests are called {name}")))
}

/// The most requests that may have names: the times of each take a megabyte on each thread.
const NAMES_MAX: usize = 20;

/// The most that a request may weigh.
pub const WEIGHT_MAX: u32 = 10_000;

/// Writes of a preload that are under way at once on a connection.
const PRELOADED_AT_ONCE: u16 = 16;

impl Plan {
    /// How long the last answers are awaited after the window; then they count as in flight.
    pub(crate) fn patience(&self) -> Duration {
        PATIENCE_MAX.min(self.timeout)
    }

    /// A closed loop of ten seconds of HTTP on one connection, as a base to change.
    pub fn new(target: Target, requests: Vec<Request>) -> Plan {
        let work = Workload::Http(Http { requests, expect: Expect::default() });
        Plan {
            target,
            work,
            arrivals: Arrivals::Closed,
            connections: 1,
            keep_alive: true,
            pipeline: 1,
            until: Until::Elapsed(Duration::from_secs(10)),
            warmup: Duration::ZERO,
            timeout: Duration::from_secs(5),
            cpus: Vec::new(),
            threads: 0,
            backend: BackendChoice::Auto,
            seed: 1,
            share: Share::default(),
        }
    }

    /// The plan that writes all keys of a store before this one, where they are to be there: in
    /// a closed loop, sixteen at once on a connection, until one can't be written.
    pub fn preload(&self) -> Option<Plan> {
        let Workload::Keys(keys) = &self.work else { return None };
        let keys = Keys { phase: keys::KeysPhase::Preload, ..keys.clone() };
        keys.are_there.then(|| Plan {
            until: Until::Requests(self.share.of(keys.count)),
            work: Workload::Keys(keys),
            arrivals: Arrivals::Closed,
            keep_alive: true,
            pipeline: PRELOADED_AT_ONCE,
            warmup: Duration::ZERO,
            ..self.clone()
        })
    }

    /// Whether it writes all keys of a store. Its first error decides then what comes of it: one
    /// key that couldn't be written is enough.
    pub fn is_preload(&self) -> bool {
        matches!(&self.work, Workload::Keys(keys) if keys.phase == keys::KeysPhase::Preload)
    }

    /// The same with what headers take from this process's environment.
    ///
    /// # Errors
    /// Which variable isn't set, or can't stand in a header.
    pub(crate) fn with_environment(&self) -> Result<Plan, String> {
        let mut plan = self.clone();
        if let Some(http) = plan.http_mut() {
            let filled = |it: &Request| it.with_environment(headers::of_environment);
            http.requests = http.requests.iter().map(filled).collect::<Result<_, _>>()?;
        }
        Ok(plan)
    }

    /// Its requests of HTTP, if it has such.
    pub fn http(&self) -> Option<&Http> {
        match &self.work {
            Workload::Http(http) => Some(http),
            Workload::Keys(_) | Workload::Rooms(_) => None,
        }
    }

    /// Its rooms, if it has such.
    pub fn rooms(&self) -> Option<Rooms> {
        match self.work {
            Workload::Rooms(rooms) => Some(rooms),
            Workload::Http(_) | Workload::Keys(_) => None,
        }
    }

    /// The same, to be changed.
    pub fn http_mut(&mut self) -> Option<&mut Http> {
        match &mut self.work {
            Workload::Http(http) => Some(http),
            Workload::Keys(_) | Workload::Rooms(_) => None,
        }
    }
}

/// Where the requests go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// The address that is connected to.
    pub address: SocketAddr,
    /// Host and port as the URL has them: the `Host` header.
    pub authority: String,
    /// Path and query of the URL.
    pub path: String,
}

/// What an answer must be to count as good.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expect {
    /// Text that the body must hold; may have the request's own placeholders.
    /// Answers to HEAD, which have no body, are not held to it. Those with status 204 or
    /// 304 are: they have no body either, but nothing asked for that.
    pub body: Option<String>,
    /// Whether the body must be that text, with nothing before or after it.
    #[serde(default)]
    pub whole_body: bool,
    /// How many bytes a body must have; any number, if there is none. Answers to HEAD aren't held
    /// to it.
    #[serde(default)]
    pub body_bytes: Option<u64>,
    /// Which statuses are good.
    #[serde(default)]
    pub statuses: Statuses,
}

impl Expect {
    /// Whether any answer to these requests can be good.
    ///
    /// # Errors
    /// Why none can, for people.
    pub fn check(&self, requests: &[Request]) -> Result<(), String> {
        let Some(text) = &self.body else {
            return if self.whole_body {
                Err("there is no text that the whole body is expected to be".into())
            } else {
                Ok(())
            };
        };
        let bodiless = if requests.iter().all(|request| request.method == "HEAD") {
            "to HEAD".into()
        } else if !text.is_empty() && !self.statuses.may_have_body() {
            format!("with status {}", self.statuses)
        } else {
            return Ok(());
        };
        Err(format!("an answer {bodiless} has no body, so that no text can be expected in it"))
    }
}

/// When requests are due.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    /// As soon as a connection is free. Such a loop can't see a stalled server's
    /// true response times: while it waits, it asks nothing.
    Closed,
    /// At a constant pace of this many a second, whatever is answered.
    Constant(f64),
    /// At random with this mean rate a second, as from many independent users.
    Poisson(f64),
}

impl Arrivals {
    /// Requests a second, or deliveries; `None` in a closed loop.
    pub fn rate(self) -> Option<f64> {
        match self {
            Arrivals::Closed => None,
            Arrivals::Constant(rate) | Arrivals::Poisson(rate) => Some(rate),
        }
    }

    /// The same at another rate; a closed loop has none and stays one.
    pub fn at(self, rate: f64) -> Arrivals {
        match self {
            Arrivals::Closed => Arrivals::Closed,
            Arrivals::Constant(_) => Arrivals::Constant(rate),
            Arrivals::Poisson(_) => Arrivals::Poisson(rate),
        }
    }
}

/// When the measured window ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Until {
    /// After this time.
    Elapsed(Duration),
    /// When this many requests have been scheduled and settled.
    Requests(u64),
}

/// How to talk to the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BackendChoice {
    /// io_uring where the kernel permits it, else epoll.
    Auto,
    /// io_uring or an error.
    Uring,
    /// epoll.
    Epoll,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_answer_can_keep_is_refused() {
        let expect = |body: Option<&str>, statuses: &str| Expect {
            body: body.map(Into::into),
            statuses: statuses.parse().unwrap(),
            ..Expect::default()
        };
        let get = [Request::get("/")];
        let refused = |expect: Expect| expect.check(&get).unwrap_err();
        assert!(refused(expect(Some("x"), "304")).contains("with status 304 has no body"));
        assert!(refused(expect(Some("x"), "204,304")).contains("with status 204,304 has no body"));
        let nothing = Expect { whole_body: true, ..Expect::default() };
        assert!(refused(nothing).contains("no text"));
        let head = [Request { method: "HEAD".into(), ..Request::get("/") }];
        assert!(expect(Some("x"), "200").check(&head).unwrap_err().contains("to HEAD"));
        for (body, statuses) in
            [(Some("x"), "200,304"), (Some("x"), "404"), (Some(""), "304"), (None, "304")]
        {
            assert_eq!(expect(body, statuses).check(&get), Ok(()), "{body:?} {statuses}");
        }
        assert_eq!(expect(None, "304").check(&head), Ok(()));
    }

    fn named(names: &[&str]) -> Vec<Request> {
        let named = |name: &&str| Request { name: name.parse().ok(), ..Request::get("/") };
        names.iter().map(named).collect()
    }

    /// Else the times of both would be told under one name, or a plan could take any memory.
    #[test]
    fn names_are_different_and_not_too_many() {
        assert_eq!(check_names(&named(&["a", "", "b", ""])), Ok(()));
        assert_eq!(check_names(&named(&["a", "b", "a"])).unwrap_err(), "two requests are called a");
        let many: Vec<String> = (0..=NAMES_MAX).map(|nth| format!("n{nth}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(check_names(&named(&many[1..])), Ok(()));
        assert!(check_names(&named(&many)).unwrap_err().contains("20 requests may have names"));
    }

    /// Else a search would have steps without the samples that its condition takes.
    #[test]
    fn a_class_has_the_share_of_its_weight() {
        let mut requests = named(&["a", "", "b"]);
        (requests[0].weight, requests[1].weight) = (5, 4);
        let work = Workload::Http(Http { requests, expect: Expect::default() });
        assert_eq!(work.classes(), [("a", 0.5), ("b", 0.1)]);
    }

    #[test]
    fn an_expectation_of_before_there_were_statuses_is_read() {
        let read: Expect = serde_json::from_str(r#"{"body":"x"}"#).unwrap();
        assert_eq!(read, Expect { body: Some("x".into()), ..Expect::default() });
    }
}
