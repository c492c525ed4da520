//! `oam chat` at a terminal: keys go in, a screen comes out.

use std::fs;

use nix::sys::signal::Signal;
use oam_tests::{
    Terminal, oam_binary,
    pool::{exists, until},
    procfs,
    terminal::{TerminalBuilder, keys},
};
use serde_json::{Value, json};

fn chat<'a>(arguments: impl IntoIterator<Item = &'a str>) -> TerminalBuilder {
    Terminal::oam(std::iter::once("chat").chain(arguments))
}

/// Answers that repeat what was said.
fn echoes() -> Value {
    json!({"steps": [], "fallback": {"template": "You said: {prompt}", "chunks": 4}})
}

/// A chat with a worker that plays `steps`, with these arguments of its own.
fn chat_with_worker(steps: &Value, arguments: &str) -> TerminalBuilder {
    let worker = format!("'{}' worker scripted --script script.json {arguments}", oam_binary().display());
    chat(["--save-transcript", "saved.json"]).env("OAM_WORKER", worker).file("script.json", steps.to_string())
}

/// A tool whose calls a person answers.
fn potions() -> String {
    json!({"name": "get_potions", "description": "Counts potions.", "parameters":
        {"type": "object", "properties": {"kind": {"type": "string"}}}})
    .to_string()
}

fn calls_potions(answer: &Value) -> Value {
    json!([{"toolCalls": [{"name": "get_potions", "arguments": {"kind": "red"}}]}, answer])
}

#[test]
fn what_is_typed_is_answered() {
    let terminal = chat([]).script(&echoes()).start();
    terminal.cursor_line_is("›").enter("Hello!").shows("\nYou said: Hello!\n").cursor_line_is("›");
    terminal.press("Good bye").cursor_line_is("› Good bye").press(keys::ENTER).shows("You said: Good bye");
    terminal.cursor_line_is("›").enter("   ").enter("/usage").shows("2 turns").cursor_line_is("›");
    terminal.press(keys::CTRL_D);
    let ended = terminal.ends_with(0);
    assert!(ended.screen.contains("› Hello!\nYou said: Hello!\n› Good bye\n"), "{}", ended.screen);
}

#[test]
fn a_line_is_edited_before_it_is_sent() {
    let terminal = chat([]).script(&echoes()).start();
    terminal.cursor_line_is("›").press("vater").press(keys::HOME).press(keys::DELETE).press("w");
    terminal.press(keys::RIGHT).press(keys::RIGHT).press(keys::BACKSPACE).press("t").press(keys::END);
    terminal.press("!").cursor_line_is("› water!").press(keys::LEFT).press(keys::LEFT).press(keys::CTRL_D);
    terminal.cursor_line_is("› wate!").press(keys::ENTER).shows("You said: wate!");
    terminal.press("never said").cursor_line_is("› never said").press(keys::CTRL_U).cursor_line_is("›");
    terminal.enter("/exit").ends_with(0);
}

#[test]
fn the_arrow_keys_find_earlier_lines_of_this_chat() {
    let terminal = chat([]).script(&echoes()).start();
    terminal.cursor_line_is("›").enter("first").shows("You said: first").cursor_line_is("›");
    terminal.enter("second").shows("You said: second").cursor_line_is("›").press("third");
    terminal.press(keys::UP).cursor_line_is("› second").press(keys::UP).cursor_line_is("› first");
    terminal.press(keys::DOWN).press(keys::DOWN).cursor_line_is("› third").press(keys::UP).press(keys::UP);
    terminal.press(" again").press(keys::ENTER).shows("You said: first again").cursor_line_is("›");
    let files: Vec<_> =
        fs::read_dir(terminal.folder()).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert_eq!(files, ["script.json"], "what was typed is kept nowhere");
    terminal.press(keys::CTRL_D).ends_with(0);
}

