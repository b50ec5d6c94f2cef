//! The trials under one setting: what they say of each contender, and how two
//! contenders compare, block by block.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::cmp::Ordering;
use std::collections::BTreeMap;

use histogram::median;
use result::durability::Classes;
use result::figure::{Better, Figure, RATE};
use result::finding::{Finding, Verdict};
use result::outcome::{Estimate, Row};
use result::plan::{Contender, PaceKind, Setting};
use result::{Run, Trial};

use crate::checks::{self, CLIENT_LIMIT, RowSeen};
use crate::figures;
use crate::statistics::{log_ratios, median_interval, side};

/// Why a lower bound has no rank where another would stand above it.
pub(super) const MAY_BE_FASTER: &str = "the rate is a lower bound: nobody is known to be faster";

/// The trials at a kind of pace by setting, in the order in which a reader expects these.
pub(super) fn by_setting(run: &Run, pace: PaceKind) -> BTreeMap<&Setting, Vec<&Trial>> {
    let mut by_setting: BTreeMap<&Setting, Vec<&Trial>> = BTreeMap::new();
    for trial in run.trials.iter().filter(|trial| trial.slot.setting.pace.kind() == pace) {
        by_setting.entry(&trial.slot.setting).or_default().push(trial);
    }
    by_setting
}

/// The trials under one setting.
pub(super) struct Group<'a> {
    run: &'a Run,
    pub(super) setting: &'a Setting,
    pub(super) contenders: Cow<'a, [Contender]>,
    pub(super) figures: &'a [Figure],
    trials: Vec<&'a Trial>,
    /// What the checks say of the trials as a whole.
    of_setting: OnceCell<Vec<Finding>>,
}

impl<'a> Group<'a> {
    pub(super) fn new(run: &'a Run, setting: &'a Setting, trials: Vec<&'a Trial>) -> Group<'a> {
        let (contenders, figures) = (Cow::from(&run.contenders), &run.study.figures);
        Group { run, setting, contenders, figures, trials, of_setting: OnceCell::new() }
    }

    /// The same for the contenders of one class alone.
    pub(super) fn of_class(self, run: &Run, classes: Option<Classes>) -> Group<'a> {
        let is_of_it = |contender: &Contender| run.classes(&contender.name) == classes;
        let contenders = self.contenders.iter().filter(|it| is_of_it(it)).cloned().collect();
        Group { contenders: Cow::Owned(contenders), ..self }
    }

