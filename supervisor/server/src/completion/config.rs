//! What is served, and within which limits.

use std::{collections::BTreeMap, num::NonZeroUsize, sync::Arc, time::Duration};

use oam_agent::{Model, Tool};

/// What a server offers.
#[derive(Debug, Clone)]
pub struct CompletionsConfig {
    /// The models; at least one. Ids differ.
    pub models: Vec<ServedModel>,
    /// The id of the model that answers requests without one.
    pub default_model: String,
    /// Other names for models: alias → id. One with the name of a model is never used.
    pub aliases: BTreeMap<String, String>,
    /// Tools that run in the server, beside those of the client. Clients do not see their calls.
    pub tools: Vec<Tool>,
    /// Instructions that come before those of the client.
    pub instructions: Option<String>,
    /// How much is done at once, and for how long.
    pub limits: Limits,
}

/// A model, and how clients know it.
#[derive(Debug, Clone)]
pub struct ServedModel {
    /// The name in requests.
    pub id: String,
    /// Who is said to own it.
    pub owned_by: String,
    /// The model.
    pub model: Arc<dyn Model>,
}

/// How much is done at once, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Completions that are generated at once; 4 by default.
    pub concurrent: NonZeroUsize,
    /// Completions that wait while as many are generated as may; 64 by default.
    pub queued: usize,
    /// The time for a completion, waiting included; 120 s by default.
    pub time: Duration,
    /// How often a completion is tried again that failed for a passing reason before any tool ran; once by default.
    pub retries: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            concurrent: const { NonZeroUsize::new(4).expect("not zero") },
            queued: 64,
            time: Duration::from_mins(2),
            retries: 1,
        }
    }
}

/// Why a configuration cannot be served.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// There is nothing to answer with.
    #[error("There is no model to serve.")]
    NoModel,
    /// Two models have the same id.
    #[error("There are two models named '{0}'; give one of them another name.")]
    DuplicateModel(String),
    /// The default model is not among the models.
    #[error("The default model '{0}' is not among those that are served.")]
    UnknownDefault(String),
    /// An alias stands for a model that is not served.
    #[error("The alias '{alias}' stands for '{target}', which is not among the models that are served.")]
    UnknownAliasTarget {
        /// The alias.
        alias: String,
        /// What it stands for.
        target: String,
    },
    /// A tool of the server would have to be executed by somebody else.
    #[error("The server tool '{0}' has nobody who executes it; a server tool must run in the server.")]
    ToolWithoutHandler(String),
    /// The tools of the server cannot be used together.
    #[error("{0}")]
    Tools(String),
}
