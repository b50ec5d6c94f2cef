//! Did contender or client wait for memory or disks?

use result::evidence::{Cgroup, Evidence};

use super::{Check, Scope, Seen, Word, percent};

/// Share of the window.
const WAITED_SUSPECT: f64 = 0.01;
/// From here on the disk is measured.
const WAITED_INVALID: f64 = 0.1;

pub(super) const PRESSURE: Check = Check {
    id: "pressure",
    signal: "Pressure stall information: the share of the window in which some task of the contender's control group, or of the client's, waited for memory, or for a disk if it read from one or wrote to one; where one has no group, in which some task of the machine did.",
    threshold: "less than 1 % of the window, invalid from 10 %; of the whole machine less than 1 %, else it can't be told who waited",
    why: "A server that answers from memory has nothing to wait for but its clients, and a client that waits takes its own time for the server's. From 1 % on, the slowest hundredth of the answers may be those that waited, so the 99th percentile is the disk's. Who moves no byte to or from a disk doesn't wait for one, but from Linux 6.5 on the kernel counts every wait in io_uring as such, also those for the network.",
    fix: "Find what it reads or writes (logs, temporary files, a cold cache), or what presses on memory beside it; warm up for longer.",
    scope: Scope::Trial(look),
};

/// Shares of the window that somebody waited.
///
/// Of a ring's waits the kernel can't tell what for, and counts all of them as for a disk
/// (io_uring_enter(2), `IORING_ENTER_NO_IOWAIT`): 21 % of the window in a client that
/// used none.
#[derive(Debug, Clone, Copy)]
struct Waited {
    memory: f64,
    io: f64,
}

impl Waited {
    /// Of those who used a disk or didn't.
    fn of(group: &Cgroup, used_disk: bool) -> Option<Waited> {
        let (memory, io) = group.memory_pressure_share.zip(group.io_pressure_share)?;
        Some(Waited { memory, io: if used_disk { io } else { 0.0 } })
    }

    fn of_contender(evidence: &Evidence) -> Option<Waited> {
        let group = evidence.server.cgroup.as_ref()?;
        let moved = [group.io_read_bytes, group.io_write_bytes, evidence.server_disk_write_bytes];
        // What isn't known may have been.
        Waited::of(group, moved != [Some(0); 3])
    }

    /// It uses io_uring itself, so that nothing is known where its traffic isn't.
    fn of_client(evidence: &Evidence) -> Option<Waited> {
        let client = evidence.client.as_ref()?;
        let moved = client.disk_read_bytes? + client.disk_write_bytes?;
        Waited::of(client.cgroup.as_ref()?, moved > 0)
    }

    fn most(self) -> f64 {
        self.memory.max(self.io)
    }

    fn value(self) -> String {
        format!("memory {}, disk {}", percent(self.memory), percent(self.io))
    }
}

fn look(seen: &Seen) -> Word {
    if seen.load().is_none() {
        return Word::no_load();
    }
    let evidence = seen.evidence;
    let parties =
        [("contender", Waited::of_contender(evidence)), ("client", Waited::of_client(evidence))];
    let known = parties.iter().filter_map(|(who, waited)| Some((who, (*waited)?)));
    let longest = known.max_by(|a, b| a.1.most().total_cmp(&b.1.most()));
    if let Some((who, waited)) = longest.filter(|(_, waited)| waited.most() >= WAITED_SUSPECT) {
        let value = format!("{who}: {}", waited.value());
        return if waited.most() >= WAITED_INVALID {
            let says = format!("The {who} waited for memory or a disk for much of the time.");
            Word::invalid(value, says)
        } else {
            Word::suspect(value, format!("The {who} waited for memory or a disk."))
        };
    }
    let unknown = parties.iter().find(|(_, waited)| waited.is_none());
    let (Some((who, _)), machine) = (unknown, &evidence.machine) else {
        let value = longest.map(|(_, waited)| waited.value()).unwrap_or_default();
        return Word::valid(value, "Neither contender nor client waited for memory or a disk.");
    };
    match machine.memory_pressure_share.zip(machine.io_pressure_share) {
        None => Word::not_checked("The kernel doesn't tell how long tasks waited."),
        Some((memory, io)) => match (Waited { memory, io }) {
            waited if waited.most() >= WAITED_SUSPECT => Word::not_checked(format!(
                "Some task waited for memory or a disk; whether it was the {who}'s can't be told."
            )),
            waited => Word::valid(waited.value(), "Nobody waited for memory or a disk."),
        },
    }
}

