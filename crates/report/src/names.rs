//! What settings and the machine are called: settings by the words of a study's dimensions, made visible.
//!
//! The first dimension is the one that tables go along; the others tell of what a table is.

use std::borrow::{Borrow, Cow};

use result::Run;
use result::plan::{Cores, Dimension, Pace, Setting, Value};

use crate::list::entry;
use crate::text::{visible, visible_name};
use crate::units;
use crate::words::{and, sentence_case};

/// The name of the machine's processor; those of ARM have none for Linux.
pub fn processor(run: &Run) -> Cow<'_, str> {
    match &*run.machine.cpu {
        "" => "unknown processor".into(),
        name => visible(name),
    }
}

/// Whether processors were kept from sleeping, where they were.
pub fn kept_awake(run: &Run) -> Option<String> {
    let all = run.trials.len();
    match run.trials.iter().filter(|trial| trial.evidence.machine.kept_awake).count() {
        0 => None,
        awake if awake == all => Some("kept awake".into()),
        awake => Some(format!("kept awake in {awake} of {}", units::of(all as u64, "trial"))),
    }
}

/// The names of settings of a run.
pub fn settings(run: &Run, settings: &[impl Borrow<Setting>]) -> String {
    setting_names(&run.study.dimensions, settings)
}

/// The names of several settings, each kind of setting named once.
pub fn setting_names(dimensions: &[Dimension], settings: &[impl Borrow<Setting>]) -> String {
    /// Settings that have all in common but the first dimension, and the share of a maximum.
    struct Kind<'a> {
        of: &'a Setting,
        first: Vec<&'a Value>,
        percents: Vec<u32>,
    }
    let mut kinds: Vec<Kind> = Vec::new();
    for setting in settings {
        let of = setting.borrow();
        let is_alike = |kind: &Kind| {
            kind.of.cores == of.cores
                && is_same_pace(kind.of.pace, of.pace)
                && others(dimensions, of).all(|(id, value)| kind.of.value(id) == Some(value))
        };
        let make = || Kind { of, first: vec![], percents: vec![] };
        let kind = entry(&mut kinds, is_alike, make);
        if let Some(value) = first_value(dimensions, of)
            && !kind.first.contains(&value)
        {
            kind.first.push(value);
        }
        if let Pace::Own { percent } = of.pace {
            kind.percents.push(percent);
        }
    }
    let names = kinds.into_iter().map(|Kind { of, first, mut percents }| {
        percents.sort_unstable();
        let percents: Vec<String> = percents.iter().map(u32::to_string).collect();
        let pace = match of.pace {
            Pace::Free => None,
            Pace::Equal { .. } => Some("at one rate for all".into()),
            Pace::Fixed { per_s } => Some(format!("at {} a second", units::whole(per_s.into()))),
            Pace::Own { .. } => Some(format!("at {} % of its own maximum", and(&percents))),
        };
        let first = dimensions.first().map(|dimension| some_of(dimension, &first));
        let parts = described(first, dimensions, of).into_iter();
        parts.chain([cores(of).into()]).chain(pace).collect::<Vec<String>>().join(", ")
    });
    names.collect::<Vec<_>>().join("; ")
}

/// What the settings of a section have in common: all but the first dimension.
pub fn section_name(dimensions: &[Dimension], setting: &Setting) -> String {
    let parts = [cores(setting).to_string()].into_iter();
    let name = parts.chain(beside_cores(dimensions, setting)).collect::<Vec<_>>().join(", ");
    sentence_case(&name)
}

/// The same but for the cores.
pub fn beside_cores(dimensions: &[Dimension], setting: &Setting) -> Vec<String> {
    let first = dimensions.first().map(|dimension| visible_name(&dimension.many).into_owned());
    // One whose values are words has no name of its own.
    let is_said = |name: &String| dimensions.len() > 1 && !name.is_empty();
    described(first.filter(is_said), dimensions, setting)
}

/// What tells a setting from the others of its section: `100 connections`.
pub fn point_name(dimensions: &[Dimension], setting: &Setting) -> String {
    match (dimensions.first(), first_value(dimensions, setting)) {
        (Some(dimension), Some(value)) => some_of(dimension, &[value]),
        _ => cores(setting).into(),
    }
}

/// The values of all dimensions, in words.
pub fn work_name(dimensions: &[Dimension], setting: &Setting) -> String {
    let first = first_value(dimensions, setting).zip(dimensions.first());
    let first = first.map(|(value, dimension)| some_of(dimension, &[value]));
    described(first, dimensions, setting).join(", ")
}

/// The same as the head of a column, where the dimension is named beside it: `100`.
pub fn point(dimensions: &[Dimension], setting: &Setting) -> String {
    match (dimensions.first(), first_value(dimensions, setting)) {
        (Some(dimension), Some(value)) => value_name(dimension, value),
        _ => cores(setting).into(),
    }
}

/// Whether two settings differ in the first dimension alone.
pub fn is_same_section(dimensions: &[Dimension], a: &Setting, b: &Setting) -> bool {
    a.cores == b.cores
        && is_same_pace(a.pace, b.pace)
        && others(dimensions, a).all(|(id, value)| b.value(id) == Some(value))
}

fn is_same_pace(a: Pace, b: Pace) -> bool {
    match (a, b) {
        // Shares of one's own maximum make one curve.
        (Pace::Own { .. }, Pace::Own { .. }) => true,
        (a, b) => a == b,
    }
}

