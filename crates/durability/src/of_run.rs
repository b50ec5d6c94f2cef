//! The ladder as a step of a run: what a store survives, before it is timed.

use lab::place::Host;
use lab::run::Ladder;
use lab::study::contender::Contender;
use load::Stop;
use result::durability::{Durability, Rung, RungSeen, Verdict, class};

use crate::{Asked, measure};

/// Cuts stores off for a run. Above a rung that a store lost writes on no other is tried: it is
/// in its class.
#[derive(Debug, Clone, Copy)]
pub struct OfRun;

impl Ladder for OfRun {
    fn climb(
        &self,
        store: &Contender,
        host: &dyn Host,
        (cuts, seed): (u32, u64),
        stop: &Stop,
    ) -> Option<Durability> {
        let mut rungs: Vec<RungSeen> = Vec::new();
        for rung in Rung::ALL {
            let asked = Asked { rungs: vec![rung], cuts, seed };
            match measure(store, host, &asked, stop, &mut |_| {}) {
                Ok(None) => return None,
                Ok(Some(seen)) => rungs.extend(seen.rungs),
                Err(why) => rungs.push(RungSeen::new(rung, Vec::new(), None, Some(why))),
            }
            let is_kept = rungs.last().is_some_and(|seen| seen.verdict == Verdict::Kept);
            if !is_kept {
                break;
            }
        }
        let promises = store.file.promises.as_ref();
        Some(Durability {
            contender: store.name.clone(),
            seed,
            promised_in: promises.map(|promises| promises.source.clone()),
            class: class(&rungs),
            rungs,
        })
    }
}
