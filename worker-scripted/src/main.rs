//! `oam-worker-scripted`: see the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    oam_worker_scripted::run(std::env::args_os())
}
