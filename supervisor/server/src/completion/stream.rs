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

use super::{
    generation::{Completed, Output, Pieces},
    wire::{Chunks, Delta, Head},
};
use crate::api_error::ApiError;

/// When more pieces wait than these they are joined: a reader that is behind needs fewer chunks, not all of them.
const PIECES_AHEAD: usize = 32;

/// The events of a streamed completion, ready to be sent: each item holds whole events. It ends after `[DONE]`. Dropping it
/// cancels the completion.
#[derive(Debug)]
pub struct ChatStream {
    head: Head,
    include_usage: bool,
    /// What is sent first, until it is.
    first: Option<Event>,
    rest: Events,
    has_ended: bool,
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

impl ChatStream {
    /// A stream of what `generate` makes, on a task of its own. Resolves when there is something to be sent; what fails before
    /// is an error.
    pub(super) async fn start<F>(
        head: Head,
        include_usage: bool,
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
        Ok(Self { head, include_usage, first: Some(first), rest, has_ended: false })
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

impl Stream for ChatStream {
    type Item = Bytes;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let this = self.get_mut();
        if this.has_ended {
            return Poll::Ready(None);
        }
        let mut chunks = Chunks::new(&this.head, this.include_usage);
        let event = match this.first.take() {
            Some(first) => {
                chunks.delta(Delta::ROLE);
                first
            }
            None => ready!(this.rest.poll(context)),
        };
        match event {
            Event::Piece(text) => chunks.delta(Delta::Content { content: &text }),
            Event::End(end) => {
                this.has_ended = true;
                finish(&mut chunks, end);
            }
        }
        Poll::Ready(Some(chunks.into_bytes()))
    }
}

/// Everything that comes behind the text.
fn finish(chunks: &mut Chunks<'_>, end: Result<Completed, ApiError>) {
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
