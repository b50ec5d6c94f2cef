//! A gateway that may open no more files can't accept a robot. That passes when one goes, so it
//! has to wait for that, without taking a processor meanwhile and without ending.
//! `make check-servers` has all contenders do so.

use super::{Robot, contenders, is_light, start};
use crate::started::Started;

/// Files that a contender may have open.
const FILES: u64 = 100;

#[test]
fn a_gateway_that_may_open_no_more_files_waits_and_goes_on_when_robots_go() {
    gateways_wait_for_files(is_light);
}

#[test]
#[ignore = "`make check-servers` builds all"]
fn all_gateways_that_may_open_no_more_files_wait_and_go_on_when_robots_go() {
    gateways_wait_for_files(|_| true);
}

fn gateways_wait_for_files(is_tried: impl Fn(&str) -> bool) {
    for contender in contenders(is_tried) {
        let name = &contender.name;
        let come = |gateway: &Started| {
            Robot::connect(gateway).unwrap_or_else(|why| panic!("{name}: {why}"))
        };
        let is_served = |gateway: &Started| Robot::join(gateway, 0).is_ok();
        start(&contender, FILES).assert_waits_for_files(FILES, come, is_served);
    }
}
