//! Completions as they are sent: whole, and in chunks.

use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use oam_agent::json_text;
use serde::{Serialize, Serializer, ser::SerializeStruct};

use super::generation::{Call, Finish, TokenUsage};
use crate::api_error::{ApiError, ErrorBody};

const FINGERPRINT: &str = "fp_oam";
const ID_CHARS: usize = 29;

/// The end of a stream.
const DONE: &[u8] = b"data: [DONE]\n\n";

/// What all chunks of a completion share.
#[derive(Debug, Clone)]
pub(super) struct Head {
    id: String,
    created: u64,
    /// The model's own id.
    model: String,
}

impl Head {
    pub(super) fn new(model: String) -> Self {
        let mut id = "chatcmpl-".to_owned();
        id.extend(std::iter::repeat_with(fastrand::alphanumeric).take(ID_CHARS));
        Self { id, created: unix_seconds(), model }
    }
}

pub(super) fn unix_seconds() -> u64 {
    // A clock before 1970 is wrong anyway.
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

/// A whole answer.
#[derive(Debug)]
pub(super) struct Message<'a> {
    pub(super) content: Option<&'a str>,
    pub(super) refusal: Option<&'a str>,
    pub(super) calls: &'a [Call],
    pub(super) finish: Finish,
}

/// The body of an answer that is not streamed.
pub(super) fn completion(head: &Head, message: &Message<'_>, usage: TokenUsage) -> Bytes {
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
    let mut body = Vec::new();
    json_text::write(&mut body, &completion);
    body.into()
}

/// What a chunk adds.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(untagged)]
pub(super) enum Delta<'a> {
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
    pub(super) const ROLE: Self = Self::Role { role: "assistant", content: "" };
}

/// Writes the events of a stream.
#[derive(Debug)]
pub(super) struct Chunks<'a> {
    head: &'a Head,
    /// A last chunk tells the usage.
    include_usage: bool,
    events: Vec<u8>,
}

impl<'a> Chunks<'a> {
    pub(super) fn new(head: &'a Head, include_usage: bool) -> Self {
        Self { head, include_usage, events: Vec::new() }
    }

    pub(super) fn delta(&mut self, delta: Delta<'_>) {
        self.choice(delta, None);
    }

    /// The end of an answer.
    pub(super) fn finish(&mut self, finish: Finish, usage: TokenUsage) {
        self.choice(Delta::None {}, Some(finish));
        if self.include_usage {
            self.chunk::<[(); 0]>([], Some(usage));
        }
        self.events.extend_from_slice(DONE);
    }

    /// The end of an answer that failed.
    pub(super) fn fail(&mut self, error: &ApiError) {
        self.event(&ErrorBody { error });
        self.events.extend_from_slice(DONE);
    }

    pub(super) fn into_bytes(self) -> Bytes {
        self.events.into()
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
        self.event(&chunk);
    }

    fn event(&mut self, event: &impl Serialize) {
        self.events.extend_from_slice(b"data: ");
        json_text::write(&mut self.events, event);
        self.events.extend_from_slice(b"\n\n");
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
