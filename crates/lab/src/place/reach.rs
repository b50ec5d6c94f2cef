//! Where on this machine a client of the load runs, and how it gets there.

use std::os::unix::process::CommandExt;
use std::process::Command;

use keeper::affinity;
use keeper::cgroup::Group;

/// Where a client runs, a child of this process.
#[derive(Debug, Clone)]
pub struct Reach {
    /// Its control group. Whoever starts the client makes the group, and removes it.
    pub group: Group,
    /// The processors that it may use.
    pub cpus: Vec<usize>,
}

impl Reach {
    /// Sees to it that this command runs there, and no longer than this process.
    pub(crate) fn bring(&self, command: &mut Command) {
        let Reach { group, cpus } = self;
        // Ctrl-C on the terminal is bakeoff's to handle.
        command.process_group(0);
        keeper::bind_to_this_process(command, group.make());
        let cpus = cpus.clone();
        // SAFETY: between fork and exec only one system call is made; it allocates
        // nothing and takes no lock.
        unsafe {
            command.pre_exec(move || {
                // Its threads of load bind themselves, and say why if they can't.
                let _ = affinity::pin(&cpus);
                Ok(())
            });
        }
    }
}