#[test]
fn every_character_of_the_world_can_be_typed_and_erased() {
    let terminal = chat([]).script(&echoes()).start();
    terminal.cursor_line_is("›").press("Grüße, 世界 🐉é").cursor_line_is("› Grüße, 世界 🐉é");
    // The prompt takes two columns, the wide characters two each.
    terminal
        .cursor_is_in_column(17)
        .press(keys::LEFT)
        .press(keys::BACKSPACE)
        .cursor_line_is("› Grüße, 世界 é");
    terminal.cursor_is_in_column(14).press(keys::LEFT).press(keys::LEFT).cursor_is_in_column(11);
    terminal.press(keys::BACKSPACE).press("山").cursor_line_is("› Grüße, 山界 é").press(keys::ENTER);
    terminal.shows("You said: Grüße, 山界 é").cursor_line_is("›").press("\u{1f468}\u{200d}\u{1f469}e\u{301}");
    terminal.press(keys::ENTER).shows("You said: \u{1f468}\u{200d}\u{1f469}e\u{301}");
    terminal.press(keys::CTRL_D).ends_with(0);
}

#[test]
fn bytes_that_are_no_text_end_neither_the_line_editor_nor_the_chat() {
    let terminal = chat([]).script(&echoes()).start();
    terminal
        .cursor_line_is("›")
        .press_bytes(b"caf\xe9\xff")
        .shows("not UTF-8")
        .cursor_line_is("›")
        .enter("Hello!")
        .shows("You said:");
    terminal.cursor_line_is("›").press(keys::CTRL_D).ends_with(0);
}

#[test]
fn a_text_that_cannot_be_shown_ends_neither_the_line_editor_nor_the_chat() {
    let terminal = chat([]).script(&echoes()).env("TERM_PROGRAM", "Apple_Terminal").start();
    // One character to the eye, and wider than any terminal.
    terminal
        .cursor_line_is("›")
        .paste(&"\u{1100}".repeat(33_000))
        .shows("cannot be shown")
        .cursor_line_is("›");
    terminal.enter("Hello!").shows("You said: Hello!").cursor_line_is("›");
    terminal.press(keys::CTRL_D).ends_with(0);
}

#[test]
fn a_pasted_text_is_one_message_with_all_its_lines() {
    let terminal = chat(["--save-transcript", "saved.json"]).script(&echoes()).start();
    terminal.cursor_line_is("›").press("See: ").paste("one\ntwo\n/exit\n\nfünf").cursor_line_is("fünf");
    assert!(terminal.screen().contains("› See: one\ntwo\n/exit\n\nfünf"), "{}", terminal.screen());
    terminal
        .press("!")
        .press(keys::ENTER)
        .shows("You said: See: one\ntwo\n/exit\n\nfünf!\n")
        .cursor_line_is("›");
    terminal.press(keys::UP).cursor_line_is("fünf!").press(keys::CTRL_C);
    let ended = terminal.ends_with(130);
    let saved: Value = serde_json::from_str(&ended.file("saved.json")).unwrap();
    assert!(saved.to_string().contains(r"See: one\ntwo\n/exit\n\nfünf!"), "{saved}");
}

#[test]
fn a_long_line_follows_the_window() {
    let terminal = chat([]).script(&echoes()).size(12, 30).start();
    let line: String = ('a'..='z').chain('0'..='9').collect();
    terminal.cursor_line_is("›").press(&line).cursor_line_is("23456789");
    // The editor draws the line anew for the new width: all of it is in one line.
    terminal.resize(12, 60).cursor_line_is(&format!("› {line}"));
    terminal.resize(12, 20).cursor_line_is("stuvwxyz0123456789").cursor_is_in_column(18);
    terminal.press(keys::ENTER).cursor_line_is("›").enter("/usage").shows("1 turn\n");
    terminal.press(keys::CTRL_D).ends_with(0);
}

#[test]
fn ctrl_c_stops_an_answer_and_forgets_the_turn() {
    let steps =
        json!([{"text": "This goes on for ever and ever.", "chunks": 8}, {"template": "You said: {prompt}"}]);
    let terminal = chat_with_worker(&steps, "--fault hang:at=middle+word=forever").start();
    terminal.cursor_line_is("›").enter("Talk forever!").shows("This").press(keys::CTRL_C);
    terminal.shows("(stopped").cursor_line_is("›").enter("/usage").shows("0 turns");
    // The scripted worker counts what the conversation holds: nothing, so its first answer comes again.
    terminal.cursor_line_is("›").enter("Hello!").shows("ever and ever.\n› ").cursor_line_is("›");
    terminal.enter("Still there?").shows("You said: Still there?").cursor_line_is("›").press(keys::CTRL_D);
    let saved = terminal.ends_with(0).file("saved.json");
    assert!(saved.contains("Hello!") && !saved.contains("Talk forever"), "{saved}");
}

