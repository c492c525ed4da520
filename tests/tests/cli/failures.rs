//! Command lines that cannot be read.

use crate::run::oam;

#[test]
fn a_mistake_is_told_in_the_form_that_was_asked_for() {
    let people = oam(["available", "--bogus-flag"]).ends_with(2);
    assert!(people.stderr.contains("--bogus-flag") && people.stderr.contains("Usage:"), "{people:?}");
    for flag in ["--json", "--events"] {
        let machines = oam(["nothing", flag]).ends_with(2);
        assert_eq!(machines.error().0, "usage");
        assert_eq!(machines.stdout, "");
    }
}

#[test]
fn the_version_is_a_number_and_nothing_else() {
    assert_eq!(oam(["--version"]).ends_with(0).stdout, format!("{}\n", env!("CARGO_PKG_VERSION")));
}
