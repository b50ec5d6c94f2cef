//! Who is given which processors: a function of the machine's description and nothing else.
//!
//! - Both are placed on cores of one NUMA node and one speed: those that have at least four,
//!   the fastest of these.
//! - From six such cores on, the one of processor 0 is left alone, where interrupts and the
//!   kernel's own work are.
//! - Under a CPU quota both together get no more processors than it pays for.
//! - Siblings stay together: a physical core is the contender's, the client's, or nobody's.

use std::cmp::Reverse;

use result::evidence::Place;
use result::plan::{Cores, Machine};

/// From so many cores on, contender and client each have some alone.
const APART: usize = 4;
/// From so many on, the first is left alone: what is left does as well as a machine of five.
const FIRST_IS_LEFT: usize = 6;
/// A client of one core's server needs no more cores than this. The rest is for others, so
/// that they needn't come here.
const CLIENT_OF_ONE: usize = 3;

/// A place, and a core that is kept for a second client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Placing {
    pub place: Place,
    /// Processors of that core; none where no core is left.
    pub spare: Vec<usize>,
}

/// Places contender and client.
pub(super) fn placing(machine: &Machine, cores: Cores) -> Placing {
    let usable = usable(machine);
    let all = usable.concat();
    let (server_cpus, client_cpus, spare) = match (cores, &usable[..]) {
        (Cores::One, [first, others @ .., last]) if !others.is_empty() => {
            let (client, further) = others.split_at(others.len().min(CLIENT_OF_ONE));
            let spare = further.first().unwrap_or(last);
            (first[..1].to_vec(), client.concat(), spare.clone())
        }
        (Cores::One, [first, other]) => (first[..1].to_vec(), other.clone(), Vec::new()),
        (Cores::One, _) => (all[..1].to_vec(), all, Vec::new()),
        (Cores::All, cores) if cores.len() >= APART => {
            let (server, client) = cores.split_at(cores.len() / 2);
            match client {
                [client @ .., last] if cores.len() > APART => {
                    (server.concat(), client.concat(), last.clone())
                }
                _ => (server.concat(), client.concat(), Vec::new()),
            }
        }
        (Cores::All, _) => (all.clone(), all, Vec::new()),
    };
    let place = Place { server_cpus, client_cpus, cores: machine.smt_siblings.clone() };
    Placing { place, spare }
}

/// The contender's processors where the load comes from other hosts, and those that are left to
/// who hears them: one core, where there is another.
pub(super) fn beside_a_hub(machine: &Machine, cores: Cores) -> (Vec<usize>, Vec<usize>) {
    let usable = usable(machine);
    match (&usable[..], cores) {
        ([hub, server, ..], Cores::One) => (server[..1].to_vec(), hub.clone()),
        ([hub, server @ ..], Cores::All) if !server.is_empty() => (server.concat(), hub.clone()),
        _ => (usable.concat(), usable.concat()),
    }
}

/// The physical cores that both are placed on, each with its processors; one at least.
pub(super) fn usable(machine: &Machine) -> Vec<Vec<usize>> {
    let mut cores = alike(machine);
    let first = cores.iter().position(|core| core.contains(&0));
    if let Some(first) = first.filter(|_| cores.len() >= FIRST_IS_LEFT) {
        cores.remove(first);
    }
    let quota = machine.cpu_quota_cores.map_or(usize::MAX, |quota| quota.max(1.0) as usize);
    if quota < cores.concat().len() {
        // One processor of a core does more than half of what all its siblings do.
        cores.truncate(quota);
        cores.iter_mut().for_each(|core| core.truncate(1));
    }
    if cores.is_empty() { vec![vec![0]] } else { cores }
}

