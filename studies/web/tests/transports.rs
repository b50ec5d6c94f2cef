//! A contender on Netty is named after its way to the kernel. That it goes this way is seen
//! by the files that it has open, and where it may not, it is absent and goes no other. Its build
//! takes Maven, so it is `make check-servers` that does so.

use std::fs;

use lab::study::contender::Placeholders;

use super::server::{contenders, is_built, start};
use crate::fixture::output_without_io_uring;
use crate::started::{ABSENT, Started};

const FILES: u64 = 1024;

/// What a server waits with for the kernel, by the kernel's names.
fn waits_with(server: &Started) -> Vec<String> {
    let kinds = ["anon_inode:[eventpoll]", "anon_inode:[io_uring]"];
    let folders = server.processes().into_iter().map(|pid| format!("/proc/{pid}/fd"));
    let files = folders.flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten());
    let targets =
        files.filter_map(|file| fs::read_link(file.path()).ok()?.to_str().map(str::to_string));
    let mut found: Vec<_> = targets.filter(|target| kinds.contains(&&**target)).collect();
    found.sort();
    found.dedup();
    found
}

#[test]
#[ignore = "`make check-servers` builds it"]
fn a_server_on_netty_uses_the_transport_that_it_is_named_after() {
    let all = contenders();
    for (name, expected) in
        [("netty-epoll", "anon_inode:[eventpoll]"), ("netty-io-uring", "anon_inode:[io_uring]")]
    {
        if !is_built(name) {
            continue;
        }
        let contender = all.iter().find(|contender| contender.name == name).expect(name);
        // It has answered, so that its event loops are there.
        let server = start(contender, FILES);
        assert_eq!(waits_with(&server), [expected], "{name}");
    }
}

#[test]
#[ignore = "`make check-servers` builds it"]
fn netty_on_io_uring_is_absent_where_that_is_forbidden() {
    const NAME: &str = "netty-io-uring";
    if !is_built(NAME) {
        return;
    }
    let all = contenders();
    let contender = all.iter().find(|contender| contender.name == NAME).unwrap();
    let build = contender.build_folder();
    let placeholders = Placeholders { build, ..Placeholders::default() };
    // What its build ends with as well.
    let probe = placeholders.fill_all(&contender.file.versions["netty"]);
    let Some(output) = output_without_io_uring(probe) else { return };
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(ABSENT), "{said}");
    assert!(said.contains("Netty can't use io_uring on this machine: "), "{said}");
}
