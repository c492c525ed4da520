//! `oam demo tavern` at a terminal.

use oam_tests::{
    oam_binary, pool, procfs,
    terminal::{Terminal, TerminalBuilder, keys},
};

const PROMPT: &str = "you ›";

fn tavern(arguments: &[&str]) -> TerminalBuilder {
    Terminal::oam(["demo", "tavern"].into_iter().chain(arguments.iter().copied())).size(60, 100)
}

#[test]
fn a_guest_types_takes_suggestions_and_leaves_with_ctrl_d() {
    let terminal = tavern(&[]).start();
    terminal.shows("1) Good evening!").cursor_line_is(PROMPT);
    terminal.enter("The stew, please.").shows("gold 30 → 25").cursor_line_is(PROMPT);
    terminal.enter("1").shows("neutral 0 → neutral 6").cursor_line_is(PROMPT);
    terminal.press(keys::CTRL_D);
    let ended = terminal.ends_with(0);
    for part in ["Mira (happy): One rabbit stew", "Mira chooses free_room", "\n2 turns, 2 tool calls"] {
        assert!(ended.screen.contains(part), "{part}: {}", ended.screen);
    }
    assert!(ended.output.contains("\u{1b}[1m\u{1b}[35mMira"), "names are coloured");
}

#[test]
fn a_bye_leaves_and_so_does_an_empty_line() {
    for line in ["bye", ""] {
        let terminal = tavern(&[]).start();
        terminal.cursor_line_is(PROMPT).enter(line).shows("Closing time");
        terminal.ends_with(0);
    }
}

#[test]
fn ctrl_c_at_the_prompt_ends_at_once() {
    let terminal = tavern(&[]).start();
    terminal.cursor_line_is(PROMPT).press("half a li").cursor_line_is("you › half a li").press(keys::CTRL_C);
    let ended = terminal.ends_with(130);
    assert!(!ended.screen.contains("Closing time"));
}

#[test]
fn ctrl_c_while_the_model_thinks_ends_the_worker_too() {
    let worker = format!("{} worker scripted --fault hang:word=hang", oam_binary().display());
    let terminal = tavern(&["--worker", &worker]).start();
    terminal.cursor_line_is(PROMPT);
    let workers = procfs::children(terminal.pid().as_raw().cast_unsigned()).unwrap();
    assert_eq!(workers.len(), 1);
    terminal.enter("Please hang around.").shows("you › Please hang around.").press(keys::CTRL_C);
    terminal.ends_with(130);
    pool::until("the worker is gone", || !pool::lives(workers[0].pid));
}

#[test]
fn letters_of_all_kinds_pastes_and_other_sizes_are_no_trouble() {
    let terminal = tavern(&[]).start();
    terminal.cursor_line_is(PROMPT);
    terminal.press("Grüße 🐉").cursor_line_is("you › Grüße 🐉").press(keys::BACKSPACE).press(keys::BACKSPACE);
    terminal.cursor_line_is("you › Grüße").press(keys::CTRL_U).cursor_line_is(PROMPT);
    terminal.resize(50, 70);
    terminal.paste("The stew,\nplease.").shows("please.").press(keys::ENTER);
    terminal.shows("→ take_order {\"item\":\"rabbit stew\"}").shows("gold 30 → 25").cursor_line_is(PROMPT);
    terminal.press(keys::CTRL_D);
    terminal.ends_with(0);
}

#[test]
fn a_kill_shows_at_the_terminal_and_the_line_goes_on() {
    let terminal = tavern(&["--kill-worker", "--auto"]).start();
    terminal.shows("✗ w1 was killed by SIGKILL").shows("and that leaves you 25.");
    let ended = terminal.ends_with(0);
    assert!(ended.screen.contains("2 workers started, 1 died, 1 step played again"), "{}", ended.screen);
}

#[test]
fn without_colours_there_are_none() {
    for (variable, value) in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        let terminal = tavern(&["--auto", "--max-turns", "1"]).env(variable, value).start();
        let ended = terminal.ends_with(0);
        assert!(!ended.output.contains('\u{1b}'), "{variable}: {:?}", ended.output);
    }
}

#[test]
fn what_a_model_says_does_not_steer_the_terminal() {
    let script = serde_json::json!([
        {"text": "Hush."},
        {"json": {"emotion": "happy", "line": "\u{1b}[2J\u{7}Gone!", "player_options": ["\u{1b}]0;x\u{7}"], "ends_conversation": false}},
    ]);
    let terminal = tavern(&["--auto", "--max-turns", "2"]).env("NO_COLOR", "1").script(&script).start();
    let ended = terminal.ends_with(0);
    assert!(ended.screen.contains("Mira (happy): \\u{1b}[2J\\u{7}Gone!"), "{}", ended.screen);
    assert!(!ended.output.contains('\u{1b}'), "{:?}", ended.output);
}

#[test]
fn a_scene_for_a_file_is_plain_though_somebody_types() {
    let terminal = tavern(&["--max-turns", "1"]).stdout_to_file().start();
    terminal.cursor_line_is(PROMPT).enter("Any news?");
    let ended = terminal.ends_with(0);
    let written = ended.file("stdout");
    assert!(
        written.contains("\nMira (worried): The old mill road") && !written.contains('\u{1b}'),
        "{written}"
    );
}
