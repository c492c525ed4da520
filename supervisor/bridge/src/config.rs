//! What a host decides when it makes a bridge.

use std::{fmt, sync::Arc, time::Duration};

use oam_agent::{Model, Tool, UnavailableModel, UnavailableReason};
use serde_json::{Map, Value};

use crate::{realm::RealmDirectory, registry::MethodSet};

/// A bridge's limits, models and methods.
#[derive(Clone)]
pub struct BridgeConfig {
    /// How many sessions may exist at once.
    pub max_sessions: usize,
    /// How many NPCs may exist at once.
    pub max_npcs: usize,
    /// How many worlds may exist at once.
    pub max_worlds: usize,
    /// How many subscriptions to worlds there may be at once, those of all worlds together.
    pub max_world_subscriptions: usize,
    /// How many unfinished operations one session or NPC may have.
    pub max_pending_operations: usize,
    /// The time a client has to answer a `tool/call`, unless session or tool say otherwise; `None` is no limit.
    pub tool_timeout: Option<Duration>,
    /// Whether requests may bring scripted models.
    pub allow_scripted_models: bool,
    /// Where models come from.
    pub models: Arc<dyn ModelFactory>,
    /// The realms that connections share; `None`: each has only its own.
    pub realms: Option<Arc<dyn RealmDirectory>>,
    /// Methods beyond the built-in ones.
    pub method_sets: Vec<Arc<dyn MethodSet>>,
    /// How much output may wait for a client that does not read, in bytes; beyond it the connection is given up.
    pub max_unread_output: usize,
    /// Called once, when the answer to `shutdown` has been written, or nobody will write it any more.
    pub on_shutdown: Option<Arc<dyn Fn() + Send + Sync>>,
}

impl Default for BridgeConfig {
    fn default() -> Self {
        Self {
            max_sessions: 64,
            max_npcs: 128,
            max_worlds: 64,
            max_world_subscriptions: 256,
            max_pending_operations: 10_000,
            tool_timeout: Some(Tool::CLIENT_TIMEOUT),
            allow_scripted_models: true,
            models: Arc::new(NoSystemModel),
            realms: None,
            method_sets: Vec::new(),
            max_unread_output: 64 << 20,
            on_shutdown: None,
        }
    }
}

impl BridgeConfig {
    /// The types of models that requests may name.
    pub(crate) fn model_types(&self) -> Vec<String> {
        let scripted = self.allow_scripted_models.then(|| "scripted".to_owned());
        std::iter::once("system".to_owned()).chain(scripted).chain(self.models.custom_types()).collect()
    }
}

impl fmt::Debug for BridgeConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BridgeConfig")
            .field("max_sessions", &self.max_sessions)
            .field("max_npcs", &self.max_npcs)
            .field("max_worlds", &self.max_worlds)
            .field("max_world_subscriptions", &self.max_world_subscriptions)
            .field("max_pending_operations", &self.max_pending_operations)
            .field("tool_timeout", &self.tool_timeout)
            .field("allow_scripted_models", &self.allow_scripted_models)
            .field("max_unread_output", &self.max_unread_output)
            .finish_non_exhaustive()
    }
}

/// What a model is wanted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ModelUse<'a> {
    /// The conversation of the session with this id.
    Session(&'a str),
    /// The conversation and the barks of the NPC with this id.
    Npc(&'a str),
    /// What one request of this method asks, outside of any conversation. It may ask several things at once.
    Request(&'a str),
    /// Nothing is asked: only what is known of the model is told.
    Availability,
}

/// Makes the models that requests name. Scripted models are the bridge's own.
pub trait ModelFactory: Send + Sync {
    /// The model behind `"model": "system"`, for one use. Called for each session, NPC or request that uses it.
    fn system(&self, for_use: ModelUse<'_>) -> Arc<dyn Model>;

    /// The names of custom model types, for error messages and `initialize`.
    fn custom_types(&self) -> Vec<String> {
        Vec::new()
    }

    /// A model of a custom type. `members` is the whole `model` object (empty when only the name was given).
    /// `None` when the type is unknown; an error says what is wrong with the members.
    fn custom(
        &self,
        model_type: &str,
        members: &Map<String, Value>,
    ) -> Option<Result<Arc<dyn Model>, String>> {
        let _ = (model_type, members);
        None
    }
}

/// A factory for platforms without a system model: sessions can be created, their turns fail.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoSystemModel;

impl ModelFactory for NoSystemModel {
    fn system(&self, _: ModelUse<'_>) -> Arc<dyn Model> {
        Arc::new(UnavailableModel::new(
            UnavailableReason::DeviceNotEligible,
            "The system model is not available here: it needs a Mac with Apple Intelligence. Use a scripted model \
             (\"model\": {\"type\": \"scripted\", …}) to develop and test without it.",
        ))
    }
}
