//! A conversation with a language model, as a game needs it.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod agent;
mod compaction;
mod context;
mod conversation;
mod error;
mod event;
mod host;
pub mod json_text;
mod model;
mod retry;
mod run;
pub mod schema;
mod steering;
mod tool;
mod tool_round;
pub mod transcript;
mod turn;

pub use agent::{Agent, AgentOptions, AgentSetup, check_tool_names};
pub use compaction::Compaction;
pub use error::{AgentError, ErrorCode, ModelError};
pub use event::{Execution, StepInfo, TextEvent, TurnEvent, TurnResponse};
pub use model::{
    Availability, BoxFuture, Capabilities, DEFAULT_CONTEXT_SIZE, GenerationOptions, Model, ModelToolCall,
    Sampling, StepContent, StepOutcome, StepRequest, StepSink, ToolMode, UnavailableReason, Usage,
};
pub use host::{NoHost, TurnHost};
pub use run::{Run, RunEvent};
pub use steering::{ToolChoice, ToolPolicy};
pub use tool::{
    CallId, LocalTool, RESPOND_DIRECTLY, Tool, ToolCall, ToolDefinition, ToolExecutor, ToolName, ToolOutput,
    ToolRecord,
};
pub use turn::TurnOptions;
