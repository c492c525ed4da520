//! From a request that hyper has read to the response.

use std::{
    fmt,
    future::poll_fn,
    io,
    pin::{Pin, pin},
    sync::Arc,
    task::Poll,
};

use bytes::{Bytes, BytesMut};
use hyper::{
    HeaderMap, Method, Request, Response, StatusCode, Version,
    body::{Body, Incoming},
    header::{ALLOW, CONNECTION, CONTENT_TYPE, HOST, HeaderValue, SERVER as SERVER_FIELD},
};
use tokio_util::sync::CancellationToken;

use super::{
    access_log::AccessRecord,
    api_key::ApiKey,
    budget::{Budget, Share},
    config::ServerConfig,
    gate::Exchange,
    head::too_many_values,
    hosts::Hosts,
    json_values::ValueCounter,
    origins::{Grant, Origins},
    reply::{self, Content, Events, Reply, ReplyBody},
    route::{self, Route},
};
use crate::{ApiError, CompletionReply, Completions, metrics::Metrics};

/// What all connections of a server share.
#[derive(Debug)]
pub(super) struct Site {
    pub(super) completions: Completions,
    pub(super) config: ServerConfig,
    pub(super) origins: Origins,
    pub(super) api_key: Option<ApiKey>,
    pub(super) budget: Budget,
    /// No further requests are taken.
    pub(super) stopping: CancellationToken,
    /// Everything ends at once. Whoever serves a connection then looks once more for what can be sent.
    pub(super) cut: CancellationToken,
}

/// The client is gone, or too slow: nobody waits for a response.
#[derive(Debug)]
pub(super) struct HangUp;

impl fmt::Display for HangUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the request did not arrive")
    }
}

impl std::error::Error for HangUp {}

/// Why there is no body.
enum BodyError {
    Refused(ApiError),
    HangUp,
}

/// A body, and what it holds of the budget while it is there.
struct HeldBody {
    bytes: BytesMut,
    _share: Arc<Share>,
}

impl AsRef<[u8]> for HeldBody {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// A request whose head is fine.
enum Admitted {
    Preflight,
    To(Route),
}

impl Site {
    pub(super) fn new(completions: Completions, config: ServerConfig) -> Self {
        let cut = CancellationToken::new();
        let limits = &config.limits;
        let largest_body = usize::try_from(limits.largest_body).unwrap_or(usize::MAX);
        Self {
            origins: Origins::new(&config.allowed_origins),
            api_key: ApiKey::new(config.api_key.as_deref()),
            budget: Budget::new(
                limits.buffered_bytes.max(largest_body),
                limits.buffered_values.max(limits.most_values),
            ),
            completions,
            config,
            stopping: cut.child_token(),
            cut,
        }
    }

    pub(super) fn metrics(&self) -> &Metrics {
        &self.config.metrics
    }

    /// Answers a request that came through a listener with these names.
    ///
    /// Its head is examined before there is a future, in which it would take room to the end.
    pub(super) fn respond(
        self: Arc<Self>,
        hosts: &Hosts,
        exchange: Arc<Exchange>,
        request: Request<Incoming>,
    ) -> impl Future<Output = Result<Response<ReplyBody>, HangUp>> + use<> {
        let persists = asks_to_persist(&request);
        let path = route::decoded(request.uri().path());
        let origin = self.origins.admit(request.headers());
        let grant = origin.clone().unwrap_or(Grant::none());
        let admitted = check_host(hosts, &request).and(origin).and_then(|_| self.admit(&request, &path));
        let (admitted, persists) = match admitted {
            Ok(Admitted::To(route)) => (Ok(route), persists),
            Ok(Admitted::Preflight) => (Err(Box::new(preflight(&grant, request.headers()))), persists),
            Err(error) => (Err(Box::new(reply::error(&error, route::allowed_method(&path)))), false),
        };
        let mut record = AccessRecord::new(self.metrics().clone(), request.method().clone(), path);
        let body = request.into_body();
        async move {
            let (reply, persists) = match admitted {
                Ok(route) => {
                    record.set_route(&route);
                    match self.body_until_cut(body).await {
                        Ok((body, share)) => (self.answer_until_cut(&route, body, share).await, persists),
                        Err(BodyError::Refused(error)) => (reply::error(&error, ""), false),
                        Err(BodyError::HangUp) => return Err(HangUp),
                    }
                }
                Err(reply) => (*reply, persists),
            };
            let persists = persists && !exchange.is_last() && !self.stopping.is_cancelled();
            Ok(finished(reply, persists, &grant, record, exchange))
        }
    }

    /// The checks that need no body. A request that fails one is not read on.
    fn admit(&self, request: &Request<Incoming>, path: &str) -> Result<Admitted, ApiError> {
        if *request.method() == Method::OPTIONS {
            return Ok(Admitted::Preflight);
        }
        let route = Route::find(request.method(), path)?;
        if !route.is_open() && self.api_key.as_ref().is_some_and(|key| !key.opens(request.headers())) {
            return Err(ApiError::invalid_api_key());
        }
        if route.is_completion() && !is_json(request.headers()) {
            return Err(ApiError::unsupported_media_type());
        }
        Ok(Admitted::To(route))
    }

    /// The whole body, and its share of the budget, for whoever keeps what it says. Reading it is what asks for it, where a
    /// client waits to be asked.
    async fn collect(&self, mut body: Incoming) -> Result<(Bytes, Arc<Share>), BodyError> {
        let mut share = self.budget.share();
        let mut bytes = BytesMut::new();
        let mut values = ValueCounter::default();
        let most_values = self.config.limits.most_values;
        while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
            let Ok(data) = frame.map_err(|error| body_error(&error))?.into_data() else { continue };
            let values = values.take(&data);
            if share.values().saturating_add(values) > most_values {
                return Err(BodyError::Refused(too_many_values(most_values)));
            }
            share.grow(data.len(), values).map_err(BodyError::Refused)?;
            bytes.extend_from_slice(&data);
        }
        let share = Arc::new(share);
        Ok((Bytes::from_owner(HeldBody { bytes, _share: share.clone() }), share))
    }

