//! Where the lines of a chat come from, and who is asked for the outputs of external tools.

use std::{
    collections::VecDeque,
    io::{self, BufRead, IsTerminal, Read},
    pin::Pin,
    sync::Arc,
};

use oam_agent::{ToolCall, ToolOutput};

use super::answer::AnswerView;
use crate::{
    asker,
    console::{self, Console},
    failure::Failure,
    line_editor::{Entered, LineEditor, LinePrompt, Remember},
};

const PROMPT: &str = "› ";
/// The longest line that is piped in, in bytes.
const LONGEST_LINE: u64 = 16 << 20;

/// Who talks.
pub(super) enum Input {
    /// A person at a terminal.
    Person(LineEditor),
    /// Standard input that is no terminal.
    Piped,
}

impl Input {
    pub(super) fn open() -> Result<Self, Failure> {
        let editor = if io::stdin().is_terminal() { LineEditor::on_terminal()? } else { None };
        Ok(editor.map_or(Self::Piped, Self::Person))
    }

    /// The next line. Where the terminal does not show what is typed beside what is answered, it is told.
    pub(super) async fn line(&self) -> Result<Entered, Failure> {
        let stdout = Console::stdout();
        let entered = match self {
            Self::Person(editor) => {
                let prompt = LinePrompt::plain(PROMPT).styled(console::PROMPT);
                editor.read(prompt, Remember::Yes).await?
            }
            Self::Piped => {
                let line = tokio::task::spawn_blocking(piped_line).await;
                line.map_err(|error| Failure::io(format!("standard input cannot be read: {error}")))??
            }
        };
        let is_shown = matches!(self, Self::Person(_)) && stdout.is_terminal();
        if let (Entered::Line(line), false) = (&entered, is_shown)
            && !line.trim().is_empty()
        {
            stdout.line(&format!("{PROMPT}{}", stdout.shown(line)));
        }
        Ok(entered)
    }

    /// Asks whoever is at the terminal for the output of a call. `None` when the question was interrupted.
    async fn output(&self, call: &ToolCall) -> Option<ToolOutput> {
        match self {
            Self::Person(editor) => asker::ask(editor, call).await,
            Self::Piped => asker::ask_on_terminal(call).await,
        }
    }
}

/// One line of standard input, without its end.
fn piped_line() -> Result<Entered, Failure> {
    let mut line = Vec::new();
    let read = io::stdin().lock().take(LONGEST_LINE).read_until(b'\n', &mut line);
    match read {
        Ok(0) => return Ok(Entered::End),
        Ok(_) if line.ends_with(b"\n") => _ = line.pop(),
        Ok(length) if length as u64 == LONGEST_LINE => {
            let message = format!("standard input: a line is longer than {LONGEST_LINE} bytes");
            return Err(Failure::invalid_input(message));
        }
        Ok(_) => {}
        Err(error) => return Err(Failure::invalid_input(format!("standard input: cannot be read: {error}"))),
    }
    if line.ends_with(b"\r") {
        line.pop();
    }
    Ok(Entered::Line(String::from_utf8_lossy(&line).into_owned()))
}

/// The external calls of a turn, whose outputs are asked for one after another.
pub(super) struct Questions<'a> {
    input: &'a Input,
    waiting: VecDeque<Arc<ToolCall>>,
    open: Option<Pin<Box<dyn Future<Output = Answered> + 'a>>>,
}

/// A call, and its output unless the question was interrupted.
pub(super) type Answered = (Arc<ToolCall>, Option<ToolOutput>);

impl<'a> Questions<'a> {
    pub(super) fn new(input: &'a Input) -> Self {
        Self { input, waiting: VecDeque::new(), open: None }
    }

    pub(super) fn add(&mut self, call: Arc<ToolCall>) {
        self.waiting.push_back(call);
    }

    /// Waits for the next answer; for ever if there is no question. Dropping the future keeps the question open, and
    /// `view` from writing into it.
    pub(super) async fn next(&mut self, view: &mut AnswerView) -> Answered {
        if self.open.is_none()
            && let Some(call) = self.waiting.pop_front()
        {
            view.hold();
            let input = self.input;
            self.open = Some(Box::pin(async move {
                let output = input.output(&call).await;
                (call, output)
            }));
        }
        let Some(open) = &mut self.open else { return std::future::pending().await };
        let answered = open.await;
        self.open = None;
        view.release();
        answered
    }
}
