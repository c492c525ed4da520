//! The chat itself: a line, what it asks for, the next line.

use std::path::{Path, PathBuf};

use oam_agent::{Agent, AgentError, ErrorCode, RunEvent, TurnEvent, TurnOptions, TurnResponse, Usage};

use super::{
    answer::AnswerView,
    input::{Input, Questions},
    said::{ChatCommand, HELP, Said},
};
use crate::{
    console::{self, Console, counted},
    failure::{Failure, ReportForm},
    files,
    line_editor::Entered,
    models::ModelName,
    runtime::{End, Interrupts},
    tool_activity,
    tools::{DefinedTool, Runs, ToolSet},
    transcript_file::{Conversation, TranscriptFile},
};

/// A chat that goes on until its input ends.
pub(super) struct Chat {
    agent: Agent,
    tools: ToolSet,
    model: ModelName,
    /// Where the conversation is kept, if it is.
    save_path: Option<PathBuf>,
    interrupts: Interrupts,
    input: Input,
    /// Of the turns that were answered here.
    usage: Usage,
    turns: u64,
    stdout: Console,
    stderr: Console,
}

/// How a turn ended.
enum Played {
    Answered(TurnResponse),
    /// By Ctrl-C.
    Stopped,
}

impl Chat {
    pub(super) fn new(
        agent: Agent,
        tools: ToolSet,
        model: ModelName,
        save_path: Option<PathBuf>,
        interrupts: Interrupts,
    ) -> Result<Self, Failure> {
        let (stdout, stderr) = (Console::stdout(), Console::stderr());
        let chat = Self {
            agent,
            tools,
            model,
            save_path,
            interrupts,
            input: Input::open()?,
            usage: Usage::default(),
            turns: 0,
            stdout,
            stderr,
        };
        chat.aside(&chat.banner());
        Ok(chat)
    }

    pub(super) async fn run(mut self) -> Result<End<()>, Failure> {
        loop {
            let entered = tokio::select! {
                biased;
                () = self.interrupts.next() => Entered::Interrupt,
                entered = self.input.line() => entered?,
            };
            let line = match entered {
                Entered::Line(line) => line,
                Entered::End => return Ok(End::Done(())),
                Entered::Interrupt => return Ok(End::interrupted()),
            };
            match Said::from_line(&line) {
                Said::Nothing => {}
                Said::Prompt(prompt) => self.turn(prompt).await,
                Said::Command(ChatCommand::Exit) => return Ok(End::Done(())),
                Said::Command(command) => self.obey(&command).await,
            }
        }
    }

    /// A turn that does not come to an answer leaves the conversation as it was.
    async fn turn(&mut self, prompt: &str) {
        match self.play(prompt).await {
            Ok(Played::Answered(response)) => {
                self.turns += 1;
                self.usage += response.usage;
                if let Some(path) = &self.save_path {
                    tell_failure(self.save(path));
                }
            }
            Ok(Played::Stopped) => self.aside("(stopped; the conversation is as it was before)"),
            Err(error) => {
                let hint = hint(error.code());
                Failure::from(error).report(ReportForm::Text);
                if let Some(hint) = hint {
                    self.aside(hint);
                }
            }
        }
        // Pressed when the answer was just complete.
        self.interrupts.forget();
    }

    async fn play(&mut self, prompt: &str) -> Result<Played, AgentError> {
        let mut view = AnswerView::new();
        let mut questions = Questions::new(&self.input);
        let mut run = self.agent.run(prompt, TurnOptions { stream: true, ..TurnOptions::default() });
        loop {
            let event = tokio::select! {
                biased;
                () = self.interrupts.next() => None,
                event = run.next_event() => event,
                // Asked when the turn has nothing more to tell.
                (call, output) = questions.next(&mut view) => {
                    let Some(output) = output else { break };
                    run.submit(&call.id, output);
                    continue;
                }
            };
            match event {
                None => break,
                Some(Err(error)) => {
                    view.break_off();
                    return Err(error);
                }
                Some(Ok(RunEvent::Completed(response))) => {
                    view.complete(&response);
                    return Ok(Played::Answered(response));
                }
                Some(Ok(RunEvent::ToolCallRequested(call))) => questions.add(call),
                // Only calls with a time limit are, and external tools have none.
                Some(Ok(RunEvent::ToolCallAbandoned(_))) => {}
                Some(Ok(RunEvent::Turn(event))) => match event {
                    TurnEvent::Text(text) => view.text(&text),
                    TurnEvent::ToolCallStarted { call, execution } => {
                        view.called(&call, execution);
                    }
                    TurnEvent::ToolCallCompleted { record } => {
                        view.activity(tool_activity::completed(&record));
                    }
                    TurnEvent::ModelStep { .. } | TurnEvent::Partial { .. } => {}
                },
            }
        }
        view.break_off();
        Ok(Played::Stopped)
    }