#[test]
fn ctrl_c_at_the_prompt_ends_the_chat() {
    let terminal = chat([]).script(&echoes()).start();
    terminal.cursor_line_is("›").press("half a li").cursor_line_is("› half a li").press(keys::CTRL_C);
    let ended = terminal.ends_with(130);
    assert!(ended.screen.ends_with("› half a li"), "{}", ended.screen);
}

#[test]
fn what_is_typed_during_an_answer_waits_for_its_prompt() {
    let steps = json!([{"text": "One two three four.", "chunks": 4}, {"template": "You said: {prompt}"}]);
    let terminal = chat_with_worker(&steps, "--piece-delay 300").start();
    terminal.cursor_line_is("›").enter("Count!").shows("One").press("early").paste("\nbird");
    terminal.shows("\nOne two three four.\n› early\nbird").press(keys::ENTER);
    terminal.shows("You said: early\nbird\n").cursor_line_is("›").press(keys::CTRL_D).ends_with(0);
}

#[test]
fn signals_end_the_chat_in_good_order_wherever_it_is() {
    for (signal, code) in [(Signal::SIGTERM, 143), (Signal::SIGINT, 130)] {
        let terminal = chat_with_worker(&echoes(), "").start();
        terminal.cursor_line_is("›").press("in the middle").cursor_line_is("› in the middle");
        let workers = procfs::children(terminal.pid().as_raw().unsigned_abs()).unwrap();
        assert_eq!(workers.len(), 1);
        terminal.signal(signal).ends_with(code);
        until("the worker is gone", || !exists(workers[0].pid));
    }
    let terminal =
        chat_with_worker(&json!([{"text": "Never to the end."}]), "--fault hang-ignoring-cancel").start();
    terminal.cursor_line_is("›").enter("Hello!").shows("\nNeve");
    let workers = procfs::children(terminal.pid().as_raw().unsigned_abs()).unwrap();
    terminal.signal(Signal::SIGTERM).ends_with(143);
    until("the worker is gone", || workers.iter().all(|worker| !exists(worker.pid)));
}

#[test]
fn a_chat_that_a_shell_has_stopped_goes_on() {
    let terminal =
        chat_with_worker(&json!([{"text": "One two three four.", "chunks": 4}]), "--piece-delay 200").start();
    terminal.cursor_line_is("›").press("half").cursor_line_is("› half").suspend().resume();
    terminal.shows("chat.\n\n› half").press(keys::LEFT).press("ali").cursor_line_is("› halalif");
    terminal.press(keys::ENTER).shows("One").suspend().resume().shows("One two three four.\n› ");
    terminal.press("x").press(keys::BACKSPACE).cursor_line_is("›").press(keys::CTRL_D).ends_with(0);
}

#[test]
fn a_worker_that_dies_in_the_middle_of_an_answer_is_not_noticed() {
    let steps = json!([{"text": "One two three four.", "chunks": 4}]);
    let terminal = chat_with_worker(&steps, "--fault kill:at=middle+once=died").start();
    terminal.cursor_line_is("›").enter("Count!").shows("\nOne two three four.\n").cursor_line_is("›");
    terminal.enter("/usage").shows("1 turn\n").cursor_line_is("›").press(keys::CTRL_D);
    let ended = terminal.ends_with(0);
    assert_eq!(ended.screen.matches("One").count(), 1, "{}", ended.screen);
    assert!(terminal.folder().join("died").exists());
}

#[test]
fn a_worker_that_always_dies_fails_the_turn_and_leaves_the_terminal_alone() {
    let terminal = chat_with_worker(&echoes(), "--fault abort:word=boom").start();
    terminal.cursor_line_is("›").enter("boom").shows("Error: ").cursor_line_is("›");
    terminal.enter("Hello!").shows("You said: Hello!").cursor_line_is("›").press(keys::CTRL_D).ends_with(0);
}

