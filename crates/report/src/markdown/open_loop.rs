//! What an answer costs at one rate for all, and how response times grow with the
//! rate.

use result::Run;
use result::finding::Verdict;
use result::outcome::{Curve, EqualRate, Estimate};
use result::plan::Arrivals;

use super::escape::{plain, prose};
use super::table::{Side, table};
use super::{missing, struck, time};
use crate::summary;
use crate::units;

/// A heading, the finding, and a row a contender.
pub fn equal_rate(run: &Run, outcome: &EqualRate) -> Vec<String> {
    let closed = summary::load_names(&[outcome.load.with(Arrivals::Closed)]);
    let rate = units::whole(outcome.offered_rate.round() as u64);
    let noise = outcome.noise_floor.map(summary::noise).unwrap_or_default();
    let ranks = || outcome.rows.iter().map(|row| row.rank);
    let rows: Vec<Vec<String>> = outcome
        .rows
        .iter()
        .zip(summary::cpu_shares(outcome))
        .map(|(row, ratio)| {
            let ratio = ratio.map(|ratio| units::percent(ratio.median));
            vec![
                summary::rank_among(ranks(), row.rank),
                plain(&summary::who(run, &row.contender)),
                cpu(row.verdict, &row.server_cpu_us),
                ratio.unwrap_or_else(|| units::NOTHING.into()),
                time(row.verdict, &row.p50_us),
                time(row.verdict, &row.p99_us),
                verdict(row.verdict),
            ]
        })
        .collect();
    let columns = [
        ("rank", Side::Right),
        ("contender", Side::Left),
        ("CPU µs an answer", Side::Right),
        ("of least", Side::Right),
        ("p50", Side::Right),
        ("p99", Side::Right),
        ("verdict", Side::Left),
    ];
    let lines = [
        "### One rate for all: CPU time an answer".into(),
        format!("{closed}. {rate} requests a second: {}", prose(&outcome.rule)),
        format!("{} {noise}", prose(&outcome.sentence)).trim_end().into(),
        table(&columns, &rows),
    ];
    lines.into_iter().chain(missing(summary::without_cost(run, outcome))).collect()
}

/// A heading and a row a point; who has none, with the reason.
pub fn curve(run: &Run, curve: &Curve) -> Vec<String> {
    let points = curve.lines.iter().flat_map(|line| line.points.iter().map(move |it| (line, it)));
    let rows: Vec<Vec<String>> = points
        .map(|(line, point)| {
            vec![
                plain(&summary::who(run, &line.contender)),
                format!("{} %", point.percent),
                units::count(point.offered_rate),
                struck(point.verdict, units::count(point.rate.median)),
                cpu(point.verdict, &point.server_cpu_us),
                time(point.verdict, &point.p50_us),
                time(point.verdict, &point.p99_us),
                verdict(point.verdict),
            ]
        })
        .collect();
    let columns = [
        ("contender", Side::Left),
        ("of its maximum", Side::Right),
        ("offered/s", Side::Right),
        ("answers/s", Side::Right),
        ("CPU µs an answer", Side::Right),
        ("p50", Side::Right),
        ("p99", Side::Right),
        ("verdict", Side::Left),
    ];
    let name = summary::load_names(&[&curve.load]);
    let bounds = curve.lines.iter().filter_map(|line| {
        let who = plain(&summary::who(run, &line.contender));
        Some(format!("{who}: {}.", summary::bound_of_maximum(run, curve, line)?))
    });
    let left_out = curve.lines.iter().filter_map(|line| {
        let who = plain(&summary::who(run, &line.contender));
        Some(format!("{who}: {}", prose(line.left_out.as_deref()?)))
    });
    [
        "### Response time as the rate grows".into(),
        format!("Each at shares of its own maximum in the closed loop: {name}."),
        table(&columns, &rows),
    ]
    .into_iter()
    .chain(bounds)
    .chain(left_out)
    .collect()
}

fn cpu(verdict: Verdict, estimate: &Option<Estimate>) -> String {
    let cpu = estimate.as_ref().map(|cpu| units::plain(cpu.median));
    cpu.map_or(units::NOTHING.into(), |cpu| struck(verdict, cpu))
}

fn verdict(verdict: Verdict) -> String {
    format!("{} {}", summary::sign(verdict), verdict.word())
}
