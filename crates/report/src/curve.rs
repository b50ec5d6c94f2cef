//! What 100 % of a curve is: the maximum that its contender was measured to have.

use result::Run;
use result::figure::RATE;
use result::outcome::{Curve, CurveLine};

use crate::units;

/// What 100 % of a curve is, with a sign where that is only a lower bound of the maximum.
pub fn hundred_percent(run: &Run, curve: &Curve, line: &CurveLine) -> String {
    let bound = units::at_least(is_bound_of_maximum(run, curve, line));
    let rate = line.maximum_rate.map_or(units::NOTHING.into(), units::count);
    format!("100 % is {bound}{rate}/s")
}

/// What 100 % of a curve is, where that is only a lower bound of the maximum, and why.
pub fn bound_of_maximum(run: &Run, curve: &Curve, line: &CurveLine) -> Option<String> {
    (line.maximum_rate.is_some() && is_bound_of_maximum(run, curve, line)).then(|| {
        let is = hundred_percent(run, curve, line);
        format!("{is}, since the client was near its own limit")
    })
}

fn is_bound_of_maximum(run: &Run, curve: &Curve, line: &CurveLine) -> bool {
    run.row(&curve.setting, &line.contender)
        .and_then(|row| row.figure(RATE))
        .is_some_and(|rate| rate.at_least)
}
