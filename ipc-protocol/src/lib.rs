//! Messages and framing between the supervisor and its workers (docs/IPC.md).
//!
//! A connection carries frames: a length, then one MessagePack map. [`ToWorker`] is what a supervisor sends,
//! [`FromWorker`] what a worker does.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod message;

pub use message::{
    Availability, Capabilities, Entry, FromWorker, Generate, GenerationOptions, LogLevel, Outcome, PROTOCOL_VERSION,
    Ready, Sampling, Segment, StepId, ToWorker, TokenUsage, ToolCall, ToolDefinition, ToolMode, WorkerInfo,
};
