//! Asking whoever sits at the terminal for outputs of external tools.
//!
//! The controlling terminal is asked, not standard input: this works with redirected streams too. One thread owns the
//! terminal, so calls that are made together are asked for one after another, in their order.

use std::{
    fs::{File, OpenOptions},
    io::{self, BufRead, BufReader, Write},
    sync::{Arc, mpsc},
    thread,
};

use oam_agent::{Execution, ToolCall, ToolOutput};
use tokio::sync::oneshot;

use crate::{console::harmless, failure::Failure, tool_activity, tool_output::GivenOutput};

const TERMINAL: &str = "/dev/tty";

/// Asks for outputs. Dropping it leaves a question that stands unanswered.
#[derive(Debug)]
pub(crate) struct Asker {
    questions: mpsc::Sender<Question>,
}

#[derive(Debug)]
struct Question {
    call: Arc<ToolCall>,
    answer: oneshot::Sender<ToolOutput>,
}

impl Asker {
    /// Fails when the process has no terminal.
    pub(crate) fn open() -> io::Result<Self> {
        let input = File::open(TERMINAL)?;
        let output = OpenOptions::new().write(true).open(TERMINAL)?;
        let (questions, asked) = mpsc::channel();
        let mut terminal = Terminal { input: BufReader::new(input), output };
        thread::Builder::new().name("terminal".to_owned()).spawn(move || {
            for Question { call, answer } in asked {
                // Nobody may wait for it any more.
                let _ = answer.send(terminal.ask(&call));
            }
        })?;
        Ok(Self { questions })
    }

    /// Asks for the output of a call, when those before have been answered.
    pub(crate) fn ask(&self, call: &Arc<ToolCall>) -> oneshot::Receiver<ToolOutput> {
        let (answer, output) = oneshot::channel();
        // Without the thread the call counts as cancelled.
        let _ = self.questions.send(Question { call: Arc::clone(call), answer });
        output
    }
}

/// Both directions of a terminal.
struct Terminal<R, W> {
    input: R,
    output: W,
}

impl<R: BufRead, W: Write> Terminal<R, W> {
    fn ask(&mut self, call: &ToolCall) -> ToolOutput {
        self.try_ask(call).unwrap_or_else(|error| ToolOutput::Error(format!("The terminal failed: {error}.")))
    }

    /// An answer that cannot be read is asked for again.
    fn try_ask(&mut self, call: &ToolCall) -> io::Result<ToolOutput> {
        writeln!(self.output, "{}", harmless(&tool_activity::started(call, Execution::Client)))?;
        loop {
            write!(self.output, "  output (text, @file, or !message for an error): ")?;
            self.output.flush()?;
            let mut line = String::new();
            if self.input.read_line(&mut line)? == 0 {
                writeln!(self.output)?;
                return Ok(ToolOutput::Error("No output was given.".to_owned()));
            }
            match answer(line.trim_end_matches(['\n', '\r'])) {
                Ok(output) => return Ok(output),
                Err(failure) => writeln!(self.output, "  {failure}")?,
            }
        }
    }
}

/// What a person's answer stands for. May read a file.
pub(crate) fn answer(line: &str) -> Result<ToolOutput, Failure> {
    match line.strip_prefix('!') {
        Some(message) => Ok(ToolOutput::Error(message.to_owned())),
        None => GivenOutput::from(line).output(),
    }
}

#[cfg(test)]
mod tests {
    use oam_agent::CallId;
    use serde_json::{Map, json};

    use super::*;

    #[test]
    fn an_answer_is_text_a_file_or_an_error() {
        let mut shown = Vec::new();
        let mut terminal = Terminal {
            input: &b"{\"potions\": 3}\n@/no/such/file\n!Out of stock.\n"[..],
            output: &mut shown,
        };
        let call = ToolCall { id: CallId::from_text("c"), name: "get".into(), arguments: Map::new() };
        assert_eq!(terminal.ask(&call), ToolOutput::Json(json!({"potions": 3})));
        assert_eq!(terminal.ask(&call), ToolOutput::Error("Out of stock.".into()));
        assert_eq!(terminal.ask(&call), ToolOutput::Error("No output was given.".into()));
        let shown = String::from_utf8(shown).unwrap();
        assert_eq!(shown.matches("→ get {}  (external tool)").count(), 3);
        assert!(shown.contains("/no/such/file: cannot be read"), "{shown}");
    }
}
