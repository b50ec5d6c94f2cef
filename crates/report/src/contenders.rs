//! What contenders are called, and their tiers.

use std::borrow::Cow;

use result::Run;
use result::outcome::Row;
use result::plan::{Contender, Tier};

use crate::text::visible_name;
use crate::units;

/// The contender of a name.
pub fn contender<'a>(run: &'a Run, name: &str) -> Option<&'a Contender> {
    run.contenders.iter().find(|contender| contender.name == name)
}

/// A contender's title, or its name where the run doesn't describe it; visible.
pub fn title<'a>(run: &'a Run, name: &'a str) -> Cow<'a, str> {
    visible_name(contender(run, name).map_or(name, |contender| &contender.title))
}

/// The title, with the lighter contract where it keeps one: what stands beside a
/// figure, so that nobody takes it for an answer to the full contract.
pub fn who<'a>(run: &'a Run, name: &'a str) -> Cow<'a, str> {
    let title = title(run, name);
    match contender(run, name).and_then(|it| it.lighter_contract.as_deref()) {
        Some(contract) => format!("{title} (lighter contract: {})", visible_name(contract)).into(),
        None => title,
    }
}

/// Whether contenders have tiers: commands that nobody wrote a contender for have none.
pub fn has_tiers(run: &Run) -> bool {
    run.contenders.iter().any(|it| it.tier.is_some())
}

/// The tier of a row's contender, in a table that tells tiers.
pub fn tier(run: &Run, row: &Row) -> &'static str {
    contender(run, &row.contender).and_then(|it| it.tier).map_or(units::NOTHING, Tier::word)
}
