//! Hosts with several threads.

use crate::build::{Linked, crate_folder, json_lines, output, program};

#[test]
fn two_bridges_and_eight_threads_get_along() {
    assert_eq!(program("crowd.c").build().run(&["2000"]), "done\n");
}

#[test]
fn blocking_calls_end_with_a_shutdown_and_then_the_bridge_is_destroyed() {
    let answers = json_lines(&program("shutdown.c").build().run(&[]));
    let codes: Vec<_> = answers.iter().map(|answer| answer["error"]["code"].as_i64().unwrap()).collect();
    assert_eq!(codes, [-32009, -32009, -32009, -32023]);
}

#[test]
fn the_deepest_messages_fit_into_the_stack_that_the_header_names() {
    program("small_stack.c").build().run(&[]);
}

/// The library itself is not instrumented: what is seen are the host's own accesses, and that a lock or a queue of the
/// library stands between one thread's and another's.
#[test]
#[ignore = "needs a compiler with ThreadSanitizer"]
fn the_host_of_the_callbacks_has_no_data_races() {
    for (name, arguments) in [("crowd.c", &["500"][..]), ("shutdown.c", &[]), ("cycles.c", &["20"])] {
        let built = program(name).with("gcc", &["-fsanitize=thread", "-O1"], Linked::Shared).build();
        let mut command = built.command(arguments);
        let suppressions = crate_folder().join("tests/tsan.supp");
        command.env("TSAN_OPTIONS", format!("halt_on_error=1 suppressions={}", suppressions.display()));
        let output = output(command);
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    }
}