#[test]
fn outputs_of_external_tools_are_typed_at_the_terminal() {
    let steps = calls_potions(&json!({"template": "There are {toolOutput}."}));
    let terminal = chat(["--tool-json", &potions()]).script(&steps).start();
    terminal.shows("get_potions (external)").cursor_line_is("›").enter("How many?");
    terminal.shows("→ get_potions {\"kind\":\"red\"}  (external tool)").shows("output (text");
    terminal
        .enter("@nothing")
        .shows("nothing: cannot be read")
        .enter("@-")
        .shows("standard input is something else");
    terminal.press("tw3").press(keys::BACKSPACE).press("elve").press(keys::ENTER);
    terminal.shows("← get_potions twelve").shows("There are twelve.").cursor_line_is("›");
    // Only what was said to the model is found again.
    terminal
        .press(keys::UP)
        .cursor_line_is("› How many?")
        .press(keys::CTRL_U)
        .press(keys::CTRL_D)
        .ends_with(0);
}

#[test]
fn a_question_can_be_declined_and_interrupted() {
    let steps = json!({"steps": [], "fallback": {"text": "Hm."}});
    let mut steps = steps;
    steps["steps"] = json!([
        {"toolCalls": [{"name": "get_potions", "arguments": {}}]}, {"template": "I heard: {toolOutput}"},
        {"toolCalls": [{"name": "get_potions", "arguments": {}}, {"name": "get_potions", "arguments": {}}]},
        {"template": "{toolOutputs}"},
    ]);
    let terminal = chat(["--tool-json", &potions()]).script(&steps).start();
    terminal.cursor_line_is("›").enter("How many?").shows("output (text").press(keys::CTRL_D);
    terminal.shows("I heard: Error: No output was given").cursor_line_is("›");
    terminal.enter("Twice?").shows("error): ").enter("{\"red\": 1}").shows("← get_potions {\"red\":1}");
    terminal.cursor_line_is("  output (text, @file, or !message for an error):").press(keys::CTRL_C);
    terminal.shows("(stopped").cursor_line_is("›").enter("/usage").shows("1 turn\n").cursor_line_is("›");
    terminal.press(keys::CTRL_D).ends_with(0);
}

#[test]
fn a_piped_chat_asks_at_the_terminal_too() {
    let steps = calls_potions(&json!({"template": "There are {toolOutput}."}));
    let terminal =
        chat(["--tool-json", &potions()]).script(&steps).stdin("How many?\n").stdout_to_file().start();
    terminal.shows("output (text").enter("!sold out").shows("← get_potions Error: sold out");
    assert_eq!(terminal.ends_with(0).file("stdout"), "› How many?\nThere are Error: sold out.\n");
}

#[test]
fn what_is_typed_is_kept_beside_answers_that_go_to_a_file() {
    let terminal = chat([]).script(&echoes()).stdout_to_file().start();
    terminal.cursor_line_is("›").enter("Hello!").cursor_line_is("›").press(keys::CTRL_D);
    assert_eq!(terminal.ends_with(0).file("stdout"), "› Hello!\nYou said: Hello!\n");
}

#[test]
fn an_answer_does_not_steer_the_terminal() {
    let terminal = chat([]).script(&json!([{"text": "\u{1b}[2Jgone\u{1b}]0;title\u{7}"}])).start();
    terminal
        .cursor_line_is("›")
        .enter("Hello!")
        .shows("\\u{1b}[2Jgone\\u{1b}]0;title\\u{7}")
        .cursor_line_is("›");
    terminal.press(keys::CTRL_D).ends_with(0);
}

#[test]
fn a_terminal_without_a_cursor_is_enough() {
    let steps = calls_potions(&json!({"template": "There are {toolOutput}."}));
    let terminal = chat(["--tool-json", &potions()]).script(&steps).env("TERM", "dumb").start();
    terminal.cursor_line_is("›").enter("How many?").shows("output (text").enter("5");
    terminal.shows("There are 5.").cursor_line_is("›").press(keys::CTRL_D);
    let ended = terminal.ends_with(0);
    assert!(!ended.output.contains('\u{1b}'), "{:?}", ended.output);
}
