//! How far a scripted model has come in its script.

use std::sync::Arc;

use oam_agent::ScriptedModel;

/// A scripted model, and the position that is recorded of it. Other models have none, and of one that cannot be had at
/// present the position stays what it was.
#[derive(Debug)]
pub(super) struct ScriptPosition {
    model: Option<Arc<ScriptedModel>>,
    recorded: usize,
}

impl ScriptPosition {
    pub(super) fn new(model: Option<Arc<ScriptedModel>>, recorded: usize) -> Self {
        Self { model, recorded }
    }

    /// The position, which is recorded now.
    pub(super) fn whole(&mut self) -> usize {
        self.news().unwrap_or(self.recorded)
    }

    /// The position, if it is not the recorded one; it is recorded now.
    pub(super) fn news(&mut self) -> Option<usize> {
        let position = self.model.as_ref()?.position();
        let is_new = position != self.recorded;
        self.recorded = position;
        is_new.then_some(position)
    }
}
