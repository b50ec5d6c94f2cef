//! Machine code that a process made itself, where no thread's name tells of it.
//!
//! A compiler within a process needs no thread of its own: Erlang's runs on whichever
//! scheduler loads a module, V8's on threads that do other things too. But what it
//! makes has to lie in executable memory that comes from no file, and that a program
//! compiled beforehand has none of. It is taken in blocks of up to some MiB, of which
//! the kernel gives a page when code is first written there: so pages are counted, and
//! not blocks.
//!
//! Such memory is private to the process: writable all the time (V8 in Node.js 20 on
//! Linux, PCRE in nginx), or for as long as code is written (LuaJIT, V8 with
//! `--write-protect-code-memory`), which is too short for a reading to miss much. Or it
//! is a shared block, mapped once to write and once to execute, as Erlang's where the
//! kernel lets it (`pick_allocator` in `erts/emulator/beam/jit/beam_jit_main.cpp` of
//! OTP). There pages count on the side that is written: the other side's come as code
//! is executed, however old it is.
//!
//! Code in the place of other code that was thrown away takes no new page, and isn't
//! seen.

use std::collections::BTreeMap;
use std::io::Read;

use procfs::FromBufRead;
use procfs::process::{
    MMPermissions, MMapPath, MemoryMap, MemoryMaps, MemoryPageFlags, PageInfo, PageMap, Process,
};

/// An Erlang VM with all of its library has some tens of MiB. To look at more than
/// this would take from what is measured.
const BYTES_MAX: u64 = 512 << 20;
/// The kernel's own limit of 65,530 mappings (`vm.max_map_count`), by about 100 bytes each.
const TEXT_BYTES_MAX: u64 = 8 << 20;

/// How much of it these processes have together, to the page. `None` where the kernel
/// doesn't tell of one of them, or it is too much to be counted.
pub(super) fn bytes_of_all(mut pids: impl Iterator<Item = i32>) -> Option<u64> {
    let first = bytes(pids.next()?)?;
    pids.try_fold(first, |sum, pid| Some(sum + bytes(pid)?))
}

/// How much of it there is: 0 for a program without a compiler in it, and for an
/// emulator that interprets.
fn bytes(pid: i32) -> Option<u64> {
    let process = Process::new(pid).ok()?;
    let code = code_in(&mappings(&process)?);
    if code.iter().copied().map(size).sum::<u64>() > BYTES_MAX {
        return None;
    }
    if code.is_empty() {
        return Some(0);
    }
    let mut pages = process.pagemap().ok()?;
    code.into_iter().map(|addresses| with_memory(&mut pages, addresses)).sum()
}

/// `None` where there are more than can be read while something is measured.
fn mappings(process: &Process) -> Option<MemoryMaps> {
    let mut text = Vec::new();
    let file = process.open_relative("maps").ok()?;
    file.take(TEXT_BYTES_MAX + 1).read_to_end(&mut text).ok()?;
    if text.len() as u64 > TEXT_BYTES_MAX {
        return None;
    }
    MemoryMaps::from_buf_read(&*text).ok()
}

/// The addresses of what holds code that a process made, on the side where it is written
/// if it has two. Libraries are mapped privately, and from files.
fn code_in(maps: &MemoryMaps) -> Vec<(u64, u64)> {
    let twins = Twins::of(maps);
    let holds_code = |map: &&MemoryMap| match (is_shared(map), may(map, MMPermissions::EXECUTE)) {
        (false, is_executed) => is_executed && is_anonymous(&map.pathname),
        (true, true) => may(map, MMPermissions::WRITE) || !twins.is_written(map),
        (true, false) => may(map, MMPermissions::WRITE) && twins.is_executed(map),
    };
    maps.0.iter().filter(holds_code).map(|map| map.address).collect()
}

/// A block: what is mapped of it is one memory, wherever.
type Block = ((i32, i32), u64);

/// The parts of blocks that are mapped to write, and those to execute. A process may have
/// tens of thousands of mappings, so none is held against each other. Blocks of one file may
/// hold data in one part and code in another, as PHP's do.
#[derive(Default)]
struct Twins {
    written: BTreeMap<Block, Parts>,
    executed: BTreeMap<Block, Parts>,
}

