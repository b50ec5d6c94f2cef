//! How response times grow with the rate.

use result::Run;
use result::outcome::Curve;

use super::escape::{plain, prose};
use super::table::{Side, table};
use super::{cell, verdict};
use crate::contenders;
use crate::curve;
use crate::figures;
use crate::names;
use crate::units;

/// A heading and a row a point; who has none, with the reason.
pub fn curve(run: &Run, curve: &Curve) -> Vec<String> {
    let points = curve.lines.iter().flat_map(|line| line.points.iter().map(move |it| (line, it)));
    let rows: Vec<Vec<String>> = points
        .map(|(line, point)| {
            let figures = figures::plain(run)
                .map(|figure| cell(point.verdict, figure, point.figure(&figure.id)));
            let who = plain(&contenders::who(run, &line.contender));
            [who, format!("{} %", point.percent), units::count(point.offered_rate)]
                .into_iter()
                .chain(figures)
                .chain([verdict(point.verdict, &[])])
                .collect()
        })
        .collect();
    let figures = figures::plain(run).map(|it| (plain(&figures::short(it)), Side::Right));
    let columns: Vec<(String, Side)> = [
        ("contender".into(), Side::Left),
        ("of its maximum".into(), Side::Right),
        ("offered/s".into(), Side::Right),
    ]
    .into_iter()
    .chain(figures)
    .chain([("verdict".into(), Side::Left)])
    .collect();
    let name = plain(&names::settings(run, &[&curve.setting]));
    let bounds = curve.lines.iter().filter_map(|line| {
        let who = plain(&contenders::who(run, &line.contender));
        Some(format!("{who}: {}.", curve::bound_of_maximum(run, curve, line)?))
    });
    let left_out = curve.lines.iter().filter_map(|line| {
        let who = plain(&contenders::who(run, &line.contender));
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
