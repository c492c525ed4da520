//! Completions as they are sent: whole, and in chunks.

use bytes::Bytes;
use serde::{Serialize, Serializer, ser::SerializeStruct};

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
    head: Head,
    /// A last chunk tells the usage.
    include_usage: bool,
}

impl ChatTeller {
    /// `model` is the model's own id.
    pub(crate) fn new(model: String, stream: Option<StreamOptions>) -> Self {
        let head = Head { id: wire::id("chatcmpl-"), created: wire::unix_seconds(), model };
        Self { head, include_usage: stream.is_some_and(|stream| stream.include_usage) }
    }

    fn chunks<'a>(&'a self, events: &'a mut Vec<u8>) -> Chunks<'a> {
        Chunks { head: &self.head, include_usage: self.include_usage, events }
    }
}

impl Teller for ChatTeller {
    fn whole(self: Box<Self>, Completed { output, usage }: Completed) -> Bytes {
        let nothing = Message { content: None, refusal: None, calls: &[], finish: output.finish() };
        let message = match &output {
            Output::Text { text, .. } => Message { content: Some(text), ..nothing },
            Output::ToolCalls(calls) => Message { calls, ..nothing },
            Output::Refusal(refusal) => Message { refusal: Some(refusal), ..nothing },
        };
        completion(&self.head, &message, usage)
    }

    fn begin(&mut self, events: &mut Vec<u8>) {
        self.chunks(events).delta(Delta::ROLE);
    }

    fn piece(&mut self, text: &str, events: &mut Vec<u8>) {
        self.chunks(events).delta(Delta::Content { content: text });
    }

    fn end(&mut self, end: Result<Completed, ApiError>, events: &mut Vec<u8>) {
        let mut chunks = self.chunks(events);
        let Completed { output, usage } = match end {
            Ok(completed) => completed,
            Err(error) => return chunks.fail(&error),
        };
        match &output {
            Output::Text { .. } => {}
            Output::ToolCalls(calls) => chunks.delta(Delta::ToolCalls(calls)),
            Output::Refusal(refusal) => chunks.delta(Delta::Refusal { refusal }),
        }
        chunks.finish(output.finish(), usage);
    }
}

/// What all chunks of a completion share.
#[derive(Debug)]
struct Head {
    id: String,
    created: u64,
    /// The model's own id.
    model: String,
}

/// A whole answer.
#[derive(Debug)]
struct Message<'a> {
    content: Option<&'a str>,
    refusal: Option<&'a str>,
    calls: &'a [Call],
    finish: Finish,
}

/// The body of an answer that is not streamed.
fn completion(head: &Head, message: &Message<'_>, usage: TokenUsage) -> Bytes {
    let finish_reason = message.finish;
    let message = WholeMessage {
        role: "assistant",
        content: message.content,
        refusal: message.refusal,
        tool_calls: message.calls,
        annotations: [],
    };
    let completion = Completion {
        id: &head.id,
        object: "chat.completion",
        created: head.created,
        model: &head.model,
        system_fingerprint: FINGERPRINT,
        choices: [WholeChoice { index: 0, message, logprobs: None, finish_reason }],
        usage: Some(usage),
    };
    wire::json(&completion)
}

/// What a chunk adds.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(untagged)]
enum Delta<'a> {
    Role {
        role: &'static str,
        content: &'static str,
    },
    Content {
        content: &'a str,
    },
    Refusal {
        refusal: &'a str,
    },
    #[serde(serialize_with = "indexed_calls")]
    ToolCalls(&'a [Call]),
    None {},
}

impl Delta<'_> {
    const ROLE: Self = Self::Role { role: "assistant", content: "" };
}

/// Writes the events of a stream.
#[derive(Debug)]
struct Chunks<'a> {
    head: &'a Head,
    include_usage: bool,
    events: &'a mut Vec<u8>,
}

