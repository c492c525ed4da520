//! A service that is killed again and again under load has all that it answered: a short run of what `scripts/soak --service`
//! does at length.

use std::process::Command;

use oam_tests::oam_binary;

/// The fifth life passes through a full disk, every third ends with a torn write.
const KILLS: &str = "10";

#[test]
fn what_was_answered_survives_kills_torn_writes_and_a_full_disk() {
    let mut soak = Command::new(env!("CARGO_BIN_EXE_oam-soak"));
    let output = soak.args(["--service", "--kills", KILLS]).env("OAM_BIN", oam_binary()).output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && told.contains("nothing lost or doubled"), "{told}");
}
