//! The thread `oam-supervisor`: turns, timers and workers.

use std::{
    io,
    sync::{Arc, mpsc::SyncSender},
    time::Duration,
};

use oam_bridge::{
    Bridge, BridgeConfig,
    outbox::{OVERFLOW_GRACE, Outbox, OutboxConsumer},
};
use oam_system::{PooledSystem, SupervisorMethods, UnservedSystem};
use oam_workers::WorkerPool;
use tokio::{
    runtime::{Builder, Handle},
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use crate::{
    bridge::Setup,
    delivery::{Delivery, DeliveryEnd},
    descriptors,
    intake::Intake,
    refusal::Refusal,
};

/// How long the first requests wait for the first worker, so that what is said of the model is true.
const SETTLE_TIME: Duration = Duration::from_secs(2);

/// Workers are asked, told and forced to end within half a second; this is for a system that does not even kill them.
const STOP_TIME: Duration = Duration::from_secs(2);

/// What the thread hands to whoever started it.
pub(crate) struct Started {
    pub(crate) runtime: Handle,
    pub(crate) outbox: Outbox,
    pub(crate) messages: OutboxConsumer,
}

/// What the thread shares with the rest of the bridge.
pub(crate) struct Supervisor {
    pub(crate) intake: Arc<Intake>,
    pub(crate) delivery: Arc<Delivery>,
    pub(crate) stop: CancellationToken,
}

impl Supervisor {
    /// Runs until it is told to stop and the workers are gone.
    pub(crate) fn run(self, setup: Setup, started: &SyncSender<io::Result<Started>>) {
        let runtime = match descriptors::apart(|| Builder::new_current_thread().enable_all().build()) {
            Ok(runtime) => runtime,
            Err(error) => {
                let _ = started.send(Err(error));
                return;
            }
        };
        runtime.block_on(async {
            let (config, pool) = serve(setup);
            let (bridge, messages) = Bridge::connect(config);
            let outbox = bridge.outbox().clone();
            let _ = started.send(Ok(Started { runtime: Handle::current(), outbox, messages }));
            self.stop.run_until_cancelled(self.work(bridge, pool.as_ref())).await;
            if let Some(pool) = pool
                && timeout(STOP_TIME, pool.stop()).await.is_err()
            {
                tracing::error!("a worker did not end when it was killed");
            }
        });
    }

    async fn work(&self, bridge: Bridge, pool: Option<&WorkerPool>) {
        if let Some(pool) = pool {
            // A worker that takes longer is reported as not ready until it is.
            let _ = timeout(SETTLE_TIME, pool.settled()).await;
        }
        self.intake.open(&bridge);
        self.watch_callback(&bridge).await;
        tracing::error!("the bridge is given up: its callback does not take messages");
        bridge.shut_down().await;
    }

    /// Returns when so much waits for a callback that nobody will ever take it.
    async fn watch_callback(&self, bridge: &Bridge) {
        let outbox = bridge.outbox();
        loop {
            outbox.overfull().await;
            let handed = self.delivery.handed();
            sleep(OVERFLOW_GRACE).await;
            let is_stuck = self.delivery.handed() == handed;
            if is_stuck && outbox.note_stuck() || outbox.is_overflowed() {
                self.delivery.end(DeliveryEnd::GivenUp);
                return;
            }
        }
    }
}

/// The configuration of the bridge, and the workers behind it, which start here.
fn serve(setup: Setup) -> (BridgeConfig, Option<WorkerPool>) {
    let options = match setup {
        Setup::Serving(options) => options,
        Setup::Refusing(error) => {
            tracing::error!("{}", error.message);
            let method_sets = vec![Arc::new(Refusal(error)) as _];
            return (BridgeConfig { method_sets, ..BridgeConfig::default() }, None);
        }
    };
    let mut config = BridgeConfig {
        max_sessions: options.max_sessions,
        tool_timeout: options.tool_timeout,
        allow_scripted_models: options.scripted_models,
        max_unread_output: options.max_unread_bytes,
        ..BridgeConfig::default()
    };
    let pool = match options.pool() {
        Ok(pool) => WorkerPool::start(pool),
        Err(reason) => {
            tracing::warn!("{reason}");
            config.models = Arc::new(UnservedSystem::new(reason));
            return (config, None);
        }
    };
    config.models = Arc::new(PooledSystem::new(pool.clone()));
    config.method_sets.push(Arc::new(SupervisorMethods::new(pool.clone())));
    (config, Some(pool))
}
