//! Recording what a model answers, and playing it again without the model (docs/RECORDING.md).
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::needless_pass_by_value, reason = "calls read best with a json! literal as it is")]

mod append;
mod changes;
mod command_line;
mod demo;
mod ends;
mod mix;

use std::path::Path;

use oam_tests::{Builder, Oam, oam_binary};

/// A worker that plays the scripts in instructions, and a small context to make conversations too long for.
const WORKER: &str = "worker scripted --script-position process --parallel 16 --context 1200";

/// An `oam` on a worker, which records to `file`.
fn recording(file: &Path) -> Builder {
    let program = oam_binary().display().to_string();
    let worker = format!("{} {WORKER}", shell_words::quote(&program));
    Oam::builder().arg("--no-spare").arg("--worker").arg(worker).arg("--record").arg(file)
}

/// An `oam` that replays `file`.
fn replaying(file: &Path) -> Builder {
    Oam::builder().env("OAM_SCRIPT", file)
}

/// Ends a program in good order.
fn finish(oam: &mut Oam) {
    oam.close_input();
    assert!(oam.wait_exit().success(), "{}", oam.stderr());
}