impl Chunks<'_> {
    fn delta(&mut self, delta: Delta<'_>) {
        self.choice(delta, None);
    }

    /// The end of an answer.
    fn finish(&mut self, finish: Finish, usage: TokenUsage) {
        self.choice(Delta::None {}, Some(finish));
        if self.include_usage {
            self.chunk::<[(); 0]>([], Some(usage));
        }
        self.events.extend_from_slice(DONE);
    }

    /// The end of an answer that failed.
    fn fail(&mut self, error: &ApiError) {
        wire::event_data(self.events, &ErrorBody { error });
        self.events.extend_from_slice(DONE);
    }

    fn choice(&mut self, delta: Delta<'_>, finish_reason: Option<Finish>) {
        self.chunk([ChunkChoice { index: 0, delta, logprobs: None, finish_reason }], None);
    }

    fn chunk<C: Serialize>(&mut self, choices: C, usage: Option<TokenUsage>) {
        let chunk = Completion {
            id: &self.head.id,
            object: "chat.completion.chunk",
            created: self.head.created,
            model: &self.head.model,
            system_fingerprint: FINGERPRINT,
            choices,
            usage: self.include_usage.then_some(usage),
        };
        wire::event_data(self.events, &chunk);
    }
}

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
struct WholeChoice<'a> {
    index: u32,
    message: WholeMessage<'a>,
    logprobs: Option<()>,
    finish_reason: Finish,
}

#[derive(Serialize)]
struct WholeMessage<'a> {
    role: &'static str,
    content: Option<&'a str>,
    refusal: Option<&'a str>,
    #[serde(skip_serializing_if = "<[Call]>::is_empty")]
    tool_calls: &'a [Call],
    annotations: [(); 0],
}

#[derive(Serialize)]
struct ChunkChoice<'a> {
    index: u32,
    delta: Delta<'a>,
    logprobs: Option<()>,
    finish_reason: Option<Finish>,
}

impl Call {
    fn write<S: Serializer>(&self, index: Option<usize>, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Function<'a> {
            name: &'a str,
            arguments: &'a str,
        }
        let mut call = serializer.serialize_struct("Call", 4)?;
        match index {
            Some(index) => call.serialize_field("index", &index)?,
            None => call.skip_field("index")?,
        }
        call.serialize_field("id", self.id.as_str())?;
        call.serialize_field("type", "function")?;
        call.serialize_field("function", &Function { name: &self.name, arguments: &self.arguments })?;
        call.end()
    }
}

impl Serialize for Call {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.write(None, serializer)
    }
}

/// `{"tool_calls": […]}`, with the places of the calls.
fn indexed_calls<S: Serializer>(calls: &[Call], serializer: S) -> Result<S::Ok, S::Error> {
    struct Indexed<'a>(usize, &'a Call);
    impl Serialize for Indexed<'_> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            self.1.write(Some(self.0), serializer)
        }
    }
    let calls: Vec<_> = calls.iter().enumerate().map(|(index, call)| Indexed(index, call)).collect();
    let mut delta = serializer.serialize_struct("Delta", 1)?;
    delta.serialize_field("tool_calls", &calls)?;
    delta.end()
}

impl Serialize for TokenUsage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct PromptDetails {
            cached_tokens: u64,
        }
        #[derive(Serialize)]
        struct CompletionDetails {
            reasoning_tokens: u64,
        }
        let Self { prompt, completion, cached } = *self;
        let mut usage = serializer.serialize_struct("Usage", 5)?;
        usage.serialize_field("prompt_tokens", &prompt)?;
        usage.serialize_field("completion_tokens", &completion)?;
        usage.serialize_field("total_tokens", &prompt.saturating_add(completion))?;
        usage.serialize_field("prompt_tokens_details", &PromptDetails { cached_tokens: cached })?;
        usage.serialize_field("completion_tokens_details", &CompletionDetails { reasoning_tokens: 0 })?;
        usage.end()
    }
}