/// The cores of one node and one speed that suit best.
fn alike(machine: &Machine) -> Vec<Vec<usize>> {
    let cores = machine.cores();
    let of = |groups: &[Vec<usize>]| {
        if groups.is_empty() { vec![cores.concat()] } else { groups.to_vec() }
    };
    let nodes = of(&machine.numa_nodes);
    let speeds = of(&machine.speeds);
    let groups = speeds.iter().enumerate().flat_map(|(rank, speed)| {
        let cores = &cores;
        nodes.iter().map(move |node| {
            let is_in = |cpu: &usize| node.contains(cpu) && speed.contains(cpu);
            (rank, cores.iter().filter(|core| core.iter().all(is_in)).cloned().collect())
        })
    });
    let suits = |(speed, group): &(usize, Vec<Vec<usize>>)| {
        let has_enough = group.len() >= APART;
        (Reverse(has_enough), if has_enough { *speed } else { 0 }, Reverse(group.len()))
    };
    // Of those that suit as well, the first has the faster cores, or the node of lower number.
    groups.min_by_key(suits).map(|(_, group)| group).filter(|it| !it.is_empty()).unwrap_or(cores)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// A machine of cores that are all alike.
    fn machine(cores: impl IntoIterator<Item = Vec<usize>>) -> Machine {
        let smt_siblings: Vec<Vec<usize>> = cores.into_iter().collect();
        let mut cpus = smt_siblings.concat();
        cpus.sort_unstable();
        Machine { cpus, smt_siblings, ..Machine::default() }
    }

    /// Cores of one processor each.
    fn single(count: usize) -> Machine {
        machine((0..count).map(|cpu| vec![cpu]))
    }

    /// Cores of two processors each, numbered as Linux does: all first ones, then the second.
    fn with_siblings(cores: usize) -> Machine {
        machine((0..cores).map(|core| vec![core, core + cores]))
    }

    /// On one core and on all: what is told, and the core kept for a second client.
    fn told(machine: &Machine) -> String {
        let one_way = |cores| {
            let Placing { place, spare } = placing(machine, cores);
            let spare = if spare.is_empty() {
                "none".into()
            } else {
                format!("CPU {}", result::evidence::cpu_list(&spare))
            };
            format!("{}; kept for a second client: {spare}", place.in_words(machine))
        };
        format!("one: {}\nall: {}", one_way(Cores::One), one_way(Cores::All))
    }

    /// Else a contender would share its core with the process that hears the hosts.
    #[test]
    fn where_load_comes_from_hosts_one_core_is_left_to_who_hears_them() {
        let of = |cores: &[&[usize]], which| {
            let smt_siblings: Vec<Vec<usize>> = cores.iter().map(|core| core.to_vec()).collect();
            let machine = Machine { cpus: cores.concat(), smt_siblings, ..Machine::default() };
            beside_a_hub(&machine, which)
        };
        let four: [&[usize]; 4] = [&[0, 4], &[1, 5], &[2, 6], &[3, 7]];
        assert_eq!(of(&four, Cores::All), (vec![1, 5, 2, 6, 3, 7], vec![0, 4]));
        assert_eq!(of(&four, Cores::One), (vec![1], vec![0, 4]));
        assert_eq!(of(&four[..1], Cores::All), (vec![0, 4], vec![0, 4]));
    }

    #[test]
    fn one_processor_is_shared_and_said_so() {
        insta::assert_snapshot!(told(&single(1)), @r"
        one: contender and client share CPU 0; kept for a second client: none
        all: contender and client share CPU 0; kept for a second client: none
        ");
    }

    #[test]
    fn two_processors_are_shared_under_all_cores_only() {
        insta::assert_snapshot!(told(&single(2)), @r"
        one: contender on CPU 0, client on CPU 1; kept for a second client: none
        all: contender and client share CPU 0-1; kept for a second client: none
        ");
    }

    #[test]
    fn three_cores_have_one_for_a_second_client_beside_a_server_of_one() {
        insta::assert_snapshot!(told(&single(3)), @r"
        one: contender on CPU 0, client on CPU 1, CPU 2 left to others; kept for a second client: CPU 2
        all: contender and client share CPU 0-2; kept for a second client: none
        ");
    }

    #[test]
    fn four_cores_are_divided() {
        insta::assert_snapshot!(told(&single(4)), @r"
        one: contender on CPU 0, client on CPU 1-2, CPU 3 left to others; kept for a second client: CPU 3
        all: contender on CPU 0-1, client on CPU 2-3; kept for a second client: none
        ");
    }

    #[test]
    fn of_four_processors_on_two_cores_no_core_is_divided() {
        insta::assert_snapshot!(told(&with_siblings(2)), @r"
        one: contender on CPU 0, client on CPU 1,3; kept for a second client: none
        all: contender and client share CPU 0-3; kept for a second client: none
        ");
    }

    #[test]
    fn five_cores_have_one_for_a_second_client_in_both_ways() {
        insta::assert_snapshot!(told(&single(5)), @r"
        one: contender on CPU 0, client on CPU 1-3, CPU 4 left to others; kept for a second client: CPU 4
        all: contender on CPU 0-1, client on CPU 2-3, CPU 4 left to others; kept for a second client: CPU 4
        ");
    }

    #[test]
    fn of_eight_cores_the_first_is_left_to_interrupts() {
        insta::assert_snapshot!(told(&single(8)), @r"
        one: contender on CPU 1, client on CPU 2-4, CPU 0,5-7 left to others; kept for a second client: CPU 5
        all: contender on CPU 1-3, client on CPU 4-6, CPU 0,7 left to others; kept for a second client: CPU 7
        ");
    }

    #[test]
    fn of_sixteen_processors_with_siblings_a_client_of_one_core_leaves_three_cores() {
        insta::assert_snapshot!(told(&with_siblings(8)), @r"
        one: contender on CPU 1, client on CPU 2-4,10-12, CPU 0,5-8,13-15 left to others; kept for a second client: CPU 5,13
        all: contender on CPU 1-3,9-11, client on CPU 4-6,12-14, CPU 0,7-8,15 left to others; kept for a second client: CPU 7,15
        ");
    }

    #[test]
    fn of_two_nodes_one_is_left_alone() {
        let mut machine = with_siblings(64);
        machine.numa_nodes = [0..32, 32..64]
            .map(|cores| cores.clone().chain(cores.map(|core| core + 64)).collect())
            .into();
        insta::assert_snapshot!(told(&machine), @r"
        one: contender on CPU 1, client on CPU 2-4,66-68, CPU 0,5-64,69-127 left to others; kept for a second client: CPU 5,69
        all: contender on CPU 1-15,65-79, client on CPU 16-30,80-94, CPU 0,31-64,95-127 left to others; kept for a second client: CPU 31,95
        ");
    }

    #[test]
    fn of_six_fast_and_eight_slow_cores_only_the_fast_are_used() {
        let fast = (0..6).map(|core| vec![2 * core, 2 * core + 1]);
        let mut machine = machine(fast.chain((12..20).map(|cpu| vec![cpu])));
        machine.speeds = vec![(0..12).collect(), (12..20).collect()];
        insta::assert_snapshot!(told(&machine), @r"
        one: contender on CPU 2, client on CPU 4-9, CPU 0-1,10-19 left to others; kept for a second client: CPU 10-11
        all: contender on CPU 2-5, client on CPU 6-9, CPU 0-1,10-19 left to others; kept for a second client: CPU 10-11
        ");
    }

    /// Else contender and client would share the two fast ones.
    #[test]
    fn of_two_fast_and_eight_slow_cores_the_slow_are_used() {
        let fast = (0..2).map(|core| vec![2 * core, 2 * core + 1]);
        let mut machine = machine(fast.chain((4..12).map(|cpu| vec![cpu])));
        machine.speeds = vec![(0..4).collect(), (4..12).collect()];
        insta::assert_snapshot!(told(&machine), @r"
        one: contender on CPU 4, client on CPU 5-7, CPU 0-3,8-11 left to others; kept for a second client: CPU 8
        all: contender on CPU 4-7, client on CPU 8-10, CPU 0-3,11 left to others; kept for a second client: CPU 11
        ");
    }

    #[test]
    fn a_container_uses_the_processors_that_it_has() {
        let part = machine([vec![3, 11], vec![4], vec![5, 13], vec![6, 14], vec![7, 15]]);
        insta::assert_snapshot!(told(&part), @r"
        one: contender on CPU 3, client on CPU 4-6,13-14, CPU 7,15 left to others; kept for a second client: CPU 7,15
        all: contender on CPU 3-4,11, client on CPU 5-6,13-14, CPU 7,15 left to others; kept for a second client: CPU 7,15
        ");
    }

    #[test]
    fn a_quota_pays_for_all_that_is_given() {
        let with_quota = |quota| Machine { cpu_quota_cores: Some(quota), ..with_siblings(8) };
        insta::assert_snapshot!(told(&with_quota(5.5)), @r"
        one: contender on CPU 1, client on CPU 2-4, CPU 0,5-8,13-15 left to others; kept for a second client: CPU 5
        all: contender on CPU 1-2, client on CPU 3-4, CPU 0,5-8,13-15 left to others; kept for a second client: CPU 5
        ");
        insta::assert_snapshot!(told(&with_quota(2.0)), @r"
        one: contender on CPU 1, client on CPU 2, CPU 0,3-8,11-15 left to others; kept for a second client: none
        all: contender and client share CPU 1-2, CPU 0,3-8,11-15 left to others; kept for a second client: none
        ");
        insta::assert_snapshot!(told(&with_quota(0.5)), @r"
        one: contender and client share CPU 1, CPU 0,2-8,10-15 left to others; kept for a second client: none
        all: contender and client share CPU 1, CPU 0,2-8,10-15 left to others; kept for a second client: none
        ");
        assert_eq!(told(&with_quota(16.0)), told(&with_siblings(8)), "it limits nothing");
    }

    #[test]
    fn cores_that_arent_told_are_used_and_not_said_to_be_known() {
        let untold = Machine { smt_siblings: Vec::new(), ..single(2) };
        let place = placing(&untold, Cores::One).place;
        assert_eq!((place.server_cpus, place.client_cpus), (vec![0], vec![1]));
        assert!(place.cores.is_empty(), "what nobody knows would be judged");
    }

    /// Machines of one or two nodes, whose cores have one or two processors and one of two
    /// speeds; a run may use some of the processors.
    fn any_machine() -> impl Strategy<Value = Machine> {
        let core = (any::<bool>(), any::<bool>(), any::<bool>());
        let quota = prop::option::of(0.3..40.0_f64);
        let cores = prop::collection::vec(core, 1..40);
        (cores, prop::collection::vec(any::<bool>(), 80), quota).prop_map(
            |(cores, allowed, cpu_quota_cores)| {
                let mut machine = Machine { cpu_quota_cores, ..Machine::default() };
                let mut groups = [const { Vec::new() }; 4];
                for (number, (is_pair, is_slow, is_far)) in cores.iter().enumerate() {
                    let core = [2 * number, 2 * number + 1];
                    let core = core[..1 + usize::from(*is_pair)].iter().copied();
                    let core: Vec<usize> = core.filter(|&cpu| cpu == 0 || allowed[cpu]).collect();
                    groups[usize::from(*is_slow)].extend(&core);
                    groups[2 + usize::from(*is_far)].extend(&core);
                    machine.cpus.extend(&core);
                    machine.smt_siblings.extend((!core.is_empty()).then_some(core));
                }
                let [fast, slow, near, far] = groups;
                let there = |groups: [Vec<usize>; 2]| {
                    groups.into_iter().filter(|group| !group.is_empty()).collect()
                };
                (machine.speeds, machine.numa_nodes) = (there([fast, slow]), there([near, far]));
                machine
            },
        )
    }

    fn are_in_one(groups: &[Vec<usize>], cpus: &BTreeSet<usize>) -> bool {
        groups.iter().any(|group| cpus.iter().all(|cpu| group.contains(cpu)))
    }

    proptest! {
        #[test]
        fn on_any_machine_a_place_is_fair(machine in any_machine(), is_one in any::<bool>()) {
            let cores = if is_one { Cores::One } else { Cores::All };
            let Placing { place, spare } = placing(&machine, cores);
            let mut cpus = place.cpus();
            cpus.extend(&spare);
            prop_assert!(!place.server_cpus.is_empty() && !place.client_cpus.is_empty());
            prop_assert!(cpus.iter().all(|cpu| machine.cpus.contains(cpu)), "not allowed");
            prop_assert!(are_in_one(&machine.numa_nodes, &cpus), "on two nodes: {cpus:?}");
            prop_assert!(are_in_one(&machine.speeds, &cpus), "of two speeds: {cpus:?}");
            if let Some(quota) = machine.cpu_quota_cores {
                prop_assert!(cpus.len() as f64 <= quota.max(1.0), "{quota} pays not for {cpus:?}");
            }
            let usable = usable(&machine).len();
            prop_assert_eq!(place.shared(), usable < if is_one { 2 } else { APART });
            let of_each = [&place.server_cpus, &place.client_cpus, &spare];
            let users = |core: &&Vec<usize>| {
                of_each.iter().filter(|own| own.iter().any(|cpu| core.contains(cpu))).count()
            };
            let is_divided = |core: &Vec<usize>| users(&core) > 1;
            prop_assert_eq!(
                machine.smt_siblings.iter().any(is_divided),
                place.shared(),
                "a core is divided"
            );
        }
    }
}
