//! A conversation with a language model, as a game needs it.
#![cfg_attr(test, allow(clippy::unwrap_used))]

#[cfg(test)]
mod arbitrary;
mod error;
mod event;
pub mod json_text;
mod model;
pub mod partial_json;
pub mod schema;
mod scripted;
mod tool;
pub mod transcript;
mod unavailable;

pub use error::{AgentError, ErrorCode, ModelError};
pub use event::{Execution, StepInfo, TextEvent, TurnEvent, TurnResponse};
pub use model::{
    Availability, BoxFuture, Capabilities, DEFAULT_CONTEXT_SIZE, GenerationOptions, Model, ModelToolCall,
    Sampling, StepContent, StepOutcome, StepRequest, StepSink, ToolMode, UnavailableReason, Usage,
};
pub use scripted::{Script, ScriptError, ScriptedModel};
pub use tool::{
    CallId, LocalTool, RESPOND_DIRECTLY, Tool, ToolCall, ToolDefinition, ToolExecutor, ToolName, ToolOutput,
    ToolRecord,
};
pub use unavailable::UnavailableModel;