fn cores(setting: &Setting) -> &'static str {
    match setting.cores {
        Cores::One => "one core",
        Cores::All => "all cores",
    }
}

fn first_value<'a>(dimensions: &[Dimension], setting: &'a Setting) -> Option<&'a Value> {
    setting.value(&dimensions.first()?.id)
}

/// The values of all dimensions but the first.
fn others<'a>(
    dimensions: &'a [Dimension],
    setting: &'a Setting,
) -> impl Iterator<Item = (&'a str, &'a Value)> {
    let others = dimensions.iter().skip(1);
    others.filter_map(|it| Some((it.id.as_str(), setting.value(&it.id)?)))
}

/// The first dimension's words, and those of the others: what has a name of its own follows
/// it as an adjective does, and numbers stand by themselves.
fn described(first: Option<String>, dimensions: &[Dimension], setting: &Setting) -> Vec<String> {
    let mut parts: Vec<String> = first.into_iter().collect();
    for dimension in dimensions.iter().skip(1) {
        let Some(value) = setting.value(&dimension.id) else { continue };
        let name = some_of(dimension, &[value]);
        match (value, parts.last_mut()) {
            (Value::Flag(_), Some(noun)) => *noun = format!("{noun} {name}"),
            _ => parts.push(name),
        }
    }
    parts
}

/// `30, 100 and 1,000 connections`.
fn some_of(dimension: &Dimension, values: &[&Value]) -> String {
    let names: Vec<String> = values.iter().map(|value| value_name(dimension, value)).collect();
    let names = and(&names);
    match values {
        [Value::Number(1)] => format!("{names} {}", visible_name(&dimension.one)),
        [Value::Number(_), ..] => format!("{names} {}", visible_name(&dimension.many)),
        _ => names,
    }
}

/// What the first dimension of a study is called at the head of a column.
pub fn first_name(dimensions: &[Dimension]) -> String {
    let many = dimensions.first().map(|dimension| visible_name(&dimension.many).into_owned());
    many.filter(|many| !many.is_empty()).unwrap_or_else(|| "what".into())
}

/// The value of the first dimension among these, as it stands in a column.
pub fn first_named(dimensions: &[Dimension], values: &[(String, Value)]) -> String {
    let named = dimensions.first().and_then(|dimension| {
        let (_, value) = values.iter().find(|(id, _)| *id == dimension.id)?;
        Some(value_name(dimension, value))
    });
    named.unwrap_or_else(|| units::NOTHING.into())
}

/// The words of a value.
pub fn value_name(dimension: &Dimension, value: &Value) -> String {
    match value {
        Value::Number(number) => units::whole(*number),
        other => {
            let id = other.to_string();
            visible_name(dimension.words.get(&id).unwrap_or(&id)).into_owned()
        }
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn settings_of_the_load_generator_have_the_words_of_its_dimensions() {
        let dimensions = result::kind::Kind::Http.dimensions();
        let kept = Setting::closed(100, Cores::One, true);
        let all = [
            kept.clone(),
            Setting::closed(1000, Cores::One, true),
            Setting::closed(1, Cores::All, false),
            kept.with(Pace::Own { percent: 110 }),
            kept.with(Pace::Own { percent: 25 }),
            kept.with(Pace::Equal { percent: 80 }),
        ];
        insta::assert_snapshot!(setting_names(&dimensions, &all), @"100 and 1,000 connections kept alive, one core; 1 connection of one request each, all cores; 100 connections kept alive, one core, at 25 and 110 % of its own maximum; 100 connections kept alive, one core, at one rate for all");
        insta::assert_snapshot!(section_name(&dimensions, &all[2]), @"All cores, connections of one request each");
        insta::assert_snapshot!(point_name(&dimensions, &all[1]), @"1,000 connections");
    }

    #[test]
    fn any_dimension_has_its_own_words() {
        let dimension = |id: &str, one: &str, many: &str, words: &[(&str, &str)]| Dimension {
            id: id.into(),
            one: one.into(),
            many: many.into(),
            words: words.iter().map(|(id, word)| (id.to_string(), word.to_string())).collect(),
        };
        let dimensions = [
            dimension("pairs", "pair of tasks", "pairs of tasks", &[]),
            dimension("bytes", "byte a message", "bytes a message", &[]),
            dimension("flow", "", "", &[("free", "no limit to the queue")]),
        ];
        let values = [
            ("pairs".to_string(), Value::Number(10_000)),
            ("bytes".to_string(), Value::Number(64)),
            ("flow".to_string(), Value::Word("free".into())),
        ];
        let setting = Setting { cores: Cores::All, values: values.to_vec(), pace: Pace::Free };
        insta::assert_snapshot!(setting_names(&dimensions, &[&setting]), @"10,000 pairs of tasks, 64 bytes a message, no limit to the queue, all cores");
        insta::assert_snapshot!(section_name(&dimensions, &setting), @"All cores, pairs of tasks, 64 bytes a message, no limit to the queue");
        let [pairs, bytes, flow] = dimensions;
        let words_first = [flow, pairs, bytes];
        insta::assert_snapshot!(section_name(&words_first, &setting), @"All cores, 10,000 pairs of tasks, 64 bytes a message");
        let bare = Setting { values: vec![], ..setting };
        insta::assert_snapshot!(setting_names(&[], &[&bare]), @"all cores");
        insta::assert_snapshot!(section_name(&[], &bare), @"All cores");
    }
}
