//! The seam between a conversation and whatever infers: one [`Model::step`] is one inference.
//!
//! A model keeps nothing of a conversation. Each [`StepRequest`] carries all that one inference needs, so a
//! step can be played again on another process when the first one dies.

use std::{future::Future, pin::Pin, sync::Arc};

use serde::{Serialize, Serializer, ser::SerializeStruct};
use serde_json::{Map, Value};

use crate::{error::ModelError, schema::GenerationSchema, tool::ToolDefinition, transcript::TranscriptView};

/// A boxed future, as the dyn-safe [`Model`] trait returns it.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Something that can play one step of a turn.
///
/// Dropping the future of a step cancels it: the model stops working on it and emits nothing more.
pub trait Model: Send + Sync {
    /// Plays one step. What the model says on the way goes to `sink`, in order; the outcome repeats the whole
    /// answer, so a sink may be ignored.
    fn step<'a>(
        &'a self,
        request: StepRequest,
        sink: &'a mut dyn StepSink,
    ) -> BoxFuture<'a, Result<StepOutcome, ModelError>>;

    /// Whether the model can be asked now. Answers at once from what is known.
    fn availability(&self) -> Availability;

    /// The tokens that instructions, tools, conversation and answer share, if there is such a limit. Without
    /// one, conversations are never trimmed.
    fn context_size(&self) -> Option<u32>;

    /// Counts the tokens of a request. `None` when the model cannot count; the caller then estimates.
    fn count_tokens<'a>(&'a self, request: &'a StepRequest) -> BoxFuture<'a, Option<u32>> {
        let _ = request;
        Box::pin(std::future::ready(None))
    }

    /// Lets the model prepare for requests with these instructions. A hint; returns at once.
    fn prewarm(&self, instructions: Option<&str>) {
        let _ = instructions;
    }

    /// What the model can do.
    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }
}

impl std::fmt::Debug for dyn Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Model")
    }
}

/// What a model can do beyond answering.
#[expect(clippy::struct_excessive_bools, reason = "independent abilities, each named")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Capabilities {
    /// Answers arrive piece by piece.
    pub streaming: bool,
    /// Tool calls come from the model itself, not from a prompt that asks for them.
    pub native_tools: bool,
    /// Structured answers are constrained while they are generated.
    pub guided_generation: bool,
    /// [`Model::count_tokens`] counts.
    pub token_count: bool,
    /// Prompts may hold [images](crate::TurnOptions::images).
    pub images: bool,
}

/// Whether a model can be asked now, with what is known of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Availability {
    /// `None` when available.
    pub unavailable: Option<UnavailableReason>,
    /// The context size to plan with, in tokens; also known of models that are unavailable.
    pub context_size: u32,
    /// The model's name, if it has one.
    pub variant: Option<String>,
    /// BCP 47 tags, sorted.
    pub supported_languages: Vec<String>,
}

/// The context size assumed where a model tells none, in tokens.
pub const DEFAULT_CONTEXT_SIZE: u32 = 8192;

/// Why a model cannot be asked now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UnavailableReason {
    /// This device cannot run the model.
    DeviceNotEligible,
    /// The model is switched off in the system's settings.
    AppleIntelligenceNotEnabled,
    /// The model is still loading.
    ModelNotReady,
    /// Anything else.
    Unknown,
}

impl UnavailableReason {
    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::DeviceNotEligible => "device_not_eligible",
            Self::AppleIntelligenceNotEnabled => "apple_intelligence_not_enabled",
            Self::ModelNotReady => "model_not_ready",
            Self::Unknown => "unknown",
        }
    }
}

