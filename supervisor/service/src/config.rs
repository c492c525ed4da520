//! What a host decides when it starts the service.

use std::{num::NonZeroUsize, path::PathBuf, time::Duration};

use oam_bridge::BridgeConfig;
use oam_workers::WorkerPool;

use crate::activation::Activation;

/// How the service is to run.
#[derive(Debug)]
pub struct ServiceConfig {
    /// Where to listen; `None` is [the user's place](crate::paths::socket). Without meaning where there is an activation.
    pub socket: Option<PathBuf>,
    /// The socket that a manager has started the service with.
    pub activation: Option<Activation>,
    /// The folder with the realms.
    pub data: PathBuf,
    /// The file of the log, for whoever asks for it. The log itself is the process's business.
    pub log: Option<PathBuf>,
    /// What each connection's bridge is like. Its `realms` are the service's business.
    pub bridge: BridgeConfig,
    /// The workers behind the model `system`, which are shown to clients. Who started them stops them.
    pub pool: Option<WorkerPool>,
    /// Take the place of a service that runs, as soon as that has ended its turns.
    pub replace: bool,
    /// How much there may be of everything.
    pub limits: ServiceLimits,
}

impl ServiceConfig {
    /// A service with its realms in `data`, and everything else as usual.
    pub fn new(data: PathBuf, bridge: BridgeConfig) -> Self {
        Self {
            socket: None,
            activation: None,
            data,
            log: None,
            bridge,
            pool: None,
            replace: false,
            limits: ServiceLimits::default(),
        }
    }
}

/// What can be changed while the service runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceLimits {
    /// How many connections may be open; 64.
    pub connections: NonZeroUsize,
    /// How many realms may exist; 256.
    pub realms: NonZeroUsize,
    /// The service ends when nobody has been connected, and nothing has been at work, for so long.
    pub idle_exit: Option<Duration>,
    /// The time that turns have to end when the service stops; 10 s.
    pub drain: Duration,
}

impl Default for ServiceLimits {
    fn default() -> Self {
        const fn some(count: usize) -> NonZeroUsize {
            NonZeroUsize::new(count).expect("a number that is not zero")
        }
        Self { connections: some(64), realms: some(256), idle_exit: None, drain: Duration::from_secs(10) }
    }
}
