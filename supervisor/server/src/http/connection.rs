//! The life of a connection.

use std::{pin::pin, sync::Arc, time::Duration};

use futures_util::FutureExt;
use hyper::{server::conn::http1, service::service_fn};
use tokio::task::coop;

use super::{
    access_log::Escaped,
    gate::{Exchange, Gate},
    hosts::Hosts,
    listener::Accepted,
    reply,
    service::Site,
};
use crate::ApiError;

/// How long a client whose connection is ended may take to see why.
const LINGER: Duration = Duration::from_secs(1);
/// What hyper buffers of a request besides a head.
const HYPER_BUFFER: usize = 64 * 1024;

/// Serves a connection until either side ends it, or the server is cut. A client is then told so if that can be written at
/// once.
pub(super) async fn serve(socket: Accepted, site: Arc<Site>, hosts: Arc<Hosts>) {
    let cut = site.cut.clone();
    let mut conversation = pin!(converse(socket, site, hosts));
    if cut.run_until_cancelled(conversation.as_mut()).await.is_none() {
        // What it has read in this poll says nothing about what it may write.
        coop::unconstrained(conversation).now_or_never();
    }
}

async fn converse(socket: Accepted, site: Arc<Site>, hosts: Arc<Hosts>) {
    let limits = site.config.limits;
    let exchange = Arc::new(Exchange::default());
    let mut gate = Gate::new(socket, exchange.clone(), limits);
    if site.stopping.run_until_cancelled(gate.open()).await != Some(true) {
        return;
    }
    let service = service_fn(|request| Arc::clone(&site).respond(&hosts, exchange.clone(), request));
    let mut connection = http1::Builder::new()
        .max_buf_size(limits.largest_head.saturating_add(HYPER_BUFFER))
        .serve_connection(gate, service);
    let ended = tokio::select! {
        ended = &mut connection => ended,
        () = site.stopping.cancelled() => {
            std::pin::Pin::new(&mut connection).graceful_shutdown();
            (&mut connection).await
        }
    };
    let mut gate = connection.into_parts().io;
    if let Some(error) = gate.take_rejection() {
        site.metrics().request_malformed();
        tracing::info!("malformed request → {} ({})", error.status, Escaped(&error.message));
        refuse(&mut gate, &error).await;
    } else if let Err(error) = ended {
        tracing::debug!("connection ended: {error}");
    } else {
        gate.linger(LINGER).await;
    }
}

/// Tells a client why its connection is not served, and ends it.
pub(super) async fn turn_away(socket: Accepted, site: &Site, error: &ApiError) {
    let mut gate = Gate::new(socket, Arc::default(), site.config.limits);
    site.cut.run_until_cancelled(refuse(&mut gate, error)).await;
}

async fn refuse(gate: &mut Gate<Accepted>, error: &ApiError) {
    // The message is small; a client that takes longer for it gets none.
    let sent = tokio::time::timeout(LINGER, gate.send(&reply::refusal(error))).await;
    if matches!(sent, Ok(Ok(()))) {
        gate.linger(LINGER).await;
    }
}
