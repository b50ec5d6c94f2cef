//! bakeoff's commands as their users meet them.
//!
//! - [`bad_input`], [`absent`], [`failing`], [`without_room`]: whatever is wrong with what somebody
//!   wrote, with contenders that can't be had or that fail, and with the machine;
//! - [`check`], [`compare`], [`doctor`], [`durability`], [`mistakes`], [`new`], [`report`],
//!   [`run`]: the command of that name;
//! - [`contenders`]: those that are in the tree, checked;
//! - [`from_hosts`]: the load of a study from several hosts;
//! - [`liars`]: servers, programs and stores that lie, beside what is said to find them out;
//! - [`rooms`]: studies of gateways;
//! - [`own_servers`]: requests with headers and bodies, and secrets, in `duel` and `study.toml`;
//! - [`pages`]: the pages that a newcomer goes through, gone through;
//! - [`rust_alone`]: on a machine with nothing but Rust;
//! - [`fixture`]: a folder with a small study; [`runs`]: runs that nobody has to make.
//!
//! One program, so that tests which wait for a server run beside those which don't.

mod absent;
mod at_home;
mod bad_input;
mod check;
mod compare;
mod contenders;
mod doctor;
mod duel;
mod durability;
mod failing;
#[path = "../fixture/mod.rs"]
mod fixture;
mod from_hosts;
mod liars;
mod mistakes;
mod new;
mod own_servers;
mod pages;
mod programs;
mod report;
mod rooms;
mod run;
#[path = "../../../report/tests/fixture/mod.rs"]
mod runs;
mod rust_alone;
mod stores;
mod without_room;
