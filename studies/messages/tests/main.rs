//! Contenders of the messages study do two of its works, and what they count was received.
//! `make check-programs` has all of them do all.

use crate::fixture;

/// Those whose build takes a few seconds.
const LIGHT: [&str; 5] = ["cpp-coroutines", "erlang", "go", "node", "python"];

#[test]
fn what_contenders_count_was_received() {
    fixture::try_works("messages", &LIGHT, &["oneway-64", "ring"]);
}
