//! Shows an answer while it grows: its text on standard output, what tools do on standard error.

use oam_agent::{Execution, TextEvent, ToolCall, TurnResponse};

use crate::{
    console::{self, Console},
    tool_activity,
};

/// What stands for an answer without words.
const EMPTY: &str = "(an empty answer)";

/// The answer of one turn, as far as it has been shown.
pub(super) struct AnswerView {
    stdout: Console,
    stderr: Console,
    /// Standard output has a line without an end.
    is_in_line: bool,
    /// What tools did while a question is open, which must not stand in the middle of what is typed.
    held: Option<Vec<String>>,
}

impl AnswerView {
    pub(super) fn new() -> Self {
        Self { stdout: Console::stdout(), stderr: Console::stderr(), is_in_line: false, held: None }
    }

    pub(super) fn text(&mut self, event: &TextEvent) {
        if event.is_reset {
            self.end_line();
        }
        self.stdout.write(&self.stdout.shown(&event.delta));
        if !event.delta.is_empty() {
            self.is_in_line = !event.delta.ends_with('\n');
        }
    }

    /// A tool is called. Where the line would be shown, whoever is asked for the output is told of an external call then.
    pub(super) fn called(&mut self, call: &ToolCall, execution: Execution) {
        if execution == Execution::Local || !self.stderr.is_terminal() {
            self.activity(tool_activity::started(call, execution));
        }
    }

    /// A line about a tool call.
    pub(super) fn activity(&mut self, line: String) {
        if let Some(held) = &mut self.held {
            held.push(line);
            return;
        }
        self.end_line();
        self.stderr.line(&self.stderr.painted(console::ASIDE, &self.stderr.shown(&line)));
    }

    /// From now on a person types.
    pub(super) fn hold(&mut self) {
        self.end_line();
        self.held.get_or_insert_default();
    }

    /// Nobody types any more.
    pub(super) fn release(&mut self) {
        for line in self.held.take().into_iter().flatten() {
            self.activity(line);
        }
    }

    /// The whole answer has been given.
    pub(super) fn complete(mut self, response: &TurnResponse) {
        self.end_line();
        if response.text.trim().is_empty() {
            self.stdout.line(&self.stdout.painted(console::ASIDE, EMPTY));
        }
    }

    /// There is no more to come.
    pub(super) fn break_off(mut self) {
        self.release();
        self.end_line();
    }

    fn end_line(&mut self) {
        if std::mem::take(&mut self.is_in_line) {
            self.stdout.write("\n");
        }
    }
}
