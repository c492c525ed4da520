//! The messages: what the supervisor asks, and what a worker says.
//!
//! Every message is a map with a `type`. Members that are unknown are ignored, and a message of an unknown type is
//! [`ToWorker::Unknown`] or [`FromWorker::Unknown`], so that either side can be newer than the other.
//!
//! What is said to a worker can be borrowed from whoever says it; what was read is owned.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The version of this protocol. A worker that says another in [`Ready`] is not used.
pub const PROTOCOL_VERSION: u32 = 1;

/// Identifies a step, or another question, of one connection. Chosen by the supervisor, never used twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StepId(pub u64);

/// From the supervisor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ToWorker<'a> {
    /// Play one step. Answered by exactly one `finished` or `failed`, after any number of `delta`, `reset` and
    /// `partial`.
    Generate(Box<Generate<'a>>),
    /// Stop working on a step. It still gets its `finished` or `failed` (`cancelled`), soon.
    Cancel {
        /// The step.
        id: StepId,
    },
    /// Count the tokens of a request. Answered by `tokens` or `failed`.
    CountTokens(Box<Generate<'a>>),
    /// Get ready for requests with these instructions. Not answered.
    Prewarm {
        /// The instructions, if known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        instructions: Option<String>,
    },
    /// Tell whether the model can be asked now. Answered by `availability`.
    Availability {
        /// Comes back in the answer.
        id: StepId,
    },
    /// Show that you are alive. Answered by `pong` at once, however busy inference is.
    Ping {
        /// Comes back in the answer.
        n: u64,
    },
    /// Finish or drop what you are doing and exit with 0 within the time.
    Shutdown {
        /// Milliseconds until the worker is killed.
        grace_ms: u64,
    },
    /// A type this side does not know; to be ignored.
    #[serde(other)]
    Unknown,
}

/// From a worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum FromWorker {
    /// The first message: the worker is up.
    Ready(Ready),
    /// The answer of a step grew.
    Delta {
        /// The step.
        id: StepId,
        /// What to append.
        text: String,
    },
    /// The model took back what it said.
    Reset {
        /// The step.
        id: StepId,
        /// The whole answer so far.
        text: String,
    },
    /// The structured answer so far.
    Partial {
        /// The step.
        id: StepId,
        /// Members in the order of generation.
        value: Value,
    },
    /// A step is done.
    Finished {
        /// The step.
        id: StepId,
        /// What it produced.
        outcome: Outcome,
        /// What it cost.
        #[serde(default)]
        usage: TokenUsage,
    },
    /// A step, or another question, failed.
    Failed {
        /// The step.
        id: StepId,
        /// A stable name of the bridge protocol's error table, such as `guardrail_violation`.
        code: String,
        /// A sentence for the developer who reads it.
        message: String,
        /// More about it. `retryAfterSeconds` tells when a rate limit ends.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        data: Option<Map<String, Value>>,
    },
    /// The tokens of a request.
    Tokens {
        /// The question.
        id: StepId,
        /// How many.
        count: u32,
    },
    /// Whether the model can be asked now. Also sent unasked, without an id, when it changes.
    Availability {
        /// The question, if it answers one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<StepId>,
        /// What is known.
        availability: Availability,
    },
    /// The worker is alive.
    Pong {
        /// As asked.
        n: u64,
    },
    /// Something for the supervisor's log.
    Log {
        /// How important it is.
        level: LogLevel,
        /// One line.
        message: String,
    },
    /// A type this side does not know; to be ignored.
    #[serde(other)]
    Unknown,
}

impl FromWorker {
    /// The message's `type` on the wire.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Ready(_) => "ready",
            Self::Delta { .. } => "delta",
            Self::Reset { .. } => "reset",
            Self::Partial { .. } => "partial",
            Self::Finished { .. } => "finished",
            Self::Failed { .. } => "failed",
            Self::Tokens { .. } => "tokens",
            Self::Availability { .. } => "availability",
            Self::Pong { .. } => "pong",
            Self::Log { .. } => "log",
            Self::Unknown => "unknown",
        }
    }
}

/// All that one inference needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Generate<'a> {
    /// Identifies the step.
    pub id: StepId,
    /// System instructions, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<Cow<'a, str>>,
    /// The conversation; the turn in progress is last.
    pub transcript: Vec<Entry<'a>>,
    /// The tools that the model may see. None when the mode is `disallowed`.
    #[serde(default)]
    pub tools: Vec<ToolDefinition<'a>>,
    /// Whether the model may, must or must not call tools.
    pub tool_mode: ToolMode,
    /// The form of the answer, in the generation-schema dialect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Cow<'a, Value>>,
    /// How to generate.
    #[serde(default)]
    pub options: GenerationOptions,
    /// Whether to send the answer piece by piece. Without it only the outcome counts.
    #[serde(default)]
    pub stream: bool,
    /// Requests with the same key share a prefix.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_key: Option<Cow<'a, str>>,
}

