//! Asking whoever sits at the terminal for outputs of external tools.
//!
//! The terminal is asked, not standard input: this works with redirected streams too.

use std::sync::Arc;

use nix::sys::signal::{Signal, raise};
use oam_agent::{Execution, ToolCall, ToolOutput};
use tokio::sync::{mpsc, oneshot};

use crate::{
    console::harmless,
    failure::Failure,
    line_editor::{Entered, LineEditor, LinePrompt, Remember},
    tool_activity,
    tool_output::GivenOutput,
};

const QUESTION: &str = "  output (text, @file, or !message for an error): ";

/// Asks for the output of a call. `None` when the question was interrupted (Ctrl-C).
pub(crate) async fn ask(editor: &LineEditor, call: &ToolCall) -> Option<ToolOutput> {
    let mut above = tool_activity::started(call, Execution::Client);
    loop {
        let prompt = LinePrompt::plain(QUESTION).below(&harmless(&above));
        let line = match editor.read(prompt, Remember::No).await {
            Ok(Entered::Line(line)) => line,
            Ok(Entered::End) => return Some(not_given("the question was left unanswered")),
            Ok(Entered::Interrupt) => return None,
            Err(failure) => return Some(not_given(&failure.message)),
        };
        match answer(line).await {
            Ok(output) => return Some(output),
            Err(failure) => above = format!("  {failure}"),
        }
    }
}

/// Asks on the terminal of the process, if it has one.
pub(crate) async fn ask_on_terminal(editor: &mut Option<LineEditor>, call: &ToolCall) -> Option<ToolOutput> {
    if editor.is_none() {
        *editor = match LineEditor::on_terminal() {
            Ok(editor) => editor,
            Err(failure) => return Some(not_given(&failure.message)),
        };
    }
    match editor {
        Some(editor) => ask(editor, call).await,
        None => Some(not_given("there is no terminal to ask for it")),
    }
}

/// What a person's answer stands for, which may have to be read from a file first.
async fn answer(line: String) -> Result<ToolOutput, Failure> {
    if let Some(message) = line.strip_prefix('!') {
        return Ok(ToolOutput::Error(message.to_owned()));
    }
    let given = GivenOutput::from(&*line);
    if given.is_stdin() {
        return Err(Failure::usage("standard input is something else here: name a file, or paste the text"));
    }
    let read = tokio::task::spawn_blocking(move || given.output()).await;
    read.unwrap_or_else(|error| Err(Failure::io(format!("the answer cannot be read: {error}"))))
}

fn not_given(reason: &str) -> ToolOutput {
    ToolOutput::Error(format!("No output was given: {reason}."))
}

/// Asks for the outputs of calls that are made together, one after another. A question that is interrupted interrupts the
/// process.
#[derive(Debug)]
pub(crate) struct Asker {
    questions: mpsc::UnboundedSender<Question>,
}

#[derive(Debug)]
struct Question {
    call: Arc<ToolCall>,
    answer: oneshot::Sender<ToolOutput>,
}

impl Asker {
    /// Asks on the current runtime. The terminal is taken with the first question, and given back when nobody can ask any
    /// more or the runtime ends.
    pub(crate) fn start() -> Self {
        let (questions, asked) = mpsc::unbounded_channel();
        tokio::spawn(answer_all(asked));
        Self { questions }
    }

    /// Asks for the output of a call, when those before have been answered.
    pub(crate) fn ask(&self, call: &Arc<ToolCall>) -> oneshot::Receiver<ToolOutput> {
        let (answer, output) = oneshot::channel();
        // Without the task the call counts as cancelled.
        let _ = self.questions.send(Question { call: Arc::clone(call), answer });
        output
    }
}

async fn answer_all(mut questions: mpsc::UnboundedReceiver<Question>) {
    let mut editor = None;
    while let Some(Question { call, answer }) = questions.recv().await {
        let Some(output) = ask_on_terminal(&mut editor, &call).await else {
            // While a line is edited Ctrl-C is a key; here it means what it means everywhere else. The process is there
            // to get it.
            let _ = raise(Signal::SIGINT);
            return std::future::pending().await;
        };
        // Nobody may wait for it any more.
        let _ = answer.send(output);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn an_answer_is_text_a_file_or_an_error() {
        let answer =
            async |line: &str| super::answer(line.to_owned()).await.map_err(|failure| failure.message);
        assert_eq!(answer("{\"potions\": 3}").await, Ok(ToolOutput::Json(json!({"potions": 3}))));
        assert_eq!(answer("three").await, Ok(ToolOutput::Text("three".into())));
        assert_eq!(answer("!Out of stock.").await, Ok(ToolOutput::Error("Out of stock.".into())));
        assert!(answer("@/no/such/file").await.unwrap_err().contains("/no/such/file: cannot be read"));
        assert!(answer("@-").await.unwrap_err().contains("standard input"));
    }
}
