//! Did contender or client wait for memory or disks?

use result::evidence::{Cgroup, Evidence, Work};

use super::check::{Check, Scope, TrialSeen, Word, percent};

/// Share of the window.
const WAITED_SUSPECT: f64 = 0.01;
/// From here on the disk is measured.
const WAITED_INVALID: f64 = 0.1;
/// Bytes a second to and from disks that are more than stray pages.
const USES_DISK: f64 = 10.0 * 4096.0;

pub(super) const PRESSURE: Check = Check {
    id: "pressure",
    signal: "Pressure stall information: the share of the window in which a task of the contender's control group, or of the client's, waited for memory or for a disk. Waits for a disk count only if the group moved more to and from disks than stray pages. If one of the two has no group: the share in which any task of the machine waited.",
    threshold: "less than 1 % of the window, invalid from 10 %; more than stray pages: 40 KiB a second; of the whole machine less than 1 %, else it can't be told which process waited",
    why: "A server that answers from memory waits for nothing but its clients. A client that waits takes its own time for the server's. From 1 % on, the slowest hundredth of the answers may be those that waited, so the 99th percentile is the disk's. A server that moves next to nothing to and from disks hardly waits for one. But from Linux 6.5 on (6.1.39 of the longer-kept ones), the kernel counts every wait in io_uring as a wait for a disk, also those for the network. A program can tell it not to, and bakeoff's client does so from Linux 6.15 on. So a contender that has a ring open and uses a disk is suspect, and not invalid: nobody can tell which of the two it waited for. Stray pages are fewer than ten of 4 KiB a second. If each is waited for, an SSD takes about a thousandth of the time for them, and a slow disk, with 10 ms each, a tenth. A JVM that keeps its counters in a file writes such pages. A store that waits for its disk does its work, so of stores only memory is looked at.",
    fix: "Find what it reads or writes (logs, temporary files, a cold cache), or what presses on memory beside it; warm up for longer.",
    scope: Scope::Trial(|seen, work| Some(seen.with_hosts(look(seen, work)))),
};

/// What gives contender and client control groups where nobody may make them.
pub const DELEGATE: &str = "As a user other than root, get control groups for contender and client: `systemd-run --user --scope -p Delegate=yes bakeoff run web`.";

/// Shares of the window that somebody waited, as far as they are known.
#[derive(Debug, Clone, Copy, Default)]
struct Waited {
    memory: Option<f64>,
    io: Option<f64>,
}

impl Waited {
    /// Of one with this group, who moved so many bytes a second to and from disks.
    ///
    /// What a ring waits for the kernel can't tell, and counts all of it as for a disk
    /// (io_uring_enter(2), `IORING_ENTER_NO_IOWAIT`): 21 % of the window in a client that
    /// used none.
    fn of(group: Option<&Cgroup>, moved: Option<f64>) -> Waited {
        let io = group.and_then(|group| group.io_pressure_share);
        Waited {
            memory: group.and_then(|group| group.memory_pressure_share),
            io: match moved {
                Some(moved) if moved < USES_DISK => Some(0.0),
                Some(_) => io,
                None => io.filter(|&io| io < WAITED_SUSPECT),
            },
        }
    }

    fn of_contender(seen: &TrialSeen, seconds: f64) -> Waited {
        let evidence = seen.evidence;
        let group = evidence.server.cgroup.as_ref();
        // A group may know nothing of disks, or of direct writes only, and processes that
        // have ended are known to the group alone.
        let read = group.and_then(|group| group.io_read_bytes).max(evidence.server.disk_read_bytes);
        let written =
            group.and_then(|group| group.io_write_bytes).max(evidence.server_disk_write_bytes);
        let moved = read.zip(written).map(|(read, written)| (read + written) as f64 / seconds);
        let waited = Waited::of(group, moved);
        if seen.kind.keeps_data() {
            // Its disk is its work.
            Waited { io: Some(0.0), ..waited }
        } else {
            waited
        }
    }

    fn of_client(evidence: &Evidence, seconds: f64) -> Waited {
        let Some(client) = &evidence.client else { return Waited::default() };
        let moved = client.disk_read_bytes.zip(client.disk_write_bytes);
        let moved = moved.map(|(read, written)| (read + written) as f64 / seconds);
        Waited::of(client.cgroup.as_ref(), moved)
    }

