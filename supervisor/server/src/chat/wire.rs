//! Completions as they are sent: whole, and in chunks.

use bytes::Bytes;
use serde::Serialize;

use super::StreamOptions;
use crate::{
    api_error::{ApiError, ErrorBody},
    completion::{Call, Completed, Finish, Output, Teller, TokenUsage},
    wire,
};

const FINGERPRINT: &str = "fp_oam";

/// The end of a stream.
const DONE: &[u8] = b"data: [DONE]\n\n";

/// Tells of a chat completion.
#[derive(Debug)]
pub(crate) struct ChatTeller {
    id: String,
    created: u64,
    /// The model's own id.
    model: String,
    /// A last chunk tells the usage.
    include_usage: bool,
}

impl ChatTeller {
    /// `model` is the model's own id.
    pub(crate) fn new(model: String, stream: Option<StreamOptions>) -> Self {
        Self {
            id: wire::id("chatcmpl-"),
            created: wire::unix_seconds(),
            model,
            include_usage: stream.is_some_and(|stream| stream.include_usage),
        }
    }

    fn completion<C, U: Serialize>(
        &self,
        object: &'static str,
        choices: C,
        usage: Option<U>,
    ) -> Completion<'_, C, U> {
        let Self { id, created, model, .. } = self;
        Completion { id, object, created: *created, model, system_fingerprint: FINGERPRINT, choices, usage }
    }

    fn tell<C: Serialize>(&self, choices: C, usage: Option<Usage>, events: &mut Vec<u8>) {
        let usage = self.include_usage.then_some(usage);
        wire::event_data(events, &self.completion("chat.completion.chunk", choices, usage));
    }

    fn tell_choice(&self, delta: Delta<'_>, finish_reason: Option<Finish>, events: &mut Vec<u8>) {
        self.tell([ChunkChoice { index: 0, delta, logprobs: None, finish_reason }], None, events);
    }
}

impl Teller for ChatTeller {
    fn whole(self: Box<Self>, Completed { output, usage }: Completed) -> Bytes {
        let nothing = Message {
            role: "assistant",
            content: None,
            refusal: None,
            tool_calls: Vec::new(),
            annotations: [],
        };
        let message = match &output {
            Output::Text { text, .. } => Message { content: Some(text), ..nothing },
            Output::ToolCalls(calls) => {
                Message { tool_calls: calls.iter().map(|call| ToolCall::of(call, None)).collect(), ..nothing }
            }
            Output::Refusal(refusal) => Message { refusal: Some(refusal), ..nothing },
        };
        let choice = Choice { index: 0, message, logprobs: None, finish_reason: output.finish() };
        wire::json(&self.completion("chat.completion", [choice], Some(Usage::from(usage))))
    }

    fn begin(&mut self, events: &mut Vec<u8>) {
        self.tell_choice(Delta::Role { role: "assistant", content: "" }, None, events);
    }

    fn piece(&mut self, text: &str, events: &mut Vec<u8>) {
        self.tell_choice(Delta::Content { content: text }, None, events);
    }

    fn end(&mut self, end: Result<Completed, ApiError>, events: &mut Vec<u8>) {
        match end {
            Ok(Completed { output, usage }) => {
                match &output {
                    Output::Text { .. } => {}
                    Output::ToolCalls(calls) => {
                        let calls = calls.iter().enumerate();
                        let tool_calls = calls.map(|(index, call)| ToolCall::of(call, Some(index))).collect();
                        self.tell_choice(Delta::ToolCalls { tool_calls }, None, events);
                    }
                    Output::Refusal(refusal) => self.tell_choice(Delta::Refusal { refusal }, None, events),
                }
                self.tell_choice(Delta::None {}, Some(output.finish()), events);
                if self.include_usage {
                    self.tell::<[(); 0]>([], Some(usage.into()), events);
                }
            }
            Err(error) => wire::event_data(events, &ErrorBody { error: &error }),
        }
        events.extend_from_slice(DONE);
    }
}

/// A completion, whole or a chunk of it.
#[derive(Serialize)]
struct Completion<'a, C, U: Serialize> {
    id: &'a str,
    object: &'static str,
    created: u64,
    model: &'a str,
    system_fingerprint: &'static str,
    choices: C,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<U>,
}

#[derive(Serialize)]
struct Choice<'a> {
    index: u32,
    message: Message<'a>,
    logprobs: Option<()>,
    finish_reason: Finish,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    content: Option<&'a str>,
    refusal: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<ToolCall<'a>>,
    annotations: [(); 0],
}

#[derive(Serialize)]
struct ChunkChoice<'a> {
    index: u32,
    delta: Delta<'a>,
    logprobs: Option<()>,
    finish_reason: Option<Finish>,
}

/// What a chunk adds.
#[derive(Serialize)]
#[serde(untagged)]
enum Delta<'a> {
    Role { role: &'static str, content: &'static str },
    Content { content: &'a str },
    Refusal { refusal: &'a str },
    ToolCalls { tool_calls: Vec<ToolCall<'a>> },
    None {},
}

/// A call; in a chunk with its place.
#[derive(Serialize)]
struct ToolCall<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<usize>,
    id: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    arguments: &'a str,
}

impl<'a> ToolCall<'a> {
    fn of(Call { id, name, arguments }: &'a Call, index: Option<usize>) -> Self {
        Self { index, id: id.as_str(), kind: "function", function: Function { name, arguments } }
    }
}

#[derive(Serialize)]
struct Usage {
    prompt_tokens: u64,
    completion_tokens: u64,
    total_tokens: u64,
    prompt_tokens_details: PromptDetails,
    completion_tokens_details: CompletionDetails,
}

#[derive(Serialize)]
struct PromptDetails {
    cached_tokens: u64,
}

#[derive(Serialize)]
struct CompletionDetails {
    reasoning_tokens: u64,
}

impl From<TokenUsage> for Usage {
    fn from(usage: TokenUsage) -> Self {
        Self {
            prompt_tokens: usage.prompt,
            completion_tokens: usage.completion,
            total_tokens: usage.total(),
            prompt_tokens_details: PromptDetails { cached_tokens: usage.cached },
            completion_tokens_details: CompletionDetails { reasoning_tokens: 0 },
        }
    }
}