/// One entry of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Entry<'a> {
    /// What was asked.
    Prompt {
        /// The parts.
        segments: Vec<Segment<'a>>,
    },
    /// The tool calls of one step.
    ToolCalls {
        /// In the order in which the model made them.
        calls: Vec<ToolCall<'a>>,
    },
    /// What a call returned.
    ToolOutput {
        /// The call's id.
        call_id: Cow<'a, str>,
        /// The tool.
        tool_name: Cow<'a, str>,
        /// The parts.
        segments: Vec<Segment<'a>>,
    },
    /// What was answered.
    Response {
        /// The parts.
        segments: Vec<Segment<'a>>,
    },
    /// An entry that is passed on as it was saved, in FoundationModels' transcript form (a model's reasoning).
    Opaque {
        /// The saved entry.
        entry: Cow<'a, Map<String, Value>>,
    },
    /// A kind this side does not know; to be left out.
    #[serde(other)]
    Unknown,
}

/// A part of an entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Segment<'a> {
    /// Plain text.
    Text {
        /// The text.
        text: Cow<'a, str>,
    },
    /// A structured value.
    Structure {
        /// The name of its schema.
        source: Cow<'a, str>,
        /// The value.
        content: Cow<'a, Value>,
    },
    /// An attachment, in FoundationModels' transcript form.
    Attachment {
        /// The saved segment.
        segment: Cow<'a, Map<String, Value>>,
    },
    /// A kind this side does not know; to be left out.
    #[serde(other)]
    Unknown,
}

/// A tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall<'a> {
    /// The model's own id of the call.
    pub id: Cow<'a, str>,
    /// The tool's name.
    pub name: Cow<'a, str>,
    /// The arguments.
    #[serde(default)]
    pub arguments: Cow<'a, Map<String, Value>>,
}

/// What the model may know of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolDefinition<'a> {
    /// The name to call it by.
    pub name: Cow<'a, str>,
    /// What it does and returns.
    pub description: Cow<'a, str>,
    /// The form of its arguments, in the generation-schema dialect: an object.
    pub parameters: Cow<'a, Value>,
}

/// Whether the model may, must or must not call tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ToolMode {
    /// The model decides.
    Allowed,
    /// The model must call a tool.
    Required,
    /// The model must answer.
    Disallowed,
}

/// How to generate; absent members leave it to the model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GenerationOptions {
    /// At least 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// At least 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_response_tokens: Option<u32>,
    /// How the next token is chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampling: Option<Sampling>,
}

/// How the next token is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Sampling {
    /// Always the likeliest.
    Greedy,
    /// Among the `k` likeliest.
    TopK {
        /// At least 1.
        k: u32,
        /// Makes the choice reproducible.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seed: Option<u64>,
    },
    /// Among the likeliest that together reach probability `p`.
    TopP {
        /// From 0 to 1.
        p: f64,
        /// Makes the choice reproducible.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seed: Option<u64>,
    },
}

/// What a step produced.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Outcome {
    /// An answer in prose: the whole of it, whatever was sent on the way.
    Text {
        /// The answer.
        text: String,
    },
    /// A structured answer.
    Structured {
        /// The answer.
        value: Value,
    },
    /// The model wants tools called.
    ToolCalls {
        /// At least one.
        calls: Vec<ToolCall<'static>>,
    },
}

/// Tokens used by a step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TokenUsage {
    /// All input tokens.
    pub input_tokens: u64,
    /// Input tokens that were cached.
    pub cached_input_tokens: u64,
    /// Generated tokens.
    pub output_tokens: u64,
}

/// A worker that is up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ready {
    /// [`PROTOCOL_VERSION`].
    pub protocol: u32,
    /// Who it is.
    pub worker: WorkerInfo,
    /// What it can do.
    #[serde(default)]
    pub capabilities: Capabilities,
    /// Whether its model can be asked now.
    pub availability: Availability,
}

/// Who a worker is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkerInfo {
    /// The program's name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its process id.
    pub pid: u32,
}

/// What a worker can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[expect(clippy::struct_excessive_bools, reason = "independent abilities, each named")]
pub struct Capabilities {
    /// Answers arrive piece by piece.
    pub streaming: bool,
    /// Tool calls come from the model itself.
    pub native_tools: bool,
    /// Structured answers are constrained while they are generated.
    pub guided_generation: bool,
    /// `countTokens` is answered.
    pub token_count: bool,
    /// `prewarm` does something.
    pub prewarm: bool,
    /// Prompts may hold images.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub images: bool,
    /// How many steps it can work on at once; at least 1.
    pub parallel_steps: u32,
}

impl Default for Capabilities {
    fn default() -> Self {
        Self {
            streaming: false,
            native_tools: false,
            guided_generation: false,
            token_count: false,
            prewarm: false,
            images: false,
            parallel_steps: 1,
        }
    }
}

/// Whether a model can be asked now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Availability {
    /// It can.
    pub available: bool,
    /// Why not: `device_not_eligible`, `apple_intelligence_not_enabled`, `model_not_ready` or `unknown`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The context in tokens; absent or 0 while unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_size: Option<u32>,
    /// The model's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// BCP 47 tags.
    #[serde(default)]
    pub supported_languages: Vec<String>,
}

/// How important a log line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum LogLevel {
    /// For whoever looks for a fault.
    Debug,
    /// Worth knowing.
    Info,
    /// Should not be, but was coped with.
    Warning,
    /// Went wrong.
    Error,
}
