//! A server that speaks OpenAI's chat completions and responses, on agents.
//!
//! A [`Server`] is started with [`Completions`], which are the server without HTTP: a request body in, an answer or a stream of
//! server-sent events out. They ask models through the [`Model`](oam_agent::Model) trait, with an
//! [`Agent`](oam_agent::Agent) for each request, and keep nothing of a conversation. [`Metrics`] tell what a server did.
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
