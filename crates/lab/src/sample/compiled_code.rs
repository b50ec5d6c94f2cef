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

use procfs::process::{
    MMPermissions, MMapPath, MemoryMap, MemoryPageFlags, PageInfo, PageMap, Process,
};

/// An Erlang VM with all of its library has some tens of MiB. To look at more than
/// this would take from what is measured.
const BYTES_MAX: u64 = 512 << 20;

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
    let maps = process.maps().ok()?.0;
    let code: Vec<_> = maps.iter().filter(|map| holds_code(map, &maps)).collect();
    if code.iter().map(|map| size(map)).sum::<u64>() > BYTES_MAX {
        return None;
    }
    if code.is_empty() {
        return Some(0);
    }
    let mut pages = process.pagemap().ok()?;
    code.into_iter().map(|map| with_memory(&mut pages, map.address)).sum()
}

/// Whether this is where a process keeps code that it made, on the side where it is
/// written if it has two. Libraries are mapped privately, and from files.
fn holds_code(map: &MemoryMap, all: &[MemoryMap]) -> bool {
    let has_twin = |permission| {
        let is_twin = |it: &&MemoryMap| is_shared(it) && may(it, permission) && is_same(it, map);
        all.iter().any(|it| is_twin(&it))
    };
    match (is_shared(map), may(map, MMPermissions::EXECUTE)) {
        (false, is_executed) => is_executed && is_anonymous(&map.pathname),
        (true, true) => may(map, MMPermissions::WRITE) || !has_twin(MMPermissions::WRITE),
        (true, false) => may(map, MMPermissions::WRITE) && has_twin(MMPermissions::EXECUTE),
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

/// Whether two mappings have memory in common. Blocks of one file may hold data in one
/// part and code in another, as PHP's do.
fn is_same(one: &MemoryMap, other: &MemoryMap) -> bool {
    (one.dev, one.inode) == (other.dev, other.inode)
        && one.offset < other.offset + size(other)
        && other.offset < one.offset + size(one)
}

fn size(map: &MemoryMap) -> u64 {
    map.address.1 - map.address.0
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

    use procfs::FromBufRead;
    use procfs::process::MemoryMaps;

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

    /// The addresses, of mappings as `/proc/PID/maps` has them, that hold code of the
    /// process's own making.
    fn code_in(maps: &str) -> Vec<u64> {
        // The kernel ends a line without a name with a space.
        let lines: String = maps.lines().map(|line| format!("{line} \n")).collect();
        let maps = MemoryMaps::from_buf_read(lines.as_bytes()).expect("the kernel's form").0;
        maps.iter().filter(|map| holds_code(map, &maps)).map(|map| map.address.0).collect()
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
        assert_eq!(code_in(maps), [0x3000, 0x4000, 0x8000]);
    }

    #[test]
    fn of_a_block_that_is_mapped_twice_the_side_counts_that_is_written() {
        let maps = "\
1000-3000 rw-s 00000000 00:01 7                          /memfd:vmem (deleted)
5000-7000 r-xs 00000000 00:01 7                          /memfd:vmem (deleted)
8000-9000 rw-s 00000000 00:01 8                          /dev/shm/data
";
        assert_eq!(code_in(maps), [0x1000]);
    }

    #[test]
    fn data_beside_code_in_one_block_is_no_code() {
        let maps = "\
1000-3000 rw-s 00000000 00:01 7                          /dev/zero (deleted)
3000-4000 r-xs 00002000 00:01 7                          /dev/zero (deleted)
";
        assert_eq!(code_in(maps), [0x3000]);
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
