//! The load generator as the driver of web servers: from a contract and a slot of the plan to a
//! plan of load.

use std::net::SocketAddr;

use load::Stop;
use load::plan::{self, Expect, Target, Until};

use super::generator::{Loading, arrivals};
use super::{Drive, Driving, Readiness, Sign, WorkDriver};
use crate::contract::http;
use crate::contract::http_client::Wrong;
use crate::place::Running;
use crate::study::HttpContract;

/// The load generator, for contenders that keep this contract.
#[derive(Debug, Clone)]
pub struct HttpDriver {
    /// What it asks them.
    pub contract: HttpContract,
}

/// The status that says *not yet* (RFC 9110, 15.6.4), however long that takes.
const UNAVAILABLE: u16 = 503;

impl WorkDriver for HttpDriver {
    fn location(&self, address: SocketAddr) -> String {
        format!("http://{address}")
    }

    fn sign(&self) -> Sign {
        Sign { given: "gave a right answer", missing: "gave no right answer" }
    }

    fn ready(&self, on: &Running, stop: &Stop) -> Readiness {
        match http::ask_once(on.address, &self.contract, stop) {
            Ok(()) => Readiness::Yes,
            Err(wrong @ Wrong::Status { seen, .. }) if seen != UNAVAILABLE => {
                Readiness::Wrong(wrong.to_string())
            }
            Err(wrong @ Wrong::Answer(_)) => Readiness::Wrong(wrong.to_string()),
            Err(wrong) => Readiness::NotYet(wrong.to_string()),
        }
    }

    fn prepare<'a>(
        &'a self,
        on: &'a Running,
        what: &Drive,
    ) -> Result<Box<dyn Driving + 'a>, load::Error> {
        let plan = load_plan(what, &self.contract, on.address);
        Ok(Box::new(Loading::prepare(on, what, plan)?))
    }
}

/// The load of a slot.
fn load_plan(what: &Drive, contract: &HttpContract, address: SocketAddr) -> load::Plan {
    let slot = what.slot;
    let path = contract.requests.first().map_or_else(String::new, |it| it.path.clone());
    let target = Target { address, authority: address.to_string(), path };
    // Each request has its own.
    let expect = Expect::default();
    let http = plan::Http { requests: contract.requests.clone(), expect };
    load::Plan {
        work: plan::Workload::Http(http),
        arrivals: arrivals(slot, what.rate),
        connections: slot.setting.connections(),
        keep_alive: slot.setting.kept(),
        until: Until::Elapsed(what.window()),
        warmup: what.warmup(),
        cpus: what.cpus.to_vec(),
        seed: what.seed(),
        ..load::Plan::new(target, Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use result::plan::{Plan, Slot};

    use load::plan::template::Request;

    use super::super::LoadFrom;
    use super::*;

    /// Else it would be kept to before the load alone.
    #[test]
    fn all_that_a_contract_asks_of_an_answer_is_asked_under_load() {
        let expect = Expect {
            body: Some("{nonce} {counter}".into()),
            whole_body: true,
            body_bytes: Some(7),
            statuses: "201".parse().unwrap(),
        };
        let request = Request {
            expect: Some(expect),
            weight: 3,
            ..Request::get("/hello?id={nonce}&n={counter}")
        };
        let contract = HttpContract {
            requests: vec![request.clone()],
            fresh: false,
            refuses: Vec::new(),
            answers_only: false,
        };
        let setting = result::plan::Setting::closed(4, result::plan::Cores::One, true);
        let slot = Slot { number: 0, contender: "a".into(), setting, block: 0, twin: false };
        let plan = Plan {
            profile: "quick".into(),
            seed: 1,
            blocks: 1,
            measure_s: 1.0,
            warmup_s: 1.0,
            may_idle: false,
            cuts: 0,
            scripts: Vec::new(),
            slots: vec![slot.clone()],
        };
        let address = "127.0.0.1:1".parse().unwrap();
        let what = Drive {
            plan: &plan,
            slot: &slot,
            warmup_s: 1.0,
            rate: None,
            cpus: &[0],
            from: LoadFrom::Here,
        };
        let plan = load_plan(&what, &contract, address);
        assert_eq!(plan.http().unwrap().requests, [request]);
    }
}
