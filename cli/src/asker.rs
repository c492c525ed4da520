//! Asking whoever sits at the terminal for outputs of external tools.
//!
//! The terminal is asked, not standard input: this works with redirected streams too.

use std::{
    mem,
    sync::{Arc, Mutex, PoisonError},
};

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

/// Asks on the terminal of the process, if it has one, which is taken for this question.
pub(crate) async fn ask_on_terminal(call: &ToolCall) -> Option<ToolOutput> {
    match on_terminal() {
        Ok(editor) => ask(&editor, call).await,
        Err(output) => Some(output),
    }
}

/// The error is the output of a call that nobody can be asked for.
fn on_terminal() -> Result<LineEditor, ToolOutput> {
    match LineEditor::on_terminal() {
        Ok(Some(editor)) => Ok(editor),
        Ok(None) => Err(not_given("there is no terminal to ask for it")),
        Err(failure) => Err(not_given(&failure.message)),
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
/// process. Dropping it gives the terminal back, and leaves a question that stands unanswered.
#[derive(Debug)]
pub(crate) struct Asker {
    questions: mpsc::UnboundedSender<Question>,
    terminal: Arc<Mutex<AskersTerminal>>,
}

#[derive(Debug)]
struct Question {
    call: Arc<ToolCall>,
    answer: oneshot::Sender<ToolOutput>,
}

/// The terminal is taken with the first question: until then, and where there is none, it is nobody's business.
#[derive(Debug)]
enum AskersTerminal {
    NotTaken,
    Taken(Arc<LineEditor>),
    /// For good.
    GivenBack,
}

impl Asker {
    /// Asks on the current runtime.
    pub(crate) fn start() -> Self {
        let (questions, asked) = mpsc::unbounded_channel();
        let terminal = Arc::new(Mutex::new(AskersTerminal::NotTaken));
        tokio::spawn(answer_all(asked, Arc::clone(&terminal)));
        Self { questions, terminal }
    }

    /// Asks for the output of a call, when those before have been answered.
    pub(crate) fn ask(&self, call: &Arc<ToolCall>) -> oneshot::Receiver<ToolOutput> {
        let (answer, output) = oneshot::channel();
        // Without the task the call counts as cancelled.
        let _ = self.questions.send(Question { call: Arc::clone(call), answer });
        output
    }
}

impl Drop for Asker {
    /// The task may be in the middle of a line, and end after the process has.
    fn drop(&mut self) {
        let terminal = &mut *self.terminal.lock().unwrap_or_else(PoisonError::into_inner);
        if let AskersTerminal::Taken(editor) = mem::replace(terminal, AskersTerminal::GivenBack) {
            editor.give_back();
        }
    }
}

async fn answer_all(mut questions: mpsc::UnboundedReceiver<Question>, terminal: Arc<Mutex<AskersTerminal>>) {
    while let Some(Question { call, answer }) = questions.recv().await {
        let output = match take(&terminal) {
            Ok(Some(editor)) => ask(&editor, &call).await,
            Ok(None) => return,
            Err(output) => Some(output),
        };
        let Some(output) = output else {
            // While a line is edited Ctrl-C is a key; here it means what it means everywhere else. The process is there
            // to get it.
            let _ = raise(Signal::SIGINT);
            return std::future::pending().await;
        };
        // Nobody may wait for it any more.
        let _ = answer.send(output);
    }
}

/// The editor, unless the terminal has been given back. The error is the output of a call that nobody can be asked for.
fn take(terminal: &Mutex<AskersTerminal>) -> Result<Option<Arc<LineEditor>>, ToolOutput> {
    let terminal = &mut *terminal.lock().unwrap_or_else(PoisonError::into_inner);
    if let AskersTerminal::NotTaken = terminal {
        *terminal = AskersTerminal::Taken(Arc::new(on_terminal()?));
    }
    Ok(match terminal {
        AskersTerminal::Taken(editor) => Some(Arc::clone(editor)),
        AskersTerminal::NotTaken | AskersTerminal::GivenBack => None,
    })
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
