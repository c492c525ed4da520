//! Scripts and recordings that stand in for the system model.

use std::{path::Path, sync::Arc};

use oam_agent::{Availability, DEFAULT_CONTEXT_SIZE, Model, Script, ScriptedModel};
use oam_bridge::{ModelFactory, ModelUse};
use oam_recording::Recording;

use crate::{
    arguments::variable,
    failure::Failure,
    files::{self, InputPath},
};

pub(crate) const VARIABLE: &str = "OAM_SCRIPT";

/// What a file stands in with.
#[derive(Debug)]
pub(crate) enum ScriptFile {
    Script(ScriptedSystem),
    Recording(Recording),
}

impl ScriptFile {
    /// The file that `OAM_SCRIPT` names, if it is set. The failure says which file and what is wrong with it.
    pub(crate) fn from_environment() -> Result<Option<Self>, Failure> {
        variable(VARIABLE).map(|path| Self::read(&files::with_home(Path::new(&path)), VARIABLE)).transpose()
    }

    /// Reads a file that `source`, an argument or variable, names.
    pub(crate) fn read(path: &Path, source: &'static str) -> Result<Self, Failure> {
        let failed = |reason: String| Failure::invalid_input(format!("{source}: {reason}"));
        let in_file = |reason: String| failed(format!("{}: {reason}", path.display()));
        let value =
            InputPath::File(path.to_owned()).read_json().map_err(|failure| failed(failure.message))?;
        if let Some(recording) = Recording::from_json(&value).map_err(|error| in_file(error.message))? {
            return Ok(Self::Recording(recording));
        }
        let script = Script::from_steps_or_object(&value, "").map_err(|error| in_file(error.message))?;
        Ok(Self::Script(ScriptedSystem { script, source }))
    }
}

/// A system model that is a script: each use gets its own copy.
#[derive(Debug)]
pub(crate) struct ScriptedSystem {
    script: Script,
    source: &'static str,
}

impl ModelFactory for ScriptedSystem {
    fn system(&self, _: ModelUse<'_>) -> Arc<dyn Model> {
        let availability = Availability {
            unavailable: None,
            context_size: DEFAULT_CONTEXT_SIZE,
            variant: Some(format!("scripted ({})", self.source)),
            supported_languages: Vec::new(),
        };
        Arc::new(ScriptedModel::with_availability(self.script.clone(), availability))
    }
}