    async fn body_until_cut(&self, body: Incoming) -> Result<(Bytes, Arc<Share>), BodyError> {
        let body = self.until_cut(pin!(self.collect(body))).await;
        body.unwrap_or_else(|| Err(BodyError::Refused(ApiError::server_stopping())))
    }

    async fn answer_until_cut(&self, route: &Route, body: Bytes, share: Arc<Share>) -> Reply {
        let answer = self.until_cut(pin!(self.answer(route, body, share))).await;
        answer.unwrap_or_else(|| reply::error(&ApiError::server_stopping(), ""))
    }

    /// What comes of `work`, unless everything is to end and it is not there. Whoever cuts polls the connection once more, so
    /// nobody is to be woken for that.
    async fn until_cut<T>(&self, mut work: Pin<&mut impl Future<Output = T>>) -> Option<T> {
        poll_fn(|context| match work.as_mut().poll(context) {
            Poll::Pending if self.cut.is_cancelled() => Poll::Ready(None),
            polled => polled.map(Some),
        })
        .await
    }

    /// `share` is held until the answer is there, or the last of it.
    async fn answer(&self, route: &Route, body: Bytes, share: Arc<Share>) -> Reply {
        let answer = match route {
            Route::Chat => self.completions.chat(body).await.map(|reply| self.completion(reply, share)),
            Route::Responses => {
                self.completions.respond(body).await.map(|reply| self.completion(reply, share))
            }
            Route::Models => Ok(reply::json(StatusCode::OK, self.completions.models())),
            Route::Model(id) => self.completions.model(id).map(|body| reply::json(StatusCode::OK, body)),
            Route::Health => {
                let health = self.completions.health();
                let status =
                    if health.is_available { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
                Ok(reply::json(status, health.body))
            }
            Route::Metrics => {
                Ok(reply::text(self.metrics().text().await, "text/plain; version=0.0.4; charset=utf-8"))
            }
        };
        answer.unwrap_or_else(|error| reply::error(&error, ""))
    }

    fn completion(&self, completion: CompletionReply, share: Arc<Share>) -> Reply {
        match completion {
            CompletionReply::Whole(body) => reply::json(StatusCode::OK, body),
            CompletionReply::Stream(stream) => {
                reply::events(Events::new(stream, share, self.config.keep_alive, self.cut.clone()))
            }
        }
    }
}

/// The authority of an absolute target goes before `Host`. HTTP/1.0 needs neither.
fn check_host(hosts: &Hosts, request: &Request<Incoming>) -> Result<(), ApiError> {
    let host = match (request.uri().authority(), request.headers().get(HOST)) {
        (Some(authority), _) => authority.as_str().into(),
        (None, Some(host)) => String::from_utf8_lossy(host.as_bytes()),
        (None, None) => return Ok(()),
    };
    if hosts.allow(&host) { Ok(()) } else { Err(ApiError::invalid_host(&host)) }
}

/// The response that a reply becomes on its connection, which `persists` or not.
fn finished(
    mut reply: Reply,
    persists: bool,
    grant: &Grant,
    mut record: AccessRecord,
    exchange: Arc<Exchange>,
) -> Response<ReplyBody> {
    let headers = reply.headers_mut();
    grant.write(headers);
    headers.insert(SERVER_FIELD, HeaderValue::from_static(reply::SERVER));
    headers.insert(CONNECTION, HeaderValue::from_static(if persists { "keep-alive" } else { "close" }));
    let status = reply.status().as_u16();
    match reply.body() {
        Content::Events(_) => record.streaming(status),
        Content::Empty | Content::Whole(_) => record.answered(status, reply.extensions_mut().remove()),
    }
    reply.map(|content| ReplyBody::new(content, record, exchange))
}

fn preflight(grant: &Grant, request: &HeaderMap) -> Reply {
    let mut reply = reply::reply(StatusCode::NO_CONTENT, Content::Empty);
    reply.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, POST, OPTIONS"));
    grant.write_preflight(request, reply.headers_mut());
    reply
}

fn is_json(request: &HeaderMap) -> bool {
    let Some(Ok(value)) = request.get(CONTENT_TYPE).map(HeaderValue::to_str) else { return false };
    let media_type = value.split(';').next().unwrap_or_default();
    media_type.trim().eq_ignore_ascii_case("application/json")
}

fn asks_to_persist(request: &Request<Incoming>) -> bool {
    let asks_for = |option: &str| {
        let values = request.headers().get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
        values.flat_map(|value| value.split(',')).any(|other| other.trim().eq_ignore_ascii_case(option))
    };
    !asks_for("close") && (request.version() != Version::HTTP_10 || asks_for("keep-alive"))
}

/// What went wrong with a body: the gate's word where it has one.
fn body_error(error: &hyper::Error) -> BodyError {
    let source = std::error::Error::source(error).and_then(|source| source.downcast_ref::<io::Error>());
    let Some(source) = source else { return BodyError::HangUp };
    if let Some(error) = source.get_ref().and_then(|source| source.downcast_ref::<ApiError>()) {
        return BodyError::Refused(error.clone());
    }
    match source.kind() {
        io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => {
            BodyError::Refused(ApiError::malformed_request(400, format!("The body is malformed: {source}.")))
        }
        _ => BodyError::HangUp,
    }
}
