//! A process is killed with SIGKILL in the middle of its work: what it was told is durable is there, and nothing in part.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod support;
#[path = "support/work.rs"]
mod work;

use tempfile::tempdir;

use work::Expected;

#[test]
fn what_a_killed_process_was_told_is_durable_is_there() {
    kill(8);
}

#[test]
#[ignore = "takes minutes"]
fn what_a_process_killed_200_times_was_told_is_durable_is_there() {
    kill(200);
}

#[test]
#[ignore = "the process that is killed"]
fn worker() {
    work::work();
}

fn kill(times: u32) {
    let folder = tempdir().unwrap();
    let mut expected = Expected::default();
    for _ in 0..times {
        let changes = fastrand::u64(1..2000);
        let told = work::work_and_kill("worker", folder.path(), expected.made, changes);
        expected.find(told, &support::contents(folder.path(), "realm"));
    }
    println!("killed {times} times, {} changes", expected.made);
}
