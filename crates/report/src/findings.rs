//! What was found of a run's figures: verdicts counted, and findings in groups.

use std::borrow::Cow;
use std::collections::BTreeSet;

use result::Run;
use result::finding::{Finding, QUIET_MACHINE, Verdict};
use result::plan::{Pace, Setting};

use crate::contenders::who;
use crate::list::entry;
use crate::units;
use crate::words::{and, shortened};

/// A verdict's sign, which tells it from the others without colour.
pub fn sign(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Valid => "✓",
        Verdict::NotChecked => "○",
        Verdict::Suspect => "?",
        Verdict::Invalid => "✗",
    }
}

/// How many figures have a verdict.
pub struct Count {
    /// The verdict.
    pub verdict: Verdict,
    /// Rows that have it.
    pub figures: usize,
    /// What most of them have it for, in words, where they are invalid.
    pub because: Option<String>,
}

impl Count {
    /// As one reads it: `4 invalid: the client was the limit`.
    pub fn says(&self) -> String {
        let because = self.because.as_ref().map(|it| format!(": {it}")).unwrap_or_default();
        format!("{} {}{because}", units::whole(self.figures as u64), self.verdict.word())
    }
}

/// The verdicts of all figures that may be ranked, from best to worst.
pub fn verdicts(run: &Run) -> Vec<Count> {
    let rows = run.outcomes.iter().flat_map(|it| &it.rows);
    let figures: Vec<(Verdict, &[Finding])> =
        rows.map(|row| (row.verdict, &*row.findings)).collect();
    let count = |verdict: Verdict| {
        let of: Vec<_> = figures.iter().filter(|(is, _)| *is == verdict).collect();
        let findings = || of.iter().flat_map(|(_, findings)| findings.iter());
        let because = (verdict == Verdict::Invalid).then(|| reason(findings(), of.len())).flatten();
        Count { verdict, figures: of.len(), because }
    };
    [Verdict::Valid, Verdict::NotChecked, Verdict::Suspect, Verdict::Invalid]
        .map(count)
        .into_iter()
        .filter(|count| count.figures > 0)
        .collect()
}

/// An id of a check has no more, unless a file was forged.
const CHECK_CHARS: usize = 24;

/// The check that speaks against most of so many figures, in words.
fn reason<'a>(findings: impl Iterator<Item = &'a Finding>, figures: usize) -> Option<String> {
    let mut by_check: Vec<(&str, usize)> = Vec::new();
    for finding in findings.filter(|finding| finding.verdict == Verdict::Invalid) {
        match by_check.iter_mut().find(|(check, _)| *check == finding.check) {
            Some((_, count)) => *count += 1,
            None => by_check.push((&finding.check, 1)),
        }
    }
    let (check, count) = by_check.into_iter().min_by_key(|(_, count)| std::cmp::Reverse(*count))?;
    let mostly = if count < figures { "mostly " } else { "" };
    Some(match check {
        "client-limit" => format!("{mostly}the client was the limit"),
        QUIET_MACHINE => format!("{mostly}others used the machine"),
        "contract" => format!("{mostly}a broken contract"),
        "load-arrived" => format!("{mostly}connections were missing"),
        "errors" => format!("{mostly}errors"),
        check => format!("{mostly}`{}`", shortened(check, CHECK_CHARS)),
    })
}

/// What a check says alike of several rows.
#[derive(Debug, PartialEq)]
pub struct Group<'a> {
    /// The check's id.
    pub check: &'a str,
    /// Its word.
    pub verdict: Verdict,
    /// What it means.
    pub says: &'a str,
    /// What values were held against.
    pub threshold: &'a str,
    /// What to do.
    pub fix: &'a str,
    /// Of whom, with which value.
    pub cases: Vec<Case<'a>>,
}

/// One value, and who had it under which loads.
#[derive(Debug, PartialEq)]
pub struct Case<'a> {
    /// The contenders, visible.
    pub who: Vec<Cow<'a, str>>,
    /// What was measured.
    pub value: &'a str,
    /// Under which settings.
    pub settings: Vec<Setting>,
}

impl Case<'_> {
    /// How many figures it has, or points of curves.
    fn count(&self, is_point: bool) -> usize {
        let is_of_curve = |setting: &&Setting| matches!(setting.pace, Pace::Own { .. });
        let settings = self.settings.iter().filter(|it| is_of_curve(it) == is_point);
        self.who.len() * settings.count()
    }

    /// The contenders in words.
    pub fn names(&self) -> String {
        and(&self.who)
    }
}

/// A contender's figures under one setting, and what was found of them.
struct Judged<'a> {
    contender: &'a str,
    setting: Setting,
    findings: &'a [Finding],
}

/// All figures of a run.
fn judged(run: &Run) -> Vec<Judged<'_>> {
    let mut judged = Vec::new();
    for outcome in &run.outcomes {
        for row in &outcome.rows {
            let (contender, setting) = (row.contender.as_str(), outcome.setting.clone());
            judged.push(Judged { contender, setting, findings: &row.findings });
        }
    }
    for curve in &run.curves {
        for line in &curve.lines {
            for point in &line.points {
                let setting = curve.setting.with(Pace::Own { percent: point.percent });
                let (contender, findings) = (line.contender.as_str(), point.findings.as_slice());
                judged.push(Judged { contender, setting, findings });
            }
        }
    }
    judged
}

