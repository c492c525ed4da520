//! A conversation with a language model, as a game needs it.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod error;
mod event;
pub mod json_text;
mod model;
pub mod schema;
mod tool;
pub mod transcript;

pub use error::{AgentError, ErrorCode, ModelError};
pub use event::{Execution, StepInfo, TextEvent, TurnEvent, TurnResponse};
pub use model::{
    Availability, BoxFuture, Capabilities, DEFAULT_CONTEXT_SIZE, GenerationOptions, Model, ModelToolCall,
    Sampling, StepContent, StepOutcome, StepRequest, StepSink, ToolMode, UnavailableReason, Usage,
};
pub use tool::{
    CallId, LocalTool, RESPOND_DIRECTLY, Tool, ToolCall, ToolDefinition, ToolExecutor, ToolName, ToolOutput,
    ToolRecord,
};