    async fn obey(&mut self, command: &ChatCommand<'_>) {
        match command {
            ChatCommand::Help => self.stdout.line(HELP),
            ChatCommand::Tools => self.list_tools(),
            ChatCommand::Reset => {
                self.agent.reset().await;
                self.stdout.line("The conversation begins anew.");
            }
            ChatCommand::Save(None) => self.stdout.line("Usage: /save FILE"),
            ChatCommand::Save(Some(file)) => {
                let path = files::absolute(&files::with_home(Path::new(file)));
                let saved = self.save(&path);
                if saved.is_ok() {
                    self.stdout.line(&format!("Saved in {}.", path.display()));
                }
                tell_failure(saved);
            }
            ChatCommand::Usage => {
                let Usage { input_tokens: input, cached_input_tokens: cached, output_tokens: output } =
                    self.usage;
                self.stdout.line(&format!(
                    "{input} tokens in ({cached} of them cached), {output} tokens out, {}",
                    counted(self.turns, "turn")
                ));
            }
            ChatCommand::Unknown(name) => {
                self.stdout
                    .line(&format!("There is no command {}. /help lists them.", self.stdout.shown(name)));
            }
            ChatCommand::Exit => {}
        }
    }

    fn list_tools(&self) {
        if self.tools.tools().is_empty() {
            self.stdout.line("There are no tools. --tools FILE and --tool-json JSON give some.");
        }
        for tool in self.tools.tools() {
            let by = match tool.runs {
                Runs::Command(_) => "runs a command",
                Runs::External => "you type the output",
            };
            let description = &tool.definition.description;
            let dash = if description.is_empty() { "" } else { " - " };
            let line = format!("{} ({by}){dash}{description}", tool.name());
            self.stdout.line(&self.stdout.shown(&line));
        }
    }

    fn save(&self, path: &Path) -> Result<(), Failure> {
        let conversation = Conversation::Idle(self.agent.saved_transcript());
        TranscriptFile::new(conversation, &self.tools).save(path, self.model)
    }

    fn banner(&self) -> String {
        let mut parts = vec![format!("oam chat: model {}", self.model.as_str())];
        let name = |tool: &DefinedTool| match tool.runs {
            Runs::Command(_) => tool.name().to_string(),
            Runs::External => format!("{} (external)", tool.name()),
        };
        let names: Vec<_> = self.tools.tools().iter().map(name).collect();
        if !names.is_empty() {
            parts.push(format!("tools {}", names.join(", ")));
        }
        if self.agent.turn_count() > 0 {
            parts.push(format!("{} resumed", counted(self.agent.turn_count() as u64, "turn")));
        }
        let what = parts.join("; ");
        format!("{what}\n/help lists the commands. Ctrl-C stops an answer, Ctrl-D ends the chat.")
    }

    /// What is neither said nor asked for.
    fn aside(&self, text: &str) {
        self.stderr.line(&self.stderr.painted(console::ASIDE, text));
    }
}

fn tell_failure(done: Result<(), Failure>) {
    if let Err(failure) = done {
        failure.report(ReportForm::Text);
    }
}

fn hint(code: ErrorCode) -> Option<&'static str> {
    match code {
        ErrorCode::GuardrailViolation | ErrorCode::Refusal => {
            Some("Other words may help. /reset makes the model forget what was said before.")
        }
        ErrorCode::ContextSizeExceeded => Some(
            "The conversation has become too long for the model. /save FILE keeps it, /reset begins anew.",
        ),
        _ => None,
    }
}
