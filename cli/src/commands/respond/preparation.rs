//! Everything that is read before a model is asked. The order decides which mistake is told when there are several, so
//! scripts rely on it: the conversation, the tools, the schema, the prompt or the outputs, the terminal, the model.

use std::{path::PathBuf, sync::Arc};

use oam_agent::{
    GenerationOptions, ToolPolicy,
    schema::{GenerationSchema, SchemaWarning},
    transcript::json::SavedTranscript,
};
use serde_json::Value;

use super::{
    answers::{self, Outputs},
    arguments::{OutputMode, RespondArguments},
    prompt::{Prompt, StdinUse},
};
use crate::{
    failure::Failure,
    line_editor::LineEditor,
    models::SystemModel,
    schema_file,
    tools::ToolSet,
    transcript_file::{Conversation, TranscriptFile, WaitingTurn},
};

/// A turn to run, with all that it takes but the model.
pub(super) struct Task {
    pub(super) start: Start,
    pub(super) instructions: Option<Arc<str>>,
    pub(super) policy: ToolPolicy,
    pub(super) generation: GenerationOptions,
    /// Whether a person answers calls of external tools; without anybody they end the process.
    pub(super) asks: bool,
    pub(super) is_verbose: bool,
    pub(super) context: Context,
}

/// What the end of the turn needs, too.
pub(super) struct Context {
    pub(super) tools: ToolSet,
    pub(super) schema: Option<AnswerSchema>,
    pub(super) save_path: Option<PathBuf>,
    pub(super) mode: OutputMode,
}

/// Where the turn starts.
pub(super) enum Start {
    /// With a prompt, behind a conversation.
    Prompt { prompt: Prompt, history: SavedTranscript },
    /// In the middle, with outputs of external tools. Those that are missing are asked for.
    Outputs { turn: Box<WaitingTurn>, outputs: Outputs },
}

/// The form of the answer.
pub(super) struct AnswerSchema {
    /// As it is saved.
    pub(super) json: Value,
    pub(super) schema: Arc<GenerationSchema>,
    pub(super) warnings: Vec<SchemaWarning>,
}

pub(super) fn prepare(arguments: &RespondArguments) -> Result<(Task, SystemModel), Failure> {
    let readers_of_stdin = arguments.readers_of_stdin()?;
    let turn = &arguments.turn;
    let saved = turn.resume.as_ref().map(TranscriptFile::read).transpose()?;
    let source = turn.resume.as_ref().map(ToString::to_string).unwrap_or_default();
    let tools = turn.tool_set(saved.as_ref())?;
    let schema = schema(arguments, saved.as_ref(), &source)?;
    let names: Vec<_> = tools.tools().iter().map(|tool| tool.name().as_str()).collect();
    let policy = turn.tools.policy(&names)?;
    let instructions = turn.instructions(saved.as_ref());
    let stdin =
        if arguments.no_stdin || !readers_of_stdin.is_empty() { StdinUse::None } else { StdinUse::Prompt };
    let start = match saved.map(|file| file.conversation) {
        Some(Conversation::Waiting(turn)) => outputs(arguments, turn)?,
        Some(Conversation::Idle(history)) => prompt(arguments, stdin, history)?,
        None => prompt(arguments, stdin, SavedTranscript::default())?,
    };
    let asks = arguments.answers.ask_tools;
    if asks && !LineEditor::is_possible() {
        return Err(Failure::usage(
            "--ask-tools needs a terminal, and there is none. Use --tool-output instead.",
        ));
    }
    let model = SystemModel::choose(&turn.model)?;
    let task = Task {
        start,
        instructions,
        policy,
        generation: turn.generation.options(),
        asks,
        is_verbose: arguments.output.verbose,
        context: Context { tools, schema, save_path: turn.save_path(), mode: arguments.output.mode() },
    };
    Ok((task, model))
}

/// That of the command line, or that of the turn that waits.
fn schema(
    arguments: &RespondArguments,
    saved: Option<&TranscriptFile>,
    source: &str,
) -> Result<Option<AnswerSchema>, Failure> {
    let waiting = saved.and_then(|file| match &file.conversation {
        Conversation::Waiting(turn) => turn.schema.as_ref(),
        Conversation::Idle(_) => None,
    });
    let (json, source) = match (&arguments.schema, waiting) {
        (Some(path), _) => (schema_file::read(path)?, path.to_string()),
        (None, Some(schema)) => (schema.clone(), format!("{source}: oam.schema")),
        (None, None) => return Ok(None),
    };
    let converted = schema_file::convert(&json, &source, schema_file::ROOT_NAME)?;
    Ok(Some(AnswerSchema { json, schema: Arc::new(converted.schema), warnings: converted.warnings }))
}

fn prompt(arguments: &RespondArguments, stdin: StdinUse, history: SavedTranscript) -> Result<Start, Failure> {
    if arguments.answers.all().next().is_some() {
        return Err(Failure::usage(
            "The conversation waits for no outputs: leave --tool-output and --tool-error out, and give a prompt.",
        ));
    }
    Ok(Start::Prompt { prompt: Prompt::read(arguments, stdin)?, history })
}

fn outputs(arguments: &RespondArguments, turn: Box<WaitingTurn>) -> Result<Start, Failure> {
    if !arguments.prompt.is_empty() || !arguments.images.is_empty() {
        return Err(Failure::usage(
            "The conversation waits for outputs of tool calls: give these with --tool-output, and a prompt afterwards.",
        ));
    }
    let outputs = answers::read(&arguments.answers, &turn)?;
    if !arguments.answers.ask_tools {
        answers::expect_none(&answers::missing(&outputs, &turn))?;
    }
    Ok(Start::Outputs { turn, outputs })
}