    /// Nobody waited for longer than somebody of the machine did.
    fn or_at_most(self, machine: Waited) -> Waited {
        Waited { memory: self.memory.or(machine.memory), io: self.io.or(machine.io) }
    }

    fn most(self) -> f64 {
        self.memory.into_iter().chain(self.io).fold(0.0, f64::max)
    }

    fn value(self) -> String {
        let share = |share: Option<f64>| share.map_or("not known".into(), percent);
        format!("memory {}, disk {}", share(self.memory), share(self.io))
    }
}

fn look(seen: &TrialSeen, work: &Work) -> Word {
    let evidence = seen.evidence;
    let contender = Waited::of_contender(seen, work.seconds);
    let client = Waited::of_client(evidence, work.seconds);
    let (who, longest) = self::longest(contender, client);
    if longest.most() >= WAITED_SUSPECT {
        let value = format!("{who}: {}", longest.value());
        let has_rings = who == CONTENDER && evidence.server.uses_io_uring == Some(true);
        let surely = if has_rings { longest.memory.unwrap_or(0.0) } else { longest.most() };
        return if surely >= WAITED_INVALID {
            let says = format!("The {who} waited for memory or a disk for much of the time.");
            Word::invalid(value, says)
        } else if surely >= WAITED_SUSPECT {
            Word::suspect(value, format!("The {who} waited for memory or a disk."))
        } else {
            let says = "The contender waited for a disk, or in io_uring for anything: the kernel \
                        counts both alike.";
            Word::suspect(value, says)
        };
    }
    let machine = Waited {
        memory: evidence.machine.memory_pressure_share,
        io: evidence.machine.io_pressure_share,
    };
    let client_group = evidence.client.as_ref().and_then(|client| client.cgroup.as_ref());
    for (who, waited, group) in
        [(CONTENDER, contender, evidence.server.cgroup.as_ref()), (CLIENT, client, client_group)]
    {
        if let Some(word) = cannot_tell(who, group, waited.or_at_most(machine)) {
            return word;
        }
    }
    let (_, longest) = self::longest(contender.or_at_most(machine), client.or_at_most(machine));
    Word::valid(longest.value(), "Neither contender nor client waited for memory or a disk.")
}

/// Who may have waited, in words.
const CONTENDER: &str = "contender";
const CLIENT: &str = "client";

/// Who of the two waited longest.
fn longest(contender: Waited, client: Waited) -> (&'static str, Waited) {
    if contender.most() < client.most() { (CLIENT, client) } else { (CONTENDER, contender) }
}

/// What can't be told of one with this group who waited at most so long, if anything.
fn cannot_tell(who: &str, group: Option<&Cgroup>, at_most: Waited) -> Option<Word> {
    let (Some(memory), Some(io)) = (at_most.memory, at_most.io) else {
        return Some(Word::not_checked("The kernel doesn't tell how long tasks waited."));
    };
    let says = if memory >= WAITED_SUSPECT {
        format!("Some task waited for memory; whether it was the {who}'s can't be told.")
    } else if io >= WAITED_SUSPECT {
        format!(
            "Some task waited for a disk, or for anything in io_uring, which counts as a disk from Linux 6.5 on; whether the {who} waited for a disk can't be told."
        )
    } else {
        return None;
    };
    let word = Word::not_checked(says);
    Some(if group.is_none() { word.advise(DELEGATE) } else { word })
}

#[cfg(test)]
mod tests {
    use result::evidence::ClientUse;
    use result::finding::{Finding, Verdict};

    use super::super::sound::{word_after, word_of_a_gateway, word_of_a_store};
    use super::*;

    /// In the window of 4 s the least that is more than stray pages.
    const USED: u64 = 40 * 1024 * 4;

    fn group(memory: f64, io: f64) -> Cgroup {
        Cgroup {
            memory_pressure_share: Some(memory),
            io_pressure_share: Some(io),
            ..Cgroup::default()
        }
    }

    fn with(
        server: Option<Cgroup>,
        client: Option<Cgroup>,
        change: impl FnOnce(&mut Evidence, &mut ClientUse),
    ) -> Finding {
        word_after(&PRESSURE, |evidence| {
            let mut of_client = ClientUse {
                cgroup: client,
                disk_read_bytes: Some(0),
                disk_write_bytes: Some(0),
                ..ClientUse::default()
            };
            evidence.server.cgroup = server;
            change(evidence, &mut of_client);
            evidence.client = Some(of_client);
        })
    }

