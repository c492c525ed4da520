//! `oam chat` at a terminal.

use oam_tests::{
    Terminal, oam_binary,
    terminal::{TerminalBuilder, keys},
};
use serde_json::{Value, json};

/// Answers that repeat what was said.
fn echoes(count: usize) -> Value {
    json!(vec![json!({"template": "You said: {prompt}"}); count])
}

fn chat<'a>(arguments: impl IntoIterator<Item = &'a str>) -> TerminalBuilder {
    Terminal::oam(std::iter::once("chat").chain(arguments))
}

/// A chat whose answers come piece by piece.
fn slow_chat(steps: &Value, delay: u64) -> TerminalBuilder {
    let worker = format!("{} worker scripted --piece-delay {delay}", oam_binary().display());
    chat([])
        .env("OAM_WORKER", format!("{worker} --script script.json"))
        .file("script.json", steps.to_string())
}

#[test]
fn what_is_typed_is_answered() {
    let terminal = chat([]).script(&echoes(2)).start();
    terminal.cursor_line_is("›").enter("Hello!").shows("\nYou said: Hello!\n").cursor_line_is("›");
    terminal.press("Good bye").cursor_line_is("› Good bye").press(keys::ENTER).shows("You said: Good bye");
    terminal.cursor_line_is("›").press(keys::CTRL_D);
    let ended = terminal.ends_with(0);
    assert!(ended.screen.contains("› Hello!\nYou said: Hello!\n› Good bye\n"), "{}", ended.screen);
}
