//! What is served: models, their other names, the tools of the server.

use std::collections::HashSet;

use bytes::Bytes;
use oam_agent::{ToolExecutor, check_tool_names};
use serde::Serialize;
use serde_json::{Map, json};

use super::{
    config::{CompletionsConfig, ConfigError, ServedModel},
    queue::Queue,
};
use crate::{
    api_error::ApiError,
    request,
    wire::{json, unix_seconds},
};

/// A configuration that can be served.
#[derive(Debug)]
pub(super) struct Catalog {
    pub(super) config: CompletionsConfig,
    /// When the server started, in seconds since 1970.
    created: u64,
}

/// What `GET /health` tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Health {
    /// Whether the default model can be asked: status 200, else 503.
    pub(crate) is_available: bool,
    /// JSON.
    pub(crate) body: Bytes,
}

/// An entry of the list of models.
#[derive(Serialize)]
struct ModelEntry<'a> {
    id: &'a str,
    object: &'static str,
    created: u64,
    owned_by: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<&'a str>,
}

impl Catalog {
    pub(super) fn new(mut config: CompletionsConfig) -> Result<Self, ConfigError> {
        if config.models.is_empty() {
            return Err(ConfigError::NoModel);
        }
        config.models.sort_by(|one, other| one.id.cmp(&other.id));
        if let Some(twice) = config.models.windows(2).find(|pair| pair[0].id == pair[1].id) {
            return Err(ConfigError::DuplicateModel(twice[0].id.clone()));
        }
        let ids: HashSet<_> = config.models.iter().map(|model| model.id.as_str()).collect();
        config.aliases.retain(|alias, _| !ids.contains(alias.as_str()));
        if !ids.contains(config.default_model.as_str()) {
            return Err(ConfigError::UnknownDefault(config.default_model));
        }
        if let Some((alias, target)) =
            config.aliases.iter().find(|(_, target)| !ids.contains(target.as_str()))
        {
            return Err(ConfigError::UnknownAliasTarget { alias: alias.clone(), target: target.clone() });
        }
        if let Some(tool) = config.tools.iter().find(|tool| matches!(tool.executor, ToolExecutor::Client)) {
            return Err(ConfigError::ToolWithoutHandler(tool.name().to_string()));
        }
        check_tool_names(&config.tools).map_err(|error| ConfigError::Tools(error.to_string()))?;
        Ok(Self { config, created: unix_seconds() })
    }

    /// The model with this id, which is not an alias.
    pub(super) fn served(&self, id: &str) -> Option<&ServedModel> {
        let models = &self.config.models;
        models.binary_search_by(|model| model.id.as_str().cmp(id)).ok().map(|at| &models[at])
    }

    /// The model with this id or alias.
    fn named(&self, name: &str) -> Option<&ServedModel> {
        self.served(name).or_else(|| self.served(self.config.aliases.get(name)?))
    }

    pub(super) fn models(&self) -> Bytes {
        let ids = self.config.models.iter().map(|model| &model.id);
        let entries: Vec<_> =
            ids.chain(self.config.aliases.keys()).filter_map(|name| self.entry(name)).collect();
        json(&json!({"object": "list", "data": entries}))
    }

    pub(super) fn model(&self, name: &str) -> Result<Bytes, ApiError> {
        self.entry(name).map(|entry| json(&entry)).ok_or_else(|| ApiError::model_not_found(name))
    }

    fn entry<'a>(&'a self, name: &'a str) -> Option<ModelEntry<'a>> {
        let ServedModel { id, owned_by, .. } = self.named(name)?;
        let parent = (id != name).then_some(id.as_str());
        Some(ModelEntry { id: name, object: "model", created: self.created, owned_by, parent })
    }

    pub(super) fn health(&self, queue: &Queue) -> Health {
        let mut models = Map::new();
        let mut reason = None;
        for ServedModel { id, model, .. } in &self.config.models {
            let unavailable = model.availability().unavailable.map(oam_agent::UnavailableReason::as_str);
            let told = unavailable.map_or("available".to_owned(), |reason| format!("unavailable: {reason}"));
            models.insert(id.clone(), told.into());
            if *id == self.config.default_model {
                reason = unavailable;
            }
        }
        let mut health = Map::new();
        health.insert("status".into(), if reason.is_none() { "ok" } else { "unavailable" }.into());
        health.extend(reason.map(|reason| ("reason".into(), reason.into())));
        health.insert("default_model".into(), self.config.default_model.as_str().into());
        health.insert("models".into(), models.into());
        health.insert("active_requests".into(), queue.active().into());
        health.insert("queued_requests".into(), queue.waiting().into());
        Health { is_available: reason.is_none(), body: json(&health) }
    }
}

impl request::Catalog for Catalog {
    fn resolve_model(&self, name: Option<&str>) -> Option<&str> {
        self.named(name.unwrap_or(&self.config.default_model)).map(|model| &*model.id)
    }

    fn has_tool(&self, name: &str) -> bool {
        self.config.tools.iter().any(|tool| *tool.name() == *name)
    }

    fn has_tools(&self) -> bool {
        !self.config.tools.is_empty()
    }
}
