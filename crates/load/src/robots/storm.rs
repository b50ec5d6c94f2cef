//! A storm: all robots end their connections at once, and all want to come back at once.
//!
//! Before that nobody speaks until all that was said is settled, and confirmed where the server
//! does so; and after it until all are back that come back. So nothing is owed to a robot that we
//! took away, and the account of deliveries stays exact.

use super::sharing::SharedStorm;
use super::*;
use crate::outcome::storm::StormSeen;
use crate::plan::{Ending, Storm};

/// After so long it is looked again whether other threads are as far.
const LOOKED_AFTER_NS: u64 = 500_000;

/// A thread's part of the storm.
pub(super) struct StormOfThread<'a> {
    asked: Storm,
    shared: &'a SharedStorm,
    stage: StormStage,
    /// When nobody speaks any more, once the window is known.
    from: u64,
    /// Threads that say nothing more to rooms of this one.
    silent: u32,
    /// When it struck.
    struck: u64,
    /// What had been counted by then.
    syn_retransmits: u64,
    out_of_order: u64,
    duplicates: u64,
    seen: StormSeen,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StormStage {
    Before,
    /// What was said is awaited. Whether the others know that no more is said.
    Calming {
        is_silent: bool,
    },
    /// All is settled. It strikes once it is so on all threads.
    Ready,
    /// Robots come back. The most that were inside, and since when.
    Returning {
        most: u32,
        since: u64,
    },
    /// Those of other threads are awaited.
    Back,
    After,
}

impl<'a> StormOfThread<'a> {
    pub(super) fn of(asked: Storm, shared: &'a SharedStorm) -> StormOfThread<'a> {
        StormOfThread {
            asked,
            shared,
            stage: StormStage::Before,
            from: u64::MAX,
            silent: 0,
            struck: 0,
            syn_retransmits: 0,
            out_of_order: 0,
            duplicates: 0,
            seen: StormSeen::default(),
        }
    }

    /// The window is this one.
    pub(super) fn begin(&mut self, window: Window) {
        self.from = window.begin + self.asked.at.as_nanos() as u64;
    }

    /// A thread says nothing more.
    pub(super) fn note_silent(&mut self) {
        self.silent += 1;
    }

    /// Whether nobody speaks.
    pub(super) fn is_on(&self) -> bool {
        !matches!(self.stage, StormStage::Before | StormStage::After)
    }

    /// Whether robots come back.
    pub(super) fn is_returning(&self) -> bool {
        matches!(self.stage, StormStage::Returning { .. })
    }

    /// Whether it struck.
    pub(super) fn has_struck(&self) -> bool {
        self.struck > 0
    }

    /// A robot is back in its room at this time.
    pub(super) fn comes_back(&mut self, at: u64) {
        self.seen.back.saturating_record(at.saturating_sub(self.struck));
    }

    /// A robot's attempt to come back failed.
    pub(super) fn note_failed(&mut self, kind: ErrorKind) {
        match kind {
            ErrorKind::Refused => self.seen.refused += 1,
            _ => self.seen.failed += 1,
        }
    }
}

impl<B: Backend, W: Pushing> Robots<'_, B, W> {
    /// Whether robots come back after a storm.
    pub(super) fn is_returning(&self) -> bool {
        self.storm.as_ref().is_some_and(|storm| storm.is_returning())
    }

    /// Has the storm come and pass; gives when it is next to be looked.
    pub(super) fn see_to_storm(&mut self) -> u64 {
        let now = self.now();
        let Some(storm) = &mut self.storm else { return u64::MAX };
        match storm.stage {
            StormStage::Before if now < storm.from => return storm.from,
            StormStage::Before => storm.stage = StormStage::Calming { is_silent: false },
            StormStage::Calming { is_silent } => self.calm_down(is_silent),
            StormStage::Ready => {
                if let Some(at) = storm.shared.strikes_at().filter(|at| *at <= now) {
                    self.strike(at);
                }
            }
            StormStage::Returning { most, since } => {
                self.come_back(most, since);
                let may_at = self.connects.may_at(self.now()).unwrap_or(u64::MAX);
                return may_at.min(self.now() + LOOKED_AFTER_NS);
            }
            StormStage::Back if storm.shared.are_all_back() => storm.stage = StormStage::After,
            StormStage::Back => {}
            StormStage::After => return u64::MAX,
        }
        now + LOOKED_AFTER_NS
    }

    /// Waits until all that was said in rooms of this thread is settled, and what its robots said is
    /// confirmed.
    fn calm_down(&mut self, is_silent: bool) {
        let is_saying = self.is_saying();
        if !is_silent && !is_saying {
            self.tell(Word::Silent);
        }
        let (now, is_settled) = (self.now(), self.under_way() == 0);
        let Some(storm) = &mut self.storm else { return };
        storm.stage = StormStage::Calming { is_silent: is_silent || !is_saying };
        if storm.silent == self.seats.threads_heard() && is_settled {
            storm.stage = StormStage::Ready;
            storm.shared.is_ready(now);
        }
    }

    /// All robots end their connections, and want new ones.
    fn strike(&mut self, at: u64) {
        let were_inside: Vec<bool> =
            self.robots.iter().map(|robot| robot.state == RobotState::Inside).collect();
        let Some(storm) = &mut self.storm else { return };
        storm.stage = StormStage::Returning { most: 0, since: at };
        storm.struck = at;
        storm.seen.ended = self.inside;
        storm.syn_retransmits = self.record.outcome.connections.syn_retransmits;
        (storm.out_of_order, storm.duplicates) = (self.seen.out_of_order, self.seen.duplicates);
        let how = storm.asked.ending;
        for slot in (0..).zip(&were_inside).filter(|(_, was)| **was).map(|(slot, _)| slot) {
            self.goes_out(slot);
            match how {
                Ending::Fin => self.backend.close(slot),
                Ending::Reset => self.backend.reset(slot),
            }
            self.goes_away(slot);
        }
        self.inside = 0;
        // A crowd keeps no pace. Only a failure makes it pause.
        let (robots, threads) = (self.robots.len() as u32, self.seats.threads());
        self.connects = Connects::new(robots, threads, false, false, at);
        self.connects.forget_waiting_unless(|slot| were_inside[slot as usize]);
    }

    /// Makes new connections until all robots are back, or nothing moves any more.
    fn come_back(&mut self, most: u32, since: u64) {
        let (now, inside) = (self.now(), self.inside);
        let patience = self.plan.timeout.as_nanos() as u64;
        let (most, since) = if inside > most { (inside, now) } else { (most, since) };
        let is_over = self.connects.are_settled() || now.saturating_sub(since) > patience;
        if is_over {
            self.connects.forget_waiting_unless(|_| false);
            self.leave_out_who_is_outside();
        } else {
            self.open_connections();
        }
        let Some(storm) = &mut self.storm else { return };
        storm.stage = StormStage::Returning { most, since };
        if is_over {
            storm.shared.is_back();
            storm.stage = StormStage::Back;
        }
    }

    /// What became of the storm, once the run is over.
    pub(super) fn storm_seen(&mut self) -> Option<Box<StormSeen>> {
        let storm = self.storm.take()?;
        let connections = &self.record.outcome.connections;
        let since = |now: u64, then: u64| if storm.has_struck() { now - then } else { 0 };
        Some(Box::new(StormSeen {
            syn_retransmits: since(connections.syn_retransmits, storm.syn_retransmits),
            out_of_order: since(self.seen.out_of_order, storm.out_of_order),
            duplicates: since(self.seen.duplicates, storm.duplicates),
            ..storm.seen
        }))
    }
}
