//! Responses: their heads, and the bodies that hyper sends.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use futures_util::Stream;
use hyper::{
    Response, StatusCode,
    body::{Body, Frame, SizeHint},
    header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE},
};
use tokio_util::sync::CancellationToken;

use super::{
    access_log::{AccessRecord, Failure},
    budget::Share,
    deadline::Deadline,
    gate::Exchange,
};
use crate::{ApiError, CompletionStream};

/// What the header field `Server` says.
pub(super) const SERVER: &str = concat!("oam/", env!("CARGO_PKG_VERSION"));
const JSON: HeaderValue = HeaderValue::from_static("application/json");
/// A comment, which clients pass over.
const KEEP_ALIVE_COMMENT: Bytes = Bytes::from_static(b": keep-alive\n\n");

/// What a response says, before it is tied to a connection.
#[derive(Debug)]
pub(super) enum Content {
    Empty,
    Whole(Bytes),
    Events(Events),
}

/// The events of a stream, with comments where it is silent for long.
#[derive(Debug)]
pub(super) struct Events {
    stream: CompletionStream,
    /// Of the request, which the stream keeps.
    _share: Arc<Share>,
    longest_silence: Option<Duration>,
    silence: Deadline,
    /// Ends the stream; who cuts polls it once more.
    cut: CancellationToken,
}

impl Events {
    pub(super) fn new(
        stream: CompletionStream,
        share: Arc<Share>,
        longest_silence: Option<Duration>,
        cut: CancellationToken,
    ) -> Self {
        let mut events = Self { stream, _share: share, longest_silence, silence: Deadline::default(), cut };
        events.silence_begins();
        events
    }

    fn silence_begins(&mut self) {
        if let Some(longest) = self.longest_silence {
            self.silence.set(longest);
        }
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let next = match Pin::new(&mut self.stream).poll_next(context) {
            Poll::Ready(next) => next,
            Poll::Pending if self.cut.is_cancelled() => Some(self.stream.cut(ApiError::server_stopping())),
            Poll::Pending => {
                ready!(self.silence.poll(context));
                Some(KEEP_ALIVE_COMMENT)
            }
        };
        self.silence_begins();
        Poll::Ready(next)
    }
}

/// A response without what its connection adds.
pub(super) type Reply = Response<Content>;

pub(super) fn reply(status: StatusCode, content: Content) -> Reply {
    let mut reply = Response::new(content);
    *reply.status_mut() = status;
    reply
}

pub(super) fn json(status: StatusCode, body: Bytes) -> Reply {
    let mut reply = reply(status, Content::Whole(body));
    reply.headers_mut().insert(CONTENT_TYPE, JSON);
    reply
}

pub(super) fn text(body: String, content_type: &'static str) -> Reply {
    let mut reply = reply(StatusCode::OK, Content::Whole(body.into()));
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    reply
}

pub(super) fn events(events: Events) -> Reply {
    let mut reply = reply(StatusCode::OK, Content::Events(events));
    let headers = reply.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream; charset=utf-8"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    reply
}

fn status_of(error: &ApiError) -> StatusCode {
    StatusCode::from_u16(error.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

/// The response to a request that fails. `allowed`: the method it should have had.
pub(super) fn error(error: &ApiError, allowed: &'static str) -> Reply {
    let status = status_of(error);
    let mut reply = json(status, error.body());
    reply.extensions_mut().insert(Failure::from(error));
    let headers = reply.headers_mut();
    if let Some(seconds) = error.retry_after {
        headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    match status {
        StatusCode::UNAUTHORIZED => {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        StatusCode::METHOD_NOT_ALLOWED => {
            headers.insert(ALLOW, HeaderValue::from_static(allowed));
        }
        _ => {}
    }
    reply
}

/// The bytes of a response that ends a connection which hyper does not serve.
pub(super) fn refusal(error: &ApiError) -> Vec<u8> {
    let status = status_of(error);
    let body = error.body();
    let date = httpdate::fmt_http_date(SystemTime::now());
    let retry_after =
        error.retry_after.map(|seconds| format!("retry-after: {seconds}\r\n")).unwrap_or_default();
    let head = format!(
        "HTTP/1.1 {} {}\r\nserver: {SERVER}\r\ndate: {date}\r\nconnection: close\r\n{retry_after}content-type: \
         application/json\r\ncontent-length: {}\r\n\r\n",
        status.as_str(),
        status.canonical_reason().unwrap_or("Error"),
        body.len()
    );
    [head.as_bytes(), &body].concat()
}

/// A response's body on its connection. When hyper drops it, it has taken all of it, or the client is gone.
#[derive(Debug)]
pub(super) struct ReplyBody {
    content: Content,
    /// Until this is dropped.
    record: Option<AccessRecord>,
    exchange: Arc<Exchange>,
}

impl ReplyBody {
    pub(super) fn new(content: Content, record: AccessRecord, exchange: Arc<Exchange>) -> Self {
        Self { content, record: Some(record), exchange }
    }
}

impl Drop for ReplyBody {
    fn drop(&mut self) {
        if let Some(record) = self.record.take() {
            self.exchange.set_answered(record);
        }
    }
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let body = self.get_mut();
        let next = match &mut body.content {
            Content::Empty => None,
            Content::Whole(bytes) => {
                let bytes = std::mem::take(bytes);
                body.content = Content::Empty;
                (!bytes.is_empty()).then_some(bytes)
            }
            Content::Events(events) => {
                let next = ready!(events.poll_next(context));
                if next.is_none()
                    && let Some(record) = &mut body.record
                {
                    record.stream_ended(events.stream.error().map(Failure::from));
                }
                next
            }
        };
        Poll::Ready(next.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.content, Content::Empty)
    }

    fn size_hint(&self) -> SizeHint {
        match &self.content {
            Content::Empty => SizeHint::with_exact(0),
            Content::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Content::Events(_) => SizeHint::default(),
        }
    }
}
