//! `supervisor/status` and `supervisor/event`: what can be seen of the workers through the bridge
//! (docs/OPERATIONS.md).

use std::sync::{Arc, OnceLock};

use oam_bridge::{Bridge, BridgeError, MethodRegistry, MethodSet, Payload, Reply};
use oam_workers::{Listening, PoolEvent, WorkerPool};
use serde_json::{Map, Value, json};

const EVENT: &str = "supervisor/event";

/// The methods of a bridge whose system model is a pool of workers.
#[derive(Debug)]
pub struct SupervisorMethods {
    pool: WorkerPool,
    /// Of a client that asked for it.
    listening: OnceLock<Listening>,
}

impl SupervisorMethods {
    /// The methods of this pool.
    pub fn new(pool: WorkerPool) -> Self {
        Self { pool, listening: OnceLock::new() }
    }
}

impl MethodSet for SupervisorMethods {
    fn register(self: Arc<Self>, registry: &mut MethodRegistry) {
        registry.register("supervisor/status", move |_| {
            let pool = self.pool.clone();
            Reply::later(async move {
                let status = pool.status().await.ok_or_else(BridgeError::shut_down)?;
                Ok(Payload::of(&status))
            })
        });
    }

    fn notifications(&self) -> Vec<&'static str> {
        vec![EVENT]
    }

    /// A client that asked for it hears of workers that die, steps that are played again and the breaker.
    fn client_introduced(&self, bridge: &Bridge, client: &Map<String, Value>) {
        let wants_events = client.get("workerEvents") == Some(&Value::Bool(true));
        if wants_events {
            let _ = self.listening.get_or_init(|| {
                // Not the bridge, which holds the pool.
                let client = bridge.notifier();
                self.pool.listen(move |event| client.notify(EVENT, &Payload::of(&described(event))))
            });
        }
    }
}

fn described(event: &PoolEvent) -> Value {
    let event = match event {
        PoolEvent::WorkerDied { worker, exit, steps } => json!({
            "type": "workerDied",
            "worker": worker.to_string(),
            "exit": exit.to_string(),
            "signal": exit.cause.signal(),
            "steps": steps,
        }),
        PoolEvent::WorkerHung { worker, cause } => {
            json!({"type": "workerHung", "worker": worker.to_string(), "cause": cause.as_str()})
        }
        PoolEvent::WorkerViolated { worker, reason } => {
            json!({"type": "workerViolated", "worker": worker.to_string(), "reason": reason})
        }
        PoolEvent::WorkerRecycled { worker } => {
            json!({"type": "workerRecycled", "worker": worker.to_string()})
        }
        PoolEvent::StepReplayed { worker, crashes } => {
            json!({"type": "stepReplayed", "worker": worker.to_string(), "crashes": crashes})
        }
        PoolEvent::StepQuarantined { worker, crashes } => {
            json!({"type": "stepQuarantined", "worker": worker.to_string(), "crashes": crashes})
        }
        PoolEvent::BreakerOpened { retry_after } => {
            json!({"type": "breakerOpened", "retryAfterSeconds": retry_after.as_secs_f64()})
        }
        PoolEvent::BreakerClosed => json!({"type": "breakerClosed"}),
    };
    json!({"event": event})
}
