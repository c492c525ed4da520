//! The script that whoever has a Mac is asked to run, on the stand-in: a report must be worth what it costs to get.

use std::process::{Command, Stdio};

use oam_tests::oam_binary;

/// Runs `scripts/check-macos`. Returns what it said, its report, and whether all checks passed.
fn check(oam: &str, settings: &str) -> (String, String, bool) {
    let checkout = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let report = tempfile::NamedTempFile::new().unwrap();
    let output = Command::new("scripts/check-macos")
        .current_dir(checkout)
        .args(["--soak", "2", "--report"])
        .arg(report.path())
        .env("OAM_BIN", oam)
        .env("OAM_WORKER", std::env::var("OAM_SWIFT_WORKER").unwrap())
        .env("OAM_WORKER_STANDIN", settings)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let written = std::fs::read_to_string(&report).unwrap();
    (String::from_utf8(output.stdout).unwrap(), written, output.status.success())
}

#[test]
#[ignore = "needs OAM_SWIFT_WORKER"]
fn a_report_has_every_point_and_every_check() {
    let (said, report, passed) = check(oam_binary().to_str().unwrap(), "{}");
    assert!(passed, "{said}");
    for point in 0..=10 {
        assert!(report.contains(&format!("{point}. ")), "point {point} is missing: {report}");
    }
    assert_eq!(report.lines().filter(|line| line.starts_with("ok    ")).count(), 16, "{report}");
    assert!(report.ends_with("0 checks failed.\n"), "{report}");
    assert!(said.starts_with(&report), "all of the report is shown: {said}");
}

#[test]
#[ignore = "needs OAM_SWIFT_WORKER"]
fn without_the_model_it_tells_what_to_do_and_stops_asking() {
    let (_, report, passed) =
        check(oam_binary().to_str().unwrap(), r#"{"availability": "appleIntelligenceNotEnabled"}"#);
    assert!(!passed);
    assert!(
        report.contains("FAIL  the model is available\n      In the System Settings, switch on"),
        "{report}"
    );
    assert!(report.ends_with("1 checks failed.\n"), "{report}");
}

#[test]
#[ignore = "needs OAM_SWIFT_WORKER"]
fn a_program_that_does_not_start_is_a_finding() {
    let (_, report, passed) = check("/bin/false", "[]");
    assert!(!passed);
    assert!(report.contains("FAIL  oam answers\n"), "{report}");
    assert!(report.ends_with("1 checks failed.\n"), "{report}");
}
