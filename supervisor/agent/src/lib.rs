//! A conversation with a language model, as a game needs it.
//!
//! An [`Agent`] is a [`Model`], its settings and one conversation. [`Agent::respond`] runs a turn: the model is asked
//! step by step, calls the agent's [tools](Tool), and ends with an answer in prose or in the form of a
//! [schema](schema::GenerationSchema). A turn either completes, or leaves the conversation as it was.
//!
//! A host that executes tools itself, or wants to hear the answer grow, uses [`Agent::run`] (a stream) or implements
//! [`TurnHost`]. [`ScriptedModel`] plays a script instead of asking a model, for tests and demonstrations.
//!
//! Begin with the example of [`Agent`]: a scripted model, a tool and a turn. The one of [`Run`] answers tool calls as they
//! come. Everything runs on the tokio runtime of the host, which needs time enabled.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod agent;
#[cfg(test)]
mod arbitrary;
mod aside;
mod call_ids;
mod compaction;
mod context;
mod conversation;
mod error;
mod event;
mod host;
mod image_format;
pub mod json_text;
mod layer;
mod model;
pub mod partial_json;
mod retry;
mod run;
pub mod schema;
mod scripted;
mod steering;
mod structured_answer;
mod suspension;
mod text_so_far;
mod tool;
mod tool_round;
pub mod transcript;
mod turn;
mod unavailable;
mod voice;

pub use agent::{Agent, AgentOptions, AgentSetup, check_tool_names};
pub use call_ids::CallIds;
pub use compaction::{Compaction, FinishedCompaction, Speakers, SummaryKeeper};
pub use conversation::IdleConversation;
pub use error::{AgentError, ErrorCode, ModelError};
pub use event::{Execution, StepInfo, TextEvent, TurnEvent, TurnResponse};
pub use host::{NoHost, TurnClient, TurnHost};
pub use image_format::ImageFormat;
pub use layer::ModelLayer;
pub use model::{
    Availability, BoxFuture, Capabilities, DEFAULT_CONTEXT_SIZE, GenerationOptions, Model, ModelToolCall,
    Sampling, StepContent, StepOutcome, StepRequest, StepSink, ToolMode, UnavailableReason, Usage,
};
pub use run::{Run, RunEvent};
pub use scripted::{SCRIPT_LINE, Script, ScriptError, ScriptedModel};
pub use steering::{ToolChoice, ToolPolicy};
pub use suspension::{RoundCall, SuspendedTurn, TurnEnd};
pub use text_so_far::TextSoFar;
pub use tool::{
    CallId, LocalTool, RESPOND_DIRECTLY, Tool, ToolCall, ToolDefinition, ToolExecutor, ToolName, ToolOutput,
    ToolRecord,
};
pub use turn::{FinishedTurn, TurnOptions};
pub use unavailable::UnavailableModel;
