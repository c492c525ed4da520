//! A streamed completion: a task generates it, whoever reads the stream takes what is there.
//!
//! The task does not wait for the reader, so a reader that is slow keeps nobody else from generating; what waits is bounded
//! by the length of the answer.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use futures_util::Stream;
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

use super::{completed::Completed, generation::Pieces, teller::Teller};
use crate::api_error::ApiError;

/// When more pieces wait than these they are joined: a reader that is behind needs fewer chunks, not all of them.
const PIECES_AHEAD: usize = 32;

/// The events of a streamed completion, ready to be sent: each item holds whole events. Dropping it cancels the
/// completion.
#[derive(Debug)]
pub(crate) struct CompletionStream {
    teller: Box<dyn Teller>,
    /// What is sent first, until it is.
    first: Option<Event>,
    rest: Events,
    has_ended: bool,
    error: Option<Box<ApiError>>,
}

/// What a streamed completion consists of.
#[derive(Debug)]
enum Event {
    Piece(String),
    End(Result<Completed, ApiError>),
}

/// Pieces while the task goes, then its end.
#[derive(Debug)]
struct Events {
    pieces: mpsc::UnboundedReceiver<String>,
    task: AbortOnDropHandle<Result<Completed, ApiError>>,
}

impl CompletionStream {
    /// A stream of what `generate` makes, on a task of its own. Resolves when there is something to be sent; what fails before
    /// is an error.
    pub(super) async fn start<F>(
        teller: Box<dyn Teller>,
        generate: impl FnOnce(Pieces) -> F,
    ) -> Result<Self, ApiError>
    where
        F: Future<Output = Result<Completed, ApiError>> + Send + 'static,
    {
        let (sender, pieces) = mpsc::unbounded_channel();
        let task = AbortOnDropHandle::new(tokio::spawn(generate(sender)));
        let mut rest = Events { pieces, task };
        let first = std::future::poll_fn(|context| rest.poll(context)).await;
        if let Event::End(Err(error)) = first {
            return Err(error);
        }
        Ok(Self { teller, first: Some(first), rest, has_ended: false, error: None })
    }

    /// The events of an end before the time. There are no others after them.
    pub(crate) fn cut(&mut self, error: ApiError) -> Bytes {
        let mut events = Vec::new();
        self.end(Err(error), &mut events);
        events.into()
    }

    fn end(&mut self, end: Result<Completed, ApiError>, events: &mut Vec<u8>) {
        self.has_ended = true;
        self.error = end.as_ref().err().cloned().map(Box::new);
        self.teller.end(end, events);
    }

    /// What the stream ended with, if that is an error.
    pub(crate) fn error(&self) -> Option<&ApiError> {
        self.error.as_deref()
    }
}

impl Events {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Event> {
        if let Some(mut text) = ready!(self.pieces.poll_recv(context)) {
            while self.pieces.len() > PIECES_AHEAD
                && let Ok(more) = self.pieces.try_recv()
            {
                text.push_str(&more);
            }
            return Poll::Ready(Event::Piece(text));
        }
        let end = ready!(Pin::new(&mut self.task).poll(context));
        Poll::Ready(Event::End(end.unwrap_or_else(|error| {
            tracing::error!("a completion ended without a result: {error}");
            Err(ApiError::internal())
        })))
    }
}

impl Stream for CompletionStream {
    type Item = Bytes;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let this = self.get_mut();
        if this.has_ended {
            return Poll::Ready(None);
        }
        let mut events = Vec::new();
        let event = match this.first.take() {
            Some(first) => {
                this.teller.begin(&mut events);
                first
            }
            None => ready!(this.rest.poll(context)),
        };
        match event {
            Event::Piece(text) => this.teller.piece(&text, &mut events),
            Event::End(end) => this.end(end, &mut events),
        }
        Poll::Ready(Some(events.into()))
    }
}
