//! A server from its start to its end.

use std::{
    future::ready,
    io,
    net::SocketAddr,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::{sync::DropGuard, task::TaskTracker};

use super::{
    config::{ServerConfig, TcpAddress},
    connection,
    hosts::Hosts,
    lifecycle::{Lifecycle, ServerState},
    listener::{AcceptError, Accepted, Listener, Place},
    service::Site,
};
use crate::{
    ApiError, Completions,
    metrics::{Sample, SampleKind},
};

/// Connections that are being told that there are too many. Beyond, they are closed without a word.
const MOST_REFUSALS: usize = 16;
/// How long to wait for descriptors or memory to accept with.
const EXHAUSTION_PAUSE: Duration = Duration::from_millis(100);

/// Why a server does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// There is neither an address nor a socket to listen at.
    #[error("The server has nowhere to listen; give it a port or the path of a socket.")]
    NoListener,
    /// The address cannot be listened at.
    #[error("The server cannot listen at {address}: {source}.")]
    Tcp {
        /// The address.
        address: TcpAddress,
        /// What the system says.
        source: io::Error,
    },
    /// The socket cannot be made.
    #[error("The server cannot listen at the socket {}: {source}.", path.display())]
    Socket {
        /// Its path.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

/// A running server. Dropping it ends it at once.
#[derive(Debug)]
pub struct Server {
    shared: Arc<Shared>,
    tcp: Option<SocketAddr>,
    socket: Option<PathBuf>,
    _end: DropGuard,
}

#[derive(Debug)]
struct Shared {
    site: Arc<Site>,
    lifecycle: Lifecycle,
    connections: Arc<Semaphore>,
    refusals: Arc<Semaphore>,
    listeners: TaskTracker,
    broken_listeners: AtomicUsize,
    tasks: TaskTracker,
    #[cfg(test)]
    faults: super::tests::Faults,
}

impl Server {
    /// Listens, and serves from then on.
    pub async fn start(config: ServerConfig, completions: Completions) -> Result<Self, StartError> {
        let mut listeners = Vec::new();
        if let Some(address) = &config.tcp {
            let failed = |source| StartError::Tcp { address: address.clone(), source };
            listeners.push(listen_tcp(address).await.map_err(failed)?);
        }
        if let Some(path) = &config.socket {
            let failed = |source| StartError::Socket { path: path.clone(), source };
            listeners.push(listen_socket(path).await.map_err(failed)?);
        }
        if listeners.is_empty() {
            return Err(StartError::NoListener);
        }
        let tcp = listeners.iter().find_map(|(place, _)| place.tcp_address());
        let socket = config.socket.clone();
        let shared = Arc::new(Shared::new(config, completions));
        shared.show_in_metrics();
        for (place, listener) in listeners {
            tracing::info!("listening at {place}");
            shared.listeners.spawn(shared.clone().attend(place, listener));
        }
        Ok(Self { tcp, socket, _end: shared.site.cut.clone().drop_guard(), shared })
    }

    /// The TCP address, with the port that it got.
    pub fn tcp_address(&self) -> Option<SocketAddr> {
        self.tcp
    }

    /// The path of the Unix socket.
    pub fn socket_path(&self) -> Option<&std::path::Path> {
        self.socket.as_deref()
    }

    /// What the server does.
    #[cfg(test)]
    pub(super) fn state(&self) -> ServerState {
        self.shared.lifecycle.state()
    }

    /// The connections that are open; those that are refused do not count.
    #[cfg(test)]
    pub(super) fn open_connections(&self) -> usize {
        self.shared.open_connections()
    }

    /// The bytes of bodies of requests that are not answered yet.
    #[cfg(test)]
    pub(super) fn buffered_bytes(&self) -> usize {
        self.shared.site.budget.bytes()
    }

    /// Waits until the server has ended, and returns what went wrong, if something did.
    pub async fn stopped(&self) -> Option<String> {
        self.shared.lifecycle.stopped().await
    }

    /// Stops: listens no more, lets answers under way end within the configured time, and cuts the rest.
    pub async fn stop(&self) {
        self.shared.stop(None).await;
    }

    /// Cuts all connections now; clients whose answers are not complete are told so where that can be sent at once. [`stop`](Self::stop) does not wait any longer then.
    pub fn cut(&self) {
        self.shared.site.cut.cancel();
    }

    #[cfg(test)]
    pub(super) fn faults(&self) -> &super::tests::Faults {
        &self.shared.faults
    }
}

async fn listen_tcp(address: &TcpAddress) -> io::Result<(Place, Listener)> {
    let mut failure = io::Error::new(io::ErrorKind::NotFound, "the name stands for no address");
    for place in address.places().await? {
        match place.listen().await {
            Ok(listener) => return Ok((listener.place(place)?, listener)),
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

async fn listen_socket(path: &std::path::Path) -> io::Result<(Place, Listener)> {
    let place = Place::socket(path)?;
    let listener = place.listen().await?;
    Ok((place, listener))
}

impl Shared {
    fn new(config: ServerConfig, completions: Completions) -> Self {
        let connections =
            Arc::new(Semaphore::new(config.limits.connections.get().min(Semaphore::MAX_PERMITS)));
        Self {
            lifecycle: Lifecycle::new(config.on_state.clone()),
            connections,
            refusals: Arc::new(Semaphore::new(MOST_REFUSALS)),
            listeners: TaskTracker::new(),
            broken_listeners: AtomicUsize::new(0),
            tasks: TaskTracker::new(),
            site: Arc::new(Site::new(completions, config)),
            #[cfg(test)]
            faults: super::tests::Faults::default(),
        }
    }

    fn show_in_metrics(self: &Arc<Self>) {
        let shared = Arc::downgrade(self);
        self.site.metrics().add_source(move || {
            let gauges = shared.upgrade().map(|shared| shared.gauges()).unwrap_or_default();
            ready(gauges)
        });
    }

    #[expect(clippy::cast_precision_loss, reason = "no such number of connections or bytes")]
    fn gauges(&self) -> Vec<Sample> {
        [
            ("oam_connections", "Open connections.", self.open_connections()),
            ("oam_completions_active", "Completions that are generated.", self.site.completions.active()),
            ("oam_completions_queued", "Completions that wait.", self.site.completions.queued()),
            (
                "oam_request_bytes",
                "Bytes of bodies of requests that are not answered yet.",
                self.site.budget.bytes(),
            ),
        ]
        .map(|(name, help, value)| Sample {
            name,
            help,
            kind: SampleKind::Gauge,
            labels: Vec::new(),
            value: value as f64,
        })
        .into()
    }

    fn open_connections(&self) -> usize {
        self.site.config.limits.connections.get().saturating_sub(self.connections.available_permits())
    }

    /// Accepts at a place until the server ends, and listens there anew when the listener fails.
    async fn attend(self: Arc<Self>, place: Place, mut listener: Listener) {
        let hosts = Arc::new(Hosts::of_listener(place.is_private(), &self.site.config.allowed_hosts));
        let stopping = self.site.stopping.clone();
        loop {
            let Some(error) = stopping.run_until_cancelled(self.accept_all(&listener, &hosts)).await else {
                return;
            };
            tracing::error!("the listener at {place} failed: {error}");
            self.broken_listeners.fetch_add(1, Ordering::Relaxed);
            drop(listener);
            let recovered = stopping.run_until_cancelled(self.listen_again(&place, error.to_string())).await;
            listener = match recovered {
                None => return,
                Some(Ok(listener)) => listener,
                Some(Err(reason)) => {
                    // Not here: stopping waits for this task.
                    tokio::spawn(async move { self.stop(Some(reason)).await });
                    return;
                }
            };
            tracing::info!("listening at {place} again");
            if self.broken_listeners.fetch_sub(1, Ordering::Relaxed) == 1 {
                self.lifecycle.set(&ServerState::Running);
            }
        }
    }

    /// Accepts connections until the listener fails.
    async fn accept_all(&self, listener: &Listener, hosts: &Arc<Hosts>) -> io::Error {
        loop {
            #[cfg(not(test))]
            let accepted = listener.accept().await;
            #[cfg(test)]
            let accepted = self.faults.accept(listener).await;
            match accepted {
                Ok(accepted) => self.admit(accepted, hosts),
                Err(AcceptError::Connection) => {}
                Err(AcceptError::Exhausted(error)) => {
                    tracing::warn!("cannot accept connections now: {error}");
                    tokio::time::sleep(EXHAUSTION_PAUSE).await;
                }
                Err(AcceptError::Listener(error)) => return error,
            }
        }
    }

    fn admit(&self, accepted: Accepted, hosts: &Arc<Hosts>) {
        if let Ok(permit) = self.connections.clone().try_acquire_owned() {
            let (site, hosts) = (self.site.clone(), hosts.clone());
            self.tasks.spawn(async move {
                let _permit = permit;
                connection::serve(accepted, site, hosts).await;
            });
            return;
        }
        self.site.metrics().connection_refused();
        tracing::warn!("a connection was refused: {} are open", self.open_connections());
        if let Ok(permit) = self.refusals.clone().try_acquire_owned() {
            self.turn_away(accepted, permit);
        }
    }

    fn turn_away(&self, accepted: Accepted, permit: OwnedSemaphorePermit) {
        let site = self.site.clone();
        self.tasks.spawn(async move {
            let _permit = permit;
            let error = ApiError::too_many_connections();
            connection::turn_away(accepted, &site, &error).await;
        });
    }

    /// Fails with what went wrong last when no attempt is left.
    async fn listen_again(&self, place: &Place, mut reason: String) -> Result<Listener, String> {
        let recovery = self.site.config.recovery;
        let mut delay = recovery.first_delay;
        for attempt in 1..=recovery.attempts {
            self.lifecycle.set(&ServerState::Restarting { attempt, reason: reason.clone() });
            tokio::time::sleep(delay).await;
            delay = delay.saturating_mul(2);
            match place.listen().await {
                Ok(listener) => return Ok(listener),
                Err(error) => {
                    tracing::warn!("cannot listen at {place} again (attempt {attempt}): {error}");
                    reason = error.to_string();
                }
            }
        }
        Err(format!("The listener at {place} failed, and could not be made anew: {reason}."))
    }

    async fn stop(&self, reason: Option<String>) {
        self.site.stopping.cancel();
        self.listeners.close();
        self.listeners.wait().await;
        self.tasks.close();
        let drained = tokio::time::timeout(self.site.config.drain, self.tasks.wait());
        if self.site.cut.run_until_cancelled(drained).await.is_none_or(|drained| drained.is_err()) {
            self.site.cut.cancel();
            self.tasks.wait().await;
        }
        match &reason {
            None => tracing::info!("stopped"),
            Some(reason) => tracing::error!("stopped: {reason}"),
        }
        self.lifecycle.set(&ServerState::Stopped { reason });
    }
}
