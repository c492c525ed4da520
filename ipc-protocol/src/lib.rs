//! Messages and framing between the supervisor and its workers (docs/IPC.md).
//!
//! A connection carries frames: a length, then one MessagePack map. [`ToWorker`] is what a supervisor sends,
//! [`FromWorker`] what a worker does. [`frame`] cuts a stream into messages, whatever moves its bytes, and
//! [`blocking`] moves them over blocking streams; [`structure`] bounds what a frame may hold, [`answer`] how long an
//! answer may be, and [`diagnosis`] says what is wrong with a frame that cannot be read.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod answer;
mod blocking;
mod diagnosis;
mod frame;
mod message;
mod structure;

pub use answer::{MAX_ANSWER_BYTES, failure_bytes, outcome_bytes, value_bytes};
pub use blocking::{ReadError, WriteError, read_message, write_message};
pub use frame::{DecodeError, EncodeError, FrameReader, MAX_FRAME_BYTES, Message, decode, encode};
pub use message::{
    Availability, Capabilities, Entry, FromWorker, Generate, GenerationOptions, LogLevel, Outcome,
    PROTOCOL_VERSION, Ready, Sampling, Segment, StepId, ToWorker, TokenUsage, ToolCall, ToolDefinition,
    ToolMode, WorkerInfo,
};
pub use structure::{MAX_DEPTH, MAX_VALUES};