impl Twins {
    fn of(maps: &MemoryMaps) -> Twins {
        let mut twins = Twins::default();
        for map in maps.0.iter().filter(|map| is_shared(map)) {
            let block = (map.dev, map.inode);
            let part = (map.offset, map.offset.saturating_add(size(map.address)));
            if may(map, MMPermissions::WRITE) {
                twins.written.entry(block).or_default().0.push(part);
            }
            if may(map, MMPermissions::EXECUTE) {
                twins.executed.entry(block).or_default().0.push(part);
            }
        }
        twins.written.values_mut().chain(twins.executed.values_mut()).for_each(Parts::join);
        twins
    }

    fn is_written(&self, map: &MemoryMap) -> bool {
        self.written.get(&(map.dev, map.inode)).is_some_and(|parts| parts.meet(map))
    }

    fn is_executed(&self, map: &MemoryMap) -> bool {
        self.executed.get(&(map.dev, map.inode)).is_some_and(|parts| parts.meet(map))
    }
}

/// Parts of a block: from where to where.
#[derive(Default)]
struct Parts(Vec<(u64, u64)>);

impl Parts {
    /// Sorts them, and makes one of those that overlap.
    fn join(&mut self) {
        self.0.sort_unstable();
        self.0.dedup_by(|next, last| {
            let is_beside = next.0 <= last.1;
            if is_beside {
                last.1 = last.1.max(next.1);
            }
            is_beside
        });
    }

    fn meet(&self, map: &MemoryMap) -> bool {
        let end = map.offset.saturating_add(size(map.address));
        let first_beyond = self.0.partition_point(|part| part.1 <= map.offset);
        self.0.get(first_beyond).is_some_and(|part| part.0 < end)
    }
}

/// Whether memory comes from no file. A program may give it a name, as Ruby does with the
/// code of its compiler (prctl(2), `PR_SET_VMA_ANON_NAME`).
fn is_anonymous(path: &MMapPath) -> bool {
    match path {
        MMapPath::Anonymous => true,
        MMapPath::Other(name) => name.starts_with("anon:"),
        _ => false,
    }
}

fn may(map: &MemoryMap, permission: MMPermissions) -> bool {
    map.perms.contains(permission)
}

fn is_shared(map: &MemoryMap) -> bool {
    may(map, MMPermissions::SHARED)
}

fn size((from, to): (u64, u64)) -> u64 {
    to - from
}

