//! The Swift worker behind the real `oam stdio`, on the module that stands in for Apple's framework.
//!
//! `OAM_SWIFT_WORKER` names the worker. `scripts/test` builds it and runs these tests where there is Swift; everywhere
//! else all but the first are ignored. How the worker plays its steps is tested in Swift; here is what comes of it for
//! a game, and what happens when workers die.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod check;
mod crashes;
mod ends;
mod failures;
mod images;
mod npcs;
mod turns;
mod ways;

use oam_tests::pool::{Setup, workers};
use serde_json::{Value, json};

/// One Swift worker and a spare.
fn swift() -> Setup {
    let worker = std::env::var("OAM_SWIFT_WORKER")
        .expect("OAM_SWIFT_WORKER is what scripts/build-worker-swift prints: a worker on the stand-in");
    workers().program(&[&worker])
}

/// The same with settings of the stand-in (docs/SWIFT-WORKER.md, section 5).
fn standing_in(settings: &Value) -> Setup {
    swift().environment("OAM_WORKER_STANDIN", &settings.to_string())
}

#[test]
fn the_worker_has_the_version_of_the_workspace() {
    let program = include_str!("../../../worker-swift/Sources/oam-worker-swift/Arguments.swift");
    let version = format!("static let version = \"{}\"", env!("CARGO_PKG_VERSION"));
    assert!(program.contains(&version), "Arguments.swift must say: {version}");
}

#[test]
#[ignore = "needs OAM_SWIFT_WORKER"]
fn it_says_who_it_is() {
    let mut pool = swift().flags(&["--log-level", "debug", "--no-spare"]).start();
    pool.when_ready(1);
    pool.ok("shutdown", json!({}));
    pool.wait_exit();
    let log = pool.stderr();
    assert!(log.contains("oam-worker-swift") && log.contains(env!("CARGO_PKG_VERSION")), "{log}");
}
