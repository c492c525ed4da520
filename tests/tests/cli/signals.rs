//! Signals that reach commands at unusual moments. Those that find tools running are in `command_tools`.

use std::{
    io::Read,
    os::unix::process::ExitStatusExt,
    process::{Child, Command, Stdio},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use oam_tests::{DEADLINE, oam_binary};
use serde_json::json;
use tempfile::TempDir;
use wait_timeout::ChildExt;

/// A program in a folder with a script that answers with a megabyte.
fn start(program: &str, arguments: &[&str]) -> (Child, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script.json");
    std::fs::write(&script, json!([{"text": "word ".repeat(200_000), "chunks": 1}]).to_string()).unwrap();
    let child = Command::new(program)
        .args(arguments)
        .current_dir(folder.path())
        .env("OAM_SCRIPT", script)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    (child.unwrap(), folder)
}

fn signal(child: &Child, signal: Signal) {
    kill(Pid::from_raw(child.id().try_into().unwrap()), signal).unwrap();
}

/// The exit code, or that of a shell for a signal.
#[track_caller]
fn end(child: &mut Child) -> i32 {
    let status = child.wait_timeout(DEADLINE).unwrap();
    if status.is_none() {
        child.kill().unwrap();
    }
    let status = status.expect("it ends");
    status.code().or_else(|| Some(128 + status.signal()?)).unwrap()
}

#[test]
fn a_command_ends_also_while_nobody_reads_what_it_says() {
    let oam = oam_binary().to_str().unwrap();
    for (interruption, code) in [(Signal::SIGINT, 130), (Signal::SIGTERM, 143)] {
        let (mut child, _folder) = start(oam, &["respond", "Go."]);
        // More than a pipe holds is on its way now.
        child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        signal(&child, interruption);
        assert_eq!(end(&mut child), code);
    }
}

#[test]
fn a_command_goes_on_after_a_hang_up_that_is_to_be_ignored() {
    let line = format!("trap '' HUP; exec '{}' respond Go.", oam_binary().display());
    let (mut child, _folder) = start("sh", &["-c", &line]);
    child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    signal(&child, Signal::SIGHUP);
    let mut rest = Vec::new();
    child.stdout.as_mut().unwrap().read_to_end(&mut rest).unwrap();
    assert_eq!((end(&mut child), rest.len()), (0, 1_000_000));
}