    #[test]
    fn a_contender_that_waits_casts_doubt_and_for_long_is_invalid() {
        let with = |memory, io| {
            with(Some(group(memory, io)), Some(group(0.0, 0.0)), |evidence, _| {
                evidence.server.disk_read_bytes = Some(USED);
            })
        };
        assert_eq!(with(0.0, 0.009).verdict, Verdict::Valid);
        assert_eq!(with(0.01, 0.0).verdict, Verdict::Suspect);
        assert_eq!(with(0.0, 0.1).verdict, Verdict::Invalid);
        assert_eq!(with(0.0, 0.1).value, "contender: memory 0.0 %, disk 10.0 %");
    }

    #[test]
    fn a_store_may_wait_for_its_disk_and_not_for_memory() {
        let word = |memory, io| {
            word_of_a_store(&PRESSURE, |evidence| {
                evidence.server_disk_write_bytes = Some(1 << 30);
                evidence.server.cgroup = Some(group(memory, io));
            })
        };
        assert_eq!(word(0.0, 0.5).verdict, Verdict::Valid);
        assert_eq!(word(0.5, 0.5).verdict, Verdict::Invalid);
    }

    /// A gateway keeps no data, so that a disk which it waits for isn't its work either.
    #[test]
    fn a_gateway_that_waits_for_memory_or_a_disk_casts_doubt() {
        let word = |memory, io| {
            word_of_a_gateway(&PRESSURE, |evidence| {
                evidence.server_disk_write_bytes = Some(1 << 30);
                evidence.server.cgroup = Some(group(memory, io));
            })
            .verdict
        };
        assert_eq!(word(0.0, 0.0), Verdict::Valid);
        assert_eq!(word(0.02, 0.0), Verdict::Suspect);
        assert_eq!(word(0.0, 0.02), Verdict::Suspect);
    }

    #[test]
    fn a_client_that_waits_does_the_same_whatever_is_known_of_the_contender() {
        for server in [Some(group(0.0, 0.002)), None] {
            let with = |memory, io| {
                with(server.clone(), Some(group(memory, io)), |evidence, client| {
                    evidence.machine.memory_pressure_share = Some(memory);
                    evidence.machine.io_pressure_share = Some(io);
                    client.disk_write_bytes = Some(USED);
                })
            };
            assert_eq!(with(0.0, 0.009).verdict, Verdict::Valid);
            assert_eq!(with(0.0, 0.01).verdict, Verdict::Suspect);
            assert_eq!(with(0.1, 0.0).verdict, Verdict::Invalid);
            assert_eq!(with(0.1, 0.0).value, "client: memory 10.0 %, disk 0.0 %");
        }
    }

    /// The contender's group and its processes count bytes, each as far as it can.
    #[test]
    fn who_moves_stray_pages_waits_for_no_disk_whatever_io_uring_counts() {
        let of_contender = |of_group: Option<u64>, of_processes: Option<u64>| {
            let group_of = |it| Cgroup { io_read_bytes: it, io_write_bytes: it, ..group(0.0, 0.2) };
            with(Some(group_of(of_group)), Some(group(0.0, 0.0)), |evidence, _| {
                evidence.server.disk_read_bytes = of_processes;
                evidence.server_disk_write_bytes = of_processes;
                evidence.machine.io_pressure_share = Some(0.2);
            })
            .verdict
        };
        for stray in [0, 4096, USED / 2 - 1] {
            assert_eq!(of_contender(Some(stray), Some(stray)), Verdict::Valid);
            assert_eq!(of_contender(None, Some(stray)), Verdict::Valid, "a group without `io`");
            assert_eq!(of_contender(Some(stray), None), Verdict::Valid);
        }
        assert_eq!(of_contender(Some(USED / 2), Some(0)), Verdict::Invalid);
        assert_eq!(of_contender(Some(0), Some(USED / 2)), Verdict::Invalid, "version 1");
        assert_eq!(of_contender(None, Some(USED / 2)), Verdict::Invalid);
        assert_eq!(of_contender(None, None), Verdict::NotChecked);

        let of_client = |read: Option<u64>, written: Option<u64>| {
            with(Some(group(0.0, 0.0)), Some(group(0.0, 0.2)), |evidence, client| {
                (client.disk_read_bytes, client.disk_write_bytes) = (read, written);
                evidence.machine.io_pressure_share = Some(0.2);
            })
            .verdict
        };
        assert_eq!(of_client(Some(4096), Some(USED - 4097)), Verdict::Valid);
        assert_eq!(of_client(Some(4096), Some(USED - 4096)), Verdict::Invalid);
        assert_eq!(of_client(None, Some(0)), Verdict::NotChecked);
    }

