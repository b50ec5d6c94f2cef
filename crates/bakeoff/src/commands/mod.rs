//! One file, or folder, a subcommand. Three serve all: `exit_codes`; `studies`, which knows
//! where they are; and `printing`, because `println!` would panic where nobody reads on. `request`
//! has the options that `load` and `duel` share.

pub mod about;
pub mod check;
pub mod compare;
pub mod doctor;
pub mod duel;
pub mod durability;
mod exit_codes;
pub mod export;
pub mod hosts;
pub mod load;
pub mod mistakes;
pub mod new;
mod printing;
pub mod report;
mod request;
pub mod run;
mod studies;
