//! What was found out of stores that were cut off: whether the first one broke its word, and
//! whether it is of another class than those beside it.

use result::Run;
use result::durability::{Durability, RungSeen};

/// The first store lost more than it promised.
///
/// # Errors
/// One sentence, where it didn't, or where that isn't known.
pub(crate) fn broken_promise(run: &Run) -> Result<String, String> {
    let seen = first(run)?;
    let broken = |rung: &&RungSeen| rung.kept_promise == Some(false);
    let rung = seen.rungs.iter().find(broken).ok_or("it lost no more than it promised")?;
    let lost = rung.most_lost().map(|cut| {
        let (lost, acknowledged) = (cut.lost, cut.acknowledged);
        format!(", {lost} of {acknowledged} writes lost")
    });
    Ok(format!("{}{}", rung.rung.says(), lost.unwrap_or_default()))
}

/// The first store survives something else than all others do, and is ranked with none of them.
///
/// # Errors
/// One sentence, where that isn't so, or where it isn't known.
pub(crate) fn other_class(run: &Run) -> Result<String, String> {
    let first = first(run)?;
    let mut told = Vec::new();
    for seen in &run.durability {
        let (classes, of_first) = (seen.classes(), first.classes());
        if seen.contender != first.contender && classes.may_be_alike(of_first) {
            return Err(match (classes.known(), of_first.known()) {
                (Some(_), Some(_)) => format!("{} survives as much", seen.contender),
                (None, _) => not_known(&seen.contender),
                (_, None) => not_known(&first.contender),
            });
        }
        told.push(format!("{} survives {}", seen.contender, classes.survives()));
    }
    let has =
        |rows: &[result::outcome::Row], name: &str| rows.iter().any(|it| it.contender == name);
    let mixed = run.outcomes.iter().find(|it| it.rows.len() > 1 && has(&it.rows, &first.contender));
    match (told.len(), mixed) {
        (0 | 1, _) => Err("there is no other store beside it".into()),
        (_, Some(_)) => Err("stores that survive different things were ranked together".into()),
        (_, None) => Ok(told.join(", ")),
    }
}

/// Whether what the first store survives is known, with what it promised.
///
/// # Errors
/// One sentence, where it isn't.
pub(crate) fn is_known(run: &Run) -> Result<(), String> {
    let seen = first(run)?;
    seen.classes().known().map(drop).ok_or_else(|| not_known(&seen.contender))
}

/// Of the contender that the run names first.
fn first(run: &Run) -> Result<&Durability, String> {
    let name = run.contenders.first().map(|it| it.name.as_str()).unwrap_or_default();
    run.durability.iter().find(|it| it.contender == name).ok_or_else(|| not_known(name))
}

fn not_known(store: &str) -> String {
    format!("what {store} survives isn't known")
}

#[cfg(test)]
mod tests {
    use result::durability::{Cut, Rung};
    use result::finding::Verdict;

    use super::*;
    use crate::verdict::tests::{row_of, run};

    /// A store that was cut off once on each rung up to where it lost writes, with so many of its
    /// 100 lost there, and that promised to lose none.
    fn store(contender: &str, lost: Option<(Rung, u64)>) -> Durability {
        let cut = |lost: u64| Cut {
            acknowledged: 100,
            lost,
            lost_span_s: (lost > 0).then_some(0.5),
            restart_s: Some(0.1),
            ..Cut::default()
        };
        let up_to = lost.map_or(Rung::Power, |(rung, _)| rung);
        let seen = |rung: Rung| {
            let writes = lost.filter(|(at, _)| *at == rung).map_or(0, |(_, writes)| writes);
            RungSeen::new(rung, vec![cut(writes)], Some(0.0), None)
        };
        let rungs = Rung::ALL.into_iter().filter(|rung| *rung <= up_to).map(seen).collect();
        Durability::new(contender.into(), 1, None, rungs)
    }

    /// A store that couldn't be cut off above this rung, and kept all on those below.
    fn known_up_to(rung: Rung, contender: &str) -> Durability {
        let mut store = store(contender, None);
        store.rungs.retain(|seen| seen.rung <= rung);
        store
    }

    /// A run of stores, those of each list ranked together.
    fn of(stores: Vec<Durability>, ranked: &[&[&str]]) -> Run {
        let mut of = run(Vec::new());
        let outcome = of.outcomes.remove(0);
        of.outcomes.extend(ranked.iter().map(|names| {
            let rows = names.iter().map(|name| row_of(name, &[("errors", Verdict::Valid)]));
            result::outcome::Outcome { rows: rows.collect(), ..outcome.clone() }
        }));
        of.durability = stores;
        of
    }

    #[test]
    fn a_store_that_lost_what_it_promised_to_keep_broke_its_word() {
        let seen = broken_promise(&of(vec![store("a", Some((Rung::Process, 4)))], &[&["a"]]));
        assert_eq!(seen, Ok("its process dies, 4 of 100 writes lost".into()));
        let kept = of(vec![store("a", None)], &[&["a"]]);
        assert!(broken_promise(&kept).unwrap_err().contains("no more than it promised"));
        let other = of(vec![store("b", Some((Rung::Process, 4)))], &[&["a"]]);
        assert!(broken_promise(&other).unwrap_err().contains("isn't known"), "nobody cut it off");
    }

    #[test]
    fn a_store_is_ranked_with_those_of_its_class_alone() {
        let (less, more) = (store("a", Some((Rung::Process, 4))), store("b", None));
        let apart = of(vec![less.clone(), more.clone()], &[&["b"], &["a"]]);
        let told = "a survives nothing, b survives a power cut";
        assert_eq!(other_class(&apart), Ok(told.into()));
        let mixed = of(vec![less.clone(), more.clone()], &[&["a", "b"]]);
        assert!(other_class(&mixed).unwrap_err().contains("ranked together"));
        let alike = of(vec![less.clone(), store("b", Some((Rung::Process, 2)))], &[&["a", "b"]]);
        assert!(other_class(&alike).unwrap_err().contains("b survives as much"));
        assert!(other_class(&of(vec![less.clone()], &[&["a"]])).is_err(), "it is alone");
        let at_least = known_up_to(Rung::Process, "b");
        let apart = of(vec![less, at_least.clone()], &[&["b"], &["a"]]);
        let told = "a survives nothing, b survives its own crash, and perhaps a power cut";
        assert_eq!(other_class(&apart), Ok(told.into()), "they differ in any case");
        let unknown = of(vec![store("a", Some((Rung::Power, 4))), at_least], &[&["a"], &["b"]]);
        assert_eq!(other_class(&unknown), Err("what b survives isn't known".into()));
    }
}