/// All that one inference needs. Cheap to clone: the parts are shared.
#[derive(Debug, Clone)]
pub struct StepRequest {
    /// The instructions in force, context note included.
    pub instructions: Option<Arc<str>>,
    /// The conversation as the model may see it: oldest turns may be hidden, the turn in progress is last.
    pub transcript: TranscriptView,
    /// The tools that the model may see in this step, in definition order.
    pub tools: Vec<Arc<ToolDefinition>>,
    /// Whether the model may, must or must not call tools.
    pub tool_mode: ToolMode,
    /// The form of the answer, if it is to be structured.
    pub schema: Option<Arc<GenerationSchema>>,
    /// How to generate.
    pub options: GenerationOptions,
    /// Whether the answer should be sent to the sink piece by piece.
    pub stream: bool,
    /// Steps with the same key share a prefix; a model that caches may use it.
    pub cache_key: u64,
}

/// Whether the model may, must or must not call tools in a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolMode {
    /// The model decides.
    Allowed,
    /// The model must call a tool.
    Required,
    /// The model must answer; it sees no tools.
    Disallowed,
}

impl ToolMode {
    /// The name on the wire (`toolCallingMode`).
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Required => "required",
            Self::Disallowed => "disallowed",
        }
    }
}

/// How to generate; unset members leave it to the model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GenerationOptions {
    /// At least 0.
    pub temperature: Option<f64>,
    /// At least 1.
    pub max_response_tokens: Option<u32>,
    /// How the next token is chosen.
    pub sampling: Option<Sampling>,
}

/// How the next token is chosen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Sampling {
    /// Always the likeliest: reproducible.
    Greedy,
    /// Among the `k` likeliest, `k` at least 1.
    TopK {
        /// How many tokens are considered.
        k: u32,
        /// Makes the choice reproducible.
        seed: Option<u64>,
    },
    /// Among the likeliest that together reach probability `p`, from 0 to 1.
    TopP {
        /// The probability mass considered.
        p: f64,
        /// Makes the choice reproducible.
        seed: Option<u64>,
    },
}

/// Hears what a model says during a step.
pub trait StepSink: Send {
    /// The answer grew by `delta`.
    fn text(&mut self, delta: &str);
    /// The model took back what it said; the answer so far is `text`.
    fn reset(&mut self, text: &str);
    /// The structured answer so far, members in the order of generation.
    fn partial(&mut self, value: Value);
    /// What worked on the step was lost, and the step played again elsewhere; `why` is for the log. May be told when
    /// the step has ended.
    fn interrupted(&mut self, why: &str) {
        let _ = why;
    }
}

/// How a step ended.
#[derive(Debug, Clone, PartialEq)]
pub struct StepOutcome {
    /// What the model produced.
    pub content: StepContent,
    /// What it cost.
    pub usage: Usage,
}

/// What a model produced in a step.
#[derive(Debug, Clone, PartialEq)]
pub enum StepContent {
    /// An answer in prose. In a step with a schema it must be the JSON text of the answer.
    Text(String),
    /// A structured answer.
    Structured(Value),
    /// The model wants tools called before it goes on. Never empty.
    ToolCalls(Vec<ModelToolCall>),
}

/// A tool call as the model made it.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelToolCall {
    /// The model's own id of the call; it ties the output to the call in the transcript.
    pub id: String,
    /// The tool's name, as the model wrote it.
    pub name: String,
    /// The arguments, not yet checked.
    pub arguments: Map<String, Value>,
}

/// Tokens used. Adds up over the steps of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// All input tokens, cached ones included.
    pub input_tokens: u64,
    /// Input tokens that the model had cached.
    pub cached_input_tokens: u64,
    /// Generated tokens.
    pub output_tokens: u64,
}

impl Usage {
    /// Input and output together.
    pub fn total_tokens(self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
}

impl Serialize for Usage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut usage = serializer.serialize_struct("Usage", 4)?;
        usage.serialize_field("inputTokens", &self.input_tokens)?;
        usage.serialize_field("cachedInputTokens", &self.cached_input_tokens)?;
        usage.serialize_field("outputTokens", &self.output_tokens)?;
        usage.serialize_field("totalTokens", &self.total_tokens())?;
        usage.end()
    }
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.cached_input_tokens = self.cached_input_tokens.saturating_add(other.cached_input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
    }
}