    #[test]
    fn who_uses_io_uring_and_a_disk_may_have_waited_for_either() {
        let with = |memory, io, uses_io_uring| {
            with(Some(group(memory, io)), Some(group(0.0, 0.0)), |evidence, _| {
                evidence.server.disk_read_bytes = Some(USED);
                evidence.server.uses_io_uring = uses_io_uring;
            })
        };
        let word = with(0.0, 0.2, Some(true));
        assert_eq!(word.verdict, Verdict::Suspect);
        assert!(word.says.contains("or in io_uring for anything"), "{}", word.says);
        assert_eq!(with(0.0, 0.009, Some(true)).verdict, Verdict::Valid, "for whatever");
        assert_eq!(with(0.2, 0.2, Some(true)).verdict, Verdict::Invalid, "memory is no ring");
        for no_ring in [Some(false), None] {
            assert_eq!(with(0.0, 0.2, no_ring).verdict, Verdict::Invalid);
        }
    }

    #[test]
    fn memory_is_judged_where_nobody_knows_the_traffic_with_disks() {
        let with = |memory, io| {
            with(Some(group(0.0, 0.0)), Some(group(memory, io)), |evidence, client| {
                client.disk_read_bytes = None;
                evidence.machine.io_pressure_share = Some(0.3);
            })
        };
        assert_eq!(with(0.05, 0.2).verdict, Verdict::Suspect);
        assert_eq!(with(0.05, 0.2).value, "client: memory 5.0 %, disk not known");
        assert_eq!(with(0.0, 0.009).verdict, Verdict::Valid, "whatever it waited for");
    }

    #[test]
    fn without_a_group_a_quiet_machine_is_enough() {
        for server in [None, Some(group(0.0, 0.0))] {
            let with = |memory, io| {
                with(server.clone(), None, |evidence, client| {
                    client.disk_write_bytes = Some(USED);
                    evidence.machine.memory_pressure_share = memory;
                    evidence.machine.io_pressure_share = io;
                })
                .verdict
            };
            assert_eq!(with(Some(0.005), Some(0.005)), Verdict::Valid);
            assert_eq!(with(Some(0.01), Some(0.0)), Verdict::NotChecked);
            assert_eq!(with(Some(0.0), Some(0.2)), Verdict::NotChecked);
            assert_eq!(with(None, Some(0.0)), Verdict::NotChecked);
            assert_eq!(with(Some(0.0), None), Verdict::NotChecked);
        }
    }

    #[test]
    fn without_a_group_disks_that_nobody_used_are_nothing_to_wait_for() {
        let io_uring_waits = |evidence: &mut Evidence, _: &mut ClientUse| {
            evidence.machine.io_pressure_share = Some(0.2);
        };
        assert_eq!(with(None, None, io_uring_waits).verdict, Verdict::Valid);
    }

    #[test]
    fn what_cannot_be_told_says_why_and_how_it_could() {
        let read_by_contender = |evidence: &mut Evidence, _: &mut ClientUse| {
            evidence.server.disk_read_bytes = Some(USED);
            evidence.machine.io_pressure_share = Some(0.2);
        };
        let word = with(None, None, read_by_contender);
        assert!(word.says.contains("io_uring") && word.says.contains("the contender"), "{word:?}");
        assert!(word.fix.contains("systemd-run --user --scope -p Delegate=yes"), "{word:?}");
        let of_version_1 = with(Some(Cgroup::default()), None, read_by_contender);
        assert_eq!(of_version_1.verdict, Verdict::NotChecked);
        assert_eq!(of_version_1.fix, "", "it has a group that tells nothing");
        let of_no_kernel = with(None, None, |evidence, _| {
            evidence.machine.memory_pressure_share = None;
        });
        assert_eq!(of_no_kernel.verdict, Verdict::NotChecked);
        assert_eq!(of_no_kernel.fix, "", "no group would tell either");
    }
}
