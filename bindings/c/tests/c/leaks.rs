//! Nothing is left of a bridge that was destroyed.

use crate::build::{Built, crate_folder, example, output, program, worker_options};

/// What a process holds.
#[derive(Debug)]
struct Usage {
    descriptors: i64,
    threads: i64,
    children: i64,
    memory_kib: i64,
}

impl Usage {
    fn read(line: &str) -> Self {
        let numbers: Vec<_> = line.split_whitespace().map(|number| number.parse().unwrap()).collect();
        let [descriptors, threads, children, memory_kib] = numbers[..] else { panic!("{line}") };
        Self { descriptors, threads, children, memory_kib }
    }
}

/// Runs so many rounds, and compares the end with what was held after a tenth of them.
fn check_cycles(arguments: &[&str]) {
    let printed = program("cycles.c").build().run(arguments);
    let usages: Vec<_> = printed.lines().map(Usage::read).collect();
    let [early, late] = &usages[..] else { panic!("{printed}") };
    assert_eq!((late.threads, late.children), (1, 0), "{usages:?}");
    assert_eq!(late.descriptors, early.descriptors, "{usages:?}");
    // What an allocator keeps settles within some MiB; a bridge that leaked would leave tens of KiB each time.
    assert!(late.memory_kib < early.memory_kib + 8 * 1024, "{usages:?}");
}

#[test]
fn a_thousand_bridges_leave_nothing() {
    check_cycles(&["1000"]);
}

#[test]
fn bridges_with_workers_leave_nothing() {
    check_cycles(&["50", &worker_options(&[])]);
}

/// Runs a program under valgrind's memcheck: no error, and no leak but what tests/memcheck.supp explains.
fn check_memory(built: &Built, arguments: &[&str]) {
    let valgrind = [
        "valgrind",
        "--quiet",
        "--error-exitcode=9",
        "--leak-check=full",
        "--show-leak-kinds=definite,indirect,possible",
        "--errors-for-leak-kinds=definite,indirect,possible",
        "--num-callers=200",
        "--fair-sched=yes",
    ];
    let suppressions = format!("--suppressions={}", crate_folder().join("tests/memcheck.supp").display());
    let output = output(built.command_under(&[&valgrind[..], &[&suppressions]].concat(), arguments));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
#[ignore = "needs valgrind"]
fn the_example_is_clean_under_valgrind() {
    check_memory(&example().build(), &[]);
}

#[test]
#[ignore = "needs valgrind"]
fn bridges_that_are_destroyed_in_the_middle_of_something_are_clean_under_valgrind() {
    check_memory(&program("cycles.c").build(), &["12"]);
    check_memory(&program("cycles.c").build(), &["4", &worker_options(&[])]);
}

#[test]
#[ignore = "needs valgrind"]
fn crowds_and_shutdowns_are_clean_under_valgrind() {
    check_memory(&program("crowd.c").build(), &["60"]);
    check_memory(&program("shutdown.c").build(), &[]);
}
