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
        let class = seen.class.ok_or_else(|| not_known(&seen.contender))?;
        if seen.contender != first.contender && seen.class == first.class {
            return Err(format!("{} survives as much", seen.contender));
        }
        told.push(format!("{} survives {}", seen.contender, class.survives()));
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
    seen.class.map(|_| ()).ok_or_else(|| not_known(&seen.contender))
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
    use result::durability::{Class, Cut, Rung};
    use result::finding::Verdict;

    use super::*;
    use crate::verdict::tests::{row_of, run};

    /// A store whose process was killed once, with so many of its 10 writes lost, that promised
    /// to lose none.
    fn store(contender: &str, lost: u64, class: Option<Class>) -> Durability {
        let cut = Cut {
            acknowledged: 10,
            lost,
            lost_span_s: (lost > 0).then_some(0.5),
            restart_s: Some(0.1),
            ..Cut::default()
        };
        Durability {
            contender: contender.into(),
            seed: 1,
            promised_in: None,
            rungs: vec![RungSeen::new(Rung::Process, vec![cut], Some(0.0), None)],
            class,
        }
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
        let seen = broken_promise(&of(vec![store("a", 4, Some(Class::None))], &[&["a"]]));
        assert_eq!(seen, Ok("its process dies, 4 of 10 writes lost".into()));
        let kept = of(vec![store("a", 0, Some(Class::Process))], &[&["a"]]);
        assert!(broken_promise(&kept).unwrap_err().contains("no more than it promised"));
        let other = of(vec![store("b", 4, Some(Class::None))], &[&["a"]]);
        assert!(broken_promise(&other).unwrap_err().contains("isn't known"), "nobody cut it off");
    }

    #[test]
    fn a_store_is_ranked_with_those_of_its_class_alone() {
        let (less, more) = (store("a", 4, Some(Class::None)), store("b", 0, Some(Class::Power)));
        let apart = of(vec![less.clone(), more.clone()], &[&["b"], &["a"]]);
        let told = "a survives nothing, b survives a power cut";
        assert_eq!(other_class(&apart), Ok(told.into()));
        let mixed = of(vec![less.clone(), more.clone()], &[&["a", "b"]]);
        assert!(other_class(&mixed).unwrap_err().contains("ranked together"));
        let alike = of(vec![less.clone(), store("b", 2, Some(Class::None))], &[&["a", "b"]]);
        assert!(other_class(&alike).unwrap_err().contains("b survives as much"));
        assert!(other_class(&of(vec![less.clone()], &[&["a"]])).is_err(), "it is alone");
        let unknown = of(vec![less, store("b", 0, None)], &[&["a"], &["b"]]);
        assert_eq!(other_class(&unknown), Err("what b survives isn't known".into()));
    }
}
