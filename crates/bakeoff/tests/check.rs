//! `bakeoff check` as its users see it.

mod fixture;

use fixture::Lab;

#[test]
fn every_step_is_told_with_what_was_seen() {
    let lab = Lab::with_good();
    let said = lab.bakeoff(&["check", "s/good"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    for step in [
        "✓ answers /hello?id={nonce} with status 200 and its body: status 200, \"hello ",
        "✓ answers a pipelined pair, in order: ",
        "✓ takes a request that comes in single bytes: ",
        "✓ refuses garbage with status 400, or closes: status 400",
        "✓ says the right Date, and it advances: ",
    ] {
        assert!(said.stdout.contains(step), "{step}\n{}", said.stdout);
    }
    lab.assert_nothing_is_left();
}

#[test]
fn a_broken_step_is_told_with_what_is_wrong() {
    let lab = Lab::with_good();
    lab.change_study("fresh = false", "fresh = true");
    let said = lab.bakeoff(&["check", "s/good"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.stdout.contains("✗ makes a part of every answer anew"), "{}", said.stdout);
    said.assert_complains(&["good breaks the contract in 1 of 9 steps"]);
    lab.assert_nothing_is_left();
}
