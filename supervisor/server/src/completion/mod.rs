//! Chat completions: from a request's body to its answer, or to the events of a stream.
//!
//! A request that can be used waits for its turn ([`queue`]), becomes an agent with one turn ([`generation`], [`history`]),
//! whose answer is watched while it grows ([`answer`], [`stop_filter`]) and told as OpenAI tells it ([`wire`], [`stream`]).

mod answer;
mod catalog;
mod config;
mod generation;
mod history;
mod image_files;
mod json_answer;
mod queue;
mod stop_filter;
mod stream;
#[cfg(test)]
mod tests;
mod wire;

use std::sync::Arc;

use bytes::Bytes;
use tokio::time::{Instant, timeout_at};

use crate::{
    api_error::ApiError,
    chat::{ChatRequest, StreamOptions},
};
use catalog::Catalog;
pub use catalog::Health;
pub use config::{CompletionsConfig, ConfigError, Limits, ServedModel};
use generation::{Completed, Output, Pieces};
use queue::{Place, Queue};
pub use stream::ChatStream;
use wire::{Head, Message};

/// The server without HTTP. Cloning refers to the same one.
#[derive(Debug, Clone)]
pub struct Completions {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    catalog: Catalog,
    queue: Queue,
}

/// An answer to a chat completion.
#[derive(Debug)]
pub enum ChatReply {
    /// JSON, with status 200.
    Whole(Bytes),
    /// Server-sent events, with status 200.
    Stream(ChatStream),
}

impl Completions {
    /// Fails when the configuration cannot be served.
    pub fn new(config: CompletionsConfig) -> Result<Self, ConfigError> {
        let queue = Queue::new(config.limits.concurrent, config.limits.queued);
        Ok(Self { inner: Arc::new(Inner { catalog: Catalog::new(config)?, queue }) })
    }

    /// Answers `POST /v1/chat/completions`. A stream is returned when its first event is there: what fails before is an
    /// error. Dropping the future cancels the completion, also while it waits for its turn.
    pub async fn chat(&self, body: &[u8]) -> Result<ChatReply, ApiError> {
        let deadline = self.deadline();
        let request = ChatRequest::read(body, &self.inner.catalog)?;
        self.inner.expect_able(&request)?;
        let place =
            timeout_at(deadline, self.inner.queue.enter()).await.map_err(|_| ApiError::timeout())??;
        let head = Head::new(request.model.clone());
        match request.stream {
            None => {
                let completed = Arc::clone(&self.inner).generate(request, place, deadline, None).await?;
                Ok(ChatReply::Whole(whole(&head, &completed)))
            }
            Some(StreamOptions { include_usage }) => {
                let inner = Arc::clone(&self.inner);
                let generate = |pieces| inner.generate(request, place, deadline, Some(pieces));
                Ok(ChatReply::Stream(ChatStream::start(head, include_usage, generate).await?))
            }
        }
    }

    /// The body of `GET /v1/models`.
    pub fn models(&self) -> Bytes {
        self.inner.catalog.models()
    }

    /// The body of `GET /v1/models/{id}`; the id may be an alias.
    pub fn model(&self, id: &str) -> Result<Bytes, ApiError> {
        self.inner.catalog.model(id)
    }

    /// The answer to `GET /health`.
    pub fn health(&self) -> Health {
        self.inner.catalog.health(&self.inner.queue)
    }

    /// The completions that are generated now.
    pub fn active(&self) -> usize {
        self.inner.queue.active()
    }

    /// The completions that wait for their turn.
    pub fn queued(&self) -> usize {
        self.inner.queue.waiting()
    }

    fn deadline(&self) -> Instant {
        let now = Instant::now();
        now.checked_add(self.inner.catalog.config.limits.time).unwrap_or(now)
    }
}

impl Inner {
    /// Whether the model can be asked now, and for this.
    fn expect_able(&self, request: &ChatRequest) -> Result<(), ApiError> {
        let ServedModel { id, model, .. } = self.served(request)?;
        if let Some(reason) = model.availability().unavailable {
            return Err(ApiError::model_unavailable(id, reason));
        }
        match &request.conversation.first_image {
            Some(place) if !model.capabilities().images => {
                let message =
                    format!("'{place}' holds an image, and the model '{id}' cannot do with images.");
                Err(ApiError::invalid_request(message).at(place))
            }
            _ => Ok(()),
        }
    }

    fn served(&self, request: &ChatRequest) -> Result<&ServedModel, ApiError> {
        self.catalog.served(&request.model).ok_or_else(|| ApiError::model_not_found(&request.model))
    }

    /// Generates in this place, which is free again when the future ends or is dropped.
    async fn generate(
        self: Arc<Self>,
        request: ChatRequest,
        place: Place,
        deadline: Instant,
        pieces: Option<Pieces>,
    ) -> Result<Completed, ApiError> {
        let _place = place;
        if Instant::now() >= deadline {
            // The place came too late; the model is not bothered.
            return Err(ApiError::timeout());
        }
        let served = self.served(&request)?;
        let completed = generation::generate(request, &self.catalog, served, pieces);
        timeout_at(deadline, completed).await.map_err(|_| ApiError::timeout())?
    }
}

fn whole(head: &Head, Completed { output, usage }: &Completed) -> Bytes {
    let nothing = Message { content: None, refusal: None, calls: &[], finish: output.finish() };
    let message = match output {
        Output::Text { text, .. } => Message { content: Some(text), ..nothing },
        Output::ToolCalls(calls) => Message { calls, ..nothing },
        Output::Refusal(refusal) => Message { refusal: Some(refusal), ..nothing },
    };
    wire::completion(head, &message, *usage)
}
