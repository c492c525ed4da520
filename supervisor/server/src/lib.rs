//! A server that speaks OpenAI's chat completions and responses, on agents.
//!
//! [`Completions`] is the server without HTTP: a request body in, an answer or a stream of server-sent events out. It asks
//! models through the [`Model`](oam_agent::Model) trait, with an [`Agent`](oam_agent::Agent) for each request, and keeps
//! nothing of a conversation. `ApiError` is every way in which a request fails. [`Server`] is the HTTP around it, with
//! [`Metrics`] of what it did.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod api_error;
mod chat;
mod completion;
mod http;
mod metrics;
mod request;
mod responses;
mod wire;

pub(crate) use api_error::ApiError;
#[cfg(test)]
pub(crate) use api_error::ErrorKind;
pub(crate) use completion::{CompletionReply, CompletionStream};
pub use completion::{Completions, CompletionsConfig, ConfigError, Limits, ServedModel};
pub use http::{
    HttpLimits, Recovery, Server, ServerConfig, ServerState, StartError, StateObserver, TcpAddress,
};
pub use metrics::{Metrics, Sample, SampleKind};
