//! Responses and their events as they are sent.

use serde::{Serialize, Serializer};

use super::Echo;
use crate::{
    api_error::{ApiError, ErrorKind},
    completion::{Call, TokenUsage},
    wire,
};

/// What stays the same of a response.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) id: String,
    pub(super) created_at: u64,
    /// The model's own id.
    pub(super) model: String,
    pub(super) echo: Echo,
}

/// How far a response or an item is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Status {
    InProgress,
    Completed,
    /// It is cut.
    Incomplete,
    Failed,
}

/// A response as it is at some time.
#[derive(Debug)]
pub(super) struct Response<'a> {
    pub(super) head: &'a Head,
    pub(super) status: Status,
    pub(super) output: &'a [Item],
    pub(super) usage: Option<TokenUsage>,
    pub(super) error: Option<&'a ApiError>,
}

impl Serialize for Response<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { head, status, output, usage, error } = self;
        let is_completed = *status == Status::Completed;
        let is_cut = *status == Status::Incomplete;
        Fields {
            id: &head.id,
            object: "response",
            created_at: head.created_at,
            status: *status,
            background: false,
            completed_at: is_completed.then(wire::unix_seconds),
            error: error.map(Failure::from),
            incomplete_details: is_cut.then_some(IncompleteDetails { reason: "max_output_tokens" }),
            max_tool_calls: None,
            model: &head.model,
            output,
            previous_response_id: None,
            reasoning: Reasoning { effort: None, summary: None },
            service_tier: "default",
            store: false,
            top_logprobs: 0,
            usage: usage.map(Usage::from),
            user: None,
            echo: &head.echo,
        }
        .serialize(serializer)
    }
}

#[derive(Serialize)]
struct Fields<'a> {
    id: &'a str,
    object: &'static str,
    created_at: u64,
    status: Status,
    background: bool,
    completed_at: Option<u64>,
    error: Option<Failure<'a>>,
    incomplete_details: Option<IncompleteDetails>,
    max_tool_calls: Option<()>,
    model: &'a str,
    output: &'a [Item],
    previous_response_id: Option<()>,
    reasoning: Reasoning,
    service_tier: &'static str,
    store: bool,
    top_logprobs: u32,
    usage: Option<Usage>,
    user: Option<()>,
    #[serde(flatten)]
    echo: &'a Echo,
}

#[derive(Serialize)]
struct IncompleteDetails {
    reason: &'static str,
}

#[derive(Serialize)]
struct Reasoning {
    effort: Option<()>,
    summary: Option<()>,
}

/// An error within a response, which has fewer codes.
#[derive(Serialize)]
struct Failure<'a> {
    code: &'static str,
    message: &'a str,
}

impl<'a> From<&'a ApiError> for Failure<'a> {
    fn from(error: &'a ApiError) -> Self {
        let code = match error.kind {
            ErrorKind::InvalidRequest => "invalid_prompt",
            ErrorKind::RateLimit => "rate_limit_exceeded",
            ErrorKind::Server => "server_error",
        };
        Self { code, message: &error.message }
    }
}

#[derive(Serialize)]
struct Usage {
    input_tokens: u64,
    input_tokens_details: InputDetails,
    output_tokens: u64,
    output_tokens_details: OutputDetails,
    total_tokens: u64,
}

#[derive(Serialize)]
struct InputDetails {
    cache_write_tokens: u64,
    cached_tokens: u64,
}

#[derive(Serialize)]
struct OutputDetails {
    reasoning_tokens: u64,
}

impl From<TokenUsage> for Usage {
    fn from(usage: TokenUsage) -> Self {
        Self {
            input_tokens: usage.prompt,
            input_tokens_details: InputDetails { cache_write_tokens: 0, cached_tokens: usage.cached },
            output_tokens: usage.completion,
            output_tokens_details: OutputDetails { reasoning_tokens: 0 },
            total_tokens: usage.total(),
        }
    }
}

/// Something the model gave.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Item {
    Message(Message),
    Call(FunctionCall),
}

/// What the model said.
#[derive(Debug, Serialize)]
pub(super) struct Message {
    #[serde(rename = "type")]
    kind: &'static str,
    pub(super) id: String,
    status: Status,
    role: &'static str,
    content: Vec<Part>,
}

/// A call that the client is to execute.
#[derive(Debug, Serialize)]
pub(super) struct FunctionCall {
    #[serde(rename = "type")]
    kind: &'static str,
    pub(super) id: String,
    pub(super) status: Status,
    call_id: String,
    name: String,
    pub(super) arguments: String,
}

/// A part of what the model said.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Part {
    OutputText { text: String, annotations: [(); 0], logprobs: [(); 0] },
    Refusal { refusal: String },
}

impl Message {
    pub(super) fn new(id: String, status: Status, content: Vec<Part>) -> Self {
        Self { kind: "message", id, status, role: "assistant", content }
    }

    pub(super) fn new_id() -> String {
        wire::id("msg_")
    }
}

impl From<Call> for FunctionCall {
    fn from(Call { id, name, arguments }: Call) -> Self {
        Self {
            kind: "function_call",
            id: wire::id("fc_"),
            status: Status::Completed,
            call_id: id.as_str().to_owned(),
            name,
            arguments,
        }
    }
}

impl Part {
    pub(super) fn text(text: String) -> Self {
        Self::OutputText { text, annotations: [], logprobs: [] }
    }
}

/// The numbers of a stream's events.
#[derive(Debug, Default)]
pub(super) struct Sequence(u64);

impl Sequence {
    /// Writes the next event.
    pub(super) fn emit(&mut self, events: &mut Vec<u8>, name: &'static str, happening: &Happening<'_>) {
        #[derive(Serialize)]
        struct Event<'a> {
            #[serde(rename = "type")]
            name: &'static str,
            sequence_number: u64,
            #[serde(flatten)]
            happening: &'a Happening<'a>,
        }
        events.extend_from_slice(format!("event: {name}\n").as_bytes());
        wire::event_data(events, &Event { name, sequence_number: self.0, happening });
        self.0 += 1;
    }
}

/// What an event tells, beside its name.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Happening<'a> {
    Response {
        response: Response<'a>,
    },
    Message {
        output_index: usize,
        item: &'a Message,
    },
    Call {
        output_index: usize,
        item: &'a FunctionCall,
    },
    InMessage {
        item_id: &'a str,
        output_index: usize,
        content_index: usize,
        #[serde(flatten)]
        what: InMessage<'a>,
    },
    ArgumentsDelta {
        item_id: &'a str,
        output_index: usize,
        delta: &'a str,
    },
    Arguments {
        item_id: &'a str,
        output_index: usize,
        arguments: &'a str,
    },
    Error {
        code: Option<&'static str>,
        message: &'a str,
        param: Option<&'a str>,
    },
}

/// What happens to a part of a message.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum InMessage<'a> {
    Part { part: &'a Part },
    TextDelta { delta: &'a str, logprobs: [(); 0] },
    Text { text: &'a str, logprobs: [(); 0] },
    RefusalDelta { delta: &'a str },
    Refusal { refusal: &'a str },
}
