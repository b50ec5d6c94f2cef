//! The ladder as a step of a run: what a store survives, before it is timed.

use lab::place::Host;
use lab::run::{CutsDue, Ladder};
use lab::study::contender::Contender;
use load::Stop;
use result::durability::{Durability, Rung, RungSeen};

use crate::{Asked, Told, measure};

/// Cuts stores off for a run. Above a rung that a store lost writes on no other is tried: it is
/// in its class.
#[derive(Debug, Clone, Copy)]
pub struct OfRun;

impl Ladder for OfRun {
    fn climb(
        &self,
        store: &Contender,
        host: &dyn Host,
        CutsDue { cuts, seed, loads }: CutsDue,
        stop: &Stop,
        was_cut: &mut dyn FnMut(),
    ) -> Option<Durability> {
        let asked = Asked { rungs: Rung::ALL.to_vec(), cuts, seed, loads, goes_on: false };
        let measured = measure(store, host, &asked, stop, &mut |told| {
            if matches!(told, Told::Cut(..)) {
                was_cut();
            }
        });
        measured.unwrap_or_else(|why| {
            let unknown = RungSeen::new(Rung::Process, Vec::new(), None, Some(why));
            Some(Durability::new(store.name.clone(), seed, None, vec![unknown]))
        })
    }
}
