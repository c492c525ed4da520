//! Chat completions: from a request's body to its answer, or to the events of a stream.

mod config;

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_util::Stream;

use crate::api_error::ApiError;

pub use config::{CompletionsConfig, ConfigError, Limits, ServedModel};

/// The server without HTTP. Cloning refers to the same one.
#[derive(Debug, Clone)]
pub struct Completions {
    config: std::sync::Arc<CompletionsConfig>,
}

/// An answer to a chat completion.
#[derive(Debug)]
pub enum ChatReply {
    /// JSON, with status 200.
    Whole(Bytes),
    /// Server-sent events, with status 200.
    Stream(ChatStream),
}

/// The events of a streamed completion, ready to be sent: each item holds whole events. It ends after `[DONE]`. Dropping it
/// cancels the completion.
#[derive(Debug)]
pub struct ChatStream {}

/// What `GET /health` tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    /// Whether the default model can be asked: status 200, else 503.
    pub is_available: bool,
    /// JSON.
    pub body: Bytes,
}

impl Completions {
    /// Fails when the configuration cannot be served.
    pub fn new(config: CompletionsConfig) -> Result<Self, ConfigError> {
        Ok(Self { config: config.into() })
    }

    /// Answers `POST /v1/chat/completions`. A stream is returned when its first event is there: what fails before is an
    /// error. Dropping the future cancels the completion, also while it waits for its turn.
    pub async fn chat(&self, body: &[u8]) -> Result<ChatReply, ApiError> {
        let _ = body;
        std::future::ready(Err(ApiError::internal())).await
    }

    /// The body of `GET /v1/models`.
    pub fn models(&self) -> Bytes {
        Bytes::from(self.config.default_model.clone())
    }

    /// The body of `GET /v1/models/{id}`.
    pub fn model(&self, id: &str) -> Result<Bytes, ApiError> {
        Err(ApiError::model_not_found(id))
    }

    /// The answer to `GET /health`.
    pub fn health(&self) -> Health {
        Health { is_available: true, body: Bytes::new() }
    }
}

impl Stream for ChatStream {
    type Item = Bytes;

    fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Bytes>> {
        Poll::Ready(None)
    }
}
