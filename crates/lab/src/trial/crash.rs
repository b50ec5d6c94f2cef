//! The end of a trial of a store that survives its own crash: the process that was measured is
//! killed, started again on its own folder, and asked for what it had acknowledged.
//!
//! A store may tell by many signs that it is cut off to find out its class, and write to its disk
//! only then. So each trial that writes ends like this: a store that keeps its word in some of them
//! alone is found as well. Each costs another start.

use std::io;

use keeper::cgroup::Group;
use keeper::{Order, Scratch};
use result::evidence::{AfterCrash, Evidence};

use super::{Bench, Fails};
use crate::drive::read_back::Written;
use crate::place::Running;
use crate::study::contender::Contender;

impl Bench<'_> {
    /// Kills a store that runs, starts it again and writes down what it has. Its keeper goes on:
    /// the folder is that one's.
    ///
    /// # Errors
    /// Where the machine let nobody be killed or started.
    pub(super) fn crash(
        &self,
        contender: &Contender,
        running: &Running,
        written: &Written,
        evidence: &mut Evidence,
    ) -> Result<(), load::Error> {
        let system = |why: String| load::Error::System {
            what: format!("killing {} and starting it again", contender.name),
            source: io::Error::other(why),
        };
        let crash = || running.kept.crash();
        let Some((due, crashed)) = self.driver.write_on(running, written, &crash) else {
            return Ok(());
        };
        crashed.map_err(system)?;
        let folder = running.order.scratch.as_ref().map(|Scratch { path, .. }| path.clone());
        let order = Order {
            folder: running.order.folder.clone().or(folder),
            scratch: None,
            cgroup: self.host.cgroup(&evidence.place),
            client_cgroup: Group::default(),
            ..running.order.clone()
        };
        let after = match self.launch(contender, order, running.address, (Vec::new(), None)) {
            Ok(mut again) => {
                let after = self.driver.after_crash(&again, written, &due);
                again.kept.hurry();
                again.kept.stop(0).map_err(system)?;
                after
            }
            Err(Fails::Contender(process)) => {
                AfterCrash::Unread(process.failure.unwrap_or_default())
            }
            Err(Fails::Machine(why)) => return Err(system(why)),
        };
        if let Some(store) = &mut evidence.store {
            store.after_crash = Some(after);
        }
        Ok(())
    }
}
