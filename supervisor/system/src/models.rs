//! The model behind `"model": "system"`: a pool of workers, or nothing.

use std::sync::Arc;

use oam_agent::{Model, UnavailableModel, UnavailableReason};
use oam_bridge::{ModelFactory, ModelUse};
use oam_workers::WorkerPool;

/// A system model that is a pool of workers.
#[derive(Debug, Clone)]
pub struct PooledSystem(Arc<WorkerPool>);

impl PooledSystem {
    /// The model that this pool serves.
    pub fn new(pool: WorkerPool) -> Self {
        Self(Arc::new(pool))
    }
}

impl ModelFactory for PooledSystem {
    fn system(&self, _: ModelUse<'_>) -> Arc<dyn Model> {
        Arc::clone(&self.0) as Arc<dyn Model>
    }
}

/// A system model that nobody serves: its turns fail with `model_unavailable`.
#[derive(Debug, Clone)]
pub struct UnservedSystem {
    hint: String,
}

impl UnservedSystem {
    /// `hint` says in whole sentences why there is no model, and what to do.
    pub fn new(hint: impl Into<String>) -> Self {
        Self { hint: hint.into() }
    }
}

impl ModelFactory for UnservedSystem {
    fn system(&self, _: ModelUse<'_>) -> Arc<dyn Model> {
        let hint = format!(
            "{} To develop and test without one, use a scripted model: \"model\": {{\"type\": \"scripted\", …}}.",
            self.hint
        );
        Arc::new(UnavailableModel::new(UnavailableReason::DeviceNotEligible, hint))
    }
}