    /// One contender's trials in block order.
    pub(super) fn of(&self, contender: &str, twin: bool) -> Vec<&'a Trial> {
        let mut trials: Vec<&Trial> = self
            .trials
            .iter()
            .copied()
            .filter(|trial| trial.slot.contender == contender && trial.slot.twin == twin)
            .collect();
        trials.sort_by_key(|trial| trial.slot.block);
        trials
    }

    /// What the checks say of a contender's figures, the worst first.
    pub(super) fn findings(&self, contender: &str) -> Vec<Finding> {
        let contender = self.contender(contender).expect("a row is a contender's");
        let of_setting =
            self.of_setting.get_or_init(|| checks::judge_load(&self.contenders, &self.trials));
        let row = RowSeen {
            kind: self.run.study.kind,
            contender,
            contenders: &self.contenders,
            trials: &self.trials,
            of_load: of_setting,
            classes: self.run.classes(&contender.name),
            scripts: self.run.scripts(&contender.name),
        };
        checks::judge_row(&row)
    }

    /// A contender's figures over its blocks, given what the checks say; `None` where no
    /// trial of it got as far as work. A figure that a block lacks is withheld: it would be
    /// the median of the luckier ones. But for the first, which every block has that did
    /// any work.
    pub(super) fn figures(
        &self,
        contender: &str,
        findings: &[Finding],
    ) -> Option<BTreeMap<String, Estimate>> {
        let blocks = self.of(contender, false).len();
        let is_at_limit = |finding: &Finding| {
            finding.check == CLIENT_LIMIT.id && finding.verdict >= Verdict::Suspect
        };
        let client_was_the_limit =
            self.setting.pace.kind() == PaceKind::Free && findings.iter().any(is_at_limit);
        let mut estimates = BTreeMap::new();
        for (number, figure) in self.figures.iter().enumerate() {
            let estimate = self.estimate(contender, &figure.id);
            if number == 0 && estimate.is_none() {
                return None;
            }
            let is_known = |it: &Estimate| number == 0 || it.blocks.len() == blocks;
            let Some(mut estimate) = estimate.filter(is_known) else { continue };
            estimate.at_least |= client_was_the_limit && figure.id == RATE;
            estimates.insert(figure.id.clone(), estimate);
        }
        Some(estimates)
    }

    /// A figure over a contender's blocks that have it; `None` where none has.
    fn estimate(&self, contender: &str, figure: &str) -> Option<Estimate> {
        let trials = self.of(contender, false);
        let values: Vec<figures::Value> =
            trials.iter().filter_map(|trial| figures::value(trial, figure)).collect();
        let at_least = values.iter().any(|one| one.at_least);
        let estimate = estimate_of(values.iter().map(|one| one.value).collect())?;
        Some(Estimate { at_least, ..estimate })
    }

    /// The figures of two contenders in the blocks that have both.
    fn pairs(&self, a: &str, b: &str, figure: &str) -> Vec<(f64, f64)> {
        let others = self.of(b, false);
        self.of(a, false)
            .into_iter()
            .filter_map(|one| {
                let other = others.iter().find(|other| other.slot.block == one.slot.block)?;
                Some((figures::value(one, figure)?.value, figures::value(other, figure)?.value))
            })
            .collect()
    }

    /// The noise floor of a figure among the contenders of a class, or why it isn't known.
    pub(super) fn noise_floor(
        &self,
        figure: &str,
        classes: Option<Classes>,
    ) -> Result<f64, &'static str> {
        let is_of_it = |name: &str| self.classes(name) == classes;
        let value = |trial: &Trial| Some(figures::value(trial, figure)?.value);
        checks::noise_floor(&self.trials, is_of_it, value)
    }

    /// The ratio of two contenders' figures, from paired blocks.
    pub(super) fn ratio(&self, contender: &str, best: &str, figure: &str) -> Option<Estimate> {
        let logs = estimate_of(log_ratios(&self.pairs(contender, best, figure)))?;
        Some(Estimate {
            median: logs.median.exp(),
            interval: logs.interval.map(|(low, high)| (low.exp(), high.exp())),
            blocks: logs.blocks.into_iter().map(f64::exp).collect(),
            ..logs
        })
    }

    /// Ranks the rows that may be, which stand in the order of a figure, the best first, and
    /// gives each its ratio to the first of them.
    ///
    /// One ties with those above it unless it differs from the first of them, beyond chance
    /// and beyond what identical entries differ by. A bound has no rank where others would
    /// stand above it, since it may be the faster one. Who stands below a bound is slower all
    /// the same.
    pub(super) fn rank(&self, rows: &mut [Row], figure: &Figure, noise_floor: Option<f64>) {
        let mut first: Option<(String, bool)> = None;
        let mut first_of_tie: Option<(String, u32)> = None;
        let mut place = 1;
        for row in rows {
            let is_bound = row.figure(&figure.id).is_some_and(|it| it.at_least);
            let Some(standing) = row.standings.get_mut(&figure.id) else { continue };
            if standing.unranked.is_some() {
                continue;
            }
            let (best, best_is_bound) =
                first.get_or_insert_with(|| (row.contender.clone(), is_bound)).clone();
            let tie = first_of_tie
                .as_ref()
                .filter(|(above, _)| self.is_tie(above, &row.contender, figure, noise_floor));
            let rank = tie.map_or(place, |(_, rank)| *rank);
            if is_bound && rank > 1 {
                standing.unranked = Some(MAY_BE_FASTER.into());
                continue;
            }
            if tie.is_none() {
                first_of_tie = Some((row.contender.clone(), rank));
            }
            place += 1;
            let ratio = self.ratio(&row.contender, &best, &figure.id);
            standing.rank = Some(rank);
            standing.ratio = match (is_bound, best_is_bound) {
                _ if row.contender == best => ratio,
                // It may be anything.
                (true, true) => None,
                (at_least, at_most) => ratio.map(|it| Estimate { at_least, at_most, ..it }),
            };
        }
    }

    /// Whether `b`, which stands below `a` by its median, can't be told from it. It
    /// can't either if block by block it is the better one.
    fn is_tie(&self, a: &str, b: &str, figure: &Figure, noise_floor: Option<f64>) -> bool {
        let better = match figure.better {
            Better::More => Ordering::Greater,
            Better::Less => Ordering::Less,
        };
        side(&log_ratios(&self.pairs(a, b, &figure.id)), noise_floor) != Some(better)
    }

    /// What is known of a store's class.
    pub(super) fn classes(&self, contender: &str) -> Option<Classes> {
        self.run.classes(contender)
    }

    /// What the study's rates are of.
    pub(super) fn rate_of(&self) -> &str {
        self.run.study.rate_of()
    }

    /// Whether one of the contenders runs already, so that much of it can't be seen.
    pub(super) fn has_some_that_ran_before(&self) -> bool {
        self.trials.iter().any(|trial| trial.evidence.process.runs_already)
    }

    pub(super) fn contender(&self, name: &str) -> Option<&Contender> {
        self.contenders.iter().find(|contender| contender.name == name)
    }

    /// A contender's title, or its name where the run doesn't describe it.
    pub(super) fn title<'b>(&'b self, name: &'b str) -> &'b str {
        self.contender(name).map_or(name, |it| &it.title)
    }
}

fn estimate_of(blocks: Vec<f64>) -> Option<Estimate> {
    let interval = median_interval(&blocks);
    let median = median(&blocks)?;
    Some(Estimate { median, interval, at_least: false, at_most: false, blocks })
}
