//! What is printed while a turn runs.

use std::sync::Arc;

use oam_agent::{
    Execution, StepInfo, TextEvent, ToolCall, ToolMode, ToolOutput, TurnClient, TurnEvent, TurnHost,
    TurnResponse, json_text,
};
use serde::Serialize;
use tokio::sync::oneshot;

use super::arguments::OutputMode;
use crate::{asker::Asker, console::Console, tool_activity};

/// Prints what happens in a turn, and lets people answer external calls.
#[derive(Debug)]
pub(super) struct Reporter {
    mode: OutputMode,
    is_verbose: bool,
    stdout: Console,
    stderr: Console,
    /// Who answers calls of external tools. Without anybody, turns are suspended before that.
    asker: Option<Asker>,
    /// What stands on the last line of standard output is to be continued.
    line_is_open: bool,
    has_said_text: bool,
}

impl Reporter {
    pub(super) fn new(mode: OutputMode, is_verbose: bool, asker: Option<Asker>) -> Self {
        let (stdout, stderr) = (Console::stdout(), Console::stderr());
        Self { mode, is_verbose, stdout, stderr, asker, line_is_open: false, has_said_text: false }
    }

    /// Whether people see tool calls.
    pub(super) fn shows_activity(&self) -> bool {
        matches!(self.mode, OutputMode::Text { .. }) && (self.is_verbose || self.stderr.is_terminal())
    }

    pub(super) fn is_verbose(&self) -> bool {
        self.is_verbose
    }

    /// Tells people something, in text mode.
    pub(super) fn note(&mut self, text: &str) {
        if matches!(self.mode, OutputMode::Text { .. }) {
            if self.stdout.is_terminal() && self.stderr.is_terminal() {
                self.end_line();
            }
            self.stderr.line(&self.stderr.shown(text));
        }
    }

    /// The same, for those who want to know more.
    pub(super) fn detail(&mut self, text: &str) {
        if self.is_verbose {
            self.note(text);
        }
    }

    /// Warns people of something, in text mode.
    pub(super) fn warn(&self, text: &str) {
        if matches!(self.mode, OutputMode::Text { .. }) {
            self.stderr.warning(text);
        }
    }

    /// Prints a line of JSON on standard output.
    pub(super) fn json<T: Serialize>(&mut self, value: &T) {
        self.end_line();
        self.stdout.json_text(&json_text::compact(value));
    }

    /// Ends what was being written.
    pub(super) fn end_line(&mut self) {
        if std::mem::take(&mut self.line_is_open) {
            self.stdout.write("\n");
        }
    }

    /// Prints the answer, as far as that has not been done.
    pub(super) fn answer(&mut self, response: &TurnResponse) {
        if let Some(structured) = &response.structured {
            self.stdout.json_text(&json_text::pretty(structured));
        } else if self.has_said_text {
            self.end_line();
        } else {
            self.say(&response.text);
            self.line_is_open |= response.text.is_empty();
            self.end_line();
        }
    }

    fn say(&mut self, text: &str) {
        if !text.is_empty() {
            self.stdout.write(&self.stdout.shown(text));
            self.line_is_open = !text.ends_with('\n');
        }
    }

    fn text(&mut self, TextEvent { delta, is_reset, .. }: &TextEvent) {
        if *is_reset && self.has_said_text && (self.line_is_open || !self.stdout.is_terminal()) {
            self.stdout.write("\n");
        }
        self.say(delta);
        self.has_said_text = true;
    }

    /// Tells people what happens.
    fn tell(&mut self, event: &TurnEvent, streams: bool) {
        match event {
            TurnEvent::Text(text) if streams => self.text(text),
            TurnEvent::ModelStep { step } => self.step(step),
            // Whoever is asked for an output is told of the call then.
            TurnEvent::ToolCallStarted { execution: Execution::Client, .. }
                if self.asker.is_some() && self.stderr.is_terminal() => {}
            TurnEvent::ToolCallStarted { call, execution } if self.shows_activity() => {
                self.note(&tool_activity::started(call, *execution));
            }
            TurnEvent::ToolCallCompleted { record } if self.shows_activity() => {
                self.note(&tool_activity::completed(record));
            }
            _ => {}
        }
    }

    fn step(&mut self, step: &StepInfo) {
        if step.index > 0 || step.tool_calling_mode != ToolMode::Allowed {
            let tools: Vec<_> = step.enabled_tools.iter().map(oam_agent::ToolName::as_str).collect();
            let tools = if tools.is_empty() { String::new() } else { format!(" ({})", tools.join(", ")) };
            let mode = step.tool_calling_mode.as_str();
            self.detail(&format!("· step {}: tools {mode}{tools}", step.index + 1));
        }
    }
}

impl TurnClient for Reporter {
    fn call_client(&mut self, call: &Arc<ToolCall>) -> oneshot::Receiver<ToolOutput> {
        match &self.asker {
            Some(asker) => asker.ask(call),
            // A sender that is gone counts as a cancelled call.
            None => oneshot::channel().1,
        }
    }

    fn step_interrupted(&mut self, why: &str) {
        self.detail(&format!("· the step was played again: {why}"));
    }
}

impl TurnHost for Reporter {
    fn event(&mut self, event: TurnEvent) {
        match self.mode {
            OutputMode::Json => {}
            OutputMode::Events => self.json(&event),
            OutputMode::Text { streams } => self.tell(&event, streams),
        }
    }
}