#[cfg(test)]
mod tests {
    use result::evidence::ClientUse;
    use result::finding::Verdict;

    use super::super::tests::word_after;
    use super::*;

    fn group(memory: f64, io: f64) -> Option<Cgroup> {
        Some(Cgroup {
            memory_pressure_share: Some(memory),
            io_pressure_share: Some(io),
            ..Cgroup::default()
        })
    }

    fn set(evidence: &mut Evidence, server: Option<Cgroup>, client: Option<Cgroup>) {
        evidence.server.cgroup = server;
        evidence.client = Some(ClientUse {
            cgroup: client,
            disk_read_bytes: Some(4096),
            disk_write_bytes: Some(0),
            ..ClientUse::default()
        });
    }

    #[test]
    fn a_contender_that_waits_casts_doubt_and_for_long_is_invalid() {
        let with = |memory, io| {
            word_after(&PRESSURE, |evidence| set(evidence, group(memory, io), group(0.0, 0.0)))
        };
        assert_eq!(with(0.0, 0.009).verdict, Verdict::Valid);
        assert_eq!(with(0.01, 0.0).verdict, Verdict::Suspect);
        assert_eq!(with(0.0, 0.1).verdict, Verdict::Invalid);
        assert_eq!(with(0.0, 0.1).value, "contender: memory 0.0 %, disk 10.0 %");
    }

    #[test]
    fn a_client_that_waits_does_the_same_whatever_is_known_of_the_contender() {
        for server in [group(0.0, 0.002), None] {
            let with = |memory, io| {
                word_after(&PRESSURE, |evidence| {
                    evidence.machine.memory_pressure_share = Some(memory);
                    evidence.machine.io_pressure_share = Some(io);
                    set(evidence, server.clone(), group(memory, io));
                })
            };
            assert_eq!(with(0.0, 0.009).verdict, Verdict::Valid);
            assert_eq!(with(0.0, 0.01).verdict, Verdict::Suspect);
            assert_eq!(with(0.1, 0.0).verdict, Verdict::Invalid);
            assert_eq!(with(0.1, 0.0).value, "client: memory 10.0 %, disk 0.0 %");
        }
    }

    #[test]
    fn who_uses_no_disk_waits_for_none_whatever_io_uring_counts() {
        let with = |moved, group_moved| {
            word_after(&PRESSURE, |evidence| {
                let uring = group(0.0, 0.2).map(|group| Cgroup {
                    io_read_bytes: group_moved,
                    io_write_bytes: group_moved,
                    ..group
                });
                set(evidence, uring.clone(), uring);
                evidence.server_disk_write_bytes = Some(0);
                let client = evidence.client.as_mut().unwrap();
                (client.disk_read_bytes, client.disk_write_bytes) = (moved, moved);
                evidence.machine.io_pressure_share = Some(0.2);
            })
        };
        assert_eq!(with(Some(0), Some(0)).verdict, Verdict::Valid);
        assert_eq!(with(Some(4096), Some(0)).value, "client: memory 0.0 %, disk 20.0 %");
        assert_eq!(with(None, Some(0)).verdict, Verdict::NotChecked);
        assert_eq!(with(Some(0), None).value, "contender: memory 0.0 %, disk 20.0 %");
    }

    #[test]
    fn without_a_group_a_quiet_machine_is_enough_and_a_waiting_one_tells_nothing() {
        for (server, client) in [(None, None), (group(0.0, 0.0), None), (None, group(0.0, 0.0))] {
            let with = |io| {
                word_after(&PRESSURE, |evidence| {
                    set(evidence, server.clone(), client.clone());
                    evidence.machine.memory_pressure_share = Some(0.0);
                    evidence.machine.io_pressure_share = io;
                })
                .verdict
            };
            assert_eq!(with(Some(0.005)), Verdict::Valid);
            assert_eq!(with(Some(0.2)), Verdict::NotChecked);
            assert_eq!(with(None), Verdict::NotChecked);
        }
    }
}
