//! Completions: from a request's body to its answer, or to the events of a stream.
//!
//! A request that can be used waits for its turn ([`queue`]), becomes an agent with one turn ([`generation`], [`history`]),
//! whose answer is watched while it grows ([`listener`], [`answer`], [`stop_filter`]) and told in the words of an API ([`teller`],
//! [`stream`]).

mod answer;
mod catalog;
mod completed;
mod config;
mod generation;
mod history;
mod image_files;
mod json_answer;
mod listener;
mod queue;
mod stop_filter;
mod stream;
mod teller;
#[cfg(test)]
mod tests;

use std::{pin::pin, sync::Arc};

use bytes::Bytes;
use tokio::time::{Instant, timeout_at};

use crate::{
    api_error::ApiError,
    chat::{ChatRequest, ChatTeller},
    request::CompletionRequest,
    responses::{ResponseRequest, ResponseTeller},
};
use catalog::Catalog;
pub(crate) use catalog::Health;
pub(crate) use completed::{Call, Completed, Finish, Output, TokenUsage};
pub use config::{CompletionsConfig, ConfigError, Limits, ServedModel};
use generation::Pieces;
use queue::{Place, Queue};
pub(crate) use stream::CompletionStream;
pub(crate) use teller::Teller;

/// The server without HTTP. Cloning refers to the same one.
#[derive(Debug, Clone)]
pub struct Completions {
    inner: Arc<Inner>,
}

/// Bodies of at least so many bytes are read where nobody waits for it; it takes longer than handing them over.
const LARGE_BODY: usize = 64 * 1024;

#[derive(Debug)]
struct Inner {
    catalog: Catalog,
    queue: Queue,
}

/// An answer to a request for a completion.
#[derive(Debug)]
pub(crate) enum CompletionReply {
    /// JSON, with status 200.
    Whole(Bytes),
    /// Server-sent events, with status 200.
    Stream(CompletionStream),
}

impl Completions {
    /// Fails when the configuration cannot be served.
    pub fn new(config: CompletionsConfig) -> Result<Self, ConfigError> {
        let queue = Queue::new(config.limits.concurrent, config.limits.queued);
        Ok(Self { inner: Arc::new(Inner { catalog: Catalog::new(config)?, queue }) })
    }

    /// Answers `POST /v1/chat/completions`. A stream is returned when its first event is there: what fails before is an
    /// error. Dropping the future cancels the completion, also while it waits for its turn.
    pub(crate) async fn chat(&self, body: Bytes) -> Result<CompletionReply, ApiError> {
        let deadline = self.deadline();
        let ChatRequest { completion, stream } = self.read(body, ChatRequest::read).await?;
        let teller = ChatTeller::new(completion.model.clone(), stream);
        self.complete(completion, stream.is_some(), Box::new(teller), deadline).await
    }

    /// Answers `POST /v1/responses`, in the same way.
    pub(crate) async fn respond(&self, body: Bytes) -> Result<CompletionReply, ApiError> {
        let deadline = self.deadline();
        let ResponseRequest { completion, is_streamed, echo } =
            self.read(body, ResponseRequest::read).await?;
        let teller = ResponseTeller::new(completion.model.clone(), echo);
        self.complete(completion, is_streamed, Box::new(teller), deadline).await
    }

    /// What `read` makes of a body, which is let go of.
    async fn read<R: Send + 'static>(
        &self,
        body: Bytes,
        read: fn(&[u8], &Catalog) -> Result<R, ApiError>,
    ) -> Result<R, ApiError> {
        if body.len() < LARGE_BODY {
            return read(&body, &self.inner.catalog);
        }
        let inner = Arc::clone(&self.inner);
        let reading = tokio::task::spawn_blocking(move || read(&body, &inner.catalog));
        reading.await.unwrap_or_else(|_| Err(ApiError::internal()))
    }

    async fn complete(
        &self,
        request: Box<CompletionRequest>,
        is_streamed: bool,
        teller: Box<dyn Teller>,
        deadline: Instant,
    ) -> Result<CompletionReply, ApiError> {
        let inner = Arc::clone(&self.inner);
        inner.expect_able(&request)?;
        let place = timeout_at(deadline, inner.queue.enter()).await.map_err(|_| ApiError::timeout())??;
        if !is_streamed {
            let completed = inner.generate(request, place, deadline, None).await?;
            return Ok(CompletionReply::Whole(teller.whole(completed)));
        }
        let generate = |pieces| inner.generate(request, place, deadline, Some(pieces));
        Ok(CompletionReply::Stream(CompletionStream::start(teller, generate).await?))
    }

    /// The body of `GET /v1/models`.
    pub(crate) fn models(&self) -> Bytes {
        self.inner.catalog.models()
    }

    /// The body of `GET /v1/models/{id}`; the id may be an alias.
    pub(crate) fn model(&self, id: &str) -> Result<Bytes, ApiError> {
        self.inner.catalog.model(id)
    }

    /// The answer to `GET /health`.
    pub(crate) fn health(&self) -> Health {
        self.inner.catalog.health(&self.inner.queue)
    }

    /// The completions that are generated now.
    pub(crate) fn active(&self) -> usize {
        self.inner.queue.active()
    }

    /// The completions that wait for their turn.
    pub(crate) fn queued(&self) -> usize {
        self.inner.queue.waiting()
    }

    fn deadline(&self) -> Instant {
        let now = Instant::now();
        now.checked_add(self.inner.catalog.config.limits.time).unwrap_or(now)
    }
}

impl Inner {
    /// Whether the model can be asked now, and for this.
    fn expect_able(&self, request: &CompletionRequest) -> Result<(), ApiError> {
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

    fn served(&self, request: &CompletionRequest) -> Result<&ServedModel, ApiError> {
        self.catalog.served(&request.model).ok_or_else(|| ApiError::model_not_found(&request.model))
    }

    /// Generates in this place, which is free again when the future ends or is dropped.
    async fn generate(
        self: Arc<Self>,
        request: Box<CompletionRequest>,
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
        let completed = pin!(generation::generate(request, &self.catalog, served, pieces));
        timeout_at(deadline, completed).await.map_err(|_| ApiError::timeout())?
    }
}