/// All findings of a run's figures.
pub fn all(run: &Run) -> impl Iterator<Item = &Finding> {
    judged(run).into_iter().flat_map(|judged| judged.findings)
}

/// The number of settings that have a figure.
pub fn settings_with_figures(run: &Run) -> usize {
    judged(run).into_iter().map(|it| it.setting).collect::<BTreeSet<Setting>>().len()
}

/// The findings that stand against a figure, the worst first.
pub fn against(run: &Run) -> Vec<Group<'_>> {
    let mut groups: Vec<Group> = Vec::new();
    for Judged { contender, setting, findings } in judged(run) {
        for finding in findings.iter().filter(|it| it.verdict != Verdict::Valid) {
            let Finding { check, verdict, value, threshold, says, fix, off_by_max: _ } = finding;
            let verdict = *verdict;
            let group = entry(
                &mut groups,
                |it| (it.check, it.verdict, it.says, it.fix) == (check, verdict, says, fix),
                || Group { check, verdict, says, threshold, fix, cases: vec![] },
            );
            let who = vec![who(run, contender)];
            let case = entry(
                &mut group.cases,
                |case| case.who == who && case.value == value,
                || Case { who: who.clone(), value, settings: vec![] },
            );
            case.settings.push(setting.clone());
        }
    }
    for group in &mut groups {
        merge_alike(&mut group.cases);
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group.verdict));
    groups
}

/// What one check says against figures.
pub struct ByCheck<'a> {
    /// What it says, the worst first; never empty.
    pub groups: Vec<Group<'a>>,
}

impl ByCheck<'_> {
    /// Of how many figures it has its worst word, and of how many more another one:
    /// `3 figures (2 more suspect)`. Points of curves are counted apart, since [`verdicts`] has
    /// none of them.
    pub fn counts(&self) -> String {
        let worst = self.groups[0].verdict;
        let of = |verdict: Verdict, is_point: bool| -> usize {
            let groups = self.groups.iter().filter(|it| it.verdict == verdict);
            groups.flat_map(|it| &it.cases).map(|case| case.count(is_point)).sum()
        };
        let kinds = [(false, "figure"), (true, "curve point")];
        let all = kinds.map(|(is_point, what)| (of(worst, is_point), what));
        let all = all.into_iter().filter(|(count, _)| *count > 0);
        let all: Vec<String> = all.map(|(count, what)| units::of(count as u64, what)).collect();
        let others = [Verdict::Suspect, Verdict::NotChecked].into_iter().filter(|it| *it < worst);
        let more = others.map(|it| (of(it, false) + of(it, true), it.word()));
        let more = more.filter(|(count, _)| *count > 0);
        let more: Vec<String> = more.map(|(count, word)| format!("{count} more {word}")).collect();
        let more = if more.is_empty() { String::new() } else { format!(" ({})", more.join(", ")) };
        all.join(" and ") + &more
    }
}

/// The findings that stand against a figure, by check, the worst first.
pub fn by_check(run: &Run) -> Vec<ByCheck<'_>> {
    let mut checks: Vec<ByCheck> = Vec::new();
    for group in against(run) {
        let known = |it: &ByCheck| it.groups[0].check == group.check;
        let check = entry(&mut checks, known, || ByCheck { groups: vec![] });
        check.groups.push(group);
    }
    checks
}

/// Makes one case of those that differ in the contender only.
fn merge_alike(cases: &mut Vec<Case>) {
    let mut merged: Vec<Case> = Vec::new();
    for case in cases.drain(..) {
        match merged.iter_mut().find(|it| it.value == case.value && it.settings == case.settings) {
            Some(known) => known.who.extend(case.who),
            None => merged.push(case),
        }
    }
    *cases = merged;
}

#[cfg(test)]
mod tests {
    use result::plan::Cores;

    use super::*;

    /// Else a check seems to speak against more figures than there are with its word.
    #[test]
    fn a_check_says_of_how_many_figures_it_has_which_word() {
        let load = Setting::closed(30, Cores::One, true);
        let point = load.with(Pace::Own { percent: 50 });
        let group = |verdict, who: &[&'static str], settings: &[&Setting]| {
            let (who, settings) = (who.iter().map(|it| (*it).into()).collect(), settings.iter());
            let case =
                Case { who, value: "", settings: settings.map(|it| (*it).clone()).collect() };
            let cases = vec![case];
            Group { check: "client-limit", verdict, says: "", threshold: "", fix: "", cases }
        };
        let counts = |groups| ByCheck { groups }.counts();
        let invalid = || group(Verdict::Invalid, &["a", "b", "c"], &[&load]);
        assert_eq!(counts(vec![invalid()]), "3 figures");
        let suspect = || group(Verdict::Suspect, &["d", "e"], &[&load]);
        assert_eq!(counts(vec![invalid(), suspect()]), "3 figures (2 more suspect)");
        let with_points = group(Verdict::Invalid, &["f"], &[&load, &point, &point]);
        assert_eq!(
            counts(vec![with_points, suspect()]),
            "1 figure and 2 curve points (2 more suspect)"
        );
        let points = group(Verdict::Suspect, &["f"], &[&point]);
        assert_eq!(counts(vec![points]), "1 curve point");
    }
}
