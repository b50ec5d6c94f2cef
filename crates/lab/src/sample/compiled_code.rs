//! Machine code that a process made itself, where no thread's name tells of it.
//!
//! Erlang's compiler has no thread of its own: whichever scheduler loads a module
//! compiles it. But what it makes has to lie in executable memory that comes from
//! no file. The VM takes that in blocks of some MiB, of which the kernel gives it
//! a page when code is first written there: so pages are counted, and not blocks.
//!
//! It maps a block twice where the kernel lets it, once to write and once to
//! execute (`pick_allocator` in `erts/emulator/beam/jit/beam_jit_main.cpp` of
//! OTP). Pages count on the side that is written: the other side's come as code is
//! executed, however old it is.
//!
//! Code in the place of other code that was unloaded takes no new page, and isn't
//! seen.

use std::collections::HashSet;

use procfs::process::{
    MMPermissions, MMapPath, MemoryMap, MemoryPageFlags, PageInfo, PageMap, Process,
};

/// An Erlang VM with all of its library has some tens of MiB. To look at more than
/// this would take from what is measured.
const BYTES_MAX: u64 = 512 << 20;

/// How much of it there is, to the page: 0 for an emulator that interprets. `None`
/// where the kernel doesn't tell, or it is too much to be counted.
pub(super) fn bytes(pid: i32) -> Option<u64> {
    let process = Process::new(pid).ok()?;
    let maps = process.maps().ok()?.0;
    let executed: HashSet<_> = maps
        .iter()
        .filter(|map| is_shared(map) && may(map, MMPermissions::EXECUTE))
        .map(file)
        .collect();
    let written: Vec<_> = maps
        .iter()
        .filter(|map| may(map, MMPermissions::WRITE))
        .filter(|map| match is_shared(map) {
            true => executed.contains(&file(map)),
            false => map.pathname == MMapPath::Anonymous && may(map, MMPermissions::EXECUTE),
        })
        .map(|map| map.address)
        .collect();
    if written.iter().map(|(from, to)| to - from).sum::<u64>() > BYTES_MAX {
        return None;
    }
    let mut pages = process.pagemap().ok()?;
    written.into_iter().map(|addresses| with_memory(&mut pages, addresses)).sum()
}

fn may(map: &MemoryMap, permission: MMPermissions) -> bool {
    map.perms.contains(permission)
}

/// Libraries are mapped privately: what is shared and executed, the process made.
fn is_shared(map: &MemoryMap) -> bool {
    may(map, MMPermissions::SHARED)
}

/// What is mapped, so that two mappings of one block know each other.
fn file(map: &MemoryMap) -> ((i32, i32), u64) {
    (map.dev, map.inode)
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

    #[test]
    fn a_process_without_code_of_its_own_making_has_none_and_one_that_is_gone_is_unknown() {
        assert_eq!(bytes(std::process::id() as i32), Some(0), "libraries come from files");
        assert_eq!(bytes(i32::MAX), None);
    }
}
