//! `oam demo tavern`, without a terminal.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    process::{Command, Stdio},
};

use oam_tests::{clean_command, oam_binary, oam_command};
use serde_json::{Value, json};

use crate::run::{Ended, oam};

/// The output with `…` in place of what is never the same twice: times, process ids.
fn scene(ended: &Ended) -> String {
    assert_eq!(ended.stderr, "", "all output is on standard output");
    let is_number = |c: char| c.is_ascii_digit() || c == '.';
    let without_numbers = |line: &str, before: &str| match line.split_once(before) {
        Some((start, rest)) => format!("{start}{before}…{}", rest.trim_start_matches(is_number)),
        None => line.to_owned(),
    };
    let lines = ended.stdout.lines().map(|line| {
        let line = without_numbers(line, "kill -9 ");
        line.split(' ')
            .map(|word| {
                if word.trim_end_matches('.').contains('.') && word.chars().all(is_number) {
                    "…"
                } else {
                    word
                }
            })
            .collect::<Vec<_>>()
            .join(" ")
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn in_order(text: &str, parts: &[&str]) {
    let mut rest = text;
    for part in parts {
        let at = rest.find(part).unwrap_or_else(|| panic!("{part:?} is not where it should be:\n{text}"));
        rest = &rest[at + part.len()..];
    }
}

fn scripted_worker(arguments: &str) -> String {
    format!("{} worker scripted {arguments}", oam_binary().display())
}

#[test]
fn without_a_model_the_canned_evening_is_played_by_a_script_and_shows_everything() {
    let told = oam(["demo", "tavern"]).stdin("nobody reads this").ends_with(0);
    in_order(
        &scene(&told),
        &[
            "The Sleeping Stag",
            "\nNo model is installed: Mira's answers come from a script",
            "\nMira, to nobody: ",
            "\n1) ",
            "\nyou › Good evening! What have you got that is warm?\n  → check_menu ",
            "\n  ← [{\"item\":\"rabbit stew\",\"price_gold\":5,\"left\":3}]\nMira (happy): The rabbit stew",
            "\nyou › The rabbit stew, please.\n  → take_order {\"item\":\"rabbit stew\"}\n  ← ",
            "\"player_gold_left\":25}\nMira (happy): ",
            "\n  … s · gold 30 → 25 · opinion of you neutral 0\n",
            "\nyou › That is the best stew",
            "\n  → change_relationship ",
            " · opinion of you neutral 0 → neutral 8\n",
            "\nClosing time\n",
            "\nMira chooses free_room (84% sure, … s)\n  “",
            "\n3 turns, 3 tool calls, ",
            "\n1 worker started, 0 died, 0 steps played again\n",
        ],
    );
    assert!(!told.stdout.contains('\u{1b}'), "nothing is coloured where no terminal is");
}

#[test]
fn lines_are_said_numbers_take_suggestions_and_an_evening_is_short_if_told() {
    let lines = ["--line", "Have you a room?", "--line", "1", "--line", "9", "--line", "Any news?"];
    let told = oam(["demo", "tavern"].into_iter().chain(lines)).ends_with(0);
    in_order(
        &scene(&told),
        &[
            "you › Have you a room?\n  → check_menu {\"item\":\"room for the night\"}",
            "you › 1\n  → take_order {\"item\":\"room for the night\"}",
            "gold 30 → 18",
            "you › 9\nThere is no suggestion 9.\n",
            "you › Any news?\nMira (worried): ",
            "Your bed is paid for, so Mira has nothing to decide.",
            "\n3 turns, ",
        ],
    );
    let short = oam(["demo", "tavern", "--max-turns", "1"]).ends_with(0);
    in_order(&scene(&short), &["\n1 turn, 1 tool call, "]);
}

#[test]
fn what_cannot_be_served_is_told_and_costs_nothing() {
    let lines = [
        "--line",
        "Two rooms? A room, please.",
        "--line",
        "A bed, please!",
        "--line",
        "I want another room.",
    ];
    let told = oam(["demo", "tavern"].into_iter().chain(lines)).ends_with(0);
    in_order(
        &scene(&told),
        &[
            "gold 30 → 18",
            "gold 18 → 6",
            "← Error: The room for the night is sold out.\nMira (sad): No more room for the night tonight",
            "gold 6 ·",
        ],
    );
}

#[test]
fn unkind_guests_are_treated_accordingly() {
    let told = oam(["demo", "tavern", "--line", "What an ugly house!", "--line", "Stupid."]).ends_with(0);
    in_order(&scene(&told), &["neutral 0 → neutral -12", "→ unfriendly -24", "Mira chooses turn_away"]);
}

#[test]
fn a_farewell_ends_the_evening_and_so_does_leaving() {
    let goodbye = oam(["demo", "tavern", "--line", "Good night, Mira!", "--line", "Any news?"]).ends_with(0);
    in_order(&scene(&goodbye), &["you › Good night, Mira!\nMira (happy): ", "Closing time", "\n1 turn, "]);
    for leaving in ["bye", "Q", "quit", "exit", ""] {
        let left = oam(["demo", "tavern", "--line", leaving, "--line", "Any news?"]).ends_with(0);
        in_order(&scene(&left), &["Closing time", "\n0 turns, "]);
    }
}

#[test]
fn a_worker_that_is_killed_in_the_middle_of_a_line_changes_nothing_of_the_scene() {
    let run = || scene(&oam(["demo", "tavern", "--kill-worker"]).ends_with(0));
    let (first, second) = (run(), run());
    assert_eq!(first, second);
    in_order(
        &first,
        &[
            "→ take_order",
            "\nMira (happy): One rabbit stew",
            "\n  ✗ kill -9 …: that was w1, ",
            "\n  ✗ w1 was killed by SIGKILL\n  ↻ another worker plays the step again",
            "\n  …",
            "\n  … s · gold 30 → 25 ",
            "Mira chooses free_room",
            "\n3 turns, 3 tool calls, ",
            "\n2 workers started, 1 died, 1 step played again\n",
        ],
    );
    // Everything but the interruption is as it is without.
    let undisturbed = scene(&oam(["demo", "tavern"]).ends_with(0));
    let marks = [
        "\n  ✗ kill -9 …: that was w1, the worker that speaks for Mira",
        "\n  ✗ w1 was killed by SIGKILL\n  ↻ another worker plays the step again; what was said and done stays\n  …",
    ];
    let healed = marks.iter().fold(first, |text, mark| text.replace(mark, ""));
    let scene_of = |text: &str| {
        text.rsplit_once("worker")
            .map(|(before, _)| before.lines().rev().skip(1).map(str::to_owned).collect::<Vec<_>>())
    };
    assert_eq!(scene_of(&healed), scene_of(&undisturbed));
}

#[test]
fn any_worker_can_be_killed_whether_it_streams_or_not() {
    // One says a line in many pieces, one in a single piece, one does not stream at all.
    let script = json!({"steps": [], "fallback":
        {"text": reply("A line that is long enough to be cut.")["json"].to_string(), "chunks": 20}});
    let cases = [
        ("--piece-delay 20 --script script.json", "\n  ✗ kill -9 …"),
        ("--step-delay 50", "1) text\n"),
        ("--no-streaming --step-delay 50", "you › The rabbit stew, please.\n  ✗ kill -9 …"),
    ];
    for (worker, before) in cases {
        let worker = scripted_worker(worker);
        let run = oam(["demo", "tavern", "--kill-worker", "--worker", &worker]);
        let told = run.file("script.json", script.to_string()).ends_with(0);
        let counts = "\n2 workers started, 1 died, 1 step played again\n";
        in_order(
            &scene(&told),
            &["Mira is played by the system's model", before, "was killed by SIGKILL\n  ↻", counts],
        );
    }
}

#[test]
fn if_no_line_is_interrupted_the_decision_is() {
    let worker = scripted_worker("--step-delay 50");
    let told = oam(["demo", "tavern", "--kill-worker", "--line", "Hello!", "--worker", &worker]).ends_with(0);
    in_order(
        &scene(&told),
        &["Closing time", "✗ kill -9 …", "↻", "Mira chooses free_room", "1 step played again"],
    );
}

fn reply(line: &str) -> Value {
    json!({"json": {"emotion": "proud", "line": line, "player_options": ["A", "B", "C"], "ends_conversation": false}})
}

#[test]
fn a_script_of_the_users_own_is_one_sequence_and_failures_are_shown() {
    let script = json!([
        {"text": "Mind the step."}, reply("First."),
        {"error": "generation_failed", "message": "Lost for words."},
        {"error": "generation_failed", "message": "Lost for words."},
        {"error": "guardrail_violation"}, {"error": "guardrail_violation"},
        {"json": {"reasoning": "Rules.", "choice": "turn_away", "confidence": 30}}
    ]);
    let told = oam(["demo", "tavern", "--auto"]).script(&script).ends_with(0);
    in_order(
        &scene(&told),
        &[
            "\nMira says what OAM_SCRIPT tells her.\n",
            "\nMira, to nobody: Mind the step.\n",
            "\nMira (proud): First.\n",
            "\n1) A  2) B  3) C\n",
            "\n  Mira has no answer: Lost for words.\n",
            " · a fallback line: the model would not answer\n",
            "Mira chooses turn_away (30% sure",
            "  “Rules.”",
        ],
    );
    assert!(!told.stdout.contains("started"), "there are no workers to count");
    let usage = oam(["demo", "tavern", "--kill-worker"]).script(&script).ends_with(2);
    assert!(usage.stderr.contains("--kill-worker: OAM_SCRIPT"), "{usage:?}");
}

#[test]
fn a_model_that_was_named_must_be_there() {
    let broken = scripted_worker("--fault exit:at=start");
    for run in
        [oam(["demo", "tavern", "--worker", &broken]), oam(["demo", "tavern"]).env("OAM_WORKER", &broken)]
    {
        let told = run.ends_with(3);
        assert_eq!(told.stdout, "");
        assert!(told.stderr.starts_with("Error: The model is unavailable (model_not_ready)."), "{told:?}");
    }
    let told = oam(["demo", "tavern", "--worker", "./nothing"]).ends_with(2);
    assert!(told.stderr.contains("--worker: there is no program ./nothing"), "{told:?}");
}

#[test]
fn lines_and_canned_lines_exclude_each_other() {
    for arguments in [&["--auto", "--line", "Hello"][..], &["--max-turns", "0"], &["--max-turns", "many"]] {
        let told = oam(["demo", "tavern"].into_iter().chain(arguments.iter().copied())).ends_with(2);
        assert!(told.stderr.contains(arguments[0]), "{told:?}");
    }
}

#[test]
fn nobody_has_to_read_to_the_end() {
    let mut head =
        Command::new("head").arg("-1").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let pipe = head.stdin.take().unwrap();
    let demo = oam_command().args(["demo", "tavern"]).stdin(Stdio::null()).stdout(pipe).output().unwrap();
    assert_eq!((demo.status.code(), demo.stderr.len()), (Some(0), 0), "{demo:?}");
    let printed = head.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(printed.stdout).unwrap(), "The Sleeping Stag, late evening, cold rain\n");
}

/// The worker for Apple's model stands beside the program, but cannot work: Apple Intelligence is off, say.
#[test]
fn a_model_that_is_only_installed_may_be_missing_and_it_is_told_why() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("oam");
    fs::copy(oam_binary(), &program).unwrap();
    let worker = folder.path().join("oam-worker-swift");
    fs::write(&worker, "#!/bin/sh\nexit 1\n").unwrap();
    fs::set_permissions(&worker, Permissions::from_mode(0o755)).unwrap();
    let mut demo = clean_command(program);
    let told = demo.args(["demo", "tavern", "--max-turns", "1"]).stdin(Stdio::null()).output().unwrap();
    assert_eq!((told.status.code(), told.stderr.len()), (Some(0), 0), "{told:?}");
    let told = String::from_utf8(told.stdout).unwrap();
    in_order(
        &told,
        &[
            "\nThe model is unavailable (model_not_ready).",
            ": Mira's answers come from a script",
            "\n1 turn, ",
        ],
    );
}
