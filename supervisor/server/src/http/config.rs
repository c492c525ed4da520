//! Where a server listens, who may use it, and how much it takes.

use std::{fmt, num::NonZeroUsize, path::PathBuf, time::Duration};

use super::lifecycle::StateObserver;
use crate::metrics::Metrics;

/// What a [`Server`](super::Server) is made of, besides what it offers.
#[derive(Clone)]
pub struct ServerConfig {
    /// Where to listen for TCP connections.
    pub tcp: Option<TcpAddress>,
    /// Where to make a Unix socket, which only the user of the process can open.
    pub socket: Option<PathBuf>,
    /// What clients must send as `Authorization: Bearer <key>`. Without one, or with an empty one, any key will do.
    pub api_key: Option<String>,
    /// The origins whose pages may use the server; `*` allows all.
    pub allowed_origins: Vec<String>,
    /// Host names under which the server answers, besides the loopback's; `*` allows all. Without any, a server that listens on
    /// other than loopback addresses answers under all names there.
    pub allowed_hosts: Vec<String>,
    /// How much it takes.
    pub limits: HttpLimits,
    /// After how long a silence a stream carries a comment, so that nobody between takes it for dead; 15 s by
    /// default. `None`: never.
    pub keep_alive: Option<Duration>,
    /// What to do when a listener fails.
    pub recovery: Recovery,
    /// How long answers under way may take when the server stops; 10 s by default.
    pub drain: Duration,
    /// Is told each state, in order.
    pub on_state: Option<StateObserver>,
    /// What `GET /metrics` shows.
    pub metrics: Metrics,
}

/// A host and a port to listen at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TcpAddress {
    /// A name or an address, with or without brackets.
    pub host: String,
    /// 0 for any free port.
    pub port: u16,
}

/// How much a server takes from its clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HttpLimits {
    /// Bytes of a request's body; 16 MiB by default.
    pub largest_body: u64,
    /// Bytes of a request's head; 64 KiB by default.
    pub largest_head: usize,
    /// Open connections; 64 by default.
    pub connections: NonZeroUsize,
    /// Bytes of bodies of all requests that are not answered yet; 64 MiB by default. At least one body always fits.
    pub buffered_bytes: usize,
    /// The time to deliver a request, the time between requests, and the time a client may leave its answer unread; 30 s by
    /// default.
    pub request_time: Duration,
}

/// What to do when a listener fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recovery {
    /// How often to make it anew; 5 times by default.
    pub attempts: u32,
    /// The wait before the first attempt, which doubles with each; 250 ms by default.
    pub first_delay: Duration,
}

impl Default for ServerConfig {
    /// Listens nowhere yet.
    fn default() -> Self {
        Self {
            tcp: None,
            socket: None,
            api_key: None,
            allowed_origins: Vec::new(),
            allowed_hosts: Vec::new(),
            limits: HttpLimits::default(),
            keep_alive: Some(Duration::from_secs(15)),
            recovery: Recovery::default(),
            drain: Duration::from_secs(10),
            on_state: None,
            metrics: Metrics::default(),
        }
    }
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            largest_body: 16 * 1024 * 1024,
            largest_head: 64 * 1024,
            connections: const { NonZeroUsize::new(64).expect("not zero") },
            buffered_bytes: 64 * 1024 * 1024,
            request_time: Duration::from_secs(30),
        }
    }
}

impl Default for Recovery {
    fn default() -> Self {
        Self { attempts: 5, first_delay: Duration::from_millis(250) }
    }
}

/// Without the key.
impl fmt::Debug for ServerConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerConfig")
            .field("tcp", &self.tcp)
            .field("socket", &self.socket)
            .field("api_key", &self.api_key.as_ref().map(|_| "…"))
            .field("allowed_origins", &self.allowed_origins)
            .field("allowed_hosts", &self.allowed_hosts)
            .field("limits", &self.limits)
            .field("keep_alive", &self.keep_alive)
            .field("recovery", &self.recovery)
            .field("drain", &self.drain)
            .finish_non_exhaustive()
    }
}
