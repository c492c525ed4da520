//! What a script says: its steps, and what follows when they run out.

use std::{sync::Arc, time::Duration};

use serde_json::{Map, Value};

use crate::error::ErrorCode;

/// How many pieces a text is streamed in, unless the step tells.
pub(super) const DEFAULT_CHUNKS: usize = 3;
/// How many pieces a filled-in template is streamed in.
pub(super) const TEMPLATE_CHUNKS: usize = 3;

/// How a line of instructions begins that holds a script, as JSON, for a worker that plays one in the place of a model. It
/// tells a model nothing.
pub const SCRIPT_LINE: &str = "oam-script:";

/// A sequence of steps and the fallback that follows them. Never changes; cloning shares it. The default is empty:
/// the fallback from the start.
#[derive(Debug, Clone, Default)]
pub struct Script {
    content: Arc<Content>,
}

#[derive(Debug, Default)]
struct Content {
    steps: Vec<Step>,
    fallback: Step,
}

/// A script that cannot be used. The message names the member and says what it must be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ScriptError {
    /// A full sentence.
    pub message: String,
}

/// What one inference does.
#[derive(Debug, PartialEq)]
pub(super) struct Step {
    pub(super) delay: Duration,
    pub(super) action: Action,
}

#[derive(Debug, PartialEq)]
pub(super) enum Action {
    Text { text: String, chunks: usize },
    ToolCalls(Vec<ScriptedCall>),
    Json(Value),
    Template(String),
    Error { code: ErrorCode, message: String },
}

#[derive(Debug, PartialEq)]
pub(super) struct ScriptedCall {
    /// A new one is made for each inference when the script gives none.
    pub(super) id: Option<String>,
    pub(super) name: String,
    pub(super) arguments: Map<String, Value>,
}

impl Script {
    pub(super) fn new(steps: Vec<Step>, fallback: Step) -> Self {
        Self { content: Arc::new(Content { steps, fallback }) }
    }

    /// No step of it takes time.
    pub fn is_instant(&self) -> bool {
        let Content { steps, fallback } = &*self.content;
        steps.iter().chain([fallback]).all(|step| step.delay.is_zero())
    }

    /// The step at `index`, from 0; the fallback after the last one.
    pub(super) fn step(&self, index: usize) -> &Step {
        self.content.steps.get(index).unwrap_or(&self.content.fallback)
    }
}

impl Default for Step {
    fn default() -> Self {
        let action = Action::Text { text: "(script exhausted)".into(), chunks: DEFAULT_CHUNKS };
        Self { delay: Duration::ZERO, action }
    }
}