/// Bytes of the pages within these addresses that have memory, or had it and are
/// in swap.
fn with_memory(pages: &mut PageMap, (from, to): (u64, u64)) -> Option<u64> {
    let size = procfs::page_size();
    let range = (from / size) as usize..(to / size) as usize;
    let has_memory = |page: &&PageInfo| match page {
        PageInfo::MemoryPage(flags) => flags.contains(MemoryPageFlags::PRESENT),
        PageInfo::SwapPage(_) => true,
    };
    Some(pages.get_range_info(range).ok()?.iter().filter(has_memory).count() as u64 * size)
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::process::{Command, Stdio};

    use super::super::own_cpu_s;
    use super::*;

    /// For each line it gets: what the line says, evaluated, and the line `done`.
    const EVALUATES_LINES: &str = "
        F = fun Loop() ->
            case io:get_line([]) of
                eof -> halt();
                Line ->
                    {ok, Tokens, _} = erl_scan:string(Line),
                    {ok, Expressions} = erl_parse:parse_exprs(Tokens),
                    {value, _, _} = erl_eval:exprs(Expressions, []),
                    io:put_chars(\"done\\n\"),
                    Loop()
            end
        end, F().";

    #[test]
    fn a_module_that_is_loaded_shows_and_code_that_only_runs_does_not() {
        let erl = Command::new("erl")
            .args(["-noshell", "-eval", EVALUATES_LINES])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let Ok(mut erl) = erl else { return crate::skipped::skipped("there is no erl") };
        let mut said = BufReader::new(erl.stdout.take().unwrap()).lines();
        let mut stdin = erl.stdin.take().unwrap();
        let mut after = |line: &str| {
            writeln!(stdin, "{line}").unwrap();
            assert_eq!(said.next().unwrap().unwrap(), "done", "{line}");
            bytes(erl.id() as i32)
        };
        let runs = "lists:sum([X * X || X <- lists:seq(1, 300000)]).";
        after(runs);
        let before = after(runs).expect("the kernel tells of pages");
        let ran = after(runs).unwrap();
        let loaded = after("code:ensure_loaded(erl_lint), code:ensure_loaded(v3_core).").unwrap();
        drop(stdin);
        erl.wait().unwrap();
        if before == 0 {
            return crate::skipped::skipped("this emulator interprets");
        }
        assert_eq!(ran, before, "running took pages for code");
        assert!(loaded > ran, "two modules were compiled, and no page has their code");
    }

    /// Mappings as `/proc/PID/maps` has them.
    fn read(maps: &str) -> MemoryMaps {
        // The kernel ends a line without a name with a space.
        let lines: String = maps.lines().map(|line| format!("{line} \n")).collect();
        MemoryMaps::from_buf_read(lines.as_bytes()).expect("the kernel's form")
    }

    fn code_begins(maps: &str) -> Vec<u64> {
        code_in(&read(maps)).into_iter().map(|(from, _)| from).collect()
    }

    #[test]
    fn code_lies_in_private_memory_that_comes_from_no_file_writable_or_not() {
        let maps = "\
1000-2000 r-xp 00000000 08:01 7                          /usr/bin/node
2000-3000 rw-p 00000000 00:00 0
3000-4000 rwxp 00000000 00:00 0
4000-5000 r-xp 00000000 00:00 0
5000-6000 rw-p 00000000 00:00 0                          [heap]
6000-7000 rwxp 00000000 00:00 0                          [stack]
7000-8000 r-xp 00000000 00:00 0                          [vdso]
8000-9000 r-xp 00000000 00:00 0                          [anon:Ruby:rb_yjit_reserve_addr_space]
9000-a000 rw-p 00000000 00:00 0                          [anon: glibc: malloc]
";
        assert_eq!(code_begins(maps), [0x3000, 0x4000, 0x8000]);
    }

    #[test]
    fn of_a_block_that_is_mapped_twice_the_side_counts_that_is_written() {
        let maps = "\
1000-3000 rw-s 00000000 00:01 7                          /memfd:vmem (deleted)
5000-7000 r-xs 00000000 00:01 7                          /memfd:vmem (deleted)
8000-9000 rw-s 00000000 00:01 8                          /dev/shm/data
";
        assert_eq!(code_begins(maps), [0x1000]);
    }

    #[test]
    fn data_beside_code_in_one_block_is_no_code() {
        let maps = "\
1000-3000 rw-s 00000000 00:01 7                          /dev/zero (deleted)
3000-4000 r-xs 00002000 00:01 7                          /dev/zero (deleted)
";
        assert_eq!(code_begins(maps), [0x3000]);
    }

    #[test]
    fn parts_of_a_block_that_overlap_are_found_wherever_they_begin() {
        let maps = "\
1000-9000 rw-s 00000000 00:01 7                          /memfd:vmem (deleted)
9000-a000 rw-s 00001000 00:01 7                          /memfd:vmem (deleted)
b000-c000 r-xs 00006000 00:01 7                          /memfd:vmem (deleted)
c000-d000 r-xs 00008000 00:01 7                          /memfd:vmem (deleted)
d000-e000 rw-s 00007000 00:01 7                          /memfd:vmem (deleted)
";
        assert_eq!(code_begins(maps), [0x1000, 0xc000], "0x6000 to 0x7000 is written at 0x1000");
    }

    /// A database maps each of its segments.
    #[test]
    fn eight_times_the_mappings_cost_about_eight_times_as_much() {
        let took = |count: u64| {
            let line = |at: u64| {
                let (from, offset) = (0x1000 + at * 0x2000, at * 0x1000);
                format!("{from:x}-{:x} rw-s {offset:08x} 00:01 7  /dev/shm/data\n", from + 0x1000)
            };
            let maps = read(&(0..count).map(line).collect::<String>());
            let before = own_cpu_s();
            assert!(code_in(&maps).is_empty());
            own_cpu_s() - before
        };
        let few = (0..3).map(|_| took(7_500)).fold(f64::MAX, f64::min);
        let many = took(60_000);
        assert!(many < 30.0 * few, "{few} s, then {many} s: each is held against all others");
    }

    #[test]
    fn a_process_without_code_of_its_own_making_has_none_and_one_that_is_gone_is_unknown() {
        assert_eq!(bytes(std::process::id() as i32), Some(0), "libraries come from files");
        assert_eq!(bytes(i32::MAX), None);
        let own = std::process::id() as i32;
        assert_eq!(bytes_of_all([own, own].into_iter()), Some(0));
        assert_eq!(bytes_of_all([own, i32::MAX].into_iter()), None, "half of it is not all");
        assert_eq!(bytes_of_all(std::iter::empty()), None);
    }
}
